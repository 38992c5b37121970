/* Random numbers against published vectors, and the promises of streams.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"

#include "base/status.h"
#include "lathe/rng.h"

LT_TEST(philox_known_answers) /* Random123's kat_vectors */
{
    static const struct { uint32_t counter[4], key[2], out[4]; } table[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < LT_LEN(table); i++) {
        uint32_t out[4];
        lt_philox4x32(table[i].counter, table[i].key, out);
        LT_CHECK(!memcmp(out, table[i].out, sizeof out));
    }
}

/* A stream must mean the same numbers in every later version: values recorded once. */
LT_TEST(streams_keep_their_values)
{
    lt_draws s = lt_draws_make(42, "noise", 1, 2, 3);
    LT_CHECK_EQ_INT(s.key[0], 0x50bd7371u);
    LT_CHECK_EQ_INT(s.key[1], 0x625e6cb7u);
    LT_CHECK(s.coordinate[0] == 1 && s.coordinate[1] == 2 && s.coordinate[2] == 3);
    uint32_t word[4];
    lt_philox4x32((uint32_t[]){ 5, 1, 2, 3 }, s.key, word);
    float f[4];
    double d[2];
    LT_CHECK_OK(lt_draws_uniform_f32(&s, 20, 4, f));
    LT_CHECK_OK(lt_draws_uniform_f64(&s, 10, 2, d));
    for (int i = 0; i < 4; i++) LT_CHECK(f[i] == (float)(word[i] >> 8) / 16777216.0f);
    LT_CHECK(d[1] == (double)(((uint64_t)word[2] << 32 | word[3]) >> 11) / 9007199254740992.0);
}

LT_TEST(streams_differ_by_seed_purpose_and_coordinate)
{
    lt_draws s[6] = { lt_draws_make(1, "noise", 0, 0, 0), lt_draws_make(2, "noise", 0, 0, 0),
                       lt_draws_make(1, "weights", 0, 0, 0), lt_draws_make(1, "noise", 1, 0, 0),
                       lt_draws_make(1, "noise", 0, 1, 0), lt_draws_make(1, "noise", 0, 0, 1) };
    double first[6];
    for (int i = 0; i < 6; i++) {
        LT_CHECK_OK(lt_draws_uniform_f64(&s[i], 0, 1, &first[i]));
        for (int j = 0; j < i; j++) LT_CHECK(first[i] != first[j]);
    }
}

/* Blocks of exactly n numbers: their guards see one that is written too far. */
static void check_split(const lt_draws *s, int first, int n, const float *u32, const float *n32, const double *u64, const double *n64)
{
    float *a = lt_malloc((size_t)n * sizeof *a);
    double *b = lt_malloc((size_t)n * sizeof *b);
    LT_CHECK_OK(lt_draws_uniform_f32(s, first, n, a));
    LT_CHECK(!memcmp(a, u32 + first, (size_t)n * sizeof *a));
    LT_CHECK_OK(lt_draws_normal_f32(s, first, n, a));
    LT_CHECK(!memcmp(a, n32 + first, (size_t)n * sizeof *a));
    LT_CHECK_OK(lt_draws_uniform_f64(s, first, n, b));
    LT_CHECK(!memcmp(b, u64 + first, (size_t)n * sizeof *b));
    LT_CHECK_OK(lt_draws_normal_f64(s, first, n, b));
    LT_CHECK(!memcmp(b, n64 + first, (size_t)n * sizeof *b));
    lt_free(a), lt_free(b);
}

LT_TEST(any_split_gives_the_same_bits)
{
    enum { N = 103 };
    lt_draws s = lt_draws_make(7, "split", 0, 0, 0);
    float u32[N], n32[N];
    double u64[N], n64[N];
    LT_CHECK_OK(lt_draws_uniform_f32(&s, 0, N, u32));
    LT_CHECK_OK(lt_draws_normal_f32(&s, 0, N, n32));
    LT_CHECK_OK(lt_draws_uniform_f64(&s, 0, N, u64));
    LT_CHECK_OK(lt_draws_normal_f64(&s, 0, N, n64));
    for (int first = 0; first < 12; first++)
        for (int n = 0; n <= N - first; n += n < 40 ? 1 : 7) check_split(&s, first, n, u32, n32, u64, n64);
}

LT_TEST(ranges_are_checked)
{
    lt_draws s = lt_draws_make(7, "range", 0, 0, 0);
    float f;
    double d;
    LT_CHECK_OK(lt_draws_uniform_f32(&s, LT_STREAM_MAX_F32 - 1, 1, &f));
    LT_CHECK_FAILS(lt_draws_uniform_f32(&s, LT_STREAM_MAX_F32, 1, &f), LT_ERR_ARGUMENT, "1 elements from 17179869184");
    LT_CHECK_FAILS(lt_draws_normal_f64(&s, -1, 1, &d), LT_ERR_ARGUMENT, "from -1");
    LT_CHECK_FAILS(lt_draws_normal_f64(&s, 1, INT64_MAX, &d), LT_ERR_ARGUMENT, "random stream");
    LT_CHECK_FAILS(lt_draws_normal_f32(&s, 1, -1, &f), LT_ERR_ARGUMENT, "-1 elements");
}

LT_TEST(what_is_missing_is_named)
{
    lt_draws s = lt_draws_make(7, "range", 0, 0, 0);
    float f;
    double d;
    LT_CHECK_FAILS(lt_draws_uniform_f32(NULL, 0, 1, &f), LT_ERR_ARGUMENT, "the stream is NULL");
    LT_CHECK_FAILS(lt_draws_normal_f32(&s, 0, 1, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_draws_uniform_f64(NULL, 0, 1, &d), LT_ERR_ARGUMENT, "the stream is NULL");
    LT_CHECK_FAILS(lt_draws_normal_f64(&s, 0, 1, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_OK(lt_draws_uniform_f32(&s, 0, 0, NULL));
    LT_CHECK_OK(lt_draws_normal_f64(&s, 0, 0, NULL));
}

/* Mean, variance, third and fourth moments of n normals lie within six standard errors. */
static void check_moments(const double *x, int n)
{
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (int i = 0; i < n; i++) m1 += x[i] / n, m2 += x[i] * x[i] / n, m3 += pow(x[i], 3) / n, m4 += pow(x[i], 4) / n;
    LT_CHECK(fabs(m1) < 6 / sqrt(n));
    LT_CHECK(fabs(m2 - 1) < 6 * sqrt(2.0 / n));
    LT_CHECK(fabs(m3) < 6 * sqrt(15.0 / n));
    LT_CHECK(fabs(m4 - 3) < 6 * sqrt(96.0 / n));
}

LT_TEST(normals_look_normal)
{
    enum { N = 100000 };
    static double x[N];
    static float f[N];
    lt_draws s = lt_draws_make(11, "moments", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f64(&s, 0, N, x));
    check_moments(x, N);
    LT_CHECK_OK(lt_draws_normal_f32(&s, 0, N, f));
    for (int i = 0; i < N; i++) x[i] = (double)f[i];
    check_moments(x, N);
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < N; i++) x[i] = lt_rng_normal(&r);
    check_moments(x, N);
}

LT_TEST(uniforms_stay_below_one_and_fill_the_interval)
{
    enum { N = 100000, BINS = 50 };
    static float f[N];
    lt_draws s = lt_draws_make(5, "uniform", 0, 0, 0);
    LT_CHECK_OK(lt_draws_uniform_f32(&s, 0, N, f));
    int bin[BINS] = { 0 };
    for (int i = 0; i < N; i++) {
        LT_CHECK(f[i] >= 0 && f[i] < 1);
        bin[(int)(f[i] * BINS)]++;
    }
    double chi2 = 0, expected = (double)N / BINS;
    for (int i = 0; i < BINS; i++) chi2 += (bin[i] - expected) * (bin[i] - expected) / expected;
    LT_CHECK(chi2 < 49 + 6 * sqrt(2 * 49.0));
}

LT_TEST(sequential_reader)
{
    lt_rng a = lt_rng_seed(9), b = a, c = lt_rng_seed(10);
    bool differ = false;
    for (int i = 0; i < 100; i++) {
        uint64_t v = lt_rng_u64(&a);
        LT_CHECK(v == lt_rng_u64(&b));
        differ |= v != lt_rng_u64(&c);
        double u = lt_rng_uniform(&c);
        LT_CHECK(u >= 0 && u < 1);
    }
    LT_CHECK(differ);
    int seen[6] = { 0 };
    for (int i = 0; i < 6000; i++) seen[lt_rng_below(&a, 6)]++;
    for (int i = 0; i < 6; i++) LT_CHECK(abs(seen[i] - 1000) < 200);
    LT_CHECK(lt_rng_below(&a, 0) == 0 && lt_rng_below(&a, 1) == 0);
    a.position = (1ull << 33) - 1; /* goes on past the end of one counter word */
    uint64_t last = lt_rng_u64(&a), next = lt_rng_u64(&a);
    b.position = 0;
    LT_CHECK(last != next && next != lt_rng_u64(&b));
    lt_rng further = { .stream = lt_draws_make(9, "sequence", 1, 0, 0) };
    LT_CHECK(next == lt_rng_u64(&further));
}

/* ---- Mersenne Twister ------------------------------------------------------------- */
LT_TEST(mt_published_output)
{
    lt_mt m;
    lt_mt_seed(&m, 5489);
    uint32_t last = 0;
    for (int i = 0; i < 10000; i++) last = lt_mt_u32(&m);
    LT_CHECK_EQ_INT(last, 4123659995u); /* the 10,000th, as the C++ standard gives it */
}

/* Values that PyTorch prints for this seed, in single precision. */
LT_TEST(mt_uniform_and_scalar_normals)
{
    lt_mt m;
    static const double uniform[] = { 0.7576316, 0.279310882, 0.403069258, 0.734684467, 0.0292815566 };
    float f[12];
    lt_mt_seed(&m, 1);
    lt_mt_uniform_f32(&m, 5, f);
    for (int i = 0; i < 5; i++) LT_CHECK_NEAR((double)f[i], uniform[i], 1e-8);
    static const double normal[] = { 0.661352158, 0.266924113, 0.0616772585, 0.621317327, -0.451905966, -0.16613023,
                                     -1.5227685, 0.381683916, -1.02760863, -0.563052773, -0.892290533, -0.0582501777 };
    lt_mt_seed(&m, 1);
    lt_mt_normal_f32(&m, 12, f);
    for (int i = 0; i < 12; i++) LT_CHECK_NEAR((double)f[i], normal[i], 5e-9);
}

LT_TEST(mt_spare_is_carried_across_calls)
{
    static const double five[] = { 0.8032760620117188, 0.17483338713645935, 0.08897809684276581, -0.6137180328369141,
                                   0.04618244990706444 };
    static const double four[] = { -1.3682591915130615, 0.3374950885772705, 1.0111159086227417, -1.435179352760315 };
    static const double tail[] = { 0.5916217565536499, 0.7242393493652344, -0.3491773307323456 };
    static const double two[] = { 0.9774317741394043, -1.1685669422149658 };
    lt_mt m;
    float f[18];
    lt_mt_seed(&m, 3);
    lt_mt_normal_f32(&m, 5, f);
    for (int i = 0; i < 5; i++) LT_CHECK((double)f[i] == five[i]);
    lt_mt_normal_f32(&m, 4, f);
    for (int i = 0; i < 4; i++) LT_CHECK((double)f[i] == four[i]);
    lt_mt_normal_f32(&m, 18, f); /* a block in between leaves the spare alone */
    for (int i = 0; i < 3; i++) LT_CHECK_NEAR((double)f[15 + i], tail[i], 3e-7);
    lt_mt_normal_f32(&m, 2, f);
    for (int i = 0; i < 2; i++) LT_CHECK((double)f[i] == two[i]);
}

LT_TEST(mt_blocks_of_16)
{
    static const double first[] = { -1.1258398, -1.1523602, -0.25057858, -0.43387884, 0.84871036 };
    lt_mt m;
    float f[32];
    lt_mt_seed(&m, 0);
    lt_mt_normal_f32(&m, 32, f);
    for (int i = 0; i < 5; i++) LT_CHECK_NEAR((double)f[i], first[i], 3e-7);
    static const double twenty[] = { -1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383,
        0.5988394618034363, -1.5550950765609741, -0.3413603901863098, 1.85300612449646, 0.46809640526771545,
        -0.1577124446630478, 1.4436601400375366, 0.26604941487312317, 1.3893661499023438, 1.586334228515625,
        0.946298360824585, -0.843676745891571, 0.9318265914916992, 1.2590092420578003, 2.0049805641174316,
        0.05373690277338028 };
    lt_mt_seed(&m, 0);
    lt_mt_normal_f32(&m, 20, f); /* not a multiple of 16: the last 16 drawn afresh */
    for (int i = 0; i < 20; i++) LT_CHECK_NEAR((double)f[i], twenty[i], 3e-7);
}

LT_TEST(mt_array_library)
{
    lt_mt m;
    double d[3], z[3];
    lt_mt_seed(&m, 0);
    lt_mt_uniform_f64(&m, 3, d);
    LT_CHECK(d[0] == 0.5488135039273248 && d[1] == 0.7151893663724195 && d[2] == 0.6027633760716439);
    lt_mt_seed(&m, 0);
    lt_mt_normal_f64(&m, 3, z);
    for (int i = 0; i < 3; i++) LT_CHECK_NEAR(0.5 * erfc(-z[i] / sqrt(2)), d[i], 1e-15);
}

LT_TEST(quantile_inverts_the_distribution)
{
    static const struct { double p, x; } table[] = {
        { 0.3, -0.5244005127080407 }, { 0.01, -2.3263478740408408 }, { 1e-10, -6.361340902404056 },
        { 1e-30, -11.464024688443617 }, { 1e-300, -37.0470962993612 }, { 0.999, 3.090232306167813 }, { 0.5, 0 },
    };
    for (size_t i = 0; i < LT_LEN(table); i++)
        LT_CHECK(fabs(lt_normal_quantile(table[i].p) - table[i].x) <= 4e-16 * fabs(table[i].x));
    /* p(x) has relative condition |x| pdf/p, about x^2 + 1 in the lower tail; x, sqrt(2) and the
       quotient are each off by half an ulp or more. */
    for (double p = 1e-290; p < 0.5; p *= 1.7) {
        double x = lt_normal_quantile(p), back = 0.5 * erfc(-x / sqrt(2));
        LT_CHECK(fabs(back - p) <= p * 1e-15 * (x * x + 4));
        if (p > 1e-15) LT_CHECK(fabs(lt_normal_quantile(1 - p) + lt_normal_quantile(1 - (1 - p))) <= 1e-15 * fabs(x));
    }
    LT_CHECK(lt_normal_quantile(0) == -INFINITY && lt_normal_quantile(1) == INFINITY);
    LT_CHECK(isnan(lt_normal_quantile(-0.1)) && isnan(lt_normal_quantile(1.1)) && isnan(lt_normal_quantile(NAN)));
}

LT_TEST_MAIN()
