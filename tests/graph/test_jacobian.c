/* Jacobians of structured outputs: the batched sweep against one gradient per row, and the
   structure it must keep. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/graph.h"
#include "lt_test.h"

typedef lt_node (*output_builder)(lt_graph *g, lt_node x);

static int64_t length(const lt_graph *g, lt_node x) { return lt_node_shape(g, x).dim[0]; }
static lt_node as_matrix(lt_graph *g, lt_node x, int64_t rows) { return lt_reshape(g, x, lt_shape2(rows, length(g, x) / rows)); }
static lt_node one_element(lt_graph *g, lt_node s) { return lt_reshape(g, s, lt_shape1(1)); }

static lt_node waves(lt_graph *g, int64_t rows, int64_t cols)
{
    return lt_reshape(g, lt_sin(g, lt_arange(g, LT_F64, 0, 1, rows * cols)), lt_shape2(rows, cols));
}

static lt_node orthogonality(lt_graph *g, lt_node x)
{
    int64_t n = (int64_t)(sqrt((double)length(g, x)) + 0.5);
    lt_node v = as_matrix(g, x, n);
    return lt_sub(g, lt_matmul(g, lt_transpose(g, v), v), lt_eye(g, LT_F64, n));
}

static lt_node elementwise(lt_graph *g, lt_node x) { return lt_sub(g, lt_exp(g, x), lt_square(g, x)); }
static lt_node neighbours(lt_graph *g, lt_node x) { return lt_mul(g, lt_slice(g, x, 0, 1, LT_END, 1), lt_sin(g, lt_slice(g, x, 0, 0, -1, 1))); }
static lt_node mirrored(lt_graph *g, lt_node x) { return lt_mul(g, lt_flip(g, x, 0), lt_tanh(g, x)); }
static lt_node linear(lt_graph *g, lt_node x) { return lt_matmul(g, waves(g, 3, length(g, x)), x); }
static lt_node strided(lt_graph *g, lt_node x) { return lt_outer(g, lt_slice(g, x, 0, 0, LT_END, 2), lt_slice(g, x, 0, -1, LT_END, -2)); }
static lt_node triangle(lt_graph *g, lt_node x) { return lt_lower(g, lt_outer(g, x, lt_sin(g, x))); }
static lt_node diagonal(lt_graph *g, lt_node x) { return lt_mul(g, lt_diag(g, lt_exp(g, x)), lt_outer(g, x, x)); }
static lt_node singular_values(lt_graph *g, lt_node x) { return lt_svdvals(g, as_matrix(g, x, 4)); }
static lt_node running(lt_graph *g, lt_node x) { return lt_cumsum(g, lt_square(g, x), 0); }
static lt_node sorted_top(lt_graph *g, lt_node x) { return lt_topk(g, lt_sin(g, x), 3); }
static lt_node constant(lt_graph *g, lt_node x) { return lt_full(g, LT_F64, lt_node_shape(g, x), 3); }
static lt_node identity(lt_graph *g, lt_node x) { (void)g; return x; }

static lt_node products(lt_graph *g, lt_node x)
{
    lt_node m = as_matrix(g, x, length(g, x) / 2);
    return lt_matmul(g, lt_exp(g, lt_matmul(g, m, lt_transpose(g, m))), m);
}

static lt_node pieces(lt_graph *g, lt_node x)
{
    lt_node parts[] = { one_element(g, lt_sum(g, lt_square(g, x))), lt_abs(g, x), one_element(g, lt_max(g, x)), lt_slice(g, x, 0, 1, 3, 1) };
    return lt_concat(g, parts, 4, 0);
}

static lt_node broadcasts(lt_graph *g, lt_node x)
{
    lt_node column = lt_unsqueeze(g, x, 1), row = lt_unsqueeze(g, x, 0);
    return lt_add(g, lt_mul(g, column, lt_cos(g, row)), lt_scale(g, lt_sub(g, column, row), 3));
}

static lt_node sums(lt_graph *g, lt_node x)
{
    lt_node m = as_matrix(g, x, length(g, x) / 2);
    lt_node down = lt_sum_axis(g, lt_square(g, m), 0, false), across = lt_sum_axis(g, lt_exp(g, m), 1, true);
    return lt_concat(g, (lt_node[]){ lt_flatten(g, across), down }, 2, 0);
}

/* Several rows that all pass through the same dense layers: they must be stacked, not repeated. */
static lt_node network(lt_graph *g, lt_node x)
{
    lt_node w = waves(g, length(g, x), length(g, x)), h = x;
    for (int i = 0; i < 2; i++) h = lt_tanh(g, lt_matmul(g, h, w));
    lt_node parts[] = { one_element(g, lt_sum(g, h)), one_element(g, lt_norm(g, h)), lt_abs(g, x), one_element(g, lt_prod(g, h)) };
    return lt_concat(g, parts, 4, 0);
}

static lt_node convolution(lt_graph *g, lt_node x)
{
    lt_node image = lt_reshape(g, x, lt_shape4(1, 1, 4, 4));
    lt_node w = lt_reshape(g, lt_slice(g, x, 0, 0, 4, 1), lt_shape4(1, 1, 2, 2));
    return lt_conv2d(g, image, w, LT_NONE, NULL);
}

static lt_node stacked_rows(lt_graph *g, lt_node x)
{
    lt_node m = as_matrix(g, x, 4);
    return lt_concat(g, (lt_node[]){ lt_square(g, m), lt_slice(g, lt_transpose(g, lt_transpose(g, m)), 0, 1, 3, 1), lt_flip(g, m, 1) }, 3, 0);
}

static const struct { const char *name; output_builder build; int64_t n; } cases[] = {
    { "orthogonality", orthogonality, 16 }, { "elementwise", elementwise, 7 }, { "neighbours", neighbours, 6 },
    { "mirrored", mirrored, 5 }, { "linear", linear, 6 }, { "products", products, 6 }, { "pieces", pieces, 6 },
    { "broadcasts", broadcasts, 5 }, { "sums", sums, 8 }, { "singular values", singular_values, 8 },
    { "network", network, 6 }, { "strided", strided, 8 }, { "diagonal", diagonal, 4 }, { "triangle", triangle, 4 },
    { "running", running, 5 }, { "top", sorted_top, 6 }, { "constant", constant, 3 }, { "identity", identity, 4 },
    { "convolution", convolution, 16 }, { "stacked rows", stacked_rows, 8 }, { "one variable", elementwise, 1 },
};

static void run(lt_graph *g, const lt_node *out, int n, const lt_compile_options *opt, const double *x, void **to)
{
    lt_program *p;
    LT_CHECK_OK(lt_program_create(g, out, n, opt, &p));
    if (!p) return;
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, to));
    lt_program_destroy(p);
}

static double *start(int64_t n)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = sin(1 + 0.7 * (double)i);
    return x;
}

/* One gradient per row, eagerly: the slow way the sweep must agree with. */
static void rows_one_by_one(lt_graph *g, lt_node y, lt_node x, int64_t k, int64_t n, const double *at, double *want)
{
    lt_node *row = malloc((size_t)k * sizeof *row), flat = lt_flatten(g, y);
    void **to = malloc((size_t)k * sizeof *to);
    for (int64_t i = 0; i < k; i++) {
        LT_CHECK_OK(lt_grad(g, lt_at(g, flat, i), &x, 1, &row[i]));
        to[i] = want + i * n;
    }
    run(g, row, (int)k, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, at, to);
    free(row);
    free(to);
}

LT_TEST(the_sweep_equals_one_gradient_per_row)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lt_graph *g;
        int64_t n = cases[c].n;
        LT_CHECK_OK(lt_graph_create(&g));
        lt_node x = lt_input(g, "x", LT_F64, lt_shape1(n)), y = cases[c].build(g, x), jacobian;
        lt_shape s = lt_node_shape(g, y);
        int64_t k = lt_shape_count(&s);
        double *at = start(n), *got = calloc((size_t)(k * n), sizeof *got), *want = calloc((size_t)(k * n), sizeof *want);
        LT_CHECK_OK(lt_jacobian(g, &y, 1, x, &jacobian));
        rows_one_by_one(g, y, x, k, n, at, want);
        for (int mode = 0; mode < LT_MODE_MAX_AUTOTUNE; mode++) {
            memset(got, 0xff, (size_t)(k * n) * sizeof *got);
            run(g, &jacobian, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = (lt_mode)mode }, at, (void *[]){ got });
            for (int64_t i = 0; i < k * n; i++)
                if (!(fabs(got[i] - want[i]) <= 1e-13 * fmax(1, fabs(want[i]))))
                    LT_TEST_FAIL("%s, mode %s: entry %lld is %.17g, expected %.17g", cases[c].name, lt_mode_name((lt_mode)mode), (long long)i, got[i], want[i]);
        }
        free(at); free(got); free(want);
        lt_graph_destroy(g);
    }
}

LT_TEST(several_outputs_share_one_sweep)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(6));
    lt_node h = lt_tanh(g, lt_matmul(g, lt_tanh(g, lt_matmul(g, x, waves(g, 6, 6))), waves(g, 6, 6)));
    lt_node y[] = { lt_sum(g, h), lt_abs(g, x), lt_norm(g, h), lt_sum(g, lt_exp(g, h)), lt_scalar(g, LT_F64, 2) }, j[5];
    double *at = start(6), got[5][36], want[36];
    LT_CHECK_OK(lt_jacobian(g, y, 5, x, j));
    run(g, j, 5, NULL, at, (void *[]){ got[0], got[1], got[2], got[3], got[4] });
    for (int o = 0; o < 4; o++) {
        int64_t k = o == 1 ? 6 : 1;
        rows_one_by_one(g, y[o], x, k, 6, at, want);
        for (int64_t i = 0; i < 6 * k; i++) LT_CHECK_NEAR(got[o][i], want[i], 1e-13);
    }
    for (int i = 0; i < 6; i++) LT_CHECK(got[4][i] == 0);
    free(at);
    lt_graph_destroy(g);
}

LT_TEST(structure_is_not_swept_densely)
{
    lt_graph *g;
    lt_program *p;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(900)), y = orthogonality(g, x), j;
    LT_CHECK_OK(lt_jacobian(g, &y, 1, x, &j));
    LT_CHECK_OK(lt_program_create(g, &j, 1, NULL, &p));
    lt_program_info info = lt_program_get_info(p);
    LT_CHECK(info.arena_bytes <= 900 * 900 * sizeof(double)); /* with the result: at most twice the dense Jacobian */
    LT_CHECK(info.flops <= 900 * 900);                        /* 900 dense sweeps would need 10^8 */
    lt_program_destroy(p);
    lt_node e = elementwise(g, x), je;
    LT_CHECK_OK(lt_jacobian(g, &e, 1, x, &je));
    LT_CHECK_OK(lt_program_create(g, &je, 1, NULL, &p));
    info = lt_program_get_info(p);
    LT_CHECK(info.arena_bytes <= 10 * 900 * sizeof(double));  /* a diagonal, then its place in the result */
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

LT_TEST(a_jacobian_can_be_differentiated)
{
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(3)), f = lt_sum(g, lt_mul(g, lt_exp(g, x), lt_sin(g, lt_flip(g, x, 0)))), df, hessian;
    LT_CHECK_OK(lt_grad(g, f, &x, 1, &df));
    LT_CHECK_OK(lt_jacobian(g, &df, 1, x, &hessian));
    double at[3] = { 0.3, -0.2, 0.9 }, h[9], lo[3], hi[3];
    run(g, &hessian, 1, NULL, at, (void *[]){ h });
    for (int i = 0; i < 3; i++) {
        const double step = 1e-5;
        double moved[3] = { at[0], at[1], at[2] };
        moved[i] += step;
        run(g, &df, 1, NULL, moved, (void *[]){ hi });
        moved[i] -= 2 * step;
        run(g, &df, 1, NULL, moved, (void *[]){ lo });
        for (int k = 0; k < 3; k++) LT_CHECK_NEAR(h[3 * k + i], (hi[k] - lo[k]) / (2 * step), 1e-8);
    }
    for (int i = 0; i < 3; i++) for (int k = 0; k < i; k++) LT_CHECK_NEAR(h[3 * i + k], h[3 * k + i], 1e-13);
    lt_graph_destroy(g);
}

LT_TEST(bad_requests_are_refused)
{
    lt_graph *g, *other;
    lt_node out;
    LT_CHECK_OK(lt_graph_create(&g));
    LT_CHECK_OK(lt_graph_create(&other));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(2)), foreign = lt_input(other, "z", LT_F64, lt_shape1(2));
    LT_CHECK_FAILS(lt_jacobian(g, &x, 1, foreign, &out), LT_ERR_ARGUMENT, "another graph");
    lt_graph_destroy(g);
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node labels = lt_input(g, "labels", LT_I64, lt_shape1(2));
    LT_CHECK_FAILS(lt_jacobian(g, &labels, 1, labels, &out), LT_ERR_TYPE, "real floating");
    lt_graph_destroy(g);
    LT_CHECK_OK(lt_graph_create(&g));
    x = lt_input(g, "x", LT_F64, lt_shape1(2));
    LT_CHECK_FAILS(lt_jacobian(g, &x, 0, x, &out), LT_ERR_ARGUMENT, "at least one output");
    lt_graph_destroy(g);
    lt_graph_destroy(other);
}

LT_TEST_MAIN()
