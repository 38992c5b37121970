/* The caching allocator on the CPU and on the null device.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/block_cache.h"
#include "device/null/null.h"
#include "device/stream.h"
#include "trace/trace.h"

#include <pthread.h>

#define MIB ((size_t)1 << 20)

static lt_device *open_device(const char *name)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open(name, &dev));
    return dev;
}

static lt_memory_stats stats(lt_device *dev)
{
    lt_memory_stats s = { .size = sizeof s };
    LT_CHECK_OK(lt_device_memory(dev, &s));
    return s;
}

LT_TEST(freed_memory_is_reused_at_once)
{
    lt_device *dev = open_device("null");
    void *a, *b, *c;
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 1000, "x", &a));
    LT_CHECK_OK(lt_device_free(dev, NULL, a));
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 900, "x", &b));
    LT_CHECK(a == b);
    LT_CHECK_EQ_INT(lt_null_read(dev).allocs, 1);
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 0, "x", &c));
    LT_CHECK(c && c != b);
    lt_memory_stats s = stats(dev);
    LT_CHECK(s.hits == 2 && s.misses == 1 && s.allocs == 3 && s.frees == 1);
    LT_CHECK_EQ_INT(s.in_use_bytes, 1024 + 512);
    LT_CHECK_EQ_INT(s.reserved_bytes, 2 * MIB);
    LT_CHECK_OK(lt_device_free(dev, NULL, b));
    LT_CHECK_OK(lt_device_free(dev, NULL, c));
    LT_CHECK_OK(lt_device_free(dev, NULL, NULL));
    LT_CHECK_FAILS(lt_device_free(dev, NULL, c), LT_ERR_ARGUMENT, "freed twice?");
    LT_CHECK_FAILS(lt_device_free(dev, NULL, &s), LT_ERR_ARGUMENT, "not memory in use on null");
    LT_CHECK_OK(lt_device_memory_trim(dev)); /* the pieces were joined, so the segment goes back */
    LT_CHECK_EQ_INT(stats(dev).reserved_bytes, 0);
    LT_CHECK_EQ_INT(lt_null_read(dev).live_bytes, 0);
    lt_device_close(dev);
}

/* Random takes and returns against a plain list: no overlap, contents kept, sums right. */
LT_TEST(pieces_never_overlap)
{
    lt_device *dev = open_device("cpu");
    enum { N = 60 };
    unsigned char *p[N] = { NULL };
    size_t bytes[N] = { 0 };
    uint64_t r = 12345;
    for (int step = 0; step < 4000; step++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        int i = (int)((r >> 33) % N);
        if (p[i]) {
            for (size_t k = 0; k < bytes[i]; k += 509) if (p[i][k] != i) { LT_TEST_FAIL("piece %d overwritten", i); break; }
            LT_CHECK_OK(lt_device_free(dev, NULL, p[i]));
            p[i] = NULL;
        } else {
            void *q;
            bytes[i] = (size_t)((r >> 40) % (step % 7 ? 20000 : 3000000)) + 1;
            LT_CHECK_OK(lt_device_alloc(dev, NULL, bytes[i], i % 2 ? "odd" : "even", &q));
            p[i] = q;
            LT_CHECK((uintptr_t)q % 64 == 0);
            memset(p[i], i, bytes[i]);
        }
    }
    for (int i = 0; i < N; i++) LT_CHECK_OK(lt_device_free(dev, NULL, p[i]));
    lt_memory_stats s = stats(dev);
    LT_CHECK_EQ_INT(s.in_use_bytes, 0);
    LT_CHECK(s.peak_in_use_bytes > 0 && s.peak_in_use_bytes <= s.peak_reserved_bytes && s.splits > 0 && s.merges > 0);
    LT_CHECK(s.hits > 10 * s.misses);
    LT_CHECK_OK(lt_device_memory_trim(dev));
    LT_CHECK_EQ_INT(stats(dev).reserved_bytes, 0);
    lt_device_close(dev);
}

LT_TEST(the_limit_explains_itself)
{
    lt_device *dev = open_device("null");
    void *a, *b, *c;
    LT_CHECK_FAILS(lt_device_memory_limit(dev, -1), LT_ERR_ARGUMENT, "-1");
    LT_CHECK_OK(lt_device_memory_limit(dev, 10 * MIB));
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 6 * MIB, "arena", &a));
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 2 * MIB, "states", &b));
    lt_status s = lt_device_alloc(dev, NULL, 4 * MIB, "tiles", &c);
    LT_CHECK(s == LT_ERR_MEMORY && c == NULL);
    static const char *const part[] = { "'tiles' asks null for 4.000 MiB", "8.000 MiB in use", "limit 10 MiB", "arena 6.000 MiB, states 2.000 MiB", "smaller tiles" };
    for (size_t i = 0; i < LT_LEN(part); i++)
        if (!strstr(lt_error_text(), part[i])) LT_TEST_FAIL("'%s' lacks '%s'", lt_error_text(), part[i]);
    LT_CHECK_OK(lt_device_free(dev, NULL, a)); /* free but kept: must be given back for a larger one */
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 8 * MIB, "tiles", &c));
    LT_CHECK_EQ_INT(stats(dev).reserved_bytes, 10 * MIB);
    LT_CHECK_FAILS(lt_device_alloc(dev, NULL, SIZE_MAX, "absurd", &a), LT_ERR_MEMORY, "'absurd' asks");
    lt_block_cache_owner o[8];
    LT_CHECK_EQ_INT(lt_block_cache_owners(dev->cache, o, 8), 3);
    LT_CHECK(strcmp(o[0].name, "tiles") == 0 && o[0].in_use_bytes == (int64_t)(8 * MIB));
    LT_CHECK(o[2].peak_bytes == (int64_t)(6 * MIB) && o[2].in_use_bytes == 0);
    LT_CHECK_OK(lt_device_memory_limit(dev, 0));
    lt_null_capacity(dev, 16 * MIB);
    LT_CHECK_FAILS(lt_device_alloc(dev, NULL, 20 * MIB, "more", &a), LT_ERR_MEMORY, "no limit set");
    lt_device_close(dev);
}

LT_TEST(other_streams_wait_by_event)
{
    lt_device *dev = open_device("null");
    lt_stream *s1, *s2;
    void *a, *b;
    LT_CHECK_OK(lt_stream_create(dev, &s1));
    LT_CHECK_OK(lt_stream_create(dev, &s2));
    LT_CHECK_OK(lt_device_memory_limit(dev, 4 * MIB));
    LT_CHECK_OK(lt_device_alloc(dev, s1, 4 * MIB, "x", &a));
    LT_CHECK_OK(lt_device_free(dev, s1, a));
    LT_CHECK_OK(lt_device_alloc(dev, s1, 4 * MIB, "x", &b)); /* same stream: no event */
    LT_CHECK(a == b);
    LT_CHECK_EQ_INT(lt_null_read(dev).waits, 0);
    LT_CHECK_OK(lt_device_free(dev, s1, a));
    LT_CHECK_OK(lt_device_alloc(dev, s2, 4 * MIB, "x", &b)); /* another: ordered by one */
    LT_CHECK(a == b);
    LT_CHECK_EQ_INT(lt_null_read(dev).records, 1);
    LT_CHECK_EQ_INT(lt_null_read(dev).waits, 1);
    LT_CHECK_EQ_INT(stats(dev).stream_waits, 1);
    LT_CHECK_OK(lt_device_free(dev, s2, b));
    lt_stream_destroy(s2);                                   /* its memory serves anyone now */
    LT_CHECK_OK(lt_device_alloc(dev, s1, 4 * MIB, "x", &a));
    LT_CHECK_EQ_INT(lt_null_read(dev).waits, 1);
    LT_CHECK_OK(lt_device_free(dev, s1, a));
    LT_CHECK_OK(lt_device_memory_limit(dev, 0));
    LT_CHECK_OK(lt_stream_create(dev, &s2));
    LT_CHECK_OK(lt_device_alloc(dev, s2, 4 * MIB, "x", &b)); /* room left: fresh memory, no waiting */
    LT_CHECK(a != b);
    LT_CHECK_EQ_INT(lt_null_read(dev).waits, 1);
    LT_CHECK_OK(lt_device_free(dev, s2, b));
    lt_stream_destroy(s1);
    lt_stream_destroy(s2);
    lt_device_close(dev);
}

LT_TEST(pieces_of_gone_streams_join)
{
    lt_device *dev = open_device("null");
    lt_stream *s1;
    void *p[4];
    LT_CHECK_OK(lt_stream_create(dev, &s1));
    for (int i = 0; i < 4; i++) LT_CHECK_OK(lt_device_alloc(dev, NULL, 1000, "x", &p[i]));
    for (int i = 0; i < 4; i++) LT_CHECK_OK(lt_device_free(dev, i % 2 ? s1 : NULL, p[i]));
    LT_CHECK_OK(lt_device_memory_trim(dev));
    LT_CHECK(stats(dev).reserved_bytes > 0); /* cut between two streams */
    lt_stream_destroy(s1);
    LT_CHECK_OK(lt_device_memory_trim(dev));
    LT_CHECK_EQ_INT(stats(dev).reserved_bytes, 0);
    lt_device_close(dev);
}

typedef struct worker { lt_device *dev; unsigned seed; } worker;
static void *hammer(void *arg)
{
    worker *w = arg;
    lt_stream *st;
    if (lt_stream_create(w->dev, &st)) return NULL;
    void *p[8] = { NULL };
    for (int i = 0; i < 400; i++) {
        w->seed = w->seed * 1664525u + 1013904223u;
        int k = (int)(w->seed >> 20) % 8;
        if (p[k]) { (void)lt_device_free(w->dev, st, p[k]); p[k] = NULL; }
        else if (lt_device_alloc(w->dev, st, (w->seed >> 8) % 200000 + 1, "hammer", &p[k]) == LT_OK)
            (void)lt_stream_fill(st, p[k], k, 64);
    }
    for (int k = 0; k < 8; k++) (void)lt_device_free(w->dev, st, p[k]);
    lt_stream_destroy(st);
    return NULL;
}

LT_TEST(threads_share_the_cache)
{
    lt_device *dev = open_device("cpu");
    pthread_t t[4];
    worker w[4];
    LT_CHECK_OK(lt_device_memory_limit(dev, 8 * MIB)); /* tight: streams take over each other's memory */
    for (unsigned i = 0; i < 4; i++) { w[i] = (worker){ dev, i }; pthread_create(&t[i], NULL, hammer, &w[i]); }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    lt_memory_stats s = stats(dev);
    LT_CHECK_EQ_INT(s.in_use_bytes, 0);
    LT_CHECK_EQ_INT(s.allocs, s.frees);
    LT_CHECK(s.reserved_bytes <= (int64_t)(8 * MIB));
    lt_device_close(dev);
}

LT_TEST(memory_shows_in_the_trace)
{
    lt_device *dev = open_device("cpu");
    void *a;
    LT_CHECK_OK(lt_trace_start(NULL));
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 1024, "gram states", &a));
    LT_CHECK_OK(lt_device_free(dev, NULL, a));
    lt_trace_stop();
    lt_trace_memory_row m[3];
    LT_CHECK_EQ_INT(lt_trace_memory_rows(m, 3), 2);
    LT_CHECK(strcmp(m[1].owner, "gram states") == 0 && m[1].peak_bytes == 1024 && m[1].current_bytes == 0);
    lt_trace_clear();
    lt_device_close(dev);
}

LT_TEST(failing_allocations_leave_the_cache_whole)
{
    lt_device *dev = open_device("cpu");
    int64_t live = lt_alloc_live();
    for (int64_t at = 1; at < 10; at++) {
        void *a = NULL, *b = NULL;
        lt_alloc_fail_at(at);
        lt_status s = lt_device_alloc(dev, NULL, 1000, "x", &a);
        if (!s) s = lt_device_alloc(dev, NULL, 3 * MIB, "y", &b);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || s == LT_ERR_MEMORY);
        LT_CHECK_OK(lt_device_free(dev, NULL, a));
        LT_CHECK_OK(lt_device_free(dev, NULL, b));
        LT_CHECK_OK(lt_device_memory_trim(dev));
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    lt_device_close(dev);
}

LT_TEST_MAIN()
