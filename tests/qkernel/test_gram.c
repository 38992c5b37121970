/* Properties of Gram matrices, blocks, messages and what a handle promises.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_TEST_KEPT_BLOCKS 40 /* the device keeps blocks of every size for reuse */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "lathe/gram.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/loops/loops.h"
#include "qkernel/plan.h"
#include "qkernel/rows/states.h"

#include <pthread.h>

/* ---- making things ---- */

static uint64_t state = 1;
static double uniform(double lo, double hi) /* SplitMix64: the same numbers everywhere */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return lo + (hi - lo) * (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}
static double *numbers(int64_t n, double range)
{
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = uniform(-range, range);
    return v;
}

typedef struct setup { int64_t n, q, layers; double *x, *w, *K; lt_gram_options opt; lt_rows X; } setup;

static setup make_setup(int64_t n, int64_t q, int64_t layers, bool re_embed)
{
    state = (uint64_t)(n * 1000 + q * 10 + layers);
    setup s = { n, q, layers, numbers(n * q, 3), numbers(3 * layers * q, 1), calloc((size_t)(n * n), sizeof(double)), lt_gram_defaults(), { 0 } };
    s.opt.re_embed_between_layers = re_embed;
    s.X = (lt_rows){ s.x, LT_F64, n, q, 0 };
    return s;
}
static void free_setup(setup *s) { free(s->x), free(s->w), free(s->K); }

static lt_gram *open_gram(const setup *s)
{
    lt_gram *g = NULL;
    LT_CHECK_OK(lt_gram_create(NULL, &s->opt, &(lt_weights){ s->w, s->layers, s->q }, &g));
    return g;
}
static lt_gram_info fill(const setup *s, const lt_rows *y, void *K)
{
    lt_gram *g = open_gram(s);
    LT_CHECK_OK(lt_gram_fill(g, &s->X, y, K));
    lt_gram_info info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}
static double worst_difference(const double *a, const double *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, isfinite(a[i] - b[i]) ? fabs(a[i] - b[i]) : INFINITY);
    return worst;
}

/* ---- properties ---- */

LT_TEST(diagonal_symmetry_and_range)
{
    static const int size[][3] = { { 1, 1, 1 }, { 1, 4, 2 }, { 33, 5, 2 }, { 97, 3, 3 }, { 145, 8, 2 }, { 300, 9, 2 } };
    for (size_t c = 0; c < sizeof size / sizeof *size; c++)
        for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method++) {
            setup s = make_setup(size[c][0], size[c][1], size[c][2], method != LT_GRAM_PRODUCT);
            s.opt.method = method;
            if (method == LT_GRAM_TRANSFER && s.layers != 2) { free_setup(&s); continue; }
            fill(&s, NULL, s.K);
            for (int64_t i = 0; i < s.n; i++) {
                LT_CHECK(fabs(s.K[i * s.n + i] - 1) <= 1e-14);
                for (int64_t j = 0; j < s.n; j++) {
                    double v = s.K[i * s.n + j];
                    LT_CHECK(v >= 0 && v <= 1 + 1e-14 && v == s.K[j * s.n + i]);
                }
            }
            free_setup(&s);
        }
}

/* No square root of a negative pivot: Cholesky of K + 1e-12 I succeeds exactly when K is positive. */
LT_TEST(positive_semidefinite)
{
    setup s = make_setup(60, 4, 2, true);
    fill(&s, NULL, s.K);
    double *L = s.K;
    for (int64_t j = 0; j < s.n; j++)
        for (int64_t i = j; i < s.n; i++) {
            double v = L[i * s.n + j] + (i == j ? 1e-12 : 0);
            for (int64_t k = 0; k < j; k++) v -= L[i * s.n + k] * L[j * s.n + k];
            if (i == j) LT_CHECK(v > 0);
            L[i * s.n + j] = i == j ? sqrt(fmax(v, 1e-300)) : v / L[j * s.n + j];
        }
    free_setup(&s);
}

LT_TEST(methods_agree)
{
    for (int q = 1; q <= 12; q++)
        for (int mode = 0; mode < LT_EMBED_COUNT; mode++) {
            setup s = make_setup(19, q, 2, true);
            double *other = malloc((size_t)(s.n * s.n) * sizeof *other);
            s.opt.embed_mode = mode;
            s.opt.method = LT_GRAM_STATES;
            fill(&s, NULL, s.K);
            s.opt.method = LT_GRAM_TRANSFER;
            fill(&s, NULL, other);
            LT_CHECK(worst_difference(s.K, other, s.n * s.n) < 1e-13);
            s.opt.re_embed_between_layers = false;
            s.opt.method = LT_GRAM_STATES;
            fill(&s, NULL, s.K);
            s.opt.method = LT_GRAM_PRODUCT;
            fill(&s, NULL, other);
            LT_CHECK(worst_difference(s.K, other, s.n * s.n) < 1e-13);
            free(other);
            free_setup(&s);
        }
}

/* q = 16..20 against the closed forms, which know no state vector. */
LT_TEST(many_qubits_against_closed_forms)
{
    for (int q = 16; q <= 20; q += 2) {
        setup s = make_setup(5, q, 2, true);
        double other[25];
        s.opt.angle_scale = 0.2;
        s.opt.method = LT_GRAM_STATES;
        fill(&s, NULL, s.K);
        s.opt.method = LT_GRAM_TRANSFER;
        fill(&s, NULL, other);
        LT_CHECK(worst_difference(s.K, other, 25) < 1e-13);
        s.opt.method = LT_GRAM_STATES;
        s.opt.dtype = LT_GRAM_FLOAT32;
        fill(&s, NULL, s.K);
        LT_CHECK(worst_difference(s.K, other, 25) < 2e-5);
        free_setup(&s);
    }
    setup s = make_setup(40, 200, 2, true); /* no memory wall */
    s.opt.angle_scale = 0.05;
    LT_CHECK(fill(&s, NULL, s.K).method == LT_GRAM_TRANSFER);
    LT_CHECK_NEAR(s.K[0], 1, 1e-13);
    free_setup(&s);
}

LT_TEST(weights_matter_only_where_they_can)
{
    for (int re = 0; re < 2; re++) {
        setup s = make_setup(23, 6, 3, re);
        double *other = malloc((size_t)(s.n * s.n) * sizeof *other);
        s.opt.method = LT_GRAM_STATES;
        lt_gram_info info = fill(&s, NULL, s.K);
        LT_CHECK(!!info.note[0] == !re);
        for (int64_t k = 0; k < s.q; k++) s.w[2 * s.q + k] += 1; /* the last layer */
        fill(&s, NULL, other);
        LT_CHECK(worst_difference(s.K, other, s.n * s.n) < 1e-13);
        s.w[0] += 1;
        fill(&s, NULL, other);
        double d = worst_difference(s.K, other, s.n * s.n);
        LT_CHECK(re ? d > 1e-3 : d < 1e-13);
        free(other);
        free_setup(&s);
    }
}

LT_TEST(permuting_rows_permutes_the_matrix)
{
    setup s = make_setup(77, 7, 2, true), t = make_setup(77, 7, 2, true);
    for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method += 2) {
        s.opt.method = t.opt.method = method;
        for (int64_t i = 0; i < s.n; i++) memcpy(t.x + i * s.q, s.x + (i * 30 % s.n) * s.q, (size_t)s.q * sizeof(double));
        fill(&s, NULL, s.K);
        fill(&t, NULL, t.K);
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t j = 0; j < s.n; j++)
                LT_CHECK(fabs(t.K[i * s.n + j] - s.K[(i * 30 % s.n) * s.n + j * 30 % s.n]) < 1e-14);
    }
    free_setup(&s);
    free_setup(&t);
}

LT_TEST(states_have_unit_norm)
{
    for (int q = 1; q <= 11; q += 5) {
        setup s = make_setup(21, q, 3, true);
        int64_t D = (int64_t)1 << q;
        double *S = malloc((size_t)(s.n * D) * 2 * sizeof *S);
        lt_gram *g = open_gram(&s);
        LT_CHECK_OK(lt_gram_states(g, &s.X, S));
        lt_gram_destroy(g);
        for (int64_t i = 0; i < s.n; i++) {
            double norm = 0;
            for (int64_t k = 0; k < 2 * D; k++) norm += S[2 * i * D + k] * S[2 * i * D + k];
            LT_CHECK(fabs(norm - 1) < 1e-14);
        }
        free(S);
        free_setup(&s);
    }
}

/* Amplitudes of equal size are the worst case of plain summation: every rounding goes the same way. */
LT_TEST(single_precision_keeps_its_promise)
{
    for (int q = 6; q <= 16; q += 5)
        for (int row = 0; row < 3; row++) {
            setup s = make_setup(3, q, 1, false);
            double want[9];
            for (int64_t i = 0; i < s.n * s.q; i++) s.x[i] = row == 0 ? 1.5707 : row == 1 ? 1.2 + 1e-4 * (double)(i % 3) : uniform(0, 0.1);
            s.opt.method = LT_GRAM_PRODUCT;
            fill(&s, NULL, want);
            s.opt.method = LT_GRAM_STATES;
            s.opt.dtype = LT_GRAM_FLOAT32;
            lt_gram_info info = fill(&s, NULL, s.K);
            LT_CHECK(info.precision == LT_GRAM_FLOAT32 && info.error_bound == lt_gram_float_bound(LT_GRAM_FLOAT32));
            double d = worst_difference(s.K, want, 9);
            if (!(d < 2e-5)) LT_TEST_FAIL("q %d, kind %d: error %g", q, row, d);
            free_setup(&s);
        }
}

LT_TEST(real_states_need_one_plane)
{
    setup s = make_setup(50, 6, 2, true);
    double *other = malloc((size_t)(s.n * s.n) * sizeof *other);
    s.opt.embed_mode = LT_EMBED_RY;
    for (int64_t k = 0; k < s.q; k++) s.w[k] = 0;
    s.opt.method = LT_GRAM_STATES;
    lt_gram_info info = fill(&s, NULL, s.K);
    LT_CHECK(strstr(info.kernel, "overlap1_") != NULL);
    s.w[0] = 1e-300; /* no longer exactly real */
    info = fill(&s, NULL, other);
    LT_CHECK(strstr(info.kernel, "overlap3_") != NULL);
    LT_CHECK(worst_difference(s.K, other, s.n * s.n) < 1e-14);
    free(other);
    free_setup(&s);
}

/* ---- digests ---- */

static bool same_digest(const setup *a, const lt_rows *ya, const setup *b, const lt_rows *yb)
{
    char one[LT_GRAM_DIGEST_BYTES], two[LT_GRAM_DIGEST_BYTES];
    LT_CHECK_OK(lt_gram_digest(&a->opt, &(lt_weights){ a->w, a->layers, a->q }, &a->X, ya, one));
    LT_CHECK_OK(lt_gram_digest(&b->opt, &(lt_weights){ b->w, b->layers, b->q }, &b->X, yb, two));
    LT_CHECK_EQ_INT(strlen(one), LT_GRAM_DIGEST_BYTES - 1);
    return !strcmp(one, two);
}

/* What changes K changes its name; what does not, does not. */
LT_TEST(digests_cover_what_matters)
{
    setup s = make_setup(20, 4, 2, true), t = s;
    double *other = malloc((size_t)(s.n * s.q) * sizeof *other), *weights = malloc((size_t)(2 * s.q) * sizeof *weights);
    memcpy(other, s.x, (size_t)(s.n * s.q) * sizeof *other);
    memcpy(weights, s.w, (size_t)(2 * s.q) * sizeof *weights);
    lt_rows Y = { other, LT_F64, s.n, s.q, 0 };
    LT_CHECK(same_digest(&s, NULL, &t, NULL));
    t.opt.method = LT_GRAM_STATES, t.opt.tile_size = 7, t.opt.n_workers = 1, t.opt.symmetric = false, t.opt.precompute_all_states = false, t.opt.jitter = 1;
    LT_CHECK(same_digest(&s, NULL, &t, NULL));
    LT_CHECK(!same_digest(&s, NULL, &s, &Y)); /* Y = X is a cross kernel */
    t = s, t.X.data = other;
    LT_CHECK(same_digest(&s, NULL, &t, NULL));
    /* The reference took shape, mean and deviation to four digits for the whole: two rows changing places. */
    for (int64_t k = 0; k < s.q; k++) other[k] = s.x[s.q + k], other[s.q + k] = s.x[k];
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    LT_CHECK(!same_digest(&s, &s.X, &s, &Y)); /* Y by value */
    t = s, t.w = weights, weights[3] += 1e-9;
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    bool *flags[] = { &t.opt.re_embed_between_layers, &t.opt.packed, &t.opt.normalize };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        t = s, *flags[i] = !*flags[i];
        LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    }
    t = s, t.opt.angle_scale = 0.5;
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    t = s, t.opt.dtype = LT_GRAM_FLOAT32;
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    setup half = s;
    half.opt.dtype = LT_GRAM_FLOAT16;
    LT_CHECK(!same_digest(&s, NULL, &half, NULL) && !same_digest(&t, NULL, &half, NULL));
    t = s, t.opt.return_dtype = LT_GRAM_FLOAT32;
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    t = s, t.opt.embed_mode = LT_EMBED_RY;
    LT_CHECK(!same_digest(&s, NULL, &t, NULL));
    LT_CHECK_FAILS(lt_gram_digest(NULL, NULL, &s.X, NULL, NULL), LT_ERR_ARGUMENT, "NULL");
    free(other), free(weights);
    free_setup(&s);
}

/* ---- blocks, tiles, threads ---- */

/* The same bits however the work is cut. */
LT_TEST(cutting_does_not_change_bits)
{
    for (int cross = 0; cross < 2; cross++)
        for (int type = 0; type < 2; type++) {
            setup s = make_setup(331, 7, 3, true);
            double *y = numbers(211 * s.q, 3);
            lt_rows Y = { y, LT_F64, 211, s.q, 0 };
            double *other = malloc((size_t)(s.n * s.n) * sizeof *other);
            size_t bytes = (size_t)(s.n * (cross ? Y.n : s.n)) * sizeof(double);
            s.opt.dtype = type;
            fill(&s, cross ? &Y : NULL, s.K);
            for (int kind = 0; kind < 4; kind++) {
                setup t = s;
                if (kind == 0) t.opt.tile_size = 17;
                if (kind == 1) t.opt.n_workers = 3;
                if (kind == 2) t.opt.precompute_all_states = false, t.opt.state_tile = 50;
                if (kind == 3) t.opt.precompute_all_states = false, t.opt.state_tile = 1, t.opt.tile_size = 1;
                memset(other, 0xff, bytes);
                lt_gram_info info = fill(&t, cross ? &Y : NULL, other);
                if (memcmp(s.K, other, bytes)) LT_TEST_FAIL("cross %d, type %d, kind %d: bits differ", cross, type, kind);
                if (kind >= 2) LT_CHECK(info.states_built > s.n + (cross ? Y.n : 0));
                else LT_CHECK_EQ_INT(info.states_built, s.n + (cross ? Y.n : 0));
            }
            free(other), free(y);
            free_setup(&s);
        }
}

/* K of rows with each other (y_rows 0) or with the first y_rows of them, `offset` elements into a line of K: bits as in `want`, whose rows
   are apart by one more than they are long, and nothing written before or behind. */
static void fill_at(const setup *s, int64_t y_rows, int offset, const double *want)
{
    lt_rows y = { s->x, LT_F64, y_rows, s->q, 0 };
    int64_t m = y_rows ? y_rows : s->n, count = s->n * m;
    size_t bytes = (size_t)(count + 32) / 8 * 64;
    double *room = aligned_alloc(64, bytes), *K = room + 8 + offset;
    memset(room, 0xff, bytes);
    lt_gram_info info = fill(s, y_rows ? &y : NULL, K);
    LT_CHECK(info.method == LT_GRAM_PRODUCT && info.pairs == (y_rows || !s->opt.symmetric ? count : s->n * (s->n + 1) / 2));
    for (int64_t i = 0; i < count; i++)
        if (K[i] != want[i / m * (s->n + 1) + i % m]) LT_TEST_FAIL("%lld x %lld, offset %d: entry %lld differs", (long long)s->n, (long long)m, offset, (long long)i);
    for (double *v = room; v < K; v++) LT_CHECK(isnan(*v));
    for (double *v = K + count; v < room + bytes / sizeof *v; v++) LT_CHECK(isnan(*v));
    free(room);
}

/* Rows that are whole lines are written line by line, wherever in a line they begin; others are not. */
LT_TEST(K_may_begin_anywhere)
{
    static const int64_t sizes[] = { 8, 16, 32, 40, 104, 312 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        setup s = make_setup(sizes[i], 5, 1, false);
        double *more = numbers((s.n + 1) * s.q, 3), *want = malloc((size_t)(s.n * (s.n + 1)) * sizeof *want);
        memcpy(more, s.x, (size_t)(s.n * s.q) * sizeof *more);
        fill(&s, &(lt_rows){ more, LT_F64, s.n + 1, s.q, 0 }, want);
        for (int offset = 0; offset < 8; offset++) {
            s.opt.symmetric = true;
            fill_at(&s, 0, offset, want);
            fill_at(&s, s.n - 8 ? s.n - 8 : 8, offset, want);
            s.opt.symmetric = false;
            fill_at(&s, 0, offset, want);
        }
        free(more), free(want);
        free_setup(&s);
    }
}

/* A large K is written past the caches. */
LT_TEST(where_K_lies_does_not_change_bits)
{
    for (int kind = 0; kind < 4; kind++) {
        setup s = make_setup(kind == 3 ? 967 : 960, 5, 1, false); /* above 4 MB; 967: no row but the first begins a line */
        size_t count = (size_t)(s.n * s.n), bytes = (count + 8) * sizeof(double);
        double *line = aligned_alloc(64, (bytes + 63) / 64 * 64), *apart = aligned_alloc(64, (bytes + 63) / 64 * 64);
        s.opt.symmetric = kind != 1;
        s.opt.embed_mode = kind == 2 ? LT_EMBED_RY : LT_EMBED_RYRZ;
        memset(line, 0xff, bytes), memset(apart, 0xff, bytes);
        LT_CHECK_EQ_INT(fill(&s, NULL, line).method, LT_GRAM_PRODUCT);
        fill(&s, NULL, apart + 1);
        if (memcmp(line, apart + 1, count * sizeof *line)) LT_TEST_FAIL("kind %d: bits differ", kind);
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t j = 0; j < i; j++) LT_CHECK(line[i * s.n + j] == line[j * s.n + i]);
        for (size_t i = count; i < count + 7; i++) LT_CHECK(isnan(line[i])); /* 0xff…: nothing was written behind the matrix */
        s.opt.method = LT_GRAM_STATES;
        fill(&s, NULL, s.K);
        LT_CHECK(worst_difference(s.K, line, (int64_t)count) < 1e-13);
        free(line), free(apart);
        free_setup(&s);
    }
}

/* Sines and cosines by vectors, of every instruction set here: one rounding away from the library's, near multiples of pi/2 too. */
LT_TEST(sines_and_cosines_by_vectors)
{
    enum { N = 4096 };
    static _Alignas(64) double angle[N], sine[N], cosine[N];
    state = 7;
    for (int i = 0; i < N; i++) {
        double range = ldexp(1, i % 32 - 4); /* up to 2^27, where the library takes over */
        angle[i] = i % 3 ? uniform(-range, range) : rint(uniform(-range, range)) * 1.57079632679489662 + uniform(-1e-9, 1e-9);
    }
    angle[0] = 0, angle[1] = -0.0, angle[2] = 1e300;
    for (int isa = LT_ISA_PLAIN; isa <= (int)lt_isa_best(); isa++) {
        const lt_closed_loops *l = &lt_gram_isa_of((lt_isa)isa)->closed;
        l->sincos(sine, cosine, angle, N);
        for (int i = 0; i < N; i++)
            if (!(fabs(sine[i] - sin(angle[i])) <= 0x1p-52 && fabs(cosine[i] - cos(angle[i])) <= 0x1p-52))
                LT_TEST_FAIL("isa %d: sine %g, cosine %g of %.17g are off by %g, %g", isa, sine[i], cosine[i], angle[i], sine[i] - sin(angle[i]), cosine[i] - cos(angle[i]));
    }
}

/* More wires than factors of two fit a double. */
LT_TEST(products_over_very_many_wires)
{
    setup s = make_setup(40, 2600, 1, false);
    s.opt.angle_scale = 0.01;
    LT_CHECK_EQ_INT(fill(&s, NULL, s.K).method, LT_GRAM_PRODUCT);
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t j = 0; j < s.n; j++) {
            double want = 1;
            for (int64_t k = 0; k < s.q; k++) {
                double a = 0.01 * s.x[i * s.q + k], b = 0.01 * s.x[j * s.q + k];
                want *= 0.5 * (1 + cos(a) * cos(b) + cos(a - b) * sin(a) * sin(b));
            }
            LT_CHECK(fabs(s.K[i * s.n + j] - want) < 1e-12);
            LT_CHECK(want > 0.1);
        }
    free_setup(&s);
}

LT_TEST(unsymmetric_packed_and_single)
{
    setup s = make_setup(151, 5, 2, true);
    double *all = malloc((size_t)(s.n * s.n) * sizeof *all), *packed = malloc((size_t)(s.n * (s.n + 1) / 2) * sizeof *packed);
    float *single = malloc((size_t)(s.n * s.n) * sizeof *single);
    fill(&s, NULL, s.K);
    s.opt.symmetric = false;
    LT_CHECK_EQ_INT(fill(&s, NULL, all).pairs, s.n * s.n);
    LT_CHECK(worst_difference(s.K, all, s.n * s.n) < 1e-14);
    s.opt.precompute_all_states = false;
    s.opt.state_tile = 40;
    fill(&s, NULL, all);
    LT_CHECK(worst_difference(s.K, all, s.n * s.n) < 1e-14);
    s.opt = lt_gram_defaults();
    s.opt.re_embed_between_layers = true;
    s.opt.packed = true;
    LT_CHECK_EQ_INT(fill(&s, NULL, packed).pairs, s.n * (s.n + 1) / 2);
    for (int64_t i = 0, at = 0; i < s.n; i++)
        for (int64_t j = i; j < s.n; j++) LT_CHECK(packed[at++] == s.K[i * s.n + j]);
    s.opt.packed = false;
    s.opt.return_dtype = LT_GRAM_FLOAT32;
    fill(&s, NULL, single);
    for (int64_t i = 0; i < s.n * s.n; i++) LT_CHECK(single[i] == (float)s.K[i]);
    free(all), free(packed), free(single);
    free_setup(&s);
}

LT_TEST(rows_may_be_single_or_apart)
{
    setup s = make_setup(30, 4, 2, true);
    float apart[30 * 7];
    double *other = malloc((size_t)(s.n * s.n) * sizeof *other);
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t k = 0; k < s.q; k++) {
            apart[i * 7 + k] = (float)s.x[i * s.q + k];
            s.x[i * s.q + k] = apart[i * 7 + k];
        }
    fill(&s, NULL, s.K);
    s.X = (lt_rows){ apart, LT_F32, s.n, s.q, 7 };
    fill(&s, NULL, other);
    LT_CHECK(!memcmp(s.K, other, (size_t)(s.n * s.n) * sizeof *other));
    free(other);
    free_setup(&s);
}

LT_TEST(normalizing_in_the_call)
{
    for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method++) {
        setup s = make_setup(40, 5, 2, method != LT_GRAM_PRODUCT);
        double *plain = malloc((size_t)(s.n * s.n) * sizeof *plain), *y = numbers(9 * s.q, 3);
        lt_rows Y = { y, LT_F64, 9, s.q, 0 };
        s.opt.method = method;
        fill(&s, NULL, plain);
        LT_CHECK_OK(lt_gram_normalize(plain, s.n, 0.01));
        s.opt.normalize = true;
        s.opt.jitter = 0.01;
        fill(&s, NULL, s.K);
        LT_CHECK(worst_difference(s.K, plain, s.n * s.n) < 1e-15);
        for (int64_t i = 0; i < s.n; i++) LT_CHECK(s.K[i * s.n + i] == 1);
        fill(&s, &Y, s.K);
        s.opt.normalize = false;
        fill(&s, &Y, plain);
        LT_CHECK(worst_difference(s.K, plain, s.n * Y.n) < 1e-13); /* unit states: nearly nothing to do */
        free(plain), free(y);
        free_setup(&s);
    }
}

/* More than 2^31 amplitudes between the first panel and the last: only those two are touched. */
LT_TEST(addresses_beyond_2_31)
{
    const lt_gram_isa *isa = lt_gram_isa_of(lt_isa_best());
    const lt_gram_loops *l = &isa->f32;
    int q = 6;
    int64_t elements = lt_panel_elements(l, INT64_C(1) << q, LT_PLANES_COMPLEX), apart = INT64_C(0x90000000) / elements * elements;
    float *far = malloc((size_t)(apart + elements) * sizeof *far);
    if (!far) LT_SKIP("no 9 GB of addresses");
    setup s = make_setup(l->panel, q, 2, true);
    lt_layers c;
    LT_CHECK_OK(lt_layers_create(&s.opt, &(lt_weights){ s.w, s.layers, s.q }, &c));
    lt_state_maker m = lt_state_maker_of_overlaps(&c, l, LT_GRAM_FLOAT32);
    uintptr_t base = ((uintptr_t)far + 63) / 64 * 64;
    float *near = (float *)base, *last = (float *)(base + 4 * (uintptr_t)(apart - 64));
    void *work = aligned_alloc(64, (m.slot_bytes + 63) / 64 * 64);
    lt_state_job job = { .x = &s.X, .n = s.n, .planes = LT_PLANES_COMPLEX, .n_slots = 1, .workspace = work, .panels = near };
    LT_CHECK_OK(lt_states_pack(&m, lt_pool_shared(), &job));
    job.panels = last, job.streaming = true;
    LT_CHECK_OK(lt_states_pack(&m, lt_pool_shared(), &job));
    size_t tile = (size_t)(2 * l->panel * l->panel) * sizeof(double);
    double *k = aligned_alloc(64, (tile + 63) / 64 * 64), *im = aligned_alloc(64, (tile + 63) / 64 * 64);
    l->overlap(&(lt_overlap_job){ .a = near, .b = near, .a_step = apart - 64, .n_a = 2, .n_columns = l->panel, .amplitudes = 64,
                                  .planes = LT_PLANES_COMPLEX, .diagonal = INT64_MAX / 4, .k = k, .im = im });
    for (int64_t j = 0; j < l->panel; j++)
        for (int64_t i = 0; i < l->panel; i++) LT_CHECK(k[j * 2 * l->panel + i] == k[j * 2 * l->panel + l->panel + i]);
    LT_CHECK_NEAR(k[0], 1, 1e-5);
    free(k), free(im), free(work), free(far);
    lt_layers_destroy(&c);
    free_setup(&s);
}

/* ---- what a handle promises ---- */

LT_TEST(second_call_allocates_nothing)
{
    for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method++) {
        setup s = make_setup(120, 6, 2, method != LT_GRAM_PRODUCT);
        s.opt.method = method;
        s.opt.normalize = true;
        lt_gram *g = open_gram(&s);
        LT_CHECK_OK(lt_gram_fill(g, &s.X, NULL, s.K));
        int64_t before = lt_alloc_count();
        LT_CHECK_OK(lt_gram_fill(g, &s.X, NULL, s.K));
        LT_CHECK_EQ_INT(lt_alloc_count(), before);
        lt_gram_destroy(g);
        free_setup(&s);
    }
}

static bool stop_at_second(void *ctx, const lt_gram_progress *p)
{
    int *calls = ctx;
    if (p->states_total) return true;
    LT_CHECK(p->tiles_done >= 1 && p->tiles_done <= p->tiles_total && p->pairs_done <= p->pairs_total && p->seconds >= 0);
    return ++*calls < 2;
}
static bool go_on(void *ctx, const lt_gram_progress *p) { *(lt_gram_progress *)ctx = *p; return true; }

LT_TEST(progress_and_cancel)
{
    setup s = make_setup(700, 5, 2, true);
    int calls = 0;
    lt_gram_progress last = { .size = sizeof last };
    s.opt.progress = stop_at_second;
    s.opt.progress_ctx = &calls;
    s.opt.n_workers = 1;
    lt_gram *g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_CANCELLED, "after 2 of");
    LT_CHECK_EQ_INT(calls, 2);
    lt_gram_destroy(g);
    s.opt.progress = go_on;
    s.opt.progress_ctx = &last;
    LT_CHECK_EQ_INT(fill(&s, NULL, s.K).pairs, s.n * (s.n + 1) / 2);
    LT_CHECK_EQ_INT(last.tiles_done, last.tiles_total);
    LT_CHECK_EQ_INT(last.pairs_done, s.n * (s.n + 1) / 2);
    free_setup(&s);
}

static bool stop_at_third_state(void *ctx, const lt_gram_progress *p)
{
    int *calls = ctx;
    LT_CHECK(p->states_total == 700 && p->states_done > 0 && p->states_done <= 700 && p->pairs_done == 0 && p->pairs_total == 700 * 701 / 2);
    return ++*calls < 3;
}

LT_TEST(preparing_states_is_reported_and_can_be_stopped)
{
    setup s = make_setup(700, 5, 2, true);
    int calls = 0;
    s.opt.method = LT_GRAM_STATES;
    s.opt.progress = stop_at_third_state;
    s.opt.progress_ctx = &calls;
    s.opt.n_workers = 1;
    lt_gram *g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_CANCELLED, "of 700 states");
    LT_CHECK_EQ_INT(calls, 3);
    lt_gram_destroy(g);
    free_setup(&s);
}

static void *fill_in_thread(void *arg)
{
    setup *s = arg;
    for (int i = 0; i < 3; i++) fill(s, NULL, s->K);
    return NULL;
}

LT_TEST(two_threads_at_once)
{
    setup a = make_setup(200, 6, 2, true), b = make_setup(200, 6, 2, true);
    pthread_t t;
    pthread_create(&t, NULL, fill_in_thread, &b);
    fill_in_thread(&a);
    pthread_join(t, NULL);
    LT_CHECK(!memcmp(a.K, b.K, (size_t)(a.n * a.n) * sizeof(double)));
    free_setup(&a);
    free_setup(&b);
}

LT_TEST(every_allocation_may_fail)
{
    setup s = make_setup(40, 4, 3, true);
    s.opt.normalize = true;
    fill(&s, NULL, s.K); /* devices and pools are made once */
    int64_t live = lt_alloc_live();
    for (int64_t n = 1; n < 100; n++) {
        lt_gram *g = NULL;
        lt_alloc_fail_at(n);
        lt_status status = lt_gram_create(NULL, &s.opt, &(lt_weights){ s.w, s.layers, s.q }, &g);
        if (!status) status = lt_gram_fill(g, &s.X, NULL, s.K);
        lt_alloc_fail_at(0);
        lt_gram_destroy(g);
        if (!status) {
            LT_CHECK(n > 5);
            break;
        }
        LT_CHECK_EQ_INT(status, LT_ERR_MEMORY);
    }
    LT_CHECK(lt_alloc_live() <= live + 8); /* the device may keep blocks it now caches */
    free_setup(&s);
}

/* ---- bad input ---- */

LT_TEST(defaults_are_those_of_the_reference)
{
    lt_gram_options o = lt_gram_defaults();
    LT_CHECK(o.embed_mode == LT_EMBED_RYRZ && o.angle_scale == 1 && !o.re_embed_between_layers && o.method == LT_GRAM_AUTO);
    LT_CHECK(o.dtype == LT_GRAM_FLOAT64 && o.return_dtype == LT_GRAM_FLOAT64 && o.symmetric && !o.normalize && o.jitter == 0);
    LT_CHECK(o.tile_size == 128 && o.state_tile == -1 && o.precompute_all_states && o.vram_fraction == 0.95 && o.autotune);
}

LT_TEST(bad_options_are_refused)
{
    double w[2] = { 0 };
    lt_weights W = { w, 1, 2 };
    static const struct { size_t offset; double value; int kind; const char *part; } row[] = {
        { offsetof(lt_gram_options, vram_fraction), 0, 0, "vram-fraction" }, { offsetof(lt_gram_options, vram_fraction), 1.5, 0, "vram-fraction" },
        { offsetof(lt_gram_options, jitter), -1, 0, "jitter" }, { offsetof(lt_gram_options, angle_scale), NAN, 0, "angle-scale" },
        { offsetof(lt_gram_options, state_tile), 0, 1, "state_tile" }, { offsetof(lt_gram_options, state_tile), -2, 1, "state-tile" },
        { offsetof(lt_gram_options, tile_size), 0, 1, "tile-size" }, { offsetof(lt_gram_options, n_workers), -1, 1, "workers" },
        { offsetof(lt_gram_options, method), 9, 2, "method" }, { offsetof(lt_gram_options, embed_mode), -1, 2, "embed" },
        { offsetof(lt_gram_options, dtype), LT_GRAM_FLOAT_COUNT, 2, "dtype" }, { offsetof(lt_gram_options, return_dtype), LT_GRAM_FLOAT16, 2, "return-dtype" },
        { offsetof(lt_gram_options, dtype), LT_GRAM_FLOAT16, 2, "use float32 here" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        lt_gram_options o = lt_gram_defaults();
        lt_gram *g = (lt_gram *)&o;
        char *field = (char *)&o + row[i].offset;
        if (row[i].kind == 0) memcpy(field, &row[i].value, sizeof(double));
        if (row[i].kind == 1) memcpy(field, &(int64_t){ (int64_t)row[i].value }, sizeof(int64_t));
        if (row[i].kind == 2) memcpy(field, &(int){ (int)row[i].value }, sizeof(int));
        LT_CHECK_FAILS(lt_gram_create(NULL, &o, &W, &g), LT_ERR_ARGUMENT, row[i].part);
        LT_CHECK(g == NULL);
    }
}

/* float16 is for GPUs, and K itself is never in it; what plans for a GPU takes it. */
LT_TEST(half_numbers_are_no_precision_of_the_cpu)
{
    double w[2] = { 0 };
    lt_gram_options o = lt_gram_defaults();
    lt_device *null;
    lt_gram *g;
    o.dtype = LT_GRAM_FLOAT16;
    for (int method = 0; method < LT_GRAM_METHOD_COUNT; method++) { /* whatever computes K */
        o.method = method;
        LT_CHECK_FAILS(lt_gram_create(NULL, &o, &(lt_weights){ w, 1, 2 }, &g), LT_ERR_ARGUMENT, "dtype float16 needs a GPU, and device cpu is the CPU: use float32");
    }
    LT_CHECK_OK(lt_device_open("null", &null));
    LT_CHECK_OK(lt_gram_create(null, &o, &(lt_weights){ w, 1, 2 }, &g));
    lt_gram_destroy(g);
    lt_device_close(null);
    LT_CHECK(lt_gram_float_bound(LT_GRAM_FLOAT64) == 1e-12 && lt_gram_float_bound(LT_GRAM_FLOAT16) == 2e-3 && isnan(lt_gram_float_bound(LT_GRAM_FLOAT_COUNT)));
    LT_CHECK(!strcmp(lt_gram_float_name(LT_GRAM_FLOAT16), "float16"));
}

LT_TEST(bad_inputs_are_refused)
{
    setup s = make_setup(6, 3, 2, true);
    lt_gram *g = NULL;
    LT_CHECK_FAILS(lt_gram_create(NULL, &s.opt, &(lt_weights){ s.w, 2, 0 }, &g), LT_ERR_ARGUMENT, "0 qubits");
    LT_CHECK_FAILS(lt_gram_create(NULL, &s.opt, &(lt_weights){ s.w, 0, 3 }, &g), LT_ERR_ARGUMENT, "0 layers");
    LT_CHECK_FAILS(lt_gram_create(NULL, &s.opt, &(lt_weights){ NULL, 2, 3 }, &g), LT_ERR_ARGUMENT, "no weights");
    LT_CHECK_FAILS(lt_gram_create(NULL, &(lt_gram_options){ .size = 0, .tile_size = 8 }, &(lt_weights){ s.w, 2, 3 }, &g), LT_ERR_ARGUMENT, "lt_gram_options: its size is 0");
    s.w[4] = INFINITY;
    LT_CHECK_FAILS(lt_gram_create(NULL, &s.opt, &(lt_weights){ s.w, 2, 3 }, &g), LT_ERR_ARGUMENT, "row 1, column 1");
    s.w[4] = 0;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ s.x, LT_F64, 0, 3, 0 }, NULL, s.K), LT_ERR_ARGUMENT, "X has 0 rows");
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, &(lt_rows){ s.x, LT_F64, 0, 3, 0 }, s.K), LT_ERR_ARGUMENT, "Y has 0 rows");
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ s.x, LT_F64, 4, 4, 0 }, NULL, s.K), LT_ERR_ARGUMENT, "X has 4 columns");
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ s.x, LT_I32, 4, 3, 0 }, NULL, s.K), LT_ERR_ARGUMENT, "type i32");
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ s.x, LT_F64, 4, 3, 2 }, NULL, s.K), LT_ERR_ARGUMENT, "apart");
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, NULL), LT_ERR_ARGUMENT, "NULL");
    s.x[2 * 3 + 1] = NAN;
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "X is nan at row 2, column 1");
    s.x[2 * 3 + 1] = 0;
    lt_gram_destroy(g);
    s.opt.angle_scale = 1e300;
    s.x[5] = 1e300;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "overflows");
    lt_gram_destroy(g);
    free_setup(&s);
}

LT_TEST(methods_that_are_not_exact_are_refused)
{
    setup s = make_setup(4, 3, 3, true);
    lt_gram *g;
    s.opt.method = LT_GRAM_PRODUCT;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "method product needs");
    lt_gram_destroy(g);
    s.opt.method = LT_GRAM_TRANSFER;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "method transfer needs two layers (here: 3); use auto");
    lt_gram_destroy(g);
    s.opt.re_embed_between_layers = false;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "method transfer needs re-embedding (here: off) and two layers (here: 3); use auto");
    lt_gram_destroy(g);
    free_setup(&s);
    s = make_setup(4, 3, 2, false);
    s.opt.method = LT_GRAM_TRANSFER;
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "method transfer needs re-embedding (here: off); use auto");
    lt_gram_destroy(g);
    free_setup(&s);
    s = make_setup(2, 31, 3, true);
    g = open_gram(&s);
    LT_CHECK_FAILS(lt_gram_fill(g, &s.X, NULL, s.K), LT_ERR_ARGUMENT, "stop at 30 qubits");
    double out[2];
    LT_CHECK_FAILS(lt_gram_states(g, &s.X, out), LT_ERR_ARGUMENT, "too many");
    lt_gram_destroy(g);
    free_setup(&s);
}

/* Two exact methods: by costs for the sizes and the precision at hand, by what was timed, or by a device's qubits. */
LT_TEST(auto_looks_at_sizes_and_precision)
{
    static const struct { int64_t n, m, q; lt_gram_float dtype; lt_gram_method want; } cases[] = {
        { 4000, 0, 10, LT_GRAM_FLOAT32, LT_GRAM_STATES }, { 4000, 0, 10, LT_GRAM_FLOAT64, LT_GRAM_TRANSFER }, { 4000, 0, 9, LT_GRAM_FLOAT64, LT_GRAM_STATES },
        { 50, 0, 9, LT_GRAM_FLOAT64, LT_GRAM_TRANSFER },  { 50, 0, 10, LT_GRAM_FLOAT32, LT_GRAM_TRANSFER },   { 50, 0, 7, LT_GRAM_FLOAT64, LT_GRAM_STATES },
        { 3, 4000, 10, LT_GRAM_FLOAT32, LT_GRAM_TRANSFER }, { 4000, 0, 12, LT_GRAM_FLOAT32, LT_GRAM_TRANSFER }, { 20, 0, 31, LT_GRAM_FLOAT64, LT_GRAM_TRANSFER },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        setup s = make_setup(4, (int)cases[k].q, 2, true);
        lt_layers c;
        lt_gram_method method;
        char reason[160];
        s.opt.dtype = cases[k].dtype;
        LT_CHECK_OK(lt_layers_create(&s.opt, &(lt_weights){ s.w, s.layers, s.q }, &c));
        lt_plan_request r = { .opt = &s.opt, .circuit = &c, .isa = lt_gram_isa_of(LT_ISA_PLAIN), .threads = 2, .n = cases[k].n, .m = cases[k].m ? cases[k].m : cases[k].n, .cross = cases[k].m > 0,
                              .transfer_reason = "test" };
        LT_CHECK_OK(lt_plan_method(&r, &method, reason, sizeof reason));
        LT_CHECK_EQ_INT(method, cases[k].want);
        if (cases[k].q <= LT_STATES_MAX_QUBITS) LT_CHECK(strstr(reason, "built-in costs"));
        if (cases[k].q <= LT_STATES_MAX_QUBITS) { /* what was timed with as many rows decides */
            const bool few = r.n <= LT_FEW_ROWS && r.m <= LT_FEW_ROWS;
            const lt_gram_method other = method == LT_GRAM_STATES ? LT_GRAM_TRANSFER : LT_GRAM_STATES;
            r.stored = few ? (lt_stored_choices){ other, method } : (lt_stored_choices){ method, other };
            LT_CHECK_OK(lt_plan_method(&r, &method, reason, sizeof reason));
            LT_CHECK(method == other && strstr(reason, "stored timings"));
            r.stored = (lt_stored_choices){ LT_GRAM_AUTO, LT_GRAM_AUTO };
            r.transfer_from = (int)cases[k].q + 1;
            LT_CHECK_OK(lt_plan_method(&r, &method, reason, sizeof reason));
            LT_CHECK(method == LT_GRAM_STATES && strstr(reason, "below"));
        }
        lt_layers_destroy(&c);
        free_setup(&s);
    }
}

/* A made-up device: what is decided and what is said depends on its memory only. */
LT_TEST(plans_follow_the_memory)
{
    setup s = make_setup(4, 16, 3, true);
    lt_layers c;
    LT_CHECK_OK(lt_layers_create(&s.opt, &(lt_weights){ s.w, s.layers, s.q }, &c));
    lt_plan_request r = { .opt = &s.opt, .circuit = &c, .isa = lt_gram_isa_of(LT_ISA_PLAIN), .threads = 2, .n = 20000, .m = 20000,
                          .total_bytes = INT64_C(1) << 38, .transfer_from = 10, .transfer_reason = "test" };
    lt_gram_plan p;
    r.free_bytes = INT64_C(1) << 37;
    LT_CHECK_OK(lt_gram_plan_make(&r, &p));
    LT_CHECK(p.bulk && p.method == LT_GRAM_STATES);
    r.free_bytes = INT64_C(1) << 34;
    LT_CHECK_OK(lt_gram_plan_make(&r, &p));
    LT_CHECK(!p.bulk && p.block_rows < 20000 && p.block_rows % p.panel == 0);
    LT_CHECK((double)(p.a_bytes + p.b_bytes + p.work_bytes + 2 * p.scratch_bytes) <= 0.95 * (double)r.free_bytes);
    LT_CHECK(strstr(p.text, "not all rows fit") != NULL);
    r.free_bytes = INT64_C(1) << 20;
    LT_CHECK_FAILS(lt_gram_plan_make(&r, &p), LT_ERR_MEMORY, "vram_fraction 0.70");
    LT_CHECK(strstr(lt_error_text(), "state_tile 2048") && strstr(lt_error_text(), "precompute_all_states"));
    r.free_bytes = INT64_C(1) << 30; /* a share that would do is named, and does */
    s.opt.vram_fraction = 1e-6;
    LT_CHECK_FAILS(lt_gram_plan_make(&r, &p), LT_ERR_MEMORY, "Raise vram_fraction to 0.");
    LT_CHECK(!strstr(lt_error_text(), "0.70"));
    s.opt.vram_fraction = strtod(strstr(lt_error_text(), "to 0.") + 3, NULL);
    LT_CHECK_OK(lt_gram_plan_make(&r, &p));
    lt_layers_destroy(&c);
    free_setup(&s);
}

LT_TEST_MAIN()
