/* INITIAL: statistics of one initial field, per channel and averaged.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"
#include "operators/features/features.h"
#include "operators/features/initial.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

enum { CHANNELS = LT_FIELD_CHANNELS, ENTROPY_BINS = 32, PATCH = 8, PATCH_STRIDE = 4 };

#define MANUAL(X)                                                                                       \
    X(CLUSTERS, "spatial_cluster_count") X(LARGEST, "spatial_largest_cluster_frac") X(MORAN, "spatial_autocorr") \
    X(CENTROID, "spatial_centroid_dist") X(DOMINANT, "spectral_dominant_freq") X(CENTRE, "spectral_centroid")    \
    X(POWER_LAW, "spectral_power_law_exp") X(ENTROPY, "info_entropy") X(LOCAL, "info_local_entropy_var")         \
    X(LZ, "info_lz_complexity") X(PREDICTABILITY, "info_predictability") X(DENSITY, "morph_density")            \
    X(GRADIENT, "morph_radial_gradient") X(SYMMETRY, "morph_symmetry")
typedef enum manual {
#define X(id, name) MANUAL_##id,
    MANUAL(X)
#undef X
    MANUAL_COUNT
} manual;
static const char *const manual_names[] = {
#define X(id, name) "ic_" name,
    MANUAL(X)
#undef X
};

/* One channel with what its features share. */
typedef struct field {
    const float *u;
    int      g;
    int64_t  n;
    double   mean, std, median;
    uint8_t *above;     /* u > median */
    int64_t  n_above;
    double  *work;      /* n + 2 g */
    double  *spectrum;  /* 2 g (g/2 + 1) */
    int32_t *label;     /* 2 n */
    lt_kernel *fft;
    void    *scratch;
} field;

/* ---- Space ------------------------------------------------------------------------------- */
/* Whether a square of 2 radius + 1 around a pixel holds a set one (or, with all, no clear one);
   what lies outside the field does not count. */
static bool around(const uint8_t *mask, int g, int y, int x, int radius, bool all)
{
    for (int i = LT_MAX(y - radius, 0); i <= LT_MIN(y + radius, g - 1); i++)
        for (int j = LT_MAX(x - radius, 0); j <= LT_MIN(x + radius, g - 1); j++)
            if ((mask[(int64_t)i * g + j] != 0) != all) return !all;
    return all;
}

static int64_t count_around(const field *f, int radius, bool all)
{
    int64_t count = 0;
    for (int y = 0; y < f->g; y++)
        for (int x = 0; x < f->g; x++) count += around(f->above, f->g, y, x, radius, all);
    return count;
}

static double largest_cluster(const field *f, bool corrected)
{
    if (corrected) return f->n_above ? (double)lt_count_components(f->above, f->g, f->label).largest / (double)f->n_above : 0;
    return fmin((double)count_around(f, 5, false) / ((double)f->n_above + 1e-6), 1);
}

static double value_at(const field *f, int y, int x)
{
    return y < 0 || y >= f->g || x < 0 || x >= f->g ? 0 : (double)f->u[(int64_t)y * f->g + x] - f->mean;
}

static double moran(const field *f)
{
    double sum = 0, square = 0;
    for (int y = 0; y < f->g; y++)
        for (int x = 0; x < f->g; x++) {
            double c = value_at(f, y, x);
            sum += c * (value_at(f, y - 1, x) + value_at(f, y + 1, x) + value_at(f, y, x - 1) + value_at(f, y, x + 1)) / 4;
            square += c * c;
        }
    return fmin(fmax(sum / (square + 1e-6), -1), 1);
}

static double centroid_distance(const field *f)
{
    double total = 1e-6, cx = 0, cy = 0, last = f->g - 1;
    for (int64_t i = 0; i < f->n; i++) {
        double w = fabs((double)f->u[i]);
        total += w;
        cx += w * (double)(i % f->g) / last;
        cy += w * (double)(i / f->g) / last;
    }
    return hypot(cx / total - 0.5, cy / total - 0.5) / (M_SQRT2 / 2);
}

/* ---- Spectrum ------------------------------------------------------------------------------- */
static void spectral_values(const field *f, double *value)
{
    int half = f->g / 2 + 1;
    int64_t n = (int64_t)f->g * half, best = 0;
    double total = 1e-6, weighted = 0, most = 0, mx = 0, my = 0, xx = 0, xy = 0, *power = f->work;
    for (int64_t i = 0; i < f->n; i++) f->work[i] = (double)f->u[i];
    f->fft->run(f->fft, NULL, (void *[]){ f->work, f->spectrum, f->scratch });
    for (int64_t i = 0; i < n; i++) {
        power[i] = f->spectrum[2 * i] * f->spectrum[2 * i] + f->spectrum[2 * i + 1] * f->spectrum[2 * i + 1];
        total += power[i];
        weighted += power[i] * (double)i;
        most = fmax(most, power[i]);
    }
    while (best < n - 1 && power[best] < most * (1 - 1e-10)) best++; /* the first of conjugate bins */
    value[MANUAL_DOMINANT] = (double)best / (double)n;
    value[MANUAL_CENTRE] = weighted / total / (double)n;
    double *log_k = f->spectrum; /* the transform is no longer needed */
    for (int64_t i = 1; i < n; i++) {
        int row = (int)(i / half);
        double ky = (double)(2 * row < f->g ? row : row - f->g) / f->g, kx = (double)(i % half) / f->g;
        log_k[i] = log(hypot(kx, ky) + 1e-8);
        mx += log_k[i] / (double)(n - 1);
        my += log(power[i] + 1e-8) / (double)(n - 1);
    }
    for (int64_t i = 1; i < n; i++) {
        xx += (log_k[i] - mx) * (log_k[i] - mx);
        xy += (log_k[i] - mx) * (log(power[i] + 1e-8) - my);
    }
    value[MANUAL_POWER_LAW] = fmin(fmax(-xy / (xx + 1e-6), -5), 5);
}

/* ---- Information ------------------------------------------------------------------------------ */
static double entropy(const field *f)
{
    double lo = INFINITY, hi = -INFINITY, sum = 0;
    int64_t count[ENTROPY_BINS] = { 0 };
    for (int64_t i = 0; i < f->n; i++) {
        lo = fmin(lo, (double)f->u[i]);
        hi = fmax(hi, (double)f->u[i]);
    }
    for (int64_t i = 0; i < f->n; i++) {
        double scaled = hi > lo ? ((double)f->u[i] - lo) / (hi - lo) : 0;
        count[LT_MIN((int)(scaled * ENTROPY_BINS), ENTROPY_BINS - 1)]++;
    }
    for (int b = 0; b < ENTROPY_BINS; b++) {
        double share = (double)count[b] / (double)f->n;
        sum -= share * log2(share + 1e-8);
    }
    return sum / log2(ENTROPY_BINS);
}

static double patch_variance(const field *f, int y, int x)
{
    double mean = 0, square = 0, n = PATCH * PATCH;
    for (int k = 0; k < PATCH * PATCH; k++) mean += value_at(f, y + k / PATCH, x + k % PATCH) / n;
    for (int k = 0; k < PATCH * PATCH; k++) {
        double d = value_at(f, y + k / PATCH, x + k % PATCH) - mean;
        square += d * d;
    }
    return square / (n - 1);
}

static double local_variance(const field *f)
{
    int64_t count = 0;
    double mean = 0, m2 = 0;
    for (int y = 0; y + PATCH <= f->g; y += PATCH_STRIDE)
        for (int x = 0; x + PATCH <= f->g; x += PATCH_STRIDE) {
            double v = patch_variance(f, y, x), d = v - mean;
            mean += d / (double)++count;
            m2 += d * (v - mean);
        }
    return count > 1 ? m2 / (double)(count - 1) : 0;
}

/* |Pearson| of the field with itself moved by a map of pixels: u(to(i)). */
typedef int64_t (*pixel_map)(int g, int64_t i);

static int64_t one_column(int g, int64_t i) { return i / g * g + (i % g + 1) % g; }
static int64_t quarter_turn(int g, int64_t i) { return (i % g) * g + (g - 1 - i / g); }
static int64_t half_turn(int g, int64_t i) { return (int64_t)g * g - 1 - i; }
static int64_t back_turn(int g, int64_t i) { return (g - 1 - i % g) * g + i / g; }

static double self_correlation(const field *f, pixel_map to)
{
    double ab = 0, aa = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double a = (double)f->u[i] - f->mean;
        ab += a * ((double)f->u[to(f->g, i)] - f->mean);
        aa += a * a;
    }
    return fabs(ab / (aa + 1e-6)); /* both have the same values, so the same variance */
}

/* ---- Form --------------------------------------------------------------------------------------- */
static double density(const field *f, bool corrected)
{
    int64_t count = 0;
    if (!corrected) return (double)f->n_above / (double)f->n;
    for (int64_t i = 0; i < f->n; i++) count += (double)f->u[i] > f->mean + f->std;
    return (double)count / (double)f->n;
}

static void manual_values(const field *f, bool corrected, double *value)
{
    int64_t changes = 0;
    /* Eroded by 3 x 3 the map is 0 or 1, so every set pixel is a maximum of its 5 x 5 neighbourhood. */
    value[MANUAL_CLUSTERS] = log(1 + (double)count_around(f, 1, true));
    value[MANUAL_LARGEST] = largest_cluster(f, corrected);
    value[MANUAL_MORAN] = moran(f);
    value[MANUAL_CENTROID] = centroid_distance(f);
    spectral_values(f, value);
    value[MANUAL_ENTROPY] = entropy(f);
    value[MANUAL_LOCAL] = local_variance(f);
    for (int64_t i = 1; i < f->n; i++) changes += f->above[i] != f->above[i - 1];
    value[MANUAL_LZ] = (double)changes / (double)f->n;
    value[MANUAL_PREDICTABILITY] = self_correlation(f, one_column);
    value[MANUAL_DENSITY] = density(f, corrected);
    lt_sobel(f->u, f->g, f->work);
    value[MANUAL_GRADIENT] = 0;
    for (int64_t i = 0; i < f->n; i++) value[MANUAL_GRADIENT] += f->work[i] / (double)f->n;
    value[MANUAL_SYMMETRY] = (self_correlation(f, quarter_turn) + self_correlation(f, half_turn) + self_correlation(f, back_turn)) / 3;
}

static void look_at(field *f, const float *u)
{
    double square = 0;
    f->u = u;
    f->mean = 0;
    f->n_above = 0;
    for (int64_t i = 0; i < f->n; i++) f->mean += (f->work[i] = (double)u[i]);
    f->mean /= (double)f->n;
    for (int64_t i = 0; i < f->n; i++) square += ((double)u[i] - f->mean) * ((double)u[i] - f->mean);
    f->std = sqrt(square / (double)(f->n - 1));
    lt_sort_numbers(f->work, f->n);
    f->median = f->work[(f->n - 1) / 2];
    for (int64_t i = 0; i < f->n; i++) f->n_above += f->above[i] = (double)u[i] > f->median;
}

static lt_status compute_manual(bool corrected, const float *u, int g, float *out)
{
    field f = { .g = g, .n = (int64_t)g * g };
    size_t n = (size_t)f.n, bins = (size_t)g * (size_t)(g / 2 + 1);
    LT_TRY(lt_feature_fft_create(g, g, &f.fft));
    size_t work = (n + 2 * (size_t)g) * sizeof(double), spectrum = 2 * bins * sizeof(double), label = 2 * n * sizeof(int32_t);
    size_t scratch = (f.fft->scratch_bytes + 63) & ~(size_t)63;
    char *memory = lt_malloc_aligned(scratch + work + spectrum + label + n);
    if (!memory) {
        lt_kernel_destroy(f.fft);
        return LT_ERR_MEMORY;
    }
    f.scratch = memory;
    f.work = (double *)(memory + scratch);
    f.spectrum = (double *)(memory + scratch + work);
    f.label = (int32_t *)(memory + scratch + work + spectrum);
    f.above = (uint8_t *)(memory + scratch + work + spectrum + label);
    double sum[MANUAL_COUNT] = { 0 }, value[MANUAL_COUNT];
    for (int c = 0; c < CHANNELS; c++) {
        look_at(&f, u + c * f.n);
        manual_values(&f, corrected, value);
        for (int k = 0; k < MANUAL_COUNT; k++) sum[k] += value[k] / CHANNELS;
    }
    for (int k = 0; k < MANUAL_COUNT; k++) out[k] = (float)sum[k];
    lt_free_aligned(memory);
    lt_kernel_destroy(f.fft);
    return LT_OK;
}

int lt_initial_count(lt_initial_variant v) { return v == LT_INITIAL_BASIC38 ? LT_INITIAL_BASIC_COUNT : MANUAL_COUNT; }

const char *lt_initial_name(lt_initial_variant v, int column)
{
    return v == LT_INITIAL_BASIC38 ? lt_initial_basic_name(column) : manual_names[column];
}

lt_status lt_initial_compute(lt_initial_variant v, bool corrected, const float *u, int grid, float *out)
{
    if (grid < 2) return LT_FAIL(LT_ERR_SHAPE, "features of an initial field of %d: expected a grid of at least 2", grid);
    return v == LT_INITIAL_BASIC38 ? lt_initial_basic(u, grid, out) : compute_manual(corrected, u, grid, out);
}
