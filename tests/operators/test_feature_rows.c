/* Features of initial fields and of parameter rows. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "operators/features/features.h"

#include <complex.h>

enum { G = 16, N = G * G };

static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- INITIAL: plain loops ---------------------------------------------------------------------- */
static double pearson(const double *a, const double *b)
{
    double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < N; i++) { ma += a[i] / N; mb += b[i] / N; }
    for (int i = 0; i < N; i++) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    return fabs(ab / (sqrt(aa * bb) + 1e-6));
}

static double pooled(const double *b, int y, int x, int radius, bool max)
{
    double v = max ? -INFINITY : INFINITY;
    for (int i = y - radius; i <= y + radius; i++)
        for (int j = x - radius; j <= x + radius; j++)
            if (i >= 0 && i < G && j >= 0 && j < G) v = max ? fmax(v, b[i * G + j]) : fmin(v, b[i * G + j]);
    return v;
}

/* Largest 8-connected component by repeated flooding. */
static int largest_component(const double *b)
{
    int label[N] = { 0 }, next = 0, best = 0;
    for (int s = 0; s < N; s++) {
        if (b[s] == 0 || label[s]) continue;
        int size = 1;
        label[s] = ++next;
        for (bool grown = true; grown;) {
            grown = false;
            for (int i = 0; i < N; i++) {
                if (b[i] == 0 || label[i]) continue;
                for (int k = 0; k < 9; k++) {
                    int y = i / G + k / 3 - 1, x = i % G + k % 3 - 1;
                    if (y < 0 || y >= G || x < 0 || x >= G || label[y * G + x] != next) continue;
                    label[i] = next;
                    size++;
                    grown = true;
                    break;
                }
            }
        }
        best = size > best ? size : best;
    }
    return best;
}

static void spectral(const double *u, double *out)
{
    enum { H = G / 2 + 1 };
    double p[G * H], total = 0, weighted = 0, x[G * H], y[G * H], mx = 0, my = 0, xx = 0, xy = 0;
    int best = 0, n = 0;
    for (int i = 0; i < G * H; i++) {
        double complex s = 0;
        for (int k = 0; k < N; k++) s += u[k] * cexp(-2 * M_PI * I * ((i / H) * (k / G) + (i % H) * (k % G)) / G);
        p[i] = creal(s) * creal(s) + cimag(s) * cimag(s);
        if (p[i] > p[best] * (1 + 1e-9)) best = i;
        total += p[i];
        weighted += p[i] * i;
    }
    for (int i = 1; i < G * H; i++, n++) {
        double ky = (i / H < G / 2 ? i / H : i / H - G) / (double)G, kx = (double)(i % H) / G;
        x[n] = log(hypot(kx, ky) + 1e-8);
        y[n] = log(p[i] + 1e-8);
        mx += x[n];
        my += y[n];
    }
    mx /= n;
    my /= n;
    for (int i = 0; i < n; i++) { xx += (x[i] - mx) * (x[i] - mx); xy += (x[i] - mx) * (y[i] - my); }
    out[0] = (double)best / (G * H);
    out[1] = weighted / (total + 1e-6) / (G * H);
    out[2] = fmin(fmax(-xy / (xx + 1e-6), -5), 5);
}

static void oracle(const float *f, bool corrected, double *out)
{
    double u[N], b[N], eroded[N], sorted[N], moved[4][N], mean = 0, var = 0, above = 0, wide = 0, high = 0, count = 0, changes = 0;
    for (int i = 0; i < N; i++) { sorted[i] = u[i] = (double)f[i]; mean += u[i] / N; }
    for (int i = 0; i < N; i++) var += (u[i] - mean) * (u[i] - mean) / (N - 1);
    qsort(sorted, N, sizeof *sorted, ascending);
    for (int i = 0; i < N; i++) {
        b[i] = u[i] > sorted[N / 2 - 1];
        above += b[i];
        high += u[i] > mean + sqrt(var);
        changes += i && b[i] != b[i - 1];
    }
    double moran = 0, square = 0, weight = 0, cx = 0, cy = 0, sobel = 0, hist[32] = { 0 }, entropy = 0;
    for (int i = 0; i < N; i++) eroded[i] = pooled(b, i / G, i % G, 1, false);
    for (int i = 0; i < N; i++) {
        int y = i / G, x = i % G;
        double c = u[i] - mean, near = 0, gx = 0, gy = 0;
        count += eroded[i] > 0.5 && eroded[i] == pooled(eroded, y, x, 2, true);
        wide += pooled(b, y, x, 5, true);
        for (int k = 0; k < 4; k++) {
            int v = y + (k == 0) - (k == 1), h = x + (k == 2) - (k == 3);
            if (v >= 0 && v < G && h >= 0 && h < G) near += (u[v * G + h] - mean) / 4;
        }
        for (int k = 0; k < 9; k++) {
            static const int sx[9] = { -1, 0, 1, -2, 0, 2, -1, 0, 1 }, sy[9] = { -1, -2, -1, 0, 0, 0, 1, 2, 1 };
            int v = y + k / 3 - 1, h = x + k % 3 - 1;
            if (v < 0 || v >= G || h < 0 || h >= G) continue;
            gx += sx[k] * u[v * G + h];
            gy += sy[k] * u[v * G + h];
        }
        sobel += hypot(gx, gy) / N;
        moran += c * near;
        square += c * c;
        weight += fabs(u[i]);
        cx += fabs(u[i]) * x / (G - 1);
        cy += fabs(u[i]) * y / (G - 1);
        double scaled = sorted[N - 1] > sorted[0] ? (u[i] - sorted[0]) / (sorted[N - 1] - sorted[0]) : 0;
        hist[scaled == 1 ? 31 : (int)(32 * scaled)]++;
        moved[0][i] = u[y * G + (x + 1) % G];
        moved[1][i] = u[x * G + G - 1 - y];
        moved[2][i] = u[(G - 1 - y) * G + G - 1 - x];
        moved[3][i] = u[(G - 1 - x) * G + y];
    }
    for (int k = 0; k < 32; k++) entropy -= hist[k] / N * log2(hist[k] / N + 1e-8) / 5;
    double patch[9], pm = 0, pv = 0;
    for (int k = 0; k < 9; k++) {
        double m = 0, v = 0;
        for (int i = 0; i < 64; i++) m += u[(k / 3 * 4 + i / 8) * G + k % 3 * 4 + i % 8] / 64;
        for (int i = 0; i < 64; i++) v += pow(u[(k / 3 * 4 + i / 8) * G + k % 3 * 4 + i % 8] - m, 2) / 63;
        patch[k] = v;
        pm += v / 9;
    }
    for (int k = 0; k < 9; k++) pv += (patch[k] - pm) * (patch[k] - pm) / 8;
    out[0] = log(1 + count);
    out[1] = corrected ? (above > 0 ? largest_component(b) / above : 0) : fmin(wide / (above + 1e-6), 1);
    out[2] = fmin(fmax(moran / (square + 1e-6), -1), 1);
    out[3] = hypot(cx / (weight + 1e-6) - 0.5, cy / (weight + 1e-6) - 0.5) / sqrt(0.5);
    spectral(u, out + 4);
    out[7] = entropy;
    out[8] = pv;
    out[9] = changes / N;
    out[10] = pearson(u, moved[0]);
    out[11] = corrected ? high / N : above / N;
    out[12] = sobel;
    out[13] = (pearson(u, moved[1]) + pearson(u, moved[2]) + pearson(u, moved[3])) / 3;
}

/* Noise; a smooth wave; a disc on zeros; nothing at all. */
static void fill(float *f, int kind)
{
    uint64_t seed = (uint64_t)kind;
    for (int i = 0; i < 3 * N; i++) {
        double x = i % G, y = i % N / G, v = 0;
        if (kind == 0) v = 2 * uniform(&seed) - 1;
        if (kind == 1) v = sin(2 * M_PI * (x + 2 * y) / G + i / N) + 0.3 * uniform(&seed);
        if (kind == 2) v = hypot(x - 5, y - 7) < 3 + i / N ? 1 + 0.1 * x : 0;
        f[i] = (float)v;
    }
}

LT_TEST(initial_features_are_what_plain_loops_give)
{
    static const char *const names[] = { "ic_spatial_cluster_count", "ic_spatial_largest_cluster_frac", "ic_spatial_autocorr",
        "ic_spatial_centroid_dist", "ic_spectral_dominant_freq", "ic_spectral_centroid", "ic_spectral_power_law_exp", "ic_info_entropy",
        "ic_info_local_entropy_var", "ic_info_lz_complexity", "ic_info_predictability", "ic_morph_density", "ic_morph_radial_gradient",
        "ic_morph_symmetry" };
    LT_CHECK_EQ_INT(lt_initial_count(LT_INITIAL_MANUAL14), 14);
    for (int kind = 0; kind < 4; kind++)
        for (int corrected = 0; corrected < 2; corrected++) {
            float f[3 * N], got[14];
            double want[14] = { 0 }, v[14];
            fill(f, kind);
            LT_CHECK_OK(lt_initial_compute(LT_INITIAL_MANUAL14, corrected, f, G, got));
            for (int c = 0; c < 3; c++) {
                oracle(f + c * N, corrected, v);
                for (int k = 0; k < 14; k++) want[k] += v[k] / 3;
            }
            for (int k = 0; k < 14; k++) {
                LT_CHECK(!strcmp(lt_initial_name(LT_INITIAL_MANUAL14, k), names[k]));
                if (!(fabs((double)got[k] - want[k]) <= 1e-6 * fmax(1, fabs(want[k]))))
                    LT_TEST_FAIL("kind %d: %s is %.9g, expected %.9g", kind, names[k], (double)got[k], want[k]);
            }
        }
}

LT_TEST(basic_statistics_of_a_known_field)
{
    float f[3 * N], got[38];
    for (int i = 0; i < 3 * N; i++) f[i] = (float)(i / N * 10 + i % G); /* a ramp along x on three levels */
    LT_CHECK_EQ_INT(lt_initial_count(LT_INITIAL_BASIC38), 38);
    LT_CHECK_OK(lt_initial_compute(LT_INITIAL_BASIC38, false, f, G, got));
    double ramp = 0, centre = 0, quadrant = 0;
    for (int x = 0; x < G; x++) ramp += G * pow(x - 7.5, 2) / (N - 1);
    for (int x = 4; x < 12; x++) centre += 8 * pow(x - 7.5, 2) / 63;
    for (int x = 0; x < 8; x++) quadrant += 8 * pow(x - 3.5, 2) / 63;
    for (int c = 0; c < 3; c++) {
        const double want[6] = { 10 * c + 7.5, sqrt(ramp), 10 * c, 10 * c + 15, 10 * c + 7, sqrt(centre) };
        for (int k = 0; k < 6; k++) LT_CHECK_NEAR((double)got[6 * c + k], want[k], 1e-6);
        LT_CHECK_NEAR((double)got[20 + 2 * c], 1, 1e-6);
        LT_CHECK_NEAR((double)got[20 + 2 * c + 1], 0, 1e-6);
        for (int k = 0; k < 4; k++) LT_CHECK_NEAR((double)got[26 + 4 * c + k], sqrt(quadrant), 1e-6);
    }
    LT_CHECK_NEAR((double)got[18], 10, 1e-6);
    LT_CHECK_NEAR((double)got[19], 20, 1e-6);
    LT_CHECK(!strcmp(lt_initial_name(LT_INITIAL_BASIC38, 5), "ic_ch0_central_std"));
    LT_CHECK(!strcmp(lt_initial_name(LT_INITIAL_BASIC38, 37), "ic_ch2_q3_std"));
}

LT_TEST(initial_features_of_bad_or_tiny_grids)
{
    float f[3 * 9] = { 0 }, got[38];
    LT_CHECK_FAILS(lt_initial_compute(LT_INITIAL_MANUAL14, false, f, 1, got), LT_ERR_SHAPE, "of 1");
    for (int g = 2; g <= 3; g++)
        for (int v = 0; v < 2; v++) {
            LT_CHECK_OK(lt_initial_compute((lt_initial_variant)v, true, f, g, got));
            for (int k = 0; k < lt_initial_count((lt_initial_variant)v); k++) LT_CHECK(isfinite(got[k]));
        }
    for (int64_t n = 1; n < 4; n++) {
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(n);
        lt_status s = lt_initial_compute(LT_INITIAL_MANUAL14, false, f, 3, got);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || s == LT_ERR_MEMORY);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
}

/* ---- ARCHITECTURE ---------------------------------------------------------------------------------- */
static lt_param_choice activations[] = { { "gelu", NAN }, { "relu", NAN } }, kernels[] = { { "3", 3 }, { "5", 5 }, { "7", 7 } };
static double weights[] = { 0.5, 0.25, 0.25 };
static lt_param params[] = {
    { .name = "num_layers", .block = LT_BLOCK_ARCHITECTURE, .kind = LT_PARAM_INTEGER, .lo = 2, .hi = 5 },
    { .name = "base_channels", .block = LT_BLOCK_ARCHITECTURE, .kind = LT_PARAM_INTEGER, .lo = 16, .hi = 64 },
    { .name = "kernel_size", .block = LT_BLOCK_ARCHITECTURE, .kind = LT_PARAM_CHOICE, .n_choices = 3, .choices = kernels, .weights = weights },
    { .name = "activation", .block = LT_BLOCK_ARCHITECTURE, .kind = LT_PARAM_CHOICE, .n_choices = 2, .choices = activations },
    { .name = "noise_scale", .block = LT_BLOCK_STOCHASTIC, .kind = LT_PARAM_CONTINUOUS, .lo = 1e-4, .hi = 1, .log_scale = true },
    { .name = "dt", .block = LT_BLOCK_EVOLUTION, .kind = LT_PARAM_CONTINUOUS, .lo = 0.01, .hi = 0.11 },
};
enum { P = sizeof params / sizeof *params };
static const float unit[P] = { 0.4f, 0.5f, 0.6f, 0.75f, 0.25f, 0.9f };

static double column(const lt_dataset_config *c, const float *value, const char *name)
{
    char got[64];
    for (int k = 0; k < lt_architecture_count(c); k++) {
        LT_CHECK_OK(lt_architecture_name(c, k, got, sizeof got));
        if (!strcmp(got, name)) return (double)value[k];
    }
    return NAN;
}

LT_TEST(architecture_is_the_unit_row_by_default)
{
    lt_dataset_config c = { .space = { P, params } };
    float got[64];
    char name[64];
    LT_CHECK_EQ_INT(lt_architecture_count(&c), P);
    LT_CHECK_OK(lt_architecture_compute(&c, unit, got));
    LT_CHECK(!memcmp(got, unit, sizeof unit));
    LT_CHECK_OK(lt_architecture_name(&c, 4, name, sizeof name));
    LT_CHECK(!strcmp(name, "noise_scale"));
    LT_CHECK_FAILS(lt_architecture_name(&c, P, name, sizeof name), LT_ERR_ARGUMENT, "column 6 of 6");
    c.architecture_variant = LT_ARCHITECTURE_PRODUCTS;
    LT_CHECK_EQ_INT(lt_architecture_count(&c), P + 3); /* pairs that six parameters have */
    LT_CHECK_OK(lt_architecture_compute(&c, unit, got));
    LT_CHECK_NEAR(column(&c, got, "product_2_x_3"), 0.6 * 0.75, 1e-6);
}

LT_TEST(named_architecture_columns)
{
    lt_dataset_config c = { .space = { P, params }, .architecture_variant = LT_ARCHITECTURE_NAMED };
    memset(&c.named, true, sizeof c.named); /* every group and column, as by default */
    float got[64];
    LT_CHECK(lt_architecture_count(&c) <= 64);
    LT_CHECK_OK(lt_architecture_compute(&c, unit, got));
    double scale = pow(10, -4 + 4 * 0.25);
    const struct { const char *name; double value; } want[] = {
        { "arch_num_layers", 3 }, { "arch_base_channels", 40 }, { "arch_kernel_size", 5 }, /* weights: 0.6 lies in [0.5, 0.75) */
        { "arch_activation_gelu", 0 }, { "arch_activation_relu", 1 }, { "arch_total_params_log10", log10(3 * 1600 + 1e-10) },
        { "stoch_noise_scale_log", log10(scale + 1e-10) }, { "stoch_score", 0.25 }, { "evol_dt_log", log10(0.1 + 1e-10) },
        { "strat_dim0_stratum", 1 }, { "strat_dim5_stratum", 3 }, { "strat_hash", 1 + 2 * 4 + 2 * 16 + 3 * 64 + 1 * 256 + 3 * 1024 },
        { "strat_boundary_dist", 0.1 }, { "strat_extremeness", sqrt(0.01 + 0 + 0.01 + 0.0625 + 0.0625 + 0.16) } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) LT_CHECK_NEAR(column(&c, got, want[i].name), want[i].value, 1e-6);
    LT_CHECK(isnan(column(&c, got, "evol_alpha"))); /* the space has none */
    LT_CHECK(isnan(column(&c, got, "arch_dropout_rate")));
    LT_CHECK_EQ_INT(lt_architecture_count(&c), 3 + 2 + 1 + 2 + 1 + P + 3);
}

LT_TEST_MAIN()
