/* Sobol points, the mapping of rows, and the measures of a set of rows. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "config_text.h"
#include "operators/sample/quality.h"
#include "operators/sample/sobol.h"

#include "base/alloc.h"
#include "lathe/rng.h"

#include <time.h>

enum { BITS = LT_SOBOL_BITS, COLUMNS = LT_SOBOL_MAX_COLUMNS };
static uint32_t table[COLUMNS * (BITS + 1)];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t digits(double u) { return (uint32_t)(u * (1 << BITS)); }

/* ---- Points --------------------------------------------------------------------------------- */
/* From scipy 1.17: qmc.Sobol(128, scramble=False, bits=30); the digest is FNV-1a over the 1024 x 128
   integers as four bytes each, least first. */
LT_TEST(unscrambled_points_are_scipys)
{
    static const int column[] = { 0, 1, 2, 11, 63, 127 };
    static const struct { int64_t row; uint32_t value[6]; } golden[] = {
        { 0, { 0, 0, 0, 0, 0, 0 } },
        { 1, { 536870912, 536870912, 536870912, 536870912, 536870912, 536870912 } },
        { 5, { 939524096, 939524096, 134217728, 939524096, 671088640, 134217728 } },
        { 17, { 637534208, 1040187392, 1040187392, 973078528, 637534208, 905969664 } },
        { 1000, { 235929600, 103809024, 556793856, 273678336, 479199232, 584056832 } },
        { 123456789, { 1047862216, 850867304, 6878296, 1053427096, 271909448, 719844664 } },
    };
    double point[COLUMNS];
    lt_sobol_prepare(COLUMNS, false, 0, table);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        lt_sobol_point(table, COLUMNS, golden[i].row, point);
        for (int k = 0; k < 6; k++) LT_CHECK_EQ_INT(digits(point[column[k]]), golden[i].value[k]);
    }
    uint64_t hash = 0xcbf29ce484222325;
    for (int64_t i = 0; i < 1024; i++) {
        lt_sobol_point(table, COLUMNS, i, point);
        for (int d = 0; d < COLUMNS; d++)
            for (int b = 0; b < 4; b++) hash = (hash ^ (digits(point[d]) >> 8 * b & 255)) * 0x100000001b3;
    }
    LT_CHECK(hash == 0x276a6f21f9c01925);
}

/* Scrambling keeps the digital net: any 2^k aligned points fall one into each interval of 2^-k. */
LT_TEST(scrambled_points_are_stratified_in_every_column)
{
    static const uint64_t seeds[] = { 0, 42, UINT64_MAX };
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
        lt_sobol_prepare(COLUMNS, true, seeds[s], table);
        for (int block = 0; block < 3; block++) {
            static uint8_t seen[COLUMNS][1024];
            memset(seen, 0, sizeof seen);
            for (int64_t i = 0; i < 1024; i++) {
                double point[COLUMNS];
                lt_sobol_point(table, COLUMNS, 1024 * block * 1000 + i, point);
                for (int d = 0; d < COLUMNS; d++) seen[d][(int)(point[d] * 1024)]++;
            }
            for (int d = 0; d < COLUMNS; d++)
                for (int k = 0; k < 1024; k++) LT_CHECK(seen[d][k] == 1);
        }
    }
}

LT_TEST(the_seed_alone_decides_and_seeds_differ)
{
    double a[COLUMNS], b[COLUMNS];
    lt_sobol_prepare(12, true, 42, table);
    lt_sobol_point(table, 12, 0, a);
    /* Recorded: a dataset made today must be replayable with any later version. */
    LT_CHECK_EQ_INT(digits(a[0]), 461805806);
    LT_CHECK_EQ_INT(digits(a[1]), 633835455);
    LT_CHECK_EQ_INT(digits(a[11]), 340693238);
    lt_sobol_prepare(12, true, 43, table);
    lt_sobol_point(table, 12, 0, b);
    for (int d = 0; d < 12; d++) LT_CHECK(a[d] != b[d]);
    /* More columns leave the first ones as they are. */
    lt_sobol_prepare(20, true, 43, table);
    lt_sobol_point(table, 20, 0, a);
    LT_CHECK(!memcmp(a, b, 12 * sizeof *a));
}

/* The mean over seeds of a scrambled integral is exact: E f = integral, with a small spread. */
LT_TEST(scrambling_is_unbiased)
{
    double sum = 0, squares = 0;
    enum { SEEDS = 200, POINTS = 64 };
    for (int s = 0; s < SEEDS; s++) {
        double mean = 0, point[4];
        lt_sobol_prepare(4, true, (uint64_t)s, table);
        for (int i = 0; i < POINTS; i++) {
            lt_sobol_point(table, 4, i, point);
            mean += point[0] * point[1] * point[2] * point[3] * 16 / POINTS;
        }
        sum += mean;
        squares += mean * mean;
    }
    double mean = sum / SEEDS, error = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    LT_CHECK(fabs(mean - 1) < 4 * error && error < 0.01);
}

/* ---- Rows -------------------------------------------------------------------------------------- */
LT_TEST(values_are_mapped_as_specified)
{
    lt_param_choice three[3] = { { "a", NAN }, { "b", NAN }, { "c", NAN } };
    double weights[3] = { 0.3, 0.5, 0.2 };
    lt_param weighted = { .kind = LT_PARAM_CHOICE, .n_choices = 3, .choices = three, .weights = weights };
    static const struct { double u; int choice; } weighted_cases[] = { { 0, 0 }, { 0.29, 0 }, { 0.3, 1 }, { 0.5, 1 }, { 0.8, 2 }, { 0.9999, 2 }, { 1, 2 } };
    for (size_t i = 0; i < 7; i++) LT_CHECK_EQ_INT(lt_param_map(&weighted, weighted_cases[i].u).choice, weighted_cases[i].choice);
    lt_param plain = { .kind = LT_PARAM_CHOICE, .n_choices = 3, .choices = three };
    LT_CHECK_EQ_INT(lt_param_map(&plain, 0.333).choice, 0);
    LT_CHECK_EQ_INT(lt_param_map(&plain, 0.334).choice, 1);
    LT_CHECK_EQ_INT(lt_param_map(&plain, 1).choice, 2);
    lt_param whole = { .kind = LT_PARAM_INTEGER, .lo = 2, .hi = 5 };
    LT_CHECK(lt_param_map(&whole, 0).number == 2 && lt_param_map(&whole, 1).number == 5);
    LT_CHECK(lt_param_map(&whole, 0.5).number == 4 && lt_param_map(&whole, 1.0 / 6).number == 2); /* 3.5 and 2.5: ties to even */
    lt_param log_scale = { .kind = LT_PARAM_CONTINUOUS, .lo = 1e-5, .hi = 1, .log_scale = true };
    LT_CHECK_NEAR(lt_param_map(&log_scale, 0.5).number / pow(10, -2.5), 1, 1e-14);
    LT_CHECK_NEAR(lt_param_map(&log_scale, 1).number, 1, 1e-15);
    lt_param linear = { .kind = LT_PARAM_CONTINUOUS, .lo = -1, .hi = 3 };
    LT_CHECK_NEAR(lt_param_map(&linear, 0.25).number, 0, 1e-15);
    lt_param boolean = { .kind = LT_PARAM_BOOLEAN };
    LT_CHECK(lt_param_map(&boolean, 0.5).number == 0 && lt_param_map(&boolean, 0.5000001).number == 1);
}

LT_TEST(shares_of_weighted_choices_follow_the_weights)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("total_samples: 100", "total_samples: 10000", NULL, &c));
    if (!c) return;
    int count[8] = { 0 };
    for (int64_t i = 0; i < 10000; i++) {
        float unit[8];
        lt_operator_spec spec = { .size = sizeof spec };
        LT_CHECK_OK(lt_dataset_unit_row(c, i, unit));
        LT_CHECK_OK(lt_dataset_map_row(c, unit, &spec));
        count[spec.kernel_size]++;
        LT_CHECK(spec.grid == 64 && spec.noise == LT_NOISE_GAUSSIAN && spec.alpha < 1 && spec.policy == LT_POLICY_RESIDUAL);
    }
    LT_CHECK(abs(count[3] - 3000) < 10 && abs(count[5] - 5000) < 10 && abs(count[7] - 2000) < 10); /* low discrepancy: far closer than chance */
    float bad[8] = { 0, 0, 2 };
    lt_operator_spec spec = { .size = sizeof spec };
    LT_CHECK_FAILS(lt_dataset_map_row(c, bad, &spec), LT_ERR_ARGUMENT, "column 2 (noise_type) is 2");
    LT_CHECK_FAILS(lt_dataset_unit_row(c, 10000, bad), LT_ERR_ARGUMENT, "row 10000 of 'small': expected 0..9999");
    lt_dataset_config_destroy(c);
}

LT_TEST(rows_are_rounded_to_float_and_quick)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("total_samples: 100", "total_samples: 10000", NULL, &c));
    if (!c) return;
    float unit[8], last[8];
    double start = now();
    for (int64_t i = 0; i < 10000; i++) LT_CHECK_OK(lt_dataset_unit_row(c, i, unit));
    LT_CHECK(now() - start < 0.5);
    double point[8];
    lt_sobol_point(c->sobol, c->space.n, 9999, point);
    LT_CHECK_OK(lt_dataset_unit_row(c, 9999, last)); /* alone, without the others */
    for (int d = 0; d < c->space.n; d++) LT_CHECK(last[d] == (float)point[d] && last[d] == unit[d]);
    lt_dataset_config_destroy(c);
}

/* ---- Measures -------------------------------------------------------------------------------------- */
/* The formula as it is written. */
static double plain_discrepancy(const float *x, int n, int p)
{
    double single = 0, pairs = 0;
    for (int i = 0; i < n; i++) {
        double product = 1;
        for (int d = 0; d < p; d++) {
            double a = fabs(x[i * p + d] - 0.5);
            product *= 1 + a / 2 - a * a / 2;
        }
        single += product;
        for (int j = 0; j < n; j++) {
            product = 1;
            for (int d = 0; d < p; d++)
                product *= 1 + fabs(x[i * p + d] - 0.5) / 2 + fabs(x[j * p + d] - 0.5) / 2 - fabs((double)x[i * p + d] - x[j * p + d]) / 2;
            pairs += product;
        }
    }
    return pow(13.0 / 12, p) - 2 * single / n + pairs / ((double)n * n);
}

LT_TEST(discrepancy_is_the_formula_for_any_size_and_thread_count)
{
    static const struct { int n, p; } sizes[] = { { 1, 1 }, { 2, 3 }, { 31, 2 }, { 32, 5 }, { 33, 1 }, { 200, 12 }, { 70, 128 } };
    lt_pool *one, *two;
    LT_CHECK_OK(lt_pool_create(1, &one));
    LT_CHECK_OK(lt_pool_create(2, &two));
    lt_rng r = lt_rng_seed(3);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n = sizes[s].n, p = sizes[s].p;
        float *x = malloc((size_t)(n * p) * sizeof *x);
        for (int i = 0; i < n * p; i++) x[i] = i % 17 ? (float)lt_rng_uniform(&r) : (float)(i % 3) / 2; /* ends and middle too */
        double a, b;
        LT_CHECK_OK(lt_sampling_discrepancy(x, n, p, one, &a));
        LT_CHECK_OK(lt_sampling_discrepancy(x, n, p, two, &b));
        LT_CHECK(a == b);
        double want = plain_discrepancy(x, n, p);
        LT_CHECK_NEAR(a, want, 1e-12);
        free(x);
    }
    lt_pool_destroy(one);
    lt_pool_destroy(two);
}

/* scipy: qmc.discrepancy(qmc.Sobol(6, scramble=False).random(128)[:100], method="CD") in float32 points. */
LT_TEST(discrepancy_is_scipys)
{
    float x[100 * 6];
    double point[6], got;
    lt_sobol_prepare(6, false, 0, table);
    for (int i = 0; i < 100; i++) {
        lt_sobol_point(table, 6, i, point);
        for (int d = 0; d < 6; d++) x[i * 6 + d] = (float)point[d];
    }
    LT_CHECK_OK(lt_sampling_discrepancy(x, 100, 6, NULL, &got));
    LT_CHECK_NEAR(got / 0.003273059454314442, 1, 1e-11);
}

LT_TEST(correlations_of_known_rows)
{
    enum { N = 40 };
    float x[N * 3];
    for (int i = 0; i < N; i++) {
        x[3 * i] = (float)i / N;
        x[3 * i + 1] = 1 - (float)i / N;                   /* correlation -1 */
        x[3 * i + 2] = (i % 4 == 0 || i % 4 == 3) ? 0.25f : 0.75f; /* balanced against the slope: 0 */
    }
    double most, least, mean;
    LT_CHECK_OK(lt_sampling_correlations(x, N, 3, &most, &least, &mean));
    LT_CHECK_NEAR(most, 1, 1e-12);
    LT_CHECK_NEAR(least, 0, 1e-6);
    LT_CHECK_NEAR(mean, 1.0 / 3, 1e-6);
    LT_CHECK_OK(lt_sampling_correlations(x, 1, 3, &most, &least, &mean));
    LT_CHECK(isnan(most) && isnan(least) && isnan(mean));
    LT_CHECK_FAILS(lt_sampling_discrepancy(x, 0, 3, NULL, &most), LT_ERR_ARGUMENT, "0 rows");
}

LT_TEST(the_baseline_passes_its_checks_quickly)
{
    lt_dataset_config *c = NULL;
    lt_sampling_metrics m;
    LT_CHECK_OK(load_with("total_samples: 100", "total_samples: 10000", NULL, &c));
    if (!c) return;
    double start = now();
    LT_CHECK_OK(lt_sampling_measure(c, NULL, &m));
    printf("10000 rows measured in %.3f s: discrepancy %.3g, correlation %.3g\n", now() - start, m.discrepancy, m.max_correlation);
    LT_CHECK(m.discrepancy_pass && m.correlation_pass && m.discrepancy < 1e-4 && m.max_correlation < 0.01);
    char *json;
    LT_CHECK_OK(lt_sampling_json(&m, &json));
    LT_CHECK(strstr(json, "\"sampler_type\":\"StratifiedSobol\"") && strstr(json, "\"n_samples\":10000") && strstr(json, "\"dimensionality\":6"));
    lt_free(json);
    lt_dataset_config_destroy(c);
    LT_CHECK_OK(load_with("total_samples: 100", "total_samples: 1", NULL, &c));
    LT_CHECK_OK(lt_sampling_measure(c, NULL, &m));
    LT_CHECK_OK(lt_sampling_json(&m, &json));
    LT_CHECK(strstr(json, "\"max_correlation\":null") && strstr(json, "\"correlation_pass\":true"));
    lt_free(json);
    lt_dataset_config_destroy(c);
}

LT_TEST_MAIN()
