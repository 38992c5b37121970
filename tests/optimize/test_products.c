/* Products with constraint gradients: sparse ones against dense ones, equal ones merged, constant ones kept once, and a problem
   with several hundred of them. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "base/status.h"
#include "lathe/rng.h"
#include "optimize/vectors/columns.h"
#include "optimize/vectors/dense.h"
#include "optimize/hessian/hessian.h"
#include "optimize/vectors/merge.h"
#include "optimize/vectors/sparse.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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
    double *to[K], *places[K];
    lt_rng r = lt_rng_seed(3);
    lt_sparse s;
    make_gradients(&r, g);
    for (int i = 0; i < N * (N + 1) / 2; i++) lower[i] = lt_rng_normal(&r);
    for (int j = 0; j < K; j++) from[j] = g + j * N, to[j] = want + j * N;
    LT_CHECK_OK(lt_sparse_create(K, N, &s));
    lt_sparse_describe(&s, g);
    LT_CHECK_EQ_INT(s.n_sparse, K - (K + 2) / 3);
    for (int j = 0; j < K; j++) places[j] = j == 4 ? NULL : out + j * N;
    lt_sparse_apply(&s, lower, places);
    lt_packed_apply_rows(N, lower, K, from, to, NULL);
    for (int j = 0; j < K; j++)
        for (int i = 0; j % 3 && i < N; i++) LT_CHECK_NEAR(out[j * N + i], j == 4 ? 0 : want[j * N + i], 1e-12);
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

LT_TEST(columns_that_never_change_stand_once)
{
    enum { n = 2, k = 4, SLOTS = 3 };
    double a[k * n] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[k * n];
    const int64_t slot[] = { 0, 2 };
    lt_columns c;
    LT_CHECK_OK(lt_columns_create(k, SLOTS, &c));
    LT_CHECK(c.n_own == k && c.count == SLOTS * k && lt_columns_of(&c, 2, 1) == 9);
    memcpy(b, a, sizeof a);
    b[2 * n] = 0; /* the third gradient changes; the first, of f, is never shared */
    LT_CHECK(lt_columns_follow(&c, n, a, b, 100));
    LT_CHECK(c.n_shared == 2 && c.n_own == 2 && c.count == 2 + 2 * SLOTS);
    LT_CHECK(lt_columns_of(&c, 2, 1) == 0 && lt_columns_of(&c, 2, 3) == 1 && lt_columns_of(&c, 2, 0) == 6 && lt_columns_of(&c, 2, 2) == 7);
    for (int64_t i = 0; i < 2 + 2 * 2; i++) {
        static const int64_t column[] = { 0, 1, 2, 3, 6, 7 }, gradient[] = { 1, 3, 0, 2, 0, 2 };
        LT_CHECK_EQ_INT(lt_columns_pick(&c, slot, i), column[i]);
        LT_CHECK_EQ_INT(lt_columns_gradient(&c, column[i]), gradient[i]);
    }
    LT_CHECK(!lt_columns_follow(&c, n, b, b, 100) && c.n_shared == 2);
    a[3 * n] = 0; /* late, but it changes after all */
    LT_CHECK(lt_columns_follow(&c, n, b, a, 100) && c.n_shared == 1 && c.is_shared[1]);
    LT_CHECK(lt_columns_follow(&c, n, a, a, 9) && c.n_shared == 0); /* one column too many */
    lt_columns_release(&c);
}

static lt_solution *run_text(const char *text, lt_solve_options opt)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_model_parse("test", NULL, text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return s;
}

/* Bounds, few and too many for all columns to be carried; constraints whose gradients change at a kink, one by one. */
static const char *const sharing[] = {
    "rng g = mt19937(0)\ndata b = 3*normal(20, rng=g)\nvar x[20] = 0.5*uniform(20, rng=g)\n"
    "minimize sum(abs(x - b)) + 0.5*sum((x[1:] - x[:19])^2)\nsubject to\n  x <= 1\n  -x <= 1\n",
    "rng g = mt19937(0)\ndata b = 3*normal(90, rng=g)\nvar x[90] = 0.5*uniform(90, rng=g)\n"
    "minimize sum(abs(x - b)) + 0.5*sum((x[1:] - x[:89])^2)\nsubject to\n  x <= 1\n  -x <= 1\n  x[0]*x[1] <= 1\n",
    "rng g = mt19937(0)\ndata b = normal(12, rng=g)\nvar x[12] = 2 + uniform(12, rng=g)\n"
    "minimize sum((x - b)^2)\nsubject to\n  relu(x - 0.5) + 0.3*x <= 0.6\n  sum(x) == 1\n",
};

/* With a radius that no sample leaves, so that the measure has many columns before rounding decides on which side of a bound a
   step ends. */
LT_TEST(products_of_columns_that_stand_once_lead_the_same_way)
{
    for (size_t i = 0; i < LT_LEN(sharing); i++) {
        lt_solve_options opt = SOLVE_OPTIONS(o.honor_bounds = LT_HONOR_NONE, o.scale_functions = false, o.sample_radius = 100, o.max_samples = 6, o.max_iterations = 20);
        lt_solution *a = run_text(sharing[i], opt);
        lt_solve_debug debug = lt_solve_debug_defaults();
        debug.incremental_products = false;
        opt.debug = &debug;
        lt_solution *b = run_text(sharing[i], opt);
        for (int64_t at = 0; at <= 3; at++) {
            const lt_history_row *x = row_of(a, at), *y = row_of(b, at);
            LT_CHECK_EQ_INT(x->n_gradients, at + 1);
            LT_CHECK_NEAR(x->f, y->f, 1e-9 * fabs(y->f));
            LT_CHECK_NEAR(x->stat, y->stat, 1e-8 * fabs(y->stat));
        }
        LT_CHECK_NEAR(a->best.f, b->best.f, 1e-2 * fabs(b->best.f));
        LT_CHECK_EQ_INT(a->loop_allocations, 0);
        LT_CHECK_NEAR(a->quadprog_failure_rate, 0, 0);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
    }
}

LT_TEST(a_checkpoint_has_the_columns_that_stand_once)
{
    char path[] = "/tmp/lathe-columns-XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < LT_LEN(sharing); i++)
        for (int64_t stop = 0; stop < 30; stop = 3 * stop + 1) {
            lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 45), part = opt;
            lt_solution *whole = run_text(sharing[i], opt);
            part.max_iterations = LT_MAX(stop, 1);
            part.checkpoint = path;
            lt_solution_destroy(run_text(sharing[i], part));
            opt.resume = path;
            lt_solution *rest = run_text(sharing[i], opt);
            LT_CHECK(rest && rest->iters == whole->iters && rest->fn_evals == whole->fn_evals && rest->stat_value == whole->stat_value);
            LT_CHECK(rest && !memcmp(rest->final.x, whole->final.x, (size_t)whole->n * sizeof(double)));
            lt_solution_destroy(whole);
            lt_solution_destroy(rest);
        }
    unlink(path);
}

/* The optimum of a convex problem of text, reached with code 0 or 6 and no failed QP. */
static double solve_text(const char *text)
{
    lt_solution *s = run_text(text, SOLVE_OPTIONS(o.stationarity_tol = 1e-7));
    LT_CHECK(s->best.present && (s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE));
    LT_CHECK_NEAR(s->quadprog_failure_rate, 0, 0);
    double f = s->best.f;
    lt_solution_destroy(s);
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
