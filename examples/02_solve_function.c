/* A problem given as a C function: values first, gradients only where a step is worth them; its
   gradients checked, then solved from eight starts. SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

enum { N = 3, ROWS = 12 };

/* min max_i |a_i'x - b_i|  subject to  x'x = 1: the best fit on the unit sphere in the largest residual. */
typedef struct fit { double a[ROWS][N], b[ROWS]; int64_t values, gradients; } fit;

static double residual(const fit *d, int i, const double *x)
{
    double r = -d->b[i];
    for (int j = 0; j < N; j++) r += d->a[i][j] * x[j];
    return r;
}

static int largest(const fit *d, const double *x)
{
    int worst = 0;
    for (int i = 1; i < ROWS; i++)
        if (fabs(residual(d, i, x)) > fabs(residual(d, worst, x))) worst = i;
    return worst;
}

static lt_status evaluate(void *ctx, const double *x, const lt_outputs *out)
{
    fit *d = ctx; /* one thread: lt_solve_multistart calls below with n_threads = 1 */
    int worst = largest(d, x);
    double r = residual(d, worst, x);
    if (out->f) {
        *out->f = fabs(r);
        d->values++;
    }
    if (out->ce) *out->ce = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1;
    for (int j = 0; out->grad_f && j < N; j++) out->grad_f[j] = r < 0 ? -d->a[worst][j] : d->a[worst][j];
    for (int j = 0; out->grad_ce && j < N; j++) out->grad_ce[j] = 2 * x[j];
    d->gradients += out->grad_f != NULL;
    return LT_OK;
}

int main(void)
{
    fit d = { .values = 0 };
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < N; j++) d.a[i][j] = cos(1 + i * (j + 2));
        d.b[i] = sin(i);
    }
    lt_problem *p = NULL;
    lt_multistart *m = NULL;
    lt_check_result check = { .size = sizeof check };
    lt_solve_options opt = lt_solve_defaults();
    opt.stationarity_tol = 1e-7;
    opt.seed = 1;
    lt_status status = lt_problem_from_function(N, 0, 1, evaluate, &d, &p);
    if (!status) status = lt_problem_check(p, (double[]){ 0.5, -0.3, 0.8 }, 0, N, &check);
    if (!status) printf("gradients differ from differences by %.1e at most: %s\n", check.worst, check.passed ? "right" : "wrong");
    if (!status) status = lt_solve_multistart(p, &opt, 8, 1, &m);
    for (int64_t i = 0; !status && i < m->n_starts; i++)
        if (m->solution[i]) printf("start %lld: f = %.9f, code %d\n", (long long)m->start[i], m->solution[i]->best.f, m->solution[i]->termination_code);
    if (!status) printf("%lld values, %lld gradients\n", (long long)d.values, (long long)d.gradients);
    if (!status && (!check.passed || !m->solution[0]->best.present || d.gradients >= d.values)) status = LT_ERR_NUMERIC;
    if (status) fprintf(stderr, "%s\n", lt_error_text());
    lt_multistart_destroy(m);
    lt_problem_destroy(p);
    return status ? 1 : 0;
}
