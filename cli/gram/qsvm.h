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
    int32_t   *y;             /* n numbers of classes; by qsvm_rows_classify */
    double    *value;         /* n; by qsvm_rows_measure */
    double    *weight;        /* n; NULL: all alike */
    char      *names;         /* of the features, a line each; NULL: the file has none */
} qsvm_rows;

typedef struct qsvm_classes_of { int64_t n; qsvm_name *name; } qsvm_classes_of; /* zero-initialised is empty; freed with free(name) */

/* Features of `path` and labels of `labels`, or of its label column; both may be NULL. option: "x". */
lt_status qsvm_rows_read(const char *path, const char *option, const char *labels, const char *label_column, qsvm_rows *out);
void      qsvm_rows_free(qsvm_rows *r);
/* A label as classes are compared: numbers in their shortest form. path and row: where it stands, for messages. */
lt_status qsvm_set_label(qsvm_name to, const char *text, const char *path, int64_t row);
/* One number or text per row from a file of its own. */
lt_status qsvm_labels_read(const char *labels, qsvm_rows *rows);
/* One number per row: `option` says what of. */
lt_status qsvm_numbers_read(const char *path, const char *option, int64_t n, double **out);
/* The classes of the rows by value, or those of "A,B,..." in that order. */
lt_status qsvm_classes(const qsvm_rows *r, const char *asked, qsvm_classes_of *out);
/* Fills y. Rows of other classes are dropped, or refused when keep_all. */
lt_status qsvm_rows_classify(qsvm_rows *r, const qsvm_classes_of *classes, bool keep_all);
/* Fills value: labels as numbers. path: where they stand. */
lt_status qsvm_rows_measure(qsvm_rows *r, const char *path);
/* Moves a share of each class, or of all rows without, drawn by the seed, into *test. */
lt_status qsvm_rows_split(qsvm_rows *r, double share, uint64_t seed, int64_t n_classes, qsvm_rows *test);
lt_rows   qsvm_rows_view(const qsvm_rows *r);
/* Columns of `path` that are called otherwise than in training are refused; names that are not known (NULL) are not compared. */
lt_status qsvm_rows_expect(const qsvm_rows *r, const char *option, const char *path, const char *trained_names);

/* ---- results as files, by what their names end in: .npy or .csv ---- */
lt_status qsvm_write_numbers(const char *path, int64_t n, const double *value);
/* columns numbers a row. */
lt_status qsvm_write_matrix(const char *path, int64_t n, int64_t columns, const double *value);
/* Row i is of class label[i]: numbers where all classes are called by numbers, else texts. */
lt_status qsvm_write_labels(const char *path, int64_t n, int64_t n_classes, const char (*class_name)[LT_QSVM_CLASS_NAME], const int32_t *label);
/* Whether it is a finite decimal number. */
bool      qsvm_is_number(const char *text, double *v);
bool      qsvm_is_exact(double v); /* the only number that this double can mean: integers from 2^53 on share theirs */
/* Whether all classes are called by numbers; value (n_classes, may be NULL). */
bool      qsvm_class_numbers(const char (*class_name)[LT_QSVM_CLASS_NAME], int64_t n_classes, double *value);

/* ---- the command ---- */

typedef struct qsvm_cli {
    cli_common      common;
    lt_qsvm_options qsvm;
    lt_gram_options gram;
    lt_similarity_options similarity;
    const char     *x, *labels, *label_column, *test_x, *test_labels, *classes, *weights, *model_out, *decision_out, *report;
    const char     *map, *circuit, *kernel, *test_kernel, *sample_weights, *class_weights, *probability_out;
    int             synthetic;
    double          test_fraction;
    int64_t         train_subset;
} qsvm_cli;

typedef struct qsvm_result {  /* of one machine on the test rows */
    lt_qsvm_scores test;      /* of classes */
    lt_qsvm_errors errors;    /* of values */
    double        *decision;  /* (test rows, machines); NULL without test rows */
    int32_t       *label;     /* of the test rows; NULL of values */
    int64_t       *confusion; /* (classes, classes); NULL of two classes, and without */
    double         inside;    /* one-class: share of the test rows like the training rows */
} qsvm_result;

typedef struct qsvm_job {
    cli_context    *c;
    const qsvm_cli *o;
    qsvm_rows       train, test;
    qsvm_classes_of classes;
    const char    **class_name;  /* of classes, as the library wants them */
    double         *class_weights;
    double         *weights;     /* of layers, or of map or circuit */
    lt_circuit     *circuit;     /* of --circuit */
    qsvm_rows       kernel, test_kernel; /* of files, with all their columns */
    lt_device      *device;      /* opened here, for circuits; NULL: the command's */
    lt_qsvm        *machine;
    lt_progress    *bar;
    const char     *step;      /* what the bar shows; compared by address, a change is a new bar */
    const lt_qsvm_info *info;
    qsvm_result     result[LT_QSVM_MACHINE_COUNT];
    double          predict_seconds;
} qsvm_job;

/* What --kernel, --sample-weights, --class-weights, --map and --circuit bring (qsvm_given.c): into rows whose one feature is their number in the
   kernel; the parts of kernels that belong to the rows left; the others. */
lt_status qsvm_read_kernel(qsvm_job *j);
lt_status qsvm_gather_kernel(qsvm_job *j);
lt_status qsvm_read_class_weights(qsvm_job *j, lt_qsvm_options *opt);
lt_status qsvm_read_circuit(qsvm_job *j, lt_qsvm_options *opt);
/* Which options go with which (qsvm_given.c). */
lt_status qsvm_check_options(const qsvm_job *j);

/* Scores of labels and values, and what goes with them, of --test rows (qsvm_test.c). */
lt_status qsvm_test(qsvm_job *j);
void      qsvm_free_result(qsvm_result *r);

void      qsvm_put_errors(lt_json *j, const char *key, const lt_qsvm_errors *e);
void      qsvm_put_confusion(lt_json *j, const int64_t *confusion, int64_t n_classes);
void      qsvm_put_scores(lt_json *j, const char *key, const lt_qsvm_scores *s);
void      qsvm_put_json(const qsvm_job *job);
void      qsvm_print(const qsvm_job *job);
lt_status qsvm_report(const qsvm_job *job);

#endif
