/* Arrays, labels and the table of contents of a dataset: asked of the process that has the file. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"

#include "base/alloc.h"
#include "base/callback.h"

#include <inttypes.h>
#include <string.h>

/* ---- Arrays ------------------------------------------------------------------------------------- */

static lt_status find_array(const lt_dataset *d, const char *path, const lt_file_item **out)
{
    *out = lt_dataset_find(d, path);
    if (!*out || (*out)->group) return LT_FAIL(LT_ERR_FORMAT, "%s: no array %s", d->path, path);
    if ((*out)->rank < 1 || (*out)->element < LT_ELEMENT_I8) return LT_FAIL(LT_ERR_FORMAT, "%s: %s does not hold numbers", d->path, path);
    return LT_OK;
}

static lt_status check_rows(const lt_dataset *d, const lt_file_item *item, int64_t first, int64_t n)
{
    if (first >= 0 && n >= 0 && n <= item->dim[0] && first <= item->dim[0] - n) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: %" PRId64 " rows from %" PRId64 " on of %s, which has %" PRId64, d->path, n, first, item->path, item->dim[0]);
}

/* Refuses what the caller may get wrong and what the file may hold instead of what the caller expects. */
static lt_status check_values(const lt_dataset *d, const lt_file_item *item, const lt_read_request *q, int64_t n_values)
{
    int64_t values = q->count[0];
    for (int k = 1; k < item->rank; k++) values = q->count[k] && values > INT64_MAX / q->count[k] ? INT64_MAX : values * q->count[k];
    if (values == n_values) return LT_OK;
    lt_shape shape = lt_dataset_item_shape(item);
    return LT_FAIL(LT_ERR_FORMAT, "%s: %s is %s: %" PRId64 " rows of it are %" PRId64 " values, expected %" PRId64, d->path, item->path, lt_shape_str(&shape).s,
                   q->count[0], values, n_values);
}

static lt_status send_request(lt_dataset *d, const lt_file_item *item, lt_read_request *q)
{
    q->item = (int32_t)(item - d->item);
    return q->count[0] ? lt_jail_ask(&d->reader, d->path, q, sizeof *q) : LT_OK;
}

static lt_status take_answer(lt_dataset *d, const lt_file_item *item, const lt_read_request *q, void *out)
{
    size_t row_bytes = lt_read_row_bytes(item, q);
    for (int64_t row = q->start[0], n; row < q->start[0] + q->count[0]; row += n) {
        n = lt_read_piece(item, q, row);
        LT_TRY(lt_jail_hear(&d->reader, d->path, (char *)out + (size_t)(row - q->start[0]) * row_bytes, (size_t)n * row_bytes));
    }
    return LT_OK;
}

static lt_status ask_numbers(lt_dataset *d, const lt_file_item *item, lt_read_request *q, void *out)
{
    LT_TRY(send_request(d, item, q));
    return take_answer(d, item, q, out);
}

static lt_status read_rows(lt_dataset *d, const char *path, int64_t first, int64_t n, lt_read_what what, void *out, int64_t n_values)
{
    const lt_file_item *item;
    lt_read_request q = { .what = what, .start = { first }, .count = { n } };
    LT_TRY(find_array(d, path, &item));
    LT_TRY(check_rows(d, item, first, n));
    for (int k = 1; k < item->rank; k++) q.count[k] = item->dim[k];
    LT_TRY(check_values(d, item, &q, n_values));
    return ask_numbers(d, item, &q, out);
}

lt_shape lt_dataset_shape(lt_dataset *d, const char *path)
{
    const lt_file_item *item = lt_dataset_find(d, path);
    return item && !item->group ? lt_dataset_item_shape(item) : lt_shape0();
}

lt_status lt_dataset_read(lt_dataset *d, const char *path, int64_t first, int64_t n, float *out, int64_t n_values)
{
    LT_NEED(d);
    LT_NEED(path);
    return read_rows(d, path, first, n, LT_READ_F32, out, n_values);
}

lt_status lt_dataset_read_ints(lt_dataset *d, const char *path, int64_t first, int64_t n, int64_t *out, int64_t n_values)
{
    LT_NEED(d);
    LT_NEED(path);
    return read_rows(d, path, first, n, LT_READ_I64, out, n_values);
}

lt_status lt_dataset_ask_box(lt_dataset *d, const lt_dataset_box *b)
{
    lt_read_request q = { .what = LT_READ_AS_STORED };
    for (int k = 0; k < b->item->rank; k++) q.start[k] = b->start[k], q.count[k] = b->count[k];
    return send_request(d, &d->item[b->item_number], &q);
}

lt_status lt_dataset_take_box(lt_dataset *d, const lt_dataset_box *b, void *out)
{
    lt_read_request q = { .what = LT_READ_AS_STORED };
    for (int k = 0; k < b->item->rank; k++) q.start[k] = b->start[k], q.count[k] = b->count[k];
    return take_answer(d, &d->item[b->item_number], &q, out);
}

lt_status lt_dataset_read_codes(lt_dataset *d, uint8_t *code)
{
    const lt_file_item *item = lt_dataset_find(d, "/status/code");
    memset(code, LT_RUN_DONE, (size_t)d->info.rows);
    return item ? read_rows(d, item->path, 0, d->info.rows, LT_READ_U8, code, d->info.rows) : LT_OK;
}

lt_status lt_dataset_read_step(lt_dataset *d, int64_t first, int64_t n, int64_t t, float *out, int64_t n_values)
{
    LT_NEED(d);
    static const char path[] = "/outputs/fields";
    const lt_file_item *item = lt_dataset_find(d, path);
    if (!item) return LT_FAIL(LT_ERR_FORMAT, "%s: no stored states in %s", d->path, path);
    bool many = item->rank == 6; /* [N, M, T, 3, G, G], or without T */
    lt_read_request q = { .what = LT_READ_F32, .start = { first }, .count = { n } };
    if (first < 0 || n < 1 || n > item->dim[0] || first > item->dim[0] - n || t < 0 || t >= (many ? item->dim[2] : 1))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: no %" PRId64 " rows from %" PRId64 " on with step %" PRId64, d->path, n, first, t);
    for (int k = 1; k < item->rank; k++) q.count[k] = item->dim[k];
    if (many) q.start[2] = t, q.count[2] = 1;
    LT_TRY(check_values(d, item, &q, n_values));
    return ask_numbers(d, item, &q, out);
}

/* ---- Texts ------------------------------------------------------------------------------------------ */

/* One block: pointers, then the characters that arrived. Every text ends with a zero. */
static lt_status list_texts(const lt_dataset *d, const char *block, size_t bytes, int64_t *n, char ***out)
{
    *n = 0;
    *out = NULL;
    for (size_t i = 0; i < bytes; i++) *n += !block[i];
    if (bytes && block[bytes - 1]) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: a text without an end", d->path);
    char **list = lt_malloc((size_t)*n * sizeof *list + bytes);
    if (!list) return LT_ERR_MEMORY;
    char *at = (char *)(list + *n);
    if (bytes) memcpy(at, block, bytes);
    for (int64_t i = 0; i < *n; i++, at += strlen(at) + 1) lt_text_disarm(list[i] = at);
    *out = list;
    return LT_OK;
}

static lt_status ask_texts(lt_dataset *d, const lt_read_request *q, int64_t *n, char ***out)
{
    void *block;
    size_t bytes;
    LT_TRY(lt_jail_ask(&d->reader, d->path, q, sizeof *q));
    LT_TRY(lt_jail_hear_any(&d->reader, d->path, LT_FILE_MAX_TEXT_BYTES, &block, &bytes));
    lt_status s = list_texts(d, block, bytes, n, out);
    lt_free(block);
    return s;
}

static lt_status ask_labels(lt_dataset *d, const char *path, int64_t *n, char ***out)
{
    const lt_file_item *item = lt_dataset_find(d, path);
    if (!item || item->element != LT_ELEMENT_TEXT || item->rank != 1 || item->dim[0] != d->info.rows) return LT_OK;
    LT_TRY(ask_texts(d, &(lt_read_request){ .what = LT_READ_LABELS, .item = (int32_t)(item - d->item) }, n, out));
    if (*n == 0 || *n == d->info.rows) return LT_OK;
    return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: %s gave %" PRId64 " texts for %" PRId64 " rows", d->path, path, *n, d->info.rows);
}

static lt_status ask_attribute(lt_dataset *d, const char *path, const char *at_sign, int64_t *n, char ***out)
{
    char object[LT_FILE_PATH_BYTES];
    lt_read_request q = { .what = LT_READ_ATTRIBUTE };
    if ((size_t)(at_sign - path) >= sizeof object || strlen(at_sign + 1) >= sizeof q.attribute) return LT_OK;
    snprintf(object, sizeof object, "%.*s", (int)(at_sign - path), path);
    snprintf(q.attribute, sizeof q.attribute, "%s", at_sign + 1);
    const lt_file_item *item = lt_dataset_find(d, object);
    if (!item) return LT_OK;
    q.item = (int32_t)(item - d->item);
    return ask_texts(d, &q, n, out);
}

static lt_status keep_texts(lt_dataset *d, const char *path, lt_dataset_texts_kept **out)
{
    const char *at_sign = strchr(path, '@');
    for (*out = d->kept; *out; *out = (*out)->next)
        if (!strcmp((*out)->path, path)) return LT_OK;
    lt_dataset_texts_kept *k = lt_calloc(1, sizeof *k);
    if (!k || !(k->path = lt_strdup(path))) {
        lt_free(k);
        return LT_ERR_MEMORY;
    }
    lt_status s = at_sign ? ask_attribute(d, path, at_sign, &k->n, &k->list) : ask_labels(d, path, &k->n, &k->list);
    if (s) { /* not kept: asked again, it would seem to have no texts */
        lt_free(k->list);
        lt_free(k->path);
        lt_free(k);
        return s;
    }
    k->next = d->kept;
    *out = d->kept = k;
    return LT_OK;
}

lt_status lt_dataset_texts(lt_dataset *d, const char *path, int64_t *n, const char *const **out)
{
    LT_NEED(d);
    LT_NEED(path);
    LT_NEED(n);
    LT_NEED(out);
    lt_dataset_texts_kept *k = NULL;
    lt_status s = keep_texts(d, path, &k);
    *n = s ? 0 : k->n;
    *out = s ? NULL : (const char *const *)k->list;
    return s;
}

/* ---- Contents ---------------------------------------------------------------------------------------- */

lt_status lt_dataset_walk(lt_dataset *d, lt_status (*item)(void *ctx, const lt_dataset_item *item), void *ctx)
{
    LT_NEED(d);
    LT_NEED(item);
    for (int i = 0; i < d->n_items; i++) {
        const lt_file_item *it = &d->item[i];
        lt_dataset_item seen = { .size = sizeof seen, .path = it->path, .group = it->group, .dtype = it->group ? "" : lt_element_name(it->element), .compression = it->compression,
                                 .shape = lt_dataset_item_shape(it), .chunk = lt_shape_of(it->chunk_rank, it->chunk), .stored_bytes = it->stored_bytes };
        LT_TRY(lt_callback_status("dataset walk: the function", item(ctx, &seen)));
    }
    return LT_OK;
}
