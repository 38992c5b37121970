/* The table itself: every op has rows, plain ones last; every elementwise row agrees with the plain
   one; preparing survives every failing allocation. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

LT_TEST(every_op_ends_with_a_plain_row)
{
    int n;
    const lt_kernel_row *rows = lt_kernel_rows(&n);
    for (int op = 0; op < LT_OP_COUNT; op++) {
        if (op == LT_OP_INPUT || op == LT_OP_CONST || op == LT_OP_FULL) continue; /* no work of their own */
        const lt_kernel_row *last = NULL;
        for (int i = 0; i < n; i++)
            if (rows[i].op == (lt_op)op) last = &rows[i];
        if (!last) LT_TEST_FAIL("op %s has no row", lt_op_name((lt_op)op));
        else if (!strstr(last->name, "_ref")) LT_TEST_FAIL("op %s ends with %s", lt_op_name((lt_op)op), last->name);
    }
}

/* What a user may force, and what is chosen when nothing is said. */
LT_TEST(products_of_bfloat16_follow_the_environment)
{
    static const struct { const char *value; bool pays, native; } rows[] = {
        { NULL, false, false }, { NULL, true, true }, { "auto", false, false }, { "auto", true, true }, { "native", false, true }, { "native", true, true },
        { "widen", false, false }, { "widen", true, false }, { "wide", true, false },
    };
    char *kept = getenv("LATHE_BF16") ? strdup(getenv("LATHE_BF16")) : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value) setenv("LATHE_BF16", rows[i].value, 1);
        else unsetenv("LATHE_BF16");
        if (lt_kernel_bf16_choice(rows[i].pays) != rows[i].native) LT_TEST_FAIL("row %zu", i);
    }
    if (kept) setenv("LATHE_BF16", kept, 1);
    else unsetenv("LATHE_BF16");
    free(kept);
}

LT_TEST(candidates_respect_the_limit)
{
    lt_problem_key p = { .op = LT_OP_ADD, .n_in = 2, .attr = &ops_no_attr, .in = { ops_type(LT_F64, lt_shape1(3)), ops_type(LT_F64, lt_shape1(3)) },
                         .out = ops_type(LT_F64, lt_shape1(3)) };
    const lt_kernel_row *row[4];
    LT_CHECK_EQ_INT(lt_kernel_candidates(&p, row, 4), 2);
    LT_CHECK_EQ_INT(lt_kernel_candidates(&p, row, 1), 1);
    p.out.dtype = LT_C64;
    LT_CHECK_EQ_INT(lt_kernel_candidates(&p, row, 4), 0);
}

/* The vector functions' own error is measured in test_vec: here a few ulps, enough to see a wrong
   operand, broadcast or type. */
LT_TEST(elementwise_rows_agree)
{
    static const lt_dtype types[] = { LT_F64, LT_F32, LT_F16, LT_BF16 };
    for (int op = 0; lt_op_is_elementwise((lt_op)op); op++)
        for (size_t t = 0; t < LT_LEN(types); t++) {
            lt_problem_key p = { .op = (lt_op)op, .n_in = lt_op_arity((lt_op)op), .attr = &ops_no_attr, .isa = lt_isa_best(), .out = ops_type(types[t], lt_shape3(3, 5, 7)),
                                 .in = { ops_type(types[t], lt_shape3(3, 5, 7)), ops_type(types[t], lt_shape2(5, 1)), ops_type(types[t], lt_shape0()) } };
            void *in[3];
            for (int i = 0; i < p.n_in; i++) in[i] = ops_random_tensor(&p.in[i]);
            double *want = ops_result(ops_plain_row(&p), &p, in);
            const lt_kernel_row *row[4];
            int n = lt_kernel_candidates(&p, row, 4);
            for (int r = 0; r < n; r++) {
                double *got = ops_result(row[r], &p, in);
                for (int i = 0; i < 105; i++) {
                    double tol = 16 * ops_unit(types[t]) * (fabs(want[i]) + 1e-3);
                    if (fabs(got[i] - want[i]) <= tol || got[i] == want[i] || (isnan(got[i]) && isnan(want[i]))) continue;
                    LT_TEST_FAIL("%s %s %s: element %d is %.17g, expected %.17g", row[r]->name, lt_op_name((lt_op)op), lt_dtype_name(types[t]), i, got[i], want[i]);
                    break;
                }
                free(got);
            }
            for (int i = 0; i < p.n_in; i++) free(in[i]);
            free(want);
        }
}

/* Each allocation of a prepare failing in turn: a clean status and nothing left behind. */
static void fail_each_allocation(const lt_problem_key *p)
{
    const lt_kernel_row *row[8];
    int n = lt_kernel_candidates(p, row, 8);
    for (int r = 0; r < n; r++) {
        lt_kernel *k = NULL;
        LT_CHECK_OK(row[r]->prepare(p, &k)); /* whatever is made once is made now */
        lt_kernel_destroy(k);
        bool done = false;
        for (int64_t at = 1; at < 200 && !done; at++) {
            int64_t live = lt_alloc_live();
            lt_alloc_fail_at(at);
            lt_status s = row[r]->prepare(p, &k);
            lt_alloc_fail_at(0);
            done = s == LT_OK;
            if (done) lt_kernel_destroy(k);
            else LT_CHECK(k == NULL && s == LT_ERR_MEMORY);
            if (lt_alloc_live() != live) LT_TEST_FAIL("%s leaks when allocation %lld fails", row[r]->name, (long long)at);
        }
        LT_CHECK(done);
    }
}

LT_TEST(preparing_survives_failing_allocations)
{
    lt_affine at[2] = { { 0, { 5, 1 } }, { 3, { 5, 1 } } };
    lt_attr place = { .u.place = at };
    lt_problem_key p = { .op = LT_OP_PLACE, .n_in = 2, .attr = &place, .isa = lt_isa_best(), .in = { ops_type(LT_F32, lt_shape2(4, 3)), ops_type(LT_F32, lt_shape2(4, 2)) },
                         .out = ops_type(LT_F32, lt_shape2(4, 5)) };
    fail_each_allocation(&p);
    p = (lt_problem_key){ .op = LT_OP_MATMUL, .n_in = 2, .attr = &ops_no_attr, .isa = lt_isa_best(), .in = { ops_type(LT_F32, lt_shape2(4, 3)), ops_type(LT_F32, lt_shape2(3, 5)) },
                          .out = ops_type(LT_F32, lt_shape2(4, 5)) };
    fail_each_allocation(&p);
    lt_attr conv = { .u.conv = { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 }, .size = { 6, 6 }, .groups = 1 } };
    p = (lt_problem_key){ .op = LT_OP_CONV2D, .n_in = 2, .attr = &conv, .isa = lt_isa_best(), .in = { ops_type(LT_F32, lt_shape4(2, 3, 6, 6)), ops_type(LT_F32, lt_shape4(4, 3, 3, 3)) },
                          .out = ops_type(LT_F32, lt_shape4(2, 4, 6, 6)) };
    fail_each_allocation(&p);
    p.op = LT_OP_CONV2D_WGRAD, p.in[1] = p.out, p.out = ops_type(LT_F32, lt_shape4(4, 3, 3, 3));
    fail_each_allocation(&p);
    p = (lt_problem_key){ .op = LT_OP_SVD, .n_in = 1, .attr = &ops_no_attr, .in = { ops_type(LT_F64, lt_shape2(4, 3)) }, .out = ops_type(LT_F64, lt_shape1(24)) };
    fail_each_allocation(&p);
    p = (lt_problem_key){ .op = LT_OP_RFFT2, .n_in = 1, .attr = &ops_no_attr, .in = { ops_type(LT_F64, lt_shape2(4, 6)) }, .out = ops_type(LT_F64, lt_shape3(4, 4, 2)) };
    fail_each_allocation(&p);
}

LT_TEST_MAIN()
