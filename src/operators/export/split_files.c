/* FILE.split.json and FILE.statistics.json, as the Python package reads them. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/export/split.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/export/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const status_words[LT_RUN_STATUS_COUNT] = { "pending", "done", "non-finite", "failed", "lost" };

const char *lt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* FILE.ending, where no path is given. */
static lt_status beside(const lt_dataset *d, const char *path, const char *ending, char **out)
{
    size_t n = strlen(path ? path : d->path) + strlen(ending) + 1;
    if (!(*out = lt_malloc(n))) return LT_ERR_MEMORY;
    snprintf(*out, n, "%s%s", path ? path : d->path, path ? "" : ending);
    if (!lt_dataset_is_at(d, *out)) return LT_OK;
    lt_status s = LT_FAIL(LT_ERR_ARGUMENT, "%s: is the dataset itself", *out);
    lt_free(*out);
    *out = NULL;
    return s;
}

static lt_status write_out(lt_json *j, const char *path)
{
    lt_status s = lt_json_finish(j);
    return s ? s : lt_file_write(path, lt_json_text(j), strlen(lt_json_text(j)));
}

/* ---- Splits ---------------------------------------------------------------------------------------------------- */

static void put_split(const lt_row_split *s, const lt_dataset *d, lt_json *j)
{
    static const char *const names[LT_SPLIT_PARTS] = { "train", "val", "test" };
    lt_json_object_begin(j);
    lt_json_field_string(j, "dataset", lt_base_name(d->path));
    lt_json_field_int(j, "rows", d->info.rows);
    lt_json_field_int(j, "seed", s->seed);
    lt_json_field_string(j, "rule", lt_row_split_rule(s));
    lt_json_field_bool(j, "stratified", s->stratified);
    lt_json_key(j, "status");
    lt_json_array_begin(j);
    for (int k = 0; k < LT_RUN_STATUS_COUNT; k++)
        if (s->status >> k & 1) lt_json_string(j, status_words[k]);
    lt_json_array_end(j);
    for (int p = 0; p < LT_SPLIT_PARTS; p++) {
        lt_json_key(j, names[p]);
        lt_json_array_begin(j);
        for (int64_t i = 0; i < s->n[p]; i++) lt_json_int(j, s->rows[p][i]);
        lt_json_array_end(j);
    }
    lt_json_object_end(j);
}

lt_status lt_row_split_save(const lt_row_split *s, const lt_dataset *d, const char *path)
{
    LT_NEED(s);
    LT_NEED(d);
    char *to;
    lt_json *j = NULL;
    LT_TRY(beside(d, path, ".split.json", &to));
    lt_status st = lt_json_create(LT_JSON_INDENT, &j);
    if (!st) {
        put_split(s, d, j);
        st = write_out(j, to);
    }
    lt_json_destroy(j);
    lt_free(to);
    return st;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* What the numbers depend on: with other values here, those who read the file compute them again. */
static void put_source(const lt_dataset *d, int64_t n_rows, const int64_t *rows, lt_json *j)
{
    const lt_dataset_info *i = &d->info;
    lt_digest config = lt_sha256_of(i->config, strlen(i->config)), of = { { 0 } };
    if (rows) of = lt_sha256_of(rows, (size_t)n_rows * sizeof *rows);
    lt_json_key(j, "source");
    lt_json_object_begin(j);
    lt_json_field_string(j, "file", lt_base_name(d->path));
    lt_json_field_int(j, "rows", i->rows);
    lt_json_field_int(j, "file_bytes", (int64_t)i->file_bytes);
    lt_json_key(j, "status");
    lt_json_array_begin(j);
    for (int k = 0; k < LT_RUN_STATUS_COUNT; k++) lt_json_int(j, i->status[k]);
    lt_json_array_end(j);
    lt_json_field_int(j, "seed", (int64_t)i->seed);
    lt_json_field_string(j, "config_sha256", lt_digest_hex(&config).s);
    lt_json_field_string(j, "engine_version", i->engine_version);
    if (rows) lt_json_field_int(j, "of_rows", n_rows);
    else lt_json_field_string(j, "of_rows", "all");
    lt_json_field_string(j, "of_rows_sha256", rows ? lt_digest_hex(&of).s : "");
    lt_json_object_end(j);
}

static bool are_distinct(const char *const *names, int64_t n)
{
    for (int64_t i = 1; i < n && n < 5000; i++)
        for (int64_t k = 0; k < i; k++)
            if (!strcmp(names[i], names[k])) return false;
    return true;
}

static lt_status put_names(lt_dataset *d, const lt_file_item *item, lt_json *j)
{
    char attribute[LT_FILE_PATH_BYTES + 24], number[LT_FILE_PATH_BYTES + 24];
    const char *const *names;
    int64_t n, columns = item->dim[item->rank - 1];
    bool parameters = !strcmp(item->path, "/parameters/params");
    snprintf(attribute, sizeof attribute, "%s@column_names", item->path);
    LT_TRY(lt_dataset_texts(d, parameters ? "/parameters@dimension_names" : attribute, &n, &names));
    const char *group = strchr(item->path + 1, '/') + 1;
    bool known = n == columns && are_distinct(names, n);
    lt_json_key(j, "columns");
    lt_json_array_begin(j);
    for (int64_t i = 0; i < columns; i++) {
        snprintf(number, sizeof number, "%.*s_%lld", (int)strcspn(group, "/"), group, (long long)i);
        lt_json_string(j, known ? names[i] : number);
    }
    lt_json_array_end(j);
    return LT_OK;
}

static double robust_of(const lt_column_statistics *c) { return (c->q75 - c->q25) / LT_NORMAL_IQR; }

static void put_columns(const lt_column_statistics *c, int64_t n, lt_json *j)
{
    static const struct { const char *name; size_t at; } fields[] = {
        { "mean", offsetof(lt_column_statistics, mean) }, { "std", offsetof(lt_column_statistics, std) }, { "min", offsetof(lt_column_statistics, min) },
        { "max", offsetof(lt_column_statistics, max) }, { "q25", offsetof(lt_column_statistics, q25) }, { "median", offsetof(lt_column_statistics, median) },
        { "q75", offsetof(lt_column_statistics, q75) },
    };
    lt_json_key(j, "count");
    lt_json_array_begin(j);
    for (int64_t i = 0; i < n; i++) lt_json_int(j, c[i].count);
    lt_json_array_end(j);
    for (size_t f = 0; f <= LT_LEN(fields); f++) {
        lt_json_key(j, f < LT_LEN(fields) ? fields[f].name : "robust");
        lt_json_array_begin(j);
        for (int64_t i = 0; i < n; i++) lt_json_double(j, f < LT_LEN(fields) ? *(const double *)((const char *)&c[i] + fields[f].at) : robust_of(&c[i]));
        lt_json_array_end(j);
    }
}

static lt_status put_array(lt_dataset *d, const lt_file_item *item, const uint8_t *take, lt_json *j)
{
    char family[LT_FILE_PATH_BYTES];
    int64_t columns = item->dim[item->rank - 1];
    lt_column_statistics *c = lt_malloc((size_t)columns * sizeof *c);
    if (!c) return LT_ERR_MEMORY;
    lt_status s = lt_array_statistics(d, item, take, c);
    if (!s) {
        if (lt_is_family(d, item)) lt_family_of(item->path, family, sizeof family);
        else snprintf(family, sizeof family, "parameters");
        lt_json_key(j, family);
        lt_json_object_begin(j);
        s = put_names(d, item, j);
        if (!s) put_columns(c, columns, j);
        lt_json_object_end(j);
    }
    lt_free(c);
    return s;
}

static lt_status put_statistics(lt_dataset *d, int64_t n_rows, const int64_t *rows, const uint8_t *take, lt_json *j)
{
    const lt_file_item *parameters = lt_dataset_find(d, "/parameters/params");
    lt_status s = LT_OK;
    lt_json_object_begin(j);
    lt_json_field_int(j, "version", 1);
    put_source(d, n_rows, rows, j);
    lt_json_key(j, "arrays");
    lt_json_object_begin(j);
    if (parameters && !parameters->group && parameters->rank == 2) s = put_array(d, parameters, take, j);
    for (int i = 0; i < d->n_items && !s; i++)
        if (lt_is_family(d, &d->item[i])) s = put_array(d, &d->item[i], take, j);
    lt_json_object_end(j);
    lt_json_object_end(j);
    return s;
}

static lt_status mark_rows(const lt_dataset *d, int64_t n_rows, const int64_t *rows, uint8_t *take)
{
    memset(take, 0, (size_t)d->info.rows);
    for (int64_t i = 0; i < n_rows; i++) {
        if (rows[i] < 0 || rows[i] >= d->info.rows || (i && rows[i] <= rows[i - 1]))
            return LT_FAIL(LT_ERR_ARGUMENT, "statistics: row %lld: expected rows 0..%lld in ascending order", (long long)rows[i], (long long)d->info.rows - 1);
        take[rows[i]] = 1;
    }
    return LT_OK;
}

lt_status lt_dataset_save_statistics(lt_dataset *d, int64_t n_rows, const int64_t *rows, const char *path)
{
    LT_NEED(d);
    char *to;
    lt_json *j = NULL;
    LT_TRY(beside(d, path, ".statistics.json", &to));
    uint8_t *take = rows ? lt_malloc((size_t)d->info.rows) : NULL;
    lt_status s = rows && !take ? LT_ERR_MEMORY : LT_OK;
    if (!s && rows) s = mark_rows(d, n_rows, rows, take);
    if (!s) s = lt_json_create(LT_JSON_COMPACT, &j);
    if (!s) s = put_statistics(d, n_rows, rows, take, j);
    if (!s) s = write_out(j, to);
    lt_json_destroy(j);
    lt_free(take);
    lt_free(to);
    return s;
}
