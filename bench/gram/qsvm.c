/* lathe-bench qsvm: the whole pipeline on the synthetic images, step by step. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"

#include <math.h>
#include <stdlib.h>

enum { HALF = LT_QSVM_IMAGES / 2, MOST_REPEATS = 25 };
static const double allowed_seconds = 1; /* kernel and fit of 400 rows */

typedef struct qsvm_bench_options {
    cli_common  common;
    int         repeats;
    bool        quick;
    const char *report;
} qsvm_bench_options;

static const lt_option rows[] = {
    LT_OPTION_INT(qsvm_bench_options, repeats, "repeats", "5", LT_RANGE_CLOSED(1, MOST_REPEATS), "N", "runs per row; the median counts"),
    LT_OPTION_BOOL(qsvm_bench_options, quick, "quick", "false", "one run of three rows: a look, not a figure to keep"),
    LT_OPTION_PATH(qsvm_bench_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench qsvm", .summary = "Time training on 400 rows: kernel, fit, search",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench qsvm --report qsvm.html",
};

typedef struct bench_row {
    const char   *label;
    bool          hard, re_embed, search;
    int64_t       q;
    lt_embed      embed;
    double        scale, C;
    lt_svm_solver solver;
} bench_row;

/* The rows of the published table, then what else a user waits for. */
static const bench_row cases[] = {
    { "hard 8 ryrz 1 re-embedded C 1", true, true, false, 8, LT_EMBED_RYRZ, 1, 1, LT_SVM_AUTO },
    { "hard 16 ryrz 1 re-embedded C 1", true, true, false, 16, LT_EMBED_RYRZ, 1, 1, LT_SVM_AUTO },
    { "hard 8 ryrz 1 re-embedded, search of C", true, true, true, 8, LT_EMBED_RYRZ, 1, 0, LT_SVM_AUTO },
    { "hard 8 ryrz 0.1 C 1", true, false, false, 8, LT_EMBED_RYRZ, 0.1, 1, LT_SVM_AUTO },
    { "hard 8 ryrz 1 C 1", true, false, false, 8, LT_EMBED_RYRZ, 1, 1, LT_SVM_AUTO },
    { "hard 8 ryrz 1 re-embedded C 100", true, true, false, 8, LT_EMBED_RYRZ, 1, 100, LT_SVM_AUTO },
    { "hard 8 ry pi C 1", true, false, false, 8, LT_EMBED_RY, 3.141592653589793, 1, LT_SVM_AUTO },
    { "easy 8 ryrz 1 re-embedded C 1", false, true, false, 8, LT_EMBED_RYRZ, 1, 1, LT_SVM_AUTO },
    { "hard 8 ryrz 1 re-embedded C 100, smo", true, true, false, 8, LT_EMBED_RYRZ, 1, 100, LT_SVM_SMO },
    { "hard 16 ryrz 1 re-embedded, search of C", true, true, true, 16, LT_EMBED_RYRZ, 1, 0, LT_SVM_AUTO },
};

typedef struct outcome {
    lt_qsvm_info   info;
    lt_gram_info   gram;
    lt_qsvm_scores test;
    double         kernel, fit, search, total; /* medians */
} outcome;

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, cli_ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static lt_status measure(cli_context *c, const bench_row *row, int repeats, const double *x, const uint8_t *y, outcome *out)
{
    double weights[2 * 16], decision[HALF], time[4][MOST_REPEATS];
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_rows train = { x, LT_F64, HALF, LT_QSVM_PIXELS, 0 }, test = { x + (size_t)HALF * LT_QSVM_PIXELS, LT_F64, HALF, LT_QSVM_PIXELS, 0 };
    lt_qsvm *q;
    lt_qsvm_synthetic_weights(2, row->q, weights);
    opt.weights = (lt_weights){ weights, 2, row->q };
    opt.gram = &gram;
    gram.embed_mode = row->embed;
    gram.angle_scale = row->scale;
    gram.re_embed_between_layers = row->re_embed;
    opt.C = row->C;
    opt.n_folds = row->search ? opt.n_folds : 0;
    opt.solver = row->solver;
    opt.seed = c->common.seed;
    CLI_TRY(lt_qsvm_create(c->device, &opt, &q));
    lt_status s = LT_OK;
    for (int i = 0; !s && i < repeats; i++) {
        s = cli_interrupted() ? cli_stopped() : lt_qsvm_fit(q, &train, y);
        if (s) break;
        out->info = *lt_qsvm_get_info(q);
        out->gram = *out->info.gram;
        const double v[] = { out->info.kernel_seconds, out->info.fit_seconds, out->info.search_seconds, out->info.total_seconds };
        for (int k = 0; k < 4; k++) time[k][i] = v[k];
    }
    if (!s) s = lt_qsvm_decide(q, LT_QSVM_QUANTUM, &test, decision);
    if (!s) s = lt_qsvm_score(y + HALF, decision, HALF, 0, &out->test);
    if (!s) {
        out->kernel = median(time[0], repeats);
        out->fit = median(time[1], repeats);
        out->search = median(time[2], repeats);
        out->total = median(time[3], repeats);
    }
    lt_qsvm_destroy(q);
    return s;
}

static void put_row(lt_json *j, const bench_row *row, const outcome *o)
{
    const lt_qsvm_fitted *m = &o->info.machine[LT_QSVM_QUANTUM];
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", row->label);
    lt_json_field_string(j, "method", lt_gram_method_name(o->gram.method));
    lt_json_field_string(j, "solver", lt_svm_solver_name(m->solver));
    lt_json_field_double(j, "kernel_seconds", o->kernel);
    lt_json_field_double(j, "fit_seconds", o->fit);
    lt_json_field_double(j, "kernel_and_fit_seconds", o->kernel + o->fit);
    lt_json_field_double(j, "search_seconds", o->search);
    lt_json_field_double(j, "total_seconds", o->total);
    lt_json_field_bool(j, "within_limit", o->kernel + o->fit < allowed_seconds);
    lt_json_field_double(j, "c", m->C);
    lt_json_field_int(j, "iterations", m->iterations);
    lt_json_field_int(j, "support_vectors", m->n_support[0] + m->n_support[1]);
    lt_json_field_double(j, "objective", m->objective);
    lt_json_field_double(j, "f1", o->test.f1);
    lt_json_field_double(j, "roc_auc", o->test.roc_auc);
    lt_json_object_end(j);
}

static void table_row(cli_table *t, const bench_row *row, const outcome *o)
{
    const lt_qsvm_fitted *m = &o->info.machine[LT_QSVM_QUANTUM];
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", row->label);
    cli_table_cell(t, 1, "%s", lt_gram_method_name(o->gram.method));
    cli_table_cell(t, 2, "%s", lt_svm_solver_name(m->solver));
    cli_table_cell(t, 3, "%s", cli_seconds(o->kernel).s);
    cli_table_cell(t, 4, "%s", cli_seconds(o->fit).s);
    cli_table_cell(t, 5, "%s", row->search ? cli_seconds(o->search).s : "");
    cli_table_cell(t, 6, "%s", cli_seconds(o->total).s);
    cli_table_cell(t, 7, "%.4f", o->test.f1);
    cli_table_cell(t, 8, "%.5f", o->test.roc_auc);
    cli_table_cell(t, 9, "%lld", (long long)(m->n_support[0] + m->n_support[1]));
    cli_table_cell(t, 10, o->kernel + o->fit < allowed_seconds ? "ok" : "too slow");
}

static lt_status write_report(cli_context *c, const cli_table *t, const char *path)
{
    lt_report *r;
    CLI_TRY(lt_report_create("Training on 400 rows", &r));
    lt_report_paragraph(r, "Medians; kernel and fit together must stay below %g s. 'All' includes PCA, diagnostics and the search.", allowed_seconds);
    cli_table_report(t, r);
    lt_report_heading(r, "Run");
    cli_report_machine(c, r);
    lt_status s = lt_report_write(r, path);
    lt_report_destroy(r);
    return s;
}

static lt_status run_rows(cli_context *c, const double *x[2], const uint8_t *y, cli_table *t)
{
    const qsvm_bench_options *o = c->options;
    int n = o->quick ? 3 : CLI_LEN(cases);
    if (c->json) {
        CLI_TRY(cli_json_machine(c));
        lt_json_key(c->json, "rows");
        lt_json_array_begin(c->json);
    }
    for (int i = 0; i < n; i++) {
        outcome out;
        CLI_TRY(measure(c, &cases[i], o->quick ? 1 : o->repeats, x[cases[i].hard], y, &out));
        if (c->json) put_row(c->json, &cases[i], &out);
        table_row(t, &cases[i], &out);
    }
    if (c->json) lt_json_array_end(c->json);
    else cli_table_print(t, stdout);
    return o->report ? write_report(c, t, o->report) : LT_OK;
}

static lt_status run(cli_context *c)
{
    static const char *const columns[] = { "task, qubits, embedding, scale", "method", "solver", "kernel", "fit", "search", "all", "F1", "AUC", "SV", "kernel + fit < 1 s" };
    size_t images = (size_t)LT_QSVM_IMAGES * LT_QSVM_PIXELS;
    double *x = malloc(2 * images * sizeof *x);
    uint8_t y[LT_QSVM_IMAGES];
    cli_table *t = NULL;
    if (!x) return cli_fail(LT_ERR_MEMORY, "no memory for the images");
    lt_qsvm_synthetic(false, x, y);
    lt_qsvm_synthetic(true, x + images, y);
    lt_status s = cli_table_create("400 training rows, 400 test rows", CLI_LEN(columns), columns, &t);
    if (!s) s = run_rows(c, (const double *[]){ x, x + images }, y, t);
    cli_table_destroy(t);
    free(x);
    return s;
}

const cli_command bench_qsvm = {
    .name = "qsvm", .options = &table, .options_bytes = sizeof(qsvm_bench_options), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Trains on 400 synthetic images of 256 pixels and tests on 400 more, for several circuits and both solvers, and says how long "
                   "the kernel, the fit and the search of C took.",
};
