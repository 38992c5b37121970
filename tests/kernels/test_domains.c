/* What ops give outside their domain and at its edges: NaN in every row, norms of huge and tiny numbers, adjugates of singular
   matrices. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

static const lt_dtype types[] = { LT_F64, LT_F32, LT_BF16, LT_F16 };

/* ---- elementwise ---- */
typedef struct outside { lt_op op; double a, b; } outside;

static const outside points[] = {
    { LT_OP_SQRT, -1, 0 }, { LT_OP_SQRT, -1e-4, 0 }, { LT_OP_LOG, -1, 0 }, { LT_OP_LOG, -1e-4, 0 }, { LT_OP_LOG1P, -1.5, 0 }, { LT_OP_LOG1P, -3, 0 },
    { LT_OP_ASIN, 1.5, 0 }, { LT_OP_ASIN, -2, 0 }, { LT_OP_ACOS, 1.5, 0 }, { LT_OP_ACOS, -2, 0 }, { LT_OP_SIN, INFINITY, 0 }, { LT_OP_COS, -INFINITY, 0 },
    { LT_OP_TAN, INFINITY, 0 }, { LT_OP_POW, -2, 0.5 }, { LT_OP_POW, -0.25, 1.5 }, { LT_OP_DIV, 0, 0 },
};

static void walk_outside(const outside *x, lt_dtype t)
{
    enum { N = 37 }; /* vectors and what is left over */
    int arity = lt_op_arity(x->op);
    lt_tensor_type type = ops_type(t, lt_shape1(N));
    lt_problem_key p = { .op = x->op, .n_in = arity, .attr = &ops_no_attr, .in = { type, type }, .out = type };
    const lt_kernel_row *row[16];
    void *in[2] = { ops_alloc(&type), ops_alloc(&type) };
    for (int64_t i = 0; i < N; i++) { /* one outside among three inside */
        lt_store_double(t, in[0], i, i % 4 ? 0.5 : x->a);
        lt_store_double(t, in[1], i, i % 4 ? 0.5 : x->b);
    }
    int n = lt_kernel_candidates(&p, row, 16);
    LT_CHECK(n > 0);
    for (int r = 0; r < n; r++) {
        double *out = ops_result(row[r], &p, in);
        for (int64_t i = 0; i < N; i++)
            if (isnan(out[i]) != (i % 4 == 0)) {
                LT_TEST_FAIL("%s %s of %g is %g", lt_op_name(x->op), row[r]->name, i % 4 ? 0.5 : x->a, out[i]);
                break;
            }
        free(out);
    }
    free(in[0]), free(in[1]);
}

LT_TEST(elementwise_ops_are_nan_outside_their_domain)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(points); i++) walk_outside(&points[i], types[t]);
}

/* ---- norms ---- */
static long double norm_of(lt_dtype t, const void *x, int64_t first, int64_t n, int64_t stride)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        long double v = lt_load_double(t, x, first + i * stride);
        sum += v * v; /* the range of long double holds every square */
    }
    return sqrtl(sum);
}

/* [3, n, 2] over the middle axis, elements of size 2^exponent; the sums as the type rounds them. */
static void walk_norms(lt_dtype t, int exponent, int64_t n)
{
    lt_tensor_type x = ops_type(t, lt_shape3(3, n, 2)), s = ops_type(t, lt_shape2(3, 2));
    lt_attr attr = { .u.reduce.axes = 2 };
    lt_problem_key p = { .op = LT_OP_NORM, .n_in = 2, .attr = &attr, .in = { s, x }, .out = s };
    void *in[2] = { ops_alloc(&s), ops_random_tensor(&x) };
    for (int64_t i = 0; i < 6 * n; i++) lt_store_double(t, in[1], i, ldexp(lt_load_double(t, in[1], i), exponent));
    for (int64_t i = 0; i < 6; i++) {
        long double r = norm_of(t, in[1], i / 2 * 2 * n + i % 2, n, 2);
        lt_store_double(t, in[0], i, (double)(r * r));
    }
    const lt_kernel_row *row[16];
    int n_rows = lt_kernel_candidates(&p, row, 16);
    LT_CHECK(n_rows >= 2);
    for (int r = 0; r < n_rows; r++) {
        double *out = ops_result(row[r], &p, in);
        for (int64_t i = 0; i < 6; i++) {
            double room[1], rounded;
            lt_store_double(t, room, 0, (double)norm_of(t, in[1], i / 2 * 2 * n + i % 2, n, 2)), rounded = lt_load_double(t, room, 0);
            double tol = (4 + sqrt((double)n)) * ops_unit(t) * fabs(rounded) + (t == LT_F16 ? 0x1p-24 : 0);
            if (!(fabs(out[i] - rounded) <= tol) && out[i] != rounded)
                LT_TEST_FAIL("%s %s: norm of %lld elements of 2^%d is %g, expected %g", row[r]->name, lt_dtype_name(t), (long long)n, exponent, out[i], rounded);
        }
        free(out);
    }
    free(in[0]), free(in[1]);
}

LT_TEST(norms_of_huge_and_tiny_numbers)
{
    static const int wide[] = { 1020, 664, 511, 100, 0, -100, -490, -540, -664, -1020, -1040 }, narrow[] = { 120, 70, 60, 0, -40, -60, -120 }, half[] = { 12, 8, 0, -6, -10 };
    for (int64_t n = 1; n < 300; n += 149) {
        for (size_t i = 0; i < LT_LEN(wide); i++) walk_norms(LT_F64, wide[i], n);
        for (size_t i = 0; i < LT_LEN(narrow); i++) walk_norms(LT_F32, narrow[i], n), walk_norms(LT_BF16, narrow[i], n);
        for (size_t i = 0; i < LT_LEN(half); i++) walk_norms(LT_F16, half[i], n);
    }
}

static double one_norm(const lt_kernel_row *row, double sum, const double *x, int64_t n)
{
    lt_attr attr = { .u.reduce.axes = 1 };
    lt_problem_key p = { .op = LT_OP_NORM, .n_in = 2, .attr = &attr, .in = { ops_type(LT_F64, lt_shape0()), ops_type(LT_F64, lt_shape1(n)) },
                         .out = ops_type(LT_F64, lt_shape0()) };
    void *in[2] = { &sum, (void *)(uintptr_t)x };
    double *out = ops_result(row, &p, in), y = out[0];
    free(out);
    return y;
}

LT_TEST(norms_of_what_is_no_number)
{
    lt_attr attr = { .u.reduce.axes = 1 };
    lt_problem_key p = { .op = LT_OP_NORM, .n_in = 2, .attr = &attr, .in = { ops_type(LT_F64, lt_shape0()), ops_type(LT_F64, lt_shape1(3)) },
                         .out = ops_type(LT_F64, lt_shape0()) };
    const lt_kernel_row *row[16];
    int n = lt_kernel_candidates(&p, row, 16);
    for (int r = 0; r < n; r++) {
        LT_CHECK(one_norm(row[r], 0, (double[]){ 0, 0, 0 }, 3) == 0);
        LT_CHECK(one_norm(row[r], INFINITY, (double[]){ 1, INFINITY, 0 }, 3) == INFINITY);
        LT_CHECK(isnan(one_norm(row[r], NAN, (double[]){ 1, NAN, 0 }, 3)));
        LT_CHECK(one_norm(row[r], INFINITY, (double[]){ 1.5e308, 1.5e308, 1.5e308 }, 3) == INFINITY); /* truly out of range */
        LT_CHECK(one_norm(row[r], 25, (double[]){ NAN, NAN, NAN }, 3) == 5);                           /* x is not read for ordinary sums */
    }
}

/* ---- adjugates and logarithms of determinants ---- */
static void walk_adjugate(lt_dtype t, int64_t n, const double *m, double det, const double *want)
{
    lt_tensor_type square = ops_type(t, lt_shape2(n, n)), one = ops_type(t, lt_shape0());
    lt_problem_key p = { .op = LT_OP_ADJUGATE, .n_in = 2, .attr = &ops_no_attr, .in = { square, one }, .out = square };
    void *in[2] = { ops_alloc(&square), ops_alloc(&one) };
    const lt_kernel_row *row[16];
    double size = 0;
    for (int64_t i = 0; i < n * n; i++) lt_store_double(t, in[0], i, m[i]), size = fmax(size, fabs(want[i]));
    lt_store_double(t, in[1], 0, det);
    int n_rows = lt_kernel_candidates(&p, row, 16);
    LT_CHECK(n_rows > 0);
    for (int r = 0; r < n_rows; r++) {
        double *out = ops_result(row[r], &p, in);
        for (int64_t i = 0; i < n * n; i++)
            if (!(fabs(out[i] - want[i]) <= 40 * ops_unit(t) * size)) LT_TEST_FAIL("%s: element %lld of an adjugate is %g, expected %g", row[r]->name, (long long)i, out[i], want[i]);
        free(out);
    }
    free(in[0]), free(in[1]);
}

LT_TEST(adjugates_of_singular_matrices)
{
    for (size_t t = 0; t < LT_LEN(types); t++) {
        walk_adjugate(types[t], 1, (double[]){ 0 }, 0, (double[]){ 1 });
        walk_adjugate(types[t], 2, (double[]){ 1, 2, 2, 4 }, 0, (double[]){ 4, -2, -2, 1 });
        walk_adjugate(types[t], 2, (double[]){ 0, 0, 0, 0 }, 0, (double[]){ 0, 0, 0, 0 });
        walk_adjugate(types[t], 3, (double[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 0, (double[]){ -3, 6, -3, 6, -12, 6, -3, 6, -3 });
        walk_adjugate(types[t], 3, (double[]){ 1, 2, 3, 2, 4, 6, 3, 6, 9 }, 0, (double[]){ 0, 0, 0, 0, 0, 0, 0, 0, 0 }); /* rank 1 */
        walk_adjugate(types[t], 3, (double[]){ 0, 1, 0, 0, 0, 1, 0, 0, 0 }, 0, (double[]){ 0, 0, 1, 0, 0, 0, 0, 0, 0 });
        walk_adjugate(types[t], 2, (double[]){ 1, 2, 3, 4 }, -2, (double[]){ 0, 0, 0, 0 }); /* others are not looked at */
    }
    walk_adjugate(LT_F64, 2, (double[]){ 1e-200, 0, 0, 3e-200 }, 0, (double[]){ 3e-200, 0, 0, 1e-200 }); /* a determinant below the range */
    walk_adjugate(LT_F64, 2, (double[]){ 0, 1e200, 2e200, 1e200 }, -INFINITY, (double[]){ 1e200, -1e200, -2e200, 0 });
}

static void check_logdet(lt_dtype t, int64_t n, const double *m, double want)
{
    lt_tensor_type square = ops_type(t, lt_shape2(n, n)), one = ops_type(t, lt_shape0());
    lt_problem_key p = { .op = LT_OP_LOGDET, .n_in = 1, .attr = &ops_no_attr, .in = { square }, .out = one };
    void *in[1] = { ops_alloc(&square) };
    const lt_kernel_row *row[16];
    for (int64_t i = 0; i < n * n; i++) lt_store_double(t, in[0], i, m[i]);
    int n_rows = lt_kernel_candidates(&p, row, 16);
    for (int r = 0; r < n_rows; r++) {
        double *out = ops_result(row[r], &p, in);
        bool right = isnan(want) ? isnan(out[0]) : out[0] == want || fabs(out[0] - want) <= 8 * ops_unit(t) * (1 + fabs(want));
        if (!right) LT_TEST_FAIL("%s %s: logdet is %g, expected %g", row[r]->name, lt_dtype_name(t), out[0], want);
        free(out);
    }
    free(in[0]);
}

LT_TEST(logarithms_of_determinants_have_a_domain)
{
    for (size_t t = 0; t < LT_LEN(types); t++) {
        check_logdet(types[t], 2, (double[]){ 2, 1, 1, 3 }, log(5));
        check_logdet(types[t], 2, (double[]){ 1, 2, 2, 1 }, NAN);    /* indefinite, determinant -3 */
        check_logdet(types[t], 2, (double[]){ -1, 0, 0, -1 }, NAN);  /* negative definite, determinant 1 */
        check_logdet(types[t], 2, (double[]){ 0, -1, 1, 0 }, 0);     /* a rotation */
        check_logdet(types[t], 2, (double[]){ 0, 1, 2, 0 }, NAN);    /* unsymmetric, determinant -2 */
        check_logdet(types[t], 2, (double[]){ 1, 2, 2, 4 }, -INFINITY);
    }
}

LT_TEST_MAIN()
