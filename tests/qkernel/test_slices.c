/* Gram matrices whose states are made and used in slices of amplitudes. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "lathe/gram.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/plan.h"

enum { N = 75, M = 31, Q = 16, LAYERS = 2 }; /* 120 to 180 MB of states, of which a slice is 16 */

static double x[N * Q], y[M * Q], weights[LAYERS * Q], K[N * N], other[N * N];

static void make_numbers(void)
{
    for (int i = 0; i < N * Q; i++) x[i] = 3 * sin(1.7 * i + 0.01 * i * i);
    for (int i = 0; i < M * Q; i++) y[i] = 3 * cos(2.3 * i + 0.02 * i * i);
    for (int i = 0; i < LAYERS * Q; i++) weights[i] = sin(5.1 * i);
}

static lt_gram_options states_options(void)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    opt.learn_tiles = false;
    opt.angle_scale = 0.3; /* entries that are not all nearly zero */
    make_numbers();
    return opt;
}

static const lt_rows X = { x, LT_F64, N, Q, 0 }, Y = { y, LT_F64, M, Q, 0 };

static lt_gram *open_gram(const lt_gram_options *opt)
{
    lt_gram *g = NULL;
    LT_CHECK_OK(lt_gram_create(NULL, opt, &(lt_weights){ weights, LAYERS, Q }, &g));
    return g;
}

static lt_gram_info fill(const lt_gram_options *opt, const lt_rows *columns, void *to)
{
    lt_gram *g = open_gram(opt);
    LT_CHECK_OK(lt_gram_fill(g, &X, columns, to));
    lt_gram_info info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}

static bool in_slices(const lt_gram_info *info) { return strstr(info->plan, "slices") != NULL; }

/* Blocks of rows hold whole states; without symmetry entries below the diagonal are computed in their own right. */
LT_TEST(slices_give_the_bits_of_whole_states)
{
    for (int kind = 0; kind < 12; kind++) {
        lt_gram_options opt = states_options(), whole;
        const lt_rows *columns = kind % 3 == 2 ? &Y : NULL;
        size_t bytes = sizeof(double) * N * (columns ? M : N);
        opt.dtype = kind / 3 % 2 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64;
        opt.symmetric = kind % 3 == 0;
        opt.normalize = kind >= 6;
        opt.n_workers = 1 + kind % 4;
        whole = opt;
        whole.precompute_all_states = false;
        whole.state_tile = 4 * N;
        whole.n_workers = 2;
        memset(K, 0xff, sizeof K), memset(other, 0xfe, sizeof other);
        lt_gram_info sliced = fill(&opt, columns, K), blocks = fill(&whole, columns, other);
        LT_CHECK(in_slices(&sliced) && !in_slices(&blocks));
        LT_CHECK(2 * sliced.peak_bytes < blocks.peak_bytes);
        LT_CHECK_EQ_INT(sliced.states_built, N + (columns ? M : 0));
        LT_CHECK_EQ_INT(sliced.pairs, blocks.pairs);
        if (memcmp(K, other, bytes)) LT_TEST_FAIL("kind %d: bits differ", kind);
    }
}

LT_TEST(slices_agree_with_the_closed_form)
{
    lt_gram_options opt = states_options();
    lt_gram_info info = fill(&opt, NULL, K);
    LT_CHECK(in_slices(&info));
    opt.method = LT_GRAM_TRANSFER;
    fill(&opt, NULL, other);
    for (int i = 0; i < N; i++) {
        LT_CHECK(fabs(K[i * N + i] - 1) <= 1e-14);
        for (int j = 0; j < N; j++) LT_CHECK(K[i * N + j] == K[j * N + i] && fabs(K[i * N + j] - other[i * N + j]) < 1e-12);
    }
    opt.method = LT_GRAM_STATES;
    opt.dtype = LT_GRAM_FLOAT32;
    fill(&opt, NULL, K);
    for (int i = 0; i < N * N; i++) LT_CHECK(fabs(K[i] - other[i]) < 2e-5);
}

LT_TEST(packed_and_single_results)
{
    static double packed[N * (N + 1) / 2];
    static float single[N * N];
    lt_gram_options opt = states_options();
    fill(&opt, NULL, K);
    opt.packed = true;
    fill(&opt, NULL, packed);
    for (int i = 0, at = 0; i < N; i++)
        for (int j = i; j < N; j++) LT_CHECK(packed[at++] == K[i * N + j]);
    opt.packed = false;
    opt.return_dtype = LT_GRAM_FLOAT32;
    fill(&opt, NULL, single);
    for (int i = 0; i < N * N; i++) LT_CHECK(single[i] == (float)K[i]);
}

LT_TEST(a_second_call_allocates_nothing_and_starts_anew)
{
    lt_gram_options opt = states_options();
    lt_gram *g = open_gram(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, K));
    int64_t before = lt_alloc_count();
    LT_CHECK_OK(lt_gram_fill(g, &X, NULL, other));
    LT_CHECK_EQ_INT(lt_alloc_count(), before);
    LT_CHECK(!memcmp(K, other, sizeof K));
    lt_gram_destroy(g);
}

static bool stop_at_third(void *ctx, const lt_gram_progress *p)
{
    return p->states_total > 0 || ++*(int *)ctx < 3;
}
static bool note(void *ctx, const lt_gram_progress *p)
{
    lt_gram_progress *last = ctx;
    LT_CHECK((p->tiles_done > 0 || p->states_total > 0) && p->pairs_done >= last->pairs_done && p->pairs_done <= p->pairs_total);
    *last = *p;
    return true;
}

LT_TEST(progress_passes_through_slices)
{
    lt_gram_options opt = states_options();
    int calls = 0;
    lt_gram_progress last = { .size = sizeof last };
    opt.n_workers = 1;
    opt.progress = stop_at_third;
    opt.progress_ctx = &calls;
    lt_gram *g = open_gram(&opt);
    LT_CHECK_FAILS(lt_gram_fill(g, &X, NULL, K), LT_ERR_CANCELLED, "after 3 of");
    lt_gram_destroy(g);
    opt.progress = note;
    opt.progress_ctx = &last;
    lt_gram_info info = fill(&opt, NULL, K);
    LT_CHECK_EQ_INT(last.tiles_done, info.tiles);
    LT_CHECK_EQ_INT(last.pairs_done, N * (N + 1) / 2);
}

/* ---- the rule, on made-up memory ---- */

static bool planned_in_slices(const lt_gram_options *opt, int q, int layers, int64_t n, int64_t free_bytes)
{
    lt_layers c;
    lt_gram_plan p;
    double w[3 * 30] = { 0.1 };
    LT_CHECK_OK(lt_layers_create(opt, &(lt_weights){ w, layers, q }, &c));
    lt_plan_request r = { .opt = opt, .circuit = &c, .isa = lt_gram_isa_of(LT_ISA_PLAIN), .threads = 2, .n = n, .m = n, .free_bytes = free_bytes,
                          .total_bytes = free_bytes, .transfer_from = 31, .transfer_reason = "test" };
    LT_CHECK_OK(lt_gram_plan_make(&r, &p));
    lt_layers_destroy(&c);
    double held = (double)(p.a_bytes + p.b_bytes + p.tables_bytes + p.sums_bytes), states = (double)n * ldexp(24, q);
    LT_CHECK(held + (double)p.work_bytes <= 0.95 * (double)free_bytes);
    LT_CHECK_EQ_INT(p.slice * p.n_slices, INT64_C(1) << q);
    if (p.n_slices == 1) return p.tables_bytes + p.sums_bytes > 0;
    LT_CHECK(p.bulk && p.slice >= 1024 && 2 * held <= 1.1 * states);
    return true;
}

LT_TEST(slices_are_chosen_by_bytes)
{
    lt_gram_options opt = states_options();
    int64_t ample = INT64_C(1) << 36;
    LT_CHECK(planned_in_slices(&opt, 16, 2, 500, ample));
    LT_CHECK(planned_in_slices(&opt, 12, 2, 1000, ample));
    LT_CHECK(!planned_in_slices(&opt, 6, 2, 2000, ample));   /* small */
    LT_CHECK(!planned_in_slices(&opt, 12, 2, 8000, ample));  /* sums would take more than they spare */
    LT_CHECK(!planned_in_slices(&opt, 16, 3, 500, ample));   /* no tables for three layers */
    LT_CHECK(planned_in_slices(&opt, 20, 2, 500, INT64_C(1) << 31));  /* where whole states would not fit */
    LT_CHECK(!planned_in_slices(&opt, 20, 2, 500, INT64_C(1) << 29)); /* nor do tables of all rows */
    opt.precompute_all_states = false;                       /* asks for blocks of rows */
    LT_CHECK(!planned_in_slices(&opt, 16, 2, 500, ample));
}

LT_TEST_MAIN()
