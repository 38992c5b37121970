/* Inside an open store: what its two halves (store.c, store_slab.c) share.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_STORE_INTERNAL_H
#define LT_OPERATORS_FILE_STORE_INTERNAL_H

#include "base/status.h"
#include "operators/file/journal.h"
#include "operators/file/store.h"
#include "operators/file/store_index.h"

enum { LT_STORE_STATUS_ARRAYS = 3, LT_STORE_STATUS_DEVICE = LT_STORE_STATUS_ARRAYS, LT_STORE_OPERATOR_ARRAYS = 24 /* two lists of 8 numbers, and 3 */ };

/* Where the array of an operator's i-th value is. */
void lt_store_operator_path(const lt_store_plan *p, int i, char path[160]);

typedef struct lt_record_head { uint8_t code, unused[3]; int32_t step; float seconds; char device[LT_DEVICE_KIND]; } lt_record_head; /* of a row in the journal */
_Static_assert(sizeof(lt_record_head) == 16, "lt_store_plan_finish counts 16 bytes");

typedef struct lt_store_slab {
    int32_t left;              /* rows neither in the journal nor in the file */
    bool    whole;             /* the file had all its rows when it was opened */
    bool    written, dirty;    /* chunks appended; since the last commit */
} lt_store_slab;

struct lt_store_claim {
    char      *path;
    lt_journal journal;        /* claimed, until a store takes it over */
    int        place[2];       /* of journal and file in the list of lt_files_abandon; 0: not there */
};

struct lt_store {
    char          *path;
    lt_store_claim *replaces;  /* of the file that this one takes the place of when it is whole; NULL: none */
    bool           anew;       /* and cannot be resumed */
    int            place[2];   /* as in lt_store_claim */
    int            fd;
    lt_store_plan  p;
    lt_store_sink  sink;       /* put NULL: there is a file */
    lt_journal     journal;
    lt_chunk_index index[LT_PART_COUNT];
    uint64_t       status_at[LT_STORE_STATUS_ARRAYS + 1]; /* of /status/code, step, seconds in the file, and device with plan.row_devices */
    uint64_t       operator_at[LT_STORE_OPERATOR_ARRAYS]; /* of the arrays of operators' values */
    uint64_t       root[LT_PART_COUNT]; /* of the indexes in force */
    uint64_t       skeleton_bytes; /* what the file had when it was created; 0: not recorded */
    uint64_t       end, committed_end; /* of what was appended; at the last commit */
    bool           scattered;  /* the file differs from what an uninterrupted run writes: see store_order.c */
    lt_pool       *pool;
    /* per row; slot -1: not in the journal */
    uint8_t       *code;
    int32_t       *step;
    float         *seconds;
    char         (*device)[LT_DEVICE_KIND]; /* NULL without plan.row_devices */
    int64_t       *slot;
    bool          *done;       /* before this run; never changes */
    int64_t        n_slabs, next; /* the first slab that is not in the file: slabs are appended in order */
    int64_t        n_ready;    /* slabs that are complete, but not in the file */
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
    int64_t         synced_ns; /* the journal */
    lt_store_stats  stats;
    int64_t         wait_ns;   /* guarded by lock */
};

/* Assembles a slab's chunks from the journal, compresses and appends them. Rows that are not there
   are zeros. */
lt_status lt_store_write_slab(lt_store *s, int64_t slab);
/* Makes everything appended part of the file. */
lt_status lt_store_commit(lt_store *s);

/* ---- Where an earlier run left it (store_resume.c) ------------------------------------------------- */
/* Notes what the journal has of a row. */
void      lt_store_mark_row(lt_store *s, int64_t row, int64_t slot, const lt_record_head *h);
/* Reads file and journal, and continues from the last commit that an uninterrupted run would have made too. */
lt_status lt_store_take_up(lt_store *s, const lt_journal_shape *shape, bool resume);

/* ---- The order of things in the file (store_order.c) --------------------------------------------- */
/* A commit as an uninterrupted run makes it: how many slabs it has, where it ends, where its indexes are. */
typedef struct lt_commit_point {
    int64_t  slabs;
    uint64_t end, root[LT_PART_COUNT];
} lt_commit_point;

/* Whether a commit is due: `bytes` lie between the last one and the end. */
bool           lt_store_commit_due(const lt_store *s, uint64_t committed, uint64_t end);
/* The last such commit that the file holds, found from where its chunks lie. */
lt_commit_point lt_store_last_point(const lt_store *s);
bool           lt_store_is_at(const lt_store *s, const lt_commit_point *p);
/* Restores the file to that commit; rows after it must be in the journal. *done is false when a reader has the file open. */
lt_status      lt_store_go_back(lt_store *s, const lt_commit_point *p, bool *done);
/* Replaces the finished file by one with the same content in order. The store can only be closed then. */
lt_status      lt_store_write_in_order(lt_store *s);
lt_status      lt_store_sync(const lt_store *s); /* what was written is on the disk */

/* ---- What needs the HDF5 library (store_hdf5.c) ------------------------------------------------ */
/* Opens the file, checks its arrays against the plan, finds indexes and status arrays. */
lt_status lt_store_attach(lt_store *s);

#endif
