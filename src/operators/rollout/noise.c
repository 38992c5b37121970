/* Noise of a rollout. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/noise.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/rollout/noise_loops.h"

#include <math.h>
#include <string.h>

#define PIECE 32768 /* elements drawn as one task; a multiple of four */

/* ---- Making -------------------------------------------------------------------------------- */
/* Noise filtered in the Fourier domain, not yet scaled. Filtering white real noise and taking the
   real part of filtered complex noise give the same distribution up to a factor, and the factor
   goes when the result is divided by its own spread. */
static lt_status make_smoothing(lt_noise_maker *n)
{
    lt_graph *g;
    int64_t side = n->grid;
    LT_TRY(lt_graph_create(&g));
    lt_node white = lt_input(g, "white", LT_F32, lt_shape3(n->at.channels, side, side));
    lt_node gain = lt_input(g, "gain", LT_F32, lt_shape3(side, side / 2 + 1, 1));
    lt_node y = lt_irfft2(g, lt_mul(g, lt_rfft2(g, white), gain), side);
    lt_status s = lt_program_create(g, &y, 1, NULL, &n->smooth);
    lt_graph_destroy(g);
    return s;
}

lt_status lt_noise_create(const lt_operator_spec *spec, lt_noise_maker *out)
{
    *out = (lt_noise_maker){ .at = lt_network_noise(spec), .grid = spec->grid };
    if (out->at.site == LT_SITE_NONE) return LT_OK;
    int64_t pixels = (int64_t)spec->grid * spec->grid;
    out->count = out->at.channels * (out->at.by_channel ? 1 : pixels);
    if (!out->at.correlated) return LT_OK;
    out->whole_batch = !spec->full_noise;
    out->filter = lt_malloc((size_t)(spec->grid * (spec->grid / 2 + 1)) * sizeof *out->filter);
    out->white = lt_malloc_aligned((size_t)out->count * sizeof *out->white);
    lt_status s = out->filter && out->white ? make_smoothing(out) : LT_ERR_MEMORY;
    if (s) lt_noise_release(out);
    return s;
}

void lt_noise_release(lt_noise_maker *n)
{
    lt_program_destroy(n->smooth);
    lt_free(n->filter);
    lt_free_aligned(n->white);
    *n = (lt_noise_maker){ 0 };
}

/* ---- Setting --------------------------------------------------------------------------------- */
void lt_noise_factor(const float *w, int64_t c, float out[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS])
{
    double a[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS] = { { 0 } }, l[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS] = { { 0 } };
    for (int i = 0; i < LT_FIELD_CHANNELS; i++)
        for (int j = 0; j <= i; j++)
            for (int64_t k = 0; k < c; k++) a[i][j] += (double)w[i * c + k] * (double)w[j * c + k];
    for (int i = 0; i < LT_FIELD_CHANNELS; i++)
        for (int j = 0; j <= i; j++) {
            double rest = a[i][j];
            for (int k = 0; k < j; k++) rest -= l[i][k] * l[j][k];
            if (i == j) l[i][i] = rest > 1e-12 * a[i][i] ? sqrt(rest) : 0; /* fewer than three channels: singular */
            else l[i][j] = l[j][j] > 0 ? rest / l[j][j] : 0;
        }
    for (int i = 0; i < LT_FIELD_CHANNELS; i++)
        for (int j = 0; j < LT_FIELD_CHANNELS; j++) out[i][j] = (float)l[i][j];
}

/* exp(-|k|^2 (rho G)^2 / 2), k in cycles per pixel. */
void lt_noise_filter(const lt_operator_spec *spec, float *out)
{
    int64_t side = spec->grid, half = side / 2 + 1;
    double reach = spec->spatial_correlation * (double)side;
    for (int64_t y = 0; y < side; y++)
        for (int64_t x = 0; x < half; x++) {
            double ky = (double)(y > side / 2 ? y - side : y) / (double)side, kx = (double)x / (double)side;
            out[y * half + x] = (float)exp(-(kx * kx + ky * ky) * reach * reach / 2);
        }
}

void lt_noise_mix(const lt_operator_weights *w, float out[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS])
{
    /* The output convolution's weights are last but one: its bias follows. */
    const lt_network_tensor *t = &w->network.tensor[w->network.n_tensors - 2];
    lt_noise_factor(w->block + t->offset, t->shape.dim[1], out);
}

void lt_noise_set(lt_noise_maker *n, const lt_operator_spec *spec, const lt_operator_weights *w)
{
    n->spec = *spec;
    n->seed = w->seed;
    n->index = w->index;
    if (n->at.mixed) lt_noise_mix(w, n->mix);
    if (n->at.correlated) lt_noise_filter(spec, n->filter);
}

/* ---- Drawing ----------------------------------------------------------------------------------- */
double lt_noise_scale(const lt_operator_spec *s, int64_t t, int64_t last_t)
{
    if (!s->full_noise) return s->noise_scale; /* Spinlock does not pass the step to its noise, so the schedule never acts */
    switch (s->schedule) {
    case LT_SCHEDULE_ANNEALING: return s->noise_scale * (1 - (last_t > 0 ? fmin((double)t / (double)last_t, 1) : 0));
    case LT_SCHEDULE_PERIODIC: return s->noise_scale * (1 + 0.5 * sin(2 * 3.14159265358979323846 * (double)t / s->schedule_period));
    default: return s->noise_scale;
    }
}

typedef struct drawing {
    const lt_noise_maker *n;
    int64_t t, first, pieces;
    float   scale;
    float  *out;
} drawing;

static lt_draws stream_of(const lt_noise_maker *n, const char *purpose, int64_t t, int64_t m)
{
    return lt_draws_make(n->seed, purpose, (uint32_t)t, (uint32_t)m, (uint32_t)n->index);
}

/* out_i = sum_j mix_ij z_j at every pixel, in place: the factor is lower triangular. */
static void mix_planes(const lt_noise_maker *n, float *z)
{
    int64_t pixels = (int64_t)n->grid * n->grid;
    const float (*l)[LT_FIELD_CHANNELS] = n->mix;
    for (int64_t p = 0; p < pixels; p++) {
        float a = z[p], b = z[pixels + p], c = z[2 * pixels + p];
        z[p] = l[0][0] * a;
        z[pixels + p] = l[1][0] * a + l[1][1] * b;
        z[2 * pixels + p] = l[2][0] * a + l[2][1] * b + l[2][2] * c;
    }
}

/* Kept channels are divided by the probability of being kept. */
static void channel_dropout(const lt_draws *s, int64_t count, float drop, float *out)
{
    float kept = 1 / (1 - drop);
    lt_draw_fill(s, LT_VARIATE_UNIFORM, 0, count, 1, out);
    for (int64_t c = 0; c < count; c++) out[c] = (out[c] + 1) * 0.5f < drop ? 0 : kept;
}

static void draw_white(const drawing *d, int64_t r, int64_t first, int64_t count, float *out)
{
    const lt_noise_maker *n = d->n;
    lt_draws s = stream_of(n, "noise", d->t, d->first + r);
    lt_variate v = n->spec.noise == LT_NOISE_LAPLACE ? LT_VARIATE_LAPLACE : LT_VARIATE_NORMAL;
    if (n->at.by_channel) channel_dropout(&s, count, d->scale, out);
    else lt_draw_fill(&s, v, first, count, d->scale, out);
    if (n->spec.noise == LT_NOISE_MULTIPLICATIVE)
        for (int64_t i = 0; i < count; i++) out[i] += 1;
}

static lt_status draw_task(void *ctx, int64_t index, int worker)
{
    const drawing *d = ctx;
    const lt_noise_maker *n = d->n;
    (void)worker;
    int64_t r = index / d->pieces, first = index % d->pieces * PIECE;
    float *out = d->out + r * n->count;
    if (n->at.mixed) {
        draw_white(d, r, 0, n->count, out);
        mix_planes(n, out);
    } else {
        draw_white(d, r, first, LT_MIN(PIECE, n->count - first), out + first);
    }
    return LT_OK;
}

/* x -> x / (spread of x + 1e-8), the spread unbiased. */
static void scale_by_spread(float *x, int64_t count)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i];
    double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) square += (x[i] - mean) * (x[i] - mean);
    float gain = (float)(1 / (sqrt(square / (double)LT_MAX(count - 1, 1)) + 1e-8));
    for (int64_t i = 0; i < count; i++) x[i] *= gain;
}

/* What correlated noise of unit spread becomes: scaled, with random signs for laplace. */
static void finish_correlated(const lt_noise_maker *n, int64_t t, int64_t m, float scale, float *x)
{
    if (n->spec.noise == LT_NOISE_LAPLACE) {
        lt_draws s = stream_of(n, "noise sign", t, m);
        lt_draw_fill(&s, LT_VARIATE_UNIFORM, 0, n->count, 1, n->white);
        for (int64_t i = 0; i < n->count; i++) x[i] = n->white[i] < 0 ? -x[i] : x[i];
    }
    float shift = n->spec.noise == LT_NOISE_MULTIPLICATIVE ? 1 : 0;
    for (int64_t i = 0; i < n->count; i++) x[i] = x[i] * scale + shift;
}

static lt_status draw_correlated(lt_noise_maker *n, int64_t t, int64_t first, int64_t n_real, float scale, float *out)
{
    int64_t plane = (int64_t)n->grid * n->grid;
    for (int64_t r = 0; r < n_real; r++) {
        lt_draws s = stream_of(n, "noise", t, first + r);
        float *x = out + r * n->count;
        lt_draw_fill(&s, LT_VARIATE_NORMAL, 0, n->count, 1, n->white);
        LT_TRY(lt_program_run(n->smooth, (const void *[]){ n->white, n->filter }, (void *[]){ x }));
        for (int64_t c = 0; !n->whole_batch && c < n->at.channels; c++) scale_by_spread(x + c * plane, plane);
    }
    if (n->whole_batch) scale_by_spread(out, n_real * n->count);
    for (int64_t r = 0; r < n_real; r++) finish_correlated(n, t, first + r, scale, out + r * n->count);
    return LT_OK;
}

lt_status lt_noise_draw(lt_noise_maker *n, lt_pool *pool, int64_t t, int64_t last_t, int64_t first, int64_t n_real, float *out)
{
    if (!n->count) return LT_OK;
    float scale = (float)lt_noise_scale(&n->spec, t, last_t);
    if (n->at.correlated) return draw_correlated(n, t, first, n_real, scale, out);
    int64_t pieces = n->at.mixed ? 1 : (n->count + PIECE - 1) / PIECE;
    drawing d = { n, t, first, pieces, scale, out };
    return lt_pool_run(pool, n_real * pieces, draw_task, &d);
}
