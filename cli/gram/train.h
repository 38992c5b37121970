/* What the files of `lathe train-kernel` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_GRAM_TRAIN_H
#define LATHE_CLI_GRAM_TRAIN_H

#include "cli/gram/qsvm.h"

typedef struct train_cli {
    cli_common  common;
    const char *x, *labels, *label_column, *test_x, *test_labels, *map, *circuit, *weights, *out, *report;
    int         loss;
    double      cost, test_fraction, lower, upper;
    int64_t     iterations, batch, rounds;
} train_cli;

typedef struct train_rows {   /* rows whose kernel is looked at, with their labels as numbers */
    lt_rows  x;
    int32_t *label;
    double  *K, *dK;
    double  *own;             /* features of a batch; NULL: x is elsewhere */
} train_rows;

typedef struct train_step { int64_t round, iteration; double loss, validation; } train_step;

typedef struct train_job {
    cli_context     *c;
    const train_cli *o;
    qsvm_rows        rows, test;
    int32_t         *label, *test_label;
    int              n_classes;
    lt_circuit      *circuit;
    double          *w;       /* weights: the start, then the best so far */
    int64_t          n_weights;
    lt_gram         *gram;
    train_rows       batch, validation;
    train_step      *step;    /* the curve */
    int64_t          n_steps, step_capacity, round;
    int64_t          evaluations, gradients;
    double           seconds;
    double           start[2], end[2]; /* loss of all training rows, of validation rows: before and after */
    lt_progress     *bar;
    lt_status        failure; /* of a callback that cannot return one */
} train_job;

/* Rounds of the optimizer (train.c): fills w, the curve, start and end. */
lt_status train_run(train_job *j);
lt_status train_report(train_job *j);

#endif
