/* One handle for both solvers, and what is computed from their answers alike. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machines/svm.h"

#include "base/status.h"

#include <math.h>

#if LT_HAVE_LIBSVM
static const bool has_libsvm = true;
#else
static const bool has_libsvm = false;
lt_status lt_libsvm_prepare(lt_svm *s)
{
    (void)s;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "qsvm: built without LIBSVM (package libsvm-dev)");
}
void lt_libsvm_release(lt_svm *s) { s->nodes = NULL; }
lt_status lt_libsvm_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out)
{
    (void)s, (void)cost, (void)beta, (void)out;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "qsvm: built without LIBSVM (package libsvm-dev)");
}
#endif

lt_status lt_svm_resolve(lt_svm_solver asked, int64_t max_iterations, lt_svm_solver *out)
{
    *out = asked != LT_SVM_AUTO ? asked : has_libsvm && max_iterations == 0 ? LT_SVM_LIBSVM : LT_SVM_SMO;
    if (*out != LT_SVM_LIBSVM) return LT_OK;
    if (!has_libsvm) return LT_FAIL(LT_ERR_UNSUPPORTED, "qsvm: solver libsvm: this library was built without it (package libsvm-dev); smo needs nothing");
    if (max_iterations > 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: max_iterations is %lld, but LIBSVM takes no limit: use solver smo", (long long)max_iterations);
    return LT_OK;
}

lt_status lt_svm_resolve_for(const lt_svm *s, lt_svm_solver asked, lt_svm_solver *out)
{
    if (s->task == LT_QSVM_CLASSIFY && !s->weight) return lt_svm_resolve(asked, s->max_iterations, out);
    *out = LT_SVM_SMO;
    if (asked != LT_SVM_LIBSVM) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: solver libsvm is used for classes without sample weights only; give smo, or leave the choice to auto");
}

lt_status lt_svm_prepare(lt_svm *s) { return s->solver == LT_SVM_LIBSVM ? lt_libsvm_prepare(s) : LT_OK; }

void lt_svm_release(lt_svm *s)
{
    if (s->nodes) lt_libsvm_release(s);
}

/* What a coefficient adds to the objective beside the square. */
static double linear_part(const lt_svm *s, int64_t i, double beta)
{
    switch (s->task) {
    case LT_QSVM_REGRESS:   return s->epsilon * fabs(beta) - beta * s->value[i];
    case LT_QSVM_ONE_CLASS: return 0;
    default:                return -fabs(beta);
    }
}

/* Over the support vectors only. */
static double objective_of(const lt_svm *s, const double *beta)
{
    double square = 0, sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (beta[i] == 0) continue;
        double f = 0;
        for (int64_t j = 0; j < s->n; j++) f += beta[j] * s->K[i * s->n + j];
        square += beta[i] * f;
        sum += linear_part(s, i, beta[i]);
    }
    return square / 2 + sum;
}

lt_status lt_svm_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out)
{
    *out = (lt_svm_result){ 0 };
    LT_TRY(s->solver == LT_SVM_LIBSVM ? lt_libsvm_fit(s, cost, beta, out) : lt_smo_fit(s, cost, beta, out));
    out->objective = objective_of(s, beta);
    for (int64_t i = 0; i < s->n; i++) out->n_support[s->task == LT_QSVM_CLASSIFY ? s->y[i] : beta[i] > 0] += beta[i] != 0;
    return LT_OK;
}
