/* Winograd convolution: what the row and its loops share. SPDX-License-Identifier: BSD-3-Clause

   A result tile of m x m comes from an input tile of 6 x 6 (m + kernel - 1 = 6):
       Y = A' [ sum over channels of (G g G') .* (B' d B) ] A
   so an output costs 36/m^2 multiplications instead of kernel^2: 4 times fewer for 3x3 (m = 4), 2.8
   times for 5x5 (m = 2). Points 0, 1, -1, 2, -1/2, infinity: of those with small exact coefficients
   they lose the fewest digits (about two bits against the plain sum). Every tile is computed by
   itself, with channels summed in order, so bits depend on nothing but the data. */
#ifndef LT_KERNELS_CPU_CONV_WINOGRAD_H
#define LT_KERNELS_CPU_CONV_WINOGRAD_H

#include "lathe/base.h"

#define LT_WINO_SIDE 6
#define LT_WINO_POINTS (LT_WINO_SIDE * LT_WINO_SIDE)

typedef struct lt_wino_loops {
    int width, rows;              /* channels in a vector; tiles multiplied together */
    /* One tile: pixel[36] are its input pixels (rows of c channels, zeros outside the image);
       v [36][stride] gets the transform, c channels each, rounded up to whole vectors. */
    void (*input)(lt_dtype type, const void *const *pixel, int64_t c, float *v, int64_t stride);
    /* m [rows][m_stride] = v [rows][v_stride] u [c][2 width], one point, one pair of vectors of outputs. */
    void (*product)(int64_t rows, int64_t c, const float *v, int64_t v_stride, const float *u, float *m, int64_t m_stride);
    /* One tile back: pixel[side * side] are its output pixels, NULL outside the image. */
    void (*output)(lt_dtype type, int side, const float *m, int64_t stride, int64_t o, void *const *pixel);
} lt_wino_loops;

extern const lt_wino_loops lt_wino_avx2, lt_wino_avx512;

#endif
