/* Rows, loops and columns of streamed features, as the files that compute them see them.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_TABLE_H
#define LT_OPERATORS_FEATURES_TABLE_H

#include "operators/features/options.h"

#include "base/arena.h"

/* The largest each number may be, where work memory or a stack array is sized by it. */
enum {
    LT_MAX_FFT_SCALES = 10, LT_MAX_WINDOWS = 8, LT_MAX_PACF = 50, LT_MAX_MI_BINS = 32, LT_MAX_BANDS = 3, LT_MAX_LAGS = 10,
    LT_MAX_TRANSFER_BINS = 32, LT_FILTERS = 3, LT_MAX_ENTROPY_BINS = 128, LT_MAX_SCALES = 8, LT_MAX_LEVELS = 6,
    LT_MAX_CHANNELS = 3,
};

typedef enum lt_feature_loop {
    LT_LOOP_NONE, LT_LOOP_FFT_SCALE, LT_LOOP_EIGEN, LT_LOOP_WINDOW, LT_LOOP_LAG, LT_LOOP_PREDICTION, LT_LOOP_FILTER, LT_LOOP_EPSILON,
    LT_LOOP_GAIN, LT_LOOP_BAND, LT_LOOP_WAVELET, LT_LOOP_PYRAMID, LT_LOOP_ENTROPY_SCALE, LT_LOOP_PACF, LT_LOOP_COUNT
} lt_feature_loop;
typedef enum lt_feature_family { LT_FAMILY_STEP, LT_FAMILY_RUN, LT_FAMILY_COUNT } lt_feature_family;
typedef enum lt_feature_axis { LT_AXIS_EACH, LT_AXIS_ALL } lt_feature_axis;

typedef struct lt_feature_row {   /* one line of features/rows.h */
    lt_feature_category category;
    lt_feature_family   family;
    lt_feature_axis     axis;
    lt_feature_loop     loop;
    bool                joined;
    int                 clip;
    const char         *name, *include;
} lt_feature_row;

const lt_feature_row *lt_feature_row_of(int id);
const char           *lt_feature_category_name(int category);

typedef struct lt_feature_column { /* one column of an array of the file */
    int         id;      /* row */
    int         slot;    /* where the value lies in a vector of all values of the family */
    const char *name;
} lt_feature_column;

typedef struct lt_feature_columns { int n; lt_feature_column *column; } lt_feature_columns;

struct lt_feature_set {
    lt_feature_options opt;
    bool  operator_features;
    int   channels;                   /* 3, or 1 when channels are averaged first */
    /* Lists of the options as numbers. */
    int    n_windows, n_epsilons, n_gains, n_bands;
    double window[LT_MAX_WINDOWS], epsilon[LT_MAX_SCALES], gain[LT_MAX_SCALES];
    int    band[LT_MAX_BANDS];        /* 0 low, 1 mid, 2 high */
    /* Every row has slots, stored or not: the code that computes writes value[slot[id] + k]. */
    int   slot[LT_F_COUNT];
    int   n_slots[LT_FAMILY_COUNT];
    bool  stored[LT_F_COUNT];         /* whether a row has columns */
    bool  wanted[LT_CATEGORY_COUNT];  /* whether any row of the category is stored */
    bool  wanted_extra;               /* whether any optional per-step row of one channel is */
    lt_feature_columns of[LT_FAMILY_COUNT];
    const char **aggregated_name;     /* 3 per SUMMARY column: all means, all stds, all cvs */
    char       *registry;
    lt_arena    arena;                /* names */
};

/* How many labels a loop has in this set, and the k-th. */
int  lt_feature_loop_count(const struct lt_feature_set *s, lt_feature_loop loop);

#endif
