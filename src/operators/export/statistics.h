/* What normalising needs to know of each column. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_EXPORT_STATISTICS_H
#define LT_OPERATORS_EXPORT_STATISTICS_H

#include "operators/file/dataset_file.h"

/* The distance of the quartiles of the normal distribution of deviation 1. */
#define LT_NORMAL_IQR 1.3489795003921634

typedef struct lt_column_statistics {
    int64_t count;                       /* of finite values; the rest is NaN where it is 0 */
    double  mean, std, min, max, q25, median, q75;
} lt_column_statistics;

/* Of each column of an array, its last dimension, over all others and the rows that `take` marks (NULL: all). */
lt_status lt_array_statistics(lt_dataset *d, const lt_file_item *item, const uint8_t *take, lt_column_statistics *out);

/* ---- Names, as the Python package has them ---------------------------------------------------------------- */

/* An array of features: /features/.../features of numbers, with a row per operator and a column per feature. */
bool lt_is_family(const lt_dataset *d, const lt_file_item *item);
/* "/features/summary/aggregated/features" -> "summary": the groups on the way to it, without "aggregated". */
void lt_family_of(const char *path, char *out, size_t size);

#endif
