/* The rows of a dataset before they run: unit parameters, what they mean, labels.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_ROW_TABLE_H
#define LT_OPERATORS_GENERATE_ROW_TABLE_H

#include "operators/features/features.h"
#include "operators/fields/fields.h"
#include "operators/file/store.h"

typedef struct lt_row_table {
    int64_t            n, parameters;
    int64_t           *index;     /* [n] of the whole dataset */
    float             *unit;      /* [n, parameters] */
    lt_operator_spec  *spec;      /* [n] */
    int               *field;     /* [n]: which of the configuration's recipes */
    const char       **alias, **policy, **noise; /* [n]: labels, borrowed */
    int32_t           *grid;      /* [n] */
    int                max_grid;
} lt_row_table;

/* Rows first, first + stride, … below total. Errors name the row. */
lt_status lt_row_table_create(const lt_dataset_config *c, int64_t first, int64_t stride, int64_t total, lt_row_table *out);
void      lt_row_table_release(lt_row_table *t);

/* Orders rows so that those of one architecture are neighbours; equal ones compare 0. */
int lt_architecture_compare(const lt_operator_spec *a, const lt_operator_spec *b);
/* Distinct architectures among rows. */
lt_status lt_row_table_signatures(const lt_row_table *t, int64_t *out);

/* ---- From a configuration to a file --------------------------------------------------------- */
typedef struct lt_file_content {       /* what lt_dataset_file_create needs besides the rows */
    const lt_dataset_config *config;
    const char              *config_json; /* NULL: the configuration's own */
    const lt_feature_set    *features;
    const lt_row_table      *rows;
    int64_t                  total, shard_index, shard_count;
    int64_t                  realizations, steps;
    bool                     outputs;
    bool                     all_features; /* false: none, a file of states */
    lt_precision             precision;    /* what runs */
    const char              *device;       /* the kind it runs on; NULL: the CPU */
    const char *const       *row_device;   /* [rows] where they differ in it; NULL: all ran on `device` */
    bool                     row_devices;  /* each row brings its own while the file is written */
    const char              *metrics;      /* JSON; NULL: {} */
    const char              *date;         /* NULL: LT_DATE_NOT_RECORDED, or now */
    bool                     record_times;
    const char *const       *notes;        /* [5] of an extraction: name, description, author, created, purpose, each may be NULL; NULL: none */
} lt_file_content;

/* The plan such a file has. Names of columns are borrowed from the feature set. */
lt_status lt_dataset_file_plan(const lt_file_content *f, lt_arena *arena, lt_store_plan *out);
/* Creates the file with this plan, all rows pending. */
lt_status lt_dataset_file_create(const lt_store_claim *claim, const lt_file_content *f, const lt_store_plan *plan);
/* A new file at `path`, claimed, created and open for all of its rows. It has its name only when lt_store_close_whole finds it whole; until then it is
   FILE.lathe-next (decision 281). An unfinished run of another identity is replaced only with `overwrite`. */
lt_status lt_dataset_file_begin(const char *path, const lt_file_content *f, const lt_store_plan *plan, const char *identity, bool overwrite, lt_store **out);

/* A changed copy of the finished file that `claim` is for, written beside it (FILE.lathe-next) and renamed over it by the lt_store_close that
   finds all rows done (decision 206). A run of the same identity that was killed or stopped is resumed. The claim belongs to the store from here on, and is given
   up when the call fails. */
lt_status lt_dataset_file_rewrite(lt_store_claim *claim, const lt_file_content *f, const lt_store_plan *plan, const char *identity, lt_store **out);
/* What a file is, for identities: its path leads to other bytes when this differs. */
typedef struct lt_file_stamp { char s[96]; } lt_file_stamp;
lt_file_stamp lt_dataset_file_stamp(const char *path);

#endif
