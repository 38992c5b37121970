/* Tables of one grid for streamed features, and the work memory of a thread.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"
#include "operators/features/field/field.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/kernel_table.h"

#include <math.h>

/* ---- Bands ------------------------------------------------------------------------- */
/* Radial frequency of a bin in cycles per pixel. In float32, because Spinlock uses float32 to decide on which side of an edge a bin lies
   (the corner bin lies exactly on the last edge). */
static float radial(int g, int i, int j)
{
    float ky = (float)(2 * i < g ? i : i - g) / (float)g, kx = (float)j / (float)g;
    return sqrtf(kx * kx + ky * ky);
}

/* Bands [edge[b], edge[b+1]) of radial frequency times scale; frequency grows along a row, so each
   is a run of bins. */
static lt_status map_bands(const lt_field_plan *p, int n_bands, const float *edge, float scale, lt_band_map *out)
{
    out->n_bands = n_bands;
    out->edge = lt_malloc((size_t)p->g * (size_t)(n_bands + 1) * sizeof *out->edge);
    out->count = lt_calloc((size_t)n_bands, sizeof *out->count);
    if (!out->edge || !out->count) return LT_ERR_MEMORY;
    for (int i = 0; i < p->g; i++) {
        int32_t *row = out->edge + (int64_t)i * (n_bands + 1);
        int j = 0;
        for (int b = 0; b <= n_bands; b++) {
            while (j < p->half && radial(p->g, i, j) * scale < edge[b]) j++;
            row[b] = j;
            if (b) out->count[b - 1] += row[b] - row[b - 1];
        }
    }
    return LT_OK;
}

/* As torch.linspace in float32: from both ends towards the middle. */
static float spaced(float first, float last, int n, int i)
{
    float step = (last - first) / (float)(n - 1);
    return i < n / 2 ? first + step * (float)i : last - step * (float)(n - 1 - i);
}

static lt_status map_scales(lt_field_plan *p, int n_scales)
{
    float edge[LT_MAX_FFT_SCALES + 1], max = 0;
    for (int i = 0; i < p->g; i++) max = LT_MAX(max, radial(p->g, i, p->half - 1) * (float)p->g);
    for (int b = 0; b <= n_scales; b++) {
        float root = spaced((float)sqrt(0.5), (float)sqrt((double)max), n_scales + 1, b);
        edge[b] = root * root;
    }
    return map_bands(p, n_scales, edge, (float)p->g, &p->scales);
}

static lt_status make_bands(lt_field_plan *p)
{
    const lt_feature_options *o = &p->set->opt;
    float g = (float)p->g;
    float as_reference[] = { 0, g / 16, g / 8, INFINITY }, by_thirds[] = { 0, 1.0f / 6, 1.0f / 3, INFINITY };
    float without_mean[] = { 0.5f / g, 1.0f / 6, 1.0f / 3, INFINITY };
    LT_TRY(map_scales(p, o->num_fft_scales));
    LT_TRY(map_bands(p, 3, o->corrected ? by_thirds : as_reference, 1, &p->thirds));
    return map_bands(p, 3, without_mean, 1, &p->coherence);
}

static void release_bands(lt_band_map *m)
{
    lt_free(m->edge);
    lt_free(m->count);
}

/* ---- Plan ------------------------------------------------------------------------------ */
/* The filter reaches two standard deviations to each side: 9 taps for the default of 2 pixels. */
static void make_filter(lt_field_plan *p)
{
    double sigma = p->set->opt.gaussian_sigma, total = 0;
    p->radius = (int)ceil(2 * sigma);
    for (int k = 0; k <= p->radius; k++) {
        p->weight[k] = exp(-0.5 * k * k / (sigma * sigma));
        total += k ? 2 * p->weight[k] : p->weight[k];
    }
    for (int k = 0; k <= p->radius; k++) p->weight[k] /= total;
}

lt_status lt_feature_fft_create(int64_t rows, int64_t columns, lt_kernel **out)
{
    static const lt_attr none;
    *out = NULL;
    lt_problem_key key = { .op = LT_OP_RFFT2, .n_in = 1, .attr = &none, .isa = lt_isa_best() };
    key.in[0] = (lt_tensor_type){ LT_F64, lt_shape2(rows, columns) };
    key.out = (lt_tensor_type){ LT_F64, lt_shape3(rows, columns / 2 + 1, 2) };
    const lt_kernel_row *row;
    if (lt_kernel_candidates(&key, &row, 1) < 1)
        return LT_FAIL(LT_ERR_INTERNAL, "no kernel transforms %lld by %lld numbers", (long long)rows, (long long)columns);
    return row->prepare(&key, out);
}

lt_status lt_field_plan_create(const lt_feature_set *s, int grid, lt_field_plan **out)
{
    *out = NULL;
    if (grid < 2 || grid > 8192) return LT_FAIL(LT_ERR_SHAPE, "features of a grid of %d: expected 2 to 8192", grid);
    lt_field_plan *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    p->set = s;
    p->loops = lt_feature_loops_best();
    p->g = grid;
    p->half = grid / 2 + 1;
    p->n = (int64_t)grid * grid;
    p->n_bins = (int64_t)grid * p->half;
    make_filter(p);
    lt_status status = make_bands(p);
    if (!status) status = lt_feature_fft_create(grid, grid, &p->fft);
    if (!status) status = lt_extra_plan(p);
    if (status) {
        lt_field_plan_destroy(p);
        return status;
    }
    *out = p;
    return LT_OK;
}

void lt_field_plan_destroy(lt_field_plan *p)
{
    if (!p) return;
    lt_kernel_destroy(p->fft);
    lt_kernel_destroy(p->line_fft);
    lt_kernel_destroy(p->inverse_fft);
    release_bands(&p->scales);
    release_bands(&p->thirds);
    release_bands(&p->coherence);
    lt_free(p);
}

/* ---- Work memory --------------------------------------------------------------------------- */
/* The next part of a block; while memory is NULL only sizes are added up. */
typedef struct carver { char *memory; size_t bytes; } carver;

static void *carve(carver *c, size_t bytes)
{
    void *part = c->memory ? c->memory + c->bytes : NULL;
    c->bytes += (bytes + 63) & ~(size_t)63;
    return part;
}

static size_t lay_out(const lt_field_plan *p, lt_field_work *w, char *memory)
{
    size_t n = (size_t)p->n, g = (size_t)p->g, taps = (size_t)(2 * p->radius + 1);
    carver c = { memory, 0 };
    w->memory = memory;
    w->plane = carve(&c, (n + 2 * g) * sizeof(double));
    w->spectrum = carve(&c, 2 * (size_t)p->n_bins * sizeof(double));
    w->first = p->set->stored[LT_F_COHERENCE] ? carve(&c, 2 * (size_t)p->n_bins * sizeof(double)) : NULL;
    w->power = carve(&c, (size_t)p->n_bins * sizeof(double));
    w->rows = carve(&c, ((taps + 2) * g + taps + 3 * (g + 2)) * sizeof(double));
    w->average = carve(&c, n * sizeof(float));
    w->low = carve(&c, n * sizeof(float));
    w->high = carve(&c, n * sizeof(float));
    w->spare = carve(&c, n * sizeof(float));
    w->bucket = carve(&c, (n + 2 * g) * sizeof(uint16_t));
    w->bin = carve(&c, n);
    w->scratch = carve(&c, p->fft->scratch_bytes);
    w->extra = carve(&c, lt_extra_bytes(p));
    return c.bytes;
}

lt_status lt_field_work_create(const lt_field_plan *p, lt_field_work *out)
{
    char *memory = lt_malloc_aligned(lay_out(p, out, NULL));
    if (!memory) return LT_ERR_MEMORY;
    lay_out(p, out, memory);
    return LT_OK;
}

void lt_field_work_destroy(lt_field_work *w)
{
    lt_free_aligned(w->memory);
    w->memory = NULL;
}
