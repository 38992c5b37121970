/* What the solver's tests share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_SOLVE_TOOLS_H
#define LT_SOLVE_TOOLS_H

#include "lt_test.h"
#include "solve_options.h"
#include "solve_problems.h"

/* Runs an example from its own start; frees it unless asked to keep it. NULL (and a failed check) when
   the run could not begin. */
static inline lt_solution *solve_example(example *e, lt_solve_options opt, bool keep)
{
    lt_problem *p = example_problem(e);
    lt_solution *s = NULL;
    if (!opt.x0 && !opt.resume) opt.x0 = e->x0;
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_problem_destroy(p);
    if (!keep) example_free(e);
    return s;
}

/* A problem of one function without constraints, given as a callback. */
static inline lt_solution *solve_function(int64_t n, int64_t p, int64_t q, lt_problem_fn fn, void *ctx,
                                          lt_solve_options opt)
{
    lt_problem *problem = NULL;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_problem_from_function(n, p, q, fn, ctx, &problem));
    LT_CHECK_OK(lt_solve(problem, &opt, &s));
    lt_problem_destroy(problem);
    return s;
}

static inline const lt_history_row *row_of(const lt_solution *s, int64_t iter)
{
    for (int64_t i = 0; i < s->n_history; i++)
        if (s->history[i].iter == iter) return &s->history[i];
    return NULL;
}

#endif
