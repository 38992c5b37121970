/* A dataset as one .npz archive, members named as the arrays. SPDX-License-Identifier: BSD-3-Clause

   A box holds several rows, whose values lie far apart in the member: each goes to its place, rows keep a checksum each, and those of all rows are joined. */
#include "operators/export/export.h"

#include "base/alloc.h"
#include "base/files/npy.h"
#include "base/files/zip.h"
#include "base/status.h"

#include <string.h>

typedef struct member { lt_npz_stream *z; uint32_t *crc; int64_t row_bytes; } member; /* crc: of the rows of a box */

static const char *descriptor(int element)
{
    static const char *const names[LT_ELEMENT_COUNT] = {
        [LT_ELEMENT_I8] = "|i1", [LT_ELEMENT_I16] = "<i2", [LT_ELEMENT_I32] = "<i4", [LT_ELEMENT_I64] = "<i8", [LT_ELEMENT_U8] = "|u1",
        [LT_ELEMENT_U16] = "<u2", [LT_ELEMENT_U32] = "<u4",
        [LT_ELEMENT_U64] = "<u8", [LT_ELEMENT_F16] = "<f4", [LT_ELEMENT_F32] = "<f4", [LT_ELEMENT_F64] = "<f8",
    };
    return names[element];
}

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

/* Where a value lies in the array, in bytes. */
static uint64_t offset_of(const lt_export_array *a, const int64_t *at)
{
    uint64_t offset = 0;
    for (int k = 0; k < a->item->rank; k++) offset = offset * (uint64_t)a->item->dim[k] + (uint64_t)at[k];
    return offset * a->value_bytes;
}

/* The dimensions behind `cut` are whole in this box: what lies in them is one piece of the array. */
static int find_cut(const lt_export_array *a, const int64_t *count)
{
    int cut = a->item->rank - 1;
    while (cut > 0 && count[cut] == a->item->dim[cut]) cut--;
    return cut;
}

/* Pieces in order; each is of one row, unless the box has whole rows. */
static lt_status put_box(void *ctx, const lt_export_array *a, const int64_t *start, const int64_t *count, const void *values)
{
    member *m = ctx;
    int cut = find_cut(a, count);
    int64_t at[LT_MAX_RANK];
    size_t piece = a->value_bytes;
    const char *from = values;
    for (int k = cut; k < a->item->rank; k++) piece *= (size_t)count[k];
    if (cut == 0) return lt_npz_stream_data(m->z, values, piece);
    memcpy(at, start, sizeof at);
    for (bool more = true; more; from += piece) {
        LT_TRY(lt_npz_stream_put(m->z, offset_of(a, at), from, piece));
        uint32_t *crc = &m->crc[at[0] - start[0]];
        *crc = lt_crc32(*crc, from, piece);
        int k = cut - 1;
        while (k >= 0 && ++at[k] >= start[k] + count[k]) at[k] = start[k], k--;
        more = k >= 0;
    }
    for (int k = 1; k < a->item->rank; k++)
        if (start[k] + count[k] < a->item->dim[k]) return LT_OK;
    for (int64_t r = 0; r < count[0]; r++) { /* the last box of these rows */
        LT_TRY(lt_npz_stream_done(m->z, m->crc[r], (uint64_t)m->row_bytes));
        m->crc[r] = 0;
    }
    return LT_OK;
}

/* Within a row boxes follow each other as its bytes do, which chunks of other programs need not. */
static void line_up(lt_export_array *a)
{
    bool whole = true;
    for (int k = a->item->rank - 1; k > 0; k--) {
        if (!whole) a->box[k] = 1;
        whole = whole && a->box[k] == a->item->dim[k];
    }
}

static lt_status put_numbers(lt_export *e, lt_npz_stream *z, lt_export_array *a)
{
    line_up(a);
    lt_shape shape = lt_dataset_item_shape(a->item);
    lt_npy_head head = lt_npy_header_format_as(descriptor(a->item->element), &shape);
    member m = { z, lt_calloc((size_t)a->box[0], sizeof *m.crc), (int64_t)a->value_bytes };
    for (int k = 1; k < a->item->rank; k++) m.row_bytes *= a->item->dim[k];
    lt_status s = m.crc ? lt_npz_stream_member(z, a->name, &head, (uint64_t)(m.row_bytes * a->item->dim[0])) : LT_ERR_MEMORY;
    if (!s) s = lt_export_boxes(e, a, put_box, &m);
    lt_free(m.crc);
    return s;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/* n < 0: one text, an array without dimensions. */
static lt_status put_texts(lt_npz_stream *z, const char *name, int64_t n, const char *const *text)
{
    int width = 1, length;
    int64_t rows = n < 0 ? 1 : n;
    lt_shape shape = n < 0 ? lt_shape0() : lt_shape1(n);
    for (int64_t i = 0; i < rows; i++) {
        LT_TRY(lt_npy_text_characters(name, text[i], i, n < 0 ? 1 << 24 : 0, &length));
        width = LT_MAX(width, length);
    }
    lt_npy_head head = lt_npy_header_format_text(width, &shape);
    uint32_t *field = lt_malloc((size_t)width * sizeof *field);
    lt_status s = field ? lt_npz_stream_member(z, name, &head, (uint64_t)rows * (uint64_t)width * sizeof *field) : LT_ERR_MEMORY;
    for (int64_t i = 0; i < rows && !s; i++) {
        lt_npy_text_encode(text[i], width, field);
        s = lt_npz_stream_data(z, field, (size_t)width * sizeof *field);
    }
    lt_free(field);
    return s;
}

static lt_status put_labels(lt_export *e, lt_npz_stream *z, const lt_export_array *a)
{
    const char *const *text;
    int64_t n;
    LT_TRY(lt_dataset_texts(e->d, a->item->path, &n, &text));
    return n == a->item->dim[0] ? put_texts(z, a->name, n, text) : LT_OK; /* of fixed length: not read */
}

static lt_status put_columns(lt_npz_stream *z, const lt_export_array *a)
{
    char name[LT_FILE_PATH_BYTES + 16];
    if (!a->n_columns) return LT_OK;
    snprintf(name, sizeof name, "%s.columns", a->name);
    return put_texts(z, name, a->n_columns, a->columns);
}

/* ---- The archive --------------------------------------------------------------------------------------------------- */

static lt_status put_facts(lt_export *e, lt_npz_stream *z)
{
    lt_json *j = NULL;
    LT_TRY(lt_json_create(LT_JSON_COMPACT, &j));
    lt_json_object_begin(j);
    lt_export_facts(e, j);
    lt_json_object_end(j);
    lt_status s = lt_json_finish(j);
    const char *text = lt_json_text(j);
    if (!s) s = put_texts(z, "info", -1, &text);
    lt_json_destroy(j);
    return s;
}

static lt_status put_all(lt_export *e, lt_npz_stream *z)
{
    for (int i = 0; i < e->n; i++) {
        lt_export_array a = e->array[i];
        LT_TRY(a.value_bytes ? put_numbers(e, z, &a) : put_labels(e, z, &a));
        LT_TRY(put_columns(z, &a));
    }
    return put_facts(e, z);
}

lt_status lt_export_npz(lt_export *e)
{
    lt_npz_stream *z;
    LT_TRY(lt_npz_stream_open(e->o.npz, 0, &z));
    return lt_npz_stream_finish(z, put_all(e, z));
}
