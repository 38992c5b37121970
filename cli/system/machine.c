/* Memory bandwidth and multiply-add rate of the cores. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

int cli_core_count(void)
{
    int n_env;
    const lt_env_row *env = lt_env_rows(&n_env);
    for (int i = 0; i < n_env; i++)
        if (!strcmp(env[i].name, "LATHE_THREADS") && lt_env_value(&env[i])) {
            int n = atoi(lt_env_value(&env[i]));
            if (n > 0) return n;
        }
    lt_device_info cpu = { .size = sizeof cpu };
    return lt_device_list(0, &cpu) || cpu.cores < 1 ? 1 : cpu.cores;
}

int64_t cli_stream_array_bytes(void)
{
    lt_device_info cpu = { .size = sizeof cpu };
    int64_t bytes = (int64_t)128 << 20;
    if (lt_device_list(0, &cpu)) return bytes;
    if (cpu.cache_bytes[2] * 4 > bytes) bytes = cpu.cache_bytes[2] * 4;
    if (cpu.memory_free_bytes > 0 && bytes > cpu.memory_free_bytes / 8) bytes = cpu.memory_free_bytes / 8;
    return bytes / 4096 * 4096;
}

/* ---- Threads that start together ------------------------------------------------------- */

typedef struct crew {
    int   n_threads;
    void (*work)(void *ctx, int thread, int n_threads);
    void *ctx;
    pthread_barrier_t start, stop;
    volatile bool quit;
} crew;

typedef struct member { crew *crew; int index; pthread_t thread; } member;

static void *member_main(void *arg)
{
    member *m = arg;
    for (;;) {
        pthread_barrier_wait(&m->crew->start);
        if (m->crew->quit) return NULL;
        m->crew->work(m->crew->ctx, m->index, m->crew->n_threads);
        pthread_barrier_wait(&m->crew->stop);
    }
}

static lt_status crew_round(void *ctx)
{
    crew *c = ctx;
    pthread_barrier_wait(&c->start);
    c->work(c->ctx, 0, c->n_threads);
    pthread_barrier_wait(&c->stop);
    return LT_OK;
}

/* Times rounds of work shared by n_threads, the calling one among them. */
static lt_status time_crew(int n_threads, void (*work)(void *, int, int), void *ctx, double budget, cli_timing *out)
{
    enum { MAX_THREADS = 512 };
    member m[MAX_THREADS];
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    crew c = { .n_threads = n_threads, .work = work, .ctx = ctx };
    pthread_barrier_init(&c.start, NULL, (unsigned)n_threads);
    pthread_barrier_init(&c.stop, NULL, (unsigned)n_threads);
    for (int i = 1; i < n_threads; i++) {
        m[i] = (member){ .crew = &c, .index = i };
        if (pthread_create(&m[i].thread, NULL, member_main, &m[i]))
            return cli_fail(LT_ERR_MEMORY, "could not start thread %d of %d", i, n_threads);
    }
    lt_status s = cli_time(crew_round, &c, budget, out);
    c.quit = true;
    pthread_barrier_wait(&c.start);
    for (int i = 1; i < n_threads; i++) pthread_join(m[i].thread, NULL);
    pthread_barrier_destroy(&c.start);
    pthread_barrier_destroy(&c.stop);
    return s;
}

/* ---- Bandwidth ---------------------------------------------------------------------------- */

typedef struct arrays { double *a, *b, *c; int64_t n; } arrays;

static void part_of(int64_t n, int thread, int n_threads, int64_t *from, int64_t *to)
{
    *from = n * thread / n_threads;
    *to = n * (thread + 1) / n_threads;
}

static void touch(void *ctx, int thread, int n_threads)
{
    arrays *s = ctx;
    int64_t from, to;
    part_of(s->n, thread, n_threads, &from, &to);
    for (int64_t i = from; i < to; i++) s->a[i] = 1, s->b[i] = 2, s->c[i] = 0;
}

static void copy(void *ctx, int thread, int n_threads)
{
    arrays *s = ctx;
    int64_t from, to;
    part_of(s->n, thread, n_threads, &from, &to);
    memcpy(s->b + from, s->a + from, (size_t)(to - from) * sizeof(double));
}

static void triad(void *ctx, int thread, int n_threads)
{
    arrays *s = ctx;
    int64_t from, to;
    part_of(s->n, thread, n_threads, &from, &to);
    double *restrict c = s->c;
    const double *restrict a = s->a, *restrict b = s->b;
    for (int64_t i = from; i < to; i++) c[i] = a[i] + 3.0 * b[i];
}

/* Past the caches where the processor can, so that nothing is read first. */
static void clear(void *ctx, int thread, int n_threads)
{
    arrays *s = ctx;
    int64_t from, to;
    part_of(s->n, thread, n_threads, &from, &to);
#ifdef __SSE2__
    from += from % 2, to += to % 2; /* two at a time; arrays are padded to pages */
    for (int64_t i = from; i < to; i += 2) _mm_stream_pd(s->b + i, _mm_setzero_pd());
    _mm_sfence();
#else
    memset(s->b + from, 0, (size_t)(to - from) * sizeof(double));
#endif
}

static const struct { const char *name; void (*work)(void *, int, int); int arrays; } streams[CLI_STREAM_COUNT] = {
    [CLI_STREAM_COPY] = { "copy", copy, 2 }, [CLI_STREAM_TRIAD] = { "triad", triad, 3 }, [CLI_STREAM_WRITE] = { "write", clear, 1 } };

const char *cli_stream_name(cli_stream s) { return streams[s].name; }
int cli_stream_arrays(cli_stream s) { return streams[s].arrays; }

lt_status cli_measure_stream(cli_stream which, int n_threads, int64_t array_bytes, double budget, cli_timing *out)
{
    size_t bytes = (size_t)array_bytes, padded = (bytes + 4095) / 4096 * 4096;
    arrays s = { .a = aligned_alloc(4096, padded), .b = aligned_alloc(4096, padded), .c = aligned_alloc(4096, padded),
                 .n = array_bytes / (int64_t)sizeof(double) };
    lt_status status = LT_OK;
    if (!s.a || !s.b || !s.c) status = cli_fail(LT_ERR_MEMORY, "out of memory for three arrays of %zu bytes", bytes);
    if (!status) {
        touch(&s, 0, 1);
        status = time_crew(n_threads, streams[which].work, &s, budget, out);
    }
    free(s.a);
    free(s.b);
    free(s.c);
    return status;
}

/* ---- Multiply-adds -------------------------------------------------------------------------- */

lt_status cli_measure_peak(lt_dtype type, int n_threads, double budget, double *flops_per_second)
{
    cli_timing t;
    int64_t flops_per_call;
    void (*work)(void *, int, int) = cli_peak_kernel(type, &flops_per_call);
    double sink = 0;
    CLI_TRY(time_crew(n_threads, work, &sink, budget, &t));
    *flops_per_second = (double)flops_per_call * n_threads / t.low;
    return LT_OK;
}
