/* The order and the chunks of shared work: each unit once, chunks that shrink, ranks that end together. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "cluster/queue.h"
#include "lathe/rng.h"
#include "lt_test.h"

#include <stdlib.h>

/* Costs as those of the standard space of operators: grids of 32 to 128, few to many channels, 1 to 50 units. */
static void draw_costs(double *cost, int64_t n)
{
    lt_draws d = lt_draws_make(7, "costs", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f64(&d, 0, n, cost));
    for (int64_t i = 0; i < n; i++) cost[i] = fmin(50, exp(1.1 * fabs(cost[i]) + 0.2 * cost[i]));
}

/* Virtual time: a rank that is free asks; an answer takes `answer` of the one server. Returns the part of ideal time that is not lost. */
static double simulate(int64_t *unit, double *cost, int64_t n, int ranks, double answer, int64_t *n_asks)
{
    lt_queue q = lt_queue_make(unit, cost, n, ranks);
    double *free_at = lt_calloc((size_t)ranks, sizeof *free_at), server = 0, end = 0, total = 0;
    int64_t chunk[LT_CHUNK_MOST], at = 0;
    int *seen = lt_calloc((size_t)n, sizeof *seen);
    for (int64_t i = 0; i < n; i++) total += cost[i];
    *n_asks = 0;
    for (int n_chunk = 1; n_chunk > 0;) {
        int r = 0;
        for (int i = 1; i < ranks; i++)
            if (free_at[i] < free_at[r]) r = i;
        n_chunk = lt_queue_deal(&q, chunk);
        ++*n_asks;
        server = fmax(server, free_at[r]) + answer;
        free_at[r] = server;
        for (int i = 0; i < n_chunk; i++) {
            free_at[r] += cost[at++];
            seen[chunk[i]]++;
        }
        end = fmax(end, free_at[r]);
    }
    for (int64_t i = 0; i < n; i++) LT_CHECK(seen[i] == 1);
    lt_free(free_at);
    lt_free(seen);
    return total / ranks / end;
}

LT_TEST(ranks_end_together)
{
    enum { N = 100000 };
    static const int ranks[] = { 1, 2, 7, 64, 256, 1024 };
    int64_t *unit = lt_malloc(N * sizeof *unit), asks;
    double *cost = lt_malloc(N * sizeof *cost);
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        for (int i = 0; i < N; i++) unit[i] = i;
        draw_costs(cost, N);
        LT_CHECK_OK(lt_queue_order(unit, cost, N, 32 * 1024));
        double share = simulate(unit, cost, N, ranks[k], 0.001, &asks); /* the cheapest unit takes 20 ms, an answer 20 us */
        printf("%4d ranks: %.4f of ideal, %lld asks\n", ranks[k], share, (long long)asks);
        LT_CHECK(share >= 0.95);
    }
    lt_free(unit);
    lt_free(cost);
}

LT_TEST(chunks_shrink_to_one)
{
    int64_t unit[1000], chunk[LT_CHUNK_MOST];
    for (int i = 0; i < 1000; i++) unit[i] = i;
    lt_queue q = lt_queue_make(unit, NULL, 1000, 2);
    int before = LT_CHUNK_MOST, n, last = 0;
    while ((n = lt_queue_deal(&q, chunk))) {
        LT_CHECK(n <= before);
        before = last = n;
    }
    LT_CHECK(last == 1);
}

LT_TEST(the_most_expensive_come_first_in_each_window)
{
    int64_t unit[] = { 0, 1, 2, 3, 4, 5, 6 };
    double cost[] = { 1, 5, 5, 2, 9, 9, 1 };
    LT_CHECK_OK(lt_queue_order(unit, cost, 7, 3)); /* two windows: four and three */
    const int64_t want[] = { 1, 2, 3, 0, 4, 5, 6 };
    LT_CHECK(!memcmp(unit, want, sizeof want));
    LT_CHECK(cost[0] == 5 && cost[3] == 1 && cost[4] == 9);
    LT_CHECK_OK(lt_queue_order(unit, cost, 0, 0));
}

LT_TEST(more_ranks_than_work)
{
    int64_t unit[] = { 4, 8 }, chunk[LT_CHUNK_MOST];
    lt_queue q = lt_queue_make(unit, NULL, 2, 50);
    LT_CHECK(lt_queue_deal(&q, chunk) == 1 && chunk[0] == 4);
    LT_CHECK(lt_queue_deal(&q, chunk) == 1 && chunk[0] == 8);
    LT_CHECK(lt_queue_deal(&q, chunk) == 0);
}
LT_TEST_MAIN()
