/* Inside an export: which arrays, in which boxes they are read, what each format does with them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_EXPORT_EXPORT_H
#define LT_OPERATORS_EXPORT_EXPORT_H

#include "base/arena.h"
#include "lathe/json.h"
#include "operators/file/dataset_file.h"

enum { LT_EXPORT_DIMENSION = 64 /* bytes of the name of a dimension */, LT_EXPORT_READERS = 4 };

typedef struct lt_export_array {
    const lt_file_item *item;
    const char         *name;             /* the path without its first slash */
    size_t              value_bytes;      /* 0: texts */
    int64_t             box[LT_MAX_RANK]; /* extents of what is read at once: whole chunks of the file, some megabytes */
    const char *const  *columns;          /* names of the last dimension; n_columns of them, 0: it has none */
    int64_t             n_columns;
} lt_export_array;

typedef struct lt_export {
    lt_dataset      *d;
    lt_export_options o;
    lt_arena         arena;
    int              n;
    lt_export_array *array;
    int64_t          left_out;            /* arrays of types that are not exported */
    lt_dataset      *reader[LT_EXPORT_READERS]; /* further ones of the same file, opened when they are first needed */
    uint64_t         bytes, bytes_total;  /* numbers written, and to be written */
} lt_export;

void lt_export_choose_box(lt_export_array *a); /* from item and value_bytes */
/* The boxes of an array in the order of its rows, each read into one block: [count[0], ..., count[rank - 1]]. */
typedef lt_status lt_export_box(void *ctx, const lt_export_array *a, const int64_t *start, const int64_t *count, const void *values);
lt_status lt_export_boxes(lt_export *e, const lt_export_array *a, lt_export_box *box, void *ctx);

void      lt_export_close(lt_export *e);

/* Names of the dimensions: "operator", "step", ... */
void lt_export_dimensions(const lt_export *e, const lt_export_array *a, char names[LT_MAX_RANK][LT_EXPORT_DIMENSION]);
/* What the file says of itself: fields of an open object. */
void lt_export_facts(const lt_export *e, lt_json *j);

lt_status lt_export_npz(lt_export *e);
lt_status lt_export_zarr(lt_export *e);
lt_status lt_export_the_well(lt_dataset *d, const lt_export_options *o, lt_export_info *info); /* export_well.c, needs HDF5 */

#endif
