/* Runs whose device is lost at each of their waits in turn. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_LOST_DEVICE_H
#define LT_TEST_LOST_DEVICE_H

#include "solve_job.h"
#include "watched_device.h"

#include <math.h>

static inline double value_on_the_host(const job *j, const double *x)
{
    double f = NAN;
    lt_solve_options host = lt_solve_defaults();
    LT_CHECK_OK(lt_problem_evaluate_with(j->problem, &host, x, &(lt_outputs){ .f = &f }));
    return f;
}

/* Points that are reported have the values that are reported with them, though x was on its way. Returns how many runs ended by the loss. */
static inline int lose_at_every_wait(job *j)
{
    int n_lost = 0;
    lt_solution_destroy(run(j));
    watch_reset();
    lt_solution_destroy(run(j));
    const int64_t waits = watched.syncs;
    for (int64_t after = 0; after < waits; after++) {
        lt_solution *s = NULL;
        watch_reset();
        watched.syncs_left = after;
        lt_status status = lt_solve(j->problem, &j->opt, &s);
        watch_reset();
        if (status) {
            LT_CHECK_EQ_INT(status, LT_ERR_DEVICE);
            continue;
        }
        n_lost += s->termination_code == LT_TERMINATION_DEVICE_LOST;
        LT_CHECK(s->final.present && s->most_feasible.present == (s->p + s->q > 0));
        LT_CHECK(s->termination_code != LT_TERMINATION_DEVICE_LOST || !s->transfers->hessian_on_device || !s->H_final.H);
        const lt_solution_point *point[] = { &s->final, &s->best, &s->most_feasible };
        for (int i = 0; i < 3; i++)
            if (point[i]->present) LT_CHECK_NEAR(value_on_the_host(j, point[i]->x), point[i]->f, 1e-12 * fmax(1, fabs(point[i]->f)));
        lt_solution_destroy(s);
    }
    return n_lost;
}

#endif
