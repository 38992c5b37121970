/* The thread pool: every task once, lowest failure reported, nesting and sharing safe, no allocation.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5000 };
typedef struct tally { lt_pool *pool; _Atomic int hits[MOST]; int64_t fail_from; atomic_int bad_worker; } tally;

static lt_status count_task(void *ctx, int64_t index, int worker)
{
    tally *t = ctx;
    atomic_fetch_add(&t->hits[index], 1);
    if (worker < 0 || worker >= lt_pool_threads(t->pool)) atomic_store(&t->bad_worker, 1);
    if (index >= t->fail_from) return LT_FAIL(LT_ERR_NUMERIC, "task %d", (int)index);
    return LT_OK;
}

static void check_once(tally *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (t->hits[i] != 1) LT_TEST_FAIL("task %d ran %d times", (int)i, t->hits[i]);
    LT_CHECK(!t->bad_worker);
}

LT_TEST(each_task_runs_once_for_any_thread_count)
{
    static const int threads[] = { 1, 2, 3, 8 };
    static const int64_t sizes[] = { 0, 1, 2, 3, 7, 64, MOST };
    for (size_t k = 0; k < LT_LEN(threads); k++) {
        lt_pool *p;
        LT_CHECK_OK(lt_pool_create(threads[k], &p));
        LT_CHECK_EQ_INT(lt_pool_threads(p), threads[k]);
        for (int round = 0; round < 30; round++)
            for (size_t s = 0; s < LT_LEN(sizes); s++) {
                static tally t;
                memset(&t, 0, sizeof t);
                t.pool = p;
                t.fail_from = MOST;
                LT_CHECK_OK(lt_pool_run(p, sizes[s], count_task, &t));
                check_once(&t, sizes[s]);
            }
        lt_pool_destroy(p);
    }
}

LT_TEST(lowest_failure_is_reported_with_its_text)
{
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(4, &p));
    for (int round = 0; round < 300; round++) {
        static tally t;
        memset(&t, 0, sizeof t);
        t.pool = p;
        t.fail_from = round % 50;
        char want[32];
        snprintf(want, sizeof want, "numeric: task %d (", (int)t.fail_from);
        LT_CHECK_FAILS(lt_pool_run(p, 1000, count_task, &t), LT_ERR_NUMERIC, want);
        int n_started = 0;
        for (int i = 0; i < 1000; i++) n_started += t.hits[i];
        LT_CHECK(n_started < 1000); /* no new task after the failure */
    }
    static tally t;
    memset(&t, 0, sizeof t);
    t.pool = p;
    t.fail_from = MOST;
    LT_CHECK_OK(lt_pool_run(p, 100, count_task, &t)); /* a failure does not stick */
    check_once(&t, 100);
    lt_pool_destroy(p);
}

static lt_status outer_task(void *ctx, int64_t index, int worker)
{
    (void)worker;
    static _Thread_local tally inner;
    memset(&inner, 0, sizeof inner);
    inner.pool = ctx;
    inner.fail_from = index == 9 ? 5 : MOST;
    lt_status s = lt_pool_run(ctx, 20, count_task, &inner);
    if (!s) check_once(&inner, 20);
    return s;
}

LT_TEST(nested_calls_run_inline)
{
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(3, &p));
    LT_CHECK_OK(lt_pool_run(p, 9, outer_task, p));
    LT_CHECK_FAILS(lt_pool_run(p, 40, outer_task, p), LT_ERR_NUMERIC, "task 5");
    lt_pool_destroy(p);
}

typedef struct other_pool { lt_pool *pool; pthread_t thread; atomic_int elsewhere; } other_pool;

static lt_status note_thread(void *ctx, int64_t index, int worker)
{
    other_pool *o = ctx;
    (void)index, (void)worker;
    if (!pthread_equal(o->thread, pthread_self())) atomic_fetch_add(&o->elsewhere, 1);
    return LT_OK;
}

static lt_status run_on_another(void *ctx, int64_t index, int worker)
{
    other_pool o = { .pool = ctx, .thread = pthread_self() };
    (void)index, (void)worker;
    LT_TRY(lt_pool_run(o.pool, 1000, note_thread, &o));
    return o.elsewhere ? LT_FAIL(LT_ERR_INTERNAL, "%d tasks ran elsewhere", o.elsewhere) : LT_OK;
}

/* A task is one thread's, whatever pool it asks: else two layers of threads would fight for the cores. */
LT_TEST(a_task_uses_no_other_pool)
{
    lt_pool *p, *q;
    LT_CHECK_OK(lt_pool_create(2, &p));
    LT_CHECK_OK(lt_pool_create(4, &q));
    for (int round = 0; round < 20; round++) LT_CHECK_OK(lt_pool_run(p, 2, run_on_another, q));
    lt_pool_destroy(p);
    lt_pool_destroy(q);
}

static void *hammer(void *arg)
{
    lt_pool *p = arg;
    tally *t = calloc(1, sizeof *t);
    t->pool = p;
    for (int round = 0; round < 200; round++) {
        memset(t->hits, 0, sizeof t->hits);
        t->fail_from = round % 3 ? MOST : 17;
        lt_status s = lt_pool_run(p, 40, count_task, t);
        if (round % 3) {
            if (s) LT_TEST_FAIL("%s", lt_error_text());
            check_once(t, 40);
        } else if (s != LT_ERR_NUMERIC || !strstr(lt_error_text(), "task 17 ")) LT_TEST_FAIL("%s", lt_error_text());
    }
    free(t);
    return NULL;
}

LT_TEST(several_callers_share_one_pool)
{
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(3, &p));
    pthread_t t[4];
    for (int i = 0; i < 4; i++) LT_CHECK(!pthread_create(&t[i], NULL, hammer, p));
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    lt_pool_destroy(p);
}

static lt_status uneven_task(void *ctx, int64_t index, int worker)
{
    (void)worker;
    if (index % 5 == 0) nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL); /* long enough to sleep in the pool */
    atomic_fetch_add((_Atomic int64_t *)ctx, index);
    return LT_OK;
}

LT_TEST(sleeping_and_waking_lose_nothing)
{
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(4, &p));
    for (int round = 0; round < 50; round++) {
        _Atomic int64_t sum = 0;
        LT_CHECK_OK(lt_pool_run(p, 11, uneven_task, &sum));
        LT_CHECK_EQ_INT(sum, 55);
        if (round % 4 == 0) nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
    }
    lt_pool_destroy(p);
}

/* Each task waits for all others: a pool whose threads do not wake never has them at once. */
typedef struct meeting { atomic_int arrived; int expected; } meeting;

static lt_status meet(void *ctx, int64_t index, int worker)
{
    enum { PATIENCE_MS = 10000 };
    meeting *m = ctx;
    (void)index, (void)worker;
    atomic_fetch_add(&m->arrived, 1);
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(&m->arrived) < m->expected; ms++) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return atomic_load(&m->arrived) == m->expected ? LT_OK : LT_FAIL(LT_ERR_NUMERIC, "%d of %d came", atomic_load(&m->arrived), m->expected);
}

LT_TEST(threads_that_sleep_are_woken)
{
    enum { THREADS = 4 };
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(THREADS, &p));
    for (int n = 2; n <= THREADS; n++) {
        meeting m = { .expected = n };
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); /* all are asleep by now */
        LT_CHECK_OK(lt_pool_run(p, n, meet, &m));
    }
    lt_pool_destroy(p);
}

LT_TEST(running_never_allocates)
{
    lt_pool *p;
    LT_CHECK_OK(lt_pool_create(2, &p));
    _Atomic int64_t sum = 0;
    int64_t before = lt_alloc_count();
    for (int i = 0; i < 20; i++) LT_CHECK_OK(lt_pool_run(p, 10, uneven_task, &sum));
    LT_CHECK_EQ_INT(lt_alloc_count(), before);
    lt_pool_destroy(p);
}

LT_TEST(creating_survives_each_failing_allocation)
{
    for (int at = 1; at <= 2; at++) {
        int64_t live = lt_alloc_live();
        lt_pool *p = (lt_pool *)&live;
        lt_alloc_fail_at(at);
        LT_CHECK_FAILS(lt_pool_create(3, &p), LT_ERR_MEMORY, "no memory");
        lt_alloc_fail_at(0);
        LT_CHECK(p == NULL);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    lt_pool *p;
    LT_CHECK_FAILS(lt_pool_create(-1, &p), LT_ERR_ARGUMENT, "-1 threads");
    LT_CHECK_FAILS(lt_pool_create(5000, &p), LT_ERR_ARGUMENT, "5000 threads");
    lt_pool_destroy(NULL);
}

static lt_status resize_inside(void *ctx, int64_t index, int worker)
{
    (void)ctx, (void)index, (void)worker;
    return lt_pool_shared_resize(2);
}

LT_TEST(shared_pool_follows_the_environment_and_resizes)
{
    setenv("LATHE_THREADS", "many", 1);
    LT_CHECK(lt_pool_shared() == NULL);
    LT_CHECK(strstr(lt_error_text(), "LATHE_THREADS is 'many'"));
    setenv("LATHE_THREADS", "3", 1);
    lt_pool *p = lt_pool_shared(); /* a failed first attempt may be tried again */
    LT_CHECK(p && lt_pool_threads(p) == 3 && lt_pool_shared() == p);
    static const int sizes[] = { 1, 4, 2 };
    for (size_t i = 0; i < LT_LEN(sizes); i++) {
        LT_CHECK_OK(lt_pool_shared_resize(sizes[i]));
        LT_CHECK(lt_pool_shared() == p && lt_pool_threads(p) == sizes[i]);
        static tally t;
        memset(&t, 0, sizeof t);
        t.pool = p;
        t.fail_from = MOST;
        LT_CHECK_OK(lt_pool_run(p, 500, count_task, &t));
        check_once(&t, 500);
    }
    LT_CHECK_FAILS(lt_pool_run(p, 4, resize_inside, NULL), LT_ERR_ARGUMENT, "while tasks are running");
    LT_CHECK_FAILS(lt_pool_shared_resize(-2), LT_ERR_ARGUMENT, "-2 threads");
    unsetenv("LATHE_THREADS");
}

LT_TEST(splits_cover_the_range_in_order)
{
    for (int64_t n = 0; n < 40; n++)
        for (int64_t parts = 1; parts < 12; parts++) {
            int64_t at = 0, b, e, smallest = n, largest = 0;
            for (int64_t i = 0; i < parts; i++) {
                lt_part_range(n, parts, i, &b, &e);
                LT_CHECK(b == at && e >= b);
                at = e;
                smallest = LT_MIN(smallest, e - b), largest = LT_MAX(largest, e - b);
            }
            LT_CHECK(at == n && largest - smallest <= 1);
        }
}

/* A forked child has one thread: the pool computes inline there, and takes more when asked. */
LT_TEST(the_shared_pool_survives_a_fork)
{
    static tally t;
    LT_CHECK_OK(lt_set_threads(3));
    LT_CHECK_EQ_INT(lt_get_threads(), 3);
    pid_t child = fork();
    if (child == 0) {
        t = (tally){ .pool = lt_pool_shared(), .fail_from = MOST };
        bool good = lt_get_threads() == 1 && lt_pool_run(t.pool, MOST, count_task, &t) == LT_OK && t.hits[MOST - 1] == 1;
        good = good && lt_set_threads(2) == LT_OK && lt_get_threads() == 2 && lt_pool_run(t.pool, MOST, count_task, &t) == LT_OK;
        _exit(good && t.hits[0] == 2 ? 0 : 1);
    }
    int status = -1;
    LT_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    LT_CHECK_EQ_INT(status, 0);
    LT_CHECK_EQ_INT(lt_get_threads(), 3);
    LT_CHECK_FAILS(lt_set_threads(-1), LT_ERR_ARGUMENT, "-1 threads");
}

LT_TEST_MAIN()
