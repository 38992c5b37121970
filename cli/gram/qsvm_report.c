/* The page `lathe qsvm --report` writes. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_HEAT = 400, MOST_SAMPLES = 200000 };

/* ---- tables ---- */

enum { FACTS = 7, FACT_BYTES = 400 };

static void say_classes(const qsvm_job *j, char *text)
{
    const lt_qsvm_info *i = j->info;
    size_t used = 0;
    if (i->task == LT_QSVM_REGRESS) snprintf(text, FACT_BYTES, "numbers, errors up to %g are free", i->epsilon);
    if (i->task == LT_QSVM_ONE_CLASS) snprintf(text, FACT_BYTES, "one, nu %g", i->nu);
    if (i->n_classes == 2)
        snprintf(text, FACT_BYTES, "'%s' %lld, '%s' %lld (positive)", i->class_name[0], (long long)i->n_class[0], i->class_name[1], (long long)i->n_class[1]);
    for (int64_t c = 0; i->n_classes > 2 && c < i->n_classes && used < FACT_BYTES - 100; c++)
        used += (size_t)snprintf(text + used, FACT_BYTES - used, "%s'%s' %lld", c ? ", " : "", i->class_names[c], (long long)i->class_counts[c]);
}

static void say_circuit(const qsvm_job *j, char *features, char *circuit, char *kernel)
{
    const lt_qsvm_info *i = j->info;
    if (i->precomputed) {
        snprintf(features, FACT_BYTES, "none");
        snprintf(circuit, FACT_BYTES, "none");
        snprintf(kernel, FACT_BYTES, "computed before, %s%s", j->o->kernel, j->o->qsvm.center ? ", centred" : "");
        return;
    }
    snprintf(features, FACT_BYTES, "%lld, %s %lld qubits, range %s", (long long)i->n_features, i->reduced ? "by PCA to" : "as they are on",
             (long long)i->n_qubits, lt_qsvm_range_name(i->range));
    if (i->circuit) snprintf(circuit, FACT_BYTES, "%s", j->o->map ? j->o->map : j->o->circuit);
    else
        snprintf(circuit, FACT_BYTES, "%s, angle scale %g, %lld layers, re-embedding %s; largest angle %.3g rad", lt_embed_name(i->embed_mode), i->angle_scale,
                 (long long)i->n_layers, i->re_embed ? "on" : "off", i->diagnostics->largest_angle);
    snprintf(kernel, FACT_BYTES, "%s by %s, %s (errors below %g)%s", lt_gram_method_name(i->gram->method), i->gram->kernel,
             lt_gram_float_name(i->gram->precision), i->gram->error_bound, j->o->qsvm.center ? ", centred" : "");
}

static void put_facts(lt_report *r, const qsvm_job *j)
{
    const lt_qsvm_info *i = j->info;
    char text[FACTS][FACT_BYTES];
    const char *names[FACTS] = { "rows", "classes", "features", "circuit", "kernel", "cross-validation", "solver" }, *values[FACTS];
    snprintf(text[0], sizeof text[0], "%lld to train, %lld to test", (long long)i->n, (long long)j->test.n);
    say_classes(j, text[1]);
    say_circuit(j, text[2], text[3], text[4]);
    snprintf(text[5], sizeof text[5], "%lld %sfolds, seed %lld", (long long)i->n_folds, i->n_classes ? "stratified " : "", (long long)j->o->common.seed);
    snprintf(text[6], sizeof text[6], "%s, %lld iterations%s", lt_svm_solver_name(i->machine[0].solver), (long long)i->machine[0].iterations,
             i->machine[0].converged ? "" : ", not converged");
    for (int k = 0; k < FACTS; k++) values[k] = text[k];
    lt_report_facts(r, FACTS, names, values);
}

static lt_status put_errors(lt_report *r, const qsvm_job *j)
{
    static const char *const columns[] = { "kernel", "rows", "R2", "RMSE", "MAE", "C", "SV" };
    static const char *const machines[] = { "quantum", "Gaussian" };
    cli_table *t;
    CLI_TRY(cli_table_create("Errors", CLI_LEN(columns), columns, &t));
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1); m++)
        for (int part = 0; part < 2; part++) {
            const lt_qsvm_fitted *f = &j->info->machine[m];
            if (part == 0 ? j->info->n_folds == 0 || m > 0 : j->test.n == 0) continue;
            const lt_qsvm_errors *e = part == 0 ? &j->info->errors : &j->result[m].errors;
            const double error[] = { e->r2, e->rmse, e->mae, f->C };
            cli_table_row(t);
            cli_table_cell(t, 0, "%s", machines[m]);
            cli_table_cell(t, 1, "%s", part == 0 ? "validation" : "test");
            for (int k = 0; k < CLI_LEN(error); k++) cli_table_cell(t, 2 + k, "%.5g", error[k]);
            cli_table_cell(t, 6, "%lld (%.0f %%)", (long long)(f->n_support[0] + f->n_support[1]), 100 * f->support_fraction);
        }
    if (t->n_rows > 0) cli_table_report(t, r);
    cli_table_destroy(t);
    return LT_OK;
}

static lt_status put_scores(lt_report *r, const qsvm_job *j)
{
    static const char *const columns[] = { "kernel", "rows", "F1", "AUC", "accuracy", "precision", "recall", "C", "SV" };
    static const char *const machines[] = { "quantum", "Gaussian" };
    cli_table *t;
    CLI_TRY(cli_table_create("Scores", CLI_LEN(columns), columns, &t));
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1); m++)
        for (int part = 0; part < 2; part++) {
            const lt_qsvm_fitted *f = &j->info->machine[m];
            if (part == 0 ? j->info->n_folds == 0 : j->test.n == 0) continue;
            const lt_qsvm_scores *s = part == 0 ? &f->best.mean : &j->result[m].test;
            const double rate[] = { s->f1, s->roc_auc, s->accuracy, s->precision, s->recall };
            cli_table_row(t);
            cli_table_cell(t, 0, "%s", machines[m]);
            cli_table_cell(t, 1, "%s", part == 0 ? "validation" : "test");
            for (int k = 0; k < CLI_LEN(rate); k++)
                if (!isnan(rate[k])) cli_table_cell(t, 2 + k, "%.4f", rate[k]); /* several classes have no AUC */
            cli_table_cell(t, 7, "%.4g", f->C);
            cli_table_cell(t, 8, "%lld (%.0f %%)", (long long)(f->n_support[0] + f->n_support[1]), 100 * f->support_fraction);
        }
    if (t->n_rows > 0) cli_table_report(t, r);
    cli_table_destroy(t);
    return LT_OK;
}

static lt_status put_candidates(lt_report *r, const qsvm_job *j)
{
    static const char *const columns[] = { "embedding", "angle scale", "layers", "alignment", "F1 of validation" };
    int64_t n;
    const lt_qsvm_candidate *c = lt_qsvm_candidates(j->machine, &n);
    if (n == 0) return LT_OK;
    cli_table *t;
    CLI_TRY(cli_table_create("Circuits tried", CLI_LEN(columns), columns, &t));
    for (int64_t i = 0; i < n; i++) {
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", lt_embed_name(c[i].embed_mode));
        cli_table_cell(t, 1, "%.4g", c[i].angle_scale);
        cli_table_cell(t, 2, "%lld%s", (long long)c[i].n_layers, c[i].re_embed ? " re-embedded" : "");
        cli_table_cell(t, 3, "%.4f", c[i].alignment);
        if (!isnan(c[i].f1)) cli_table_cell(t, 4, "%.4f", c[i].f1);
    }
    cli_table_report(t, r);
    cli_table_destroy(t);
    return LT_OK;
}

/* ---- the kernel ---- */

/* Rows of one class after those of the other, and values as they grow, so that structure shows as blocks; every k-th of many. */
static _Thread_local const double *sorted_values; /* qsort has no context */
static int by_its_value(const void *a, const void *b)
{
    const double x = sorted_values[*(const int64_t *)a], y = sorted_values[*(const int64_t *)b];
    return (x > y) - (x < y);
}

static void say_order(const qsvm_job *j, int64_t step, char *text, size_t bytes)
{
    if (j->info->n_classes == 2)
        snprintf(text, bytes, "'%s' to %lld, then '%s'", j->classes.name[0], (long long)(j->info->n_class[0] / step), j->classes.name[1]);
    else snprintf(text, bytes, "%s", j->info->n_classes ? "class after class" : j->train.value ? "by growing value" : "row");
}

static lt_status put_heat(lt_report *r, const qsvm_job *j)
{
    int64_t n, at = 0;
    const double *K = lt_qsvm_kernel(j->machine, &n);
    int64_t step = (n - 1) / MOST_HEAT + 1, shown = (n - 1) / step + 1;
    int64_t *order = malloc((size_t)n * sizeof *order);
    double *v = malloc((size_t)(shown * shown) * sizeof *v);
    if (order && v) {
        for (int64_t c = 0; c < (j->info->n_classes ? j->info->n_classes : 1); c++)
            for (int64_t i = 0; i < n; i++)
                if (!j->train.y || j->train.y[i] == c) order[at++] = i;
        sorted_values = j->train.value;
        if (sorted_values) qsort(order, (size_t)n, sizeof *order, by_its_value);
        for (int64_t a = 0; a < shown; a++)
            for (int64_t b = 0; b < shown; b++) v[a * shown + b] = K[order[a * step] * n + order[b * step]];
        char title[160], axis[160];
        snprintf(title, sizeof title, "K of the training rows%s%s", j->info->task == LT_QSVM_ONE_CLASS ? "" : ", ordered by label", step > 1 ? ", evenly spaced rows" : "");
        say_order(j, step, axis, sizeof axis);
        lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title, .x_label = axis, .y_label = "row", .rows = shown, .columns = shown, .values = v });
    }
    bool ok = order && v;
    free(order);
    free(v);
    return ok ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the heat map");
}

static lt_status put_histogram(lt_report *r, const qsvm_job *j)
{
    int64_t n, count = 0;
    const double *K = lt_qsvm_kernel(j->machine, &n);
    int64_t total = n * n, step = (total - 1) / MOST_SAMPLES + 1;
    for (; step > 1 && n % step == 0; step++) { } /* a step that divides the width would meet few columns */
    double *v = malloc((size_t)(total / step + 1) * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for the histogram");
    for (int64_t at = 0; at < total; at += step)
        if (at / n < at % n) v[count++] = K[at];
    const lt_qsvm_diagnostics *d = j->info->diagnostics;
    if (count > 0) lt_report_histogram(r, "Off-diagonal entries of K", "K", count, v, 0);
    if (j->info->n_classes)
        lt_report_paragraph(r, "Mean %.6f, standard deviation %.3g. Pairs of one class: %.6f; of two: %.6f; alignment with the labels %.4f.", d->off_diagonal.mean,
                            d->off_diagonal.std, d->same_class.mean, d->other_class.mean, d->alignment);
    else lt_report_paragraph(r, "Mean %.6f, standard deviation %.3g.", d->off_diagonal.mean, d->off_diagonal.std);
    free(v);
    return LT_OK;
}

static lt_status put_spectrum(lt_report *r, const qsvm_job *j)
{
    int64_t n;
    const double *up = lt_qsvm_eigenvalues(j->machine, &n);
    const lt_qsvm_diagnostics *d = j->info->diagnostics;
    double *down = malloc((size_t)n * sizeof *down);
    if (!down) return cli_fail(LT_ERR_MEMORY, "no memory for the eigenvalues");
    for (int64_t i = 0; i < n; i++) down[i] = up[n - 1 - i];
    lt_series line = { NULL, NULL, down, n };
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = n < j->info->n ? "Eigenvalues of K, evenly spaced rows" : "Eigenvalues of K",
                                  .x_label = "number, largest first",
                                  .y_log = true, .n_series = 1, .series = &line });
    lt_report_paragraph(r, "Largest %.6g, smallest %.3g; effective rank %.4g of %lld.", d->eigen_max, d->eigen_min, d->effective_rank, (long long)n);
    free(down);
    return LT_OK;
}

/* ---- search and scores ---- */

/* Two scores over C; a Gaussian kernel's trials differ in gamma too, so they are marks, not a line. */
static lt_status put_search(lt_report *r, const qsvm_job *j, lt_qsvm_machine which, const char *title)
{
    int64_t n;
    const lt_qsvm_trial *t = lt_qsvm_trials(j->machine, which, &n);
    const lt_qsvm_errors *e = lt_qsvm_trial_errors(j->machine, which, NULL);
    if (n < 2) return LT_OK;
    double *x = malloc(3 * (size_t)n * sizeof *x);
    if (!x) return cli_fail(LT_ERR_MEMORY, "no memory for the search");
    double *f1 = x + n, *auc = f1 + n;
    for (int64_t i = 0; i < n; i++) {
        x[i] = t[i].C;
        f1[i] = e ? e[i].r2 : t[i].mean.f1;
        auc[i] = t[i].mean.roc_auc;
    }
    const lt_series line[] = { { e ? "mean R2" : "mean F1", x, f1, n }, { "mean AUC", x, auc, n } };
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = title, .x_label = "C", .y_label = "score on held-out rows", .x_log = true, .points = which == LT_QSVM_RBF,
                                  .n_series = j->info->n_classes == 2 ? CLI_LEN(line) : 1, .series = line });
    free(x);
    return LT_OK;
}

static lt_status put_roc(lt_report *r, const qsvm_job *j)
{
    static const char *const names[] = { "quantum", "Gaussian" };
    static const double ends[] = { 0, 1 };
    int64_t room = j->test.n + 1;
    double *v = malloc(4 * (size_t)room * sizeof *v);
    lt_series line[3];
    int n = 0;
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for the ROC curve");
    uint8_t *label = malloc((size_t)j->test.n);
    lt_status s = label ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the ROC curve");
    for (int64_t i = 0; !s && i < j->test.n; i++) label[i] = (uint8_t)j->test.y[i];
    for (int m = 0; !s && m < (j->info->has_rbf ? 2 : 1); m++, n++) {
        double *x = v + 2 * m * room;
        line[n] = (lt_series){ names[m], x, x + room, 0 };
        s = lt_qsvm_roc(label, j->result[m].decision, j->test.n, x, x + room, &line[n].n);
    }
    line[n++] = (lt_series){ "by chance", ends, ends, 2 };
    if (!s)
        lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = "ROC curve on the test rows", .x_label = "false positive rate",
                                      .y_label = "true positive rate", .n_series = n, .series = line });
    free(label);
    free(v);
    return s;
}

/* Which classes are taken for which: each row of the map sums to one. */
static lt_status put_confusion(lt_report *r, const qsvm_job *j)
{
    const int64_t k = j->info->n_classes, *count = j->result[LT_QSVM_QUANTUM].confusion;
    double *v = malloc((size_t)(k * k) * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for the confusion matrix");
    for (int64_t a = 0; a < k; a++) {
        double all = 0;
        for (int64_t b = 0; b < k; b++) all += (double)count[a * k + b];
        for (int64_t b = 0; b < k; b++) v[a * k + b] = all > 0 ? (double)count[a * k + b] / all : 0;
    }
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = "Test rows: share of a class that is taken for another",
                                        .x_label = "predicted class, by its number", .y_label = "class",
                                        .rows = k, .columns = k, .values = v });
    free(v);
    return LT_OK;
}

/* Steps that were taken. */
static void put_times(lt_report *r, const qsvm_job *j)
{
    const lt_qsvm_info *i = j->info;
    const struct { const char *label; double seconds; bool taken; } step[] = {
        { "prepare, with folds", i->prepare_seconds, true }, { "select a circuit", i->select_seconds, j->o->qsvm.select },
        { "search C", i->search_seconds, i->n_folds > 0 },   { "kernel", i->kernel_seconds, true },
        { "fit", i->fit_seconds, true },                     { "diagnose", i->diagnose_seconds, true },
        { "Gaussian kernel", i->rbf_seconds, i->has_rbf },   { "test rows", j->predict_seconds, j->test.n > 0 },
    };
    const char *label[CLI_LEN(step)];
    double ms[CLI_LEN(step)];
    int n = 0;
    for (int k = 0; k < CLI_LEN(step); k++) {
        if (!step[k].taken) continue;
        label[n] = step[k].label;
        ms[n++] = 1e3 * step[k].seconds;
    }
    lt_report_bars(r, "Where the time went", "ms", n, label, ms);
}

/* ---- the page ---- */

static lt_status put_page(lt_report *r, const qsvm_job *j)
{
    put_facts(r, j);
    for (int k = 0; k < j->info->n_advice; k++) lt_report_paragraph(r, "Note: %s.", j->info->advice[k]);
    if (j->info->task == LT_QSVM_REGRESS) CLI_TRY(put_errors(r, j));
    if (j->info->task == LT_QSVM_CLASSIFY) CLI_TRY(put_scores(r, j));
    if (j->test.n > 0 && j->info->n_classes == 2) CLI_TRY(put_roc(r, j));
    if (j->result[LT_QSVM_QUANTUM].confusion) CLI_TRY(put_confusion(r, j));
    CLI_TRY(put_search(r, j, LT_QSVM_QUANTUM, "Search of C"));
    CLI_TRY(put_search(r, j, LT_QSVM_RBF, "Gaussian kernel: search of C and gamma"));
    lt_report_heading(r, "Kernel");
    CLI_TRY(put_heat(r, j));
    CLI_TRY(put_histogram(r, j));
    CLI_TRY(put_spectrum(r, j));
    CLI_TRY(put_candidates(r, j));
    lt_report_heading(r, "Run");
    put_times(r, j);
    if (!j->info->precomputed) lt_report_listing(r, j->info->gram->plan);
    cli_report_machine(j->c, r);
    return lt_report_write(r, j->o->report);
}

lt_status qsvm_report(const qsvm_job *j)
{
    lt_report *r;
    CLI_TRY(lt_report_create("Support vector machine on a quantum kernel", &r));
    lt_status s = put_page(r, j);
    lt_report_destroy(r);
    return s;
}
