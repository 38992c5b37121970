/* Winograd convolution: what the row and its loops share. SPDX-License-Identifier: BSD-3-Clause

   A result tile of m x m comes from an input tile of n x n points, n = m + r - 1 for a filter of r x r:
       Y = A' [ sum over channels of (G g G') .* (B' d B) ] A
   which costs n^2/m^2 multiplications an output instead of r^2. Filters:
       3x3: m = 4, n = 6, 4 times fewer;  5x5: m = 2, n = 6, 2.8 times fewer;
       7x7: cut into four filters of 4x4 (a row and a column of zeros added), m = 4, n = 7, 4 times fewer.
   The four are m apart, so each reads the transform of a neighbouring tile: they are only more terms of
   the sum. Points 0, 1, -1, 2, -1/2, (1/2,) infinity: of those with small exact coefficients they lose
   the fewest digits, about two bits against the plain sum. Every tile is computed by itself, its terms
   in order, so bits depend on nothing but the data.

   The gradient of the filter is the transpose of the same map (decision 93), a sum over tiles instead of channels:
       dg = G' [ sum over tiles of (B' d B) .* (A dY A') ] G */
#ifndef LT_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_H
#define LT_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_H

#include "lathe/base.h"

#define LT_WINO_MAX_SIDE 7
#define LT_WINO_MAX_POINTS (LT_WINO_MAX_SIDE * LT_WINO_MAX_SIDE)
#define LT_WINO_MAX_PARTS 4

typedef struct lt_wino_loops {
    int width, rows;              /* channels in a vector; tiles multiplied together */
    /* One tile of side x side input pixels (rows of c channels, zeros outside the image): v [side^2][stride]
       gets the transform, c channels each, rounded up to whole vectors. */
    void (*input)(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride);
    /* m [rows][m_stride] = sum over parts of v[part] [rows][v_stride] u [part][c][vectors * width]: one point, one
       or two vectors of outputs. */
    void (*product)(int64_t rows, int vectors, int64_t c, int parts, const float *const *v, int64_t v_stride, const float *u, float *m, int64_t m_stride);
    /* One tile back: pixel[tile^2] are its output pixels, NULL outside the image. */
    void (*output)(lt_dtype type, int side, int tile, const float *m, int64_t stride, int64_t o, void *const *pixel);
    /* A dY A', for 6 points: one tile of gradients of c channels (NULL: zeros) gives v [36][stride], `wide` numbers each,
       zeros beyond c. */
    void (*spread)(int tile, const float *const *pixel, int64_t c, float *v, int64_t wide, int64_t stride);
    /* m [rows][m_stride] = sum over n of v [n][v_stride] (rows of it) times u [n][u_stride] (a pair of vectors of it). */
    void (*outer)(int64_t rows, int64_t n, const float *v, int64_t v_stride, const float *u, int64_t u_stride, float *m, int64_t m_stride);
    /* G' u G, for 6 points and filters of r x r: u [36][stride], one vector of each, gives out [r * r][width]. */
    void (*filter)(int r, const float *u, int64_t stride, float g[6][5], float *out);
} lt_wino_loops;

/* G: row p holds the powers of point p over the product of its distances to the others; the last is infinity. */
void lt_wino_filter_points(int side, int filter, double g[LT_WINO_MAX_SIDE][5]);

extern const lt_wino_loops lt_wino_avx2, lt_wino_avx512;

#endif
