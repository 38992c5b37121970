/* Steering: a direction that makes enough progress towards feasibility, by lowering mu where the
   dual QP at the current mu does not. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "trace/trace.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct steer {
    lt_run *r;
    const double *c;        /* constraint values, equalities first */
    const double *a, *WC;   /* W grad f and W C */
    int64_t m;
    double  violation, slack;
} steer;

static void form_matrix(const steer *s, bool identity)
{
    lt_run *r = s->r;
    lt_steering_work *w = &r->steering;
    int64_t n = r->n, m = s->m;
    double *Q = w->sub.Q;
    lt_span span = lt_span_begin("gram");
    for (int64_t j = 1; r->vectors && !lt_products_carried(r, r->k, 0, NULL, NULL) && j < r->k; j++)
        for (int64_t i = 0; i < r->k; i++) lt_space_expect(r->vectors, r->cur->grads + j * n, s->a + i * n);
    if (identity || !lt_products_current_gram(r, Q)) {
        const double **column = r->products.from;
        for (int64_t j = 0; j < m; j++) column[j] = s->WC + j * n;
        lt_products_rows(r, 1, 0, m, column, Q);
    }
    lt_subproblem_set(&w->sub, m, Q, m, s->c);
    if (identity || !lt_products_carried(r, 1, 1, NULL, w->Cd)) lt_products_dots(r, 1, s->a, w->Cd);
    memcpy(w->u, w->Cd + 1, (size_t)m * sizeof *w->u);
    lt_span_end(span);
}

static void describe(const steer *s)
{
    lt_subproblem *sub = &s->r->steering.sub;
    sub->members = false;
    sub->n = s->r->vectors ? 0 : s->r->n;
    for (int64_t i = 0; i < s->m; i++) {
        sub->lower[i] = i < s->r->q ? -1 : 0;
        sub->upper[i] = 1;
        sub->gradient[i] = s->r->cur->grads + (1 + i) * s->r->n;
    }
}

/* d(mu) = -mu a - WC y with y the answer of the dual QP. */
static bool direction(const steer *s, double mu, double *d)
{
    lt_run *r = s->r;
    lt_steering_work *w = &r->steering;
    for (int64_t i = 0; i < s->m; i++) w->sub.linear[i] = mu * w->u[i] - s->c[i];
    bool warm = w->warm && r->opt.qp_warm_start;
    if (!lt_subproblem_solve(&w->sub, 0, warm ? w->sub.y : NULL)) return false;
    w->warm = true;
    w->mu = mu;
    if (r->vectors) lt_vectors_sum_begin(r->vectors, d), lt_vectors_sum_add(r->vectors, -mu, s->a);
    else lt_space_scaled(NULL, r->n, -mu, s->a, d);
    for (int64_t j = 0; j < s->m; j++)
        if (w->sub.y[j] != 0) lt_space_add(r->vectors, r->n, -w->sub.y[j], s->WC + j * r->n, d);
    lt_space_sum_end(r->vectors);
    return true;
}

/* Gradients of the constraints times the direction formed last: on a device from numbers that are known, without a wait. */
static void model(const steer *s, const double *d, double *Cd)
{
    lt_run *r = s->r;
    const lt_steering_work *w = &r->steering;
    const bool weighted = s->a != r->cur->grads;
    if (!r->vectors) {
        lt_products_dots(r, 1, d, Cd);
        return;
    }
    if (!weighted || !lt_products_carried(r, 1, w->mu, w->sub.y, Cd))
        for (int64_t j = 1; j < r->k; j++) {
            const double *g = r->cur->grads + j * r->n;
            Cd[j] = w->mu * lt_space_dot(r->vectors, r->n, g, s->a);
            for (int64_t i = 0; i < s->m; i++) Cd[j] += w->sub.y[i] * lt_space_dot(r->vectors, r->n, g, s->WC + i * r->n);
        }
    for (int64_t j = 1; j < r->k; j++) Cd[j] = -Cd[j];
}

/* Decrease of the violation that the linear model promises along d. */
static double reduction(const steer *s, const double *d)
{
    const lt_run *r = s->r;
    double sum = 0, most_eq = 0, most_ineq = 0, *Cd = r->steering.Cd;
    model(s, d, Cd);
    for (int64_t j = 0; j < s->m; j++) {
        double v = s->c[j] + Cd[1 + j];
        v = j < r->q ? fabs(v) : fmax(v, 0);
        sum += v;
        if (j < r->q) most_eq = fmax(most_eq, v);
        else most_ineq = fmax(most_ineq, v);
    }
    if (r->opt.steering_l1_model) return s->violation - sum;
    return s->violation - (r->opt.compat ? most_ineq + most_eq : fmax(most_ineq, most_eq));
}

static bool strictly_feasible(const lt_run *r)
{
    double margin = r->opt.steering_ineq_margin;
    if (r->q || isinf(margin)) return false;
    for (int64_t j = 0; j < r->p; j++)
        if (!(r->cur->c[j] < -margin)) return false;
    return true;
}

static bool procedure(const steer *s, double *d, double *mu)
{
    lt_run *r = s->r;
    double share = r->opt.steering_c_viol;
    if (!direction(s, *mu, d)) return false;
    double got = reduction(s, d);
    if (got >= share * s->violation - s->slack || strictly_feasible(r)) return true;
    double *reference = lt_run_work(r);
    if (!direction(s, 0, reference)) return false;
    double wanted = share * reduction(s, reference) - s->slack;
    for (int64_t i = 0; got < wanted && i < r->opt.steering_maxit; i++) {
        *mu *= r->opt.steering_c_mu;
        r->n_mu_reductions++;
        if (!direction(s, *mu, d)) return false;
        got = reduction(s, d);
    }
    return true;
}

bool lt_steer(lt_run *r, bool identity, double *d, double *mu)
{
    int64_t n = r->n;
    const lt_point *x = r->cur;
    steer s = { .r = r, .m = r->q + r->p, .c = x->c };
    s.violation = r->opt.steering_l1_model ? x->tv_l1 : x->tv;
    s.slack = sqrt(DBL_EPSILON) * fmax(s.violation, 1);
    if (!r->opt.double_precision) s.slack = fmax(s.slack, 4 * (double)FLT_EPSILON * s.violation);
    const double *WG = x->grads;
    if (!identity) WG = lt_products_current(r);
    s.a = WG;
    s.WC = WG + n;
    describe(&s);
    form_matrix(&s, identity);
    return procedure(&s, d, mu);
}
