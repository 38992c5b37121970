/* The handle: options checked, weights drawn, parts taken down. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "lathe/rng.h"
#include "qkernel/svm/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- creation ---- */

/* Each value as text back through its row: the table holds the only copy of the ranges. */
static lt_status check_rows(const lt_qsvm_options *opt)
{
    const lt_option_table *t = lt_qsvm_options_table();
    lt_qsvm_options copy = *opt;
    for (int i = 0; i < t->groups[0].n_rows; i++) {
        char value[64];
        const char *name = t->groups[0].rows[i].name;
        if (!strcmp(name, "c") && opt->C == 0) continue; /* 0 stands for a search, which no text does */
        LT_TRY(lt_options_get(t, name, opt, value, sizeof value));
        LT_TRY(lt_options_set(t, name, value, &copy));
    }
    return LT_OK;
}

static lt_status check_weights(const lt_qsvm_options *opt)
{
    const lt_weights *w = &opt->weights;
    if (!w->data) return LT_OK;
    if (w->n_layers < 1 || w->n_qubits < 1 || w->n_layers > 1 << 20 || w->n_qubits > 1 << 20)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: weights of %lld layers and %lld qubits, expected at least one of each", (long long)w->n_layers,
                       (long long)w->n_qubits);
    if (opt->n_qubits && opt->n_qubits != w->n_qubits)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld qubits asked for, but the weights are for %lld", (long long)opt->n_qubits, (long long)w->n_qubits);
    if (opt->n_layers > w->n_layers)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld layers asked for, but the weights have only %lld", (long long)opt->n_layers, (long long)w->n_layers);
    return LT_OK;
}

/* gram: opt->gram, whole. */
static lt_status check_options(const lt_qsvm_options *opt, const lt_gram_options *gram)
{
    LT_TRY(check_rows(opt));
    LT_TRY(check_weights(opt));
    if (gram->packed) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: packed kernels are of no use here: the machine reads the whole matrix");
    if (gram->return_dtype != LT_GRAM_FLOAT64) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: return_dtype must be float64: the machine works in double");
    if (gram->profile_memory) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: many kernels are computed here, and profile_memory is about one: use it with lathe gram");
    if (opt->C_low > opt->C_high) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the search of C runs from %g to %g, expected from low to high", opt->C_low, opt->C_high);
    if (isinf(opt->C_high / opt->C_low))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the search of C runs from %g to %g, expected ends whose ratio is a number", opt->C_low, opt->C_high);
    if (opt->n_folds == 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: 1 fold leaves no rows to train on, expected at least 2, or 0 for no cross-validation");
    if (opt->task == LT_QSVM_ONE_CLASS) return LT_OK; /* no search and no folds */
    if (opt->n_folds == 0 && opt->C == 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: without folds there is no search: give C");
    if (opt->n_folds == 0 && (opt->select || opt->tune_threshold || opt->compare_rbf))
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: select, tune_threshold and compare_rbf need folds");
    return LT_OK;
}

bool lt_qsvm_names_fit(const char *names, int64_t n_features)
{
    int64_t lines = 1;
    if (!names) return true;
    for (const unsigned char *c = (const unsigned char *)names; *c; c++) {
        if ((*c < 0x20 && *c != '\n') || *c == 0x7f) return false;
        lines += *c == '\n';
    }
    return lines == n_features;
}

void lt_qsvm_begin_info(lt_qsvm *q)
{
    lt_qsvm_info fresh = { .size = sizeof fresh, .feature_names = q->opt.feature_names, .diagnostics = &q->diagnostics, .gram = &q->gram_info };
    memcpy(fresh.class_name, q->info.class_name, sizeof fresh.class_name);
    fresh.task = q->opt.task;
    fresh.n_classes = lt_qsvm_count_classes(&q->opt);
    fresh.n_machines = lt_machines_count(&(lt_targets){ .task = fresh.task, .n_classes = fresh.n_classes });
    fresh.class_names = (const char (*)[LT_QSVM_CLASS_NAME])q->class_names;
    fresh.class_counts = q->class_counts;
    fresh.epsilon = q->opt.epsilon;
    fresh.nu = q->opt.nu;
    fresh.probability = q->opt.probability;
    fresh.precomputed = q->opt.precomputed;
    fresh.errors = fresh.errors_std = lt_errors_unknown();
    q->info = fresh;
    q->diagnostics = (lt_qsvm_diagnostics){ .size = sizeof(lt_qsvm_diagnostics) };
    q->gram_info = (lt_gram_info){ .size = sizeof(lt_gram_info) };
}

lt_status lt_qsvm_create(lt_device *dev, const lt_qsvm_options *opt, lt_qsvm **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: out is NULL");
    *out = NULL;
    lt_qsvm_options own = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_svm_solver solver;
    LT_TRY(LT_TAKE(lt_qsvm_options, opt, &own));
    LT_TRY(LT_TAKE(lt_gram_options, own.gram, &gram));
    LT_TRY(check_options(&own, &gram));
    LT_TRY(lt_svm_resolve(own.solver, own.max_iterations, &solver));
    if (!dev) LT_TRY(lt_default_device(&dev));
    lt_qsvm *q = lt_calloc(1, sizeof *q);
    if (!q) return LT_ERR_MEMORY;
    q->dev = dev;
    q->solver = solver;
    lt_status s = lt_qsvm_copy_options(q, &own, &gram);
    lt_qsvm_begin_info(q);
    if (s) lt_qsvm_destroy(q);
    else *out = q;
    return s;
}

void lt_qsvm_forget(lt_qsvm *q)
{
    for (int m = 0; m < LT_QSVM_MACHINE_COUNT; m++) {
        lt_free(q->decider[m].support);
        lt_free(q->decider[m].coefficient);
        lt_free(q->decider[m].bias);
        lt_free(q->decider[m].sigmoid);
        lt_free(q->decider[m].class_of);
        lt_free(q->decider[m].row);
        lt_free(q->trials[m]);
        lt_free(q->trial_errors[m]);
        q->decider[m] = (lt_decider){ 0 };
        q->trials[m] = NULL;
        q->trial_errors[m] = NULL;
        q->n_trials[m] = 0;
    }
    double **numbers[] = { &q->weights, &q->K, &q->eigenvalues, &q->beta };
    for (size_t i = 0; i < LT_LEN(numbers); i++) {
        lt_free(*numbers[i]);
        *numbers[i] = NULL;
    }
    lt_free(q->candidates);
    q->candidates = NULL;
    q->n_candidates = q->n_kernel = q->n_eigenvalues = 0;
    lt_prepare_release(&q->prepare);
    lt_gram_destroy(q->gram);
    q->gram = NULL;
    q->fitted = false;
}

void lt_qsvm_destroy(lt_qsvm *q)
{
    if (!q) return;
    lt_qsvm_forget(q);
    lt_qsvm_free_options(q);
    lt_free(q);
}

/* ---- circuits ---- */

lt_qsvm_range lt_qsvm_range_of(const lt_qsvm_options *opt, lt_embed embed)
{
    if (opt->range != LT_QSVM_RANGE_AUTO) return opt->range;
    return embed == LT_EMBED_ANGLE ? LT_QSVM_RANGE_PI : LT_QSVM_RANGE_UNIT;
}

double lt_qsvm_range_factor(lt_qsvm_range r) { return r == LT_QSVM_RANGE_PI ? pi : 1; }

/* A large kernel takes long enough to be asked about. */
static bool forward_progress(void *ctx, const lt_gram_progress *p)
{
    const lt_qsvm_options *opt = ctx;
    return !opt->progress || opt->progress(opt->progress_ctx, "computing a kernel", p->pairs_done, p->pairs_total);
}

lt_status lt_qsvm_make_gram(lt_qsvm *q, const lt_qsvm_candidate *c, lt_gram **out)
{
    lt_gram_options opt = q->gram_options;
    opt.progress = forward_progress;
    opt.progress_ctx = &q->opt;
    if (lt_qsvm_has_circuit(&q->opt)) return lt_qsvm_make_circuit_gram(q, &opt, out);
    opt.embed_mode = c->embed_mode;
    opt.angle_scale = c->angle_scale * lt_qsvm_range_factor(lt_qsvm_range_of(&q->opt, c->embed_mode));
    opt.re_embed_between_layers = c->re_embed;
    return lt_gram_create(q->dev, &opt, &(lt_weights){ q->weights, c->n_layers, q->prepare.n_outputs }, out);
}

lt_row_kernel lt_qsvm_row_kernel(const lt_qsvm *q, lt_gram *gram)
{
    return (lt_row_kernel){ .gram = gram, .n_qubits = q->prepare.n_outputs, .jitter = q->gram_options.normalize ? q->gram_options.jitter : 0 };
}

lt_status lt_qsvm_make_weights(lt_qsvm *q, int64_t n_qubits)
{
    const lt_weights *given = &q->opt.weights;
    enum { SELECTABLE_LAYERS = 3 };
    int64_t layers = q->opt.n_layers ? q->opt.n_layers : given->data ? given->n_layers : 2;
    int64_t per_wire = q->gram_options.entangler == LT_ENTANGLER_STRONG ? 3 : 1;
    q->circuit = (lt_qsvm_candidate){ .embed_mode = q->gram_options.embed_mode, .angle_scale = q->gram_options.angle_scale, .n_layers = layers,
                                      .re_embed = q->gram_options.re_embed_between_layers };
    q->n_weight_layers = given->data ? given->n_layers : q->opt.select ? LT_MAX(layers, SELECTABLE_LAYERS) : layers;
    int64_t n = q->n_weight_layers * n_qubits * per_wire;
    q->weights = lt_malloc((size_t)n * sizeof *q->weights);
    if (!q->weights) return LT_ERR_MEMORY;
    if (given->data) {
        memcpy(q->weights, given->data, (size_t)n * sizeof *q->weights);
        return LT_OK;
    }
    lt_draws stream = lt_draws_make((uint64_t)q->opt.seed, "qsvm weights", 0, 0, 0);
    LT_TRY(lt_draws_normal_f64(&stream, 0, n, q->weights));
    for (int64_t i = 0; i < n; i++) q->weights[i] *= q->opt.weight_std;
    return LT_OK;
}

/* ---- what a fit found ---- */

const lt_qsvm_info *lt_qsvm_get_info(const lt_qsvm *q) { return q && q->fitted ? &q->info : NULL; }

static const double *numbers(const double *v, int64_t count, int64_t *n)
{
    if (n) *n = v ? count : 0;
    return v;
}

const double *lt_qsvm_kernel(const lt_qsvm *q, int64_t *n) { return numbers(q->K, q->n_kernel, n); }
const double *lt_qsvm_eigenvalues(const lt_qsvm *q, int64_t *n) { return numbers(q->eigenvalues, q->n_eigenvalues, n); }
const double *lt_qsvm_coefficients(const lt_qsvm *q, int64_t *n) { return numbers(q->beta_width == 1 ? q->beta : NULL, q->n_kernel, n); }

const double *lt_qsvm_dual(const lt_qsvm *q, int64_t *n, int64_t *columns)
{
    if (columns) *columns = q->beta ? q->beta_width : 0;
    return numbers(q->beta, q->n_kernel, n);
}

const double *lt_qsvm_biases(const lt_qsvm *q, int64_t *n) { return numbers(q->decider[LT_QSVM_QUANTUM].bias, q->decider[LT_QSVM_QUANTUM].n_machines, n); }

const lt_qsvm_errors *lt_qsvm_trial_errors(const lt_qsvm *q, lt_qsvm_machine which, int64_t *n)
{
    bool known = (unsigned)which < LT_QSVM_MACHINE_COUNT && q->opt.task == LT_QSVM_REGRESS && q->n_trials[which] > 0;
    if (n) *n = known ? q->n_trials[which] : 0;
    return known ? q->trial_errors[which] : NULL;
}

const double *lt_qsvm_components(const lt_qsvm *q, int64_t *n_qubits, int64_t *n_features)
{
    if (n_features) *n_features = q->prepare.components ? q->prepare.n_features : 0;
    return numbers(q->prepare.components, q->prepare.n_outputs, n_qubits);
}

const lt_qsvm_trial *lt_qsvm_trials(const lt_qsvm *q, lt_qsvm_machine which, int64_t *n)
{
    bool known = (unsigned)which < LT_QSVM_MACHINE_COUNT;
    if (n) *n = known ? q->n_trials[which] : 0;
    return known ? q->trials[which] : NULL;
}

const lt_qsvm_candidate *lt_qsvm_candidates(const lt_qsvm *q, int64_t *n)
{
    if (n) *n = q->n_candidates;
    return q->candidates;
}
