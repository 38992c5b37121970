/* The bodies of dense.h, for one instruction set (lt_isa_sources compiles this once for each). Eight lanes of partial sums, whatever the vector width, keep the order of every sum
   the same on all machines. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/dense.h"

/* Any address may be read and written as eight lanes; macros, since passing such vectors between
   functions would depend on the instruction set. */
typedef double lanes __attribute__((vector_size(64), aligned(8), may_alias));
#define LOAD(p) (*(const lanes *)(p))
#define STORE(p, v) (*(lanes *)(p) = (v))
#define TOTAL(v) ((((v)[0] + (v)[4]) + ((v)[2] + (v)[6])) + (((v)[1] + (v)[5]) + ((v)[3] + (v)[7])))

static double dot(int64_t n, const double *a, const double *b)
{
    lanes sum = { 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) sum += LOAD(a + i) * LOAD(b + i);
    for (int j = 0; i < n; i++, j++) sum[j] += a[i] * b[i];
    return TOTAL(sum);
}

static void axpy(int64_t n, double c, const double *a, double *y)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) STORE(y + i, LOAD(y + i) + c * LOAD(a + i));
    for (; i < n; i++) y[i] += c * a[i];
}

/* Row i of the triangle serves twice while it is in registers: as row i of H and as column i. */
static double row_twice(int64_t n, const double *row, const double *x, double xi, double *out)
{
    lanes sum = { 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        lanes r = LOAD(row + i);
        sum += r * LOAD(x + i);
        STORE(out + i, LOAD(out + i) + xi * r);
    }
    for (int j = 0; i < n; i++, j++) {
        sum[j] += row[i] * x[i];
        out[i] += xi * row[i];
    }
    return TOTAL(sum);
}

/* The same for two vectors at once: the row is loaded half as often. */
static void row_twice_pair(int64_t n, const double *row, const double *const *b, int64_t at, double *const *out, double *sum)
{
    const double *x = b[0], *y = b[1];
    double *p = out[0], *q = out[1], xi = x[at], yi = y[at];
    lanes s = { 0 }, t = { 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        lanes r = LOAD(row + i);
        s += r * LOAD(x + i);
        t += r * LOAD(y + i);
        STORE(p + i, LOAD(p + i) + xi * r);
        STORE(q + i, LOAD(q + i) + yi * r);
    }
    for (int j = 0; i < n; i++, j++) {
        s[j] += row[i] * x[i];
        t[j] += row[i] * y[i];
        p[i] += xi * row[i];
        q[i] += yi * row[i];
    }
    sum[0] = TOTAL(s);
    sum[1] = TOTAL(t);
}

static void symmetric_rows(const double *lower, int64_t first, int64_t last, int64_t k, const double *const *b,
                           double *const *out)
{
    for (int64_t i = first; i < last; i++) {
        const double *row = lower + i * (i + 1) / 2;
        double sum[2];
        int64_t j = 0;
        for (; j + 2 <= k; j += 2) {
            row_twice_pair(i, row, b + j, i, out + j, sum);
            out[j][i] += sum[0] + row[i] * b[j][i];
            out[j + 1][i] += sum[1] + row[i] * b[j + 1][i];
        }
        if (j < k) out[j][i] += row_twice(i, row, b[j], b[j][i], out[j]) + row[i] * b[j][i];
    }
}

static void rank2_rows(const double *s, const double *w, int64_t first, int64_t last, double *lower)
{
    for (int64_t i = first; i < last; i++) {
        double *row = lower + i * (i + 1) / 2;
        double si = s[i], wi = w[i];
        int64_t j = 0;
        for (; j + 8 <= i + 1; j += 8) STORE(row + j, LOAD(row + j) + (si * LOAD(w + j) + wi * LOAD(s + j)));
        for (; j <= i; j++) row[j] += si * w[j] + wi * s[j];
    }
}

static void combine(int64_t count, const double *value, const int32_t *row, const double *rows, double *sum)
{
    lanes s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (int64_t e = 0; e < count; e++) {
        const double *r = rows + (int64_t)row[e] * LT_DENSE_ROW;
        double v = value[e];
        s0 += v * LOAD(r), s1 += v * LOAD(r + 8), s2 += v * LOAD(r + 16), s3 += v * LOAD(r + 24);
        s4 += v * LOAD(r + 32), s5 += v * LOAD(r + 40), s6 += v * LOAD(r + 48), s7 += v * LOAD(r + 56);
    }
    STORE(sum, s0), STORE(sum + 8, s1), STORE(sum + 16, s2), STORE(sum + 24, s3);
    STORE(sum + 32, s4), STORE(sum + 40, s5), STORE(sum + 48, s6), STORE(sum + 56, s7);
}

const lt_dense LT_ISA_NAME(lt_dense) = { dot, axpy, symmetric_rows, rank2_rows, combine };
