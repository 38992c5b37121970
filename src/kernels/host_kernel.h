/* What every host kernel starts from: the prepared object with its own copy of the problem.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_HOST_KERNEL_H
#define LT_KERNELS_HOST_KERNEL_H

#include "kernels/kernel_table.h"

typedef lt_status (*lt_host_run)(const lt_kernel *k, lt_pool *pool, void *const *arg);

/* First member of every kernel's own struct, so an lt_kernel * can be turned back into it. */
typedef struct lt_host_kernel {
    lt_kernel      kernel;
    lt_problem_key key;       /* a copy; its attr points at `attr`, its epilogue is not kept */
    lt_attr        attr;
    lt_affine     *place;     /* PLACE: the copy attr.u.place points at */
    lt_kernel     *epilogue;  /* prepared from the key's, or NULL; its args are arg + n_in */
    void         (*release)(struct lt_host_kernel *h); /* what the row made besides; may be NULL */
} lt_host_kernel;

/* Zeroed memory for a struct of `bytes` that begins with lt_host_kernel, filled from p; NULL
   (error text set) when memory is out. The cost in bytes is set to one read of each input and
   one write of the output; flops are the row's. */
void *lt_host_kernel_create(const lt_problem_key *p, size_t bytes, const char *name, lt_host_run run);
/* Prepares p's epilogue, if any, for lt_host_epilogue and lt_host_epilogue_rows. */
lt_status lt_host_epilogue_prepare(lt_host_kernel *h, const lt_problem_key *p);
/* Ends a prepare: hands h over, or destroys it when s is a failure. */
lt_status lt_host_kernel_finish(lt_host_kernel *h, lt_status s, lt_kernel **out);

/* Runs the epilogue over the whole output; nothing when there is none. */
lt_status lt_host_epilogue(const lt_host_kernel *h, lt_pool *pool, void *const *arg);
/* The same for rows [first, first+count) of the output's dim 0, on the calling thread. */
lt_status lt_host_epilogue_rows(const lt_host_kernel *h, void *const *arg, int64_t first, int64_t count);
/* The same for elements [first, end) of the output, counted in order. */
lt_status lt_host_epilogue_range(const lt_host_kernel *h, void *const *arg, int64_t first, int64_t end);

/* Lanes: tasks that each own a piece of scratch and draw work items from a shared counter. What
   an item computes may depend on its number only. A row sizes its scratch for lt_host_lanes(). */
typedef lt_status (*lt_lane_item)(void *ctx, int64_t item, int lane);
int       lt_host_lanes(int64_t n_items); /* 1..number of threads of the shared pool */
lt_status lt_host_run_lanes(lt_pool *pool, int n_lanes, int64_t n_items, lt_lane_item item, void *ctx);

/* Sizes, with 64-byte steps so that every part of a scratch block stays aligned. */
static inline size_t lt_align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }
/* Floats in an odd number of cache lines: what is walked at such a distance lies in different sets of a cache. */
static inline int64_t lt_odd_lines(int64_t floats) { return ((floats + 15) / 16 | 1) * 16; }
static inline void *lt_offset(const void *p, size_t bytes) { return (void *)((uintptr_t)p + bytes); }
int64_t lt_tensor_count(const lt_tensor_type *t);
size_t  lt_tensor_bytes(const lt_tensor_type *t);
/* Product of the first n extents; n may be negative or 0, which gives 1. */
int64_t lt_leading_count(const lt_shape *s, int n);

/* True when every tensor of p has a real element type. */
bool lt_key_is_real(const lt_problem_key *p);
/* True when every tensor of p has element type t. */
bool lt_key_is_all(const lt_problem_key *p, lt_dtype t);
/* True when every tensor of p has one and the same floating type. */
bool lt_key_is_float(const lt_problem_key *p);

#endif
