/* Units that do not depend on each other, over ranks and threads: lt_cluster_map. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "cluster/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct map {
    int64_t            n;
    size_t             row_bytes;
    lt_cluster_unit_fn run;
    void              *ctx;
    lt_work           *work;
    pthread_mutex_t    lock;    /* around asking for units */
    atomic_bool        failed;
    char              *rows;    /* of rank 0 */
    int64_t            done;    /* of rank 0 */
} map;

/* On rank 0, one call at a time. */
static lt_status take(void *ctx, int rank, int64_t unit, int kind, const void *data, size_t bytes)
{
    map *m = ctx;
    (void)kind;
    if (unit < 0 || unit >= m->n || bytes != m->row_bytes) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent unit %lld with %zu bytes", rank, (long long)unit, bytes);
    memcpy(m->rows + (size_t)unit * bytes, data, bytes);
    m->done++;
    return LT_OK;
}

static lt_status next_unit(map *m, int64_t *unit)
{
    pthread_mutex_lock(&m->lock);
    *unit = -1;
    lt_status s = atomic_load(&m->failed) ? LT_OK : lt_work_next(m->work, unit);
    pthread_mutex_unlock(&m->lock);
    return s;
}

static lt_status run_units(map *m, void *row)
{
    for (;;) {
        int64_t unit;
        LT_TRY(next_unit(m, &unit));
        if (unit < 0) return LT_OK;
        memset(row, 0, m->row_bytes);
        LT_TRY(m->run(m->ctx, unit, row));
        LT_TRY(lt_work_put(m->work, unit, 0, 1, &(lt_piece){ row, m->row_bytes }));
    }
}

/* One thread: it takes units until there are none. */
static lt_status run_thread(void *ctx, int64_t index, int worker)
{
    map *m = ctx;
    (void)index, (void)worker;
    void *row = lt_malloc(m->row_bytes + 1);
    lt_status s = row ? run_units(m, row) : LT_ERR_MEMORY;
    if (s) atomic_store(&m->failed, true);
    lt_free(row);
    return s;
}

static lt_status run_threads(map *m, int threads)
{
    lt_pool *pool;
    if (!threads) threads = lt_pool_threads(lt_pool_shared()); /* a cluster has given it this rank's share */
    LT_TRY(lt_pool_create(threads, &pool));
    lt_status s = lt_pool_run(pool, threads, run_thread, m);
    lt_pool_destroy(pool);
    return s;
}

static lt_status check(int64_t n, lt_cluster_unit_fn run, int threads, bool needs_rows, const void *rows)
{
    if (n < 1 || !run || (needs_rows && !rows)) return LT_FAIL(LT_ERR_ARGUMENT, "cluster_map: %s", n < 1 ? "no units" : !run ? "run is NULL" : "rows is NULL");
    return threads < 0 || threads > 4096 ? LT_FAIL(LT_ERR_ARGUMENT, "cluster_map: %d threads, expected 0 to 4096", threads) : LT_OK;
}

lt_status lt_cluster_map(lt_cluster *c, int64_t n, size_t row_bytes, lt_cluster_unit_fn run, void *ctx, int threads, const volatile int *stop, void *rows)
{
    bool first = lt_cluster_rank(c) == 0;
    map m = { .n = n, .row_bytes = row_bytes, .run = run, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER, .rows = rows };
    int64_t *unit = NULL, size[2] = { n, (int64_t)row_bytes };
    lt_status s = check(n, run, threads, first, rows);
    if (!s && first && !(unit = lt_malloc((size_t)n * sizeof *unit))) s = LT_ERR_MEMORY;
    LT_TRY(lt_cluster_agree(c, s, "units", size, sizeof size));
    for (int64_t i = 0; first && i < n; i++) unit[i] = i;
    s = lt_work_begin(c, &(lt_work_plan){ .unit = unit, .n = first ? n : 0, .take = take, .ctx = &m, .stop = stop }, &m.work);
    if (!s) s = lt_work_end(m.work, run_threads(&m, threads));
    if (!s) s = lt_cluster_agree(c, first && m.done < n ? LT_FAIL(LT_ERR_CANCELLED, "stopped") : LT_OK, "units", NULL, 0);
    lt_free(unit);
    return s;
}
