/* Rows and labels from .npy and CSV files. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static double element(const lt_array *a, int64_t i)
{
    switch (a->dtype) {
    case LT_F64: return ((const double *)a->data)[i];
    case LT_F32: return (double)((const float *)a->data)[i];
    case LT_I64: return (double)((const int64_t *)a->data)[i];
    case LT_I32: return (double)((const int32_t *)a->data)[i];
    default:     return (double)((const uint8_t *)a->data)[i];
    }
}

static bool is_real(lt_dtype t) { return t == LT_F64 || t == LT_F32 || t == LT_I64 || t == LT_I32 || t == LT_U8; }

/* Looked at before rows are chosen and held out: afterwards their numbers are others than in the file. */
static lt_status check_finite(const qsvm_rows *r, const char *path, const char *option)
{
    for (int64_t i = 0; i < r->n * r->n_features; i++)
        if (!isfinite(r->x[i]))
            return cli_fail(LT_ERR_ARGUMENT, "--%s %s is %g at row %lld, column %lld (counted from 0): every number must be finite", option, path, cli_plain(r->x[i]),
                            (long long)(i / r->n_features), (long long)(i % r->n_features));
    return LT_OK;
}

/* Images and other rows of several axes are rows of many features. */
static lt_status read_npy(const char *path, const char *option, qsvm_rows *out)
{
    lt_array a = { 0 };
    CLI_TRY(cli_blame_input(lt_npy_read(path, &a)));
    lt_status s = LT_OK;
    int64_t count = lt_shape_count(&a.shape);
    if (!is_real(a.dtype)) s = cli_fail(LT_ERR_ARGUMENT, "--%s %s holds %s, expected real numbers", option, path, lt_dtype_name(a.dtype));
    else if (a.shape.rank < 2 || count < 1)
        s = cli_fail(LT_ERR_ARGUMENT, "--%s %s has shape %s, expected rows by features, at least one of each", option, path, lt_shape_str(&a.shape).s);
    if (!s && !(out->x = malloc((size_t)count * sizeof *out->x))) s = cli_fail(LT_ERR_MEMORY, "no memory for %s", path);
    if (!s) {
        out->n = a.shape.dim[0];
        out->n_features = count / out->n;
        for (int64_t i = 0; i < count; i++) out->x[i] = element(&a, i);
        s = check_finite(out, path, option);
    }
    lt_array_free(&a);
    return s;
}

/* The shortest text of a number, so that 1 and 1.0 are the same class; other texts as they are. */
lt_status qsvm_set_label(qsvm_name to, const char *text, const char *path, int64_t row)
{
    char number[32];
    double v;
    if (qsvm_is_number(text, &v) && qsvm_is_exact(v)) { /* others stay texts */
        if (v == floor(v)) snprintf(number, sizeof number, "%lld", (long long)v);
        else lt_double_text(v, number);
        text = number;
    }
    if (!*text || strlen(text) >= sizeof(qsvm_name))
        return cli_fail(LT_ERR_ARGUMENT, "%s: the label of row %lld (counted from 0) is '%.80s', expected 1 to %zu bytes", path, (long long)row, text, sizeof(qsvm_name) - 1);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) return cli_fail(LT_ERR_ARGUMENT, "%s: the label of row %lld (counted from 0) holds control characters", path, (long long)row);
    snprintf(to, sizeof(qsvm_name), "%s", text);
    return LT_OK;
}

static lt_status make_labels(qsvm_rows *out, const char *path)
{
    out->label = calloc((size_t)out->n, sizeof *out->label);
    return out->label ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the labels of %s", path);
}

static lt_status keep_csv_labels(const lt_csv *c, const char *path, qsvm_rows *out)
{
    CLI_TRY(make_labels(out, path));
    for (int64_t i = 0; i < c->n_rows; i++) CLI_TRY(qsvm_set_label(out->label[i], c->label[i], path, i));
    return LT_OK;
}

/* The header as text, a line for each column. */
static lt_status keep_csv_names(const lt_csv *c, const char *path, qsvm_rows *out)
{
    size_t bytes = 0;
    for (int64_t k = 0; k < c->n_columns; k++) bytes += strlen(c->column_name[k]) + 1;
    char *to = out->names = malloc(bytes);
    if (!to) return cli_fail(LT_ERR_MEMORY, "no memory for the header of %s", path);
    for (int64_t k = 0; k < c->n_columns; k++) {
        for (const char *from = c->column_name[k]; *from; from++) *to++ = (unsigned char)*from < 0x20 || *from == 0x7f ? ' ' : *from;
        *to++ = k + 1 < c->n_columns ? '\n' : 0;
    }
    return LT_OK;
}

static lt_status read_csv(const char *path, const char *option, const char *label_column, qsvm_rows *out)
{
    lt_csv c;
    CLI_TRY(cli_blame_input(lt_csv_read(path, label_column, &c)));
    lt_status s = LT_OK;
    if (c.n_columns < 1) s = cli_fail(LT_ERR_ARGUMENT, "--%s %s has %s: no column of features is left", option, path,
                                          label_column ? "one column, that of the labels" : "no column");
    size_t bytes = (size_t)(c.n_rows * c.n_columns) * sizeof *out->x;
    if (!s && !(out->x = malloc(bytes))) s = cli_fail(LT_ERR_MEMORY, "no memory for %s", path);
    if (!s) {
        memcpy(out->x, c.values, bytes);
        out->n = c.n_rows;
        out->n_features = c.n_columns;
        if (c.label) s = keep_csv_labels(&c, path, out);
        if (!s && c.column_name) s = keep_csv_names(&c, path, out);
    }
    lt_csv_free(&c);
    return s;
}

static lt_status expect_labels(int64_t n, const char *path, const qsvm_rows *rows)
{
    if (n == rows->n) return LT_OK;
    return cli_fail(LT_ERR_ARGUMENT, "%s holds %lld labels, but there are %lld rows", path, (long long)n, (long long)rows->n);
}

static lt_status read_npy_texts(const char *path, qsvm_rows *out)
{
    lt_npy_texts t;
    CLI_TRY(cli_blame_input(lt_npy_read_texts(path, &t)));
    lt_status s = expect_labels(t.n, path, out);
    if (!s) s = make_labels(out, path);
    for (int64_t i = 0; !s && i < t.n; i++) s = qsvm_set_label(out->label[i], t.text[i], path, i);
    lt_npy_texts_free(&t);
    return s;
}

static lt_status read_npy_labels(const char *path, qsvm_rows *out)
{
    bool texts;
    CLI_TRY(cli_blame_input(lt_npy_holds_text(path, &texts)));
    if (texts) return read_npy_texts(path, out);
    lt_array a = { 0 };
    CLI_TRY(cli_blame_input(lt_npy_read(path, &a)));
    lt_status s = LT_OK;
    int64_t n = lt_shape_count(&a.shape);
    if (!is_real(a.dtype) || a.shape.rank < 1 || n != a.shape.dim[0])
        s = cli_fail(LT_ERR_ARGUMENT, "%s holds %s %s, expected one number or text per row", path, lt_dtype_name(a.dtype), lt_shape_str(&a.shape).s);
    if (!s) s = expect_labels(n, path, out);
    if (!s) s = make_labels(out, path);
    for (int64_t i = 0; !s && i < n; i++) {
        char text[32];
        if (a.dtype == LT_I64) snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)a.data)[i]);
        else lt_double_text(element(&a, i), text);
        s = isfinite(element(&a, i)) ? qsvm_set_label(out->label[i], text, path, i)
                                     : cli_fail(LT_ERR_ARGUMENT, "%s: the label of row %lld (counted from 0) is %s", path, (long long)i, text);
    }
    lt_array_free(&a);
    return s;
}

static lt_status read_csv_labels(const char *path, qsvm_rows *out)
{
    lt_csv c;
    CLI_TRY(cli_blame_input(lt_csv_read(path, "1", &c)));
    lt_status s = c.n_columns > 0 ? cli_fail(LT_ERR_ARGUMENT, "%s has %lld columns, expected one of labels", path, (long long)c.n_columns + 1) : LT_OK;
    if (!s) s = expect_labels(c.n_rows, path, out);
    if (!s) s = keep_csv_labels(&c, path, out);
    lt_csv_free(&c);
    return s;
}

lt_status qsvm_labels_read(const char *labels, qsvm_rows *rows)
{
    return cli_ends_in(labels, ".csv") ? read_csv_labels(labels, rows) : read_npy_labels(labels, rows);
}

lt_status qsvm_numbers_read(const char *path, const char *option, int64_t n, double **out)
{
    qsvm_rows texts = { .n = n };
    lt_status s = qsvm_labels_read(path, &texts);
    *out = NULL;
    if (!s && !(*out = malloc((size_t)(n + 1) * sizeof **out))) s = cli_fail(LT_ERR_MEMORY, "no memory for %s", path);
    for (int64_t i = 0; !s && i < n; i++)
        if (!qsvm_is_number(texts.label[i], &(*out)[i]))
            s = cli_fail(LT_ERR_ARGUMENT, "--%s %s: row %lld (counted from 0) is '%s', expected a number", option, path, (long long)i, texts.label[i]);
    qsvm_rows_free(&texts);
    if (s) {
        free(*out);
        *out = NULL;
    }
    return s;
}

static lt_status read_parts(const char *path, const char *option, const char *labels, const char *label_column, qsvm_rows *out)
{
    if (labels && label_column) return cli_fail(LT_ERR_ARGUMENT, "labels come from a file of their own or from a column of --%s, not from both", option);
    if (label_column && !cli_ends_in(path, ".csv")) return cli_fail(LT_ERR_ARGUMENT, "--label-column goes with CSV files, and %s is none", path);
    CLI_TRY(cli_ends_in(path, ".csv") ? read_csv(path, option, label_column, out) : read_npy(path, option, out));
    return labels ? qsvm_labels_read(labels, out) : LT_OK;
}

lt_status qsvm_rows_read(const char *path, const char *option, const char *labels, const char *label_column, qsvm_rows *out)
{
    *out = (qsvm_rows){ 0 };
    lt_status s = read_parts(path, option, labels, label_column, out);
    if (s) qsvm_rows_free(out);
    return s;
}

void qsvm_rows_free(qsvm_rows *r)
{
    free(r->x);
    free(r->label);
    free(r->y);
    free(r->value);
    free(r->weight);
    free(r->names);
    *r = (qsvm_rows){ 0 };
}

lt_rows qsvm_rows_view(const qsvm_rows *r) { return (lt_rows){ r->x, LT_F64, r->n, r->n_features, 0 }; }

lt_status qsvm_rows_expect(const qsvm_rows *r, const char *option, const char *path, const char *trained_names)
{
    const char *a = r->names, *b = trained_names;
    for (int column = 1; a && b; column++) {
        const int in_a = (int)strcspn(a, "\n"), in_b = (int)strcspn(b, "\n");
        if (in_a != in_b || memcmp(a, b, (size_t)in_a))
            return cli_fail(LT_ERR_ARGUMENT, "--%s %s: column %d, labels not counted, is '%.*s', expected '%.*s' as in training: columns go by their order", option, path,
                            column, in_a, a, in_b, b);
        a = a[in_a] ? a + in_a + 1 : NULL;
        b = b[in_b] ? b + in_b + 1 : NULL;
    }
    return LT_OK;
}
