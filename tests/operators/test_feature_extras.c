/* Optional features against plain loops written from their definitions (docs/features.md).
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "operators/features/features.h"

#include <complex.h>

enum { G = 16, N = G * G, T = 60, C = 3 };

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

/* Averages named values over the channels of a step. */
typedef struct named { const char *name; double sum; } named;
static void check_all(const named *v, int n, int t)
{
    for (int k = 0; k < n; k++) check_step(v[k].name, t, v[k].sum / C);
}

/* ---- Helpers --------------------------------------------------------------------------------------------- */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] / n;
    return s;
}

static double std_of(const double *x, int n)
{
    double m = mean_of(x, n), s = 0;
    for (int i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return n > 1 ? sqrt(s / (n - 1)) : 0;
}

static double entropy_of(const double *count, int n)
{
    double total = 0, h = 0;
    for (int i = 0; i < n; i++) total += count[i];
    for (int i = 0; i < n; i++)
        if (count[i] > 0) h -= count[i] / total * log(count[i] / total + 1e-10);
    return h;
}

static void bins_of(const float *u, int n_bins, int *bin)
{
    float lo = u[0], hi = u[0];
    for (int i = 0; i < N; i++) { lo = fminf(lo, u[i]); hi = fmaxf(hi, u[i]); }
    for (int i = 0; i < N; i++) bin[i] = (int)((u[i] - lo) / (hi - lo + 1e-8f) * (float)(n_bins - 1));
}

static bool stands_out(const float *u, double *mask) /* above median + 0.5 std */
{
    double x[N], sorted[N], limit;
    bool any = false;
    for (int i = 0; i < N; i++) sorted[i] = x[i] = (double)u[i];
    qsort(sorted, N, sizeof *sorted, ascending);
    limit = sorted[(N - 1) / 2] + 0.5 * std_of(x, N);
    for (int i = 0; i < N; i++) any |= (mask[i] = x[i] > limit) > 0;
    return any;
}

static double at(const double *m, int y, int x) { return y < 0 || y >= G || x < 0 || x >= G ? 0 : m[y * G + x]; }

static void spectrum_of(const float *u, double complex *s) /* G x G, orthonormal */
{
    for (int k = 0; k < N; k++) {
        s[k] = 0;
        for (int i = 0; i < N; i++) s[k] += (double)u[i] * cexp(-2 * M_PI * I * ((k / G) * (i / G) + (k % G) * (i % G)) / G) / G;
    }
}

/* ---- Per step ------------------------------------------------------------------------------------------------ */
LT_TEST(histogram)
{
    for (int kind = 0; kind < 3; kind++) {
        named v[] = { { "histogram_entropy", 0 }, { "histogram_peak_fraction", 0 }, { "histogram_effective_bins", 0 } };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            int bin[N];
            double count[16] = { 0 }, most = 0, many = 0;
            bins_of(states[1][c], 16, bin);
            for (int i = 0; i < N; i++) count[bin[i]]++;
            for (int b = 0; b < 16; b++) { most = fmax(most, count[b] / N); many += count[b] > 0.01 * N; }
            v[0].sum += entropy_of(count, 16);
            v[1].sum += most;
            v[2].sum += many;
        }
        check_all(v, 3, 1);
        end_stream();
    }
}

LT_TEST(multiscale)
{
    for (int kind = 0; kind < 3; kind++) {
        double energy[4] = { 0 }, mean[4] = { 0 }, std[4] = { 0 }, pe[4] = { 0 }, pc[4] = { 0 };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            double a[N], w[5], total = 0, p[N];
            for (int i = 0; i < N; i++) p[i] = a[i] = (double)states[2][c][i];
            for (int l = 0, g = G; l < 4; l++, g /= 2) { /* Haar: rows, then columns */
                double half[N], next[N], d[3 * N / 4];
                int h = g / 2, n = 0;
                for (int y = 0; y < g; y++)
                    for (int x = 0; x < h; x++) {
                        half[y * g + x] = (a[y * g + 2 * x] + a[y * g + 2 * x + 1]) / M_SQRT2;
                        half[y * g + h + x] = (a[y * g + 2 * x] - a[y * g + 2 * x + 1]) / M_SQRT2;
                    }
                for (int y = 0; y < h; y++)
                    for (int x = 0; x < g; x++) {
                        double lo = (half[2 * y * g + x] + half[(2 * y + 1) * g + x]) / M_SQRT2, hi = (half[2 * y * g + x] - half[(2 * y + 1) * g + x]) / M_SQRT2;
                        if (x < h) next[y * h + x] = lo;
                        else d[n++] = lo;
                        d[n++] = hi;
                    }
                double e = 0, m = 0;
                for (int i = 0; i < n; i++) { e += d[i] * d[i] / (n / 3); m += fabs(d[i]) / n; }
                energy[l] += e / C;
                mean[l] += m / C;
                std[l] += std_of(d, n) / C;
                memcpy(a, next, sizeof next);
            }
            for (int k = 0; k < 5; k++) total += w[k] = exp(-(k - 2) * (k - 2) / 2.0);
            for (int l = 0, g = G; l < 4; l++, g /= 2) { /* pyramid: blur, average, upsample */
                double blur[N] = { 0 }, down[N], d[N];
                int h = g / 2;
                for (int i = 0; i < g * g; i++)
                    for (int k = 0; k < 25; k++) {
                        int y = i / g + k / 5 - 2, x = i % g + k % 5 - 2;
                        if (y >= 0 && y < g && x >= 0 && x < g) blur[i] += w[k / 5] * w[k % 5] / total / total * p[y * g + x];
                    }
                for (int i = 0; i < h * h; i++) {
                    const double *b = blur + (i / h) * 2 * g + (i % h) * 2;
                    down[i] = (b[0] + b[1] + b[g] + b[g + 1]) / 4;
                }
                for (int i = 0; i < g * g; i++) {
                    double place[2] = { (i / g + 0.5) / 2 - 0.5, (i % g + 0.5) / 2 - 0.5 }, up = 0;
                    for (int k = 0; k < 4; k++) { /* weights of the four nearest, places held inside */
                        double weight = 1;
                        int at2[2];
                        for (int j = 0; j < 2; j++) {
                            double q = fmin(fmax(place[j], 0), h - 1);
                            int lo = (int)q, bit = k >> j & 1;
                            at2[j] = lo + bit < h ? lo + bit : h - 1;
                            weight *= bit ? q - lo : 1 - (q - lo);
                        }
                        up += weight * down[at2[0] * h + at2[1]];
                    }
                    d[i] = p[i] - up;
                }
                double e = 0;
                for (int i = 0; i < g * g; i++) e += d[i] * d[i] / (g * g);
                pe[l] += e / C;
                pc[l] += std_of(d, g * g) / C;
                memcpy(p, down, sizeof(double) * (size_t)(h * h));
            }
        }
        for (int l = 0; l < 4; l++) {
            char name[64];
            const struct { const char *stem; double v; } want[] = { { "wavelet_energy", energy[l] }, { "wavelet_mean", mean[l] },
                { "wavelet_std", std[l] }, { "pyramid_energy", pe[l] }, { "pyramid_contrast", pc[l] } };
            for (int k = 0; k < 5; k++) {
                snprintf(name, sizeof name, "%s_level_%d", want[k].stem, l + 1);
                check_step(name, 2, want[k].v);
            }
        }
        end_stream();
    }
}

/* Singular values by one-sided Jacobi rotations of columns. */
static void singular_values(double a[G][G], double *s)
{
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < G; p++)
            for (int q = p + 1; q < G; q++) {
                double pp = 0, qq = 0, pq = 0;
                for (int i = 0; i < G; i++) { pp += a[i][p] * a[i][p]; qq += a[i][q] * a[i][q]; pq += a[i][p] * a[i][q]; }
                if (fabs(pq) < 1e-300) continue;
                double z = (qq - pp) / (2 * pq), t = copysign(1, z) / (fabs(z) + sqrt(1 + z * z)), c = 1 / sqrt(1 + t * t), n = c * t;
                for (int i = 0; i < G; i++) {
                    double x = a[i][p], y = a[i][q];
                    a[i][p] = c * x - n * y;
                    a[i][q] = n * x + c * y;
                }
            }
    for (int j = 0; j < G; j++) {
        s[j] = 0;
        for (int i = 0; i < G; i++) s[j] += a[i][j] * a[i][j];
        s[j] = sqrt(s[j]);
    }
    qsort(s, G, sizeof *s, ascending);
}

LT_TEST(distributional)
{
    for (int kind = 0; kind < 3; kind++) {
        named v[] = { { "sample_entropy", 0 }, { "approximate_entropy", 0 }, { "svd_entropy", 0 }, { "participation_ratio", 0 },
                      { "pca_compression_ratio", 0 }, { "multiscale_entropy_scale_2", 0 }, { "multiscale_entropy_scale_4", 0 },
                      { "multiscale_entropy_scale_8", 0 } };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            double x[N], a[G][G], s[G], total = 0, square = 0, fourth = 0, lag2 = 0, lag3 = 0, power[N / 2 + 1], all = 0, h = 0, sum = 0;
            for (int i = 0; i < N; i++) a[i / G][i % G] = x[i] = (double)states[3][c][i];
            double m = mean_of(x, N); /* 256 pixels: all of them are sampled */
            for (int i = 0; i + 2 < N; i++) lag2 += (x[i] - m) * (x[i + 2] - m);
            for (int i = 0; i + 3 < N; i++) lag3 += (x[i] - m) * (x[i + 3] - m);
            v[0].sum += fmin(fmax(-log((fabs(lag3) + 1e-10) / (fabs(lag2) + 1e-10)), 0), 10);
            for (int k = 0; k <= N / 2; k++) {
                double complex f = 0;
                for (int i = 0; i < N; i++) f += x[i] * cexp(-2 * M_PI * I * (k * i % N) / N);
                all += power[k] = (creal(f) * creal(f) + cimag(f) * cimag(f)) / N;
            }
            for (int k = 0; k <= N / 2; k++) h -= power[k] / (all + 1e-10) * log(power[k] / (all + 1e-10) + 1e-10);
            v[1].sum += fmin(h, 10);
            singular_values(a, s);
            for (int i = 0; i < G; i++) { total += s[i]; square += s[i] * s[i]; fourth += pow(s[i], 4); }
            for (int i = 0; i < G; i++) v[2].sum -= s[i] / total * log(s[i] / total + 1e-10);
            v[3].sum += square * square / fourth / G;
            int n = 0;
            while (sum < 0.9 * square) sum += s[G - 1 - n] * s[G - 1 - n], n++;
            v[4].sum += (double)n / G;
            for (int k = 0; k < 3; k++) {
                int block = 2 << k, g = G / block;
                double mean[N] = { 0 }, count[16] = { 0 }, lo = INFINITY, hi = -INFINITY;
                for (int i = 0; i < N; i++) mean[i / G / block * g + i % G / block] += x[i] / (block * block);
                for (int i = 0; i < g * g; i++) { lo = fmin(lo, mean[i]); hi = fmax(hi, mean[i]); }
                for (int i = 0; i < g * g; i++) count[(int)((mean[i] - lo) / (hi - lo + 1e-8) * 15)]++;
                v[5 + k].sum += entropy_of(count, 16);
            }
        }
        check_all(v, 8, 3);
        end_stream();
    }
}

LT_TEST(structural)
{
    for (int kind = 0; kind < 3; kind++) {
        named v[] = { { "num_connected_components", 0 }, { "largest_component_size", 0 }, { "component_size_mean", 0 },
                      { "component_size_std", 0 }, { "edge_density", 0 }, { "edge_magnitude_mean", 0 }, { "edge_magnitude_std", 0 },
                      { "glcm_contrast", 0 }, { "glcm_homogeneity", 0 }, { "glcm_energy", 0 }, { "glcm_correlation", 0 } };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            double mask[N], x[N], edge[N], size[N] = { 0 }, joint[8][8] = { { 0 } };
            int n = 0, stack[9 * N], bin[N];
            stands_out(states[4][c], mask);
            for (int i = 0; i < N; i++) x[i] = (double)states[4][c][i];
            for (int s = 0; s < N; s++) { /* flood */
                int top = 0;
                if (mask[s] == 0) continue;
                stack[top++] = s;
                mask[s] = 0;
                while (top) {
                    int i = stack[--top];
                    size[n]++;
                    for (int k = 0; k < 9; k++) {
                        int y = i / G + k / 3 - 1, h = i % G + k % 3 - 1;
                        if (at(mask, y, h) == 0) continue;
                        mask[y * G + h] = 0;
                        stack[top++] = y * G + h;
                    }
                }
                n++;
            }
            double largest = 0;
            for (int i = 0; i < n; i++) largest = fmax(largest, size[i]);
            v[0].sum += n;
            v[1].sum += largest / N;
            v[2].sum += n ? mean_of(size, n) : 0;
            v[3].sum += std_of(size, n);
            for (int i = 0; i < N; i++) {
                int y = i / G, h = i % G;
                double gx = at(x, y - 1, h + 1) + 2 * at(x, y, h + 1) + at(x, y + 1, h + 1) - at(x, y - 1, h - 1) - 2 * at(x, y, h - 1) - at(x, y + 1, h - 1);
                double gy = at(x, y + 1, h - 1) + 2 * at(x, y + 1, h) + at(x, y + 1, h + 1) - at(x, y - 1, h - 1) - 2 * at(x, y - 1, h) - at(x, y - 1, h + 1);
                edge[i] = hypot(gx, gy);
            }
            double strong = 0, mi = 0, mj = 0, vi = 0, vj = 0, cov = 0;
            for (int i = 0; i < N; i++) strong += edge[i] > mean_of(edge, N) + std_of(edge, N);
            v[4].sum += strong / N;
            v[5].sum += mean_of(edge, N);
            v[6].sum += std_of(edge, N);
            bins_of(states[4][c], 8, bin);
            for (int i = 0; i < N; i++)
                if (i % G + 1 < G) joint[bin[i]][bin[i + 1]] += 1.0 / (G * (G - 1));
            for (int i = 0; i < 64; i++) {
                double q = joint[i / 8][i % 8], d = i / 8 - i % 8;
                v[7].sum += q * d * d;
                v[8].sum += q / (1 + fabs(d));
                v[9].sum += q * q;
                mi += q * (i / 8);
                mj += q * (i % 8);
            }
            for (int i = 0; i < 64; i++) {
                double q = joint[i / 8][i % 8];
                vi += q * pow(i / 8 - mi, 2);
                vj += q * pow(i % 8 - mj, 2);
                cov += q * (i / 8 - mi) * (i % 8 - mj);
            }
            v[10].sum += cov / (sqrt(vi * vj) + 1e-8);
        }
        check_all(v, 11, 4);
        end_stream();
    }
}

LT_TEST(physics)
{
    for (int kind = 0; kind < 3; kind++) {
        named v[] = { { "correlation_length", 0 }, { "correlation_peak", 0 }, { "structure_factor_peak_k", 0 },
                      { "structure_factor_peak_value", 0 }, { "structure_factor_width", 0 }, { "structure_factor_integral", 0 },
                      { "density_fluctuation", 0 }, { "compressibility_proxy", 0 }, { "clustering_coefficient", 0 } };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            double x[N], ring[G / 2 + 1] = { 0 }, n_ring[G / 2 + 1] = { 0 }, factor[G / 2] = { 0 }, n_factor[G / 2] = { 0 };
            double complex s[N];
            for (int i = 0; i < N; i++) x[i] = (double)states[5][c][i];
            double m = mean_of(x, N), var = pow(std_of(x, N), 2), peak = -INFINITY;
            spectrum_of(states[5][c], s);
            for (int k = 0; k < N; k++) { /* periodic autocorrelation by direct sums */
                int dy = k / G, dx = k % G, ny = dy < G - dy ? dy : G - dy, nx = dx < G - dx ? dx : G - dx;
                int r = (int)round(hypot(ny, nx));
                double sum = 0;
                for (int i = 0; i < N; i++) sum += (x[i] - m) * (x[(i / G + dy) % G * G + (i % G + dx) % G] - m);
                if (r <= G / 2) { ring[r] += sum; n_ring[r]++; }
                if (dx <= G / 2 && r >= 1 && r <= G / 2) { factor[r - 1] += creal(s[k] * conj(s[k])); n_factor[r - 1]++; }
            }
            double zero = ring[0], fr = 0, fy = 0, rr = 0, ry = 0;
            for (int r = 0; r <= G / 2; r++) ring[r] = ring[r] / n_ring[r] / zero;
            for (int r = 1; r <= G / 2; r++) peak = fmax(peak, ring[r]);
            for (int r = 0; r <= 2; r++) { fr += r / 3.0; fy += log(fmax(ring[r], 1e-8)) / 3; }
            for (int r = 0; r <= 2; r++) { rr += (r - fr) * (r - fr); ry += (r - fr) * (log(fmax(ring[r], 1e-8)) - fy); }
            v[0].sum += fmin(-rr / ry / (G / 2.0), 2);
            v[1].sum += peak;
            int best = 0;
            double total = 0, spread = 0;
            for (int r = 0; r < G / 2; r++) {
                factor[r] /= n_factor[r];
                total += factor[r];
                if (factor[r] > factor[best]) best = r;
            }
            for (int r = 0; r < G / 2; r++) spread += factor[r] * (r - best) * (r - best);
            v[2].sum += (best + 1.0) / G;
            v[3].sum += factor[best];
            v[4].sum += sqrt(spread / (total + 1e-8)) / G;
            v[5].sum += total;
            v[6].sum += fmin(var / (m * m + 1e-8), 100);
            v[7].sum += fmin(var / (fabs(m) + 1e-8), 100);
            double a[G * (G - 1)], b[G * (G - 1)], ab = 0, aa = 0, bb = 0;
            for (int i = 0; i < G * (G - 1); i++) {
                int y = i / (G - 1), h = i % (G - 1);
                a[i] = b[i] = 0;
                for (int k = 0; k < 9; k++) {
                    a[i] += x[(y + k / 3 - 1 + G) % G * G + (h + k % 3 - 1 + G) % G] / 9;
                    b[i] += x[(y + k / 3 - 1 + G) % G * G + (h + k % 3 + G) % G] / 9;
                }
            }
            double ma = mean_of(a, G * (G - 1)), mb = mean_of(b, G * (G - 1));
            for (int i = 0; i < G * (G - 1); i++) { ab += (a[i] - ma) * (b[i] - mb); aa += pow(a[i] - ma, 2); bb += pow(b[i] - mb, 2); }
            v[8].sum += ab / (sqrt(aa * bb) + 1e-8);
        }
        check_all(v, 9, 5);
        end_stream();
    }
}

/* Area of the convex hull of all pixel corners, by gift wrapping. */
static double hull_area(const double *mask)
{
    double p[4 * N][2], area = 0;
    int n = 0, first = 0, now;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4 && mask[i] > 0; k++) { p[n][0] = i % G + k % 2; p[n++][1] = i / G + k / 2; }
    for (int i = 1; i < n; i++)
        if (p[i][0] < p[first][0] || (p[i][0] == p[first][0] && p[i][1] < p[first][1])) first = i;
    now = first;
    do {
        int next = now == 0 ? 1 : 0;
        for (int i = 0; i < n; i++) {
            double cross = (p[next][0] - p[now][0]) * (p[i][1] - p[now][1]) - (p[next][1] - p[now][1]) * (p[i][0] - p[now][0]);
            double far = hypot(p[i][0] - p[now][0], p[i][1] - p[now][1]) - hypot(p[next][0] - p[now][0], p[next][1] - p[now][1]);
            bool same = p[next][0] == p[now][0] && p[next][1] == p[now][1];
            if (same || cross < 0 || (cross == 0 && far > 0)) next = i;
        }
        area += (p[now][0] * p[next][1] - p[next][0] * p[now][1]) / 2;
        now = next;
    } while (p[now][0] != p[first][0] || p[now][1] != p[first][1]);
    return fabs(area);
}

LT_TEST(morphological)
{
    for (int kind = 0; kind < 3; kind++) {
        named v[] = { { "area_fraction", 0 }, { "perimeter", 0 }, { "circularity", 0 }, { "eccentricity", 0 }, { "solidity", 0 },
                      { "extent", 0 }, { "centroid_x", 0 }, { "centroid_y", 0 }, { "hu_moment_1", 0 }, { "hu_moment_2", 0 },
                      { "mean_granule_size", 0 }, { "granule_size_std", 0 } };
        fill(kind);
        run_stream(false);
        for (int c = 0; c < C; c++) {
            double mask[N], area = 0, outline = 0, cx = 0, cy = 0, m20 = 0, m02 = 0, m11 = 0;
            int left = G, right = -1, top = G, bottom = -1;
            LT_CHECK(stands_out(states[6][c], mask));
            for (int i = 0; i < N; i++) {
                int y = i / G, x = i % G;
                if (mask[i] == 0) continue;
                area++;
                cx += x;
                cy += y;
                outline += at(mask, y - 1, x) * at(mask, y + 1, x) * at(mask, y, x - 1) * at(mask, y, x + 1) == 0;
                left = x < left ? x : left;
                right = x > right ? x : right;
                top = y < top ? y : top;
                bottom = y > bottom ? y : bottom;
            }
            cx /= area;
            cy /= area;
            for (int i = 0; i < N; i++) {
                m20 += mask[i] * pow(i % G - cx, 2);
                m02 += mask[i] * pow(i / G - cy, 2);
                m11 += mask[i] * (i % G - cx) * (i / G - cy);
            }
            double a2 = area * area, half = (m20 + m02) / 2, gap = sqrt(pow((m20 - m02) / 2, 2) + m11 * m11);
            double hu[2] = { (m20 + m02) / a2, pow((m20 - m02) / a2, 2) + 4 * pow(m11 / a2, 2) };
            v[0].sum += area / N;
            v[1].sum += outline / (2 * G);
            v[2].sum += fmin(4 * M_PI * area / (outline * outline), 1);
            v[3].sum += sqrt(1 - (half - gap) / (half + gap));
            v[4].sum += area / hull_area(mask);
            v[5].sum += area / ((right - left + 1.0) * (bottom - top + 1));
            v[6].sum += cx / G;
            v[7].sum += cy / G;
            for (int k = 0; k < 2; k++) v[8 + k].sum += fmin(fmax(-log10(fabs(hu[k]) + 1e-10), -10), 10);
            double before = area, removed[4], total = 0, mean = 0, square = 0;
            for (int k = 0; k < 4; k++) { /* an opening keeps what some square inside the mask covers */
                double kept[N] = { 0 }, now = 0;
                int r = k + 1;
                for (int i = 0; i < N; i++) {
                    bool fits = true;
                    for (int y = -r; y <= r; y++)
                        for (int x = -r; x <= r; x++) fits = fits && at(mask, i / G + y, i % G + x) > 0;
                    for (int y = -r; fits && y <= r; y++)
                        for (int x = -r; x <= r; x++) kept[(i / G + y) * G + i % G + x] = 1;
                }
                for (int i = 0; i < N; i++) now += kept[i];
                removed[k] = before - now;
                before = now;
                total += removed[k];
            }
            for (int k = 0; k < 4; k++) mean += removed[k] * (2 * k + 3) / (total + 1e-8);
            for (int k = 0; k < 4; k++) square += removed[k] * pow(2 * k + 3 - mean, 2) / (total + 1e-8);
            v[10].sum += mean;
            v[11].sum += sqrt(square);
        }
        check_all(v, 12, 6);
        end_stream();
    }
}

LT_TEST(coherence)
{
    for (int corrected = 0; corrected < 2; corrected++) {
        static double complex s[C][N];
        const char *const names[3] = { "cross_channel_coherence_low", "cross_channel_coherence_mid", "cross_channel_coherence_high" };
        fill(1);
        run_stream(corrected);
        for (int c = 0; c < C; c++) spectrum_of(states[7][c], s[c]);
        for (int b = 0; b < 3; b++) {
            double sum = 0;
            for (int pair = 0; pair < 3; pair++) {
                int i = pair == 2, j = pair == 0 ? 1 : 2;
                double complex ij = 0;
                double ii = 0, jj = 0, n = 0;
                for (int k = 0; k < N; k++) {
                    double ky = (k / G < G / 2 ? k / G : k / G - G) / (double)G, kx = (double)(k % G) / G, f = hypot(kx, ky);
                    if (k % G > G / 2 || k == 0 || (f < 1.0 / 6 ? 0 : f < 1.0 / 3 ? 1 : 2) != b) continue;
                    n++;
                    ij += s[i][k] * conj(s[j][k]);
                    ii += creal(s[i][k] * conj(s[i][k]));
                    jj += creal(s[j][k] * conj(s[j][k]));
                }
                double cross = creal(ij * conj(ij)) / n / n, product = ii / n * jj / n;
                sum += corrected ? cross / (product + 1e-8) : product / (product + 1e-8);
            }
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
    for (int k = 1; k <= 10; k++) {
        double sum = 0;
        char name[32];
        for (int c = 0; c < C; c++) {
            double m = mean_of(series[c], T), r[2] = { 0 }, zero = 1e-8;
            for (int t = 0; t < T; t++) zero += pow(series[c][t] - m, 2);
            for (int j = 0; j < 2; j++)
                for (int t = 0; t + k - j < T; t++) r[j] += (series[c][t] - m) * (series[c][t + k - j] - m) / zero;
            sum += k == 1 ? r[0] : r[0] / sqrt(1 - pow(fmin(fmax(r[1], -0.99), 0.99), 2) + 1e-4);
        }
        snprintf(name, sizeof name, "pacf_lag_%d", k);
        check_run(name, sum / C);
    }
    end_stream();
}

LT_TEST(nonlinear)
{
    for (int kind = 0; kind < 2; kind++) {
        double rate = 0, det = 0, lam = 0, ent = 0, dim = 0, perm = 0;
        fill(kind);
        run_stream(false);
        make_series();
        for (int c = 0; c < C; c++) {
            enum { S = T / 2, R = S - 2, Q = S - 4 };
            static double d[R][R], pairs[Q * Q];
            bool near[R + 1][R + 1] = { { 0 } }; /* a clear border ends every line */
            double s[S], far = 0, total = 0, diagonal = 0, all_diagonal = 0, column = 0, lengths[20] = { 0 };
            for (int t = 0; t < S; t++) s[t] = series[c][2 * t];
            for (int i = 0; i < R * R; i++) {
                d[i / R][i % R] = sqrt(pow(s[i / R] - s[i % R], 2) + pow(s[i / R + 1] - s[i % R + 1], 2) + pow(s[i / R + 2] - s[i % R + 2], 2));
                far = fmax(far, d[i / R][i % R]);
            }
            for (int i = 0; i < R * R; i++) total += near[i / R][i % R] = i / R != i % R && d[i / R][i % R] < 0.1 * far;
            for (int i = 0; i < R; i++)
                for (int j = 0; j < R; j++) {
                    int n = 0;
                    if (near[i][j] && (i == 0 || !near[i - 1][j])) { /* a column's run begins */
                        while (near[i + n][j]) n++;
                        column += n >= 2 ? n : 0;
                    }
                    n = 0;
                    if (j > i && near[i][j]) all_diagonal++;
                    if (j > i && near[i][j] && (i == 0 || !near[i - 1][j - 1])) {
                        while (near[i + n][j + n]) n++;
                        if (n >= 2) { diagonal += n; lengths[n - 2 < 19 ? n - 2 : 19]++; }
                    }
                }
            rate += total / (R * (R - 1.0)) / C;
            det += diagonal / (all_diagonal + 1e-8) / C;
            lam += column / (total + 1e-8) / C;
            double lines = 0;
            for (int k = 0; k < 20; k++) lines += lengths[k];
            for (int k = 0; k < 20; k++)
                if (lengths[k] > 0) ent -= lengths[k] / lines * log(lengths[k] / lines) / C;
            int n = 0;
            for (int i = 0; i < Q; i++)
                for (int j = i + 1; j < Q; j++) {
                    double sum = 0;
                    for (int k = 0; k < 5; k++) sum += pow(s[i + k] - s[j + k], 2);
                    pairs[n++] = sqrt(sum);
                }
            qsort(pairs, (size_t)n, sizeof *pairs, ascending);
            double q[2], x[10], y[10], sx = 0, sy = 0, sxx = 0, sxy = 0;
            for (int k = 0; k < 2; k++) {
                double place = (k ? 0.99 : 0.01) * (n - 1);
                q[k] = pairs[(int)place] + (place - (int)place) * (pairs[(int)place + 1] - pairs[(int)place]);
            }
            int used = 0;
            for (int k = 0; k < 10; k++) {
                double r = exp(log(q[0]) + (log(q[1]) - log(q[0])) * k / 9), count = 0;
                for (int i = 0; i < n; i++) count += pairs[i] < r;
                if (count == 0) continue;
                x[used] = log(r);
                y[used++] = log(count / n);
            }
            for (int k = 0; k < used; k++) { sx += x[k]; sy += y[k]; sxx += x[k] * x[k]; sxy += x[k] * y[k]; }
            dim += (used * sxy - sx * sy) / (used * sxx - sx * sx) / C;
            double count[27] = { 0 }, total_perm = 0;
            for (int t = 0; t + 2 < T; t++) { /* the pattern as ranks */
                const double *z = &series[c][t];
                int r0 = (z[1] < z[0]) + (z[2] < z[0]), r1 = (z[0] <= z[1]) + (z[2] < z[1]), r2 = (z[0] <= z[2]) + (z[1] <= z[2]);
                count[9 * r0 + 3 * r1 + r2]++;
                total_perm++;
            }
            for (int k = 0; k < 27; k++)
                if (count[k] > 0) perm -= count[k] / total_perm * log(count[k] / total_perm) / log(6) / C;
        }
        check_run("recurrence_rate", rate);
        check_run("determinism", det);
        check_run("laminarity", lam);
        check_run("entropy_diag_length", ent);
        check_run("correlation_dimension", dim);
        check_run("permutation_entropy", perm);
        end_stream();
    }
}

LT_TEST(information_flow)
{
    for (int kind = 0; kind < 2; kind++) {
        double te[6], gr[6];
        int n = 0;
        fill(kind);
        run_stream(false);
        make_series();
        for (int a = 0; a < C; a++)
            for (int b = 0; b < C; b++) {
                double joint[8][8][8] = { { { 0 } } }, er = 0, ef = 0;
                int s[2][T];
                if (a == b) continue;
                for (int k = 0; k < 2; k++) {
                    double *z = series[k ? b : a], sorted[T];
                    memcpy(sorted, z, sizeof sorted);
                    qsort(sorted, T, sizeof *sorted, ascending);
                    for (int t = 0; t < T; t++) s[k][t] = (int)((z[t] - sorted[0]) / (sorted[T - 1] - sorted[0] + 1e-8) * 7);
                }
                for (int t = 0; t + 1 < T; t++) {
                    joint[s[1][t + 1]][s[1][t]][s[0][t]] += 1.0 / (T - 1); /* next, now, from */
                    er += pow(series[b][t + 1] - series[b][t], 2) / (T - 1);
                    ef += pow(series[b][t + 1] - 0.5 * (series[b][t] + series[a][t]), 2) / (T - 1);
                }
                te[n] = 0;
                for (int i = 0; i < 512; i++) {
                    double p = joint[i / 64][i / 8 % 8][i % 8], now = 0, next_now = 0, now_from = 0;
                    if (p == 0) continue;
                    for (int k = 0; k < 8; k++) {
                        next_now += joint[i / 64][i / 8 % 8][k];
                        now_from += joint[k][i / 8 % 8][i % 8];
                        for (int l = 0; l < 8; l++) now += joint[k][i / 8 % 8][l];
                    }
                    te[n] += p * log(p * now / (next_now * now_from));
                }
                gr[n++] = (er - ef) / (er + 1e-8);
            }
        double most[2] = { te[0], gr[0] };
        for (int k = 0; k < 6; k++) { most[0] = fmax(most[0], te[k]); most[1] = fmax(most[1], gr[k]); }
        check_run("causality_transfer_entropy_mean", mean_of(te, 6));
        check_run("causality_transfer_entropy_max", most[0]);
        check_run("causality_transfer_entropy_std", std_of(te, 6));
        check_run("causality_granger_mean", mean_of(gr, 6));
        check_run("causality_granger_max", most[1]);
        check_run("causality_granger_std", std_of(gr, 6));
        end_stream();
    }
}

LT_TEST(drift_of_mass_and_energies)
{
    static const char *const norms[] = { "mass", "energy_L2", "energy_gradient" };
    fill(1);
    run_stream(false);
    for (int k = 0; k < 3; k++) {
        double sum[4] = { 0 };
        for (int c = 0; c < C; c++) {
            double y[T], d[T - 1], signs = 0;
            for (int t = 0; t < T; t++) {
                const float *u = states[t][c];
                y[t] = 0;
                for (int i = 0; i < N; i++) {
                    double v = (double)u[i];
                    if (k == 0) y[t] += v;
                    if (k == 1) y[t] += v * v;
                    if (k == 2 && i % G + 1 < G) y[t] += pow((double)u[i + 1] - v, 2);
                    if (k == 2 && i / G + 1 < G) y[t] += pow((double)u[i + G] - v, 2);
                }
            }
            for (int t = 0; t + 1 < T; t++) {
                d[t] = y[t + 1] - y[t];
                signs += ((d[t] > 0) - (d[t] < 0)) / (T - 1.0);
            }
            sum[0] += mean_of(d, T - 1) / C;
            sum[1] += pow(std_of(d, T - 1), 2) / C;
            sum[2] += y[T - 1] / (y[0] + 1e-8) / C;
            sum[3] += signs / C;
        }
        static const char *const stat[] = { "mean_drift", "drift_variance", "final_initial_ratio", "monotonicity" };
        for (int i = 0; i < 4; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s_raw", norms[k], stat[i]);
            check_run(name, sum[i]);
        }
    }
    end_stream();
}

LT_TEST_MAIN()
