/* A page about a dataset: coverage, shares, trajectories, features, failures, time.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/report_page.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/config/yaml.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 20, MAX_LABELS = 40, MAX_READ_ROWS = 20000, MOST_NAMES = 24 };

typedef lt_dataset_page page;

/* ---- Facts ------------------------------------------------------------------------------------------ */

static void put_facts(const page *p)
{
    const lt_dataset_info *i = &p->i;
    const char *names[] = { "operators", "realizations and steps", "grid", "file", "written by", "precision", "seed", "rows" };
    char text[LT_LEN(names)][200];
    const char *values[LT_LEN(names)];
    snprintf(text[0], sizeof text[0], "%" PRId64 " with %" PRId64 " parameters each", i->rows, i->parameters);
    snprintf(text[1], sizeof text[1], "%" PRId64 " x %" PRId64, i->realizations, i->steps);
    snprintf(text[2], sizeof text[2], "%" PRId64 " x %" PRId64 " x 3 channels%s", i->grid, i->grid, i->has_outputs ? ", states stored" : ", features only");
    snprintf(text[3], sizeof text[3], "%s", lt_bytes_str((double)i->file_bytes).s);
    bool dated = strcmp(i->creation_date, LT_DATE_NOT_RECORDED) != 0;
    snprintf(text[4], sizeof text[4], "engine %.40s of lathe%s%.40s", i->engine_version, dated ? ", " : "", dated ? i->creation_date : "");
    snprintf(text[5], sizeof text[5], "%.40s", i->precision);
    snprintf(text[6], sizeof text[6], "%" PRIu64, i->seed);
    int n = snprintf(text[7], sizeof text[7], "%" PRId64 " done, %" PRId64 " not finite, %" PRId64 " failed, %" PRId64 " pending", i->status[LT_RUN_DONE],
                     i->status[LT_RUN_NON_FINITE], i->status[LT_RUN_FAILED], i->status[LT_RUN_PENDING]);
    if (i->status[LT_RUN_LOST]) snprintf(text[7] + n, sizeof text[7] - (size_t)n, ", %" PRId64 " lost", i->status[LT_RUN_LOST]);
    for (size_t k = 0; k < LT_LEN(names); k++) values[k] = text[k];
    lt_report_facts(p->r, (int)LT_LEN(names), names, values);
}

/* To a thousandth of the largest: what is less is nothing beside it. */
static void round_beside(int n, double *v)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, v[i]);
    double step = most > 0 ? pow(10, floor(log10(most)) - 3) : 1;
    for (int i = 0; i < n; i++) v[i] = rint(v[i] / step) * step;
}

static void put_time(const page *p, const lt_generate_info *g)
{
    const char *labels[] = { "sampling", "warm-up", "input generation", "inference", "features", "storage" };
    double values[] = { g->sampling_seconds, g->warmup_seconds, g->input_seconds, g->inference_seconds, g->feature_seconds, g->storage_seconds };
    round_beside((int)LT_LEN(values), values);
    lt_report_heading(p->r, "Throughput");
    lt_report_paragraph(p->r, "%" PRId64 " operators in %.3g s: %.3g per second. Rollouts ran at %.3g GFLOP/s, precision %s, arithmetic %s.", g->samples, g->total_seconds,
                        g->samples_per_second, g->gflops, lt_precision_name(g->precision), g->arithmetic);
    lt_report_bars(p->r, "Where the time went", "s", (int)LT_LEN(labels), labels, values);
    lt_report_paragraph(p->r, "Beside the rollouts: operators drawn and compiled ahead %.2g s, rows written behind %.2g s, of it compression %.2g s. "
                        "%s of arrays became a file of %s.", g->ahead_seconds, g->writer_seconds, g->compress_seconds, lt_bytes_str((double)g->raw_bytes).s,
                        lt_bytes_str((double)g->file_bytes).s);
}

/* ---- Parameters and labels ------------------------------------------------------------------------------- */

/* Three digits; truths as words. */
static const char *metric_text(const lt_yaml_node *m, char text[40])
{
    if (m->kind == LT_YAML_REAL) snprintf(text, 40, "%.3g", m->real);
    else if (m->kind == LT_YAML_BOOL) snprintf(text, 40, "%s", m->integer ? "yes" : "no");
    else snprintf(text, 40, "%.39s", m->text);
    return text;
}

/* The JSON of the sampling metrics, which is YAML too, as a list. */
static lt_status put_metrics(const page *p)
{
    lt_arena arena = { 0 };
    lt_notes notes = { .arena = &arena };
    lt_yaml_node *root = NULL;
    const char *names[MAX_LABELS], *values[MAX_LABELS];
    char text[MAX_LABELS][40];
    int n = 0;
    lt_status s = p->i.sampling_metrics[0] ? lt_yaml_read(&arena, p->i.sampling_metrics, strlen(p->i.sampling_metrics), "sampling metrics", &notes, &root) : LT_OK;
    if (!s && root)
        for (const lt_yaml_node *m = root->first; m && n < MAX_LABELS; m = m->next)
            if (m->text) names[n] = m->key, values[n] = metric_text(m, text[n]), n++;
    if (n) lt_report_facts(p->r, n, names, values);
    lt_arena_release(&arena);
    return s == LT_ERR_MEMORY ? s : LT_OK; /* what cannot be read is left out */
}

/* A file may hold anything, numbers outside the unit cube included. */
static int bin_of(float x) { return x > 0 ? x < 1 ? (int)(x * BINS) : BINS - 1 : 0; }

static lt_status count_values(const page *p, int64_t n, double *bins)
{
    int64_t columns = p->i.parameters;
    float *x = lt_malloc((size_t)(n * columns) * sizeof *x);
    lt_status s = x ? lt_dataset_read(p->d, "/parameters/params", 0, n, x, n * columns) : LT_ERR_MEMORY;
    for (int64_t i = 0; i < n * columns && !s; i++) bins[i % columns * BINS + bin_of(x[i])]++;
    lt_free(x);
    return s;
}

/* With more parameters than names fit, or without names, rows are numbered. */
static lt_status put_coverage(const page *p)
{
    int64_t n = LT_MIN(p->i.rows, (int64_t)MAX_READ_ROWS), columns = p->i.parameters, n_names;
    const char *const *names;
    if (columns < 1 || columns > 4096) return LT_OK;
    LT_TRY(lt_dataset_texts(p->d, "/parameters@dimension_names", &n_names, &names));
    bool named = n_names == columns && n_names <= MOST_NAMES;
    double *bins = lt_calloc((size_t)(columns * BINS), sizeof *bins);
    lt_status s = bins ? count_values(p, n, bins) : LT_ERR_MEMORY;
    if (!s) {
        lt_report_heading(p->r, "Parameter coverage");
        lt_report_heatmap(p->r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = "Operators by parameter and value",
                                               .x_label = "unit value, 20 bins", .y_label = named ? NULL : "parameter",
                                               .unit = "operators", .rows = columns, .columns = BINS, .values = bins, .n_y_names = named ? (int)n_names : 0, .y_names = names });
        s = put_metrics(p);
    }
    lt_free(bins);
    return s;
}

/* Shares of the labels in an array, as bars; equal texts are counted together. */
static lt_status put_shares(const page *p, const char *path, const char *title)
{
    const char *const *labels, *name[MAX_LABELS];
    double count[MAX_LABELS];
    int64_t n;
    int distinct = 0;
    LT_TRY(lt_dataset_texts(p->d, path, &n, &labels));
    for (int64_t i = 0; i < n; i++) {
        int k = 0;
        while (k < distinct && strcmp(name[k], labels[i])) k++;
        if (k == MAX_LABELS) continue;
        if (k == distinct) name[distinct] = labels[i], count[distinct++] = 0;
        count[k]++;
    }
    for (int k = 0; k < distinct; k++) count[k] = rint(1000.0 * count[k] / (double)n) / 10;
    if (distinct) lt_report_bars(p->r, title, "%", distinct, name, count);
    return LT_OK;
}

/* ---- Features ---------------------------------------------------------------------------------------------- */

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool is_shown(const char *name)
{
    static const char *const shown[] = { "energy_growth_rate", "lyapunov_approx", "trend_strength", "final_to_initial_ratio", "L2_mean_drift_raw",
                                         "entropy_mean_drift_raw" };
    for (size_t k = 0; k < LT_LEN(shown); k++)
        if (!strncmp(name, shown[k], strlen(shown[k]))) return true;
    return false;
}

/* Of sorted values; those that span several decades by their logarithms. */
static void put_histogram(const page *p, const char *name, int64_t n, const double *v, double *log_of)
{
    if (!(v[0] > 0 && v[n - 1] > 1e3 * v[0])) {
        lt_report_histogram(p->r, name, "value", n, v, 0);
        return;
    }
    for (int64_t i = 0; i < n; i++) log_of[i] = log10(v[i]);
    lt_report_histogram(p->r, name, "log10 of the value", n, log_of, 0);
}

/* The means over realizations: the first third of the aggregated columns. */
static lt_status put_columns(const page *p, const float *x, int64_t n, int64_t columns, const char *const *names, double *v, double *log_of)
{
    int64_t shown = p->i.summary_columns;
    char *text = lt_malloc((size_t)(shown * 4) * 32);
    const char **cells = lt_malloc((size_t)(shown * 5) * sizeof *cells);
    lt_status s = text && cells ? LT_OK : LT_ERR_MEMORY;
    for (int64_t c = 0; c < shown && !s; c++) {
        int64_t finite = 0;
        for (int64_t r = 0; r < n; r++)
            if (isfinite(x[r * columns + c])) v[finite++] = x[r * columns + c];
        qsort(v, (size_t)finite, sizeof *v, compare_double);
        if (finite && is_shown(names[c])) put_histogram(p, names[c], finite, v, log_of);
        char *t = text + c * 4 * 32;
        const double q[3] = { finite ? v[0] : NAN, finite ? v[finite / 2] : NAN, finite ? v[finite - 1] : NAN };
        for (int k = 0; k < 3; k++) snprintf(t + 32 * k, 32, "%.3g", q[k]);
        snprintf(t + 96, 32, "%" PRId64, n - finite);
        cells[5 * c] = names[c];
        for (int k = 0; k < 4; k++) cells[5 * c + 1 + k] = t + 32 * k;
    }
    if (!s)
        lt_report_table(p->r, "SUMMARY features, means over realizations", 5, (const char *[]){ "column", "least", "median", "most", "not finite" }, shown, cells);
    lt_free(text);
    lt_free((void *)cells);
    return s;
}

static lt_status put_features(const page *p)
{
    static const char path[] = "/features/summary/aggregated/features";
    lt_shape shape = lt_dataset_shape(p->d, path);
    const char *const *names;
    int64_t n_names, n = LT_MIN(p->i.rows, (int64_t)MAX_READ_ROWS);
    if (shape.rank != 2 || shape.dim[1] < p->i.summary_columns || p->i.summary_columns < 1) return LT_OK;
    LT_TRY(lt_dataset_texts(p->d, "/features/summary/aggregated/features@column_names", &n_names, &names));
    if (n_names != shape.dim[1]) return LT_OK;
    float *x = lt_malloc((size_t)(n * shape.dim[1]) * sizeof *x);
    double *v = lt_malloc(2 * (size_t)n * sizeof *v);
    lt_status s = x && v ? lt_dataset_read(p->d, path, 0, n, x, n * shape.dim[1]) : LT_ERR_MEMORY;
    if (!s) {
        lt_report_heading(p->r, "Features");
        s = put_columns(p, x, n, shape.dim[1], names, v, v + n);
    }
    lt_free(x);
    lt_free(v);
    return s;
}

lt_status lt_dataset_report(lt_dataset *d, const lt_generate_info *given, lt_report *r)
{
    LT_NEED(d);
    LT_NEED(r);
    page p = { d, lt_dataset_get_info(d), r };
    lt_generate_info own = { .size = sizeof own };
    LT_TRY(LT_TAKE(lt_generate_info, given, &own));
    const lt_generate_info *info = given ? &own : NULL;
    put_facts(&p);
    if (info) put_time(&p, info);
    LT_TRY(put_coverage(&p));
    lt_report_heading(r, "Shares");
    LT_TRY(put_shares(&p, "/metadata/ic_types", "Initial fields"));
    LT_TRY(put_shares(&p, "/metadata/evolution_policies", "Update policies"));
    LT_TRY(put_shares(&p, "/metadata/noise_regimes", "Noise regimes"));
    LT_TRY(lt_dataset_page_pictures(&p));
    LT_TRY(lt_dataset_page_failures(&p, info));
    return put_features(&p);
}
