/* The sizes of a batched matrix product. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_MATMUL_SHAPE_H
#define LT_KERNELS_MATMUL_SHAPE_H

#include "kernels/kernel_table.h"

typedef struct lt_matmul_shape {
    int64_t m, n, k, batch;              /* batch: product of the output's leading extents */
    bool    trans_a, trans_b;
    int     rank;                        /* leading dims of the output */
    int64_t dim[LT_MAX_RANK];            /* their extents */
    int64_t a[LT_MAX_RANK], b[LT_MAX_RANK]; /* steps in matrices; 0 where the operand broadcasts */
} lt_matmul_shape;

lt_matmul_shape lt_matmul_shape_of(const lt_problem_key *p);
/* Which matrix of a and of b the i-th product of the batch takes. */
void lt_matmul_operands(const lt_matmul_shape *s, int64_t i, int64_t *a, int64_t *b);
double lt_matmul_flops(const lt_matmul_shape *s);
/* Rows of the product in one row of the output's dim 0, the unit of epilogues. */
int64_t lt_matmul_unit(const lt_matmul_shape *s);
/* Makes a batch that shares b one tall product (the rows of a follow each other), if it is one. */
void lt_matmul_stack_rows(lt_matmul_shape *s);

#endif
