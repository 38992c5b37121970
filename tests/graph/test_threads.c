/* Graphs and programs of different threads at the same time: the same bits as one after the other.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"
#include "graph/random_graph.h"
#include "lt_test.h"

#include <pthread.h>

#define N_GRAPHS 30
#define N_THREADS 4
#define MAX_BYTES (MAKER_LARGEST * sizeof(double))

static const lt_mode modes[] = { LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD, LT_MODE_EAGER };

typedef struct work {
    uint64_t  first_seed;
    unsigned char *result;   /* N_GRAPHS x outputs x MAX_BYTES */
    lt_status status;
    char      text[256];
} work;

/* Builds, compiles and runs one graph twice. */
static lt_status one_graph(uint64_t seed, lt_mode mode, unsigned char *result)
{
    maker m;
    lt_program *p = NULL;
    lt_node node[MAKER_OUTPUTS + 1];
    void *out[MAKER_OUTPUTS + 1];
    maker_begin(&m, seed, seed % 2 ? LT_F64 : LT_F32, false, 30);
    for (int i = 0; i < m.n_outputs; i++) { node[i] = m.output[i].node; out[i] = result + (size_t)i * MAX_BYTES; }
    lt_status s = lt_program_create(m.g, node, m.n_outputs, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = mode }, &p);
    if (!s) s = lt_program_run(p, (const void *const *)m.raw, out);
    if (!s) s = lt_program_run(p, (const void *const *)m.raw, out);
    lt_program_destroy(p);
    maker_end(&m);
    return s;
}

static void *work_through(void *arg)
{
    work *w = arg;
    for (int i = 0; i < N_GRAPHS && !w->status; i++)
        w->status = one_graph(w->first_seed + (uint64_t)i, modes[i % 3], w->result + (size_t)i * (MAKER_OUTPUTS + 1) * MAX_BYTES);
    if (w->status) snprintf(w->text, sizeof w->text, "%s", lt_error_text());
    return NULL;
}

static void check_together(int pool_threads)
{
    const size_t bytes = N_GRAPHS * (MAKER_OUTPUTS + 1) * MAX_BYTES;
    work alone[N_THREADS], together[N_THREADS];
    pthread_t thread[N_THREADS];
    LT_CHECK_OK(lt_pool_shared_resize(pool_threads));
    for (int i = 0; i < N_THREADS; i++) {
        alone[i] = (work){ .first_seed = 9000 + 100 * (uint64_t)i, .result = calloc(1, bytes) };
        together[i] = (work){ .first_seed = alone[i].first_seed, .result = calloc(1, bytes) };
    }
    for (int i = 0; i < N_THREADS; i++) LT_CHECK(pthread_create(&thread[i], NULL, work_through, &together[i]) == 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < N_THREADS; i++) {
        work_through(&alone[i]);
        if (alone[i].status) LT_TEST_FAIL("alone, thread %d: %s", i, alone[i].text);
        if (together[i].status) LT_TEST_FAIL("together, thread %d: %s", i, together[i].text);
        if (memcmp(alone[i].result, together[i].result, bytes)) LT_TEST_FAIL("thread %d has other bits than alone", i);
        free(alone[i].result);
        free(together[i].result);
    }
}

LT_TEST(threads_do_not_disturb_each_other) { check_together(1); }
LT_TEST(threads_may_share_the_pool) { check_together(2); }

LT_TEST_MAIN()
