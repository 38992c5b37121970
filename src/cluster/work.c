/* Work shared between ranks. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/work.h"

#include "base/alloc.h"
#include "base/status.h"
#include "cluster/inside.h"
#include "cluster/queue.h"
#include "trace/clock.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { SOON = 68 }; /* looks in vain after which rests grow no longer: 1.3 ms */
enum { LAST = -1 }; /* the kind of a rank's last result, which has nothing in it */
typedef struct result_head { int64_t unit, kind; } result_head;

struct lt_work {
    lt_cluster     *c;
    lt_work_plan    plan;
    int64_t         chunk[LT_CHUNK_MOST]; /* dealt to this rank */
    int             n_chunk, at;
    atomic_bool     cancelled;
    /* of rank 0 */
    pthread_mutex_t lock;       /* around the queue, and around take */
    lt_queue        queue;
    lt_status       failure;    /* the first of take or of another rank; ends the dealing */
    lt_error        why;
    bool            rank_failed; /* the failure is a rank's, which the verdict gives */
    int             n_last, n_failed; /* ranks whose last result has come; that failed, and may never send one */
    lt_work_stats   stats;
    bool            serving;
    pthread_t       server;
};

static bool is_set(const volatile int *flag) { return flag && *flag; }
static bool is_stopped(const lt_work *w) { return atomic_load(&w->cancelled) || is_set(w->plan.stop) || is_set(w->plan.drain); }

/* ---- Rank 0 ----------------------------------------------------------------------------------------------------------------------- */

static int deal(lt_work *w, int64_t out[LT_CHUNK_MOST])
{
    pthread_mutex_lock(&w->lock);
    int n = w->failure || is_set(w->plan.stop) || is_set(w->plan.drain) ? 0 : lt_queue_deal(&w->queue, out);
    pthread_mutex_unlock(&w->lock);
    return n;
}

static void note_failure(lt_work *w, lt_status s, bool of_rank)
{
    pthread_mutex_lock(&w->lock);
    if (s && !w->failure) {
        w->failure = s;
        w->rank_failed = of_rank;
        lt_error_keep(&w->why);
    }
    pthread_mutex_unlock(&w->lock);
}

/* After a failure of take what comes later is dropped: its place may be lost, and a resumed run makes it again. */
static lt_status take(lt_work *w, int rank, int64_t unit, int kind, const void *data, size_t bytes)
{
    lt_status s = LT_OK;
    pthread_mutex_lock(&w->lock);
    if (w->failure && !w->rank_failed) {
        s = w->failure;
        lt_error_restore(&w->why);
    } else {
        s = w->plan.take(w->plan.ctx, rank, unit, kind, data, bytes);
    }
    pthread_mutex_unlock(&w->lock);
    note_failure(w, s, false);
    return s;
}

static lt_status answer(lt_work *w, const lt_message *m)
{
    int64_t chunk[LT_CHUNK_MOST], start = lt_clock_ns();
    int n = deal(w, chunk);
    lt_status s = lt_cluster_send(w->c, m->from, LT_TAG_DEAL, chunk, (size_t)n * sizeof *chunk);
    w->stats.asks++;
    w->stats.answer_seconds += lt_seconds_since(start);
    return s;
}

static lt_status take_message(lt_work *w, const lt_message *m)
{
    result_head h;
    if (m->bytes < sizeof h) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent a result of %zu bytes", m->from, m->bytes);
    memcpy(&h, m->data, sizeof h);
    w->n_last += h.kind == LAST;
    if (h.kind == LAST) return LT_OK;
    (void)take(w, m->from, h.unit, (int)h.kind, (const char *)m->data + sizeof h, m->bytes - sizeof h); /* noted; this rank ends the dealing */
    return LT_OK;
}

static void note_outcome(lt_work *w, const lt_message *m)
{
    lt_status s = lt_cluster_note_outcome(w->c, m);
    w->n_failed += s != LT_OK;
    if (s) note_failure(w, s, true);
}

/* One message of each kind, if it has arrived. Asks come first, so that no rank waits. */
static lt_status serve_once(lt_work *w, bool *idle)
{
    static const lt_cluster_tag order[] = { LT_TAG_ASK, LT_TAG_RESULT, LT_TAG_OUTCOME };
    *idle = true;
    for (size_t i = 0; i < LT_LEN(order); i++) {
        lt_message m;
        LT_TRY(lt_cluster_receive(w->c, order[i], 0, NULL, &m));
        if (m.from < 0) continue;
        *idle = false;
        lt_status s = LT_OK;
        if (order[i] == LT_TAG_ASK) s = answer(w, &m);
        else if (order[i] == LT_TAG_RESULT) s = take_message(w, &m);
        else note_outcome(w, &m);
        lt_free(m.data);
        if (s) return s;
    }
    return LT_OK;
}

/* MPI keeps the order of messages with one tag only: the outcome of a rank may come before its results. */
static bool is_over(const lt_work *w)
{
    int others = lt_cluster_size(w->c) - 1;
    return lt_cluster_outcomes(w->c) == others && w->n_last + w->n_failed >= others;
}

/* Until all other ranks have said how they fared, or one of them is lost. */
static void *serve(void *ctx)
{
    lt_work *w = ctx;
    lt_status s = LT_OK;
    for (int idle_for = 0; !s && !(idle_for && is_over(w));) { /* idle: nothing of a failed rank is left either */
        bool idle;
        s = serve_once(w, &idle);
        idle_for = idle ? idle_for + 1 : 0;
        if (idle) lt_cluster_rest(LT_MIN(idle_for, SOON)); /* the rank that asks next has nothing to do */
    }
    note_failure(w, s, false);
    return NULL;
}

/* ---- Beginning and end --------------------------------------------------------------------------------------------------------------- */

static lt_status start_server(lt_work *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->server, NULL, serve, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->serving = rc == 0;
    return rc ? LT_FAIL(LT_ERR_MEMORY, "no thread to deal work to ranks: %s", strerror(rc)) : LT_OK;
}

lt_status lt_work_begin(lt_cluster *c, const lt_work_plan *plan, lt_work **out)
{
    *out = NULL;
    lt_work *w = lt_calloc(1, sizeof *w);
    if (!w) return LT_ERR_MEMORY;
    w->c = c;
    w->plan = *plan;
    pthread_mutex_init(&w->lock, NULL);
    bool first = lt_cluster_rank(c) == 0;
    if (first) w->queue = lt_queue_make(plan->unit, plan->cost, plan->n, plan->one_at_a_time ? INT_MAX : lt_cluster_size(c));
    lt_status s = first && lt_cluster_size(c) > 1 ? start_server(w) : LT_OK;
    if (s) lt_free(w);
    else *out = w;
    return s;
}

/* The failure of take or of the server counts before this rank's own, which is often its consequence. */
static lt_status end_first(lt_work *w, lt_status s)
{
    if (w->serving) pthread_join(w->server, NULL);
    if (!w->failure || w->rank_failed) return lt_cluster_agree(w->c, s, "work", NULL, 0);
    lt_error_restore(&w->why);
    return lt_cluster_agree(w->c, w->failure, "work", NULL, 0);
}

lt_status lt_work_end(lt_work *w, lt_status s)
{
    if (!w) return s;
    lt_error mine;
    lt_error_keep(&mine);
    if (s && lt_cluster_rank(w->c) == 0) note_failure(w, s, true); /* deal no more */
    if (s) lt_error_restore(&mine);
    if (!lt_cluster_rank(w->c)) s = end_first(w, s);
    else {
        result_head last = { -1, LAST };
        (void)lt_cluster_send(w->c, 0, LT_TAG_RESULT, &last, sizeof last); /* if rank 0 is lost, the next line says so */
        if (s) lt_error_restore(&mine);
        s = lt_cluster_agree(w->c, s, "work", NULL, 0);
    }
    pthread_mutex_destroy(&w->lock);
    lt_free(w);
    return s;
}

/* ---- Every rank ----------------------------------------------------------------------------------------------------------------------- */

static lt_status ask(lt_work *w)
{
    lt_message m;
    LT_TRY(lt_cluster_send(w->c, 0, LT_TAG_ASK, NULL, 0));
    LT_TRY(lt_cluster_receive(w->c, LT_TAG_DEAL, 1e300, NULL, &m)); /* rank 0 answers at once, or is lost */
    w->n_chunk = (int)LT_MIN(m.bytes / sizeof *w->chunk, (size_t)LT_CHUNK_MOST);
    memcpy(w->chunk, m.data, (size_t)w->n_chunk * sizeof *w->chunk);
    lt_free(m.data);
    return LT_OK;
}

lt_status lt_work_next(lt_work *w, int64_t *unit)
{
    *unit = -1;
    if (is_stopped(w)) return LT_OK;
    if (w->at == w->n_chunk) {
        w->at = w->n_chunk = 0;
        if (lt_cluster_rank(w->c)) LT_TRY(ask(w));
        else w->n_chunk = deal(w, w->chunk);
    }
    if (w->at < w->n_chunk) *unit = w->chunk[w->at++];
    return LT_OK;
}

void lt_work_cancel(lt_work *w) { atomic_store(&w->cancelled, true); }

lt_status lt_work_put(lt_work *w, int64_t unit, int kind, int n, const lt_piece *piece)
{
    result_head h = { unit, kind };
    size_t bytes = sizeof h;
    for (int i = 0; i < n; i++) bytes += piece[i].bytes;
    if (!lt_cluster_rank(w->c) && n == 1) return take(w, 0, unit, kind, piece->data, piece->bytes);
    char *all = lt_malloc(bytes);
    if (!all) return LT_ERR_MEMORY;
    memcpy(all, &h, sizeof h);
    for (size_t i = 0, at = sizeof h; i < (size_t)n; at += piece[i++].bytes)
        if (piece[i].bytes) memcpy(all + at, piece[i].data, piece[i].bytes);
    lt_status s = lt_cluster_rank(w->c) ? lt_cluster_send(w->c, 0, LT_TAG_RESULT, all, bytes) : take(w, 0, unit, kind, all + sizeof h, bytes - sizeof h);
    lt_free(all);
    return s;
}

lt_work_stats lt_work_get_stats(const lt_work *w) { return w->stats; }
