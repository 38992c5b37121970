/* The handle: checks, plans, packs rows, runs tiles, reports. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/stream.h"
#include "graph/program.h"
#include "qkernel/closed.h"
#include "qkernel/plan.h"
#include "qkernel/post.h"
#include "qkernel/rows.h"
#include "qkernel/tiles.h"
#include "qkernel/tuning.h"
#include "trace/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Results and packed rows larger than this leave the second-level cache anyway. */
#define STREAM_FROM_BYTES 4e6

typedef struct buffer { void *p; size_t bytes; } buffer;

struct lt_gram {
    lt_device      *dev;
    lt_pool        *pool, *own_pool;  /* own_pool NULL: the device's */
    lt_gram_options opt;
    lt_circuit      circuit;
    const lt_gram_isa *isa;
    int             transfer_from;    /* qubits; where auto takes transfer matrices */
    const char     *transfer_reason;
    buffer          a, b, work, scratch, norms;
    lt_gram_plan    plan;             /* of the last fill */
    bool            planned;          /* plan holds, with its memory */
    lt_gram_info    info;
};

/* ---- creation ---- */

/* Each value as text back through its row: the table holds the only copy of the ranges. */
static lt_status check_options(const lt_gram_options *opt)
{
    const lt_option_table *t = lt_gram_options_table();
    lt_gram_options copy = *opt;
    for (int i = 0; i < t->groups[0].n_rows; i++) {
        char value[64];
        const char *name = t->groups[0].rows[i].name;
        LT_TRY(lt_options_get(t, name, opt, value, sizeof value));
        LT_TRY(lt_options_set(t, name, value, &copy));
    }
    if (opt->state_tile == 0) return LT_FAIL(LT_ERR_ARGUMENT, "gram: state_tile is 0, expected -1 or at least 1");
    return LT_OK;
}

static lt_status check_weights(const lt_gram_options *opt, const lt_weights *w)
{
    if (!w || !w->data) return LT_FAIL(LT_ERR_ARGUMENT, "gram: no weights");
    if (w->n_qubits < 1 || w->n_qubits > 1 << 20)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %lld qubits, expected 1 to %d", (long long)w->n_qubits, 1 << 20);
    if (w->n_layers < 1 || w->n_layers > 1 << 20)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %lld layers, expected 1 to %d", (long long)w->n_layers, 1 << 20);
    int64_t per_wire = opt->entangler == LT_ENTANGLER_STRONG ? 3 : 1, per_layer = w->n_qubits * per_wire;
    for (int64_t i = 0; i < w->n_layers * per_layer; i++)
        if (!isfinite(w->data[i]))
            return LT_FAIL(LT_ERR_ARGUMENT, "gram: the weights are %g at row %lld, column %lld: every number must be finite",
                           w->data[i], (long long)(i / per_layer), (long long)(i % per_layer));
    return LT_OK;
}

/* Timings on this machine, where there are some, decide between two exact methods. */
static void choose_threshold(lt_gram *g)
{
    lt_gram_method stored;
    g->transfer_from = LT_TRANSFER_FROM_QUBITS;
    g->transfer_reason = "built in";
    if (g->opt.method != LT_GRAM_AUTO || !g->opt.autotune || !g->circuit.has_transfer) return;
    if (!lt_gram_stored_choice(g->dev, g->circuit.q, g->opt.dtype, &stored)) return;
    g->transfer_from = g->circuit.q + (stored == LT_GRAM_STATES);
    g->transfer_reason = "stored timings";
}

static lt_status open_parts(lt_gram *g, const lt_weights *w)
{
    if (strncmp(lt_device_id(g->dev), "cpu", 3))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: device %s: Gram matrices are computed on the CPU only", lt_device_id(g->dev));
    g->pool = g->dev->pool;
    if (g->opt.n_workers > 0) {
        LT_TRY(lt_pool_create((int)g->opt.n_workers, &g->own_pool));
        g->pool = g->own_pool;
    }
    g->isa = lt_gram_isa_of(lt_isa_best());
    LT_TRY(lt_circuit_create(&g->opt, w, &g->circuit));
    choose_threshold(g);
    return LT_OK;
}

lt_status lt_gram_create(lt_device *dev, const lt_gram_options *opt, const lt_weights *w, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    if (!opt) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the options are NULL; start from lt_gram_defaults()");
    LT_TRY(check_options(opt));
    LT_TRY(check_weights(opt, w));
    if (!dev) LT_TRY(lt_default_device(&dev));
    lt_gram *g = lt_calloc(1, sizeof *g);
    if (!g) return LT_ERR_MEMORY;
    g->dev = dev;
    g->opt = *opt;
    lt_status s = open_parts(g, w);
    if (s) {
        lt_gram_destroy(g);
        return s;
    }
    *out = g;
    return LT_OK;
}

static void release(lt_gram *g, buffer *b)
{
    if (b->p) (void)lt_device_free(g->dev, g->dev->stream, b->p);
    *b = (buffer){ 0 };
}

void lt_gram_destroy(lt_gram *g)
{
    if (!g) return;
    buffer *all[] = { &g->a, &g->b, &g->work, &g->scratch, &g->norms };
    for (size_t i = 0; i < LT_LEN(all); i++) release(g, all[i]);
    lt_circuit_destroy(&g->circuit);
    lt_pool_destroy(g->own_pool);
    lt_free(g);
}

/* At least this many bytes; what was there is lost when it must grow. */
static lt_status reserve(lt_gram *g, buffer *b, size_t bytes, const char *owner)
{
    if (b->bytes >= bytes) return LT_OK;
    g->planned = false; /* until all buffers are there */
    release(g, b);
    LT_TRY(lt_device_alloc(g->dev, g->dev->stream, bytes, owner, &b->p));
    b->bytes = bytes;
    return LT_OK;
}

static int64_t held_bytes(const lt_gram *g)
{
    return (int64_t)(g->a.bytes + g->b.bytes + g->work.bytes + g->scratch.bytes + g->norms.bytes);
}

/* ---- filling ---- */

typedef struct fill {
    lt_gram       *g;
    const lt_rows *x, *y;        /* y NULL: x with itself */
    lt_gram_out    out;
    lt_gram_meter  meter;
    double        *left, *right; /* k(x,x), k(y,y) where normalising needs them; else NULL */
    int64_t        states_ns, product_ns, states_built;
} fill;

/* Rows first..first+n-1 into panels, with their k(x,x) where asked for. */
static lt_status pack(fill *f, const lt_rows *x, int64_t first, int64_t n, buffer *to, double *diagonal)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("gram states");
    lt_status s;
    if (p->method == LT_GRAM_STATES) {
        s = lt_states_pack(&p->maker, g->pool, x, first, n, p->planes, g->work.p, p->n_slots, to->p, diagonal,
                           (double)p->a_bytes > STREAM_FROM_BYTES);
        for (int64_t i = 0; diagonal && i < n; i++) diagonal[i] *= diagonal[i];
        f->states_built += n;
    } else {
        s = lt_closed_pack(&g->circuit, p->closed, p->method, g->pool, x, first, n, to->p);
        if (!s && diagonal) s = lt_tiles_diagonal(p, &g->circuit, to->p, n, g->scratch.p, diagonal);
    }
    lt_trace_span_end(span);
    f->states_ns += lt_clock_ns() - start;
    return s;
}

static lt_status run_block(fill *f, const buffer *a, const buffer *b, lt_gram_block block)
{
    lt_gram *g = f->g;
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("gram tiles");
    block.a = a->p;
    block.b = b->p;
    lt_status s = lt_tiles_run(&g->plan, &g->circuit, g->pool, &block, &f->out, g->scratch.p, &f->meter);
    lt_trace_span_end(span);
    f->product_ns += lt_clock_ns() - start;
    return s;
}

/* The blocks in the order they are computed, counted or run. A block of rows stays while blocks of
   columns pass; above the diagonal only, when half of the matrix is enough. */
typedef lt_status (*block_fn)(fill *f, const lt_gram_block *b, bool first_of_row);

static lt_status each_block(fill *f, block_fn visit)
{
    const lt_gram_plan *p = &f->g->plan;
    for (int64_t row = 0; row < p->n; row += p->block_rows) {
        lt_gram_block b = { .first_row = row, .n_rows = LT_MIN(p->block_rows, p->n - row) };
        bool first = true;
        int64_t column = 0;
        if (!p->cross) { /* the rows with themselves need no second packing */
            b.first_column = row;
            b.n_columns = b.n_rows;
            LT_TRY(visit(f, &b, first));
            first = false;
            column = p->half ? row + b.n_rows : 0;
        }
        for (; column < p->m; column += b.n_columns) {
            if (!p->cross && column == row) { /* done above */
                b.n_columns = LT_MIN(p->block_rows, p->n - row);
                continue;
            }
            b.first_column = column;
            b.n_columns = LT_MIN(p->block_columns, p->m - column);
            if (!p->cross && column < row) b.n_columns = LT_MIN(b.n_columns, row - column);
            LT_TRY(visit(f, &b, first));
            first = false;
        }
    }
    return LT_OK;
}

static lt_status count_block(fill *f, const lt_gram_block *b, bool first)
{
    (void)first;
    f->meter.tiles_total += lt_tiles_count(&f->g->plan, b, &f->meter.pairs_total);
    return LT_OK;
}

static lt_status compute_block(fill *f, const lt_gram_block *b, bool first)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    if (first) LT_TRY(pack(f, f->x, b->first_row, b->n_rows, &g->a, f->left ? f->left + b->first_row : NULL));
    if (!p->cross && b->first_row == b->first_column) return run_block(f, &g->a, &g->a, *b);
    LT_TRY(pack(f, p->cross ? f->y : f->x, b->first_column, b->n_columns, &g->b, f->right ? f->right + b->first_column : NULL));
    return run_block(f, &g->a, &g->b, *b);
}

static lt_status reserve_all(lt_gram *g)
{
    const lt_gram_plan *p = &g->plan;
    LT_TRY(reserve(g, &g->a, p->a_bytes, "gram rows"));
    LT_TRY(reserve(g, &g->b, p->b_bytes, "gram columns"));
    LT_TRY(reserve(g, &g->work, p->work_bytes, "gram workspace"));
    LT_TRY(reserve(g, &g->scratch, p->scratch_bytes * (size_t)lt_pool_threads(g->pool), "gram tiles"));
    if (g->opt.normalize) LT_TRY(reserve(g, &g->norms, (size_t)(p->n + p->m) * sizeof(double), "gram diagonals"));
    return LT_OK;
}

/* The plan of the last call serves again when the sizes are the same: its memory is held. */
static lt_status make_plan(lt_gram *g, const lt_rows *x, const lt_rows *y)
{
    if (g->planned && g->plan.n == x->n && g->plan.m == (y ? y->n : x->n) && g->plan.cross == (y != NULL)) return LT_OK;
    g->planned = false;
    int64_t free_bytes, total_bytes;
    LT_TRY(g->dev->backend->mem_info(g->dev, &free_bytes, &total_bytes));
    lt_plan_request r = {
        .opt = &g->opt, .circuit = &g->circuit, .isa = g->isa, .threads = lt_pool_threads(g->pool), .n = x->n, .m = y ? y->n : x->n,
        .cross = y != NULL, .free_bytes = free_bytes + held_bytes(g), .total_bytes = total_bytes,
        .transfer_from = g->transfer_from, .transfer_reason = g->transfer_reason,
    };
    LT_TRY(lt_gram_plan_make(&r, &g->plan));
    LT_TRY(reserve_all(g));
    g->planned = true;
    return LT_OK;
}

static lt_status normalize(fill *f)
{
    lt_gram *g = f->g;
    if (f->y) return lt_post_normalize_cross(&f->out, g->pool, g->plan.n, f->left, f->right);
    return lt_post_normalize(&f->out, g->pool, g->opt.jitter, g->norms.p);
}

static double flops_per_pair(const lt_gram_plan *p, int q)
{
    if (p->method == LT_GRAM_STATES) return ldexp(8, q);
    return p->method == LT_GRAM_PRODUCT ? 8.0 * q : 370.0 * (q - 1);
}

static void name_kernel(const lt_gram *g, char *name, size_t bytes)
{
    const lt_gram_plan *p = &g->plan;
    const char *isa = lt_isa_name(lt_isa_best());
    if (p->method == LT_GRAM_STATES)
        snprintf(name, bytes, "overlap%d_%s_%s_%s", p->planes, p->element == 4 ? "f32" : "f64", isa, p->loops->shape);
    else snprintf(name, bytes, "%s_f64_%s_%s", lt_gram_method_name(p->method), isa, p->closed->shape);
}

static void fill_info(fill *f, int64_t post_ns, int64_t total_ns)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    lt_gram_info *i = &g->info;
    *i = (lt_gram_info){
        .method = p->method, .backend = "cpu", .precision = p->element == 4 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64,
        .n = p->n, .m = p->m, .n_qubits = g->circuit.q, .n_layers = g->circuit.n_layers, .threads = lt_pool_threads(g->pool),
        .states_seconds = 1e-9 * (double)f->states_ns, .product_seconds = 1e-9 * (double)f->product_ns,
        .post_seconds = 1e-9 * (double)post_ns, .total_seconds = 1e-9 * (double)total_ns,
        .pairs = f->meter.pairs_total, .tiles = f->meter.tiles_total, .states_built = f->states_built,
        .peak_bytes = held_bytes(g),
    };
    i->mpairs_per_s = 1e-6 * (double)i->pairs / fmax(i->total_seconds, 1e-9);
    i->tflops = 1e-12 * (double)i->pairs * flops_per_pair(p, g->circuit.q) / fmax(i->product_seconds, 1e-9);
    name_kernel(g, i->kernel, sizeof i->kernel);
    memcpy(i->plan, p->text, sizeof i->plan);
    if (g->circuit.collapses)
        snprintf(i->note, sizeof i->note, "weights, layers and entangler cannot influence this kernel: %s, so one fixed unitary "
                 "follows the embedding and cancels", g->opt.re_embed_between_layers ? "there is one layer" : "re-embedding is off");
}

/* Whole lines written past the caches need not be read first. */
static void choose_copy(fill *f)
{
    const lt_gram_plan *p = &f->g->plan;
    const lt_vec_set *vec = lt_vec_set_of(lt_isa_best(), f->out.f32 ? LT_F32 : LT_F64);
    bool large = (double)p->n * (double)p->m * (f->out.f32 ? 4 : 8) > STREAM_FROM_BYTES;
    f->out.copy = large ? vec->copy_streaming : vec->copy;
    f->out.fence = vec->fence;
}

static lt_status run(fill *f)
{
    lt_gram *g = f->g;
    int64_t start = lt_clock_ns();
    f->meter.start_ns = start;
    LT_TRY(make_plan(g, f->x, f->y));
    f->out.half = g->plan.half;
    f->out.n_columns = g->plan.m;
    choose_copy(f);
    if (g->opt.normalize && f->y) {
        f->left = g->norms.p;
        f->right = f->left + g->plan.n;
    }
    LT_TRY(each_block(f, count_block));
    LT_TRY(each_block(f, compute_block));
    int64_t post = lt_clock_ns();
    if (g->opt.normalize) LT_TRY(normalize(f));
    int64_t end = lt_clock_ns();
    fill_info(f, end - post, end - start);
    return LT_OK;
}

lt_status lt_gram_fill(lt_gram *g, const lt_rows *x, const lt_rows *y, void *K)
{
    if (!g || !x || !K) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or K is NULL");
    LT_TRY(lt_rows_check("X", x, g->circuit.q, g->opt.angle_scale));
    if (y) LT_TRY(lt_rows_check("Y", y, g->circuit.q, g->opt.angle_scale));
    if (y && g->opt.packed) return LT_FAIL(LT_ERR_ARGUMENT, "gram: a packed triangle was asked for, but with Y the matrix is not symmetric");
    fill f = { .g = g, .x = x, .y = y, .meter = { .fn = g->opt.progress, .ctx = g->opt.progress_ctx },
               .out = { .K = K, .f32 = g->opt.return_dtype == LT_GRAM_FLOAT32, .packed = g->opt.packed } };
    lt_span span = lt_trace_span_begin("gram");
    lt_status s = run(&f);
    lt_trace_span_end(span);
    return s;
}

lt_status lt_gram_states(lt_gram *g, const lt_rows *x, void *out)
{
    if (!g || !x || !out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or the output is NULL");
    LT_TRY(lt_rows_check("X", x, g->circuit.q, g->opt.angle_scale));
    if (g->circuit.q > LT_STATES_MAX_QUBITS)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d qubits are too many for state vectors (at most %d)", g->circuit.q, LT_STATES_MAX_QUBITS);
    const lt_gram_loops *loops = lt_states_loops(g->isa, g->opt.dtype, g->circuit.q);
    lt_state_maker m = lt_state_maker_of(&g->circuit, loops, g->opt.dtype);
    int n_slots = (int)LT_MIN((int64_t)lt_pool_threads(g->pool), (x->n - 1) / loops->lanes + 1);
    LT_TRY(reserve(g, &g->work, m.slot_bytes * (size_t)n_slots, "gram workspace"));
    return lt_states_unpack(&m, g->pool, x, g->work.p, n_slots, out);
}

lt_gram_info lt_gram_get_info(const lt_gram *g) { return g->info; }
