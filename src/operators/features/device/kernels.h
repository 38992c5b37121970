/* The kernels that measure states on a device: their shape, their text, what they read and write.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_DEVICE_KERNELS_H
#define LT_OPERATORS_FEATURES_DEVICE_KERNELS_H

#include "device/stream.h"
#include "kernels/cuda/text.h"
#include "operators/features/field/field.h"

/* What kernels are given: states and steps of the caller, tables made once, parts that one launch leaves for the
   next, and the records (T, M). */
typedef enum lt_feature_buffer {
    LT_FEATURE_NOW, LT_FEATURE_BEFORE, LT_FEATURE_STEP,
    LT_FEATURE_WEIGHT, LT_FEATURE_TWIDDLE, LT_FEATURE_BAND, LT_FEATURE_RANK,
    LT_FEATURE_SPECTRUM, LT_FEATURE_LOW, LT_FEATURE_HIGH, LT_FEATURE_SUMS, LT_FEATURE_PEAKS, LT_FEATURE_ORDER, LT_FEATURE_POWER,
    LT_FEATURE_BIN_SUMS, LT_FEATURE_BIN_PEAKS, LT_FEATURE_PIXELS, LT_FEATURE_COUNTS,
    LT_FEATURE_RECORDS, LT_FEATURE_BUFFERS,
    LT_FEATURE_FIRST_TABLE = LT_FEATURE_WEIGHT, LT_FEATURE_FIRST_PART = LT_FEATURE_SPECTRUM
} lt_feature_buffer;

enum { LT_FEATURE_LAUNCHES = 3, LT_FEATURE_MAX_ARGS = 16, LT_FEATURE_MAX_GRID = 256 };

typedef struct lt_feature_launch {
    const char *entry;
    int         n_args;
    lt_feature_buffer arg[LT_FEATURE_MAX_ARGS];
} lt_feature_launch;
extern const lt_feature_launch lt_feature_launches[LT_FEATURE_LAUNCHES];

/* Everything is decided by the set, the grid and the numbers of realizations and steps. */
typedef struct lt_feature_shape {
    int64_t  realizations, together;     /* together: states that a launch measures at most */
    int      grid, factor_a, factor_b, threads, rows, columns, radius, scales, entropy_bins, mi_bins, list;
    unsigned blocks[LT_FEATURE_LAUNCHES]; /* of a state */
    size_t   shared_bytes[LT_FEATURE_LAUNCHES];
    size_t   bytes[LT_FEATURE_BUFFERS];  /* 0 for what the caller brings */
} lt_feature_shape;

/* Whether states of this grid are measured on a device: up to 256, without a prime factor above 7. */
bool lt_feature_grid_fits(int grid);
void lt_feature_shape_make(const lt_field_plan *p, int64_t realizations, int64_t steps, lt_feature_shape *out);
/* The source of all launches. */
void lt_feature_kernels_text(const lt_feature_shape *s, lt_text *out);
/* Fills the tables: table[LT_FEATURE_WEIGHT] and so on, shape->bytes each. */
void lt_feature_tables_fill(const lt_field_plan *p, void *const table[LT_FEATURE_BUFFERS]);

/* For launches that measure one state, and shape->together of them. */
lt_status lt_feature_kernels_build(lt_device *dev, const lt_feature_shape *s, lt_kernel *one[LT_FEATURE_LAUNCHES], lt_kernel *several[LT_FEATURE_LAUNCHES]);
void      lt_feature_kernels_destroy(lt_kernel *k[LT_FEATURE_LAUNCHES]); /* NULL ones too */

#endif
