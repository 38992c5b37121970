/* What a fused program becomes on the CPU: passes over the domain, each a list of calls on blocks.

   cpu/fused/check.c   refuses programs that do not hold together, counts what they move
   cpu/fused/plan.c    divides a program into passes and lays out their scratch memory
   cpu/fused/emit.c    turns the registers of one pass into block buffers, loads and stores into calls
   cpu/fused/steps.c   turns the ops of one pass into chains and calls
   cpu/fused/view.c    gathers and scatters strided blocks
   cpu/fused/reduce.c  folds blocks into sums and extremes
   cpu/fused/run.c     walks the domain, shares it out between threads

   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_FUSED_PLAN_H
#define LT_KERNELS_CPU_FUSED_PLAN_H

#include "base/arena.h"
#include "kernels/cpu/vec/vec.h"

/* Elements of a block: a few of them fit the first-level cache. Programs with very many live
   values use the small size; results do not depend on which. */
#define FUSED_BLOCK 1024
#define FUSED_BLOCK_SMALL 512
#define FUSED_BLOCK_PAGES(element_bytes) (LT_CHAIN_PAGES * 4096 / (int64_t)(element_bytes))
/* Views whose innermost run is at least this long are read where they lie: see `period`. */
#define FUSED_RUN_MIN 256
/* A map that moves this much writes past the caches, and asks for what it reads ahead. */
#define FUSED_STREAMING_BYTES (32 << 20)
/* A long run is reduced in segments of this many elements: divides both block sizes. */
#define FUSED_SEGMENT 512
/* Rows folded one after another before their sum joins the sum of the groups before. */
#define FUSED_ROW_GROUP 64
#define FUSED_TASK_BYTES_MAX (640 * 1024)  /* a task's memory is on its stack */
#define FUSED_STACK_DEPTH 48               /* pairwise sums of up to 2^48 segments */

/* Element i of the pass's domain lies at offset + sum of index*stride; adjacent dims that one
   stride can walk are merged, dims of extent 1 dropped. */
typedef struct fused_view {
    int     rank;
    int64_t offset;                        /* elements */
    int64_t dim[LT_MAX_RANK], stride[LT_MAX_RANK];
} fused_view;

/* Where an operand is: in an argument, in the task's memory, or in the plan (constants). */
#define FUSED_IN_TASK (-1)
#define FUSED_IN_PLAN (-2)
typedef struct fused_slot {
    int32_t arg;                           /* argument number, or one of the above */
    int32_t step_bytes;                    /* bytes per element of the domain; 0 stays put */
    int64_t offset_bytes;
    bool    written;                       /* by a store */
} fused_slot;

/* A slot whose place is looked up in a view for every block. */
typedef struct fused_located { int32_t slot, view, size; } fused_located;

/* A short row that repeats all over the domain, such as a value per channel: spread over a block once per task, for all
   blocks begin at the same element of it. */
typedef struct fused_repeat {
    int32_t   slot, raw, base;             /* the block; the same before conversion; where the row is */
    int32_t   view, size;
    lt_vec_fn convert;                     /* NULL: raw is the block */
} fused_repeat;

typedef enum fused_kind { FUSED_CALL, FUSED_CHAIN, FUSED_GATHER, FUSED_SCATTER, FUSED_REDUCE } fused_kind;

typedef struct fused_instr {
    lt_vec_fn  fn;                         /* FUSED_CALL */
    int32_t    d, a, b, c;                 /* slots */
    fused_kind kind;
    int32_t    index;                      /* view of a gather or scatter; reduction; first step of a chain */
    int32_t    size;                       /* bytes of a gathered or scattered element */
} fused_instr;

typedef struct fused_fold {                /* one reduction of a pass */
    lt_vec_reduce op;
    int64_t state_bytes;                   /* offset of its fused_fold_state in the task's memory */
    int64_t acc_bytes[2];                  /* FUSED_COLUMNS: offsets of two rows of a block */
    int64_t partial_bytes;                 /* offset of the partial results in the scratch memory */
    int32_t   arg;                         /* where the result goes */
    int64_t   arg_bytes;                   /* offset there */
    lt_vec_fn store;                       /* converts to the result's type */
    int32_t   size;                        /* bytes of an element of the result */
} fused_fold;

typedef struct fused_fold_state {
    int64_t n_rows, n_groups;              /* FUSED_COLUMNS */
    int64_t n_segments;                    /* FUSED_ROWS: long runs */
    double  stack[FUSED_STACK_DEPTH];      /* values of the compute type, 8 bytes apart */
} fused_fold_state;

typedef enum fused_mode {
    FUSED_MAP,                             /* no reduction */
    FUSED_ROWS,                            /* [outer, reduced]: runs of contiguous elements */
    FUSED_COLUMNS,                         /* [outer, reduced, inner], inner > 1 */
} fused_mode;

typedef struct fused_pass {
    fused_mode mode;
    lt_dtype   type;
    const lt_vec_set *set;
    int64_t count;                         /* elements of the domain */
    int64_t outer, reduced, inner;
    /* FUSED_COLUMNS: `lanes` neighbouring rows are folded side by side when inner is small. */
    int64_t lanes;
    /* A reduction is cut into n_chunks of chunk elements (rows of lanes*inner elements for
       columns); one chunk writes its result, several write partial ones that are folded last. */
    int64_t chunk, n_chunks, n_tiles;
    int32_t scratch_arg;                   /* where partial results and stages are */
    int64_t n_units;                       /* what tasks share out */
    int64_t block;
    int64_t period;                        /* maps: no block crosses a multiple of it; 0 none */
    int64_t repeat;                        /* the rows of `repeats` divide it, as it divides the distance of blocks; 0 none */
    bool    streaming;                     /* a map too large for the caches */
    size_t  task_bytes;
    double  unit_ns;                       /* rough cost, to decide how many threads pay */
    int n_slots, n_moving, n_located, n_repeats, n_prologue, n_instrs, n_folds;
    fused_slot  *slots;
    int32_t     *moving;                   /* the slots with a step */
    fused_located *located;
    fused_repeat *repeats;
    fused_instr *instrs;                   /* the first n_prologue run once per task, on one element */
    lt_chain_step *chain;
    fused_view  *views;
    fused_fold  *folds;
    char        *constants;
} fused_pass;


typedef struct fused_kernel {
    lt_kernel   base;
    lt_arena    memory;                    /* everything below */
    lt_shape    domain;
    int64_t     count;
    int         n_passes;
    fused_pass *passes;
    int         n_reduces;
    char        name[64];
} fused_kernel;

/* One thread's work on one pass; mem holds what the plan laid out. */
typedef struct fused_task {
    const fused_pass *pass;
    char *const *arg;
    char  *mem;
    char **addr;                           /* of each slot, for the current block */
    int64_t width, n_rows;                 /* FUSED_COLUMNS: shape of the current block */
    int64_t row;                           /* FUSED_ROWS: first row of the current block; -1 in a long run */
} fused_task;

fused_view lt_fused_view_merge(const lt_shape *domain, const lt_affine *view);
static inline bool lt_fused_view_dense(const fused_view *v)
{
    return v->rank == 0 || (v->rank == 1 && v->stride[0] == 1);
}
int64_t lt_fused_view_at(const fused_view *v, int64_t position); /* the element of a position */
/* Copies `n` elements of `size` bytes, those of the domain from position first on. */
void lt_fused_gather(const fused_view *v, int size, void *dst, const void *base, int64_t first, int64_t n);
void lt_fused_scatter(const fused_view *v, int size, void *base, const void *src, int64_t first, int64_t n);

/* What one pass computes of f: its stores, and the reductions of one set of axes. */
typedef struct fused_goal {
    bool stores;
    int  n_reduces;
    const int *reduces;                    /* which of f->reduces */
} fused_goal;
lt_status lt_fused_emit(const lt_fused *f, const lt_vec_set *set, const fused_goal *goal,
                        lt_arena *memory, fused_pass *pass);

void lt_fused_fold_begin(const fused_task *t);                /* before a unit */
void lt_fused_fold_block(const fused_task *t, const fused_fold *fold, const void *x, int64_t n);
void lt_fused_fold_end_run(const fused_task *t, int64_t row, int64_t chunk);
void lt_fused_fold_end_columns(const fused_task *t, int64_t outer, int64_t chunk, int64_t first, int64_t n);
void lt_fused_fold_partials(const fused_pass *p, char *const *arg); /* after all units */


lt_status lt_fused_run(const lt_kernel *k, lt_pool *pool, void *const *arg);

#endif
