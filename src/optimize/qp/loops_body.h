/* Bodies of the QP solver's inner loops: lt_isa_sources compiles this once per instruction set.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/loops.h"

#include <math.h>

static double dot(int n, const double *a, const double *b)
{
    double part[8] = { 0 };
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += a[i + j] * b[i + j];
    for (int j = 0; i < n; i++, j++) part[j] += a[i] * b[i];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* y += f[0] a + f[1] b + f[2] c + f[3] d */
static void add_four(int n, const double f[4], const double *restrict a, const double *restrict b, const double *restrict c,
                     const double *restrict d, double *restrict y)
{
    double f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3];
    for (int i = 0; i < n; i++) y[i] += (f0 * a[i] + f1 * b[i]) + (f2 * c[i] + f3 * d[i]);
}

static void add_one(int n, double f, const double *restrict a, double *restrict y)
{
    for (int i = 0; i < n; i++) y[i] += f * a[i];
}

static void add_columns(int rows, int count, const int *column, const double *coef, const double *q, size_t stride, double *out)
{
    int k = 0;
    for (; k + 4 <= count; k += 4)
        add_four(rows, coef + k, q + (size_t)column[k] * stride, q + (size_t)column[k + 1] * stride,
                 q + (size_t)column[k + 2] * stride, q + (size_t)column[k + 3] * stride, out);
    for (; k < count; k++) add_one(rows, coef[k], q + (size_t)column[k] * stride, out);
}

static void forward(int n, const double *l, size_t stride, const double *inverse, double *b)
{
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        const double *a0 = l + (size_t)j * stride, *a1 = a0 + stride, *a2 = a1 + stride, *a3 = a2 + stride;
        double x0 = b[j] * inverse[j];
        double x1 = (b[j + 1] - a0[j + 1] * x0) * inverse[j + 1];
        double x2 = (b[j + 2] - a0[j + 2] * x0 - a1[j + 2] * x1) * inverse[j + 2];
        double x3 = (b[j + 3] - a0[j + 3] * x0 - a1[j + 3] * x1 - a2[j + 3] * x2) * inverse[j + 3];
        b[j] = x0, b[j + 1] = x1, b[j + 2] = x2, b[j + 3] = x3;
        add_four(n - j - 4, (double[4]){ -x0, -x1, -x2, -x3 }, a0 + j + 4, a1 + j + 4, a2 + j + 4, a3 + j + 4, b + j + 4);
    }
    for (; j < n; j++) {
        const double *a = l + (size_t)j * stride;
        b[j] *= inverse[j];
        for (int i = j + 1; i < n; i++) b[i] -= b[j] * a[i];
    }
}

static void backward(int n, const double *l, size_t stride, const double *inverse, double *b)
{
    int top = n % 4; /* the first `top` columns are left for the end, so that blocks of four fit */
    for (int j = n - 4; j >= top; j -= 4) {
        const double *a0 = l + (size_t)j * stride, *a1 = a0 + stride, *a2 = a1 + stride, *a3 = a2 + stride;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int rest = n - j - 4;
        if (rest > 0) {
            s0 = dot(rest, a0 + j + 4, b + j + 4), s1 = dot(rest, a1 + j + 4, b + j + 4);
            s2 = dot(rest, a2 + j + 4, b + j + 4), s3 = dot(rest, a3 + j + 4, b + j + 4);
        }
        double x3 = (b[j + 3] - s3) * inverse[j + 3];
        double x2 = (b[j + 2] - s2 - a2[j + 3] * x3) * inverse[j + 2];
        double x1 = (b[j + 1] - s1 - a1[j + 2] * x2 - a1[j + 3] * x3) * inverse[j + 1];
        double x0 = (b[j] - s0 - a0[j + 1] * x1 - a0[j + 2] * x2 - a0[j + 3] * x3) * inverse[j];
        b[j] = x0, b[j + 1] = x1, b[j + 2] = x2, b[j + 3] = x3;
    }
    for (int j = top - 1; j >= 0; j--) {
        const double *a = l + (size_t)j * stride;
        b[j] = (b[j] - dot(n - j - 1, a + j + 1, b + j + 1)) * inverse[j];
    }
}

static void rotate(int n, double c, double s, const double *restrict from, double *restrict to, double *restrict w)
{
    for (int i = 0; i < n; i++) {
        double a = from[i], b = w[i];
        to[i] = c * a + s * b;
        w[i] = c * b - s * a;
    }
}

/* Eight products of two columns of x with four: enough independent sums to keep the processor busy. */
static void gram_block(int rows, const double *x0, const double *x1, const double *y, size_t y_stride, double out[2][4])
{
    double part[2][4][4] = { 0 };
    const double *y0 = y, *y1 = y + y_stride, *y2 = y1 + y_stride, *y3 = y2 + y_stride;
    int i = 0;
    for (; i + 4 <= rows; i += 4)
        for (int k = 0; k < 4; k++) {
            double u = x0[i + k], v = x1[i + k];
            part[0][0][k] += u * y0[i + k], part[1][0][k] += v * y0[i + k];
            part[0][1][k] += u * y1[i + k], part[1][1][k] += v * y1[i + k];
            part[0][2][k] += u * y2[i + k], part[1][2][k] += v * y2[i + k];
            part[0][3][k] += u * y3[i + k], part[1][3][k] += v * y3[i + k];
        }
    for (; i < rows; i++) {
        double v[4] = { y0[i], y1[i], y2[i], y3[i] };
        for (int b = 0; b < 4; b++) part[0][b][0] += x0[i] * v[b], part[1][b][0] += x1[i] * v[b];
    }
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 4; b++) out[a][b] = (part[a][b][0] + part[a][b][2]) + (part[a][b][1] + part[a][b][3]);
}

static void subtract_gram(int rows, int count, const double *x, size_t x_stride, double *s, size_t s_stride)
{
    for (int j = 0; j < count; j += 4)
        for (int i = j; i < count; i += 2) {
            if (j + 4 <= count && i + 2 <= count) {
                double block[2][4];
                gram_block(rows, x + (size_t)i * x_stride, x + (size_t)(i + 1) * x_stride, x + (size_t)j * x_stride, x_stride, block);
                for (int a = 0; a < 2; a++)
                    for (int b = 0; b < 4; b++)
                        if (i + a >= j + b) s[(size_t)(j + b) * s_stride + (size_t)(i + a)] -= block[a][b];
                continue;
            }
            for (int a = i; a < i + 2 && a < count; a++)
                for (int b = j; b < j + 4 && b <= a; b++)
                    s[(size_t)b * s_stride + (size_t)a] -= dot(rows, x + (size_t)a * x_stride, x + (size_t)b * x_stride);
        }
}

/* Left looking, one column at a time over blocks of earlier columns. */
static int cholesky(int n, double *a, size_t stride, double *inverse)
{
    for (int j = 0; j < n; j++) {
        double *column = a + (size_t)j * stride;
        int k = 0;
        for (; k + 4 <= j; k += 4) {
            const double *b = a + (size_t)k * stride;
            double f[4] = { -b[j], -b[stride + (size_t)j], -b[2 * stride + (size_t)j], -b[3 * stride + (size_t)j] };
            add_four(n - j, f, b + j, b + stride + j, b + 2 * stride + j, b + 3 * stride + j, column + j);
        }
        for (; k < j; k++) add_one(n - j, -a[(size_t)k * stride + (size_t)j], a + (size_t)k * stride + j, column + j);
        if (!(column[j] > 0) || !isfinite(column[j])) return j + 1;
        column[j] = sqrt(column[j]);
        inverse[j] = 1 / column[j];
        for (int i = j + 1; i < n; i++) column[i] *= inverse[j];
    }
    return 0;
}

const lt_qp_loops LT_ISA_NAME(lt_qp_loops) = { dot, add_columns, forward, backward, rotate, subtract_gram, cholesky };
