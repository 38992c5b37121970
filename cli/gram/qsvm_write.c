/* Labels and decision values as .npy or CSV files. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/qsvm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number_text { char s[32]; } number_text;

static lt_status write_number_lines(const char *path, int64_t n, const double *value)
{
    number_text *text = malloc((size_t)(n + 1) * sizeof *text);
    const char **cell = malloc((size_t)(n + 1) * sizeof *cell);
    lt_status s = text && cell ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for the lines of %s", path);
    for (int64_t i = 0; !s && i < n; i++) {
        lt_double_text(value[i], text[i].s);
        cell[i] = text[i].s;
    }
    if (!s) s = lt_csv_write(path, n, 1, cell);
    free(cell);
    free(text);
    return s;
}

lt_status qsvm_write_numbers(const char *path, int64_t n, const double *value)
{
    lt_shape shape = lt_shape1(n);
    return cli_ends_in(path, ".csv") ? write_number_lines(path, n, value) : lt_npy_write(path, LT_F64, &shape, value);
}

bool qsvm_is_number(const char *text, double *v)
{
    char *end;
    *v = strtod(text, &end);
    return end != text && !*end && isfinite(*v) && !text[strspn(text, "0123456789+-.eE")]; /* 0x10 is a name */
}

bool qsvm_class_numbers(const char (*class_name)[LT_QSVM_CLASS_NAME], double value[2])
{
    return qsvm_is_number(class_name[0], &value[0]) && qsvm_is_number(class_name[1], &value[1]);
}

/* Whole numbers as int64, others as they are. */
static lt_status write_npy_numbers(const char *path, int64_t n, const double value[2], const bool *is_second)
{
    lt_shape shape = lt_shape1(n);
    union { double real; int64_t whole; } *v = malloc((size_t)(n + 1) * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    bool whole = true;
    for (int64_t i = 0; i < n; i++) whole = whole && value[is_second[i]] == floor(value[is_second[i]]) && fabs(value[is_second[i]]) < 0x1p53;
    for (int64_t i = 0; i < n; i++) {
        if (whole) v[i].whole = (int64_t)value[is_second[i]];
        else v[i].real = value[is_second[i]];
    }
    lt_status s = lt_npy_write(path, whole ? LT_I64 : LT_F64, &shape, v);
    free(v);
    return s;
}

lt_status qsvm_write_labels(const char *path, int64_t n, const char (*class_name)[LT_QSVM_CLASS_NAME], const bool *is_second)
{
    double value[2];
    bool csv = cli_ends_in(path, ".csv");
    if (!csv && qsvm_class_numbers(class_name, value)) return write_npy_numbers(path, n, value, is_second);
    const char **text = malloc((size_t)(n + 1) * sizeof *text);
    if (!text) return cli_fail(LT_ERR_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < n; i++) text[i] = class_name[is_second[i]];
    lt_status s = csv ? lt_csv_write(path, n, 1, text) : lt_npy_write_texts(path, n, text);
    free(text);
    return s;
}
