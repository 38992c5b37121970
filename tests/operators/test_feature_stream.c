/* Streamed features against whole-trajectory oracles; degenerate fields, failures, threads, clipping.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "feature_oracle.h"
#include "feature_runs.h"
#include "heap_calls.h"
#include "operators/features/features.h"

/* ---- Streams ---------------------------------------------------------------------------------- */
static lt_feature_options defaults(void)
{
    lt_feature_options o;
    memset(&o, 0, sizeof o);
    LT_CHECK_OK(lt_options_defaults(lt_feature_options_table(), &o));
    return o;
}

typedef struct result { int n_step, n_run; float *temporal, *per_trajectory, *aggregated; } result;

static void push_all(lt_feature_stream *f, const run *r, const int64_t *failed)
{
    size_t state = 3 * (size_t)(r->g * r->g);
    float *x = malloc((size_t)r->m * state * sizeof *x);
    for (int t = 0; t < r->t; t++) {
        for (int m = 0; m < r->m; m++) memcpy(x + (size_t)m * state, state_of(r, m, t), state * sizeof *x);
        int64_t now[16];
        for (int m = 0; failed && m < r->m; m++) now[m] = failed[m] >= 0 && failed[m] <= t ? failed[m] : -1;
        LT_CHECK_OK(lt_feature_stream_push(f, t, x, failed ? now : NULL));
    }
    free(x);
}

static result finish(lt_feature_stream *f, const lt_feature_set *s, const run *r)
{
    result out = { lt_feature_temporal_count(s), lt_feature_summary_count(s), NULL, NULL, NULL };
    out.temporal = calloc((size_t)(r->t * out.n_step) + 1, sizeof(float));
    out.per_trajectory = calloc((size_t)(r->m * out.n_run) + 1, sizeof(float));
    out.aggregated = calloc((size_t)(3 * out.n_run) + 1, sizeof(float));
    LT_CHECK_OK(lt_feature_stream_finish(f, out.temporal, out.per_trajectory, out.aggregated));
    return out;
}

static result stream(const lt_feature_options *o, const run *r, lt_pool *pool, const int64_t *failed)
{
    lt_feature_set *s = NULL;
    lt_feature_stream *f = NULL;
    LT_CHECK_OK(lt_feature_set_create(o, false, &s));
    LT_CHECK_OK(lt_feature_stream_create(s, r->m, r->t, r->g, pool, &f));
    push_all(f, r, failed);
    result out = finish(f, s, r);
    lt_feature_stream_destroy(f);
    lt_feature_set_destroy(s);
    return out;
}

static void release(result *a) { free(a->temporal); free(a->per_trajectory); free(a->aggregated); }

/* ---- Against the oracle ----------------------------------------------------------------------------- */
static const char *name_of(const lt_feature_set *s, bool step, int column)
{
    return step ? lt_feature_temporal_name(s, column) : lt_feature_summary_name(s, column);
}

/* float32 storage and averaging: a few roundings. 1e-8 beside an eigenvalue that may be 0, known to
   1e-14 or so by either formula, gets room of its own. */
static double tolerance(const char *name) { return strstr(name, "condition_number") ? 2e-5 : 1e-6; }

static void compare(const lt_feature_set *s, bool step, const float *got, const double *want, int rows, int columns, const char *what)
{
    for (int k = 0; k < columns; k++) {
        const char *name = name_of(s, step, k);
        /* The size of the column: small entries of a large series keep its rounding. A ratio of two
           correlations that are both 0 is their rounding over 1e-8. */
        double scale = strstr(name, "flow_anisotropy") ? 1e-2 : 1e-6;
        for (int i = 0; i < rows; i++) scale = fmax(scale, fabs(want[i * columns + k]));
        for (int i = 0; i < rows; i++) {
            double g = (double)got[i * columns + k], w = want[i * columns + k];
            if (!(fabs(g - w) <= tolerance(name) * scale))
                LT_TEST_FAIL("%s: %s row %d is %.9g, expected %.9g (column size %.3g)", what, name, i, g, w, scale);
        }
    }
}

static void check_against_oracle(const run *r, bool corrected, const char *what)
{
    lt_feature_options o = defaults();
    o.corrected = corrected;
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    double *temporal = malloc((size_t)(r->t * ORACLE_STEP) * sizeof *temporal), *runs = malloc((size_t)(r->m * ORACLE_RUN) * sizeof *runs);
    oracle_features(r->x, r->m, r->t, r->g, corrected, temporal, runs);
    result got = stream(&o, r, NULL, NULL);
    compare(s, true, got.temporal, temporal, r->t, ORACLE_STEP, what);
    compare(s, false, got.per_trajectory, runs, r->m, ORACLE_RUN, what);
    release(&got);
    free(temporal);
    free(runs);
    lt_feature_set_destroy(s);
}

LT_TEST(every_column_is_what_plain_loops_give)
{
    static const struct { int m, t, g; } size[] = { { 2, 24, 16 }, { 1, 7, 12 }, { 2, 5, 33 }, { 1, 3, 64 } };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int k = 0; k < KINDS; k++)
            for (int corrected = 0; corrected < 2; corrected++) {
                char what[64];
                run r = run_create(size[i].m, size[i].t, size[i].g);
                fill(&r, (kind)k, 7 * i + (uint64_t)k);
                snprintf(what, sizeof what, "%dx%d kind %d%s", r.g, r.g, k, corrected ? " corrected" : "");
                check_against_oracle(&r, corrected, what);
                free(r.x);
            }
}

/* All power in the corner bin, which lies on the last band's edge: float32 decides (docs/features.md). */
LT_TEST(the_corner_bin_is_where_float32_puts_it)
{
    static const struct { int g; bool inside; } known[] = { { 8, false }, { 16, true }, { 32, false }, { 48, false }, { 64, true },
                                                            { 96, false }, { 128, false }, { 192, false }, { 256, true } };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        run r = run_create(1, 1, known[k].g);
        for (int i = 0; i < 3 * r.g * r.g; i++) r.x[i] = (i % r.g + i / r.g) % 2 ? 1.0f : -1.0f;
        lt_feature_options o = defaults();
        result got = stream(&o, &r, NULL, NULL);
        LT_CHECK((got.temporal[24 + 12] > 1e-9f) == known[k].inside); /* a transform without FFTW leaves rounding elsewhere */
        LT_CHECK(got.temporal[39] == 0.5f && got.temporal[40] == 0.5f);
        release(&got);
        free(r.x);
    }
}

/* ---- Edges ------------------------------------------------------------------------------------------ */
LT_TEST(short_runs_have_all_columns_and_no_nan)
{
    for (int t = 1; t <= 4; t++)
        for (int m = 1; m <= 2; m++) {
            char what[64];
            run r = run_create(m, t, 16);
            fill(&r, SMOOTH, (uint64_t)t);
            snprintf(what, sizeof what, "T = %d, M = %d", t, m);
            check_against_oracle(&r, false, what);
            check_against_oracle(&r, true, what);
            lt_feature_options o = defaults();
            result got = stream(&o, &r, NULL, NULL);
            for (int k = 0; k < 3 * got.n_run; k++) {
                LT_CHECK(isfinite(got.aggregated[k]));
                if (m == 1 && k >= got.n_run) LT_CHECK(got.aggregated[k] == 0); /* deviations of a single one */
            }
            for (int k = 0; t == 1 && k < got.n_run; k++) LT_CHECK(got.per_trajectory[k] == 0);
            release(&got);
            free(r.x);
        }
}

static lt_feature_options everything(void)
{
    static const char *const on[] = { "spatial.include_histogram", "temporal.include_pacf", "nonlinear.enabled", "multiscale.enabled",
        "cross_channel.include_coherence", "causality.include_transfer_entropy", "causality.include_granger",
        "invariant_drift.include_mass_drift", "invariant_drift.include_energy_drift", "distributional.enabled",
        "structural.enabled", "physics.enabled", "morphological.enabled" };
    lt_feature_options o = defaults();
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) LT_CHECK_OK(lt_options_set(lt_feature_options_table(), on[i], "true", &o));
    return o;
}

static void check_finite(const lt_feature_options *o, const run *r, const char *what)
{
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(o, false, &s));
    result got = stream(o, r, NULL, NULL);
    for (int i = 0; i < r->t * got.n_step; i++)
        if (!isfinite(got.temporal[i]))
            LT_TEST_FAIL("%s: %s at step %d is %g", what, lt_feature_temporal_name(s, i % got.n_step), i / got.n_step, (double)got.temporal[i]);
    for (int i = 0; i < r->m * got.n_run; i++)
        if (!isfinite(got.per_trajectory[i]))
            LT_TEST_FAIL("%s: %s is %g", what, lt_feature_summary_name(s, i % got.n_run), (double)got.per_trajectory[i]);
    for (int i = 0; i < 3 * got.n_run; i++)
        if (!isfinite(got.aggregated[i])) LT_TEST_FAIL("%s: %s is %g", what, lt_feature_aggregated_name(s, i), (double)got.aggregated[i]);
    release(&got);
    lt_feature_set_destroy(s);
}

/* Finite trajectories never give NaN, whatever they are made of and whichever features are on. */
LT_TEST(degenerate_fields_give_finite_values)
{
    static const char *const what[] = { "zero", "constant", "one channel zero", "huge", "tiny", "one pixel", "range beyond float32", "noise" };
    for (int k = 0; k < 8; k++)
        for (int t = 1; t <= 5; t++)
            for (int corrected = 0; corrected < 2; corrected++) {
                run r = run_create(2, t, k % 2 ? 16 : 9);
                int cells = r.g * r.g;
                fill(&r, NOISE, (uint64_t)k);
                for (int i = 0; i < 2 * t * 3 * cells; i++) {
                    float *v = &r.x[i];
                    if (k == 0) *v = 0;
                    if (k == 1) *v = 2.5f;
                    if (k == 2 && i / cells % 3 == 1) *v = 0;
                    if (k == 3) *v *= 3e36f;
                    if (k == 4) *v *= 1e-42f;
                    if (k == 5) *v = i % cells == 17 ? 3.0f : 0;
                    if (k == 6) *v = i % 3 ? 3e38f : -3e38f;
                }
                lt_feature_options o = everything();
                o.corrected = corrected;
                check_finite(&o, &r, what[k]);
                free(r.x);
            }
}

LT_TEST(flat_and_empty_channels_match_the_oracle)
{
    run r = run_create(2, 5, 16);
    fill(&r, SMOOTH, 3);
    for (int m = 0; m < 2; m++)
        for (int t = 0; t < 5; t++) {
            float *u = state_of(&r, m, t);
            for (int i = 0; i < 256; i++) {
                u[i] = 0;
                u[256 + i] = 1.5f;
            }
        }
    check_against_oracle(&r, false, "a zero and a flat channel");
    check_against_oracle(&r, true, "a zero and a flat channel, corrected");
    free(r.x);
}

LT_TEST(failed_realizations_are_nan_and_left_out)
{
    run r = run_create(3, 6, 16), alive = run_create(2, 6, 16);
    fill(&r, NOISE, 5);
    size_t whole = 6 * 3 * 256 * sizeof(float);
    memcpy(alive.x, r.x, whole);
    memcpy(state_of(&alive, 1, 0), state_of(&r, 2, 0), whole);
    for (int t = 2; t < 6; t++)
        for (int i = 0; i < 768; i++) state_of(&r, 1, t)[i] = NAN;
    lt_feature_options o = defaults();
    int64_t failed[3] = { -1, 2, -1 };
    for (int told = 0; told < 2; told++) { /* also found without being told */
        result got = stream(&o, &r, NULL, told ? failed : NULL), want = stream(&o, &alive, NULL, NULL);
        for (int k = 0; k < got.n_run; k++) {
            LT_CHECK(isnan(got.per_trajectory[got.n_run + k]));
            LT_CHECK(got.per_trajectory[k] == want.per_trajectory[k]);
        }
        LT_CHECK(!memcmp(got.aggregated, want.aggregated, (size_t)(3 * got.n_run) * sizeof(float)));
        LT_CHECK(!memcmp(got.temporal + 2 * got.n_step, want.temporal + 2 * got.n_step, (size_t)(4 * got.n_step) * sizeof(float)));
        LT_CHECK(memcmp(got.temporal, want.temporal, (size_t)got.n_step * sizeof(float)) != 0); /* it still lived */
        release(&got);
        release(&want);
    }
    free(r.x);
    free(alive.x);
}

LT_TEST(a_rollout_that_ends_early_is_all_nan)
{
    lt_feature_options o = defaults();
    lt_feature_set *s;
    lt_feature_stream *f;
    run r = run_create(1, 4, 8);
    fill(&r, NOISE, 1);
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_OK(lt_feature_stream_create(s, 1, 4, 8, NULL, &f));
    for (int t = 0; t < 2; t++) LT_CHECK_OK(lt_feature_stream_push(f, t, state_of(&r, 0, t), NULL));
    LT_CHECK_FAILS(lt_feature_stream_push(f, 3, r.x, NULL), LT_ERR_ARGUMENT, "expected step 2");
    result got = finish(f, s, &r);
    LT_CHECK(isfinite(got.temporal[63]) && isnan(got.temporal[2 * 63]) && isnan(got.temporal[3 * 63 + 62]));
    LT_CHECK(isnan(got.per_trajectory[0]) && isnan(got.aggregated[0]) && isnan(got.aggregated[329]));
    release(&got);
    lt_feature_stream_destroy(f);
    lt_feature_set_destroy(s);
    free(r.x);
}

/* ---- Aggregates, clipping, averaged channels --------------------------------------------------------- */
LT_TEST(aggregates_are_mean_deviation_and_ratio)
{
    run r = run_create(4, 6, 16);
    fill(&r, NOISE, 11);
    lt_feature_options o = defaults();
    result got = stream(&o, &r, NULL, NULL);
    for (int k = 0; k < got.n_run; k++) {
        double mean = 0, square = 0;
        for (int m = 0; m < 4; m++) mean += (double)got.per_trajectory[m * got.n_run + k] / 4;
        for (int m = 0; m < 4; m++) square += pow((double)got.per_trajectory[m * got.n_run + k] - mean, 2);
        double std = sqrt(square / 3), size = fmax(fabs(mean), std);
        LT_CHECK(fabs((double)got.aggregated[k] - mean) <= 1e-6 * size + 1e-12);
        LT_CHECK(fabs((double)got.aggregated[got.n_run + k] - std) <= 1e-6 * size + 1e-12);
        LT_CHECK(fabs((double)got.aggregated[2 * got.n_run + k] - std / (fabs(mean) + 1e-8)) <= 1e-5 * (size / (fabs(mean) + 1e-8)) + 1e-6);
    }
    release(&got);
    free(r.x);
}

/* All values of one per-step column of a batch, as the oracle has them, bounded by quartiles. */
LT_TEST(clipping_bounds_a_batch_by_its_quartiles)
{
    enum { B = 2, M = 2, T = 6, G = 16, SKEWNESS = 3, POWER = 24, VARIANCE = 1 };
    lt_feature_options o = defaults();
    o.clip_batch = true;
    lt_feature_set *s;
    lt_feature_stream *f[B];
    run r[B];
    static double value[2][B][M][T][3]; /* skewness, power of the first band */
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    for (int b = 0; b < B; b++) {
        r[b] = run_create(M, T, G);
        fill(&r[b], SMOOTH, (uint64_t)b);
        float *spiky = state_of(&r[b], 1, 3);
        for (int i = 0; b == 1 && i < G * G; i++) spiky[i] = i == 40 ? 900.0f : 0.001f * (float)i; /* an outlier of both */
        LT_CHECK_OK(lt_feature_stream_create(s, M, T, G, NULL, &f[b]));
        push_all(f[b], &r[b], NULL);
        for (int m = 0; m < M; m++)
            for (int t = 0; t < T; t++)
                for (int c = 0; c < 3; c++) {
                    double v[51];
                    oracle_channel(state_of(&r[b], m, t) + c * G * G, G, false, v);
                    value[0][b][m][t][c] = v[SKEWNESS];
                    value[1][b][m][t][c] = v[POWER];
                }
    }
    LT_CHECK_OK(lt_feature_clip_batch(f, B));
    result got[B];
    for (int b = 0; b < B; b++) got[b] = finish(f[b], s, &r[b]);
    for (int k = 0; k < 2; k++) {
        double sorted[B * M * T * 3];
        memcpy(sorted, value[k], sizeof sorted);
        for (int i = 1; i < B * M * T * 3; i++)
            for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
                double x = sorted[j];
                sorted[j] = sorted[j - 1];
                sorted[j - 1] = x;
            }
        double q1 = oracle_quantile(sorted, B * M * T * 3, 0.25), q3 = oracle_quantile(sorted, B * M * T * 3, 0.75);
        double lo = q1 - 10 * (q3 - q1), hi = q3 + 10 * (q3 - q1);
        LT_CHECK(sorted[B * M * T * 3 - 1] > hi); /* there is something to bound */
        for (int b = 0; b < B; b++)
            for (int t = 0; t < T; t++) {
                double mean = 0;
                for (int m = 0; m < M; m++)
                    for (int c = 0; c < 3; c++) mean += fmin(fmax(value[k][b][m][t][c], lo), hi) / (3 * M);
                LT_CHECK_NEAR((double)got[b].temporal[t * 63 + (k ? POWER : SKEWNESS)], mean, 2e-6);
            }
    }
    result plain;
    lt_feature_options none = defaults();
    plain = stream(&none, &r[1], NULL, NULL);
    for (int t = 0; t < T; t++) LT_CHECK(plain.temporal[t * 63 + VARIANCE] == got[1].temporal[t * 63 + VARIANCE]); /* never clipped */
    int changed = 0;
    for (int k = 0; k < M * 110; k++) changed += plain.per_trajectory[k] != got[1].per_trajectory[k];
    LT_CHECK(changed > 0);
    release(&plain);
    for (int b = 0; b < B; b++) {
        release(&got[b]);
        lt_feature_stream_destroy(f[b]);
        free(r[b].x);
    }
    lt_feature_set_destroy(s);
}

LT_TEST(averaged_channels_are_one_field)
{
    run r = run_create(1, 5, 16), one = run_create(1, 5, 16);
    fill(&r, NOISE, 21);
    for (int t = 0; t < 5; t++)
        for (int i = 0; i < 256; i++) {
            const float *u = state_of(&r, 0, t);
            float mean = (float)(((double)u[i] + (double)u[256 + i] + (double)u[512 + i]) / 3);
            for (int c = 0; c < 3; c++) state_of(&one, 0, t)[c * 256 + i] = mean;
        }
    lt_feature_options o = defaults();
    result want = stream(&o, &one, NULL, NULL);
    o.per_channel = false;
    result got = stream(&o, &r, NULL, NULL);
    for (int t = 0; t < 5; t++)
        for (int k = 0; k < 51; k++) LT_CHECK_NEAR((double)got.temporal[t * 63 + k], (double)want.temporal[t * 63 + k], 1e-6);
    for (int k = 51; k < 63; k++) LT_CHECK(got.temporal[k] == 0); /* one channel has no pairs */
    release(&want);
    release(&got);
    free(r.x);
    free(one.x);
}

/* ---- Threads and memory ----------------------------------------------------------------------------------- */
LT_TEST(results_do_not_depend_on_threads_or_reuse)
{
    run r = run_create(3, 5, 24), other = run_create(3, 5, 24);
    fill(&r, SMOOTH, 8);
    fill(&other, NOISE, 9);
    lt_feature_options o = everything();
    result want = stream(&o, &r, NULL, NULL);
    for (int threads = 1; threads <= 4; threads++) {
        lt_pool *pool;
        lt_feature_set *s;
        lt_feature_stream *f;
        LT_CHECK_OK(lt_pool_create(threads, &pool));
        LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
        LT_CHECK_OK(lt_feature_stream_create(s, 3, 5, 24, pool, &f));
        push_all(f, &other, (int64_t[]){ -1, 1, -1 });
        lt_feature_stream_reset(f);
        push_all(f, &r, NULL);
        result got = finish(f, s, &r);
        LT_CHECK(!memcmp(got.temporal, want.temporal, (size_t)(5 * got.n_step) * sizeof(float)));
        LT_CHECK(!memcmp(got.per_trajectory, want.per_trajectory, (size_t)(3 * got.n_run) * sizeof(float)));
        LT_CHECK(!memcmp(got.aggregated, want.aggregated, (size_t)(3 * got.n_run) * sizeof(float)));
        release(&got);
        lt_feature_stream_destroy(f);
        lt_feature_set_destroy(s);
        lt_pool_destroy(pool);
    }
    release(&want);
    free(r.x);
    free(other.x);
}

LT_TEST(pushing_allocates_nothing)
{
    run r = run_create(2, 4, 16);
    fill(&r, NOISE, 2);
    lt_feature_options o = everything();
    lt_feature_set *s;
    lt_feature_stream *f;
    lt_pool *pool;
    float *x = malloc(2 * 768 * sizeof *x);
    LT_CHECK_OK(lt_pool_create(2, &pool));
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_OK(lt_feature_stream_create(s, 2, 4, 16, pool, &f));
    int64_t ours = lt_alloc_count(), all = 0;
    for (int t = 0; t < 4; t++) {
        for (int m = 0; m < 2; m++) memcpy(x + m * 768, state_of(&r, m, t), 768 * sizeof *x);
        int64_t before = atomic_load(&n_heap_calls);
        LT_CHECK_OK(lt_feature_stream_push(f, t, x, NULL));
        if (t) all += atomic_load(&n_heap_calls) - before; /* the first may wake threads for the first time */
    }
    LT_CHECK_EQ_INT(lt_alloc_count() - ours, 0);
    LT_CHECK_EQ_INT(all, 0);
    free(x);
    lt_feature_stream_destroy(f);
    lt_feature_set_destroy(s);
    lt_pool_destroy(pool);
    free(r.x);
}

LT_TEST(every_allocation_may_fail)
{
    lt_feature_options o = everything();
    int64_t live = lt_alloc_live();
    bool reached = true;
    for (int64_t n = 1; reached && n < 2000; n++) {
        lt_feature_set *s = NULL;
        lt_feature_stream *f = NULL;
        lt_alloc_fail_at(n);
        int64_t made = lt_alloc_count();
        lt_status status = lt_feature_set_create(&o, true, &s);
        if (!status) status = lt_feature_stream_create(s, 2, 4, 8, NULL, &f);
        reached = lt_alloc_count() - made >= n;
        lt_alloc_fail_at(0);
        LT_CHECK(reached ? status == LT_ERR_MEMORY : status == LT_OK);
        lt_feature_stream_destroy(f);
        lt_feature_set_destroy(s);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(!reached);
}

LT_TEST(bad_sizes_are_refused)
{
    lt_feature_options o = defaults();
    lt_feature_set *s;
    lt_feature_stream *f;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_FAILS(lt_feature_stream_create(s, 0, 4, 8, NULL, &f), LT_ERR_ARGUMENT, "0 realizations");
    LT_CHECK_FAILS(lt_feature_stream_create(s, 1, 4, 1, NULL, &f), LT_ERR_SHAPE, "grid of 1");
    LT_CHECK(f == NULL);
    lt_feature_set_destroy(s);
}

LT_TEST_MAIN()
