/* lathe qsvm: a support vector machine on a quantum kernel, from files to scores. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_SYNTHETIC, EASY, HARD };
static const char *const synthetic_names[] = { "no", "easy", "hard", NULL };

#define O qsvm_cli
static const lt_option rows[] = {
    LT_OPTION_PATH(O, x, "x", NULL, "X.npy|X.csv", "features, one row per sample; further axes of a .npy are flattened"),
    LT_OPTION_PATH(O, labels, "labels", NULL, "y.npy|y.csv", "one label per row: any number of classes, by numbers or texts; numbers to learn with --task regress"),
    LT_OPTION_STRING(O, label_column, "label-column", NULL, "NAME|N|last", "where the labels stand in CSV files: a name of the header, or a number from 1"),
    LT_OPTION_STRING(O, classes, "classes", NULL, "A,B,...", "keep the rows of these classes; of two B is the positive one"),
    LT_OPTION_STRING(O, class_weights, "class-weights", NULL, "A=W,...", "factors of C of classes by their names; 1 for those not named"),
    LT_OPTION_PATH(O, sample_weights, "sample-weights", NULL, "w.npy|w.csv", "a factor of C for each row"),
    LT_OPTION_PATH(O, kernel, "kernel", NULL, "K.npy|K.csv", "a kernel computed before, of all rows with themselves, instead of features"),
    LT_OPTION_PATH(O, test_kernel, "test-kernel", NULL, "T.npy|T.csv", "with --kernel: rows to test on by the rows of the kernel"),
    LT_OPTION_PATH(O, test_x, "test-x", NULL, "T.npy|T.csv", "rows to test on"),
    LT_OPTION_PATH(O, test_labels, "test-labels", NULL, "t.npy|t.csv", "their labels, unless they stand in the label column"),
    LT_OPTION_REAL(O, test_fraction, "test-fraction", "0.25", LT_RANGE_OPEN_HI(0, 1), "F", "without --test-x: share of each class held out for tests"),
    LT_OPTION_INT(O, train_subset, "train-subset", "0", LT_AT_LEAST(0), "N", "train on the first N rows only; 0 = all"),
    LT_OPTION_ENUM(O, synthetic, "synthetic", "no", synthetic_names, "built-in images instead of files: 400 to train, 400 to test"),
    LT_OPTION_PATH(O, weights, "weights", NULL, "W.npy",
                   "layers by qubits (by 3 with --entangler strong), or those of the map or circuit; drawn from the seed when not given"),
    LT_OPTION_STRING(O, map, "map", NULL, "MAP", "a named map of the reduced features instead of layers, as 'zz(reps=2)'"),
    LT_OPTION_PATH(O, circuit, "circuit", NULL, "F.qasm", "a circuit in OpenQASM instead of layers"),
    LT_OPTION_PATH(O, model_out, "model-out", NULL, "FILE", "keep the machine for 'lathe qsvm predict'"),
    LT_OPTION_PATH(O, decision_out, "decision-out", NULL, "D.npy|D.csv",
                   "decision values of the test rows, a column for each pair of classes; of --task regress the values"),
    LT_OPTION_PATH(O, probability_out, "probability-out", NULL, "P.npy|P.csv", "with --probability: probabilities of the test rows, a column for each class"),
    LT_OPTION_PATH(O, report, "report", NULL, "FILE.html", "write a page about kernel, search and scores"),
};
#undef O
static const lt_option_group groups[] = {
    { .title = "Files", .rows = rows, .n_rows = CLI_LEN(rows) },
    { .title = "Machine", LT_OPTIONS_OF(qsvm_cli, qsvm, lt_qsvm_options_table), .except = "seed" }, /* which is a common option */
    { .title = "Kernel", LT_OPTIONS_OF(qsvm_cli, gram, lt_gram_options_table) },
    { .title = "Kernel of a map or circuit", LT_OPTIONS_OF(qsvm_cli, similarity, lt_similarity_options_table) },
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
    j->classes = (qsvm_classes_of){ 2, calloc(2, sizeof(qsvm_name)) };
    if (!x || !j->classes.name) {
        free(x);
        return cli_fail(LT_ERR_MEMORY, "no memory for the images");
    }
    lt_qsvm_synthetic(j->o->synthetic == HARD, x, y);
    bool ok = true;
    for (int p = 0; p < 2; p++) {
        *part[p] = (qsvm_rows){ .n = HALF, .n_features = LT_QSVM_PIXELS, .x = malloc(half * sizeof *x), .y = malloc(HALF * sizeof(int32_t)) };
        if (!part[p]->x || !part[p]->y) {
            ok = false;
            break;
        }
        memcpy(part[p]->x, x + (size_t)p * half, half * sizeof *x);
        for (int i = 0; i < HALF; i++) part[p]->y[i] = y[p * HALF + i];
    }
    free(x);
    snprintf(j->classes.name[0], sizeof j->classes.name[0], "%s", j->o->synthetic == HARD ? "ring" : "bar");
    snprintf(j->classes.name[1], sizeof j->classes.name[1], "%s", j->o->synthetic == HARD ? "open ring" : "ring");
    return ok ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the images");
}

/* Labels as numbers of classes, or as the values they are. */
static lt_status number_labels(qsvm_job *j, qsvm_rows *r, const char *path)
{
    switch (j->o->qsvm.task) {
    case LT_QSVM_REGRESS:   return qsvm_rows_measure(r, path);
    case LT_QSVM_ONE_CLASS: return LT_OK;
    default:                return qsvm_rows_classify(r, &j->classes, !j->o->classes);
    }
}

static lt_status read_test(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    const bool labelled = o->qsvm.task != LT_QSVM_ONE_CLASS;
    const char *column = o->test_labels ? NULL : o->label_column, *path = o->test_labels ? o->test_labels : o->test_x;
    if (!o->kernel) {
        if (labelled && !column && !o->test_labels) return cli_fail(LT_ERR_ARGUMENT, "--test-x has no labels: give --test-labels");
        CLI_TRY(qsvm_rows_read(o->test_x, "test-x", o->test_labels, column, &j->test));
        if (j->test.n_features != j->train.n_features)
            return cli_fail(LT_ERR_ARGUMENT, "--test-x %s has %lld features, but --x %s has %lld", o->test_x, (long long)j->test.n_features, o->x,
                            (long long)j->train.n_features);
        CLI_TRY(qsvm_rows_expect(&j->test, "test-x", o->test_x, j->train.names));
    }
    return number_labels(j, &j->test, path);
}

static lt_status read_files(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    CLI_TRY(o->kernel ? qsvm_read_kernel(j) : qsvm_rows_read(o->x, "x", o->labels, o->label_column, &j->train));
    if (o->sample_weights) CLI_TRY(qsvm_numbers_read(o->sample_weights, "sample-weights", j->train.n, &j->train.weight));
    if (o->qsvm.task == LT_QSVM_CLASSIFY) CLI_TRY(qsvm_classes(&j->train, o->classes, &j->classes));
    CLI_TRY(number_labels(j, &j->train, o->labels ? o->labels : o->x));
    if (o->test_x || o->test_kernel) return read_test(j);
    const int64_t all = j->train.n;
    if (o->test_fraction > 0) CLI_TRY(qsvm_rows_split(&j->train, o->test_fraction, (uint64_t)o->common.seed, j->classes.n, &j->test));
    return j->train.n ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "--test-fraction %g holds all %lld rows out: none is left to train on", o->test_fraction, (long long)all);
}

static lt_status read_rows(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    CLI_TRY(qsvm_check_options(j));
    CLI_TRY(o->synthetic ? make_synthetic(j) : read_files(j));
    if (o->train_subset > j->train.n)
        return cli_fail(LT_ERR_ARGUMENT, "--train-subset %lld, but there are %lld training rows", (long long)o->train_subset, (long long)j->train.n);
    if (o->train_subset > 0) j->train.n = o->train_subset;
    if (o->kernel) CLI_TRY(qsvm_gather_kernel(j));
    if ((o->decision_out || o->probability_out) && j->test.n == 0)
        return cli_fail(LT_ERR_ARGUMENT, "--%s needs test rows", o->decision_out ? "decision-out" : "probability-out");
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

static lt_status name_classes(qsvm_job *j, lt_qsvm_options *opt)
{
    if (j->classes.n == 0) return LT_OK;
    j->class_name = malloc((size_t)j->classes.n * sizeof *j->class_name);
    if (!j->class_name) return cli_fail(LT_ERR_MEMORY, "no memory for the classes");
    for (int64_t c = 0; c < j->classes.n; c++) j->class_name[c] = j->classes.name[c];
    opt->n_classes = j->classes.n;
    opt->class_names = j->class_name;
    return qsvm_read_class_weights(j, opt);
}

static lt_status read_kernel_options(qsvm_job *j, lt_qsvm_options *opt)
{
    opt->precomputed = j->o->kernel != NULL;
    CLI_TRY(qsvm_read_circuit(j, opt));
    if (opt->map || opt->circuit) return LT_OK;
    return j->o->weights ? read_weights(j, opt) : j->o->synthetic ? synthetic_weights(j, opt) : LT_OK;
}

static lt_status train(qsvm_job *j)
{
    lt_qsvm_options opt = j->o->qsvm;
    opt.gram = &j->o->gram;
    opt.progress = show_progress;
    opt.progress_ctx = j;
    opt.seed = j->o->common.seed;
    opt.feature_names = j->train.names;
    CLI_TRY(name_classes(j, &opt));
    CLI_TRY(read_kernel_options(j, &opt));
    lt_rows x = qsvm_rows_view(&j->train);
    CLI_TRY(lt_qsvm_create(j->device ? j->device : j->c->device, &opt, &j->machine));
    lt_status s = lt_qsvm_fit_targets(j->machine, &x, &(lt_qsvm_targets){ sizeof(lt_qsvm_targets), j->train.y, j->train.value, j->train.weight });
    lt_progress_destroy(j->bar);
    j->bar = NULL;
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_stopped();
    CLI_TRY(s);
    j->info = lt_qsvm_get_info(j->machine);
    return LT_OK;
}

static lt_status write_probabilities(const qsvm_job *j)
{
    const int64_t n = j->test.n, classes = j->info->n_classes;
    double *p = malloc((size_t)(n * classes) * sizeof *p);
    if (!p) return cli_fail(LT_ERR_MEMORY, "no memory for probabilities");
    lt_status s = lt_qsvm_probabilities(j->machine, j->result[LT_QSVM_QUANTUM].decision, n, p);
    if (!s) s = qsvm_write_matrix(j->o->probability_out, n, classes, p);
    free(p);
    return s;
}

static lt_status write_decisions(const qsvm_job *j)
{
    const double *decision = j->result[LT_QSVM_QUANTUM].decision;
    if (j->info->n_machines == 1) return qsvm_write_numbers(j->o->decision_out, j->test.n, decision);
    return qsvm_write_matrix(j->o->decision_out, j->test.n, j->info->n_machines, decision);
}

static lt_status run_job(qsvm_job *j)
{
    CLI_TRY(cli_check_ending("decision-out", j->o->decision_out, true));
    CLI_TRY(cli_check_ending("probability-out", j->o->probability_out, true));
    CLI_TRY(read_rows(j));
    CLI_TRY(train(j));
    CLI_TRY(qsvm_test(j));
    if (j->o->report) CLI_TRY(qsvm_report(j));
    if (j->o->decision_out) CLI_TRY(write_decisions(j));
    if (j->o->probability_out) CLI_TRY(write_probabilities(j));
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
    qsvm_rows_free(&j.kernel);
    qsvm_rows_free(&j.test_kernel);
    lt_circuit_destroy(j.circuit);
    lt_device_close(j.device);
    free(j.weights);
    free(j.classes.name);
    free(j.class_name);
    free(j.class_weights);
    for (int m = 0; m < LT_QSVM_MACHINE_COUNT; m++) qsvm_free_result(&j.result[m]);
    return s;
}

const cli_command cli_qsvm = {
    .name = "qsvm", .options = &table, .options_bytes = sizeof(qsvm_cli), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Reduces features to qubits by principal components, scales them, computes the kernel of a quantum feature map, finds C by "
                   "stratified cross-validation, trains, and tests on rows held out. Components, ranges and C are learnt from training rows "
                   "only. Diagnostics say why a kernel fails: too little spread, too much, or none that has to do with the labels.\n"
                   "Any number of classes is learnt one against one; --task regress learns numbers, --task one-class which rows are like the training rows. --map "
                   "and --circuit take any circuit for the kernel, --kernel one computed before.\n"
                   "--select tries embeddings, angle scales and depths. --compare-rbf does the same work with a Gaussian kernel.",
};
