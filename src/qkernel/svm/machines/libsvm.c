/* LIBSVM on a precomputed kernel. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machines/svm.h"

#include "base/alloc.h"
#include "base/status.h"

#include <libsvm/svm.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBSVM_LEAST_LIMIT INT64_C(10000000) /* of iterations; more for more than 10^5 rows */

/* LIBSVM reports on standard output unless it is given a function to print with. Only its text says how many iterations
   it took; it says so on the thread that trains. */
static _Thread_local int64_t n_iterations;
static void listen(const char *text)
{
    const char *at = strstr(text, "#iter = ");
    if (at) n_iterations = strtoll(at + strlen("#iter = "), NULL, 10);
}
static void redirect(void) { svm_set_print_string_function(listen); }
static pthread_once_t redirected = PTHREAD_ONCE_INIT;

/* Its form of a kernel matrix: per row the row's number, then all entries. The end mark may be left out,
   since entries are found by position. */
typedef struct table {
    struct svm_node **row;
    double           *label;
    struct svm_node   node[];
} table;

lt_status lt_libsvm_prepare(lt_svm *s)
{
    if (s->n >= INT_MAX / 2) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld rows are too many for LIBSVM", (long long)s->n);
    pthread_once(&redirected, redirect);
    size_t n = (size_t)s->n, width = n + 1;
    table *t = lt_malloc(sizeof *t + n * width * sizeof t->node[0]);
    if (!t) return LT_ERR_MEMORY;
    t->row = lt_malloc(n * (sizeof *t->row + sizeof *t->label));
    if (!t->row) {
        lt_free(t);
        return LT_ERR_MEMORY;
    }
    t->label = (double *)(t->row + n);
    for (size_t i = 0; i < n; i++) {
        struct svm_node *row = t->row[i] = t->node + i * width;
        t->label[i] = s->y[i] ? 1 : -1;
        row[0] = (struct svm_node){ 0, (double)(i + 1) };
        for (size_t j = 0; j < n; j++) row[j + 1] = (struct svm_node){ (int)j + 1, s->K[i * n + j] };
    }
    s->nodes = t;
    return LT_OK;
}

void lt_libsvm_release(lt_svm *s)
{
    table *t = s->nodes;
    lt_free(t->row);
    lt_free(t);
    s->nodes = NULL;
}

lt_status lt_libsvm_fit(const lt_svm *s, const double cost[2], double *beta, lt_svm_result *out)
{
    table *t = s->nodes;
    struct svm_problem problem = { .l = (int)s->n, .y = t->label, .x = t->row };
    int label[2] = { -1, 1 };
    double weight[2] = { cost[0], cost[1] };
    struct svm_parameter p = { .svm_type = C_SVC, .kernel_type = PRECOMPUTED, .cache_size = 1000, .eps = s->tolerance, .C = 1,
                               .nr_weight = 2, .weight_label = label, .weight = weight, .shrinking = 1 };
    const char *complaint = svm_check_parameter(&problem, &p);
    if (complaint) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: LIBSVM: %s", complaint);
    n_iterations = 0;
    struct svm_model *model = svm_train(&problem, &p);
    if (!model) return LT_FAIL(LT_ERR_MEMORY, "qsvm: LIBSVM returned nothing");
    /* The class met first is its positive one. */
    double sign = model->label[0] == 1 ? 1 : -1;
    for (int64_t i = 0; i < s->n; i++) beta[i] = 0;
    for (int i = 0; i < model->l; i++) beta[model->sv_indices[i] - 1] = sign * model->sv_coef[0][i];
    out->bias = -sign * model->rho[0];
    out->iterations = n_iterations;
    out->converged = n_iterations < LT_MAX(LIBSVM_LEAST_LIMIT, 100 * s->n);
    svm_free_and_destroy_model(&model);
    return LT_OK;
}
