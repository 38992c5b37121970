/* Tables of numbers in CSV files, with an optional column of labels. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CSV_H
#define LATHE_CSV_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_csv {   /* zero-initialised is an empty one */
    int64_t n_rows, n_columns;  /* without the label column */
    double *values;       /* (n_rows, n_columns); owned, as all below */
    char  **column_name;  /* n_columns; NULL when the file has no header */
    char  **label;        /* n_rows; NULL when no label column was asked for */
    char   *text;         /* what the names and labels point into */
} lt_csv;

/* Fields are separated by commas, or by semicolons or tabs where the first line has these and no comma, and may stand in double
   quotes; every field but labels is a finite decimal number with a point: no 0x10, no inf, no nan. The first line is a header when none of its fields is a number, or when the label column is given by
   name. label_column: NULL for none, a name of the header, a number counted from 1, or "last". A file that does not
   follow this is LT_ERR_FORMAT, with file, line, column, what was found and what was expected; *out is then empty. */
LT_API lt_status lt_csv_read(const char *path, const char *label_column, lt_csv *out);
LT_API void      lt_csv_free(lt_csv *c); /* NULL and empty are allowed; leaves *c empty */

/* Rows of texts, separated by commas, without a header; quoted where a reader needs it. A cell is one line. Written beside the
   target, then renamed over it. */
LT_API lt_status lt_csv_write(const char *path, int64_t n_rows, int64_t n_columns, const char *const *cell);

#ifdef __cplusplus
}
#endif
#endif
