/* Data files: .npy, .npz and comma-separated text, read only. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/options.h"
#include "base/status.h"
#include "lathe/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_CELL = 64 };
static const size_t largest_csv = (size_t)1 << 30;

/* The file as the problem names it, relative to the problem. */
static bool full_path(lt_reader *r, lt_text_span where, const char *file, char *path, size_t size)
{
    bool absolute = file[0] == '/' || !r->folder[0];
    int n = snprintf(path, size, "%s%s%s", absolute ? "" : r->folder, absolute ? "" : "/", file);
    if (n >= 0 && (size_t)n < size && file[0]) return true;
    lt_reader_error(r, where, "'%.60s' is not the name of a file", file);
    return false;
}

static void report(lt_reader *r, lt_text_span where)
{
    char text[400];
    lt_value_plain_text(lt_error_text(), text, sizeof text);
    lt_reader_error(r, where, "%s", text);
}

/* Files are data, not variables: an array of integers becomes numbers like any other. */
static lt_value from_array(lt_reader *r, lt_text_span where, lt_array *a)
{
    lt_value v = lt_value_none();
    if (lt_dtype_is_complex(a->dtype)) lt_reader_error(r, where, "complex arrays cannot be read; save the real and imaginary parts");
    else {
        double *data = lt_value_alloc(r, where, &a->shape);
        int64_t n = lt_shape_count(&a->shape);
        for (int64_t i = 0; data && i < n; i++) data[i] = lt_load_double(a->dtype, a->data, i);
        if (data) v = lt_value_constant(&a->shape, data);
    }
    lt_array_free(a);
    return v;
}

lt_value lt_read_npy(lt_reader *r, lt_text_span where, const char *file, const char *member)
{
    char path[4096];
    lt_array a = { .data = NULL };
    size_t n = strlen(file);
    bool npz = n > 4 && !strcmp(file + n - 4, ".npz");
    if (!r->folder) { lt_reader_error(r, where, "this text is not in a folder; files cannot be loaded"); return lt_value_none(); }
    if (!full_path(r, where, file, path, sizeof path)) return lt_value_none();
    if (npz != (member != NULL)) {
        lt_reader_error(r, where, npz ? "a .npz file holds several arrays; name one, as in load(\"F.npz\", \"A\")"
                                      : "only a .npz file holds arrays by name");
        return lt_value_none();
    }
    lt_status s = npz ? lt_npz_read(path, member, &a) : lt_npy_read(path, &a);
    if (!s) return from_array(r, where, &a);
    if (s == LT_ERR_MEMORY) lt_reader_no_memory(r);
    else report(r, where);
    return lt_value_none();
}

/* ---- comma-separated text ---- */

typedef struct csv {
    lt_reader *r;
    lt_text_span    where;
    const char *file, *text, *end;
    int64_t    line;
} csv;

static const char *end_of_line(const csv *c, const char *at)
{
    const char *newline = memchr(at, '\n', (size_t)(c->end - at));
    return newline ? newline : c->end;
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at == end || *at == '#';
}

static int64_t count_cells(const char *at, const char *end)
{
    int64_t n = 1;
    for (; at < end; at++) n += *at == ',';
    return n;
}

static bool read_cell(const char *at, const char *end, double *out)
{
    char cell[LONGEST_CELL];
    while (at < end && (*at == ' ' || *at == '\t' || *at == '"')) at++;
    while (end > at && strchr(" \t\r\"", end[-1])) end--;
    if (end == at || end - at >= LONGEST_CELL) return false;
    memcpy(cell, at, (size_t)(end - at));
    cell[end - at] = 0;
    return !strpbrk(cell, "xX") && lt_text_real(cell, out); /* no 0x10 */
}

/* One row into out (all columns, or the one wanted); false after reporting. */
static bool read_row(csv *c, const char *at, const char *end, int64_t n_columns, int64_t column, double *out)
{
    if (count_cells(at, end) != n_columns) {
        lt_reader_error(c->r, c->where, "%.100s:%lld: %lld columns, where the first row has %lld", c->file, (long long)c->line,
                        (long long)count_cells(at, end), (long long)n_columns);
        return false;
    }
    for (int64_t k = 0; k < n_columns; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *cell_end = comma ? comma : end;
        if ((column < 0 || k == column) && !read_cell(at, cell_end, out++)) {
            lt_reader_error(c->r, c->where, "%.100s:%lld: column %lld is '%.*s', not a number", c->file, (long long)c->line,
                            (long long)k, (int)LT_MIN(cell_end - at, 40), at);
            return false;
        }
        at = cell_end + 1;
    }
    return true;
}

/* skip < 0: a first row that is not made of numbers is taken for a heading. */
static const char *skip_head(csv *c, int64_t skip)
{
    const char *at = c->text;
    c->line = 1;
    if (skip < 0) {
        const char *end = end_of_line(c, at), *comma = memchr(at, ',', (size_t)(end - at));
        double first;
        skip = !is_blank(at, end) && !read_cell(at, comma ? comma : end, &first);
    }
    for (; skip > 0 && at < c->end; skip--, c->line++) {
        at = end_of_line(c, at);
        if (at < c->end) at++;
    }
    return at;
}

static lt_value read_rows(csv *c, int64_t column, int64_t skip)
{
    const char *first = skip_head(c, skip);
    int64_t n_rows = 0, n_columns = 0, first_line = c->line, row = 0;
    for (const char *at = first, *end; at < c->end; at = end + 1) {
        end = end_of_line(c, at);
        if (is_blank(at, end)) continue;
        if (!n_rows++) n_columns = count_cells(at, end);
    }
    if (!n_rows) {
        lt_reader_error(c->r, c->where, first > c->text ? "%.100s has a heading, but no rows of numbers" : "%.100s is empty: there are no rows of numbers", c->file);
        return lt_value_none();
    }
    if (column >= n_columns) {
        lt_reader_error(c->r, c->where, "%.100s has %lld columns; column %lld is outside 0..%lld", c->file, (long long)n_columns,
                        (long long)column, (long long)n_columns - 1);
        return lt_value_none();
    }
    bool single = column >= 0 || n_columns == 1;
    lt_shape s = single ? lt_shape1(n_rows) : lt_shape2(n_rows, n_columns);
    double *data = lt_value_alloc(c->r, c->where, &s);
    if (!data) return lt_value_none();
    c->line = first_line;
    for (const char *at = first, *end; at < c->end; at = end + 1, c->line++) {
        end = end_of_line(c, at);
        if (is_blank(at, end)) continue;
        if (!read_row(c, at, end, n_columns, column, data + row++ * (single ? 1 : n_columns))) return lt_value_none();
    }
    return lt_value_constant(&s, data);
}

lt_value lt_read_csv(lt_reader *r, lt_text_span where, const char *file, int64_t column, int64_t skip)
{
    char path[4096];
    size_t n = 0;
    if (!r->folder) {
        const char *text = lt_example_file(file, &n);
        if (text) return read_rows(&(csv){ r, where, file, text, text + n, 1 }, column, skip);
        lt_reader_error(r, where, "this text is not in a folder; files cannot be loaded");
        return lt_value_none();
    }
    char *text = NULL;
    if (!full_path(r, where, file, path, sizeof path)) return lt_value_none();
    lt_status s = lt_file_read(path, largest_csv, &text, &n);
    if (s) {
        if (s == LT_ERR_MEMORY) lt_reader_no_memory(r);
        else report(r, where);
        return lt_value_none();
    }
    lt_value v = read_rows(&(csv){ r, where, file, text, text + n, 1 }, column, skip);
    lt_free(text);
    return v;
}
