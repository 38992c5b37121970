/* The sizes of a convolution or pooling problem, whatever the layout.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_WINDOW_H
#define LT_KERNELS_WINDOW_H

#include "kernels/kernel_table.h"

/* x is (n, c, h, w) and y (n, o, oh, ow), each with its own steps in elements; groups of
   c/groups input and o/groups output channels do not mix. */
typedef struct lt_conv_sizes {
    int64_t k;                     /* WGRAD: number of independent gradients; else 1 */
    bool    k_in_x, k_in_y;        /* whether x and gy have that axis, or are shared by all */
    int64_t n, c, h, w, o, oh, ow, groups;
    int64_t xs[4], ys[4];          /* steps of x and y along n, channel, row, column */
    lt_window win;
} lt_conv_sizes;

lt_conv_sizes lt_conv_sizes_of(const lt_problem_key *p); /* CONV2D, CONV2D_DGRAD, CONV2D_WGRAD */
double        lt_conv_flops(const lt_conv_sizes *s);

typedef struct lt_pool_sizes {
    int64_t planes, h, w, oh, ow;  /* planes: product of the extents before the rows */
    int64_t c;                     /* channels beside each other; 1 unless channels_last */
    lt_window win;
} lt_pool_sizes;

lt_pool_sizes lt_pool_sizes_of(const lt_problem_key *p); /* MAXPOOL_INDEX, AVGPOOL, AVGPOOL_GRAD */

/* The part of 0..n_out-1 whose source position i*stride + shift lies inside 0..n_in-1. */
static inline void lt_window_range(int64_t n_out, int64_t n_in, int64_t stride, int64_t shift,
                                   int64_t *begin, int64_t *end)
{
    int64_t lo = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t hi = n_in - 1 - shift < 0 ? 0 : (n_in - 1 - shift) / stride + 1;
    *begin = lo < n_out ? lo : n_out;
    *end = hi < n_out ? hi : n_out;
    if (*end < *begin) *end = *begin;
}

#endif
