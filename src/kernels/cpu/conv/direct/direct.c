/* CONV2D and its transposes by direct loops, for every shape and float type and without any library.
   Each task packs its rows of the input into planes with the padding written out and the columns of
   a strided convolution separated by phase; then every tap of the kernel is a plain offset, and the
   loops of cpu/conv/direct/body.h run over whole vectors. A data gradient is the same convolution of gy
   (with zeros between its elements when strided) with the kernel turned around.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/direct/direct.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <string.h>

enum {
    PACKED_BYTES = 1 << 18, /* a task's packed rows stay in the second-level cache */
    CHUNK_BYTES = 24 << 10, /* the rows under one chunk of taps in the first-level one */
    BLOCK_ROWS = 12,        /* rows of the result per call of the loops */
    TASKS = 16              /* enough to share out; also the most partial sums of a weight gradient */
};

/* The convolution as the loops see it; for a data gradient the roles of x and y are exchanged. */
typedef struct geometry {
    int64_t in_c, in_h, in_w, out_c, out_h, out_w; /* of one group */
    int64_t stride[2], zeros[2];   /* step of the window; spacing of gy's elements in a data gradient */
    int64_t before[2];             /* padding; negative cuts off */
    int64_t phase_w, row_w, plane; /* packed widths: one phase, one row, elements of one channel */
} geometry;

typedef struct direct_kernel {
    lt_host_kernel host;
    const lt_direct_loops *loops;
    lt_conv_sizes s;
    geometry g;
    lt_dtype t;                    /* what is computed in: F32 or F64 */
    int64_t lanes;                 /* vector width in elements of t */
    int64_t n_vectors, out_step;   /* of an output row */
    int64_t n_taps, chunk_taps;
    int64_t *tap;                  /* offsets, then for WGRAD row_x and row_y of one unit */
    int64_t band_rows, n_bands;    /* rows of the result per task */
    int64_t unit_images, n_parts;  /* WGRAD: images packed at once; partial sums per gradient */
    bool    flat;                  /* WGRAD: x and gy have one pitch, so a band is a single line */
    int64_t lines, line_vectors;   /* WGRAD: lines of a band and their length */
    int     n_lanes;
    size_t  weights_at, lane_at, lane_bytes, packed_bytes, rows_bytes;
} direct_kernel;

typedef struct direct_job { const direct_kernel *v; char *x, *y, *w, *scratch; void *const *arg; } direct_job;

static size_t size_of(const direct_kernel *v) { return v->t == LT_F32 ? sizeof(float) : sizeof(double); }

static char *lane_memory(const direct_job *j, int lane) { return j->scratch + j->v->lane_at + (size_t)lane * j->v->lane_bytes; }

/* Elements of one packed image (with room for the vectors at its end) and of one channel of gy. */
static int64_t image_elements(const direct_kernel *v) { return (v->g.in_c * v->g.plane + v->g.row_w) / v->lanes * v->lanes + 2 * v->lanes; }
static int64_t gradient_elements(const direct_kernel *v) { return v->lines == 1 ? v->line_vectors * v->lanes : v->lines * v->out_step; }
static int64_t y_channel(const direct_kernel *v) { return v->unit_images * gradient_elements(v); }

/* ---- Packing ----------------------------------------------------------------------------------- */
/* Source rows, columns: position p of the packed image holds element (p - before) / zeros, if whole. */
static bool source(int64_t p, int64_t before, int64_t zeros, int64_t n, int64_t *index)
{
    int64_t q = p - before;
    *index = q / zeros;
    return q >= 0 && q % zeros == 0 && *index < n;
}

#define SPREAD(T)                                                                        \
    do {                                                                                 \
        const T *s = from;                                                               \
        for (int64_t i = begin; i < end; i++) {                                          \
            int64_t p = i * g->zeros[1] + g->before[1];                                  \
            ((T *)row)[p % g->stride[1] * g->phase_w + p / g->stride[1]] = s[i * step];  \
        }                                                                                \
    } while (0)

/* One source row into its packed place; step is the distance of its elements. */
static void pack_row(const direct_kernel *v, void *row, const void *from, int64_t step)
{
    const geometry *g = &v->g;
    int64_t begin = 0, end = g->in_w, limit = g->phase_w * g->stride[1];
    while (begin < end && begin * g->zeros[1] + g->before[1] < 0) begin++;
    while (end > begin && (end - 1) * g->zeros[1] + g->before[1] >= limit) end--;
    if (step == 1 && g->stride[1] == 1 && g->zeros[1] == 1) {
        if (end > begin)
            memcpy(lt_offset(row, (size_t)(begin + g->before[1]) * size_of(v)), lt_offset(from, (size_t)begin * size_of(v)), (size_t)(end - begin) * size_of(v));
    } else if (v->t == LT_F32) {
        SPREAD(float);
    } else {
        SPREAD(double);
    }
}

/* Rows [first, first + rows) of the packed image, all channels of a group; `wide` holds one source
   row in the computing type when the tensor has another. steps: n, channel, row, column. */
static void pack(const direct_kernel *v, char *packed, int64_t rows, int64_t first, const char *image, lt_dtype from, const int64_t *steps, void *wide)
{
    const geometry *g = &v->g;
    size_t size = lt_dtype_size(from);
    memset(packed, 0, (size_t)image_elements(v) * size_of(v));
    for (int64_t c = 0; c < g->in_c; c++)
        for (int64_t r = 0; r < rows; r++) {
            int64_t index;
            if (!source(first + r, g->before[0], g->zeros[0], g->in_h, &index)) continue;
            const char *row = image + (size_t)(c * steps[1] + index * steps[2]) * size;
            void *to = packed + (size_t)(c * g->plane + r * g->row_w) * size_of(v);
            if (from == v->t) {
                pack_row(v, to, row, steps[3]);
                continue;
            }
            for (int64_t i = 0; i < g->in_w; i++)
                lt_convert(v->t, lt_offset(wide, (size_t)i * size_of(v)), from, row + (size_t)(i * steps[3]) * size, 1);
            pack_row(v, to, wide, 1);
        }
}

#define SCATTER(T) for (int64_t i = 0; i < n; i++) ((T *)to)[i * step] = ((const T *)from)[i]

/* One row of n results to the tensor of type `type`. */
static void store_row(lt_dtype type, void *to, int64_t step, lt_dtype t, const void *from, int64_t n)
{
    size_t size = lt_dtype_size(type);
    if (type == t && step == 1) memcpy(to, from, (size_t)n * size);
    else if (type == LT_F32 && t == LT_F32) SCATTER(float);
    else if (type == LT_F64 && t == LT_F64) SCATTER(double);
    else if (step == 1) lt_convert(type, to, t, from, n);
    else
        for (int64_t i = 0; i < n; i++)
            lt_convert(type, lt_offset(to, (size_t)(i * step) * size), t, lt_offset(from, (size_t)i * lt_dtype_size(t)), 1);
}

/* ---- Weights: (o, c, kh, kw) and the loops' (tap, channel), tap = (c, kh, kw) ----------------------- */
static void weight_index(const direct_kernel *v, int64_t group, int64_t o, int64_t tap, bool turned, int64_t *at)
{
    int64_t area = v->s.win.kernel[0] * v->s.win.kernel[1], c = tap / area, k = tap % area;
    int64_t og = v->s.o / v->s.groups, cg = v->s.c / v->s.groups;
    *at = turned ? ((group * og + c) * cg + o) * area + area - 1 - k : ((group * og + o) * cg + c) * area + k;
}

static void pack_weights(const direct_kernel *v, void *to, const void *w, lt_dtype type)
{
    bool turned = v->host.key.op == LT_OP_CONV2D_DGRAD;
    for (int64_t g = 0; g < v->s.groups; g++)
        for (int64_t t = 0; t < v->n_taps; t++)
            for (int64_t o = 0; o < v->g.out_c; o++) {
                int64_t at;
                weight_index(v, g, o, t, turned, &at);
                int64_t place = (g * v->n_taps + t) * v->g.out_c + o;
                if (type == LT_F32 && v->t == LT_F32) ((float *)to)[place] = ((const float *)w)[at];
                else lt_store_double(v->t, to, place, lt_load_double(type, w, at));
            }
}

/* ---- CONV2D and CONV2D_DGRAD: one item per image and band ------------------------------------------- */
/* The taps in chunks of whole channels whose input rows fit the first-level cache. */
static void run_chunks(const direct_kernel *v, const lt_direct_rows *whole)
{
    lt_direct_rows r = *whole;
    for (int64_t t = 0; t < whole->n_taps; t += v->chunk_taps) {
        r.tap = whole->tap + t;
        r.w = lt_offset(whole->w, (size_t)(t * whole->n_out) * size_of(v));
        r.n_taps = LT_MIN(v->chunk_taps, whole->n_taps - t);
        r.add = t > 0;
        (v->t == LT_F32 ? v->loops->rows_f32 : v->loops->rows_f64)(&r);
    }
}

static void run_group(const direct_job *j, int64_t image, int64_t first, int64_t rows, int64_t group, char *memory)
{
    const direct_kernel *v = j->v;
    const geometry *g = &v->g;
    bool dgrad = v->host.key.op == LT_OP_CONV2D_DGRAD;
    const int64_t *in_steps = dgrad ? v->s.ys : v->s.xs, *out_steps = dgrad ? v->s.xs : v->s.ys;
    lt_dtype in_type = v->host.key.in[0].dtype, out_type = v->host.key.out.dtype;
    size_t out_size = lt_dtype_size(out_type);
    char *buffer = memory + v->packed_bytes, *wide = buffer + v->rows_bytes;
    const char *in = (dgrad ? j->y : j->x) + (size_t)(image * in_steps[0] + group * g->in_c * in_steps[1]) * lt_dtype_size(in_type);
    char *out = (dgrad ? j->x : j->y) + (size_t)(image * out_steps[0] + group * g->out_c * out_steps[1]) * out_size;
    int64_t reach = (v->s.win.kernel[0] - 1) * v->s.win.dilation[0];
    pack(v, memory, (rows - 1) * g->stride[0] + reach + 1, first * g->stride[0], in, in_type, in_steps, wide);
    lt_direct_rows r = { .w = j->w + (size_t)(group * v->n_taps * g->out_c) * size_of(v), .tap = v->tap,
                         .n_taps = v->n_taps, .n_out = g->out_c, .x_at = v->tap + v->n_taps };
    /* Vectors may go straight to the result while what they write behind the end of a row belongs to a
       later row of the same band, still to be written; chunks would read that spill back as sums. */
    bool dense = out_type == v->t && out_steps[3] == 1 && out_steps[2] == g->out_w && v->chunk_taps >= v->n_taps;
    for (int64_t i = 0; i < rows;) {
        bool straight = dense && i * g->out_w + v->out_step <= rows * g->out_w;
        int64_t n = LT_MIN(straight ? (rows * g->out_w - v->out_step) / g->out_w - i + 1 : BLOCK_ROWS, LT_MIN(BLOCK_ROWS, rows - i));
        char *to = out + (size_t)((first + i) * out_steps[2]) * out_size;
        r.x = memory + (size_t)(i * g->stride[0] * g->row_w) * size_of(v);
        r.y = straight ? to : buffer;
        r.y_step = straight ? out_steps[1] : BLOCK_ROWS * v->out_step;
        r.y_at = r.x_at + (straight ? 2 : 1) * BLOCK_ROWS * v->n_vectors;
        r.n_positions = n * v->n_vectors;
        run_chunks(v, &r);
        for (int64_t e = 0; !straight && e < n * g->out_c; e++)
            store_row(out_type, to + (size_t)(e / n * out_steps[1] + e % n * out_steps[2]) * out_size, out_steps[3], v->t,
                      buffer + (size_t)(e / n * r.y_step + e % n * v->out_step) * size_of(v), g->out_w);
        i += n;
    }
}

static lt_status direct_item(void *ctx, int64_t item, int lane)
{
    const direct_job *j = ctx;
    const direct_kernel *v = j->v;
    int64_t image = item / v->n_bands, first = item % v->n_bands * v->band_rows;
    int64_t rows = LT_MIN(v->band_rows, v->g.out_h - first);
    for (int64_t g = 0; g < v->s.groups; g++) run_group(j, image, first, rows, g, lane_memory(j, lane));
    return j->arg ? lt_host_epilogue_rows(&v->host, j->arg, image, 1) : LT_OK;
}

static lt_status direct_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const direct_kernel *v = (const direct_kernel *)k;
    bool dgrad = v->host.key.op == LT_OP_CONV2D_DGRAD;
    direct_job j = { .v = v, .x = dgrad ? arg[2] : arg[0], .y = dgrad ? arg[0] : arg[2], .scratch = arg[k->n_args] };
    j.w = j.scratch + v->weights_at;
    bool by_image = v->host.epilogue && v->n_bands == 1;
    if (by_image) j.arg = arg;
    pack_weights(v, j.w, arg[1], v->host.key.in[1].dtype);
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->s.n * v->n_bands, direct_item, &j));
    return by_image ? LT_OK : lt_host_epilogue(&v->host, pool, arg);
}

/* ---- CONV2D_WGRAD: one item per gradient and part of the units ------------------------------------------ */
/* A unit is what is packed at once: a few whole images, or a band of rows of one. */
typedef struct unit { int64_t image, images, first, rows; } unit;

static unit unit_at(const direct_kernel *v, int64_t index)
{
    int64_t image = index / v->n_bands * v->unit_images, first = index % v->n_bands * v->band_rows;
    return (unit){ image, LT_MIN(v->unit_images, v->s.n - image), first, LT_MIN(v->band_rows, v->g.out_h - first) };
}

static int64_t unit_count(const direct_kernel *v)
{
    return (v->s.n + v->unit_images - 1) / v->unit_images * v->n_bands;
}

/* Rows of gy beside each other by channel, zeros behind the end of each: what x holds there must not
   count. Rows that are left out of a short band are zeros too. */
static void pack_gradient(const direct_kernel *v, char *to, const unit *u, int64_t i, const char *image)
{
    lt_dtype type = v->host.key.in[1].dtype;
    size_t size = lt_dtype_size(type);
    const int64_t *steps = v->s.ys;
    to += (size_t)(i * gradient_elements(v)) * size_of(v);
    for (int64_t o = 0; o < v->g.out_c; o++) {
        char *channel = to + (size_t)(o * y_channel(v)) * size_of(v);
        memset(channel, 0, (size_t)gradient_elements(v) * size_of(v));
        for (int64_t r = 0; r < u->rows; r++) {
            char *row = channel + (size_t)(r * v->out_step) * size_of(v);
            const char *from = image + (size_t)(o * steps[1] + (u->first + r) * steps[2]) * size;
            if (steps[3] == 1 && type == v->t) memcpy(row, from, (size_t)v->g.out_w * size);
            else if (steps[3] == 1) lt_convert(v->t, row, type, from, v->g.out_w);
            else
                for (int64_t e = 0; e < v->g.out_w; e++)
                    lt_convert(v->t, row + (size_t)e * size_of(v), type, from + (size_t)(e * steps[3]) * size, 1);
        }
    }
}

static void add_unit(const direct_kernel *v, const char *x, const char *y, const unit *u, int64_t group, char *memory, char *sum)
{
    const geometry *g = &v->g;
    lt_dtype tx = v->host.key.in[0].dtype, ty = v->host.key.in[1].dtype;
    int64_t reach = (v->s.win.kernel[0] - 1) * v->s.win.dilation[0], rows = (u->rows - 1) * g->stride[0] + reach + 1;
    size_t image_bytes = (size_t)image_elements(v) * size_of(v);
    char *py = memory + (size_t)v->unit_images * image_bytes, *wide = memory + v->packed_bytes;
    for (int64_t i = 0; i < u->images; i++) {
        int64_t image = u->image + i;
        pack(v, memory + (size_t)i * image_bytes, rows, u->first * g->stride[0],
             x + (size_t)(image * v->s.xs[0] + group * g->in_c * v->s.xs[1]) * lt_dtype_size(tx), tx, v->s.xs, wide);
        pack_gradient(v, py, u, i, y + (size_t)(image * v->s.ys[0] + group * g->out_c * v->s.ys[1]) * lt_dtype_size(ty));
    }
    const int64_t *row_x = v->tap + v->n_taps;
    lt_direct_weights d = { .x = memory, .y = py, .w = sum, .tap = v->tap, .row_x = row_x, .row_y = row_x + v->unit_images * v->lines,
                            .n_taps = v->n_taps, .n_out = g->out_c, .n_vectors = v->line_vectors, .n_rows = u->images * v->lines, .y_channel = y_channel(v) };
    (v->t == LT_F32 ? v->loops->weights_f32 : v->loops->weights_f64)(&d);
}

static int64_t weight_count(const direct_kernel *v) { return v->s.groups * v->n_taps * v->g.out_c; }

static lt_status weights_item(void *ctx, int64_t item, int lane)
{
    const direct_job *j = ctx;
    const direct_kernel *v = j->v;
    int64_t k = item / v->n_parts, begin, end;
    const lt_problem_key *p = &v->host.key;
    const char *x = j->x + (v->s.k_in_x ? (size_t)k * (lt_tensor_bytes(&p->in[0]) / (size_t)v->s.k) : 0);
    const char *y = j->y + (v->s.k_in_y ? (size_t)k * (lt_tensor_bytes(&p->in[1]) / (size_t)v->s.k) : 0);
    size_t group_bytes = (size_t)(v->n_taps * v->g.out_c) * size_of(v);
    char *sum = j->w + (size_t)(item * weight_count(v)) * size_of(v);
    memset(sum, 0, (size_t)weight_count(v) * size_of(v));
    lt_part_range(unit_count(v), v->n_parts, item % v->n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        unit u = unit_at(v, i);
        for (int64_t g = 0; g < v->s.groups; g++) add_unit(v, x, y, &u, g, lane_memory(j, lane), sum + (size_t)g * group_bytes);
    }
    return LT_OK;
}

/* The parts in order, then the layout of the weights. */
static void finish_weights(const direct_kernel *v, const char *parts, void *out)
{
    int64_t n = weight_count(v);
    for (int64_t k = 0; k < v->s.k; k++, parts += (size_t)(v->n_parts * n) * size_of(v))
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            int64_t at, g = i / (v->n_taps * v->g.out_c), rest = i % (v->n_taps * v->g.out_c);
            for (int64_t part = 0; part < v->n_parts; part++) sum += lt_load_double(v->t, parts, part * n + i);
            weight_index(v, g, rest % v->g.out_c, rest / v->g.out_c, false, &at);
            lt_store_double(v->host.key.out.dtype, out, k * n + at, sum);
        }
}

static lt_status weights_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const direct_kernel *v = (const direct_kernel *)k;
    direct_job j = { .v = v, .x = arg[0], .y = arg[1], .scratch = arg[k->n_args] };
    j.w = j.scratch + v->weights_at;
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->s.k * v->n_parts, weights_item, &j));
    finish_weights(v, j.w, arg[2]);
    return LT_OK;
}

/* ---- Preparing ----------------------------------------------------------------------------------------------- */
static void set_geometry(direct_kernel *v)
{
    const lt_conv_sizes *s = &v->s;
    geometry *g = &v->g;
    bool dgrad = v->host.key.op == LT_OP_CONV2D_DGRAD;
    int64_t c = s->c / s->groups, o = s->o / s->groups;
    g->in_c = dgrad ? o : c, g->in_h = dgrad ? s->oh : s->h, g->in_w = dgrad ? s->ow : s->w;
    g->out_c = dgrad ? c : o, g->out_h = dgrad ? s->h : s->oh, g->out_w = dgrad ? s->w : s->ow;
    for (int d = 0; d < 2; d++) {
        int64_t reach = (s->win.kernel[d] - 1) * s->win.dilation[d];
        g->stride[d] = dgrad ? 1 : s->win.stride[d];
        g->zeros[d] = dgrad ? s->win.stride[d] : 1;
        g->before[d] = dgrad ? reach - s->win.pad[d] : s->win.pad[d];
    }
    v->n_vectors = (g->out_w + v->lanes - 1) / v->lanes;
    v->out_step = v->n_vectors * v->lanes;
    int64_t reach = (s->win.kernel[1] - 1) * s->win.dilation[1];
    g->phase_w = v->out_step + reach / g->stride[1] + 1;
    v->flat = v->host.key.op == LT_OP_CONV2D_WGRAD && g->stride[0] == 1 && g->stride[1] == 1;
    if (v->flat) v->out_step = g->phase_w = g->out_w + reach; /* one pitch for x and gy */
    g->row_w = g->phase_w * g->stride[1];
    int64_t area = s->win.kernel[0] * s->win.kernel[1], channel_bytes = s->win.kernel[0] * g->row_w * (int64_t)size_of(v);
    v->n_taps = g->in_c * area;
    v->chunk_taps = LT_MAX(1, CHUNK_BYTES / channel_bytes) * area;
}

/* Elements of one packed channel when a band has that many rows of the result. */
static int64_t plane_for(const direct_kernel *v, int64_t band_rows)
{
    return ((band_rows - 1) * v->g.stride[0] + (v->s.win.kernel[0] - 1) * v->s.win.dilation[0] + 1) * v->g.row_w;
}

/* Fixes what depends on the rows of a band; returns the bytes one image then takes when packed. */
static size_t set_band(direct_kernel *v, int64_t rows)
{
    v->band_rows = rows;
    v->n_bands = (v->g.out_h + rows - 1) / rows;
    v->g.plane = plane_for(v, rows);
    v->lines = v->flat ? 1 : rows;
    v->line_vectors = v->flat ? (rows * v->out_step + v->lanes - 1) / v->lanes : v->n_vectors;
    int64_t n = image_elements(v);
    if (v->host.key.op == LT_OP_CONV2D_WGRAD) n += v->g.out_c * gradient_elements(v);
    return (size_t)n * size_of(v);
}

/* By shape only, so that results do not depend on the number of threads. */
static void cut(direct_kernel *v)
{
    double row_flops = lt_conv_flops(&v->s) / (double)(v->s.k * v->s.n * v->g.out_h);
    int64_t rows = v->g.out_h;
    for (size_t bytes = set_band(v, rows); rows > 1; bytes = set_band(v, rows)) {
        bool spread = rows > 8 && v->s.n * v->n_bands < TASKS && row_flops * (double)rows > 2e6;
        if (bytes <= PACKED_BYTES && !spread) break;
        rows = (rows + 1) / 2;
    }
    v->unit_images = 1;
    size_t bytes = set_band(v, rows);
    if (v->host.key.op == LT_OP_CONV2D_WGRAD) {
        if (v->n_bands == 1) v->unit_images = LT_MAX(1, LT_MIN((int64_t)(PACKED_BYTES / bytes), v->s.n / TASKS));
        v->n_parts = LT_MIN(unit_count(v), TASKS);
    }
    v->packed_bytes = lt_align64((size_t)v->unit_images * bytes);
}

/* Behind the taps: for weight gradients the places in x and in gy of each line of a unit; otherwise
   the places in x, in the buffer and in a dense result of each vector of a block of rows. */
static lt_status make_tables(direct_kernel *v)
{
    const geometry *g = &v->g;
    const lt_window *w = &v->s.win;
    bool wgrad = v->host.key.op == LT_OP_CONV2D_WGRAD;
    int64_t area = w->kernel[0] * w->kernel[1], block = BLOCK_ROWS * v->n_vectors, lines = v->unit_images * v->lines;
    v->tap = lt_calloc((size_t)(v->n_taps + (wgrad ? 2 * lines : 3 * block)), sizeof *v->tap);
    if (!v->tap) return LT_ERR_MEMORY;
    for (int64_t t = 0; t < v->n_taps; t++) {
        int64_t c = t / area, r = t % area / w->kernel[1], q = t % w->kernel[1] * w->dilation[1];
        v->tap[t] = c * g->plane + r * w->dilation[0] * g->row_w + q % g->stride[1] * g->phase_w + q / g->stride[1];
    }
    int64_t *at = v->tap + v->n_taps;
    for (int64_t i = 0; wgrad && i < lines; i++) {
        int64_t image = i / v->lines, line = i % v->lines;
        at[i] = image * image_elements(v) + line * g->stride[0] * g->row_w;
        at[lines + i] = image * gradient_elements(v) + line * v->out_step;
    }
    for (int64_t i = 0; !wgrad && i < block; i++) {
        int64_t row = i / v->n_vectors, column = i % v->n_vectors * v->lanes;
        at[i] = row * g->stride[0] * g->row_w + column;
        at[block + i] = row * v->out_step + column;
        at[2 * block + i] = row * g->out_w + column;
    }
    return LT_OK;
}

static void place_scratch(direct_kernel *v)
{
    bool wgrad = v->host.key.op == LT_OP_CONV2D_WGRAD;
    int64_t items = wgrad ? v->s.k * v->n_parts : v->s.n * v->n_bands;
    v->n_lanes = lt_host_lanes(items);
    v->rows_bytes = wgrad ? 0 : lt_align64((size_t)(v->g.out_c * BLOCK_ROWS * v->out_step) * size_of(v));
    v->weights_at = 0;
    v->lane_at = lt_align64((size_t)((wgrad ? items : 1) * weight_count(v)) * size_of(v));
    v->lane_bytes = v->packed_bytes + v->rows_bytes + lt_align64((size_t)v->g.in_w * size_of(v));
    v->host.kernel.scratch_bytes = v->lane_at + (size_t)v->n_lanes * v->lane_bytes;
}

static const lt_direct_loops *pick_loops(lt_isa isa)
{
#if LT_VEC_X86
    if (isa == LT_ISA_AVX512) return &lt_direct_avx512;
    if (isa == LT_ISA_AVX2) return &lt_direct_avx2;
#endif
    (void)isa;
    return &lt_direct_plain;
}

static void direct_release(lt_host_kernel *h) { lt_free(((direct_kernel *)h)->tap); }

/* Any shape that has work to do; the plain row takes empty ones. */
static bool can_run(const lt_problem_key *p)
{
    return lt_key_is_float(p) && lt_isa_usable(p->isa) &&
           lt_tensor_count(&p->in[0]) > 0 && lt_tensor_count(&p->in[1]) > 0 && lt_tensor_count(&p->out) > 0;
}

/* Where it comes before oneDNN, as measured: with few channels on either side oneDNN's blocks of 16
   stay half empty (LeNet-5's layers: 2 to 4 times slower), the more so where it must change the
   layout first. In f64 there is nothing to come before. */
static bool few_channels(const lt_problem_key *p)
{
    enum { BLOCK = 16 };
    lt_conv_sizes s = lt_conv_sizes_of(p);
    if (p->out.dtype == LT_F64) return true;
    return s.win.channels_last ? s.c < BLOCK && s.o < BLOCK : s.c < BLOCK || s.o < BLOCK;
}

bool lt_conv_direct_applies(const lt_problem_key *p) { return can_run(p) && few_channels(p); }
bool lt_conv_direct_wide_applies(const lt_problem_key *p) { return can_run(p) && !few_channels(p); }

static lt_status prepare(const lt_problem_key *p, const char *name, lt_kernel **out)
{
    *out = NULL;
    direct_kernel *v = lt_host_kernel_create(p, sizeof *v, name, p->op == LT_OP_CONV2D_WGRAD ? weights_run : direct_run);
    if (!v) return LT_ERR_MEMORY;
    v->host.release = direct_release;
    v->loops = pick_loops(p->isa);
    v->s = lt_conv_sizes_of(p);
    v->t = lt_compute_type(p->out.dtype);
    v->lanes = v->t == LT_F32 ? v->loops->lanes_f32 : v->loops->lanes_f64;
    v->host.kernel.flops = lt_conv_flops(&v->s);
    set_geometry(v);
    cut(v);
    place_scratch(v);
    lt_status s = make_tables(v);
    if (s == LT_OK) s = lt_host_epilogue_prepare(&v->host, p);
    return lt_host_kernel_finish(&v->host, s, out);
}

lt_status lt_conv_direct_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return prepare(p, "conv_direct", out);
}

lt_status lt_conv_direct_wide_prepare(const lt_problem_key *p, lt_kernel **out) { return prepare(p, "conv_direct_wide", out); }
