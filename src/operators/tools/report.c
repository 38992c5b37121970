/* A page about a dataset: coverage, shares, trajectories, features, failures, time.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/dataset.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/config/yaml.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 20, STRIPS = 4, FRAMES = 8, MAX_LABELS = 40, MAX_READ_ROWS = 20000, GAP = 2 };

typedef struct page { lt_dataset *d; lt_dataset_info i; lt_report *r; } page;

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
    snprintf(text[3], sizeof text[3], "%.4g MB", 1e-6 * (double)i->file_bytes);
    bool dated = strcmp(i->creation_date, LT_DATE_NOT_RECORDED) != 0;
    snprintf(text[4], sizeof text[4], "lathe %.40s%s%.40s", i->engine_version, dated ? ", " : "", dated ? i->creation_date : "");
    snprintf(text[5], sizeof text[5], "%.40s", i->precision);
    snprintf(text[6], sizeof text[6], "%" PRIu64, i->seed);
    int n = snprintf(text[7], sizeof text[7], "%" PRId64 " done, %" PRId64 " not finite, %" PRId64 " failed, %" PRId64 " pending", i->status[LT_RUN_DONE],
                     i->status[LT_RUN_NON_FINITE], i->status[LT_RUN_FAILED], i->status[LT_RUN_PENDING]);
    if (i->status[LT_RUN_LOST]) snprintf(text[7] + n, sizeof text[7] - (size_t)n, ", %" PRId64 " lost", i->status[LT_RUN_LOST]);
    for (size_t k = 0; k < LT_LEN(names); k++) values[k] = text[k];
    lt_report_facts(p->r, (int)LT_LEN(names), names, values);
}

static void put_time(const page *p, const lt_generate_info *g)
{
    const char *labels[] = { "sampling", "warm-up", "input generation", "inference", "features", "storage" };
    const double values[] = { g->sampling_seconds, g->warmup_seconds, g->input_seconds, g->inference_seconds, g->feature_seconds, g->storage_seconds };
    lt_report_heading(p->r, "Throughput");
    lt_report_paragraph(p->r, "%" PRId64 " operators in %.4g s: %.4g per second. Rollouts ran at %.4g GFLOP/s in %s (%s).", g->samples, g->total_seconds,
                        g->samples_per_second, g->gflops, lt_precision_name(g->precision), g->arithmetic);
    lt_report_bars(p->r, "Where the time went", "s", (int)LT_LEN(labels), labels, values);
    lt_report_paragraph(p->r, "Beside the rollouts: operators drawn and compiled ahead %.3g s, rows written behind %.3g s, of it compression %.3g s. "
                        "%.4g MB of arrays became a file of %.4g MB.", g->ahead_seconds, g->writer_seconds, g->compress_seconds,
                        1e-6 * (double)g->raw_bytes, 1e-6 * (double)g->file_bytes);
}

/* ---- Parameters and labels ------------------------------------------------------------------------------- */

/* The JSON of the sampling metrics, which is YAML too, as a list. */
static void put_metrics(const page *p)
{
    lt_arena arena = { 0 };
    lt_notes notes = { .arena = &arena };
    lt_yaml_node *root;
    const char *names[MAX_LABELS], *values[MAX_LABELS];
    int n = 0;
    if (p->i.sampling_metrics[0] && !lt_yaml_read(&arena, p->i.sampling_metrics, strlen(p->i.sampling_metrics), "sampling metrics", &notes, &root))
        for (const lt_yaml_node *m = root->first; m && n < MAX_LABELS; m = m->next)
            if (m->text) names[n] = m->key, values[n++] = m->text;
    if (n) lt_report_facts(p->r, n, names, values);
    lt_arena_release(&arena);
}

/* A file may hold anything, numbers outside the unit cube included. */
static int bin_of(float x) { return x > 0 ? x < 1 ? (int)(x * BINS) : BINS - 1 : 0; }

static lt_status put_coverage(const page *p)
{
    int64_t n = LT_MIN(p->i.rows, (int64_t)MAX_READ_ROWS), columns = p->i.parameters;
    const char *const *names;
    int64_t n_names;
    char text[512] = "";
    if (columns < 1) return LT_OK;
    float *x = lt_malloc((size_t)(n * columns) * sizeof *x);
    double *bins = lt_calloc((size_t)(columns * BINS), sizeof *bins);
    lt_status s = x && bins ? lt_dataset_read(p->d, "/parameters/params", 0, n, x, n * columns) : LT_ERR_MEMORY;
    for (int64_t i = 0; i < n * columns && !s; i++) bins[i % columns * BINS + bin_of(x[i])]++;
    if (!s) s = lt_dataset_texts(p->d, "/parameters@dimension_names", &n_names, &names);
    if (!s) {
        for (int64_t k = 0; k < n_names; k++) {
            size_t at = strlen(text);
            snprintf(text + at, sizeof text - at, "%s%" PRId64 " %s", at ? ", " : "", k, names[k]);
        }
        lt_report_heading(p->r, "Parameter coverage");
        lt_report_heatmap(p->r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = "Operators by parameter and value", .x_label = "unit value, 20 bins", .y_label = "parameter",
                                               .unit = "operators", .rows = columns, .columns = BINS, .values = bins });
        lt_report_paragraph(p->r, "Parameters from the top: %s.", text);
        put_metrics(p);
    }
    lt_free(x);
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
    for (int k = 0; k < distinct; k++) count[k] *= 100.0 / (double)n;
    if (distinct) lt_report_bars(p->r, title, "%", distinct, name, count);
    return LT_OK;
}

/* ---- Trajectories ------------------------------------------------------------------------------------------- */

typedef struct strip { int64_t steps, grid, frames; double *values; } strip;

/* Frames are evenly spaced from the first step to the last. */
static int64_t frame_step(const strip *s, int64_t frame) { return s->frames > 1 ? frame * (s->steps - 1) / (s->frames - 1) : 0; }

/* Channel means side by side. */
static lt_status take_state(void *ctx, int64_t t, const float *x, const int64_t *failed)
{
    (void)failed;
    strip *s = ctx;
    int64_t g = s->grid, width = s->frames * (g + GAP) - GAP;
    for (int64_t f = 0; f < s->frames; f++) {
        if (t != frame_step(s, f)) continue;
        for (int64_t y = 0; y < g; y++)
            for (int64_t k = 0; k < g; k++)
                s->values[y * width + f * (g + GAP) + k] = ((double)x[y * g + k] + x[(g + y) * g + k] + x[(2 * g + y) * g + k]) / 3;
    }
    return LT_OK;
}

static lt_status put_strip(const page *p, lt_replay *r, int64_t index)
{
    lt_operator_spec spec = { .size = sizeof spec };
    LT_TRY(lt_replay_row(r, index, &spec, NULL));
    strip s = { p->i.steps, spec.grid, LT_MIN(p->i.steps, (int64_t)FRAMES), NULL };
    int64_t width = s.frames * (s.grid + GAP) - GAP;
    char title[160], step[FRAMES][24];
    const char *names[FRAMES];
    s.values = lt_malloc((size_t)(width * s.grid) * sizeof *s.values);
    if (!s.values) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < width * s.grid; i++) s.values[i] = NAN;
    lt_status st = lt_replay_run(r, index, 0, take_state, &s, NULL);
    double least = INFINITY;
    for (int64_t i = 0; i < width * s.grid; i++) least = fmin(least, s.values[i]);
    for (int64_t i = 0; i < width * s.grid; i++) /* what separates the frames is as dark as the darkest of them */
        if (i % width % (s.grid + GAP) >= s.grid && isfinite(least)) s.values[i] = least;
    snprintf(title, sizeof title, "Operator %" PRId64 ": %s, %d layers, %d channels, kernel %d, %s, noise %.2g", index, lt_operator_kind_name(spec.kind),
             spec.num_layers, spec.base_channels, spec.kernel_size, lt_policy_name(spec.policy), spec.noise_scale);
    for (int64_t f = 0; f < s.frames; f++) {
        snprintf(step[f], sizeof step[f], "%" PRId64, frame_step(&s, f));
        names[f] = step[f];
    }
    if (!st)
        lt_report_heatmap(p->r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title, .x_label = "step", .rows = s.grid, .columns = width, .values = s.values,
                                               .n_x_names = (int)s.frames, .x_names = names, .bare_rows = true });
    lt_free(s.values);
    return st;
}

static lt_status put_strips(const page *p)
{
    lt_dataset_config *c = NULL;
    lt_replay *r = NULL;
    lt_replay_options opt = lt_replay_defaults();
    if (p->i.engine_age || p->i.grid * FRAMES > 4000) return LT_OK;
    LT_TRY(lt_dataset_config_parse(p->i.config, strlen(p->i.config), "the configuration in the file", NULL, &c));
    lt_status s = lt_replay_create(c, &opt, &r);
    lt_report_heading(p->r, "Trajectories");
    lt_report_paragraph(p->r, "States of the first realization, averaged over channels, replayed from the configuration in the file.");
    int64_t n = LT_MIN(p->i.rows, (int64_t)STRIPS);
    for (int64_t k = 0; k < n && !s; k++) s = put_strip(p, r, p->i.shard_index + k * p->i.rows / n * p->i.shard_count);
    lt_replay_destroy(r);
    lt_dataset_config_destroy(c);
    return s;
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

/* The means over realizations: the first third of the aggregated columns. */
static lt_status put_columns(const page *p, const float *x, int64_t n, int64_t columns, const char *const *names, double *v)
{
    int64_t shown = p->i.summary_columns;
    char *text = lt_malloc((size_t)(shown * 4) * 32);
    const char **cells = lt_malloc((size_t)(shown * 5) * sizeof *cells);
    lt_status s = text && cells ? LT_OK : LT_ERR_MEMORY;
    for (int64_t c = 0; c < shown && !s; c++) {
        int64_t finite = 0;
        for (int64_t r = 0; r < n; r++)
            if (isfinite(x[r * columns + c])) v[finite++] = x[r * columns + c];
        if (finite && is_shown(names[c])) lt_report_histogram(p->r, names[c], "value", finite, v, 0);
        qsort(v, (size_t)finite, sizeof *v, compare_double);
        char *t = text + c * 4 * 32;
        const double q[3] = { finite ? v[0] : NAN, finite ? v[finite / 2] : NAN, finite ? v[finite - 1] : NAN };
        for (int k = 0; k < 3; k++) snprintf(t + 32 * k, 32, "%.4g", q[k]);
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
    double *v = lt_malloc((size_t)n * sizeof *v);
    lt_status s = x && v ? lt_dataset_read(p->d, path, 0, n, x, n * shape.dim[1]) : LT_ERR_MEMORY;
    if (!s) {
        lt_report_heading(p->r, "Features");
        s = put_columns(p, x, n, shape.dim[1], names, v);
    }
    lt_free(x);
    lt_free(v);
    return s;
}

static void put_failures(const page *p, const lt_generate_info *g)
{
    const int64_t *n = p->i.status;
    lt_report_heading(p->r, "Failures");
    if (n[LT_RUN_LOST])
        lt_report_paragraph(p->r, "%" PRId64 " operators were lost to faults of the device, also when tried again; lathe generate --resume makes them.", n[LT_RUN_LOST]);
    if (g && g->retries) lt_report_paragraph(p->r, "Operators were run again %" PRId64 " times for such faults. First: %s", g->retries, g->retry_reason);
    if (!n[LT_RUN_NON_FINITE] && !n[LT_RUN_FAILED] && !n[LT_RUN_LOST]) lt_report_paragraph(p->r, "None: every finished rollout stayed finite.");
    else lt_report_paragraph(p->r, "%" PRId64 " operators became not finite, %" PRId64 " failed of %" PRId64 ".%s%s", n[LT_RUN_NON_FINITE], n[LT_RUN_FAILED],
                             p->i.rows, g && g->first_failure[0] ? " First: " : "", g ? g->first_failure : "");
}

lt_status lt_dataset_report(lt_dataset *d, const lt_generate_info *given, lt_report *r)
{
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
    LT_TRY(put_strips(&p));
    put_failures(&p, info);
    return put_features(&p);
}
