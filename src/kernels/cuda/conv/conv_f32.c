/* Convolutions in plain f32 by text of our own: cuDNN's engines that neither round nor transform are slow (decision 132).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/window.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cuda/fused/epilogue.h"
#include "kernels/cuda/fused/pass.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include <stdio.h>
#include <string.h>

extern const char lt_text_conv_f32_cu[];

enum { TURN_THREADS = 256, MAX_TAPS = 49, MULTIPROCESSORS = 132 };

/* Results of a block, steps of a slice, slices under way, blocks that shall fit a multiprocessor. */
typedef struct f32_tile { int pixels, outputs, depth, stages, resident; } f32_tile;
static const f32_tile narrow = { 128, 32, 16, 3, 8 }, small = { 64, 64, 16, 3, 8 }, middle = { 128, 64, 16, 3, 4 }, wide = { 128, 128, 16, 3, 2 };
static const f32_tile *const tiles[] = { &narrow, &small, &middle, &wide };

/* The convolution that is computed: of x, or of the gradient of y with weights turned round. */
typedef struct gather {
    int64_t c, xh, xw, o, h, w, n;       /* read: channels, size; written: channels, size; images */
    int64_t y0, z0, dy, dz;              /* where the first tap of result (0, 0) is, and how far the next */
    int64_t weight_o, weight_c;          /* steps of the weights along written and read channels */
    const int64_t *xs, *ys;
} gather;

typedef struct f32_convolution {
    lt_kernel  base;
    lt_kernel *turn, *conv;
    int        result, n_operands, operand[LT_EPILOGUE_STEPS]; /* arguments of the kernel */
} f32_convolution;

/* ---- Running -------------------------------------------------------------------------------------- */
static lt_status queue_pack(const lt_kernel *k, lt_stream *st, const void *operand, void *packed)
{
    return lt_stream_launch(st, &(lt_launch){ ((const f32_convolution *)k)->turn, (void *[]){ (void *)(uintptr_t)operand, packed } });
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const f32_convolution *c = (const f32_convolution *)k;
    void *turned = k->packed ? k->packed : arg[k->n_args];
    void *own[3 + LT_EPILOGUE_STEPS] = { arg[0], turned, arg[c->result] };
    for (int i = 0; i < c->n_operands; i++) own[3 + i] = arg[c->operand[i]];
    if (!k->packed) LT_TRY(queue_pack(k, st, arg[1], turned));
    return lt_stream_launch(st, &(lt_launch){ c->conv, own });
}

static void destroy(lt_kernel *k)
{
    f32_convolution *c = (f32_convolution *)k;
    lt_kernel_destroy(c->turn);
    lt_kernel_destroy(c->conv);
    lt_free(c);
}

/* ---- Text ------------------------------------------------------------------------------------------ */
static gather gather_of(const lt_conv_sizes *s, lt_op op)
{
    const lt_window *w = &s->win;
    int64_t taps = w->kernel[0] * w->kernel[1];
    if (op == LT_OP_CONV2D)
        return (gather){ s->c, s->h, s->w, s->o, s->oh, s->ow, s->n, -w->pad[0], -w->pad[1], w->dilation[0], w->dilation[1], s->c * taps, taps, s->xs, s->ys };
    return (gather){ s->o, s->oh, s->ow, s->c, s->h, s->w, s->n, w->pad[0], w->pad[1], -w->dilation[0], -w->dilation[1], taps, s->c * taps, s->ys, s->xs };
}

static int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static void add_constants(lt_text *t, const lt_conv_sizes *s, const gather *g, const f32_tile *b)
{
    const lt_window *w = &s->win;
    const struct { const char *name; int64_t value; } constant[] = {
        { "LAST", w->channels_last }, { "N", g->n }, { "C", g->c }, { "XH", g->xh }, { "XW", g->xw }, { "O", g->o }, { "H", g->h }, { "W", g->w },
        { "TAPS", w->kernel[0] * w->kernel[1] }, { "KW", w->kernel[1] }, { "SH", w->stride[0] }, { "SW", w->stride[1] },
        { "Y0", g->y0 }, { "Z0", g->z0 }, { "DY", g->dy }, { "DZ", g->dz }, { "WS_O", g->weight_o }, { "WS_C", g->weight_c },
        { "XS0", g->xs[0] }, { "XS1", g->xs[1] }, { "XS2", g->xs[2] }, { "XS3", g->xs[3] }, { "YS0", g->ys[0] }, { "YS1", g->ys[1] }, { "YS3", g->ys[3] },
        { "PIXELS", b->pixels }, { "OUTPUTS", b->outputs }, { "DEPTH", b->depth }, { "STAGES", b->stages }, { "RESIDENT", b->resident },
        { "O_ROOM", rounded_up(g->o, b->outputs) },
    };
    for (size_t i = 0; i < LT_LEN(constant); i++) lt_text_add(t, "enum : i32 { %s = %lld };\n", constant[i].name, (long long)constant[i].value);
}

/* finish(v, at, channel, …): what follows a result, from the same ops as generated kernels. */
static void add_finish(lt_text *t, const lt_epilogue_chain *chain)
{
    bool used[LT_N_ELEMENTWISE] = { false };
    int n = 0, next = 0;
    for (int i = 0; i < chain->n_steps; i++) n += chain->step[i].arg >= 0, used[chain->step[i].op] = true;
    lt_fused_add_ops(used, t);
    lt_text_add(t, "#define FINISH_PARAMETERS ");
    for (int i = 0; i < n; i++) lt_text_add(t, ", const f32 *f%d", i);
    lt_text_add(t, "\n#define FINISH_ARGUMENTS ");
    for (int i = 0; i < n; i++) lt_text_add(t, ", f%d", i);
    lt_text_add(t, "\ninline f32 finish(f32 v, i64 at, i32 channel FINISH_PARAMETERS)\n{\n");
    for (int i = 0; i < chain->n_steps; i++) {
        const lt_epilogue_step *s = &chain->step[i];
        lt_text_add(t, "    v = op_%s<f32>(v", lt_op_name(s->op));
        if (s->arg >= 0) lt_text_add(t, ", f%d[%s]", next++, s->whole ? "at" : "channel");
        lt_text_add(t, ");\n");
    }
    lt_text_add(t, "    return v;\n}\n");
}

/* ---- Making ---------------------------------------------------------------------------------------- */
static size_t shared_bytes(const lt_conv_sizes *s, const f32_tile *b)
{
    int64_t fetched = b->stages * b->depth * (b->pixels + 4 + b->outputs) + s->win.kernel[0] * s->win.kernel[1] * b->pixels;
    int64_t results = s->win.channels_last ? b->pixels * (b->outputs + 4) : b->outputs * (b->pixels + 4);
    return (size_t)LT_MAX(fetched, results) * sizeof(float);
}

/* One entry of the text. What follows a result has the bits of generated kernels: nothing is contracted unasked. */
static lt_status build(lt_device *dev, const lt_conv_sizes *s, const gather *g, const f32_tile *b, const lt_epilogue_chain *chain, lt_kernel_key *key, lt_kernel **out)
{
    static const char *const options[] = { "--fmad=false" };
    lt_text constants = { 0 }, whole = { 0 };
    add_constants(&constants, s, g, b);
    add_finish(&constants, chain);
    lt_text_kernel_join(&constants, lt_text_conv_f32_cu, &whole);
    key->source = whole.s, key->options = options, key->n_options = (int)LT_LEN(options), key->waits = true;
    lt_status status = whole.failed ? LT_FAIL(LT_ERR_MEMORY, "no memory for the text of kernel '%s'", key->name) : lt_device_build(dev, key, out);
    lt_text_free(&constants);
    lt_text_free(&whole);
    return status;
}

static lt_status make(f32_convolution *c, lt_device *dev, const lt_problem_key *p, const lt_epilogue_chain *chain, const f32_tile *b)
{
    lt_conv_sizes s = lt_conv_sizes_of(p);
    gather g = gather_of(&s, p->op);
    int64_t o_room = rounded_up(g.o, b->outputs), steps = rounded_up(g.c * s.win.kernel[0] * s.win.kernel[1], b->depth);
    for (int i = 0; i < chain->n_steps; i++)
        if (chain->step[i].arg >= 0) c->operand[c->n_operands++] = chain->step[i].arg;
    c->base.queue_pack = queue_pack;
    c->base.pack_arg = 1;
    c->base.packed_bytes = c->base.scratch_bytes = (size_t)(o_room * steps) * sizeof(float);
    lt_kernel_key key = { .name = "conv2d_f32_turn", .entry = "turn", .n_args = 2, .grid = { lt_blocks(o_room * steps, TURN_THREADS), 1, 1 },
                          .block = { TURN_THREADS, 1, 1 }, .bytes = 2 * (double)c->base.packed_bytes };
    LT_TRY(build(dev, &s, &g, b, chain, &key, &c->turn)); /* the same text: compiled once */
    key = (lt_kernel_key){ .name = "conv2d_f32", .entry = "conv", .n_args = 3 + c->n_operands, .shared_bytes = shared_bytes(&s, b),
                           .grid = { lt_blocks(g.n * g.h * g.w, b->pixels) * (unsigned)(o_room / b->outputs), 1, 1 },
                           .block = { (unsigned)(b->pixels * b->outputs / 64), 1, 1 }, .flops = lt_conv_flops(&s), .bytes = lt_problem_bytes(p) };
    return build(dev, &s, &g, b, chain, &key, &c->conv);
}

static lt_status prepare_one(lt_device *dev, const lt_problem_key *p, const lt_epilogue_chain *chain, const f32_tile *b, lt_kernel **out)
{
    static const lt_epilogue_chain none;
    f32_convolution *c = lt_calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "no memory for a convolution");
    c->result = chain ? chain->result : 2;
    c->base = (lt_kernel){ .name = chain ? "conv2d_f32_fused" : "conv2d_f32", .enqueue = enqueue, .destroy = destroy, .module = dev->state,
                           .n_args = p->n_in + (chain ? p->epilogue->n_args : 1) };
    lt_status s = make(c, dev, p, chain ? chain : &none, b);
    if (s) {
        destroy(&c->base);
        return s;
    }
    c->base.flops = c->conv->flops, c->base.bytes = c->conv->bytes;
    *out = &c->base;
    return LT_OK;
}

/* ---- The row ---------------------------------------------------------------------------------------- */
/* As measured on an H200: wide tiles where outputs fill them and several rounds of blocks follow each other, small ones
   where there is not a block for each multiprocessor otherwise. The bits are the same. */
static const f32_tile *choose_tile(const gather *g)
{
    int64_t blocks = rounded_up(g->n * g->h * g->w, middle.pixels) / middle.pixels * (rounded_up(g->o, middle.outputs) / middle.outputs);
    if (g->o <= narrow.outputs) return &narrow;
    if (blocks < MULTIPROCESSORS) return &small;
    return g->o % wide.outputs == 0 && blocks >= 8 * MULTIPROCESSORS ? &wide : &middle;
}

/* Where tiles stay empty for the most part, and where sums are short besides, cuDNN is as fast or faster. */
static bool pays(const gather *g) { return (g->o >= 32 || g->c >= 32) && g->n * g->h * g->w >= 1024; }

bool lt_conv_f32_applies(const lt_problem_key *p)
{
    if (!lt_key_is_all(p, LT_F32)) return false;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    gather g = gather_of(&s, p->op);
    int64_t taps = s.win.kernel[0] * s.win.kernel[1], limit = (int64_t)1 << 30; /* places and steps are 32 bits wide */
    bool small_enough = s.n * s.c * s.h * s.w < limit && s.n * s.o * s.oh * s.ow < limit && s.o * s.c * taps < limit && taps <= MAX_TAPS;
    return s.groups == 1 && s.c > 0 && s.o > 0 && s.h > 0 && s.w > 0 && taps > 0 && small_enough && pays(&g)
        && (p->op == LT_OP_CONV2D || (s.win.stride[0] == 1 && s.win.stride[1] == 1));
}

static void name_tile(const f32_tile *b, char text[LT_CUDA_VARIANT_TEXT]) { snprintf(text, LT_CUDA_VARIANT_TEXT, "%dx%d", b->pixels, b->outputs); }

int lt_conv_f32_variants(lt_device *dev, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max)
{
    lt_conv_sizes s = lt_conv_sizes_of(p);
    gather g = gather_of(&s, p->op);
    const f32_tile *own = choose_tile(&g);
    int n = 0;
    (void)dev;
    if (n < max) name_tile(own, variant[n++]);
    for (size_t i = 0; i < LT_LEN(tiles) && n < max; i++)
        if (tiles[i] != own) name_tile(tiles[i], variant[n++]);
    return n;
}

static const f32_tile *tile_of(const lt_problem_key *p, const gather *g)
{
    char name[LT_CUDA_VARIANT_TEXT];
    if (!p->variant) return choose_tile(g);
    for (size_t i = 0; i < LT_LEN(tiles); i++) {
        name_tile(tiles[i], name);
        if (strcmp(name, p->variant) == 0) return tiles[i];
    }
    return NULL;
}

lt_status lt_conv_f32_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_epilogue_chain chain;
    lt_kernel *k;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    gather g = gather_of(&s, p->op);
    const f32_tile *b = tile_of(p, &g);
    *out = NULL;
    if (!b) return LT_FAIL(LT_ERR_UNSUPPORTED, "conv2d_f32 has no tile '%s'", p->variant);
    if (lt_epilogue_is_chain(p, s.win.channels_last ? 3 : 1, &chain)) return prepare_one(dev, p, &chain, b, out);
    LT_TRY(prepare_one(dev, p, NULL, b, &k));
    return lt_epilogue_wrap(dev, p, "conv2d_f32+epilogue", k, out);
}
