/* The pipeline: prepare, choose a circuit, search C, kernel, fit; then the same with a Gaussian kernel; and decisions
   on new rows. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/trace.h"
#include "qkernel/svm/scores.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_QUBITS = 16 };

typedef struct fit {
    lt_qsvm       *q;
    const double  *x;       /* (n, n_features) */
    const uint8_t *y;
    int64_t        n;
    double        *z;       /* (n, n_qubits), prepared */
    double        *work;    /* (n, n): a kernel the solver may change */
    double        *held_out; /* (n) */
    lt_folds       folds;
} fit;

static double since(int64_t start_ns) { return 1e-9 * (double)(lt_clock_ns() - start_ns); }

lt_status lt_qsvm_step(const lt_qsvm *q, const char *step, int64_t done, int64_t total)
{
    if (q->opt.progress && !q->opt.progress(q->opt.progress_ctx, step, done, total))
        return LT_FAIL(LT_ERR_CANCELLED, "qsvm: stopped while %s", step);
    return LT_OK;
}

/* ---- input ---- */

static lt_status check_labels(lt_qsvm *q, const uint8_t *y, int64_t n)
{
    int64_t *count = q->info.n_class;
    count[0] = count[1] = 0;
    if (!y) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: no labels");
    for (int64_t i = 0; i < n; i++) {
        if (y[i] > 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the label of row %lld is %d, expected 0 or 1", (long long)i, y[i]);
        count[y[i]]++;
    }
    for (int c = 0; c < 2; c++) {
        if (count[c] == 0)
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: all %lld training labels are '%s': a machine needs rows of two classes", (long long)n, q->info.class_name[1 - c]);
        if (count[c] < q->opt.n_folds)
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: class '%s' has %lld training rows, too few for %lld folds", q->info.class_name[c],
                           (long long)count[c], (long long)q->opt.n_folds);
    }
    return LT_OK;
}

static lt_status count_qubits(const lt_qsvm *q, int64_t n_features, int64_t *out)
{
    int64_t asked = q->opt.weights.data ? q->opt.weights.n_qubits : q->opt.n_qubits;
    *out = asked ? asked : LT_MIN(n_features, DEFAULT_QUBITS);
    if (*out > n_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld qubits, but rows have %lld features: one qubit per feature at most", (long long)*out, (long long)n_features);
    return LT_OK;
}

/* ---- one machine ---- */

/* Keeps the support vectors only (decision 37). Centring only moves the bias: coefficients sum to zero, so of
   K - row mean - column means + mean the first and the last cancel. */
static lt_status keep(fit *f, lt_qsvm_machine which, const double *beta, double bias, const double *column_means)
{
    lt_decider *d = &f->q->decider[which];
    int64_t width = f->q->prepare.n_outputs;
    for (int64_t i = 0; i < f->n; i++) d->n_support += beta[i] != 0;
    d->support = lt_malloc((size_t)LT_MAX(d->n_support * width, 1) * sizeof(double));
    d->coefficient = lt_malloc((size_t)LT_MAX(d->n_support, 1) * sizeof(double));
    if (!d->support || !d->coefficient) return LT_ERR_MEMORY;
    d->bias = bias;
    int64_t at = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (beta[i] == 0) continue;
        memcpy(d->support + at * width, f->z + i * width, (size_t)width * sizeof(double));
        d->coefficient[at++] = beta[i];
        if (column_means) d->bias -= beta[i] * column_means[i];
    }
    return LT_OK;
}

/* Fits on f->work, the kernel of all training rows, with the C of machine `which` (decision 36). */
static lt_status solve(fit *f, lt_qsvm_machine which, double *beta)
{
    lt_qsvm *q = f->q;
    lt_qsvm_fitted *m = &q->info.machine[which];
    double mean, *means = NULL;
    if (q->opt.center) {
        means = lt_malloc((size_t)f->n * sizeof *means);
        if (!means) return LT_ERR_MEMORY;
        (void)lt_gram_center(f->work, f->n, means, &mean); /* its arguments are good */
    }
    lt_svm svm = { .K = f->work, .y = f->y, .n = f->n, .solver = q->solver, .tolerance = q->opt.tolerance, .max_iterations = q->opt.max_iterations };
    lt_svm_result r;
    lt_class_costs(&q->opt, m->C, f->y, f->n, m->cost);
    lt_status s = lt_svm_prepare(&svm);
    if (!s) s = lt_svm_fit(&svm, m->cost, beta, &r);
    if (!s) s = keep(f, which, beta, r.bias, means);
    lt_svm_release(&svm);
    lt_free(means);
    if (s) return s;
    m->solver = q->solver;
    m->objective = r.objective;
    m->bias = r.bias;
    m->iterations = r.iterations;
    m->converged = r.converged;
    for (int c = 0; c < 2; c++) m->n_support[c] = r.n_support[c];
    m->support_fraction = (double)(r.n_support[0] + r.n_support[1]) / (double)f->n;
    return LT_OK;
}

/* C, gamma and threshold of machine `which`, by cross-validation or from the options. */
static lt_status search(fit *f, lt_qsvm_machine which, const lt_row_kernel *kernel, double gamma_scale)
{
    lt_qsvm *q = f->q;
    lt_qsvm_fitted *m = &q->info.machine[which];
    lt_qsvm_trial *trials = q->trials[which] = lt_calloc((size_t)q->opt.n_trials, sizeof *trials);
    if (!trials) return LT_ERR_MEMORY;
    int64_t best = 0, n = lt_trials_draw(&q->opt, which == LT_QSVM_RBF, gamma_scale, trials);
    if (q->opt.n_folds > 0) {
        q->n_trials[which] = n;
        LT_TRY(lt_trials_run(&f->folds, &q->opt, q->solver, kernel, n, trials, f->held_out, &best));
    }
    *m = (lt_qsvm_fitted){ .C = trials[best].C, .gamma = trials[best].gamma, .best = trials[best] };
    if (q->opt.tune_threshold) m->threshold = lt_best_threshold(f->y, f->held_out, f->n);
    return LT_OK;
}

/* ---- the steps ---- */

static lt_status prepare(fit *f, int64_t n_features)
{
    lt_qsvm *q = f->q;
    int64_t n_qubits;
    lt_span span = lt_trace_span_begin("qsvm prepare");
    LT_TRY(lt_qsvm_step(q, "preparing", 0, 1));
    LT_TRY(count_qubits(q, n_features, &n_qubits));
    LT_TRY(lt_qsvm_make_weights(q, n_qubits));
    bool scales = q->opt.range != LT_QSVM_RANGE_NONE;
    LT_TRY(lt_prepare_fit(f->x, f->n, n_features, n_qubits, scales, &q->prepare));
    f->z = lt_malloc((size_t)(f->n * n_qubits) * sizeof *f->z);
    f->work = lt_malloc((size_t)(f->n * f->n) * sizeof *f->work);
    f->held_out = lt_malloc((size_t)f->n * sizeof *f->held_out);
    q->K = lt_malloc((size_t)(f->n * f->n) * sizeof *q->K);
    q->beta = lt_malloc((size_t)f->n * sizeof *q->beta);
    if (!f->z || !f->work || !f->held_out || !q->K || !q->beta) return LT_ERR_MEMORY;
    q->n_kernel = f->n;
    lt_prepare_apply(&q->prepare, f->x, f->n, f->z);
    if (q->opt.n_folds > 0) LT_TRY(lt_folds_make(f->x, f->y, f->n, &q->prepare, q->opt.n_folds, (uint64_t)q->opt.seed, &f->folds));
    lt_trace_span_end(span);
    return LT_OK;
}

static lt_status quantum_machine(fit *f)
{
    lt_qsvm *q = f->q;
    LT_TRY(lt_qsvm_make_gram(q, &q->circuit, &q->gram));
    lt_row_kernel kernel = lt_qsvm_row_kernel(q, q->gram);
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("qsvm search");
    LT_TRY(lt_qsvm_step(q, "searching C", 0, 1));
    LT_TRY(search(f, LT_QSVM_QUANTUM, &kernel, 0));
    lt_trace_span_end(span);
    q->info.search_seconds = since(start);
    start = lt_clock_ns();
    LT_TRY(lt_row_kernel_fill(&kernel, f->z, f->n, NULL, 0, q->K));
    q->info.kernel_seconds = since(start);
    q->gram_info = lt_gram_get_info(q->gram);
    LT_TRY(lt_qsvm_step(q, "fitting", 0, 1));
    start = lt_clock_ns();
    span = lt_trace_span_begin("qsvm fit");
    memcpy(f->work, q->K, (size_t)(f->n * f->n) * sizeof *f->work);
    LT_TRY(solve(f, LT_QSVM_QUANTUM, q->beta));
    lt_trace_span_end(span);
    q->info.fit_seconds = since(start);
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
    LT_TRY(solve(f, LT_QSVM_RBF, f->held_out));
    q->info.has_rbf = true;
    lt_trace_span_end(span);
    q->info.rbf_seconds = since(start);
    return LT_OK;
}

static lt_status diagnose(fit *f)
{
    lt_qsvm *q = f->q;
    int64_t start = lt_clock_ns();
    LT_TRY(lt_qsvm_step(q, "looking at the kernel", 0, 1));
    LT_TRY(lt_qsvm_diagnose(q->K, f->y, f->n, &q->diagnostics, &q->eigenvalues));
    q->n_eigenvalues = q->diagnostics.n_eigenvalues;
    double largest = 0;
    for (int64_t i = 0; i < f->n * q->prepare.n_outputs; i++) largest = fmax(largest, fabs(f->z[i]));
    q->diagnostics.largest_angle = largest * fabs(q->info.angle_scale) * lt_qsvm_range_factor(q->info.range);
    q->info.diagnose_seconds = since(start);
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
}

static lt_status run(fit *f, int64_t n_features)
{
    lt_qsvm *q = f->q;
    int64_t start = lt_clock_ns(), step = start;
    LT_TRY(prepare(f, n_features));
    q->info.prepare_seconds = since(step);
    step = lt_clock_ns();
    if (q->opt.select) LT_TRY(lt_qsvm_choose_circuit(q, f->z, f->y, f->n, &f->folds));
    q->info.select_seconds = since(step);
    describe(q, f->n);
    LT_TRY(quantum_machine(f));
    LT_TRY(diagnose(f));
    if (q->opt.compare_rbf) LT_TRY(rbf_machine(f));
    lt_qsvm_advise(q);
    LT_TRY(lt_qsvm_step(q, "done", 1, 1));
    q->info.total_seconds = since(start);
    q->fitted = true;
    return LT_OK;
}

lt_status lt_qsvm_fit(lt_qsvm *q, const lt_rows *x, const uint8_t *y)
{
    if (!q || !x) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle or X is NULL");
    double *rows;
    lt_qsvm_forget(q);
    lt_qsvm_begin_info(q);
    if (!lt_qsvm_names_fit(q->opt.feature_names, x->columns))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: feature_names are not %lld lines of text, one for each column of X", (long long)x->columns);
    LT_TRY(lt_prepare_rows("X", x, x->columns, &rows));
    fit f = { .q = q, .x = rows, .y = y, .n = x->n };
    lt_span span = lt_trace_span_begin("qsvm");
    lt_status s = check_labels(q, y, x->n);
    if (!s) s = lt_qsvm_check_features(q, rows, x->n, x->columns);
    if (!s) s = run(&f, x->columns);
    lt_trace_span_end(span);
    lt_folds_release(&f.folds);
    lt_free(f.z);
    lt_free(f.work);
    lt_free(f.held_out);
    lt_free(rows);
    if (s) lt_qsvm_forget(q);
    return s;
}

/* ---- new rows ---- */

/* n rows of features; z: (n, qubits + support vectors) numbers of workspace. */
static lt_status decide_block(const lt_qsvm *q, const lt_decider *d, const lt_row_kernel *kernel, const double *x, int64_t n, double *z, double *decision)
{
    double *K = z + n * q->prepare.n_outputs;
    lt_prepare_apply(&q->prepare, x, n, z);
    if (d->n_support > 0) LT_TRY(lt_row_kernel_fill(kernel, z, n, d->support, d->n_support, K));
    for (int64_t i = 0; i < n; i++) {
        decision[i] = d->bias;
        for (int64_t j = 0; j < d->n_support; j++) decision[i] += d->coefficient[j] * K[i * d->n_support + j];
    }
    return LT_OK;
}

lt_status lt_qsvm_decide(lt_qsvm *q, lt_qsvm_machine which, const lt_rows *x, double *decision)
{
    enum { BLOCK = 4096 }; /* rows at a time: the cross kernel of all would not fit for long */
    if (!q || !x || !decision) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the handle, X or the output is NULL");
    if (!q->fitted) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the machine has not been trained");
    if ((unsigned)which >= LT_QSVM_MACHINE_COUNT || (which == LT_QSVM_RBF && !q->info.has_rbf))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: there is no such machine; compare_rbf makes the Gaussian one");
    const lt_decider *d = &q->decider[which];
    double *rows;
    LT_TRY(lt_prepare_rows("X", x, q->prepare.n_features, &rows));
    double *z = lt_malloc((size_t)(LT_MIN(x->n, BLOCK) * (q->prepare.n_outputs + d->n_support)) * sizeof *z);
    lt_row_kernel kernel = lt_qsvm_row_kernel(q, which == LT_QSVM_QUANTUM ? q->gram : NULL);
    kernel.gamma = q->info.machine[which].gamma;
    lt_status s = z ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < x->n; i += BLOCK)
        s = decide_block(q, d, &kernel, rows + i * x->columns, LT_MIN(BLOCK, x->n - i), z, decision + i);
    lt_free(z);
    lt_free(rows);
    return s;
}
