/* Searches that meet points outside the domain of an op: they step back and end at the minimizer.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

static lt_solution *solve_text(const char *text)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    lt_solve_options opt = lt_solve_defaults();
    LT_CHECK_OK(lt_model_parse("domain.lt", "", text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return s;
}

/* A first step of length |gradient| leaves the domain in each of these. */
LT_TEST(searches_step_back_into_the_domain)
{
    static const struct { const char *text; double f; } list[] = {
        { "var x = 5e-2\nminimize 1000*x - log(x)", 7.9077552789821371 },
        { "var x = 8\nminimize 40*x - 20*sqrt(x)", -2.5 },
        { "var x = 0.2\nminimize 40*x - log1p(x - 1) - 1", 3.6888794541139363 },
        { "var x[2] = [0.5, 0.5]\nminimize acos(x[0]) + 4*x[0] - asin(x[1]) + 4*x[1]", -3.5389382223143007 },
        { "var x = 0.5\nminimize 50*x^2.5 - 3*x", -0.14976603525973708 },
        { "var X[2, 2] = [[2, 0.5], [0.5, 1]]\nlet S = (X + X')/2\nminimize 10*trace(S) - logdet(S)", 6.6051701859880918 },
        { "var x[2] = [0.5, 0.2]\nlet S = [[x[0], x[1]], [x[1], x[0]]]\nminimize 30*x[0] + x[1]^2 - 2*trace(log(cholesky(S) + 1 - eye(2)))", 7.4161004022044201 },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        lt_solution *s = solve_text(list[i].text);
        if (!s) continue;
        if (!(fabs(s->best.f - list[i].f) <= 1e-6 * fmax(1, fabs(list[i].f)))) LT_TEST_FAIL("%s\nends at %.15g, expected %.15g, code %d", list[i].text, s->best.f, list[i].f, s->termination_code);
        lt_solution_destroy(s);
    }
}

/* phi falls up to the edge: steps go near it, and the others of the variables follow. Such runs ended where they began, or at 4e-5 here. */
LT_TEST(minimisers_on_the_edge_of_the_domain_are_approached)
{
    static const struct { const char *text; double f; } list[] = {
        { "var x = 0.9\nvar y = 0.3\nminimize x^1.5 + y^2 - x*y", 1e-9 },
        { "var x = 0.9\nvar y = 0.3\nminimize sqrt(x - 0.5) + (y - x)^2", 0.01 },
        { "var x = 0.9\nvar y = 0.3\nminimize (x + y)^0.3", 0.01 },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        lt_solution *s = solve_text(list[i].text);
        if (!s) continue;
        if (!(s->final.f <= list[i].f)) LT_TEST_FAIL("%s\nends at %.15g, expected at most %g, code %d", list[i].text, s->final.f, list[i].f, s->termination_code);
        lt_solution_destroy(s);
    }
}

LT_TEST(a_start_outside_is_named)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    lt_solve_options opt = lt_solve_defaults();
    static const char text[] = "var X[2, 2] = [[-1, 0], [0, -1]]\nminimize -logdet(X)\n";
    LT_CHECK_OK(lt_model_parse("domain.lt", "", text, sizeof text - 1, &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_FAILS(lt_solve(p, &opt, &s), LT_ERR_NUMERIC, "the objective is nan at x0");
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

LT_TEST_MAIN()
