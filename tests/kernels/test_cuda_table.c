/* The table of CUDA kernels leaves nothing out: what the CPU computes, a row of the GPU does. Needs no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

#include "kernels/cuda/cuda_table.h"

static bool is_source(lt_op op) { return op == LT_OP_INPUT || op == LT_OP_CONST || op == LT_OP_FULL; }

/* The graph gives these only floating-point types: elsewhere the result has no meaning. */
static bool needs_float(lt_op op)
{
    return (op >= LT_OP_EIG && op <= LT_OP_LOGDET) || op == LT_OP_RFFT2 || op == LT_OP_IRFFT2;
}

/* A small problem of op on elements of type t. */
static lt_problem_key key_of(lt_op op, lt_dtype t, const lt_attr *attr)
{
    lt_tensor_type image = ops_type(t, lt_shape4(1, 2, 4, 4)), matrix = ops_type(t, lt_shape2(4, 4)), index = ops_type(LT_I64, lt_shape1(4));
    lt_problem_key p = { .op = op, .n_in = LT_MAX(lt_op_arity(op), 1), .attr = attr, .isa = lt_isa_best(), .in = { matrix, matrix, matrix }, .out = matrix };
    if (op == LT_OP_TAKE || op == LT_OP_PUT || op == LT_OP_TAKE_ALONG || op == LT_OP_PUT_ALONG) p.in[1] = index;
    if (op == LT_OP_ARGMAX || op == LT_OP_ARGMIN || op == LT_OP_TOPK_INDEX) p.out.dtype = LT_I64;
    if (op >= LT_OP_CONV2D && op <= LT_OP_AVGPOOL_GRAD) p.in[0] = p.in[1] = p.out = image;
    if (op == LT_OP_MAXPOOL_INDEX) p.out.dtype = LT_I64;
    if (op == LT_OP_DET || op == LT_OP_LOGDET) p.out.shape = lt_shape0();
    if (op == LT_OP_EIG) p.out.shape = lt_shape2(2, 4);
    if (op == LT_OP_EIG_GRAD) p.in[1].shape = p.in[2].shape = lt_shape2(2, 4);
    return p;
}

LT_TEST(every_op_and_type_of_the_cpu_has_a_row)
{
    lt_attr attr = { .u.conv = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .size = { 4, 4 }, .groups = 1 } };
    lt_affine dense = { 0, { 4, 1 } };
    lt_attr place = { .u.place = &dense };
    for (int op = 0; op < LT_OP_COUNT; op++)
        for (int t = 0; t < LT_DTYPE_COUNT; t++) {
            if (is_source((lt_op)op) || (needs_float((lt_op)op) && !lt_dtype_is_float((lt_dtype)t))) continue;
            lt_problem_key p = key_of((lt_op)op, (lt_dtype)t, op == LT_OP_PLACE ? &place : &attr);
            if (op >= LT_OP_CONV2D && op <= LT_OP_CONV2D_WGRAD) p.in[1].shape = lt_shape4(2, 2, 1, 1), p.out = p.in[0];
            const lt_kernel_row *cpu[16];
            const lt_cuda_row *cuda[8];
            if (lt_kernel_candidates(&p, cpu, 16) > 0 && lt_cuda_candidates(&p, cuda, 8) == 0)
                LT_TEST_FAIL("%s of %s has a row on the CPU and none on CUDA", lt_op_name((lt_op)op), lt_dtype_name((lt_dtype)t));
        }
}

LT_TEST(matrices_without_rows_have_rows_too)
{
    for (lt_op op = LT_OP_EIG; op <= LT_OP_LOGDET; op++) {
        lt_problem_key p = key_of(op, LT_F64, &ops_no_attr);
        for (int i = 0; i < p.n_in; i++) p.in[i].shape.dim[p.in[i].shape.rank - 1] = p.in[i].shape.dim[0] = 0;
        const lt_cuda_row *row[8];
        if (lt_cuda_candidates(&p, row, 8) == 0) LT_TEST_FAIL("%s of nothing has no row on CUDA", lt_op_name(op));
    }
}

LT_TEST_MAIN()
