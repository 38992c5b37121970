/* A dataset as a Zarr group of format 3: folders with zarr.json, chunks as plain bytes. SPDX-License-Identifier: BSD-3-Clause

   https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html. A box is a chunk. Chunks at the end of an array are as large as the others, filled up with zeros.
   Texts have the data type "string" with the codec "vlen-utf8" (zarr-extensions), as zarr-python writes them. */
#include "operators/export/export.h"

#include "base/alloc.h"
#include "base/files/folder.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

enum { TEXTS_AT_ONCE = 1 << 16 };

typedef struct group { lt_export *e; lt_atomic_folder folder; void *padded; } group;

/* ---- Metadata ----------------------------------------------------------------------------------------------------- */

static lt_status write_json(const group *g, const char *folder, lt_json *j)
{
    char name[LT_FILE_PATH_BYTES + 16];
    snprintf(name, sizeof name, "%s%szarr.json", folder, folder[0] ? "/" : "");
    lt_status s = lt_json_finish(j);
    return s ? s : lt_atomic_folder_write(&g->folder, name, lt_json_text(j), strlen(lt_json_text(j)));
}

static lt_status put_group(const group *g, const char *folder)
{
    lt_json *j = NULL;
    LT_TRY(lt_json_create(LT_JSON_INDENT, &j));
    lt_json_object_begin(j);
    lt_json_field_int(j, "zarr_format", 3);
    lt_json_field_string(j, "node_type", "group");
    lt_json_key(j, "attributes");
    lt_json_object_begin(j);
    if (!folder[0]) lt_export_facts(g->e, j);
    lt_json_object_end(j);
    lt_json_object_end(j);
    lt_status s = write_json(g, folder, j);
    lt_json_destroy(j);
    return s;
}

/* Every folder on the way to an array is a group. */
static lt_status put_groups(const group *g, const lt_export_array *a, const lt_export_array *before)
{
    char folder[LT_FILE_PATH_BYTES];
    for (const char *slash = strchr(a->name, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t n = (size_t)(slash - a->name);
        if (before && !strncmp(before->name, a->name, n + 1)) continue; /* arrays are in alphabetical order */
        snprintf(folder, sizeof folder, "%.*s", (int)n, a->name);
        LT_TRY(put_group(g, folder));
    }
    return LT_OK;
}

static void put_named(lt_json *j, const char *key, const char *name)
{
    if (key) lt_json_key(j, key);
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", name);
    lt_json_key(j, "configuration");
    lt_json_object_begin(j);
}

static void end_named(lt_json *j)
{
    lt_json_object_end(j);
    lt_json_object_end(j);
}

static void put_list(lt_json *j, const char *key, int n, const int64_t *list)
{
    lt_json_key(j, key);
    lt_json_array_begin(j);
    for (int k = 0; k < n; k++) lt_json_int(j, list[k]);
    lt_json_array_end(j);
}

static void put_codecs(const lt_export_array *a, lt_json *j)
{
    lt_json_key(j, "codecs");
    lt_json_array_begin(j);
    put_named(j, NULL, a->value_bytes ? "bytes" : "vlen-utf8");
    if (a->value_bytes > 1) lt_json_field_string(j, "endian", "little");
    end_named(j);
    lt_json_array_end(j);
}

static void put_attributes(const group *g, const lt_export_array *a, lt_json *j)
{
    char names[LT_MAX_RANK][LT_EXPORT_DIMENSION];
    lt_export_dimensions(g->e, a, names);
    lt_json_key(j, "dimension_names");
    lt_json_array_begin(j);
    for (int k = 0; k < a->item->rank; k++) lt_json_string(j, names[k]);
    lt_json_array_end(j);
    lt_json_key(j, "attributes");
    lt_json_object_begin(j);
    if (a->n_columns) {
        lt_json_key(j, "column_names");
        lt_json_array_begin(j);
        for (int64_t i = 0; i < a->n_columns; i++) lt_json_string(j, a->columns[i]);
        lt_json_array_end(j);
    }
    lt_json_object_end(j);
}

static lt_status put_array(const group *g, const lt_export_array *a, const int64_t *chunk)
{
    lt_json *j = NULL;
    int element = a->item->element;
    LT_TRY(lt_json_create(LT_JSON_INDENT, &j));
    lt_json_object_begin(j);
    lt_json_field_int(j, "zarr_format", 3);
    lt_json_field_string(j, "node_type", "array");
    put_list(j, "shape", a->item->rank, a->item->dim);
    lt_json_field_string(j, "data_type", !a->value_bytes ? "string" : element == LT_ELEMENT_F16 ? "float32" : lt_element_name(element));
    put_named(j, "chunk_grid", "regular");
    put_list(j, "chunk_shape", a->item->rank, chunk);
    end_named(j);
    put_named(j, "chunk_key_encoding", "default");
    lt_json_field_string(j, "separator", "/");
    end_named(j);
    if (!a->value_bytes) lt_json_field_string(j, "fill_value", "");
    else if (element >= LT_ELEMENT_F16) lt_json_field_double(j, "fill_value", 0.0);
    else lt_json_field_int(j, "fill_value", 0);
    put_codecs(a, j);
    put_attributes(g, a, j);
    lt_json_object_end(j);
    lt_status s = write_json(g, a->name, j);
    lt_json_destroy(j);
    return s;
}

/* ---- Chunks --------------------------------------------------------------------------------------------------------- */

/* "a/b/c/0/3" */
static void name_chunk(const lt_export_array *a, const int64_t *start, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "%s/c", a->name);
    for (int k = 0; k < a->item->rank && at < size; k++) at += (size_t)snprintf(out + at, size - at, "/%" PRId64, start[k] / a->box[k]);
}

/* A box of fewer values into a chunk, zeros behind them. */
static void *pad(group *g, const lt_export_array *a, const int64_t *count, const void *values, size_t bytes)
{
    int rank = a->item->rank;
    int64_t at[LT_MAX_RANK] = { 0 };
    size_t line = (size_t)count[rank - 1] * a->value_bytes;
    const char *from = values;
    if (!g->padded && !(g->padded = lt_malloc(bytes))) return NULL;
    memset(g->padded, 0, bytes);
    for (bool more = true; more; from += line) {
        size_t to = 0;
        for (int k = 0; k < rank; k++) to = to * (size_t)a->box[k] + (size_t)at[k];
        memcpy((char *)g->padded + to * a->value_bytes, from, line);
        int k = rank - 2;
        while (k >= 0 && ++at[k] >= count[k]) at[k--] = 0;
        more = k >= 0;
    }
    return g->padded;
}

static lt_status put_chunk(void *ctx, const lt_export_array *a, const int64_t *start, const int64_t *count, const void *values)
{
    group *g = ctx;
    char name[LT_FILE_PATH_BYTES + 24 * LT_MAX_RANK];
    size_t bytes = a->value_bytes;
    bool whole = true;
    for (int k = 0; k < a->item->rank; k++) {
        bytes *= (size_t)a->box[k];
        whole = whole && count[k] == a->box[k];
    }
    if (!whole) values = pad(g, a, count, values, bytes);
    if (!values) return LT_ERR_MEMORY;
    name_chunk(a, start, name, sizeof name);
    return lt_atomic_folder_write(&g->folder, name, values, bytes);
}

static lt_status put_numbers(group *g, const lt_export_array *a)
{
    LT_TRY(put_array(g, a, a->box));
    lt_status s = lt_export_boxes(g->e, a, put_chunk, g);
    lt_free(g->padded);
    g->padded = NULL;
    return s;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------------ */

static void put_u32(uint8_t **to, size_t v)
{
    for (int i = 0; i < 4; i++) *(*to)++ = (uint8_t)(v >> 8 * i);
}

/* The number of texts, then length and bytes of each; empty ones fill the last chunk up. */
static lt_status put_text_chunk(const group *g, const lt_export_array *a, int64_t at, int64_t n, int64_t chunk, const char *const *text)
{
    char name[LT_FILE_PATH_BYTES + 32];
    size_t bytes = 4 + 4 * (size_t)chunk;
    for (int64_t i = 0; i < n; i++) bytes += strlen(text[i]);
    uint8_t *block = lt_malloc(bytes), *to = block;
    if (!block) return LT_ERR_MEMORY;
    put_u32(&to, (size_t)chunk);
    for (int64_t i = 0; i < chunk; i++) {
        size_t length = i < n ? strlen(text[i]) : 0;
        put_u32(&to, length);
        if (length) memcpy(to, text[i], length);
        to += length;
    }
    snprintf(name, sizeof name, "%s/c/%" PRId64, a->name, at);
    lt_status s = lt_atomic_folder_write(&g->folder, name, block, bytes);
    lt_free(block);
    return s;
}

static lt_status put_labels(const group *g, const lt_export_array *a)
{
    const char *const *text;
    int64_t n, chunk = LT_MIN(a->item->dim[0], (int64_t)TEXTS_AT_ONCE);
    LT_TRY(lt_dataset_texts(g->e->d, a->item->path, &n, &text));
    if (n != a->item->dim[0]) return LT_OK; /* of fixed length: not read */
    LT_TRY(put_array(g, a, &chunk));
    for (int64_t first = 0; first < n; first += chunk) LT_TRY(put_text_chunk(g, a, first / chunk, LT_MIN(chunk, n - first), chunk, text + first));
    return LT_OK;
}

/* ---- The group ---------------------------------------------------------------------------------------------------------- */

static lt_status put_all(group *g)
{
    LT_TRY(put_group(g, ""));
    for (int i = 0; i < g->e->n; i++) {
        const lt_export_array *a = &g->e->array[i];
        LT_TRY(put_groups(g, a, i ? a - 1 : NULL));
        LT_TRY(a->value_bytes ? put_numbers(g, a) : put_labels(g, a));
    }
    return LT_OK;
}

lt_status lt_export_zarr(lt_export *e)
{
    group g = { .e = e };
    LT_TRY(lt_atomic_folder_open(e->o.zarr, &g.folder));
    lt_status s = put_all(&g);
    if (!s) return lt_atomic_folder_commit(&g.folder);
    lt_atomic_folder_cancel(&g.folder);
    return s;
}
