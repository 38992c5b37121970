/* A dataset in the formats of other programs: which arrays, and reading them in boxes. SPDX-License-Identifier: BSD-3-Clause

   The boxes follow the chunks of the file, so every chunk is unpacked once and memory does not grow with the dataset (decision 261). */
#include "operators/export/export.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/export/statistics.h"

#include <string.h>

enum { BOX_BYTES = 1 << 23, LARGEST_CHUNK = 1 << 28, WORTH_READERS = 1 << 26 };

/* ---- Boxes ------------------------------------------------------------------------------------------------- */

/* A chunk of the file, as many of them as fill a box, from the last dimension on; rows and more for arrays without chunks. */
void lt_export_choose_box(lt_export_array *a)
{
    const lt_file_item *it = a->item;
    int64_t bytes = (int64_t)a->value_bytes;
    for (int k = 0; k < it->rank; k++) {
        a->box[k] = it->chunk_rank ? LT_MIN(it->chunk[k], it->dim[k]) : 1;
        bytes = bytes > LARGEST_CHUNK ? bytes : bytes * a->box[k];
    }
    for (int k = 0; k < it->rank && bytes > LARGEST_CHUNK; k++) a->box[k] = 1; /* it lies across rows as no chunk of ours */
    if (bytes > LARGEST_CHUNK) bytes = (int64_t)a->value_bytes;
    for (int k = it->rank - 1; k >= 0; k--) {
        int64_t times = LT_MIN(LT_MAX(BOX_BYTES / bytes, (int64_t)1), (it->dim[k] + a->box[k] - 1) / a->box[k]), wider = LT_MIN(times * a->box[k], it->dim[k]);
        bytes = bytes / a->box[k] * wider;
        a->box[k] = wider;
        if (wider < it->dim[k] && !it->chunk_rank) break; /* in one piece: boxes are too */
    }
}

static bool is_stopped(const lt_export *e) { return e->o.stop && *e->o.stop; }

static void report(lt_export *e, size_t bytes)
{
    e->bytes += bytes;
    if (e->o.progress)
        e->o.progress(e->o.progress_ctx, &(lt_generate_progress){ .size = sizeof(lt_generate_progress), .rows_done = (int64_t)(e->bytes >> 20),
                                                                  .rows_total = (int64_t)(e->bytes_total >> 20) });
}

static size_t count_bytes(const lt_export_array *a, const int64_t *count)
{
    size_t bytes = a->value_bytes;
    for (int k = 0; k < a->item->rank; k++) bytes *= (size_t)count[k];
    return bytes;
}

/* The first box where start[0] is -1, else the next; false: there is none. */
static bool next_box(const lt_export_array *a, lt_dataset_box *b)
{
    int k = a->item->rank - 1;
    if (b->start[0] < 0) b->start[0] = 0;
    else {
        while (k >= 0 && (b->start[k] += a->box[k]) >= a->item->dim[k]) b->start[k--] = 0;
        if (k < 0) return false;
    }
    for (int i = 0; i < a->item->rank; i++) b->count[i] = LT_MIN(a->box[i], a->item->dim[i] - b->start[i]);
    return true;
}

/* ---- Readers ------------------------------------------------------------------------------------------------------- */
/* Unpacking takes longer than writing: several processes read, each the next box that none has, while this one writes. */

typedef struct queue { lt_dataset *reader[LT_EXPORT_READERS]; lt_dataset_box asked[LT_EXPORT_READERS]; bool waits[LT_EXPORT_READERS]; int n; } queue;

static bool is_same_file(const lt_dataset *a, const lt_dataset *b)
{
    return a->source.device == b->source.device && a->source.inode == b->source.inode && a->n_items == b->n_items
        && !memcmp(a->item, b->item, (size_t)a->n_items * sizeof *a->item);
}

/* One that cannot be had is not needed. */
static void open_readers(lt_export *e, const lt_export_array *a, queue *q)
{
    int most = LT_MIN(lt_get_threads(), (int)LT_EXPORT_READERS);
    q->reader[q->n++] = e->d;
    if (!a->item->compression[0] || a->item->stored_bytes < WORTH_READERS) return;
    for (; q->n < most; q->n++) {
        lt_dataset **r = &e->reader[q->n];
        if (!*r && lt_dataset_open(e->d->path, r)) break;
        if (!is_same_file(e->d, *r)) break;
        q->reader[q->n] = *r;
    }
}

static lt_status ask(queue *q, int reader, const lt_export_array *a, lt_dataset_box *next, bool *more)
{
    q->waits[reader] = false;
    if (!*more || !(*more = next_box(a, next))) return LT_OK;
    q->asked[reader] = *next;
    LT_TRY(lt_dataset_ask_box(q->reader[reader], next));
    q->waits[reader] = true;
    return LT_OK;
}

static lt_status pass_boxes(lt_export *e, const lt_export_array *a, queue *q, void *values, lt_export_box *box, void *ctx)
{
    lt_dataset_box next = { .item = a->item, .item_number = (int)(a->item - e->d->item), .start = { -1 } };
    bool more = true;
    for (int r = 0; r < q->n; r++) LT_TRY(ask(q, r, a, &next, &more));
    for (int r = 0; q->waits[r]; r = (r + 1) % q->n) {
        lt_dataset_box b = q->asked[r];
        if (is_stopped(e)) return LT_FAIL(LT_ERR_CANCELLED, "%s: the export was stopped", e->d->path);
        q->waits[r] = false;
        LT_TRY(lt_dataset_take_box(q->reader[r], &b, values));
        LT_TRY(ask(q, r, a, &next, &more));
        LT_TRY(box(ctx, a, b.start, b.count, values));
        report(e, count_bytes(a, b.count));
    }
    return LT_OK;
}

lt_status lt_export_boxes(lt_export *e, const lt_export_array *a, lt_export_box *box, void *ctx)
{
    queue q = { .n = 0 };
    void *values = lt_malloc(count_bytes(a, a->box));
    if (!values) return LT_ERR_MEMORY;
    open_readers(e, a, &q);
    lt_status s = pass_boxes(e, a, &q, values, box, ctx);
    for (int r = 0; r < q.n; r++) /* after a failure: answers that are under way belong to no later question */
        if (q.waits[r] && lt_dataset_take_box(q.reader[r], &q.asked[r], values)) break;
    lt_free(values);
    return s;
}

void lt_export_close(lt_export *e)
{
    for (int r = 0; r < LT_EXPORT_READERS; r++) lt_dataset_close(e->reader[r]);
    lt_arena_release(&e->arena);
}

/* ---- Names --------------------------------------------------------------------------------------------------- */

void lt_export_dimensions(const lt_export *e, const lt_export_array *a, char names[LT_MAX_RANK][LT_EXPORT_DIMENSION])
{
    static const char *const states[] = { "operator", "realization", "step", "channel", "y", "x" }, *const end_states[] = { "operator", "realization", "channel", "y", "x" };
    static const char *const fields[] = { "operator", "channel", "y", "x" };
    const char *path = a->item->path;
    int rank = a->item->rank;
    bool outputs = !strcmp(path, "/outputs/fields"), inputs = !strcmp(path, "/inputs/fields"), family = lt_is_family(e->d, a->item);
    for (int k = 0; k < rank; k++) {
        const char *name = k == 0 ? "operator" : NULL;
        if (outputs && (rank == 5 || rank == 6)) name = rank == 6 ? states[k] : end_states[k];
        else if (inputs && rank == 4) name = fields[k];
        else if (k && k == rank - 1 && !strcmp(path, "/parameters/params")) name = "parameter";
        else if (k && k == rank - 1 && family) name = "column";
        else if (k == 1 && rank == 3 && strstr(path, "/temporal/")) name = "step";
        else if (k == 1 && rank == 3 && strstr(path, "/per_trajectory/")) name = "realization";
        if (name) snprintf(names[k], LT_EXPORT_DIMENSION, "%s", name);
        else snprintf(names[k], LT_EXPORT_DIMENSION, "axis_%d", k);
    }
}

void lt_export_facts(const lt_export *e, lt_json *j)
{
    const lt_dataset_info *i = &e->d->info;
    const struct { const char *name, *text; } texts[] = {
        { "config", i->config }, { "engine_config", i->engine_config }, { "engine_version", i->engine_version }, { "precision", i->precision }, { "device", i->device },
        { "creation_date", i->creation_date }, { "sampling_metrics", i->sampling_metrics },
    };
    for (size_t k = 0; k < LT_LEN(texts); k++)
        if (texts[k].text[0]) lt_json_field_string(j, texts[k].name, texts[k].text);
    lt_json_field_int(j, "rows", i->rows);
    lt_json_field_int(j, "parameters", i->parameters);
    lt_json_field_int(j, "realizations", i->realizations);
    lt_json_field_int(j, "steps", i->steps);
    lt_json_field_int(j, "grid", i->grid);
    lt_json_field_int(j, "seed", (int64_t)i->seed);
    lt_json_field_int(j, "shard_index", i->shard_index);
    lt_json_field_int(j, "shard_count", i->shard_count);
}

/* ---- Choosing arrays ------------------------------------------------------------------------------------------- */

static bool is_named(const lt_dataset *d, const lt_file_item *item, const char *name, size_t n)
{
    static const struct { const char *name, *path; } short_names[] = { { "parameters", "/parameters/params" }, { "inputs", "/inputs/fields" }, { "outputs", "/outputs/fields" } };
    char family[LT_FILE_PATH_BYTES];
    if (n && strlen(item->path) == n && !memcmp(item->path, name, n)) return true;
    if (n && strlen(item->path) == n + 1 && !memcmp(item->path + 1, name, n)) return true;
    for (size_t k = 0; k < LT_LEN(short_names); k++)
        if (strlen(short_names[k].name) == n && !memcmp(short_names[k].name, name, n)) return !strcmp(item->path, short_names[k].path);
    if (!lt_is_family(d, item)) return false;
    lt_family_of(item->path, family, sizeof family);
    return strlen(family) == n && !memcmp(family, name, n);
}

static bool is_wanted(const lt_dataset *d, const lt_file_item *item, const char *list)
{
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if (is_named(d, item, at, n)) return true;
        at += n + (at[n] == ',');
    }
    return !list;
}

static lt_status check_names(const lt_dataset *d, const char *list)
{
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        bool found = false;
        for (int i = 0; i < d->n_items && !found; i++) found = !d->item[i].group && is_named(d, &d->item[i], at, n);
        if (!found)
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: no array '%.*s'; expected parameters, inputs, outputs, a family of features as summary "
                           "or temporal, or a path", d->path, (int)LT_MIN(n, (size_t)200), at);
        at += n + (at[n] == ',');
    }
    return LT_OK;
}

static lt_status find_columns(lt_export *e, lt_export_array *a)
{
    char attribute[LT_FILE_PATH_BYTES + 24];
    const lt_file_item *it = a->item;
    if (it->rank < 2 || !a->value_bytes) return LT_OK;
    snprintf(attribute, sizeof attribute, "%s@column_names", it->path);
    LT_TRY(lt_dataset_texts(e->d, !strcmp(it->path, "/parameters/params") ? "/parameters@dimension_names" : attribute, &a->n_columns, &a->columns));
    if (a->n_columns != it->dim[it->rank - 1]) a->n_columns = 0;
    return LT_OK;
}

/* A name becomes a path below a folder: none that leads out of it. */
static bool is_plain(const char *path)
{
    for (const char *at = path + 1;; at += strcspn(at, "/") + 1) {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.')) return false;
        if (n == 9 && !memcmp(at, "zarr.json", n)) return false; /* a file of the group itself */
        if (!at[n]) return true;
    }
}

/* What is not exported: booleans as h5py has them, compounds, scalars, texts that are not one per row, arrays beyond our limits. */
static bool is_exported(const lt_dataset *d, const lt_file_item *it)
{
    if (it->rank < 1 || it->dim[0] < 1 || !is_plain(it->path)) return false;
    return it->element == LT_ELEMENT_TEXT ? it->rank == 1 && it->dim[0] == d->info.rows : lt_element_bytes(it->element) > 0;
}

static lt_status list_arrays(lt_export *e)
{
    lt_dataset *d = e->d;
    LT_TRY(check_names(d, e->o.arrays));
    e->array = lt_arena_alloc(&e->arena, (size_t)LT_MAX(d->n_items, 1) * sizeof *e->array);
    if (!e->array) return LT_ERR_MEMORY;
    for (int i = 0; i < d->n_items; i++) {
        const lt_file_item *it = &d->item[i];
        if (it->group || !is_wanted(d, it, e->o.arrays)) continue;
        if (!is_exported(d, it)) {
            e->left_out++;
            continue;
        }
        lt_export_array *a = &e->array[e->n++];
        *a = (lt_export_array){ .item = it, .name = it->path + 1, .value_bytes = lt_element_bytes(it->element) };
        uint64_t bytes = a->value_bytes;
        for (int k = 0; k < it->rank; k++) bytes *= (uint64_t)it->dim[k];
        e->bytes_total += bytes;
        if (a->value_bytes) lt_export_choose_box(a);
        LT_TRY(find_columns(e, a));
    }
    return e->n ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "%s: nothing to export", d->path);
}

/* ---- The interface ------------------------------------------------------------------------------------------------ */

static lt_status run(lt_export *e, lt_export_info *info)
{
    if (e->o.the_well) LT_TRY(lt_export_the_well(e->d, &e->o, info));
    if (!e->o.npz && !e->o.zarr) return LT_OK;
    LT_TRY(list_arrays(e));
    e->bytes_total *= (uint64_t)!!e->o.npz + !!e->o.zarr;
    if (e->o.npz) LT_TRY(lt_export_npz(e));
    if (e->o.zarr) LT_TRY(lt_export_zarr(e));
    info->arrays = e->n;
    info->left_out = e->left_out;
    info->bytes += e->bytes;
    return LT_OK;
}

void lt_export_defaults_into(lt_export_options *out) { LT_GIVE(out, &(lt_export_options){ .size = sizeof(lt_export_options) }); }

lt_status lt_dataset_export(lt_dataset *d, const lt_export_options *options, lt_export_info *out)
{
    lt_export e = { .d = d, .o = lt_export_defaults() };
    lt_export_info info = { .size = sizeof info };
    LT_TRY(LT_TAKE(lt_export_options, options, &e.o));
    LT_TRY(LT_CHECK_SIZE(lt_export_info, out));
    const char *const outputs[] = { e.o.npz, e.o.zarr, e.o.the_well };
    for (size_t i = 0; i < LT_LEN(outputs); i++) {
        if (lt_dataset_is_at(d, outputs[i])) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is the dataset itself", d->path);
        for (size_t k = 0; k < i; k++)
            if (outputs[i] && outputs[k] && !strcmp(outputs[i], outputs[k])) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is to be written in two formats", outputs[i]);
    }
    lt_status s = run(&e, &info);
    lt_export_close(&e);
    LT_GIVE(out, &info);
    return s;
}
