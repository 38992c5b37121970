/* Francis's double-shift QR iteration, eigenvalues only: each sweep chases a 3 x 3 bulge down the active
   block, which shrinks from below as subdiagonal entries vanish. Deflation by the criterion of Ahues and
   Tisseur, exceptional shifts after ten and twenty sweeps without one: as LAPACK's small iteration does it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/linalg/hessenberg_qr.h"
#include "kernels/cpu/vec/vec.h"

#include <float.h>
#include <math.h>

typedef struct iteration {
    const lt_hessenberg_loops *loops;
    int64_t n, first, last;           /* the active block: rows first..last */
    double *h;
    double  tiny;
    int64_t since;                    /* sweeps since an eigenvalue was found */
} iteration;

typedef struct shifts { double real, other, imaginary; } shifts; /* real + i imaginary and its conjugate, or two real */

static double *entry(const iteration *s, int64_t i, int64_t j) { return s->h + i + j * s->n; }
static double at(const iteration *s, int64_t i, int64_t j) { return *entry(s, i, j); }

static const lt_hessenberg_loops *best_loops(void)
{
#if LT_VEC_X86
    switch (lt_isa_best()) {
    case LT_ISA_AVX512: return &lt_hessenberg_avx512;
    case LT_ISA_AVX2: return &lt_hessenberg_avx2;
    default: break;
    }
#endif
    return &lt_hessenberg_plain;
}

/* Whether the entry left of (k, k) may be called zero. */
static bool is_negligible(const iteration *s, int64_t k)
{
    double sub = fabs(at(s, k, k - 1)), up = fabs(at(s, k - 1, k)), low = fabs(at(s, k, k));
    if (sub <= s->tiny) return true;
    double size = fabs(at(s, k - 1, k - 1)) + low, apart = fabs(at(s, k - 1, k - 1) - at(s, k, k));
    if (size == 0) {
        if (k >= 2) size += fabs(at(s, k - 1, k - 2));
        if (k + 1 < s->n) size += fabs(at(s, k + 1, k));
    }
    if (sub > DBL_EPSILON * size) return false;
    double sum = fmax(low, apart) + fmax(sub, up);
    double limit = DBL_EPSILON * (fmin(low, apart) * (fmax(low, apart) / sum));
    return fmin(sub, up) * (fmax(sub, up) / sum) <= fmax(limit, s->tiny);
}

static void find_block(iteration *s)
{
    int64_t k = s->last;
    while (k > 0 && !is_negligible(s, k)) k--;
    if (k > 0) *entry(s, k, k - 1) = 0;
    s->first = k;
}

/* Both shifts are the eigenvalues of the last 2 x 2 block; when they are real, the one nearer to the corner
   serves twice. */
static shifts choose_shifts(const iteration *s)
{
    int64_t i = s->last, top = s->first;
    double a = at(s, i - 1, i - 1), b = at(s, i - 1, i), c = at(s, i, i - 1), d = at(s, i, i);
    if (s->since % 10 == 0) {
        bool low = s->since % 20 == 0;
        double size = low ? fabs(c) + fabs(at(s, i - 1, i - 2)) : fabs(at(s, top + 1, top)) + fabs(at(s, top + 2, top + 1));
        a = 0.75 * size + (low ? d : at(s, top, top));
        b = -0.4375 * size;
        c = size;
        d = a;
    }
    double size = fabs(a) + fabs(b) + fabs(c) + fabs(d);
    if (size == 0) return (shifts){ 0 };
    a /= size, b /= size, c /= size, d /= size;
    double mean = (a + d) / 2, det = (a - mean) * (d - mean) - b * c, root = sqrt(fabs(det));
    if (det >= 0) return (shifts){ mean * size, mean * size, root * size };
    double nearer = fabs(mean + root - d) <= fabs(mean - root - d) ? mean + root : mean - root;
    return (shifts){ nearer * size, nearer * size, 0 };
}

/* The sweep may begin below two small subdiagonal entries in a row. v is the first column of
   (H - shift)(H - other shift), scaled. */
static int64_t find_start(const iteration *s, shifts z, double v[3])
{
    for (int64_t m = s->last - 2;; m--) {
        double h = at(s, m, m), sub = at(s, m + 1, m), size = fabs(h - z.other) + fabs(z.imaginary) + fabs(sub);
        v[0] = sub / size * at(s, m, m + 1) + (h - z.real) * ((h - z.other) / size) + z.imaginary * (z.imaginary / size);
        v[1] = sub / size * (h + at(s, m + 1, m + 1) - z.real - z.other);
        v[2] = sub / size * at(s, m + 2, m + 1);
        double sum = fabs(v[0]) + fabs(v[1]) + fabs(v[2]);
        for (int e = 0; e < 3; e++) v[e] /= sum;
        if (m == s->first) return m;
        double around = fabs(at(s, m - 1, m - 1)) + fabs(h) + fabs(at(s, m + 1, m + 1));
        if (fabs(at(s, m, m - 1)) * (fabs(v[1]) + fabs(v[2])) <= DBL_EPSILON * fabs(v[0]) * around) return m;
    }
}

/* The reflector that takes v to (beta, 0, 0). */
static lt_reflector make_reflector(const double v[3], double *beta)
{
    double tail = v[1] * v[1] + v[2] * v[2];
    *beta = v[0];
    if (tail == 0) return (lt_reflector){ 0 };
    *beta = -copysign(sqrt(v[0] * v[0] + tail), v[0]);
    double t = (*beta - v[0]) / *beta, v2 = v[1] / (v[0] - *beta), v3 = v[2] / (v[0] - *beta);
    return (lt_reflector){ v2, v3, t, t * v2, t * v3 };
}

/* The last reflector of a sweep has two rows and columns left. */
static void apply_pair(const iteration *s, int64_t k, const lt_reflector *r)
{
    for (int64_t j = k; j <= s->last; j++) {
        double *a = entry(s, k, j), sum = a[0] + r->v2 * a[1];
        a[0] -= sum * r->t1;
        a[1] -= sum * r->t2;
    }
    for (int64_t i = s->first; i <= s->last; i++) {
        double *a = entry(s, i, k), *b = a + s->n, sum = *a + r->v2 * *b;
        *a -= sum * r->t1;
        *b -= sum * r->t2;
    }
}

/* The reflector of step k: from v at the beginning of the sweep, then from the bulge in the column before,
   which it removes. */
static lt_reflector next_reflector(const iteration *s, int64_t k, int64_t begin, double v[3])
{
    bool pair = k + 1 == s->last;
    double beta;
    if (k > begin) {
        for (int e = 0; e < 2; e++) v[e] = at(s, k + e, k - 1);
        v[2] = pair ? 0 : at(s, k + 2, k - 1);
    }
    lt_reflector r = make_reflector(v, &beta);
    if (k > begin) {
        *entry(s, k, k - 1) = beta;
        *entry(s, k + 1, k - 1) = 0;
        if (!pair) *entry(s, k + 2, k - 1) = 0;
    } else if (begin > s->first) {
        *entry(s, k, k - 1) *= 1 - r.t1; /* what the reflector does to the entries left of it */
    }
    return r;
}

static void apply_one(const iteration *s, int64_t k, const lt_reflector *r)
{
    int64_t below = k + 3 < s->last ? k + 3 : s->last;
    s->loops->rows(s->last - k + 1, entry(s, k, k), s->n, r);
    s->loops->columns(below - s->first + 1, entry(s, s->first, k), s->n, r);
}

/* Steps k and k + 1. The second reflector depends on what the first does near the diagonal only; all that
   lies further off gets both in one pass. */
static void apply_two(const iteration *s, int64_t k, int64_t begin, double v[3], lt_reflector r[2])
{
    int64_t below = k + 4 < s->last ? k + 4 : s->last;
    s->loops->rows(4, entry(s, k, k), s->n, &r[0]);
    s->loops->columns(4, entry(s, k, k), s->n, &r[0]);
    r[1] = next_reflector(s, k + 1, begin, v);
    s->loops->rows(3, entry(s, k + 1, k + 1), s->n, &r[1]);
    s->loops->columns(below - k + 1, entry(s, k, k + 1), s->n, &r[1]);
    if (k + 4 <= s->last) s->loops->rows_twice(s->last - k - 3, entry(s, k, k + 4), s->n, r);
    s->loops->columns_twice(k - s->first, entry(s, s->first, k), s->n, r);
}

static void sweep(const iteration *s)
{
    double v[3];
    int64_t begin = find_start(s, choose_shifts(s), v), k = begin;
    while (k < s->last) {
        lt_reflector r[2] = { next_reflector(s, k, begin, v) };
        if (k + 3 <= s->last) {
            apply_two(s, k, begin, v, r);
            k += 2;
        } else {
            if (k + 2 <= s->last) apply_one(s, k, r);
            else apply_pair(s, k, r);
            k++;
        }
    }
}

/* The eigenvalues of (a b; c d) into places 0 and 1. */
static void solve_pair(double a, double b, double c, double d, double *re, double *im)
{
    double half = (a - d) / 2, large = fmax(fabs(b), fabs(c)), size = fmax(fabs(half), large);
    double small = fmin(fabs(b), fabs(c)) * (signbit(b) == signbit(c) ? 1 : -1);
    double z = size > 0 ? half / size * half + large / size * small : 0;
    im[0] = im[1] = 0;
    if (z < 0) {
        re[0] = re[1] = d + half;
        im[0] = sqrt(size) * sqrt(-z);
        im[1] = -im[0];
        return;
    }
    z = half + copysign(sqrt(size) * sqrt(z), half);
    re[0] = d + z;
    re[1] = z != 0 ? d - large / z * small : d;
}

bool lt_hessenberg_qr(int64_t n, double *h, double *re, double *im)
{
    iteration s = { .loops = best_loops(), .n = n, .h = h, .last = n - 1, .tiny = DBL_MIN * ((double)n / DBL_EPSILON) };
    int64_t left = 30 * (n > 10 ? n : 10);
    while (s.last >= 0) {
        find_block(&s);
        if (s.first >= s.last - 1) {
            int64_t i = s.first;
            if (i == s.last) re[i] = at(&s, i, i), im[i] = 0;
            else solve_pair(at(&s, i, i), at(&s, i, i + 1), at(&s, i + 1, i), at(&s, i + 1, i + 1), re + i, im + i);
            s.last = i - 1;
            s.since = 0;
            continue;
        }
        if (left-- == 0) return false;
        s.since++;
        sweep(&s);
    }
    return true;
}
