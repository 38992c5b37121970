/* Rows held out: decision values, labels, scores. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>

/* Scores of two classes rank decision values; of more they compare labels. */
static lt_status score_classes(qsvm_job *j, lt_qsvm_machine which, qsvm_result *r)
{
    const int64_t n = j->test.n, classes = j->info->n_classes;
    if (classes > 2) {
        r->confusion = calloc((size_t)(classes * classes), sizeof *r->confusion);
        if (!r->confusion) return cli_fail(LT_ERR_MEMORY, "no memory for the confusion matrix");
        return lt_qsvm_score_labels(j->test.y, r->label, n, classes, &r->test, r->confusion);
    }
    uint8_t *y = malloc((size_t)n);
    if (!y) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)j->test.y[i];
    lt_status s = lt_qsvm_score(y, r->decision, n, j->info->machine[which].threshold, &r->test);
    free(y);
    return s;
}

static lt_status score(qsvm_job *j, lt_qsvm_machine which, qsvm_result *r)
{
    const int64_t n = j->test.n;
    if (j->info->task == LT_QSVM_REGRESS) return lt_qsvm_score_values(j->test.value, r->decision, n, &r->errors);
    r->label = malloc((size_t)n * sizeof *r->label);
    if (!r->label) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    CLI_TRY(lt_qsvm_labels(j->machine, which, r->decision, n, r->label));
    for (int64_t i = 0; i < n; i++) r->inside += (double)(r->label[i] > 0) / (double)n;
    return j->info->task == LT_QSVM_CLASSIFY ? score_classes(j, which, r) : LT_OK;
}

lt_status qsvm_test(qsvm_job *j)
{
    lt_rows x = qsvm_rows_view(&j->test);
    if (j->test.n == 0) return LT_OK;
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1); m++) {
        qsvm_result *r = &j->result[m];
        double start = cli_now();
        r->decision = malloc((size_t)(j->test.n * j->info->n_machines) * sizeof *r->decision);
        if (!r->decision) return cli_fail(LT_ERR_MEMORY, "no memory for decision values");
        CLI_TRY(lt_qsvm_decide_pairs(j->machine, (lt_qsvm_machine)m, &x, r->decision));
        CLI_TRY(score(j, (lt_qsvm_machine)m, r));
        if (m == LT_QSVM_QUANTUM) j->predict_seconds = cli_now() - start;
    }
    return LT_OK;
}

void qsvm_free_result(qsvm_result *r)
{
    free(r->decision);
    free(r->label);
    free(r->confusion);
}
