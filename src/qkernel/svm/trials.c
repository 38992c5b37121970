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

lt_svm lt_qsvm_problem(const lt_qsvm_options *opt, lt_svm_solver solver, const lt_targets *t, const uint8_t *y, const double *K, int64_t n)
{
    return (lt_svm){ .K = K, .y = y, .value = t->value, .weight = t->weight, .task = t->task, .epsilon = opt->epsilon, .nu = opt->nu, .n = n, .solver = solver,
                     .tolerance = opt->tolerance, .max_iterations = opt->max_iterations };
}

/* ---- one fold ---- */

typedef struct fold_work {
    const lt_search *search;
    const lt_fold   *f;
    lt_svm           svm;       /* on the shared kernel; gamma of a trial 0 */
    double          *K, *cross; /* shared: (n_train, n_train), (n_test, n_train); NULL for rbf */
    lt_qsvm_scores  *score;     /* per trial */
    lt_qsvm_errors  *error;     /* per trial; of a regression */
    double          *support;   /* fraction, per trial */
    double          *held_out;  /* (trials, n of all rows) */
} fold_work;

/* A part of a kernel computed before. */
static void gather_kernel(const fold_work *w, double *K, double *cross)
{
    const lt_fold *f = w->f;
    const double *whole = w->search->K;
    const int64_t n = w->search->folds->n, m = f->n_train;
    for (int64_t i = 0; i < n; i++) {
        double *to = i < m ? K + i * m : cross + (i - m) * m;
        for (int64_t j = 0; j < m; j++) to[j] = whole[f->row[i] * n + f->row[j]];
    }
}

static lt_status make_kernels(const fold_work *w, const lt_row_kernel *k, double *K, double *cross)
{
    const lt_fold *f = w->f;
    if (w->search->K) {
        gather_kernel(w, K, cross);
    } else {
        const double *test = f->z + f->n_train * k->n_qubits;
        LT_TRY(lt_row_kernel_fill(k, f->z, f->n_train, NULL, 0, K));
        LT_TRY(lt_row_kernel_fill(k, test, f->n_test, f->z, f->n_train, cross));
    }
    if (!w->search->opt->center) return LT_OK;
    double mean, *means = lt_malloc((size_t)f->n_train * sizeof *means);
    if (!means) return LT_ERR_MEMORY;
    lt_status s = lt_gram_center(K, f->n_train, means, &mean);
    if (!s) s = lt_gram_center_cross(cross, f->n_test, f->n_train, means, mean);
    lt_free(means);
    return s;
}

static lt_status score_decisions(const fold_work *w, int64_t t, const lt_machines *m, const double *decision)
{
    const lt_fold *f = w->f;
    if (f->targets.task == LT_QSVM_REGRESS) return lt_qsvm_score_values(f->value + f->n_train, decision, f->n_test, &w->error[t]);
    if (m->n_classes == 2) return lt_qsvm_score(f->y + f->n_train, decision, f->n_test, 0, &w->score[t]);
    int32_t *predicted = lt_malloc((size_t)f->n_test * sizeof *predicted);
    int64_t *votes = lt_malloc((size_t)m->n_classes * sizeof *votes);
    lt_status s = predicted && votes ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < f->n_test; i++) predicted[i] = lt_voters_elect(decision + i * m->n_machines, m->n_classes, votes);
    if (!s) s = lt_qsvm_score_labels(f->label + f->n_train, predicted, f->n_test, m->n_classes, &w->score[t], NULL);
    lt_free(predicted);
    lt_free(votes);
    return s;
}

/* Fits on the training rows, decides on the held-out ones. */
static lt_status score_trial(const fold_work *w, int64_t t, const lt_svm *svm, const double *cross)
{
    const lt_fold *f = w->f;
    lt_machines m;
    LT_TRY(lt_machines_fit(svm, &f->targets, &(lt_costs){ w->search->opt, w->search->trials[t].C }, NULL, &m));
    double *decision = lt_malloc((size_t)(f->n_test * m.n_machines) * sizeof *decision);
    lt_status s = decision ? LT_OK : LT_ERR_MEMORY;
    const lt_voters voters = { f->n_train, m.n_classes, m.width, m.beta, m.bias, m.n_machines > 1 ? f->label : NULL };
    for (int64_t i = 0; !s && i < f->n_test; i++) {
        lt_voters_decide(&voters, cross + i * f->n_train, decision + i * m.n_machines);
        if (m.n_machines == 1) w->held_out[t * w->search->folds->n + f->row[f->n_train + i]] = decision[i];
    }
    w->support[t] = (double)(m.n_support[0] + m.n_support[1]) / (double)f->n_train;
    if (!s) s = score_decisions(w, t, &m, decision);
    lt_free(decision);
    lt_machines_release(&m);
    return s;
}

/* One machine reads a form of K that several trials share; those of pairs make their own. */
static lt_status share_form(lt_svm *svm, const lt_targets *t) { return lt_machines_count(t) == 1 ? lt_svm_prepare(svm) : LT_OK; }

/* A trial with its own gamma needs its own kernel. */
static lt_status run_trial(void *ctx, int64_t t, int worker)
{
    const fold_work *w = ctx;
    const lt_fold *f = w->f;
    (void)worker;
    if (w->K) return score_trial(w, t, &w->svm, w->cross);
    const int64_t square = f->n_train * f->n_train;
    double *K = lt_malloc((size_t)(square + f->n_test * f->n_train) * sizeof *K);
    if (!K) return LT_ERR_MEMORY;
    lt_row_kernel kernel = *w->search->kernel;
    lt_svm svm = w->svm;
    kernel.gamma = w->search->trials[t].gamma;
    svm.K = K;
    lt_status s = make_kernels(w, &kernel, K, K + square);
    if (!s) s = share_form(&svm, &f->targets);
    if (!s) s = score_trial(w, t, &svm, K + square);
    lt_svm_release(&svm);
    lt_free(K);
    return s;
}

static lt_status run_fold(fold_work *w)
{
    const lt_fold *f = w->f;
    lt_pool *pool = lt_pool_shared();
    if (!pool) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    if (w->search->K || w->search->kernel->gram) { /* all trials share it */
        w->K = lt_malloc((size_t)(f->n_train * (f->n_train + f->n_test)) * sizeof *w->K);
        if (!w->K) return LT_ERR_MEMORY;
        w->svm.K = w->K;
        w->cross = w->K + f->n_train * f->n_train;
        s = make_kernels(w, w->search->kernel, w->K, w->cross);
        if (!s) s = share_form(&w->svm, &f->targets);
    }
    if (!s) s = lt_pool_run(pool, w->search->n_trials, run_trial, w);
    lt_svm_release(&w->svm);
    lt_free(w->K);
    return s;
}

/* ---- all folds ---- */

static bool better(const lt_search *s, int64_t t, int64_t than)
{
    const lt_qsvm_trial *a = &s->trials[t], *b = &s->trials[than];
    const bool values = s->opt->task == LT_QSVM_REGRESS;
    const double x = values ? s->errors[t].r2 : a->mean.f1, y = values ? s->errors[than].r2 : b->mean.f1;
    if (x != y) return x > y;
    if (!values && a->mean.roc_auc != b->mean.roc_auc && !isnan(a->mean.roc_auc)) return a->mean.roc_auc > b->mean.roc_auc;
    return a->C < b->C;
}

static void combine(lt_search *s, int64_t t, const lt_qsvm_scores *score, const lt_qsvm_errors *error, const double *support)
{
    const int64_t n_folds = s->folds->n_folds, step = s->n_trials;
    lt_qsvm_trial *trial = &s->trials[t];
    if (s->opt->task == LT_QSVM_REGRESS) lt_errors_combine(error + t, n_folds, step, &s->errors[t], &s->errors_std[t]);
    else lt_scores_combine(score + t, n_folds, step, &trial->mean, &trial->std);
    trial->support_fraction = 0;
    for (int64_t i = 0; i < n_folds; i++) trial->support_fraction += support[i * step + t] / (double)n_folds;
}

lt_status lt_trials_run(lt_search *search)
{
    const lt_folds *folds = search->folds;
    const int64_t n_folds = folds->n_folds, n_trials = search->n_trials, cells = n_folds * n_trials;
    lt_qsvm_scores *score = lt_calloc((size_t)cells, sizeof *score);
    lt_qsvm_errors *error = lt_calloc((size_t)cells, sizeof *error);
    double *support = lt_calloc((size_t)(cells + n_trials * folds->n), sizeof *support), *decision = support + cells;
    lt_status s = score && error && support ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n_folds; i++) {
        const lt_fold *f = &folds->fold[i];
        fold_work w = { .search = search, .f = f, .score = score + i * n_trials, .error = error + i * n_trials, .support = support + i * n_trials, .held_out = decision,
                        .svm = lt_qsvm_problem(search->opt, search->solver, &f->targets, f->y, NULL, f->n_train) };
        s = run_fold(&w);
    }
    search->best = 0;
    for (int64_t t = 0; !s && t < n_trials; t++) {
        combine(search, t, score, error, support);
        if (better(search, t, search->best)) search->best = t;
    }
    if (!s && search->held_out) memcpy(search->held_out, decision + search->best * folds->n, (size_t)folds->n * sizeof *decision);
    lt_free(score);
    lt_free(error);
    lt_free(support);
    return s;
}
