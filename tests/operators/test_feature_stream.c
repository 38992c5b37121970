/* Streamed features against whole-trajectory oracles; degenerate fields, failures, threads, clipping.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "feature_oracle.h"
#include "lathe/rng.h"
#include "operators/features.h"

/* ---- Trajectories ------------------------------------------------------------------------- */
typedef struct run { int m, t, g; float *x; } run; /* x (M, T, 3, G, G) */

static run run_create(int m, int t, int g) { return (run){ m, t, g, calloc((size_t)(m * t) * 3 * (size_t)(g * g), sizeof(float)) }; }
static float *state_of(const run *r, int m, int t) { return r->x + ((int64_t)m * r->t + t) * 3 * r->g * r->g; }

static double uniform(uint64_t *state) /* splitmix64: the test's own numbers */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(uint64_t *s) { return sqrt(-2 * log(1 - uniform(s))) * cos(2 * M_PI * uniform(s)); }

typedef enum kind { NOISE, SMOOTH, SPARSE, DECAY, KINDS } kind;

/* Noise; moving waves; a few blobs on a zero background; a smooth field that dies away. */
static void fill(run *r, kind k, uint64_t seed)
{
    for (int m = 0; m < r->m; m++)
        for (int c = 0; c < 3; c++) {
            double phase = 6 * uniform(&seed), fx = floor(1 + 3 * uniform(&seed)), fy = floor(1 + 3 * uniform(&seed)), bias = normal(&seed);
            for (int t = 0; t < r->t; t++)
                for (int i = 0; i < r->g * r->g; i++) {
                    double x = (double)(i % r->g) / r->g, y = (double)(i / r->g) / r->g, v = 0;
                    if (k == NOISE) v = normal(&seed) * (1 + 0.1 * t) + 0.3 * bias * t;
                    if (k == SMOOTH) v = sin(2 * M_PI * (fx * x + fy * y) + phase + 0.4 * t) + 0.5 * bias + 0.02 * normal(&seed);
                    if (k == SPARSE) v = hypot(x - 0.4 - 0.01 * t, y - 0.1 * (c + 3)) < 0.15 ? 1 + x + 0.1 * t : 0;
                    if (k == DECAY) v = (bias + cos(2 * M_PI * fx * x) * sin(2 * M_PI * fy * y + phase)) * exp(-0.3 * t);
                    state_of(r, m, t)[c * r->g * r->g + i] = (float)v;
                }
        }
}

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

LT_TEST_MAIN()
