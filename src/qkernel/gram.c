/* The handle: checks, makes and ends it; the calls. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/stream.h"
#include "graph/program/program.h"
#include "qkernel/device/circuits/circuits.h"
#include "qkernel/rows/rows.h"
#include "qkernel/tuning.h"

#include <string.h>

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
            return lt_place_row(LT_FAIL(LT_ERR_ARGUMENT, "gram: the weights are %g at row %lld, column %lld: every number must be finite",
                                        w->data[i], (long long)(i / per_layer), (long long)(i % per_layer)), "weights", i / per_layer, i % per_layer);
    return LT_OK;
}

static bool is_cpu(const lt_device *dev) { return !lt_device_has(dev, LT_DEVICE_OWN_MEMORY); }

/* Half numbers win where tensor cores multiply them; elsewhere they would cost accuracy and gain nothing. */
static lt_status check_precision(const lt_gram_options *opt, const lt_device *dev)
{
    if (opt->dtype != LT_GRAM_FLOAT16 || !is_cpu(dev)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "gram: dtype float16 needs a GPU, and device %s is the CPU: use float32 here (errors below %g instead of %g), or a GPU (cuda)",
                   dev->id, lt_gram_float_bound(LT_GRAM_FLOAT32), lt_gram_float_bound(LT_GRAM_FLOAT16));
}

/* Timings on this machine, where there are some, decide between two exact methods. */
static void choose_threshold(lt_gram *g)
{
    g->transfer_from = is_cpu(g->dev) ? 0 : g->opt.dtype == LT_GRAM_FLOAT64 ? LT_TRANSFER_FROM_ON_GPU : LT_TRANSFER_FROM_ON_GPU + 1;
    g->transfer_reason = "built in";
    if (g->opt.method != LT_GRAM_AUTO || !g->opt.autotune || !g->circuit.has_transfer) return;
    g->stored = lt_gram_stored_choice(g->dev, g->circuit.q, g->opt.dtype);
}

static lt_status make_layers(lt_gram *g, const void *weights) { return lt_layers_create(&g->opt, weights, &g->circuit); }

static lt_status open_parts(lt_gram *g, lt_gram_circuit_fn make, const void *from)
{
    g->pool = g->dev->pool;
    if (g->opt.n_workers > 0) {
        LT_TRY(lt_pool_create((int)g->opt.n_workers, &g->own_pool));
        g->pool = g->own_pool;
    }
    g->isa = lt_gram_isa_of(lt_isa_best());
    LT_TRY(make(g, from));
    choose_threshold(g);
    return LT_OK;
}

/* Host threads are dealt out too: each device spreads its part of K with its own. */
static lt_status open_devices(lt_gram *g, lt_device *const *devices, int n)
{
    lt_tile_shape shape;
    g->used = g->opt;
    for (int i = 0; i < n; i++) {
        bool tuned = g->opt.autotune && lt_gram_stored_shape(devices[i], lt_layers_widest(&g->circuit), g->opt.dtype, &shape);
        if (n > 1) LT_TRY(lt_pool_create(LT_MAX(1, lt_pool_threads(g->pool) / n), &g->device_pool[i]));
        LT_TRY(lt_device_gram_create(devices[i], &(lt_device_gram_setup){ &g->used, &g->circuit, n > 1 ? g->device_pool[i] : g->pool,
                                                                          tuned ? &shape : NULL, g->similarity.kind == LT_SIMILARITY_REAL },
                                &g->on_device[g->n_devices++]));
    }
    return LT_OK;
}

static lt_status check_devices(lt_device *const *devices, int n)
{
    if (n < 1 || n > LT_GRAM_MAX_DEVICES) return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d devices, expected 1 to %d", n, LT_GRAM_MAX_DEVICES);
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
    if (out) *out = NULL;
    lt_gram_options own = lt_gram_defaults();
    LT_TRY(LT_TAKE(lt_gram_options, opt, &own));
    LT_TRY(check_options(&own));
    LT_TRY(check_weights(&own, w));
    return lt_gram_open(devices, n_devices, &own, make_layers, w, out);
}

lt_status lt_gram_open(lt_device *const *devices, int n_devices, const lt_gram_options *opt, lt_gram_circuit_fn make, const void *from, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    lt_gram_options own = lt_gram_defaults();
    LT_TRY(LT_TAKE(lt_gram_options, opt, &own));
    LT_TRY(check_options(&own));
    LT_TRY(check_devices(devices, n_devices));
    LT_TRY(check_precision(&own, devices[0]));
    lt_gram *g = lt_calloc(1, sizeof *g);
    if (!g) return LT_ERR_MEMORY;
    g->dev = devices[0];
    g->opt = own;
    g->info.size = sizeof g->info;
    g->profile.size = sizeof g->profile;
    lt_status s = open_parts(g, make, from);
    if (!s && !is_cpu(g->dev)) s = open_devices(g, devices, n_devices);
    if (s) {
        lt_gram_destroy(g);
        return s;
    }
    *out = g;
    return LT_OK;
}

static void release(lt_gram *g, lt_gram_buffer *b)
{
    if (b->p) (void)lt_device_free(g->dev, g->dev->stream, b->p);
    *b = (lt_gram_buffer){ 0 };
}

void lt_gram_destroy(lt_gram *g)
{
    if (!g) return;
    lt_gram_buffer *all[] = { &g->a, &g->b, &g->work, &g->scratch, &g->norms, &g->tables, &g->sums };
    for (size_t i = 0; i < LT_LEN(all); i++) release(g, all[i]);
    lt_gram_remember_tiles(g);
    for (int i = 0; i < LT_GRAM_MAX_DEVICES; i++) {
        lt_device_gram_destroy(g->on_device[i]);
        lt_pool_destroy(g->device_pool[i]);
    }
    lt_layers_destroy(&g->circuit);
    lt_compiled_destroy(g->program);
    lt_pool_destroy(g->own_pool);
    lt_free(g->history);
    lt_free(g);
}

/* At least this many bytes; the contents are lost when it must grow. */
lt_status lt_gram_reserve(lt_gram *g, lt_gram_buffer *b, size_t bytes, const char *owner)
{
    if (b->bytes >= bytes) return LT_OK;
    g->planned = false; /* until all buffers are made */
    release(g, b);
    LT_TRY(lt_device_alloc(g->dev, g->dev->stream, bytes, owner, &b->p));
    b->bytes = bytes;
    return LT_OK;
}

int64_t lt_gram_held_bytes(const lt_gram *g)
{
    return (int64_t)(g->a.bytes + g->b.bytes + g->work.bytes + g->scratch.bytes + g->norms.bytes + g->tables.bytes + g->sums.bytes);
}

/* ---- calls ---- */

lt_status lt_gram_check_rows(const lt_gram *g, const char *name, const lt_rows *x)
{
    return g->program ? lt_compiled_check_rows(g->program, name, x) : lt_rows_check(name, x, g->circuit.q, g->opt.angle_scale);
}

static lt_status run(lt_gram_filling *f)
{
    if (f->g->similarity.kind == LT_SIMILARITY_PROJECTED) return lt_gram_run_projected(f);
    return f->g->n_devices ? lt_gram_run_on_devices(f) : lt_gram_run(f);
}

lt_status lt_gram_fill(lt_gram *g, const lt_rows *x, const lt_rows *y, void *K)
{
    if (!g || !x || (!K && !g->n_devices)) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or K is NULL");
    LT_TRY(lt_gram_check_rows(g, "X", x));
    if (y) LT_TRY(lt_gram_check_rows(g, "Y", y));
    if (y && g->opt.packed) return LT_FAIL(LT_ERR_ARGUMENT, "gram: a packed triangle was asked for, but with Y the matrix is not symmetric");
    lt_gram_filling f = { .g = g, .x = x, .y = y, .meter = { .fn = g->opt.progress, .ctx = g->opt.progress_ctx, .repair = g->opt.repair, .profile = g->opt.profile_memory },
               .out = { .K = K, .f32 = g->opt.return_dtype == LT_GRAM_FLOAT32, .packed = g->opt.packed } };
    lt_span span = lt_trace_span_begin("gram");
    lt_status s = run(&f);
    lt_trace_span_end(span);
    return s;
}

/* Of the whole circuit, with what cancels in kernels. */
static lt_status circuit_states(lt_gram *g, const lt_rows *x, void *out)
{
    const lt_circuit *c = g->program->circuit;
    lt_compiled *p;
    if (!g->n_devices) return lt_circuit_states(c, g->program->weights, c->n_weights, x, g->opt.dtype, out);
    LT_TRY(lt_compiled_create(c, g->program->weights, LT_COMPILE_STATES, 0, &p));
    lt_status s = lt_circuit_device_states(g->dev, p, g->opt.dtype, x, out);
    lt_compiled_destroy(p);
    return s;
}

lt_status lt_gram_states(lt_gram *g, const lt_rows *x, void *out)
{
    if (!g || !x || !out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle, X or the output is NULL");
    LT_TRY(lt_gram_check_rows(g, "X", x));
    if (g->program) return circuit_states(g, x, out);
    if (g->circuit.q > LT_STATES_MAX_QUBITS)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d qubits are too many for state vectors (at most %d)", g->circuit.q, LT_STATES_MAX_QUBITS);
    if (g->n_devices) return lt_device_gram_states(g->on_device[0], x, out);
    const lt_gram_loops *loops = lt_states_loops(g->isa, g->opt.dtype, g->circuit.q);
    lt_state_maker m = lt_state_maker_of(&g->circuit, loops, g->opt.dtype);
    int n_slots = (int)LT_MIN((int64_t)lt_pool_threads(g->pool), (x->n - 1) / loops->lanes + 1);
    LT_TRY(lt_gram_reserve(g, &g->work, m.slot_bytes * (size_t)n_slots, "gram workspace"));
    return lt_states_unpack(&m, g->pool, x, g->work.p, n_slots, out);
}

void lt_gram_get_info_into(const lt_gram *g, lt_gram_info *out) { LT_GIVE(out, &g->info); }
void *lt_gram_device_matrix(const lt_gram *g) { return g->n_devices == 1 ? lt_device_gram_matrix(g->on_device[0]) : NULL; }
void lt_gram_get_profile_into(const lt_gram *g, lt_gram_profile *out) { LT_GIVE(out, &g->profile); }
