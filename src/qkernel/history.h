/* Tiles learnt from earlier runs: what was fastest on this device for sizes like these.
   SPDX-License-Identifier: BSD-3-Clause

   Records live in the cache folder, one list per device, method and precision, the newest
   LT_HISTORY_MAX of them (decision 34). Tiles never change a result, so a bad record costs time only. */
#ifndef LT_QKERNEL_HISTORY_H
#define LT_QKERNEL_HISTORY_H

#include "lathe/gram.h"

enum { LT_HISTORY_MAX = 256 };

typedef struct lt_tile_record {
    int64_t n, n_qubits;
    int64_t state_tile, tile_size;    /* as options; state_tile -1: all rows were held */
    int64_t pairs_per_second, peak_bytes;
} lt_tile_record;

typedef struct lt_tile_history {
    int            n_records;         /* oldest first */
    lt_tile_record record[LT_HISTORY_MAX];
} lt_tile_history;

typedef enum lt_tile_source { LT_TILES_DEFAULT, LT_TILES_NO_VALID_HISTORY, LT_TILES_LEARNED } lt_tile_source;

typedef struct lt_tile_prediction {
    lt_tile_source source;
    double         confidence;        /* 0..1; ten runs make certain */
    int64_t        state_tile, tile_size, pairs_per_second;
} lt_tile_prediction;

typedef struct lt_tile_statistics { int64_t runs, configurations; double mean_pairs_per_second; } lt_tile_statistics;

/* Of the runs with as many qubits (of all runs, where there are none) that fit into 90 % of the
   memory: the fastest among those nearest to n, in ratio. */
lt_tile_prediction lt_history_predict(const lt_tile_history *h, int64_t n, int64_t n_qubits, int64_t memory_bytes);
void               lt_history_append(lt_tile_history *h, const lt_tile_record *r); /* the oldest leaves a full list */
lt_tile_statistics lt_history_statistics(const lt_tile_history *h);

/* The list of a device, method and precision; a missing or damaged one is empty. */
lt_status lt_history_load(const char *device, lt_gram_method m, lt_gram_float f, lt_tile_history *out);
lt_status lt_history_save(const char *device, lt_gram_method m, lt_gram_float f, const lt_tile_history *h);

#endif
