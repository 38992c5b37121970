/* What a Gram matrix of given sizes will do: method, tiles, memory, and why.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_PLAN_H
#define LT_QKERNEL_PLAN_H

#include "qkernel/rows/batch.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/loops/loops.h"
#include "qkernel/rows/states.h"

/* On a GPU transfer matrices take over from states at this many qubits where no timing is stored: measured on an H200 in
   float64; its float32 states are faster by a qubit (docs/performance.md). On the CPU costs decide (cost.h). */
enum { LT_TRANSFER_FROM_ON_GPU = 12 };

/* What timings say, where some are stored: for few rows and for many. */
enum { LT_FEW_ROWS = 88 };
typedef struct lt_stored_choices { lt_gram_method few, many; } lt_stored_choices; /* LT_GRAM_AUTO: nothing */

typedef struct lt_gram_plan {
    lt_gram_method method;
    const lt_gram_isa     *isa;
    const lt_gram_loops   *loops;  /* states only */
    const lt_closed_loops *closed; /* closed forms only */
    lt_state_maker maker;          /* states only */
    int     planes, components;    /* of a panel: states; closed forms */
    int64_t panel;                 /* rows of a panel */
    size_t  element, panel_bytes;
    int64_t n, m;                  /* rows of X; columns of K */
    bool    cross;                 /* Y was given */
    bool    half;                  /* the upper half is computed and mirrored */
    int64_t tile_rows, tile_columns;
    int64_t band_tiles;            /* rows of tiles computed together: several where K lives in a file, or is soon computed */
    bool    by_bands;              /* half is computed, but K does not stay in memory: each band of its rows is written whole before the next */
    int64_t band_rows;
    int64_t task_tiles;            /* tiles, one below the other, that a thread takes at once */
    bool    bulk;                  /* everything is packed once */
    int64_t slice, n_slices;       /* amplitudes packed at once: all 2^q, or whole chunks of them one after the other */
    size_t  tables_bytes, sums_bytes; /* with several slices: from which all are made; overlaps so far, of all tiles */
    int64_t block_rows, block_columns; /* held at once otherwise */
    lt_batch_bounds batch;         /* with dynamic_batch: what block_rows may become */
    int     n_slots;               /* groups of rows prepared at the same time */
    size_t  a_bytes, b_bytes;      /* packed rows of X; of Y, or of the second block */
    size_t  work_bytes, scratch_bytes; /* all slots; one worker */
    const struct lt_compiled *program; /* a circuit of any gates: its factors lie one after the other in a panel; NULL = layers */
    bool    real_part;             /* K is the real part of overlaps, not their square */
    char    text[1024];
} lt_gram_plan;

/* For tests: when K is too large to stay in memory, and how many of its rows are then written together. 0 = as chosen. */
typedef struct lt_large_matrix { int64_t from_bytes, band_rows; } lt_large_matrix;

typedef struct lt_plan_request {
    const lt_gram_options *opt;
    const lt_layers      *circuit;
    const lt_gram_isa     *isa;
    int     threads;
    int64_t n, m;                  /* m = n without Y */
    bool    cross;
    int64_t free_bytes, total_bytes; /* of the device; free counts what the handle already holds */
    int     transfer_from;         /* qubits, on devices that decide by them; 0 = by costs */
    const char *transfer_reason;   /* "built in", "stored timings" */
    lt_stored_choices stored;
    bool    learned;               /* opt's tiles come from earlier runs */
    lt_large_matrix large;
    bool    real_part;             /* as in the plan */
} lt_plan_request;

/* Which method, and the reason in words. LT_ERR_ARGUMENT when the one asked for is not exact here. */
lt_status lt_plan_method(const lt_plan_request *r, lt_gram_method *method, char *reason, size_t reason_bytes);
/* Tiles of row `tile_row` that lie below the diagonal; tiles of all rows before it that do not. */
int64_t   lt_plan_tiles_skipped(const lt_gram_plan *p, int64_t tile_row);
int64_t   lt_plan_tiles_before(const lt_gram_plan *p, int64_t tile_row);
lt_status lt_gram_plan_make(const lt_plan_request *r, lt_gram_plan *out);

#endif
