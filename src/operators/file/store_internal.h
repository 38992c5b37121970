/* Inside an open store: what its two halves (store.c, store_slab.c) share.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_STORE_INTERNAL_H
#define LT_OPERATORS_FILE_STORE_INTERNAL_H

#include "base/status.h"
#include "operators/file/journal.h"
#include "operators/file/store.h"
#include "operators/file/store_index.h"

enum { LT_STORE_STATUS_ARRAYS = 3, LT_STORE_OPERATOR_ARRAYS = 24 /* two lists of 8 numbers, and 3 */ };

/* Where the array of an operator's i-th value is. */
void lt_store_operator_path(const lt_store_plan *p, int i, char path[160]);

typedef struct lt_store_slab {
    int32_t left;              /* rows neither in the journal nor in the file */
    bool    written, dirty;    /* chunks appended; since the last commit */
} lt_store_slab;

struct lt_store_claim {
    char      *path;
    lt_journal journal;        /* claimed, until a store takes it over */
};

struct lt_store {
    char          *path;
    int            fd;
    lt_store_plan  p;
    lt_store_sink  sink;       /* put NULL: there is a file */
    lt_journal     journal;
    lt_chunk_index index[LT_PART_COUNT];
    uint64_t       status_at[LT_STORE_STATUS_ARRAYS]; /* of /status/code, step, seconds in the file */
    uint64_t       operator_at[LT_STORE_OPERATOR_ARRAYS]; /* of the arrays of operators' values */
    uint64_t       end;        /* of what was appended */
    lt_pool       *pool;
    /* per row; slot -1: not in the journal */
    uint8_t       *code;
    int32_t       *step;
    float         *seconds;
    int64_t       *slot;
    bool          *done;       /* before this run; never changes */
    int64_t        n_slabs;
    lt_store_slab *slab;
    /* the writer and its queue */
    pthread_t       writer;
    pthread_mutex_t lock;
    pthread_cond_t  work, room;
    lt_store_row   *first, **last, *idle;
    bool            closing;
    lt_status       status;    /* the writer's first failure, with its text */
    char            text[LT_ERROR_TEXT_BYTES];
    int64_t         n_done;
    /* of the writer alone */
    int64_t         committed_ns;
    uint64_t        since_commit_bytes;
    lt_store_stats  stats;
    int64_t         wait_ns;   /* guarded by lock */
};

/* Assembles a slab's chunks from the journal, compresses and appends them. Rows that are not there
   are zeros. */
lt_status lt_store_write_slab(lt_store *s, int64_t slab);
/* Makes everything appended part of the file. */
lt_status lt_store_commit(lt_store *s);

/* ---- What needs the HDF5 library (store_hdf5.c) ------------------------------------------------ */
/* Opens the file, checks its arrays against the plan, finds indexes and status arrays. */
lt_status lt_store_attach(lt_store *s);

#endif
