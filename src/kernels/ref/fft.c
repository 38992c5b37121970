/* Plain RFFT2 and IRFFT2: powers of two by radix 2, every other length by Bluestein's chirp
   transform through a power of two, so any size costs O(n log n).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <complex.h>
#include <math.h>

typedef double complex cplx;

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

static int64_t padded_length(int64_t n) /* of Bluestein's convolution */
{
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
}

static cplx unit(int64_t num, int64_t den) /* exp(2 pi i num/den), with num reduced first */
{
    double t = 2 * M_PI * (double)(num % den) / (double)den;
    return cos(t) + I * sin(t);
}

/* In place, n a power of two; sign -1 is forward; root[j] = exp(2 pi i j/n), j < n/2. */
static void radix2(cplx *x, int64_t n, int sign, const cplx *root)
{
    for (int64_t i = 1, j = 0; i < n; i++) {
        int64_t bit = n / 2;
        for (; j & bit; bit /= 2) j ^= bit;
        j ^= bit;
        if (i < j) {
            cplx t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (int64_t half = 1; half < n; half *= 2)
        for (int64_t start = 0; start < n; start += 2 * half)
            for (int64_t k = 0; k < half; k++) {
                cplx r = root[k * (n / (2 * half))];
                cplx t = x[start + half + k] * (sign < 0 ? conj(r) : r);
                x[start + half + k] = x[start + k] - t;
                x[start + k] += t;
            }
}

static void fill_roots(cplx *root, int64_t n)
{
    for (int64_t j = 0; j < n / 2; j++) root[j] = unit(j, n);
}

/* Work of one transform of length n, in complex numbers: roots, then Bluestein's three arrays. */
static int64_t transform_work(int64_t n)
{
    if (is_power_of_two(n)) return n / 2 + 1;
    int64_t m = padded_length(n);
    return m / 2 + n + 2 * m;
}

/* x_k = chirp_k sum_j (x_j chirp_j) conj(chirp_{k-j}), chirp_j = exp(sign pi i j^2/n). */
static void transform(cplx *x, int64_t n, int sign, cplx *work, bool first)
{
    if (is_power_of_two(n)) {
        if (first) fill_roots(work, n);
        radix2(x, n, sign, work);
        return;
    }
    int64_t m = padded_length(n);
    cplx *root = work, *chirp = root + m / 2, *kernel = chirp + n, *y = kernel + m;
    if (first) {
        fill_roots(root, m);
        for (int64_t j = 0; j < n; j++) chirp[j] = sign < 0 ? conj(unit(j * j % (2 * n), 2 * n)) : unit(j * j % (2 * n), 2 * n);
        for (int64_t j = 0; j < m; j++) kernel[j] = 0;
        for (int64_t j = 0; j < n; j++) kernel[j] = kernel[(m - j) % m] = conj(chirp[j]);
        radix2(kernel, m, -1, root);
    }
    for (int64_t j = 0; j < m; j++) y[j] = j < n ? x[j] * chirp[j] : 0;
    radix2(y, m, -1, root);
    for (int64_t j = 0; j < m; j++) y[j] *= kernel[j];
    radix2(y, m, 1, root);
    for (int64_t j = 0; j < n; j++) x[j] = y[j] * chirp[j] / (double)m;
}

/* Transforms the columns of a (h x columns) through the line buffer. */
static void transform_columns(cplx *a, int64_t h, int64_t columns, int sign, cplx *line, cplx *work)
{
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t r = 0; r < h; r++) line[r] = a[r * columns + c];
        transform(line, h, sign, work, c == 0);
        for (int64_t r = 0; r < h; r++) a[r * columns + c] = line[r];
    }
}

static lt_status rfft2(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t h = s->dim[s->rank - 2], w = s->dim[s->rank - 1], half = w / 2 + 1;
    int64_t count = w && h ? lt_leading_count(s, s->rank - 2) : 0;
    cplx *line = (cplx *)work, *rest = line + LT_MAX(h, w);
    for (int64_t i = 0; i < count; i++) {
        cplx *spectrum = (cplx *)out + i * h * half;
        for (int64_t r = 0; r < h; r++) {
            for (int64_t c = 0; c < w; c++) line[c] = in[0][(i * h + r) * w + c];
            transform(line, w, -1, rest, r == 0);
            for (int64_t c = 0; c < half; c++) spectrum[r * half + c] = line[c];
        }
        transform_columns(spectrum, h, half, -1, line, rest);
    }
    return LT_OK;
}

/* The missing half of each row is the conjugate of the given one; imaginary parts of the
   self-conjugate entries are dropped, as every c2r transform does. */
static lt_status irfft2(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t h = s->dim[s->rank - 3], half = s->dim[s->rank - 2], w = p->attr->u.index.extent;
    int64_t count = w && h ? lt_leading_count(s, s->rank - 3) : 0;
    cplx *line = (cplx *)work, *copy = line + LT_MAX(h, w), *rest = copy + h * half;
    for (int64_t i = 0; i < count; i++) {
        const cplx *spectrum = (const cplx *)in[0] + i * h * half;
        for (int64_t j = 0; j < h * half; j++) copy[j] = spectrum[j];
        transform_columns(copy, h, half, 1, line, rest);
        for (int64_t r = 0; r < h; r++) {
            const cplx *row = copy + r * half;
            for (int64_t c = 0; c < w; c++)
                line[c] = c < half ? row[c] : conj(row[w - c]);
            line[0] = creal(line[0]);
            if (w % 2 == 0) line[w / 2] = creal(line[w / 2]);
            transform(line, w, 1, rest, r == 0);
            for (int64_t c = 0; c < w; c++) out[(i * h + r) * w + c] = creal(line[c]);
        }
    }
    return LT_OK;
}

double lt_fft2_flops(int64_t count, int64_t h, int64_t w)
{
    double n = (double)h * (double)w;
    return n > 0 ? 2.5 * (double)count * n * log2(n) : 0;
}

lt_status lt_fft_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    bool forward = p->op == LT_OP_RFFT2;
    const lt_shape *real = forward ? &p->in[0].shape : &p->out.shape;
    int64_t h = real->dim[real->rank - 2], w = real->dim[real->rank - 1];
    int64_t work = LT_MAX(h, w) + LT_MAX(transform_work(LT_MAX(h, 1)), transform_work(LT_MAX(w, 1)));
    if (!forward) work += h * (w / 2 + 1);
    double flops = lt_fft2_flops(lt_leading_count(real, real->rank - 2), h, w);
    return lt_ref_prepare(p, forward ? "rfft2_ref" : "irfft2_ref", forward ? rfft2 : irfft2, 2 * work, flops, out);
}
