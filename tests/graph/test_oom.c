/* Memory: every allocation of building, compiling and running made to fail in turn, and none at
   all made by the second run. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "graph/program/program.h"
#include "heap_calls.h"
#include "lathe/graph.h"
#include "lt_test.h"

/* ---- graphs to try ---- */

#define MAX_IO 8
#define MAX_ELEMENTS 4096

/* Builds inputs and outputs; numbers of both are set. */
typedef void (*builder)(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out);

static void two_layers(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    in[0] = lt_input(g, "x", LT_F64, lt_shape2(5, 7));
    in[1] = lt_input(g, "w1", LT_F64, lt_shape2(6, 7));
    in[2] = lt_input(g, "b1", LT_F64, lt_shape1(6));
    in[3] = lt_input(g, "w2", LT_F64, lt_shape2(3, 6));
    *n_in = 4;
    lt_node h = lt_tanh(g, lt_linear(g, in[0], in[1], in[2])), z = lt_linear(g, h, in[3], LT_NONE);
    out[0] = lt_add(g, lt_sum(g, lt_square(g, z)), lt_norm1(g, in[3]));
    (void)lt_grad(g, out[0], in + 1, 3, out + 1);
    *n_out = 4;
}

static void convolutions(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    static const int64_t labels[] = { 1, 0 };
    in[0] = lt_input(g, "image", LT_F32, lt_shape4(2, 1, 8, 8));
    in[1] = lt_input(g, "k1", LT_F32, lt_shape4(4, 1, 3, 3));
    in[2] = lt_input(g, "b1", LT_F32, lt_shape1(4));
    in[3] = lt_input(g, "k2", LT_F32, lt_shape4(2, 4, 3, 3));
    *n_in = 4;
    lt_node a = lt_maxpool2d(g, lt_relu(g, lt_conv2d(g, in[0], in[1], in[2], NULL)), 2, 2, 0);
    lt_node b = lt_flatten(g, lt_adaptive_avgpool2d(g, lt_conv2d(g, a, in[3], LT_NONE, NULL), 1, 1));
    out[0] = lt_cross_entropy(g, lt_reshape(g, b, lt_shape2(2, 2)), lt_constant(g, LT_I64, lt_shape1(2), labels));
    (void)lt_grad(g, out[0], in + 1, 3, out + 1);
    *n_out = 4;
}

static void factorisations(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    in[0] = lt_input(g, "m", LT_F64, lt_shape2(6, 6));
    in[1] = lt_input(g, "b", LT_F64, lt_shape1(6));
    *n_in = 2;
    lt_node sym = lt_add(g, lt_matmul(g, in[0], lt_transpose(g, in[0])), lt_eye(g, LT_F64, 6));
    out[0] = lt_add(g, lt_max(g, lt_eigvals_re(g, in[0])), lt_norm_nuc(g, in[0]));
    out[1] = lt_sum(g, lt_eigvalsh(g, sym));
    out[2] = lt_linsolve(g, sym, in[1]);
    out[3] = lt_logdet(g, sym);
    out[4] = lt_cholesky(g, sym);
    (void)lt_grad(g, out[0], in, 1, out + 5);
    *n_out = 6;
}

static void movements(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    static const int64_t rows[] = { 3, 0, 0, 2 };
    lt_node many[40];
    in[0] = lt_input(g, "x", LT_F64, lt_shape2(4, 5));
    *n_in = 1;
    for (int i = 0; i < 40; i++) many[i] = lt_scale(g, lt_at(g, in[0], i % 4), i);
    lt_node picked = lt_gather(g, in[0], lt_constant(g, LT_I64, lt_shape1(4), rows), 0);
    out[0] = lt_concat(g, (lt_node[]){ picked, lt_flip(g, lt_cumsum(g, in[0], 1), 0) }, 2, 0);
    out[1] = lt_topk(g, lt_stack(g, many, 40, 0), 2);
    out[2] = lt_prod_axis(g, in[0], 1, false);
    out[3] = lt_transpose(g, in[0]);
    out[4] = in[0];
    out[5] = lt_rfft2(g, in[0]);
    *n_out = 6;
}

static void elementwise(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    in[0] = lt_input(g, "x", LT_F32, lt_shape1(3000));
    *n_in = 1;
    out[0] = lt_sum(g, lt_exp(g, lt_neg(g, lt_square(g, in[0]))));
    out[1] = lt_softmax(g, in[0], 0);
    *n_out = 2;
}

static void constraints(lt_graph *g, lt_node *in, int *n_in, lt_node *out, int *n_out)
{
    in[0] = lt_input(g, "V", LT_F64, lt_shape2(4, 4));
    *n_in = 1;
    lt_node c[] = { lt_sub(g, lt_matmul(g, lt_transpose(g, in[0]), in[0]), lt_eye(g, LT_F64, 4)), lt_exp(g, lt_at(g, in[0], 1)) };
    (void)lt_jacobian(g, c, 2, in[0], out);
    *n_out = 2;
}

static const struct { const char *name; builder build; } graphs[] = {
    { "two layers", two_layers }, { "convolutions", convolutions }, { "factorisations", factorisations },
    { "movements", movements }, { "elementwise", elementwise }, { "constraints", constraints },
};
#define N_GRAPHS (sizeof graphs / sizeof *graphs)

static double data[2][MAX_IO][MAX_ELEMENTS], result[2][MAX_IO][MAX_ELEMENTS];

static void fill_data(void)
{
    for (int i = 0; i < MAX_IO; i++)
        for (int k = 0; k < MAX_ELEMENTS; k++) { /* also fair f32 numbers when read as such */
            float pair[2] = { (float)sin(k + 3 * i), (float)cos(2 * k + i) };
            memcpy(&data[0][i][k], pair, sizeof pair);
            data[1][i][k] = sin(0.7 * k + i);
        }
}

static lt_status compile(builder build, lt_mode mode, lt_program **p, lt_dtype *type)
{
    lt_graph *g;
    lt_node in[MAX_IO], out[MAX_IO];
    int n_in, n_out;
    *p = NULL;
    lt_status s = lt_graph_create(&g);
    if (s) return s;
    build(g, in, &n_in, out, &n_out);
    *type = lt_node_dtype(g, in[0]);
    s = lt_program_create(g, out, n_out, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = mode }, p);
    lt_graph_destroy(g);
    return s;
}

static lt_status run(lt_program *p, lt_dtype type, int set)
{
    const void *in[MAX_IO];
    void *out[MAX_IO];
    for (int i = 0; i < MAX_IO; i++) { in[i] = data[type == LT_F64][i]; out[i] = result[set][i]; }
    return lt_program_run(p, in, out);
}

static lt_status build_compile_run(builder build, lt_mode mode)
{
    lt_program *p;
    lt_dtype type = LT_F64;
    lt_status s = compile(build, mode, &p, &type);
    if (!s) s = run(p, type, 0);
    if (!s) s = run(p, type, 1);
    lt_program_destroy(p);
    return s;
}

/* ---- failing allocations ---- */

/* Blocks alive, without those the device keeps for the next program. */
static int64_t live_blocks(void)
{
    lt_device *device;
    LT_CHECK_OK(lt_default_device(&device));
    LT_CHECK_OK(lt_device_memory_trim(device));
    return lt_alloc_live();
}

/* A failure that has a way round (a constant that is not folded) may end well; then results count. */
static void fail_each(const char *name, builder build, lt_mode mode)
{
    LT_CHECK_OK(build_compile_run(build, mode)); /* what stays for the process is made now: pool, device, cached blocks */
    static double right[MAX_IO][MAX_ELEMENTS];
    memcpy(right, result[0], sizeof right);
    int refused = 0;
    for (int64_t n = 1;; n++) {
        int64_t live = live_blocks(), made = lt_alloc_count();
        lt_alloc_fail_at(n);
        lt_status s = build_compile_run(build, mode);
        lt_alloc_fail_at(0);
        bool reached = lt_alloc_count() - made >= n;
        if (s != LT_OK && s != LT_ERR_MEMORY) LT_TEST_FAIL("%s %s, allocation %lld: status %s, %s", name, lt_mode_name(mode), (long long)n, lt_status_name(s), lt_error_text());
        if (s == LT_OK && memcmp(right, result[0], sizeof right)) LT_TEST_FAIL("%s %s, allocation %lld: other results", name, lt_mode_name(mode), (long long)n);
        int64_t leaked = live_blocks() - live;
        if (leaked) LT_TEST_FAIL("%s %s, allocation %lld: %lld blocks leaked", name, lt_mode_name(mode), (long long)n, (long long)leaked);
        refused += s == LT_ERR_MEMORY;
        if (!reached) { LT_CHECK(s == LT_OK); break; }
        if (lt_test_failures > 20) return;
    }
    if (refused < 20) LT_TEST_FAIL("%s %s: only %d allocations failed", name, lt_mode_name(mode), refused);
}

LT_TEST(every_allocation_may_fail)
{
    fill_data();
    for (size_t i = 0; i < N_GRAPHS; i++) {
        fail_each(graphs[i].name, graphs[i].build, LT_MODE_DEFAULT);
        fail_each(graphs[i].name, graphs[i].build, LT_MODE_EAGER);
        fail_each(graphs[i].name, graphs[i].build, LT_MODE_REDUCE_OVERHEAD);
    }
}

static lt_status square(void *ctx, lt_graph *g, const lt_node *in, int n_in, lt_node *out, int n_out)
{
    (void)ctx; (void)n_in; (void)n_out;
    out[0] = lt_sum(g, lt_square(g, in[0]));
    return lt_graph_status(g);
}

/* Calls for two shapes, then a comparison with eager. */
static lt_status function_and_verify(void)
{
    lt_function *f;
    lt_graph *g = NULL;
    double v;
    lt_status s = lt_function_create(square, NULL, 1, 1, &(lt_function_options){ .size = sizeof(lt_function_options), .max_plans = 1 }, &f);
    lt_tensor out = { LT_F64, lt_shape0(), &v };
    for (int64_t n = 3; !s && n < 5; n++) s = lt_function_call(f, &(lt_tensor){ LT_F64, lt_shape1(n), data[1][0] }, &out);
    if (!s) s = lt_graph_create(&g);
    lt_node y = lt_norm(g, lt_input(g, "x", LT_F64, lt_shape1(9)));
    if (!s) s = lt_graph_verify(g, &y, 1, NULL, (const void *[]){ data[1][0] }, 1e-12);
    lt_graph_destroy(g);
    lt_function_destroy(f);
    return s;
}

LT_TEST(functions_and_verification_survive_failing_allocations)
{
    fill_data();
    LT_CHECK_OK(function_and_verify());
    bool reached = true;
    for (int64_t n = 1; reached && lt_test_failures < 20; n++) {
        int64_t live = live_blocks(), made = lt_alloc_count();
        lt_alloc_fail_at(n);
        lt_status s = function_and_verify();
        lt_alloc_fail_at(0);
        reached = lt_alloc_count() - made >= n;
        int64_t leaked = live_blocks() - live;
        if (s != LT_OK && s != LT_ERR_MEMORY) LT_TEST_FAIL("allocation %lld: status %s, %s", (long long)n, lt_status_name(s), lt_error_text());
        if (leaked) LT_TEST_FAIL("allocation %lld: %lld blocks leaked", (long long)n, (long long)leaked);
    }
}

/* ---- no allocations ---- */

LT_TEST(runs_allocate_nothing)
{
    static const lt_mode modes[] = { LT_MODE_EAGER, LT_MODE_DEFAULT, LT_MODE_REDUCE_OVERHEAD };
    fill_data();
    for (size_t i = 0; i < N_GRAPHS; i++)
        for (int m = 0; m < 3; m++) {
            lt_program *p;
            lt_dtype type = LT_F64;
            LT_CHECK_OK(compile(graphs[i].build, modes[m], &p, &type));
            LT_CHECK_OK(run(p, type, 0));
            int64_t ours = lt_alloc_count(), all = atomic_load(&n_heap_calls);
            for (int k = 0; k < 5; k++) LT_CHECK_OK(run(p, type, k % 2)); /* other pointers, too */
            ours = lt_alloc_count() - ours;
            all = atomic_load(&n_heap_calls) - all;
            if (ours || all)
                LT_TEST_FAIL("%s %s: %lld allocations through lt_malloc, %lld in all", graphs[i].name, lt_mode_name(modes[m]), (long long)ours, (long long)all);
            lt_program_destroy(p);
        }
}

/* The count above must be able to fail. */
LT_TEST(the_heap_is_counted)
{
#ifdef SANITIZED
    LT_SKIP("the sanitizer has an allocator of its own");
#else
    int64_t before = atomic_load(&n_heap_calls);
    char *volatile p = malloc(10);
    free(p);
    LT_CHECK_EQ_INT(atomic_load(&n_heap_calls) - before, 1);
#endif
}

LT_TEST_MAIN()
