/* MATMUL: every row and type against the plain one, which faces a direct product.
   SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

static const lt_dtype types[] = { LT_F64, LT_F32, LT_F16, LT_BF16 };

static void walk(lt_dtype t, lt_shape a, lt_shape b, lt_shape out, bool ta, bool tb, int64_t k)
{
    lt_attr attr = { .u.trans = { ta, tb } };
    lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &attr, .isa = lt_isa_best(),
                         .in = { ops_type(t, a), ops_type(t, b) }, .out = ops_type(t, out) };
    ops_walk_random(&p, k);
}

LT_TEST(matmul_stays_within_the_rounding_bound)
{
    static const int64_t size[][3] = { { 1, 1, 1 }, { 7, 5, 3 }, { 30, 30, 30 }, { 64, 64, 64 }, { 129, 65, 33 }, { 1, 40, 50 },
                                       { 40, 1, 50 }, { 1, 1, 100 }, { 3, 4, 0 }, { 0, 4, 3 }, { 4, 0, 3 }, { 2, 3, 20000 },
                                       { 1, 1, 70001 }, { 257, 300, 130 }, { 8, 8, 8 }, { 9, 8, 8 } };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(size); i++)
            for (int trans = 0; trans < 4; trans++) {
                int64_t m = size[i][0], n = size[i][1], k = size[i][2];
                bool ta = trans & 1, tb = trans >> 1;
                walk(types[t], ta ? lt_shape2(k, m) : lt_shape2(m, k), tb ? lt_shape2(n, k) : lt_shape2(k, n), lt_shape2(m, n), ta, tb, k);
            }
}

/* Beyond one block of k, one pass of columns and one pass of depth, with edges of every kind. */
LT_TEST(matmul_crosses_the_blocks_of_the_packed_row)
{
    static const int64_t size[][3] = { { 15, 33, 257 }, { 29, 17, 513 }, { 3, 2100, 300 }, { 2, 2048, 2100 }, { 500, 70, 260 } };
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < LT_LEN(size); i++)
            for (int trans = 0; trans < 4; trans++) {
                int64_t m = size[i][0], n = size[i][1], k = size[i][2];
                bool ta = trans & 1, tb = trans >> 1;
                walk(types[t], ta ? lt_shape2(k, m) : lt_shape2(m, k), tb ? lt_shape2(n, k) : lt_shape2(k, n), lt_shape2(m, n), ta, tb, k);
            }
    walk(LT_F64, lt_shape3(3, 5, 700), lt_shape3(3, 700, 500), lt_shape3(3, 5, 500), false, false, 700);
}

#ifndef OPS_CUDA /* about one row of the CPU */
static const lt_kernel_row *packed_row(const lt_problem_key *p)
{
    const lt_kernel_row *row[8];
    int n = lt_kernel_candidates(p, row, 8);
    for (int i = 0; i < n; i++)
        if (!strncmp(row[i]->name, "matmul_packed", 13)) return row[i];
    LT_TEST_FAIL("no packed row for %s", lt_shape_str(&p->out.shape).s);
    return NULL;
}

/* Every instruction set and every height of a tile; columns with and without a second vector. */
LT_TEST(matmul_packed_row_on_every_instruction_set)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++) {
        if (!lt_isa_usable((lt_isa)isa)) continue;
        for (int64_t m = 1; m <= 30; m++)
            for (int64_t n = 1; n <= 40; n += 3) {
                lt_attr attr = { .u.trans = { m & 1, n & 1 } };
                int64_t k = m + n;
                lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &attr, .isa = (lt_isa)isa };
                for (int t = 0; t < 2; t++) {
                    p.in[0] = ops_type(types[t], m & 1 ? lt_shape2(k, m) : lt_shape2(m, k));
                    p.in[1] = ops_type(types[t], n & 1 ? lt_shape2(n, k) : lt_shape2(k, n));
                    p.out = ops_type(types[t], lt_shape2(m, n));
                    ops_walk_random(&p, k);
                }
            }
    }
}

/* The cut of rows and columns follows the number of threads; the bits must not. */
LT_TEST(matmul_packed_row_has_the_same_bits_on_any_number_of_threads)
{
    static const int64_t size[][3] = { { 301, 203, 300 }, { 20, 1500, 300 }, { 700, 40, 530 } };
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < LT_LEN(size); i++) {
            int64_t m = size[i][0], n = size[i][1], k = size[i][2];
            lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &ops_no_attr, .isa = lt_isa_best(), .out = ops_type(types[t], lt_shape2(m, n)),
                                 .in = { ops_type(types[t], lt_shape2(m, k)), ops_type(types[t], lt_shape2(k, n)) } };
            void *a = ops_random_tensor(&p.in[0]), *b = ops_random_tensor(&p.in[1]), *one = ops_alloc(&p.out), *many = ops_alloc(&p.out);
            LT_CHECK_OK(lt_pool_shared_resize(1));
            LT_CHECK_OK(ops_run(packed_row(&p), &p, (void *[]){ a, b, one }, 1));
            for (int threads = 2; threads <= 7; threads += 5) {
                LT_CHECK_OK(lt_pool_shared_resize(threads));
                LT_CHECK_OK(ops_run(packed_row(&p), &p, (void *[]){ a, b, many }, threads));
                LT_CHECK(!memcmp(one, many, lt_tensor_bytes(&p.out)));
            }
            free(a), free(b), free(one), free(many);
        }
    LT_CHECK_OK(lt_pool_shared_resize(0));
}
#endif

LT_TEST(matmul_broadcasts_leading_dims)
{
    for (size_t t = 0; t < LT_LEN(types); t++) {
        walk(types[t], lt_shape3(5, 6, 7), lt_shape3(5, 7, 4), lt_shape3(5, 6, 4), false, false, 7);
        walk(types[t], lt_shape3(5, 6, 7), lt_shape2(7, 4), lt_shape3(5, 6, 4), false, false, 7);
        walk(types[t], lt_shape2(6, 7), lt_shape3(5, 7, 4), lt_shape3(5, 6, 4), false, false, 7);
        walk(types[t], lt_shape4(2, 1, 6, 7), lt_shape3(3, 7, 4), lt_shape4(2, 3, 6, 4), false, false, 7);
        walk(types[t], lt_shape4(2, 3, 7, 6), lt_shape4(1, 3, 4, 7), lt_shape4(2, 3, 6, 4), true, true, 7);
        walk(types[t], lt_shape3(0, 6, 7), lt_shape3(0, 7, 4), lt_shape3(0, 6, 4), false, false, 7);
        walk(types[t], lt_shape3(300, 3, 4), lt_shape3(300, 4, 5), lt_shape3(300, 3, 5), false, false, 4);
        walk(types[t], lt_shape3(3, 130, 140), lt_shape3(3, 140, 150), lt_shape3(3, 130, 150), false, false, 140);
        walk(types[t], lt_shape3(40, 30, 64), lt_shape3(1, 64, 96), lt_shape3(40, 30, 96), false, false, 64);
    }
}

LT_TEST(matmul_plain_row_against_a_direct_product)
{
    double a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 1, -1, 2, 0, 3, 5 }, want[4] = { 1 + 4 + 9, -1 + 15, 4 + 10 + 18, -4 + 30 };
    lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &ops_no_attr, .out = ops_type(LT_F64, lt_shape2(2, 2)),
                         .in = { ops_type(LT_F64, lt_shape2(2, 3)), ops_type(LT_F64, lt_shape2(3, 2)) } };
    double *got = ops_result(ops_plain_row(&p), &p, (void *[]){ a, b });
    for (int i = 0; i < 4; i++) LT_CHECK(got[i] == want[i]);
    free(got);
}

/* relu(a b + bias) by a fused epilogue equals the same done afterwards. */
static void check_epilogue(lt_shape sa, lt_shape sb, lt_shape so)
{
    int64_t dense[LT_MAX_RANK] = { 0 }, at = 1, n = so.dim[so.rank - 1];
    for (int d = so.rank - 1; d >= 0; d--) dense[d] = at, at *= so.dim[d];
    lt_affine whole = { 0 }, column = { 0 };
    memcpy(whole.stride, dense, sizeof dense);
    column.stride[so.rank - 1] = 1;
    lt_fused_load loads[2] = { { 0, 0, LT_F64, whole }, { 1, 1, LT_F64, column } };
    lt_fused_step steps[2] = { { LT_OP_ADD, 2, { 0, 1 } }, { LT_OP_RELU, 3, { 2 } } };
    lt_fused_store stores[1] = { { 3, 2, LT_F64, whole } };
    lt_fused f = { .type = LT_F64, .domain = so, .n_regs = 4, .n_args = 3, .n_loads = 2, .n_steps = 2, .n_stores = 1,
                   .loads = loads, .steps = steps, .stores = stores };
    lt_problem_key p = { .op = LT_OP_MATMUL, .n_in = 2, .attr = &ops_no_attr, .isa = lt_isa_best(), .epilogue = &f,
                         .in = { ops_type(LT_F64, sa), ops_type(LT_F64, sb) }, .out = ops_type(LT_F64, so) };
    lt_tensor_type bias_type = ops_type(LT_F64, lt_shape1(n));
    double *a = ops_random_tensor(&p.in[0]), *b = ops_random_tensor(&p.in[1]), *bias = ops_random_tensor(&bias_type);
    double *raw = ops_alloc(&p.out), *got = ops_alloc(&p.out);
    const lt_kernel_row *row[8];
    int n_rows = lt_kernel_candidates(&p, row, 8);
    LT_CHECK(n_rows > 0);
    for (int r = 0; r < n_rows; r++)
        for (int threads = 1; threads <= 2; threads++) {
            memset(got, 0xff, lt_tensor_bytes(&p.out));
            LT_CHECK_OK(ops_run(row[r], &p, (void *[]){ a, b, raw, bias, got }, threads));
            for (int64_t i = 0; i < lt_tensor_count(&p.out); i++) {
                double want = raw[i] + bias[i % n] > 0 ? raw[i] + bias[i % n] : 0;
                if (got[i] == want) continue;
                LT_TEST_FAIL("%s %s: element %lld is %g, expected %g", row[r]->name, lt_shape_str(&so).s, (long long)i, got[i], want);
                break;
            }
        }
    free(a), free(b), free(bias), free(raw), free(got);
}

LT_TEST(matmul_epilogue)
{
    check_epilogue(lt_shape2(5, 6), lt_shape2(6, 7), lt_shape2(5, 7));
    check_epilogue(lt_shape2(500, 100), lt_shape2(100, 120), lt_shape2(500, 120));
    check_epilogue(lt_shape2(100, 64), lt_shape2(64, 1500), lt_shape2(100, 1500));
    check_epilogue(lt_shape3(40, 30, 64), lt_shape2(64, 96), lt_shape3(40, 30, 96));
    check_epilogue(lt_shape3(400, 3, 4), lt_shape3(400, 4, 5), lt_shape3(400, 3, 5));
    check_epilogue(lt_shape4(3, 50, 6, 5), lt_shape4(3, 50, 5, 4), lt_shape4(3, 50, 6, 4));
    check_epilogue(lt_shape2(2, 9000), lt_shape2(9000, 20), lt_shape2(2, 20));
    check_epilogue(lt_shape2(0, 6), lt_shape2(6, 7), lt_shape2(0, 7));
}

LT_TEST_MAIN()
