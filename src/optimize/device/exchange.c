/* The function on a device. Its numbers lie in one piece on both sides, in the same order: x | f, equalities,
   inequalities | their gradients. So one copy brings x over and one brings everything back, and with page-locked
   memory both are part of the captured sequence. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/exchange.h"
#include "optimize/device/memory.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* What one evaluation asks for. GRADIENTS follows VALUES at the same x, which is still there. */
enum { VALUES, ALL, GRADIENTS, N_KINDS };
enum { POINTS = 3, SPARE = POINTS, N_SLOTS };

/* Host memory for one point, and the sequences that fill it. */
typedef struct slot {
    lt_host_block memory; /* .at NULL: not made yet */
    lt_capture   *capture[N_KINDS];
    lt_solve_crossings cost[N_KINDS]; /* of one replay */
    bool          tells[N_KINDS];     /* that it has ended: see lt_mover */
} slot;

/* A point that lives on the device: programs read and write it there, values alone come home. */
typedef struct far_point {
    double      *at;      /* count numbers, there; NULL: not made yet */
    const void **inputs;
    void       **outputs;
    lt_capture  *capture[N_KINDS];
} far_point;

typedef struct switches { bool pinned, async, direct, captured, by_kernel, timed; int64_t pin_max_bytes; } switches;

struct lt_exchange {
    const lt_evaluator *e;
    lt_stream *stream;        /* its own: evaluators of several threads may share the device */
    lt_mover   mover;
    switches   on;
    lt_solve_options opt;     /* for memory; pointers in it are not followed */
    bool       converts;      /* some numbers are f32 there: the spare slot holds them on the way */
    bool       capturable, timed;
    int64_t    values_at, grads_at, count; /* in numbers from x; of a whole point */
    double    *device;        /* count numbers */
    const void **inputs;      /* device addresses of the programs' ports */
    void     **outputs;
    slot       slot[N_SLOTS];
    int        last;          /* the slot whose x is on the device; -1: none */
    far_point  point[POINTS];
    lt_host_block values;     /* of the last evaluation at one of them */
    lt_device_vectors *vectors;      /* NULL: not asked for yet */
    lt_fan     *fan;          /* the same */
    lt_solve_transfers counts;
};

static switches switches_of(const lt_solve_options *o)
{
    return (switches){ o->pinned_transfers, o->async_transfers, o->direct_assembly, o->captured_evaluation, o->small_by_kernel,
                       o->time_function, o->pin_max_bytes };
}

bool lt_exchange_fits(const lt_exchange *x, const lt_solve_options *opt)
{
    switches a = x->on, b = switches_of(opt);
    return a.pinned == b.pinned && a.async == b.async && a.direct == b.direct && a.captured == b.captured
           && a.by_kernel == b.by_kernel && a.timed == b.timed && a.pin_max_bytes == b.pin_max_bytes;
}

/* ---- Layout ------------------------------------------------------------------------------------------------------- */
/* Where an output block begins, counted from x. */
static int64_t block_at(const lt_exchange *x, int block)
{
    const lt_problem *p = x->e->problem;
    const int64_t at[LT_BLOCK_COUNT] = { x->values_at, x->values_at + 1, x->values_at + 1 + p->q, x->grads_at, x->grads_at + p->n,
                                         x->grads_at + (1 + p->q) * p->n };
    return at[block];
}

/* Memory for a point there, and the programs' addresses in it. */
static lt_status make_place(lt_exchange *x, double **at, const void ***inputs, void ***outputs)
{
    const lt_evaluator *e = x->e;
    *inputs = lt_calloc((size_t)e->n_inputs, sizeof **inputs);
    *outputs = lt_calloc((size_t)(2 * e->n_values), sizeof **outputs);
    if (!*inputs || !*outputs) return LT_ERR_MEMORY;
    LT_TRY(lt_device_numbers(e->device, x->stream, x->count, "values and gradients", at));
    for (int i = 0; i < e->n_inputs; i++) (*inputs)[i] = *at + e->port[i].offset;
    for (int i = 0; i < 2 * e->n_values; i++) {
        const lt_port *out = &e->port[e->n_inputs + i];
        (*outputs)[i] = *at + block_at(x, out->block) + out->offset;
    }
    return LT_OK;
}

static lt_status lay_out(lt_exchange *x)
{
    const lt_evaluator *e = x->e;
    const lt_problem *p = e->problem;
    const int64_t k = 1 + p->p + p->q;
    x->values_at = lt_padded(p->n);
    x->grads_at = x->values_at + lt_padded(k);
    x->count = x->grads_at + k * p->n;
    LT_TRY(make_place(x, &x->device, &x->inputs, &x->outputs));
    for (int i = 0; i < e->n_inputs + 2 * e->n_values; i++) x->converts = x->converts || e->port[i].single;
    return LT_OK;
}

/* ---- Work of one evaluation --------------------------------------------------------------------------------------- */
static lt_program *program_of(const lt_exchange *x, int kind) { return kind == VALUES ? x->e->values : x->e->all; }

static lt_status wait(lt_exchange *x, bool tells, lt_solve_crossings *n)
{
    n->syncs++;
    return lt_mover_wait(&x->mover, tells);
}

/* Without async, the host waits after each part: only to know what that costs. */
static lt_status part_done(lt_exchange *x, lt_solve_crossings *n) { return x->on.async ? LT_OK : wait(x, false, n); }

static lt_status send(lt_exchange *x, const slot *s, lt_solve_crossings *n)
{
    LT_TRY(lt_cross_up(&x->mover, x->device, s->memory.at, x->e->problem->n, s->memory.pinned, n));
    return part_done(x, n);
}

static lt_status fetch(lt_exchange *x, const slot *s, int kind, lt_solve_crossings *n)
{
    const lt_problem *p = x->e->problem;
    int64_t from = kind == GRADIENTS ? x->grads_at : x->values_at;
    int64_t count = kind == VALUES ? 1 + p->p + p->q : x->count - from;
    return lt_cross_down(&x->mover, s->memory.at + from, x->device + from, count, s->memory.pinned, n);
}

static lt_status queue(lt_exchange *x, const slot *s, int kind, lt_solve_crossings *n)
{
    if (kind != GRADIENTS) LT_TRY(send(x, s, n));
    LT_TRY(lt_program_queue(program_of(x, kind), x->stream, x->inputs, x->outputs));
    LT_TRY(part_done(x, n));
    return fetch(x, s, kind, n);
}

/* ---- Slots ---------------------------------------------------------------------------------------------------------- */
static lt_status capture(lt_exchange *x, slot *s, int kind)
{
    LT_TRY(lt_capture_begin(x->stream));
    lt_status status = queue(x, s, kind, &s->cost[kind]);
    s->tells[kind] = x->mover.tells;
    if (!status) return lt_capture_end(x->stream, &s->capture[kind]);
    lt_capture_abort(x->stream);
    return status;
}

static lt_status make_slot(lt_exchange *x, slot *s)
{
    LT_TRY(lt_host_block_create(x->e->device, &x->opt, x->count, &s->memory));
    memset(s->memory.at, 0, (size_t)x->count * sizeof(double));
    x->counts.pinned = s->memory.pinned;
    /* Copies of pageable memory stay outside: they are not asynchronous, so they cannot be replayed as such. */
    if (!x->capturable || !s->memory.pinned) return LT_OK;
    for (int kind = 0; kind < N_KINDS; kind++) LT_TRY(capture(x, s, kind));
    return LT_OK;
}

static lt_status slot_of(lt_exchange *x, const double *at, int *out)
{
    for (*out = 0; *out < POINTS; ++*out)
        if (x->slot[*out].memory.at == at) return LT_OK;
    return x->slot[SPARE].memory.at ? LT_OK : make_slot(x, &x->slot[SPARE]);
}

lt_status lt_exchange_lend(lt_exchange *x, const lt_device_vectors *v, int i, double **at, double **c, double **grads)
{
    slot *s = &x->slot[i];
    if (v) {
        *at = x->point[i].at;
        *grads = x->point[i].at + x->grads_at;
        return LT_OK;
    }
    if (!x->on.direct || x->converts) return LT_OK;
    if (!s->memory.at) LT_TRY(make_slot(x, s));
    *at = s->memory.at;
    *c = s->memory.at + x->values_at + 1;
    *grads = s->memory.at + x->grads_at;
    return LT_OK;
}

/* ---- Numbers in and out of a slot ----------------------------------------------------------------------------------- */
static void put_x(const lt_exchange *x, const double *at, double *to)
{
    for (int i = 0; i < x->e->n_inputs; i++) {
        const lt_port *in = &x->e->port[i];
        if (!in->single) {
            memcpy(to + in->offset, at + in->offset, (size_t)in->count * sizeof *to);
            continue;
        }
        float *single = (float *)(to + in->offset); /* half of the room of its doubles */
        for (int64_t j = 0; j < in->count; j++) single[j] = (float)at[in->offset + j];
    }
}

/* True when numbers had to be copied; f alone, which the solver keeps elsewhere, does not count. */
static bool take_out(const lt_exchange *x, const double *from, const lt_outputs *out)
{
    double *const wanted[LT_BLOCK_COUNT] = { out->f, out->ce, out->ci, out->grad_f, out->grad_ce, out->grad_ci };
    bool copied = false;
    for (int i = 0; i < 2 * x->e->n_values; i++) {
        const lt_port *port = &x->e->port[x->e->n_inputs + i];
        if (!wanted[port->block]) continue;
        double *to = wanted[port->block] + port->offset;
        const double *at = from + block_at(x, port->block) + port->offset;
        if (to == at) continue;
        if (port->single) for (int64_t j = 0; j < port->count; j++) to[j] = ((const float *)at)[j];
        else memcpy(to, at, (size_t)port->count * sizeof *to);
        copied = copied || port->block != LT_BLOCK_F;
    }
    return copied;
}

/* ---- Running --------------------------------------------------------------------------------------------------------- */
static lt_status replay(lt_exchange *x, slot *s, int kind)
{
    lt_crossings_replayed(&x->counts.evaluation, &s->cost[kind]);
    x->counts.replays++;
    return lt_capture_replay(x->stream, s->capture[kind]);
}

static lt_status evaluate(lt_exchange *x, int at, int kind)
{
    slot *s = &x->slot[at];
    lt_solve_crossings *n = &x->counts.evaluation;
    n->calls++;
    if (kind == VALUES) x->counts.values_runs++;
    else x->counts.gradient_runs++;
    if (kind == GRADIENTS && x->last != at) LT_TRY(send(x, s, n));
    x->last = -1;
    LT_TRY(s->capture[kind] ? replay(x, s, kind) : queue(x, s, kind, n));
    LT_TRY(wait(x, s->capture[kind] ? s->tells[kind] : x->mover.tells, n));
    x->last = at;
    return LT_OK;
}

static void keep_shortest(double *known, double seconds)
{
    if (*known <= 0 || seconds < *known) *known = seconds;
}

/* The kernels alone, back to back; then the function called by nobody but the host, which waits for it. */
static lt_status time_program(lt_exchange *x, lt_program *p, const void **inputs, void **outputs, double *kernels, double *called)
{
    enum { REPEATS = 50 };
    double seconds;
    LT_TRY(lt_program_time(p, REPEATS, &seconds));
    keep_shortest(kernels, seconds);
    const int64_t begin = lt_clock_ns();
    for (int i = 0; i < REPEATS; i++) {
        LT_TRY(lt_program_queue(p, x->stream, inputs, outputs));
        LT_TRY(lt_stream_sync(x->stream));
    }
    keep_shortest(called, 1e-9 * (double)(lt_clock_ns() - begin) / REPEATS);
    return LT_OK;
}

/* The functions alone, captured where that can be, over the x that is there: the shortest of a few rounds, since a device that was idle
   takes a while to reach its clock. */
static lt_status time_function(lt_exchange *x, const void **inputs, void **outputs)
{
    enum { ROUNDS = 4 };
    lt_solve_transfers *n = &x->counts;
    x->timed = true;
    LT_TRY(lt_program_queue(x->e->values, x->stream, inputs, outputs));
    LT_TRY(lt_program_queue(x->e->all, x->stream, inputs, outputs));
    LT_TRY(lt_stream_sync(x->stream));
    for (int i = 0; i < ROUNDS; i++) {
        LT_TRY(time_program(x, x->e->values, inputs, outputs, &n->values_seconds, &n->values_call_seconds));
        LT_TRY(time_program(x, x->e->all, inputs, outputs, &n->all_seconds, &n->all_call_seconds));
    }
    return LT_OK;
}

/* ---- Points that stay there -------------------------------------------------------------------------------------------- */
static lt_status queue_there(lt_exchange *x, const far_point *p, int kind)
{
    const lt_problem *problem = x->e->problem;
    LT_TRY(lt_device_vectors_queue(x->vectors, LT_LIST_EVALUATION));
    LT_TRY(lt_program_queue(program_of(x, kind), x->stream, p->inputs, p->outputs));
    return lt_device_vectors_queue_after(x->vectors, p->at + x->values_at, 1 + problem->p + problem->q, x->values.at);
}

static lt_status capture_there(lt_exchange *x, far_point *p, int kind)
{
    LT_TRY(lt_capture_begin(x->stream));
    lt_status status = queue_there(x, p, kind);
    if (!status) return lt_capture_end(x->stream, &p->capture[kind]);
    lt_capture_abort(x->stream);
    return status;
}

static lt_status make_point(lt_exchange *x, far_point *p)
{
    if (p->at) return LT_OK;
    LT_TRY(make_place(x, &p->at, &p->inputs, &p->outputs));
    LT_TRY(lt_stream_fill(x->stream, p->at, 0, (size_t)x->count * sizeof *p->at));
    for (int kind = 0; x->capturable && kind < N_KINDS; kind++) LT_TRY(capture_there(x, p, kind));
    return LT_OK;
}

lt_status lt_exchange_vectors(lt_exchange *x, lt_device_vectors **out)
{
    const lt_problem *p = x->e->problem;
    *out = NULL;
    if (x->converts) return LT_FAIL(LT_ERR_UNSUPPORTED, "vectors on %s: the problem has variables of single precision", lt_device_id(x->e->device));
    if (!x->values.at) {
        LT_TRY(lt_host_block_create(x->e->device, &x->opt, 2 * (1 + p->p + p->q), &x->values));
        memset(x->values.at, 0, (size_t)(2 * (1 + p->p + p->q)) * sizeof(double));
    }
    if (!x->vectors) LT_TRY(lt_device_vectors_create(x->e->device, x->stream, &x->opt, p->n, &x->vectors));
    for (int i = 0; i < POINTS; i++) LT_TRY(make_point(x, &x->point[i]));
    x->counts.pinned = true;
    *out = x->vectors;
    return LT_OK;
}

static lt_status run_there(lt_exchange *x, const far_point *p, int kind, const lt_outputs *out)
{
    const lt_problem *problem = x->e->problem;
    lt_solve_crossings *n = &x->counts.evaluation;
    n->calls++;
    n->uploads++;
    n->downloads++;
    n->bytes_down += (1 + problem->p + problem->q) * (int64_t)sizeof(double);
    if (kind == VALUES) x->counts.values_runs++;
    else x->counts.gradient_runs++;
    if (p->capture[kind]) x->counts.replays++;
    lt_device_vectors_evaluation_begin(x->vectors);
    lt_status s = lt_device_vectors_failure(x->vectors);
    if (!s) s = p->capture[kind] ? lt_capture_replay(x->stream, p->capture[kind]) : queue_there(x, p, kind);
    if (!s) {
        n->syncs++;
        s = lt_device_vectors_evaluation_wait(x->vectors, x->values.at, 1 + problem->p + problem->q);
    }
    lt_device_vectors_evaluation_end(x->vectors, s, n);
    LT_TRY(s);
    lt_device_vectors_values(x->values.at, 0, 1, out->f);
    lt_device_vectors_values(x->values.at, 1, problem->q, out->ce);
    lt_device_vectors_values(x->values.at, 1 + problem->q, problem->p, out->ci);
    return x->on.timed && !x->timed ? time_function(x, p->inputs, p->outputs) : LT_OK;
}

static lt_status run(lt_exchange *x, const double *at, int kind, const lt_outputs *out)
{
    int i;
    for (i = 0; i < POINTS; i++)
        if (x->point[i].at == at) return run_there(x, &x->point[i], kind, out);
    LT_TRY(slot_of(x, at, &i));
    slot *s = &x->slot[i];
    if (i == SPARE) {
        put_x(x, at, s->memory.at);
        x->last = -1; /* another x may stand there under the same address */
    }
    LT_TRY(evaluate(x, i, kind));
    if (take_out(x, s->memory.at, out)) x->counts.host_copies++;
    return x->on.timed && !x->timed ? time_function(x, x->inputs, x->outputs) : LT_OK;
}

lt_status lt_exchange_run(lt_exchange *x, const double *at, const lt_outputs *out)
{
    const bool values = out->f || out->ce || out->ci, gradients = out->grad_f || out->grad_ce || out->grad_ci;
    const int kind = !gradients ? VALUES : values ? ALL : GRADIENTS;
    const int64_t begin = lt_clock_ns();
    LT_TRY(run(x, at, kind, out));
    if (x->fan && kind == VALUES) lt_fan_single(x->fan, lt_clock_ns() - begin);
    return LT_OK;
}

/* ---- Several points at once ------------------------------------------------------------------------------------------------- */
static lt_status make_fan(lt_exchange *x, lt_device_vectors *v, int count)
{
    char text[400];
    lt_status s = lt_fan_create(&(lt_fan_place){ x->e, x->stream, &x->mover, v }, &x->opt, count, &x->fan);
    if (s != LT_ERR_MEMORY) return s;
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(s, "solve: programs for %d points at once do not fit on %s: %s; a smaller trials_at_once needs less", count, lt_device_id(x->e->device), text);
}

lt_status lt_exchange_fan(lt_exchange *x, const lt_device_vectors *v, int count, lt_fan **out)
{
    *out = NULL;
    if (x->converts || !x->on.async)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'trials_at_once' is %d, expected 1 with %s", count,
                       x->converts ? "variables of single precision" : "async_transfers=false");
    if (!x->fan || !lt_fan_fit(x->fan, count, v)) {
        lt_fan_destroy(x->fan);
        x->fan = NULL;
        LT_TRY(make_fan(x, v ? x->vectors : NULL, count));
    }
    *out = x->fan;
    return LT_OK;
}

int lt_exchange_fan_auto(const lt_exchange *x)
{
    enum { COUNT = 4 };
    const size_t most_bytes = 64 << 20;
    const lt_program_info info = lt_program_get_info(x->e->values);
    const bool possible = x->capturable && x->on.pinned && !x->converts;
    return possible && (COUNT - 1) * (info.arena_bytes + info.constant_bytes) <= most_bytes ? COUNT : 1;
}

lt_status lt_exchange_run_fan(lt_exchange *x)
{
    x->last = -1; /* others are on the device now */
    return lt_fan_run(x->fan, &x->counts);
}

lt_solve_transfers lt_exchange_read(const lt_exchange *x) { return x->counts; }

void lt_exchange_reset(lt_exchange *x)
{
    const lt_solve_transfers *n = &x->counts;
    x->counts = (lt_solve_transfers){ .pinned = n->pinned, .values_seconds = n->values_seconds, .all_seconds = n->all_seconds,
                                      .values_call_seconds = n->values_call_seconds, .all_call_seconds = n->all_call_seconds };
}

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
lt_status lt_exchange_create(const lt_evaluator *e, const lt_solve_options *opt, lt_exchange **out)
{
    *out = NULL;
    lt_exchange *x = lt_calloc(1, sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    *x = (lt_exchange){ .e = e, .on = switches_of(opt), .opt = *opt, .last = -1 };
    x->capturable = opt->captured_evaluation && opt->async_transfers && lt_program_can_capture(e->values)
                    && lt_program_can_capture(e->all);
    lt_program_drop_copies(e->values);
    lt_program_drop_copies(e->all);
    lt_status s = lt_stream_create(e->device, &x->stream);
    if (!s) s = lt_mover_create(x->stream, opt, &x->mover);
    if (!s) s = lay_out(x);
    if (s) lt_exchange_destroy(x);
    else *out = x;
    return s;
}

void lt_exchange_destroy(lt_exchange *x)
{
    if (!x) return;
    lt_device *dev = x->e->device;
    if (x->stream) (void)lt_stream_sync(x->stream); /* the last fault was told; memory must not be written any more */
    for (int i = 0; i < N_SLOTS; i++) {
        for (int kind = 0; kind < N_KINDS; kind++) lt_capture_destroy(x->slot[i].capture[kind]);
        if (x->slot[i].memory.at) lt_host_block_release(dev, &x->slot[i].memory);
    }
    for (int i = 0; i < POINTS; i++) {
        for (int kind = 0; kind < N_KINDS; kind++) lt_capture_destroy(x->point[i].capture[kind]);
        if (x->stream) (void)lt_device_free(dev, x->stream, x->point[i].at);
        lt_free(x->point[i].inputs);
        lt_free(x->point[i].outputs);
    }
    if (x->values.at) lt_host_block_release(dev, &x->values);
    lt_fan_destroy(x->fan);
    lt_device_vectors_destroy(x->vectors);
    if (x->stream) (void)lt_device_free(dev, x->stream, x->device);
    lt_mover_release(&x->mover);
    lt_stream_destroy(x->stream);
    lt_free(x->inputs);
    lt_free(x->outputs);
    lt_free(x);
}
