/* Going on after the tolerances are met: where runs end then, and with what code. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without patience these runs stop where the measure is small by chance: at f near 0.99 and 4e-6 too high. */
LT_TEST(patience_goes_on_to_the_optimum)
{
    example *e = example_rosenbrock(1 + 3e-10, 1 - 5e-10);
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.kkt_tol = INFINITY);
    lt_solution *hasty = solve_example(e, opt, true);
    opt.patience = 5;
    lt_solution *s = solve_example(e, opt, false);
    LT_CHECK(hasty->termination_code == LT_TERMINATION_CONVERGED && hasty->best.f > 0.2);
    LT_CHECK((s->termination_code == LT_TERMINATION_CONVERGED || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE) && s->iters < 100);
    LT_CHECK_NEAR(s->best.f, 0.0857864376269, 1e-6);
    lt_solution_destroy(hasty);
    lt_solution_destroy(s);
    e = example_robust_pca();
    opt.stationarity_tol = 1e-6;
    s = solve_example(e, opt, true);
    LT_CHECK(s->best.tve <= 1e-6 && s->iters < 150);
    LT_CHECK_NEAR(s->final.f, e->best, 2e-6);
    lt_solution_destroy(s);
    example_free(e);
}

static example *make(int which)
{
    switch (which) {
    case 0: return example_rosenbrock(5.5, 5.5);
    case 1: return example_trace(2);
    case 2: return example_robust_pca();
    case 3: return example_feasibility(-3);
    default: return example_total_variation();
    }
}

/* The row of the point that a run ended at. */
static const lt_history_row *row_of_end(const lt_solution *s)
{
    for (int64_t i = s->n_history - 1; i >= 0; i--)
        if (s->history[i].f == s->final.f && s->history[i].stat == s->stat_value) return &s->history[i];
    return NULL;
}

static const lt_history_row *first_that_meets(const lt_solution *s, const lt_solve_options *opt)
{
    for (int64_t i = 0; i < s->n_history; i++) {
        const lt_history_row *row = &s->history[i];
        if (row->stat <= opt->stationarity_tol && row->tvi <= opt->inequality_tol && row->tve <= opt->equality_tol) return row;
    }
    return NULL;
}

/* Code 0 promises both tolerances at the point returned, however the steps after it went. */
LT_TEST(a_run_with_patience_ends_at_an_iterate_that_meets_the_tolerances)
{
    int n_ended = 0, n_went_back = 0;
    for (int which = 0; which < 5; which++)
        for (int k = 1; k < 8; k += 2)
            for (double tolerance = 1e-3; tolerance > 1e-8; tolerance *= 0.1) {
                lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = tolerance, o.patience = k, o.max_iterations = 200);
                lt_solution *s = solve_example(make(which), opt, false);
                if (s && s->termination_code == LT_TERMINATION_CONVERGED) {
                    const lt_history_row *end = row_of_end(s), *first = first_that_meets(s, &opt);
                    LT_CHECK(s->final.feasible_to_tol && s->stat_value <= tolerance && !s->error);
                    LT_CHECK(end && first && end->iter >= first->iter);
                    if (end && first && end->mu == first->mu) LT_CHECK(end->phi <= first->phi);
                    n_ended++;
                    n_went_back += end && end->iter < s->iters;
                }
                lt_solution_destroy(s);
            }
    LT_CHECK(n_ended > 50 && n_went_back > 5);
}

LT_TEST(a_run_that_met_its_tolerances_and_cannot_go_on_has_not_failed)
{
    lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.patience = 5);
    lt_solution *s = solve_example(example_feasibility(-3), opt, false); /* f = 0: no direction of descent is left */
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_CONVERGED);
    LT_CHECK(!s->error && s->final.feasible_to_tol);
    LT_CHECK_EQ_INT(s->iters, 3);
    lt_solution_destroy(s);
}

LT_TEST(patience_only_adds_to_a_run)
{
    for (int which = 0; which < 5; which++) {
        lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-4);
        lt_solution *a = solve_example(make(which), opt, false);
        opt.patience = 4;
        lt_solution *b = solve_example(make(which), opt, false);
        LT_CHECK(b->n_history >= a->n_history && b->iters >= a->iters);
        for (int64_t i = 0; i < a->n_history; i++) LT_CHECK(a->history[i].phi == b->history[i].phi && a->history[i].stat == b->history[i].stat);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
    }
}

/* Stopped in the time of patience, and gone on with another one. */
LT_TEST(a_checkpoint_may_be_resumed_with_another_patience)
{
    char path[] = "/tmp/lathe-patience-XXXXXX";
    close(mkstemp(path));
    for (int before = 0; before < 6; before += 5)
        for (int after = 0; after < 6; after += 5) {
            lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.patience = before, o.checkpoint = path, o.checkpoint_every = 1);
            opt.max_iterations = before ? 64 : 40; /* the tolerances are met in between */
            lt_solution *a = solve_example(example_robust_pca(), opt, false);
            opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.patience = after, o.resume = path);
            lt_solution *b = solve_example(example_robust_pca(), opt, false);
            LT_CHECK(a && b && b->termination_code == LT_TERMINATION_CONVERGED && b->stat_value <= 1e-6 && b->iters >= a->iters);
            lt_solution_destroy(a);
            lt_solution_destroy(b);
        }
    unlink(path);
}

LT_TEST_MAIN()
