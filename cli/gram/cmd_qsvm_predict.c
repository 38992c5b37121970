/* lathe qsvm predict: a stored machine on new rows. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    LT_OPTION_PATH(O, out, "out", NULL, "y.npy", "predicted labels: numbers where both classes are, else 0 and 1"),
    LT_OPTION_PATH(O, decision_out, "decision-out", NULL, "D.npy", "decision values: above the threshold is the second class"),
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
    double            *decision, *predicted; /* predicted: as numbers */
    int64_t            n_second;
    bool               numeric;              /* both classes are called by numbers */
    lt_qsvm_scores     scores;
} predict_job;

static bool is_number(const char *text, double *v)
{
    char *end;
    *v = strtod(text, &end);
    return end != text && !*end && isfinite(*v);
}

static lt_status decide(predict_job *j)
{
    double value[2], threshold = j->info->machine[LT_QSVM_QUANTUM].threshold;
    lt_rows x = qsvm_rows_view(&j->rows);
    j->decision = malloc(2 * (size_t)j->rows.n * sizeof *j->decision);
    if (!j->decision) return cli_fail(LT_ERR_MEMORY, "no memory for decision values");
    j->predicted = j->decision + j->rows.n;
    CLI_TRY(lt_qsvm_decide(j->machine, LT_QSVM_QUANTUM, &x, j->decision));
    bool first = is_number(j->info->class_name[0], &value[0]), second = is_number(j->info->class_name[1], &value[1]);
    j->numeric = first && second;
    if (!j->numeric) value[0] = 0, value[1] = 1;
    for (int64_t i = 0; i < j->rows.n; i++) {
        bool is_second = j->decision[i] > threshold;
        j->n_second += is_second;
        j->predicted[i] = value[is_second];
    }
    return j->rows.label ? lt_qsvm_score(j->rows.y, j->decision, j->rows.n, threshold, &j->scores) : LT_OK;
}

/* Whole numbers as int64, others as they are. */
static lt_status write_labels(const predict_job *j)
{
    lt_shape shape = lt_shape1(j->rows.n);
    bool whole = true;
    for (int64_t i = 0; i < j->rows.n; i++) whole = whole && j->predicted[i] == floor(j->predicted[i]) && fabs(j->predicted[i]) < 0x1p53;
    if (!whole) return lt_npy_write(j->o->out, LT_F64, &shape, j->predicted);
    int64_t *v = malloc((size_t)j->rows.n * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < j->rows.n; i++) v[i] = (int64_t)j->predicted[i];
    lt_status s = lt_npy_write(j->o->out, LT_I64, &shape, v);
    free(v);
    return s;
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
    if (j->o->out && !j->numeric) printf("in %s: 0 is '%s', 1 is '%s'\n", j->o->out, i->class_name[0], i->class_name[1]);
}

static lt_status run_job(predict_job *j)
{
    const predict_cli *o = j->o;
    if (!o->model) return cli_fail(LT_ERR_ARGUMENT, "which machine? Give --model FILE");
    if (!o->x) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy or X.csv");
    if (!o->out && !o->decision_out && !o->labels && !o->label_column && !j->c->json)
        return cli_fail(LT_ERR_ARGUMENT, "nothing to write: give --out y.npy, --decision-out D.npy or labels to score against");
    CLI_TRY(cli_blame_input(lt_qsvm_load(j->c->device, o->model, &j->machine)));
    j->info = lt_qsvm_get_info(j->machine);
    CLI_TRY(qsvm_rows_read(o->x, "x", o->labels, o->label_column, &j->rows));
    CLI_TRY(qsvm_rows_expect(&j->rows, "x", o->x, j->info->feature_names));
    if (j->rows.label) CLI_TRY(qsvm_rows_classify(&j->rows, (const qsvm_name *)j->info->class_name, true));
    CLI_TRY(decide(j));
    lt_shape shape = lt_shape1(j->rows.n);
    if (o->decision_out) CLI_TRY(lt_npy_write(o->decision_out, LT_F64, &shape, j->decision));
    if (o->out) CLI_TRY(write_labels(j));
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
    return s;
}

const cli_command cli_qsvm_predict = {
    .name = "qsvm predict", .options = &table, .options_bytes = sizeof(predict_cli), .need = CLI_NEED_CPU, .run = run,
    .description = "Reduces, scales and embeds new rows as the machine's training rows were, and tells their classes. The file is checked "
                   "when it is read; labels, where given, score the machine.",
};
