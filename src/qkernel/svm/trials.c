/* The search of C (and gamma): trials drawn from the seed, scored on folds, several at once.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "qkernel/svm/scores.h"

#include <math.h>
#include <string.h>

/* gamma is searched over these multiples of 1 / (features x variance), what scikit-learn calls "scale". */
static const double gamma_low = 0.01, gamma_high = 10;

/* The point of cell `cell` of n equal cells of [log low, log high] (decision 35). */
static double in_cell(lt_rng *r, double low, double high, int64_t cell, int64_t n)
{
    double share = ((double)cell + lt_rng_uniform(r)) / (double)n;
    return fmin(fmax(low * pow(high / low, share), low), high);
}

int64_t lt_trials_draw(const lt_qsvm_options *opt, bool rbf, double gamma_scale, lt_qsvm_trial *trials)
{
    lt_rng r = { lt_draws_make((uint64_t)opt->seed, rbf ? "qsvm rbf trials" : "qsvm trials", 0, 0, 0), 0 };
    bool search = !(opt->C > 0);
    int64_t n = search || rbf ? opt->n_trials : 1;
    for (int64_t t = 0; t < n; t++) {
        double C = search ? in_cell(&r, opt->C_low, opt->C_high, t, n) : opt->C;
        trials[t] = (lt_qsvm_trial){ .C = C, .mean = lt_scores_unknown(), .std = lt_scores_unknown(), .support_fraction = NAN };
        trials[t].gamma = rbf ? (double)t : 0; /* its cell, until shuffled */
    }
    for (int64_t t = n - 1; rbf && t > 0; t--) {
        int64_t k = (int64_t)lt_rng_below(&r, (uint64_t)t + 1);
        double swap = trials[t].gamma;
        trials[t].gamma = trials[k].gamma;
        trials[k].gamma = swap;
    }
    for (int64_t t = 0; rbf && t < n; t++)
        trials[t].gamma = gamma_scale * in_cell(&r, gamma_low, gamma_high, (int64_t)trials[t].gamma, n);
    return n;
}

void lt_class_costs(const lt_qsvm_options *opt, double C, const uint8_t *y, int64_t n, double cost[2])
{
    int64_t count[2] = { 0, 0 };
    for (int64_t i = 0; i < n; i++) count[y[i]]++;
    for (int c = 0; c < 2; c++) cost[c] = C * opt->class_weight[c] * (opt->balanced ? (double)n / (2 * (double)count[c]) : 1);
}

/* ---- one fold ---- */

typedef struct fold_work {
    const lt_fold         *f;
    const lt_qsvm_options *opt;
    lt_row_kernel          kernel;
    lt_svm                 svm;       /* on the shared kernel; gamma of a trial 0 */
    double                *K, *cross; /* shared: (n_train, n_train), (n_test, n_train); NULL for rbf */
    const lt_qsvm_trial   *trials;
    lt_qsvm_scores        *score;     /* per trial */
    double                *support;   /* fraction, per trial */
    double                *held_out;  /* (trials, n of all rows) */
    int64_t                n;
} fold_work;

static lt_status make_kernels(const fold_work *w, const lt_row_kernel *k, double *K, double *cross)
{
    const lt_fold *f = w->f;
    const double *test = f->z + f->n_train * k->n_qubits;
    LT_TRY(lt_row_kernel_fill(k, f->z, f->n_train, NULL, 0, K));
    LT_TRY(lt_row_kernel_fill(k, test, f->n_test, f->z, f->n_train, cross));
    if (!w->opt->center) return LT_OK;
    double mean, *means = lt_malloc((size_t)f->n_train * sizeof *means);
    if (!means) return LT_ERR_MEMORY;
    lt_status s = lt_gram_center(K, f->n_train, means, &mean);
    if (!s) s = lt_gram_center_cross(cross, f->n_test, f->n_train, means, mean);
    lt_free(means);
    return s;
}

/* Fits on the training rows, decides on the held-out ones. work: n_train + n_test numbers. */
static lt_status score_trial(const fold_work *w, int64_t t, const lt_svm *svm, const double *cross, double *work)
{
    const lt_fold *f = w->f;
    double *beta = work, *decision = work + f->n_train, cost[2];
    lt_svm_result r;
    lt_class_costs(w->opt, w->trials[t].C, f->y, f->n_train, cost);
    LT_TRY(lt_svm_fit(svm, cost, beta, &r));
    for (int64_t i = 0; i < f->n_test; i++) {
        double sum = r.bias;
        for (int64_t j = 0; j < f->n_train; j++) sum += beta[j] * cross[i * f->n_train + j];
        decision[i] = sum;
        w->held_out[t * w->n + f->row[f->n_train + i]] = sum;
    }
    w->support[t] = (double)(r.n_support[0] + r.n_support[1]) / (double)f->n_train;
    return lt_qsvm_score(f->y + f->n_train, decision, f->n_test, 0, &w->score[t]);
}

/* A trial with its own gamma needs its own kernel. */
static lt_status run_trial(void *ctx, int64_t t, int worker)
{
    const fold_work *w = ctx;
    const lt_fold *f = w->f;
    (void)worker;
    int64_t square = w->K ? 0 : f->n_train * f->n_train, cross = w->K ? 0 : f->n_test * f->n_train;
    double *work = lt_malloc((size_t)(f->n_train + f->n_test + square + cross) * sizeof *work);
    if (!work) return LT_ERR_MEMORY;
    lt_status s;
    if (w->K) {
        s = score_trial(w, t, &w->svm, w->cross, work);
    } else {
        lt_row_kernel kernel = w->kernel;
        lt_svm svm = w->svm;
        double *K = work + f->n_train + f->n_test;
        kernel.gamma = w->trials[t].gamma;
        svm.K = K;
        s = make_kernels(w, &kernel, K, K + square);
        if (!s) s = lt_svm_prepare(&svm);
        if (!s) s = score_trial(w, t, &svm, K + square, work);
        lt_svm_release(&svm);
    }
    lt_free(work);
    return s;
}

static lt_status run_fold(fold_work *w, int64_t n_trials)
{
    const lt_fold *f = w->f;
    lt_pool *pool = lt_pool_shared();
    if (!pool) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    if (w->kernel.gram) { /* all trials share it */
        w->K = lt_malloc((size_t)(f->n_train * (f->n_train + f->n_test)) * sizeof *w->K);
        if (!w->K) return LT_ERR_MEMORY;
        w->svm.K = w->K;
        w->cross = w->K + f->n_train * f->n_train;
        s = make_kernels(w, &w->kernel, w->K, w->cross);
        if (!s) s = lt_svm_prepare(&w->svm);
    }
    if (!s) s = lt_pool_run(pool, n_trials, run_trial, w);
    lt_svm_release(&w->svm);
    lt_free(w->K);
    return s;
}

/* ---- all folds ---- */

static bool better(const lt_qsvm_trial *a, const lt_qsvm_trial *b)
{
    if (a->mean.f1 != b->mean.f1) return a->mean.f1 > b->mean.f1;
    if (a->mean.roc_auc != b->mean.roc_auc) return a->mean.roc_auc > b->mean.roc_auc;
    return a->C < b->C;
}

lt_status lt_trials_run(const lt_folds *folds, const lt_qsvm_options *opt, lt_svm_solver solver, const lt_row_kernel *kernel,
                        int64_t n_trials, lt_qsvm_trial *trials, double *held_out, int64_t *best)
{
    int64_t n_folds = folds->n_folds, cells = n_folds * n_trials;
    lt_qsvm_scores *score = lt_calloc((size_t)cells, sizeof *score);
    double *support = lt_malloc((size_t)(cells + n_trials * folds->n) * sizeof *support), *decision = support + cells;
    lt_status s = score && support ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n_folds; i++) {
        const lt_fold *f = &folds->fold[i];
        fold_work w = { .f = f, .opt = opt, .kernel = *kernel, .trials = trials, .score = score + i * n_trials, .support = support + i * n_trials,
                        .held_out = decision, .n = folds->n,
                        .svm = { .y = f->y, .n = f->n_train, .solver = solver, .tolerance = opt->tolerance, .max_iterations = opt->max_iterations } };
        s = run_fold(&w, n_trials);
    }
    *best = 0;
    for (int64_t t = 0; !s && t < n_trials; t++) {
        lt_scores_combine(score + t, n_folds, n_trials, &trials[t].mean, &trials[t].std);
        trials[t].support_fraction = 0;
        for (int64_t i = 0; i < n_folds; i++) trials[t].support_fraction += support[i * n_trials + t] / (double)n_folds;
        if (better(&trials[t], &trials[*best])) *best = t;
    }
    if (!s && held_out) memcpy(held_out, decision + *best * folds->n, (size_t)folds->n * sizeof *held_out);
    lt_free(score);
    lt_free(support);
    return s;
}
