/* Parquet files: plain encoding, no compression, one data page per column and row group. SPDX-License-Identifier: BSD-3-Clause

   The format (parquet.apache.org): "PAR1", pages, a footer in Thrift's compact protocol, its length, "PAR1". All columns are required, so pages hold
   values and no levels. */
#include "operators/export/columns.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/base.h"

#include <string.h>

/* Numbers of the format. */
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_FLOAT = 4, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6, UTF8 = 0, PLAIN = 0, RLE = 3, DATA_PAGE = 0 };
enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 }; /* of the compact protocol */

static const int physical[LT_COLUMN_TYPES] = { TYPE_FLOAT, TYPE_DOUBLE, TYPE_INT64, TYPE_BOOLEAN, TYPE_BYTE_ARRAY };

typedef struct bytes { uint8_t *data; size_t n, room; bool failed; } bytes;

typedef struct chunk { uint64_t offset, size; } chunk; /* header and page */

struct lt_parquet_writer {
    lt_atomic_file file;
    int            n_columns;
    lt_column     *column;      /* names and types */
    uint64_t       end;
    int64_t        n_groups, n_rows, *group_rows;
    chunk         *chunk;       /* [n_groups, n_columns] */
    bytes          page, head;
};

/* ---- Thrift's compact protocol ---------------------------------------------------------------------- */

static void put(bytes *b, const void *data, size_t n)
{
    if (b->n + n > b->room && !b->failed) {
        size_t room = LT_MAX(b->n + n, 2 * b->room + 4096);
        uint8_t *grown = lt_realloc(b->data, room);
        b->failed = !grown;
        if (grown) b->data = grown, b->room = room;
    }
    if (b->failed) return;
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_byte(bytes *b, int v) { put(b, &(uint8_t){ (uint8_t)v }, 1); }

static void put_varint(bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) put_byte(b, (int)(v & 0x7f) | 0x80);
    put_byte(b, (int)v);
}

static void put_number(bytes *b, int64_t v) { put_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63)); }

/* Field ids go up by less than 16; *last is that of the field before. */
static void put_field(bytes *b, int *last, int id, int type)
{
    put_byte(b, (id - *last) << 4 | type);
    *last = id;
}

static void field_i32(bytes *b, int *last, int id, int64_t v) { put_field(b, last, id, T_I32); put_number(b, v); }
static void field_i64(bytes *b, int *last, int id, int64_t v) { put_field(b, last, id, T_I64); put_number(b, v); }

static void put_text(bytes *b, const char *text)
{
    put_varint(b, strlen(text));
    put(b, text, strlen(text));
}

static void put_list(bytes *b, int64_t n, int type)
{
    put_byte(b, (int)LT_MIN(n, (int64_t)15) << 4 | type);
    if (n >= 15) put_varint(b, (uint64_t)n);
}

/* ---- Pages -------------------------------------------------------------------------------------------- */

size_t lt_column_value_bytes(lt_column_type t)
{
    static const size_t size[LT_COLUMN_TYPES] = { sizeof(float), sizeof(double), sizeof(int64_t), sizeof(bool), sizeof(const char *) };
    return size[t];
}

static void put_bools(bytes *b, const bool *v, int64_t n)
{
    for (int64_t i = 0; i < n; i += 8) {
        int packed = 0;
        for (int64_t k = i; k < LT_MIN(i + 8, n); k++) packed |= (int)v[k] << (k - i);
        put_byte(b, packed);
    }
}

static void put_texts(bytes *b, const char *const *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t length = (uint32_t)strlen(v[i]);
        uint8_t little[4] = { (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16), (uint8_t)(length >> 24) };
        put(b, little, sizeof little);
        put(b, v[i], length);
    }
}

/* Numbers lie as this machine has them, little end first. */
static void put_values(bytes *b, const lt_column *c, int64_t n)
{
    if (c->type == LT_COLUMN_BOOL) put_bools(b, c->values, n);
    else if (c->type == LT_COLUMN_TEXT) put_texts(b, c->values, n);
    else put(b, c->values, (size_t)n * lt_column_value_bytes(c->type));
}

static void put_page_header(bytes *b, size_t page_bytes, int64_t n)
{
    int last = 0, inner = 0;
    field_i32(b, &last, 1, DATA_PAGE);
    field_i32(b, &last, 2, (int64_t)page_bytes);
    field_i32(b, &last, 3, (int64_t)page_bytes);
    put_field(b, &last, 5, T_STRUCT);
    field_i32(b, &inner, 1, n);
    field_i32(b, &inner, 2, PLAIN);
    field_i32(b, &inner, 3, RLE);
    field_i32(b, &inner, 4, RLE);
    put_byte(b, 0);
    put_byte(b, 0);
}

static lt_status write_out(lt_parquet_writer *w, const bytes *b)
{
    if (b->failed) return LT_ERR_MEMORY;
    w->end += b->n;
    return lt_atomic_write(&w->file, b->data, b->n);
}

static lt_status grow_groups(lt_parquet_writer *w)
{
    size_t n = (size_t)w->n_groups + 1;
    int64_t *rows = lt_realloc(w->group_rows, n * sizeof *rows);
    if (rows) w->group_rows = rows;
    chunk *list = lt_realloc(w->chunk, n * (size_t)w->n_columns * sizeof *list);
    if (list) w->chunk = list;
    return rows && list ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_parquet_block(lt_parquet_writer *w, const lt_column *columns, int64_t n_rows)
{
    LT_TRY(grow_groups(w));
    for (int i = 0; i < w->n_columns; i++) {
        chunk *c = &w->chunk[w->n_groups * w->n_columns + i];
        w->page.n = w->head.n = 0;
        put_values(&w->page, &columns[i], n_rows);
        if (w->page.n > INT32_MAX) return LT_FAIL(LT_ERR_ARGUMENT, "%s: column '%s' has a page of %zu bytes", w->file.path, columns[i].name, w->page.n);
        put_page_header(&w->head, w->page.n, n_rows);
        *c = (chunk){ w->end, w->head.n + w->page.n };
        LT_TRY(write_out(w, &w->head));
        LT_TRY(write_out(w, &w->page));
    }
    w->group_rows[w->n_groups++] = n_rows;
    w->n_rows += n_rows;
    return LT_OK;
}

/* ---- The footer ----------------------------------------------------------------------------------------- */

static void put_schema(bytes *b, const lt_parquet_writer *w)
{
    int last = 0;
    put_list(b, w->n_columns + 1, T_STRUCT);
    put_field(b, &last, 4, T_BINARY);
    put_text(b, "operators");
    field_i32(b, &last, 5, w->n_columns);
    put_byte(b, 0);
    for (int i = 0; i < w->n_columns; i++) {
        last = 0;
        field_i32(b, &last, 1, physical[w->column[i].type]);
        field_i32(b, &last, 3, 0); /* required */
        put_field(b, &last, 4, T_BINARY);
        put_text(b, w->column[i].name);
        if (w->column[i].type == LT_COLUMN_TEXT) field_i32(b, &last, 6, UTF8);
        put_byte(b, 0);
    }
}

static void put_column_metadata(bytes *b, const lt_column *c, const chunk *at, int64_t n_rows)
{
    int last = 0;
    field_i32(b, &last, 1, physical[c->type]);
    put_field(b, &last, 2, T_LIST);
    put_list(b, 2, T_I32);
    put_number(b, PLAIN);
    put_number(b, RLE);
    put_field(b, &last, 3, T_LIST);
    put_list(b, 1, T_BINARY);
    put_text(b, c->name);
    field_i32(b, &last, 4, 0); /* not compressed */
    field_i64(b, &last, 5, n_rows);
    field_i64(b, &last, 6, (int64_t)at->size);
    field_i64(b, &last, 7, (int64_t)at->size);
    field_i64(b, &last, 9, (int64_t)at->offset);
    put_byte(b, 0);
}

static void put_group(bytes *b, const lt_parquet_writer *w, int64_t group)
{
    const chunk *list = w->chunk + group * w->n_columns;
    int64_t size = 0;
    int last = 0;
    put_field(b, &last, 1, T_LIST);
    put_list(b, w->n_columns, T_STRUCT);
    for (int i = 0; i < w->n_columns; i++) {
        int inner = 0;
        field_i64(b, &inner, 2, (int64_t)list[i].offset);
        put_field(b, &inner, 3, T_STRUCT);
        put_column_metadata(b, &w->column[i], &list[i], w->group_rows[group]);
        put_byte(b, 0);
        size += (int64_t)list[i].size;
    }
    field_i64(b, &last, 2, size);
    field_i64(b, &last, 3, w->group_rows[group]);
    put_byte(b, 0);
}

static lt_status write_footer(lt_parquet_writer *w)
{
    bytes *b = &w->head;
    int last = 0;
    b->n = 0;
    field_i32(b, &last, 1, 1);
    put_field(b, &last, 2, T_LIST);
    put_schema(b, w);
    field_i64(b, &last, 3, w->n_rows);
    put_field(b, &last, 4, T_LIST);
    put_list(b, w->n_groups, T_STRUCT);
    for (int64_t g = 0; g < w->n_groups; g++) put_group(b, w, g);
    put_field(b, &last, 6, T_BINARY);
    put_text(b, "lathe");
    put_byte(b, 0);
    uint32_t n = (uint32_t)b->n;
    uint8_t end[8] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24), 'P', 'A', 'R', '1' };
    put(b, end, sizeof end);
    return write_out(w, b);
}

/* ---- The file --------------------------------------------------------------------------------------------- */

static void destroy(lt_parquet_writer *w)
{
    lt_free(w->column);
    lt_free(w->group_rows);
    lt_free(w->chunk);
    lt_free(w->page.data);
    lt_free(w->head.data);
    lt_free(w);
}

lt_status lt_parquet_begin(const char *path, const lt_column *columns, int n_columns, lt_parquet_writer **out)
{
    *out = NULL;
    lt_parquet_writer *w = lt_calloc(1, sizeof *w);
    if (!w) return LT_ERR_MEMORY;
    w->n_columns = n_columns;
    w->column = lt_malloc((size_t)n_columns * sizeof *columns);
    lt_status s = w->column ? lt_atomic_open(path, &w->file) : LT_ERR_MEMORY;
    if (s) {
        destroy(w);
        return s;
    }
    memcpy(w->column, columns, (size_t)n_columns * sizeof *columns);
    *out = w;
    w->end = 4;
    return lt_atomic_write(&w->file, "PAR1", 4);
}

lt_status lt_parquet_finish(lt_parquet_writer *w, lt_status s)
{
    if (!w) return s;
    if (!s) s = write_footer(w);
    if (s) lt_atomic_cancel(&w->file);
    else s = lt_atomic_commit(&w->file);
    destroy(w);
    return s;
}
