/* The pipeline: prepare, choose a circuit, search C, kernel, fit; then the same with a Gaussian kernel.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/trace.h"
#include "qkernel/circuit/circuit.h"
#include "qkernel/svm/scores.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_QUBITS = 16 };

typedef struct fit {
    lt_qsvm       *q;
    const double  *x;       /* (n, n_features); the kernel itself where it was computed before */
    uint8_t       *y;       /* of two classes: the labels once more */
    lt_targets     targets;
    int64_t        n;
    double        *z;       /* (n, n_qubits), prepared; NULL: a kernel computed before */
    double        *work;    /* (n, n): a kernel the solver may change */
    double        *held_out; /* (n) */
    lt_folds       folds;
} fit;

lt_status lt_qsvm_step(const lt_qsvm *q, const char *step, int64_t done, int64_t total)
{
    if (q->opt.progress && !q->opt.progress(q->opt.progress_ctx, step, done, total))
        return LT_FAIL(LT_ERR_CANCELLED, "qsvm: stopped while %s", step);
    return LT_OK;
}

static lt_status count_qubits(const lt_qsvm *q, int64_t n_features, int64_t *out)
{
    int64_t asked = q->opt.circuit ? q->opt.circuit->n_features : q->opt.weights.data ? q->opt.weights.n_qubits : q->opt.n_qubits;
    if (q->opt.circuit && asked == 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the circuit has no features: its kernel would be the same for all rows");
    if (q->opt.circuit && q->opt.n_qubits && q->opt.n_qubits != asked)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld qubits asked for, but the circuit has %lld features, and rows are reduced to these",
                       (long long)q->opt.n_qubits, (long long)asked);
    if (q->opt.circuit && asked > n_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the circuit has %lld features, but rows have %lld", (long long)asked, (long long)n_features);
    *out = asked ? asked : LT_MIN(n_features, DEFAULT_QUBITS);
    if (*out > n_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld qubits, but rows have %lld features: one qubit per feature at most", (long long)*out, (long long)n_features);
    return LT_OK;
}

/* ---- one machine ---- */

static bool supports(const lt_machines *m, int64_t i)
{
    for (int64_t k = 0; k < m->width; k++)
        if (m->beta[i * m->width + k] != 0) return true;
    return false;
}

static lt_status make_decider(lt_decider *d, int64_t n_support, int64_t width, const lt_machines *m)
{
    *d = (lt_decider){ .n_support = n_support, .n_machines = m->n_machines, .width = m->width };
    const size_t rows = (size_t)LT_MAX(n_support, 1);
    d->support = lt_malloc(rows * (size_t)LT_MAX(width, 1) * sizeof *d->support);
    d->coefficient = lt_malloc(rows * (size_t)m->width * sizeof *d->coefficient);
    d->bias = lt_malloc((size_t)m->n_machines * sizeof *d->bias);
    d->row = lt_malloc(rows * sizeof *d->row);
    if (m->n_machines > 1) d->class_of = lt_malloc(rows * sizeof *d->class_of);
    if (m->sigmoid) d->sigmoid = lt_malloc(2 * (size_t)m->n_machines * sizeof *d->sigmoid);
    return d->support && d->coefficient && d->bias && d->row && (m->n_machines == 1 || d->class_of) && (!m->sigmoid || d->sigmoid) ? LT_OK : LT_ERR_MEMORY;
}

/* Keeps the support vectors only (decision 37). Centring only moves the bias: coefficients of a machine sum to zero, so of
   K - row mean - column means + mean the first and the last cancel. column_means are negated. */
static lt_status keep(fit *f, lt_qsvm_machine which, const lt_machines *m, double *column_means)
{
    lt_decider *d = &f->q->decider[which];
    const int64_t width = f->z ? f->q->prepare.n_outputs : 0;
    int64_t n_support = 0, at = 0;
    for (int64_t i = 0; i < f->n; i++) n_support += supports(m, i);
    LT_TRY(make_decider(d, n_support, width, m));
    memcpy(d->bias, m->bias, (size_t)m->n_machines * sizeof *d->bias);
    if (m->sigmoid) memcpy(d->sigmoid, m->sigmoid, 2 * (size_t)m->n_machines * sizeof *d->sigmoid);
    for (int64_t i = 0; i < f->n; i++) {
        if (!supports(m, i)) continue;
        if (f->z) memcpy(d->support + at * width, f->z + i * width, (size_t)width * sizeof(double));
        memcpy(d->coefficient + at * m->width, m->beta + i * m->width, (size_t)m->width * sizeof(double));
        if (d->class_of) d->class_of[at] = f->targets.label[i];
        d->row[at++] = i;
    }
    for (int64_t i = 0; column_means && i < f->n; i++) column_means[i] = -column_means[i];
    if (column_means) lt_voters_decide(&(lt_voters){ f->n, m->n_classes, m->width, m->beta, m->bias, m->n_machines > 1 ? f->targets.label : NULL }, column_means, d->bias);
    return LT_OK;
}

/* The machines on f->work, the kernel of all training rows, with their sigmoids where they are asked for. */
static lt_status fit_machines(fit *f, const lt_costs *costs, bool sigmoids, lt_machines *m)
{
    lt_qsvm *q = f->q;
    lt_pool *pool = lt_pool_shared();
    if (!pool) return LT_ERR_MEMORY;
    lt_svm svm = lt_qsvm_problem(&q->opt, q->solver, &f->targets, f->y, f->work, f->n);
    lt_status s = lt_machines_count(&f->targets) == 1 ? lt_svm_prepare(&svm) : LT_OK;
    if (!s) s = lt_machines_fit(&svm, &f->targets, costs, pool, m);
    if (!s && sigmoids) s = lt_machines_calibrate(&svm, &f->targets, costs, pool, (uint64_t)q->opt.seed, m);
    lt_svm_release(&svm);
    return s;
}

static void note_machines(fit *f, lt_qsvm_machine which, const lt_machines *m)
{
    lt_qsvm *q = f->q;
    lt_qsvm_fitted *to = &q->info.machine[which];
    to->solver = q->solver;
    to->objective = m->objective;
    to->bias = m->bias[0];
    to->iterations = m->iterations;
    to->converged = m->converged;
    for (int c = 0; c < 2; c++) to->n_support[c] = m->n_support[c];
    to->support_fraction = (double)(m->n_support[0] + m->n_support[1]) / (double)f->n;
    if (which == LT_QSVM_QUANTUM) q->info.n_supports = q->decider[which].n_support;
}

/* Fits on f->work with the C of machine `which` (decision 36). */
static lt_status solve(fit *f, lt_qsvm_machine which)
{
    lt_qsvm *q = f->q;
    const bool quantum = which == LT_QSVM_QUANTUM;
    lt_machines m = { 0 };
    double mean, *means = NULL, *cost = lt_calloc((size_t)LT_MAX(2, f->targets.n_classes), sizeof *cost);
    if (!cost) return LT_ERR_MEMORY;
    lt_costs costs = { &q->opt, q->info.machine[which].C };
    lt_costs_of(&costs, &f->targets, f->n, cost);
    for (int c = 0; c < 2; c++) q->info.machine[which].cost[c] = cost[f->targets.n_classes ? c : 0];
    lt_free(cost);
    if (q->opt.center) {
        means = lt_malloc((size_t)f->n * sizeof *means);
        if (!means) return LT_ERR_MEMORY;
        (void)lt_gram_center(f->work, f->n, means, &mean); /* its arguments are good */
    }
    lt_status s = fit_machines(f, &costs, quantum && q->opt.probability, &m);
    if (!s) s = keep(f, which, &m, means);
    if (!s) note_machines(f, which, &m);
    if (!s && quantum) {
        q->beta = m.beta;
        q->beta_width = m.width;
        m.beta = NULL;
    }
    lt_machines_release(&m);
    lt_free(means);
    return s;
}

/* C, gamma and threshold of machine `which`, by cross-validation or from the options. */
static lt_status search(fit *f, lt_qsvm_machine which, const lt_row_kernel *kernel, double gamma_scale)
{
    lt_qsvm *q = f->q;
    lt_qsvm_fitted *m = &q->info.machine[which];
    lt_qsvm_trial *trials = q->trials[which] = lt_calloc((size_t)q->opt.n_trials, sizeof *trials);
    if (!trials) return LT_ERR_MEMORY;
    lt_qsvm_errors *errors = q->trial_errors[which] = lt_calloc(2 * (size_t)q->opt.n_trials, sizeof *errors);
    if (!errors) return LT_ERR_MEMORY;
    lt_search search = { .folds = &f->folds, .opt = &q->opt, .solver = q->solver, .kernel = kernel, .K = f->z ? NULL : f->x, .trials = trials, .errors = errors,
                         .errors_std = errors + q->opt.n_trials, .held_out = f->held_out };
    search.n_trials = lt_trials_draw(&q->opt, which == LT_QSVM_RBF, gamma_scale, trials);
    if (q->opt.n_folds > 0) {
        q->n_trials[which] = search.n_trials;
        LT_TRY(lt_trials_run(&search));
    }
    const lt_qsvm_trial *best = &trials[search.best];
    *m = (lt_qsvm_fitted){ .C = best->C, .gamma = best->gamma, .best = *best };
    if (which == LT_QSVM_QUANTUM && q->opt.task == LT_QSVM_REGRESS && q->opt.n_folds > 0) {
        q->info.errors = errors[search.best];
        q->info.errors_std = search.errors_std[search.best];
    }
    if (q->opt.tune_threshold) m->threshold = lt_best_threshold(f->y, f->held_out, f->n);
    return LT_OK;
}

/* ---- the steps ---- */

/* Features as angles, with the weights of the circuit. */
static lt_status prepare_features(fit *f, int64_t n_features)
{
    lt_qsvm *q = f->q;
    int64_t n_qubits = 0;
    LT_TRY(count_qubits(q, n_features, &n_qubits));
    LT_TRY(lt_qsvm_has_circuit(&q->opt) ? lt_qsvm_make_circuit_weights(q, n_qubits) : lt_qsvm_make_weights(q, n_qubits));
    LT_TRY(lt_prepare_fit(f->x, f->n, n_features, n_qubits, q->opt.range != LT_QSVM_RANGE_NONE, &q->prepare));
    f->z = lt_malloc((size_t)(f->n * n_qubits) * sizeof *f->z);
    if (!f->z) return LT_ERR_MEMORY;
    lt_prepare_apply(&q->prepare, f->x, f->n, f->z);
    return LT_OK;
}

static lt_status prepare(fit *f, int64_t n_features)
{
    lt_qsvm *q = f->q;
    lt_span span = lt_trace_span_begin("qsvm prepare");
    LT_TRY(lt_qsvm_step(q, "preparing", 0, 1));
    if (q->opt.precomputed) q->prepare = (lt_prepare){ .n_features = n_features };
    else LT_TRY(prepare_features(f, n_features));
    f->work = lt_malloc((size_t)(f->n * f->n) * sizeof *f->work);
    f->held_out = lt_malloc((size_t)f->n * sizeof *f->held_out);
    q->K = lt_malloc((size_t)(f->n * f->n) * sizeof *q->K);
    if (!f->work || !f->held_out || !q->K) return LT_ERR_MEMORY;
    q->n_kernel = f->n;
    if (q->opt.n_folds > 0) LT_TRY(lt_folds_make(f->z ? f->x : NULL, &f->targets, f->n, &q->prepare, q->opt.n_folds, (uint64_t)q->opt.seed, &f->folds));
    lt_trace_span_end(span);
    return LT_OK;
}

static lt_status quantum_machine(fit *f)
{
    lt_qsvm *q = f->q;
    if (f->z) LT_TRY(lt_qsvm_make_gram(q, &q->circuit, &q->gram));
    lt_row_kernel kernel = lt_qsvm_row_kernel(q, q->gram);
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("qsvm search");
    LT_TRY(lt_qsvm_step(q, "searching C", 0, 1));
    LT_TRY(search(f, LT_QSVM_QUANTUM, &kernel, 0));
    lt_trace_span_end(span);
    q->info.search_seconds = lt_seconds_since(start);
    start = lt_clock_ns();
    if (f->z) LT_TRY(lt_row_kernel_fill(&kernel, f->z, f->n, NULL, 0, q->K));
    else memcpy(q->K, f->x, (size_t)(f->n * f->n) * sizeof *q->K);
    q->info.kernel_seconds = lt_seconds_since(start);
    if (f->z) q->gram_info = lt_gram_get_info(q->gram);
    LT_TRY(lt_qsvm_step(q, "fitting", 0, 1));
    start = lt_clock_ns();
    span = lt_trace_span_begin("qsvm fit");
    memcpy(f->work, q->K, (size_t)(f->n * f->n) * sizeof *f->work);
    LT_TRY(solve(f, LT_QSVM_QUANTUM));
    lt_trace_span_end(span);
    q->info.fit_seconds = lt_seconds_since(start);
    return LT_OK;
}

/* 1 / (features x variance) of the first fold's training rows. */
static double gamma_scale(const lt_folds *folds)
{
    const lt_fold *f = &folds->fold[0];
    int64_t count = f->n_train * folds->n_qubits;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count; i++) mean += f->z[i] / (double)count;
    for (int64_t i = 0; i < count; i++) variance += (f->z[i] - mean) * (f->z[i] - mean) / (double)count;
    return 1 / ((double)folds->n_qubits * (variance > 0 ? variance : 1));
}

static lt_status rbf_machine(fit *f)
{
    lt_qsvm *q = f->q;
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("qsvm rbf");
    lt_row_kernel kernel = { .n_qubits = q->prepare.n_outputs };
    LT_TRY(lt_qsvm_step(q, "comparing with a Gaussian kernel", 0, 1));
    LT_TRY(search(f, LT_QSVM_RBF, &kernel, gamma_scale(&f->folds)));
    kernel.gamma = q->info.machine[LT_QSVM_RBF].gamma;
    LT_TRY(lt_row_kernel_fill(&kernel, f->z, f->n, NULL, 0, f->work));
    LT_TRY(solve(f, LT_QSVM_RBF));
    q->info.has_rbf = true;
    lt_trace_span_end(span);
    q->info.rbf_seconds = lt_seconds_since(start);
    return LT_OK;
}

static lt_status diagnose(fit *f)
{
    lt_qsvm *q = f->q;
    int64_t start = lt_clock_ns();
    LT_TRY(lt_qsvm_step(q, "looking at the kernel", 0, 1));
    LT_TRY(lt_qsvm_diagnose(q->K, &f->targets, f->n, &q->diagnostics, &q->eigenvalues));
    q->n_eigenvalues = q->diagnostics.n_eigenvalues;
    double largest = 0;
    for (int64_t i = 0; f->z && i < f->n * q->prepare.n_outputs; i++) largest = fmax(largest, fabs(f->z[i]));
    q->diagnostics.largest_angle = largest * fabs(q->info.angle_scale) * lt_qsvm_range_factor(q->info.range);
    q->info.diagnose_seconds = lt_seconds_since(start);
    return LT_OK;
}

static void describe(lt_qsvm *q, int64_t n)
{
    lt_qsvm_info *i = &q->info;
    i->embed_mode = q->circuit.embed_mode;
    i->angle_scale = q->circuit.angle_scale;
    i->re_embed = q->circuit.re_embed;
    i->n_layers = q->circuit.n_layers;
    i->reduced = q->prepare.components != NULL;
    i->range = lt_qsvm_range_of(&q->opt, i->embed_mode);
    i->n = n;
    i->n_features = q->prepare.n_features;
    i->n_qubits = q->prepare.n_outputs;
    i->n_folds = q->opt.n_folds;
    i->circuit = q->circuit_text;
}

static lt_status run(fit *f, int64_t n_features)
{
    lt_qsvm *q = f->q;
    int64_t start = lt_clock_ns(), step = start;
    const lt_svm asked = lt_qsvm_problem(&q->opt, q->solver, &f->targets, f->y, NULL, f->n);
    LT_TRY(lt_svm_resolve_for(&asked, q->opt.solver, &q->solver));
    LT_TRY(prepare(f, n_features));
    q->info.prepare_seconds = lt_seconds_since(step);
    step = lt_clock_ns();
    if (q->opt.select) LT_TRY(lt_qsvm_choose_circuit(q, f->z, &f->targets, f->n, &f->folds));
    q->info.select_seconds = lt_seconds_since(step);
    describe(q, f->n);
    LT_TRY(quantum_machine(f));
    LT_TRY(diagnose(f));
    if (q->opt.compare_rbf) LT_TRY(rbf_machine(f));
    lt_qsvm_advise(q);
    LT_TRY(lt_qsvm_step(q, "done", 1, 1));
    q->info.total_seconds = lt_seconds_since(start);
    q->fitted = true;
    return LT_OK;
}

static lt_status check_rows(lt_qsvm *q, const fit *f, int64_t columns)
{
    LT_TRY(lt_qsvm_check_targets(q, &f->targets, f->n));
    return q->opt.precomputed ? lt_qsvm_check_kernel(f->x, f->n, columns) : lt_qsvm_check_features(q, f->x, f->n, columns);
}

lt_status lt_qsvm_fit_targets(lt_qsvm *q, const lt_rows *x, const lt_qsvm_targets *targets)
{
    if (!q || !x) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle or X is NULL");
    lt_qsvm_targets own = { .size = sizeof own };
    double *rows;
    lt_qsvm_forget(q);
    lt_qsvm_begin_info(q);
    LT_TRY(LT_TAKE(lt_qsvm_targets, targets, &own));
    if (!q->opt.precomputed && !lt_qsvm_names_fit(q->opt.feature_names, x->columns))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: feature_names are not %lld lines of text, one for each column of X", (long long)x->columns);
    LT_TRY(lt_prepare_rows(q->opt.precomputed ? "the kernel" : "X", x, x->columns, &rows));
    fit f = { .q = q, .x = rows, .n = x->n,
              .targets = { q->opt.task, lt_qsvm_count_classes(&q->opt), q->opt.task == LT_QSVM_CLASSIFY ? own.label : NULL,
                           q->opt.task == LT_QSVM_REGRESS ? own.value : NULL, own.weight } };
    lt_span span = lt_trace_span_begin("qsvm");
    lt_status s = (f.y = lt_calloc((size_t)LT_MAX(1, x->n), 1)) ? LT_OK : LT_ERR_MEMORY;
    if (!s) s = check_rows(q, &f, x->columns);
    for (int64_t i = 0; !s && f.targets.label && i < f.n; i++) f.y[i] = f.targets.label[i] == 1;
    if (!s) s = run(&f, x->columns);
    lt_trace_span_end(span);
    lt_folds_release(&f.folds);
    lt_free(f.y);
    lt_free(f.z);
    lt_free(f.work);
    lt_free(f.held_out);
    lt_free(rows);
    if (s) lt_qsvm_forget(q);
    return s;
}

lt_status lt_qsvm_fit(lt_qsvm *q, const lt_rows *x, const uint8_t *y)
{
    if (!q || !x) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle or X is NULL");
    const int64_t n = LT_MAX(0, x->n);
    int32_t *label = y ? lt_malloc((size_t)(n + 1) * sizeof *label) : NULL;
    if (y && !label) return LT_ERR_MEMORY;
    for (int64_t i = 0; y && i < n; i++) label[i] = y[i];
    lt_status s = lt_qsvm_fit_targets(q, x, &(lt_qsvm_targets){ .size = sizeof(lt_qsvm_targets), .label = label });
    lt_free(label);
    return s;
}
