/* Shards of a dataset assembled into one file. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* Rows read at a time: a whole chunk of a shard where it is small enough to hold. */
enum { MAX_BLOCK = 64 };

typedef struct shard {
    const char     *path;
    lt_dataset     *d;
    lt_dataset_info info;
    int64_t        *row, *code, *step; /* [rows] */
    float          *seconds;
    const char *const *device;         /* [rows], of a file that was merged from several; else NULL */
} shard;

typedef struct merge {
    int                n;
    shard             *s;
    lt_dataset_config *config;         /* of the shards, with the merged file's path */
    int64_t            total;
    lt_arena           arena;
    lt_feature_set    *set;
    lt_row_table       rows;
    lt_store_plan      plan;
    lt_store          *store;
    float             *block;          /* one part of MAX_BLOCK rows, or one step of them */
    lt_store_row      *open[MAX_BLOCK];
    const char       **device;         /* [total] where they differ; else NULL */
} merge;

/* ---- Opening and checking ------------------------------------------------------------------------- */

static lt_status open_shard(shard *s, const char *path)
{
    s->path = path;
    LT_TRY(lt_dataset_open(path, &s->d));
    s->info = lt_dataset_get_info(s->d);
    size_t n = (size_t)s->info.rows;
    s->row = lt_malloc(n * sizeof *s->row);
    s->code = lt_malloc(n * sizeof *s->code);
    s->step = lt_malloc(n * sizeof *s->step);
    s->seconds = lt_malloc(n * sizeof *s->seconds);
    if (!s->row || !s->code || !s->step || !s->seconds) return LT_ERR_MEMORY;
    if (!s->info.engine_version[0]) return LT_FAIL(LT_ERR_FORMAT, "%s: lathe did not write it, so it is no shard", path);
    LT_TRY(lt_dataset_read_ints(s->d, "/status/row", 0, s->info.rows, s->row, s->info.rows));
    LT_TRY(lt_dataset_read_ints(s->d, "/status/code", 0, s->info.rows, s->code, s->info.rows));
    LT_TRY(lt_dataset_read_ints(s->d, "/status/step", 0, s->info.rows, s->step, s->info.rows));
    LT_TRY(lt_dataset_read(s->d, "/status/seconds", 0, s->info.rows, s->seconds, s->info.rows));
    int64_t n_devices;
    LT_TRY(lt_dataset_texts(s->d, "/status/device", &n_devices, &s->device));
    if (n_devices != s->info.rows) s->device = NULL;
    if (s->info.status[LT_RUN_PENDING])
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: %" PRId64 " of its %" PRId64 " rows are still pending; finish it with generate --resume", path,
                       s->info.status[LT_RUN_PENDING], s->info.rows);
    return LT_OK;
}

/* A shard of these sizes can be copied into the merged file; extents of single arrays are checked as they are read. */
static lt_status check_sizes(const merge *m, const shard *s)
{
    const lt_dataset_info *i = &s->info;
    if (i->grid < 1 || i->grid > m->plan.grid || i->realizations != m->plan.realizations || (i->steps && i->steps != m->plan.steps))
        return LT_FAIL(LT_ERR_FORMAT, "%s: holds %" PRId64 " realizations, %" PRId64 " steps, grid %" PRId64 "; its configuration gives %" PRId64 ", %" PRId64
                       " and at most %" PRId64, s->path, i->realizations, i->steps, i->grid, m->plan.realizations, m->plan.steps, m->plan.grid);
    for (int64_t r = 0; r < i->rows; r++)
        if (s->code[r] < LT_RUN_DONE || s->code[r] >= LT_RUN_STATUS_COUNT || s->step[r] < INT32_MIN || s->step[r] > INT32_MAX)
            return LT_FAIL(LT_ERR_FORMAT, "%s: /status has code %" PRId64 " and step %" PRId64 " for row %" PRId64, s->path, s->code[r], s->step[r], r);
    return LT_OK;
}

static lt_status disagree(const shard *a, const shard *b, const char *what, const char *x, const char *y)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "%s and %s differ in %s: '%.80s' and '%.80s'", a->path, b->path, what, x, y);
}

static lt_status parse_config(const shard *s, const char *out_path, lt_dataset_config **out)
{
    lt_dataset_overrides over = { .size = sizeof over, .output = out_path };
    return lt_dataset_config_parse(s->info.config, strlen(s->info.config), s->path, &over, out);
}

static lt_status check_agreement(const merge *m, const shard *b, const char *out_path)
{
    const shard *a = &m->s[0];
    lt_dataset_config *other;
    if (strcmp(a->info.engine_version, b->info.engine_version)) return disagree(a, b, "engine version", a->info.engine_version, b->info.engine_version);
    if (strcmp(a->info.precision, b->info.precision)) return disagree(a, b, "precision", a->info.precision, b->info.precision);
    if (a->info.seed != b->info.seed) return LT_FAIL(LT_ERR_ARGUMENT, "%s and %s differ in seed: %" PRIu64 " and %" PRIu64, a->path, b->path, a->info.seed, b->info.seed);
    lt_dataset_overrides alike = { .size = sizeof alike, .output = out_path, .watchdog = "auto", .any_devices = true };
    LT_TRY(lt_dataset_config_parse(b->info.config, strlen(b->info.config), b->path, &alike, &other));
    /* Shards may have run on different devices in different batches. */
    lt_dataset_overrides over = { .size = sizeof over, .output = out_path, .device = other->device, .batch_size = other->batch_size, .watchdog = "auto", .any_devices = true };
    lt_dataset_config *first = NULL;
    lt_status s = lt_dataset_config_parse(a->info.config, strlen(a->info.config), a->path, &over, &first);
    if (!s && strcmp(first->json, other->json)) {
        size_t at = 0;
        while (first->json[at] && first->json[at] == other->json[at]) at++;
        at = at > 20 ? at - 20 : 0;
        s = disagree(a, b, "configuration", first->json + at, other->json + at);
    }
    lt_dataset_config_destroy(first);
    lt_dataset_config_destroy(other);
    return s;
}

static lt_status check_rows(const merge *m)
{
    /* If the dataset has more rows than all shards together, a row among the first ones is missing: no need to look further. */
    int64_t held = 0;
    for (int i = 0; i < m->n; i++) held += m->s[i].info.rows;
    const int64_t looked = LT_MIN(m->total, held + 1);
    const char **from = lt_calloc((size_t)looked, sizeof *from);
    if (!from) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int i = 0; i < m->n && !s; i++)
        for (int64_t r = 0; r < m->s[i].info.rows && !s; r++) {
            int64_t row = m->s[i].row[r];
            if (row < 0 || row >= m->total) s = LT_FAIL(LT_ERR_FORMAT, "%s: row %" PRId64 ", expected 0..%" PRId64, m->s[i].path, row, m->total - 1);
            else if (row >= looked) continue;
            else if (from[row]) s = LT_FAIL(LT_ERR_ARGUMENT, "row %" PRId64 " occurs twice: in %s and %s", row, from[row], m->s[i].path);
            else if (m->s[i].code[r] == LT_RUN_LOST)
                s = LT_FAIL(LT_ERR_ARGUMENT, "%s: row %" PRId64 " was lost to a fault of its device: make it first (lathe generate --resume)", m->s[i].path, row);
            else from[row] = m->s[i].path;
        }
    for (int64_t r = 0; r < looked && !s; r++)
        if (!from[r]) s = LT_FAIL(LT_ERR_ARGUMENT, "row %" PRId64 " of %" PRId64 " is in none of the %d files", r, m->total, m->n);
    lt_free((void *)from);
    return s;
}

/* ---- Copying ------------------------------------------------------------------------------------------ */

static lt_status copy_parts(merge *m, shard *s, int64_t first, int n)
{
    for (int i = 0; i < LT_PART_OUTPUT; i++) {
        const lt_part_plan *part = &m->plan.part[i];
        if (!part->rank) continue;
        /* A shard may hold smaller grids only: its fields lie in the middle of ours. */
        int64_t grid = i == LT_PART_FIELD ? s->info.grid : 0;
        size_t row = grid ? sizeof(float) * LT_FIELD_CHANNELS * (size_t)(grid * grid) : part->row_bytes;
        LT_TRY(lt_dataset_read(s->d, part->path, first, n, m->block, n * (int64_t)(row / sizeof(float))));
        for (int k = 0; k < n; k++) {
            const char *from = (const char *)m->block + (size_t)k * row;
            if (grid) lt_store_pad((const float *)from, LT_FIELD_CHANNELS, (int)grid, (int)m->plan.grid, m->open[k]->part[i]);
            else memcpy(m->open[k]->part[i], from, row);
        }
    }
    return LT_OK;
}

static lt_status copy_steps(merge *m, shard *s, int64_t first, int n)
{
    size_t row = (size_t)m->plan.realizations * LT_FIELD_CHANNELS * (size_t)(s->info.grid * s->info.grid);
    for (int64_t t = 0; t < m->plan.n_steps; t++) {
        LT_TRY(lt_dataset_read_step(s->d, first, n, t, m->block, n * (int64_t)row));
        for (int k = 0; k < n; k++) LT_TRY(lt_store_row_step(m->store, m->open[k], m->block + (size_t)k * row, (int)s->info.grid));
    }
    return LT_OK;
}

static lt_status copy_block(merge *m, shard *s, int64_t first, int n)
{
    int taken = 0;
    lt_status st = LT_OK;
    for (; taken < n && !st; taken++) st = lt_store_row_take(m->store, s->row[first + taken], &m->open[taken]);
    if (st) taken--;
    if (!st) st = copy_steps(m, s, first, n);
    if (!st) st = copy_parts(m, s, first, n);
    for (int k = 0; k < taken; k++) {
        lt_store_row *r = m->open[k];
        if (st) {
            lt_store_row_drop(m->store, r);
            continue;
        }
        r->code = (uint8_t)s->code[first + k];
        r->step = (int32_t)s->step[first + k];
        r->seconds = s->seconds[first + k];
        st = lt_store_row_put(m->store, r);
    }
    return st;
}

/* Copies all shards block by block, so that slabs of the merged file complete early. */
static lt_status copy_all(merge *m)
{
    int64_t longest = 0, block = LT_MIN(m->plan.chunk_rows, (int64_t)MAX_BLOCK);
    for (int i = 0; i < m->n; i++) longest = LT_MAX(longest, m->s[i].info.rows);
    for (int64_t first = 0; first < longest; first += block)
        for (int i = 0; i < m->n; i++) {
            int64_t n = LT_MIN(block, m->s[i].info.rows - first);
            if (n > 0) LT_TRY(copy_block(m, &m->s[i], first, (int)n));
        }
    return LT_OK;
}

/* ---- The whole ------------------------------------------------------------------------------------------ */

/* The kind of device all shards agree on. */
static const char *device_of(const merge *m)
{
    for (int i = 1; i < m->n; i++)
        if (strcmp(m->s[i].info.device, m->s[0].info.device)) return "several";
    return m->s[0].info.device[0] ? m->s[0].info.device : NULL;
}

/* Rows of different devices differ in the last bits, so the file records the device of each row. */
static lt_status list_devices(merge *m)
{
    const char *all = device_of(m);
    if (!all || strcmp(all, "several")) return LT_OK;
    m->device = lt_malloc((size_t)m->total * sizeof *m->device);
    if (!m->device) return LT_ERR_MEMORY;
    for (int i = 0; i < m->n; i++)
        for (int64_t r = 0; r < m->s[i].info.rows; r++) {
            const char *name = m->s[i].device ? m->s[i].device[r] : m->s[i].info.device;
            m->device[m->s[i].row[r]] = name[0] ? name : "unknown";
        }
    return LT_OK;
}

static lt_status make_file(merge *m, const char *out_path)
{
    const lt_dataset_config *c = m->config;
    int precision = 0;
    while (precision < LT_PRECISION_COUNT - 1 && strcmp(lt_precision_name((lt_precision)precision), m->s[0].info.precision)) precision++;
    LT_TRY(lt_feature_set_create(&c->features, c->operator_features, &m->set));
    LT_TRY(lt_row_table_create(c, 0, 1, m->total, &m->rows));
    lt_file_content f = { .config = c, .features = m->set, .rows = &m->rows, .total = m->total, .shard_count = 1, .realizations = c->realizations,
                          .steps = c->steps, .outputs = c->store_trajectories, .all_features = true, .precision = (lt_precision)precision,
                          .device = device_of(m), .row_device = m->device, .date = m->s[0].info.creation_date[0] ? m->s[0].info.creation_date : NULL,
                          .metrics = m->s[0].info.sampling_metrics[0] ? m->s[0].info.sampling_metrics : NULL };
    LT_TRY(lt_dataset_file_plan(&f, &m->arena, &m->plan));
    m->plan.rows_on_the_way = MAX_BLOCK + 2;
    for (int i = 0; i < m->n; i++) LT_TRY(check_sizes(m, &m->s[i]));
    size_t largest = m->plan.step_bytes;
    for (int i = 0; i < LT_PART_OUTPUT; i++) largest = LT_MAX(largest, m->plan.part[i].row_bytes);
    m->block = lt_malloc(largest * (size_t)LT_MIN(m->plan.chunk_rows, (int64_t)MAX_BLOCK));
    if (!m->block) return LT_ERR_MEMORY;
    return lt_dataset_file_begin(out_path, &f, &m->plan, "merge", false, &m->store);
}

static lt_status merge_all(merge *m, const char *out_path, const char *const *paths)
{
    for (int i = 0; i < m->n; i++) {
        LT_TRY(open_shard(&m->s[i], paths[i]));
        if (lt_dataset_is_at(m->s[i].d, out_path)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is both a shard and the merged file", out_path);
    }
    LT_TRY(parse_config(&m->s[0], out_path, &m->config));
    m->total = m->config->total_samples;
    for (int i = 1; i < m->n; i++) LT_TRY(check_agreement(m, &m->s[i], out_path));
    LT_TRY(check_rows(m));
    LT_TRY(list_devices(m));
    LT_TRY(make_file(m, out_path));
    lt_status s = copy_all(m);
    if (s) lt_store_discard(m->store);
    else s = lt_store_close_whole(m->store, NULL);
    return s;
}

lt_status lt_dataset_merge(const char *out_path, int n, const char *const *paths)
{
    if (n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "nothing to merge");
    merge m = { .n = n, .s = lt_calloc((size_t)n, sizeof *m.s) };
    if (!m.s) return LT_ERR_MEMORY;
    lt_status s = merge_all(&m, out_path, paths);
    for (int i = 0; i < n; i++) {
        lt_dataset_close(m.s[i].d);
        lt_free(m.s[i].row);
        lt_free(m.s[i].code);
        lt_free(m.s[i].step);
        lt_free(m.s[i].seconds);
    }
    lt_free(m.s);
    lt_free(m.block);
    lt_free((void *)m.device);
    lt_row_table_release(&m.rows);
    lt_feature_set_destroy(m.set);
    lt_arena_release(&m.arena);
    lt_dataset_config_destroy(m.config);
    return s;
}
