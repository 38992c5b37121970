/* The built-in examples, from text through graph and compiler to the solver: acceptance by value and
   code, never by iteration count alone. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

typedef struct accepted { const char *name; double lowest, highest; bool any_code; int64_t max_iters; } accepted;

static lt_solution *solve_text(const char *name, const lt_solve_options *changes)
{
    char path[64];
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    snprintf(path, sizeof path, "example:%s", name);
    LT_CHECK_OK(lt_model_read(path, &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    lt_solve_options opt = changes ? *changes : lt_solve_defaults();
    if (!changes) LT_CHECK_OK(lt_solve_options_from_model(&opt, m));
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return s;
}

LT_TEST(examples_reach_their_optima)
{
    static const accepted list[] = {
        { "A1", 0.0857864376269 - 1e-5, 0.0859, false, 60 }, { "B1", 0, 0, false, 7 },
        { "B2", -24.28592206 - 1e-5, -24.28592206 + 1e-6, false, 120 }, { "B3", -3.04324830604 - 1e-5, -3.04324830604 + 1e-8, false, 60 },
        { "B3d2", -3.93228070919 - 1e-5, -3.922, false, 200 }, { "C1", 0.33374808 - 1e-5, 0.3342, false, 200 },
        { "C2", 5.07795525, 5.0779552563, false, 600 }, { "A3", 0.4919422 - 1e-5, 0.4919422 + 1e-6, false, 200 },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const accepted *a = &list[i];
        lt_solution *s = solve_text(a->name, NULL);
        if (!s) continue;
        if (!s->best.present || !(s->best.f >= a->lowest && s->best.f <= a->highest))
            LT_TEST_FAIL("%s: best f %.12g, expected %.12g to %.12g", a->name, s->best.f, a->lowest, a->highest);
        if (s->termination_code != LT_TERMINATION_CONVERGED && s->termination_code != LT_TERMINATION_BRACKET_FEASIBLE) LT_TEST_FAIL("%s: code %d", a->name, s->termination_code);
        if (s->iters > a->max_iters) LT_TEST_FAIL("%s: %lld iterations", a->name, (long long)s->iters);
        LT_CHECK_EQ_INT(s->loop_allocations, 0);
        lt_solution_destroy(s);
    }
}

LT_TEST(the_published_table_from_text)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.mu0 = 100, o.max_iterations = 10);
    lt_solution *s = solve_text("A1b", &opt);
    LT_CHECK_EQ_INT(s->iters, 10);
    LT_CHECK_EQ_INT(s->fn_evals, 35);
    LT_CHECK_NEAR(s->final.f, 9.27057783616, 1e-11);
    LT_CHECK_NEAR(row_of(s, 7)->phi, 48.9917031616, 1e-11);
    lt_solution_destroy(s);
}

/* The eigenvalue problem in its small form, steered towards feasibility: a stable matrix is found. */
LT_TEST(eigenvalue_problem_becomes_feasible)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 150, o.steering_margin = INFINITY, o.steering_share = 0.9,
                             o.steering_factor = 0.1);
    lt_solution *s = solve_text("A2", &opt);
    LT_CHECK(row_of(s, 0)->tvi > 0.5 && s->best.present && s->best.tvi <= 1e-6 && s->best.f < 9);
    lt_solution_destroy(s);
}

LT_TEST(network_with_a_folded_orthogonality_constraint)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 12, o.stationarity_tol = 1e-3, o.equality_tol = 1e-4);
    lt_solution *s = solve_text("D3v", &opt);
    LT_CHECK(s->final.f < 0.1 * row_of(s, 0)->f && s->q == 1 && s->n == 2110);
    lt_solution_destroy(s);
}

LT_TEST(options_in_the_text_are_taken_over)
{
    static const char text[] = "var x[2] = [1, 1]\nminimize sum(abs(x))\noption stationarity_tol = 1e-3\noption print_ascii = true\n";
    lt_model *m;
    lt_solve_options opt = lt_solve_defaults();
    LT_CHECK_OK(lt_model_parse("small.lt", "", text, sizeof text - 1, &m));
    LT_CHECK_OK(lt_solve_options_from_model(&opt, m));
    LT_CHECK(opt.stationarity_tol == 1e-3 && opt.print_ascii && opt.max_iterations == 1000);
    lt_model_destroy(m);
}

LT_TEST_MAIN()
