/* The example problems: data recipes, values, gradients. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_problems.h"

#include "lathe/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(int64_t n) { return calloc((size_t)n + 1, sizeof(double)); }

static example *make(const char *name, int64_t n, int64_t p, int64_t q, lt_problem_fn fn)
{
    example *e = calloc(1, sizeof *e);
    *e = (example){ .name = name, .n = n, .p = p, .q = q, .fn = fn, .x0 = numbers(n), .best = NAN };
    return e;
}

void example_free(example *e)
{
    if (!e) return;
    free(e->x0);
    free(e->A);
    free(e->b);
    free(e);
}

static lt_status counted(void *ctx, const double *x, const lt_outputs *out)
{
    example *e = ctx;
    e->n_values += out->f != NULL;
    e->n_gradients += out->grad_f != NULL;
    return e->fn(e, x, out);
}

lt_problem *example_problem(example *e)
{
    lt_problem *p = NULL;
    return lt_problem_from_function(e->n, e->p, e->q, counted, e, &p) ? NULL : p;
}

static double sign0(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

static double *normals_f32(lt_mt *m, int64_t n)
{
    float *f = malloc((size_t)n * sizeof *f);
    double *d = numbers(n);
    lt_mt_normal_f32(m, n, f);
    for (int64_t i = 0; i < n; i++) d[i] = f[i];
    free(f);
    return d;
}

static void symmetrise(int64_t n, double *A)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) A[i * n + j] = A[j * n + i] = (A[i * n + j] + A[j * n + i]) / 2;
}

/* ---- A1: min 8 |x1^2 - x2| + (1 - x1)^2, sqrt2 x1 <= 1, 2 x2 <= 1 ------------------------------------ */
static lt_status rosenbrock(void *ctx, const double *x, const lt_outputs *o)
{
    (void)ctx;
    double kink = x[0] * x[0] - x[1], s = sign0(kink);
    if (o->f) *o->f = 8 * fabs(kink) + (1 - x[0]) * (1 - x[0]);
    if (o->grad_f) {
        o->grad_f[0] = 16 * s * x[0] - 2 * (1 - x[0]);
        o->grad_f[1] = -8 * s;
    }
    if (o->ci) {
        o->ci[0] = sqrt(2) * x[0] - 1;
        o->ci[1] = 2 * x[1] - 1;
    }
    if (o->grad_ci) memcpy(o->grad_ci, (double[]){ sqrt(2), 0, 0, 2 }, 4 * sizeof(double));
    return LT_OK;
}

example *example_rosenbrock(double x1, double x2)
{
    example *e = make("A1", 2, 2, 0, rosenbrock);
    e->x0[0] = x1;
    e->x0[1] = x2;
    e->best = (1 - 1 / sqrt(2)) * (1 - 1 / sqrt(2));
    return e;
}

/* ---- A3: min ||Y'q||_1 / m, q'q = 1; Y is 30 x 9000 ---------------------------------------------------- */
static lt_status dictionary(void *ctx, const double *x, const lt_outputs *o)
{
    example *e = ctx;
    int64_t n = e->n, m = e->m;
    double *t = e->b;
    memset(t, 0, (size_t)m * sizeof *t);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) t[j] += x[i] * e->A[i * m + j];
    double sum = 0, square = 0;
    for (int64_t j = 0; j < m; j++) sum += fabs(t[j]);
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    if (o->f) *o->f = sum / (double)m;
    if (o->ce) *o->ce = square - 1;
    for (int64_t j = 0; o->grad_f && j < m; j++) t[j] = sign0(t[j]);
    for (int64_t i = 0; o->grad_f && i < n; i++) {
        double g = 0;
        for (int64_t j = 0; j < m; j++) g += e->A[i * m + j] * t[j];
        o->grad_f[i] = g / (double)m;
    }
    for (int64_t i = 0; o->grad_ce && i < n; i++) o->grad_ce[i] = 2 * x[i];
    return LT_OK;
}

example *example_dictionary(void)
{
    example *e = make("A3", 30, 0, 1, dictionary);
    int64_t n = 30, m = e->m = 9000;
    lt_mt mt;
    e->A = numbers(n * m);
    e->b = numbers(n * m);
    lt_mt_seed(&mt, 1);
    lt_mt_normal_f64(&mt, n * m, e->A);
    lt_mt_normal_f64(&mt, n * m, e->b);
    for (int64_t i = 0; i < n * m; i++) e->A[i] *= e->b[i] <= 0.3;
    lt_mt_seed(&mt, 1);
    lt_mt_normal_f64(&mt, n, e->x0);
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += e->x0[i] * e->x0[i];
    for (int64_t i = 0; i < n; i++) e->x0[i] /= sqrt(square);
    return e;
}

/* ---- B1: three inequalities, nothing to minimise ----------------------------------------------------------- */
static lt_status feasibility(void *ctx, const double *x, const lt_outputs *o)
{
    double c = ((example *)ctx)->constant, X = x[0], Y = x[1], a = Y + X * X;
    if (o->f) *o->f = 0;
    if (o->grad_f) o->grad_f[0] = o->grad_f[1] = 0;
    if (o->ci) {
        o->ci[0] = a * a + 0.1 * Y * Y - 1;
        o->ci[1] = Y - exp(-X) + c;
        o->ci[2] = Y - X + 4;
    }
    if (o->grad_ci) memcpy(o->grad_ci, (double[]){ 4 * a * X, 2 * a + 0.2 * Y, exp(-X), 1, -1, 1 }, 6 * sizeof(double));
    return LT_OK;
}

example *example_feasibility(double constant)
{
    example *e = make("B1", 2, 3, 0, feasibility);
    e->constant = constant;
    return e;
}

/* ---- B2: min sign x'Ax, x'x = 1 ------------------------------------------------------------------------------- */
static lt_status sphere(void *ctx, const double *x, const lt_outputs *o)
{
    example *e = ctx;
    int64_t n = e->n;
    double f = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = 0;
        for (int64_t j = 0; j < n; j++) t += e->A[i * n + j] * x[j];
        f += x[i] * t;
        square += x[i] * x[i];
        if (o->grad_f) o->grad_f[i] = 2 * e->constant * t;
        if (o->grad_ce) o->grad_ce[i] = 2 * x[i];
    }
    if (o->f) *o->f = e->constant * f;
    if (o->ce) *o->ce = square - 1;
    return LT_OK;
}

example *example_sphere(int64_t n, double sign)
{
    example *e = make("B2", n, 0, 1, sphere);
    lt_mt mt;
    lt_mt_seed(&mt, 0);
    e->constant = sign;
    e->A = normals_f32(&mt, n * n);
    symmetrise(n, e->A);
    free(e->x0);
    e->x0 = normals_f32(&mt, n);
    return e;
}

/* ---- B3: min -trace(V'AV), V'V = I ------------------------------------------------------------------------------ */
static lt_status trace(void *ctx, const double *V, const lt_outputs *o)
{
    example *e = ctx;
    int64_t n = 5, d = e->d;
    double f = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++) {
            double t = 0;
            for (int64_t j = 0; j < n; j++) t += e->A[i * n + j] * V[j * d + c];
            f += V[i * d + c] * t;
            if (o->grad_f) o->grad_f[i * d + c] = -2 * t;
        }
    if (o->f) *o->f = -f;
    for (int64_t a = 0; a < d; a++)
        for (int64_t b = 0; b < d; b++) {
            double dot = 0, *g = o->grad_ce ? o->grad_ce + (a * d + b) * n * d : NULL;
            if (g) memset(g, 0, (size_t)(n * d) * sizeof *g);
            for (int64_t i = 0; i < n; i++) {
                dot += V[i * d + a] * V[i * d + b];
                if (!g) continue;
                g[i * d + a] += V[i * d + b];
                g[i * d + b] += V[i * d + a];
            }
            if (o->ce) o->ce[a * d + b] = dot - (a == b);
        }
    return LT_OK;
}

example *example_trace(int64_t d)
{
    example *e = make("B3", 5 * d, 0, d * d, trace);
    lt_mt mt;
    lt_mt_seed(&mt, 0);
    e->d = d;
    e->A = normals_f32(&mt, 25);
    symmetrise(5, e->A);
    free(e->x0);
    e->x0 = normals_f32(&mt, 5 * d);
    e->best = d == 1 ? -3.04324830604 : -3.93228070919;
    return e;
}

/* ---- C1: min ||M||_nuc + 0.05 ||S||_1, M + S = Y; M and S are 3 x 4 -------------------------------------------------- */
/* Eigenvectors of the 3 x 3 matrix M M' by Jacobi rotations; gives U, and sigma^2. */
static void gram_vectors(const double *M, double U[3][3], double s2[3])
{
    double G[3][3] = { { 0 } };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            U[i][j] = i == j;
            for (int k = 0; k < 4; k++) G[i][j] += M[i * 4 + k] * M[j * 4 + k];
        }
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(G[p][q]) < 1e-300) continue;
                double theta = (G[q][q] - G[p][p]) / (2 * G[p][q]);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    double a = G[k][p], b = G[k][q];
                    G[k][p] = c * a - s * b, G[k][q] = s * a + c * b;
                }
                for (int k = 0; k < 3; k++) {
                    double a = G[p][k], b = G[q][k];
                    G[p][k] = c * a - s * b, G[q][k] = s * a + c * b;
                }
                for (int k = 0; k < 3; k++) {
                    double a = U[k][p], b = U[k][q];
                    U[k][p] = c * a - s * b, U[k][q] = s * a + c * b;
                }
            }
    for (int i = 0; i < 3; i++) s2[i] = G[i][i] > 0 ? G[i][i] : 0;
}

/* Sum of singular values; gradient U V' over those that are not zero. One-sided, so that small
   singular values keep their digits. */
static double nuclear(const double *M, double *gradient)
{
    double U[3][3], s2[3], sum = 0, rows[3][4], sigma[3], most = 0;
    gram_vectors(M, U, s2);
    for (int i = 0; i < 3; i++) {
        sigma[i] = 0;
        for (int k = 0; k < 4; k++) {
            rows[i][k] = U[0][i] * M[k] + U[1][i] * M[4 + k] + U[2][i] * M[8 + k]; /* sigma_i v_i' */
            sigma[i] += rows[i][k] * rows[i][k];
        }
        sigma[i] = sqrt(sigma[i]);
        sum += sigma[i];
        most = fmax(most, sigma[i]);
    }
    if (gradient) memset(gradient, 0, 12 * sizeof *gradient);
    for (int i = 0; gradient && i < 3; i++)
        for (int j = 0; sigma[i] > 4 * 2.2e-16 * most && j < 12; j++) gradient[j] += U[j / 4][i] * rows[i][j % 4] / sigma[i];
    return sum;
}

static lt_status robust_pca(void *ctx, const double *x, const lt_outputs *o)
{
    example *e = ctx;
    const double *S = x + 12;
    double l1 = 0;
    for (int i = 0; i < 12; i++) l1 += fabs(S[i]);
    if (o->f) *o->f = nuclear(x, NULL) + 0.05 * l1;
    if (o->grad_f) {
        nuclear(x, o->grad_f);
        for (int i = 0; i < 12; i++) o->grad_f[12 + i] = 0.05 * sign0(S[i]);
    }
    for (int i = 0; o->ce && i < 12; i++) o->ce[i] = x[i] + S[i] - e->b[i];
    for (int i = 0; o->grad_ce && i < 12; i++) {
        memset(o->grad_ce + i * 24, 0, 24 * sizeof(double));
        o->grad_ce[i * 24 + i] = o->grad_ce[i * 24 + 12 + i] = 1;
    }
    return LT_OK;
}

example *example_robust_pca(void)
{
    example *e = make("C1", 24, 0, 12, robust_pca);
    lt_mt mt;
    lt_mt_seed(&mt, 1);
    e->b = normals_f32(&mt, 12);
    for (int i = 0; i < 24; i++) e->x0[i] = 0.2;
    e->best = 0;
    for (int i = 0; i < 12; i++) e->best += 0.05 * fabs(e->b[i]);
    return e;
}

/* ---- C2: min ||x - b||^2 + 0.5 sum |x_{i+1} - x_i| -------------------------------------------------------------------- */
static lt_status total_variation(void *ctx, const double *x, const lt_outputs *o)
{
    example *e = ctx;
    double f = 0;
    for (int64_t i = 0; i < e->n; i++) {
        f += (x[i] - e->b[i]) * (x[i] - e->b[i]);
        if (o->grad_f) o->grad_f[i] = 2 * (x[i] - e->b[i]);
    }
    for (int64_t i = 0; i + 1 < e->n; i++) {
        double d = x[i + 1] - x[i];
        f += 0.5 * fabs(d);
        if (!o->grad_f) continue;
        o->grad_f[i] -= 0.5 * sign0(d);
        o->grad_f[i + 1] += 0.5 * sign0(d);
    }
    if (o->f) *o->f = f;
    return LT_OK;
}

example *example_total_variation(void)
{
    example *e = make("C2", 80, 0, 0, total_variation);
    float u[80];
    lt_mt mt;
    lt_mt_seed(&mt, 1);
    lt_mt_uniform_f32(&mt, 80, u);
    e->b = numbers(80);
    for (int i = 0; i < 80; i++) {
        e->b[i] = u[i];
        e->x0[i] = 1;
    }
    e->best = 5.07795525617;
    return e;
}

/* ---- C3: sum log(1 + exp(-y_i x_i'w)) + ||w||_1 / C, labels 0 and 1 ------------------------------------------------------ */
static lt_status logistic(void *ctx, const double *w, const lt_outputs *o)
{
    example *e = ctx;
    double f = 0;
    for (int j = 0; j < 4; j++) {
        f += fabs(w[j]) / e->constant;
        if (o->grad_f) o->grad_f[j] = sign0(w[j]) / e->constant;
    }
    for (int i = 0; i < 100; i++) {
        double y = i >= 50, t = 0;
        const double *row = e->A + 4 * i;
        for (int j = 0; j < 4; j++) t -= y * row[j] * w[j];
        f += t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
        double slope = t > 0 ? 1 / (1 + exp(-t)) : exp(t) / (1 + exp(t));
        for (int j = 0; o->grad_f && j < 4; j++) o->grad_f[j] -= slope * y * row[j];
    }
    if (o->f) *o->f = f;
    return LT_OK;
}

extern const char lt_text_iris100_csv[]; /* the library's own copy, for its examples */

example *example_logistic(double C)
{
    example *e = make("C3", 4, 0, 0, logistic);
    e->constant = C;
    e->A = numbers(400);
    const char *at = strchr(lt_text_iris100_csv, '\n');
    for (int i = 0; i < 400; i++) {
        char *end;
        e->A[i] = strtod(at + 1, &end) / 7.0;
        at = i % 4 == 3 ? strchr(end, '\n') : end;
    }
    return e;
}
