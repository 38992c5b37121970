/* Rows of one dataset file copied into another that is being written. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_ROW_COPY_H
#define LT_OPERATORS_GENERATE_ROW_COPY_H

#include "lathe/dataset.h"
#include "operators/file/store.h"

/* Status of the rows of a file. */
typedef struct lt_row_status {
    int64_t *code, *step;              /* [rows] */
    float   *seconds;
    const char *const *device;         /* [rows], of the dataset; NULL: all are of the dataset's */
} lt_row_status;
lt_status lt_row_status_read(lt_dataset *d, lt_row_status *out); /* zeroed or filled: lt_row_status_release is fine after a failure too */
void      lt_row_status_release(lt_row_status *s);

/* Rows of a file one by one. Chunks hold many rows, so each array is read in blocks that are kept. */
typedef struct lt_row_reader {
    lt_dataset *d;
    struct { float *block; int64_t first, n, most; } part[LT_PART_OUTPUT];
} lt_row_reader;
/* Row `row` of an array of the file, n_values of them; the values are good until the next row of the same part. */
lt_status lt_row_reader_get(lt_row_reader *r, lt_part part, const char *path, int64_t row, int64_t n_values, const float **out);
void      lt_row_reader_close(lt_row_reader *r);

/* The most rows that are copied at a time; the plan of the store has room for as many on the way, and two more. */
enum { LT_COPY_ROWS = 64 };

typedef struct lt_row_copy {
    lt_store            *to;
    const lt_store_plan *plan;
    float               *block;        /* one step of rows */
    lt_store_row        *open[LT_COPY_ROWS];
    int64_t              most;         /* rows at a time: a chunk of the file, where it is small enough to hold */
} lt_row_copy;

/* Whether a file of these sizes can be copied; extents of single arrays are checked as they are read. `path` is for the message. */
lt_status lt_row_copy_check(const char *path, const lt_dataset_info *i, const lt_row_status *s, const lt_store_plan *p);
lt_status lt_row_copy_open(lt_store *to, const lt_store_plan *plan, lt_row_copy *out);
void      lt_row_copy_close(lt_row_copy *c);
/* Rows first..first+n-1 of `from` become rows to[0..n-1] of the store; n is at most c->most. Grids of `from` may be smaller than the store's. */
lt_status lt_row_copy_run(lt_row_copy *c, lt_row_reader *from, const lt_row_status *status, int64_t first, int n, const int64_t *to);

#endif
