/* Products with constraint gradients: sparse ones against dense ones, equal ones merged, and a problem with
   several hundred of both. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "lathe/rng.h"
#include "optimize/dense.h"
#include "optimize/hessian.h"
#include "optimize/merge.h"
#include "optimize/sparse.h"
#include "optimize/vector.h"

enum { N = 203, K = 150 }; /* no multiples of a block */

/* Every third gradient is dense, the others have a few entries in the upper half of the variables. */
static void make_gradients(lt_rng *r, double *g)
{
    memset(g, 0, K * N * sizeof *g);
    for (int j = 0; j < K; j++)
        for (int i = 0; i < (j % 3 ? 9 : N); i++) g[j * N + (j % 3 ? N / 2 + (7 * j + 11 * i) % (N / 2) : i)] = lt_rng_normal(r);
}

LT_TEST(sparse_products_equal_dense_ones)
{
    static double g[K * N], lower[N * (N + 1) / 2], out[K * N], want[K * N], dots[K * LT_DENSE_ROW], one[K];
    const double *from[K];
    double *to[K];
    lt_rng r = lt_rng_seed(3);
    lt_sparse s;
    make_gradients(&r, g);
    for (int i = 0; i < N * (N + 1) / 2; i++) lower[i] = lt_rng_normal(&r);
    for (int j = 0; j < K; j++) from[j] = g + j * N, to[j] = want + j * N;
    LT_CHECK_OK(lt_sparse_create(K, N, &s));
    lt_sparse_describe(&s, g);
    LT_CHECK_EQ_INT(s.n_sparse, K - (K + 2) / 3);
    lt_sparse_apply(&s, lower, out);
    lt_packed_apply_rows(N, lower, K, from, to, NULL);
    for (int j = 0; j < K; j++)
        for (int i = 0; j % 3 && i < N; i++) LT_CHECK_NEAR(out[j * N + i], want[j * N + i], 1e-12);
    for (int64_t count = 1; count <= LT_DENSE_ROW; count += 21) {
        lt_sparse_dots_block(&s, 5, count, from, dots, count);
        lt_sparse_dots(&s, 5, from[count - 1], one);
        for (int j = 5; j < K; j++) {
            if (j % 3 == 0) continue;
            double exact = lt_vec_dot(N, from[j], from[count - 1]);
            LT_CHECK_NEAR(dots[j * count + count - 1], exact, 1e-12);
            LT_CHECK_NEAR(one[j], exact, 1e-12);
        }
    }
    lt_sparse_release(&s);
}

LT_TEST(only_variables_alike_in_everything_are_merged)
{
    enum { M = 6 };
    static const double a[2] = { 1, 2 }, b[2] = { 1, 2 }, c[2] = { 2, 1 };
    const double *gradient[M] = { a, c, b, a, b, a };
    double value[M] = { 3, 3, 3, 4, 3, 3 }, lower[M] = { 0 }, upper[M] = { 1, 1, 1, 1, 2, 1 };
    uint8_t member[M] = { 0 };
    double Q[M * M], start[M] = { 0.25, 0.5, 0.5, 0, 1, 0.75 }, sum[M], back[M];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) Q[i * M + j] = gradient[i][0] * gradient[j][0] + gradient[i][1] * gradient[j][1];
    lt_merge g;
    lt_merge_keys keys = { .value = value, .lower = lower, .upper = upper, .gradient = gradient, .n = 2, .member = member };
    LT_CHECK_OK(lt_merge_create(M, &g));
    lt_merge_find(&g, M, Q, M, &keys);
    LT_CHECK_EQ_INT(g.n_groups, 4); /* 0, 2 and 5; 1; 3 has another value, 4 another bound */
    LT_CHECK_EQ_INT(g.group[2], g.group[0]);
    LT_CHECK_EQ_INT(g.group[5], g.group[0]);
    lt_merge_matrix(&g, Q, M, Q);
    LT_CHECK_NEAR(Q[0], 5, 0);
    LT_CHECK_NEAR(Q[1], 4, 0);
    LT_CHECK_NEAR(Q[g.n_groups + 2], 4, 0);
    lt_merge_sum(&g, start, sum);
    LT_CHECK_NEAR(sum[0], 1.5, 0);
    lt_merge_share(&g, sum, back);
    LT_CHECK_NEAR(back[5], 0.5, 0);
    LT_CHECK_NEAR(back[4], 1, 0);
    member[5] = 1;
    lt_merge_find(&g, M, Q, M, &keys);
    LT_CHECK(g.group[5] != g.group[0]);
    lt_merge_release(&g);
}

/* The optimum of a convex problem of text, reached with code 0 or 6 and no failed QP. */
static double solve_text(const char *text)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_model_parse("test", NULL, text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    lt_solve_options opt = { LT_SOLVE_DEFAULTS, .opt_tol = 1e-7 };
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    LT_CHECK(s->best.present && (s->termination_code == 0 || s->termination_code == 6));
    LT_CHECK_NEAR(s->quadprog_failure_rate, 0, 0);
    double f = s->best.f;
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return f;
}

LT_TEST(constraints_said_twice_change_nothing)
{
    static const char head[] = "rng g = mt19937(0)\ndata A = normal(32, 64, rng=g)\ndata b = normal(32, rng=g)\n"
                               "var x[64] = 0\nminimize sum((x - 1)^2)\nsubject to\n  A @ x == b\n";
    char text[400];
    double once = solve_text(head);
    snprintf(text, sizeof text, "%s  A @ x == b\n", head);
    LT_CHECK_NEAR(solve_text(text), once, 1e-5 * once);
}

/* Eighty pairs of variables, each with a sum of at least one. */
LT_TEST(many_sparse_constraints_reach_the_optimum)
{
    double f = solve_text("var x[160] = 0\nminimize sum(x^2)\nsubject to\n  x[::2] + x[1::2] >= 1\n");
    LT_CHECK_NEAR(f, 40, 1e-4);
}

LT_TEST_MAIN()
