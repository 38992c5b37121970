/* Values at several points at once. Every point has a program and a stream of its own; all of them leave the functions' stream when the points
   are on the device and come back before the values go to the host, so that small functions share a device that one of them leaves idle.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/batch.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "trace/clock.h"

#include <string.h>

typedef struct member {
    lt_program  *values;
    lt_stream   *stream;
    const void **inputs; /* device addresses of the program's ports */
    void       **outputs;
} member;

struct lt_batch {
    lt_batch_place at;
    int         count;
    int64_t     stride, k;          /* numbers from one x to the next; from the values of one to those of the next: all lie as those of a single point do */
    member      member[LT_BATCH_MOST]; /* the first has the evaluator's program and the functions' stream */
    double     *x, *values;         /* on the device: count strides; count k */
    lt_host_memory host;            /* points, then values; with vectors values that say when they have arrived */
    lt_sequence sequence;           /* empty: queued one by one */
    lt_batch_record measured;
};

bool    lt_batch_fit(const lt_batch *b, int count, const lt_device_vectors *v) { return b->count == count && b->at.vectors == v; }
double *lt_batch_x(const lt_batch *b, int i) { return (b->at.vectors ? b->x : (double *)b->host.at) + i * b->stride; }
static double *values_on_host(const lt_batch *b) { return (double *)b->host.at + (b->at.vectors ? 0 : b->count * b->stride); }

/* ---- Making ----------------------------------------------------------------------------------------------------------------------- */
static lt_status bind(lt_batch *b, int i)
{
    const lt_evaluator *e = b->at.e;
    const lt_problem *p = e->problem;
    const int64_t block_at[] = { [LT_BLOCK_F] = 0, [LT_BLOCK_CE] = 1, [LT_BLOCK_CI] = 1 + p->q };
    member *l = &b->member[i];
    l->inputs = lt_calloc((size_t)e->n_inputs, sizeof *l->inputs);
    l->outputs = lt_calloc((size_t)e->n_values, sizeof *l->outputs);
    if (!l->inputs || !l->outputs) return LT_ERR_MEMORY;
    for (int j = 0; j < e->n_inputs; j++) l->inputs[j] = b->x + i * b->stride + e->port[j].offset;
    for (int j = 0; j < e->n_values; j++) {
        const lt_port *out = &e->port[e->n_inputs + j];
        l->outputs[j] = b->values + i * b->k + block_at[out->block] + out->offset;
    }
    return LT_OK;
}

static lt_status make_members(lt_batch *b, const lt_solve_options *opt)
{
    const lt_evaluator *e = b->at.e;
    b->member[0].values = e->values;
    b->member[0].stream = b->at.stream;
    for (int i = 0; i < b->count; i++) {
        if (i) {
            LT_TRY(lt_evaluator_more_values(e, opt, &b->member[i].values));
            lt_program_drop_copies(b->member[i].values);
            LT_TRY(lt_stream_create(e->device, &b->member[i].stream));
            LT_TRY(lt_stream_branch(b->at.stream, b->member[i].stream)); /* what that needs is made now */
            LT_TRY(lt_stream_join(b->at.stream, b->member[i].stream));
        }
        LT_TRY(bind(b, i));
    }
    return LT_OK;
}

/* Points go to the device, every member evaluates its own, values come to the host. */
static lt_status queue(void *ctx, lt_stream *st)
{
    const lt_batch *b = ctx;
    const lt_batch_place *at = &b->at;
    const int64_t count = b->count * b->k;
    (void)st; /* at->stream */
    if (at->vectors) LT_TRY(lt_device_vectors_queue(at->vectors, LT_LIST_EVALUATION));
    else LT_TRY(lt_mover_send(at->mover, b->x, b->host.at, b->count * b->stride, b->host.pinned));
    for (int i = b->count; i-- > 0;) {
        const member *l = &b->member[i];
        if (i) LT_TRY(lt_stream_branch(at->stream, l->stream));
        LT_TRY(lt_program_queue(l->values, l->stream, l->inputs, l->outputs));
    }
    for (int i = 1; i < b->count; i++) LT_TRY(lt_stream_join(at->stream, b->member[i].stream));
    if (at->vectors) return lt_device_vectors_queue_after(at->vectors, b->values, count, b->host.at);
    return lt_mover_bring(at->mover, values_on_host(b), b->values, count, b->host.pinned);
}

static lt_status make(lt_batch *b, const lt_solve_options *opt)
{
    const lt_evaluator *e = b->at.e;
    const int64_t values = b->count * b->k, host = b->at.vectors ? 2 * values : b->count * b->stride + values;
    LT_TRY(lt_device_numbers(e->device, b->at.stream, b->count * b->stride, "points tried at once", &b->x));
    LT_TRY(lt_device_numbers(e->device, b->at.stream, values, "values of points tried at once", &b->values));
    LT_TRY(lt_stream_fill(b->at.stream, b->values, 0, (size_t)values * sizeof *b->values));
    LT_TRY(lt_host_numbers(e->device, opt, host, &b->host));
    LT_TRY(make_members(b, opt));
    const bool recorded = lt_debug_of(opt)->captured_evaluation && b->host.pinned && lt_program_can_capture(e->values);
    return recorded ? lt_sequence_make(&b->sequence, b->at.mover, queue, b) : LT_OK;
}

lt_status lt_batch_create(const lt_batch_place *at, const lt_solve_options *opt, int count, lt_batch **out)
{
    const lt_problem *p = at->e->problem;
    *out = NULL;
    lt_batch *b = lt_calloc(1, sizeof *b);
    if (!b) return LT_ERR_MEMORY;
    *b = (lt_batch){ .at = *at, .count = count, .stride = lt_padded(p->n), .k = lt_padded(1 + p->p + p->q) };
    lt_status s = make(b, opt);
    if (s) lt_batch_destroy(b);
    else *out = b;
    return s;
}

void lt_batch_destroy(lt_batch *b)
{
    if (!b) return;
    lt_device *dev = b->at.e->device;
    lt_sequence_drop(&b->sequence);
    for (int i = 0; i < b->count; i++) {
        if (i) { /* the first one's are lent */
            lt_stream_destroy(b->member[i].stream);
            lt_program_destroy(b->member[i].values);
        }
        lt_free(b->member[i].inputs);
        lt_free(b->member[i].outputs);
    }
    lt_host_memory_release(&b->host);
    (void)lt_device_free(dev, b->at.stream, b->x);
    (void)lt_device_free(dev, b->at.stream, b->values);
    lt_free(b);
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------- */
static lt_status run(lt_batch *b, lt_solve_crossings *n)
{
    if (b->at.vectors) return lt_device_vectors_evaluate(b->at.vectors, &b->sequence.recording, queue, b, b->host.at, b->count * b->k, n);
    LT_TRY(lt_sequence_run(&b->sequence, b->at.mover, queue, b));
    return lt_mover_await_last(b->at.mover);
}

static void keep_shortest(int64_t *known, int64_t ns)
{
    if (!*known || ns < *known) *known = ns;
}

lt_status lt_batch_run(lt_batch *b, lt_solve_transfers *moved)
{
    moved->evaluation.calls++;
    moved->values_runs++;
    moved->trials_run += b->count;
    moved->shared_runs++;
    if (lt_sequence_is_made(&b->sequence)) moved->replays++;
    const int64_t begin = lt_clock_ns();
    LT_TRY(run(b, &moved->evaluation));
    b->measured.runs++;
    keep_shortest(&b->measured.run_ns, lt_clock_ns() - begin);
    return LT_OK;
}

static void take(const lt_batch *b, int64_t first, int64_t count, double *to)
{
    if (b->at.vectors) lt_device_vectors_values(b->host.at, first, count, to);
    else if (to) memcpy(to, values_on_host(b) + first, (size_t)count * sizeof *to);
}

void lt_batch_take(const lt_batch *b, int i, const lt_outputs *out)
{
    const lt_problem *p = b->at.e->problem;
    const int64_t first = i * b->k;
    take(b, first, 1, out->f);
    take(b, first + 1, p->q, out->ce);
    take(b, first + 1 + p->q, p->p, out->ci);
}

/* ---- Whether it pays ------------------------------------------------------------------------------------------------------------------ */
bool lt_batch_pays(const lt_batch_record *r)
{
    enum { ENOUGH = 2, EXPECTED = 2 }; /* runs before it is judged, since the first one takes longer; values of each that will be wanted, at least */
    return r->runs < ENOUGH || r->run_ns < EXPECTED * r->single_ns;
}

const lt_batch_record *lt_batch_measured(const lt_batch *b) { return &b->measured; }
void lt_batch_note_single(lt_batch *b, int64_t ns) { keep_shortest(&b->measured.single_ns, ns); }
