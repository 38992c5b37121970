/* Copies between two affine views of the same extents. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_MOVE_AFFINE_COPY_H
#define LT_KERNELS_CPU_MOVE_AFFINE_COPY_H

#include "base/pool.h"

typedef struct lt_copy_plan {
    int      rank;                    /* after merging; the last dim has the smallest dst step */
    int64_t  extent[LT_MAX_RANK], dst[LT_MAX_RANK], src[LT_MAX_RANK]; /* steps in elements */
    int64_t  dst_offset, src_offset;
    lt_dtype type;
    size_t   bytes;                   /* of one element */
    bool     add;                     /* dst += src instead of dst = src */
    int64_t  n_tasks;                 /* parts of dim 0 */
} lt_copy_plan;

/* dst[dst_offset + i . dst] (=|+=) src[src_offset + i . src] for every index i below extent.
   With more than one task distinct i must go to distinct elements of dst. */
void lt_copy_plan_make(lt_copy_plan *plan, lt_dtype type, const lt_shape *extent, int64_t dst_offset,
                       const int64_t *dst, int64_t src_offset, const int64_t *src, bool add);
lt_status lt_copy_run(const lt_copy_plan *plan, lt_pool *pool, void *dst, const void *src);

#endif
