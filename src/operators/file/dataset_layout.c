/* The table of arrays that a dataset has: shapes and types, checked before anything is read. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS (INT64_C(1) << 28)
#define MAX_ROW_ELEMENTS (INT64_C(1) << 34)
#define MAX_REALIZATIONS (INT64_C(1) << 20)
#define MAX_GRID (INT64_C(1) << 15)
#define MAX_SHARDS (INT64_C(1) << 30)
/* Deflate writes at least one bit for 258 bytes, LZF more. */
#define MOST_COMPRESSED 1100

const char *lt_element_name(int element)
{
    static const char *const names[] = {
        [LT_ELEMENT_OTHER] = "other", [LT_ELEMENT_TEXT] = "text", [LT_ELEMENT_ENUM] = "enum", [LT_ELEMENT_I8] = "int8", [LT_ELEMENT_I16] = "int16",
        [LT_ELEMENT_I32] = "int32", [LT_ELEMENT_I64] = "int64", [LT_ELEMENT_U8] = "uint8", [LT_ELEMENT_U16] = "uint16", [LT_ELEMENT_U32] = "uint32",
        [LT_ELEMENT_U64] = "uint64", [LT_ELEMENT_F16] = "float16", [LT_ELEMENT_F32] = "float32", [LT_ELEMENT_F64] = "float64",
    };
    _Static_assert(LT_LEN(names) == LT_ELEMENT_COUNT, "one name per type");
    return element >= 0 && element < LT_ELEMENT_COUNT ? names[element] : "other";
}

size_t lt_element_bytes(int element)
{
    static const size_t bytes[LT_ELEMENT_COUNT] = {
        [LT_ELEMENT_I8] = 1, [LT_ELEMENT_I16] = 2, [LT_ELEMENT_I32] = 4, [LT_ELEMENT_I64] = 8, [LT_ELEMENT_U8] = 1, [LT_ELEMENT_U16] = 2,
        [LT_ELEMENT_U32] = 4, [LT_ELEMENT_U64] = 8,
        [LT_ELEMENT_F16] = 4, [LT_ELEMENT_F32] = 4, [LT_ELEMENT_F64] = 8,
    };
    return element >= 0 && element < LT_ELEMENT_COUNT ? bytes[element] : 0;
}

/* ---- The table ---------------------------------------------------------------------------------------------- */

typedef enum kind { FLOATS, INTEGERS, TEXTS } kind;
/* An extent is a size of the dataset, equal wherever it occurs; or any. THREE is the number of channels. */
typedef enum extent { ANY, N, P, M, T, G, D, S, THREE, EXTENTS } extent;
static const char *const extent_names[] = { "any", "N", "P", "M", "T", "G", "D", "S", "3" };

/* How much of an array the file must hold: nothing, the finished rows, or all rows, which are written when the file is made. */
typedef enum stored { NONE, FINISHED, ALL } stored;

typedef struct layout {
    const char *path;     /* ending in '/': every array below it */
    kind        kind;
    int         rank;
    extent      dim[6];
    stored      stored;
} layout;

static const layout table[] = { /* those that give N and the rest come first */
    { "/parameters/params", FLOATS, 2, { N, P }, ALL },
    { "/inputs/fields", FLOATS, 4, { N, THREE, G, G }, FINISHED },
    { "/outputs/fields", FLOATS, 6, { N, M, T, THREE, G, G }, FINISHED },
    { "/outputs/fields", FLOATS, 5, { N, M, THREE, G, G }, FINISHED }, /* T = 1 */
    { "/features/temporal/features", FLOATS, 3, { N, T, D }, FINISHED },
    { "/features/summary/per_trajectory/features", FLOATS, 3, { N, M, S }, FINISHED },
    { "/features/summary/aggregated/features", FLOATS, 2, { N, ANY }, FINISHED },
    { "/features/summary/learned/features", FLOATS, 2, { N, ANY }, FINISHED },
    { "/features/initial/aggregated/features", FLOATS, 2, { N, ANY }, FINISHED },
    { "/features/architecture/aggregated/features", FLOATS, 2, { N, ANY }, FINISHED },
    { "/features/summary/operator_sensitivity_inline/", FLOATS, 1, { N }, ALL },
    { "/features/summary/aggregated/metadata/extraction_time", FLOATS, 1, { N }, NONE },
    { "/metadata/ic_types", TEXTS, 1, { N }, ALL },
    { "/metadata/evolution_policies", TEXTS, 1, { N }, ALL },
    { "/metadata/noise_regimes", TEXTS, 1, { N }, ALL },
    { "/metadata/grid_sizes", INTEGERS, 1, { N }, ALL },
    { "/status/code", INTEGERS, 1, { N }, ALL },
    { "/status/step", INTEGERS, 1, { N }, ALL },
    { "/status/seconds", FLOATS, 1, { N }, ALL },
    { "/status/row", INTEGERS, 1, { N }, ALL },
    { "/status/device", TEXTS, 1, { N }, ALL },
};

static bool is_kind(int element, kind k)
{
    if (k == TEXTS) return element == LT_ELEMENT_TEXT;
    if (k == INTEGERS) return element >= LT_ELEMENT_I8 && element <= LT_ELEMENT_U64;
    return element >= LT_ELEMENT_F16 && element <= LT_ELEMENT_F64;
}

static bool is_at(const layout *l, const char *path)
{
    size_t n = strlen(l->path);
    return l->path[n - 1] == '/' ? !strncmp(path, l->path, n) && path[n] : !strcmp(path, l->path);
}

/* ---- One object ------------------------------------------------------------------------------------------------ */

lt_shape lt_dataset_item_shape(const lt_file_item *item)
{
    return lt_shape_of(item->rank, item->dim);
}

/* "[8, 3, G, G]": sizes that are known, names of those that are not. */
static void describe_layout(const layout *l, const int64_t *size, char *out, size_t bytes)
{
    static const char *const kinds[] = { "numbers", "integers", "text" };
    size_t at = (size_t)snprintf(out, bytes, "%s [", kinds[l->kind]);
    for (int k = 0; k < l->rank && at < bytes; k++) {
        const char *comma = k ? ", " : "";
        if (size[l->dim[k]]) at += (size_t)snprintf(out + at, bytes - at, "%s%" PRId64, comma, size[l->dim[k]]);
        else at += (size_t)snprintf(out + at, bytes - at, "%s%s", comma, extent_names[l->dim[k]]);
    }
    if (at < bytes) snprintf(out + at, bytes - at, "]");
}

static bool fits(const lt_file_item *item, const layout *l, const int64_t *size)
{
    int64_t now[EXTENTS];
    memcpy(now, size, sizeof now);
    if (item->group || item->rank != l->rank || !is_kind(item->element, l->kind)) return false;
    for (int k = 0; k < l->rank; k++) {
        if (item->dim[k] < 1) return false;
        if (l->dim[k] == ANY) continue;
        if (!now[l->dim[k]]) now[l->dim[k]] = item->dim[k];
        if (now[l->dim[k]] != item->dim[k]) return false;
    }
    return true;
}

static lt_status check_item(const lt_dataset *d, const lt_file_item *item, const layout *l, int64_t *size)
{
    char expected[160];
    for (const layout *other = l; other < table + LT_LEN(table) && !strcmp(other->path, l->path); other++) {
        if (!fits(item, other, size)) continue;
        for (int k = 0; k < other->rank; k++)
            if (other->dim[k] != ANY) size[other->dim[k]] = item->dim[k];
        return LT_OK;
    }
    describe_layout(l, size, expected, sizeof expected);
    if (item->group) return LT_FAIL(LT_ERR_FORMAT, "%s: %s is a group, expected %s", d->path, item->path, expected);
    lt_shape shape = lt_dataset_item_shape(item);
    return LT_FAIL(LT_ERR_FORMAT, "%s: %s is %s %s, expected %s", d->path, item->path, lt_element_name(item->element), lt_shape_str(&shape).s, expected);
}

/* Numbers sent by the reader process are within bounds, and sizes can be multiplied and added without overflow. */
static lt_status check_words(const lt_dataset *d, lt_file_item *item)
{
    int64_t per_row = 1;
    bool sound = memchr(item->path, 0, sizeof item->path) && memchr(item->compression, 0, sizeof item->compression) && item->path[0] == '/'
                 && item->rank >= 0 && item->rank <= LT_MAX_RANK && (item->chunk_rank == 0 || item->chunk_rank == item->rank) && item->element >= 0
                 && item->element < LT_ELEMENT_COUNT;
    if (!sound) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parses it lost its way", d->path);
    bool holds = item->rank == 0 || (item->dim[0] >= 0 && item->dim[0] <= MAX_ROWS);
    for (int k = 1; k < item->rank && holds; k++) {
        holds = item->dim[k] > 0 && item->dim[k] <= MAX_ROW_ELEMENTS / per_row;
        per_row *= holds ? item->dim[k] : 1;
    }
    for (int k = 0; k < item->chunk_rank && holds; k++) holds = item->chunk[k] > 0;
    if (!holds) item->rank = item->chunk_rank = 0, item->element = LT_ELEMENT_OTHER; /* too large for our limits: listed, never read */
    return LT_OK;
}

/* ---- All of them -------------------------------------------------------------------------------------------------- */

static lt_status check_int(const lt_dataset *d, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value >= low && value <= high) return LT_OK;
    return LT_FAIL(LT_ERR_FORMAT, "%s: attribute %s is %" PRId64 ", expected %" PRId64 "..%" PRId64, d->path, name, value, low, high);
}

/* A size that an attribute states, besides or instead of an extent. */
static lt_status agree(const lt_dataset *d, const lt_file_head *h, int which, const char *name, int64_t most, int64_t *size)
{
    if (h->has_int[which] && *size) return check_int(d, name, h->value[which], *size, *size);
    if (h->has_int[which]) LT_TRY(check_int(d, name, *size = h->value[which], 1, most));
    return LT_OK;
}

static lt_status check_ints(lt_dataset *d, const lt_file_head *h, int64_t *size)
{
    lt_dataset_info *i = &d->info;
    LT_TRY(agree(d, h, LT_FILE_ROWS, "/metadata@num_parameter_sets", MAX_ROWS, &size[N]));
    LT_TRY(agree(d, h, LT_FILE_REALIZATIONS, "/metadata@num_realizations", MAX_REALIZATIONS, &size[M]));
    LT_TRY(agree(d, h, LT_FILE_GRID, "/metadata@grid_size", MAX_GRID, &size[G]));
    i->shard_count = h->has_int[LT_FILE_SHARD_COUNT] ? h->value[LT_FILE_SHARD_COUNT] : 1;
    i->shard_index = h->has_int[LT_FILE_SHARD_INDEX] ? h->value[LT_FILE_SHARD_INDEX] : 0;
    LT_TRY(check_int(d, "shard_count", i->shard_count, 1, MAX_SHARDS));
    LT_TRY(check_int(d, "shard_index", i->shard_index, 0, i->shard_count - 1));
    i->seed = h->has_int[LT_FILE_SEED] ? (uint64_t)h->value[LT_FILE_SEED] : 0;
    int64_t skeleton = h->has_int[LT_FILE_SKELETON] ? h->value[LT_FILE_SKELETON] : 0;
    if (skeleton > 0 && (uint64_t)skeleton <= i->file_bytes) d->skeleton_bytes = (uint64_t)skeleton;
    LT_TRY(check_int(d, "/inputs/fields", LT_MAX(size[G], 1), 1, MAX_GRID));
    return check_int(d, "/metadata@num_realizations", LT_MAX(size[M], 1), 1, MAX_REALIZATIONS);
}

lt_status lt_dataset_check_layout(lt_dataset *d, const lt_file_head *head)
{
    int64_t size[EXTENTS] = { [THREE] = LT_FIELD_CHANNELS };
    lt_dataset_info *i = &d->info;
    for (int k = 0; k < d->n_items; k++) LT_TRY(check_words(d, &d->item[k]));
    for (size_t l = 0; l < LT_LEN(table); l++)
        for (int k = 0; k < d->n_items && (l == 0 || strcmp(table[l].path, table[l - 1].path)); k++)
            if (is_at(&table[l], d->item[k].path)) LT_TRY(check_item(d, &d->item[k], &table[l], size));
    if (!lt_dataset_find(d, "/parameters/params") && !lt_dataset_find(d, "/inputs/fields"))
        return LT_FAIL(LT_ERR_FORMAT, "%s: an HDF5 file, but not an operator dataset: no rows in /parameters/params or /inputs/fields", d->path);
    LT_TRY(check_ints(d, head, size));
    const lt_file_item *outputs = lt_dataset_find(d, "/outputs/fields");
    i->rows = size[N];
    i->parameters = size[P];
    i->grid = size[G];
    i->realizations = size[M];
    i->has_outputs = outputs != NULL;
    i->steps = size[T] ? size[T] : i->has_outputs ? 1 : 0;
    i->temporal_columns = size[D];
    i->summary_columns = size[S];
    if (outputs && outputs->rank == 5 && i->steps != 1)
        return LT_FAIL(LT_ERR_FORMAT, "%s: /outputs/fields holds one step, /features/temporal/features %" PRId64, d->path, i->steps);
    return LT_OK;
}

static stored stored_of(const char *path)
{
    for (size_t l = 0; l < LT_LEN(table); l++)
        if (is_at(&table[l], path)) return table[l].stored;
    return NONE;
}

static lt_status check_stored(const lt_dataset *d, const lt_file_item *item, int64_t rows)
{
    double bytes = (double)item->element_bytes * (double)rows;
    for (int r = 1; r < item->rank; r++) bytes *= (double)item->dim[r];
    if (item->lzf_wrong) return LT_FAIL(LT_ERR_FORMAT, "%s: %s: its LZF filter unpacks to other sizes than its chunks have", d->path, item->path);
    if (bytes <= (double)item->stored_bytes * MOST_COMPRESSED) return LT_OK;
    return LT_FAIL(LT_ERR_FORMAT, "%s: %s claims %.0f bytes for %" PRId64 " rows, the file stores %" PRIu64, d->path, item->path, bytes, rows, item->stored_bytes);
}

lt_status lt_dataset_check_stored(const lt_dataset *d, bool all, int64_t rows)
{
    for (int k = 0; k < d->n_items; k++)
        if (stored_of(d->item[k].path) == (all ? ALL : FINISHED)) LT_TRY(check_stored(d, &d->item[k], rows));
    return LT_OK;
}
