/* Columns of a tile into rows: part of loops_isa.h (double only). SPDX-License-Identifier: BSD-3-Clause */

typedef T FN(loose) __attribute__((vector_size(LT_VECTOR_BYTES), may_alias, aligned(sizeof(T)))); /* at any element */

/* The first, or the last, halves of two vectors, element by element in turns. */
#if LT_VECTOR_BYTES == 64
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_LAST(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif LT_VECTOR_BYTES == 32
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_LAST(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ZIP_LAST(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* Zipping vector i with vector i + LANES/2 turns the bits of an element's number (vector, lane) by one place:
   after log2(LANES) times vectors and lanes have changed places. */
static inline __attribute__((always_inline)) void FN(turn_square)(V r[LANES])
{
    UNROLL for (int round = 1; round < LANES; round *= 2) {
        V next[LANES];
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = ZIP_FIRST(r[i], r[i + LANES / 2]);
            next[2 * i + 1] = ZIP_LAST(r[i], r[i + LANES / 2]);
        }
        UNROLL for (int i = 0; i < LANES; i++) r[i] = next[i];
    }
}

static double FN(turn)(double *to, int64_t to_step, const double *from, int64_t step, int64_t n_columns)
{
    V sum = { 0 };
    double rest = 0;
    int64_t j = 0;
    for (; j + LANES <= n_columns; j += LANES) {
        V r[LANES];
        UNROLL for (int i = 0; i < LANES; i++) {
            r[i] = *(const FN(loose) *)(from + (j + i) * step);
            sum += r[i];
        }
        FN(turn_square)(r);
        UNROLL for (int i = 0; i < LANES; i++) *(FN(loose) *)(to + i * to_step + j) = r[i];
    }
    for (; j < n_columns; j++)
        for (int i = 0; i < LANES; i++) rest += to[i * to_step + j] = from[j * step + i];
    for (int i = 0; i < LANES; i++) rest += sum[i];
    return rest;
}
