/* Labels and decision values as .npy or CSV files. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number_text { char s[32]; } number_text;

static lt_status write_number_lines(const char *path, int64_t n, int64_t columns, const double *value)
{
    const int64_t count = n * columns;
    number_text *text = malloc((size_t)(count + 1) * sizeof *text);
    const char **cell = malloc((size_t)(count + 1) * sizeof *cell);
    lt_status s = text && cell ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the lines of %s", path);
    for (int64_t i = 0; !s && i < count; i++) {
        lt_double_text(value[i], text[i].s);
        cell[i] = text[i].s;
    }
    if (!s) s = lt_csv_write(path, n, columns, cell);
    free(cell);
    free(text);
    return s;
}

lt_status qsvm_write_numbers(const char *path, int64_t n, const double *value)
{
    lt_shape shape = lt_shape1(n);
    return cli_ends_in(path, ".csv") ? write_number_lines(path, n, 1, value) : lt_npy_write(path, LT_F64, &shape, value);
}

lt_status qsvm_write_matrix(const char *path, int64_t n, int64_t columns, const double *value)
{
    lt_shape shape = lt_shape2(n, columns);
    return cli_ends_in(path, ".csv") ? write_number_lines(path, n, columns, value) : lt_npy_write(path, LT_F64, &shape, value);
}

bool qsvm_is_number(const char *text, double *v)
{
    char *end;
    *v = strtod(text, &end);
    return end != text && !*end && isfinite(*v) && !text[strspn(text, "0123456789+-.eE")]; /* 0x10 is a name */
}

bool qsvm_is_exact(double v) { return v != floor(v) || fabs(v) < 0x1p53; }

bool qsvm_class_numbers(const char (*class_name)[LT_QSVM_CLASS_NAME], int64_t n_classes, double *value)
{
    for (int64_t c = 0; c < n_classes; c++) {
        double v;
        if (!qsvm_is_number(class_name[c], &v) || !qsvm_is_exact(v)) return false;
        if (value) value[c] = v;
    }
    return true;
}

static bool is_whole(const char *text, int64_t *v)
{
    char *end;
    errno = 0;
    *v = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

/* Whole numbers as int64, others as double; *done is false where a class is neither. */
static lt_status write_npy_numbers(const char *path, int64_t n, int64_t n_classes, const char (*class_name)[LT_QSVM_CLASS_NAME], const int32_t *label, bool *done)
{
    const lt_shape shape = lt_shape1(n);
    int64_t *whole = malloc((size_t)(n_classes + n) * sizeof *whole); /* of classes, then of rows; value too */
    double *value = malloc((size_t)(n_classes + n) * sizeof *value);
    lt_status s = whole && value ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for labels");
    bool all_whole = !s;
    for (int64_t c = 0; c < n_classes && all_whole; c++) all_whole = is_whole(class_name[c], &whole[c]);
    *done = !s && (all_whole || qsvm_class_numbers(class_name, n_classes, value));
    for (int64_t i = 0; i < n && *done; i++) {
        if (all_whole) whole[n_classes + i] = whole[label[i]];
        else value[n_classes + i] = value[label[i]];
    }
    if (*done) s = all_whole ? lt_npy_write(path, LT_I64, &shape, whole + n_classes) : lt_npy_write(path, LT_F64, &shape, value + n_classes);
    free(whole);
    free(value);
    return s;
}

lt_status qsvm_write_labels(const char *path, int64_t n, int64_t n_classes, const char (*class_name)[LT_QSVM_CLASS_NAME], const int32_t *label)
{
    const char **text = malloc((size_t)(n + 1) * sizeof *text);
    lt_status s = text ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for labels");
    const bool csv = cli_ends_in(path, ".csv");
    bool done = false;
    for (int64_t i = 0; !s && i < n; i++) text[i] = class_name[label[i]];
    if (!s && !csv) s = write_npy_numbers(path, n, n_classes, class_name, label, &done);
    if (!s && !done) s = csv ? lt_csv_write(path, n, 1, text) : lt_npy_write_texts(path, n, text);
    free(text);
    return s;
}
