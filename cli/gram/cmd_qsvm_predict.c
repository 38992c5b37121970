/* lathe qsvm predict: a stored machine on new rows. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>

typedef struct predict_cli {
    cli_common  common;
    const char *model, *x, *labels, *label_column, *out, *decision_out;
} predict_cli;

#define O predict_cli
static const lt_option rows[] = {
    LT_OPTION_PATH(O, model, "model", NULL, "FILE", "what 'lathe qsvm --model-out' wrote"),
    LT_OPTION_PATH(O, x, "x", NULL, "X.npy|X.csv", "rows with the features the machine was trained on"),
    LT_OPTION_PATH(O, labels, "labels", NULL, "y.npy|y.csv", "their labels, to score the machine"),
    LT_OPTION_STRING(O, label_column, "label-column", NULL, "NAME|N|last", "a column of a CSV file that holds labels, not features"),
    LT_OPTION_PATH(O, out, "out", NULL, "y.npy|y.csv", "predicted labels, as the machine was trained on them"),
    LT_OPTION_PATH(O, decision_out, "decision-out", NULL, "D.npy|D.csv", "decision values: above the threshold is the second class"),
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
    double            *decision;
    bool              *is_second; /* what is predicted */
    int64_t            n_second;
    lt_qsvm_scores     scores;
} predict_job;

static lt_status decide(predict_job *j)
{
    double threshold = j->info->machine[LT_QSVM_QUANTUM].threshold;
    lt_rows x = qsvm_rows_view(&j->rows);
    j->decision = malloc((size_t)j->rows.n * sizeof *j->decision);
    j->is_second = malloc((size_t)j->rows.n * sizeof *j->is_second);
    if (!j->decision || !j->is_second) return cli_fail(LT_ERR_MEMORY, "no memory for decision values");
    CLI_TRY(lt_qsvm_decide(j->machine, LT_QSVM_QUANTUM, &x, j->decision));
    for (int64_t i = 0; i < j->rows.n; i++) {
        j->is_second[i] = j->decision[i] > threshold;
        j->n_second += j->is_second[i];
    }
    return j->rows.label ? lt_qsvm_score(j->rows.y, j->decision, j->rows.n, threshold, &j->scores) : LT_OK;
}

/* Every row's class, numbers where the machine knows them as numbers. */
static void put_labels(const predict_job *j)
{
    double value[2];
    bool numbers = qsvm_class_numbers(j->info->class_name, value);
    lt_json_key(j->c->json, "labels");
    lt_json_array_begin(j->c->json);
    for (int64_t i = 0; i < j->rows.n; i++) {
        if (numbers) lt_json_double(j->c->json, value[j->is_second[i]]);
        else lt_json_string(j->c->json, j->info->class_name[j->is_second[i]]);
    }
    lt_json_array_end(j->c->json);
}

static void put_json(const predict_job *j)
{
    lt_json *w = j->c->json;
    lt_json_field_string(w, "model", j->o->model);
    lt_json_field_int(w, "n", j->rows.n);
    lt_json_field_double(w, "threshold", j->info->machine[LT_QSVM_QUANTUM].threshold);
    lt_json_key(w, "classes");
    lt_json_array_begin(w);
    for (int c = 0; c < 2; c++) lt_json_string(w, j->info->class_name[c]);
    lt_json_array_end(w);
    lt_json_key(w, "predicted");
    lt_json_array_begin(w);
    lt_json_int(w, j->rows.n - j->n_second);
    lt_json_int(w, j->n_second);
    lt_json_array_end(w);
    put_labels(j);
    if (j->rows.label) qsvm_put_scores(w, "scores", &j->scores);
}

static void print(const predict_job *j)
{
    const lt_qsvm_info *i = j->info;
    printf("%lld rows: %lld '%s', %lld '%s'\n", (long long)j->rows.n, (long long)(j->rows.n - j->n_second), i->class_name[0], (long long)j->n_second,
           i->class_name[1]);
    if (j->rows.label)
        printf("F1 %.4f, AUC %.4f, accuracy %.4f, precision %.4f, recall %.4f\n", j->scores.f1, j->scores.roc_auc, j->scores.accuracy,
               j->scores.precision, j->scores.recall);
    if (j->c->common.quiet) return;
    printf("by %lld support vectors of %lld rows, %lld qubits, %s, %lld layers%s\n", (long long)(i->machine[0].n_support[0] + i->machine[0].n_support[1]),
           (long long)i->n, (long long)i->n_qubits, lt_embed_name(i->embed_mode), (long long)i->n_layers, i->re_embed ? " re-embedded" : "");
}

static lt_status run_job(predict_job *j)
{
    const predict_cli *o = j->o;
    if (!o->model) return cli_fail(LT_ERR_ARGUMENT, "which machine? Give --model FILE");
    if (!o->x) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy or X.csv");
    if (!o->out && !o->decision_out && !o->labels && !o->label_column && !j->c->json)
        return cli_fail(LT_ERR_ARGUMENT, "nothing to write: give --out y.npy or y.csv, --decision-out D.npy or labels to score against");
    CLI_TRY(cli_check_ending("out", o->out, true));
    CLI_TRY(cli_check_ending("decision-out", o->decision_out, true));
    CLI_TRY(cli_blame_input(lt_qsvm_load(j->c->device, o->model, &j->machine)));
    j->info = lt_qsvm_get_info(j->machine);
    CLI_TRY(qsvm_rows_read(o->x, "x", o->labels, o->label_column, &j->rows));
    CLI_TRY(qsvm_rows_expect(&j->rows, "x", o->x, j->info->feature_names));
    if (j->rows.label) CLI_TRY(qsvm_rows_classify(&j->rows, (const qsvm_name *)j->info->class_name, true));
    CLI_TRY(decide(j));
    if (o->decision_out) CLI_TRY(qsvm_write_numbers(o->decision_out, j->rows.n, j->decision));
    if (o->out) CLI_TRY(qsvm_write_labels(o->out, j->rows.n, j->info->class_name, j->is_second));
    if (j->c->json) put_json(j);
    else print(j);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    predict_job j = { .c = c, .o = c->options };
    lt_status s = run_job(&j);
    lt_qsvm_destroy(j.machine);
    qsvm_rows_free(&j.rows);
    free(j.decision);
    free(j.is_second);
    return s;
}

const cli_command cli_qsvm_predict = {
    .name = "qsvm predict", .options = &table, .options_bytes = sizeof(predict_cli), .need = CLI_NEED_CPU, .run = run,
    .description = "Reduces, scales and embeds new rows as the machine's training rows were, and tells their classes. The file is checked "
                   "when it is read; labels, where given, score the machine.",
};
