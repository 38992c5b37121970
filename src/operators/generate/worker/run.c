/* The workers of a run, one per device. Rows are dealt to workers that ask (decision 137) and come back in any order; rows of a lost worker are dealt
   again. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/pool.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>

enum { LOOK_MS = 50 };      /* between checks of *stop and of silent workers */
#define MOST_SILENCE 0.25   /* seconds of silence counted per wait at most: a longer wait means that this process was held up, not that workers were silent */

/* ---- Rows ----------------------------------------------------------------------------------------------- */

void lt_worker_pool_return(lt_worker_pool *p, int64_t row) { p->left[--p->next] = row; } /* the row was taken from this list */

/* How many rows a worker may hold. Near the end only as many as keep it busy: a row that waits for one device cannot go to another that is
   idle. */
static int64_t share(const lt_worker_pool *p)
{
    enum { BUSY = 2 };
    int64_t left = p->g->n_order - p->next;
    return p->n == 1 ? LT_WORKER_DEALT : LT_MAX(LT_MIN(left / p->n, LT_WORKER_DEALT), BUSY);
}

/* Whether the worker may get the next row. A suspect row runs alone: if its process is lost again, the row is to blame. */
static bool may_have_next(const lt_worker_pool *p, const lt_worker *w)
{
    if (!w->n_dealt) return true;
    return !p->suspect[w->dealt[0]] && !p->suspect[p->left[p->next]] && w->n_dealt < share(p);
}

/* In the order of the list, so that few rows wait for their slab. */
static lt_status deal_rows(lt_worker_pool *p)
{
    for (int i = 0; i < p->n; i++) {
        lt_worker *w = &p->worker[i];
        bool none = p->next == p->g->n_order;
        if (w->pid && w->asks && (none || may_have_next(p, w))) LT_TRY(lt_worker_deal(w, none ? -1 : p->left[p->next++]));
    }
    return LT_OK;
}

/* ---- Workers --------------------------------------------------------------------------------------------- */

lt_status lt_worker_pool_give_up(lt_worker_pool *p, lt_worker *w, lt_status s)
{
    char why[160];
    bool others = false;
    for (int i = 0; i < p->n; i++) others |= &p->worker[i] != w && !p->worker[i].given_up;
    if (!others) return s;
    lt_error_reason(why, sizeof why);
    w->given_up = true;
    if (!p->g->info->device_reason[0]) snprintf(p->g->info->device_reason, sizeof p->g->info->device_reason, "%s was given up: %.120s", w->device[0] ? w->device : "cpu", why);
    return LT_OK;
}

static lt_status start_missing(lt_worker_pool *p)
{
    int64_t wanted = p->g->n_order - p->next;
    for (int i = 0; i < p->n; i++) {
        lt_worker *w = &p->worker[i];
        if (w->pid || w->given_up || wanted-- <= 0) continue;
        LT_TRY(lt_worker_start(w));
    }
    return LT_OK;
}

/* Waits for a message of any worker, for a limited time, and marks which workers have one. */
static lt_status wait_for_any(const lt_worker_pool *p, struct pollfd *poll_of)
{
    for (int i = 0; i < p->n; i++) {
        const lt_worker *w = &p->worker[i];
        poll_of[i] = (struct pollfd){ .fd = w->pid ? w->fd : -1, .events = (short)(w->outbox ? POLLIN | POLLOUT : POLLIN) };
    }
    if (poll(poll_of, (nfds_t)p->n, LOOK_MS) >= 0) return LT_OK;
    for (int i = 0; i < p->n; i++) poll_of[i].revents = 0;
    return errno == EINTR ? LT_OK : LT_FAIL(LT_ERR_IO, "cannot wait for worker processes: %s", strerror(errno));
}

static lt_status look_at(lt_worker *w, short events, double seconds)
{
    if (!w->pid) return LT_OK;
    if (events & POLLOUT) lt_worker_flush(w);
    if (events & ~POLLOUT) return lt_worker_take(w);
    if (w->silent_seconds == 0) w->limit_seconds = lt_worker_limit(w); /* fixed when the silence begins, so that it does not grow with the wait */
    w->silent_seconds += seconds;
    return w->silent_seconds > w->limit_seconds ? lt_worker_hangs(w) : LT_OK;
}

static lt_status watch_rows(lt_worker_pool *p, struct pollfd *poll_of)
{
    int64_t looked = lt_clock_ns();
    while (p->n_done < p->g->n_order) {
        LT_TRY(start_missing(p));
        LT_TRY(wait_for_any(p, poll_of));
        if (lt_generator_stopped(p->g)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        int64_t now = lt_clock_ns();
        double seconds = fmin(1e-9 * (double)(now - looked), MOST_SILENCE);
        looked = now;
        for (int i = 0; i < p->n; i++) LT_TRY(look_at(&p->worker[i], poll_of[i].revents, seconds));
        LT_TRY(deal_rows(p));
    }
    return LT_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------- */

static void name_devices(lt_worker_pool *p)
{
    const lt_generate_options *o = p->g->opt;
    for (int i = 0; i < p->n; i++) {
        lt_worker *w = &p->worker[i];
        w->pool = p;
        w->fd = -1;
        snprintf(w->device, sizeof w->device, "%s", o->n_devices ? o->devices[i] : o->device ? lt_device_id(o->device) : "");
    }
}

static lt_status allocate(lt_worker_pool *p)
{
    const lt_generator *g = p->g;
    size_t field = sizeof(float) * LT_FIELD_CHANNELS * (size_t)g->rows.max_grid * (size_t)g->rows.max_grid;
    p->message_bytes = LT_MAX(g->plan.step_bytes, sizeof(lt_worker_row) + g->plan.rest_bytes);
    p->message_bytes = LT_MAX(p->message_bytes, LT_ERROR_TEXT_BYTES);
    p->block = lt_malloc(LT_MAX(g->plan.step_bytes, field));
    p->left = lt_malloc((size_t)g->n_order * sizeof *p->left);
    p->suspect = lt_calloc((size_t)g->rows.n, sizeof *p->suspect);
    p->renewed = lt_calloc((size_t)g->rows.n, sizeof *p->renewed);
    p->worker = lt_calloc((size_t)p->n, sizeof *p->worker);
    if (!p->block || !p->left || !p->suspect || !p->renewed || !p->worker) return LT_ERR_MEMORY;
    for (int i = 0; i < p->n; i++)
        if (!(p->worker[i].message = lt_malloc(p->message_bytes))) return LT_ERR_MEMORY;
    memcpy(p->left, g->order, (size_t)g->n_order * sizeof *p->left);
    return LT_OK;
}

static void release(lt_worker_pool *p)
{
    int n = p->worker ? p->n : 0;
    for (int i = 0; i < n; i++) lt_worker_kill(&p->worker[i]); /* all before the first wait: ending a GPU context takes a while */
    for (int i = 0; i < n; i++) {
        lt_worker_stop(&p->worker[i]);
        lt_free(p->worker[i].message);
    }
    lt_field_makers_release(&p->makers);
    lt_free(p->block);
    lt_free(p->left);
    lt_free(p->suspect);
    lt_free(p->renewed);
    lt_free(p->worker);
}

lt_status lt_generator_run_watched(lt_generator *g)
{
    lt_worker_pool p = { .g = g, .n = LT_MAX(g->opt->n_devices, 1) };
    lt_span span = lt_span_begin("watched rollouts");
    struct pollfd *poll_of = lt_calloc((size_t)p.n, sizeof *poll_of);
    lt_status s = poll_of ? allocate(&p) : LT_ERR_MEMORY;
    if (!s) {
        name_devices(&p);
        s = watch_rows(&p, poll_of);
    }
    lt_free(poll_of);
    release(&p);
    lt_span_end(span);
    return s;
}
