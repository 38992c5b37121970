/* Inside a split: what its files say. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_EXPORT_SPLIT_H
#define LT_OPERATORS_EXPORT_SPLIT_H

#include "base/hash.h"
#include "operators/file/dataset_file.h"

enum { LT_SPLIT_PARTS = 3 };

struct lt_row_split {
    int64_t  n[LT_SPLIT_PARTS], *rows[LT_SPLIT_PARTS]; /* ascending; parts of one block */
    int64_t  seed;
    bool     stratified;
    unsigned status;
};

/* What a row is stratified by, as digests: its architecture, and that with its type of initial field. [rows] of each. */
lt_status lt_split_strata(lt_dataset *d, lt_digest *architecture, lt_digest *stratum);
/* "DIR/a.h5" -> "a.h5" */
const char *lt_base_name(const char *path);

#endif
