/* lathe qsvm: a support vector machine on a quantum kernel, from files to scores. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_SYNTHETIC, EASY, HARD };
static const char *const synthetic_names[] = { "no", "easy", "hard", NULL };

#define O qsvm_cli
static const lt_option rows[] = {
    LT_OPTION_PATH(O, x, "x", NULL, "X.npy|X.csv", "features, one row per sample; further axes of a .npy are flattened"),
    LT_OPTION_PATH(O, labels, "labels", NULL, "y.npy|y.csv", "one label per row"),
    LT_OPTION_STRING(O, label_column, "label-column", NULL, "NAME|N|last", "where the labels stand in CSV files: a name of the header, or a number from 1"),
    LT_OPTION_STRING(O, classes, "classes", NULL, "A,B", "of several classes keep the rows of these two; B is the positive class"),
    LT_OPTION_PATH(O, test_x, "test-x", NULL, "T.npy|T.csv", "rows to test on"),
    LT_OPTION_PATH(O, test_labels, "test-labels", NULL, "t.npy|t.csv", "their labels, unless they stand in the label column"),
    LT_OPTION_REAL(O, test_fraction, "test-fraction", "0.25", LT_RANGE_OPEN_HI(0, 1), "F", "without --test-x: share of either class held out for tests"),
    LT_OPTION_INT(O, train_subset, "train-subset", "0", LT_AT_LEAST(0), "N", "train on the first N rows only; 0 = all"),
    LT_OPTION_ENUM(O, synthetic, "synthetic", "no", synthetic_names, "built-in images instead of files: 400 to train, 400 to test"),
    LT_OPTION_PATH(O, weights, "weights", NULL, "W.npy", "layers by qubits (by 3 with --entangler strong); drawn from the seed when not given"),
    LT_OPTION_PATH(O, model_out, "model-out", NULL, "FILE", "keep the machine for 'lathe qsvm predict'"),
    LT_OPTION_PATH(O, decision_out, "decision-out", NULL, "D.npy|D.csv", "decision values of the test rows"),
    LT_OPTION_PATH(O, report, "report", NULL, "FILE.html", "write a page about kernel, search and scores"),
};
#undef O
static const lt_option_group groups[] = {
    { .title = "Files", .rows = rows, .n_rows = CLI_LEN(rows) },
    { .title = "Machine", LT_OPTIONS_OF(qsvm_cli, qsvm, lt_qsvm_options_table), .except = "seed" }, /* which is a common option */
    { .title = "Kernel", LT_OPTIONS_OF(qsvm_cli, gram, lt_gram_options_table) },
    { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS },
};
static const lt_option_table table = {
    .program = "lathe qsvm", .summary = "Train and test a support vector machine on a quantum kernel",
    .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe qsvm --synthetic hard --qubits 8 --re-embed --compare-rbf --report qsvm.html",
};

/* ---- input ---- */

static lt_status make_synthetic(qsvm_job *j)
{
    enum { HALF = LT_QSVM_IMAGES / 2 };
    size_t half = (size_t)HALF * LT_QSVM_PIXELS;
    double *x = malloc(2 * half * sizeof *x);
    uint8_t y[LT_QSVM_IMAGES];
    qsvm_rows *part[2] = { &j->train, &j->test };
    if (!x) return cli_fail(LT_ERR_MEMORY, "no memory for the images");
    lt_qsvm_synthetic(j->o->synthetic == HARD, x, y);
    bool ok = true;
    for (int p = 0; p < 2; p++) {
        *part[p] = (qsvm_rows){ .n = HALF, .n_features = LT_QSVM_PIXELS, .x = malloc(half * sizeof *x), .y = malloc(HALF),
                                .label = calloc(HALF, sizeof(qsvm_name)) };
        if (!part[p]->x || !part[p]->y || !part[p]->label) {
            ok = false;
            break;
        }
        memcpy(part[p]->x, x + (size_t)p * half, half * sizeof *x);
        memcpy(part[p]->y, y + p * HALF, HALF);
    }
    free(x);
    snprintf(j->name[0], sizeof j->name[0], "%s", j->o->synthetic == HARD ? "ring" : "bar");
    snprintf(j->name[1], sizeof j->name[1], "%s", j->o->synthetic == HARD ? "open ring" : "ring");
    return ok ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the images");
}

static lt_status read_test(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    const char *column = o->test_labels ? NULL : o->label_column;
    if (!column && !o->test_labels) return cli_fail(LT_ERR_ARGUMENT, "--test-x has no labels: give --test-labels");
    CLI_TRY(qsvm_rows_read(o->test_x, "test-x", o->test_labels, column, &j->test));
    if (j->test.n_features != j->train.n_features)
        return cli_fail(LT_ERR_ARGUMENT, "--test-x %s has %lld features, but --x %s has %lld", o->test_x, (long long)j->test.n_features, o->x,
                        (long long)j->train.n_features);
    CLI_TRY(qsvm_rows_expect(&j->test, "test-x", o->test_x, j->train.names));
    return qsvm_rows_classify(&j->test, (const qsvm_name *)j->name, !o->classes);
}

static lt_status read_files(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    if (!o->x) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy or --synthetic easy|hard");
    if (!o->labels && !o->label_column) return cli_fail(LT_ERR_ARGUMENT, "which labels? Give --labels y.npy, or --label-column for a CSV file");
    if (o->test_labels && !o->test_x) return cli_fail(LT_ERR_ARGUMENT, "--test-labels goes with --test-x");
    CLI_TRY(qsvm_rows_read(o->x, "x", o->labels, o->label_column, &j->train));
    CLI_TRY(qsvm_classes(&j->train, o->classes, j->name));
    CLI_TRY(qsvm_rows_classify(&j->train, (const qsvm_name *)j->name, !o->classes));
    if (o->test_x) return read_test(j);
    const int64_t all = j->train.n;
    if (o->test_fraction > 0) CLI_TRY(qsvm_rows_split(&j->train, o->test_fraction, (uint64_t)o->common.seed, &j->test));
    return j->train.n ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "--test-fraction %g holds all %lld rows out: none is left to train on", o->test_fraction, (long long)all);
}

static lt_status read_rows(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    if (o->synthetic && (o->x || o->labels || o->label_column || o->test_x || o->test_labels || o->classes))
        return cli_fail(LT_ERR_ARGUMENT, "--synthetic brings its own rows and labels: leave --x, --labels and the like out");
    CLI_TRY(o->synthetic ? make_synthetic(j) : read_files(j));
    if (o->train_subset > j->train.n)
        return cli_fail(LT_ERR_ARGUMENT, "--train-subset %lld, but there are %lld training rows", (long long)o->train_subset, (long long)j->train.n);
    if (o->train_subset > 0) j->train.n = o->train_subset;
    if (o->decision_out && j->test.n == 0) return cli_fail(LT_ERR_ARGUMENT, "--decision-out needs test rows");
    return LT_OK;
}

/* Weights in double, whatever the file holds. */
static lt_status read_weights(qsvm_job *j, lt_qsvm_options *opt)
{
    bool strong = opt->gram->entangler == LT_ENTANGLER_STRONG;
    lt_array a = { 0 };
    CLI_TRY(cli_blame_input(lt_npy_read(j->o->weights, &a)));
    int64_t n = lt_shape_count(&a.shape);
    lt_status s = LT_OK;
    if ((a.dtype != LT_F64 && a.dtype != LT_F32) || a.shape.rank != 2 + strong || n < 1 || (strong && a.shape.dim[2] != 3))
        s = cli_fail(LT_ERR_ARGUMENT, "--weights %s holds %s %s, expected float64 or float32 %s", j->o->weights, lt_dtype_name(a.dtype),
                     lt_shape_str(&a.shape).s, strong ? "[layers, qubits, 3]" : "[layers, qubits]");
    if (!s && !(j->weights = malloc((size_t)n * sizeof *j->weights))) s = cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    for (int64_t i = 0; !s && i < n; i++) j->weights[i] = a.dtype == LT_F64 ? ((double *)a.data)[i] : (double)((float *)a.data)[i];
    if (!s) opt->weights = (lt_weights){ j->weights, a.shape.dim[0], a.shape.dim[1] };
    lt_array_free(&a);
    return s;
}

/* The images come with weights of their own, so that everyone computes the same kernel. */
static lt_status synthetic_weights(qsvm_job *j, lt_qsvm_options *opt)
{
    enum { DEFAULT_QUBITS = 16, DEFAULT_LAYERS = 2, SELECTABLE = 3 };
    if (opt->gram->entangler == LT_ENTANGLER_STRONG) return LT_OK; /* they have one number per wire only */
    if (!opt->n_qubits) opt->n_qubits = DEFAULT_QUBITS;
    if (!opt->n_layers) opt->n_layers = DEFAULT_LAYERS;
    int64_t layers = opt->n_layers > SELECTABLE ? opt->n_layers : SELECTABLE;
    j->weights = malloc((size_t)(layers * opt->n_qubits) * sizeof *j->weights);
    if (!j->weights) return cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    lt_qsvm_synthetic_weights(layers, opt->n_qubits, j->weights);
    opt->weights = (lt_weights){ j->weights, layers, opt->n_qubits };
    return LT_OK;
}

/* ---- the run ---- */

static bool show_progress(void *ctx, const char *step, int64_t done, int64_t total)
{
    qsvm_job *j = ctx;
    if (step != j->step || done >= total) {
        lt_progress_destroy(j->bar);
        j->bar = NULL;
    }
    j->step = step;
    if (!j->bar && done < total) (void)lt_progress_create(step, "step", total, j->c->common.quiet || j->c->json, &j->bar); /* goes on without a bar */
    lt_progress_set(j->bar, done);
    return !cli_interrupted();
}

static lt_status train(qsvm_job *j)
{
    lt_qsvm_options opt = j->o->qsvm;
    opt.gram = &j->o->gram;
    opt.progress = show_progress;
    opt.progress_ctx = j;
    opt.seed = j->o->common.seed;
    opt.class_name[0] = j->name[0];
    opt.class_name[1] = j->name[1];
    opt.feature_names = j->train.names;
    if (j->o->weights) CLI_TRY(read_weights(j, &opt));
    else if (j->o->synthetic) CLI_TRY(synthetic_weights(j, &opt));
    lt_rows x = qsvm_rows_view(&j->train);
    CLI_TRY(lt_qsvm_create(j->c->device, &opt, &j->machine));
    lt_status s = lt_qsvm_fit(j->machine, &x, j->train.y);
    lt_progress_destroy(j->bar);
    j->bar = NULL;
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_stopped();
    CLI_TRY(s);
    j->info = lt_qsvm_get_info(j->machine);
    return LT_OK;
}

static lt_status test(qsvm_job *j)
{
    lt_rows x = qsvm_rows_view(&j->test);
    if (j->test.n == 0) return LT_OK;
    for (int m = 0; m < (j->info->has_rbf ? 2 : 1); m++) {
        qsvm_result *r = &j->result[m];
        double start = cli_now();
        r->decision = malloc((size_t)j->test.n * sizeof *r->decision);
        if (!r->decision) return cli_fail(LT_ERR_MEMORY, "no memory for decision values");
        CLI_TRY(lt_qsvm_decide(j->machine, (lt_qsvm_machine)m, &x, r->decision));
        CLI_TRY(lt_qsvm_score(j->test.y, r->decision, j->test.n, j->info->machine[m].threshold, &r->test));
        if (m == LT_QSVM_QUANTUM) j->predict_seconds = cli_now() - start;
    }
    return LT_OK;
}

static lt_status run_job(qsvm_job *j)
{
    CLI_TRY(cli_check_ending("decision-out", j->o->decision_out, true));
    CLI_TRY(read_rows(j));
    CLI_TRY(train(j));
    CLI_TRY(test(j));
    if (j->o->report) CLI_TRY(qsvm_report(j));
    if (j->o->decision_out) CLI_TRY(qsvm_write_numbers(j->o->decision_out, j->test.n, j->result[LT_QSVM_QUANTUM].decision));
    if (j->o->model_out) CLI_TRY(lt_qsvm_save(j->machine, j->o->model_out));
    if (j->c->json) qsvm_put_json(j);
    else qsvm_print(j);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    qsvm_job j = { .c = c, .o = c->options };
    lt_status s = run_job(&j);
    lt_progress_destroy(j.bar);
    lt_qsvm_destroy(j.machine);
    qsvm_rows_free(&j.train);
    qsvm_rows_free(&j.test);
    free(j.weights);
    for (int m = 0; m < LT_QSVM_MACHINE_COUNT; m++) free(j.result[m].decision);
    return s;
}

const cli_command cli_qsvm = {
    .name = "qsvm", .options = &table, .options_bytes = sizeof(qsvm_cli), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Reduces features to qubits by principal components, scales them, computes the kernel of a quantum feature map, finds C by "
                   "stratified cross-validation, trains, and tests on rows held out. Components, ranges and C are learnt from training rows "
                   "only. Diagnostics say why a kernel fails: too little spread, too much, or none that has to do with the labels.\n"
                   "--select tries embeddings, angle scales and depths. --compare-rbf does the same work with a Gaussian kernel.",
};
