/* Streams of the CPU device: inline, or a thread with a queue. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- Running ------------------------------------------------------------------------------ */
static lt_status run_launch(const lt_kernel *k, void *const *arg, lt_pool *pool)
{
    if (!lt_trace_is_on()) return k->run(k, pool, arg);
    lt_span span = lt_trace_span_begin(lt_trace_intern(k->name));
    lt_status s = k->run(k, pool, arg);
    lt_span_note(span, (int64_t)k->bytes, NULL);
    lt_span_end(span);
    return s;
}

static lt_status run_step(const lt_cpu_step *s, lt_pool *pool)
{
    return s->kernel ? run_launch(s->kernel, s->arg, pool) : lt_cpu_step_run(s, pool);
}

/* After a failure the rest is skipped until someone hears of it, but events are still reached
   and waited for: other streams depend on them. */
static void run_queued(lt_cpu_stream *st, const lt_cpu_step *s)
{
    bool ordering = s->kind == LT_CPU_RECORD || s->kind == LT_CPU_WAIT;
    lt_status status = st->failure && !ordering ? LT_OK : run_step(s, st->base.dev->pool);
    if (s->event) lt_cpu_event_drop(s->event);
    if (!status) return;
    snprintf(st->text, sizeof st->text, "%s", lt_error_text());
    st->failure = status;
}

static void *work_loop(void *arg)
{
    lt_cpu_stream *st = arg;
    lt_trace_thread_name("cpu stream");
    pthread_mutex_lock(&st->lock);
    for (;;) {
        while (st->given == st->taken && !st->stopping) pthread_cond_wait(&st->work, &st->lock);
        if (st->given == st->taken) break;
        const lt_cpu_step *s = &st->slot[st->taken % LT_CPU_QUEUE].step;
        pthread_mutex_unlock(&st->lock);
        run_queued(st, s); /* `failure` is ours until `taken` moves and a sync sees it */
        pthread_mutex_lock(&st->lock);
        st->taken++;
        pthread_cond_broadcast(&st->done);
    }
    pthread_mutex_unlock(&st->lock);
    return NULL;
}

static void enqueue(lt_cpu_stream *st, const lt_cpu_step *s)
{
    if (s->event) atomic_fetch_add(&s->event->refs, 1);
    pthread_mutex_lock(&st->lock);
    while (st->given - st->taken == LT_CPU_QUEUE) pthread_cond_wait(&st->done, &st->lock);
    lt_cpu_slot *slot = &st->slot[st->given % LT_CPU_QUEUE];
    slot->step = *s;
    if (s->kernel) {
        memcpy(slot->arg, s->arg, (size_t)lt_cpu_n_args(s->kernel) * sizeof *s->arg);
        slot->step.arg = slot->arg;
    }
    st->given++;
    pthread_cond_signal(&st->work);
    pthread_mutex_unlock(&st->lock);
}

static lt_status submit(lt_stream *base, const lt_cpu_step *s)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (st->capture) return lt_cpu_capture_add(st->capture, s);
    if (!st->slot) return run_step(s, base->dev->pool);
    enqueue(st, s);
    return LT_OK;
}

/* ---- What the table offers ------------------------------------------------------------------ */
lt_status lt_cpu_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    (void)dir; /* all memory is the host's */
    return submit(st, &(lt_cpu_step){ .kind = LT_CPU_COPY, .dst = dst, .src = src, .bytes = bytes });
}

lt_status lt_cpu_fill(lt_stream *st, void *dst, int byte, size_t bytes)
{
    return submit(st, &(lt_cpu_step){ .kind = LT_CPU_FILL, .dst = dst, .byte = byte, .bytes = bytes });
}

lt_status lt_cpu_launch(lt_stream *st, const lt_launch *at)
{
    return submit(st, &(lt_cpu_step){ .kind = LT_CPU_LAUNCH, .kernel = at->kernel, .arg = at->arg });
}

lt_status lt_cpu_launch_all(lt_stream *base, const lt_launch *seq, int n)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (st->slot || st->capture || lt_trace_is_on()) {
        for (int i = 0; i < n; i++) LT_TRY(lt_cpu_launch(base, &seq[i]));
        return LT_OK;
    }
    lt_pool *pool = base->dev->pool;
    for (int i = 0; i < n; i++) LT_TRY(seq[i].kernel->run(seq[i].kernel, pool, seq[i].arg));
    return LT_OK;
}

lt_status lt_cpu_replay(lt_stream *base, lt_capture *c)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (!st->slot) return lt_cpu_capture_run((lt_cpu_capture *)c, base->dev->pool);
    enqueue(st, &(lt_cpu_step){ .kind = LT_CPU_REPLAY, .capture = (lt_cpu_capture *)c });
    return LT_OK;
}

lt_status lt_cpu_event_record(lt_event *ev, lt_stream *st)
{
    lt_cpu_event *e = (lt_cpu_event *)ev;
    bool capturing = ((lt_cpu_stream *)st)->capture != NULL;
    /* A captured record is asked for anew at every replay. */
    return submit(st, &(lt_cpu_step){ .kind = LT_CPU_RECORD, .event = e, .ticket = capturing ? 0 : lt_cpu_event_ticket(e) });
}

/* Inside a capture order is already that of the list: waiting for a record of the same capture
   is nothing, and any other record belongs to a different replay. */
static lt_status wait_in_capture(const lt_cpu_capture *c, const lt_cpu_event *e)
{
    for (int i = 0; i < c->n_steps; i++)
        if (c->step[i].kind == LT_CPU_RECORD && c->step[i].event == e) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "wait: the event was not recorded inside this capture");
}

lt_status lt_cpu_event_wait(lt_stream *base, lt_event *ev)
{
    lt_cpu_event *e = (lt_cpu_event *)ev;
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (st->capture) return wait_in_capture(st->capture, e);
    pthread_mutex_lock(&e->lock);
    uint64_t ticket = e->recorded;
    pthread_mutex_unlock(&e->lock);
    if (!ticket) return LT_FAIL(LT_ERR_ARGUMENT, "wait: the event was never recorded");
    return submit(base, &(lt_cpu_step){ .kind = LT_CPU_WAIT, .event = e, .ticket = ticket });
}

lt_status lt_cpu_sync(lt_stream *base)
{
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    if (!st->slot) return LT_OK;
    pthread_mutex_lock(&st->lock);
    uint64_t until = st->given;
    while (st->taken < until) pthread_cond_wait(&st->done, &st->lock);
    lt_status s = LT_OK;
    if (st->given == st->taken) { /* else the thread may be changing it; the next sync reports it */
        s = st->failure;
        st->failure = LT_OK;
        if (s) lt_error_set(st->text);
    }
    pthread_mutex_unlock(&st->lock);
    return s;
}

/* ---- Making streams --------------------------------------------------------------------------- */
lt_status lt_cpu_stream_create_inline(lt_device *dev, lt_stream **out)
{
    lt_cpu_stream *st = lt_calloc(1, sizeof *st);
    if (!st) return LT_FAIL(LT_ERR_MEMORY, "stream: %zu bytes for the handle", sizeof *st);
    st->base.dev = dev;
    *out = &st->base;
    return LT_OK;
}

lt_status lt_cpu_stream_create(lt_device *dev, lt_stream **out)
{
    lt_stream *base = NULL;
    LT_TRY(lt_cpu_stream_create_inline(dev, &base));
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    st->slot = lt_calloc(LT_CPU_QUEUE, sizeof *st->slot);
    if (!st->slot) {
        lt_free(st);
        return LT_FAIL(LT_ERR_MEMORY, "stream: no memory for the queue");
    }
    pthread_mutex_init(&st->lock, NULL);
    pthread_cond_init(&st->work, NULL);
    pthread_cond_init(&st->done, NULL);
    int failed = pthread_create(&st->thread, NULL, work_loop, st);
    if (failed) {
        lt_free(st->slot);
        lt_free(st);
        return LT_FAIL(LT_ERR_DEVICE, "stream: no thread could be made: %s", strerror(failed));
    }
    *out = base;
    return LT_OK;
}

void lt_cpu_stream_destroy(lt_stream *base)
{
    if (!base) return;
    lt_cpu_stream *st = (lt_cpu_stream *)base;
    lt_cpu_capture_abort(base);
    if (st->slot) {
        pthread_mutex_lock(&st->lock);
        st->stopping = true;
        pthread_cond_signal(&st->work);
        pthread_mutex_unlock(&st->lock);
        pthread_join(st->thread, NULL);
        pthread_cond_destroy(&st->work);
        pthread_cond_destroy(&st->done);
        pthread_mutex_destroy(&st->lock);
        lt_free(st->slot);
    }
    lt_free(st);
}
