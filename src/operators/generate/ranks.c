/* A dataset made by several ranks (decision 223): rank 0 has the file, deals rows and writes; every rank, rank 0 too, runs rows with a store that has no file and
   hands over what comes out. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/ranks.h"

#include "base/alloc.h"
#include "base/status.h"
#include "cluster/queue.h"
#include "cluster/work.h"
#include "lathe/device.h"
#include "operators/generate/worker/worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OF_BEGIN, OF_STATES, OF_ROW, OF_INFO };              /* kinds of what is handed over */
enum { WINDOW_PER_RANK = 64, LEAST_WINDOW = 512 };          /* rows that are reordered by cost: what the journal holds at most */

/* ---- Rank 0: what is handed over goes to the file ---------------------------------------------------------------------------------- */

typedef struct open_row { int64_t row; lt_store_row *out; } open_row;

typedef struct writer {
    lt_generator *g;
    open_row     *open;     /* rows whose states have begun to arrive */
    int           n_open, room;
    int64_t       done;     /* rows of this run */
} writer;

static open_row *find_open(writer *w, int64_t row)
{
    for (int i = 0; i < w->n_open; i++)
        if (w->open[i].row == row) return &w->open[i];
    return NULL;
}

/* A row that begins again loses the states that came before. */
static lt_status begin_row(writer *w, int64_t row, open_row **out)
{
    open_row *o = find_open(w, row);
    if (!o && w->n_open == w->room) return LT_FAIL(LT_ERR_INTERNAL, "ranks have more than %d rows at a time", w->room);
    if (o) lt_store_row_drop(w->g->store, o->out);
    else o = &w->open[w->n_open++];
    *o = (open_row){ .row = row };
    lt_status s = lt_store_row_take(w->g->store, row, &o->out);
    if (s) *o = w->open[--w->n_open];
    *out = s ? NULL : o;
    return s;
}

static lt_status end_row(writer *w, int rank, int64_t row, const void *data, size_t bytes)
{
    lt_generator *g = w->g;
    lt_worker_row r;
    open_row *o = find_open(w, row);
    if (bytes != sizeof r + g->plan.rest_bytes) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent row %" PRId64 " with %zu bytes", rank, row, bytes);
    if (!o) LT_TRY(begin_row(w, row, &o));
    lt_store_row *out = o->out;
    *o = w->open[--w->n_open];
    memcpy(&r, data, sizeof r);
    memcpy(out->record, (const char *)data + sizeof r, g->plan.rest_bytes);
    memcpy(out->device, r.device, sizeof out->device);
    r.info.first_failure[sizeof r.info.first_failure - 1] = 0;
    if (r.result.status >= LT_RUN_FAILED && !g->info->first_failure[0]) memcpy(g->info->first_failure, r.info.first_failure, sizeof r.info.first_failure);
    w->done++;
    return lt_generator_put_row(g, out, &r.result);
}

static void add_info(writer *w, const lt_generate_info *i)
{
    lt_generate_info zero = { .size = sizeof zero };
    lt_worker_add_times(w->g->info, &zero, i);
    if (!w->g->info->feature_reason[0]) memcpy(w->g->info->feature_reason, i->feature_reason, sizeof i->feature_reason);
    w->g->info->devices += i->samples > 0;
}

static lt_status take(void *ctx, int rank, int64_t row, int kind, const void *data, size_t bytes)
{
    writer *w = ctx;
    open_row *o;
    lt_generate_info i;
    if (kind != OF_INFO && (row < 0 || row >= w->g->rows.n)) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent row %" PRId64, rank, row);
    switch (kind) {
    case OF_BEGIN: return begin_row(w, row, &o);
    case OF_STATES:
        if (!(o = find_open(w, row)) || bytes != w->g->plan.step_bytes) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent states of row %" PRId64 ", which has not begun", rank, row);
        return lt_store_row_step(w->g->store, o->out, data, (int)w->g->plan.grid);
    case OF_ROW: return end_row(w, rank, row, data, bytes);
    default:
        if (bytes != sizeof i) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent %zu bytes about itself", rank, bytes);
        memcpy(&i, data, sizeof i);
        add_info(w, &i);
        return LT_OK;
    }
}

/* ---- Every rank: rows run ------------------------------------------------------------------------------------------------------------ */

typedef struct runner {
    lt_generator     g;       /* as that of the run, with a store that has no file */
    lt_generate_info info;
    lt_work         *work;
    pthread_mutex_t  lock;
    pthread_cond_t   changed;
    int              held, most; /* rows taken and not handed over; more would wait here while another rank is idle */
    bool             cancelled;
} runner;

/* On the prefetch thread. */
static lt_status next_row(void *ctx, int64_t *row)
{
    runner *r = ctx;
    pthread_mutex_lock(&r->lock);
    while (r->held >= r->most && !r->cancelled) pthread_cond_wait(&r->changed, &r->lock);
    bool end = r->cancelled;
    pthread_mutex_unlock(&r->lock);
    *row = -1;
    if (!end) LT_TRY(lt_work_next(r->work, row));
    pthread_mutex_lock(&r->lock);
    r->held += *row >= 0;
    pthread_mutex_unlock(&r->lock);
    return LT_OK;
}

static void cancel(void *ctx)
{
    runner *r = ctx;
    lt_work_cancel(r->work);
    pthread_mutex_lock(&r->lock);
    r->cancelled = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static void beat(void *ctx, int64_t row, int64_t t)
{
    runner *r = ctx;
    if (row >= 0 && t < 0 && r->g.plan.n_steps) (void)lt_work_put(r->work, row, OF_BEGIN, 0, NULL); /* where that fails, so does what follows */
}

static lt_status put_states(void *ctx, const lt_store_row *row, const float *states)
{
    runner *r = ctx;
    return lt_work_put(r->work, row->row, OF_STATES, 1, &(lt_piece){ states, r->g.plan.step_bytes });
}

static lt_status put_row(void *ctx, const lt_store_row *row)
{
    runner *r = ctx;
    lt_worker_row head = { { .status = (lt_run_status)row->code, .step = row->step, .seconds = (double)row->seconds }, r->info, { 0 } };
    memcpy(head.device, row->device, sizeof head.device);
    lt_status s = lt_work_put(r->work, row->row, OF_ROW, 2, (lt_piece[]){ { &head, sizeof head }, { row->record, r->g.plan.rest_bytes } });
    pthread_mutex_lock(&r->lock);
    r->held--;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return s;
}

static lt_status run_rows(const lt_generator *g, lt_work *work)
{
    bool gpu = g->opt->device && strcmp(lt_device_kind(g->opt->device), "cpu");
    lt_generate_options opt = *g->opt;
    opt.progress = NULL; /* rank 0 reports what it takes */
    opt.record_times = true; /* of rows on their way; the file keeps them where the run asks for it */
    runner r = { .work = work, .info = { .size = sizeof r.info }, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .most = gpu ? LT_MOST_AT_ONCE + 1 : 2 };
    r.g = (lt_generator){ .c = g->c, .opt = &opt, .info = &r.info, .set = g->set, .rows = g->rows, .plan = g->plan, .rollout = g->rollout, .order = g->order,
                          .n_order = g->n_order, .source = { .next = next_row, .cancel = cancel, .ctx = &r }, .beat = beat, .beat_ctx = &r };
    r.g.plan.rows_on_the_way = LT_MOST_AT_ONCE + 1;
    lt_status s = lt_store_open_sink(&r.g.plan, &(lt_store_sink){ put_states, put_row, &r }, &r.g.store);
    if (!s) s = lt_generator_run_here(&r.g);
    lt_row_features_close(&r.g.features);
    lt_rollout_cache_destroy(r.g.cache);
    lt_store_close_sink(r.g.store);
    lt_error why;
    lt_error_keep(&why);
    lt_status sent = lt_work_put(work, -1, OF_INFO, 1, &(lt_piece){ &r.info, sizeof r.info });
    if (s) lt_error_restore(&why);
    return s ? s : sent;
}

/* ---- The order ------------------------------------------------------------------------------------------------------------------------- */

typedef struct by_kind { const lt_operator_spec *spec; int64_t at; } by_kind;

static int compare_kinds(const void *a, const void *b) { return lt_architecture_compare(((const by_kind *)a)->spec, ((const by_kind *)b)->spec); }

/* The work of each row of g->order, counted once per architecture. */
static lt_status estimate_costs(const lt_generator *g, double *cost)
{
    by_kind *list = lt_malloc((size_t)LT_MAX(g->n_order, (int64_t)1) * sizeof *list);
    if (!list) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < g->n_order; i++) list[i] = (by_kind){ &g->rows.spec[g->order[i]], i };
    qsort(list, (size_t)g->n_order, sizeof *list, compare_kinds);
    for (int64_t i = 0; i < g->n_order; i++) {
        bool same = i && !compare_kinds(&list[i - 1], &list[i]);
        double flops = same ? cost[list[i - 1].at] : lt_operator_flops(list[i].spec);
        cost[list[i].at] = flops > 0 ? flops : 1;
    }
    lt_free(list);
    return LT_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static lt_status order_rows(lt_generator *g, double **cost)
{
    LT_TRY(lt_generator_copy_rows(g));
    LT_TRY(lt_generator_schedule(g));
    g->info->skipped = g->plan.rows - g->n_order;
    qsort(g->order, (size_t)g->n_order, sizeof *g->order, compare_rows); /* windows are of neighbours, whose slabs are complete soon */
    *cost = lt_malloc((size_t)LT_MAX(g->n_order, (int64_t)1) * sizeof **cost);
    if (!*cost) return LT_ERR_MEMORY;
    LT_TRY(estimate_costs(g, *cost));
    if (g->opt->resume && g->n_order) LT_TRY(lt_generator_check_memory(g, g->order, g->n_order));
    return lt_queue_order(g->order, *cost, g->n_order, LT_MAX((int64_t)WINDOW_PER_RANK * lt_cluster_size(g->opt->cluster), (int64_t)LEAST_WINDOW));
}

/* All ranks know which rows may come: those with GPUs prepare kernels for them. */
static lt_status share_order(lt_generator *g)
{
    lt_cluster *c = g->opt->cluster;
    LT_TRY(lt_cluster_broadcast(c, &g->n_order, sizeof g->n_order));
    if (lt_cluster_rank(c)) {
        g->order = lt_malloc((size_t)LT_MAX(g->n_order, (int64_t)1) * sizeof *g->order);
        if (!g->order) return LT_ERR_MEMORY;
    }
    return lt_cluster_broadcast(c, g->order, (size_t)g->n_order * sizeof *g->order);
}

/* ---- The whole ------------------------------------------------------------------------------------------------------------------------- */

static lt_status run_shared(lt_generator *g, const double *cost)
{
    lt_cluster *c = g->opt->cluster;
    writer w = { .g = g, .room = (int)LT_MAX(g->plan.rows_on_the_way, 1) };
    lt_work *work;
    w.open = lt_calloc((size_t)w.room, sizeof *w.open);
    if (!w.open) return LT_ERR_MEMORY;
    lt_status s = lt_work_begin(c, &(lt_work_plan){ .unit = g->order, .cost = cost, .n = g->n_order, .take = take, .ctx = &w, .stop = g->opt->stop, .drain = g->opt->drain,
                                                .one_at_a_time = g->opt->mixed_devices }, &work);
    if (!s) {
        s = g->n_order ? run_rows(g, work) : LT_OK;
        s = lt_work_end(work, s);
    }
    while (w.n_open > 0) lt_store_row_drop(g->store, w.open[--w.n_open].out);
    if (!s && !lt_cluster_rank(c) && w.done < g->n_order) s = LT_FAIL(LT_ERR_CANCELLED, "stopped");
    lt_free(w.open);
    return s;
}

/* From the open file to the last row. */
static lt_status run_open(lt_generator *g)
{
    double *cost = NULL;
    bool first = lt_cluster_rank(g->opt->cluster) == 0;
    lt_status s = first ? lt_generator_note_step(g, g->info->step) : LT_OK;
    if (!s && first) s = order_rows(g, &cost);
    s = lt_cluster_agree(g->opt->cluster, s, "rows", NULL, 0);
    if (!s) s = share_order(g);
    if (!s) s = run_shared(g, cost);
    lt_free(cost);
    return s;
}

lt_status lt_generator_share(lt_generator *g, lt_status s)
{
    lt_cluster *c = g->opt->cluster;
    bool first = lt_cluster_rank(c) == 0;
    bool gpu = g->opt->mixed_devices || (g->opt->device && strcmp(lt_device_kind(g->opt->device), "cpu")); /* of any rank */
    int at_once = gpu ? LT_MOST_AT_ONCE : 1;
    LT_TRY(lt_generator_ranks_agree(g, s));
    g->plan.rows_on_the_way = g->plan.n_steps ? (lt_cluster_size(c) + 1) * at_once : 8; /* rows with states arrive in pieces */
    LT_TRY(lt_cluster_agree(c, first ? lt_generator_open_file(g) : LT_OK, "dataset", NULL, 0));
    s = run_open(g);
    if (first) s = lt_generator_close_store(g, s);
    if (!lt_cluster_has_failed(c)) s = lt_cluster_agree(c, s, "end of the dataset", NULL, 0);
    return s;
}
