/* From raw features to angles: principal components and min-max scaling, learnt from training rows only.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_PREPARE_H
#define LT_QKERNEL_SVM_PREPARE_H

#include "lathe/qsvm.h"

typedef struct lt_prepare {    /* plain data; zero-initialised is empty */
    int64_t n_features, n_outputs;
    bool    scales;
    double *components;        /* (n_outputs, n_features); NULL: features as they are */
    double *mean;              /* (n_features), with components only */
    double *low, *width;       /* (n_outputs): smallest value of the training rows, and how far the largest lies above */
} lt_prepare;

/* x: (n, n_features). Fewer outputs than features are principal components, each signed so that its largest
   coefficient is positive. LT_ERR_ARGUMENT when the rows do not span that many directions. */
lt_status lt_prepare_fit(const double *x, int64_t n, int64_t n_features, int64_t n_outputs, bool scales, lt_prepare *out);
void      lt_prepare_release(lt_prepare *p);
/* z: (n, n_outputs); training rows come to lie in [0, 1], others may leave it. */
void      lt_prepare_apply(const lt_prepare *p, const double *x, int64_t n, double *z);

/* Which of the features of x (n, n_features) have one value in all rows; returns how many. */
int64_t   lt_prepare_find_constant(const double *x, int64_t n, int64_t n_features, bool *is_constant);

/* Rows of any accepted type as doubles, checked to be finite. */
lt_status lt_prepare_rows(const char *name, const lt_rows *x, int64_t n_features, double **out);

#endif
