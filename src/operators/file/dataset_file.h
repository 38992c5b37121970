/* A dataset file open for reading. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_DATASET_FILE_H
#define LT_OPERATORS_FILE_DATASET_FILE_H

#include "lathe/dataset.h"
#include "operators/file/hdf5.h"

typedef struct lt_dataset_texts_kept { struct lt_dataset_texts_kept *next; char *path; int64_t n; char **list; } lt_dataset_texts_kept;

struct lt_dataset {
    char           *path;
    hid_t           file;
    lt_dataset_info info;
    char           *text[7];            /* of info, owned */
    lt_dataset_texts_kept *kept;
};

/* Under the library's lock: opens an array when it exists and is one; else -1. */
hid_t lt_dataset_open_array(const lt_dataset *d, const char *path);
/* Rank 0 when it is none we could hold. */
lt_shape lt_dataset_array_shape(hid_t array);
/* As lt_dataset_texts, for label arrays. */
lt_status lt_dataset_read_labels(lt_dataset *d, const char *path, int64_t *n, const char *const **out);
/* Rows of an array of any numeric type, converted to `type`. */
lt_status lt_dataset_read_rows(const lt_dataset *d, const char *path, int64_t first, int64_t n, hid_t type, void *out);

#endif
