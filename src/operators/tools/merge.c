/* Shards of a dataset assembled into one file. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/row_copy.h"
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

typedef struct shard {
    const char     *path;
    lt_dataset     *d;
    lt_dataset_info info;
    int64_t        *row;               /* [rows] */
    lt_row_status   status;
    lt_row_reader   reader;
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
    const char       **device;         /* [total] where they differ; else NULL */
} merge;

/* ---- Opening and checking ------------------------------------------------------------------------- */

static lt_status open_shard(shard *s, const char *path)
{
    s->path = path;
    LT_TRY(lt_dataset_open(path, &s->d));
    s->info = lt_dataset_get_info(s->d);
    s->reader.d = s->d;
    s->row = lt_malloc((size_t)s->info.rows * sizeof *s->row);
    if (!s->row) return LT_ERR_MEMORY;
    if (!s->info.engine_version[0]) return LT_FAIL(LT_ERR_FORMAT, "%s: lathe did not write it, so it is no shard", path);
    if (s->info.engine_age)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: engine %s wrote it, this is %s%s", path, s->info.engine_version, lt_dataset_engine(),
                       s->info.engine_age < 0 ? ": rewrite it first (lathe upgrade)" : "");
    LT_TRY(lt_dataset_read_ints(s->d, "/status/row", 0, s->info.rows, s->row, s->info.rows));
    LT_TRY(lt_row_status_read(s->d, &s->status));
    int64_t n_devices;
    LT_TRY(lt_dataset_texts(s->d, "/status/device", &n_devices, &s->device));
    if (n_devices != s->info.rows) s->device = NULL;
    if (s->info.status[LT_RUN_PENDING])
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: %" PRId64 " of its %" PRId64 " rows are still pending; finish it with generate --resume", path,
                       s->info.status[LT_RUN_PENDING], s->info.rows);
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
    lt_dataset_config *first = NULL, *second = NULL; /* both with these, which a configuration may leave out */
    lt_status s = lt_dataset_config_parse(a->info.config, strlen(a->info.config), a->path, &over, &first);
    if (!s) s = lt_dataset_config_parse(b->info.config, strlen(b->info.config), b->path, &over, &second);
    if (!s && strcmp(first->json, second->json)) {
        size_t at = 0;
        while (first->json[at] && first->json[at] == second->json[at]) at++;
        at = at > 20 ? at - 20 : 0;
        s = disagree(a, b, "configuration", first->json + at, second->json + at);
    }
    lt_dataset_config_destroy(first);
    lt_dataset_config_destroy(second);
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
            else if (m->s[i].status.code[r] == LT_RUN_LOST)
                s = LT_FAIL(LT_ERR_ARGUMENT, "%s: row %" PRId64 " was lost to a fault of its device: make it first (lathe generate --resume)", m->s[i].path, row);
            else from[row] = m->s[i].path;
        }
    for (int64_t r = 0; r < looked && !s; r++)
        if (!from[r]) s = LT_FAIL(LT_ERR_ARGUMENT, "row %" PRId64 " of %" PRId64 " is in none of the %d files", r, m->total, m->n);
    lt_free((void *)from);
    return s;
}

/* ---- Copying ------------------------------------------------------------------------------------------ */

/* Copies all shards block by block, so that slabs of the merged file complete early. */
static lt_status copy_all(merge *m, lt_row_copy *c)
{
    int64_t longest = 0, block = c->most;
    for (int i = 0; i < m->n; i++) longest = LT_MAX(longest, m->s[i].info.rows);
    for (int64_t first = 0; first < longest; first += block)
        for (int i = 0; i < m->n; i++) {
            int64_t n = LT_MIN(block, m->s[i].info.rows - first);
            if (n > 0) LT_TRY(lt_row_copy_run(c, &m->s[i].reader, &m->s[i].status, first, (int)n, m->s[i].row + first));
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
    m->plan.rows_on_the_way = LT_COPY_ROWS + 2;
    for (int i = 0; i < m->n; i++) LT_TRY(lt_row_copy_check(m->s[i].path, &m->s[i].info, &m->s[i].status, &m->plan));
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
    lt_row_copy copy;
    lt_status s = lt_row_copy_open(m->store, &m->plan, &copy);
    if (!s) s = copy_all(m, &copy);
    lt_row_copy_close(&copy);
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
        lt_row_status_release(&m.s[i].status);
        lt_row_reader_close(&m.s[i].reader);
    }
    lt_free(m.s);
    lt_free((void *)m.device);
    lt_row_table_release(&m.rows);
    lt_feature_set_destroy(m.set);
    lt_arena_release(&m.arena);
    lt_dataset_config_destroy(m.config);
    return s;
}
