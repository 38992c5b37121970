/* Sentences about a fit: why it is poor, and what to try. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(lt_qsvm_info *i, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(lt_qsvm_info *i, const char *format, ...)
{
    if (i->n_advice >= LT_QSVM_MAX_ADVICE) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(i->advice[i->n_advice++], sizeof i->advice[0], format, ap);
    va_end(ap);
}

/* ---- features ---- */

/* The first few of the features that are marked: by name where they have one, else by number. */
static void list_features(const char *names, const bool *marked, int64_t n, char *text, size_t bytes)
{
    enum { SHOWN = 6 };
    size_t used = 0;
    int shown = 0;
    text[0] = 0;
    for (int64_t k = 0; k < n && shown < SHOWN && used < bytes; k++) {
        int length = names ? (int)strcspn(names, "\n") : 0;
        if (marked[k] && names) used += (size_t)snprintf(text + used, bytes - used, "%s'%.*s'", shown ? ", " : "", LT_MIN(length, 30), names);
        else if (marked[k]) used += (size_t)snprintf(text + used, bytes - used, "%s%lld", shown ? ", " : "", (long long)k);
        shown += marked[k];
        if (names) names += length + (names[length] == '\n');
    }
}

static void about_features(lt_qsvm *q, const bool *constant, int64_t count, int64_t n_features)
{
    char list[256];
    list_features(q->opt.feature_names, constant, n_features, list, sizeof list);
    say(&q->info, "%lld of %lld features never change in the training rows and tell nothing: %s%s%s", (long long)count, (long long)n_features,
        q->opt.feature_names ? "" : "columns (counted from 0) ", list, count > 6 ? ", ..." : "");
}

lt_status lt_qsvm_check_features(lt_qsvm *q, const double *x, int64_t n, int64_t n_features)
{
    bool *constant = lt_malloc((size_t)n_features * sizeof *constant);
    if (!constant) return LT_ERR_MEMORY;
    int64_t count = lt_prepare_find_constant(x, n, n_features, constant);
    if (count > 0) about_features(q, constant, count, n_features);
    lt_free(constant);
    if (count < n_features) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: all %lld training rows have the same features: there is nothing to learn from", (long long)n);
}

/* ---- kernel and machine ---- */

/* What sets how far rows lie apart, as the one who runs it would change it. */
static const char *spread_name(const lt_qsvm_info *i, char text[64])
{
    if (i->precomputed) return "the angles of the kernel";
    if (i->circuit) return "the scale of the features (--range)";
    snprintf(text, 64, "--angle-scale (now %g)", i->angle_scale);
    return text;
}

static bool rows_look_alike(const lt_qsvm_diagnostics *d) { return d->off_diagonal.mean > 0.9 && d->off_diagonal.std < 0.02; }

/* Kernels for which all rows are alike, and kernels for which no two rows are. */
static void about_kernel(lt_qsvm_info *i)
{
    char text[64];
    const char *spread = spread_name(i, text);
    const lt_qsvm_diagnostics *d = i->diagnostics;
    double mean = d->off_diagonal.mean, std = d->off_diagonal.std;
    if (rows_look_alike(d)) {
        if (d->largest_angle < 0.5 && !i->circuit && !i->precomputed)
            say(i, "the kernel has collapsed: entries are %.4f +- %.4f because angles stay below %.2g rad; raise --angle-scale (now %g). "
                "Depth does not cause this", mean, std, d->largest_angle, i->angle_scale);
        else
            say(i, "the kernel has collapsed: entries are %.4f +- %.4f, every row looks like every other; raise %s or "
                "look for rows far outside that squeeze the others when scaled", mean, std, spread);
    } else if (d->n_eigenvalues > 2 && d->effective_rank > 0.8 * (double)d->n_eigenvalues) {
        say(i, "nearly all rows are orthogonal: entries are %.2g +- %.2g, effective rank %.0f of %lld; the machine can only memorise. "
            "Lower %s or the number of qubits", mean, std, d->effective_rank, (long long)d->n_eigenvalues, spread);
    }
    if (d->alignment < 0.05)
        say(i, "the kernel hardly knows the %s: alignment %.3f; try %sanother %s or more qubits", i->task == LT_QSVM_REGRESS ? "values" : "labels", d->alignment,
            i->circuit || i->precomputed || i->task != LT_QSVM_CLASSIFY ? "" : "--select, ", i->circuit ? "map" : "embedding");
    if (d->negative_mass > 1e-6)
        say(i, "%.2g of the kernel's spectrum is negative: single precision or a damaged matrix; use --dtype float64", d->negative_mass);
    if (i->precomputed) return;
    if (i->gram->repaired > 0) say(i, "%lld entries of the kernel were not finite and were replaced: find out why", (long long)i->gram->repaired);
    if (i->gram->note[0]) say(i, "%s", i->gram->note);
}

static void about_support(lt_qsvm_info *i, double fraction)
{
    char text[64];
    if (rows_look_alike(i->diagnostics))
        say(i, "%.0f %% of the rows are support vectors: with so little spread in the kernel C regularises far too strongly; raise %s, or take a much larger C", 100 * fraction, spread_name(i, text));
    else say(i, "%.0f %% of the rows are support vectors: C is small for this kernel, or the labels cannot be told from these features", 100 * fraction);
}

static void about_machine(lt_qsvm *q)
{
    lt_qsvm_info *i = &q->info;
    const lt_qsvm_fitted *m = &i->machine[LT_QSVM_QUANTUM];
    const lt_qsvm_options *o = &q->opt;
    bool searched = !(o->C > 0);
    if (!m->converged)
        say(i, "the solver stopped after %lld iterations without meeting the tolerance %g: raise --max-iterations or --tolerance",
            (long long)m->iterations, o->tolerance);
    if (m->solver == LT_SVM_LIBSVM && i->diagnostics->off_diagonal.std < 1e-5)
        say(i, "entries of the kernel differ by %.1g only, and LIBSVM keeps them in single precision: use --solver smo", i->diagnostics->off_diagonal.std);
    if (m->support_fraction > 0.9 && i->task != LT_QSVM_ONE_CLASS) about_support(i, m->support_fraction);
    if (searched && i->n_folds > 0 && o->n_trials > 2) { /* one of two is always near an end */
        double cell = pow(o->C_high / o->C_low, 1.0 / (double)o->n_trials);
        if (m->C > o->C_high / cell) say(i, "the best C, %.3g, lies at the upper end of the search: raise --c-high (now %g)", m->C, o->C_high);
        else if (m->C < o->C_low * cell) say(i, "the best C, %.3g, lies at the lower end of the search: lower --c-low (now %g)", m->C, o->C_low);
    }
    if (i->n_classes != 2) return;
    double share = (double)i->n_class[1] / (double)i->n;
    if (!o->balanced && (share < 0.2 || share > 0.8))
        say(i, "classes have %lld and %lld rows: the smaller one hardly counts without --balanced", (long long)i->n_class[0], (long long)i->n_class[1]);
    const lt_qsvm_scores *cv = &m->best.mean;
    if (!o->tune_threshold && cv->roc_auc > 0.85 && cv->f1 < cv->roc_auc - 0.2)
        say(i, "rows are ranked well (AUC %.3f) but cut badly (F1 %.3f): try --tune-threshold", cv->roc_auc, cv->f1);
}

static void about_rbf(lt_qsvm *q)
{
    lt_qsvm_info *i = &q->info;
    const lt_qsvm_scores *a = &i->machine[LT_QSVM_QUANTUM].best.mean, *b = &i->machine[LT_QSVM_RBF].best.mean;
    if (!i->has_rbf) return;
    if (i->task == LT_QSVM_CLASSIFY) {
        if (b->f1 >= a->f1) say(i, "a Gaussian kernel does as well or better on held-out rows: F1 %.4f against %.4f", b->f1, a->f1);
        return;
    }
    int64_t n, best = 0;
    const lt_qsvm_errors *e = lt_qsvm_trial_errors(q, LT_QSVM_RBF, &n);
    for (int64_t t = 1; t < n; t++)
        if (e[t].r2 > e[best].r2) best = t;
    if (n > 0 && e[best].r2 >= i->errors.r2)
        say(i, "a Gaussian kernel does as well or better on held-out rows: R2 %.4f against %.4f", e[best].r2, i->errors.r2);
}

void lt_qsvm_advise(lt_qsvm *q)
{
    about_kernel(&q->info);
    about_machine(q);
    about_rbf(q);
}
