/* What streaming costs: milliseconds per state of three channels and the share of each group, printed.
   Only gross regressions fail: timings on shared machines are noisy. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "operators/features/features.h"

#include <time.h>

/* Of this thread: what other work does on the machine counts for less. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { M = 2, REPEATS = 25, STEPS = 3, MAX_VARIANTS = 8 };

static lt_feature_options with(const char *const *keys, int n, const char *value)
{
    lt_feature_options o;
    memset(&o, 0, sizeof o);
    LT_CHECK_OK(lt_options_defaults(lt_feature_options_table(), &o));
    for (int i = 0; i < n; i++) LT_CHECK_OK(lt_options_set(lt_feature_options_table(), keys[i], value, &o));
    return o;
}

/* Per realization and step, on the calling thread: the best of several, the variants taking turns. */
static void milliseconds(const lt_feature_options *o, int n_variants, int g, double *best)
{
    lt_feature_set *s[MAX_VARIANTS];
    lt_feature_stream *f[MAX_VARIANTS];
    size_t n = M * 3 * (size_t)(g * g);
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(sin(0.05 * (double)(i % (size_t)g)) + 1e-9 * (double)((i * 2654435761u) % 1000000007u));
    for (int v = 0; v < n_variants; v++) {
        LT_CHECK_OK(lt_feature_set_create(&o[v], false, &s[v]));
        LT_CHECK_OK(lt_feature_stream_create(s[v], M, STEPS, g, NULL, &f[v]));
        best[v] = INFINITY;
    }
    for (int r = 0; r < REPEATS * n_variants; r++) {
        int v = r % n_variants;
        lt_feature_stream_reset(f[v]);
        double start = seconds();
        for (int t = 0; t < STEPS; t++) LT_CHECK_OK(lt_feature_stream_push(f[v], t, x, NULL));
        best[v] = fmin(best[v], 1e3 * (seconds() - start) / (M * STEPS));
    }
    for (int v = 0; v < n_variants; v++) {
        lt_feature_stream_destroy(f[v]);
        lt_feature_set_destroy(s[v]);
    }
    free(x);
}

LT_TEST(default_features_cost_little)
{
    static const char *const off[] = { "spatial.enabled", "spectral.enabled", "cross_channel.enabled", "causality.enabled",
                                       "invariant_drift.enabled", "temporal.enabled" };
    for (int g = 64; g <= 128; g *= 2) {
        lt_feature_options o[6] = { with(NULL, 0, NULL) };
        double cost[6];
        for (int k = 0; k < 5; k++) o[k + 1] = with(off + k, k == 4 ? 2 : 1, "false"); /* drift and dynamics share their sums */
        milliseconds(o, 6, g, cost);
        printf("features %dx%d: %.3f ms per state of 3 channels, one thread;", g, g, cost[0]);
        for (int k = 0; k < 5; k++) printf(" %.*s %.0f %%", (int)(strchr(off[k], '.') - off[k]), off[k], 100 * (1 - cost[k + 1] / cost[0]));
        printf("\n");
        /* A quarter of the median operator's 84 ms per state at 128 would be 20; ten times that means a
           loop is no longer a loop (sanitizers and debug builds stay below it too). */
        LT_CHECK(cost[0] < 200);
    }
}

LT_TEST(optional_categories_and_what_each_adds)
{
    static const char *const on[] = { "spatial.include_histogram", "cross_channel.include_coherence", "multiscale.enabled",
                                      "distributional.enabled", "structural.enabled", "physics.enabled", "morphological.enabled" };
    lt_feature_options o[8] = { with(NULL, 0, NULL) };
    double cost[8];
    for (int k = 0; k < 7; k++) o[k + 1] = with(on + k, 1, "true");
    milliseconds(o, 8, 64, cost);
    printf("features 64x64: %.3f ms;", cost[0]);
    for (int k = 0; k < 7; k++) {
        printf(" %.*s +%.3f", (int)(strchr(on[k], '.') - on[k]), on[k], cost[k + 1] - cost[0]);
        LT_CHECK(cost[k + 1] < 500);
    }
    printf(" ms\n");
}

LT_TEST(ending_a_trajectory_costs_less_than_its_steps)
{
    enum { LONG = 500, G = 8 };
    lt_feature_options o = with(NULL, 0, NULL);
    lt_feature_set *s;
    lt_feature_stream *f;
    float x[3 * G * G];
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_OK(lt_feature_stream_create(s, 1, LONG, G, NULL, &f));
    for (int t = 0; t < LONG; t++) {
        for (int i = 0; i < 3 * G * G; i++) x[i] = (float)(sin(0.1 * t + i) + 0.001 * t);
        LT_CHECK_OK(lt_feature_stream_push(f, t, x, NULL));
    }
    double start = seconds();
    LT_CHECK_OK(lt_feature_stream_finish(f, NULL, NULL, NULL));
    double cost = 1e3 * (seconds() - start);
    printf("features: %.2f ms to end a trajectory of %d states of 3 channels\n", cost, LONG);
    LT_CHECK(cost < 1000);
    lt_feature_stream_destroy(f);
    lt_feature_set_destroy(s);
}

LT_TEST_MAIN()
