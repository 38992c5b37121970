/* Steering: a direction that makes enough progress towards feasibility, by lowering mu where the
   dual QP at the current mu does not. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "trace/trace.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct steer {
    lt_run *r;
    const double *c;        /* constraint values, equalities first */
    const double *WG;       /* W grad f, then W C; without a weight the gradients themselves */
    bool    weighted;
    int64_t m;
    const double *d;        /* the direction formed last, where bounds are rows */
    lt_combination  sum;            /* what the direction formed last is made of */
    double  violation, slack;
    double  mu;             /* of the direction formed last */
    bool    reference;      /* it will not be taken */
} steer;

static void form_matrix(const steer *s)
{
    lt_run *r = s->r;
    lt_steering *w = &r->steering;
    int64_t n = r->n, m = s->m;
    double *Q = r->bounds.rows ? r->bounds.base : w->sub.Q;
    if (!m) return;
    lt_span span = lt_span_begin("gram");
    if (r->rows.on) {
        lt_rows_begin(r, s->weighted, s->WG, w->u);
        lt_span_end(span);
        return;
    }
    lt_foresee_steering(r, s->WG);
    if (!s->weighted || !lt_products_current_gram(r, Q)) {
        const double **column = r->products.from;
        for (int64_t j = 0; j < m; j++) column[j] = s->WG + (1 + j) * n;
        lt_products_rows(r, 1, 0, m, column, Q);
    }
    if (!r->bounds.rows) lt_subproblem_set(&w->sub, m, Q, m, s->c);
    if (!s->weighted || !lt_products_carried(r, 1, 1, NULL, w->Cd)) lt_products_dots(r, 1, &(lt_combination){ 1, (const double[]){ 1 }, &s->WG, s->WG }, w->Cd);
    memcpy(w->u, w->Cd + 1, (size_t)m * sizeof *w->u);
    lt_span_end(span);
}

static void describe(const steer *s)
{
    lt_subproblem *sub = &s->r->steering.sub;
    sub->members = false;
    if (s->r->rows.on) return; /* theirs is another program */
    sub->n = lt_vectors_reads(&s->r->vectors) ? s->r->n : 0;
    for (int64_t i = 0; i < s->m; i++) {
        sub->lower[i] = i < s->r->q ? -1 : 0;
        sub->upper[i] = 1;
        sub->gradient[i] = s->r->cur->grads + (1 + i) * s->r->n;
    }
}

/* The multipliers of the last program are those of the direction at hand. */
void lt_steering_take(lt_run *r)
{
    lt_steering *w = &r->steering;
    memcpy(w->multiplier, w->sub.y, (size_t)(r->q + r->p) * sizeof *w->multiplier);
    if (w->pull) memcpy(w->pull, w->pull_tried, (size_t)r->n * sizeof *w->pull);
}

/* With bounds as rows; multipliers of these are not bounded. */
static bool boxed_direction(steer *s, double mu, double *d)
{
    lt_run *r = s->r;
    describe(s);
    for (int64_t i = 0; i < s->m; i++) s->r->steering.of[i] = s->WG + (1 + i) * r->n, r->steering.sub.linear[i] = mu * r->steering.u[i] - s->c[i];
    const lt_boxed q = { .m = s->m, .Q = r->bounds.base, .stride = s->m, .weighted = s->weighted, .HG = r->steering.of, .c = -mu, .a = s->WG };
    s->d = d;
    s->mu = mu;
    if (!lt_boxed_solve(r, &r->steering.sub, &q, 0, d, r->steering.pull_tried)) return false;
    if (!s->reference) lt_steering_take(r);
    return true;
}

static bool sparse_direction(steer *s, double mu, double *d)
{
    lt_run *r = s->r;
    lt_steering *w = &r->steering;
    if (!lt_rows_direction(r, s->weighted, mu, s->c, w->u, d)) return false;
    if (!s->reference) lt_rows_keep_multipliers(r);
    s->d = d;
    s->mu = mu;
    return true;
}

/* d(mu) = -mu W grad f - WC y with y the answer of the dual QP. */
static bool direction(steer *s, double mu, double *d)
{
    lt_run *r = s->r;
    lt_steering *w = &r->steering;
    if (r->rows.on) return sparse_direction(s, mu, d);
    for (int64_t i = 0; i < s->m; i++) w->sub.linear[i] = mu * w->u[i] - s->c[i];
    if (r->bounds.rows) return boxed_direction(s, mu, d);
    bool warm = w->warm && r->opt.debug->qp_warm_start;
    if (!lt_subproblem_solve(&w->sub, 0, warm ? w->sub.y : NULL)) return false;
    w->warm = true;
    if (!s->reference) lt_steering_take(r);
    s->sum = (lt_combination){ .c = w->factor, .a = w->of, .whole = d };
    for (int64_t j = 0; j <= s->m; j++) {
        const double y = j ? w->sub.y[j - 1] : mu;
        if (j && y == 0) continue;
        w->factor[s->sum.m] = -y;
        w->of[s->sum.m++] = s->WG + j * r->n;
    }
    lt_vectors_combine(&r->vectors, s->sum.m, s->sum.c, s->sum.a, d);
    s->mu = mu;
    return true;
}

/* Gradients of the constraints times the direction formed last. */
static void model(const steer *s, double *Cd)
{
    lt_run *r = s->r;
    if (r->rows.on) {
        lt_rows_dots(r, r->cur, s->d, Cd + 1);
        return;
    }
    if (r->bounds.rows) {
        for (int64_t j = 1; j < r->k; j++) Cd[j] = lt_vectors_dot(&r->vectors, r->cur->grads + j * r->n, s->d);
        return;
    }
    if (!s->weighted || !lt_products_carried(r, 1, s->mu, r->steering.sub.y, Cd)) {
        lt_products_dots(r, 1, &s->sum, Cd);
        return;
    }
    for (int64_t j = 1; j < r->k; j++) Cd[j] = -Cd[j];
}

/* Decrease of the violation that the linear model promises along d. */
static double reduction(const steer *s)
{
    const lt_run *r = s->r;
    double sum = 0, most_eq = 0, most_ineq = 0, *Cd = r->steering.Cd;
    model(s, Cd);
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

/* Of the functions as they are scaled. */
static double largest_violation(const lt_run *r)
{
    double most = 0;
    if (!r->oracle.hidden) return r->cur->tv;
    for (int64_t j = 0; j < r->q + r->p; j++) most = fmax(most, j < r->q ? fabs(r->cur->c[j]) : r->cur->c[j]);
    return most;
}

static bool strictly_feasible(const lt_run *r)
{
    double margin = r->opt.steering_margin;
    if (r->q || isinf(margin)) return false;
    for (int64_t j = 0; j < r->p; j++)
        if (!(r->cur->c[j] < -margin)) return false;
    return true;
}

static bool procedure(steer *s, double *d, double *mu)
{
    lt_run *r = s->r;
    double share = r->opt.steering_share;
    if (!direction(s, *mu, d)) return false;
    double got = reduction(s);
    if (got >= share * s->violation - s->slack || strictly_feasible(r)) return true;
    double *reference = lt_run_work(r);
    s->reference = true;
    if (!direction(s, 0, reference)) return false;
    s->reference = false;
    double wanted = share * reduction(s) - s->slack;
    /* Lowers mu until the decrease suffices: where the penalty function is unbounded below, a mu that is too large does harm (decision 236). */
    for (int64_t i = 0; got < wanted && i < r->opt.steering_reductions + r->opt.steering_halvings; i++) {
        *mu *= i < r->opt.steering_reductions ? r->opt.steering_factor : 0.5;
        r->penalty.n_reductions++;
        if (!direction(s, *mu, d)) return false;
        got = reduction(s);
    }
    return true;
}

bool lt_steer(lt_run *r, bool identity, double *d, double *mu)
{
    const lt_point *x = r->cur;
    steer s = { .r = r, .m = r->q + r->p, .c = x->c, .weighted = !identity };
    s.violation = r->opt.steering_l1_model ? x->tv_l1 : largest_violation(r);
    s.slack = sqrt(DBL_EPSILON) * fmax(s.violation, 1);
    if (!r->opt.double_precision) s.slack = fmax(s.slack, 4 * (double)FLT_EPSILON * s.violation);
    s.WG = identity ? x->grads : lt_products_current(r);
    describe(&s);
    form_matrix(&s);
    return procedure(&s, d, mu);
}

bool lt_steer_corrected(lt_run *r, double *d)
{
    lt_steering *w = &r->steering;
    steer s = { .r = r, .m = r->q + r->p, .c = w->shifted, .weighted = true, .reference = true };
    const double *const made[] = { r->d };
    if (r->rows.on) lt_rows_dots(r, r->cur, r->d, w->Cd + 1);
    else lt_products_dots(r, 1, &(lt_combination){ 1, (const double[]){ 1 }, made, r->d }, w->Cd);
    for (int64_t j = 0; j < s.m; j++) w->shifted[j] = r->trial->c[j] - w->Cd[1 + j];
    s.WG = lt_products_current(r);
    describe(&s);
    form_matrix(&s);
    return direction(&s, r->penalty.mu, d);
}
