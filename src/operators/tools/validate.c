/* Checks of a dataset file: structure, parameters, features, states. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/validate.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_ROWS = 64, SAMPLED_ROWS = 16, NAMED_COLUMNS = 8, NAMED_ROWS = 16 };

void lt_check_report(lt_check *k, lt_finding_level level, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    k->finding(k->ctx, level, text);
}

/* ---- Structure ------------------------------------------------------------------------------------ */

typedef struct structure { lt_check *k; bool parameters, inputs, outputs; int64_t wrong, arrays; char first[160]; } structure;

static lt_status note_item(void *ctx, const lt_dataset_item *item)
{
    structure *s = ctx;
    s->parameters = s->parameters || !strcmp(item->path, "/parameters");
    s->inputs = s->inputs || !strcmp(item->path, "/inputs");
    s->outputs = s->outputs || !strcmp(item->path, "/outputs");
    if (item->group || item->shape.rank < 1) return LT_OK;
    s->arrays++;
    if (item->shape.dim[0] == s->k->info.rows) return LT_OK;
    if (!s->wrong++) snprintf(s->first, sizeof s->first, "%.100s has %" PRId64, item->path, item->shape.dim[0]);
    return LT_OK;
}

static lt_status check_structure(lt_check *k)
{
    structure s = { .k = k };
    LT_TRY(lt_dataset_walk(k->d, note_item, &s));
    const struct { const char *name; bool found; } groups[] = { { "/parameters", s.parameters }, { "/inputs", s.inputs }, { "/outputs", s.outputs } };
    for (size_t i = 0; i < LT_LEN(groups); i++)
        if (!groups[i].found) lt_check_report(k, LT_FINDING_ERROR, "group %s is missing", groups[i].name);
    if (s.wrong)
        lt_check_report(k, LT_FINDING_ERROR, "%" PRId64 " of %" PRId64 " arrays do not have %" PRId64 " rows: %s", s.wrong, s.arrays, k->info.rows, s.first);
    else lt_check_report(k, LT_FINDING_OK, "%" PRId64 " arrays of %" PRId64 " rows each", s.arrays, k->info.rows);
    const struct { const char *name, *text; } texts[] = { { "config", k->info.config }, { "creation_date", k->info.creation_date },
                                                          { "sampling_metrics", k->info.sampling_metrics } };
    for (size_t i = 0; i < LT_LEN(texts); i++)
        if (!texts[i].text[0]) lt_check_report(k, LT_FINDING_WARNING, "/metadata has no attribute %s", texts[i].name);
    if (!k->info.engine_version[0]) lt_check_report(k, LT_FINDING_WARNING, "no engine_version: lathe did not write this file, so its rows cannot be replayed");
    return LT_OK;
}

/* ---- Numbers ------------------------------------------------------------------------------------------ */

static lt_status check_parameters(lt_check *k)
{
    int64_t n = k->info.rows, p = k->info.parameters, outside = 0;
    if (p < 1) {
        lt_check_report(k, LT_FINDING_ERROR, "no array /parameters/params");
        return LT_OK;
    }
    float *x = lt_malloc((size_t)(n * p) * sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    lt_status s = lt_dataset_read(k->d, "/parameters/params", 0, n, x, n * p);
    for (int64_t i = 0; i < n * p && !s; i++) outside += !(x[i] >= 0 && x[i] <= 1);
    lt_free(x);
    LT_TRY(s);
    if (outside) lt_check_report(k, LT_FINDING_ERROR, "%" PRId64 " unit parameters outside [0, 1]", outside);
    else lt_check_report(k, LT_FINDING_OK, "%" PRId64 " x %" PRId64 " unit parameters, all in [0, 1]", n, p);
    return LT_OK;
}

static bool any_done(const lt_check *k, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (k->code[first + i] == LT_RUN_DONE) return true;
    return false;
}

/* Counts numbers that are not finite by column, in rows whose run was finite; reads block by block. */
static lt_status count_not_finite(lt_check *k, const char *path, int64_t columns, int64_t per_row, int64_t *bad)
{
    float *x = lt_malloc((size_t)(BLOCK_ROWS * per_row) * sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int64_t first = 0; first < k->info.rows && !s; first += BLOCK_ROWS) {
        int64_t n = LT_MIN((int64_t)BLOCK_ROWS, k->info.rows - first);
        if (!any_done(k, first, n)) continue;
        s = lt_dataset_read(k->d, path, first, n, x, n * per_row);
        for (int64_t i = 0; i < n * per_row && !s; i++)
            bad[i % columns] += k->code[first + i / per_row] == LT_RUN_DONE && !isfinite(x[i]);
    }
    lt_free(x);
    return s;
}

static void report_columns(lt_check *k, const char *path, int64_t columns, const int64_t *bad, const char *const *names, int64_t n_names)
{
    char text[400] = "";
    int64_t total = 0, wrong = 0;
    for (int64_t c = 0; c < columns; c++) {
        if (!bad[c]) continue;
        total += bad[c];
        size_t at = strlen(text);
        if (wrong++ >= NAMED_COLUMNS) continue;
        if (names && c < n_names) snprintf(text + at, sizeof text - at, "%s%s %" PRId64, at ? ", " : "", names[c], bad[c]);
        else snprintf(text + at, sizeof text - at, "%scolumn %" PRId64 " %" PRId64, at ? ", " : "", c, bad[c]);
    }
    if (!wrong) lt_check_report(k, LT_FINDING_OK, "%s: finite in every finished row", path);
    else lt_check_report(k, LT_FINDING_ERROR, "%s: %" PRId64 " values not finite in %" PRId64 " of %" PRId64 " columns: %s%s", path, total, wrong, columns, text,
                       wrong > NAMED_COLUMNS ? ", ..." : "");
}

static lt_status check_features(lt_check *k, const char *path)
{
    lt_shape shape = lt_dataset_shape(k->d, path);
    char attribute[160];
    const char *const *names;
    int64_t n_names, per_row = 1;
    if (shape.rank < 2 || shape.dim[0] != k->info.rows) return LT_OK; /* the structure's finding */
    for (int i = 1; i < shape.rank; i++) per_row *= shape.dim[i];
    int64_t columns = shape.rank == 4 ? 1 : shape.dim[shape.rank - 1]; /* fields have no columns */
    if (per_row < 1 || columns < 1) return LT_OK;
    snprintf(attribute, sizeof attribute, "%s@column_names", path);
    LT_TRY(lt_dataset_texts(k->d, attribute, &n_names, &names));
    int64_t *bad = lt_calloc((size_t)columns, sizeof *bad);
    if (!bad) return LT_ERR_MEMORY;
    lt_status s = count_not_finite(k, path, columns, per_row, bad);
    if (!s) report_columns(k, path, columns, bad, names, n_names);
    lt_free(bad);
    return s;
}

/* Stored states of rows spread over the file. */
static lt_status check_states(lt_check *k)
{
    lt_shape shape = lt_dataset_shape(k->d, "/outputs/fields");
    if (k->info.has_outputs && shape.dim[0] != k->info.rows) return LT_OK; /* the structure's finding */
    if (!k->info.has_outputs) {
        lt_check_report(k, LT_FINDING_OK, "states are not stored: features only");
        return LT_OK;
    }
    int64_t per_step = shape.dim[1] * shape.dim[shape.rank - 3] * shape.dim[shape.rank - 2] * shape.dim[shape.rank - 1];
    float *x = lt_malloc((size_t)per_step * sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    int64_t wrong = 0, looked = LT_MIN((int64_t)SAMPLED_ROWS, k->info.rows);
    lt_status s = LT_OK;
    for (int64_t i = 0; i < looked && !s; i++) {
        int64_t row = i * k->info.rows / looked, t = k->info.steps - 1;
        s = lt_dataset_read_step(k->d, row, 1, t, x, per_step);
        for (int64_t e = 0; e < per_step && !s && k->code[row] == LT_RUN_DONE; e++) wrong += !isfinite(x[e]);
    }
    lt_free(x);
    if (!s) lt_check_report(k, wrong ? LT_FINDING_ERROR : LT_FINDING_OK, "last states of %" PRId64 " sampled rows: %" PRId64 " values not finite", looked, wrong);
    return s;
}

/* Rows lost to a fault of the device or driver hold no data; a resumed run makes them. */
static void report_lost(lt_check *k)
{
    char list[256] = "";
    int64_t n = 0;
    for (int64_t i = 0; i < k->info.rows; i++) {
        size_t at = strlen(list);
        if (k->code[i] != LT_RUN_LOST || n++ >= NAMED_ROWS) continue;
        snprintf(list + at, sizeof list - at, "%s%" PRId64, at ? ", " : "", k->info.shard_index + i * LT_MAX(k->info.shard_count, 1));
    }
    if (n)
        lt_check_report(k, LT_FINDING_ERROR, "%" PRId64 " operators were lost to faults of the device: %s%s; lathe generate --resume makes them", n, list,
                      n > NAMED_ROWS ? ", ..." : "");
}

static void report_status(lt_check *k)
{
    const int64_t *n = k->info.status;
    lt_finding_level level = n[LT_RUN_PENDING] || n[LT_RUN_FAILED] || n[LT_RUN_LOST] ? LT_FINDING_WARNING : LT_FINDING_OK;
    int64_t unknown = 0;
    for (int64_t i = 0; i < k->info.rows; i++) unknown += k->code[i] < 0 || k->code[i] >= LT_RUN_STATUS_COUNT;
    if (unknown) lt_check_report(k, LT_FINDING_ERROR, "/status/code: %" PRId64 " rows have a state that is none (0 to %d)", unknown, LT_RUN_STATUS_COUNT - 1);
    report_lost(k);
    lt_check_report(k, level, "rows: %" PRId64 " done, %" PRId64 " not finite, %" PRId64 " failed, %" PRId64 " pending", n[LT_RUN_DONE], n[LT_RUN_NON_FINITE],
                  n[LT_RUN_FAILED], n[LT_RUN_PENDING]);
}

/* ---- The whole --------------------------------------------------------------------------------------------- */

static lt_status check_all(lt_check *k, const lt_validate_options *opt)
{
    static const char *const features[] = {
        "/inputs/fields", "/features/temporal/features", "/features/summary/per_trajectory/features", "/features/summary/aggregated/features",
        "/features/summary/learned/features", "/features/initial/aggregated/features", "/features/architecture/aggregated/features",
    };
    lt_dataset_config *c = NULL;
    LT_TRY(check_structure(k));
    report_status(k);
    LT_TRY(check_parameters(k));
    for (size_t i = 0; i < LT_LEN(features); i++) LT_TRY(check_features(k, features[i]));
    LT_TRY(check_states(k));
    if (!k->info.config[0]) return LT_OK;
    lt_status s = lt_dataset_config_parse(k->info.config, strlen(k->info.config), "the configuration in the file", NULL, &c);
    if (s == LT_ERR_MEMORY) return s; /* says nothing about the file */
    if (s) {
        lt_check_report(k, LT_FINDING_ERROR, "the configuration in the file does not load: %s", lt_error_text());
        return LT_OK;
    }
    s = lt_check_shares(k, c);
    if (!s && opt->check_metadata) s = lt_check_metadata(k, c);
    if (!s && opt->check_samples) s = lt_check_replays(k, c, opt->replays, opt->device);
    lt_dataset_config_destroy(c);
    return s;
}

void lt_validate_defaults_into(lt_validate_options *out)
{
    LT_GIVE(out, &(lt_validate_options){ .size = sizeof(lt_validate_options) });
}

lt_status lt_dataset_validate(lt_dataset *d, const lt_validate_options *options, lt_finding finding, void *ctx)
{
    LT_NEED(d);
    lt_validate_options opt = lt_validate_defaults();
    LT_TRY(LT_TAKE(lt_validate_options, options, &opt));
    lt_check k = { .d = d, .info = lt_dataset_get_info(d), .finding = finding, .ctx = ctx };
    k.code = lt_malloc((size_t)k.info.rows * sizeof *k.code);
    if (!k.code) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < k.info.rows; i++) k.code[i] = LT_RUN_DONE;
    lt_status s = lt_dataset_shape(d, "/status/code").rank ? lt_dataset_read_ints(d, "/status/code", 0, k.info.rows, k.code, k.info.rows) : LT_OK;
    if (!s) s = check_all(&k, &opt);
    lt_free(k.code);
    return s;
}
