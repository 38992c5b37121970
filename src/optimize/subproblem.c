/* The QPs of steering and stationarity: a workspace that grows, equal variables merged, failures counted.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

#define WORTH_MERGING 48 /* variables; smaller QPs take less time than looking for equal ones */

void lt_subproblem_release(lt_subproblem *s)
{
    lt_qp_destroy(s->qp);
    lt_free_aligned(s->Q);
    lt_free(s->linear);
    lt_free(s->member);
    lt_free(s->gradient);
    lt_merge_release(&s->merge);
    s->qp = NULL;
    s->Q = s->linear = NULL;
    s->member = NULL;
    s->gradient = NULL;
    s->capacity = 0;
}

/* Contents are not kept: callers fill everything after reserving. */
lt_status lt_subproblem_reserve(lt_subproblem *s, int64_t m, const lt_solve_options *o)
{
    if (m <= s->capacity) return LT_OK;
    if (m > LT_QP_MAX_SIZE)
        return LT_FAIL(LT_ERR_MEMORY, "a QP of %lld variables, at most %d are possible: fold constraints or lower max_samples",
                       (long long)m, LT_QP_MAX_SIZE);
    int64_t size = LT_MIN(LT_MAX(m, 2 * s->capacity), LT_QP_MAX_SIZE);
    lt_subproblem_release(s);
    lt_qp_options opt = lt_qp_defaults();
    opt.tolerance = o->qp_tol;
    opt.max_shift = o->compat ? 0 : 1; /* Q is a product of gradients and H: only rounding makes it other than convex */
    LT_TRY(lt_qp_create(size, &opt, &s->qp));
    s->Q = lt_malloc_aligned((size_t)(size * size) * sizeof(double));
    s->linear = lt_malloc((size_t)(10 * size) * sizeof(double));
    s->member = lt_malloc((size_t)(2 * size));
    s->gradient = lt_malloc((size_t)size * sizeof *s->gradient);
    if (!s->Q || !s->linear || !s->member || !s->gradient || lt_merge_create(size, &s->merge)) {
        lt_subproblem_release(s);
        return LT_ERR_MEMORY;
    }
    s->lower = s->linear + size;
    s->upper = s->linear + 2 * size;
    s->y = s->linear + 3 * size;
    s->start = s->linear + 4 * size;
    s->capacity = size;
    s->mends = !o->compat;
    return LT_OK;
}

/* Where H has lost its digits the two triangles of Q are rounded apart; the lower one stands for both. Q may be Q of the workspace itself, or
   lie in a larger matrix that goes on being carried from one iteration to the next. */
static void mirror(double *to, int64_t m, const double *Q, int64_t stride)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) to[i * m + j] = to[j * m + i] = Q[i * stride + j];
}

bool lt_subproblem_set(lt_subproblem *s, int64_t m, const double *Q, int64_t stride, const double *value)
{
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("qp_setup");
    lt_merge_keys keys = { .value = value, .lower = s->lower, .upper = s->upper, .gradient = s->gradient, .n = s->n,
                           .member = s->members ? s->member : NULL };
    s->m = m;
    s->merged = false;
    if (m >= WORTH_MERGING && s->n) {
        lt_merge_find(&s->merge, m, Q, stride, &keys);
        s->merged = s->merge.n_groups < m - m / 8;
    }
    if (s->merged) {
        lt_merge_matrix(&s->merge, Q, stride, s->Q);
        Q = s->Q;
        m = stride = s->merge.n_groups;
    }
    s->matrix_ok = lt_qp_set_matrix(s->qp, m, Q, stride) == LT_OK;
    if (!s->matrix_ok && s->mends) {
        mirror(s->Q, m, Q, stride);
        s->matrix_ok = lt_qp_set_matrix(s->qp, m, s->Q, m) == LT_OK;
    }
    lt_span_end(span);
    s->time_ns += lt_clock_ns() - begin;
    return s->matrix_ok;
}

static bool solve_merged(lt_subproblem *s, double mu, const double *start, lt_qp_info *info)
{
    const lt_merge *g = &s->merge;
    double *linear = s->linear + 5 * s->capacity, *lower = linear + s->capacity, *upper = lower + s->capacity;
    double *begin = upper + s->capacity, *y = begin + s->capacity;
    uint8_t *member = s->member + s->capacity;
    lt_merge_pick(g, s->linear, linear);
    lt_merge_sum(g, s->lower, lower);
    lt_merge_sum(g, s->upper, upper);
    if (start) lt_merge_sum(g, start, begin);
    for (int64_t a = 0; a < g->n_groups; a++) member[a] = s->member[g->first[a]];
    lt_qp_problem problem = { .c = linear, .lower = lower, .upper = upper, .members = s->members ? member : NULL, .mu = mu,
                              .start = start ? begin : NULL };
    if (lt_qp_solve(s->qp, &problem, y, info)) return false;
    lt_merge_share(g, y, s->y);
    return true;
}

static bool solve_whole(lt_subproblem *s, double mu, const double *start, lt_qp_info *info)
{
    lt_qp_problem problem = { .c = s->linear, .lower = s->lower, .upper = s->upper,
                              .members = s->members ? s->member : NULL, .mu = mu, .start = start };
    return lt_qp_solve(s->qp, &problem, s->y, info) == LT_OK;
}

bool lt_subproblem_solve(lt_subproblem *s, double mu, const double *start)
{
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("qp_solve");
    lt_qp_info info = { .size = sizeof info, .status = LT_QP_FAILED };
    bool ok = s->matrix_ok && (s->merged ? solve_merged : solve_whole)(s, mu, start, &info) && info.status == LT_QP_OK;
    s->n_solved++;
    s->n_failed += !ok;
    lt_span_end(span);
    s->time_ns += lt_clock_ns() - begin;
    return ok;
}
