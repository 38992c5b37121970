/* Rollouts: policies, noise and post-processing against plain loops; the same bits however the work is
   cut; failures. SPDX-License-Identifier: BSD-3-Clause */
#include "heap_calls.h"
#include "lt_test.h"
#include "oracle.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "graph/program/program.h"
#include "lathe/rng.h"
#include "operators/rollout/noise.h"

#define SEED 21
#define INDEX 6

static lt_operator_spec small(lt_noise noise)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = 2, s.base_channels = 6, s.grid = 9, s.noise = noise, s.noise_scale = 0.3;
    return s;
}

static lt_operator_spec small_uafno(lt_noise noise)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_UAFNO);
    s.base_channels = 3, s.grid = 8, s.encoder_levels = 1, s.afno_blocks = 1, s.modes = 2, s.blocks_per_level = 1, s.noise = noise, s.noise_scale = 0.3;
    return s;
}

static int64_t field_size(const lt_operator_spec *s) { return 3 * (int64_t)s->grid * s->grid; }

static float *random_field(const lt_operator_spec *s)
{
    float *f = malloc((size_t)field_size(s) * sizeof *f);
    lt_draws d = lt_draws_make(SEED, "test field", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, field_size(s), f));
    return f;
}

/* All states of a run, [T, M, field]. */
typedef struct trajectory {
    int64_t per_step, calls;
    float  *states;
    int64_t failed[16];
    int     n;
    int64_t stop_at;  /* the sink refuses this step; -1: none */
    int64_t heap[64], ours[64]; /* allocations of the process, and of the library, up to each step */
} trajectory;

static lt_status store(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    trajectory *j = ctx;
    LT_CHECK_EQ_INT(t, j->calls);
    if (t == j->stop_at) return LT_ERR_CANCELLED;
    if (t < 64) j->heap[t] = atomic_load(&n_heap_calls), j->ours[t] = lt_alloc_count();
    memcpy(j->states + t * j->per_step, states, (size_t)j->per_step * sizeof *states);
    memcpy(j->failed, failed, (size_t)j->n * sizeof *failed);
    j->calls++;
    return LT_OK;
}

static trajectory run_with(const lt_operator_spec *s, const lt_rollout_options *opt, const float *field, int64_t realization, lt_rollout_result *result)
{
    int n = realization < 0 ? (int)opt->realizations : 1;
    trajectory j = { .per_step = n * field_size(s), .n = n, .stop_at = -1 };
    lt_operator_weights *w = NULL;
    lt_rollout *r = NULL;
    j.states = calloc((size_t)(j.per_step * opt->steps), sizeof *j.states);
    LT_CHECK_OK(lt_operator_weights_create(s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    LT_CHECK_OK(lt_rollout_create(s, opt, &r));
    if (r) {
        LT_CHECK_OK(lt_rollout_set_operator(r, s, w));
        LT_CHECK_OK(lt_rollout_run(r, field, realization, store, &j, result));
    }
    lt_rollout_destroy(r);
    lt_operator_weights_destroy(w);
    return j;
}

static lt_rollout_options options(int64_t realizations, int64_t steps)
{
    lt_rollout_options o = lt_rollout_defaults();
    o.realizations = realizations;
    o.steps = steps;
    return o;
}

/* One application of the operator in double precision to a float state. */
static map oracle_step(const lt_operator_spec *s, const lt_operator_weights *w, const float *x, const double *noise, bool multiply, bool per_channel)
{
    double *wide = malloc((size_t)field_size(s) * sizeof *wide);
    for (int64_t i = 0; i < field_size(s); i++) wide[i] = x[i];
    oracle o = { .spec = *s, .weights = w };
    map y = oracle_apply(&o, wide, noise, multiply, per_channel);
    free(wide);
    return y;
}

/* ---- Policies ---------------------------------------------------------------------------------- */
LT_TEST(policies_follow_their_recurrences)
{
    for (int p = 0; p < LT_POLICY_COUNT; p++)
        for (int zero = 0; zero < 2; zero++) {
            lt_operator_spec s = small(LT_NOISE_NONE);
            s.policy = (lt_policy)p, s.dt = 0.1, s.alpha = zero ? 0 : 0.7;
            lt_rollout_options o = options(2, 4);
            float *field = random_field(&s);
            lt_rollout_result result = { .size = sizeof result };
            trajectory j = run_with(&s, &o, field, -1, &result);
            lt_operator_weights *w = NULL;
            LT_CHECK_OK(lt_operator_weights_create(&s, &w));
            LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
            int64_t n = field_size(&s);
            LT_CHECK(memcmp(j.states, field, (size_t)n * sizeof *field) == 0 && memcmp(j.states + n, field, (size_t)n * sizeof *field) == 0);
            for (int t = 1; t < 4; t++)
                for (int m = 0; m < 2; m++) {
                    const float *x = j.states + (t - 1) * j.per_step + m * n;
                    map y = oracle_step(&s, w, x, NULL, false, false);
                    for (int64_t i = 0; i < n; i++)
                        y.v[i] = p == LT_POLICY_RESIDUAL ? x[i] + 0.1 * y.v[i] : p == LT_POLICY_CONVEX ? s.alpha * x[i] + (1 - s.alpha) * y.v[i] : y.v[i];
                    LT_CHECK(oracle_relative_error(j.states + t * j.per_step + m * n, y.v, n) < 1e-5);
                    free(y.v);
                }
            LT_CHECK(result.status == LT_RUN_DONE && result.step == 3 && j.calls == 4 && j.failed[0] == -1);
            lt_operator_weights_destroy(w);
            free(field);
            free(j.states);
        }
}

LT_TEST(snapshots_are_plain_forward_passes)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
    s.policy = LT_POLICY_CONVEX, s.noise_scale = 0;
    lt_rollout_options o = options(3, 1);
    float *field = random_field(&s);
    lt_rollout_result result = { .size = sizeof result };
    trajectory j = run_with(&s, &o, field, -1, &result);
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    map y = oracle_step(&s, w, field, NULL, false, false);
    for (int m = 0; m < 3; m++) LT_CHECK(oracle_relative_error(j.states + m * field_size(&s), y.v, field_size(&s)) < 1e-5);
    LT_CHECK(j.calls == 1 && result.status == LT_RUN_DONE && result.step == 0);
    free(y.v);
    lt_operator_weights_destroy(w);
    free(field);
    free(j.states);
}

/* ---- Noise --------------------------------------------------------------------------------------- */
/* Normals of one realization and step, by the stream's definition. */
static void normals(int64_t t, int64_t m, int64_t n, double *out)
{
    float *z = malloc((size_t)n * sizeof *z);
    lt_draws d = lt_draws_make(SEED, "noise", (uint32_t)t, (uint32_t)m, INDEX);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, n, z));
    for (int64_t i = 0; i < n; i++) out[i] = z[i];
    free(z);
}

static uint32_t word_at(int64_t t, int64_t m, int64_t i)
{
    lt_draws d = lt_draws_make(SEED, "noise", (uint32_t)t, (uint32_t)m, INDEX);
    uint32_t counter[4] = { (uint32_t)(i / 4), (uint32_t)t, (uint32_t)m, INDEX }, word[4];
    lt_philox4x32(counter, d.key, word);
    return word[i % 4];
}

/* The noise as the network gets it: n elements. */
static void noise_by_hand(const lt_operator_spec *s, int64_t t, int64_t m, int64_t n, double *out)
{
    if (s->noise == LT_NOISE_LAPLACE || s->noise == LT_NOISE_DROPOUT)
        for (int64_t i = 0; i < n; i++) {
            uint32_t w = word_at(t, m, i);
            double e = -log(((w & 0x7fffffff) + 1.0) / 0x1p31) * s->noise_scale, u = (w >> 8) * 0x1p-24;
            out[i] = s->noise == LT_NOISE_LAPLACE ? (w >> 31 ? -e : e) : u < s->noise_scale ? 0 : 1 / (1 - s->noise_scale);
        }
    else {
        normals(t, m, n, out);
        for (int64_t i = 0; i < n; i++) out[i] = s->noise == LT_NOISE_MULTIPLICATIVE ? 1 + s->noise_scale * out[i] : s->noise_scale * out[i];
    }
}

static void check_noise_kind(lt_operator_spec s)
{
    bool cnn = s.kind == LT_OPERATOR_CNN, factor = s.noise == LT_NOISE_MULTIPLICATIVE || s.noise == LT_NOISE_DROPOUT, by_channel = s.noise == LT_NOISE_DROPOUT;
    bool on_output = !cnn || s.noise == LT_NOISE_GAUSSIAN;
    int64_t plane = (int64_t)s.grid * s.grid, channels = on_output ? 3 : s.base_channels * 2, n = field_size(&s), count = by_channel ? channels : channels * plane;
    lt_rollout_options o = options(2, 3);
    s.policy = LT_POLICY_AUTOREGRESSIVE;
    float *field = random_field(&s);
    trajectory j = run_with(&s, &o, field, -1, NULL);
    double *noise = malloc((size_t)count * sizeof *noise);
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    for (int t = 1; t < 3; t++)
        for (int m = 0; m < 2; m++) {
            noise_by_hand(&s, t, m, count, noise);
            map y = oracle_step(&s, w, j.states + (t - 1) * j.per_step + m * n, on_output ? NULL : noise, factor, by_channel);
            if (on_output && cnn) { /* L z with L L' = W W', by elimination here */
                int64_t c;
                const float *W = oracle_tensor(w, "output.weight", &c);
                double a[3][3] = { { 0 } }, l[3][3] = { { 0 } };
                c /= 3;
                for (int p = 0; p < 9; p++) for (int64_t k = 0; k < c; k++) a[p / 3][p % 3] += (double)W[p / 3 * c + k] * W[p % 3 * c + k];
                l[0][0] = sqrt(a[0][0]), l[1][0] = a[1][0] / l[0][0], l[2][0] = a[2][0] / l[0][0];
                l[1][1] = sqrt(a[1][1] - l[1][0] * l[1][0]), l[2][1] = (a[2][1] - l[2][0] * l[1][0]) / l[1][1];
                l[2][2] = sqrt(a[2][2] - l[2][0] * l[2][0] - l[2][1] * l[2][1]);
                for (int64_t i = 0; i < n; i++)
                    for (int k = 0; k <= i / plane; k++) y.v[i] += l[i / plane][k] * noise[k * plane + i % plane];
            } else if (on_output) {
                for (int64_t i = 0; i < n; i++) {
                    double e = noise[by_channel ? i / plane : i];
                    y.v[i] = factor ? y.v[i] * e : y.v[i] + e;
                }
            }
            double size = 0;
            for (int64_t i = 0; i < n; i++) size += fabs(y.v[i]);
            if (size == 0) { /* dropout of all three channels */
                for (int64_t i = 0; i < n; i++) LT_CHECK(j.states[t * j.per_step + m * n + i] == 0);
            } else {
                double error = oracle_relative_error(j.states + t * j.per_step + m * n, y.v, n);
                if (!(error < 1e-5)) LT_TEST_FAIL("%s %s: relative error %.3g", lt_operator_kind_name(s.kind), lt_noise_name(s.noise), error);
            }
            free(y.v);
        }
    lt_operator_weights_destroy(w);
    free(noise);
    free(field);
    free(j.states);
}

LT_TEST(noise_of_every_kind_enters_where_it_should)
{
    for (int k = 1; k < LT_NOISE_COUNT; k++) {
        check_noise_kind(small((lt_noise)k));
        check_noise_kind(small_uafno((lt_noise)k));
    }
}

/* Noise on the map and its three-channel stand-in have the same covariance behind the output map. */
LT_TEST(three_normals_have_the_covariance_of_many)
{
    enum { C = 5, TRIALS = 200000 };
    float W[3][C], l[3][3];
    lt_draws d = lt_draws_make(1, "test", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, 3 * C, W[0]));
    lt_noise_factor(W[0], C, l);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double want = 0, got = 0;
            for (int k = 0; k < C; k++) want += (double)W[i][k] * W[j][k];
            for (int k = 0; k < 3; k++) got += (double)l[i][k] * l[j][k];
            LT_CHECK_NEAR(got, want, 1e-5);
        }
    float flat[3] = { 1, 2, -1 }; /* one channel: rank 1 */
    lt_noise_factor(flat, 1, l);
    for (int i = 0; i < 3; i++) LT_CHECK(l[i][0] == flat[i] && l[i][1] == 0 && l[i][2] == 0);
}

/* One drawing of a noise maker for an operator, all realizations. */
static float *draw_noise(const lt_operator_spec *s, int64_t t, int64_t last_t, int64_t realizations, int64_t *count)
{
    lt_noise_maker n;
    lt_operator_weights *w = NULL;
    LT_CHECK_OK(lt_operator_weights_create(s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    LT_CHECK_OK(lt_noise_create(s, &n));
    lt_noise_set(&n, s, w);
    *count = n.count;
    float *out = calloc((size_t)(realizations * n.count), sizeof *out);
    LT_CHECK_OK(lt_noise_draw(&n, lt_pool_shared(), t, last_t, 0, realizations, out));
    lt_noise_release(&n);
    lt_operator_weights_destroy(w);
    return out;
}

static double spread(const float *x, int64_t n)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    return sqrt(square / (double)(n - 1));
}

LT_TEST(correlated_noise_has_its_spread_over_the_batch_or_per_channel)
{
    lt_operator_spec s = small_uafno(LT_NOISE_GAUSSIAN);
    s.grid = 32, s.spatial_correlation = 0.4;
    int64_t count, plane = 32 * 32;
    float *x = draw_noise(&s, 1, 9, 4, &count);
    LT_CHECK_EQ_INT(count, 3 * plane);
    LT_CHECK_NEAR(spread(x, 4 * count), 0.3, 1e-4);
    LT_CHECK(fabs(spread(x, plane) - 0.3) > 1e-3); /* a single channel differs */
    double neighbours = 0;
    for (int64_t i = 0; i + 1 < plane; i++) neighbours += (double)x[i] * x[i + 1] / (double)plane / 0.09;
    LT_CHECK(neighbours > 0.5);
    free(x);
    s.full_noise = true;
    x = draw_noise(&s, 1, 9, 4, &count);
    for (int64_t c = 0; c < 12; c++) LT_CHECK_NEAR(spread(x + c * plane, plane), 0.3, 1e-4);
    free(x);
    s = small(LT_NOISE_LAPLACE);
    s.spatial_correlation = 0.1;
    LT_CHECK(!lt_network_noise(&s).correlated); /* the reference ignores it for CNNs */
    s.full_noise = true;
    LT_CHECK(lt_network_noise(&s).correlated && lt_network_noise(&s).channels == 12);
    x = draw_noise(&s, 1, 9, 2, &count);
    int negative = 0;
    for (int64_t i = 0; i < count; i++) negative += x[i] < 0;
    LT_CHECK(negative > count / 3 && negative < 2 * count / 3);
    free(x);
}

/* Against the filter by its definition: a sum over modes of the white noise's transform. */
LT_TEST(correlated_noise_is_filtered_white_noise)
{
    enum { G = 8 };
    lt_operator_spec s = small_uafno(LT_NOISE_GAUSSIAN);
    s.spatial_correlation = 0.2, s.full_noise = true;
    int64_t count;
    float *x = draw_noise(&s, 4, 9, 1, &count);
    double z[3 * G * G], y[G * G];
    normals(4, 0, 3 * G * G, z);
    for (int i = 0; i < G * G; i++) {
        y[i] = 0;
        for (int p = 0; p < G * G; p++)
            for (int k = 0; k < G * G; k++) {
                double ky = k / G > G / 2 ? k / G - G : k / G, kx = k % G > G / 2 ? k % G - G : k % G;
                double gain = exp(-(kx * kx + ky * ky) / (G * G) * (0.2 * G) * (0.2 * G) / 2);
                y[i] += z[p] * gain * cos(2 * M_PI * (ky * (i / G - p / G) + kx * (i % G - p % G)) / G);
            }
    }
    double mean = 0, square = 0;
    for (int i = 0; i < G * G; i++) mean += y[i] / (G * G);
    for (int i = 0; i < G * G; i++) square += (y[i] - mean) * (y[i] - mean);
    for (int i = 0; i < G * G; i++) LT_CHECK_NEAR(x[i], 0.3 * y[i] / sqrt(square / (G * G - 1)), 1e-5);
    free(x);
}

LT_TEST(schedules_scale_the_noise_in_full_semantics_only)
{
    lt_operator_spec s = small_uafno(LT_NOISE_GAUSSIAN);
    int64_t count;
    s.schedule = LT_SCHEDULE_ANNEALING;
    float *plain = draw_noise(&s, 3, 12, 1, &count);
    s.full_noise = true;
    float *annealed = draw_noise(&s, 3, 12, 1, &count);
    s.schedule = LT_SCHEDULE_PERIODIC, s.schedule_period = 12;
    float *periodic = draw_noise(&s, 3, 12, 1, &count);
    for (int64_t i = 0; i < count; i++) {
        LT_CHECK_NEAR(annealed[i], 0.75 * plain[i], 1e-6);
        LT_CHECK_NEAR(periodic[i], 1.5 * plain[i], 1e-6);
    }
    free(plain);
    free(annealed);
    free(periodic);
}

/* ---- The same bits -------------------------------------------------------------------------------- */
LT_TEST(bits_do_not_depend_on_micro_batch_threads_or_company)
{
    for (int p = 0; p < LT_PRECISION_COUNT; p++)
        for (int k = 0; k < 4; k++) {
            lt_operator_spec s = k == 1 ? small(LT_NOISE_LAPLACE) : k == 2 ? small_uafno(LT_NOISE_GAUSSIAN) : small(LT_NOISE_GAUSSIAN);
            if (k == 2) s.spatial_correlation = 0.1;
            if (k == 0) s.num_layers = 4, s.base_channels = 16, s.grid = 33;
            if (k == 3) s.base_channels = 16, s.kernel_size = 5, s.grid = 40;
            lt_rollout_options o = options(5, 4);
            o.precision = (lt_precision)p;
            float *field = random_field(&s);
            trajectory want = run_with(&s, &o, field, -1, NULL);
            size_t bytes = (size_t)(want.per_step * o.steps) * sizeof(float);
            for (int variant = 0; variant < 5; variant++) {
                lt_rollout_options v = o;
                if (variant < 3) v.micro_batch = (int64_t[]){ 1, 2, 5 }[variant];
                if (variant == 3) v.threads = 1;
                if (variant == 4) LT_CHECK_OK(lt_pool_shared_resize(3));
                trajectory got = run_with(&s, &v, field, -1, NULL);
                LT_CHECK(memcmp(got.states, want.states, bytes) == 0);
                free(got.states);
                if (variant == 4) LT_CHECK_OK(lt_pool_shared_resize(0));
            }
            trajectory one = run_with(&s, &o, field, 3, NULL);
            for (int t = 0; t < 4; t++)
                LT_CHECK(memcmp(one.states + t * one.per_step, want.states + t * want.per_step + 3 * one.per_step, (size_t)one.per_step * sizeof(float)) == 0);
            LT_CHECK(memcmp(want.states + want.per_step, want.states + want.per_step + field_size(&s), (size_t)field_size(&s) * sizeof(float)) != 0);
            free(one.states);
            free(want.states);
            free(field);
        }
}

/* Filters too large for a cache: realizations go through a step together. */
LT_TEST(realizations_abreast_have_the_bits_of_one)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
    s.num_layers = 4, s.base_channels = 24, s.kernel_size = 5, s.grid = 64;
    lt_rollout_options o = options(5, 3);
    float *field = random_field(&s);
    trajectory all = run_with(&s, &o, field, -1, NULL), one = run_with(&s, &o, field, 4, NULL);
    for (int64_t t = 0; t < 3; t++)
        LT_CHECK(memcmp(one.states + t * one.per_step, all.states + t * all.per_step + 4 * one.per_step, (size_t)one.per_step * sizeof(float)) == 0);
    for (int variant = 0; variant < 4; variant++) {
        lt_rollout_options v = o;
        if (variant < 2) v.micro_batch = variant ? 5 : 2;
        if (variant == 2) v.threads = 1;
        if (variant == 3) LT_CHECK_OK(lt_pool_shared_resize(3));
        trajectory got = run_with(&s, &v, field, -1, NULL);
        LT_CHECK(memcmp(got.states, all.states, (size_t)(all.per_step * 3) * sizeof(float)) == 0);
        free(got.states);
        if (variant == 3) LT_CHECK_OK(lt_pool_shared_resize(0));
    }
    free(all.states), free(one.states), free(field);
}

LT_TEST(one_rollout_serves_every_operator_of_an_architecture)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN), other = s;
    other.noise_scale = 0.01, other.policy = LT_POLICY_CONVEX, other.alpha = 0.2;
    lt_rollout_options o = options(2, 3);
    float *field = random_field(&s);
    trajectory want = run_with(&other, &o, field, -1, NULL), got = { .per_step = want.per_step, .n = 2, .stop_at = -1 };
    got.states = calloc((size_t)(want.per_step * 3), sizeof(float));
    lt_operator_weights *w[2] = { NULL, NULL };
    lt_rollout *r = NULL;
    for (int i = 0; i < 2; i++) {
        LT_CHECK_OK(lt_operator_weights_create(&s, &w[i]));
        LT_CHECK_OK(lt_operator_weights_draw(w[i], SEED, i ? INDEX : 0));
    }
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r));
    LT_CHECK_FAILS(lt_rollout_run(r, field, -1, store, &got, NULL), LT_ERR_ARGUMENT, "no operator is set");
    LT_CHECK_OK(lt_rollout_set_operator(r, &s, w[0]));
    LT_CHECK_OK(lt_rollout_run(r, field, -1, store, &got, NULL));
    LT_CHECK(memcmp(got.states, want.states, (size_t)(want.per_step * 3) * sizeof(float)) != 0);
    got.calls = 0;
    LT_CHECK(lt_rollout_fits(r, &other));
    LT_CHECK_OK(lt_rollout_set_operator(r, &other, w[1]));
    LT_CHECK_OK(lt_rollout_run(r, field, -1, store, &got, NULL));
    LT_CHECK(memcmp(got.states, want.states, (size_t)(want.per_step * 3) * sizeof(float)) == 0);
    other.base_channels = 7;
    LT_CHECK(!lt_rollout_fits(r, &other));
    LT_CHECK_FAILS(lt_rollout_set_operator(r, &other, w[1]), LT_ERR_ARGUMENT, "another architecture");
    LT_CHECK_FAILS(lt_rollout_run(r, field, 2, store, &got, NULL), LT_ERR_ARGUMENT, "realization 2");
    for (int i = 0; i < 2; i++) lt_operator_weights_destroy(w[i]);
    lt_rollout_destroy(r);
    free(field);
    free(got.states);
    free(want.states);
}

/* ---- Memory ------------------------------------------------------------------------------------------ */
/* Executing a oneDNN primitive allocates inside that library, so the whole process is counted where its
   convolutions are our own (few channels), and only what is ours elsewhere. */
LT_TEST(the_loop_allocates_nothing)
{
    for (int wide = 0; wide < 2; wide++) {
        lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
        s.num_layers = 4, s.base_channels = wide ? 16 : 1, s.grid = 16;
        lt_rollout_options o = options(3, 8);
        float *field = random_field(&s);
        trajectory j = run_with(&s, &o, field, -1, NULL);
        for (int t = 3; t < 8; t++) {
            LT_CHECK_EQ_INT(j.ours[t], j.ours[2]);
            if (!wide) LT_CHECK_EQ_INT(j.heap[t], j.heap[2]);
        }
        LT_CHECK(j.ours[2] > 0);
        free(field);
        free(j.states);
    }
}

LT_TEST(memory_is_planned_and_refused_before_the_run)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(3, 4);
    lt_rollout *r = NULL;
    o.memory_bytes = 1000;
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_MEMORY, "of 1000 allowed");
    LT_CHECK(!r);
    o.memory_bytes = 0;
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r));
    lt_rollout_info info = lt_rollout_get_info(r);
    LT_CHECK(info.arena_bytes > 0 && info.state_bytes >= 2 * 3 * field_size(&s) * 4 && info.kernels_per_step > 3 && info.arithmetic[0]);
    LT_CHECK_NEAR(info.flops, 3 * lt_operator_flops(&s), 1e-12);
    lt_rollout_destroy(r);
    o.micro_batch = 1;
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r));
    LT_CHECK_EQ_INT(lt_rollout_get_info(r).micro_batch, 1);
    lt_rollout_destroy(r);
    o.steps = 0;
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_ARGUMENT, "0 steps");
}

/* Blocks alive, without those the device keeps for the next program. */
static int64_t live_blocks(void)
{
    lt_device *device;
    LT_CHECK_OK(lt_default_device(&device));
    LT_CHECK_OK(lt_device_memory_trim(device));
    return lt_alloc_live();
}

LT_TEST(failing_allocations_leave_nothing_behind)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
    lt_rollout_options o = options(2, 3);
    lt_rollout *r = NULL;
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r)); /* what is made once for the process is made here */
    lt_rollout_destroy(r);
    int64_t live = live_blocks();
    int failures = 0;
    for (int64_t n = 1; n < 100000; n += n < 200 ? 1 : 17) {
        r = NULL;
        lt_alloc_fail_at(n);
        lt_status status = lt_rollout_create(&s, &o, &r);
        lt_alloc_fail_at(0);
        if (status) LT_CHECK(!r && live_blocks() == live);
        lt_rollout_destroy(r);
        if (!status) break;
        failures++;
    }
    LT_CHECK(failures > 20);
    LT_CHECK_EQ_INT(live_blocks(), live);
}

/* ---- Failures and post-processing ---------------------------------------------------------------------- */
LT_TEST(a_realization_that_is_not_finite_ends_alone)
{
    lt_operator_spec s = small(LT_NOISE_MULTIPLICATIVE);
    s.normalization = LT_NORM_NONE, s.activation = LT_ACT_NONE, s.policy = LT_POLICY_AUTOREGRESSIVE, s.noise_scale = 1e4;
    lt_rollout_options o = options(4, 40);
    float *field = random_field(&s);
    lt_rollout_result result = { .size = sizeof result };
    trajectory j = run_with(&s, &o, field, -1, &result);
    int64_t n = field_size(&s), earliest = 40;
    LT_CHECK(result.status == LT_RUN_NON_FINITE && j.calls == 40);
    for (int m = 0; m < 4; m++) {
        int64_t f = j.failed[m];
        if (f >= 0 && f < earliest) earliest = f;
        for (int64_t t = 0; t < 40; t++)
            for (int64_t i = 0; i < n; i++) {
                float v = j.states[t * j.per_step + m * n + i];
                if (f >= 0 && t >= f ? !isnan(v) : !isfinite(v)) LT_TEST_FAIL("step %d of realization %d", (int)t, m), i = n, t = 40;
            }
    }
    LT_CHECK_EQ_INT(result.step, earliest);
    free(j.states);
    field[5] = INFINITY;
    j = run_with(&s, &o, field, -1, &result);
    LT_CHECK(result.status == LT_RUN_NON_FINITE && result.step == 0 && j.failed[3] == 0);
    free(j.states);
    free(field);
}

LT_TEST(a_sink_stops_the_run)
{
    lt_operator_spec s = small(LT_NOISE_NONE);
    lt_rollout_options o = options(1, 5);
    float *field = random_field(&s);
    trajectory j = { .per_step = field_size(&s), .n = 1, .stop_at = 2 };
    j.states = calloc((size_t)(j.per_step * 5), sizeof(float));
    lt_operator_weights *w = NULL;
    lt_rollout *r = NULL;
    lt_rollout_result result = { .size = sizeof result };
    LT_CHECK_OK(lt_operator_weights_create(&s, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    LT_CHECK_OK(lt_rollout_create(&s, &o, &r));
    LT_CHECK_OK(lt_rollout_set_operator(r, &s, w));
    LT_CHECK(lt_rollout_run(r, field, -1, store, &j, &result) == LT_ERR_CANCELLED);
    LT_CHECK(result.status == LT_RUN_FAILED && j.calls == 2);
    lt_rollout_destroy(r);
    lt_operator_weights_destroy(w);
    free(field);
    free(j.states);
}

LT_TEST(post_processing_is_per_realization_and_on_the_first_field_too)
{
    lt_operator_spec s = small(LT_NOISE_GAUSSIAN);
    int64_t n = field_size(&s);
    float *field = random_field(&s);
    for (int post = 0; post < LT_POST_COUNT; post++) {
        lt_rollout_options o = options(2, 3);
        o.post = (lt_post)post;
        if (post == LT_POST_NONE) o.clamp = true, o.clamp_lo = -0.5, o.clamp_hi = 0.25;
        trajectory j = run_with(&s, &o, field, -1, NULL);
        for (int k = 0; k < 6; k++) {
            const float *x = j.states + k * n;
            double lo = x[0], hi = x[0], sum = 0, square = 0;
            for (int64_t i = 0; i < n; i++) lo = fmin(lo, x[i]), hi = fmax(hi, x[i]), sum += x[i], square += (double)x[i] * x[i];
            if (post == LT_POST_NONE) LT_CHECK(lo == -0.5 && hi == 0.25);
            if (post == LT_POST_MINMAX) LT_CHECK(lo == 0 && hi == 1);
            if (post == LT_POST_ZSCORE) LT_CHECK(fabs(sum / (double)n) < 1e-6 && fabs(square / (double)(n - 1) - 1) < 1e-5);
        }
        free(j.states);
    }
    free(field);
}

LT_TEST_MAIN()
