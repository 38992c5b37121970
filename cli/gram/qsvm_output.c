/* What `lathe qsvm` prints: a short text, or JSON. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <math.h>

static const char *const machine_names[] = { "quantum", "rbf" };

/* ---- JSON ---- */

static void put_rates(lt_json *j, const lt_qsvm_scores *s)
{
    lt_json_field_double(j, "f1", s->f1);
    lt_json_field_double(j, "roc_auc", s->roc_auc);
    lt_json_field_double(j, "accuracy", s->accuracy);
    lt_json_field_double(j, "precision", s->precision);
    lt_json_field_double(j, "recall", s->recall);
    lt_json_field_double(j, "balanced_accuracy", s->balanced_accuracy);
    lt_json_field_double(j, "average_precision", s->average_precision);
}

void qsvm_put_scores(lt_json *j, const char *key, const lt_qsvm_scores *s)
{
    lt_json_key(j, key);
    lt_json_object_begin(j);
    put_rates(j, s);
    lt_json_field_int(j, "true_positive", s->true_positive);
    lt_json_field_int(j, "false_positive", s->false_positive);
    lt_json_field_int(j, "true_negative", s->true_negative);
    lt_json_field_int(j, "false_negative", s->false_negative);
    lt_json_object_end(j);
}

void qsvm_put_errors(lt_json *j, const char *key, const lt_qsvm_errors *e)
{
    lt_json_key(j, key);
    lt_json_object_begin(j);
    lt_json_field_double(j, "r2", e->r2);
    lt_json_field_double(j, "rmse", e->rmse);
    lt_json_field_double(j, "mae", e->mae);
    lt_json_object_end(j);
}

/* Rows of a class, by what was predicted: a list for each class. */
void qsvm_put_confusion(lt_json *j, const int64_t *confusion, int64_t n_classes)
{
    lt_json_key(j, "confusion");
    lt_json_array_begin(j);
    for (int64_t a = 0; a < n_classes; a++) {
        lt_json_array_begin(j);
        for (int64_t b = 0; b < n_classes; b++) lt_json_int(j, confusion[a * n_classes + b]);
        lt_json_array_end(j);
    }
    lt_json_array_end(j);
}

static void put_mean(lt_json *j, const char *key, const lt_qsvm_scores *s)
{
    lt_json_key(j, key);
    lt_json_object_begin(j);
    put_rates(j, s);
    lt_json_object_end(j);
}

static void put_trials(const qsvm_job *job, lt_qsvm_machine which)
{
    lt_json *j = job->c->json;
    int64_t n;
    const lt_qsvm_trial *t = lt_qsvm_trials(job->machine, which, &n);
    const lt_qsvm_errors *e = lt_qsvm_trial_errors(job->machine, which, NULL);
    lt_json_key(j, "trials");
    lt_json_array_begin(j);
    for (int64_t i = 0; i < n; i++) {
        lt_json_object_begin(j);
        lt_json_field_double(j, "c", t[i].C);
        if (which == LT_QSVM_RBF) lt_json_field_double(j, "gamma", t[i].gamma);
        if (e) {
            lt_json_field_double(j, "r2", e[i].r2);
            lt_json_field_double(j, "rmse", e[i].rmse);
        } else {
            lt_json_field_double(j, "f1", t[i].mean.f1);
            lt_json_field_double(j, "f1_std", t[i].std.f1);
            lt_json_field_double(j, "roc_auc", t[i].mean.roc_auc);
        }
        lt_json_field_double(j, "support_fraction", t[i].support_fraction);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static void put_validation(const qsvm_job *job, lt_qsvm_machine which)
{
    lt_json *j = job->c->json;
    const lt_qsvm_fitted *m = &job->info->machine[which];
    if (job->info->n_folds == 0) return;
    if (job->info->task == LT_QSVM_CLASSIFY) {
        put_mean(j, "validation_mean", &m->best.mean);
        put_mean(j, "validation_std", &m->best.std);
    } else if (which == LT_QSVM_QUANTUM) {
        qsvm_put_errors(j, "validation_mean", &job->info->errors);
        qsvm_put_errors(j, "validation_std", &job->info->errors_std);
    }
}

static void put_test(const qsvm_job *job, lt_qsvm_machine which)
{
    lt_json *j = job->c->json;
    const qsvm_result *r = &job->result[which];
    if (job->test.n == 0) return;
    if (job->info->task == LT_QSVM_REGRESS) qsvm_put_errors(j, "test", &r->errors);
    else if (job->info->task == LT_QSVM_ONE_CLASS) lt_json_field_double(j, "test_inside", r->inside);
    else qsvm_put_scores(j, "test", &r->test);
    if (r->confusion) qsvm_put_confusion(j, r->confusion, job->info->n_classes);
}

static void put_machine(const qsvm_job *job, lt_qsvm_machine which)
{
    lt_json *j = job->c->json;
    const lt_qsvm_fitted *m = &job->info->machine[which];
    lt_json_key(j, machine_names[which]);
    lt_json_object_begin(j);
    if (job->info->task != LT_QSVM_ONE_CLASS) lt_json_field_double(j, "c", m->C);
    if (which == LT_QSVM_RBF) lt_json_field_double(j, "gamma", m->gamma);
    lt_json_field_string(j, "solver", lt_svm_solver_name(m->solver));
    lt_json_field_double(j, "objective", m->objective);
    lt_json_field_double(j, "bias", m->bias);
    lt_json_field_double(j, "threshold", m->threshold);
    lt_json_field_int(j, "support_vectors", m->n_support[0] + m->n_support[1]);
    lt_json_field_double(j, "support_fraction", m->support_fraction);
    lt_json_field_int(j, "iterations", m->iterations);
    lt_json_field_bool(j, "converged", m->converged);
    put_validation(job, which);
    put_test(job, which);
    put_trials(job, which);
    lt_json_object_end(j);
}

static void put_spread(lt_json *j, const char *key, const lt_qsvm_spread *s)
{
    lt_json_key(j, key);
    lt_json_object_begin(j);
    lt_json_field_double(j, "min", s->min);
    lt_json_field_double(j, "max", s->max);
    lt_json_field_double(j, "mean", s->mean);
    lt_json_field_double(j, "std", s->std);
    lt_json_object_end(j);
}

static void put_diagnostics(lt_json *j, const lt_qsvm_diagnostics *d)
{
    lt_json_key(j, "diagnostics");
    lt_json_object_begin(j);
    lt_json_field_double(j, "finite_fraction", d->finite_fraction);
    put_spread(j, "entries", &d->all);
    put_spread(j, "diagonal", &d->diagonal);
    put_spread(j, "off_diagonal", &d->off_diagonal);
    put_spread(j, "same_class", &d->same_class);
    put_spread(j, "other_class", &d->other_class);
    lt_json_field_double(j, "class_gap", d->class_gap);
    lt_json_field_double(j, "class_separation", d->class_separation);
    lt_json_field_double(j, "alignment", d->alignment);
    lt_json_field_double(j, "frobenius", d->frobenius);
    lt_json_field_double(j, "row_mean_std", d->row_mean_std);
    lt_json_field_double(j, "max_asymmetry", d->max_asymmetry);
    lt_json_field_double(j, "mean_asymmetry", d->mean_asymmetry);
    lt_json_field_int(j, "eigenvalues", d->n_eigenvalues);
    lt_json_field_double(j, "eigen_min", d->eigen_min);
    lt_json_field_double(j, "eigen_max", d->eigen_max);
    lt_json_field_double(j, "negative_fraction", d->negative_fraction);
    lt_json_field_double(j, "negative_mass", d->negative_mass);
    lt_json_field_double(j, "condition", d->condition);
    lt_json_field_double(j, "effective_rank", d->effective_rank);
    lt_json_field_double(j, "largest_angle", d->largest_angle);
    lt_json_object_end(j);
}

static void put_candidates(const qsvm_job *job)
{
    lt_json *j = job->c->json;
    int64_t n;
    const lt_qsvm_candidate *c = lt_qsvm_candidates(job->machine, &n);
    if (n == 0) return;
    lt_json_key(j, "candidates");
    lt_json_array_begin(j);
    for (int64_t i = 0; i < n; i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "embed", lt_embed_name(c[i].embed_mode));
        lt_json_field_double(j, "angle_scale", c[i].angle_scale);
        lt_json_field_int(j, "layers", c[i].n_layers);
        lt_json_field_bool(j, "re_embed", c[i].re_embed);
        lt_json_field_double(j, "alignment", c[i].alignment);
        lt_json_field_double(j, "f1", c[i].f1);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static void put_seconds(const qsvm_job *job)
{
    const lt_qsvm_info *i = job->info;
    lt_json *j = job->c->json;
    lt_json_key(j, "seconds");
    lt_json_object_begin(j);
    lt_json_field_double(j, "prepare", i->prepare_seconds);
    lt_json_field_double(j, "select", i->select_seconds);
    lt_json_field_double(j, "search", i->search_seconds);
    lt_json_field_double(j, "kernel", i->kernel_seconds);
    lt_json_field_double(j, "fit", i->fit_seconds);
    lt_json_field_double(j, "diagnose", i->diagnose_seconds);
    lt_json_field_double(j, "rbf", i->rbf_seconds);
    lt_json_field_double(j, "predict", job->predict_seconds);
    lt_json_field_double(j, "total", i->total_seconds);
    lt_json_object_end(j);
}

static void put_circuit(const qsvm_job *job)
{
    const lt_qsvm_info *i = job->info;
    lt_json *j = job->c->json;
    if (i->precomputed) {
        lt_json_field_string(j, "kernel_from", job->o->kernel);
        return;
    }
    lt_json_field_bool(j, "reduced", i->reduced);
    lt_json_field_int(j, "qubits", i->n_qubits);
    if (i->circuit) {
        lt_json_field_string(j, job->o->map ? "map" : "circuit", job->o->map ? job->o->map : job->o->circuit);
        lt_json_field_string(j, "similarity", lt_similarity_name(job->o->similarity.kind));
    } else {
        lt_json_field_int(j, "layers", i->n_layers);
        lt_json_field_string(j, "embed", lt_embed_name(i->embed_mode));
        lt_json_field_double(j, "angle_scale", i->angle_scale);
        lt_json_field_bool(j, "re_embed", i->re_embed);
    }
    lt_json_field_string(j, "range", lt_qsvm_range_name(i->range));
    lt_json_field_string(j, "method", lt_gram_method_name(i->gram->method));
    lt_json_field_string(j, "backend", i->gram->backend);
    lt_json_field_string(j, "kernel", i->gram->kernel);
    lt_json_field_string(j, "precision", lt_gram_float_name(i->gram->precision));
    lt_json_field_double(j, "error_bound", i->gram->error_bound);
}

static void put_task(const qsvm_job *job)
{
    const lt_qsvm_info *i = job->info;
    lt_json *j = job->c->json;
    lt_json_field_string(j, "task", lt_qsvm_task_name(i->task));
    if (i->task == LT_QSVM_REGRESS) lt_json_field_double(j, "epsilon", i->epsilon);
    if (i->task == LT_QSVM_ONE_CLASS) lt_json_field_double(j, "nu", i->nu);
    if (i->task != LT_QSVM_CLASSIFY) return;
    lt_json_field_int(j, "machines", i->n_machines);
    lt_json_key(j, "classes");
    lt_json_array_begin(j);
    for (int64_t c = 0; c < i->n_classes; c++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "name", i->class_names[c]);
        lt_json_field_int(j, "n_train", i->class_counts[c]);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

void qsvm_put_json(const qsvm_job *job)
{
    const lt_qsvm_info *i = job->info;
    lt_json *j = job->c->json;
    lt_json_field_int(j, "n_train", i->n);
    lt_json_field_int(j, "n_test", job->test.n);
    lt_json_field_int(j, "n_left_out", job->train.n_left_out + job->test.n_left_out);
    lt_json_field_int(j, "features", i->n_features);
    put_circuit(job);
    lt_json_field_bool(j, "center", job->o->qsvm.center);
    lt_json_field_int(j, "folds", i->n_folds);
    lt_json_field_int(j, "seed", job->o->common.seed);
    put_task(job);
    put_machine(job, LT_QSVM_QUANTUM);
    if (i->has_rbf) put_machine(job, LT_QSVM_RBF);
    put_diagnostics(j, i->diagnostics);
    put_candidates(job);
    put_seconds(job);
    lt_json_key(j, "advice");
    lt_json_array_begin(j);
    for (int k = 0; k < i->n_advice; k++) lt_json_string(j, i->advice[k]);
    lt_json_array_end(j);
}

/* ---- text ---- */

static void scores_row(cli_table *t, const char *name, const char *rows, const lt_qsvm_scores *s, const lt_qsvm_scores *std)
{
    const double mean[] = { s->f1, s->roc_auc, s->accuracy, s->precision, s->recall };
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", name);
    cli_table_cell(t, 1, "%s", rows);
    for (int k = 0; k < CLI_LEN(mean); k++)
        if (!isnan(mean[k])) cli_table_cell(t, 2 + k, "%.4f", mean[k]); /* several classes have no AUC */
    if (std) cli_table_cell(t, 7, "%.4f", std->f1);
}

static void errors_row(cli_table *t, const char *name, const char *rows, const lt_qsvm_errors *e)
{
    const double error[] = { e->r2, e->rmse, e->mae };
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", name);
    cli_table_cell(t, 1, "%s", rows);
    for (int k = 0; k < CLI_LEN(error); k++) cli_table_cell(t, 2 + k, "%.6g", error[k]);
}

static void print_errors(const qsvm_job *j)
{
    static const char *const columns[] = { "kernel", "rows", "R2", "RMSE", "MAE" };
    cli_table *t;
    if (cli_table_create(NULL, CLI_LEN(columns), columns, &t)) return;
    if (j->info->n_folds > 0) errors_row(t, machine_names[0], "validation", &j->info->errors);
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1) && j->test.n > 0; m++) errors_row(t, machine_names[m], "test", &j->result[m].errors);
    if (t->n_rows > 0) cli_table_print(t, stdout);
    cli_table_destroy(t);
}

static void print_scores(const qsvm_job *j)
{
    static const char *const columns[] = { "kernel", "rows", "F1", "AUC", "accuracy", "precision", "recall", "F1 spread" };
    cli_table *t;
    if (j->info->task == LT_QSVM_REGRESS) {
        print_errors(j);
        return;
    }
    if (j->info->task == LT_QSVM_ONE_CLASS) {
        if (j->test.n > 0) printf("%.1f %% of %lld test rows are like the training rows\n", 100 * j->result[0].inside, (long long)j->test.n);
        return;
    }
    if (cli_table_create(NULL, CLI_LEN(columns), columns, &t)) return;
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1); m++) {
        const lt_qsvm_trial *best = &j->info->machine[m].best;
        if (j->info->n_folds > 0) scores_row(t, machine_names[m], "validation", &best->mean, &best->std);
        if (j->test.n > 0) scores_row(t, machine_names[m], "test", &j->result[m].test, NULL);
    }
    if (t->n_rows > 0) cli_table_print(t, stdout);
    cli_table_destroy(t);
}

static void print_machine(const qsvm_job *j, lt_qsvm_machine which)
{
    const lt_qsvm_fitted *m = &j->info->machine[which];
    printf("%s: ", machine_names[which]);
    if (j->info->task == LT_QSVM_ONE_CLASS) printf("nu %.4g", j->info->nu);
    else printf("C %.4g", m->C);
    if (j->info->task == LT_QSVM_REGRESS) printf(", epsilon %.4g", j->info->epsilon);
    if (which == LT_QSVM_RBF) printf(", gamma %.4g", m->gamma);
    if (j->info->n_machines > 1) printf(", %lld machines", (long long)j->info->n_machines);
    printf(", %lld support vectors (%.0f %%), dual objective %.8g, ", (long long)(m->n_support[0] + m->n_support[1]), 100 * m->support_fraction, m->objective);
    if (j->info->n_classes == 2) printf("threshold %.4g, ", m->threshold);
    printf("by %s in %lld iterations%s\n", lt_svm_solver_name(m->solver), (long long)m->iterations, m->converged ? "" : ", not converged");
}

/* "'cat' 30, 'dog' 31"; of many the first ones. */
static void print_classes(const lt_qsvm_info *i)
{
    enum { SHOWN = 12 };
    printf(" (");
    if (i->n_classes > 2) printf("%lld classes: ", (long long)i->n_classes);
    for (int64_t c = 0; c < i->n_classes && c < SHOWN; c++) printf("%s'%s' %lld", c ? ", " : "", i->class_names[c], (long long)i->class_counts[c]);
    printf("%s)", i->n_classes > SHOWN ? ", ..." : "");
}

static void print_rows(const qsvm_job *j)
{
    const lt_qsvm_info *i = j->info;
    printf("%lld rows to train", (long long)i->n);
    if (i->task == LT_QSVM_CLASSIFY) print_classes(i);
    printf(", %lld to test", (long long)j->test.n);
    if (i->precomputed) printf("; kernel of %s\n", j->o->kernel);
    else printf("; %lld features, %s %lld qubits\n", (long long)i->n_features, i->reduced ? "by PCA" : "on", (long long)i->n_qubits);
    if (j->train.n_left_out + j->test.n_left_out > 0)
        printf("%lld rows of other classes are left out\n", (long long)(j->train.n_left_out + j->test.n_left_out));
}

static void print_kernel(const qsvm_job *j)
{
    const lt_qsvm_info *i = j->info;
    const lt_qsvm_diagnostics *d = i->diagnostics;
    if (i->precomputed) printf("K");
    else if (i->circuit) printf("%s: K by %s", j->o->map ? j->o->map : j->o->circuit, lt_gram_method_name(i->gram->method));
    else
        printf("%s, angle scale %g, %lld layers%s: K by %s", lt_embed_name(i->embed_mode), i->angle_scale, (long long)i->n_layers, i->re_embed ? " re-embedded" : "",
               lt_gram_method_name(i->gram->method));
    printf(", off the diagonal %.6f +- %.6f", d->off_diagonal.mean, d->off_diagonal.std);
    if (!isnan(d->alignment)) printf(", alignment %.3f", d->alignment);
    printf(", effective rank %.1f\n", d->effective_rank);
}

void qsvm_print(const qsvm_job *j)
{
    const lt_qsvm_info *i = j->info;
    if (!j->c->common.quiet) {
        print_rows(j);
        print_kernel(j);
        print_machine(j, LT_QSVM_QUANTUM);
        if (i->has_rbf) print_machine(j, LT_QSVM_RBF);
    }
    print_scores(j);
    if (j->c->common.quiet) return;
    printf("kernel %s, fit %s, search %s, all %s\n", cli_seconds(i->kernel_seconds).s, cli_seconds(i->fit_seconds).s,
           cli_seconds(i->search_seconds).s, cli_seconds(i->total_seconds).s);
    for (int k = 0; k < i->n_advice; k++) printf("Note: %s.\n", i->advice[k]);
}
