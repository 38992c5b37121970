/* Runs with sparse gradients of constraints: directions, the measure and the certificate are programs over the rows at the point itself; there are no
   samples (decision 330). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/problem/compressed.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* ---- Whether ---------------------------------------------------------------------------------------------- */
/* What of the options needs dense gradients; NULL: nothing. */
static const char *obstacle(const lt_solve_options *o)
{
    if (o->compat) return "compat=1";
    if (o->device || (strcmp(o->device_name, "cpu") && strcmp(o->device_name, "auto"))) return "a device";
    if (o->H0 || o->H0_file || o->H0_diagonal) return "an H0";
    if (o->resume || o->checkpoint) return "a checkpoint";
    if (isfinite(o->condition_limit)) return "condition_limit";
    if (!o->double_precision || o->mixed_precision) return "less than double precision";
    return NULL;
}

static bool is_large(const lt_problem *p) { return p->p + p->q > 0 && p->n > LT_SPARSE_FROM / (p->p + p->q); }

/* Few entries are a few in a hundred: otherwise dense products take no longer. */
static bool is_sparse(const lt_problem *p)
{
    const lt_csr *a = &p->compressed->a;
    return a->start[a->m] <= a->m * a->n / 20;
}

lt_status lt_rows_choose(lt_run *r, lt_problem **problem, lt_solve_options *opt)
{
    const bool asked = opt->jacobian == LT_JACOBIAN_SPARSE;
    const char *why = obstacle(opt);
    lt_problem *sparse;
    r->rows = (lt_sparse_rows){ .on = false };
    if (opt->jacobian == LT_JACOBIAN_DENSE || (!asked && (why || !is_large(*problem)))) return LT_OK;
    if (why) return LT_FAIL(LT_ERR_UNSUPPORTED, "option 'jacobian' is sparse: not with %s", why);
    lt_status s = lt_problem_sparse(*problem, &sparse);
    if (s == LT_ERR_UNSUPPORTED && !asked) return LT_OK;
    if (s == LT_ERR_UNSUPPORTED) {
        char text[240];
        snprintf(text, sizeof text, "%s", lt_error_text());
        return LT_FAIL(s, "option 'jacobian' is sparse: %s", text);
    }
    LT_TRY(s);
    if (!asked && !is_sparse(sparse)) return LT_OK;
    *problem = sparse;
    r->rows.on = true;
    if (!opt->lbfgs_pairs) opt->lbfgs_pairs = LT_SPARSE_PAIRS;
    opt->max_samples = 1;
    opt->hessian_on = opt->vectors_on = LT_HESSIAN_HOST;
    return LT_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------------- */
static int64_t count_bounds(const lt_run *r) { return lt_bounded(&r->bounds) ? lt_bounds_count(r) : 0; }

static void add_bound(lt_sparse_rows *s, int64_t i, double sign)
{
    const int64_t row = s->whole.m++, e = s->whole.start[row];
    s->whole.column[e] = (int32_t)i;
    s->whole.start[row + 1] = e + 1;
    s->value[e] = sign;
    s->bound[s->n_bounds++] = (int32_t)i;
}

static lt_status create_whole(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    const lt_csr *a = s->a;
    const int64_t bounds = count_bounds(r), entries = a->start[a->m] + bounds;
    s->whole = (lt_csr){ a->m, a->n, lt_malloc((size_t)(a->m + bounds + 1) * sizeof *a->start), lt_malloc((size_t)LT_MAX(entries, 1) * sizeof *a->column) };
    s->bound = lt_malloc((size_t)LT_MAX(bounds, 1) * sizeof *s->bound);
    s->value = lt_malloc((size_t)LT_MAX(entries, 1) * sizeof *s->value);
    if (!s->whole.start || !s->whole.column || !s->bound || !s->value) return LT_ERR_MEMORY;
    memcpy(s->whole.start, a->start, (size_t)(a->m + 1) * sizeof *a->start);
    memcpy(s->whole.column, a->column, (size_t)a->start[a->m] * sizeof *a->column);
    for (int64_t i = 0; bounds && i < r->n; i++) {
        if (isfinite(r->bounds.lower[i])) add_bound(s, i, -1);
        if (isfinite(r->bounds.upper[i])) add_bound(s, i, 1);
    }
    return LT_OK;
}

lt_status lt_rows_create(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    if (!s->on) return LT_OK;
    s->a = &r->problem->compressed->a;
    LT_TRY(create_whole(r));
    LT_TRY(lt_sparse_program_create(&s->whole, r->hessian.capacity, &s->program));
    const size_t m = (size_t)LT_MAX(s->whole.m, 1), n = (size_t)r->n;
    s->memory = lt_calloc(10 * m + 2 * n, sizeof *s->memory);
    if (!s->memory) return LT_ERR_MEMORY;
    double **part[] = { &s->c, &s->u, &s->linear, &s->lower, &s->upper, &s->y, &s->square, &s->scale, &s->kkt, &s->multiplier };
    for (size_t i = 0; i < LT_LEN(part); i++) *part[i] = s->memory + i * m;
    s->sum = s->memory + 10 * m;
    s->d = s->sum + n;
    for (int i = 0; i < 3; i++) r->store[i].rows = lt_arena_alloc(&r->arena, (size_t)LT_MAX(s->a->start[s->a->m], 1) * sizeof(double));
    r->steering.sub.y = s->y;
    return r->store[0].rows && r->store[1].rows && r->store[2].rows ? LT_OK : LT_ERR_MEMORY;
}

void lt_rows_release(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    lt_sparse_program_release(&s->program);
    lt_csr_release(&s->whole);
    lt_free(s->bound);
    lt_free(s->value);
    lt_free(s->memory);
    *s = (lt_sparse_rows){ .on = false };
}

/* ---- Products ------------------------------------------------------------------------------------------------- */
void lt_rows_add(const lt_run *r, const lt_point *p, const double *c, double *y) { lt_csr_add(r->rows.a, p->rows, c, y); }
void lt_rows_dots(const lt_run *r, const lt_point *p, const double *x, double *out) { lt_csr_apply(r->rows.a, p->rows, x, out); }

double lt_rows_norm(const lt_run *r, const lt_point *p, int64_t row)
{
    const lt_csr *a = r->rows.a;
    return lt_vec_norm2(a->start[row + 1] - a->start[row], p->rows + a->start[row]);
}

void lt_rows_scale(const lt_run *r, lt_point *p, const double *scale)
{
    const lt_csr *a = r->rows.a;
    for (int64_t j = 0; j < a->m; j++)
        for (int64_t e = a->start[j]; e < a->start[j + 1]; e++) p->rows[e] *= scale[1 + j];
}

int64_t lt_rows_not_finite(const lt_run *r, const lt_point *p, int64_t *entry)
{
    const lt_csr *a = r->rows.a;
    for (int64_t j = 0; j < a->m; j++)
        for (int64_t e = a->start[j]; e < a->start[j + 1]; e++)
            if (!isfinite(p->rows[e])) {
                *entry = e;
                return j;
            }
    return -1;
}

/* ---- Directions --------------------------------------------------------------------------------------------------- */
/* Gradients at cur, those of bounds behind them. */
static void take_values(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    memcpy(s->value, r->cur->rows, (size_t)s->a->start[s->a->m] * sizeof *s->value);
    for (int64_t k = 0; k < s->n_bounds; k++) { /* how far outside of the bound x is */
        const int64_t i = s->bound[k];
        const bool upper = s->value[s->whole.start[s->a->m + k]] > 0;
        s->c[s->a->m + k] = upper ? r->cur->x[i] - r->bounds.upper[i] : r->bounds.lower[i] - r->cur->x[i];
    }
}

static void set_box(lt_sparse_rows *s, int64_t q)
{
    for (int64_t j = 0; j < s->whole.m; j++) {
        s->lower[j] = j < q ? -1 : 0;
        s->upper[j] = j < s->a->m ? 1 : (double)INFINITY;
    }
}

void lt_rows_begin(lt_run *r, bool weighted, const double *WG, double *u)
{
    lt_sparse_rows *s = &r->rows;
    take_values(r);
    set_box(s, r->q);
    lt_sparse_program_set(&s->program, s->value, NULL, weighted ? &r->hessian : NULL);
    lt_csr_apply(&s->whole, s->value, WG, s->u);
    memcpy(u, s->u, (size_t)s->a->m * sizeof *u);
}

static bool solve(lt_run *r, bool warm, double *y)
{
    lt_sparse_rows *s = &r->rows;
    lt_subproblem *sub = &r->steering.sub;
    const int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("qp_solve");
    const bool ok = lt_sparse_program_solve(&s->program, s->linear, s->lower, s->upper, warm && lt_debug_of(&r->opt)->qp_warm_start, y);
    lt_span_end(span);
    sub->n_solved++;
    sub->n_failed += !ok;
    sub->time_ns += lt_clock_ns() - begin;
    return ok;
}

/* sum = mu grad f + A'y, d = -W sum. */
static void form_direction(lt_run *r, bool weighted, double mu, double *d)
{
    lt_sparse_rows *s = &r->rows;
    lt_vectors_scaled(&r->vectors, mu, r->cur->grads, s->sum);
    lt_csr_add(&s->whole, s->value, s->y, s->sum);
    if (weighted) lt_hessian_apply(&r->hessian, s->sum, d);
    lt_vectors_scaled(&r->vectors, -1, weighted ? d : s->sum, d);
}

bool lt_rows_direction(lt_run *r, bool weighted, double mu, const double *c, const double *u, double *d)
{
    lt_sparse_rows *s = &r->rows;
    for (int64_t j = 0; j < s->whole.m; j++) s->linear[j] = mu * (j < s->a->m ? u[j] : s->u[j]) - (j < s->a->m ? c[j] : s->c[j]);
    if (!solve(r, r->steering.warm, s->y)) return false;
    r->steering.warm = true;
    form_direction(r, weighted, mu, d);
    return true;
}

void lt_rows_keep_multipliers(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    memcpy(s->multiplier, s->y, (size_t)s->whole.m * sizeof *s->y);
    memcpy(r->steering.multiplier, s->y, (size_t)s->a->m * sizeof *s->y);
}

void lt_rows_add_multipliers(const lt_run *r, const lt_point *p, double *out)
{
    const lt_sparse_rows *s = &r->rows;
    lt_rows_add(r, p, r->steering.multiplier, out);
    for (int64_t k = 0; k < s->n_bounds; k++) out[s->bound[k]] += s->multiplier[s->a->m + k] * s->value[s->whole.start[s->a->m + k]];
}

void lt_rows_measure(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    lt_stationarity *st = &r->stat;
    const lt_vectors *v = &r->vectors;
    double *d = st->vector ? st->vector : s->d;
    st->n_samples = 1;
    st->attempts = 0;            /* no sample stands for cur */
    r->products.slot = -1;
    lt_hessian_apply(&r->hessian, r->cur->grads, s->d);
    lt_rows_begin(r, true, s->d, r->steering.u);
    if (!lt_rows_direction(r, true, r->penalty.mu, r->cur->c, r->steering.u, d)) {
        lt_vectors_fill(v, INFINITY, d);
        st->value = st->unweighted = INFINITY;
        return;
    }
    st->unweighted = lt_vectors_norm2(v, s->sum);
    st->value = r->opt.stationarity_l2 ? lt_vectors_norm2(v, d) : lt_vectors_max_abs(v, d);
}

/* ---- The certificate -------------------------------------------------------------------------------------------------- */
#define NEAR_ENOUGH 0.1      /* an inequality this far from zero, by its linear model, cannot be part of a small residual */

/* Rows of length one: their lengths in `scale`, 0 for those that take no part. */
static void normalise(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    for (int64_t j = 0; j < s->whole.m; j++) {
        const int64_t from = s->whole.start[j], to = s->whole.start[j + 1];
        const double norm = lt_vec_norm2(to - from, s->value + from), c = j < s->a->m ? r->cur->c[j] : s->c[j];
        const bool part = norm > 0 && isfinite(norm) && (j < r->q || -c <= NEAR_ENOUGH * norm);
        s->scale[j] = part ? norm : 0;
        s->square[j] = part && j >= r->q ? (c / norm) * (c / norm) : 0; /* the cost of a multiplier times a value */
        s->lower[j] = part && j < r->q ? -INFINITY : 0;
        s->upper[j] = part ? INFINITY : 0;
        for (int64_t e = from; part && e < to; e++) s->value[e] /= norm;
    }
}

static void add_up(lt_run *r, lt_kkt *out)
{
    lt_sparse_rows *s = &r->rows;
    double *lambda = r->certification.candidate, *bound = r->certification.bound, near = 0;
    lt_vectors_copy(&r->vectors, 1, r->cur->grads, s->sum);
    lt_csr_add(&s->whole, s->value, s->kkt, s->sum);
    out->stationarity = lt_vectors_norm2(&r->vectors, s->sum);
    out->weight = lt_vectors_norm2(&r->vectors, r->cur->grads);
    for (int64_t i = 0; bound && i < r->n; i++) bound[i] = 0;
    for (int64_t j = 0; j < s->whole.m; j++) {
        const double y = s->scale[j] > 0 ? s->kkt[j] / s->scale[j] : 0;
        out->weight += fabs(y) * s->scale[j];
        if (j < s->a->m) lambda[j] = y;
        else {
            const int64_t k = j - s->a->m;
            bound[s->bound[k]] -= y * s->value[s->whole.start[j]]; /* lower minus upper */
            near += y * s->c[j] * y * s->c[j];
        }
    }
    out->at_bounds = sqrt(near);
}

void lt_rows_certify(lt_run *r)
{
    lt_sparse_rows *s = &r->rows;
    lt_kkt it = { .known = true, .n_samples = 1 };
    take_values(r);
    normalise(r);
    lt_sparse_program_set(&s->program, s->value, s->square, NULL);
    lt_csr_apply(&s->whole, s->value, r->cur->grads, s->linear);
    if (!solve(r, false, s->kkt)) return;
    add_up(r, &it);
    lt_kkt_keep(r, &it);
}
