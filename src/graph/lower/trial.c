/* Timing ways to compute a problem on a device with memory of its own. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/lower/trial.h"

#include "base/alloc.h"
#include "base/status.h"

enum { BATCH = 16 };

typedef struct way {
    lt_kernel  *kernel;               /* NULL: not prepared yet */
    lt_capture *capture;              /* BATCH launches; NULL: launched one by one */
    void       *scratch;              /* what it works in */
    void       *own;                  /* the part of it that was allocated for this way, or NULL */
} way;

typedef struct runner {
    const lt_trial *t;
    lt_stream *st;
    way       *way;
    void      *arg[LT_KERNEL_MAX_ARGS + 1];
    void      *scratch;               /* the largest so far: captures keep the address of theirs */
    size_t     scratch_bytes;
} runner;

/* Values are zero: any index is in range, and arithmetic takes as long as on others. */
static lt_status make_arguments(runner *r)
{
    for (int i = 0; i < r->t->n_args; i++) {
        size_t bytes = LT_MAX(r->t->arg_bytes[i], 1);
        if (r->arg[i]) continue;
        LT_TRY(lt_device_alloc(r->t->dev, r->st, bytes, "trial", &r->arg[i]));
        LT_TRY(lt_stream_fill(r->st, r->arg[i], 0, bytes));
    }
    return LT_OK;
}

static lt_status make_scratch(runner *r, way *w)
{
    size_t bytes = w->kernel->scratch_bytes;
    if (bytes > r->scratch_bytes) {
        LT_TRY(lt_device_alloc(r->t->dev, r->st, bytes, "trial", &w->own));
        r->scratch = w->own;
        r->scratch_bytes = bytes;
    }
    w->scratch = r->scratch;
    return LT_OK;
}

static lt_status record(runner *r, way *w)
{
    lt_stream *own;
    LT_TRY(lt_stream_create(r->t->dev, &own));
    lt_status s = lt_capture_begin(own);
    for (int i = 0; i < BATCH && !s; i++) s = lt_stream_launch(own, &(lt_launch){ w->kernel, r->arg });
    if (!s) s = lt_capture_end(own, &w->capture);
    lt_stream_destroy(own); /* ends a capture that failed */
    return s;
}

static lt_status open_way(runner *r, int number)
{
    way *w = &r->way[number];
    LT_TRY(r->t->prepare(r->t->ctx, number, &w->kernel));
    if (w->kernel->n_args != r->t->n_args)
        return LT_FAIL(LT_ERR_INTERNAL, "trial '%s': %d arguments, expected %d", r->t->name[number], w->kernel->n_args, r->t->n_args);
    LT_TRY(make_arguments(r));
    LT_TRY(make_scratch(r, w));
    r->arg[r->t->n_args] = w->scratch;
    LT_TRY(lt_stream_sync(r->st)); /* the capture has a stream of its own */
    return w->kernel->uncapturable ? LT_OK : record(r, w);
}

static lt_status run_way(void *ctx, int number, int64_t repeats)
{
    runner *r = ctx;
    way *w = &r->way[number];
    if (!w->kernel) LT_TRY(open_way(r, number));
    r->arg[r->t->n_args] = w->scratch;
    for (; w->capture && repeats >= BATCH; repeats -= BATCH) LT_TRY(lt_capture_replay(r->st, w->capture));
    for (; repeats > 0; repeats--) LT_TRY(lt_stream_launch(r->st, &(lt_launch){ w->kernel, r->arg }));
    return lt_stream_sync(r->st);
}

static void close_ways(runner *r)
{
    (void)lt_stream_sync(r->st);
    for (int i = 0; i < r->t->n_ways; i++) {
        lt_capture_destroy(r->way[i].capture);
        lt_kernel_destroy(r->way[i].kernel);
        (void)lt_device_free(r->t->dev, r->st, r->way[i].own);
    }
    for (int i = 0; i < r->t->n_args; i++) (void)lt_device_free(r->t->dev, r->st, r->arg[i]);
    lt_free(r->way);
}

lt_status lt_trial_choose(lt_tuner *tuner, const lt_trial *t, lt_kernel **out)
{
    runner r = { .t = t, .st = lt_device_stream(t->dev) };
    int choice = 0;
    *out = NULL;
    r.way = lt_calloc((size_t)t->n_ways, sizeof *r.way);
    if (!r.way) return LT_FAIL(LT_ERR_MEMORY, "no memory for %d ways to compute '%s'", t->n_ways, t->problem);
    lt_status s = lt_tuner_choose(tuner, t->problem, t->n_ways, t->name, run_way, &r, &choice);
    if (!s && r.way[choice].kernel) {
        *out = r.way[choice].kernel;
        r.way[choice].kernel = NULL;
    } else if (!s) {
        s = t->prepare(t->ctx, choice, out);
    }
    close_ways(&r);
    return s;
}
