/* Several programs of one graph kernel by kernel, so that filters too large for a cache are read once for all of them (decision 130).
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/program/program.h"

#include "base/status.h"
#include "trace/trace.h"

bool lt_program_gains_abreast(const lt_program *p)
{
    for (int i = 0; i < p->n_live; i++)
        if (p->launch[i].kernel->run_abreast) return true;
    return false;
}

typedef struct stretch { /* kernels that every program runs by itself */
    lt_program *const *p;
    int first, last;
} stretch;

static lt_status stretch_task(void *ctx, int64_t index, int worker)
{
    const stretch *s = ctx;
    lt_program *p = s->p[index];
    (void)worker;
    return lt_stream_launch_all(p->stream, p->launch + s->first, s->last - s->first);
}

/* As many programs as keep every thread busy, one each: nobody waits for another between kernels. The rest follow, by all threads. */
static lt_status run_stretch(lt_program *const *p, int n, int first, int last)
{
    stretch s = { p, first, last };
    lt_pool *pool = p[0]->device->pool;
    int threads = lt_pool_threads(pool), apart = n / threads * threads;
    LT_TRY(lt_pool_run(pool, apart, stretch_task, &s));
    for (int i = apart; i < n; i++) LT_TRY(stretch_task(&s, i, 0));
    return LT_OK;
}

static lt_status run_together(lt_program *const *p, int n, int at)
{
    const lt_kernel *k = p[0]->launch[at].kernel;
    void *const *arg[LT_MOST_ABREAST];
    for (int i = 0; i < n; i++) arg[i] = p[i]->launch[at].arg;
    lt_span span = lt_span_begin(lt_trace_is_on() ? lt_trace_intern(k->name) : k->name);
    lt_status s = k->run_abreast(k, p[0]->device->pool, n, arg);
    lt_span_note(span, n * (int64_t)k->bytes, NULL);
    lt_span_end(span);
    return s;
}

lt_status lt_program_run_abreast(lt_program *const *p, int n, const void *const *const *inputs, void *const *const *outputs)
{
    for (int i = 0; i < n; i++) LT_TRY(lt_program_bind(p[i], inputs[i], outputs[i]));
    for (int at = 0, next; at < p[0]->n_live; at = next) {
        for (next = at; next < p[0]->n_live && !p[0]->launch[next].kernel->run_abreast;) next++;
        if (next > at) LT_TRY(run_stretch(p, n, at, next));
        else LT_TRY(run_together(p, n, next++));
    }
    return LT_OK;
}
