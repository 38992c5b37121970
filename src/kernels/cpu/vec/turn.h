/* Turning matrices around, with an activation on the way: part of cpu/vec/body.h, single precision alone.
   SPDX-License-Identifier: BSD-3-Clause */
#define TURN_COLUMNS 16 /* a line of memory */

/* Element by element, then the function on what was written: for edges, and for processors without the tiles below. */
static void FN(turn_rest)(lt_vec_fn f, float *d, int64_t d_stride, const float *a, int64_t a_stride, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r += TURN_COLUMNS)
        for (int64_t c = 0; c < columns; c++)
            for (int64_t i = r; i < rows && i < r + TURN_COLUMNS; i++) d[c * d_stride + i] = a[i * a_stride + c];
    for (int64_t c = 0; f && c < columns && rows > 0; c++) f(d + c * d_stride, d + c * d_stride, NULL, NULL, rows);
}

#if VEC_BYTES > 16
#if VEC_BYTES == 64
#define NATIVE __m512
#define PAIRS(which, type, x, y) _mm512_unpack##which##_##type((x), (y))
#define WIDE(x) _mm512_castps_pd(x)
#define NARROW(x) (VEC)_mm512_castpd_ps(x)
#else
#define NATIVE __m256
#define PAIRS(which, type, x, y) _mm256_unpack##which##_##type((x), (y))
#define WIDE(x) _mm256_castps_pd(x)
#define NARROW(x) (VEC)_mm256_castpd_ps(x)
#endif

/* Four elements of every fourth row, a row in each lane of 16 bytes. */
static inline NATIVE FN(fourth_rows)(const float *a, int64_t stride)
{
#if VEC_BYTES == 64
    NATIVE v = _mm512_castps128_ps512(_mm_loadu_ps(a));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(a + 4 * stride), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(a + 8 * stride), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(a + 12 * stride), 3);
#else
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(a + 4 * stride), 1);
#endif
}

/* Four columns of VEC_WIDTH rows: turned within the lanes, they are whole. */
static inline void FN(four_columns)(const float *a, int64_t stride, VEC column[4])
{
    NATIVE r0 = FN(fourth_rows)(a, stride), r1 = FN(fourth_rows)(a + stride, stride);
    NATIVE r2 = FN(fourth_rows)(a + 2 * stride, stride), r3 = FN(fourth_rows)(a + 3 * stride, stride);
    NATIVE low01 = PAIRS(lo, ps, r0, r1), high01 = PAIRS(hi, ps, r0, r1), low23 = PAIRS(lo, ps, r2, r3), high23 = PAIRS(hi, ps, r2, r3);
    column[0] = NARROW(PAIRS(lo, pd, WIDE(low01), WIDE(low23)));
    column[1] = NARROW(PAIRS(hi, pd, WIDE(low01), WIDE(low23)));
    column[2] = NARROW(PAIRS(lo, pd, WIDE(high01), WIDE(high23)));
    column[3] = NARROW(PAIRS(hi, pd, WIDE(high01), WIDE(high23)));
}

static inline void FN(side_copy)(int n, VEC *x) { (void)n, (void)x; }
static inline void FN(side_relu)(int n, VEC *x) { for (int k = 0; k < n; k++) x[k] = FN(vec_relu)(x[k]); }

/* Tiles of a line's columns; tiles along the longer side follow one another, so that few streams are read and written. */
#define VEC_TURN(name, call)                                                                 \
    static inline void FN(turn_tile_##name)(float *d, int64_t d_stride, const float *a, int64_t a_stride) \
    {                                                                                        \
        VEC column[TURN_COLUMNS]; /* all of them first: what comes from far is on its way during the polynomials */ \
        for (int c = 0; c < TURN_COLUMNS; c += 4) FN(four_columns)(a + c, a_stride, column + c); \
        for (int c = 0; c < TURN_COLUMNS; c += VEC_SIDE) {                                   \
            FN(side_##name)(VEC_SIDE, column + c);                                           \
            for (int k = c; k < c + VEC_SIDE; k++) FN(vec_store)(d + k * d_stride, column[k]); \
        }                                                                                    \
    }                                                                                        \
    static void FN(turn_##name)(float *d, int64_t d_stride, const float *a, int64_t a_stride, int64_t rows, int64_t columns) \
    {                                                                                        \
        int64_t r_tiles = rows / VEC_WIDTH, c_tiles = columns / TURN_COLUMNS, r_end = r_tiles * VEC_WIDTH, c_end = c_tiles * TURN_COLUMNS; \
        for (int64_t t = 0; t < r_tiles * c_tiles; t++) {                                    \
            int64_t r = (rows > columns ? t % r_tiles : t / c_tiles) * VEC_WIDTH;            \
            int64_t c = (rows > columns ? t / r_tiles : t % c_tiles) * TURN_COLUMNS;         \
            FN(turn_tile_##name)(d + c * d_stride + r, d_stride, a + r * a_stride + c, a_stride); \
        }                                                                                    \
        FN(turn_rest)(call, d + c_end * d_stride, d_stride, a + c_end, a_stride, r_end, columns - c_end); \
        FN(turn_rest)(call, d + r_end, d_stride, a + r_end * a_stride, a_stride, rows - r_end, columns); \
    }
#else
#define VEC_TURN(name, call)                                                         \
    static void FN(turn_##name)(float *d, int64_t d_stride, const float *a, int64_t a_stride, int64_t rows, int64_t columns) \
    {                                                                                        \
        FN(turn_rest)(call, d, d_stride, a, a_stride, rows, columns);                        \
    }
#endif

VEC_TURN(copy, NULL)
VEC_TURN(relu, FN(relu))
VEC_TURN(gelu, FN(gelu))

#undef VEC_TURN
#undef TURN_COLUMNS
#undef NATIVE
#undef PAIRS
#undef WIDE
#undef NARROW
