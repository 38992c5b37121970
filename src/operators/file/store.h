/* A dataset file being written: rows arrive in any order, a kill loses none that is finished, chunks are compressed on worker threads.
   SPDX-License-Identifier: BSD-3-Clause

   The HDF5 library creates the whole file at the start (store_skeleton.c): every group, attribute and dataset, labels and parameters
   included, with all rows pending. Finished rows go to the journal (journal.h). When all rows of a slab (chunk_rows of them) and of the
   slabs before it are finished, its chunks are assembled from the journal, compressed and appended to the file. A commit makes them part of
   it (store_index.h). A finished file depends on its rows alone, not on what happened during the run (store_order.c, decision 148). One
   thread, owned by the store, writes the file. */
#ifndef LT_OPERATORS_FILE_STORE_H
#define LT_OPERATORS_FILE_STORE_H

#include "base/pool.h"
#include "operators/config/config.h"

enum { LT_DEVICE_KIND = 4 };             /* letters of a kind of device: cpu, cuda, null */

/* ---- What the file holds ------------------------------------------------------------------ */
typedef enum lt_part {
    LT_PART_FIELD, LT_PART_TEMPORAL, LT_PART_PER_TRAJECTORY, LT_PART_AGGREGATED, LT_PART_LEARNED, LT_PART_INITIAL, LT_PART_INITIAL_MANUAL,
    LT_PART_INITIAL_CNN, LT_PART_ARCHITECTURE,
    LT_PART_OUTPUT,  /* last: its rows are written step by step */
    LT_PART_COUNT
} lt_part;

/* One float32 array of the file, [rows, dim…]; rank 0 when the file does not have it. */
typedef struct lt_part_plan {
    const char *path;
    int         rank;                    /* of one row */
    int64_t     dim[LT_MAX_RANK - 1], chunk[LT_MAX_RANK - 1];
    size_t      row_bytes, offset;       /* where a row's record has it; of outputs, the steps before it */
    int         n_names;                 /* column_names; 0 = none */
    const char *const *names;
} lt_part_plan;

typedef struct lt_store_plan {           /* fill in the first block, then lt_store_plan_finish */
    int64_t rows, total, shard_index, shard_count; /* of this file; of the dataset */
    int64_t chunk_rows;                  /* K; clamped to what the file can hold */
    int64_t parameters, realizations, steps, grid; /* P, M, T, Gmax */
    int     temporal_columns, summary_columns, learned_columns, initial_columns, architecture_columns; /* 0 = not stored */
    int     manual_columns, cnn_columns; /* of INITIAL, in arrays of their own */
    bool    outputs;
    bool    row_devices;                 /* /status/device is filled by rows as they come, each with its own; else by labels, or not there */
    lt_compression compression;
    int     level;
    int     first_operator_column, operator_columns; /* SUMMARY columns that are the operator's, also kept as arrays of one value a row; 0 = none */
    int     rows_on_the_way;             /* rows that may be taken and not yet written; 0 = 4 */
    uint64_t commit_bytes;               /* what lies between two commits; 0 = by the sizes of indexes and file */
    int64_t  waiting_slabs;              /* complete ones that wait in the journal for one before them; 0 = 16 GiB, and 32 at least */
    /* derived */
    lt_part_plan part[LT_PART_COUNT];
    int64_t n_steps;                     /* T with outputs, else 0 */
    size_t  step_bytes, rest_bytes;      /* of a row in the journal */
} lt_store_plan;

lt_status lt_store_plan_finish(lt_store_plan *p);
/* LT_ERR_UNSUPPORTED when this build cannot compress so. */
lt_status lt_store_check_compression(lt_compression c);
uint64_t  lt_store_plan_bytes(const lt_store_plan *p); /* of the arrays, not compressed */

/* What is known of every row before it runs. */
typedef struct lt_store_labels {
    const float       *unit;             /* [rows, parameters] */
    const char *const *field, *const *policy, *const *noise; /* [rows] */
    const int32_t     *grid;             /* [rows] */
    const int64_t     *row;              /* [rows]: global index */
    const char *const *device;           /* [rows] where they ran on several kinds of device, known before; else NULL */
} lt_store_labels;

/* Texts of the file's attributes. */
typedef struct lt_store_texts {
    const char *config, *engine_config, *sampling_metrics; /* JSON */
    const char *precision, *device, *date;                 /* date: ISO 8601 */
    const char *registry, *extraction_config;              /* JSON of the summary features */
    int         registered;                                /* features of the whole registry, computed or not */
    const char *learned;                                   /* what the learned ones are; NULL: unknown */
    const char *const *dimension_names;
    const char *const *notes;                              /* [5] of an extraction, kept with /features: name, description, author, created, purpose */
    uint64_t    seed;
} lt_store_texts;

/* The right to write the dataset at `path` (decision 147). One process has it at a time; nothing of a dataset (the file, its journal,
   temporary files) is created, changed or removed without it. LT_ERR_ARGUMENT when another process has it, or when the path leads to
   something that is not a file. */
typedef struct lt_store_claim lt_store_claim;
lt_status   lt_store_claim_take(const char *path, lt_store_claim **out);
void        lt_store_claim_release(lt_store_claim *c); /* NULL is allowed */
/* A signal that ends the process removes the journal if it is empty, and with `file` the file too. */
void        lt_store_claim_list(lt_store_claim *c, bool file);
const char *lt_store_claim_path(const lt_store_claim *c); /* symbolic links resolved */
/* LT_ERR_ARGUMENT when the path holds an unfinished run of another identity, whose rows would be lost. */
lt_status   lt_store_claim_check(const lt_store_claim *c, const void *identity, size_t identity_bytes);

/* Creates the file at its place, all rows pending; replaces one that is there. */
lt_status lt_store_skeleton(const lt_store_claim *c, const lt_store_plan *p, const lt_store_labels *l, const lt_store_texts *t);

/* Whether the path holds a run of this identity, which lt_store_open can resume. */
bool        lt_store_claim_has_run(const lt_store_claim *c, const void *identity, size_t identity_bytes);
/* Drops whatever the journal holds, before another file is created at its place. */
lt_status   lt_store_claim_clear(const lt_store_claim *c);

/* ---- Writing --------------------------------------------------------------------------------- */
typedef struct lt_store lt_store;

/* Opens a file made by lt_store_skeleton with this plan. Rows that an earlier run finished are kept
   when `resume`, else the file is removed when it cannot be opened; lt_store_row_done says which. identity ties the journal to the configuration. The claim
   belongs to the store from here on, and is given up when the call fails. */
lt_status lt_store_open(lt_store_claim *c, const lt_store_plan *p, const void *identity, size_t identity_bytes, bool resume, lt_store **out);
/* From here on the store writes a changed copy of the finished file that `old` claims: a close that finds all rows done renames it over that
   file (decision 206). Until then the old file is as it was. The claim belongs to the store. */
void      lt_store_replace(lt_store *s, lt_store_claim *old);
/* The same for a file that cannot be resumed: what the journal of `old` holds is dropped then. */
void      lt_store_replace_anew(lt_store *s, lt_store_claim *old);
/* Rows of this run are made by steps of this kind, known when the first of them runs. LT_ERR_ARGUMENT when those of the run that is resumed were
   made by another. A store without a file takes any. */
lt_status lt_store_note_step(lt_store *s, const char *kind);
bool      lt_store_row_done(const lt_store *s, int64_t row); /* before this run */

/* A row on its way. Made and filled by one thread, then handed over. */
typedef struct lt_store_row {
    int64_t row;
    uint8_t code;
    int32_t step;
    float   seconds;
    char    device[LT_DEVICE_KIND];      /* with plan.row_devices: the kind that made it, not ended by 0 where it fills the room */
    float  *part[LT_PART_OUTPUT];        /* row_bytes each; NULL for those the file does not have */
    struct lt_store_row *next;
    /* private */
    int64_t  slot;
    uint64_t at, hash;
    bool     begun;
    void    *record;
} lt_store_row;

/* A row to fill, zeroed; waits while too many are on their way. */
lt_status lt_store_row_take(lt_store *s, int64_t row, lt_store_row **out);
/* States [M, 3, G, G] of step t = 0, 1, …; padded to the file's grid. Only with outputs. */
lt_status lt_store_row_step(lt_store *s, lt_store_row *r, const float *states, int grid);
/* Hands the row over, whatever happens. A failure of the writer surfaces here or in the next call. A row with code LT_RUN_LOST can be
   read afterwards but does not count as done: its slab stays in the journal for a run that resumes. */
lt_status lt_store_row_put(lt_store *s, lt_store_row *r);
void      lt_store_row_drop(lt_store *s, lt_store_row *r); /* not put: forgotten */

/* Copies [3, G, G] into the middle of [3, Gmax, Gmax], the extra cell on the high side. */
void lt_store_pad(const float *field, int planes, int grid, int to_grid, float *out);

/* ---- Rows without a file -------------------------------------------------------------------------- */
/* Where rows go when there is no file: padded states of a step, and finished rows with their record of plan.rest_bytes. */
typedef struct lt_store_sink {
    lt_status (*step)(void *ctx, const lt_store_row *row, const float *states);
    lt_status (*put)(void *ctx, const lt_store_row *row);
    void *ctx;
} lt_store_sink;
/* A store for the row functions above; closed by lt_store_close_sink. */
lt_status lt_store_open_sink(const lt_store_plan *p, const lt_store_sink *sink, lt_store **out);
void      lt_store_close_sink(lt_store *s);

typedef struct lt_store_stats {
    uint64_t file_bytes, raw_bytes;      /* of chunks written by this run, before compression */
    double   write_seconds, compress_seconds, wait_seconds; /* of the writer's thread; of callers */
    int64_t  commits;
} lt_store_stats;

/* Waits for the writer, makes everything handed over part of the file and closes. The journal goes
   away when no row is pending. The store is gone, even on failure. */
lt_status lt_store_close(lt_store *s, lt_store_stats *stats);
/* For files that are worth nothing unless whole: lt_store_close that removes file and journal when it fails, and one that always does. */
lt_status lt_store_close_whole(lt_store *s, lt_store_stats *stats);
void      lt_store_discard(lt_store *s);

#endif
