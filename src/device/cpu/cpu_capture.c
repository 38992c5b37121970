/* Captured work of the CPU device: a list of steps, and the loop that runs it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <string.h>

lt_status lt_cpu_capture_begin(lt_stream *base)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    lt_cpu_capture *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "capture: %zu bytes for the handle", sizeof *c);
    c->base.dev = base->dev;
    st->capture = c;
    return LT_OK;
}

/* One list, in the order given: what could run side by side runs one after the other. */
void lt_cpu_capture_share(lt_stream *st, lt_stream *branch)
{
    ((lt_cpu_stream *)branch)->capture = st ? ((lt_cpu_stream *)st)->capture : NULL;
}

lt_status lt_cpu_capture_end(lt_stream *base, lt_capture **out)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    *out = &st->capture->base;
    st->capture = NULL;
    return LT_OK;
}

void lt_cpu_capture_abort(lt_stream *base)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (st->capture) lt_cpu_capture_destroy(&st->capture->base);
    st->capture = NULL;
}

void lt_cpu_capture_destroy(lt_capture *base)
{
    lt_cpu_capture *c = (lt_cpu_capture *)base;
    for (int i = 0; i < c->n_steps; i++)
        if (c->step[i].event) lt_cpu_event_drop(c->step[i].event);
    lt_arena_release(&c->args);
    lt_free(c->step);
    lt_free(c->launch_step);
    lt_free(c);
}

/* Room for one more element; max is in elements. */
static bool grow(void **list, int *max, int n, size_t bytes)
{
    if (n < *max) return true;
    int more = *max ? 2 * *max : 16;
    void *p = lt_realloc(*list, (size_t)more * bytes);
    if (!p) return false;
    *list = p;
    *max = more;
    return true;
}

static lt_status copy_args(lt_cpu_capture *c, lt_cpu_step *s)
{
    size_t n = (size_t)lt_cpu_n_args(s->kernel);
    void **arg = lt_arena_alloc(&c->args, LT_MAX(n, 1) * sizeof *arg);
    if (!arg) return LT_FAIL(LT_ERR_MEMORY, "capture of '%s': no memory for %zu arguments", s->kernel->name, n);
    if (n) memcpy(arg, s->arg, n * sizeof *arg);
    s->arg = arg;
    return LT_OK;
}

lt_status lt_cpu_capture_add(lt_cpu_capture *c, const lt_cpu_step *step)
{
    if (!grow((void **)&c->step, &c->max_steps, c->n_steps, sizeof *c->step) ||
        !grow((void **)&c->launch_step, &c->max_launches, c->base.n_launches, sizeof *c->launch_step))
        return LT_FAIL(LT_ERR_MEMORY, "capture: no memory for step %d", c->n_steps + 1);
    lt_cpu_step s = *step;
    if (s.kernel) {
        LT_TRY(copy_args(c, &s));
        c->launch_step[c->base.n_launches++] = c->n_steps;
    }
    if (s.event) atomic_fetch_add(&s.event->refs, 1);
    c->step[c->n_steps++] = s;
    return LT_OK;
}

lt_status lt_cpu_rebind(lt_capture *base, int launch, void *const *arg)
{
    lt_cpu_capture *c = (lt_cpu_capture *)base;
    lt_cpu_step *s = &c->step[c->launch_step[launch]];
    memcpy(s->arg, arg, (size_t)lt_cpu_n_args(s->kernel) * sizeof *arg);
    return LT_OK;
}

lt_status lt_cpu_step_run(const lt_cpu_step *s, lt_pool *pool)
{
    switch (s->kind) {
    case LT_CPU_COPY:   memmove(s->dst, s->src, s->bytes); return LT_OK;
    case LT_CPU_FILL:   memset(s->dst, s->byte, s->bytes); return LT_OK;
    case LT_CPU_RECORD: lt_cpu_event_reach(s->event, s->ticket ? s->ticket : lt_cpu_event_ticket(s->event)); return LT_OK;
    case LT_CPU_WAIT:   lt_cpu_event_await(s->event, s->ticket); return LT_OK;
    case LT_CPU_REPLAY: return lt_cpu_capture_run(s->capture, pool);
    case LT_CPU_LAUNCH: break;
    }
    return LT_FAIL(LT_ERR_INTERNAL, "cpu: a step of kind %d has nothing to run", (int)s->kind);
}

static lt_status run_traced(const lt_cpu_step *s, lt_pool *pool)
{
    lt_span span = lt_trace_span_begin(s->kernel ? lt_trace_intern(s->kernel->name) : "copy, fill or event");
    lt_status status = s->kernel ? s->kernel->run(s->kernel, pool, s->arg) : lt_cpu_step_run(s, pool);
    lt_span_note(span, (int64_t)(s->kernel ? s->kernel->bytes : (double)s->bytes), NULL);
    lt_span_end(span);
    return status;
}

/* The hot loop of every compiled program: one indirect call per launch and nothing else. */
lt_status lt_cpu_capture_run(const lt_cpu_capture *c, lt_pool *pool)
{
    const lt_cpu_step *s = c->step, *end = s + c->n_steps;
    if (lt_trace_is_on()) {
        for (; s < end; s++) LT_TRY(run_traced(s, pool));
        return LT_OK;
    }
    for (; s < end; s++) {
        lt_status status = __builtin_expect(s->kernel != NULL, 1) ? s->kernel->run(s->kernel, pool, s->arg)
                                                                  : lt_cpu_step_run(s, pool);
        if (__builtin_expect(status != LT_OK, 0)) return status;
    }
    return LT_OK;
}
