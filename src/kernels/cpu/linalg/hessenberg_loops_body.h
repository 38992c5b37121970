/* Applying a reflector to rows and to columns; lt_isa_sources compiles this once per
   instruction set. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/linalg/hessenberg_qr.h"

static void rows(int64_t count, double *restrict h, int64_t step, const lt_reflector *r)
{
    const double v2 = r->v2, v3 = r->v3, t1 = r->t1, t2 = r->t2, t3 = r->t3;
    for (int64_t j = 0; j < count; j++, h += step) {
        double a = h[0], b = h[1], c = h[2], sum = a + v2 * b + v3 * c;
        h[0] = a - sum * t1;
        h[1] = b - sum * t2;
        h[2] = c - sum * t3;
    }
}

static void columns(int64_t count, double *h, int64_t step, const lt_reflector *r)
{
    const double v2 = r->v2, v3 = r->v3, t1 = r->t1, t2 = r->t2, t3 = r->t3;
    double *restrict a = h, *restrict b = h + step, *restrict c = b + step;
    for (int64_t i = 0; i < count; i++) {
        double sum = a[i] + v2 * b[i] + v3 * c[i];
        a[i] -= sum * t1;
        b[i] -= sum * t2;
        c[i] -= sum * t3;
    }
}

/* What a reflector does to three numbers in a row, and a second one to the last two of them and the next:
   every number is loaded and stored once for both. */
static void rows_twice(int64_t count, double *restrict h, int64_t step, const lt_reflector r[2])
{
    const lt_reflector p = r[0], q = r[1];
    for (int64_t j = 0; j < count; j++, h += step) {
        double sum = h[0] + p.v2 * h[1] + p.v3 * h[2], b = h[1] - sum * p.t2, c = h[2] - sum * p.t3, d = h[3];
        h[0] -= sum * p.t1;
        sum = b + q.v2 * c + q.v3 * d;
        h[1] = b - sum * q.t1;
        h[2] = c - sum * q.t2;
        h[3] = d - sum * q.t3;
    }
}

static void columns_twice(int64_t count, double *h, int64_t step, const lt_reflector r[2])
{
    const lt_reflector p = r[0], q = r[1];
    double *restrict a = h, *restrict b = a + step, *restrict c = b + step, *restrict d = c + step;
    for (int64_t i = 0; i < count; i++) {
        double sum = a[i] + p.v2 * b[i] + p.v3 * c[i], y = b[i] - sum * p.t2, z = c[i] - sum * p.t3;
        a[i] -= sum * p.t1;
        sum = y + q.v2 * z + q.v3 * d[i];
        b[i] = y - sum * q.t1;
        c[i] = z - sum * q.t2;
        d[i] -= sum * q.t3;
    }
}

const lt_hessenberg_loops LT_ISA_NAME(lt_hessenberg) = { rows, columns, rows_twice, columns_twice };
