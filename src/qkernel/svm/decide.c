/* New rows: decision values, labels by votes, probabilities. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"

typedef struct decision_job { const lt_qsvm *q; const lt_decider *d; lt_row_kernel kernel; lt_voters voters; } decision_job;

/* n rows of features; z: (n, qubits + support vectors) numbers of workspace. */
static lt_status decide_block(const decision_job *j, const double *x, int64_t n, double *z, double *decision)
{
    const lt_qsvm *q = j->q;
    const lt_decider *d = j->d;
    double *K = z + n * q->prepare.n_outputs;
    if (!q->opt.precomputed) {
        lt_prepare_apply(&q->prepare, x, n, z);
        if (d->n_support > 0) LT_TRY(lt_row_kernel_fill(&j->kernel, z, n, d->support, d->n_support, K));
    }
    for (int64_t i = 0; i < n; i++) {
        double *row = K + i * d->n_support;
        for (int64_t k = 0; q->opt.precomputed && k < d->n_support; k++) row[k] = x[i * q->prepare.n_features + d->row[k]];
        lt_voters_decide(&j->voters, row, decision + i * d->n_machines);
    }
    return LT_OK;
}

static lt_status check_machine(const lt_qsvm *q, lt_qsvm_machine which)
{
    if (!q->fitted) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the machine has not been trained");
    if ((unsigned)which >= LT_QSVM_MACHINE_COUNT || (which == LT_QSVM_RBF && !q->info.has_rbf))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: there is no such machine; compare_rbf makes the Gaussian one");
    return LT_OK;
}

lt_status lt_qsvm_decide_pairs(lt_qsvm *q, lt_qsvm_machine which, const lt_rows *x, double *decision)
{
    enum { BLOCK = 4096 }; /* rows at a time: the cross kernel of all would not fit for long */
    if (!q || !x || !decision) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle, X or the output is NULL");
    LT_TRY(check_machine(q, which));
    const lt_decider *d = &q->decider[which];
    double *rows;
    LT_TRY(lt_prepare_rows(q->opt.precomputed ? "the kernel" : "X", x, q->prepare.n_features, &rows));
    double *z = lt_malloc((size_t)(LT_MIN(x->n, BLOCK) * (q->prepare.n_outputs + d->n_support)) * sizeof *z);
    decision_job j = { q, d, lt_qsvm_row_kernel(q, which == LT_QSVM_QUANTUM ? q->gram : NULL),
                       { d->n_support, q->info.n_classes, d->width, d->coefficient, d->bias, d->class_of } };
    j.kernel.gamma = q->info.machine[which].gamma;
    lt_status s = z ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < x->n; i += BLOCK)
        s = decide_block(&j, rows + i * x->columns, LT_MIN(BLOCK, x->n - i), z, decision + i * d->n_machines);
    lt_free(z);
    lt_free(rows);
    return s;
}

lt_status lt_qsvm_decide(lt_qsvm *q, lt_qsvm_machine which, const lt_rows *x, double *decision)
{
    if (q && q->fitted && q->info.n_machines > 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld classes have %lld machines, one for each pair: use lt_qsvm_decide_pairs",
                       (long long)q->info.n_classes, (long long)q->info.n_machines);
    return lt_qsvm_decide_pairs(q, which, x, decision);
}

/* Votes decide, also where there are probabilities (decision 272). */
lt_status lt_qsvm_labels(const lt_qsvm *q, lt_qsvm_machine which, const double *decision, int64_t n, int32_t *label)
{
    if (!q || !decision || !label || n < 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle, the decision values or the output is NULL");
    LT_TRY(check_machine(q, which));
    const lt_qsvm_info *i = &q->info;
    if (i->task == LT_QSVM_REGRESS) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: a regression has no labels: its decision values are what it predicts");
    int64_t *votes = lt_malloc((size_t)LT_MAX(1, i->n_classes) * sizeof *votes);
    if (!votes) return LT_ERR_MEMORY;
    for (int64_t k = 0; k < n; k++) {
        if (i->task == LT_QSVM_ONE_CLASS) label[k] = decision[k] > 0 ? 1 : -1;
        else if (i->n_classes == 2) label[k] = decision[k] > i->machine[which].threshold;
        else label[k] = lt_voters_elect(decision + k * i->n_machines, i->n_classes, votes);
    }
    lt_free(votes);
    return LT_OK;
}

lt_status lt_qsvm_probabilities(const lt_qsvm *q, const double *decision, int64_t n, double *p)
{
    if (!q || !decision || !p || n < 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle, the decision values or the output is NULL");
    LT_TRY(check_machine(q, LT_QSVM_QUANTUM));
    const lt_decider *d = &q->decider[LT_QSVM_QUANTUM];
    const int64_t k = q->info.n_classes;
    if (!d->sigmoid) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the machine was trained without probabilities: the option probability asks for them");
    double *r = lt_malloc((size_t)(d->n_machines + k * k + k) * sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t m = 0; m < d->n_machines; m++) r[m] = lt_sigmoid_at(d->sigmoid + 2 * m, decision[i * d->n_machines + m]);
        lt_couple(r, k, p + i * k, r + d->n_machines);
    }
    lt_free(r);
    return LT_OK;
}
