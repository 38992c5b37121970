/* The function on a device. Its numbers lie in one piece on both sides, in the same order: x | f, equalities,
   inequalities | their gradients. So one copy brings x over and one brings everything back, and with page-locked
   memory both are part of the captured sequence. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/functions.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* What one evaluation asks for. GRADIENTS follows VALUES at the same x, which is still on the device. */
enum { VALUES, ALL, GRADIENTS, N_KINDS };
enum { POINTS = 3, SPARE = POINTS, N_SLOTS };

/* Host memory for one point, and the sequences that fill it. */
typedef struct slot {
    lt_host_memory memory; /* .at NULL: not made yet */
    lt_sequence    sequence[N_KINDS];
} slot;

/* A point that stays on the device: programs read and write it, values alone come to the host. */
typedef struct resident {
    double      *at;      /* count numbers on the device; NULL: not made yet */
    const void **inputs;
    void       **outputs;
    lt_recording recording[N_KINDS];
} resident;

struct lt_device_functions {
    const lt_evaluator *e;
    lt_stream *stream;        /* its own: evaluators of several threads may share the device */
    lt_mover   mover;
    lt_settings settings;     /* switches and limits; pointers in them are not followed */
    bool       converts;      /* some numbers are f32 on the device: the spare slot holds them on the way */
    bool       capturable, timed;
    int64_t    values_at, grads_at, count; /* in numbers from x; of a whole point */
    double    *device;        /* count numbers */
    const void **inputs;      /* device addresses of the programs' ports */
    void     **outputs;
    slot       slot[N_SLOTS];
    int        last;          /* the slot whose x is on the device; -1: none */
    resident   point[POINTS];
    lt_host_memory values;    /* of the last evaluation at one of them */
    lt_device_vectors *vectors;      /* NULL: not asked for yet */
    lt_batch   *batch;        /* the same */
    lt_solve_transfers counts;
};

bool lt_device_functions_fits(const lt_device_functions *x, const lt_solve_options *opt)
{
    const lt_solve_debug *own = &x->settings.debug, *asked = lt_debug_of(opt);
    return own->pinned_transfers == asked->pinned_transfers && own->async_transfers == asked->async_transfers && own->direct_assembly == asked->direct_assembly
           && own->captured_evaluation == asked->captured_evaluation && own->small_by_kernel == asked->small_by_kernel
           && own->time_function == asked->time_function && x->settings.opt.pin_max_bytes == opt->pin_max_bytes;
}

/* ---- Layout ------------------------------------------------------------------------------------------------------- */
/* Where an output block begins, counted from x. */
static int64_t block_at(const lt_device_functions *x, int block)
{
    const lt_problem *p = x->e->problem;
    const int64_t at[LT_BLOCK_COUNT] = { x->values_at, x->values_at + 1, x->values_at + 1 + p->q, x->grads_at, x->grads_at + p->n,
                                         x->grads_at + (1 + p->q) * p->n };
    return at[block];
}

/* Memory for a point on the device, and the programs' addresses in it. */
static lt_status make_memory(lt_device_functions *x, double **at, const void ***inputs, void ***outputs)
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

static lt_status lay_out(lt_device_functions *x)
{
    const lt_evaluator *e = x->e;
    const lt_problem *p = e->problem;
    const int64_t k = 1 + p->p + p->q;
    x->values_at = lt_padded(p->n);
    x->grads_at = x->values_at + lt_padded(k);
    x->count = x->grads_at + k * p->n;
    LT_TRY(make_memory(x, &x->device, &x->inputs, &x->outputs));
    for (int i = 0; i < e->n_inputs + 2 * e->n_values; i++) x->converts = x->converts || e->port[i].single;
    return LT_OK;
}

/* ---- Work of one evaluation --------------------------------------------------------------------------------------- */
static lt_program *program_of(const lt_device_functions *x, int kind) { return kind == VALUES ? x->e->values : x->e->all; }

/* Without async, the host waits after each part: only to know what that costs. */
static lt_status part_done(lt_device_functions *x) { return x->settings.debug.async_transfers ? LT_OK : lt_mover_wait(&x->mover); }

static lt_status send(lt_device_functions *x, const slot *s)
{
    LT_TRY(lt_mover_send(&x->mover, x->device, s->memory.at, x->e->problem->n, s->memory.pinned));
    return part_done(x);
}

static lt_status fetch(lt_device_functions *x, const slot *s, int kind)
{
    const lt_problem *p = x->e->problem;
    int64_t from = kind == GRADIENTS ? x->grads_at : x->values_at;
    int64_t count = kind == VALUES ? 1 + p->p + p->q : x->count - from;
    return lt_mover_bring(&x->mover, (double *)s->memory.at + from, x->device + from, count, s->memory.pinned);
}

typedef struct job { lt_device_functions *x; const slot *s; const resident *p; int kind; } job; /* at a slot or at a resident point */

static lt_status queue(void *ctx, lt_stream *st)
{
    const job *j = ctx;
    lt_device_functions *x = j->x;
    if (j->kind != GRADIENTS) LT_TRY(send(x, j->s));
    LT_TRY(lt_program_queue(program_of(x, j->kind), st, x->inputs, x->outputs));
    LT_TRY(part_done(x));
    return fetch(x, j->s, j->kind);
}

/* ---- Slots ---------------------------------------------------------------------------------------------------------- */
static lt_status make_slot(lt_device_functions *x, slot *s)
{
    LT_TRY(lt_host_numbers(x->e->device, &x->settings.opt, x->count, &s->memory));
    x->counts.pinned = s->memory.pinned;
    /* Copies of pageable memory stay outside: they are not asynchronous, so they cannot be replayed as such. */
    if (!x->capturable || !s->memory.pinned) return LT_OK;
    for (int kind = 0; kind < N_KINDS; kind++) LT_TRY(lt_sequence_make(&s->sequence[kind], &x->mover, queue, &(job){ .x = x, .s = s, .kind = kind }));
    return LT_OK;
}

static lt_status slot_of(lt_device_functions *x, const double *at, int *out)
{
    for (*out = 0; *out < POINTS; ++*out)
        if (x->slot[*out].memory.at == at) return LT_OK;
    return x->slot[SPARE].memory.at ? LT_OK : make_slot(x, &x->slot[SPARE]);
}

lt_status lt_device_functions_lend(lt_device_functions *x, const lt_device_vectors *v, int i, double **at, double **c, double **grads)
{
    slot *s = &x->slot[i];
    if (v) {
        *at = x->point[i].at;
        *grads = x->point[i].at + x->grads_at;
        return LT_OK;
    }
    if (!x->settings.debug.direct_assembly || x->converts) return LT_OK;
    if (!s->memory.at) LT_TRY(make_slot(x, s));
    *at = s->memory.at;
    *c = *at + x->values_at + 1;
    *grads = *at + x->grads_at;
    return LT_OK;
}

/* ---- Numbers in and out of a slot ----------------------------------------------------------------------------------- */
static void put_x(const lt_device_functions *x, const double *at, double *to)
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
static bool take_out(const lt_device_functions *x, const double *from, const lt_outputs *out)
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
static lt_status evaluate(lt_device_functions *x, int at, int kind)
{
    slot *s = &x->slot[at];
    x->counts.evaluation.calls++;
    if (kind == VALUES) x->counts.values_runs++;
    else x->counts.gradient_runs++;
    x->counts.replays += lt_sequence_is_made(&s->sequence[kind]);
    if (kind == GRADIENTS && x->last != at) LT_TRY(send(x, s));
    x->last = -1;
    LT_TRY(lt_sequence_run(&s->sequence[kind], &x->mover, queue, &(job){ .x = x, .s = s, .kind = kind }));
    LT_TRY(lt_mover_await_last(&x->mover));
    x->last = at;
    return LT_OK;
}

static void keep_shortest(double *known, double seconds)
{
    if (*known <= 0 || seconds < *known) *known = seconds;
}

/* The kernels alone, back to back; then the function called by nobody but the host, which waits for it. */
static lt_status time_program(lt_device_functions *x, lt_program *p, const void **inputs, void **outputs, double *kernels, double *called)
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
    keep_shortest(called, lt_seconds_since(begin) / REPEATS);
    return LT_OK;
}

/* The functions alone, captured where that can be, over the x that is on the device: the shortest of a few rounds, since a device that was idle
   takes a while to reach its clock. */
static lt_status time_function(lt_device_functions *x, const void **inputs, void **outputs)
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

/* ---- Points that stay on the device ------------------------------------------------------------------------------------- */
static lt_status queue_resident(void *ctx, lt_stream *st)
{
    const job *j = ctx;
    lt_device_functions *x = j->x;
    const lt_problem *problem = x->e->problem;
    LT_TRY(lt_device_vectors_queue(x->vectors, LT_LIST_EVALUATION));
    LT_TRY(lt_program_queue(program_of(x, j->kind), st, j->p->inputs, j->p->outputs));
    return lt_device_vectors_queue_after(x->vectors, j->p->at + x->values_at, 1 + problem->p + problem->q, x->values.at);
}

static lt_status make_point(lt_device_functions *x, resident *p)
{
    if (p->at) return LT_OK;
    LT_TRY(make_memory(x, &p->at, &p->inputs, &p->outputs));
    LT_TRY(lt_stream_fill(x->stream, p->at, 0, (size_t)x->count * sizeof *p->at));
    for (int kind = 0; x->capturable && kind < N_KINDS; kind++)
        LT_TRY(lt_recording_make(&p->recording[kind], x->stream, queue_resident, &(job){ .x = x, .p = p, .kind = kind }));
    return LT_OK;
}

lt_status lt_device_functions_vectors(lt_device_functions *x, lt_device_vectors **out)
{
    const lt_problem *p = x->e->problem;
    *out = NULL;
    if (x->converts) return LT_FAIL(LT_ERR_UNSUPPORTED, "vectors on %s: the problem has variables of single precision", lt_device_id(x->e->device));
    if (!x->values.at) LT_TRY(lt_host_numbers(x->e->device, &x->settings.opt, 2 * (1 + p->p + p->q), &x->values));
    if (!x->vectors) LT_TRY(lt_device_vectors_create(x->e->device, x->stream, &x->settings.opt, p->n, &x->vectors));
    for (int i = 0; i < POINTS; i++) LT_TRY(make_point(x, &x->point[i]));
    x->counts.pinned = true;
    *out = x->vectors;
    return LT_OK;
}

static lt_status run_resident(lt_device_functions *x, const resident *p, int kind, const lt_outputs *out)
{
    const lt_problem *problem = x->e->problem;
    const int64_t count = 1 + problem->p + problem->q;
    x->counts.evaluation.calls++;
    if (kind == VALUES) x->counts.values_runs++;
    else x->counts.gradient_runs++;
    x->counts.replays += lt_recording_is_made(&p->recording[kind]);
    LT_TRY(lt_device_vectors_evaluate(x->vectors, &p->recording[kind], queue_resident, &(job){ .x = x, .p = p, .kind = kind }, x->values.at, count, &x->counts.evaluation));
    lt_device_vectors_values(x->values.at, 0, 1, out->f);
    lt_device_vectors_values(x->values.at, 1, problem->q, out->ce);
    lt_device_vectors_values(x->values.at, 1 + problem->q, problem->p, out->ci);
    return x->settings.debug.time_function && !x->timed ? time_function(x, p->inputs, p->outputs) : LT_OK;
}

static lt_status run(lt_device_functions *x, const double *at, int kind, const lt_outputs *out)
{
    int i;
    for (i = 0; i < POINTS; i++)
        if (x->point[i].at == at) return run_resident(x, &x->point[i], kind, out);
    LT_TRY(slot_of(x, at, &i));
    slot *s = &x->slot[i];
    if (i == SPARE) {
        put_x(x, at, s->memory.at);
        x->last = -1; /* another x may have the same address */
    }
    LT_TRY(evaluate(x, i, kind));
    if (take_out(x, s->memory.at, out)) x->counts.host_copies++;
    return x->settings.debug.time_function && !x->timed ? time_function(x, x->inputs, x->outputs) : LT_OK;
}

lt_status lt_device_functions_run(lt_device_functions *x, const double *at, const lt_outputs *out)
{
    const bool values = out->f || out->ce || out->ci, gradients = out->grad_f || out->grad_ce || out->grad_ci;
    const int kind = !gradients ? VALUES : values ? ALL : GRADIENTS;
    const int64_t begin = lt_clock_ns();
    LT_TRY(run(x, at, kind, out));
    if (x->batch && kind == VALUES) lt_batch_note_single(x->batch, lt_clock_ns() - begin);
    return LT_OK;
}

/* ---- Several points at once ------------------------------------------------------------------------------------------------- */
static lt_status make_batch(lt_device_functions *x, lt_device_vectors *v, int count)
{
    char text[400];
    lt_status s = lt_batch_create(&(lt_batch_place){ x->e, x->stream, &x->mover, v }, &x->settings.opt, count, &x->batch);
    if (s != LT_ERR_MEMORY) return s;
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(s, "solve: programs for %d points at once do not fit on %s: %s; a smaller trials_at_once needs less", count, lt_device_id(x->e->device), text);
}

lt_status lt_device_functions_batch(lt_device_functions *x, const lt_device_vectors *v, int count, lt_batch **out)
{
    *out = NULL;
    if (x->converts || !x->settings.debug.async_transfers)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'trials_at_once' is %d, expected 1 with %s", count,
                       x->converts ? "variables of single precision" : "async_transfers=false");
    if (!x->batch || !lt_batch_fit(x->batch, count, v)) {
        lt_batch_destroy(x->batch);
        x->batch = NULL;
        LT_TRY(make_batch(x, v ? x->vectors : NULL, count));
    }
    *out = x->batch;
    return LT_OK;
}

int lt_device_functions_batch_auto(const lt_device_functions *x)
{
    enum { COUNT = 4 };
    const size_t most_bytes = 64 << 20;
    const lt_program_info info = lt_program_get_info(x->e->values);
    const bool possible = x->capturable && x->settings.debug.pinned_transfers && !x->converts;
    return possible && (COUNT - 1) * (info.arena_bytes + info.constant_bytes) <= most_bytes ? COUNT : 1;
}

lt_status lt_device_functions_run_batch(lt_device_functions *x)
{
    x->last = -1; /* others are on the device now */
    return lt_batch_run(x->batch, &x->counts);
}

lt_solve_transfers lt_device_functions_read(const lt_device_functions *x) { return x->counts; }

void lt_device_functions_reset(lt_device_functions *x)
{
    const lt_solve_transfers *n = &x->counts;
    x->counts = (lt_solve_transfers){ .pinned = n->pinned, .values_seconds = n->values_seconds, .all_seconds = n->all_seconds,
                                      .values_call_seconds = n->values_call_seconds, .all_call_seconds = n->all_call_seconds };
}

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
lt_status lt_device_functions_create(const lt_evaluator *e, const lt_solve_options *opt, lt_device_functions **out)
{
    *out = NULL;
    lt_device_functions *x = lt_calloc(1, sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    *x = (lt_device_functions){ .e = e, .last = -1 };
    lt_settings_copy(opt, &x->settings);
    x->capturable = lt_debug_of(opt)->captured_evaluation && lt_debug_of(opt)->async_transfers && lt_program_can_capture(e->values)
                    && lt_program_can_capture(e->all);
    lt_program_drop_copies(e->values);
    lt_program_drop_copies(e->all);
    lt_status s = lt_stream_create(e->device, &x->stream);
    if (!s) s = lt_mover_create(x->stream, opt, &x->counts.evaluation, &x->mover);
    if (!s) s = lay_out(x);
    if (s) lt_device_functions_destroy(x);
    else *out = x;
    return s;
}

void lt_device_functions_destroy(lt_device_functions *x)
{
    if (!x) return;
    lt_device *dev = x->e->device;
    if (x->stream) (void)lt_stream_sync(x->stream); /* the last fault was reported; memory must not be written any more */
    for (int i = 0; i < N_SLOTS; i++) {
        for (int kind = 0; kind < N_KINDS; kind++) lt_sequence_drop(&x->slot[i].sequence[kind]);
        lt_host_memory_release(&x->slot[i].memory);
    }
    for (int i = 0; i < POINTS; i++) {
        for (int kind = 0; kind < N_KINDS; kind++) lt_recording_drop(&x->point[i].recording[kind]);
        if (x->stream) (void)lt_device_free(dev, x->stream, x->point[i].at);
        lt_free(x->point[i].inputs);
        lt_free(x->point[i].outputs);
    }
    lt_host_memory_release(&x->values);
    lt_batch_destroy(x->batch);
    lt_device_vectors_destroy(x->vectors);
    if (x->stream) (void)lt_device_free(dev, x->stream, x->device);
    lt_mover_release(&x->mover);
    lt_stream_destroy(x->stream);
    lt_free(x->inputs);
    lt_free(x->outputs);
    lt_free(x);
}
