/* A model, its problem and the options it asks for, for tests that solve examples. SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOLVE_JOB_H
#define SOLVE_JOB_H

#include "lathe/solve.h"
#include "lt_test.h"

typedef struct job { lt_model *model; lt_problem *problem; lt_solve_options opt; lt_solve_debug debug; } job; /* debug counts once opt.debug points at it: in run() */

static inline job read_job(const char *example)
{
    job j = { .opt = lt_solve_defaults(), .debug = lt_solve_debug_defaults() };
    LT_CHECK_OK(lt_model_read(example, &j.model));
    LT_CHECK_OK(lt_problem_from_model(j.model, &j.problem));
    LT_CHECK_OK(lt_solve_options_from_model(&j.opt, j.model));
    return j;
}

static inline void close_job(job *j)
{
    lt_problem_destroy(j->problem);
    lt_model_destroy(j->model);
}

static inline lt_solution *run(job *j)
{
    lt_solution *s = NULL;
    j->opt.debug = &j->debug;
    LT_CHECK_OK(lt_solve(j->problem, &j->opt, &s));
    return s;
}

#endif
