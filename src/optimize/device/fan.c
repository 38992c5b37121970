/* Values at several points at once. Every point has a program and a stream of its own; all of them leave the exchange's stream when the points
   are there and come back before the values go home, so that small functions share a device that one of them leaves idle.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/fan.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "trace/clock.h"

#include <string.h>

typedef struct lane {
    lt_program  *values;
    lt_stream   *stream;
    const void **inputs; /* device addresses of the program's ports */
    void       **outputs;
} lane;

struct lt_fan {
    lt_fan_place at;
    int         count;
    int64_t     stride, k;          /* numbers from one x to the next; from the values of one to those of the next: all lie as those of a single point do */
    lane        lane[LT_FAN_MOST]; /* the first has the evaluator's program and the exchange's stream */
    double     *x, *values;         /* there: count strides; count k */
    lt_host_block home;             /* points, then values; with vectors values that say when they have arrived */
    lt_capture *capture;            /* NULL: queued one by one */
    lt_solve_crossings cost;        /* of one replay */
    bool        tells;              /* that it has ended: see lt_mover */
    lt_fan_record so_far;
};

int     lt_fan_count(const lt_fan *f) { return f->count; }
bool    lt_fan_fit(const lt_fan *f, int count, const lt_device_vectors *v) { return f->count == count && f->at.vectors == v; }
double *lt_fan_x(const lt_fan *f, int i) { return (f->at.vectors ? f->x : f->home.at) + i * f->stride; }
static double *values_home(const lt_fan *f) { return f->at.vectors ? f->home.at : f->home.at + f->count * f->stride; }

/* ---- Making ----------------------------------------------------------------------------------------------------------------------- */
static lt_status bind(lt_fan *f, int i)
{
    const lt_evaluator *e = f->at.e;
    const lt_problem *p = e->problem;
    const int64_t block_at[] = { [LT_BLOCK_F] = 0, [LT_BLOCK_CE] = 1, [LT_BLOCK_CI] = 1 + p->q };
    lane *l = &f->lane[i];
    l->inputs = lt_calloc((size_t)e->n_inputs, sizeof *l->inputs);
    l->outputs = lt_calloc((size_t)e->n_values, sizeof *l->outputs);
    if (!l->inputs || !l->outputs) return LT_ERR_MEMORY;
    for (int j = 0; j < e->n_inputs; j++) l->inputs[j] = f->x + i * f->stride + e->port[j].offset;
    for (int j = 0; j < e->n_values; j++) {
        const lt_port *out = &e->port[e->n_inputs + j];
        l->outputs[j] = f->values + i * f->k + block_at[out->block] + out->offset;
    }
    return LT_OK;
}

static lt_status make_lanes(lt_fan *f, const lt_solve_options *opt)
{
    const lt_evaluator *e = f->at.e;
    f->lane[0].values = e->values;
    f->lane[0].stream = f->at.stream;
    for (int i = 0; i < f->count; i++) {
        if (i) {
            LT_TRY(lt_evaluator_more_values(e, opt, &f->lane[i].values));
            lt_program_drop_copies(f->lane[i].values);
            LT_TRY(lt_stream_create(e->device, &f->lane[i].stream));
            LT_TRY(lt_stream_branch(f->at.stream, f->lane[i].stream)); /* what that needs is made now */
            LT_TRY(lt_stream_join(f->at.stream, f->lane[i].stream));
        }
        LT_TRY(bind(f, i));
    }
    return LT_OK;
}

/* Points go there, every lane evaluates its own, values come home. */
static lt_status queue(lt_fan *f, lt_solve_crossings *n)
{
    const lt_fan_place *at = &f->at;
    const int64_t count = f->count * f->k;
    if (at->vectors) LT_TRY(lt_device_vectors_queue(at->vectors, LT_LIST_EVALUATION));
    else LT_TRY(lt_cross_up(at->mover, f->x, f->home.at, f->count * f->stride, f->home.pinned, n));
    for (int i = f->count; i-- > 0;) {
        const lane *l = &f->lane[i];
        if (i) LT_TRY(lt_stream_branch(at->stream, l->stream));
        LT_TRY(lt_program_queue(l->values, l->stream, l->inputs, l->outputs));
    }
    for (int i = 1; i < f->count; i++) LT_TRY(lt_stream_join(at->stream, f->lane[i].stream));
    if (at->vectors) return lt_device_vectors_queue_after(at->vectors, f->values, count, f->home.at);
    return lt_cross_down(at->mover, values_home(f), f->values, count, f->home.pinned, n);
}

static lt_status capture(lt_fan *f)
{
    LT_TRY(lt_capture_begin(f->at.stream));
    lt_status s = queue(f, &f->cost);
    f->tells = f->at.mover->tells;
    if (!s) return lt_capture_end(f->at.stream, &f->capture);
    lt_capture_abort(f->at.stream);
    return s;
}

static lt_status make(lt_fan *f, const lt_solve_options *opt)
{
    const lt_evaluator *e = f->at.e;
    const int64_t values = f->count * f->k, home = f->at.vectors ? 2 * values : f->count * f->stride + values;
    LT_TRY(lt_device_numbers(e->device, f->at.stream, f->count * f->stride, "points tried at once", &f->x));
    LT_TRY(lt_device_numbers(e->device, f->at.stream, values, "values of points tried at once", &f->values));
    LT_TRY(lt_stream_fill(f->at.stream, f->values, 0, (size_t)values * sizeof *f->values));
    LT_TRY(lt_host_block_create(e->device, opt, home, &f->home));
    memset(f->home.at, 0, (size_t)home * sizeof(double));
    LT_TRY(make_lanes(f, opt));
    const bool captured = opt->captured_evaluation && f->home.pinned && lt_program_can_capture(e->values);
    return captured ? capture(f) : LT_OK;
}

lt_status lt_fan_create(const lt_fan_place *at, const lt_solve_options *opt, int count, lt_fan **out)
{
    const lt_problem *p = at->e->problem;
    *out = NULL;
    lt_fan *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    *f = (lt_fan){ .at = *at, .count = count, .stride = lt_padded(p->n), .k = lt_padded(1 + p->p + p->q) };
    lt_status s = make(f, opt);
    if (s) lt_fan_destroy(f);
    else *out = f;
    return s;
}

void lt_fan_destroy(lt_fan *f)
{
    if (!f) return;
    lt_device *dev = f->at.e->device;
    lt_capture_destroy(f->capture);
    for (int i = 0; i < f->count; i++) {
        if (i) { /* the first one's are lent */
            lt_stream_destroy(f->lane[i].stream);
            lt_program_destroy(f->lane[i].values);
        }
        lt_free(f->lane[i].inputs);
        lt_free(f->lane[i].outputs);
    }
    if (f->home.at) lt_host_block_release(dev, &f->home);
    (void)lt_device_free(dev, f->at.stream, f->x);
    (void)lt_device_free(dev, f->at.stream, f->values);
    lt_free(f);
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------- */
static lt_status start(lt_fan *f, lt_solve_crossings *n)
{
    if (!f->capture) return queue(f, n);
    lt_crossings_replayed(n, &f->cost);
    return lt_capture_replay(f->at.stream, f->capture);
}

static lt_status run_there(lt_fan *f, lt_solve_crossings *n)
{
    lt_device_vectors *v = f->at.vectors;
    const int64_t count = f->count * f->k;
    n->uploads++;
    n->downloads++;
    n->bytes_down += count * (int64_t)sizeof(double);
    lt_device_vectors_evaluation_begin(v);
    lt_status s = lt_device_vectors_failure(v);
    if (!s) s = start(f, n);
    if (!s) n->syncs++;
    if (!s) s = lt_device_vectors_evaluation_wait(v, f->home.at, count);
    lt_device_vectors_evaluation_end(v, s, n);
    return s;
}

static lt_status run_from_here(lt_fan *f, lt_solve_crossings *n)
{
    LT_TRY(start(f, n));
    n->syncs++;
    return lt_mover_wait(f->at.mover, f->capture ? f->tells : f->at.mover->tells);
}

static void keep_shortest(int64_t *known, int64_t ns)
{
    if (!*known || ns < *known) *known = ns;
}

lt_status lt_fan_run(lt_fan *f, lt_solve_transfers *moved)
{
    moved->evaluation.calls++;
    moved->values_runs++;
    moved->trials_run += f->count;
    moved->shared_runs++;
    if (f->capture) moved->replays++;
    const int64_t begin = lt_clock_ns();
    LT_TRY(f->at.vectors ? run_there(f, &moved->evaluation) : run_from_here(f, &moved->evaluation));
    f->so_far.runs++;
    keep_shortest(&f->so_far.run_ns, lt_clock_ns() - begin);
    return LT_OK;
}

static void take(const lt_fan *f, int64_t first, int64_t count, double *to)
{
    if (f->at.vectors) lt_device_vectors_values(f->home.at, first, count, to);
    else if (to) memcpy(to, values_home(f) + first, (size_t)count * sizeof *to);
}

void lt_fan_take(const lt_fan *f, int i, const lt_outputs *out)
{
    const lt_problem *p = f->at.e->problem;
    const int64_t first = i * f->k;
    take(f, first, 1, out->f);
    take(f, first + 1, p->q, out->ce);
    take(f, first + 1 + p->q, p->p, out->ci);
}

/* ---- Whether it pays ------------------------------------------------------------------------------------------------------------------ */
bool lt_fan_pays(const lt_fan_record *r)
{
    enum { ENOUGH = 2, EXPECTED = 2 }; /* runs before it is judged, since the first one takes longer; values of each that will be wanted, at least */
    return r->runs < ENOUGH || r->run_ns < EXPECTED * r->single_ns;
}

const lt_fan_record *lt_fan_so_far(const lt_fan *f) { return &f->so_far; }
void lt_fan_single(lt_fan *f, int64_t ns) { keep_shortest(&f->so_far.single_ns, ns); }
