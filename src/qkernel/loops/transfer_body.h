/* Two layers with re-embedding as a product of 4 x 4 transfer matrices over wires: part of
   loops_isa.h (double only). SPDX-License-Identifier: BSD-3-Clause

   The overlap is <a(x)| C^H (M_0 x ... x M_{q-1}) C |a(y)> with a_k = R_k E_k |0> and
   M_k = E_k(x)^H E_k(y). The ring C forms running parities, so a vector over (bra parity, ket
   parity) passes along the wires; its step is a circulant on both indices, diagonal after a
   Hadamard, followed by an entrywise product with M_k. Wire 0 ends on the parity of the others: the
   sweep is done for each of its four values (bra, ket). */

typedef struct FN(complex) { V re, im; } FN(complex);

static inline __attribute__((always_inline)) FN(complex) FN(c_mul)(FN(complex) x, FN(complex) y)
{
    return (FN(complex)){ x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re };
}
static inline __attribute__((always_inline)) FN(complex) FN(c_conj_mul)(FN(complex) x, FN(complex) y) /* conj(x) y */
{
    return (FN(complex)){ x.re * y.re + x.im * y.im, x.re * y.im - x.im * y.re };
}
static inline __attribute__((always_inline)) FN(complex) FN(c_add)(FN(complex) x, FN(complex) y)
{
    return (FN(complex)){ x.re + y.re, x.im + y.im };
}
static inline __attribute__((always_inline)) FN(complex) FN(c_sub)(FN(complex) x, FN(complex) y)
{
    return (FN(complex)){ x.re - y.re, x.im - y.im };
}
static inline __attribute__((always_inline)) FN(complex) FN(c_conj)(FN(complex) x)
{
    return (FN(complex)){ x.re, -x.im };
}

/* What one wire of a row, or of a column spread over all lanes, holds. */
typedef struct FN(wire) { FN(complex) plus, minus, alpha, beta; } FN(wire);

static inline FN(wire) FN(wire_of_rows)(const V *a)
{
    return (FN(wire)){ { a[0], a[MV] }, { a[2 * MV], a[3 * MV] }, { a[4 * MV], a[5 * MV] }, { a[6 * MV], a[7 * MV] } };
}
static inline FN(wire) FN(wire_of_column)(const T *b)
{
    V r[8];
    for (int i = 0; i < 8; i++) r[i] = SPREAD(b[i * MV * LANES]);
    return (FN(wire)){ { r[0], r[1] }, { r[2], r[3] }, { r[4], r[5] }, { r[6], r[7] } };
}

/* The factors of one wire for the pairs at hand: eigenvalues of both circulants / 4, and M. */
typedef struct FN(step) { FN(complex) pp, pm, mp, mm, m00, m01; } FN(step);

static inline void FN(make_matrix)(const FN(wire) *x, const FN(wire) *y, FN(complex) *m00, FN(complex) *m01)
{
    *m00 = FN(c_add)(FN(c_conj_mul)(x->alpha, y->alpha), FN(c_conj_mul)(x->beta, y->beta));
    *m01 = FN(c_conj)(FN(c_sub)(FN(c_mul)(x->beta, y->alpha), FN(c_mul)(x->alpha, y->beta)));
}

static inline void FN(make_step)(const FN(wire) *x, const FN(wire) *y, FN(step) *s)
{
    FN(complex) xp = { x->plus.re * 0.25, x->plus.im * 0.25 }, xm = { x->minus.re * 0.25, x->minus.im * 0.25 };
    s->pp = FN(c_conj_mul)(xp, y->plus);
    s->pm = FN(c_conj_mul)(xp, y->minus);
    s->mp = FN(c_conj_mul)(xm, y->plus);
    s->mm = FN(c_conj_mul)(xm, y->minus);
    FN(make_matrix)(x, y, &s->m00, &s->m01);
}

/* v[2 bra + ket], started at parity (bra, ket) of wire 0, moved past all other wires. */
static inline __attribute__((always_inline)) void FN(sweep_wires)(const FN(step) *s, int64_t n, int start, FN(complex) v[4])
{
    V zero = { 0 };
    for (int i = 0; i < 4; i++) v[i] = (FN(complex)){ zero + (T)(i == start), zero };
    for (int64_t w = 0; w < n; w++, s++) {
        FN(complex) a = FN(c_add)(v[0], v[1]), b = FN(c_sub)(v[0], v[1]), c = FN(c_add)(v[2], v[3]), d = FN(c_sub)(v[2], v[3]);
        FN(complex) pp = FN(c_mul)(FN(c_add)(a, c), s->pp), pm = FN(c_mul)(FN(c_add)(b, d), s->pm);
        FN(complex) mp = FN(c_mul)(FN(c_sub)(a, c), s->mp), mm = FN(c_mul)(FN(c_sub)(b, d), s->mm);
        a = FN(c_add)(pp, pm), b = FN(c_sub)(pp, pm), c = FN(c_add)(mp, mm), d = FN(c_sub)(mp, mm);
        v[0] = FN(c_mul)(FN(c_add)(a, c), s->m00);
        v[1] = FN(c_mul)(FN(c_add)(b, d), s->m01);
        FN(complex) low = FN(c_conj_mul)(s->m01, FN(c_sub)(a, c)); /* M10 = -conj(M01), M11 = conj(M00) */
        v[2] = (FN(complex)){ -low.re, -low.im };
        v[3] = FN(c_conj_mul)(s->m00, FN(c_sub)(b, d));
    }
}

/* K of LANES rows with one column. */
static V FN(transfer_kernel)(const V *a, const T *b, int64_t wires, bool parity_ring, FN(step) *s)
{
    FN(wire) x0 = FN(wire_of_rows)(a), y0 = FN(wire_of_column)(b);
    for (int64_t w = 1; w < wires; w++) {
        FN(wire) x = FN(wire_of_rows)(a + w * LT_TRANSFER_REALS * MV);
        FN(wire) y = FN(wire_of_column)(b + w * LT_TRANSFER_REALS * MV * LANES);
        FN(make_step)(&x, &y, &s[w - 1]);
    }
    FN(complex) m[4], sum = { { 0 }, { 0 } };
    FN(make_matrix)(&x0, &y0, &m[0], &m[1]);
    m[2] = (FN(complex)){ -m[1].re, m[1].im };
    m[3] = FN(c_conj)(m[0]);
    for (int start = 0; start < 4; start++) {
        FN(complex) v[4], end = { { 0 }, { 0 } };
        /* a_0[0] = (plus + minus)/2, a_0[1] = (plus - minus)/2 */
        FN(complex) bra = start & 2 ? FN(c_sub)(x0.plus, x0.minus) : FN(c_add)(x0.plus, x0.minus);
        FN(complex) ket = start & 1 ? FN(c_sub)(y0.plus, y0.minus) : FN(c_add)(y0.plus, y0.minus);
        FN(sweep_wires)(s, wires - 1, start, v);
        for (int i = 0; i < 4; i++) end = FN(c_add)(end, FN(c_mul)(v[i], m[parity_ring ? i ^ start : start]));
        sum = FN(c_add)(sum, FN(c_mul)(FN(c_conj_mul)(bra, ket), end));
    }
    return (sum.re * sum.re + sum.im * sum.im) * 0.0625;
}

static void FN(transfer)(const lt_overlap_job *job, bool parity_ring, void *coef)
{
    int64_t step = job->n_a * MV;
    for (int64_t j = 0; j < job->n_columns; j++) {
        const T *b = (const T *)job->b + (j / (MV * LANES)) * job->b_step + j % (MV * LANES);
        for (int64_t i = 0; i < step && i * LANES <= j + job->diagonal; i++) {
            const V *a = (const V *)((const T *)job->a + (i / MV) * job->a_step) + i % MV;
            ((V *)job->k)[j * step + i] = FN(transfer_kernel)(a, b, job->amplitudes, parity_ring, coef);
        }
    }
}
