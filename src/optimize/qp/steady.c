/* Quadratic programs whose columns nearly depend on each other, by the proximal point method: the answer is held near the last one by
   pull/2 |y - last|^2, which makes the matrix definite and the answer one, and the answers meet that of the problem itself (decision 380).
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "optimize/qp/internal.h"

/* Guesses the active set of the problem with the pull, which has another diagonal and another linear term. */
static bool settle_near(lt_qp *w, double pull)
{
    const double *c = w->c, shift = w->shift;
    for (int i = 0; i < w->m; i++) w->pulled[i] = c[i] - pull * w->y[i];
    w->c = w->pulled;
    w->shift = shift + pull;
    const bool settled = lt_qp_settle(w);
    w->c = c;
    w->shift = shift;
    return settled;
}

/* Whether y is the answer of the problem without the pull. */
static bool is_answer(lt_qp *w, bool precise, lt_qp_info *info)
{
    lt_qp_restore_sum(w);
    lt_qp_certify(w, precise, info);
    return lt_qp_certified(w, info);
}

static bool meet(lt_qp *w, double pull, lt_qp_info *info)
{
    enum { MOST_PULLS = 12 };
    bool met = false;
    lt_qp_factor_reset(w);
    for (int k = 0; k < MOST_PULLS && !met && settle_near(w, pull); k++) met = is_answer(w, k > 0, info);
    lt_qp_factor_reset(w); /* it is that of the matrix with the pull */
    if (!met) lt_qp_restore_sum(w);
    return met;
}

bool lt_qp_steady(lt_qp *w, const lt_qp_problem *p, lt_qp_info *info)
{
    static const double pulls[] = { 1e-11, 1e-9, 1e-7 }; /* of the largest diagonal entry: above what rounding makes of dependent columns */
    for (size_t k = 0; k < LT_LEN(pulls); k++) {
        lt_qp_start(w, p->start, false);
        if (meet(w, pulls[k] * w->max_diagonal, info)) return true;
    }
    return false;
}
