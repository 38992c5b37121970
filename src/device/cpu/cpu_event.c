/* Events of the CPU device: numbered records that streams reach and wait for.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

lt_status lt_cpu_event_create(lt_device *dev, lt_event **out)
{
    lt_cpu_event *e = lt_calloc(1, sizeof *e);
    if (!e) return LT_FAIL(LT_ERR_MEMORY, "event: %zu bytes for the handle", sizeof *e);
    e->base.dev = dev;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    atomic_store(&e->refs, 1);
    *out = &e->base;
    return LT_OK;
}

void lt_cpu_event_drop(lt_cpu_event *e)
{
    if (atomic_fetch_sub(&e->refs, 1) != 1) return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    lt_free(e);
}

void lt_cpu_event_destroy(lt_event *ev) { lt_cpu_event_drop((lt_cpu_event *)ev); }

uint64_t lt_cpu_event_ticket(lt_cpu_event *e)
{
    pthread_mutex_lock(&e->lock);
    uint64_t ticket = ++e->recorded;
    pthread_mutex_unlock(&e->lock);
    return ticket;
}

/* Records are reached in the order they were asked for, even on different streams, so that
   waiting for one never ends early. This cannot block for ever: everything an older record
   waits for was given earlier still. */
void lt_cpu_event_reach(lt_cpu_event *e, uint64_t ticket)
{
    pthread_mutex_lock(&e->lock);
    while (e->completed + 1 < ticket) pthread_cond_wait(&e->changed, &e->lock);
    e->completed = ticket;
    e->time_ns = lt_clock_ns();
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void lt_cpu_event_await(lt_cpu_event *e, uint64_t ticket)
{
    pthread_mutex_lock(&e->lock);
    while (e->completed < ticket) pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

/* The number of the last record; 0 is an error, for nothing was ever recorded. */
static lt_status last_record(lt_cpu_event *e, const char *what, uint64_t *recorded, uint64_t *completed, int64_t *time_ns)
{
    pthread_mutex_lock(&e->lock);
    *recorded = e->recorded;
    *completed = e->completed;
    *time_ns = e->time_ns;
    pthread_mutex_unlock(&e->lock);
    return *recorded ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "%s: the event was never recorded", what);
}

lt_status lt_cpu_event_sync(lt_event *ev)
{
    uint64_t recorded, completed;
    int64_t time_ns;
    LT_TRY(last_record((lt_cpu_event *)ev, "event sync", &recorded, &completed, &time_ns));
    lt_cpu_event_await((lt_cpu_event *)ev, recorded);
    return LT_OK;
}

lt_status lt_cpu_event_query(lt_event *ev, bool *done)
{
    uint64_t recorded, completed;
    int64_t time_ns;
    LT_TRY(last_record((lt_cpu_event *)ev, "event query", &recorded, &completed, &time_ns));
    *done = completed == recorded;
    return LT_OK;
}

lt_status lt_cpu_event_elapsed(lt_event *from, lt_event *to, double *ns)
{
    uint64_t recorded[2], completed[2];
    int64_t time_ns[2];
    LT_TRY(last_record((lt_cpu_event *)from, "elapsed", &recorded[0], &completed[0], &time_ns[0]));
    LT_TRY(last_record((lt_cpu_event *)to, "elapsed", &recorded[1], &completed[1], &time_ns[1]));
    if (completed[0] != recorded[0] || completed[1] != recorded[1])
        return LT_FAIL(LT_ERR_ARGUMENT, "elapsed: the %s event is not done yet", completed[0] != recorded[0] ? "first" : "second");
    *ns = (double)(time_ns[1] - time_ns[0]);
    return LT_OK;
}
