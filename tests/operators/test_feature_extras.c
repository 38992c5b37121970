/* Optional features against the plain loops of extras_oracle.h, on noise, waves and discs.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "extras_oracle.h"
#include "operators/features/features.h"

static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static float states[T][C][N];

/* Noise, waves with a little noise, discs. */
static void fill(int kind)
{
    uint64_t seed = (uint64_t)kind + 1;
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C * N; i++) {
            double x = i % G, y = i % N / G, c = i / N, v = 0;
            if (kind == 0) v = uniform(&seed) - 0.4;
            if (kind == 1) v = sin(2 * M_PI * ((1 + c) * x + y) / G + 0.2 * t) + 0.1 * uniform(&seed) + 0.3 * sin(0.5 * t + c);
            if (kind == 2) v = hypot(x - 5 - c, y - 7) < 4 || hypot(x - 13, y - 2) < 1.5 ? 1 + 0.1 * x + 0.01 * t : 0;
            states[t][i / N][i % N] = (float)v;
        }
}

/* ---- The product ------------------------------------------------------------------------------------ */
static lt_feature_set *set;
static float *temporal, per_trajectory[512];

static void run_stream(bool corrected)
{
    static const char *const on[] = { "spatial.include_histogram", "temporal.include_pacf", "nonlinear.enabled", "multiscale.enabled",
        "cross_channel.include_coherence", "causality.include_transfer_entropy", "causality.include_granger",
        "invariant_drift.include_mass_drift", "invariant_drift.include_energy_drift", "distributional.enabled",
        "structural.enabled", "physics.enabled", "morphological.enabled" };
    lt_feature_options o;
    lt_feature_stream *f;
    memset(&o, 0, sizeof o);
    LT_CHECK_OK(lt_options_defaults(lt_feature_options_table(), &o));
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) LT_CHECK_OK(lt_options_set(lt_feature_options_table(), on[i], "true", &o));
    LT_CHECK_OK(lt_options_set(lt_feature_options_table(), "nonlinear.rqa_subsample_factor", "2", &o));
    LT_CHECK_OK(lt_options_set(lt_feature_options_table(), "nonlinear.corr_dim_subsample_factor", "2", &o));
    LT_CHECK_OK(lt_options_set(lt_feature_options_table(), "nonlinear.perm_entropy_subsample_factor", "1", &o));
    o.corrected = corrected;
    LT_CHECK_OK(lt_feature_set_create(&o, false, &set));
    LT_CHECK_OK(lt_feature_stream_create(set, 1, T, G, NULL, &f));
    for (int t = 0; t < T; t++) LT_CHECK_OK(lt_feature_stream_push(f, t, states[t][0], NULL));
    temporal = malloc((size_t)(T * lt_feature_temporal_count(set)) * sizeof *temporal);
    LT_CHECK_OK(lt_feature_stream_finish(f, temporal, per_trajectory, NULL));
    lt_feature_stream_destroy(f);
}

static void end_stream(void)
{
    free(temporal);
    lt_feature_set_destroy(set);
}

static void check(const char *name, double got, double want)
{
    if (!(fabs(got - want) <= 2e-6 * fmax(fabs(want), 1e-3))) LT_TEST_FAIL("%s is %.9g, expected %.9g", name, got, want);
}

static void check_step(const char *name, int t, double want)
{
    for (int k = 0; k < lt_feature_temporal_count(set); k++)
        if (!strcmp(lt_feature_temporal_name(set, k), name)) {
            check(name, (double)temporal[t * lt_feature_temporal_count(set) + k], want);
            return;
        }
    LT_TEST_FAIL("no column %s", name);
}

static void check_run(const char *name, double want)
{
    for (int k = 0; k < lt_feature_summary_count(set); k++)
        if (!strcmp(lt_feature_summary_name(set, k), name)) {
            check(name, (double)per_trajectory[k], want);
            return;
        }
    LT_TEST_FAIL("no column %s", name);
}

/* ---- Per step ------------------------------------------------------------------------------------------------ */
typedef void (*channel_oracle)(const float *u, double *out);
enum { MAX_VALUES = 16 };

/* Features of one channel, averaged over channels, of all three kinds of states at step t. */
static void check_channels(channel_oracle oracle, int t, const char *const *names)
{
    int n = 0;
    while (names[n]) n++;
    for (int kind = 0; kind < 3; kind++) {
        double value[MAX_VALUES], sum[MAX_VALUES] = { 0 };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            oracle(states[t][c], value);
            for (int k = 0; k < n; k++) sum[k] += value[k];
        }
        for (int k = 0; k < n; k++) check_step(names[k], t, sum[k] / C);
        end_stream();
    }
}

#define CHECK_CHANNELS(oracle, t, ...) check_channels(oracle, t, (const char *const[]){ __VA_ARGS__, NULL })

LT_TEST(histogram) { CHECK_CHANNELS(oracle_histogram, 1, "histogram_entropy", "histogram_peak_fraction", "histogram_effective_bins"); }

LT_TEST(wavelets)
{
    CHECK_CHANNELS(oracle_wavelets, 2, "wavelet_energy_level_1", "wavelet_mean_level_1", "wavelet_std_level_1", "wavelet_energy_level_2",
                   "wavelet_mean_level_2", "wavelet_std_level_2", "wavelet_energy_level_3", "wavelet_mean_level_3", "wavelet_std_level_3",
                   "wavelet_energy_level_4", "wavelet_mean_level_4", "wavelet_std_level_4");
}

LT_TEST(pyramid)
{
    CHECK_CHANNELS(oracle_pyramid, 2, "pyramid_energy_level_1", "pyramid_contrast_level_1", "pyramid_energy_level_2", "pyramid_contrast_level_2",
                   "pyramid_energy_level_3", "pyramid_contrast_level_3", "pyramid_energy_level_4", "pyramid_contrast_level_4");
}

LT_TEST(entropies)
{
    CHECK_CHANNELS(oracle_series_entropy, 3, "sample_entropy", "approximate_entropy");
    CHECK_CHANNELS(oracle_singular_entropy, 3, "svd_entropy", "participation_ratio", "pca_compression_ratio");
    CHECK_CHANNELS(oracle_coarse_entropy, 3, "multiscale_entropy_scale_2", "multiscale_entropy_scale_4", "multiscale_entropy_scale_8");
}

LT_TEST(structures)
{
    CHECK_CHANNELS(oracle_components, 4, "num_connected_components", "largest_component_size", "component_size_mean", "component_size_std");
    CHECK_CHANNELS(oracle_edges, 4, "edge_density", "edge_magnitude_mean", "edge_magnitude_std");
    CHECK_CHANNELS(oracle_grey_levels, 4, "glcm_contrast", "glcm_homogeneity", "glcm_energy", "glcm_correlation");
}

LT_TEST(physics)
{
    CHECK_CHANNELS(oracle_correlation, 5, "correlation_length", "correlation_peak");
    CHECK_CHANNELS(oracle_structure_factor, 5, "structure_factor_peak_k", "structure_factor_peak_value", "structure_factor_width",
                   "structure_factor_integral");
    CHECK_CHANNELS(oracle_fluctuation, 5, "density_fluctuation", "compressibility_proxy");
    CHECK_CHANNELS(oracle_clustering, 5, "clustering_coefficient");
}

LT_TEST(morphology)
{
    CHECK_CHANNELS(oracle_shape, 6, "area_fraction", "perimeter", "circularity", "eccentricity", "solidity", "extent", "centroid_x", "centroid_y",
                   "hu_moment_1", "hu_moment_2");
    CHECK_CHANNELS(oracle_granules, 6, "mean_granule_size", "granule_size_std");
}

/* The band of a bin of the half spectrum: low, mid or high; -1 for the constant and for the other half. */
static int band_of(int k)
{
    double ky = (k / G < G / 2 ? k / G : k / G - G) / (double)G, kx = (double)(k % G) / G, f = hypot(kx, ky);
    return k % G > G / 2 || k == 0 ? -1 : f < 1.0 / 6 ? 0 : f < 1.0 / 3 ? 1 : 2;
}

/* |S_ij|^2 / (S_ii S_jj) over a band: of averages (corrected), or bin by bin, where numerator and denominator are the same. */
static double coherence_of(const double complex *x, const double complex *y, int band, bool corrected)
{
    double complex xy = 0;
    double xx = 0, yy = 0, n = 0;
    for (int k = 0; k < N; k++) {
        if (band_of(k) != band) continue;
        n++;
        xy += x[k] * conj(y[k]);
        xx += creal(x[k] * conj(x[k]));
        yy += creal(y[k] * conj(y[k]));
    }
    double cross = creal(xy * conj(xy)) / n / n, product = xx / n * yy / n;
    return (corrected ? cross : product) / (product + 1e-8);
}

LT_TEST(coherence)
{
    static const char *const names[3] = { "cross_channel_coherence_low", "cross_channel_coherence_mid", "cross_channel_coherence_high" };
    static double complex s[C][N];
    for (int corrected = 0; corrected < 2; corrected++) {
        fill(1);
        run_stream(corrected);
        for (int c = 0; c < C; c++) spectrum_of(states[7][c], s[c]);
        for (int b = 0; b < 3; b++) {
            double sum = coherence_of(s[0], s[1], b, corrected) + coherence_of(s[0], s[2], b, corrected) + coherence_of(s[1], s[2], b, corrected);
            check_step(names[b], 7, sum / 3);
        }
        end_stream();
    }
}

/* ---- Per trajectory ---------------------------------------------------------------------------------------------- */
static double series[C][T];

static void make_series(void)
{
    for (int c = 0; c < C; c++)
        for (int t = 0; t < T; t++) {
            series[c][t] = 0;
            for (int i = 0; i < N; i++) series[c][t] += (double)states[t][c][i] / N;
        }
}

LT_TEST(partial_autocorrelation)
{
    fill(1);
    run_stream(false);
    make_series();
    for (int lag = 1; lag <= 10; lag++) {
        double sum = 0;
        char name[32];
        for (int c = 0; c < C; c++) sum += oracle_pacf(series[c], lag);
        snprintf(name, sizeof name, "pacf_lag_%d", lag);
        check_run(name, sum / C);
    }
    end_stream();
}

LT_TEST(nonlinear)
{
    static const char *const names[] = { "recurrence_rate", "determinism", "laminarity", "entropy_diag_length", "correlation_dimension", "permutation_entropy" };
    for (int kind = 0; kind < 2; kind++) {
        double value[6], sum[6] = { 0 };
        fill(kind);
        run_stream(false);
        make_series();
        for (int c = 0; c < C; c++) {
            oracle_recurrence(series[c], value);
            value[4] = oracle_dimension(series[c]);
            value[5] = oracle_permutation_entropy(series[c]);
            for (int k = 0; k < 6; k++) sum[k] += value[k];
        }
        for (int k = 0; k < 6; k++) check_run(names[k], sum[k] / C);
        end_stream();
    }
}

/* Mean, largest and deviation of the six ordered pairs. */
static void check_pairs(const char *stem, const double *x)
{
    char name[64];
    double largest = x[0];
    for (int k = 0; k < 6; k++) largest = fmax(largest, x[k]);
    snprintf(name, sizeof name, "causality_%s_mean", stem);
    check_run(name, mean_of(x, 6));
    snprintf(name, sizeof name, "causality_%s_max", stem);
    check_run(name, largest);
    snprintf(name, sizeof name, "causality_%s_std", stem);
    check_run(name, std_of(x, 6));
}

LT_TEST(information_flow)
{
    for (int kind = 0; kind < 2; kind++) {
        double entropy[6], granger[6];
        int n = 0;
        fill(kind);
        run_stream(false);
        make_series();
        for (int a = 0; a < C; a++)
            for (int b = 0; b < C; b++) {
                if (a == b) continue;
                entropy[n] = oracle_transfer_entropy(series[a], series[b]);
                granger[n++] = oracle_granger(series[a], series[b]);
            }
        check_pairs("transfer_entropy", entropy);
        check_pairs("granger", granger);
        end_stream();
    }
}

/* ---- Drift ------------------------------------------------------------------------------------------------------- */
static double mass(const float *u)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)u[i];
    return sum;
}

static double energy(const float *u)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)u[i] * (double)u[i];
    return sum;
}

/* Forward differences along rows and columns, without wrapping around. */
static double gradient_energy(const float *u)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        if (i % G + 1 < G) sum += pow((double)u[i + 1] - (double)u[i], 2);
        if (i / G + 1 < G) sum += pow((double)u[i + G] - (double)u[i], 2);
    }
    return sum;
}

static void check_drift(const char *stem, double (*norm)(const float *))
{
    static const char *const names[] = { "mean_drift", "drift_variance", "final_initial_ratio", "monotonicity" };
    double y[T], value[4], sum[4] = { 0 };
    for (int c = 0; c < C; c++) {
        for (int t = 0; t < T; t++) y[t] = norm(states[t][c]);
        oracle_drift(y, value);
        for (int k = 0; k < 4; k++) sum[k] += value[k];
    }
    for (int k = 0; k < 4; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s_raw", stem, names[k]);
        check_run(name, sum[k] / C);
    }
}

LT_TEST(drift_of_mass_and_energies)
{
    fill(1);
    run_stream(false);
    check_drift("mass", mass);
    check_drift("energy_L2", energy);
    check_drift("energy_gradient", gradient_energy);
    end_stream();
}

LT_TEST_MAIN()
