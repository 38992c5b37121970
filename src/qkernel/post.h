/* What is done to a matrix after it is computed. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_POST_H
#define LT_QKERNEL_POST_H

#include "base/pool.h"
#include "qkernel/tiles.h"

/* One entry of K, in its precision. */
static inline double lt_gram_entry(const lt_gram_out *o, int64_t at) { return o->f32 ? (double)((const float *)o->K)[at] : ((const double *)o->K)[at]; }
static inline void lt_gram_put(const lt_gram_out *o, int64_t at, double v)
{
    if (o->f32) ((float *)o->K)[at] = (float)v;
    else ((double *)o->K)[at] = v;
}

/* What a diagonal entry counts as when rows and columns are divided. */
double    lt_post_root(double k);
/* roots: n_columns numbers of workspace. */
lt_status lt_post_normalize(const lt_gram_out *out, lt_pool *pool, double jitter, double *roots);
/* left (n) and right (n_columns): k(x,x) and k(y,y); overwritten by their roots. */
lt_status lt_post_normalize_cross(const lt_gram_out *out, lt_pool *pool, int64_t n, double *left, double *right);

#endif
