/* The kernels that measure states on a device, from the texts of this folder. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/device/kernels.h"

#include "base/status.h"
#include "kernels/cuda/builder.h"
#include "operators/rollout/device/device.h"

#include <math.h>

extern const char lt_text_record_h[], lt_text_feature_common_cuh[], lt_text_feature_slices_cu[], lt_text_feature_select_cuh[],
    lt_text_feature_planes_cu[], lt_text_feature_records_cu[];

#define B(id) LT_FEATURE_##id
const lt_feature_launch lt_feature_launches[] = {
    { "feature_slices", 8, { B(NOW), B(WEIGHT), B(TWIDDLE), B(SPECTRUM), B(LOW), B(HIGH), B(SUMS), B(PEAKS) } },
    { "feature_planes", 16, { B(NOW), B(BEFORE), B(TWIDDLE), B(BAND), B(RANK), B(SUMS), B(PEAKS), B(SPECTRUM), B(LOW), B(HIGH), B(ORDER),
                              B(POWER), B(BIN_SUMS), B(BIN_PEAKS), B(PIXELS), B(COUNTS) } },
    { "feature_records", 10, { B(STEP), B(SUMS), B(PEAKS), B(ORDER), B(POWER), B(BIN_SUMS), B(BIN_PEAKS), B(PIXELS), B(COUNTS), B(RECORDS) } },
};

/* ---- Shape ------------------------------------------------------------------------------------------ */

/* As in the texts. */
enum { SUMS = 32, PEAKS = 8, PIXELS = 8, BIN_PEAKS = 16, BUCKETS = 4096, RANKS = 12, NO_BAND = 15 };
enum { SLICES, PLANES, RECORDS }; /* launches */
enum { THREADS = 256, LARGEST_FACTOR = 7 };

bool lt_feature_grid_fits(int grid)
{
    int rest = grid;
    for (int p = 2; p <= LARGEST_FACTOR; p++)
        while (rest > 1 && rest % p == 0) rest /= p;
    return grid >= 2 && grid <= LT_FEATURE_MAX_GRID && rest == 1;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void size_shared(lt_feature_shape *s)
{
    size_t g = (size_t)s->grid, rows = (size_t)s->rows, warps = (size_t)s->threads / 32, taps = 2 * (size_t)s->radius + 1;
    size_t a = (size_t)s->factor_a, b = (size_t)s->factor_b, cells = (size_t)(s->mi_bins * s->mi_bins), entropy = 3 * (size_t)s->entropy_bins;
    size_t twiddles = 16 * g, folds = warps * SUMS * 8;
    size_t filter = (rows + taps) * g * 8 + 2 * (rows + 1) * g * 4, transforms = (rows + 1) / 2 * (a * (b + 1) + g) * 16;
    s->shared_bytes[SLICES] = twiddles + larger(larger(filter, transforms), folds);
    size_t selection = BUCKETS * 5 + RANKS * ((size_t)s->list + 6) * 4 + warps * 4, columns = twiddles + 24 * g * (size_t)s->columns + folds;
    s->shared_bytes[PLANES] = larger(larger(selection, columns), (21 + warps * PIXELS) * 8 + (entropy + cells + 1) * 4);
    size_t plane = (2 * SUMS + PEAKS + PIXELS + BIN_PEAKS + entropy + 2 * warps + 1) * 8;
    s->shared_bytes[RECORDS] = larger(plane, (3 * cells + 6 * (size_t)s->mi_bins) * 4 + (4 * warps + 5) * 8);
}

static void size_buffers(lt_feature_shape *s, const lt_field_plan *p, int64_t steps)
{
    size_t of_state = 3 * (size_t)s->realizations, planes = of_state * (size_t)s->together, n = (size_t)p->n, bins = (size_t)p->n_bins, g = (size_t)s->grid;
    size_t of_plane = (g + (size_t)s->rows - 1) / (size_t)s->rows, slices = planes * of_plane;
    size_t columns_of_plane = ((size_t)p->half + (size_t)s->columns - 1) / (size_t)s->columns, columns = planes * columns_of_plane;
    s->blocks[SLICES] = (unsigned)(of_state * of_plane);
    s->blocks[PLANES] = (unsigned)(of_state * (1 + columns_of_plane + of_plane));
    s->blocks[RECORDS] = (unsigned)(of_state + (size_t)s->realizations);
    s->bytes[B(WEIGHT)] = (LT_MAX_RADIUS + 1) * sizeof(double);
    s->bytes[B(TWIDDLE)] = 2 * g * sizeof(double);
    s->bytes[B(BAND)] = bins;
    s->bytes[B(RANK)] = (2 * LT_RECORD_QUANTILES + 1) * sizeof(int32_t);
    s->bytes[B(SPECTRUM)] = planes * bins * 2 * sizeof(double);
    s->bytes[B(LOW)] = s->bytes[B(HIGH)] = planes * n * sizeof(float);
    s->bytes[B(SUMS)] = slices * SUMS * sizeof(double);
    s->bytes[B(PEAKS)] = slices * PEAKS * sizeof(double);
    s->bytes[B(ORDER)] = planes * sizeof(lt_order_record);
    s->bytes[B(POWER)] = planes * bins * sizeof(double);
    s->bytes[B(BIN_SUMS)] = columns * SUMS * sizeof(double);
    s->bytes[B(BIN_PEAKS)] = columns * BIN_PEAKS * sizeof(double);
    s->bytes[B(PIXELS)] = slices * PIXELS * sizeof(double);
    s->bytes[B(COUNTS)] = slices * (size_t)(3 * s->entropy_bins + s->mi_bins * s->mi_bins) * sizeof(int32_t);
    s->bytes[B(RECORDS)] = (size_t)(steps * s->realizations) * sizeof(lt_state_record);
}

/* So many that planes of all of them keep the device busy, no more than the usual sequence has. */
static int64_t states_together(int64_t realizations)
{
    enum { ENOUGH_PLANES = 150 };
    int64_t together = LT_USUAL_STEPS_PER_LAUNCH;
    while (together > 1 && together * LT_FIELD_CHANNELS * realizations > ENOUGH_PLANES) together /= 2;
    return together;
}

void lt_feature_shape_make(const lt_field_plan *p, int64_t realizations, int64_t steps, lt_feature_shape *out)
{
    const lt_feature_options *o = &p->set->opt;
    int a = (int)sqrt((double)p->g);
    while (p->g % a) a--;
    *out = (lt_feature_shape){
        .realizations = realizations, .together = states_together(realizations), .grid = p->g, .factor_a = a, .factor_b = p->g / a, .threads = THREADS,
        /* About 2048 numbers a block: 120 blocks for a state of five realizations of 128 x 128. */
        .rows = p->g > 128 ? 8 : 16, .columns = p->g > 128 ? 8 : 16,
        .radius = p->radius, .scales = o->num_fft_scales, .entropy_bins = o->entropy_num_bins, .mi_bins = o->mi_num_bins,
        .list = p->g > 128 ? 1024 : 512 };
    size_shared(out);
    size_buffers(out, p, steps);
}

/* ---- Tables ------------------------------------------------------------------------------------------ */
static void mark_bands(const lt_field_plan *p, const lt_band_map *map, int shift, uint8_t *band)
{
    for (int i = 0; i < p->g; i++)
        for (int b = 0; b < map->n_bands; b++) {
            const int32_t *edge = map->edge + (int64_t)i * (map->n_bands + 1) + b;
            for (int j = edge[0]; j < edge[1]; j++) {
                uint8_t *at = &band[(int64_t)i * p->half + j];
                *at = (uint8_t)((*at & ~(NO_BAND << shift)) | b << shift);
            }
        }
}

void lt_feature_tables_fill(const lt_field_plan *p, void *const table[LT_FEATURE_BUFFERS])
{
    double *weight = table[B(WEIGHT)], *twiddle = table[B(TWIDDLE)];
    uint8_t *band = table[B(BAND)];
    int32_t *rank = table[B(RANK)];
    for (int k = 0; k <= LT_MAX_RADIUS; k++) weight[k] = k <= p->radius ? p->weight[k] : 0;
    for (int k = 0; k < p->g; k++) {
        twiddle[2 * k] = cos(2 * M_PI * k / p->g);
        twiddle[2 * k + 1] = -sin(2 * M_PI * k / p->g);
    }
    for (int64_t i = 0; i < p->n_bins; i++) band[i] = NO_BAND | NO_BAND << 4;
    mark_bands(p, &p->scales, 0, band);
    mark_bands(p, &p->thirds, 4, band);
    for (int i = 0; i < LT_RECORD_QUANTILES; i++) {
        int64_t below;
        (void)lt_quantile_rank(lt_field_quantile[i], p->n, &below);
        rank[2 * i] = (int32_t)below;
        rank[2 * i + 1] = (int32_t)LT_MIN(below + 1, p->n - 1);
    }
    rank[2 * LT_RECORD_QUANTILES] = (int32_t)((p->n - 1) / 2);
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */
void lt_feature_kernels_text(const lt_feature_shape *s, lt_text *out)
{
    const struct { const char *name; long long value; } constant[] = {
        { "G", s->grid }, { "FACTOR_A", s->factor_a }, { "FACTOR_B", s->factor_b }, { "REALIZATIONS", s->realizations },
        { "STATE_STRIDE", lt_state_stride(s->realizations, s->grid) }, { "THREADS", s->threads },
        { "ROWS", s->rows }, { "COLUMNS", s->columns }, { "RADIUS", s->radius }, { "SCALES", s->scales }, { "ENTROPY_BINS", s->entropy_bins },
        { "MI_BINS", s->mi_bins }, { "LIST", s->list }, { "SLICES_BYTES", (long long)s->shared_bytes[SLICES] },
        { "PLANES_BYTES", (long long)s->shared_bytes[PLANES] }, { "RECORDS_BYTES", (long long)s->shared_bytes[RECORDS] } };
    for (size_t i = 0; i < LT_LEN(constant); i++) lt_text_add(out, "#define %s %lld\n", constant[i].name, constant[i].value);
    lt_text_add(out, "%s%s%s%s%s%s", lt_text_record_h, lt_text_feature_common_cuh, lt_text_feature_slices_cu, lt_text_feature_select_cuh,
                lt_text_feature_planes_cu, lt_text_feature_records_cu);
}

static void add_kernels(lt_builder *b, const lt_text *t, const lt_feature_shape *s, int64_t states, lt_kernel *out[LT_FEATURE_LAUNCHES])
{
    for (int i = 0; i < LT_FEATURE_LAUNCHES; i++) {
        const lt_feature_launch *l = &lt_feature_launches[i];
        lt_builder_add(b, t, &(lt_kernel_key){ .name = l->entry, .entry = l->entry, .n_args = l->n_args, .grid = { (unsigned)states * s->blocks[i] },
                                               .block = { (unsigned)s->threads }, .shared_bytes = s->shared_bytes[i] }, &out[i]);
    }
}

lt_status lt_feature_kernels_build(lt_device *dev, const lt_feature_shape *s, lt_kernel *one[LT_FEATURE_LAUNCHES], lt_kernel *several[LT_FEATURE_LAUNCHES])
{
    lt_builder b = lt_builder_begin(dev);
    lt_text *t = lt_builder_text(&b);
    lt_feature_kernels_text(s, t);
    add_kernels(&b, t, s, 1, one);
    add_kernels(&b, t, s, s->together, several);
    return lt_builder_finish(&b, lt_device_pool(dev));
}

void lt_feature_kernels_destroy(lt_kernel *k[LT_FEATURE_LAUNCHES])
{
    for (int i = 0; i < LT_FEATURE_LAUNCHES; i++) {
        lt_kernel_destroy(k[i]);
        k[i] = NULL;
    }
}
