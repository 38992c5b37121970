/* The thread pool. Workers join a job while it is open; the caller closes it when no task is
   left and waits only for those that joined, so a worker that the system has not woken yet
   never delays a result. SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = LT_CONFIG_MAX_THREADS, SPIN_NS = 10000, PAUSES_PER_CLOCK = 16 };

/* The job word: number of the job (high 32 bits), whether it is open, how many workers joined. */
#define JOB_OPEN (1ull << 31)
#define JOB_JOINED (JOB_OPEN - 1)
#define JOB_NUMBER(word) ((uint32_t)((word) >> 32))

typedef struct worker {
    lt_pool  *pool;
    int       index; /* 1.. ; the calling thread is 0 */
    pthread_t thread;
} worker;

struct lt_pool {
    /* Hot words on lines of their own: every task pulls from next_task. */
    _Alignas(64) _Atomic int64_t next_task;
    _Alignas(64) _Atomic uint64_t job;
    _Alignas(64) atomic_bool in_use; /* a caller owns the pool */
    atomic_bool stopping, caller_sleeps;
    _Atomic int n_sleeping;
    _Atomic int n_threads;
    bool spin; /* only while there is a core for every thread */

    /* The job itself: written by the caller before it opens, read by workers that joined. */
    lt_task task;
    void   *ctx;
    int64_t n_tasks;

    pthread_mutex_t lock; /* sleeping and waking, and the failure below */
    pthread_cond_t  work, finished;
    lt_status fail_status;
    int64_t   fail_index;
    lt_error  failure;

    worker *workers; /* n_threads - 1 of them */
};

static _Thread_local bool inside_task; /* nested calls run inline */

static inline void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Running tasks ------------------------------------------------------------ */
static void record_failure(lt_pool *p, int64_t index, lt_status s)
{
    /* Tasks start in ascending order, so every task below a failing one has started: ending
       the supply here cannot hide a lower failure, and the lowest is always the one reported. */
    atomic_store(&p->next_task, p->n_tasks);
    pthread_mutex_lock(&p->lock);
    if (!p->fail_status || index < p->fail_index) {
        p->fail_status = s;
        p->fail_index = index;
        lt_error_keep(&p->failure);
    }
    pthread_mutex_unlock(&p->lock);
}

static void pull_tasks(lt_pool *p, int worker_index)
{
    inside_task = true;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&p->next_task, 1, memory_order_relaxed);
        if (i >= p->n_tasks) break;
        lt_status s = p->task(p->ctx, i, worker_index);
        if (s) record_failure(p, i, s);
    }
    inside_task = false;
}

static lt_status run_inline(int64_t n_tasks, lt_task task, void *ctx)
{
    for (int64_t i = 0; i < n_tasks; i++) LT_TRY(task(ctx, i, 0));
    return LT_OK;
}

/* ---- Workers ------------------------------------------------------------------- */
static bool has_work(lt_pool *p, uint32_t last_job)
{
    uint64_t word = atomic_load(&p->job);
    return ((word & JOB_OPEN) && JOB_NUMBER(word) != last_job) || atomic_load(&p->stopping);
}

static void wait_for_work(lt_pool *p, uint32_t last_job)
{
    if (p->spin)
        for (int64_t end = now_ns() + SPIN_NS; now_ns() < end;)
            for (int i = 0; i < PAUSES_PER_CLOCK; i++) {
                if (has_work(p, last_job)) return;
                cpu_pause();
            }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->n_sleeping, 1); /* before the check: the caller opens, then looks here */
    while (!has_work(p, last_job)) pthread_cond_wait(&p->work, &p->lock);
    atomic_fetch_sub(&p->n_sleeping, 1);
    pthread_mutex_unlock(&p->lock);
}

/* Joins the open job unless it is the one this worker has already left. */
static bool join_job(lt_pool *p, uint32_t *last_job)
{
    uint64_t word = atomic_load(&p->job);
    while ((word & JOB_OPEN) && JOB_NUMBER(word) != *last_job)
        if (atomic_compare_exchange_weak(&p->job, &word, word + 1)) {
            *last_job = JOB_NUMBER(word);
            return true;
        }
    return false;
}

static void leave_job(lt_pool *p)
{
    uint64_t before = atomic_fetch_sub(&p->job, 1);
    if ((before & JOB_JOINED) == 1 && !(before & JOB_OPEN) && atomic_load(&p->caller_sleeps)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->finished);
        pthread_mutex_unlock(&p->lock);
    }
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    uint32_t last_job = JOB_NUMBER(atomic_load(&w->pool->job));
    for (;;) {
        wait_for_work(w->pool, last_job);
        if (atomic_load(&w->pool->stopping)) return NULL;
        if (!join_job(w->pool, &last_job)) continue;
        pull_tasks(w->pool, w->index);
        leave_job(w->pool);
    }
}

/* ---- The caller ------------------------------------------------------------------ */
static void open_job(lt_pool *p, int64_t n_tasks, lt_task task, void *ctx)
{
    p->task = task;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
    p->fail_status = LT_OK;
    atomic_store_explicit(&p->next_task, 0, memory_order_relaxed);
    uint64_t number = JOB_NUMBER(atomic_load(&p->job)) + 1u;
    atomic_store(&p->job, (uint64_t)(uint32_t)number << 32 | JOB_OPEN);
    int64_t n_sleeping = atomic_load(&p->n_sleeping);
    if (n_sleeping == 0) return;
    pthread_mutex_lock(&p->lock);
    if (n_sleeping < n_tasks) pthread_cond_broadcast(&p->work);
    else /* few tasks: wake no more threads than can have one */
        for (int64_t i = 1; i < n_tasks; i++) pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
}

static bool all_left(lt_pool *p) { return !(atomic_load(&p->job) & JOB_JOINED); }

static void close_job(lt_pool *p)
{
    atomic_fetch_and(&p->job, ~JOB_OPEN);
    if (all_left(p)) return;
    if (p->spin)
        for (int64_t end = now_ns() + SPIN_NS; now_ns() < end;)
            for (int i = 0; i < PAUSES_PER_CLOCK; i++) {
                if (all_left(p)) return;
                cpu_pause();
            }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_sleeps, true);
    while (!all_left(p)) pthread_cond_wait(&p->finished, &p->lock);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->lock);
}

lt_status lt_pool_run(lt_pool *p, int64_t n_tasks, lt_task task, void *ctx)
{
    if (n_tasks <= 1 || inside_task || !p || atomic_load(&p->n_threads) == 1 || atomic_exchange(&p->in_use, true))
        return run_inline(n_tasks, task, ctx);
    open_job(p, n_tasks, task, ctx);
    pull_tasks(p, 0);
    close_job(p);
    lt_status s = p->fail_status;
    if (s) lt_error_restore(&p->failure);
    atomic_store(&p->in_use, false);
    return s;
}

/* ---- Making and ending pools ------------------------------------------------------- */
static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return LT_MAX(1, CPU_COUNT(&set));
}

/* 0 becomes LATHE_THREADS or the number of usable cores. */
static lt_status choose_threads(int asked, int *out)
{
    if (asked < 0 || asked > MAX_THREADS)
        return LT_FAIL(LT_ERR_ARGUMENT, "pool of %d threads: expected 0..%d", asked, MAX_THREADS);
    int64_t n = asked;
    if (!asked)
        LT_TRY(lt_config_int(LT_CONFIG_THREADS, 1, MAX_THREADS, LT_MIN(usable_cores(), MAX_THREADS), &n));
    *out = (int)n;
    return LT_OK;
}

static void stop_workers(lt_pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stopping, true);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < atomic_load(&p->n_threads) - 1; i++) pthread_join(p->workers[i].thread, NULL);
    lt_free(p->workers);
    p->workers = NULL;
    atomic_store(&p->n_threads, 1);
    atomic_store(&p->stopping, false);
}

static lt_status start_workers(lt_pool *p, int n_threads)
{
    p->spin = n_threads <= usable_cores();
    if (n_threads == 1) return LT_OK;
    p->workers = lt_calloc((size_t)n_threads - 1, sizeof *p->workers);
    if (!p->workers) return LT_ERR_MEMORY;
    for (int i = 1; i < n_threads; i++) {
        worker *w = &p->workers[i - 1];
        *w = (worker){ .pool = p, .index = i };
        int error = pthread_create(&w->thread, NULL, worker_main, w);
        if (error) {
            stop_workers(p);
            return LT_FAIL(LT_ERR_MEMORY, "pool: thread %d of %d did not start: %s", i, n_threads, strerror(error));
        }
        atomic_store(&p->n_threads, i + 1);
    }
    return LT_OK;
}

lt_status lt_pool_create(int n_threads, lt_pool **out)
{
    *out = NULL;
    LT_TRY(choose_threads(n_threads, &n_threads));
    lt_pool *p = lt_malloc_aligned(sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    memset(p, 0, sizeof *p);
    atomic_init(&p->n_threads, 1);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
    lt_status s = start_workers(p, n_threads);
    if (s) {
        lt_pool_destroy(p);
        return s;
    }
    *out = p;
    return LT_OK;
}

void lt_pool_destroy(lt_pool *p)
{
    if (!p) return;
    stop_workers(p);
    pthread_cond_destroy(&p->finished);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    lt_free_aligned(p);
}

int lt_pool_threads(const lt_pool *p) { return p ? atomic_load(&p->n_threads) : 1; }

/* ---- The shared pool ---------------------------------------------------------------- */
static _Atomic(lt_pool *) shared_pool;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* In a forked child, which has the forking thread alone: workers are gone, locks may be held by nobody. */
static void forget_workers(void)
{
    lt_pool *p = atomic_load(&shared_pool);
    pthread_mutex_init(&shared_lock, NULL);
    if (!p) return;
    atomic_store(&p->n_threads, 1);
    atomic_store(&p->in_use, false);
    atomic_store(&p->stopping, false);
    atomic_store(&p->caller_sleeps, false);
    atomic_store(&p->n_sleeping, 0);
    atomic_store(&p->job, 0);
    p->workers = NULL; /* not freed: the heap may be anyone's */
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
}

lt_pool *lt_pool_shared(void)
{
    lt_pool *p = atomic_load(&shared_pool);
    if (p) return p;
    /* A lock rather than pthread_once: a first attempt that failed may be tried again. */
    pthread_mutex_lock(&shared_lock);
    p = atomic_load(&shared_pool);
    if (!p && lt_pool_create(0, &p) == LT_OK) {
        pthread_atfork(NULL, NULL, forget_workers);
        atomic_store(&shared_pool, p);
    }
    pthread_mutex_unlock(&shared_lock);
    return p;
}

lt_status lt_pool_shared_resize(int n_threads)
{
    LT_TRY(choose_threads(n_threads, &n_threads));
    lt_pool *p = lt_pool_shared();
    if (!p) return LT_ERR_MEMORY;
    if (inside_task || atomic_exchange(&p->in_use, true))
        return LT_FAIL(LT_ERR_ARGUMENT, "pool: cannot change to %d threads while tasks are running", n_threads);
    stop_workers(p);
    lt_status s = start_workers(p, n_threads);
    atomic_store(&p->in_use, false);
    return s;
}

lt_status lt_set_threads(int n_threads) { return lt_pool_shared_resize(n_threads); }

int lt_get_threads(void) { return lt_pool_threads(lt_pool_shared()); }
