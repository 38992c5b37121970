/* Element types: every 16-bit value round trips, and narrowing rounds to nearest even exactly.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/dtype.h"
#include "base/status.h"

#include <float.h>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t random_state = 88172645463325252u; /* fixed: a failure repeats */
static uint64_t random_bits(void)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return random_state;
}

/* A second opinion on one 16-bit value, from its definition. */
static double value_of(uint16_t h, int fraction_bits, int bias)
{
    int e = (h & 0x7fff) >> fraction_bits, m = h & ((1 << fraction_bits) - 1), top = (1 << (15 - fraction_bits)) - 1;
    double v = e == top ? (m ? NAN : INFINITY)
             : e ? ldexp(1 + ldexp(m, -fraction_bits), e - bias) : ldexp(m, 1 - bias - fraction_bits);
    return h & 0x8000 ? -v : v;
}

typedef struct format {
    int fraction_bits, bias;
    uint16_t infinity;
    float (*widen)(uint16_t);
    uint16_t (*from_f32)(float), (*from_f64)(double);
} format;
static const format formats[] = {
    { 10, 15, 0x7c00, lt_f16_to_f32, lt_f32_to_f16, lt_f64_to_f16 },
    { 7, 127, 0x7f80, lt_bf16_to_f32, lt_f32_to_bf16, lt_f64_to_bf16 },
};

LT_TEST(every_16_bit_value_is_exact_and_round_trips)
{
    for (size_t f = 0; f < LT_LEN(formats); f++)
        for (uint32_t h = 0; h < 65536; h++) {
            float wide = formats[f].widen((uint16_t)h);
            double want = value_of((uint16_t)h, formats[f].fraction_bits, formats[f].bias);
            if (isnan(want)) {
                LT_CHECK(isnan(wide) && isnan(formats[f].widen(formats[f].from_f32(wide))));
                LT_CHECK(isnan(formats[f].widen(formats[f].from_f64(wide))));
                continue;
            }
            LT_CHECK((double)wide == want && !signbit(wide) == !signbit(want));
            LT_CHECK_EQ_INT(formats[f].from_f32(wide), h);
            LT_CHECK_EQ_INT(formats[f].from_f64(wide), h);
        }
}

/* Between neighbours: the halfway point goes to the even one, anything off it to the nearer. */
LT_TEST(every_halfway_point_goes_to_even)
{
    for (size_t f = 0; f < LT_LEN(formats); f++)
        for (uint16_t h = 0; h < formats[f].infinity; h++) {
            uint16_t up = (uint16_t)(h + 1), even = h & 1 ? up : h;
            double lo = value_of(h, formats[f].fraction_bits, formats[f].bias);
            /* Above the largest, halfway is where the next value would be, were there one. */
            double hi = up == formats[f].infinity
                            ? 2 * lo - value_of((uint16_t)(h - 1), formats[f].fraction_bits, formats[f].bias)
                            : value_of(up, formats[f].fraction_bits, formats[f].bias);
            double half = lo + (hi - lo) / 2;
            LT_CHECK_EQ_INT(formats[f].from_f64(half), even);
            LT_CHECK_EQ_INT(formats[f].from_f64(nextafter(half, 0)), h);
            LT_CHECK_EQ_INT(formats[f].from_f64(nextafter(half, INFINITY)), up);
            LT_CHECK_EQ_INT(formats[f].from_f64(-half), even | 0x8000);
            float half32 = (float)half;
            if ((double)half32 != half) continue; /* below the smallest f32 */
            LT_CHECK_EQ_INT(formats[f].from_f32(half32), even);
            LT_CHECK_EQ_INT(formats[f].from_f32(nextafterf(half32, 0)), h);
            LT_CHECK_EQ_INT(formats[f].from_f32(nextafterf(half32, INFINITY)), up);
        }
}

/* Random patterns of all magnitudes: no other value of the format may be nearer. */
LT_TEST(random_values_go_to_the_nearest)
{
    for (size_t f = 0; f < LT_LEN(formats); f++)
        for (int i = 0; i < 200000; i++) {
            uint32_t u = (uint32_t)random_bits() & 0x7fffffff;
            float x;
            memcpy(&x, &u, sizeof x);
            if (!isfinite(x)) continue;
            uint16_t h = formats[f].from_f32(x);
            LT_CHECK_EQ_INT(formats[f].from_f64((double)x), h);
            if (h >= formats[f].infinity) continue;
            double v = value_of(h, formats[f].fraction_bits, formats[f].bias), error = fabs(v - (double)x);
            if (h) LT_CHECK(error <= fabs(value_of((uint16_t)(h - 1), formats[f].fraction_bits, formats[f].bias) - (double)x));
            if (h + 1 < formats[f].infinity)
                LT_CHECK(error <= fabs(value_of((uint16_t)(h + 1), formats[f].fraction_bits, formats[f].bias) - (double)x));
        }
}

LT_TEST(double_to_half_rounds_once)
{
    double just_above_half = 1 + 0x1p-11 + 0x1p-40; /* to f32 first it would become a tie, and go down */
    LT_CHECK_EQ_INT(lt_f64_to_f16(just_above_half), 0x3c01);
    LT_CHECK_EQ_INT(lt_f32_to_f16((float)just_above_half), 0x3c00);
    LT_CHECK_EQ_INT(lt_f64_to_bf16(1 + 0x1p-8 + 0x1p-50), 0x3f81);
    LT_CHECK_EQ_INT(lt_f64_to_f16(65519.999), 0x7bff);
    LT_CHECK_EQ_INT(lt_f64_to_f16(65520), 0x7c00);
    LT_CHECK_EQ_INT(lt_f64_to_f16(DBL_MAX), 0x7c00);
    LT_CHECK_EQ_INT(lt_f64_to_f16(DBL_MIN), 0);
    LT_CHECK_EQ_INT(lt_f64_to_f16(-4.9e-324), 0x8000);
}

LT_TEST(names_parse_back)
{
    static const char *const numpy_names[] = { "float16", "bfloat16", "float32", "float64", "complex64",
                                               "complex128", "int32", "int64", "uint8" };
    for (int t = 0; t < LT_DTYPE_COUNT; t++) {
        lt_dtype got = LT_DTYPE_COUNT;
        LT_CHECK(lt_dtype_parse(lt_dtype_name((lt_dtype)t), &got) && (int)got == t);
        LT_CHECK(lt_dtype_parse(numpy_names[t], &got) && (int)got == t);
        LT_CHECK(lt_dtype_size((lt_dtype)t) > 0);
    }
    lt_dtype got = LT_F32;
    LT_CHECK(!lt_dtype_parse("float33", &got) && !lt_dtype_parse(NULL, &got) && got == LT_F32);
    LT_CHECK(!strcmp(lt_dtype_name(LT_DTYPE_COUNT), "?") && lt_dtype_size((lt_dtype)-1) == 0);
}

/* ---- Arrays ------------------------------------------------------------------- */
LT_TEST(small_integers_survive_every_pair_of_types)
{
    enum { N = 1000 }; /* several blocks and a remainder */
    static unsigned char from[N * 16], to[N * 16];
    for (int a = 0; a < LT_DTYPE_COUNT; a++)
        for (int b = 0; b < LT_DTYPE_COUNT; b++) {
            memset(to, 0xee, sizeof to);
            for (int64_t i = 0; i < N; i++) lt_store_double((lt_dtype)a, from, i, (double)(i % 256));
            lt_convert((lt_dtype)b, to, (lt_dtype)a, from, N - 1);
            for (int64_t i = 0; i < N - 1; i++)
                if (lt_load_double((lt_dtype)b, to, i) != (double)(i % 256))
                    LT_TEST_FAIL("%s to %s at %d", lt_dtype_name((lt_dtype)a), lt_dtype_name((lt_dtype)b), (int)i);
            LT_CHECK(to[(N - 1) * lt_dtype_size((lt_dtype)b)] == 0xee); /* and not one further */
        }
}

/* Arrays may go another way than single values; the bits are the same, NaN payloads included. */
LT_TEST(arrays_and_single_values_agree)
{
    enum { N = 65536 + 3 };
    static float wide[N];
    static uint16_t narrow[N], all[N];
    for (int i = 0; i < N; i++) {
        uint32_t u = (uint32_t)random_bits();
        if (i % 3 == 0) u = (u & 0x8fffffff) | 0x38000000; /* where f16 has its range */
        memcpy(&wide[i], &u, sizeof u);
        all[i] = (uint16_t)i;
    }
    lt_convert(LT_F16, narrow, LT_F32, wide, N);
    for (int i = 0; i < N; i++)
        if (narrow[i] != lt_f32_to_f16(wide[i])) LT_TEST_FAIL("f16 of %a (%08x)", (double)wide[i], bits_of(wide[i]));
    lt_convert(LT_BF16, narrow, LT_F32, wide, N);
    for (int i = 0; i < N; i++) LT_CHECK_EQ_INT(narrow[i], lt_f32_to_bf16(wide[i]));
    lt_convert(LT_F32, wide, LT_BF16, all, N);
    for (int i = 0; i < N; i++) LT_CHECK_EQ_INT(bits_of(wide[i]), bits_of(lt_bf16_to_f32(all[i])));
    lt_convert(LT_F32, wide, LT_F16, all, N);
    for (int i = 0; i < N; i++) LT_CHECK_EQ_INT(bits_of(wide[i]), bits_of(lt_f16_to_f32(all[i])));
}

LT_TEST(complex_parts)
{
    float c[4] = { 1, 2, 3, 4 };
    double z[4], re[2];
    lt_convert(LT_C128, z, LT_C64, c, 2);
    LT_CHECK(z[0] == 1 && z[1] == 2 && z[2] == 3 && z[3] == 4);
    lt_convert(LT_F64, re, LT_C64, c, 2);
    LT_CHECK(re[0] == 1 && re[1] == 3);
    lt_convert(LT_C64, c, LT_F64, (double[]){ 5, 6 }, 2);
    LT_CHECK(c[0] == 5 && c[1] == 0 && c[2] == 6 && c[3] == 0);
    lt_store_double(LT_C128, z, 1, 9);
    LT_CHECK(z[2] == 9 && z[3] == 0 && lt_load_double(LT_C128, z, 1) == 9);
}

LT_TEST(floats_truncate_and_saturate_into_integers)
{
    static const double in[] = { 1.9, -1.9, 1e300, -1e300, INFINITY, -INFINITY, NAN, 255.5, 256, -0.5,
                                 2147483647.5, -2147483648.5, 0x1p63, -0x1p63 };
    static const int32_t i32[] = { 1, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, 255, 256, 0,
                                   INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN };
    static const uint8_t u8[] = { 1, 0, 255, 0, 255, 0, 0, 255, 255, 0, 255, 0, 255, 0 };
    int32_t a[LT_LEN(in)];
    int64_t b[LT_LEN(in)];
    uint8_t c[LT_LEN(in)];
    lt_convert(LT_I32, a, LT_F64, in, LT_LEN(in));
    lt_convert(LT_I64, b, LT_F64, in, LT_LEN(in));
    lt_convert(LT_U8, c, LT_F64, in, LT_LEN(in));
    for (size_t i = 0; i < LT_LEN(in); i++) {
        LT_CHECK_EQ_INT(a[i], i32[i]);
        LT_CHECK_EQ_INT(c[i], u8[i]);
    }
    LT_CHECK(b[2] == INT64_MAX && b[3] == INT64_MIN && b[6] == 0 && b[12] == INT64_MAX && b[13] == INT64_MIN);
}

LT_TEST(integers_round_once_and_saturate)
{
    int64_t tie_plus = (1ll << 62) + (1ll << 54) + 1; /* just above halfway between two bf16 values */
    int64_t in[] = { tie_plus, (1ll << 62) + (1ll << 54), -tie_plus, INT64_MIN, 300, -5 };
    uint16_t h[6];
    lt_convert(LT_BF16, h, LT_I64, in, 6);
    LT_CHECK_EQ_INT(h[0], 0x5e81);
    LT_CHECK_EQ_INT(h[1], 0x5e80);
    LT_CHECK_EQ_INT(h[2], 0xde81);
    LT_CHECK_EQ_INT(h[3], 0xdf00);
    float f;
    int64_t above = (1ll << 24) + 1 + (1ll << 54); /* double rounding would lose the last bit */
    lt_convert(LT_F32, &f, LT_I64, &above, 1);
    LT_CHECK_EQ_INT(bits_of(f), bits_of((float)above));
    uint8_t u[6];
    lt_convert(LT_U8, u, LT_I64, in, 6);
    LT_CHECK(u[0] == 255 && u[3] == 0 && u[4] == 255 && u[5] == 0);
}

LT_TEST_MAIN()
