/* One pass of a fused program over its domain, as a CUDA kernel. SPDX-License-Identifier: BSD-3-Clause

   A program without reductions is one pass. Otherwise there is one per set of reduced axes; the last
   one also stores. cuda/fused/pass.c decides sizes, cuda/fused/render.c writes the text. */
#ifndef LT_KERNELS_CUDA_FUSED_PASS_H
#define LT_KERNELS_CUDA_FUSED_PASS_H

#include "kernels/cuda/cuda_table.h"
#include "kernels/cuda/text.h"
#include "kernels/fused.h"

#define LT_FUSED_THREADS 256

/* The dims a pass walks, axes that lie alike merged: first those kept, then those reduced. */
typedef struct lt_fused_walk {
    int     n_dims, n_kept;
    int64_t dim[LT_MAX_RANK];
    int     source[LT_MAX_RANK][LT_MAX_RANK]; /* domain dims merged into each, outermost first; -1 ends */
    int64_t kept, reduced;                    /* products of extents */
} lt_fused_walk;

typedef struct lt_fused_pass {
    const lt_fused *f;
    bool     raw;                /* moves elements as they are: one load, one store, any type of one size */
    uint32_t axes;               /* reduced here; 0: elementwise */
    bool     reduces, stores;
    lt_fused_walk walk;
    bool     wide;               /* indices need 64 bits */
    int      vector;             /* elements per item along the last dim, 1 = no packs */
    int      unroll;             /* items per thread (elementwise) or per turn (reductions) */
    bool     inner;              /* reductions: threads lie along the reduced elements */
    int      lanes;              /* threads that share one result */
    int64_t  parts;              /* blocks that share one result: each leaves a partial one in scratch */
    int64_t  part_items;         /* of `vector` reduced elements each, per part */
    unsigned grid[3];
} lt_fused_pass;

/* Decides everything but the text. Sizes depend on shapes alone. */
lt_status lt_fused_pass_plan(const lt_fused *f, uint32_t axes, bool stores, lt_fused_pass *out);
/* Another shape for a pass without reductions; a pack wider than the one chosen is cut to it. */
lt_status lt_fused_pass_reshape(lt_fused_pass *p, lt_fused_shape shape);
/* A copy between two views of elements of one size, whatever their type: loads[0] to stores[0]. */
lt_status lt_fused_pass_plan_copy(const lt_fused *f, lt_fused_pass *out);
/* Steps of an affine view over the walk's dims. */
void lt_fused_walk_strides(const lt_fused_walk *w, const lt_affine *v, int64_t stride[LT_MAX_RANK]);
/* How a view is read or written: as a pack, one element for all, or each element by itself. */
typedef enum lt_fused_access { LT_ACCESS_PACK, LT_ACCESS_SAME, LT_ACCESS_EACH } lt_fused_access;
lt_fused_access lt_fused_pass_access(const lt_fused_pass *p, const lt_affine *v);

/* Appends the kernel "fused". Its parameters are the program's arguments and, with parts, the scratch
   pointer: for each reduction in order [parts, kept] values of the program's type. */
void lt_fused_render(const lt_fused_pass *p, lt_text *out);
/* op_NAME<type>(…) of the ops that are used, once each, for texts that begin with the prelude. */
void lt_fused_add_ops(const bool used[LT_N_ELEMENTWISE], lt_text *out);

#endif
