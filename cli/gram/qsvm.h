/* What the files of `lathe qsvm` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_GRAM_QSVM_H
#define LATHE_CLI_GRAM_QSVM_H

#include "cli/frame/cli.h"

/* ---- rows with labels, from .npy and CSV files ---- */

typedef char qsvm_name[LT_QSVM_CLASS_NAME];

typedef struct qsvm_rows {    /* zero-initialised is empty */
    int64_t    n, n_features;
    int64_t    n_left_out;    /* rows of other classes, by qsvm_rows_classify */
    double    *x;             /* (n, n_features) */
    qsvm_name *label;         /* n; NULL: none */
    uint8_t   *y;             /* n; by qsvm_rows_classify */
    char      *names;         /* of the features, a line each; NULL: the file has none */
} qsvm_rows;

/* Features of `path` and labels of `labels`, or of its label column; both may be NULL. option: "x". */
lt_status qsvm_rows_read(const char *path, const char *option, const char *labels, const char *label_column, qsvm_rows *out);
void      qsvm_rows_free(qsvm_rows *r);
/* A label as classes are compared: numbers in their shortest form. path and row: where it stands, for messages. */
lt_status qsvm_set_label(qsvm_name to, const char *text, const char *path, int64_t row);
/* The two classes of the rows, or those of "A,B"; the second is the positive one. */
lt_status qsvm_classes(const qsvm_rows *r, const char *asked, qsvm_name name[2]);
/* Fills y. Rows of other classes are dropped, or refused when keep_all. */
lt_status qsvm_rows_classify(qsvm_rows *r, const qsvm_name name[2], bool keep_all);
/* Moves a share of either class, drawn by the seed, into *test. */
lt_status qsvm_rows_split(qsvm_rows *r, double share, uint64_t seed, qsvm_rows *test);
lt_rows   qsvm_rows_view(const qsvm_rows *r);
/* Columns of `path` that are called otherwise than in training are refused; names that are not known (NULL) are not compared. */
lt_status qsvm_rows_expect(const qsvm_rows *r, const char *option, const char *path, const char *trained_names);

/* ---- results as files, by what their names end in: .npy or .csv ---- */
lt_status qsvm_write_numbers(const char *path, int64_t n, const double *value);
/* Row i is of class is_second[i]: numbers where both classes are called by numbers, else texts. */
lt_status qsvm_write_labels(const char *path, int64_t n, const char (*class_name)[LT_QSVM_CLASS_NAME], const bool *is_second);
/* Whether it is a finite decimal number. */
bool      qsvm_is_number(const char *text, double *v);
/* Whether both are called by numbers. */
bool      qsvm_class_numbers(const char (*class_name)[LT_QSVM_CLASS_NAME], double value[2]);

/* ---- the command ---- */

typedef struct qsvm_cli {
    cli_common      common;
    lt_qsvm_options qsvm;
    lt_gram_options gram;
    const char     *x, *labels, *label_column, *test_x, *test_labels, *classes, *weights, *model_out, *decision_out, *report;
    int             synthetic;
    double          test_fraction;
    int64_t         train_subset;
} qsvm_cli;

typedef struct qsvm_result {  /* of one machine on the test rows */
    lt_qsvm_scores test;
    double        *decision;  /* NULL without test rows */
} qsvm_result;

typedef struct qsvm_job {
    cli_context    *c;
    const qsvm_cli *o;
    qsvm_rows       train, test;
    qsvm_name       name[2];
    double         *weights;
    lt_qsvm        *machine;
    lt_progress    *bar;
    const char     *step;      /* what the bar shows; compared by address, a change is a new bar */
    const lt_qsvm_info *info;
    qsvm_result     result[LT_QSVM_MACHINE_COUNT];
    double          predict_seconds;
} qsvm_job;

void      qsvm_put_scores(lt_json *j, const char *key, const lt_qsvm_scores *s);
void      qsvm_put_json(const qsvm_job *job);
void      qsvm_print(const qsvm_job *job);
lt_status qsvm_report(const qsvm_job *job);

#endif
