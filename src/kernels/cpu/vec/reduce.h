/* Sums and extremes for one REAL: part of cpu/vec/body.h. The order of operations depends on the
   extents only and is the same for every instruction set: a run of at least RUN_LANES elements
   is folded into that many lanes, then lane by lane in halves; a shorter one from left to right.
   SPDX-License-Identifier: BSD-3-Clause */
#define RUN_LANES (256 / (int)sizeof(REAL))
#define RUN_VECS (RUN_LANES / VEC_WIDTH)
#define PREFETCH_BYTES 2048   /* as far ahead as a run that comes from memory is asked for */

static inline VEC FN(vec_sum)(VEC acc, VEC x) { return acc + x; }
static inline REAL FN(one_sum)(REAL acc, REAL x) { return acc + x; }

#define VEC_REDUCE(name)                                                                     \
    static inline REAL FN(run_short_##name)(const REAL *x, int64_t n)                        \
    {                                                                                        \
        REAL acc = x[0];                                                                     \
        for (int64_t i = 1; i < n; i++) acc = FN(one_##name)(acc, x[i]);                     \
        return acc;                                                                          \
    }                                                                                        \
    static inline REAL FN(run_##name)(const REAL *x, int64_t n)                              \
    {                                                                                        \
        VEC acc[RUN_VECS];                                                                   \
        REAL lane[RUN_LANES];                                                                \
        for (int v = 0; v < RUN_VECS; v++) acc[v] = FN(vec_load)(x + v * VEC_WIDTH);         \
        int64_t i = RUN_LANES;                                                               \
        for (; i + RUN_LANES <= n; i += RUN_LANES)                                           \
            for (int v = 0; v < RUN_VECS; v++) {                                             \
                __builtin_prefetch((const char *)(x + i + v * VEC_WIDTH) + PREFETCH_BYTES);  \
                acc[v] = FN(vec_##name)(acc[v], FN(vec_load)(x + i + v * VEC_WIDTH));        \
            }                                                                                \
        if (i < n) {                                                                         \
            for (int v = 0; v < RUN_VECS; v++) FN(vec_store)(lane + v * VEC_WIDTH, acc[v]);  \
            for (int j = 0; i + j < n; j++) lane[j] = FN(one_##name)(lane[j], x[i + j]);     \
            for (int v = 0; v < RUN_VECS; v++) acc[v] = FN(vec_load)(lane + v * VEC_WIDTH);  \
        }                                                                                    \
        for (int half = RUN_VECS / 2; half; half /= 2)                                       \
            for (int v = 0; v < half; v++) acc[v] = FN(vec_##name)(acc[v], acc[v + half]);   \
        FN(vec_store)(lane, acc[0]);                                                         \
        VEC_UNROLL for (int half = VEC_WIDTH / 2; half; half /= 2)                           \
            VEC_UNROLL for (int j = 0; j < half; j++) lane[j] = FN(one_##name)(lane[j], lane[j + half]); \
        return lane[0];                                                                      \
    }                                                                                        \
    static void FN(rows_##name)(void *d_, const void *x_, int64_t n, int64_t n_rows)         \
    {                                                                                        \
        REAL *d = d_; const REAL *x = x_;                                                    \
        if (n < RUN_LANES)                                                                   \
            for (int64_t r = 0; r < n_rows; r++) d[r] = FN(run_short_##name)(x + r * n, n);  \
        else                                                                                 \
            for (int64_t r = 0; r < n_rows; r++) d[r] = FN(run_##name)(x + r * n, n);        \
    }                                                                                        \
    static void FN(columns_##name)(void *acc_, const void *x_, int64_t n, int64_t n_rows)    \
    {                                                                                        \
        REAL *restrict acc = acc_; const REAL *restrict x = x_;                              \
        for (; n_rows >= 4; n_rows -= 4, x += 4 * n)                                         \
            for (int64_t i = 0; i < n; i++) {                                                \
                REAL s = FN(one_##name)(acc[i], x[i]);                                       \
                s = FN(one_##name)(s, x[i + n]);                                             \
                s = FN(one_##name)(s, x[i + 2 * n]);                                         \
                acc[i] = FN(one_##name)(s, x[i + 3 * n]);                                    \
            }                                                                                \
        for (; n_rows > 0; n_rows--, x += n)                                                 \
            for (int64_t i = 0; i < n; i++) acc[i] = FN(one_##name)(acc[i], x[i]);           \
    }

VEC_REDUCE(sum)
VEC_REDUCE(maximum)
VEC_REDUCE(minimum)

#undef VEC_REDUCE
#undef RUN_LANES
#undef RUN_VECS
#undef PREFETCH_BYTES
