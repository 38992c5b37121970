/* Norms of any size and determinants of singular matrices: values and gradients of compiled graphs.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/graph.h"
#include "lt_test.h"

/* f and its gradient by x, of the given shape, compiled. */
static void evaluate(lt_node (*build)(lt_graph *g, lt_node x), lt_shape shape, const double *x, double *f, double *df)
{
    lt_graph *g;
    lt_program *p = NULL;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, shape), out[2] = { build(g, in) };
    LT_CHECK_OK(lt_grad(g, out[0], &in, 1, &out[1]));
    LT_CHECK_OK(lt_program_create(g, out, 2, NULL, &p));
    if (p) LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ f, df }));
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

static lt_node whole(lt_graph *g, lt_node x) { return lt_norm(g, x); }
static lt_node rows(lt_graph *g, lt_node x) { return lt_sum(g, lt_norm_axis(g, x, 2, 1, false)); }
static lt_node columns(lt_graph *g, lt_node x) { return lt_sum(g, lt_norm_axis(g, x, 2, 0, true)); }
static lt_node shifted(lt_graph *g, lt_node x) { return lt_norm(g, lt_scale(g, x, -4)); } /* of what is fused, not stored */

LT_TEST(norms_and_their_gradients_at_any_size)
{
    static const double sizes[] = { 1e300, 1e200, 1e150, 1, 1e-150, 1e-200, 1e-300 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double s = sizes[i], x[4] = { 3 * s, 4 * s, -5 * s, 12 * s }, f, df[4];
        evaluate(whole, lt_shape1(2), x, &f, df);
        LT_CHECK(fabs(f / s - 5) < 1e-14 && fabs(df[0] - 0.6) < 1e-14 && fabs(df[1] - 0.8) < 1e-14);
        evaluate(shifted, lt_shape1(2), x, &f, df);
        LT_CHECK(fabs(f / s - 20) < 1e-13 && fabs(df[0] - 2.4) < 1e-13);
        evaluate(rows, lt_shape2(2, 2), x, &f, df);
        LT_CHECK(fabs(f / s - 18) < 1e-13 && fabs(df[0] - 0.6) < 1e-14 && fabs(df[3] - 12.0 / 13) < 1e-14);
        evaluate(columns, lt_shape2(2, 2), x, &f, df);
        LT_CHECK(fabs(f / s - sqrt(34) - sqrt(160)) < 1e-13 && fabs(df[2] + 5 / sqrt(34)) < 1e-14);
    }
}

/* Large and small lines beside each other. */
LT_TEST(lines_of_different_sizes)
{
    double x[6] = { 3e200, 4e200, 3e-200, 4e-200, 0, 0 }, f, df[6];
    evaluate(rows, lt_shape2(3, 2), x, &f, df);
    LT_CHECK(fabs(f / 1e200 - 5) < 1e-14);
    for (int i = 0; i < 4; i++) LT_CHECK(fabs(df[i] - (i % 2 ? 0.8 : 0.6)) < 1e-14);
    LT_CHECK(df[4] == 0 && df[5] == 0);
}

/* What the norm was made of before: sqrt of a sum of squares, and x times its slope; no bit differs where nothing over- or underflows. */
LT_TEST(ordinary_norms_keep_their_bits)
{
    double x[1000], f, df[1000], sum_f, sum_df[1000];
    for (int i = 0; i < 1000; i++) x[i] = sin(i * 12.9898) * pow(10, i % 7 - 3);
    evaluate(whole, lt_shape1(1000), x, &f, df);
    lt_graph *g;
    lt_program *p = NULL;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F64, lt_shape1(1000)), out[2] = { lt_sqrt(g, lt_sum(g, lt_square(g, in))) };
    LT_CHECK_OK(lt_grad(g, out[0], &in, 1, &out[1]));
    LT_CHECK_OK(lt_program_create(g, out, 2, NULL, &p));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x }, (void *[]){ &sum_f, sum_df }));
    LT_CHECK(f == sum_f && memcmp(df, sum_df, sizeof df) == 0);
    lt_program_destroy(p);
    lt_graph_destroy(g);
}

static lt_node determinant(lt_graph *g, lt_node x) { return lt_det(g, x); }
static lt_node determinants(lt_graph *g, lt_node x) { return lt_sum(g, lt_mul(g, lt_det(g, x), lt_constant(g, LT_F64, lt_shape1(2), (double[]){ 2, 3 }))); }

/* d det / dM is the matrix of cofactors. */
LT_TEST(determinants_have_gradients_where_they_vanish)
{
    double f, df[9], pair[8];
    static const double cofactors[9] = { -3, 6, -3, 6, -12, 6, -3, 6, -3 };
    evaluate(determinant, lt_shape2(2, 2), (double[]){ 1, 2, 3, 6 }, &f, df);
    LT_CHECK(f == 0 && df[0] == 6 && df[1] == -3 && df[2] == -2 && df[3] == 1);
    evaluate(determinant, lt_shape2(3, 3), (double[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, &f, df);
    for (int i = 0; i < 9; i++) LT_CHECK_NEAR(df[i], cofactors[i], 1e-13);
    evaluate(determinant, lt_shape2(3, 3), (double[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, &f, df);
    for (int i = 0; i < 9; i++) LT_CHECK(df[i] == 0);
    evaluate(determinant, lt_shape2(2, 2), (double[]){ 1e-200, 0, 0, 1e-200 }, &f, df);
    LT_CHECK(f == 0 && fabs(df[0] / 1e-200 - 1) < 1e-15 && df[1] == 0 && fabs(df[3] / 1e-200 - 1) < 1e-15);
    evaluate(determinants, lt_shape3(2, 2, 2), (double[]){ 1, 2, 2, 4, 1, 2, 3, 4 }, &f, pair); /* a stack: singular, regular */
    LT_CHECK(pair[0] == 8 && pair[1] == -4 && pair[3] == 2);
    LT_CHECK_NEAR(pair[4], 12, 1e-14);
    LT_CHECK_NEAR(pair[6], -6, 1e-14);
}

LT_TEST_MAIN()
