/* Writing CSV files that lt_csv_read takes back. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/csv.h"

#include "base/files/file.h"
#include "base/status.h"

#include <string.h>

/* Quotes where the reader would split, trim or unquote; lines cannot be quoted, so none may stand in a cell. */
static bool needs_quotes(const char *cell)
{
    size_t n = strlen(cell);
    return strpbrk(cell, ",;\t\"") || n == 0 || cell[0] == ' ' || cell[n - 1] == ' ';
}

static lt_status write_cell(lt_atomic_file *f, const char *cell)
{
    if (!needs_quotes(cell)) return lt_atomic_write(f, cell, strlen(cell));
    LT_TRY(lt_atomic_write(f, "\"", 1));
    for (const char *at = cell; *at; at++) {
        if (*at == '"') LT_TRY(lt_atomic_write(f, "\"", 1));
        LT_TRY(lt_atomic_write(f, at, 1));
    }
    return lt_atomic_write(f, "\"", 1);
}

static lt_status write_rows(lt_atomic_file *f, int64_t n_rows, int64_t n_columns, const char *const *cell)
{
    for (int64_t i = 0; i < n_rows * n_columns; i++) {
        LT_TRY(write_cell(f, cell[i]));
        LT_TRY(lt_atomic_write(f, (i + 1) % n_columns ? "," : "\n", 1));
    }
    return LT_OK;
}

lt_status lt_csv_write(const char *path, int64_t n_rows, int64_t n_columns, const char *const *cell)
{
    if (!path || n_rows < 0 || n_columns < 1 || (!cell && n_rows))
        return LT_FAIL(LT_ERR_ARGUMENT, "csv: the path, the cells or at least one column are missing");
    for (int64_t i = 0; i < n_rows * n_columns; i++)
        if (!cell[i] || strpbrk(cell[i], "\r\n"))
            return LT_FAIL(LT_ERR_ARGUMENT, "csv: cell %lld of row %lld is %s", (long long)(i % n_columns), (long long)(i / n_columns), cell[i] ? "of several lines" : "NULL");
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = write_rows(&f, n_rows, n_columns, cell);
    if (!s) return lt_atomic_commit(&f);
    lt_atomic_cancel(&f);
    return s;
}
