/* Fused steps of CNN operators: which kernels run on which maps. SPDX-License-Identifier: BSD-3-Clause

   A convolution leaves its map as it comes out, and the norms made from sums of its tiles; the kernel that reads the map
   next applies norm and activation on the way. Only the end of a residual block is written as a finished map, since
   the next block reads it twice. */
#include "operators/rollout/fused/parts.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/pool.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CONVS = 2 * LT_MAX_LAYERS + 1, MAX_LAUNCHES = 3 * LT_MAX_LAYERS + 2, MAX_PACKS = MAX_CONVS + MAX_LAUNCHES + 1, MAPS = 3, NO_CONV = -1, ALIGNMENT = 256 };

/* A map: where it lies, and the convolution whose norm is still to be applied, or NO_CONV. */
typedef struct map_ref { int buffer, width, norm_of; } map_ref;

typedef struct conv_layer {
    char          name[40];
    lt_conv_shape shape;
    int64_t       real_in, real_out;
    map_ref       source;
    int           result;                 /* a buffer */
    size_t        weights_at, affine_at, sums_at, norms_at, counts_at; /* in the memory */
    lt_kernel    *kernel;
} conv_layer;

typedef enum launch_kind { LAUNCH_CONV, LAUNCH_JOIN, LAUNCH_PROJECT, LAUNCH_OUTPUT } launch_kind;
typedef struct launch {
    launch_kind kind;
    int         conv;                     /* of LAUNCH_CONV */
    map_ref     map, skip;                /* of the others; skip.buffer -1: none */
    lt_kernel  *kernel;                   /* of the others */
    size_t      job_at;
    char        name[40];                 /* of LAUNCH_PROJECT: of its weights */
    int64_t     real_in, real_out;
    size_t      weights_at;
    lt_conv_shape shape;                  /* of LAUNCH_PROJECT on every card since Ampere */
} launch;

struct lt_fused_cnn {
    lt_device       *dev;
    lt_operator_spec spec;
    lt_fused_style   style;
    int64_t          samples;
    int              cores;
    conv_layer       conv[MAX_CONVS];
    int              n_convs;
    launch           seq[MAX_LAUNCHES];
    int              n_launches;
    lt_pack_job      pack[MAX_PACKS];
    int              n_packs;
    lt_kernel       *pack_kernel;
    /* One piece of device memory: maps, then what follows by offset. */
    char            *memory;
    size_t           bytes, map_bytes, output_at, ended_at, packs_at;
};

/* ---- Whether ---- */

static int noise_number(const lt_operator_spec *spec)
{
    lt_noise_shape at = lt_network_noise(spec);
    switch (at.site) {
    case LT_SITE_NONE: return 0;
    case LT_SITE_OUTPUT: return 1;
    case LT_SITE_OUTPUT_FACTOR: return 2;
    case LT_SITE_MAP: return at.by_channel ? -1 : 3;
    default: return at.by_channel ? 5 : 4;
    }
}

static bool choose_shape(const lt_device *dev, const lt_fused_style *style, lt_conv_shape *s)
{
    return style->mma ? lt_mma_shape_choose(s, lt_fused_products(style, s->source), lt_device_shared_bytes(dev)) : lt_conv_shape_choose(s);
}

static bool shapes_fit(const lt_device *dev, const lt_operator_spec *spec, const lt_fused_style *style)
{
    int widest = lt_fused_width(lt_cnn_width(spec, spec->num_layers - 1)), state = LT_FIELD_CHANNELS * spec->kernel_size * spec->kernel_size;
    lt_conv_shape wide = { .source = LT_SOURCE_NORMALISED, .result = LT_RESULT_NORMS, .kernel = spec->kernel_size, .in_c = widest, .out_c = widest };
    lt_conv_shape stem = { .source = LT_SOURCE_STATE, .result = LT_RESULT_NORMS, .kernel = 1, .stem = spec->kernel_size, .in_c = lt_fused_width(state),
                           .out_c = lt_fused_width(spec->base_channels) };
    return widest <= LT_FUSED_MAX_CHANNELS && spec->kernel_size <= LT_FUSED_MAX_KERNEL && choose_shape(dev, style, &wide) && choose_shape(dev, style, &stem);
}

static int activation_number(const lt_operator_spec *s)
{
    switch (s->activation) {
    case LT_ACT_GELU: return s->tanh_gelu ? 2 : 1;
    case LT_ACT_RELU: return 3;
    case LT_ACT_SILU: return 4;
    case LT_ACT_TANH: return 5;
    default: return 0;
    }
}

enum { SM_90 = 90, AMPERE = 80 };

lt_status lt_fused_wanted_step(lt_wanted_step *out)
{
    static const char *const names[] = { "auto", "mma", "graph" };
    int choice;
    LT_TRY(lt_config_choice(LT_CONFIG_CUDA_STEP, names, (int)LT_LEN(names), LT_STEP_AUTO, &choice));
    *out = (lt_wanted_step)choice;
    return LT_OK;
}

static bool is_wanted(lt_wanted_step which)
{
    lt_wanted_step wanted;
    return !lt_fused_wanted_step(&wanted) && wanted == which;
}

static lt_fused_style style_of(const lt_device *dev, const lt_operator_spec *spec, lt_precision precision)
{
    static const lt_fused_numbers numbers[LT_PRECISION_COUNT] = { [LT_PRECISION_FLOAT32] = LT_FUSED_F32, [LT_PRECISION_FLOAT16] = LT_FUSED_F16,
                                                                  [LT_PRECISION_BFLOAT16] = LT_FUSED_BF16, [LT_PRECISION_TF32] = LT_FUSED_TF32 };
    lt_fused_style s = { .numbers = numbers[precision], .wrap = spec->circular_padding, .activation = activation_number(spec) };
    s.mma = lt_device_generation(dev) != SM_90 || lt_fused_single(s.numbers) || is_wanted(LT_STEP_MMA);
    return s;
}

bool lt_fused_cnn_fits(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, char why[static 160])
{
    const char *reason = NULL;
    lt_fused_style style = style_of(dev, spec, precision);
    if (spec->kind != LT_OPERATOR_CNN) reason = "only CNN operators have fused steps";
    else if (lt_device_generation(dev) < AMPERE) reason = "fused steps need tensor cores of sm_80 or later";
    else if (spec->grid < 2 * LT_FUSED_TILE) reason = "fused steps work on grids of 32 x 32 and more";
    else if (noise_number(spec) < 0) reason = "this noise is added channel by channel";
    else if (!shapes_fit(dev, spec, &style)) reason = "its maps or kernels are too wide for shared memory";
    snprintf(why, 160, "%s", reason ? reason : "");
    return !reason;
}

/* The kernels of sm_90 were measured on an H200; those for every card have not run on one yet. */
bool lt_fused_cnn_measured(lt_device *dev, lt_precision precision)
{
    return lt_device_generation(dev) == SM_90 && precision != LT_PRECISION_FLOAT32 && precision != LT_PRECISION_TF32 && !is_wanted(LT_STEP_MMA);
}

/* ---- What runs on what ---- */

static bool measured(const lt_operator_spec *s) { return s->normalization != LT_NORM_NONE && s->normalization != LT_NORM_BATCH; }

/* Buffers that hold neither a nor b. */
static int other_buffer(int a, int b)
{
    for (int i = 0; i < MAPS; i++)
        if (i != a && i != b) return i;
    return 0;
}

static map_ref add_conv(lt_fused_cnn *f, const char *name, int64_t real_in, int64_t real_out, map_ref source, int result)
{
    conv_layer *c = &f->conv[f->n_convs];
    *c = (conv_layer){ .real_in = real_in, .real_out = real_out, .source = source, .result = result };
    snprintf(c->name, sizeof c->name, "%s", name);
    c->shape = (lt_conv_shape){ .source = source.norm_of == NO_CONV ? LT_SOURCE_MAP : LT_SOURCE_NORMALISED,
                                .result = measured(&f->spec) ? LT_RESULT_NORMS : LT_RESULT_MAP, .kernel = f->spec.kernel_size, .stem = 1,
                                .in_c = source.width, .out_c = lt_fused_width(real_out) };
    f->seq[f->n_launches++] = (launch){ .kind = LAUNCH_CONV, .conv = f->n_convs };
    return (map_ref){ result, c->shape.out_c, f->n_convs++ };
}

static map_ref add_stem(lt_fused_cnn *f)
{
    int64_t seen = (int64_t)LT_FIELD_CHANNELS * f->spec.kernel_size * f->spec.kernel_size;
    map_ref m = add_conv(f, "stem", seen, f->spec.base_channels, (map_ref){ -1, lt_fused_width(seen), NO_CONV }, 0);
    lt_conv_shape *s = &f->conv[0].shape;
    s->source = LT_SOURCE_STATE;
    s->stem = s->kernel;
    s->kernel = 1;
    return m;
}

/* x + the map, or a projection of x + the map: a finished map in the map's place. */
static map_ref add_join(lt_fused_cnn *f, int block, map_ref x, int64_t real_in, map_ref map, int64_t real_out)
{
    launch *l = &f->seq[f->n_launches++];
    *l = (launch){ .kind = real_in == real_out ? LAUNCH_JOIN : LAUNCH_PROJECT, .map = map, .skip = x, .real_in = real_in, .real_out = real_out };
    l->shape = (lt_conv_shape){ .source = LT_SOURCE_MAP, .result = LT_RESULT_JOINED, .kernel = 1, .stem = 1, .in_c = x.width, .out_c = map.width };
    snprintf(l->name, sizeof l->name, "blocks.%d.proj", block);
    return (map_ref){ map.buffer, map.width, NO_CONV };
}

static void lay_out_network(lt_fused_cnn *f)
{
    const lt_operator_spec *s = &f->spec;
    map_ref x = add_stem(f), skip = { -1, 0, NO_CONV };
    int64_t width = s->base_channels;
    for (int i = 0; i < s->num_layers; i++) {
        char name[40];
        int64_t next = lt_cnn_width(s, i);
        int first = other_buffer(x.buffer, x.buffer);
        if (s->num_layers <= 3) {
            snprintf(name, sizeof name, "blocks.%d", i);
            x = add_conv(f, name, width, next, x, first);
        } else {
            snprintf(name, sizeof name, "blocks.%d.conv1", i);
            map_ref inner = add_conv(f, name, width, next, x, first);
            snprintf(name, sizeof name, "blocks.%d.conv2", i);
            map_ref outer = add_conv(f, name, next, next, inner, other_buffer(x.buffer, first));
            if (i + 1 == s->num_layers && width == next) skip = x, x = outer; /* the output adds them */
            else x = add_join(f, i, x, width, outer, next);
        }
        width = next;
    }
    f->seq[f->n_launches++] = (launch){ .kind = LAUNCH_OUTPUT, .map = x, .skip = skip };
}

/* ---- Memory ---- */

static size_t take(lt_fused_cnn *f, size_t bytes)
{
    size_t at = f->bytes;
    f->bytes = (f->bytes + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static int tiles_wide(const lt_fused_cnn *f) { return (f->spec.grid + LT_FUSED_TILE - 1) / LT_FUSED_TILE; }
static int64_t pixels(const lt_fused_cnn *f) { return (int64_t)f->spec.grid * f->spec.grid; }
static size_t weight_count(const conv_layer *c) { return (size_t)c->shape.in_c * (size_t)c->shape.out_c * (size_t)(c->shape.kernel * c->shape.kernel); }
static size_t projection_count(const launch *l) { return (size_t)l->skip.width * (size_t)l->map.width; }
static size_t number_bytes(const lt_fused_cnn *f) { return lt_fused_single(f->style.numbers) ? 4 : 2; }
static size_t weight_bytes(const lt_fused_cnn *f, const conv_layer *c) { return weight_count(c) * (lt_fused_single(lt_fused_products(&f->style, c->shape.source)) ? 4 : 2); }
static int output_width(const lt_fused_cnn *f) { return f->seq[f->n_launches - 1].map.width; }

static size_t job_bytes(launch_kind k)
{
    static const size_t bytes[] = { [LAUNCH_CONV] = sizeof(lt_conv_job), [LAUNCH_JOIN] = sizeof(lt_join_job),
                                    [LAUNCH_PROJECT] = LT_MAX(sizeof(lt_project_job), sizeof(lt_conv_job)), [LAUNCH_OUTPUT] = sizeof(lt_output_job) };
    return bytes[k];
}

static lt_status plan_memory(lt_fused_cnn *f)
{
    int widest = 0, tiles = tiles_wide(f) * tiles_wide(f);
    for (int i = 0; i < f->n_convs; i++) {
        conv_layer *c = &f->conv[i];
        if (!choose_shape(f->dev, &f->style, &c->shape)) return LT_FAIL(LT_ERR_UNSUPPORTED, "rollout: %s does not fit into shared memory", c->name);
        widest = LT_MAX(widest, c->shape.out_c);
    }
    f->map_bytes = (size_t)f->samples * (size_t)pixels(f) * (size_t)widest * number_bytes(f);
    take(f, MAPS * f->map_bytes);
    for (int i = 0; i < f->n_convs; i++) {
        conv_layer *c = &f->conv[i];
        c->weights_at = take(f, weight_bytes(f, c));
        c->affine_at = take(f, (size_t)c->shape.out_c * 2 * sizeof(float));
        if (c->shape.result != LT_RESULT_NORMS) continue;
        c->sums_at = take(f, (size_t)f->samples * (size_t)(tiles * c->shape.out_c) * 2 * sizeof(float));
        c->norms_at = take(f, (size_t)f->samples * (size_t)c->shape.out_c * 2 * sizeof(float));
        c->counts_at = take(f, (size_t)f->samples * sizeof(int32_t));
    }
    f->output_at = take(f, (size_t)(LT_FIELD_CHANNELS * output_width(f) + LT_FIELD_CHANNELS) * sizeof(float));
    f->ended_at = take(f, (size_t)f->samples * sizeof(int32_t));
    for (int i = 0; i < f->n_launches; i++) {
        launch *l = &f->seq[i];
        l->job_at = take(f, job_bytes(l->kind));
        if (l->kind != LAUNCH_PROJECT) continue;
        if (f->style.mma && !choose_shape(f->dev, &f->style, &l->shape)) return LT_FAIL(LT_ERR_UNSUPPORTED, "rollout: %s does not fit into shared memory", l->name);
        l->weights_at = take(f, projection_count(l) * number_bytes(f));
    }
    f->packs_at = take(f, sizeof f->pack);
    return LT_OK;
}

lt_status lt_fused_cnn_need(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations, int64_t *bytes)
{
    lt_fused_cnn *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    f->dev = dev;
    f->spec = *spec;
    f->style = style_of(dev, spec, precision);
    f->samples = realizations;
    lay_out_network(f);
    lt_status s = plan_memory(f);
    *bytes = (int64_t)f->bytes;
    lt_free(f);
    return s;
}

/* ---- Jobs ---- */

static void *memory_at(const lt_fused_cnn *f, size_t offset) { return f->memory + offset; }
static void *map_at(const lt_fused_cnn *f, int buffer) { return buffer < 0 ? NULL : f->memory + (size_t)buffer * f->map_bytes; }

static int group_size(const lt_operator_spec *s, int64_t channels)
{
    if (s->normalization == LT_NORM_GROUP) return (int)(channels / lt_group_count(channels));
    return s->normalization == LT_NORM_LAYER ? (int)channels : 1;
}

static lt_norm_job norm_job(const lt_fused_cnn *f, int conv)
{
    if (conv == NO_CONV) return (lt_norm_job){ 0 };
    const conv_layer *c = &f->conv[conv];
    bool made = c->shape.result == LT_RESULT_NORMS;
    return (lt_norm_job){ .ready = memory_at(f, made ? c->norms_at : c->affine_at), .stride = made ? c->shape.out_c : 0, .channels = c->shape.out_c };
}

static lt_sums_job sums_job(const lt_fused_cnn *f, const conv_layer *c)
{
    if (c->shape.result != LT_RESULT_NORMS) return (lt_sums_job){ 0 };
    return (lt_sums_job){ .sums = memory_at(f, c->sums_at), .affine = memory_at(f, c->affine_at), .norms = memory_at(f, c->norms_at), .counts = memory_at(f, c->counts_at),
                          .tiles = tiles_wide(f) * tiles_wide(f), .channels = c->shape.out_c, .real = (int)c->real_out,
                          .group = group_size(&f->spec, c->real_out), .pixels = (float)pixels(f) };
}

static lt_conv_job conv_job(const lt_fused_cnn *f, const conv_layer *c)
{
    const lt_conv_shape *s = &c->shape;
    return (lt_conv_job){ .source = map_at(f, c->source.buffer), .weights = memory_at(f, c->weights_at), .result = map_at(f, c->result),
                          .norm = norm_job(f, c->source.norm_of), .own = sums_job(f, c), .samples = (int)f->samples, .grid = f->spec.grid,
                          .tiles_wide = tiles_wide(f), .in_c = s->in_c, .out_c = s->out_c, .chunks = s->in_c / s->chunk, .blocks_n = s->blocks_n };
}

/* A block that widens, as a convolution of one tap whose result is joined to the map. */
static lt_conv_job projection_job(const lt_fused_cnn *f, const launch *l)
{
    const lt_conv_shape *s = &l->shape;
    return (lt_conv_job){ .source = map_at(f, l->skip.buffer), .weights = memory_at(f, l->weights_at), .result = map_at(f, l->map.buffer),
                          .norm = norm_job(f, l->map.norm_of), .samples = (int)f->samples, .grid = f->spec.grid, .tiles_wide = tiles_wide(f),
                          .in_c = s->in_c, .out_c = s->out_c, .chunks = s->in_c / s->chunk, .blocks_n = s->blocks_n };
}

static lt_status send(const lt_fused_cnn *f, size_t at, const void *what, size_t bytes)
{
    return lt_stream_copy(lt_device_stream(f->dev), f->memory + at, what, bytes, LT_TRANSFER_H2D, false);
}

static lt_status send_job(const lt_fused_cnn *f, const launch *l)
{
    if (l->kind == LAUNCH_CONV) {
        lt_conv_job j = conv_job(f, &f->conv[l->conv]);
        return send(f, l->job_at, &j, sizeof j);
    }
    if (l->kind == LAUNCH_JOIN) {
        lt_join_job j = { .map = map_at(f, l->map.buffer), .skip = map_at(f, l->skip.buffer), .result = map_at(f, l->map.buffer),
                          .norm = norm_job(f, l->map.norm_of), .skip_norm = norm_job(f, l->skip.norm_of), .pixels = (int)pixels(f) };
        return send(f, l->job_at, &j, sizeof j);
    }
    if (l->kind == LAUNCH_PROJECT && f->style.mma) {
        lt_conv_job j = projection_job(f, l);
        return send(f, l->job_at, &j, sizeof j);
    }
    if (l->kind == LAUNCH_PROJECT) {
        lt_project_job j = { .map = map_at(f, l->map.buffer), .source = map_at(f, l->skip.buffer), .weights = memory_at(f, l->weights_at), .result = map_at(f, l->map.buffer),
                             .norm = norm_job(f, l->map.norm_of), .pixels = (int)pixels(f) };
        return send(f, l->job_at, &j, sizeof j);
    }
    lt_output_job j = { .map = map_at(f, l->map.buffer), .skip = map_at(f, l->skip.buffer), .weights = memory_at(f, f->output_at), .ended = memory_at(f, f->ended_at),
                        .norm = norm_job(f, l->map.norm_of), .pixels = (int)pixels(f),
                        .real = (int)lt_cnn_width(&f->spec, f->spec.num_layers - 1) };
    return send(f, l->job_at, &j, sizeof j);
}

/* ---- Weights ---- */

static int64_t offset_of(const lt_network *n, const char *prefix, const char *suffix)
{
    char name[56];
    snprintf(name, sizeof name, "%.40s%s", prefix, suffix);
    for (int i = 0; i < n->n_tensors; i++)
        if (!strcmp(n->tensor[i].name, name)) return n->tensor[i].offset;
    return -1;
}

static void add_pack(lt_fused_cnn *f, lt_pack_job j)
{
    const lt_pack_job *last = f->n_packs ? &f->pack[f->n_packs - 1] : NULL;
    j.first = last ? last->first + last->count : 0;
    f->pack[f->n_packs++] = j;
}

/* Items of a job that packs this many weights, and how it orders them. */
static lt_pack_job pack_of_weights(const lt_fused_cnn *f, const lt_conv_shape *s, size_t count, int tile)
{
    lt_fused_numbers numbers = lt_fused_products(&f->style, s->source);
    bool single = lt_fused_single(numbers);
    return (lt_pack_job){ .kind = LT_PACK_CONV, .count = (int64_t)count / (single ? 1 : 2), .second = -1, .tile = tile, .cell = lt_fused_cell(numbers),
                          .single = !single ? 0 : numbers == LT_FUSED_TF32 ? 2 : 1, .fragments = f->style.mma ? tile / (8 * LT_MMA_WARPS_N) : 0 };
}

static int count_packs(const lt_fused_cnn *f)
{
    int n = 2 * f->n_convs + 1;
    for (int i = 0; i < f->n_launches; i++) n += f->seq[i].kind == LAUNCH_PROJECT;
    return n;
}

/* As many as count_packs says. */
static void plan_packing(lt_fused_cnn *f, const lt_network *n)
{
    bool none = f->spec.normalization == LT_NORM_NONE, batch = f->spec.normalization == LT_NORM_BATCH;
    for (int i = 0; i < f->n_convs; i++) {
        const conv_layer *c = &f->conv[i];
        const lt_conv_shape *s = &c->shape;
        lt_pack_job j = pack_of_weights(f, s, weight_count(c), s->tile_n);
        j.from = offset_of(n, c->name, ".weight"), j.to = memory_at(f, c->weights_at), j.inputs = (int)c->real_in, j.outputs = (int)c->real_out;
        j.taps = s->kernel * s->kernel, j.chunk = s->chunk, j.chunks = s->in_c / s->chunk;
        add_pack(f, j);
        add_pack(f, (lt_pack_job){ .kind = LT_PACK_AFFINE, .count = s->out_c, .to = memory_at(f, c->affine_at), .outputs = (int)c->real_out,
                 .from = none ? -1 : offset_of(n, c->name, ".norm.weight"), .second = offset_of(n, c->name, none ? ".bias" : ".norm.bias"),
                 .scale = batch ? (float)(1 / sqrt(1 + LT_NORM_EPSILON)) : 1 });
    }
    for (int i = 0; i < f->n_launches; i++) {
        const launch *l = &f->seq[i];
        if (l->kind != LAUNCH_PROJECT) continue;
        lt_pack_job j = pack_of_weights(f, &l->shape, projection_count(l), f->style.mma ? l->shape.tile_n : l->map.width);
        j.from = offset_of(n, l->name, ".weight"), j.to = memory_at(f, l->weights_at), j.inputs = (int)l->real_in, j.outputs = (int)l->real_out;
        j.taps = 1, j.chunk = f->style.mma ? l->shape.chunk : l->skip.width, j.chunks = l->skip.width / j.chunk;
        add_pack(f, j);
    }
    add_pack(f, (lt_pack_job){ .kind = LT_PACK_OUTPUT, .count = LT_FIELD_CHANNELS * output_width(f) + LT_FIELD_CHANNELS, .from = offset_of(n, "output", ".weight"),
             .second = offset_of(n, "output", ".bias"), .to = memory_at(f, f->output_at), .inputs = (int)lt_cnn_width(&f->spec, f->spec.num_layers - 1),
             .chunk = output_width(f) });
}

/* ---- Making ---- */

/* Blocks stay, on sm_90 in pairs; no more than there is work for. */
static unsigned conv_blocks(const lt_fused_cnn *f, const lt_conv_shape *s)
{
    int64_t tiles = f->samples * tiles_wide(f) * tiles_wide(f), turns = (tiles + 1) / 2 * s->blocks_n;
    if (f->style.mma) return (unsigned)LT_MIN(tiles * s->blocks_n, (int64_t)f->cores);
    return (unsigned)(2 * LT_MAX(1, LT_MIN(turns, f->cores / 2)));
}

/* Blocks per sample of a pass over maps: as many as run at once, or a few times as many where fewer cores are idle then. */
static int pass_blocks(const lt_fused_cnn *f, lt_pass_shape s)
{
    enum { MOST_TIMES = 4 };
    int64_t at_once = (int64_t)f->cores * s.per_core, samples = f->samples * s.parts, best = 1;
    double most = 0; /* share of the cores that works */
    for (int times = 1; times <= MOST_TIMES; times++) {
        int64_t blocks = LT_MAX(1, times * at_once / samples);
        double share = (double)(blocks * samples) / (double)((blocks * samples + at_once - 1) / at_once * at_once);
        if (share > most + 0.03) most = share, best = blocks;
    }
    return (int)LT_MIN(best, (pixels(f) + 15) / 16); /* tiles of 16 */
}

static double conv_flops(const lt_fused_cnn *f, const conv_layer *c)
{
    return 2.0 * (double)(f->samples * pixels(f)) * (double)(c->real_in * c->real_out * c->shape.kernel * c->shape.kernel);
}

static double projection_flops(const lt_fused_cnn *f, const launch *l) { return 2.0 * (double)(f->samples * pixels(f)) * (double)(l->real_in * l->real_out); }

static void add_conv_kernel(lt_fused_cnn *f, lt_builder *b, conv_layer *c)
{
    (f->style.mma ? lt_mma_add_conv : lt_fused_add_conv)(b, &f->style, &c->shape, conv_blocks(f, &c->shape), conv_flops(f, c), &c->kernel);
}

/* Of launches that are not convolutions. */
static void add_mma_kernel(lt_fused_cnn *f, lt_builder *b, launch *l)
{
    static const lt_pass_shape pass = { .threads = LT_MMA_THREADS, .per_core = 2, .parts = 1 };
    int blocks = pass_blocks(f, pass);
    if (l->kind == LAUNCH_JOIN) lt_mma_add_join(b, &f->style, f->samples, blocks, l->map.width, l->skip.norm_of != NO_CONV, &l->kernel);
    else if (l->kind == LAUNCH_PROJECT) lt_mma_add_conv(b, &f->style, &l->shape, conv_blocks(f, &l->shape), projection_flops(f, l), &l->kernel);
    else lt_mma_add_output(b, &f->style, f->samples, blocks, l->map.width, l->skip.buffer >= 0, noise_number(&f->spec), &l->kernel);
}

/* The kernel of launch i, or the one that packs weights. */
static void add_kernel(lt_fused_cnn *f, lt_builder *b, int i)
{
    launch *l = &f->seq[i];
    if (i == f->n_launches) lt_fused_add_pack(b, &f->style, (unsigned)(4 * f->cores), count_packs(f), &f->pack_kernel);
    else if (l->kind == LAUNCH_CONV) add_conv_kernel(f, b, &f->conv[l->conv]);
    else if (f->style.mma) add_mma_kernel(f, b, l);
    else if (l->kind == LAUNCH_JOIN)
        lt_fused_add_join(b, &f->style, f->samples, pass_blocks(f, lt_join_shape(l->map.width)), l->map.width, l->skip.norm_of != NO_CONV, &l->kernel);
    else if (l->kind == LAUNCH_PROJECT)
        lt_fused_add_project(b, &f->style, f->samples, pass_blocks(f, lt_project_shape(l->skip.width, l->map.width)), l->skip.width, l->map.width, &l->kernel);
    else
        lt_fused_add_output(b, &f->style, f->samples, pass_blocks(f, lt_output_shape(l->map.width, l->skip.buffer >= 0)), l->map.width, l->skip.buffer >= 0,
                            noise_number(&f->spec), &l->kernel);
}

/* By the threads of a pool: a text takes its compiler a second or two, the first time. */
static lt_status build_kernels(lt_fused_cnn *f, lt_pool *pool)
{
    lt_builder b = lt_builder_begin(f->dev);
    for (int i = 0; i <= f->n_launches; i++) add_kernel(f, &b, i);
    return lt_builder_finish(&b, pool);
}

/* Of a number per sample. */
static lt_status clear_counts(const lt_fused_cnn *f, size_t at)
{
    return lt_stream_fill(lt_device_stream(f->dev), f->memory + at, 0, (size_t)f->samples * sizeof(int32_t));
}

static lt_status create(lt_fused_cnn *f, const lt_network *network)
{
    LT_TRY(lt_device_alloc(f->dev, NULL, f->bytes, "rollout maps", (void **)&f->memory));
    plan_packing(f, network);
    for (int i = 0; i < f->n_launches; i++) LT_TRY(send_job(f, &f->seq[i]));
    LT_TRY(clear_counts(f, f->ended_at));
    for (int i = 0; i < f->n_convs; i++)
        if (f->conv[i].counts_at) LT_TRY(clear_counts(f, f->conv[i].counts_at));
    LT_TRY(send(f, f->packs_at, f->pack, sizeof f->pack));
    LT_TRY(lt_stream_sync(lt_device_stream(f->dev)));
    return build_kernels(f, lt_device_pool(f->dev));
}

/* Without memory on the device, and without kernels. */
static lt_status plan(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations, lt_fused_cnn **out)
{
    char why[160];
    lt_device_info info = { .size = sizeof info };
    *out = NULL;
    if (!lt_fused_cnn_fits(dev, spec, precision, why)) return LT_FAIL(LT_ERR_UNSUPPORTED, "rollout: %s", why);
    LT_TRY(lt_device_describe(dev, &info));
    lt_fused_cnn *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    f->dev = dev;
    f->spec = *spec;
    f->samples = realizations;
    f->cores = info.cores;
    f->style = style_of(dev, spec, precision);
    lay_out_network(f);
    lt_status s = plan_memory(f);
    if (s) lt_fused_cnn_destroy(f);
    else *out = f;
    return s;
}

lt_status lt_fused_cnn_create(lt_device *dev, const lt_network *network, lt_precision precision, int64_t realizations, lt_fused_cnn **out)
{
    LT_TRY(plan(dev, &network->spec, precision, realizations, out));
    lt_status s = create(*out, network);
    if (s) lt_fused_cnn_destroy(*out), *out = NULL;
    return s;
}

lt_status lt_fused_cnn_prepare(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations)
{
    lt_fused_cnn *f;
    LT_TRY(plan(dev, spec, precision, realizations, &f));
    lt_status s = build_kernels(f, NULL);
    lt_fused_cnn_destroy(f);
    return s;
}

void lt_fused_cnn_destroy(lt_fused_cnn *f)
{
    if (!f) return;
    for (int i = 0; i < f->n_convs; i++) lt_kernel_destroy(f->conv[i].kernel);
    for (int i = 0; i < f->n_launches; i++) lt_kernel_destroy(f->seq[i].kernel);
    lt_kernel_destroy(f->pack_kernel);
    (void)lt_device_free(f->dev, NULL, f->memory);
    lt_free(f);
}

int64_t lt_fused_cnn_bytes(const lt_fused_cnn *f) { return (int64_t)f->bytes; }
int     lt_fused_cnn_kernels(const lt_fused_cnn *f) { return f->n_launches; }

/* ---- Queueing ---- */

/* Launches take pointers to what they may not change as well. */
static void *any(const void *p) { return (void *)(uintptr_t)p; }

lt_status lt_fused_cnn_set_weights(lt_fused_cnn *f, lt_stream *st, const float *block)
{
    return lt_stream_launch(st, &(lt_launch){ f->pack_kernel, (void *[]){ f->memory + f->packs_at, any(block) } });
}

lt_status lt_fused_cnn_step(lt_fused_cnn *f, lt_stream *st, const float *state, const float *noise, const float policy[2], float *next, lt_step_end end)
{
    for (int i = 0; i < f->n_launches; i++) {
        const launch *l = &f->seq[i];
        void *job = memory_at(f, l->job_at);
        if (l->kind == LAUNCH_CONV) LT_TRY(lt_stream_launch(st, &(lt_launch){ f->conv[l->conv].kernel, (void *[]){ job, any(state) } }));
        else if (l->kind == LAUNCH_PROJECT && f->style.mma) LT_TRY(lt_stream_launch(st, &(lt_launch){ l->kernel, (void *[]){ job, any(state) } }));
        else if (l->kind == LAUNCH_OUTPUT)
            LT_TRY(lt_stream_launch(st, &(lt_launch){ l->kernel, (void *[]){ job, any(state), any(noise ? noise : state), any(policy), next,
                                                                             any(end.t), end.failed } }));
        else LT_TRY(lt_stream_launch(st, &(lt_launch){ l->kernel, (void *[]){ job } }));
    }
    return LT_OK;
}
