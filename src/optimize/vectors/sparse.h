/* The constraint gradients at the current point, where most of their entries are zero.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_SPARSE_H
#define LT_OPTIMIZE_VECTORS_SPARSE_H

#include "lathe/base.h"

#define LT_SPARSE_SHARE 8      /* a gradient with less than one entry in 8 counts as sparse */

/* Found by looking: entries that are zero now, wherever the zeros come from. */
typedef struct lt_sparse {
    int64_t  k, n;             /* gradients of n entries; k is 0 when the problem is too small to care */
    int64_t  iter;             /* of the gradients described; -1: none yet */
    int64_t *start;            /* k + 1 */
    bool    *is_sparse;        /* k */
    int32_t *index;            /* the entries of sparse gradients */
    int32_t *row;              /* the same, as numbers among the variables that occur */
    double  *value;
    int64_t  n_sparse;
    int32_t *used, *number;    /* variables that occur, ascending, and which of them each variable is (-1: none) */
    int64_t  n_used;
    double  *block;            /* work: parts times n times LT_DENSE_ROW */
} lt_sparse;

lt_status lt_sparse_create(int64_t k, int64_t n, lt_sparse *s);
void      lt_sparse_release(lt_sparse *s);
void      lt_sparse_describe(lt_sparse *s, const double *grads);
/* out[j] = g_j'x for the sparse gradients from `first` on; x stays in cache while they pass. */
void      lt_sparse_dots(const lt_sparse *s, int64_t first, const double *x, double *out);
/* out[j stride + b] = g_j'x_b for the sparse gradients from `first` on and at most LT_DENSE_ROW vectors. */
void      lt_sparse_dots_block(const lt_sparse *s, int64_t first, int64_t count, const double *const *x, double *out,
                               int64_t stride);
/* out[j] = H g_j for the sparse gradients, H a packed lower triangle; NULL where it is not wanted. */
void      lt_sparse_apply(const lt_sparse *s, const double *lower, double *const *out);

#endif
