/* Rows on the page about a dataset: pictures of a few, and those that did not end well. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/report_page.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/file/dataset_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPS = 5, FRAMES = 8, GAP = 2, MOST_WIDTH = 4000, MOST_FAILURES = 50, CELL = 200, BLOCK = 4096 };

typedef lt_dataset_page page;

/* ---- Which rows ------------------------------------------------------------------------------------------- */
/* A row is ranked by the growth rate of its energy, either sign: the best neither dies nor blows up (decision 264). */

static const char family[] = "/features/summary/aggregated/features", measure[] = "energy_growth_rate_mean";

typedef struct ranked { double distance, factor; int64_t row; const char *rank; } ranked; /* factor: by which the fitted energy grows from the first step to the last */

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows that are done and have a rate, best first. */
static lt_status rank_rows(const page *p, int64_t column, int64_t columns, ranked *list, int64_t *n)
{
    int64_t most = LT_MIN(p->i.rows, (int64_t)BLOCK);
    uint8_t *code = lt_malloc((size_t)p->i.rows);
    float *x = lt_malloc((size_t)(most * columns) * sizeof *x);
    lt_status s = code && x ? lt_dataset_read_codes(p->d, code) : LT_ERR_MEMORY;
    *n = 0;
    for (int64_t first = 0; first < p->i.rows && !s; first += most) {
        int64_t rows = LT_MIN(most, p->i.rows - first);
        s = lt_dataset_read(p->d, family, first, rows, x, rows * columns);
        for (int64_t r = 0; r < rows && !s; r++) {
            double rate = code[first + r] == LT_RUN_DONE ? (double)x[r * columns + column] : NAN;
            if (isfinite(rate)) list[(*n)++] = (ranked){ .distance = fabs(rate), .factor = exp(rate * (double)(p->i.steps - 1)), .row = first + r };
        }
    }
    if (*n) qsort(list, (size_t)*n, sizeof *list, compare_ranked);
    lt_free(code);
    lt_free(x);
    return s;
}

static lt_status find_measure(const page *p, int64_t *column, int64_t *columns)
{
    const char *const *names;
    int64_t n;
    lt_shape shape = lt_dataset_shape(p->d, family);
    LT_TRY(lt_dataset_texts(p->d, "/features/summary/aggregated/features@column_names", &n, &names));
    *column = -1;
    *columns = shape.rank == 2 ? shape.dim[1] : 0;
    for (int64_t i = 0; i < n && n == *columns; i++)
        if (!strcmp(names[i], measure)) *column = i;
    return LT_OK;
}

/* The best two, the median and the worst two; without the feature, rows from one end of the file to the other. */
static lt_status choose_rows(const page *p, ranked out[STRIPS], int *n)
{
    static const char *const words[STRIPS] = { "Best", "Second best", "Median", "Second worst", "Worst" };
    int64_t column, columns, found = 0;
    LT_TRY(find_measure(p, &column, &columns));
    ranked *list = column >= 0 ? lt_malloc((size_t)p->i.rows * sizeof *list) : NULL;
    if (column >= 0 && !list) return LT_ERR_MEMORY;
    lt_status s = list ? rank_rows(p, column, columns, list, &found) : LT_OK;
    *n = (int)LT_MIN(found >= STRIPS ? found : p->i.rows, (int64_t)STRIPS);
    for (int k = 0; k < *n && !s; k++) {
        const int64_t at[STRIPS] = { 0, 1, found / 2, found - 2, found - 1 };
        if (found >= STRIPS) out[k] = list[at[k]], out[k].rank = words[k];
        else out[k] = (ranked){ .row = k * p->i.rows / *n };
    }
    lt_free(list);
    return s;
}

/* ---- Their states ------------------------------------------------------------------------------------------------- */

typedef struct strip { int64_t steps, grid, frames; double *values; } strip;

/* Frames are evenly spaced from the first step to the last. */
static int64_t frame_step(const strip *s, int64_t frame) { return s->frames > 1 ? frame * (s->steps - 1) / (s->frames - 1) : 0; }
static int64_t width_of(const strip *s) { return s->frames * (s->grid + GAP) - GAP; }

/* Channel means side by side. */
static void put_frame(const strip *s, int64_t frame, const float *x)
{
    int64_t g = s->grid, width = width_of(s);
    for (int64_t y = 0; y < g; y++)
        for (int64_t k = 0; k < g; k++)
            s->values[y * width + frame * (g + GAP) + k] = ((double)x[y * g + k] + (double)x[(g + y) * g + k] + (double)x[(2 * g + y) * g + k]) / 3;
}

static lt_status take_state(void *ctx, int64_t t, const float *x, const int64_t *failed)
{
    (void)failed;
    const strip *s = ctx;
    for (int64_t f = 0; f < s->frames; f++)
        if (t == frame_step(s, f)) put_frame(s, f, x);
    return LT_OK;
}

static lt_status read_states(const page *p, strip *s, int64_t row)
{
    int64_t values = p->i.realizations * LT_FIELD_CHANNELS * s->grid * s->grid;
    float *x = lt_malloc((size_t)values * sizeof *x);
    lt_status st = x ? LT_OK : LT_ERR_MEMORY;
    for (int64_t f = 0; f < s->frames && !st; f++) {
        st = lt_dataset_read_step(p->d, row, 1, frame_step(s, f), x, values);
        if (!st) put_frame(s, f, x);
    }
    lt_free(x);
    return st;
}

/* What separates the frames is as dark as the darkest of them. */
static void darken_gaps(const strip *s)
{
    int64_t width = width_of(s);
    double least = INFINITY;
    for (int64_t i = 0; i < width * s->grid; i++) least = fmin(least, s->values[i]);
    for (int64_t i = 0; i < width * s->grid; i++)
        if (i % width % (s->grid + GAP) >= s->grid && isfinite(least)) s->values[i] = least;
}

static int64_t number_of(const page *p, int64_t row) { return p->i.shard_index + row * p->i.shard_count; }

static void describe(const page *p, const ranked *k, lt_replay *r, strip *s, char *title, size_t size)
{
    lt_operator_spec spec = { .size = sizeof spec };
    size_t at = (size_t)snprintf(title, size, "%s%soperator %" PRId64, k->rank ? k->rank : "", k->rank ? ": " : "", number_of(p, k->row));
    if (k->rank && at < size) at += (size_t)snprintf(title + at, size - at, ", energy times %.3g", k->factor);
    if (!r || lt_replay_row(r, number_of(p, k->row), &spec, NULL) || at >= size) return;
    if (!p->i.has_outputs) s->grid = spec.grid; /* stored states have the file's */
    snprintf(title + at, size - at, " (%s, %d layers, %d channels, kernel %d, %s, noise %.2g)", lt_operator_kind_name(spec.kind), spec.num_layers, spec.base_channels,
             spec.kernel_size, lt_policy_name(spec.policy), spec.noise_scale);
}

static lt_status put_strip(const page *p, const ranked *k, lt_replay *r)
{
    strip s = { p->i.steps, p->i.grid, LT_MIN(p->i.steps, (int64_t)FRAMES), NULL };
    char title[240], step[FRAMES][24];
    const char *names[FRAMES];
    describe(p, k, r, &s, title, sizeof title);
    int64_t width = width_of(&s);
    s.values = lt_malloc((size_t)(width * s.grid) * sizeof *s.values);
    if (!s.values) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < width * s.grid; i++) s.values[i] = NAN;
    lt_status st = p->i.has_outputs ? read_states(p, &s, k->row) : lt_replay_run(r, number_of(p, k->row), 0, take_state, &s, NULL);
    darken_gaps(&s);
    for (int64_t f = 0; f < s.frames; f++) {
        snprintf(step[f], sizeof step[f], "%" PRId64, frame_step(&s, f));
        names[f] = step[f];
    }
    title[0] = (char)(title[0] == 'o' ? 'O' : title[0]);
    if (!st)
        lt_report_heatmap(p->r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title, .x_label = "step", .rows = s.grid, .columns = width, .values = s.values,
                                               .n_x_names = (int)s.frames, .x_names = names, .bare_rows = true });
    lt_free(s.values);
    return st;
}

static lt_status put_strips(const page *p, lt_replay *r)
{
    ranked row[STRIPS];
    int n;
    LT_TRY(choose_rows(p, row, &n));
    lt_report_heading(p->r, "Trajectories");
    lt_report_paragraph(p->r, "States of the first realization, averaged over channels, %s.%s", p->i.has_outputs ? "as stored" : "replayed from the configuration in the file",
                        n && row[0].rank ? " Best and worst are meant of the energy: its factor from the first step to the last (from energy_growth_rate), best nearest to 1." : "");
    for (int k = 0; k < n; k++) LT_TRY(put_strip(p, &row[k], r));
    return LT_OK;
}

/* Stored states are read; others are replayed where this engine made them. */
lt_status lt_dataset_page_pictures(const lt_dataset_page *p)
{
    lt_dataset_config *c = NULL;
    lt_replay *r = NULL;
    lt_replay_options opt = lt_replay_defaults();
    bool ours = p->i.engine_version[0] && !p->i.engine_age;
    if (p->i.grid * FRAMES > MOST_WIDTH || p->i.steps < 1 || (!ours && !p->i.has_outputs)) return LT_OK;
    if (ours) LT_TRY(lt_dataset_config_parse(p->i.config, strlen(p->i.config), "the configuration in the file", NULL, &c));
    lt_status s = c ? lt_replay_create(c, &opt, &r) : LT_OK;
    if (!s) s = put_strips(p, r);
    lt_replay_destroy(r);
    lt_dataset_config_destroy(c);
    return s;
}

/* ---- Those that did not end well --------------------------------------------------------------------------------------- */

static void reason_of(const page *p, int code, int64_t step, const lt_generate_info *g, char text[CELL])
{
    if (code == LT_RUN_NON_FINITE) snprintf(text, CELL, "a realization stopped being finite at step %" PRId64 " of %" PRId64, step, p->i.steps - 1);
    else if (code == LT_RUN_LOST) snprintf(text, CELL, "lost to a fault of the device, driver or a library; lathe generate --resume makes it");
    else if (g && g->failed == 1 && g->first_failure[0]) snprintf(text, CELL, "%.*s", CELL - 1, g->first_failure);
    else snprintf(text, CELL, "the operator could not be built or run");
}

typedef struct failures { int64_t n, all; char (*text)[5][CELL]; const char **cell; } failures;

static const char *label_of(const char *const *labels, int64_t n, int64_t row) { return row < n ? labels[row] : ""; }

static lt_status list_failures(const page *p, const lt_generate_info *g, const uint8_t *code, const int64_t *step, failures *f)
{
    static const char *const words[] = { [LT_RUN_NON_FINITE] = "not finite", [LT_RUN_FAILED] = "failed", [LT_RUN_LOST] = "lost" };
    const char *const *types, *const *policies;
    int64_t n_types, n_policies;
    LT_TRY(lt_dataset_texts(p->d, "/metadata/ic_types", &n_types, &types));
    LT_TRY(lt_dataset_texts(p->d, "/metadata/evolution_policies", &n_policies, &policies));
    for (int64_t r = 0; r < p->i.rows; r++) {
        if (code[r] != LT_RUN_NON_FINITE && code[r] != LT_RUN_FAILED && code[r] != LT_RUN_LOST) continue;
        if (f->all++ >= MOST_FAILURES) continue;
        snprintf(f->text[f->n][0], CELL, "%" PRId64, number_of(p, r));
        snprintf(f->text[f->n][1], CELL, "%s", words[code[r]]);
        snprintf(f->text[f->n][2], CELL, "%.150s", label_of(types, n_types, r));
        snprintf(f->text[f->n][3], CELL, "%.150s", label_of(policies, n_policies, r));
        reason_of(p, code[r], step[r], g, f->text[f->n][4]);
        for (int k = 0; k < 5; k++) f->cell[5 * f->n + k] = f->text[f->n][k];
        f->n++;
    }
    return LT_OK;
}

static lt_status put_list(const page *p, const lt_generate_info *g, failures *f)
{
    int64_t rows = p->i.rows;
    uint8_t *code = lt_malloc((size_t)rows);
    int64_t *step = lt_calloc((size_t)rows, sizeof *step);
    lt_status s = code && step ? lt_dataset_read_codes(p->d, code) : LT_ERR_MEMORY;
    if (!s && lt_dataset_shape(p->d, "/status/step").rank == 1) s = lt_dataset_read_ints(p->d, "/status/step", 0, rows, step, rows);
    if (!s) s = list_failures(p, g, code, step, f);
    if (!s && f->n) {
        char title[80];
        if (f->all > f->n) snprintf(title, sizeof title, "The first %" PRId64 " of %" PRId64 " such rows", f->n, f->all);
        else snprintf(title, sizeof title, "Rows");
        lt_report_table(p->r, title, 5, (const char *[]){ "row", "status", "initial field", "policy", "reason" }, f->n, f->cell);
    }
    lt_free(code);
    lt_free(step);
    return s;
}

lt_status lt_dataset_page_failures(const lt_dataset_page *p, const lt_generate_info *g)
{
    const int64_t *n = p->i.status;
    lt_report_heading(p->r, "Failures");
    if (g && g->retries) lt_report_paragraph(p->r, "Operators were run again %" PRId64 " times for faults of the device. First: %s", g->retries, g->retry_reason);
    if (!n[LT_RUN_NON_FINITE] && !n[LT_RUN_FAILED] && !n[LT_RUN_LOST]) {
        lt_report_paragraph(p->r, "None: every finished rollout stayed finite.");
        return LT_OK;
    }
    lt_report_paragraph(p->r, "Of %" PRId64 " operators %" PRId64 " became not finite, %" PRId64 " failed, and %" PRId64 " were lost to faults of the device. Features of what is not finite are NaN.", p->i.rows,
                        n[LT_RUN_NON_FINITE], n[LT_RUN_FAILED], n[LT_RUN_LOST]);
    failures f = { .text = lt_malloc(MOST_FAILURES * sizeof *f.text), .cell = lt_malloc(5 * MOST_FAILURES * sizeof *f.cell) };
    lt_status s = f.text && f.cell ? put_list(p, g, &f) : LT_ERR_MEMORY;
    lt_free(f.text);
    lt_free(f.cell);
    return s;
}
