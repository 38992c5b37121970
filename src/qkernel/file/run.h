/* A matrix that grows in a file: what the files of the run share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_FILE_RUN_H
#define LT_QKERNEL_FILE_RUN_H

#include "cluster/cluster.h"
#include "cluster/work.h"
#include "qkernel/file/file.h"
#include "qkernel/gram_inside.h"

typedef struct lt_file_run {
    lt_gram       *g;
    const lt_rows *x, *y;
    lt_gram_file_options opt;
    lt_cluster    *c;
    lt_layout      layout;
    lt_gram_method method;        /* of all tiles: what lt_gram_fill takes for the whole */
    lt_tile_head   head;
    lt_tile_entry *entry;         /* [tiles] of every rank: what an earlier run left */
    int64_t        tiles, memory;
    double        *roots;         /* [n], what normalising divides by; NULL: nothing, or lt_gram_fill does it */
    lt_region     *part;
    lt_open_file   file;          /* of part */
    lt_gram_file_info info;
    /* of rank 0 */
    char          *path[5];       /* PATH, PATH.tiles, PATH.part, PATH.part.tiles, PATH.part.states */
    lt_open_file   table;         /* PATH.part.tiles, locked; fd -1: not open */
    bool           resumes;       /* it holds tiles */
    bool           is_whole;      /* K is there already */
    /* the caller's, while lt_gram_fill reports to us */
    lt_gram_progress_fn progress;
    void          *progress_ctx;
    atomic_llong   pairs_done;
    int64_t        pairs_total, start_ns;
    atomic_llong   tiles_done;
} lt_file_run;
enum { LT_PATH_DONE, LT_PATH_TABLE, LT_PATH_PART, LT_PATH_PART_TABLE, LT_PATH_STATES };

/* What a rank hands to rank 0: a tile that was made, or kept. */
enum { LT_TILE_MADE, LT_TILE_KEPT };

/* Rows first .. first + n - 1 of x. */
lt_rows   lt_rows_part(const lt_rows *x, int64_t first, int64_t n);
/* Computes, or checks, and writes the tiles this rank is dealt (tiler.c). */
lt_status lt_tiler_run(lt_file_run *r, lt_work *w);
/* Square roots of k(x, x), as lt_gram_fill divides by where there is no Y (roots.c); all ranks. */
lt_status lt_roots_make(lt_file_run *r);
void      lt_roots_divide(const lt_file_run *r, lt_tile t, void *tile);

#endif
