/* The inner loops of direct convolution, compiled once per instruction set.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_DIRECT_DIRECT_H
#define LT_KERNELS_CPU_CONV_DIRECT_DIRECT_H

#include <stdint.h>

/* Some output rows of all channels: for every vector position p, y[o * y_step + y_at[p] + lane] (+)=
   sum over taps t of w[t][o] * x[tap[t] + x_at[p] + lane]. The packed input makes every tap a plain
   offset, whatever the stride, dilation and padding. Positions are stored in their order, for each
   channel, so that a vector may spill over into the beginning of a later one. */
typedef struct lt_direct_rows {
    const void    *x, *w;      /* w: (tap, channel) */
    void          *y;
    const int64_t *tap, *x_at, *y_at;
    int64_t        n_taps, n_out, n_positions, y_step;
    int            add;        /* to what y holds: the taps come in several chunks */
} lt_direct_rows;

/* Weight gradients over a stack of rows: w[t][o] += sum over rows r and columns i of
   y[o * y_channel + r_y + i] * x[tap[t] + r_x + i]; columns in whole vectors, y zero behind its end. */
typedef struct lt_direct_weights {
    const void    *x, *y;
    void          *w;          /* (tap, channel) */
    const int64_t *tap;
    const int64_t *row_x, *row_y; /* offsets of the rows */
    int64_t        n_taps, n_out, n_vectors, n_rows, y_channel;
} lt_direct_weights;

typedef struct lt_direct_loops {
    int  lanes_f32, lanes_f64;
    void (*rows_f32)(const lt_direct_rows *r);
    void (*rows_f64)(const lt_direct_rows *r);
    void (*weights_f32)(const lt_direct_weights *g);
    void (*weights_f64)(const lt_direct_weights *g);
} lt_direct_loops;

extern const lt_direct_loops lt_direct_plain, lt_direct_avx2, lt_direct_avx512;

#endif
