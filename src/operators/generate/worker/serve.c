/* The worker's side of the watchdog. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/worker.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/device.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Limits of valid messages: bytes of a configuration (yaml.h), rows of a dataset (sobol.h). */
#define MAX_CONFIG_BYTES ((uint64_t)1 << 24)
#define MAX_ROWS ((int64_t)1 << 32)

typedef struct server {
    int              fd;
    pthread_mutex_t  sending;     /* the prefetch thread asks for rows while the main thread reports others */
    lt_generator     g;
    lt_generate_info info;
    lt_worker_probe  probe;
    void            *probe_ctx;
    bool             renew;       /* a row failed: what is left is for a fresh process */
} server;

/* ---- What is sent ------------------------------------------------------------------------------------- */

static lt_status report(server *w, lt_worker_head head, int n, const lt_worker_piece *piece)
{
    pthread_mutex_lock(&w->sending);
    lt_status s = lt_worker_send(w->fd, head, n, piece);
    pthread_mutex_unlock(&w->sending);
    return s;
}

/* Called by the main thread during rollouts and by several threads while kernels are compiled. If the parent is gone, the next message that
   sends a row fails. */
static void beat(void *ctx, int64_t row, int64_t t)
{
    server *w = ctx;
    lt_worker_word word = row < 0 ? LT_WORD_ALIVE : t < 0 ? LT_WORD_BEGIN : LT_WORD_BEAT;
    pthread_mutex_lock(&w->sending);
    (void)lt_worker_send(w->fd, (lt_worker_head){ .word = word, .row = row, .step = t }, 0, NULL);
    if (w->probe) w->probe(w->probe_ctx, row, t); /* between messages, never inside one */
    pthread_mutex_unlock(&w->sending);
}

static lt_status send_states(void *ctx, const lt_store_row *row, const float *states)
{
    server *w = ctx;
    return report(w, (lt_worker_head){ .word = LT_WORD_STATES, .row = row->row }, 1, &(lt_worker_piece){ states, w->g.plan.step_bytes });
}

static lt_status send_row(void *ctx, const lt_store_row *row)
{
    server *w = ctx;
    lt_generator_count_builds(&w->g);
    w->info.peak_bytes = lt_rollout_cache_peak_bytes(w->g.cache);
    w->info.ahead_seconds = lt_prefetch_busy_seconds(w->g.ahead);
    lt_worker_row r = { { .status = (lt_run_status)row->code, .step = row->step, .seconds = (double)row->seconds }, w->info, { 0 } };
    const lt_worker_piece piece[] = { { &r, sizeof r }, { row->record, w->g.plan.rest_bytes } };
    LT_TRY(report(w, (lt_worker_head){ .word = LT_WORD_ROW, .row = row->row }, 2, piece));
    w->renew = row->code == LT_RUN_FAILED || row->code == LT_RUN_LOST; /* the device may be left in any state */
    return w->renew ? LT_ERR_CANCELLED : LT_OK;
}

/* ---- What is received ----------------------------------------------------------------------------------- */

/* Called on the prefetch thread, the only one that receives. */
static lt_status next_row(void *ctx, int64_t *row)
{
    server *w = ctx;
    lt_worker_head h;
    LT_TRY(report(w, (lt_worker_head){ .word = LT_WORD_ASK }, 0, NULL));
    LT_TRY(lt_worker_receive(w->fd, &h, sizeof h));
    if (h.word != LT_WORD_DEAL || h.row >= w->g.rows.n) return LT_FAIL(LT_ERR_FORMAT, "worker process: dealt row %lld of %lld", (long long)h.row, (long long)w->g.rows.n);
    *row = h.row;
    return LT_OK;
}

/* Stops receiving; messages can still be sent. */
static void stop_receiving(void *ctx) { (void)shutdown(((server *)ctx)->fd, SHUT_RD); }

/* ---- A run ----------------------------------------------------------------------------------------------- */

static lt_status run_rows(server *w)
{
    lt_generator *g = &w->g;
    lt_store_sink sink = { send_states, send_row, w };
    lt_worker_ready ready = { .rest_bytes = g->plan.rest_bytes, .step_bytes = g->plan.step_bytes };
    snprintf(ready.version, sizeof ready.version, "%s", lt_version());
    LT_TRY(lt_store_open_sink(&g->plan, &sink, &g->store));
    LT_TRY(report(w, (lt_worker_head){ .word = LT_WORD_READY }, 1, &(lt_worker_piece){ &ready, sizeof ready }));
    lt_status s = lt_generator_run_here(g);
    return w->renew ? LT_OK : s;
}

static lt_status run_config(server *w, const lt_worker_setup *u, const char *json, int64_t *order)
{
    lt_generate_options opt = lt_generate_defaults();
    lt_dataset_config *c = NULL;
    lt_device *device = NULL;
    LT_TRY(lt_dataset_config_parse(json, u->config_bytes, "the configuration of the run", NULL, &c));
    lt_status s = u->device[0] ? lt_device_open(u->device, &device) : LT_OK;
    opt.shard_index = u->shard_index;
    opt.shard_count = u->shard_count;
    opt.memory_bytes = u->memory_bytes;
    opt.threads = (int)u->threads;
    opt.at_once = (int)u->at_once;
    opt.device = device;
    w->g = (lt_generator){ .c = c, .opt = &opt, .info = &w->info, .order = order, .n_order = u->n_rows, .beat = beat, .beat_ctx = w,
                             .source = { .next = next_row, .cancel = stop_receiving, .ctx = w } };
    if (!s) s = lt_generator_prepare(&w->g);
    for (int64_t i = 0; i < u->n_rows && !s; i++)
        if (order[i] < 0 || order[i] >= w->g.rows.n) s = LT_FAIL(LT_ERR_FORMAT, "worker process: row %lld of %lld", (long long)order[i], (long long)w->g.rows.n);
    if (!s) s = run_rows(w);
    lt_store_close_sink(w->g.store);
    w->g.order = NULL; /* the caller's */
    lt_generator_release(&w->g);
    lt_device_close(device);
    lt_dataset_config_destroy(c);
    return s;
}

static lt_status receive_setup(int fd, lt_worker_setup *u, char **json, int64_t **order)
{
    lt_worker_head h;
    LT_TRY(lt_worker_receive(fd, &h, sizeof h));
    if (h.word != LT_WORD_SETUP) return LT_FAIL(LT_ERR_FORMAT, "worker process: expected to be set up, got word %lld", (long long)h.word);
    LT_TRY(lt_worker_receive(fd, u, sizeof *u));
    if (u->config_bytes > MAX_CONFIG_BYTES || u->n_rows < 1 || u->n_rows > MAX_ROWS || !memchr(u->device, 0, sizeof u->device))
        return LT_FAIL(LT_ERR_FORMAT, "worker process: a configuration of %llu bytes and %lld rows", (unsigned long long)u->config_bytes, (long long)u->n_rows);
    *json = lt_malloc(u->config_bytes + 1);
    *order = lt_malloc((size_t)u->n_rows * sizeof **order);
    if (!*json || !*order) return LT_ERR_MEMORY;
    (*json)[u->config_bytes] = 0;
    LT_TRY(lt_worker_receive(fd, *json, u->config_bytes));
    return lt_worker_receive(fd, *order, (size_t)u->n_rows * sizeof **order);
}

lt_status lt_worker_serve(int fd, lt_worker_probe probe, void *ctx)
{
    server w = { .fd = fd, .sending = PTHREAD_MUTEX_INITIALIZER, .probe = probe, .probe_ctx = ctx };
    lt_worker_setup u;
    char *json = NULL;
    int64_t *order = NULL;
    lt_status s = receive_setup(fd, &u, &json, &order);
    if (!s) s = run_config(&w, &u, json, order);
    lt_worker_piece text = { lt_error_text(), s ? strlen(lt_error_text()) : 0 };
    lt_status sent = lt_worker_send(fd, (lt_worker_head){ .word = s ? LT_WORD_FAILED : LT_WORD_END, .value = s }, 1, &text);
    lt_free(json);
    lt_free(order);
    return s ? s : sent;
}

lt_status lt_generate_worker(int fd) { return lt_worker_serve(fd, NULL, NULL); }
