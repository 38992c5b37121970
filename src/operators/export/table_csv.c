/* Tables as CSV: names in the first line, numbers that read back, texts quoted where they must be. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/export/columns.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER = 1 << 20, CELL = 64 };

static lt_status flush(lt_csv_writer *w)
{
    size_t n = w->used;
    w->used = 0;
    return lt_atomic_write(&w->file, w->buffer, n);
}

static lt_status put(lt_csv_writer *w, const char *text, size_t n)
{
    if (w->used + n > BUFFER) LT_TRY(flush(w));
    if (n > BUFFER) return lt_atomic_write(&w->file, text, n);
    memcpy(w->buffer + w->used, text, n);
    w->used += n;
    return LT_OK;
}

static lt_status put_text(lt_csv_writer *w, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) return put(w, text, strlen(text));
    LT_TRY(put(w, "\"", 1));
    for (; *text; text++) LT_TRY(put(w, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
    return put(w, "\"", 1);
}

static lt_status put_value(lt_csv_writer *w, const lt_column *c, int64_t row)
{
    char text[CELL];
    int n;
    switch (c->type) {
    case LT_COLUMN_TEXT: return put_text(w, ((const char *const *)c->values)[row]);
    case LT_COLUMN_I64: n = snprintf(text, sizeof text, "%" PRId64, ((const int64_t *)c->values)[row]); break;
    case LT_COLUMN_BOOL: return ((const bool *)c->values)[row] ? put(w, "true", 4) : put(w, "false", 5);
    case LT_COLUMN_F64:
        if (isnan(((const double *)c->values)[row])) return put(w, "nan", 3); /* without a sign */
        lt_double_text(((const double *)c->values)[row], text);
        n = (int)strlen(text);
        break;
    default:
        if (isnan(((const float *)c->values)[row])) return put(w, "nan", 3);
        snprintf(text, sizeof text, "%.9g", (double)((const float *)c->values)[row]);
        lt_number_point(text);
        n = (int)strlen(text);
        break;
    }
    return put(w, text, (size_t)n);
}

lt_status lt_csv_begin(const char *path, const lt_column *columns, int n_columns, lt_csv_writer *w)
{
    *w = (lt_csv_writer){ .buffer = lt_malloc(BUFFER) };
    lt_status s = w->buffer ? lt_atomic_open(path, &w->file) : LT_ERR_MEMORY;
    for (int i = 0; i < n_columns && !s; i++) {
        s = put_text(w, columns[i].name);
        if (!s) s = put(w, i + 1 < n_columns ? "," : "\n", 1);
    }
    return s ? lt_csv_finish(w, s) : LT_OK;
}

lt_status lt_csv_block(lt_csv_writer *w, const lt_column *columns, int n_columns, int64_t n_rows)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int i = 0; i < n_columns; i++) {
            LT_TRY(put_value(w, &columns[i], r));
            LT_TRY(put(w, i + 1 < n_columns ? "," : "\n", 1));
        }
    return LT_OK;
}

lt_status lt_csv_finish(lt_csv_writer *w, lt_status s)
{
    if (!s) s = flush(w);
    if (s) lt_atomic_cancel(&w->file);
    else s = lt_atomic_commit(&w->file);
    lt_free(w->buffer);
    *w = (lt_csv_writer){ 0 };
    return s;
}
