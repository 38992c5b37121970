/* The kernel rows: who can compute an op, for which types and shapes.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_KERNEL_TABLE_H
#define LT_KERNELS_KERNEL_TABLE_H

#include "kernels/fused.h"

#define LT_OP_MAX_INPUTS 32     /* PLACE may have this many; every other op at most 3 */

typedef struct lt_tensor_type { lt_dtype dtype; lt_shape shape; } lt_tensor_type;

/* One problem: an op with its types, shapes and attributes. Tensors are dense, row major.
   arg[0..n_in-1] are the inputs, arg[n_in] the output, then the epilogue's own arguments. */
typedef struct lt_problem_key {
    lt_op          op;
    int            n_in;
    lt_tensor_type in[LT_OP_MAX_INPUTS], out;
    const lt_attr *attr;
    /* MATMUL and CONV2D only, else NULL: elementwise work on the result while it is in cache.
       Its domain is the output's shape; its arg 0 is the raw result, which lies in arg[n_in]
       of the kernel; its arg j > 0 is the kernel's arg[n_in + j]. What arg[n_in] holds afterwards
       is not specified: a row may compute the epilogue without ever writing the raw result. */
    const lt_fused *epilogue;
    lt_isa         isa;
    const char    *variant;       /* CUDA rows that know several ways: the one to take; NULL: theirs */
} lt_problem_key;

typedef struct lt_kernel_row {
    const char *name;             /* op, method: "matmul_openblas" */
    lt_op       op;
    bool      (*applies)(const lt_problem_key *p);
    lt_status (*prepare)(const lt_problem_key *p, lt_kernel **out);
} lt_kernel_row;

/* All CPU rows; for each op the best first and the plain one that fits everything last. */
const lt_kernel_row *lt_kernel_rows(int *n_rows);
/* The rows of one op that apply to p, best first; returns how many were written (<= max). */
int lt_kernel_candidates(const lt_problem_key *p, const lt_kernel_row **out, int max);

/* Whether convolutions stored in bfloat16 are computed in it; else in f32, on the stored values. */
bool lt_kernel_bf16_is_native(void);
/* What LATHE_BF16 says of a way to do so: taken where it pays, always, or never. */
bool lt_kernel_bf16_choice(bool pays);

/* The type a kernel computes in: f64 for f64 and the wide integers (decision 28), f32 for the rest. */
static inline lt_dtype lt_compute_type(lt_dtype t)
{
    return t == LT_F64 || t == LT_I32 || t == LT_I64 ? LT_F64 : LT_F32;
}

#endif
