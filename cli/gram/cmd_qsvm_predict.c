/* lathe qsvm predict: a stored machine on new rows. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>
#include <string.h>

typedef struct predict_cli {
    cli_common  common;
    const char *model, *x, *kernel, *labels, *label_column, *out, *decision_out, *probability_out;
} predict_cli;

#define O predict_cli
static const lt_option rows[] = {
    LT_OPTION_PATH(O, model, "model", NULL, "FILE", "what 'lathe qsvm --model-out' wrote"),
    LT_OPTION_PATH(O, x, "x", NULL, "X.npy|X.csv", "rows with the features the machine was trained on"),
    LT_OPTION_PATH(O, kernel, "kernel", NULL, "K.npy|K.csv", "of a machine trained with --kernel: new rows by its training rows"),
    LT_OPTION_PATH(O, labels, "labels", NULL, "y.npy|y.csv", "their labels or values, to score the machine"),
    LT_OPTION_STRING(O, label_column, "label-column", NULL, "NAME|N|last", "a column of a CSV file that holds labels, not features"),
    LT_OPTION_PATH(O, out, "out", NULL, "y.npy|y.csv", "predicted labels, as the machine was trained on them; numbers of --task regress; 1 or -1 of --task one-class"),
    LT_OPTION_PATH(O, decision_out, "decision-out", NULL, "D.npy|D.csv",
                   "decision values: above the threshold is the second class; a column for each pair of several classes"),
    LT_OPTION_PATH(O, probability_out, "probability-out", NULL, "P.npy|P.csv", "of a machine trained with --probability: a column for each class"),
};
#undef O
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe qsvm predict", .summary = "Apply a stored machine to new rows",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe qsvm predict --model m.qsvm --x new.csv --out labels.npy",
};

typedef struct predict_job {
    cli_context       *c;
    const predict_cli *o;
    qsvm_rows          rows;
    lt_qsvm           *machine;
    const lt_qsvm_info *info;
    double            *decision; /* (rows, machines) */
    int32_t           *label;    /* what is predicted; NULL of values */
    lt_qsvm_scores     scores;
    lt_qsvm_errors     errors;
    int64_t           *confusion; /* of several classes, with labels */
    double             inside;
} predict_job;

/* ---- decisions and scores ---- */

static lt_status score_classes(predict_job *j)
{
    const int64_t n = j->rows.n, classes = j->info->n_classes;
    if (classes > 2) {
        j->confusion = calloc((size_t)(classes * classes), sizeof *j->confusion);
        if (!j->confusion) return cli_fail(LT_ERR_MEMORY, "no memory for the confusion matrix");
        return lt_qsvm_score_labels(j->rows.y, j->label, n, classes, &j->scores, j->confusion);
    }
    uint8_t *y = malloc((size_t)n);
    if (!y) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)j->rows.y[i];
    lt_status s = lt_qsvm_score(y, j->decision, n, j->info->machine[LT_QSVM_QUANTUM].threshold, &j->scores);
    free(y);
    return s;
}

static lt_status decide(predict_job *j)
{
    const int64_t n = j->rows.n;
    lt_rows x = qsvm_rows_view(&j->rows);
    j->decision = malloc((size_t)(n * j->info->n_machines) * sizeof *j->decision);
    if (!j->decision) return cli_fail(LT_ERR_MEMORY, "no memory for decision values");
    CLI_TRY(lt_qsvm_decide_pairs(j->machine, LT_QSVM_QUANTUM, &x, j->decision));
    if (j->info->task == LT_QSVM_REGRESS) return j->rows.value ? lt_qsvm_score_values(j->rows.value, j->decision, n, &j->errors) : LT_OK;
    j->label = malloc((size_t)n * sizeof *j->label);
    if (!j->label) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    CLI_TRY(lt_qsvm_labels(j->machine, LT_QSVM_QUANTUM, j->decision, n, j->label));
    for (int64_t i = 0; i < n; i++) j->inside += (double)(j->label[i] > 0) / (double)n;
    return j->rows.y ? score_classes(j) : LT_OK;
}

static int64_t count_label(const predict_job *j, int64_t c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < j->rows.n; i++) n += j->label[i] == c;
    return n;
}

/* ---- results ---- */

/* Every row's class, numbers where the machine knows them as numbers; or every row's value. */
static lt_status put_labels(const predict_job *j)
{
    lt_json *w = j->c->json;
    const lt_qsvm_info *i = j->info;
    double *value = calloc((size_t)i->n_classes + 1, sizeof *value);
    if (!value) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    const bool numbers = i->task == LT_QSVM_CLASSIFY && qsvm_class_numbers(i->class_names, i->n_classes, value);
    lt_json_key(w, i->task == LT_QSVM_REGRESS ? "values" : "labels");
    lt_json_array_begin(w);
    for (int64_t k = 0; k < j->rows.n; k++) {
        if (i->task == LT_QSVM_REGRESS) lt_json_double(w, j->decision[k]);
        else if (i->task == LT_QSVM_ONE_CLASS) lt_json_int(w, j->label[k]);
        else if (numbers) lt_json_double(w, value[j->label[k]]);
        else lt_json_string(w, i->class_names[j->label[k]]);
    }
    lt_json_array_end(w);
    free(value);
    return LT_OK;
}

static void put_classes(const predict_job *j)
{
    lt_json *w = j->c->json;
    const lt_qsvm_info *i = j->info;
    if (i->n_classes == 2) lt_json_field_double(w, "threshold", i->machine[LT_QSVM_QUANTUM].threshold);
    lt_json_key(w, "classes");
    lt_json_array_begin(w);
    for (int64_t c = 0; c < i->n_classes; c++) lt_json_string(w, i->class_names[c]);
    lt_json_array_end(w);
    lt_json_key(w, "predicted");
    lt_json_array_begin(w);
    for (int64_t c = 0; c < i->n_classes; c++) lt_json_int(w, count_label(j, c));
    lt_json_array_end(w);
}

static lt_status put_json(const predict_job *j)
{
    lt_json *w = j->c->json;
    lt_json_field_string(w, "model", j->o->model);
    lt_json_field_string(w, "task", lt_qsvm_task_name(j->info->task));
    lt_json_field_int(w, "n", j->rows.n);
    if (j->info->n_classes) put_classes(j);
    if (j->info->task == LT_QSVM_ONE_CLASS) lt_json_field_double(w, "inside", j->inside);
    CLI_TRY(put_labels(j));
    if (j->rows.y) qsvm_put_scores(w, "scores", &j->scores);
    if (j->confusion) qsvm_put_confusion(w, j->confusion, j->info->n_classes);
    if (j->rows.value) qsvm_put_errors(w, "scores", &j->errors);
    return LT_OK;
}

static void print_predicted(const predict_job *j)
{
    enum { SHOWN = 12 };
    const lt_qsvm_info *i = j->info;
    printf("%lld rows", (long long)j->rows.n);
    for (int64_t c = 0; c < i->n_classes && c < SHOWN; c++) printf("%s %lld '%s'", c ? "," : ":", (long long)count_label(j, c), i->class_names[c]);
    if (i->n_classes > SHOWN) printf(", ...");
    if (i->task == LT_QSVM_ONE_CLASS) printf(": %.1f %% like the training rows", 100 * j->inside);
    printf("\n");
    if (j->rows.value) printf("R2 %.6f, RMSE %.6g, MAE %.6g\n", j->errors.r2, j->errors.rmse, j->errors.mae);
    if (!j->rows.y) return;
    printf("F1 %.4f, ", j->scores.f1);
    if (i->n_classes == 2) printf("AUC %.4f, ", j->scores.roc_auc);
    printf("accuracy %.4f, precision %.4f, recall %.4f\n", j->scores.accuracy, j->scores.precision, j->scores.recall);
}

static void print(const predict_job *j)
{
    const lt_qsvm_info *i = j->info;
    print_predicted(j);
    if (j->c->common.quiet) return;
    printf("by %lld support vectors of %lld rows", (long long)i->n_supports, (long long)i->n);
    if (i->precomputed) printf(", a kernel computed before\n");
    else if (i->circuit) printf(", %lld features, a %s\n", (long long)i->n_qubits, strchr(i->circuit, '\n') ? "circuit" : "map");
    else printf(", %lld qubits, %s, %lld layers%s\n", (long long)i->n_qubits, lt_embed_name(i->embed_mode), (long long)i->n_layers, i->re_embed ? " re-embedded" : "");
}

static lt_status write_decisions(const predict_job *j)
{
    if (j->info->n_machines == 1) return qsvm_write_numbers(j->o->decision_out, j->rows.n, j->decision);
    return qsvm_write_matrix(j->o->decision_out, j->rows.n, j->info->n_machines, j->decision);
}

static lt_status write_labels(const predict_job *j)
{
    static const char signs[2][LT_QSVM_CLASS_NAME] = { "-1", "1" };
    const int64_t n = j->rows.n;
    if (j->info->task == LT_QSVM_REGRESS) return qsvm_write_numbers(j->o->out, n, j->decision);
    if (j->info->task == LT_QSVM_CLASSIFY) return qsvm_write_labels(j->o->out, n, j->info->n_classes, j->info->class_names, j->label);
    int32_t *second = malloc((size_t)n * sizeof *second);
    if (!second) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < n; i++) second[i] = j->label[i] > 0;
    lt_status s = qsvm_write_labels(j->o->out, n, 2, signs, second);
    free(second);
    return s;
}

static lt_status write_probabilities(const predict_job *j)
{
    const int64_t n = j->rows.n, classes = j->info->n_classes;
    double *p = malloc((size_t)(n * classes + 1) * sizeof *p);
    if (!p) return cli_fail(LT_ERR_MEMORY, "no memory for probabilities");
    lt_status s = lt_qsvm_probabilities(j->machine, j->decision, n, p);
    if (!s) s = qsvm_write_matrix(j->o->probability_out, n, classes, p);
    free(p);
    return s;
}

/* ---- the run ---- */

static lt_status check_options(const predict_job *j)
{
    const predict_cli *o = j->o;
    if (!o->model) return cli_fail(LT_ERR_ARGUMENT, "which machine? Give --model FILE");
    if (!o->x && !o->kernel) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy or X.csv, or --kernel K.npy");
    if (o->x && o->kernel) return cli_fail(LT_ERR_ARGUMENT, "--x and --kernel both bring rows; give one of them");
    if (!o->out && !o->decision_out && !o->probability_out && !o->labels && !o->label_column && !j->c->json)
        return cli_fail(LT_ERR_ARGUMENT, "nothing to write: give --out y.npy or y.csv, --decision-out D.npy or labels to score against");
    CLI_TRY(cli_check_ending("out", o->out, true));
    CLI_TRY(cli_check_ending("probability-out", o->probability_out, true));
    return cli_check_ending("decision-out", o->decision_out, true);
}

static lt_status read_rows(predict_job *j)
{
    const predict_cli *o = j->o;
    const lt_qsvm_info *i = j->info;
    if (i->precomputed && !o->kernel)
        return cli_fail(LT_ERR_ARGUMENT, "%s was trained on a kernel computed before: give --kernel, new rows by its %lld training rows", o->model,
                        (long long)i->n);
    if (!i->precomputed && o->kernel) return cli_fail(LT_ERR_ARGUMENT, "%s computes its kernel itself: give --x", o->model);
    if (o->probability_out && !i->probability) return cli_fail(LT_ERR_ARGUMENT, "--probability-out: %s was trained without --probability", o->model);
    if (i->task == LT_QSVM_ONE_CLASS && o->labels) return cli_fail(LT_ERR_ARGUMENT, "--labels: %s is of one class and knows no labels", o->model);
    CLI_TRY(qsvm_rows_read(o->x ? o->x : o->kernel, o->x ? "x" : "kernel", o->labels, o->label_column, &j->rows));
    CLI_TRY(qsvm_rows_expect(&j->rows, "x", o->x, i->feature_names));
    if (!j->rows.label) return LT_OK;
    if (i->task == LT_QSVM_REGRESS) return qsvm_rows_measure(&j->rows, o->labels ? o->labels : o->x);
    if (i->task == LT_QSVM_ONE_CLASS) return LT_OK;
    return qsvm_rows_classify(&j->rows, &(qsvm_classes_of){ i->n_classes, (qsvm_name *)(uintptr_t)i->class_names }, true);
}

static lt_status run_job(predict_job *j)
{
    const predict_cli *o = j->o;
    CLI_TRY(check_options(j));
    CLI_TRY(cli_blame_input(lt_qsvm_load(j->c->device, o->model, &j->machine)));
    j->info = lt_qsvm_get_info(j->machine);
    CLI_TRY(read_rows(j));
    CLI_TRY(decide(j));
    if (o->decision_out) CLI_TRY(write_decisions(j));
    if (o->probability_out) CLI_TRY(write_probabilities(j));
    if (o->out) CLI_TRY(write_labels(j));
    if (j->c->json) return put_json(j);
    print(j);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    predict_job j = { .c = c, .o = c->options };
    lt_status s = run_job(&j);
    lt_qsvm_destroy(j.machine);
    qsvm_rows_free(&j.rows);
    free(j.decision);
    free(j.label);
    free(j.confusion);
    return s;
}

const cli_command cli_qsvm_predict = {
    .name = "qsvm predict", .options = &table, .options_bytes = sizeof(predict_cli), .need = CLI_NEED_CPU, .run = run,
    .description = "Reduces, scales and embeds new rows as the machine's training rows were, and says of which class they are, or their values. The file is checked "
                   "when it is read; labels, where given, score the machine.",
};
