/* The inner loops of direct convolution, compiled once per instruction set.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_DIRECT_H
#define LT_KERNELS_CPU_CONV_DIRECT_H

#include <stdint.h>

/* One output row of all channels: y[o][i] (+)= sum over taps t of w[t][o] * x[tap[t] + i]. The packed
   input makes every tap a plain offset, whatever the stride, dilation and padding. */
typedef struct lt_direct_row {
    const void    *x, *w;      /* w: (tap, channel) */
    void          *y;          /* (channel, y_step), whole vectors are written */
    const int64_t *tap;
    int64_t        n_taps, n_out, n_vectors, y_step;
    int            add;        /* to what y holds: the taps come in several chunks */
} lt_direct_row;

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
    void (*row_f32)(const lt_direct_row *r);
    void (*row_f64)(const lt_direct_row *r);
    void (*weights_f32)(const lt_direct_weights *g);
    void (*weights_f64)(const lt_direct_weights *g);
} lt_direct_loops;

extern const lt_direct_loops lt_direct_plain, lt_direct_avx2, lt_direct_avx512;

#endif
