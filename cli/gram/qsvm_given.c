/* What `lathe qsvm` is given beside rows and labels: kernels computed before, weights of rows and classes, circuits; and which options go with
   which. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"
#include "cli/gram/qsvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

/* With --kernel there are no features, so nothing is said about them. */
static lt_status check_kernel_options(const qsvm_cli *o)
{
    const lt_gram_options *g = &o->gram, d = lt_gram_defaults();
    if (o->test_kernel && !o->kernel) return cli_fail(LT_ERR_ARGUMENT, "--test-kernel goes with --kernel");
    if (!o->kernel) return LT_OK;
    if (o->x || o->test_x || o->label_column)
        return cli_fail(LT_ERR_ARGUMENT, "--kernel is computed already: leave --x, --test-x and --label-column out; labels come from --labels");
    if (o->map || o->circuit || o->weights) return cli_fail(LT_ERR_ARGUMENT, "--kernel is computed already: leave --map, --circuit and --weights out");
    if (g->embed_mode != d.embed_mode || g->entangler != d.entangler || g->re_embed_between_layers || g->angle_scale != d.angle_scale
        || g->normalize || g->method != d.method || g->dtype != d.dtype)
        return cli_fail(LT_ERR_ARGUMENT, "--kernel is computed already: options of the kernel say nothing about it");
    if (o->test_labels && !o->test_kernel) return cli_fail(LT_ERR_ARGUMENT, "--test-labels goes with --test-kernel here");
    return LT_OK;
}

static lt_status check_task_options(const qsvm_cli *o)
{
    const bool classify = o->qsvm.task == LT_QSVM_CLASSIFY, labels = o->labels || o->label_column || o->test_labels;
    const char *task = lt_qsvm_task_name(o->qsvm.task);
    if (!classify && (o->classes || o->class_weights)) return cli_fail(LT_ERR_ARGUMENT, "--classes and --class-weights are of classes, and --task is %s", task);
    if (!classify && o->synthetic) return cli_fail(LT_ERR_ARGUMENT, "--synthetic has two classes, and --task is %s", task);
    if (o->qsvm.task == LT_QSVM_ONE_CLASS && (o->labels || o->test_labels)) return cli_fail(LT_ERR_ARGUMENT, "--task one-class learns without labels: leave --labels out");
    if (o->qsvm.task != LT_QSVM_ONE_CLASS && !labels && !o->synthetic) return cli_fail(LT_ERR_ARGUMENT, "which labels? Give --labels y.npy, or --label-column for a CSV file");
    if (o->probability_out && !o->qsvm.probability) return cli_fail(LT_ERR_ARGUMENT, "--probability-out goes with --probability");
    return LT_OK;
}

lt_status qsvm_check_options(const qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    if (o->synthetic && (o->x || o->labels || o->label_column || o->test_x || o->test_labels || o->classes || o->kernel || o->sample_weights))
        return cli_fail(LT_ERR_ARGUMENT, "--synthetic brings its own rows and labels: leave --x, --labels and the like out");
    if (o->synthetic) return check_task_options(o);
    if (!o->x && !o->kernel) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy, --kernel K.npy or --synthetic easy|hard");
    CLI_TRY(check_kernel_options(o));
    CLI_TRY(check_task_options(o));
    if (o->test_labels && !o->test_x && !o->test_kernel) return cli_fail(LT_ERR_ARGUMENT, "--test-labels goes with --test-x");
    return LT_OK;
}

/* ---- kernels computed before ---- */

/* A row's only feature is its number, which stays with it when rows are dropped and held out. */
static lt_status make_numbered(int64_t n, qsvm_rows *out)
{
    *out = (qsvm_rows){ .n = n, .n_features = 1, .x = malloc((size_t)n * sizeof *out->x) };
    if (!out->x) return cli_fail(LT_ERR_MEMORY, "no memory for %lld rows", (long long)n);
    for (int64_t i = 0; i < n; i++) out->x[i] = (double)i;
    return LT_OK;
}

static lt_status read_labelled(qsvm_rows *kernel, const char *labels, qsvm_rows *out)
{
    CLI_TRY(make_numbered(kernel->n, out));
    return labels ? qsvm_labels_read(labels, out) : LT_OK;
}

lt_status qsvm_read_kernel(qsvm_job *j)
{
    const qsvm_cli *o = j->o;
    CLI_TRY(qsvm_rows_read(o->kernel, "kernel", NULL, NULL, &j->kernel));
    if (j->kernel.n != j->kernel.n_features)
        return cli_fail(LT_ERR_ARGUMENT, "--kernel %s is %lld x %lld, expected the kernel of rows with themselves, as many columns as rows", o->kernel, (long long)j->kernel.n,
                        (long long)j->kernel.n_features);
    CLI_TRY(read_labelled(&j->kernel, o->labels, &j->train));
    if (!o->test_kernel) return LT_OK;
    if (o->labels && !o->test_labels) return cli_fail(LT_ERR_ARGUMENT, "--test-kernel has no labels: give --test-labels");
    CLI_TRY(qsvm_rows_read(o->test_kernel, "test-kernel", NULL, NULL, &j->test_kernel));
    if (j->test_kernel.n_features != j->kernel.n)
        return cli_fail(LT_ERR_ARGUMENT, "--test-kernel %s has %lld columns, expected %lld: one for each row of --kernel %s", o->test_kernel, (long long)j->test_kernel.n_features,
                        (long long)j->kernel.n, o->kernel);
    return read_labelled(&j->test_kernel, o->test_labels, &j->test);
}

/* Entries of the rows in `rows` by those in `columns`, instead of the numbers of the former. */
static lt_status gather(const qsvm_rows *from, qsvm_rows *rows, const double *columns, int64_t n_columns)
{
    double *K = malloc((size_t)(rows->n * n_columns + 1) * sizeof *K);
    if (!K) return cli_fail(LT_ERR_MEMORY, "no memory for a kernel of %lld rows", (long long)rows->n);
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t k = 0; k < n_columns; k++) K[i * n_columns + k] = from->x[(int64_t)rows->x[i] * from->n_features + (int64_t)columns[k]];
    free(rows->x);
    rows->x = K;
    rows->n_features = n_columns;
    return LT_OK;
}

lt_status qsvm_gather_kernel(qsvm_job *j)
{
    const int64_t n = j->train.n;
    double *columns = malloc((size_t)n * sizeof *columns);
    if (!columns) return cli_fail(LT_ERR_MEMORY, "no memory for %lld rows", (long long)n);
    memcpy(columns, j->train.x, (size_t)n * sizeof *columns);
    lt_status s = gather(&j->kernel, &j->train, columns, n);
    if (!s && j->test.n > 0) s = gather(j->o->test_kernel ? &j->test_kernel : &j->kernel, &j->test, columns, n);
    free(columns);
    return s;
}

/* ---- weights of classes ---- */

static lt_status bad_class_weights(const char *text)
{
    return cli_fail(LT_ERR_ARGUMENT, "--class-weights is '%.100s', expected NAME=W,... with weights above 0, each class at most once", text);
}

lt_status qsvm_read_class_weights(qsvm_job *j, lt_qsvm_options *opt)
{
    const char *text = j->o->class_weights;
    if (!text) return LT_OK;
    double *w = j->class_weights = calloc((size_t)j->classes.n, sizeof *w);
    if (!w) return cli_fail(LT_ERR_MEMORY, "no memory for the weights of classes");
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char part[2 * sizeof(qsvm_name)], *equals;
        qsvm_name name;
        double v;
        const size_t length = strcspn(at, ",");
        if (length >= sizeof part) return bad_class_weights(text);
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        equals = strrchr(part, '=');
        if (!equals || equals == part || !qsvm_is_number(equals + 1, &v) || !(v > 0)) return bad_class_weights(text);
        *equals = 0;
        CLI_TRY(qsvm_set_label(name, part, "--class-weights", 0));
        int64_t c = 0;
        while (c < j->classes.n && strcmp(j->classes.name[c], name)) c++;
        if (c == j->classes.n) return cli_fail(LT_ERR_ARGUMENT, "--class-weights names '%s', which is no class", name);
        if (w[c] > 0) return bad_class_weights(text);
        w[c] = v;
    }
    for (int64_t c = 0; c < j->classes.n; c++)
        if (w[c] == 0) w[c] = 1;
    opt->class_weights = w;
    return LT_OK;
}

/* ---- circuits ---- */

static lt_status read_circuit_weights(qsvm_job *j, lt_qsvm_options *opt)
{
    lt_array a = { 0 };
    CLI_TRY(cli_blame_input(lt_npy_read(j->o->weights, &a)));
    const int64_t n = lt_shape_count(&a.shape);
    lt_status s = LT_OK;
    if (a.dtype != LT_F64 && a.dtype != LT_F32) s = cli_fail(LT_ERR_ARGUMENT, "--weights %s holds %s, expected float64 or float32", j->o->weights, lt_dtype_name(a.dtype));
    if (!s && !(j->weights = malloc((size_t)(n + 1) * sizeof *j->weights))) s = cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    for (int64_t i = 0; !s && i < n; i++) j->weights[i] = a.dtype == LT_F64 ? ((double *)a.data)[i] : (double)((float *)a.data)[i];
    if (!s && j->o->map && !opt->n_layers && a.shape.rank > 1) opt->n_layers = a.shape.dim[0];
    lt_array_free(&a);
    opt->circuit_weights = j->weights;
    opt->n_circuit_weights = n;
    return s;
}

lt_status qsvm_read_circuit(qsvm_job *j, lt_qsvm_options *opt)
{
    const lt_similarity_options *s = &j->o->similarity;
    if (s->kind != LT_SIMILARITY_FIDELITY || s->gamma > 0 || s->shots || s->depolarizing > 0) opt->similarity = s;
    if (j->o->map && j->o->circuit) return cli_fail(LT_ERR_ARGUMENT, "--map and --circuit both name a circuit; give one of them");
    if (!j->o->map && !j->o->circuit) return LT_OK;
    opt->map = j->o->map;
    if (j->o->circuit) CLI_TRY(cli_blame_input(lt_circuit_read(j->o->circuit, &j->circuit)));
    opt->circuit = j->circuit;
    if (j->o->weights) CLI_TRY(read_circuit_weights(j, opt));
    /* --device auto means the CPU here. */
    return strcmp(j->c->common.device, "auto") ? LT_OK : lt_device_open("cpu", &j->device);
}
