/* Reductions, arg, top-k, cumulative sums, gathers and scatters: every row against the plain one,
   which faces small direct answers. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

static const lt_dtype types[] = { LT_F64, LT_F32, LT_F16, LT_BF16 };
static const lt_dtype all_types[] = { LT_F64, LT_F32, LT_F16, LT_BF16, LT_C64, LT_C128, LT_I32, LT_I64, LT_U8 };

LT_TEST(reductions)
{
    static const int64_t dims[][3] = { { 4, 5, 6 }, { 1, 1, 1 }, { 3, 1, 1000 }, { 33, 70, 2 }, { 0, 3, 2 } };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(dims); i++)
            for (uint32_t axes = 1; axes < 8; axes++) {
                lt_attr attr = { .u.reduce.axes = axes };
                lt_shape in = lt_shape_of(3, dims[i]), out = { 0 };
                int64_t depth = 1;
                for (int d = 0; d < 3; d++)
                    if (axes >> d & 1) depth *= in.dim[d];
                    else out.dim[out.rank++] = in.dim[d];
                lt_problem_key p = { .op = LT_OP_SUM, .n_in = 1, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(types[t], in) }, .out = ops_type(types[t], out) };
                ops_walk_random(&p, LT_MAX(depth, 1));
                if (lt_shape_count(&in) == 0) continue;
                for (lt_op op = LT_OP_RMAX; op <= LT_OP_RMIN; op++) {
                    p.op = op;
                    ops_walk_random(&p, 0);
                }
            }
}

LT_TEST(reductions_by_hand)
{
    double x[6] = { 1, -2, 3, 4, NAN, 0.5 };
    lt_attr attr = { .u.reduce.axes = 2 };
    lt_problem_key p = { .op = LT_OP_SUM, .n_in = 1, .attr = &attr, .in = { ops_type(LT_F64, lt_shape2(2, 3)) }, .out = ops_type(LT_F64, lt_shape1(2)) };
    double *sum = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    p.op = LT_OP_RMAX;
    double *max = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    p.op = LT_OP_RMIN;
    double *min = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    LT_CHECK(sum[0] == 2 && isnan(sum[1]) && max[0] == 3 && isnan(max[1]) && min[0] == -2 && isnan(min[1]));
    free(sum), free(max), free(min);
}

static lt_shape without(lt_shape s, int axis)
{
    lt_shape r = { 0 };
    for (int d = 0; d < s.rank; d++)
        if (d != axis) r.dim[r.rank++] = s.dim[d];
    return r;
}

LT_TEST(arg_and_cumsum_along_every_axis)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (int axis = 0; axis < 3; axis++)
            for (int ties = 0; ties < 3; ties++) {
                lt_shape s = lt_shape3(4, 17, 6);
                lt_attr attr = { .u.index = { .axis = axis, .reverse = ties == 1 } };
                lt_problem_key p = { .op = LT_OP_ARGMAX, .n_in = 1, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(types[t], s) }, .out = ops_type(LT_I64, without(s, axis)) };
                void *x = ops_random_tensor(&p.in[0]);
                for (int64_t i = 0; ties && i < lt_tensor_count(&p.in[0]); i++)
                    lt_store_double(types[t], x, i, ties == 2 && i % 11 == 5 ? NAN : (double)(i * 7 % 5));
                ops_walk(&p, &x, 0, 0);
                p.op = LT_OP_ARGMIN;
                ops_walk(&p, &x, 0, 0);
                p.op = LT_OP_CUMSUM, p.out = p.in[0];
                if (ties < 2) ops_walk(&p, &x, 1, s.dim[axis]);
                free(x);
            }
}

LT_TEST(arg_and_topk_by_hand)
{
    double x[10] = { 1, 5, NAN, NAN, 5, 2, 7, -1, 7, 7 };
    lt_attr attr = { .u.index = { .axis = 1, .k = 3 } };
    lt_problem_key p = { .op = LT_OP_ARGMAX, .n_in = 1, .attr = &attr, .in = { ops_type(LT_F64, lt_shape2(2, 5)) }, .out = ops_type(LT_I64, lt_shape1(2)) };
    double *max = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    p.op = LT_OP_ARGMIN;
    double *min = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    LT_CHECK(max[0] == 2 && max[1] == 1 && min[0] == 2 && min[1] == 2);
    p.op = LT_OP_TOPK_INDEX, p.out.shape = lt_shape2(2, 3);
    double *top = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    static const double want[6] = { 2, 3, 1, 1, 3, 4 };
    for (int i = 0; i < 6; i++) LT_CHECK(top[i] == want[i]);
    free(max), free(min), free(top);
}

LT_TEST(topk)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (int64_t k = 0; k <= 9; k += 3) {
            lt_attr attr = { .u.index.k = k };
            lt_problem_key p = { .op = LT_OP_TOPK_INDEX, .n_in = 1, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(types[t], lt_shape2(5, 9)) }, .out = ops_type(LT_I64, lt_shape2(5, k)) };
            ops_walk_random(&p, 0);
        }
}

LT_TEST(topk_of_many_with_ties)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (int64_t k = 15; k <= 75; k += 20) {
            lt_attr attr = { .u.index.k = k };
            lt_problem_key p = { .op = LT_OP_TOPK_INDEX, .n_in = 1, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(types[t], lt_shape2(7, 75)) }, .out = ops_type(LT_I64, lt_shape2(7, k)) };
            void *x = ops_random_tensor(&p.in[0]);
            for (int64_t i = 0; i < lt_tensor_count(&p.in[0]); i++)
                if (i % 3) lt_store_double(types[t], x, i, i % 11 == 5 ? NAN : (double)(i * 7 % 5));
            ops_walk(&p, &x, 0, 0);
            free(x);
        }
}

/* ---- TAKE and PUT -------------------------------------------------------------------------------- */
static int64_t *random_index(int64_t n, int64_t extent)
{
    int64_t *index = calloc((size_t)n + 1, sizeof *index);
    for (int64_t i = 0; i < n; i++) index[i] = (int64_t)floor((ops_random() + 1) / 2 * (double)extent);
    return index;
}

LT_TEST(take_and_put)
{
    for (size_t t = 0; t < LT_LEN(all_types); t++)
        for (int axis = 0; axis < 3; axis++) {
            lt_shape s = lt_shape3(4, 5, 6), picked = s;
            int64_t extent = s.dim[axis], *index = random_index(7, extent);
            index[3] = -1; /* from the end */
            picked.dim[axis] = 7;
            lt_attr attr = { .u.index = { .axis = axis, .extent = extent } };
            lt_problem_key p = { .op = LT_OP_TAKE, .n_in = 2, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(all_types[t], s), ops_type(LT_I64, lt_shape1(7)) }, .out = ops_type(all_types[t], picked) };
            void *in[2] = { ops_random_tensor(&p.in[0]), index };
            ops_walk(&p, in, 0, 0);
            free(in[0]);
            if (!lt_dtype_is_complex(all_types[t])) {
                lt_problem_key q = p;
                q.op = LT_OP_PUT, q.in[0] = p.out, q.out = p.in[0];
                in[0] = ops_random_tensor(&q.in[0]);
                ops_walk(&q, in, 1, 8);
                free(in[0]);
            }
            free(index);
        }
}

LT_TEST(take_along_and_put_along)
{
    static const lt_shape index_shape[] = { { 3, { 2, 3, 4 } }, { 2, { 3, 4 } }, { 1, { 4 } }, { 3, { 2, 1, 4 } } };
    for (size_t t = 0; t < LT_LEN(all_types); t++)
        for (size_t i = 0; i < LT_LEN(index_shape); i++) {
            int64_t *index = random_index(lt_shape_count(&index_shape[i]), 9);
            lt_attr attr = { .u.index.extent = 9 };
            lt_problem_key p = { .op = LT_OP_TAKE_ALONG, .n_in = 2, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(all_types[t], lt_shape3(2, 3, 9)), ops_type(LT_I64, index_shape[i]) }, .out = ops_type(all_types[t], lt_shape3(2, 3, 4)) };
            void *in[2] = { ops_random_tensor(&p.in[0]), index };
            ops_walk(&p, in, 0, 0);
            free(in[0]);
            if (!lt_dtype_is_complex(all_types[t])) {
                lt_problem_key q = p;
                q.op = LT_OP_PUT_ALONG, q.in[0] = p.out, q.out = p.in[0];
                in[0] = ops_random_tensor(&q.in[0]);
                ops_walk(&q, in, 1, 8);
                free(in[0]);
            }
            free(index);
        }
}

LT_TEST(gathers_by_hand_and_as_transposes)
{
    double x[6] = { 1, 2, 3, 4, 5, 6 }, g[4] = { 1, 10, 100, 1000 };
    int64_t index[2] = { 2, 2 };
    lt_attr attr = { .u.index = { .axis = 1, .extent = 3 } };
    lt_problem_key p = { .op = LT_OP_TAKE, .n_in = 2, .attr = &attr, .in = { ops_type(LT_F64, lt_shape2(2, 3)), ops_type(LT_I64, lt_shape1(2)) }, .out = ops_type(LT_F64, lt_shape2(2, 2)) };
    double *taken = ops_result(ops_plain_row(&p), &p, (void *[]){ x, index });
    LT_CHECK(taken[0] == 3 && taken[1] == 3 && taken[2] == 6 && taken[3] == 6);
    lt_problem_key q = p;
    q.op = LT_OP_PUT, q.in[0] = p.out, q.out = p.in[0];
    double *put = ops_result(ops_plain_row(&q), &q, (void *[]){ g, index });
    LT_CHECK(put[0] == 0 && put[2] == 11 && put[5] == 1100);
    free(taken), free(put);
}

LT_TEST(an_index_out_of_range_is_named)
{
    static const lt_op ops[] = { LT_OP_TAKE, LT_OP_PUT, LT_OP_TAKE_ALONG, LT_OP_PUT_ALONG };
    static const int64_t bad[] = { 3, -4, INT64_MAX, INT64_MIN };
    for (size_t o = 0; o < LT_LEN(ops); o++)
        for (size_t b = 0; b < LT_LEN(bad); b++) {
            bool take = ops[o] == LT_OP_TAKE || ops[o] == LT_OP_TAKE_ALONG;
            lt_attr attr = { .u.index = { .axis = 0, .extent = 3 } };
            lt_problem_key p = { .op = ops[o], .n_in = 2, .attr = &attr, .isa = lt_isa_best(), .in = { ops_type(LT_F64, lt_shape1(take ? 3 : 2)), ops_type(LT_I64, lt_shape1(2)) }, .out = ops_type(LT_F64, lt_shape1(take ? 2 : 3)) };
            double x[3] = { 1, 2, 3 }, y[3];
            int64_t index[2] = { 0, bad[b] };
            const lt_kernel_row *row[4];
            int n = lt_kernel_candidates(&p, row, 4);
            LT_CHECK(n > 0);
            for (int r = 0; r < n; r++) LT_CHECK_FAILS(ops_run(row[r], &p, (void *[]){ x, index, y }, 1), LT_ERR_ARGUMENT, "extent is 3");
        }
}

LT_TEST_MAIN()
