/* One row per operator: parameters as values, features of families that have one row each, labels, status. SPDX-License-Identifier: BSD-3-Clause

   Names are group.name, as in the Python package: parameters.noise_scale, summary.trend_strength_mean, metadata.ic_types, status. */
#include "operators/export/columns.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/config/config.h"
#include "operators/export/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 4096 }; /* rows read and written at a time, and a row group of Parquet */

static const char *const status_words[] = { "pending", "done", "non-finite", "failed", "lost", "unknown" };

/* Columns that come from one array of the file. */
typedef struct source {
    const char        *path;
    int                first, n;       /* columns of the table */
    const char *const *texts;          /* [rows] of an array of texts */
} source;

typedef struct table {
    lt_dataset        *d;
    lt_dataset_info    info;
    lt_dataset_config *config;         /* NULL: parameters are numbers of the unit interval */
    lt_arena           arena;
    int                n_columns, n_sources, room;
    lt_column         *column;
    source            *source;
    float             *block;          /* [BLOCK, widest array] */
    int64_t           *integer;        /* [BLOCK] */
    int64_t            widest;
} table;

/* ---- Columns ------------------------------------------------------------------------------------------- */

static lt_status add_column(table *t, const char *group, const char *name, lt_column_type type)
{
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", group, group[0] ? "." : "", name);
    lt_column *c = &t->column[t->n_columns];
    *c = (lt_column){ lt_arena_strdup(&t->arena, text), type, lt_arena_alloc(&t->arena, BLOCK * lt_column_value_bytes(type)) };
    t->n_columns++;
    return c->name && c->values ? LT_OK : LT_ERR_MEMORY;
}

/* Numbers where all choices are, whole ones as integers. */
static lt_column_type type_of(const lt_param *p)
{
    bool number = true, whole = true;
    if (p->kind == LT_PARAM_BOOLEAN) return LT_COLUMN_BOOL;
    if (p->kind != LT_PARAM_CHOICE) return p->kind == LT_PARAM_INTEGER ? LT_COLUMN_I64 : LT_COLUMN_F64;
    for (int i = 0; i < p->n_choices; i++) {
        number = number && !isnan(p->choices[i].number);
        whole = whole && !strpbrk(p->choices[i].text, ".eE");
    }
    return !number ? LT_COLUMN_TEXT : whole ? LT_COLUMN_I64 : LT_COLUMN_F64;
}

static source *add_source(table *t, const char *path, int n)
{
    source *s = &t->source[t->n_sources++];
    *s = (source){ .path = path, .first = t->n_columns, .n = n };
    t->widest = LT_MAX(t->widest, (int64_t)n);
    return s;
}

static lt_status add_parameters(table *t)
{
    const char *const *names;
    int64_t n;
    add_source(t, "/parameters/params", (int)t->info.parameters);
    LT_TRY(lt_dataset_texts(t->d, "/parameters@dimension_names", &n, &names));
    for (int64_t i = 0; i < t->info.parameters; i++) {
        char number[32];
        snprintf(number, sizeof number, "parameters_%lld", (long long)i);
        const lt_param *p = t->config ? &t->config->space.param[i] : NULL;
        const char *name = p ? p->name : n == t->info.parameters ? names[i] : number;
        LT_TRY(add_column(t, "parameters", name, p ? type_of(p) : LT_COLUMN_F32));
    }
    return LT_OK;
}

static bool is_family(const table *t, const lt_file_item *item) { return lt_is_family(t->d, item) && item->rank == 2 && item->dim[1] < 100000; }

static lt_status add_family(table *t, const lt_file_item *item)
{
    char family[128], attribute[LT_FILE_PATH_BYTES + 16], number[160];
    const char *const *names;
    int64_t n;
    lt_family_of(item->path, family, sizeof family);
    snprintf(attribute, sizeof attribute, "%s@column_names", item->path);
    LT_TRY(lt_dataset_texts(t->d, attribute, &n, &names));
    add_source(t, item->path, (int)item->dim[1]);
    for (int64_t i = 0; i < item->dim[1]; i++) {
        snprintf(number, sizeof number, "%.120s_%lld", family, (long long)i);
        LT_TRY(add_column(t, family, n == item->dim[1] ? names[i] : number, LT_COLUMN_F32));
    }
    return LT_OK;
}

static bool is_label(const table *t, const lt_file_item *item)
{
    bool known = item->element == LT_ELEMENT_TEXT || item->element >= LT_ELEMENT_I8; /* others, as h5py's booleans, are left out */
    return !item->group && known && item->rank == 1 && item->dim[0] == t->info.rows
           && (!strncmp(item->path, "/metadata/", 10) || !strncmp(item->path, "/status/", 8));
}

static lt_status add_label(table *t, const lt_file_item *item)
{
    const char *slash = strchr(item->path + 1, '/');
    char group[16];
    int64_t n;
    snprintf(group, sizeof group, "%.*s", (int)(slash - item->path - 1), item->path + 1);
    bool text = item->element == LT_ELEMENT_TEXT, real = item->element >= LT_ELEMENT_F16;
    source *s = add_source(t, item->path, 1);
    LT_TRY(add_column(t, group, slash + 1, text ? LT_COLUMN_TEXT : real ? LT_COLUMN_F32 : LT_COLUMN_I64));
    if (!text) return LT_OK;
    LT_TRY(lt_dataset_texts(t->d, item->path, &n, &s->texts));
    return n == t->info.rows ? LT_OK : LT_FAIL(LT_ERR_FORMAT, "%s: %s has %lld texts for %lld rows", t->d->path, item->path, (long long)n, (long long)t->info.rows);
}

static lt_status allocate(table *t)
{
    t->room = (int)t->info.parameters + 1;
    for (int i = 0; i < t->d->n_items; i++) t->room += is_family(t, &t->d->item[i]) ? (int)t->d->item[i].dim[1] : 1;
    t->column = lt_arena_alloc(&t->arena, (size_t)t->room * sizeof *t->column);
    t->source = lt_arena_alloc(&t->arena, (size_t)(t->d->n_items + 1) * sizeof *t->source);
    return t->column && t->source ? LT_OK : LT_ERR_MEMORY;
}

static lt_status list_columns(table *t)
{
    LT_TRY(allocate(t));
    LT_TRY(add_parameters(t));
    for (int i = 0; i < t->d->n_items; i++)
        if (is_family(t, &t->d->item[i])) LT_TRY(add_family(t, &t->d->item[i]));
    for (int i = 0; i < t->d->n_items; i++)
        if (is_label(t, &t->d->item[i])) LT_TRY(add_label(t, &t->d->item[i]));
    LT_TRY(add_column(t, "", "status", LT_COLUMN_TEXT));
    t->block = lt_arena_alloc(&t->arena, (size_t)(BLOCK * t->widest) * sizeof *t->block);
    t->integer = lt_arena_alloc(&t->arena, BLOCK * sizeof *t->integer);
    return t->block && t->integer ? LT_OK : LT_ERR_MEMORY;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------- */

static void set_parameter(const lt_param *p, lt_column *c, int64_t row, double unit)
{
    lt_param_value v = lt_param_map(p, unit);
    if (c->type == LT_COLUMN_TEXT) ((const char **)c->values)[row] = v.text;
    else if (c->type == LT_COLUMN_BOOL) ((bool *)c->values)[row] = v.number != 0;
    else if (c->type == LT_COLUMN_I64) ((int64_t *)c->values)[row] = (int64_t)v.number;
    else ((double *)c->values)[row] = v.number;
}

/* Values exist for the unit interval only: beyond it a choice would be taken from outside of the list. */
static lt_status set_parameters(table *t, const source *s, int64_t first, int64_t n)
{
    for (int k = 0; k < s->n; k++) {
        const lt_param *p = &t->config->space.param[k];
        for (int64_t r = 0; r < n; r++) {
            double unit = (double)t->block[r * s->n + k];
            if (!(unit >= 0 && unit <= 1))
                return LT_FAIL(LT_ERR_FORMAT, "%s: parameter %s of row %lld is stored as %g, expected a number in [0, 1]; unit (--unit) writes it as it is", t->d->path,
                               p->name, (long long)(first + r), unit);
            set_parameter(p, &t->column[s->first + k], r, unit);
        }
    }
    return LT_OK;
}

static lt_status read_source(table *t, const source *s, int64_t first, int64_t n)
{
    lt_column *c = t->column + s->first;
    if (s->texts) {
        memcpy(c->values, s->texts + first, (size_t)n * sizeof *s->texts);
        return LT_OK;
    }
    if (c->type == LT_COLUMN_I64 && s->n == 1 && strcmp(s->path, "/parameters/params")) return lt_dataset_read_ints(t->d, s->path, first, n, c->values, n);
    LT_TRY(lt_dataset_read(t->d, s->path, first, n, t->block, n * s->n));
    if (t->config && !strcmp(s->path, "/parameters/params")) return set_parameters(t, s, first, n);
    for (int k = 0; k < s->n; k++)
        for (int64_t r = 0; r < n; r++) ((float *)c[k].values)[r] = t->block[r * s->n + k];
    return LT_OK;
}

static lt_status read_status(table *t, int64_t first, int64_t n)
{
    const char **out = t->column[t->n_columns - 1].values;
    bool known = lt_dataset_shape(t->d, "/status/code").rank == 1;
    if (known) LT_TRY(lt_dataset_read_ints(t->d, "/status/code", first, n, t->integer, n));
    for (int64_t r = 0; r < n; r++) {
        int64_t code = known ? t->integer[r] : LT_RUN_DONE;
        out[r] = status_words[code >= 0 && code < LT_RUN_STATUS_COUNT ? code : LT_RUN_STATUS_COUNT];
    }
    return LT_OK;
}

static lt_status write_blocks(table *t, lt_csv_writer *csv, lt_parquet_writer *parquet)
{
    for (int64_t first = 0; first < t->info.rows; first += BLOCK) {
        int64_t n = LT_MIN(t->info.rows - first, (int64_t)BLOCK);
        for (int i = 0; i < t->n_sources; i++) LT_TRY(read_source(t, &t->source[i], first, n));
        LT_TRY(read_status(t, first, n));
        if (csv) LT_TRY(lt_csv_block(csv, t->column, t->n_columns, n));
        if (parquet) LT_TRY(lt_parquet_block(parquet, t->column, n));
    }
    return LT_OK;
}

static lt_status write_table(table *t, const lt_table_options *opt)
{
    lt_csv_writer csv = { .buffer = NULL };
    lt_parquet_writer *parquet = NULL;
    LT_TRY(list_columns(t));
    if (opt->csv) LT_TRY(lt_csv_begin(opt->csv, t->column, t->n_columns, &csv));
    lt_status s = opt->parquet ? lt_parquet_begin(opt->parquet, t->column, t->n_columns, &parquet) : LT_OK;
    if (!s) s = write_blocks(t, opt->csv ? &csv : NULL, parquet);
    s = lt_parquet_finish(parquet, s);
    return opt->csv ? lt_csv_finish(&csv, s) : s;
}

/* The configuration gives values only where it fits the file; other programs' files keep numbers of the unit interval. */
static lt_status find_config(table *t, bool unit)
{
    if (unit || !t->info.config[0]) return LT_OK;
    lt_status s = lt_dataset_config_parse(t->info.config, strlen(t->info.config), t->d->path, NULL, &t->config);
    if (s) t->config = NULL;
    if (t->config && t->config->space.n == t->info.parameters) return LT_OK;
    lt_dataset_config_destroy(t->config);
    t->config = NULL;
    return s == LT_ERR_MEMORY ? s : LT_OK; /* a table with other numbers is no answer to a lack of memory */
}

void lt_table_defaults_into(lt_table_options *out) { LT_GIVE(out, &(lt_table_options){ .size = sizeof(lt_table_options) }); }

lt_status lt_dataset_table(lt_dataset *d, const lt_table_options *options, lt_table_info *out)
{
    LT_NEED(d);
    lt_table_options opt = lt_table_defaults();
    LT_TRY(LT_TAKE(lt_table_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_table_info, out));
    table t = { .d = d, .info = lt_dataset_get_info(d) };
    if (lt_dataset_is_at(d, opt.csv) || lt_dataset_is_at(d, opt.parquet)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is the dataset itself", d->path);
    if (opt.csv && opt.parquet && !strcmp(opt.csv, opt.parquet)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is to be both CSV and Parquet", opt.csv);
    lt_status s = find_config(&t, opt.unit);
    if (!s) s = write_table(&t, &opt);
    LT_GIVE(out, &(lt_table_info){ .size = sizeof(lt_table_info), .rows = t.info.rows, .columns = t.n_columns });
    lt_dataset_config_destroy(t.config);
    lt_arena_release(&t.arena);
    return s;
}
