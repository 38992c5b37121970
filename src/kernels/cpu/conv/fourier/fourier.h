/* Convolution by Fourier transforms of tiles: what the row and its loops share. SPDX-License-Identifier: BSD-3-Clause

   16 x 16 results of a window of k x k come from a tile of n x n pixels, n = 15 + k (20 for 5x5, 22 for 7x7), by one complex
   product per frequency and pair of channels. n^2 / 2 - 2 frequencies are complex and 4 real (the others are conjugates of
   these), and a complex product takes three real ones (Gauss): with a + ib of the tile and c + id of the filter
       k1 = (a + b) c,  k2 = a (d - c),  k3 = b (c + d),  (a + ib)(c + id) = k1 - k3 + i (k1 + k2),
   each summed over channels before it is put together: 2.3 multiplications a result for 5x5 and 2.8 for 7x7. They are made one
   after the other, so that the filters of one stay in the first-level cache until all tiles have been multiplied. Memory holds
   n^2 numbers of a tile, channels side by side, the two parts of each complex frequency (points 2 p and 2 p + 1) and then the four real ones. The
   transform is orthogonal but for its scale: nothing is magnified on the way back, and the error stays near that of a plain
   sum. Grids of 16 s are covered without rest; larger tiles would need fewer products still, but more filters than memory
   can bring. Lanes of a vector are channels; every tile is computed by itself. */
#ifndef LT_KERNELS_CPU_CONV_FOURIER_FOURIER_H
#define LT_KERNELS_CPU_CONV_FOURIER_FOURIER_H

#include "lathe/base.h"

#define LT_FOURIER_TILE 16
#define LT_FOURIER_MOST_SIDE 22
#define LT_FOURIER_REAL 4

/* One complex frequency of `rows` tiles and `vectors` (1 or `wide`) vectors of outputs: re, im [rows][m_stride] from the sums a + b
   [rows][sum_stride], a and b [rows][v_stride], and u [3][c][vectors][width]. Of several such products with the same u this is
   number `share` of `shares`: each fetches its part of the filters that follow. */
typedef struct lt_fourier_product {
    int64_t      rows, c;
    int          vectors, share, shares;
    bool         streams;            /* results are not read soon: past the caches with them. For vectors of whole cache lines */
    const float *sum, *a, *b, *u;
    float       *re, *im;
    int64_t      sum_stride, v_stride, m_stride;
} lt_fourier_product;

typedef struct lt_fourier_loops {
    int width, wide; /* channels in a vector; vectors of outputs multiplied together, but for a last one */
    /* The tile at pixel[side][side] (rows of c channels, zeros outside the image) gives v [points][stride], c channels each,
       rounded up to whole vectors; streams: past the caches. */
    void (*input)(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride, bool streams);
    /* Filters of one input and `width` output channels, taps [k * k][width]: for frequency p the three factors of Gauss (or the
       one of a real frequency) go to u + p * stride, `width` each and `gap` apart, scaled for `output`. */
    void (*filter)(int side, const float *taps, float *u, int64_t stride, int64_t gap);
    /* sum [n] = a [n] + b [n]. */
    void (*add)(int64_t n, const float *a, const float *b, float *sum);
    void (*product)(const lt_fourier_product *p);
    /* The same of a real one: a and the first of the three factors give re. */
    void (*real_product)(const lt_fourier_product *p);
    /* One tile back: pixel[16][16] are its output pixels, NULL outside the image. */
    void (*output)(lt_dtype type, int side, const float *m, int64_t stride, int64_t o, void *const *pixel);
} lt_fourier_loops;

extern const lt_fourier_loops lt_fourier_avx2, lt_fourier_avx512;

#endif
