/* The handle: checks, plans, packs rows, runs tiles, reports. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/stream.h"
#include "graph/program.h"
#include "qkernel/batch.h"
#include "qkernel/closed.h"
#include "qkernel/history.h"
#include "qkernel/plan.h"
#include "qkernel/post.h"
#include "qkernel/remote/remote.h"
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
    lt_gram_options opt, used;        /* as given; as planned, with learnt tiles */
    lt_circuit      circuit;
    const lt_gram_isa *isa;
    int             transfer_from;    /* qubits; where auto takes transfer matrices */
    const char     *transfer_reason;
    buffer          a, b, work, scratch, norms;
    lt_gram_plan    plan;             /* of the last fill */
    bool            planned;          /* plan holds, with its memory */
    lt_gram_info    info;
    lt_gram_profile profile;
    int             n_remotes;        /* devices with memory of their own; 0 = the CPU */
    lt_remote      *remote[LT_REMOTE_MAX_DEVICES];
    lt_pool        *remote_pool[LT_REMOTE_MAX_DEVICES]; /* of their own where there are several; else NULL */
    bool            history_read;
    lt_tile_history *history;         /* with learn_tiles, once a plan was made */
    lt_tile_record  best;             /* the fastest fill so far; n 0 = none worth remembering */
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

static bool is_cpu(const lt_device *dev) { return !strcmp(dev->backend->name, "cpu"); }

/* Timings on this machine, where there are some, decide between two exact methods. */
static void choose_threshold(lt_gram *g)
{
    lt_gram_method stored;
    g->transfer_from = is_cpu(g->dev) ? LT_TRANSFER_FROM_QUBITS : g->opt.dtype == LT_GRAM_FLOAT32 ? LT_TRANSFER_FROM_ON_GPU + 1 : LT_TRANSFER_FROM_ON_GPU;
    g->transfer_reason = "built in";
    if (g->opt.method != LT_GRAM_AUTO || !g->opt.autotune || !g->circuit.has_transfer) return;
    if (!lt_gram_stored_choice(g->dev, g->circuit.q, g->opt.dtype, &stored)) return;
    g->transfer_from = g->circuit.q + (stored == LT_GRAM_STATES);
    g->transfer_reason = "stored timings";
}

static lt_status open_parts(lt_gram *g, const lt_weights *w)
{
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

/* Host threads are dealt out too: each device brings its part of K home with its own. */
static lt_status open_remotes(lt_gram *g, lt_device *const *devices, int n)
{
    lt_tile_shape shape;
    g->used = g->opt;
    for (int i = 0; i < n; i++) {
        bool tuned = g->opt.autotune && lt_gram_stored_shape(devices[i], g->circuit.q, g->opt.dtype, &shape);
        if (n > 1) LT_TRY(lt_pool_create(LT_MAX(1, lt_pool_threads(g->pool) / n), &g->remote_pool[i]));
        LT_TRY(lt_remote_create(devices[i], &(lt_remote_setup){ &g->used, &g->circuit, n > 1 ? g->remote_pool[i] : g->pool, tuned ? &shape : NULL },
                                &g->remote[g->n_remotes++]));
    }
    return LT_OK;
}

static lt_status check_devices(lt_device *const *devices, int n)
{
    if (n < 1 || n > LT_REMOTE_MAX_DEVICES) return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d devices, expected 1 to %d", n, LT_REMOTE_MAX_DEVICES);
    for (int i = 0; i < n; i++) {
        if (!devices[i]) return LT_FAIL(LT_ERR_ARGUMENT, "gram: device %d of %d is NULL", i, n);
        if (n > 1 && is_cpu(devices[i])) return LT_FAIL(LT_ERR_ARGUMENT, "gram: device %d of %d is the CPU; several devices must have memory of their own", i, n);
    }
    return LT_OK;
}

lt_status lt_gram_create(lt_device *dev, const lt_gram_options *opt, const lt_weights *w, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    if (!dev) LT_TRY(lt_default_device(&dev));
    return lt_gram_create_on(&dev, 1, opt, w, out);
}

lt_status lt_gram_create_on(lt_device *const *devices, int n_devices, const lt_gram_options *opt, const lt_weights *w, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    if (!opt) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the options are NULL; start from lt_gram_defaults()");
    LT_TRY(check_options(opt));
    LT_TRY(check_weights(opt, w));
    LT_TRY(check_devices(devices, n_devices));
    lt_gram *g = lt_calloc(1, sizeof *g);
    if (!g) return LT_ERR_MEMORY;
    g->dev = devices[0];
    g->opt = *opt;
    lt_status s = open_parts(g, w);
    if (!s && !is_cpu(g->dev)) s = open_remotes(g, devices, n_devices);
    if (s) {
        lt_gram_destroy(g);
        return s;
    }
    *out = g;
    return LT_OK;
}

/* ---- tiles of earlier runs ---- */

enum { RUN_TO_REMEMBER_MS = 20 }; /* shorter ones say more about the machine's mood than about tiles */

static lt_status device_name(const lt_gram *g, char *text, size_t bytes)
{
    lt_device_info d;
    LT_TRY(lt_device_describe(g->dev, &d));
    snprintf(text, bytes, "%s x%d", d.name, lt_pool_threads(g->pool));
    return LT_OK;
}

/* Where the caller leaves tiles to us, those of the fastest run like this one. A folder that cannot
   be read costs the experience, not the result. */
static bool learned_tiles(lt_gram *g, lt_gram_method method, int64_t n, int64_t memory_bytes, lt_gram_options *opt)
{
    char device[96];
    lt_gram_options usual = lt_gram_defaults();
    if (!opt->learn_tiles || opt->tile_size != usual.tile_size || opt->state_tile != usual.state_tile) return false;
    if (!g->history_read) {
        g->history_read = true;
        g->history = lt_calloc(1, sizeof *g->history);
        if (!g->history || device_name(g, device, sizeof device) || lt_history_load(device, method, opt->dtype, g->history)) return false;
    }
    if (!g->history) return false;
    lt_tile_prediction p = lt_history_predict(g->history, n, g->circuit.q, memory_bytes);
    if (p.confidence <= 0.5) return false;
    opt->tile_size = p.tile_size;
    if (opt->precompute_all_states) return true; /* holding all of them is never slower where it fits */
    opt->state_tile = p.state_tile;
    return true;
}

static void note_run(lt_gram *g)
{
    const lt_gram_info *i = &g->info;
    int64_t rate = (int64_t)(1e6 * i->mpairs_per_s);
    if (!g->opt.learn_tiles || i->total_seconds < 1e-3 * RUN_TO_REMEMBER_MS || (g->best.n == i->n && rate <= g->best.pairs_per_second)) return;
    g->best = (lt_tile_record){ i->n, i->n_qubits, g->used.state_tile, g->used.tile_size, rate, i->peak_bytes };
}

/* Once, at the end: a call to fill never writes a file. */
static void remember_tiles(lt_gram *g)
{
    char device[96];
    if (g->best.n == 0 || device_name(g, device, sizeof device)) return;
    if (!g->history && !(g->history = lt_calloc(1, sizeof *g->history))) return;
    /* Read again: other handles may have added theirs. */
    if (lt_history_load(device, g->info.method, g->opt.dtype, g->history)) return;
    lt_history_append(g->history, &g->best);
    (void)lt_history_save(device, g->info.method, g->opt.dtype, g->history); /* nobody is left to tell */
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
    remember_tiles(g);
    for (int i = 0; i < LT_REMOTE_MAX_DEVICES; i++) {
        lt_remote_destroy(g->remote[i]);
        lt_pool_destroy(g->remote_pool[i]);
    }
    lt_circuit_destroy(&g->circuit);
    lt_pool_destroy(g->own_pool);
    lt_free(g->history);
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
    int64_t        states_ns, product_ns, states_built, n_packs;
    int64_t        rows;         /* of the row blocks from here on */
    lt_batch_sizer batch;
    int64_t        least_rows, most_rows, block_ns, block_pairs;
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
    f->n_packs++;
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

/* One block of rows with all its columns. */
static lt_status row_blocks(fill *f, int64_t row, int64_t n_rows, block_fn visit)
{
    const lt_gram_plan *p = &f->g->plan;
    lt_gram_block b = { .first_row = row, .n_rows = n_rows };
    bool first = true;
    int64_t column = 0;
    if (!p->cross) { /* the rows with themselves need no second packing */
        b.first_column = row;
        b.n_columns = n_rows;
        LT_TRY(visit(f, &b, first));
        first = false;
        column = p->half ? row + n_rows : 0;
    }
    for (; column < p->m; column += b.n_columns) {
        b.n_columns = n_rows;
        if (!p->cross && column == row) continue; /* done above */
        b.first_column = column;
        b.n_columns = LT_MIN(p->block_columns, p->m - column);
        if (!p->cross && column < row) b.n_columns = LT_MIN(b.n_columns, row - column);
        LT_TRY(visit(f, &b, first));
        first = false;
    }
    return LT_OK;
}

/* From a row on; done (may be NULL) hears after each block of rows where the next one begins. */
static lt_status each_block(fill *f, int64_t row, block_fn visit, lt_status (*done)(fill *f, int64_t next_row))
{
    while (row < f->g->plan.n) {
        int64_t n_rows = LT_MIN(f->rows, f->g->plan.n - row);
        LT_TRY(row_blocks(f, row, n_rows, visit));
        row += n_rows;
        if (done) LT_TRY(done(f, row));
    }
    return LT_OK;
}

static lt_status count_block(fill *f, const lt_gram_block *b, bool first)
{
    (void)first;
    f->meter.tiles_total += lt_tiles_count(&f->g->plan, b, &f->meter.pairs_total);
    return LT_OK;
}

/* Another number of rows from the next block on: what is still to come is counted anew. */
static lt_status resize_batch(fill *f, int64_t next_row)
{
    const lt_gram_plan *p = &f->g->plan;
    int64_t free_bytes, total_bytes, now = lt_clock_ns(), pairs = atomic_load(&f->meter.pairs_done);
    LT_TRY(f->g->dev->backend->mem_info(f->g->dev, &free_bytes, &total_bytes));
    double used = 1 - (double)free_bytes / (double)LT_MAX(1, total_bytes);
    /* Times per pair, since blocks below the diagonal grow shorter. */
    int64_t batch = lt_batch_step(&f->batch, used, (double)(now - f->block_ns) / (double)LT_MAX(1, pairs - f->block_pairs));
    f->block_ns = now;
    f->block_pairs = pairs;
    f->rows = LT_MAX(p->panel, batch / p->panel * p->panel);
    f->least_rows = LT_MIN(f->least_rows, f->rows);
    f->most_rows = LT_MAX(f->most_rows, f->rows);
    f->meter.tiles_total = atomic_load(&f->meter.tiles_done);
    f->meter.pairs_total = pairs;
    return each_block(f, next_row, count_block, NULL);
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
    g->used = g->opt;
    lt_plan_request r = {
        .opt = &g->used, .circuit = &g->circuit, .isa = g->isa, .threads = lt_pool_threads(g->pool), .n = x->n, .m = y ? y->n : x->n,
        .cross = y != NULL, .free_bytes = free_bytes + held_bytes(g), .total_bytes = total_bytes,
        .transfer_from = g->transfer_from, .transfer_reason = g->transfer_reason,
    };
    lt_gram_method method;
    char reason[160];
    LT_TRY(lt_plan_method(&r, &method, reason, sizeof reason));
    r.learned = learned_tiles(g, method, x->n, total_bytes, &g->used);
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

static double flops_per_pair(lt_gram_method method, int q)
{
    if (method == LT_GRAM_STATES) return ldexp(8, q);
    return method == LT_GRAM_PRODUCT ? 8.0 * q : 370.0 * (q - 1);
}

static void name_kernel(const lt_gram *g, char *name, size_t bytes)
{
    const lt_gram_plan *p = &g->plan;
    const char *isa = lt_isa_name(lt_isa_best());
    if (p->method == LT_GRAM_STATES)
        snprintf(name, bytes, "overlap%d_%s_%s_%s", p->planes, p->element == 4 ? "f32" : "f64", isa, p->loops->shape);
    else snprintf(name, bytes, "%s_f64_%s_%s", lt_gram_method_name(p->method), isa, p->closed->shape);
}

static void note_collapse(lt_gram *g)
{
    if (g->circuit.collapses)
        snprintf(g->info.note, sizeof g->info.note, "weights, layers and entangler cannot influence this kernel: %s, so one fixed unitary "
                 "follows the embedding and cancels", g->opt.re_embed_between_layers ? "there is one layer" : "re-embedding is off");
}

static void fill_info(fill *f, int64_t post_ns, int64_t total_ns)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    lt_gram_info *i = &g->info;
    *i = (lt_gram_info){
        .method = p->method, .backend = "cpu", .devices = 1, .precision = p->element == 4 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64,
        .n = p->n, .m = p->m, .n_qubits = g->circuit.q, .n_layers = g->circuit.n_layers, .threads = lt_pool_threads(g->pool),
        .states_seconds = 1e-9 * (double)f->states_ns, .product_seconds = 1e-9 * (double)f->product_ns,
        .post_seconds = 1e-9 * (double)post_ns, .total_seconds = 1e-9 * (double)total_ns,
        .pairs = f->meter.pairs_total, .tiles = f->meter.tiles_total, .states_built = f->states_built,
        .peak_bytes = held_bytes(g), .repaired = f->meter.repaired,
    };
    i->mpairs_per_s = 1e-6 * (double)i->pairs / fmax(i->total_seconds, 1e-9);
    i->tflops = 1e-12 * (double)i->pairs * flops_per_pair(p->method, g->circuit.q) / fmax(i->product_seconds, 1e-9);
    name_kernel(g, i->kernel, sizeof i->kernel);
    memcpy(i->plan, p->text, sizeof i->plan);
    note_collapse(g);
}

static lt_status fill_profile(fill *f)
{
    lt_gram *g = f->g;
    const struct { const char *name; const buffer *b; } all[] = {
        { "row states", &g->a }, { "column states", &g->b }, { "workspace", &g->work }, { "tiles", &g->scratch }, { "diagonals", &g->norms },
    };
    int64_t free_bytes;
    lt_gram_profile *p = &g->profile;
    *p = (lt_gram_profile){ .peak_bytes = held_bytes(g), .kernel_launches = g->info.tiles + f->n_packs, .mpairs_per_s = g->info.mpairs_per_s,
                            .kernel_seconds = 1e-9 * (double)(f->meter.tile_ns + f->states_ns), .batch_calls = f->batch.calls,
                            .batch_adjustments = f->batch.adjustments, .batch_min = f->least_rows, .batch_max = f->most_rows };
    for (size_t i = 0; i < LT_LEN(all); i++) {
        if (!all[i].b->bytes) continue;
        p->allocation[p->n_allocations].name = all[i].name;
        p->allocation[p->n_allocations++].bytes = (int64_t)all[i].b->bytes;
    }
    return g->dev->backend->mem_info(g->dev, &free_bytes, &p->total_bytes);
}

/* Whole lines written past the caches need not be read first. */
static void choose_copy(fill *f, double entries)
{
    const lt_vec_set *vec = lt_vec_set_of(lt_isa_best(), f->out.f32 ? LT_F32 : LT_F64);
    bool large = entries * (f->out.f32 ? 4 : 8) > STREAM_FROM_BYTES;
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
    choose_copy(f, (double)g->plan.n * (double)g->plan.m);
    if (g->opt.normalize && f->y) {
        f->left = g->norms.p;
        f->right = f->left + g->plan.n;
    }
    f->rows = f->least_rows = f->most_rows = g->plan.block_rows;
    f->batch = lt_batch_start(f->rows, g->plan.batch_min, g->plan.batch_max, g->opt.vram_fraction);
    f->block_ns = lt_clock_ns();
    LT_TRY(each_block(f, 0, count_block, NULL));
    LT_TRY(each_block(f, 0, compute_block, g->plan.batch_max > g->plan.batch_min ? resize_batch : NULL));
    int64_t post = lt_clock_ns();
    if (g->opt.normalize) LT_TRY(normalize(f));
    int64_t end = lt_clock_ns();
    fill_info(f, end - post, end - start);
    if (g->opt.profile_memory) LT_TRY(fill_profile(f));
    note_run(g);
    return LT_OK;
}

/* ---- devices with memory of their own ---- */

/* Rows held at once, where the caller leaves them to us and not all are. Tiles of K are the tuner's there. */
static void choose_state_tile(fill *f, lt_gram_method method)
{
    lt_gram *g = f->g;
    lt_device_info d;
    g->used = g->opt;
    if (g->opt.precompute_all_states) return;
    if (!lt_device_describe(g->dev, &d)) (void)learned_tiles(g, method, f->x->n, d.memory_total_bytes, &g->used);
}

static void fill_remote_info(fill *f, int64_t total_ns)
{
    lt_gram *g = f->g;
    lt_gram_info *i = &g->info;
    i->total_seconds = 1e-9 * (double)total_ns;
    i->mpairs_per_s = 1e-6 * (double)i->pairs / fmax(i->total_seconds, 1e-9);
    i->tflops = 1e-12 * (double)i->pairs * flops_per_pair(i->method, g->circuit.q) / fmax(i->product_seconds, 1e-9);
    g->profile.mpairs_per_s = g->opt.profile_memory ? i->mpairs_per_s : 0;
    note_collapse(g);
    note_run(g);
}

static lt_status run_remote(fill *f)
{
    lt_gram *g = f->g;
    char reason[160];
    lt_remote_request q = { .reason = reason, .x = f->x, .y = f->y, .meter = &f->meter, .leads = true };
    lt_plan_request r = { .opt = &g->opt, .circuit = &g->circuit, .transfer_from = g->transfer_from, .transfer_reason = g->transfer_reason };
    lt_gram_info *i = &g->info;
    lt_gram_profile *profile = g->opt.profile_memory ? &g->profile : NULL;
    int64_t start = lt_clock_ns();
    f->meter.start_ns = start;
    LT_TRY(lt_plan_method(&r, &q.method, reason, sizeof reason));
    if (!f->out.K && g->n_remotes > 1) return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: K of %d devices comes home; one device may keep it", g->n_remotes);
    *i = (lt_gram_info){ .method = q.method, .backend = g->dev->backend->name, .devices = g->n_remotes, .n = f->x->n, .m = f->y ? f->y->n : f->x->n,
                         .n_qubits = g->circuit.q, .n_layers = g->circuit.n_layers, .threads = lt_pool_threads(g->pool),
                         .precision = q.method == LT_GRAM_STATES ? g->opt.dtype : LT_GRAM_FLOAT64 };
    choose_copy(f, (double)i->n * (double)i->m);
    choose_state_tile(f, q.method);
    q.out = f->out;
    if (g->n_remotes > 1) LT_TRY(lt_remote_fill_shared(g->remote, g->n_remotes, &q, i, profile));
    else LT_TRY(lt_remote_fill(g->remote[0], &q, i, profile));
    fill_remote_info(f, lt_clock_ns() - start);
    return LT_OK;
}

lt_status lt_gram_fill(lt_gram *g, const lt_rows *x, const lt_rows *y, void *K)
{
    if (!g || !x || (!K && !g->n_remotes)) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or K is NULL");
    LT_TRY(lt_rows_check("X", x, g->circuit.q, g->opt.angle_scale));
    if (y) LT_TRY(lt_rows_check("Y", y, g->circuit.q, g->opt.angle_scale));
    if (y && g->opt.packed) return LT_FAIL(LT_ERR_ARGUMENT, "gram: a packed triangle was asked for, but with Y the matrix is not symmetric");
    fill f = { .g = g, .x = x, .y = y, .meter = { .fn = g->opt.progress, .ctx = g->opt.progress_ctx, .repair = g->opt.repair, .profile = g->opt.profile_memory },
               .out = { .K = K, .f32 = g->opt.return_dtype == LT_GRAM_FLOAT32, .packed = g->opt.packed } };
    lt_span span = lt_trace_span_begin("gram");
    lt_status s = g->n_remotes ? run_remote(&f) : run(&f);
    lt_trace_span_end(span);
    return s;
}

lt_status lt_gram_states(lt_gram *g, const lt_rows *x, void *out)
{
    if (!g || !x || !out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or the output is NULL");
    LT_TRY(lt_rows_check("X", x, g->circuit.q, g->opt.angle_scale));
    if (g->circuit.q > LT_STATES_MAX_QUBITS)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d qubits are too many for state vectors (at most %d)", g->circuit.q, LT_STATES_MAX_QUBITS);
    if (g->n_remotes) return lt_remote_states(g->remote[0], x, out);
    const lt_gram_loops *loops = lt_states_loops(g->isa, g->opt.dtype, g->circuit.q);
    lt_state_maker m = lt_state_maker_of(&g->circuit, loops, g->opt.dtype);
    int n_slots = (int)LT_MIN((int64_t)lt_pool_threads(g->pool), (x->n - 1) / loops->lanes + 1);
    LT_TRY(reserve(g, &g->work, m.slot_bytes * (size_t)n_slots, "gram workspace"));
    return lt_states_unpack(&m, g->pool, x, g->work.p, n_slots, out);
}

lt_gram_info lt_gram_get_info(const lt_gram *g) { return g->info; }
void *lt_gram_device_matrix(const lt_gram *g) { return g->n_remotes == 1 ? lt_remote_matrix(g->remote[0]) : NULL; }
lt_gram_profile lt_gram_get_profile(const lt_gram *g) { return g->profile; }
