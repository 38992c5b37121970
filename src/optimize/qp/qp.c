/* Quadratic programs: the workspace, its checks, and the order in which methods are tried.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "optimize/qp/internal.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

void lt_qp_defaults_into(lt_qp_options *out)
{
    LT_GIVE(out, &(lt_qp_options){ .size = sizeof(lt_qp_options), .tolerance = 1e-12, .interior_above = 300, .method = LT_QP_AUTO });
}

const char *lt_qp_status_name(lt_qp_status s)
{
    static const char *const names[] = { [LT_QP_OK] = "ok", [LT_QP_INACCURATE] = "inaccurate", [LT_QP_FAILED] = "failed" };
    _Static_assert(LT_LEN(names) == LT_QP_STATUS_COUNT, "one name per status");
    return (unsigned)s < LT_LEN(names) ? names[s] : "?";
}

const char *lt_qp_cause_name(lt_qp_cause c)
{
    static const char *const names[] = {
        [LT_QP_CAUSE_NONE] = "", [LT_QP_CAUSE_INPUT] = "input", [LT_QP_CAUSE_INFEASIBLE] = "infeasible",
        [LT_QP_CAUSE_UNBOUNDED] = "unbounded", [LT_QP_CAUSE_NONCONVEX] = "nonconvex",
        [LT_QP_CAUSE_ITERATIONS] = "iterations", [LT_QP_CAUSE_ROUNDING] = "rounding",
    };
    _Static_assert(LT_LEN(names) == LT_QP_CAUSE_COUNT, "one name per cause");
    return (unsigned)c < LT_LEN(names) ? names[c] : "?";
}

/* ---- workspace ------------------------------------------------------------------- */

static lt_status check_options(const lt_qp_options *o)
{
    if (!(o->tolerance > 0 && o->tolerance < 1))
        return LT_FAIL(LT_ERR_ARGUMENT, "qp: tolerance %g, expected a number in (0, 1)", o->tolerance);
    if (o->max_iterations < 0) return LT_FAIL(LT_ERR_ARGUMENT, "qp: max_iterations %d, expected 0 or more", o->max_iterations);
    if (o->interior_above < 0) return LT_FAIL(LT_ERR_ARGUMENT, "qp: interior_above %d, expected 0 or more", o->interior_above);
    if (!(o->max_shift >= 0 && o->max_shift <= 1)) return LT_FAIL(LT_ERR_ARGUMENT, "qp: max_shift %g, expected a number in [0, 1]", o->max_shift);
    if ((unsigned)o->method >= LT_QP_METHOD_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "qp: unknown method %d", (int)o->method);
    return LT_OK;
}

enum { N_VECTORS = 12, N_INTERIOR = 9 };

static lt_status allocate(lt_qp *w, size_t m)
{
    double **vector[N_VECTORS] = { &w->root, &w->a, &w->y, &w->g, &w->inverse, &w->p, &w->t, &w->h, &w->work, &w->best, &w->pulled,
                                    &w->interior };
    size_t count = (N_VECTORS - 1 + N_INTERIOR) * m + LT_QP_PANEL * m + LT_QP_PANEL * LT_QP_PANEL + m * m;
    double *at = lt_malloc_aligned(count * sizeof(double));
    w->l = at;
    if (!at) return LT_ERR_MEMORY;
    at += m * m;
    w->panel = at, at += LT_QP_PANEL * m;
    w->panel_gram = at, at += LT_QP_PANEL * LT_QP_PANEL;
    for (int k = 0; k < N_VECTORS; k++, at += m) *vector[k] = at; /* the last is N_INTERIOR long */
    w->index = lt_malloc(3 * m * sizeof(int));
    w->place = lt_calloc(3, m);
    if (!w->index || !w->place) return LT_ERR_MEMORY;
    w->row = w->index + m;
    w->list = w->row + m;
    w->want = w->place + m;
    w->banned = w->want + m;
    for (size_t i = 0; i < m; i++) w->row[i] = -1;
    return LT_OK;
}

lt_status lt_qp_create(int64_t max_m, const lt_qp_options *opt, lt_qp **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "qp: no place for the workspace (NULL)");
    *out = NULL;
    lt_qp_options o = lt_qp_defaults();
    LT_TRY(LT_TAKE(lt_qp_options, opt, &o));
    LT_TRY(check_options(&o));
    if (max_m < 1 || max_m > LT_QP_MAX_SIZE)
        return LT_FAIL(LT_ERR_ARGUMENT, "qp: %lld variables, expected 1 to %d", (long long)max_m, LT_QP_MAX_SIZE);
    lt_qp *w = lt_calloc(1, sizeof *w);
    if (!w) return LT_ERR_MEMORY;
    w->opt = o;
    w->max_m = (int)max_m;
    w->loops = lt_qp_loops_best();
    lt_status s = allocate(w, (size_t)max_m);
    if (s) {
        lt_qp_destroy(w);
        return s;
    }
    *out = w;
    return LT_OK;
}

void lt_qp_destroy(lt_qp *w)
{
    if (!w) return;
    lt_free_aligned(w->l);
    lt_free(w->index);
    lt_free(w->place);
    lt_free(w);
}

void lt_qp_forget(lt_qp *w)
{
    if (w) w->has_answer = false;
}

/* ---- matrix -------------------------------------------------------------------------- */

static lt_status check_finite(int m, const double *q, size_t stride)
{
    for (int j = 0; j < m; j++) {
        const double *column = q + (size_t)j * stride;
        if (lt_vec_finite(m, column)) continue;
        for (int i = 0; i < m; i++)
            if (!isfinite(column[i])) return LT_FAIL(LT_ERR_ARGUMENT, "qp: Q(%d, %d) is %g, expected finite numbers", i, j, column[i]);
    }
    return LT_OK;
}

static lt_status check_symmetric(int m, const double *q, size_t stride, double scale)
{
    enum { TILE = 32 }; /* both triangles of a tile stay in the first cache */
    for (int jj = 0; jj < m; jj += TILE)
        for (int ii = jj; ii < m; ii += TILE)
            for (int j = jj; j < LT_MIN(jj + TILE, m); j++)
                for (int i = LT_MAX(ii, j + 1); i < LT_MIN(ii + TILE, m); i++) {
                    double a = q[(size_t)j * stride + (size_t)i], b = q[(size_t)i * stride + (size_t)j];
                    if (fabs(a - b) > 1e-9 * scale && fabs(a - b) > 1e-9 * fabs(a))
                        return LT_FAIL(LT_ERR_ARGUMENT, "qp: Q(%d, %d) = %g but Q(%d, %d) = %g: expected a symmetric matrix", i, j, a, j, i, b);
                }
    return LT_OK;
}

/* Another shift makes another matrix. */
static void set_shift(lt_qp *w, double shift)
{
    lt_qp_factor_reset(w);
    w->shift = shift;
    w->max_diagonal = 0;
    for (int i = 0; i < w->m; i++) {
        double diagonal = fmax(w->q[(size_t)i * w->stride + (size_t)i] + shift, 0);
        w->root[i] = sqrt(diagonal);
        w->max_diagonal = fmax(w->max_diagonal, diagonal);
    }
}

/* The largest sum of |entries| in a column: with that on its diagonal Q is convex. */
static double norm_of(const lt_qp *w)
{
    double most = 0;
    for (int j = 0; j < w->m; j++) {
        const double *column = w->q + (size_t)j * w->stride;
        double sum = 0;
        for (int i = 0; i < w->m; i++) sum += fabs(column[i]);
        most = fmax(most, sum);
    }
    return most;
}

/* Adds at least `least` to the diagonal, in steps that soon suffice (decision 158); false when all that is allowed was not enough. */
static bool raise_shift(lt_qp *w, double least)
{
    double most = w->opt.max_shift > 0 ? w->opt.max_shift * norm_of(w) : 0;
    if (!(w->shift < most)) return false;
    set_shift(w, fmin(most, fmax(4 * w->shift, 2 * least)));
    return true;
}

lt_status lt_qp_set_matrix(lt_qp *w, int64_t m, const double *q, int64_t stride)
{
    if (!w) return LT_FAIL(LT_ERR_ARGUMENT, "qp: no workspace (NULL)");
    if (!q) return LT_FAIL(LT_ERR_ARGUMENT, "qp: Q is NULL");
    if (m < 1 || m > w->max_m) return LT_FAIL(LT_ERR_ARGUMENT, "qp: m = %lld, this workspace takes 1 to %d", (long long)m, w->max_m);
    if (stride < m) return LT_FAIL(LT_ERR_ARGUMENT, "qp: columns %lld apart, expected at least m = %lld", (long long)stride, (long long)m);
    LT_TRY(check_finite((int)m, q, (size_t)stride));
    double largest = 0, smallest = 0;
    for (int64_t i = 0; i < m; i++) {
        largest = fmax(largest, q[i * stride + i]);
        smallest = fmin(smallest, q[i * stride + i]);
    }
    bool negative = smallest < -1e-9 * largest;
    if (negative && !(w->opt.max_shift > 0))
        return LT_FAIL(LT_ERR_ARGUMENT, "qp: Q has the diagonal entry %g: expected a positive semidefinite matrix", smallest);
    LT_TRY(check_symmetric((int)m, q, (size_t)stride, largest));
    lt_qp_factor_reset(w);
    if (m != w->m) w->has_answer = false;
    w->m = (int)m;
    w->q = q;
    w->stride = (size_t)stride;
    set_shift(w, 0);
    if (negative) raise_shift(w, -smallest);
    return LT_OK;
}

/* ---- problem --------------------------------------------------------------------------- */

static lt_status check_vectors(const lt_qp *w, const lt_qp_problem *p)
{
    for (int i = 0; i < w->m; i++) {
        if (!isfinite(p->c[i])) return LT_FAIL(LT_ERR_ARGUMENT, "qp: c[%d] is %g, expected a finite number", i, p->c[i]);
        if (!(p->lower[i] <= p->upper[i]))
            return LT_FAIL(LT_ERR_ARGUMENT, "qp: bounds of entry %d are %g and %g, expected lower <= upper", i, p->lower[i], p->upper[i]);
        if (p->lower[i] == INFINITY || p->upper[i] == -INFINITY)
            return LT_FAIL(LT_ERR_ARGUMENT, "qp: bounds of entry %d are %g and %g: no number lies between", i, p->lower[i], p->upper[i]);
        if (p->start && isnan(p->start[i])) return LT_FAIL(LT_ERR_ARGUMENT, "qp: start[%d] is NaN", i);
    }
    if (p->members && !isfinite(p->mu)) return LT_FAIL(LT_ERR_ARGUMENT, "qp: mu is %g, expected a finite number", p->mu);
    return LT_OK;
}

/* The sum must be reachable; *cause is set when it is not. */
static lt_status check_sum(const lt_qp *w, const lt_qp_problem *p, lt_qp_cause *cause)
{
    long double least = 0, most = 0, size = 0;
    if (!p->members) return LT_OK;
    for (int i = 0; i < w->m; i++) {
        if (!p->members[i]) continue;
        least += p->lower[i];
        most += p->upper[i];
        size += (isfinite(p->lower[i]) ? fabs(p->lower[i]) : 0) + (isfinite(p->upper[i]) ? fabs(p->upper[i]) : 0);
    }
    double slack = 1e-14 * fmax(fabs(p->mu), fmin((double)size, DBL_MAX)); /* bounds and mu are rounded numbers */
    if (p->mu >= (double)least - slack && p->mu <= (double)most + slack) return LT_OK;
    *cause = LT_QP_CAUSE_INFEASIBLE;
    return LT_FAIL(LT_ERR_ARGUMENT, "qp: the members cannot sum to %g: their bounds allow %g to %g", p->mu, (double)least, (double)most);
}

/* Members without freedom are taken out of the sum. Another set of members needs another factor. */
static void load_members(lt_qp *w, const lt_qp_problem *p)
{
    long double mu = p->members ? p->mu : 0;
    bool changed = false;
    double largest = 0;
    w->n_members = 0;
    for (int i = 0; i < w->m; i++) {
        bool fixed = p->lower[i] == p->upper[i], member = p->members && p->members[i];
        double a = member && !fixed;
        if (member && fixed) mu -= p->lower[i];
        if (fixed && w->row[i] >= 0) changed = true;
        if (w->n > 0 && w->a[i] != a) changed = true;
        if (a != 0) {
            w->n_members++;
            largest = fmax(largest, w->root[i] * w->root[i]);
        }
    }
    if (changed) lt_qp_factor_reset(w);
    for (int i = 0; i < w->m; i++) w->a[i] = p->members && p->members[i] && p->lower[i] != p->upper[i];
    double rho = fmax(largest, 1e-10 * w->max_diagonal);
    w->rho = !w->n_members ? 0 : rho > 0 ? rho : 1;
    w->mu = (double)mu;
}

static void load_problem(lt_qp *w, const lt_qp_problem *p)
{
    w->c = p->c;
    w->lower = p->lower;
    w->upper = p->upper;
    load_members(w, p);
    w->sigma = fmax(1e-300, w->max_diagonal);
    for (int i = 0; i < w->m; i++) w->sigma = fmax(w->sigma, fabs(p->c[i]));
    w->iterations = w->interior_iterations = 0;
    w->max_iterations = w->opt.max_iterations ? w->opt.max_iterations : 100 + 10 * w->m;
    w->cause = LT_QP_CAUSE_NONE;
    w->worst_curvature = 0;
    w->nu = 0;
}

#define CURVATURE_FLOOR 1e-9 /* relative to the largest diagonal entry: less is rounding that the factor takes in its stride */

/* ---- solve -------------------------------------------------------------------------------- */

/* Runs the active-set method from y and want until the answer is certified, the second time with
   gradients in extended precision. */
static bool finish(lt_qp *w, lt_qp_info *info)
{
    for (int pass = 0; pass < 4; pass++) {
        bool precise = pass > 0;
        if (pass == 2) lt_qp_factor_reset(w); /* many updates may have worn the factor out */
        lt_qp_restore_sum(w);
        if (!lt_qp_active_set(w, precise)) return false;
        for (int i = 0; i < w->m; i++) w->want[i] = w->row[i] >= 0;
        lt_qp_restore_sum(w);
        lt_qp_certify(w, precise, info);
        if (lt_qp_certified(w, info)) return true;
        if (w->cause == LT_QP_CAUSE_ITERATIONS) break;
    }
    return lt_qp_acceptable(w, info);
}

static bool is_large(const lt_qp *w) { return w->opt.method == LT_QP_AUTO && w->m > w->opt.interior_above; }
/* Where guesses held near one another are tried before the search goes on step by step. */
static bool is_mendable(const lt_qp *w) { return is_large(w) && w->opt.max_shift > 0 && !w->opt.max_iterations; }

/* m/8 steps cost about a factorisation. */
static int few_steps(const lt_qp *w) { return is_mendable(w) ? 50 + w->m / 8 : 100 + w->m / 2; }

static bool solve_interior(lt_qp *w, lt_qp_info *info)
{
    lt_qp_interior(w);
    w->cause = LT_QP_CAUSE_NONE;
    w->max_iterations = is_mendable(w) ? w->iterations + few_steps(w) : w->max_iterations + w->iterations;
    return finish(w, info);
}

static bool certify_now(lt_qp *w, lt_qp_info *info)
{
    lt_qp_certify(w, false, info);
    return lt_qp_certified(w, info);
}

/* Members much smaller than the other entries carry the others' rounding until a step refines them. */
static bool is_sum_small(const lt_qp *w)
{
    double largest = 0;
    if (!w->n_members) return false;
    for (int i = 0; i < w->m; i++) largest = fmax(largest, fabs(w->y[i]));
    return fabs(w->mu) < 0.01 * largest;
}

/* Guessed active sets, then the active-set method. Large problems that start cold and whose guesses do
   not settle are left to the interior point: *skipped is set. */
static bool solve_active(lt_qp *w, const lt_qp_problem *p, lt_qp_info *info, bool *skipped)
{
    if (lt_qp_closed_form(w) && certify_now(w, info)) return true;
    bool warm = p->warm && w->has_answer, large = is_large(w);
    lt_qp_start(w, p->start, warm);
    bool settled = lt_qp_settle(w);
    if (settled && !is_sum_small(w)) {
        lt_qp_restore_sum(w);
        if (certify_now(w, info)) return true;
    }
    *skipped = !settled && large && !p->start && !warm;
    /* From a near answer few changes are left; when there are more, the interior point is quicker. */
    int all = w->max_iterations;
    if (large && !w->opt.max_iterations) w->max_iterations = w->iterations + few_steps(w);
    bool done = !*skipped && finish(w, info);
    w->max_iterations = all;
    return done || (is_mendable(w) && lt_qp_steady(w, p, info));
}

static bool solve_any(lt_qp *w, const lt_qp_problem *p, lt_qp_info *info)
{
    bool skipped = false;
    if (w->opt.method == LT_QP_INTERIOR) {
        lt_qp_start(w, NULL, false);
        return solve_interior(w, info);
    }
    if (solve_active(w, p, info, &skipped)) return true;
    if (w->opt.method == LT_QP_ACTIVE_SET || w->cause == LT_QP_CAUSE_UNBOUNDED) return false;
    double residual = skipped ? INFINITY : info->residual;
    memcpy(w->best, w->y, (size_t)w->m * sizeof(double));
    if (solve_interior(w, info)) return true;
    if (info->residual > residual) { /* the first attempt was nearer */
        memcpy(w->y, w->best, (size_t)w->m * sizeof(double));
        lt_qp_certify(w, true, info);
    }
    return lt_qp_acceptable(w, info);
}

/* Where columns nearly depend on each other and the objective is nearly zero, rounding decides who enters and who leaves, and the method may go
   round in circles. The answer of a matrix this much larger differs by less than a tolerance of 1e-12 allows, and it is one answer; where that
   was not enough, more is added and reported (decision 324). */
#define STEADYING 1e-13

static bool goes_round(const lt_qp *w) { return w->cause == LT_QP_CAUSE_ITERATIONS && w->opt.max_shift > 0 && !w->opt.max_iterations; }

/* A solve notes curvature below zero where it meets it: as much is added to the diagonal, and the solve begins again. */
static bool solve_convex(lt_qp *w, const lt_qp_problem *p, lt_qp_info *info)
{
    bool certified;
    do {
        load_problem(w, p);
        certified = solve_any(w, p, info);
    } while (w->worst_curvature < -CURVATURE_FLOOR && raise_shift(w, -w->worst_curvature * w->max_diagonal));
    for (double share = STEADYING; !certified && goes_round(w) && share <= CURVATURE_FLOOR; share *= 100) {
        if (w->shift < share * w->max_diagonal) set_shift(w, share * w->max_diagonal);
        load_problem(w, p);
        certified = solve_any(w, p, info);
    }
    return certified;
}

static void judge(lt_qp *w, bool certified, lt_qp_info *info)
{
    info->iterations = w->iterations;
    info->interior_iterations = w->interior_iterations;
    info->cause = LT_QP_CAUSE_NONE;
    info->status = LT_QP_OK;
    info->shift = w->shift;
    if (w->worst_curvature < -CURVATURE_FLOOR) {
        info->status = LT_QP_FAILED;
        info->cause = LT_QP_CAUSE_NONCONVEX;
    } else if (!certified) {
        bool usable = isfinite(info->residual) && w->cause != LT_QP_CAUSE_UNBOUNDED;
        info->status = usable ? LT_QP_INACCURATE : LT_QP_FAILED;
        info->cause = w->cause ? w->cause : LT_QP_CAUSE_ROUNDING;
    }
}

static lt_status solve(lt_qp *w, const lt_qp_problem *problem, double *y, lt_qp_info *info)
{
    if (!w || !problem || !y) return LT_FAIL(LT_ERR_ARGUMENT, "qp: %s is NULL", !w ? "the workspace" : !problem ? "the problem" : "y");
    if (!w->m) return LT_FAIL(LT_ERR_ARGUMENT, "qp: no matrix: call lt_qp_set_matrix first");
    if (!problem->c || !problem->lower || !problem->upper)
        return LT_FAIL(LT_ERR_ARGUMENT, "qp: %s is NULL", !problem->c ? "c" : !problem->lower ? "lower" : "upper");
    LT_TRY(check_vectors(w, problem));
    LT_TRY(check_sum(w, problem, &info->cause));
    bool certified = solve_convex(w, problem, info);
    judge(w, certified, info);
    w->has_answer = info->status != LT_QP_FAILED;
    memcpy(y, w->y, (size_t)w->m * sizeof(double));
    return LT_OK;
}

lt_status lt_qp_solve(lt_qp *w, const lt_qp_problem *problem, double *y, lt_qp_info *out)
{
    lt_qp_info info = { .size = sizeof info, .status = LT_QP_FAILED, .cause = LT_QP_CAUSE_INPUT, .residual = INFINITY };
    LT_TRY(LT_CHECK_SIZE(lt_qp_info, out));
    lt_status s = solve(w, problem, y, &info);
    LT_GIVE(out, &info);
    return s;
}
