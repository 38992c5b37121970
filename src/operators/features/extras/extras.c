/* Optional per-step features: what they share, the spatial histogram and the coherence of channels.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"
#include "kernels/kernel_table.h"

#include <math.h>
#include <string.h>

#define AT(id) value[set->slot[LT_F_##id]]

static size_t padded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static size_t scratch_bytes(const lt_field_plan *p)
{
    return LT_MAX(p->line_fft ? p->line_fft->scratch_bytes : 0, p->inverse_fft ? p->inverse_fft->scratch_bytes : 0);
}

size_t lt_extra_bytes(const lt_field_plan *p)
{
    size_t n = (size_t)p->n, plane = n + 2 * (size_t)p->g;
    if (!p->set->wanted_extra) return 0;
    return 3 * padded(plane * sizeof(double)) + padded((n + 2) * sizeof(double)) + padded(2 * n * sizeof(int32_t)) + 2 * padded(n) + scratch_bytes(p);
}

static lt_extra_work lay_out(const lt_field_plan *p, void *memory)
{
    size_t n = (size_t)p->n, plane = n + 2 * (size_t)p->g;
    char *at = memory;
    lt_extra_work x;
    for (int k = 0; k < 3; k++, at += padded(plane * sizeof(double))) x.plane[k] = (double *)at;
    x.line = (double *)at;
    at += padded((n + 2) * sizeof(double));
    x.label = (int32_t *)at;
    at += padded(2 * n * sizeof(int32_t));
    for (int k = 0; k < 2; k++, at += padded(n)) x.mask[k] = (uint8_t *)at;
    x.scratch = at;
    return x;
}

lt_status lt_extra_plan(lt_field_plan *p)
{
    const lt_feature_set *set = p->set;
    if (set->stored[LT_F_APPROXIMATE_ENTROPY]) LT_TRY(lt_feature_fft_create(1, p->n, &p->line_fft));
    if (!set->wanted[LT_CATEGORY_PHYSICS]) return LT_OK;
    lt_attr attr = { .u.index.extent = p->g };
    lt_problem_key key = { .op = LT_OP_IRFFT2, .n_in = 1, .attr = &attr, .isa = lt_isa_best() };
    key.in[0] = (lt_tensor_type){ LT_F64, lt_shape3(p->g, p->half, 2) };
    key.out = (lt_tensor_type){ LT_F64, lt_shape2(p->g, p->g) };
    const lt_kernel_row *row;
    if (lt_kernel_candidates(&key, &row, 1) < 1) return LT_FAIL(LT_ERR_INTERNAL, "no kernel inverts a transform of %d", p->g);
    return row->prepare(&key, &p->inverse_fft);
}

static void histogram_values(const lt_field_plan *p, lt_field_work *w, const float *u, const lt_channel *now, double *value)
{
    const lt_feature_set *set = p->set;
    int n_bins = set->opt.histogram_num_bins, effective = 0;
    uint32_t count[LT_MAX_ENTROPY_BINS], most = 0;
    lt_field_bins(p, u, now->lo, now->hi, n_bins, w->bin);
    lt_count_bins(w->bin, p->n, n_bins, count);
    for (int b = 0; b < n_bins; b++) {
        most = LT_MAX(most, count[b]);
        effective += (double)count[b] > 0.01 * (double)p->n;
    }
    AT(HISTOGRAM_ENTROPY) = lt_bin_entropy(count, n_bins, p->n);
    AT(HISTOGRAM_PEAK) = (double)most / (double)p->n;
    AT(HISTOGRAM_BINS) = effective;
}

void lt_extra_values(const lt_field_plan *p, lt_field_work *w, const float *u, const lt_channel *now, double *value)
{
    const lt_feature_set *set = p->set;
    lt_extra_work x = lay_out(p, w->extra);
    if (set->stored[LT_F_HISTOGRAM_ENTROPY]) histogram_values(p, w, u, now, value);
    if (set->wanted[LT_CATEGORY_MULTISCALE]) lt_multiscale_values(p, &x, u, value);
    if (set->wanted[LT_CATEGORY_DISTRIBUTIONAL]) lt_distributional_values(p, &x, u, value);
    if (set->wanted[LT_CATEGORY_STRUCTURAL]) lt_structural_values(p, &x, u, now, value);
    if (set->wanted[LT_CATEGORY_PHYSICS]) lt_physics_values(p, &x, w, u, now, value);
    if (set->wanted[LT_CATEGORY_MORPHOLOGICAL]) lt_morphological_values(p, &x, u, now, value);
}

/* ---- Coherence -------------------------------------------------------------------------------- */
typedef struct cross_sums { double re, im, a, b; } cross_sums; /* of A conj(B), |A|^2, |B|^2 over a band */

static void add_band(const double *a, const double *b, int n, cross_sums *s)
{
    for (int k = 0; k < n; k++) {
        double ar = a[2 * k], ai = a[2 * k + 1], br = b[2 * k], bi = b[2 * k + 1];
        s->re += ar * br + ai * bi;
        s->im += ai * br - ar * bi;
        s->a += ar * ar + ai * ai;
        s->b += br * br + bi * bi;
    }
}

/* Mean over pairs of channels of |S_ij|^2 / (S_ii S_jj) in each band. Spinlock computes this bin by bin, where it is 1 wherever there is
   power: S_ii S_jj / (S_ii S_jj + 1e-8) of the band. Corrected: the spectra are first averaged over the band. */
void lt_coherence_values(const lt_field_plan *p, lt_field_work *w, const float *u, double *value)
{
    const lt_feature_set *set = p->set;
    double sum[LT_MAX_BANDS] = { 0 };
    size_t bytes = 2 * (size_t)p->n_bins * sizeof(double);
    for (int i = 0; i < LT_MAX_CHANNELS; i++)
        for (int j = i + 1; j < LT_MAX_CHANNELS; j++) {
            cross_sums s[LT_MAX_BANDS] = { { 0 } };
            lt_field_power(p, w, u + i * p->n);
            memcpy(w->first, w->spectrum, bytes);
            lt_field_power(p, w, u + j * p->n);
            for (int y = 0; y < p->g; y++)
                for (int b = 0; b < LT_MAX_BANDS; b++) {
                    const int32_t *edge = p->coherence.edge + (int64_t)y * (LT_MAX_BANDS + 1) + b;
                    int64_t at = 2 * ((int64_t)y * p->half + edge[0]);
                    add_band(w->first + at, w->spectrum + at, edge[1] - edge[0], &s[b]);
                }
            for (int b = 0; b < LT_MAX_BANDS; b++) {
                double n = (double)LT_MAX(p->coherence.count[b], 1) * (double)p->n, aa = s[b].a / n, bb = s[b].b / n;
                double cross = (s[b].re * s[b].re + s[b].im * s[b].im) / n / n;
                sum[b] += set->opt.corrected ? cross / (aa * bb + 1e-8) : aa * bb / (aa * bb + 1e-8);
            }
        }
    for (int k = 0; k < set->n_bands; k++) value[set->slot[LT_F_COHERENCE] + k] = sum[set->band[k]] / LT_MAX_CHANNELS;
}
