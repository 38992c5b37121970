/* A pool of worker threads that share out numbered tasks.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_POOL_H
#define LT_BASE_POOL_H

#include "lathe/base.h"

typedef struct lt_pool lt_pool;

/* One task: index in 0..n_tasks-1, worker in 0..lt_pool_threads()-1 (for per-thread scratch). */
typedef lt_status (*lt_task)(void *ctx, int64_t index, int worker);

/* n_threads counts the calling thread; 0 = LATHE_THREADS or the cores this process may use. */
lt_status lt_pool_create(int n_threads, lt_pool **out);
void      lt_pool_destroy(lt_pool *p);   /* NULL is allowed */
int       lt_pool_threads(const lt_pool *p);

/* Runs all tasks and returns when every one has ended; the caller works too. What a task
   computes may depend on its index only, so results do not depend on the thread count.
   A call from inside a task, or while another thread is using the pool, runs its tasks
   inline on the calling thread (worker 0 of its own scratch). After a failure no new task
   starts; the lowest failing index's status and text reach the caller. Never allocates. */
lt_status lt_pool_run(lt_pool *p, int64_t n_tasks, lt_task task, void *ctx);

/* The process-wide pool, made on first use; never destroyed by callers. NULL when it
   could not be made (error text set). */
lt_pool *lt_pool_shared(void);
/* Gives the shared pool another number of threads (0 as in lt_pool_create); its address stays.
   LT_ERR_ARGUMENT while tasks are running on it. When it fails the pool keeps one thread. */
lt_status lt_pool_shared_resize(int n_threads);

/* The range of part `index` of `n_parts` nearly equal parts of 0..n: a split by number only,
   so that it is the same whatever the thread count. */
static inline void lt_part_range(int64_t n, int64_t n_parts, int64_t index, int64_t *begin, int64_t *end)
{
    int64_t size = n / n_parts, rest = n % n_parts;
    *begin = index * size + (index < rest ? index : rest);
    *end = *begin + size + (index < rest);
}

#endif
