/* The KKT residual of an iterate: gradients of f and of the constraints combined with multipliers, the weights of f summing to one over
   the samples near it. Neither mu nor H takes part, so it does not shrink with them (decision 185). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

#define ENOUGH 1e-6        /* a residual of the point alone that needs no samples */
enum { BALANCE_ROUNDS = 12 };
#define NEAR_ENOUGH 0.1    /* an inequality this far from zero, by its linear model, cannot be part of a small residual */

/* ---- Memory ------------------------------------------------------------------------------------------- */
lt_status lt_kkt_columns_create(int64_t capacity, lt_kkt_columns *c)
{
    *c = (lt_kkt_columns){ .capacity = capacity };
    c->column = lt_malloc((size_t)capacity * sizeof *c->column);
    c->Q = lt_malloc((size_t)(capacity * (capacity + 1)) * sizeof *c->Q);
    if (c->Q) c->y = c->Q + capacity * capacity;
    return c->column && c->Q ? LT_OK : LT_ERR_MEMORY;
}

void lt_kkt_columns_release(lt_kkt_columns *c)
{
    lt_free(c->column);
    lt_free(c->Q);
    *c = (lt_kkt_columns){ 0 };
}

/* Room for the point alone and some samples; where there are more constraints than columns the first that matter are taken. */
lt_status lt_certification_create(lt_run *r)
{
    lt_certification *c = &r->certification;
    const size_t constraints = (size_t)LT_MAX(r->q + r->p, 1) * sizeof(double);
    c->iter = -1;
    c->norm = lt_arena_alloc(&r->arena, (size_t)r->k * sizeof *c->norm);
    c->candidate = lt_arena_alloc(&r->arena, constraints);
    c->now.multiplier = lt_arena_alloc(&r->arena, constraints);
    c->met.multiplier = lt_arena_alloc(&r->arena, constraints);
    if (lt_bounded(&r->bounds)) {
        double *bound = lt_arena_alloc(&r->arena, 3 * (size_t)r->n * sizeof *bound);
        if (!bound) return LT_ERR_MEMORY;
        memset(bound, 0, 3 * (size_t)r->n * sizeof *bound);
        c->now.bound = bound;
        c->met.bound = bound + r->n;
        c->bound = bound + 2 * r->n;
    }
    if (!c->norm || !c->candidate || !c->now.multiplier || !c->met.multiplier) return LT_ERR_MEMORY;
    memset(c->now.multiplier, 0, constraints);
    return lt_kkt_columns_create(LT_MIN(LT_KKT_COLUMNS_MAX, LT_MAX(r->k, LT_MIN(256, r->opt.max_samples * r->k))), &c->few);
}

void lt_certification_release(lt_run *r) { lt_kkt_columns_release(&r->certification.few); }

void lt_kkt_copy(const lt_run *r, const lt_kkt *from, lt_kkt *to)
{
    double *multiplier = to->multiplier, *bound = to->bound;
    memcpy(multiplier, from->multiplier, (size_t)(r->q + r->p) * sizeof *multiplier);
    if (bound) memcpy(bound, from->bound, (size_t)r->n * sizeof *bound);
    *to = *from;
    to->multiplier = multiplier;
    to->bound = bound;
}

/* ---- Columns -------------------------------------------------------------------------------------------- */
static bool takes_part(const lt_run *r, int64_t j)
{
    const double norm = r->certification.norm[j];
    if (!j) return isfinite(norm);
    if (!(norm > 0) || isinf(norm)) return false;
    return j <= r->q || -r->cur->c[j - 1] <= NEAR_ENOUGH * norm;
}

static void add_column(lt_kkt_columns *c, int64_t gradient, const double *at, double norm)
{
    if (!isfinite(norm) || (gradient && norm == 0) || c->m == c->capacity) return;
    c->y[c->m] = 0;
    c->column[c->m++] = (lt_kkt_column){ gradient, at, norm };
}

void lt_kkt_begin(const lt_run *r, lt_kkt_columns *c, const double *grads)
{
    const double *norm = r->certification.norm;
    c->m = c->n_known = 0;
    c->n_samples = 1;
    c->size_f = norm[0] > 0 && isfinite(norm[0]) ? norm[0] : 1;
    for (int64_t j = 0; j < r->k; j++)
        if (takes_part(r, j)) add_column(c, j, grads + j * r->n, norm[j]);
    if (c->m) c->y[0] = 1;
}

/* Gradients that are the same in all samples are among the columns already. */
bool lt_kkt_add(const lt_run *r, lt_kkt_columns *c, const double *grads)
{
    if (c->m + r->k > c->capacity) return false;
    for (int64_t j = 0; j < r->k; j++)
        if (takes_part(r, j) && !r->products.columns.is_shared[j]) add_column(c, j, grads + j * r->n, lt_vectors_norm2(c->vectors, grads + j * r->n));
    c->n_samples++;
    return true;
}

/* Otherwise the samples are near another point. */
static bool cur_is_sample(const lt_run *r) { return r->stat.attempts > 0; }

/* The newest sample is cur itself. The oldest of a full cache may have left, and be overwritten by the next evaluation. */
bool lt_kkt_is_sample(const lt_run *r, int64_t slot)
{
    const lt_cache *s = &r->cache;
    return cur_is_sample(r) && slot != s->newest && (s->newest - slot + s->capacity) % s->capacity < s->capacity - 1;
}

static void add_samples(const lt_run *r, lt_kkt_columns *c)
{
    const lt_cache *s = &r->cache;
    for (int64_t i = s->n_near - 1; i >= 0; i--)
        if (lt_kkt_is_sample(r, s->near_[i]) && !lt_kkt_add(r, c, s->grads[s->near_[i]])) return;
}

/* ---- The QP -------------------------------------------------------------------------------------------- */
/* Gradients of f have one scale, since their weights sum to one; those of constraints have length one. */
static double scale_of(const lt_kkt_columns *c, int64_t i) { return c->column[i].gradient ? c->column[i].norm : c->size_f; }

/* |Gy|^2 and the squares of multiplier times value, of inequalities: samples of one inequality have one multiplier, their sum. */
static double product(const lt_run *r, const lt_kkt_columns *c, const double *a, const double *b)
{
    double sum = 0;
    if (!lt_bounded(&r->bounds)) return lt_vectors_dot(c->vectors, a, b);
    for (int64_t i = 0; i < r->n; i++) sum += r->bounds.held[i] ? 0 : a[i] * b[i];
    return sum;
}

static void fill_matrix(const lt_run *r, lt_kkt_columns *c)
{
    for (int64_t i = c->n_known; i < c->m; i++)
        for (int64_t j = 0; j <= i; j++) {
            double v = product(r, c, c->column[i].at, c->column[j].at);
            const int64_t g = c->column[i].gradient;
            if (g > r->q && g == c->column[j].gradient) v += r->cur->c[g - 1] * r->cur->c[g - 1];
            c->Q[i * c->capacity + j] = c->Q[j * c->capacity + i] = v / (scale_of(c, i) * scale_of(c, j));
        }
    c->n_known = c->m;
}

/* All samples of an equality have multipliers of one sign, that of the point alone: differences of its gradients, times something large, would
   balance anything. 0: either. */
static double sign_of(const lt_run *r, const lt_kkt_columns *c, int64_t gradient)
{
    const lt_kkt *alone = &r->certification.now;
    if (c->n_samples == 1 || !alone->known || r->products.columns.is_shared[gradient]) return 0;
    return alone->multiplier[gradient - 1] < 0 ? -1 : 1;
}

static void set_bounds(const lt_run *r, const lt_kkt_columns *c, lt_subproblem *sub)
{
    for (int64_t i = 0; i < c->m; i++) {
        const int64_t g = c->column[i].gradient;
        const double sign = g >= 1 && g <= r->q ? sign_of(r, c, g) : 1;
        sub->gradient[i] = c->column[i].at;
        sub->member[i] = g == 0;
        sub->linear[i] = 0;
        sub->lower[i] = sign <= 0 ? -INFINITY : 0;
        sub->upper[i] = !g ? 1 : sign < 0 ? 0 : INFINITY;
    }
}

/* An inaccurate answer is used as well: the residual it leads to is measured afterwards. */
static bool solve(lt_run *r, lt_kkt_columns *c)
{
    lt_subproblem *sub = &r->stat.sub;
    lt_qp_info info = { .size = sizeof info };
    if (c->m == 1) {
        c->y[0] = 1;
        return c->column[0].gradient == 0;
    }
    if (lt_subproblem_reserve(sub, c->m, &r->opt)) return false;
    set_bounds(r, c, sub);
    if (c->vectors == &r->vectors) lt_foresee_gram(r, c->m, sub->gradient);
    fill_matrix(r, c);
    if (lt_qp_set_matrix(sub->qp, c->m, c->Q, c->capacity)) return false;
    const lt_qp_problem problem = { .c = sub->linear, .lower = sub->lower, .upper = sub->upper, .members = sub->member, .mu = 1, .start = c->y };
    return lt_qp_solve(sub->qp, &problem, c->y, &info) == LT_OK && info.status != LT_QP_FAILED;
}

/* ---- What an answer is worth ------------------------------------------------------------------------------ */
static void combine(lt_run *r, const lt_kkt_columns *c, double *sum, lt_kkt *out)
{
    double *lambda = r->certification.candidate, weight = 0;
    memset(lambda, 0, (size_t)(r->q + r->p) * sizeof *lambda);
    lt_vectors_sum(c->vectors, sum);
    for (int64_t i = 0; i < c->m; i++) {
        const double factor = c->y[i] * c->size_f / scale_of(c, i); /* of the gradient itself, with f's weights summing to one */
        if (factor == 0) continue;
        lt_vectors_add(c->vectors, factor, c->column[i].at, sum);
        weight += fabs(factor) * c->column[i].norm;
        if (c->column[i].gradient) lambda[c->column[i].gradient - 1] += factor;
    }
    lt_vectors_sum_end(c->vectors);
    out->weight = weight;
    if (lt_bounded(&r->bounds)) return;
    out->stationarity = lt_vectors_norm2(c->vectors, sum);
}

/* Bounds balance what presses against them. Which they are is found by solving again without the entries that the last combination pressed there. */
static bool balance(lt_run *r, lt_kkt_columns *c, double *sum, lt_kkt *out)
{
    lt_certification *k = &r->certification;
    for (int round = 0; round < BALANCE_ROUNDS; round++) {
        if (!solve(r, c)) return false;
        combine(r, c, sum, out);
        if (!lt_bounds_hold(r, sum)) break;
        c->n_known = 0;
    }
    out->at_bounds = lt_bounds_balance(r, sum, k->bound);
    out->stationarity = lt_vectors_norm2(c->vectors, sum);
    out->weight += lt_vectors_norm2(c->vectors, k->bound);
    return true;
}

static double complementarity(const lt_run *r, const double *lambda)
{
    double sum = 0;
    for (int64_t j = r->q; j < r->q + r->p; j++) sum += lambda[j] * r->cur->c[j] * lambda[j] * r->cur->c[j];
    return sqrt(sum);
}

/* Takes the scales of functions off. */
void lt_kkt_keep(lt_run *r, lt_kkt *it)
{
    lt_kkt *best = &r->certification.now;
    double *lambda = r->certification.candidate;
    const double *scale = r->oracle.scale;
    it->complementarity = hypot(complementarity(r, lambda), it->at_bounds) / scale[0];
    it->stationarity /= scale[0];
    it->weight /= scale[0];
    it->residual = hypot(it->stationarity, it->complementarity) / fmax(1, it->weight);
    if (isnan(it->residual) || (best->known && best->residual <= it->residual)) return;
    for (int64_t j = 0; j < r->q + r->p; j++) lambda[j] *= scale[1 + j] / scale[0];
    it->multiplier = lambda;
    it->bound = r->certification.bound;
    for (int64_t i = 0; it->bound && i < r->n; i++) it->bound[i] /= scale[0];
    lt_kkt_copy(r, it, best);
}

double lt_kkt_solve(lt_run *r, lt_kkt_columns *c, double *v)
{
    lt_kkt it = { .known = true, .n_samples = c->n_samples };
    if (!c->m) return NAN;
    if (lt_bounded(&r->bounds)) {
        if (!balance(r, c, v, &it)) return NAN;
    } else {
        if (!solve(r, c)) return NAN;
        combine(r, c, v, &it);
    }
    const double length = it.stationarity;
    lt_kkt_keep(r, &it);
    return length;
}

/* A user who asks for less accuracy than the default of stationarity_tol gets a certificate of that accuracy. */
double lt_kkt_tolerance(const lt_run *r) { return fmax(r->opt.kkt_tol, r->opt.stationarity_tol); }

bool lt_certified(const lt_run *r)
{
    const lt_kkt *k = &r->certification.now;
    return k->known && k->residual <= lt_kkt_tolerance(r);
}

lt_status lt_certify(lt_run *r)
{
    lt_certification *c = &r->certification;
    if (c->iter == r->iter && c->now.known) return LT_OK;
    lt_span span = lt_span_begin("certificate");
    c->iter = r->iter;
    c->now.known = false;
    if (r->rows.on) {
        lt_rows_certify(r);
        lt_span_end(span);
        return LT_OK;
    }
    for (int64_t j = 0; j < r->k; j++) c->norm[j] = lt_vectors_norm2(&r->vectors, r->cur->grads + j * r->n);
    c->few.vectors = &r->vectors;
    if (lt_bounded(&r->bounds)) (void)lt_bounds_hold(r, r->cur->grad_phi);
    lt_kkt_begin(r, &c->few, r->cur->grads);
    (void)lt_kkt_solve(r, &c->few, lt_run_work(r));
    if (cur_is_sample(r) && r->cache.n_near > 1 && !(c->now.known && c->now.residual <= ENOUGH)) {
        add_samples(r, &c->few);
        (void)lt_kkt_solve(r, &c->few, lt_run_work(r));
    }
    lt_span_end(span);
    return lt_vectors_failure(&r->vectors);
}
