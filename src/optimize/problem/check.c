/* The gradient checker: central differences of the values against what the problem says.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/evaluator.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct check {
    lt_evaluator *e;
    int64_t n, m;               /* m = 1 + p + q functions */
    double *x, *at, *direction; /* n each */
    double *grads;              /* m times n: f, ci, ce */
    double *up, *down;          /* m each */
    lt_check_result result;
} check;

static lt_status values(const check *c, const double *x, double *v)
{
    const lt_problem *p = c->e->problem;
    lt_outputs out = { .f = v, .ci = p->p ? v + 1 : NULL, .ce = p->q ? v + 1 + p->p : NULL };
    return lt_evaluator_run(c->e, x, &out);
}

static lt_status gradients(const check *c)
{
    const lt_problem *p = c->e->problem;
    LT_TRY(values(c, c->x, c->up));
    lt_outputs out = { .grad_f = c->grads, .grad_ci = p->p ? c->grads + c->n : NULL,
                       .grad_ce = p->q ? c->grads + (1 + p->p) * c->n : NULL };
    return lt_evaluator_run(c->e, c->x, &out);
}

static void compare(check *c, int64_t number, double h)
{
    lt_check_result *best = &c->result;
    for (int64_t j = 0; j < c->m; j++) {
        double difference = (c->up[j] - c->down[j]) / (2 * h);
        double gradient = lt_vec_dot(c->n, c->grads + j * c->n, c->direction);
        double off = fabs(difference - gradient) / fmax(1, fabs(gradient));
        best->n_checked++;
        if (off <= best->worst) continue; /* NaN is worse than anything */
        best->worst = isnan(off) ? INFINITY : off;
        best->worst_function = j - 1;
        best->worst_direction = number;
        best->gradient = gradient;
        best->difference = difference;
        if (isnan(off)) return;
    }
}

static lt_status check_direction(check *c, int64_t number, double size)
{
    double h = cbrt(DBL_EPSILON) * fmax(1, size);
    lt_vec_step(c->n, c->x, h, c->direction, c->at);
    LT_TRY(values(c, c->at, c->up));
    lt_vec_step(c->n, c->x, -h, c->direction, c->at);
    LT_TRY(values(c, c->at, c->down));
    compare(c, number, h);
    return LT_OK;
}

static lt_status check_all(check *c, int64_t max_directions)
{
    LT_TRY(gradients(c));
    if (c->n <= max_directions) {
        for (int64_t i = 0; i < c->n; i++) {
            memset(c->direction, 0, (size_t)c->n * sizeof(double));
            c->direction[i] = 1;
            LT_TRY(check_direction(c, i, fabs(c->x[i])));
        }
        return LT_OK;
    }
    lt_rng rng = lt_rng_seed(0);
    for (int64_t k = 0; k < max_directions; k++) {
        for (int64_t i = 0; i < c->n; i++) c->direction[i] = lt_rng_normal(&rng);
        lt_vec_scale(c->n, 1 / lt_vec_norm2(c->n, c->direction), c->direction);
        LT_TRY(check_direction(c, k, lt_vec_max_abs(c->n, c->x)));
    }
    return LT_OK;
}

static void choose_point(const lt_problem *p, const double *x, double *to)
{
    lt_rng rng = lt_rng_seed(0);
    for (int64_t i = 0; i < p->n; i++) {
        double drawn = lt_rng_normal(&rng);
        to[i] = x ? x[i] : p->x0 && !isnan(p->x0[i]) ? p->x0[i] : drawn;
    }
}

lt_status lt_problem_check(lt_problem *p, const double *x, double tolerance, int64_t max_directions, lt_check_result *out)
{
    if (!p || !out) return LT_FAIL(LT_ERR_ARGUMENT, "problem_check: an argument is NULL");
    if (!(tolerance >= 0) || max_directions < 0) return LT_FAIL(LT_ERR_ARGUMENT, "problem_check: a limit is negative");
    LT_TRY(LT_CHECK_SIZE(lt_check_result, out));
    int64_t n = p->n, m = 1 + p->p + p->q;
    lt_solve_options opt = lt_solve_defaults();
    check c = { .n = n, .m = m, .result = { .size = sizeof c.result, .worst = -1, .worst_function = -1, .worst_direction = -1 } };
    double *memory = lt_malloc((size_t)(3 * n + m * n + 2 * m) * sizeof *memory);
    if (!memory) return LT_ERR_MEMORY;
    c.x = memory;
    c.at = memory + n;
    c.direction = memory + 2 * n;
    c.up = memory + 3 * n;
    c.down = c.up + m;
    c.grads = c.down + m;
    choose_point(p, x, c.x);
    lt_status s = lt_evaluator_acquire(p, &opt, &c.e);
    if (!s) {
        s = check_all(&c, max_directions ? max_directions : 200);
        lt_evaluator_release(c.e);
    }
    c.result.passed = !s && c.result.worst <= (tolerance > 0 ? tolerance : 1e-5);
    LT_GIVE(out, &c.result);
    lt_free(memory);
    return s;
}
