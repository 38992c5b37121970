/* The feature table: default layout and names, registry, switches, options that are refused.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "operators/export/columns.h"
#include "operators/features/table.h"
#include "operators/features/features.h"

#include <locale.h>

static lt_feature_options defaults(void)
{
    lt_feature_options o;
    memset(&o, 0, sizeof o);
    LT_CHECK_OK(lt_options_defaults(lt_feature_options_table(), &o));
    return o;
}

static int temporal_column(const lt_feature_set *s, const char *name)
{
    for (int i = 0; i < lt_feature_temporal_count(s); i++)
        if (!strcmp(lt_feature_temporal_name(s, i), name)) return i;
    return -1;
}

static int summary_column(const lt_feature_set *s, const char *name)
{
    for (int i = 0; i < lt_feature_summary_count(s); i++)
        if (!strcmp(lt_feature_summary_name(s, i), name)) return i;
    return -1;
}

/* The index the registry gives a name of a category; -1 when it is not there. */
static int registered(const lt_feature_set *s, const char *category, const char *name)
{
    char key[160];
    snprintf(key, sizeof key, "\"%s\":{", category);
    const char *at = strstr(lt_feature_registry_json(s), key), *end = at ? strchr(at, '}') : NULL;
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *entry = at ? strstr(at, key) : NULL;
    return entry && entry < end ? atoi(entry + strlen(key)) : -1;
}

LT_TEST(default_columns_stand_where_readers_expect_them)
{
    lt_feature_options o = defaults();
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_EQ_INT(lt_feature_temporal_count(s), 63);
    LT_CHECK_EQ_INT(lt_feature_summary_count(s), 110);
    static const struct { const char *name; int column; } step[] = {
        { "spatial_mean", 0 }, { "spatial_kurtosis", 4 }, { "spatial_mad", 9 }, { "gradient_magnitude_max", 12 },
        { "gradient_anisotropy", 15 }, { "laplacian_energy", 18 }, { "percentile_5", 19 }, { "percentile_95", 23 },
        { "fft_power_scale_0_mean", 24 }, { "fft_power_scale_0_max", 25 }, { "fft_power_scale_0_std", 26 },
        { "fft_power_scale_4_std", 38 }, { "dominant_freq_x", 39 }, { "spectral_bandwidth", 44 }, { "low_freq_ratio", 45 },
        { "spectral_flatness", 48 }, { "spectral_anisotropy", 50 }, { "cross_channel_eigen_top_1", 51 },
        { "cross_channel_eigen_trace", 54 }, { "cross_channel_participation_ratio", 56 }, { "cross_channel_corr_std", 60 },
        { "cross_channel_mi_max", 62 } };
    static const struct { const char *name; int column; } run[] = {
        { "energy_growth_rate", 0 }, { "oscillation_period", 5 }, { "regime_switches", 9 }, { "num_zero_crossings", 15 },
        { "time_to_0.5x", 16 }, { "time_to_2.0x", 17 }, { "rolling_w5_mean", 18 }, { "rolling_w5_std_variability", 23 },
        { "rolling_w10_mean", 24 }, { "rolling_w20_std_variability", 35 }, { "causality_lag_corr_asymmetry_mean_lag1", 36 },
        { "causality_lag_corr_asymmetry_max_lag1", 37 }, { "causality_lag_corr_asymmetry_max_lag3", 41 },
        { "causality_pred_error_ratio_lag1", 42 }, { "causality_pred_error_diff_lag1", 43 }, { "causality_pred_error_ratio_lag2", 44 },
        { "causality_pred_error_diff_lag2", 45 }, { "causality_time_irreversibility", 46 },
        { "causality_spatial_flow_anisotropy", 49 }, { "L1_mean_drift_raw", 50 }, { "L1_mean_drift_highpass", 52 },
        { "L1_drift_variance_raw", 53 }, { "L2_mean_drift_raw", 62 }, { "tv_monotonicity_highpass", 109 } };
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) LT_CHECK_EQ_INT(temporal_column(s, step[i].name), step[i].column);
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) LT_CHECK_EQ_INT(summary_column(s, run[i].name), run[i].column);
    LT_CHECK(!strcmp(lt_feature_aggregated_name(s, 0), "energy_growth_rate_mean"));
    LT_CHECK(!strcmp(lt_feature_aggregated_name(s, 110), "energy_growth_rate_std"));
    LT_CHECK(!strcmp(lt_feature_aggregated_name(s, 329), "tv_monotonicity_highpass_cv"));
    lt_feature_set_destroy(s);
}

LT_TEST(registry_gives_the_indices_of_the_file_format)
{
    lt_feature_options o = defaults();
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    static const struct { const char *category, *name; int index; } want[] = {
        { "spatial", "spatial_mean", 0 }, { "spatial", "percentile_95", 23 }, { "spectral", "fft_power_scale_0_mean", 24 },
        { "spectral", "spectral_anisotropy", 50 }, { "temporal", "energy_growth_rate", 51 },
        { "temporal", "rolling_w20_std_variability", 86 }, { "operator_sensitivity", "lipschitz_eps_1e-04", 87 },
        { "operator_sensitivity", "gain_scale_0.50", 90 }, { "operator_sensitivity", "compression_ratio", 96 },
        { "cross_channel", "cross_channel_eigen_top_1", 97 }, { "cross_channel", "cross_channel_mi_max", 108 },
        { "causality", "causality_lag_corr_asymmetry_mean_lag1", 109 }, { "causality", "causality_spatial_flow_anisotropy", 122 },
        { "invariant_drift", "L1_mean_drift_raw", 123 }, { "invariant_drift", "tv_monotonicity_highpass", 182 } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        LT_CHECK_EQ_INT(registered(s, want[i].category, want[i].name), want[i].index);
    lt_feature_set_destroy(s);
}

LT_TEST(extras_come_after_the_default_columns)
{
    lt_feature_options o = defaults();
    const lt_option_table *t = lt_feature_options_table();
    static const char *const on[] = { "spatial.include_histogram", "temporal.include_pacf", "nonlinear.enabled", "multiscale.enabled",
        "cross_channel.include_coherence", "causality.include_transfer_entropy", "causality.include_granger",
        "invariant_drift.include_mass_drift", "invariant_drift.include_energy_drift", "distributional.enabled",
        "structural.enabled", "physics.enabled", "morphological.enabled" };
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) LT_CHECK_OK(lt_options_set(t, on[i], "true", &o));
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, true, &s));
    LT_CHECK_EQ_INT(temporal_column(s, "cross_channel_mi_max"), 62);
    LT_CHECK_EQ_INT(temporal_column(s, "histogram_entropy"), 63);
    /* 3 histogram, 3 bands, 4 x 3 wavelet, 4 x 2 pyramid, 8 distributional, 11 structural, 9 physics, 12 morphological */
    LT_CHECK_EQ_INT(lt_feature_temporal_count(s), 63 + 3 + 3 + 12 + 8 + 8 + 11 + 9 + 12);
    LT_CHECK_EQ_INT(summary_column(s, "lipschitz_eps_1e-04"), 110);
    LT_CHECK_EQ_INT(summary_column(s, "compression_ratio"), 119);
    LT_CHECK_EQ_INT(summary_column(s, "pacf_lag_1"), 120);
    LT_CHECK_EQ_INT(lt_feature_summary_count(s), 120 + 10 + 6 + 3 + 3 + 12 + 24);
    LT_CHECK_EQ_INT(registered(s, "spatial", "histogram_entropy"), 183);
    LT_CHECK_EQ_INT(registered(s, "invariant_drift", "L1_mean_drift_raw"), 123);
    lt_feature_set_destroy(s);
}

LT_TEST(a_column_that_is_switched_off_is_gone)
{
    lt_feature_options o = defaults();
    const lt_option_table *t = lt_feature_options_table();
    LT_CHECK_OK(lt_options_set(t, "spatial.include_spatial_skewness", "false", &o));
    LT_CHECK_OK(lt_options_set(t, "causality.enabled", "false", &o));
    LT_CHECK_OK(lt_options_set(t, "spectral.num_fft_scales", "2", &o));
    LT_CHECK_OK(lt_options_set(t, "temporal.rolling_window_fractions", "0.25", &o));
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
    LT_CHECK_EQ_INT(temporal_column(s, "spatial_skewness"), -1);
    LT_CHECK_EQ_INT(temporal_column(s, "spatial_kurtosis"), 3);
    LT_CHECK_EQ_INT(lt_feature_temporal_count(s), 63 - 1 - 9);
    LT_CHECK_EQ_INT(lt_feature_summary_count(s), 110 - 14 - 12);
    LT_CHECK_EQ_INT(summary_column(s, "rolling_w25_mean"), 18);
    lt_feature_set_destroy(s);
}

LT_TEST(bad_lists_are_refused_by_name)
{
    static const struct { const char *key, *value, *part; } bad[] = {
        { "temporal.rolling_window_fractions", "0", "rolling_window_fractions" },
        { "temporal.rolling_window_fractions", "wide", "'wide' is not a number" },
        { "cross_channel.coherence_freq_bands", "ultra", "ultra" },
        { "operator_sensitivity.gain_scale_factors", "-1", "gain_scale_factors" },
        { "realization_aggregation", "median", "median" },
        { "multiscale.wavelet", "db4", "only haar" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lt_feature_options o = defaults();
        lt_feature_set *s;
        LT_CHECK_OK(lt_options_set(lt_feature_options_table(), bad[i].key, bad[i].value, &o));
        LT_CHECK_FAILS(lt_feature_set_create(&o, false, &s), LT_ERR_ARGUMENT, bad[i].part);
        LT_CHECK(s == NULL);
    }
    lt_feature_options o = defaults();
    LT_CHECK_FAILS(lt_options_set(lt_feature_options_table(), "spectral.num_fft_scales", "11", &o), LT_ERR_ARGUMENT, "num_fft_scales");
}

LT_TEST(sensitivity_of_a_linear_operator)
{
    lt_feature_options o = defaults();
    lt_feature_set *s;
    LT_CHECK_OK(lt_feature_set_create(&o, true, &s));
    LT_CHECK_EQ_INT(lt_feature_sensitivity_count(s), 10);
    double perturbation[3] = { 1e-4, 1e-3, 1e-2 }, difference[3] = { 2e-4, 2e-3, 2e-2 }, scaled[4] = { 1, 1.5, 2.5, 3 }, value[10];
    lt_feature_sensitivity(s, difference, perturbation, 2, scaled, value);
    for (int i = 0; i < 3; i++) LT_CHECK_NEAR(value[i], difference[i] / (perturbation[i] + 1e-10), 1e-15);
    for (int j = 0; j < 4; j++) LT_CHECK_NEAR(value[3 + j], scaled[j] / (2 + 1e-10), 1e-15);
    LT_CHECK_NEAR(value[7], 1, 1e-12);
    LT_CHECK_NEAR(value[8], 0, 1e-9);
    LT_CHECK_NEAR(value[9], 1.0 / 3, 1e-9);
    lt_feature_set_destroy(s);
}

LT_TEST(switches_are_known_with_and_without_their_category)
{
    const lt_option_table *t = lt_feature_options_table();
    static const char *const pair[][2] = { { "spatial.include_spatial_mean", "spatial.include_mean" },
        { "cross_channel.include_mi_max", "cross_channel.include_cross_channel_mi_max" },
        { "spectral.include_spectral_rolloff", "spectral.include_rolloff" } };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        for (int k = 0; k < 2; k++) {
            lt_feature_options o = defaults();
            lt_feature_set *s;
            LT_CHECK_OK(lt_options_set(t, pair[i][k], "false", &o));
            LT_CHECK_OK(lt_feature_set_create(&o, false, &s));
            LT_CHECK_EQ_INT(lt_feature_temporal_count(s), 62);
            lt_feature_set_destroy(s);
        }
    /* No two options share a name. */
    for (int i = 0; i < t->groups[0].n_rows; i++) {
        size_t base;
        LT_CHECK(lt_options_find(t, t->groups[0].rows[i].name, &base) == &t->groups[0].rows[i]);
    }
}

/* ---- The page ------------------------------------------------------------------------------- */
static char *read_page(void)
{
    FILE *f = fopen(LT_DOCS "/features.md", "r");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 16);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    LT_CHECK(n > 0);
    fclose(f);
    return text;
}

LT_TEST(the_page_lists_every_feature_and_number)
{
    char *page = read_page(), text[256];
    if (!page) {
        LT_TEST_FAIL("cannot read %s/features.md", LT_DOCS);
        return;
    }
    for (int id = 0; id < LT_F_COUNT; id++) {
        snprintf(text, sizeof text, "`%s`", lt_feature_row_of(id)->name);
        if (!strstr(page, text)) LT_TEST_FAIL("docs/features.md lacks %s", text);
    }
    const lt_option_group *numbers = &lt_feature_options_table()->groups[1];
    for (int i = 0; i < numbers->n_rows; i++) {
        const lt_option *row = &numbers->rows[i];
        char expects[160];
        lt_option_expects(row, expects, sizeof expects);
        snprintf(text, sizeof text, "| `%s` | %s | %s; %s |", row->name, row->default_text ? row->default_text : "-",
                 row->type == LT_OPTION_TYPE_LIST ? "list" : expects, row->help);
        if (!strstr(page, text)) LT_TEST_FAIL("docs/features.md lacks the line %s", text);
    }
    free(page);
}

/* A locale with a decimal comma, made for this test; false where its sources are missing. */
static bool take_comma(char *folder)
{
    char line[200];
    if (!mkdtemp(folder)) return false;
    snprintf(line, sizeof line, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (system(line) == -1 || setenv("LOCPATH", folder, 1)) return false;
    return setlocale(LC_NUMERIC, "de_DE.UTF-8") && !strcmp(localeconv()->decimal_point, ",");
}

LT_TEST(names_do_not_follow_the_locale)
{
    char folder[] = "/tmp/lathe-locale-XXXXXX", line[100];
    lt_feature_options o = defaults();
    o.rolling_window_fractions = (lt_text_list){ 1, { "0.125" } };
    lt_feature_set *plain, *comma;
    LT_CHECK_OK(lt_feature_set_create(&o, true, &plain));
    bool made = take_comma(folder);
    if (made) LT_CHECK_OK(lt_feature_set_create(&o, true, &comma));
    setlocale(LC_NUMERIC, "C");
    snprintf(line, sizeof line, "rm -rf %s", folder);
    LT_CHECK(system(line) == 0);
    LT_CHECK(summary_column(plain, "rolling_w12.5_mean") >= 0);
    if (made) {
        LT_CHECK(!strcmp(lt_feature_registry_json(comma), lt_feature_registry_json(plain)));
        LT_CHECK(summary_column(comma, "rolling_w12.5_mean") >= 0);
        lt_feature_set_destroy(comma);
    }
    lt_feature_set_destroy(plain);
    if (!made) LT_SKIP("no locale with a decimal comma can be made");
}

static void write_table(const char *path)
{
    float x = 0.5f;
    double y = 1.25;
    const lt_column column[] = { { .name = "x", .type = LT_COLUMN_F32, .values = &x }, { .name = "y", .type = LT_COLUMN_F64, .values = &y } };
    lt_csv_writer w;
    LT_CHECK_OK(lt_csv_begin(path, column, 2, &w));
    LT_CHECK_OK(lt_csv_finish(&w, lt_csv_block(&w, column, 2, 1)));
}

LT_TEST(tables_do_not_follow_the_locale)
{
    char folder[] = "/tmp/lathe-locale-XXXXXX", line[100], path[100], *text;
    size_t bytes;
    bool made = take_comma(folder);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    write_table(path);
    setlocale(LC_NUMERIC, "C");
    LT_CHECK_OK(lt_file_read(path, 1000, &text, &bytes));
    LT_CHECK(bytes == 13 && !memcmp(text, "x,y\n0.5,1.25\n", 13));
    lt_free(text);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    LT_CHECK(system(line) == 0);
    if (!made) LT_SKIP("no locale with a decimal comma can be made");
}

/* One refused allocation is a failure, never a table with a name missing. */
LT_TEST(names_are_whole_or_the_set_is_refused)
{
    lt_feature_options o = defaults();
    lt_feature_set *whole, *s;
    int refused = 0;
    LT_CHECK_OK(lt_feature_set_create(&o, true, &whole));
    for (int64_t n = 1;; n++) {
        int64_t live = lt_alloc_live(), made = lt_alloc_count();
        lt_alloc_fail_at(n);
        lt_status status = lt_feature_set_create(&o, true, &s);
        lt_alloc_fail_at(0);
        if (status == LT_OK) LT_CHECK(!strcmp(lt_feature_registry_json(s), lt_feature_registry_json(whole)));
        else LT_CHECK_EQ_INT(status, LT_ERR_MEMORY);
        refused += status != LT_OK;
        lt_feature_set_destroy(s);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
        if (lt_alloc_count() - made < n) break; /* there were fewer */
    }
    LT_CHECK(refused > 3);
    lt_feature_set_destroy(whole);
}

LT_TEST_MAIN()
