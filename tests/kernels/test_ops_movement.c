/* CAST, RESHAPE, VIEW and PLACE: every row, every element type. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

static lt_affine affine(int64_t offset, int64_t s0, int64_t s1, int64_t s2)
{
    return (lt_affine){ offset, { s0, s1, s2 } };
}

typedef struct view_case { int64_t base[3], out[3]; lt_affine at; } view_case;

static const view_case views[] = {
    { { 4, 5, 6 }, { 4, 5, 6 }, { 0, { 30, 6, 1 } } },            /* identity */
    { { 4, 5, 6 }, { 6, 5, 4 }, { 0, { 1, 6, 30 } } },            /* full transpose */
    { { 4, 5, 6 }, { 4, 6, 5 }, { 0, { 30, 1, 6 } } },            /* transpose of the last two */
    { { 1, 70, 90 }, { 1, 90, 70 }, { 0, { 0, 1, 90 } } },        /* tile edges */
    { { 4, 5, 6 }, { 2, 3, 2 }, { 31, { 60, 6, 2 } } },           /* strided slice */
    { { 4, 5, 6 }, { 4, 5, 6 }, { 119, { -30, -6, -1 } } },       /* all flipped */
    { { 1, 1, 6 }, { 4, 5, 6 }, { 0, { 0, 0, 1 } } },             /* broadcast rows */
    { { 1, 5, 1 }, { 3, 5, 7 }, { 0, { 0, 1, 0 } } },             /* broadcast a column */
    { { 1, 6, 6 }, { 1, 1, 6 }, { 0, { 0, 0, 7 } } },             /* diagonal */
    { { 4, 5, 6 }, { 0, 5, 6 }, { 0, { 30, 6, 1 } } },            /* empty */
    { { 2, 3, 4 }, { 1, 1, 1 }, { 13, { 0, 0, 0 } } },            /* one element */
    { { 1, 300, 400 }, { 1, 400, 300 }, { 0, { 0, 1, 400 } } },   /* threaded transpose */
};

LT_TEST(view_every_type)
{
    for (int t = 0; t < LT_DTYPE_COUNT; t++)
        for (size_t i = 0; i < LT_LEN(views); i++) {
            const view_case *c = &views[i];
            lt_attr attr = { .u.view = c->at };
            lt_problem_key p = { .op = LT_OP_VIEW, .n_in = 1, .attr = &attr, .isa = lt_isa_best(),
                                 .in[0] = ops_type((lt_dtype)t, lt_shape_of(3, c->base)), .out = ops_type((lt_dtype)t, lt_shape_of(3, c->out)) };
            ops_walk_random(&p, 0);
        }
}

LT_TEST(view_against_a_direct_gather)
{
    lt_attr attr = { .u.view = affine(5, 12, -1, 3) };
    lt_problem_key p = { .op = LT_OP_VIEW, .n_in = 1, .attr = &attr,
                         .in[0] = ops_type(LT_F64, lt_shape1(48)), .out = ops_type(LT_F64, lt_shape3(3, 4, 5)) };
    double x[48];
    for (int i = 0; i < 48; i++) x[i] = i;
    double *y = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    for (int i = 0; i < 60; i++) LT_CHECK(y[i] == 5 + 12 * (i / 20) - i / 5 % 4 + 3 * (i % 5));
    free(y);
}

/* ---- PLACE ------------------------------------------------------------------------------- */
static void walk_place(lt_dtype t, lt_shape out, int n, const lt_shape *piece, const lt_affine *at)
{
    lt_attr attr = { .u.place = at };
    lt_problem_key p = { .op = LT_OP_PLACE, .n_in = n, .attr = &attr, .out = ops_type(t, out), .isa = lt_isa_best() };
    for (int i = 0; i < n; i++) p.in[i] = ops_type(t, piece[i]);
    /* f16 sums are exact in no type; at most 40 terms meet in one element below */
    bool exact = !lt_dtype_is_float(t) && !lt_dtype_is_complex(t);
    if (lt_dtype_is_complex(t)) {
        void *in[4], *want, *got;
        for (int i = 0; i < n; i++) in[i] = ops_random_tensor(&p.in[i]);
        const lt_kernel_row *row[4];
        int n_rows = lt_kernel_candidates(&p, row, 4);
        want = in[n] = ops_alloc(&p.out);
        LT_CHECK_OK(ops_run(row[n_rows - 1], &p, in, 1));
        got = in[n] = ops_alloc(&p.out);
        for (int r = 0; r < n_rows; r++) {
            LT_CHECK_OK(ops_run(row[r], &p, in, 2));
            LT_CHECK(memcmp(got, want, lt_tensor_bytes(&p.out)) == 0);
        }
        for (int i = 0; i < n; i++) free(in[i]);
        free(want), free(got);
        return;
    }
    ops_walk_random(&p, exact ? 0 : 40);
}

LT_TEST(place_every_type)
{
    for (int i = 0; i < LT_DTYPE_COUNT; i++) {
        lt_dtype t = (lt_dtype)i;
        /* pad */
        walk_place(t, lt_shape2(7, 9), 1, (lt_shape[]){ lt_shape2(3, 4) }, (lt_affine[]){ affine(11, 9, 1, 0) });
        /* concatenate by columns: covers everything */
        walk_place(t, lt_shape2(5, 7), 2, (lt_shape[]){ lt_shape2(5, 3), lt_shape2(5, 4) },
                   (lt_affine[]){ affine(0, 7, 1, 0), affine(3, 7, 1, 0) });
        /* even and odd columns, reversed */
        walk_place(t, lt_shape2(5, 8), 2, (lt_shape[]){ lt_shape2(5, 4), lt_shape2(5, 4) },
                   (lt_affine[]){ affine(6, 8, -2, 0), affine(7, 8, -2, 0) });
        /* overlapping pieces */
        walk_place(t, lt_shape2(5, 7), 2, (lt_shape[]){ lt_shape2(5, 4), lt_shape2(5, 4) },
                   (lt_affine[]){ affine(0, 7, 1, 0), affine(3, 7, 1, 0) });
        /* a diagonal over a full piece */
        walk_place(t, lt_shape2(6, 6), 2, (lt_shape[]){ lt_shape2(6, 6), lt_shape1(6) },
                   (lt_affine[]){ affine(0, 6, 1, 0), affine(0, 7, 0, 0) });
        /* transposed, a lone diagonal, a sum of rows, a full sum, an empty piece, no piece */
        walk_place(t, lt_shape2(6, 4), 1, (lt_shape[]){ lt_shape2(4, 6) }, (lt_affine[]){ affine(0, 1, 4, 0) });
        walk_place(t, lt_shape2(6, 6), 1, (lt_shape[]){ lt_shape1(6) }, (lt_affine[]){ affine(0, 7, 0, 0) });
        walk_place(t, lt_shape1(4), 1, (lt_shape[]){ lt_shape2(6, 4) }, (lt_affine[]){ affine(0, 0, 1, 0) });
        walk_place(t, lt_shape0(), 1, (lt_shape[]){ lt_shape2(6, 4) }, (lt_affine[]){ affine(0, 0, 0, 0) });
        walk_place(t, lt_shape2(2, 3), 1, (lt_shape[]){ lt_shape2(0, 3) }, (lt_affine[]){ affine(0, 3, 1, 0) });
        walk_place(t, lt_shape2(2, 3), 0, NULL, NULL);
    }
}

/* <view(x), y> = <x, place(y)> for every view of the list. */
LT_TEST(place_is_the_transpose_of_view)
{
    for (size_t i = 0; i < LT_LEN(views); i++) {
        lt_attr va = { .u.view = views[i].at }, pa = { .u.place = &views[i].at };
        lt_tensor_type base = ops_type(LT_F64, lt_shape_of(3, views[i].base)), out = ops_type(LT_F64, lt_shape_of(3, views[i].out));
        lt_problem_key v = { .op = LT_OP_VIEW, .n_in = 1, .in[0] = base, .out = out, .attr = &va };
        lt_problem_key q = { .op = LT_OP_PLACE, .n_in = 1, .in[0] = out, .out = base, .attr = &pa };
        const lt_kernel_row *vr[4], *pr[4];
        int nv = lt_kernel_candidates(&v, vr, 4), np = lt_kernel_candidates(&q, pr, 4);
        double *x = ops_random_tensor(&base), *y = ops_random_tensor(&out);
        for (int r = 0; r < LT_MIN(nv, np); r++) {
            double *vx = ops_result(vr[r], &v, (void *[]){ x }), *py = ops_result(pr[r], &q, (void *[]){ y }), left = 0, right = 0;
            for (int64_t j = 0; j < lt_tensor_count(&out); j++) left += vx[j] * y[j];
            for (int64_t j = 0; j < lt_tensor_count(&base); j++) right += x[j] * py[j];
            LT_CHECK_NEAR(left, right, 1e-10);
            free(vx), free(py);
        }
        free(x), free(y);
    }
}

LT_TEST(cast_and_reshape)
{
    static const int64_t sizes[] = { 0, 1, 17, 100001 };
    for (int from = 0; from < LT_DTYPE_COUNT; from++)
        for (int to = 0; to < LT_DTYPE_COUNT; to++)
            for (size_t i = 0; i < LT_LEN(sizes); i++) {
                if (sizes[i] > 17 && from != to && from != LT_F32) continue;
                lt_problem_key p = { .op = LT_OP_CAST, .n_in = 1, .attr = &ops_no_attr, .in[0] = ops_type((lt_dtype)from, lt_shape1(sizes[i])),
                                     .out = ops_type((lt_dtype)to, lt_shape1(sizes[i])) };
                ops_walk_random(&p, 0);
                p.op = LT_OP_RESHAPE;
                if (from == to) ops_walk_random(&p, 0);
            }
}

LT_TEST_MAIN()
