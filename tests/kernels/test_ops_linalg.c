/* Factorisations, eigenvalues and Fourier transforms: every row by the property that defines the
   result, since factors are unique only up to signs and order. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

#include <complex.h>

static const lt_dtype types[] = { LT_F64, LT_F32 };
static const int64_t sizes[] = { 1, 2, 3, 7, 20 };

static double tolerance(lt_dtype t, int64_t n) { return 64 * (double)(n + 1) * 2 * ops_unit(t); }

/* Runs check for every row that applies to p with these inputs. */
typedef void (*row_check)(const lt_problem_key *p, void *const *in, const double *out, const char *row);

static void each_row(const lt_problem_key *p, void *const *in, row_check check)
{
    const lt_kernel_row *row[8];
    int n = lt_kernel_candidates(p, row, 8);
    LT_CHECK(n > 0);
    for (int r = 0; r < n; r++) {
        double *out = ops_result(row[r], p, in);
        check(p, in, out, row[r]->name);
        free(out);
    }
}

static double get(const lt_problem_key *p, void *const *in, int which, int64_t i)
{
    return lt_load_double(p->in[which].dtype, in[which], i);
}

static void near(const char *row, const char *what, double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol)) LT_TEST_FAIL("%s: %s is %.17g, expected %.17g within %.3g", row, what, got, want, tol);
}

static lt_problem_key matrix_key(lt_op op, lt_dtype t, lt_shape in, lt_shape out)
{
    return (lt_problem_key){ .op = op, .n_in = 1, .attr = &ops_no_attr, .isa = lt_isa_best(), .in = { ops_type(t, in) }, .out = ops_type(t, out) };
}

/* ---- EIGH ------------------------------------------------------------------------------------ */
static void check_eigh(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    int64_t n = p->in[0].shape.dim[2];
    double tol = tolerance(p->out.dtype, n);
    for (int64_t b = 0; b < 2; b++) {
        const double *v = out + b * (n * n + n), *w = v + n * n;
        for (int64_t i = 0; i < n; i++) {
            if (i && !(w[i] >= w[i - 1])) LT_TEST_FAIL("%s: eigenvalues not ascending", row);
            for (int64_t j = 0; j < n; j++) {
                double av = 0, dot = 0;
                for (int64_t k = 0; k < n; k++) av += get(p, in, 0, b * n * n + i * n + k) * v[k * n + j], dot += v[k * n + i] * v[k * n + j];
                near(row, "(A V - V w)", av - v[i * n + j] * w[j], 0, tol);
                near(row, "(V'V)", dot, i == j, tol);
            }
        }
    }
}

LT_TEST(eigh)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t s = 0; s < LT_LEN(sizes); s++)
            for (int singular = 0; singular < 2; singular++) {
                int64_t n = sizes[s];
                lt_problem_key p = matrix_key(LT_OP_EIGH, types[t], lt_shape3(2, n, n), lt_shape2(2, n * n + n));
                void *a = ops_random_tensor(&p.in[0]);
                for (int64_t b = 0; b < 2; b++)
                    for (int64_t i = 0; i < n; i++)
                        for (int64_t j = 0; j <= i; j++) {
                            double x = singular ? (double)((i + 1) * (j + 1)) / (double)(n * n) : lt_load_double(types[t], a, b * n * n + i * n + j);
                            lt_store_double(types[t], a, b * n * n + i * n + j, x);
                            lt_store_double(types[t], a, b * n * n + j * n + i, x);
                        }
                each_row(&p, &a, check_eigh);
                free(a);
            }
}

/* ---- SVD --------------------------------------------------------------------------------------- */
static void check_svd(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    int64_t m = p->in[0].shape.dim[1], n = p->in[0].shape.dim[2], r = LT_MIN(m, n), l = LT_MAX(m, n);
    double tol = tolerance(p->out.dtype, l);
    for (int64_t b = 0; b < 2; b++) {
        const double *u = out + b * (m * r + r + r * n), *s = u + m * r, *vt = s + r;
        for (int64_t i = 0; i < r; i++) {
            if (!(s[i] >= 0) || (i && !(s[i] <= s[i - 1]))) LT_TEST_FAIL("%s: singular values not descending", row);
            for (int64_t j = 0; j < r; j++) {
                double uu = 0, vv = 0;
                for (int64_t k = 0; k < m; k++) uu += u[k * r + i] * u[k * r + j];
                for (int64_t k = 0; k < n; k++) vv += vt[i * n + k] * vt[j * n + k];
                near(row, "(U'U)", uu, i == j, tol);
                near(row, "(Vt Vt')", vv, i == j, tol);
            }
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double a = 0;
                for (int64_t k = 0; k < r; k++) a += u[i * r + k] * s[k] * vt[k * n + j];
                near(row, "(U s Vt)", a, get(p, in, 0, (b * m + i) * n + j), tol);
            }
    }
}

LT_TEST(svd)
{
    static const int64_t shape[][2] = { { 1, 1 }, { 1, 5 }, { 5, 1 }, { 4, 4 }, { 9, 4 }, { 4, 9 }, { 20, 17 } };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t s = 0; s < LT_LEN(shape); s++)
            for (int rank = 0; rank < 3; rank++) { /* full, one, zero */
                int64_t m = shape[s][0], n = shape[s][1], r = LT_MIN(m, n);
                lt_problem_key p = matrix_key(LT_OP_SVD, types[t], lt_shape3(2, m, n), lt_shape2(2, m * r + r + r * n));
                void *a = ops_random_tensor(&p.in[0]);
                for (int64_t i = 0; rank && i < 2 * m * n; i++)
                    lt_store_double(types[t], a, i, rank == 2 ? 0 : (double)(i / n % m + 1) / (double)m * (double)(i % n + 1) / (double)n);
                each_row(&p, &a, check_svd);
                free(a);
            }
}

/* ---- LU and Cholesky ------------------------------------------------------------------------------ */
static void add_diagonal(lt_dtype t, void *a, int64_t count, int64_t n, double d)
{
    for (int64_t i = 0; i < count * n; i++) {
        int64_t at = i / n * n * n + i % n * (n + 1);
        lt_store_double(t, a, at, lt_load_double(t, a, at) + d);
    }
}

static void check_solve(const lt_problem_key *p, void *const *in, const double *x, const char *row)
{
    int64_t n = p->in[1].shape.dim[1], m = p->in[1].shape.dim[2], per = p->in[0].shape.rank == 3 ? n * n : 0;
    for (int64_t b = 0; b < 3; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                double ax = 0;
                for (int64_t k = 0; k < n; k++)
                    ax += get(p, in, 0, b * per + (p->attr->u.trans.a ? k * n + i : i * n + k)) * x[(b * n + k) * m + j];
                near(row, "A X", ax, get(p, in, 1, (b * n + i) * m + j), tolerance(p->out.dtype, n));
            }
}

LT_TEST(solve)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t s = 0; s < LT_LEN(sizes); s++)
            for (int mode = 0; mode < 4; mode++) {
                int64_t n = sizes[s], m = 1 + n % 3;
                lt_attr attr = { .u.trans = { .a = mode & 1 } };
                lt_problem_key p = { .op = LT_OP_SOLVE, .n_in = 2, .attr = &attr, .isa = lt_isa_best(), .out = ops_type(types[t], lt_shape3(3, n, m)),
                                     .in = { ops_type(types[t], mode >> 1 ? lt_shape3(3, n, n) : lt_shape2(n, n)), ops_type(types[t], lt_shape3(3, n, m)) } };
                void *in[2] = { ops_random_tensor(&p.in[0]), ops_random_tensor(&p.in[1]) };
                add_diagonal(types[t], in[0], mode >> 1 ? 3 : 1, n, 4);
                each_row(&p, in, check_solve);
                free(in[0]), free(in[1]);
            }
}

static void check_inverse(const lt_problem_key *p, void *const *in, const double *x, const char *row)
{
    int64_t n = p->in[0].shape.dim[1];
    for (int64_t b = 0; b < 3; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double ax = 0;
                for (int64_t k = 0; k < n; k++) ax += get(p, in, 0, b * n * n + i * n + k) * x[b * n * n + k * n + j];
                near(row, "A inv(A)", ax, i == j, tolerance(p->out.dtype, n));
            }
}

static void check_cholesky(const lt_problem_key *p, void *const *in, const double *l, const char *row)
{
    int64_t n = p->in[0].shape.dim[1];
    for (int64_t b = 0; b < 3; b++, l += n * n)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double ll = 0;
                for (int64_t k = 0; k < n; k++) ll += l[i * n + k] * l[j * n + k];
                near(row, "L L'", ll, get(p, in, 0, b * n * n + i * n + j), 8 * tolerance(p->out.dtype, n));
                if (j > i && l[i * n + j] != 0) LT_TEST_FAIL("%s: not zero above the diagonal", row);
            }
}

/* det(A) by expansion along the first row. */
static double expand(const double *a, int64_t n)
{
    if (n == 0) return 1;
    double sum = 0, minor[64];
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 1; i < n; i++)
            for (int64_t j = 0; j < n - 1; j++) minor[(i - 1) * (n - 1) + j] = a[i * n + j + (j >= c)];
        sum += (c % 2 ? -1 : 1) * a[c] * expand(minor, n - 1);
    }
    return sum;
}

static void check_det(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    int64_t n = p->in[0].shape.dim[1];
    for (int64_t b = 0; b < 3; b++) {
        double a[64];
        for (int64_t i = 0; i < n * n; i++) a[i] = get(p, in, 0, b * n * n + i);
        double det = expand(a, n), tol = tolerance(p->out.dtype, n);
        if (p->op == LT_OP_DET) near(row, "det", out[b], det, tol * (1 + fabs(det)));
        else if (p->op == LT_OP_LOGDET && det < 0) { if (!isnan(out[b])) LT_TEST_FAIL("%s: log of a determinant of %g is %g", row, det, out[b]); }
        else near(row, "logdet", out[b], log(fabs(det)), tol * (1 + fabs(log(fabs(det)))));
    }
}

LT_TEST(inverse_determinant_cholesky)
{
    static const int64_t n_list[] = { 0, 1, 2, 3, 6, 20 };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t s = 0; s < LT_LEN(n_list); s++) {
            int64_t n = n_list[s];
            lt_problem_key p = matrix_key(LT_OP_INV, types[t], lt_shape3(3, n, n), lt_shape3(3, n, n));
            void *a = ops_random_tensor(&p.in[0]);
            add_diagonal(types[t], a, 3, n, 3);
            each_row(&p, &a, check_inverse);
            if (n <= 6) {
                lt_problem_key d = matrix_key(LT_OP_DET, types[t], lt_shape3(3, n, n), lt_shape1(3));
                each_row(&d, &a, check_det);
                d.op = LT_OP_LOGABSDET;
                each_row(&d, &a, check_det);
                d.op = LT_OP_LOGDET;
                each_row(&d, &a, check_det);
            }
            for (int64_t b = 0; b < 3; b++) /* symmetric, positive definite */
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < i; j++) lt_store_double(types[t], a, b * n * n + j * n + i, lt_load_double(types[t], a, b * n * n + i * n + j));
            add_diagonal(types[t], a, 3, n, (double)n);
            p.op = LT_OP_CHOLESKY;
            each_row(&p, &a, check_cholesky);
            free(a);
        }
}

static void check_nan(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    (void)in;
    for (int64_t i = 0; i < lt_tensor_count(&p->out); i++)
        if (!isnan(out[i])) {
            LT_TEST_FAIL("%s: element %lld is %g, expected NaN", row, (long long)i, out[i]);
            return;
        }
}

LT_TEST(singular_input_gives_nan)
{
    for (size_t t = 0; t < LT_LEN(types); t++) {
        lt_dtype d = types[t];
        lt_problem_key p = matrix_key(LT_OP_INV, d, lt_shape2(3, 3), lt_shape2(3, 3));
        void *in[2] = { ops_alloc(&p.in[0]), ops_random_tensor(&p.in[0]) };
        each_row(&p, in, check_nan);
        p.op = LT_OP_CHOLESKY;
        each_row(&p, in, check_nan);
        p.op = LT_OP_SOLVE, p.n_in = 2, p.in[1] = p.in[0];
        each_row(&p, in, check_nan);
        lt_store_double(d, in[0], 4, NAN);
        lt_problem_key e = matrix_key(LT_OP_EIG, d, lt_shape2(3, 3), lt_shape2(2, 3));
        each_row(&e, in, check_nan);
        e.op = LT_OP_EIGH, e.out.shape = lt_shape1(12);
        each_row(&e, in, check_nan);
        e.op = LT_OP_SVD, e.out.shape = lt_shape1(21);
        each_row(&e, in, check_nan);
        free(in[0]), free(in[1]);
    }
}

/* ---- EIG: power sums of the eigenvalues are traces of powers; pairs are adjacent ----------------------- */
static void check_eig(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    int64_t n = p->in[0].shape.dim[1];
    double *a = calloc((size_t)(3 * n * n + 1), sizeof *a), *power = a + n * n, *next = power + n * n;
    for (int64_t b = 0; b < 2; b++, out += 2 * n) {
        for (int64_t i = 0; i < n * n; i++) a[i] = power[i] = get(p, in, 0, b * n * n + i);
        for (int k = 1; k <= 4; k++) {
            double trace = 0, size = 1;
            double complex sum = 0;
            for (int64_t i = 0; i < n; i++) {
                double complex w = out[i] + I * out[n + i], wk = w;
                for (int e = 1; e < k; e++) wk *= w;
                sum += wk;
                trace += power[i * n + i];
                size += cabs(wk) * cabs(wk);
            }
            near(row, "sum of eigenvalue powers", creal(sum), trace, 64 * tolerance(p->out.dtype, n) * size);
            near(row, "imaginary part of that sum", cimag(sum), 0, 64 * tolerance(p->out.dtype, n) * size);
            for (int64_t i = 0; i < n * n; i++) {
                next[i] = 0;
                for (int64_t l = 0; l < n; l++) next[i] += power[i / n * n + l] * a[l * n + i % n];
            }
            memcpy(power, next, (size_t)(n * n) * sizeof *power);
        }
        for (int64_t i = 0; i < n; i++) {
            if (out[n + i] == 0) continue;
            if (!(i + 1 < n && out[n + i] > 0 && out[i + 1] == out[i] && out[n + i + 1] == -out[n + i]))
                LT_TEST_FAIL("%s: eigenvalue %lld has no conjugate beside it", row, (long long)i);
            i++;
        }
    }
    free(a);
}

LT_TEST(eig)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t s = 0; s < LT_LEN(sizes); s++) {
            int64_t n = sizes[s];
            lt_problem_key p = matrix_key(LT_OP_EIG, types[t], lt_shape3(2, n, n), lt_shape3(2, 2, n));
            void *a = ops_random_tensor(&p.in[0]);
            each_row(&p, &a, check_eig);
            for (int64_t i = 0; i < n * n; i++) lt_store_double(types[t], a, i, i % n == (i / n + 1) % n); /* a cyclic shift */
            each_row(&p, &a, check_eig);
            free(a);
        }
}

/* EIG_GRAD against differences: each seed weighs all eigenvalues, or one, or one pair. The function
   sum_i g_i . w_i is compared through a weighting by value that does not depend on the order. */
LT_TEST(eig_grad_against_differences)
{
    enum { N = 6, SEEDS = 4 };
    lt_problem_key e = matrix_key(LT_OP_EIG, LT_F64, lt_shape2(N, N), lt_shape2(2, N));
    lt_problem_key p = { .op = LT_OP_EIG_GRAD, .n_in = 3, .attr = &ops_no_attr, .isa = lt_isa_best(), .out = ops_type(LT_F64, lt_shape3(SEEDS, N, N)),
                         .in = { e.in[0], e.out, ops_type(LT_F64, lt_shape3(SEEDS, 2, N)) } };
    double *m = ops_random_tensor(&e.in[0]), g[SEEDS][2][N] = { 0 };
    const lt_kernel_row *er[4], *gr[4];
    int n_eig = lt_kernel_candidates(&e, er, 4), n_grad = lt_kernel_candidates(&p, gr, 4);
    for (int row = 0; row < n_eig; row++) {
        double *w = ops_result(er[row], &e, (void *[]){ m });
        memset(g, 0, sizeof g);
        for (int i = 0; i < N; i++) g[0][0][i] = ops_random(), g[0][1][i] = ops_random();
        g[1][0][2] = 1, g[2][1][N - 1] = -2; /* seed 3 stays zero */
        for (int r = 0; r < n_grad; r++) {
            double *got = ops_result(gr[r], &p, (void *[]){ m, w, g });
            for (int at = 0; at < N * N; at++) {
                double h = 1e-6, keep = m[at], difference[SEEDS] = { 0 };
                for (int side = -1; side <= 1; side += 2) {
                    m[at] = keep + side * h;
                    double *moved = ops_result(er[row], &e, (void *[]){ m });
                    for (int i = 0; i < N; i++) { /* the eigenvalue nearest to w[i] */
                        int best = 0;
                        for (int j = 1; j < N; j++)
                            if (hypot(moved[j] - w[i], moved[N + j] - w[N + i]) < hypot(moved[best] - w[i], moved[N + best] - w[N + i])) best = j;
                        for (int s = 0; s < SEEDS; s++) difference[s] += side * (g[s][0][i] * moved[best] + g[s][1][i] * moved[N + best]) / (2 * h);
                    }
                    free(moved);
                }
                m[at] = keep;
                for (int s = 0; s < SEEDS; s++) near(gr[r]->name, "gradient", got[s * N * N + at], difference[s], 1e-6 * (1 + fabs(difference[s])));
            }
            free(got);
        }
        free(w);
    }
    free(m);
}

LT_TEST(eig_grad_in_single_precision_and_of_several_matrices)
{
    enum { N = 5 };
    for (size_t t = 0; t < LT_LEN(types); t++) {
        lt_problem_key e = matrix_key(LT_OP_EIG, types[t], lt_shape3(2, N, N), lt_shape3(2, 2, N));
        lt_problem_key p = { .op = LT_OP_EIG_GRAD, .n_in = 3, .attr = &ops_no_attr, .isa = lt_isa_best(), .out = ops_type(types[t], lt_shape4(3, 2, N, N)),
                             .in = { e.in[0], e.out, ops_type(types[t], lt_shape4(3, 2, 2, N)) } };
        void *m = ops_random_tensor(&e.in[0]), *g = ops_random_tensor(&p.in[2]);
        double *w = ops_result(ops_plain_row(&e), &e, (void *[]){ m });
        void *wt = ops_alloc(&e.out);
        for (int i = 0; i < 4 * N; i++) lt_store_double(types[t], wt, i, w[i]);
        const lt_kernel_row *row[4];
        int n = lt_kernel_candidates(&p, row, 4);
        double *want = ops_result(row[n - 1], &p, (void *[]){ m, wt, g });
        for (int r = 0; r < n; r++) {
            double *got = ops_result(row[r], &p, (void *[]){ m, wt, g });
            for (int i = 0; i < 6 * N * N; i++) near(row[r]->name, "gradient", got[i], want[i], types[t] == LT_F32 ? 2e-3 : 1e-9);
            free(got);
        }
        free(m), free(g), free(w), free(wt), free(want);
    }
}

/* ---- Fourier ------------------------------------------------------------------------------------------------ */
static void check_rfft2(const lt_problem_key *p, void *const *in, const double *out, const char *row)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t h = s->dim[1], w = s->dim[2], half = w / 2 + 1;
    double tol = 16 * ops_unit(p->out.dtype) * (double)(h * w) * (1 + log2((double)(h * w)));
    for (int64_t b = 0; b < s->dim[0]; b++)
        for (int64_t k = 0; k < h; k++)
            for (int64_t l = 0; l < half; l++) {
                double complex sum = 0;
                for (int64_t i = 0; i < h; i++)
                    for (int64_t j = 0; j < w; j++)
                        sum += get(p, in, 0, (b * h + i) * w + j) * cexp(-2 * M_PI * I * ((double)(i * k % h) / (double)h + (double)(j * l % w) / (double)w));
                const double *got = out + 2 * ((b * h + k) * half + l);
                near(row, "real part", got[0], creal(sum), tol);
                near(row, "imaginary part", got[1], cimag(sum), tol);
            }
}

LT_TEST(rfft2_and_its_inverse)
{
    static const int64_t shape[][3] = { { 1, 1, 1 }, { 2, 4, 8 }, { 3, 5, 7 }, { 2, 6, 9 }, { 1, 1, 13 }, { 1, 11, 1 }, { 1, 12, 10 }, { 2, 16, 15 } };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(shape); i++) {
            int64_t n = shape[i][0], h = shape[i][1], w = shape[i][2];
            lt_problem_key p = matrix_key(LT_OP_RFFT2, types[t], lt_shape3(n, h, w), lt_shape4(n, h, w / 2 + 1, 2));
            void *x = ops_random_tensor(&p.in[0]);
            each_row(&p, &x, check_rfft2);
            /* back: h w times the input, by every pair of rows */
            lt_attr attr = { .u.index.extent = w };
            lt_problem_key q = { .op = LT_OP_IRFFT2, .n_in = 1, .attr = &attr, .isa = lt_isa_best(), .in = { p.out }, .out = p.in[0] };
            const lt_kernel_row *fr[4], *br[4];
            int nf = lt_kernel_candidates(&p, fr, 4), nb = lt_kernel_candidates(&q, br, 4);
            for (int a = 0; a < nf; a++)
                for (int b = 0; b < nb; b++) {
                    double *spectrum = ops_result(fr[a], &p, &x);
                    void *typed = ops_alloc(&p.out);
                    for (int64_t j = 0; j < lt_tensor_count(&p.out); j++) lt_store_double(types[t], typed, j, spectrum[j]);
                    double *back = ops_result(br[b], &q, &typed);
                    for (int64_t j = 0; j < n * h * w; j++)
                        near(br[b]->name, "round trip", back[j] / (double)(h * w), lt_load_double(types[t], x, j), 40 * ops_unit(types[t]) * (1 + log2((double)(h * w))));
                    free(spectrum), free(typed), free(back);
                }
            free(x);
        }
}

/* A spectrum that is not Hermitian where it should be: every row must drop the same parts. */
LT_TEST(irfft2_rows_agree_on_any_spectrum)
{
    static const int64_t shape[][2] = { { 4, 8 }, { 5, 7 }, { 6, 9 }, { 1, 6 }, { 7, 1 } };
    for (size_t i = 0; i < LT_LEN(shape); i++) {
        int64_t h = shape[i][0], w = shape[i][1];
        lt_attr attr = { .u.index.extent = w };
        lt_problem_key q = { .op = LT_OP_IRFFT2, .n_in = 1, .attr = &attr, .in = { ops_type(LT_F64, lt_shape4(2, h, w / 2 + 1, 2)) }, .out = ops_type(LT_F64, lt_shape3(2, h, w)) };
        void *x = ops_random_tensor(&q.in[0]);
        double *want = ops_result(ops_plain_row(&q), &q, &x);
        const lt_kernel_row *row[4];
        int n = lt_kernel_candidates(&q, row, 4);
        for (int r = 0; r < n; r++) {
            double *got = ops_result(row[r], &q, &x);
            for (int64_t j = 0; j < 2 * h * w; j++) near(row[r]->name, "irfft2", got[j], want[j], 1e-12);
            free(got);
        }
        free(x), free(want);
    }
}

LT_TEST_MAIN()
