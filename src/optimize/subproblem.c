/* The QPs of steering and stationarity: a workspace that grows, counted failures.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

void lt_subproblem_release(lt_subproblem *s)
{
    lt_qp_destroy(s->qp);
    lt_free_aligned(s->Q);
    lt_free(s->linear);
    lt_free(s->member);
    s->qp = NULL;
    s->Q = s->linear = NULL;
    s->member = NULL;
    s->capacity = 0;
}

/* Contents are not kept: callers fill everything after reserving. */
lt_status lt_subproblem_reserve(lt_subproblem *s, int64_t m, double tolerance)
{
    if (m <= s->capacity) return LT_OK;
    if (m > LT_QP_MAX_SIZE)
        return LT_FAIL(LT_ERR_MEMORY, "a QP of %lld variables, at most %d are possible: fold constraints or lower ngrad",
                       (long long)m, LT_QP_MAX_SIZE);
    int64_t size = LT_MIN(LT_MAX(m, 2 * s->capacity), LT_QP_MAX_SIZE);
    lt_subproblem_release(s);
    lt_qp_options opt = lt_qp_defaults();
    opt.tolerance = tolerance;
    LT_TRY(lt_qp_create(size, &opt, &s->qp));
    s->Q = lt_malloc_aligned((size_t)(size * size) * sizeof(double));
    s->linear = lt_malloc((size_t)(5 * size) * sizeof(double));
    s->member = lt_malloc((size_t)size);
    if (!s->Q || !s->linear || !s->member) {
        lt_subproblem_release(s);
        return LT_ERR_MEMORY;
    }
    s->lower = s->linear + size;
    s->upper = s->linear + 2 * size;
    s->y = s->linear + 3 * size;
    s->start = s->linear + 4 * size;
    s->capacity = size;
    return LT_OK;
}

bool lt_subproblem_set(lt_subproblem *s, int64_t m, const double *Q, int64_t stride)
{
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("qp_setup");
    s->matrix_ok = lt_qp_set_matrix(s->qp, m, Q, stride) == LT_OK;
    lt_span_end(span);
    s->time_ns += lt_clock_ns() - begin;
    return s->matrix_ok;
}

bool lt_subproblem_solve(lt_subproblem *s, bool members, double mu, const double *start)
{
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("qp_solve");
    lt_qp_problem problem = { .c = s->linear, .lower = s->lower, .upper = s->upper,
                              .members = members ? s->member : NULL, .mu = mu, .start = start };
    lt_qp_info info = { .status = LT_QP_FAILED };
    bool ok = s->matrix_ok && lt_qp_solve(s->qp, &problem, s->y, &info) == LT_OK && info.status == LT_QP_OK;
    s->n_solved++;
    s->n_failed += !ok;
    lt_span_end(span);
    s->time_ns += lt_clock_ns() - begin;
    return ok;
}
