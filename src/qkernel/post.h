/* What is done to a matrix after it is computed. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_POST_H
#define LT_QKERNEL_POST_H

#include "base/pool.h"
#include "qkernel/tiles.h"

/* What a diagonal entry counts as when rows and columns are divided. */
double    lt_post_root(double k);
/* roots: n_columns numbers of workspace. */
lt_status lt_post_normalize(const lt_gram_out *out, lt_pool *pool, double jitter, double *roots);
/* left (n) and right (n_columns): k(x,x) and k(y,y); overwritten by their roots. */
lt_status lt_post_normalize_cross(const lt_gram_out *out, lt_pool *pool, int64_t n, double *left, double *right);

#endif
