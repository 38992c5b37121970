/* Loops over a row and a tile of rows. Compiled once per instruction set (lt_isa_sources). SPDX-License-Identifier: BSD-3-Clause */
#include "operators/sample/quality_loops.h"

#include <string.h>

#if LT_ISA_BYTES == 64
#include <immintrin.h>
#define VECTOR __m512d
#define SPREAD(x) _mm512_set1_pd(x)
#define LEAST(a, b) _mm512_min_pd(a, b)
#elif LT_ISA_BYTES == 32
#include <immintrin.h>
#define VECTOR __m256d
#define SPREAD(x) _mm256_set1_pd(x)
#define LEAST(a, b) _mm256_min_pd(a, b)
#else
#define VECTOR double
#define SPREAD(x) (x)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#endif

enum { LANES = sizeof(VECTOR) / sizeof(double), PARTS = LT_TILE_ROWS / LANES < 4 ? LT_TILE_ROWS / LANES : 4 };

static inline VECTOR load(const double *p)
{
    VECTOR v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(double *p, VECTOR v) { memcpy(p, &v, sizeof v); }

void LT_ISA_NAME(lt_add_kernels)(const double *bound, const int *offset, const double *tile, int p, double sum[LT_TILE_ROWS])
{
    for (int k = 0; k < LT_TILE_ROWS; k += PARTS * LANES) {
        VECTOR product[PARTS];
        for (int q = 0; q < PARTS; q++) product[q] = SPREAD(1.0);
        for (int d = 0; d < p; d++) {
            VECTOR b = SPREAD(bound[d]);
            const double *c = tile + offset[d] + k;
            for (int q = 0; q < PARTS; q++) product[q] = product[q] * LEAST(load(c + q * LANES), b);
        }
        for (int q = 0; q < PARTS; q++) store(sum + k + q * LANES, load(sum + k + q * LANES) + product[q]);
    }
}
