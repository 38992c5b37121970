/* Reading CSV files: strict, so that a shifted column or a stray text is found and named.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/csv.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/options.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 1 << 20, SHOWN = 60 };
static const size_t limit_bytes = (size_t)1 << 34;

typedef struct reader {
    const char *path;
    lt_csv     *out;
    char       *at, *end;      /* of the text not yet read */
    char        separator;     /* between fields: ',', ';' or a tab */
    int64_t     line;          /* number of the line in `field` */
    int64_t     n_fields;      /* per line, once the first is read */
    int64_t     label;         /* position of the label column; -1 = none */
    char      **field;         /* of the current line */
    int64_t     n_found, field_capacity, row_capacity;
} reader;

/* ---- lines and fields ---- */

static const char *separator_name(const reader *r) { return r->separator == '\t' ? "tabs" : r->separator == ';' ? "semicolons" : "commas"; }

/* A tab that separates fields is no blank beside them. */
static const char *blanks(const reader *r) { return r->separator == '\t' ? " " : " \t"; }

/* Commas, unless the first line has none but has semicolons or tabs; what stands in quotes does not count (decision 150). */
static char find_separator(const char *at, const char *end)
{
    bool quoted = false, semicolon = false, tab = false;
    for (; at < end && *at != '\n'; at++) {
        if (*at == '"') quoted = !quoted;
        if (quoted) continue;
        if (*at == ',') return ',';
        semicolon = semicolon || *at == ';';
        tab = tab || *at == '\t';
    }
    return semicolon ? ';' : tab ? '\t' : ',';
}

/* Takes quotes off in place; *text then points behind the field and its closing quote. */
static lt_status unquote(const reader *r, char **text, char **field)
{
    char *from = *text + 1, *to = from;
    *field = from;
    for (;; from++) {
        if (!*from) return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: a field opened with '\"' does not end on its line", r->path, (long long)r->line), r->path, r->line, 0);
        if (*from == '"' && *++from != '"') break;
        *to++ = *from;
    }
    from += strspn(from, blanks(r));
    if (*from && *from != r->separator)
        return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: '%.*s' follows a closing '\"', expected %s between fields", r->path, (long long)r->line,
                                     SHOWN, from, separator_name(r)), r->path, r->line, 0);
    *to = 0;
    *text = from;
    return LT_OK;
}

static lt_status add_field(reader *r, char *field)
{
    if (r->n_found == r->field_capacity) {
        if (r->n_found >= MOST_COLUMNS)
            return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: more than %d columns", r->path, (long long)r->line, MOST_COLUMNS), r->path, r->line, 0);
        int64_t capacity = LT_MAX(2 * r->field_capacity, 16);
        char **grown = lt_realloc(r->field, (size_t)capacity * sizeof *grown);
        if (!grown) return LT_ERR_MEMORY;
        r->field = grown;
        r->field_capacity = capacity;
    }
    r->field[r->n_found++] = field;
    return LT_OK;
}

/* The fields of a line that ends with a zero byte, blanks around them removed. */
static lt_status split(reader *r, char *text)
{
    const char separator[] = { r->separator, 0 };
    r->n_found = 0;
    for (;; text++) {
        char *field, *stop;
        text += strspn(text, blanks(r));
        if (*text == '"') {
            LT_TRY(unquote(r, &text, &field));
            stop = text;
        } else {
            field = text;
            text += strcspn(text, separator);
            for (stop = text; stop > field && strchr(blanks(r), stop[-1]); stop--) { }
        }
        LT_TRY(add_field(r, field));
        bool more = *text == r->separator;
        *stop = 0;
        if (!more) return LT_OK;
    }
}

static bool only_blanks(const char *from, const char *to)
{
    while (from < to && strchr(" \t\r\n", *from)) from++;
    return from == to;
}

/* The next line into r->field; false in *more at the end. Empty lines may only stand at the end. */
static lt_status next_line(reader *r, bool *more)
{
    *more = r->at < r->end && !only_blanks(r->at, r->end);
    if (!*more) return LT_OK;
    char *start = r->at, *stop = memchr(start, '\n', (size_t)(r->end - start));
    r->line++;
    r->at = stop ? stop + 1 : r->end;
    if (!stop) stop = r->end;
    if (stop > start && stop[-1] == '\r') stop--;
    *stop = 0;
    if (strlen(start) != (size_t)(stop - start))
        return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: a zero byte, expected text", r->path, (long long)r->line), r->path, r->line, 0);
    if (only_blanks(start, stop))
        return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: an empty line before the end of the file", r->path, (long long)r->line), r->path, r->line, 0);
    return split(r, start);
}

/* ---- the first line ---- */

/* Decimal digits: what other readers of numbers take beside them (0x10, inf) is a mistake in a table. */
static bool read_number(const char *text, double *v)
{
    return !text[strspn(text, "0123456789+-.eE")] && lt_text_real(text, v) && isfinite(*v);
}

/* Numbers of every kind, those that are refused too: they make no header. */
static bool is_number(const char *text)
{
    double v;
    return lt_text_real(text, &v) || !strcasecmp(text, "nan") || !strcasecmp(text, "-nan");
}

/* What to say about a field that was meant to be several. */
static const char *separator_hint(const reader *r, const char *field, char out[64])
{
    out[0] = 0;
    if (strpbrk(field, ",; \t")) snprintf(out, 64, "; columns of this file are separated by %s", separator_name(r));
    return out;
}

/* The label column by position. Leaves -1 when the header decides. */
static lt_status find_label(reader *r, const char *label_column, bool *by_name)
{
    int64_t number;
    *by_name = false;
    r->label = -1;
    if (!label_column) return LT_OK;
    if (!strcmp(label_column, "last")) {
        r->label = r->n_fields - 1;
        return LT_OK;
    }
    if (lt_text_int(label_column, &number)) {
        if (number < 1 || number > r->n_fields)
            return lt_place_file(LT_FAIL(LT_ERR_FORMAT, "%s: label column %lld, but the file has columns 1 to %lld", r->path, (long long)number, (long long)r->n_fields), r->path);
        r->label = number - 1;
        return LT_OK;
    }
    *by_name = true;
    for (int64_t k = 0; k < r->n_fields; k++) {
        if (strcmp(r->field[k], label_column)) continue;
        if (r->label >= 0)
            return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:1: columns %lld and %lld are both called '%.*s'", r->path, (long long)r->label + 1,
                                         (long long)k + 1, SHOWN, label_column), r->path, 1, 0);
        r->label = k;
    }
    if (r->label < 0) return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:1: no column is called '%.*s'; the first of %lld is '%.*s'", r->path, SHOWN, label_column,
                                      (long long)r->n_fields, SHOWN, r->field[0]), r->path, 1, 0);
    return LT_OK;
}

static lt_status judge_header(const reader *r, bool by_name, bool *header)
{
    int64_t numbers = 0, others = 0, odd = -1;
    for (int64_t k = 0; k < r->n_fields; k++) {
        if (k == r->label) continue;
        if (is_number(r->field[k])) numbers++;
        else others++, odd = k;
    }
    *header = by_name || (others > 0 && numbers == 0);
    if (*header || others == 0) return LT_OK;
    char hint[64];
    return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:1: column %lld is '%.*s' where other columns hold numbers: expected numbers only, or a header without any%s",
                   r->path, (long long)odd + 1, SHOWN, r->field[odd], separator_hint(r, r->field[odd], hint)), r->path, 1, 0);
}

static lt_status keep_names(reader *r)
{
    lt_csv *c = r->out;
    c->column_name = lt_malloc((size_t)LT_MAX(c->n_columns, 1) * sizeof *c->column_name);
    if (!c->column_name) return LT_ERR_MEMORY;
    for (int64_t k = 0, to = 0; k < r->n_fields; k++)
        if (k != r->label) c->column_name[to++] = r->field[k];
    return LT_OK;
}

/* ---- rows ---- */

static lt_status reserve_row(reader *r)
{
    lt_csv *c = r->out;
    if (c->n_rows < r->row_capacity) return LT_OK;
    int64_t capacity = LT_MAX(2 * r->row_capacity, 64);
    double *values = lt_realloc(c->values, (size_t)(capacity * LT_MAX(c->n_columns, 1)) * sizeof *values);
    if (!values) return LT_ERR_MEMORY;
    c->values = values;
    if (r->label >= 0) {
        char **label = lt_realloc(c->label, (size_t)capacity * sizeof *label);
        if (!label) return LT_ERR_MEMORY;
        c->label = label;
    }
    r->row_capacity = capacity;
    return LT_OK;
}

static lt_status bad_field(const reader *r, int64_t k, int64_t column, const char *expected)
{
    const char *name = r->out->column_name && column >= 0 ? r->out->column_name[column] : NULL;
    char hint[64];
    return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: column %lld%s%.*s%s is '%.*s', expected %s%s", r->path, (long long)r->line, (long long)k + 1,
                   name ? " ('" : "", SHOWN, name ? name : "", name ? "')" : "", SHOWN, r->field[k], expected, separator_hint(r, r->field[k], hint)), r->path, r->line, k + 1);
}

static lt_status add_row(reader *r)
{
    lt_csv *c = r->out;
    if (r->n_found != r->n_fields)
        return lt_place_line(LT_FAIL(LT_ERR_FORMAT, "%s:%lld: %lld columns, expected %lld as in line 1", r->path, (long long)r->line,
                                     (long long)r->n_found, (long long)r->n_fields), r->path, r->line, 0);
    LT_TRY(reserve_row(r));
    for (int64_t k = 0, to = 0; k < r->n_fields; k++) {
        if (k == r->label) {
            if (!*r->field[k]) return bad_field(r, k, -1, "a label");
            c->label[c->n_rows] = r->field[k];
            continue;
        }
        double v;
        if (!read_number(r->field[k], &v)) return bad_field(r, k, to, "a finite decimal number");
        c->values[c->n_rows * c->n_columns + to++] = v;
    }
    c->n_rows++;
    return LT_OK;
}

/* A single column of labels has no numbers that could show a header: a text above numbers is one. */
static void drop_lone_header(lt_csv *c)
{
    if (c->n_columns > 0 || c->n_rows < 2 || is_number(c->label[0]) || !is_number(c->label[1])) return;
    memmove(c->label, c->label + 1, (size_t)--c->n_rows * sizeof *c->label);
}

static lt_status read_all(reader *r, const char *label_column)
{
    bool more, by_name, header;
    LT_TRY(next_line(r, &more));
    if (!more) return lt_place_file(LT_FAIL(LT_ERR_FORMAT, "%s: the file is empty", r->path), r->path);
    r->n_fields = r->n_found;
    LT_TRY(find_label(r, label_column, &by_name));
    LT_TRY(judge_header(r, by_name, &header));
    r->out->n_columns = r->n_fields - (r->label >= 0);
    if (header) LT_TRY(keep_names(r));
    else LT_TRY(add_row(r));
    for (;;) {
        LT_TRY(next_line(r, &more));
        if (!more) break;
        LT_TRY(add_row(r));
    }
    if (r->out->n_rows == 0) return lt_place_file(LT_FAIL(LT_ERR_FORMAT, "%s: a header, but no rows", r->path), r->path);
    drop_lone_header(r->out);
    return LT_OK;
}

lt_status lt_csv_read(const char *path, const char *label_column, lt_csv *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "csv: out is NULL");
    *out = (lt_csv){ 0 };
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "csv: the path is NULL");
    size_t n;
    LT_TRY(lt_file_read(path, limit_bytes, &out->text, &n));
    reader r = { .path = path, .out = out, .at = out->text, .end = out->text + n };
    if (n >= 3 && !memcmp(r.at, "\xef\xbb\xbf", 3)) r.at += 3; /* a byte order mark */
    r.separator = find_separator(r.at, r.end);
    lt_status s = read_all(&r, label_column);
    lt_free(r.field);
    if (s) lt_csv_free(out);
    return s;
}

void lt_csv_free(lt_csv *c)
{
    if (!c) return;
    lt_free(c->values);
    lt_free(c->column_name);
    lt_free(c->label);
    lt_free(c->text);
    *c = (lt_csv){ 0 };
}
