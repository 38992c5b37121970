/* Columns of a table and writers of blocks of rows. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_EXPORT_COLUMNS_H
#define LT_OPERATORS_EXPORT_COLUMNS_H

#include "base/files/file.h"

typedef enum lt_column_type { LT_COLUMN_F32, LT_COLUMN_F64, LT_COLUMN_I64, LT_COLUMN_BOOL, LT_COLUMN_TEXT, LT_COLUMN_TYPES } lt_column_type;

/* One column of a block: float, double, int64_t, bool or const char *. */
typedef struct lt_column {
    const char    *name;
    lt_column_type type;
    void          *values;
} lt_column;

size_t lt_column_value_bytes(lt_column_type t);

/* Writers take blocks of rows in order; n_columns, names and types are the same in all. The file appears when it is finished. */
typedef struct lt_csv_writer { lt_atomic_file file; char *buffer; size_t used; } lt_csv_writer;
lt_status lt_csv_begin(const char *path, const lt_column *columns, int n_columns, lt_csv_writer *w);
lt_status lt_csv_block(lt_csv_writer *w, const lt_column *columns, int n_columns, int64_t n_rows);
lt_status lt_csv_finish(lt_csv_writer *w, lt_status s); /* s not LT_OK: nothing is left; returns the first failure */

typedef struct lt_parquet_writer lt_parquet_writer;
lt_status lt_parquet_begin(const char *path, const lt_column *columns, int n_columns, lt_parquet_writer **out);
lt_status lt_parquet_block(lt_parquet_writer *w, const lt_column *columns, int64_t n_rows); /* a row group */
lt_status lt_parquet_finish(lt_parquet_writer *w, lt_status s);

#endif
