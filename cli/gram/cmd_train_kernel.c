/* lathe train-kernel: weights of a circuit for which its kernel fits labels. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/train.h"

#include "cli/gram/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const loss_names[] = { "alignment", "centred-alignment", "svm-margin", NULL };
_Static_assert(CLI_LEN(loss_names) == LT_KERNEL_LOSS_COUNT + 1, "one name per loss");

static const lt_option rows[] = {
    LT_OPTION_PATH(train_cli, x, "x", NULL, "X.npy", "features: rows by columns, .npy or .csv"),
    LT_OPTION_PATH(train_cli, labels, "labels", NULL, "y.npy", "a class for each row: numbers or texts, .npy or .csv"),
    LT_OPTION_STRING(train_cli, label_column, "label-column", NULL, "COLUMN", "the column of a .csv file that holds the classes: a name, a number from 1, or last"),
    LT_OPTION_PATH(train_cli, test_x, "test-x", NULL, "X.npy", "rows to validate on"),
    LT_OPTION_PATH(train_cli, test_labels, "test-labels", NULL, "y.npy", "their classes"),
    LT_OPTION_REAL(train_cli, test_fraction, "test-fraction", "0", LT_RANGE_OPEN_HI(0, 1), "F", "share of each class to validate on, where --test-x gives no rows"),
    LT_OPTION_STRING(train_cli, map, "map", NULL, "MAP", "a named map with weights, as 'strong(layers=3, reupload=true)'"),
    LT_OPTION_PATH(train_cli, circuit, "circuit", NULL, "F.qasm", "a circuit in OpenQASM instead, whose inputs named w... are weights"),
    LT_OPTION_PATH(train_cli, weights, "weights", NULL, "W.npy", "where to begin; else drawn by --seed from -pi to pi"),
    LT_OPTION_PATH(train_cli, out, "out", NULL, "W.npy", "where the trained weights go"),
    LT_OPTION_PATH(train_cli, report, "report", NULL, "FILE.html", "write a page about the training"),
    LT_OPTION_ENUM(train_cli, loss, "loss", "alignment", loss_names,
                   "what to train for: kernel-target alignment, the same of centred kernels, or a wide margin (two classes)"),
    LT_OPTION_REAL(train_cli, cost, "cost", "1", LT_RANGE_OPEN_LO(0, 1e9), "C", "svm-margin: what errors cost"),
    LT_OPTION_INT(train_cli, iterations, "iterations", "100", LT_RANGE_CLOSED(1, 1000000), "N", "of the optimizer, in each round"),
    LT_OPTION_INT(train_cli, batch, "batch", "0", LT_AT_LEAST(0), "N", "rows of a round; 0 = all"),
    LT_OPTION_INT(train_cli, rounds, "rounds", "1", LT_RANGE_CLOSED(1, 1000000), "N", "rounds, each with rows drawn anew where --batch is given"),
    LT_OPTION_REAL(train_cli, lower, "lower", "-inf", LT_RANGE_CLOSED(-INFINITY, INFINITY), "L", "no weight may be smaller"),
    LT_OPTION_REAL(train_cli, upper, "upper", "inf", LT_RANGE_CLOSED(-INFINITY, INFINITY), "U", "no weight may be larger"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe train-kernel", .summary = "Train the weights of a circuit's kernel", .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe train-kernel --x X.npy --labels y.npy --map 'strong(layers=3, reupload=true)' --out W.npy --report train.html",
};

/* ---- labels ---- */

enum { MAX_CLASSES = 1000 };

/* Numbers of classes in the order they first appear in the training rows. */
static lt_status number_labels(const qsvm_rows *r, const char *path, qsvm_name *names, int *n_names, bool grow, int32_t **out)
{
    *out = calloc((size_t)r->n + 1, sizeof **out);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "no memory for the labels");
    for (int64_t i = 0; i < r->n; i++) {
        int k = 0;
        while (k < *n_names && strcmp(names[k], r->label[i])) k++;
        if (k == *n_names) {
            if (!grow) return cli_fail(LT_ERR_ARGUMENT, "%s: the class '%s' of row %lld (counted from 0) is not among those of training", path, r->label[i], (long long)i);
            if (k == MAX_CLASSES) return cli_fail(LT_ERR_ARGUMENT, "%s: more than %d classes", path, MAX_CLASSES);
            snprintf(names[(*n_names)++], sizeof *names, "%s", r->label[i]);
        }
        (*out)[i] = k;
    }
    return LT_OK;
}

static lt_status hold_out(train_job *j)
{
    qsvm_classes_of classes;
    if (!(j->o->test_fraction > 0)) return LT_OK;
    if (j->o->test_x) return cli_fail(LT_ERR_ARGUMENT, "--test-x and --test-fraction both say what to validate on; give one of them");
    lt_status s = qsvm_classes(&j->rows, NULL, &classes);
    if (!s) s = qsvm_rows_classify(&j->rows, &classes, true);
    if (!s) s = qsvm_rows_split(&j->rows, j->o->test_fraction, (uint64_t)j->c->common.seed, classes.n, &j->test);
    free(classes.name);
    return s;
}

static lt_status read_labels(train_job *j)
{
    qsvm_name *names = calloc(MAX_CLASSES, sizeof *names);
    const char *path = j->o->labels ? j->o->labels : j->o->x;
    if (!names) return cli_fail(LT_ERR_MEMORY, "no memory for the classes");
    lt_status s = number_labels(&j->rows, path, names, &j->n_classes, true, &j->label);
    if (!s && j->test.n) s = number_labels(&j->test, j->o->test_labels ? j->o->test_labels : path, names, &j->n_classes, false, &j->test_label);
    free(names);
    if (!s && j->n_classes < 2) s = cli_fail(LT_ERR_ARGUMENT, "%s: all rows are of one class, expected two or more", path);
    if (!s && j->o->loss == LT_KERNEL_LOSS_SVM_MARGIN && j->n_classes > 2) s = cli_fail(LT_ERR_ARGUMENT, "--loss svm-margin is of two classes, and %s has %d", path, j->n_classes);
    return s;
}

static lt_status read_rows(train_job *j)
{
    const train_cli *o = j->o;
    if (!o->x) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy");
    if (!o->labels && !o->label_column) return cli_fail(LT_ERR_ARGUMENT, "which classes? Give --labels y.npy, or --label-column of a .csv file");
    if (!o->map && !o->circuit) return cli_fail(LT_ERR_ARGUMENT, "which circuit? Give --map, or --circuit F.qasm");
    if (!o->out && !o->report && !j->c->json) return cli_fail(LT_ERR_ARGUMENT, "nothing to write: give --out W.npy or --report FILE.html");
    if (o->test_x && !o->test_labels && !o->label_column) return cli_fail(LT_ERR_ARGUMENT, "--test-x needs --test-labels");
    if (o->lower > o->upper) return cli_fail(LT_ERR_ARGUMENT, "--lower %g is above --upper %g", o->lower, o->upper);
    CLI_TRY(cli_check_ending("out", o->out, false));
    CLI_TRY(qsvm_rows_read(o->x, "x", o->labels, o->label_column, &j->rows));
    if (o->test_x) CLI_TRY(qsvm_rows_read(o->test_x, "test-x", o->test_labels, o->label_column, &j->test));
    if (o->test_x && j->test.n_features != j->rows.n_features)
        return cli_fail(LT_ERR_ARGUMENT, "--test-x %s has %lld features, and --x %lld", o->test_x, (long long)j->test.n_features, (long long)j->rows.n_features);
    CLI_TRY(hold_out(j));
    return read_labels(j);
}

/* ---- the circuit ---- */

static lt_status draw_weights(train_job *j)
{
    lt_rng r = lt_rng_seed((uint64_t)j->c->common.seed);
    j->w = malloc((size_t)j->n_weights * sizeof *j->w);
    if (!j->w) return cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    for (int64_t i = 0; i < j->n_weights; i++) {
        double v = (2 * lt_rng_uniform(&r) - 1) * M_PI;
        j->w[i] = fmin(fmax(v, j->o->lower), j->o->upper);
    }
    return LT_OK;
}

static lt_status make_circuit(train_job *j)
{
    lt_gram_options opt = lt_gram_defaults();
    CLI_TRY(gram_circuit_make(j->o->map, j->o->circuit, j->o->weights, j->rows.n_features, !j->o->weights, &j->circuit, &j->w));
    j->n_weights = lt_circuit_describe(j->circuit).n_weights;
    if (j->n_weights == 0) return cli_fail(LT_ERR_ARGUMENT, "this circuit has no weights to train; basic, strong, qaoa and demo have");
    if (!j->o->weights) CLI_TRY(draw_weights(j));
    return lt_gram_create_circuit(j->c->device, &opt, NULL, j->circuit, j->w, j->n_weights, &j->gram);
}

/* ---- results ---- */

static void put_json(lt_json *t, const train_job *j)
{
    const bool align = j->o->loss != LT_KERNEL_LOSS_SVM_MARGIN;
    lt_json_field_string(t, "loss", loss_names[j->o->loss]);
    lt_json_field_int(t, "n", j->rows.n);
    lt_json_field_int(t, "n_validation", j->test.n);
    lt_json_field_int(t, "classes", j->n_classes);
    lt_json_field_int(t, "qubits", lt_circuit_describe(j->circuit).n_qubits);
    lt_json_field_int(t, "weights", j->n_weights);
    lt_json_field_int(t, "steps", j->n_steps);
    lt_json_field_int(t, "evaluations", j->evaluations);
    lt_json_field_int(t, "gradients", j->gradients);
    lt_json_field_double(t, align ? "alignment_start" : "dual_start", align ? -j->start[0] : j->start[0]);
    lt_json_field_double(t, align ? "alignment" : "dual", align ? -j->end[0] : j->end[0]);
    if (j->test.n) {
        lt_json_field_double(t, "validation_start", align ? -j->start[1] : j->start[1]);
        lt_json_field_double(t, "validation", align ? -j->end[1] : j->end[1]);
    }
    lt_json_field_double(t, "seconds", j->seconds);
}

static void print_summary(const train_job *j)
{
    const bool align = j->o->loss != LT_KERNEL_LOSS_SVM_MARGIN;
    const double sign = align ? -1 : 1;
    const char *what = align ? loss_names[j->o->loss] : "optimum of the dual";
    printf("%s of %lld rows: %.6f before, %.6f after\n", what, (long long)j->rows.n, sign * j->start[0], sign * j->end[0]);
    if (j->test.n) printf("%s of %lld validation rows: %.6f before, %.6f after\n", what, (long long)j->test.n, sign * j->start[1], sign * j->end[1]);
    printf("%lld weights, %lld steps, %lld kernels and %lld gradients in %s\n", (long long)j->n_weights, (long long)j->n_steps, (long long)j->evaluations,
           (long long)j->gradients, cli_seconds(j->seconds).s);
}

static lt_status run_job(train_job *j)
{
    CLI_TRY(read_rows(j));
    CLI_TRY(make_circuit(j));
    CLI_TRY(train_run(j));
    lt_shape shape = lt_circuit_describe(j->circuit).weights;
    if (j->o->report) CLI_TRY(train_report(j));
    if (j->o->out) CLI_TRY(lt_npy_write(j->o->out, LT_F64, &shape, j->w));
    if (j->c->json) put_json(j->c->json, j);
    else print_summary(j);
    return LT_OK;
}

static void free_rows(train_rows *r)
{
    free(r->K);
    free(r->dK);
    if (r->own) free(r->label);
    free(r->own);
}

static lt_status run(cli_context *c)
{
    train_job j = { .c = c, .o = c->options };
    lt_status s = run_job(&j);
    lt_progress_destroy(j.bar);
    lt_gram_destroy(j.gram);
    lt_circuit_destroy(j.circuit);
    free_rows(&j.batch);
    free_rows(&j.validation);
    qsvm_rows_free(&j.rows);
    qsvm_rows_free(&j.test);
    free(j.label);
    free(j.test_label);
    free(j.w);
    free(j.step);
    return s;
}

const cli_command cli_train_kernel = {
    .name = "train-kernel", .options = &table, .options_bytes = sizeof(train_cli), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Finds weights of a circuit for which its kernel K_ij = |<phi(x_i), phi(x_j)>|^2 fits labels: it maximises the alignment of K with the kernel the "
                   "labels would have, or the same of centred kernels, or the margin of a support vector machine, by the optimizer of lathe solve with exact "
                   "derivatives. --lower and --upper keep all weights inside bounds.\n"
                   "With --batch each of --rounds goes on from the last one with rows drawn anew. Rows to validate on show in the report how the loss of rows not "
                   "trained on develops. The weights go to --out in the shape of the map, for lathe gram --weights.",
};
