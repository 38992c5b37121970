/* Winograd convolution: what the row and its loops share. SPDX-License-Identifier: BSD-3-Clause

   A result tile of m x m comes from an input tile of n x n points, n = m + r - 1 for a filter of r x r:
       Y = A' [ sum over channels of (G g G') .* (B' d B) ] A
   which costs n^2/m^2 multiplications an output instead of r^2. Filters:
       3x3: m = 4, n = 6, 4 times fewer;  5x5: m = 2, n = 6, 2.8 times fewer;
       7x7: cut into four filters of 4x4 (a row and a column of zeros added), m = 4, n = 7, 4 times fewer.
   The four are m apart, so each reads the transform of a neighbouring tile: they are only more terms of
   the sum. Points 0, 1, -1, 2, -1/2, (1/2,) infinity: of those with small exact coefficients they lose
   the fewest digits, about two bits against the plain sum. Every tile is computed by itself, its terms
   in order, so bits depend on nothing but the data. */
#ifndef LT_KERNELS_CPU_CONV_WINOGRAD_H
#define LT_KERNELS_CPU_CONV_WINOGRAD_H

#include "lathe/base.h"

#define LT_WINO_MAX_SIDE 7
#define LT_WINO_MAX_POINTS (LT_WINO_MAX_SIDE * LT_WINO_MAX_SIDE)
#define LT_WINO_MAX_PARTS 4

typedef struct lt_wino_loops {
    int width, rows;              /* channels in a vector; tiles multiplied together */
    /* One tile of side x side input pixels (rows of c channels, zeros outside the image): v [side^2][stride]
       gets the transform, c channels each, rounded up to whole vectors. */
    void (*input)(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride);
    /* m [rows][m_stride] = sum over parts of v[part] [rows][v_stride] u [part][c][2 width]: one point, one
       pair of vectors of outputs. */
    void (*product)(int64_t rows, int64_t c, int parts, const float *const *v, int64_t v_stride, const float *u, float *m, int64_t m_stride);
    /* One tile back: pixel[tile^2] are its output pixels, NULL outside the image. */
    void (*output)(lt_dtype type, int side, int tile, const float *m, int64_t stride, int64_t o, void *const *pixel);
} lt_wino_loops;

extern const lt_wino_loops lt_wino_avx2, lt_wino_avx512;

#endif
