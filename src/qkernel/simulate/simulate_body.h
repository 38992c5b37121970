/* Passes over states of LANES rows, for one T and V: part of simulate_isa.h. SPDX-License-Identifier: BSD-3-Clause */

typedef struct FN(amplitude) { V re, im; } FN(amplitude);
typedef struct FN(gate) { V ar, ai, br, bi; } FN(gate);
enum { FN(PIECES) = LANES * (int)sizeof(double) / (int)sizeof(D) }; /* vectors of doubles for a vector of rows */

/* ---- coefficients ---- */

static void FN(fuse)(void *coef, const lt_wire_gate *gate, int n, const lt_turn *turn, const double *sine, const double *cosine)
{
    for (int g = 0; g < n; g++)
        for (int i = 0; i < FN(PIECES); i++) {
            D zero = { 0 }, ar = zero + 1, ai = zero, br = zero, bi = zero;
            for (int32_t k = gate[g].first; k < gate[g].first + gate[g].n; k++) {
                const lt_turn *t = &turn[k];
                D s = ((const D *)sine)[(int64_t)k * FN(PIECES) + i], c = ((const D *)cosine)[(int64_t)k * FN(PIECES) + i];
                D pr = c, pi = zero, qr = zero, qi = zero; /* the turn: acts after what there is */
                if (t->axis == LT_AXIS_X) qi = -s;
                else if (t->axis == LT_AXIS_Y) qr = s;
                else if (t->axis == LT_AXIS_Z) pi = -s;
                else pr = zero + t->fixed.ar, pi = zero + t->fixed.ai, qr = zero + t->fixed.br, qi = zero + t->fixed.bi;
                D nr = pr * ar - pi * ai - (qr * br + qi * bi), ni = pr * ai + pi * ar - (qr * bi - qi * br);
                D mr = qr * ar - qi * ai + (pr * br + pi * bi), mi = qr * ai + qi * ar + (pr * bi - pi * br);
                ar = nr, ai = ni, br = mr, bi = mi;
            }
            ROUNDED *to = (ROUNDED *)((FN(gate) *)coef + g) + i;
            to[0] = ROUND(ar);
            to[FN(PIECES)] = ROUND(ai);
            to[2 * FN(PIECES)] = ROUND(br);
            to[3 * FN(PIECES)] = ROUND(bi);
        }
}

/* ---- gates ---- */

static inline __attribute__((always_inline)) void FN(apply)(const FN(gate) *g, FN(amplitude) *x, FN(amplitude) *y)
{
    V xr = x->re, xi = x->im, yr = y->re, yi = y->im;
    x->re = g->ar * xr - g->ai * xi - g->br * yr - g->bi * yi;
    x->im = g->ar * xi + g->ai * xr - g->br * yi + g->bi * yr;
    y->re = g->br * xr - g->bi * xi + g->ar * yr + g->ai * yi;
    y->im = g->br * xi + g->bi * xr + g->ar * yi - g->ai * yr;
}

static inline __attribute__((always_inline)) void FN(add_and_subtract)(FN(amplitude) *x, FN(amplitude) *y)
{
    V xr = x->re, xi = x->im, yr = y->re, yi = y->im;
    x->re = xr + yr;
    x->im = xi + yi;
    y->re = xr - yr;
    y->im = xi - yi;
}

/* Amplitudes i and i + d, i < d; coefficients NULL: Hadamard. */
static inline __attribute__((always_inline)) void FN(one)(FN(amplitude) *s, int64_t d, const FN(gate) *g)
{
    const T scale = (T)M_SQRT1_2;
    FN(gate) a = g ? *g : (FN(gate)){ 0 };
    for (int64_t i = 0; i < d; i++) {
        FN(amplitude) x = s[i], y = s[i + d];
        if (g) FN(apply)(&a, &x, &y);
        else {
            FN(add_and_subtract)(&x, &y);
            x.re *= scale, x.im *= scale, y.re *= scale, y.im *= scale;
        }
        s[i] = x;
        s[i + d] = y;
    }
}

/* Two bits in one pass: amplitudes i, i + d2, i + d1, i + d1 + d2, i < d2. */
static inline __attribute__((always_inline)) void FN(two)(FN(amplitude) *s, int64_t d1, int64_t d2, const FN(gate) *g)
{
    const T scale = (T)0.5;
    FN(gate) a = g ? g[0] : (FN(gate)){ 0 }, b = g ? g[1] : (FN(gate)){ 0 };
    FN(amplitude) *s1 = s + d2, *s2 = s + d1, *s3 = s + d1 + d2;
    for (int64_t i = 0; i < d2; i++) {
        FN(amplitude) x0 = s[i], x1 = s1[i], x2 = s2[i], x3 = s3[i];
        if (g) {
            FN(apply)(&a, &x0, &x2);
            FN(apply)(&a, &x1, &x3);
            FN(apply)(&b, &x0, &x1);
            FN(apply)(&b, &x2, &x3);
        } else {
            FN(add_and_subtract)(&x0, &x2);
            FN(add_and_subtract)(&x1, &x3);
            FN(add_and_subtract)(&x0, &x1);
            FN(add_and_subtract)(&x2, &x3);
            x0.re *= scale, x0.im *= scale, x1.re *= scale, x1.im *= scale;
            x2.re *= scale, x2.im *= scale, x3.re *= scale, x3.im *= scale;
        }
        s[i] = x0;
        s1[i] = x1;
        s2[i] = x2;
        s3[i] = x3;
    }
}

/* High bits first, then the parts one by one: whatever the sizes of the caches, a part that fits into one stays there until its bits are done. */
static void FN(sweep)(FN(amplitude) *s, int q, int n, const int *bit, const FN(gate) *g)
{
    if (n == 0) return;
    int64_t all = (int64_t)1 << q, d1 = (int64_t)1 << bit[0];
    if (n == 1) {
        for (int64_t at = 0; at < all; at += 2 * d1) {
            if (g) FN(one)(s + at, d1, g);
            else FN(one)(s + at, d1, NULL);
        }
        return;
    }
    int64_t d2 = (int64_t)1 << bit[1];
    for (int64_t at = 0; at < all; at += 2 * d1) {
        for (int64_t m = 0; m < d1; m += 2 * d2) {
            if (g) FN(two)(s + at + m, d1, d2, g);
            else FN(two)(s + at + m, d1, d2, NULL);
        }
        for (int64_t part = 0; n > 2 && part < 2 * d1; part += d2) FN(sweep)(s + at + part, bit[1], n - 2, bit + 2, g ? g + 2 : NULL);
    }
}

/* The inverse of [[a, -b*], [b, a*]] has a* and -b. */
static void FN(invert)(FN(gate) *inverse, const FN(gate) *g, int n)
{
    for (int i = 0; i < n; i++) inverse[i] = (FN(gate)){ g[i].ar, -g[i].ai, -g[i].br, -g[i].bi };
}

static void FN(gates)(void *state, int q, int n, const int *bit, const void *coef, bool undo)
{
    FN(gate) inverse[32];
    if (undo) FN(invert)(inverse, coef, n);
    FN(sweep)(state, q, n, bit, undo ? inverse : coef);
}

static void FN(hadamards)(void *state, int q, int n, const int *bit) { FN(sweep)(state, q, n, bit, NULL); }

/* ---- phases ---- */

/* v_b becomes the sum over m of (-1)^(m . b) v_m; n is a power of two. */
static void FN(transform)(D *v, int64_t n)
{
    int64_t h = 1;
    for (; 4 * h <= n; h *= 4)
        for (int64_t i = 0; i < n; i += 4 * h)
            for (int64_t j = i * FN(PIECES); j < (i + h) * FN(PIECES); j++) {
                int64_t step = h * FN(PIECES);
                D a = v[j], b = v[j + step], c = v[j + 2 * step], d = v[j + 3 * step], ab = a + b, cd = c + d;
                a -= b;
                c -= d;
                v[j] = ab + cd;
                v[j + step] = a + c;
                v[j + 2 * step] = ab - cd;
                v[j + 3 * step] = a - c;
            }
    for (; h < n; h *= 2)
        for (int64_t i = 0; i < n; i += 2 * h)
            for (int64_t j = i * FN(PIECES); j < (i + h) * FN(PIECES); j++) {
                D a = v[j], b = v[j + h * FN(PIECES)];
                v[j] = a + b;
                v[j + h * FN(PIECES)] = a - b;
            }
}

static void FN(multiply)(FN(amplitude) *s, int64_t n, const double *sine, const double *cosine, T sign)
{
    const D *sines = (const D *)sine, *cosines = (const D *)cosine;
    for (int64_t k = 0; k < n; k++) {
        ROUNDED rounded[2 * FN(PIECES)];
        V c, i;
        for (int p = 0; p < FN(PIECES); p++) rounded[p] = ROUND(cosines[k * FN(PIECES) + p]), rounded[FN(PIECES) + p] = ROUND(sines[k * FN(PIECES) + p]);
        memcpy(&c, rounded, sizeof c);
        memcpy(&i, rounded + FN(PIECES), sizeof i);
        i *= sign;
        V re = s[k].re, im = s[k].im;
        s[k].re = re * c - im * i;
        s[k].im = re * i + im * c;
    }
}

static void FN(phases)(void *state, int q, const lt_phase_job *job, bool undo)
{
    FN(amplitude) *s = state;
    int bits = q < LT_PHASE_BLOCK_BITS ? q : LT_PHASE_BLOCK_BITS;
    int64_t n = (int64_t)1 << bits, n_blocks = (int64_t)1 << (q - bits);
    D *v = (D *)job->scratch;
    double *sine = job->scratch + n * LANES, *cosine = sine + n * LANES;
    for (int64_t h = 0; h < n_blocks; h++, s += n) {
        for (int64_t k = 0; k < n * FN(PIECES); k++) v[k] = (D){ 0 };
        for (int t = 0; t < job->n_terms; t++) {
            const D *c = (const D *)job->coefficient + (int64_t)t * FN(PIECES);
            D *to = v + (int64_t)(job->term[t].mask & (uint32_t)(n - 1)) * FN(PIECES);
            bool minus = __builtin_parity(job->term[t].mask >> bits & (uint32_t)h);
            for (int p = 0; p < FN(PIECES); p++) to[p] += minus ? -c[p] : c[p];
        }
        FN(transform)(v, n);
        sincos_f64(sine, cosine, (const double *)v, (int)(n * LANES));
        FN(multiply)(s, n, sine, cosine, undo ? -1 : 1);
    }
}

/* ---- matrices ---- */

/* k with a zero put in at each of the bits, which ascend. */
static inline int64_t FN(spread)(int64_t k, int n_bits, const int *ascending)
{
    for (int i = 0; i < n_bits; i++) {
        int64_t low = k & (((int64_t)1 << ascending[i]) - 1);
        k = (k - low) * 2 + low;
    }
    return k;
}

static void FN(matrix)(void *state, int q, int n_bits, const int *bit, const double *m, bool undo)
{
    FN(amplitude) *s = state, in[16];
    int ascending[4];
    int64_t offset[16];
    const int n = 1 << n_bits;
    T re[16][16], im[16][16];
    for (int i = 0; i < n_bits; i++) {
        int j = i;
        for (; j > 0 && ascending[j - 1] > bit[i]; j--) ascending[j] = ascending[j - 1];
        ascending[j] = bit[i];
    }
    for (int i = 0; i < n; i++) {
        offset[i] = 0;
        for (int b = 0; b < n_bits; b++)
            if (i >> (n_bits - 1 - b) & 1) offset[i] += (int64_t)1 << bit[b];
        for (int j = 0; j < n; j++) { /* undone by the conjugate of the transpose */
            re[i][j] = (T)m[2 * (undo ? j * n + i : i * n + j)];
            im[i][j] = (T)(undo ? -m[2 * (j * n + i) + 1] : m[2 * (i * n + j) + 1]);
        }
    }
    for (int64_t k = 0; k < (int64_t)1 << (q - n_bits); k++) {
        FN(amplitude) *at = s + FN(spread)(k, n_bits, ascending);
        for (int j = 0; j < n; j++) in[j] = at[offset[j]];
        for (int i = 0; i < n; i++) {
            V r = { 0 }, t = { 0 };
            for (int j = 0; j < n; j++) {
                r += in[j].re * re[i][j] - in[j].im * im[i][j];
                t += in[j].re * im[i][j] + in[j].im * re[i][j];
            }
            at[offset[i]] = (FN(amplitude)){ r, t };
        }
    }
}

/* ---- beginnings and ends ---- */

static void FN(turn)(void *state, int64_t n, const double *sine, const double *cosine)
{
    for (int64_t k = 0; k < n; k++) FN(multiply)((FN(amplitude) *)state + k, 1, sine, cosine, 1);
}

static void FN(load)(void *state, int64_t n, const double *x, int64_t columns)
{
    T *to = state;
    for (int64_t k = 0; k < n; k++, to += 2 * LANES)
        for (int r = 0; r < LANES; r++) {
            to[r] = k < columns ? (T)x[k * LANES + r] : 0;
            to[LANES + r] = 0;
        }
}

static void FN(join)(void *state, int64_t n, const double *re, const double *im, int64_t step)
{
    T *to = state;
    for (int64_t k = 0; k < n; k++, to += 2 * LANES, re += step, im += step)
        for (int r = 0; r < LANES; r++) {
            to[r] = (T)re[r];
            to[LANES + r] = (T)im[r];
        }
}

/* ---- sums over states, in double ---- */

static inline __attribute__((always_inline)) void FN(add_lanes)(double *to, V v)
{
    T part[LANES];
    memcpy(part, &v, sizeof v);
    for (int r = 0; r < LANES; r++) to[r] += (double)part[r];
}

enum { FN(RUN) = 64 }; /* amplitudes that are added in the type of states before the sum goes on in double */

/* sums[0..3]: over pairs (i, i + d) of the bit, of the parts of conj(a_i) b_{i+d} + conj(a_{i+d}) b_i (0: X), i conj(a_{i+d}) b_i - i conj(a_i) b_{i+d}
   (1: Y) and conj(a_i) b_i - conj(a_{i+d}) b_{i+d} (2: Z) that are wanted: imaginary ones, or real ones. */
static inline __attribute__((always_inline)) void FN(paulis)(const FN(amplitude) *a, const FN(amplitude) *b, int q, int bit, bool imaginary, double *out)
{
    int64_t d = (int64_t)1 << bit, half = (int64_t)1 << (q - 1), run = half < FN(RUN) ? half : FN(RUN);
    for (int r = 0; r < 3 * LANES; r++) out[r] = 0;
    for (int64_t k0 = 0; k0 < half; k0 += run) {
        V x = { 0 }, y = { 0 }, z = { 0 };
        for (int64_t k = k0; k < k0 + run; k++) {
            int64_t i = ((k & ~(d - 1)) << 1) | (k & (d - 1));
            FN(amplitude) a0 = a[i], a1 = a[i + d], b0 = b[i], b1 = b[i + d];
            V re01 = a0.re * b1.re + a0.im * b1.im, im01 = a0.re * b1.im - a0.im * b1.re;
            V re10 = a1.re * b0.re + a1.im * b0.im, im10 = a1.re * b0.im - a1.im * b0.re;
            if (imaginary) {
                x += im01 + im10;
                y += re10 - re01;
                z += (a0.re * b0.im - a0.im * b0.re) - (a1.re * b1.im - a1.im * b1.re);
            } else {
                x += re01 + re10;
                y += im01 - im10;
                z += (a0.re * b0.re + a0.im * b0.im) - (a1.re * b1.re + a1.im * b1.im);
            }
        }
        FN(add_lanes)(out, x);
        FN(add_lanes)(out + LANES, y);
        FN(add_lanes)(out + 2 * LANES, z);
    }
}

static void FN(bloch)(const void *state, int q, int bit, double *out) { FN(paulis)(state, state, q, bit, false, out); }
static void FN(twist)(const void *a, const void *b, int q, int bit, double *out) { FN(paulis)(a, b, q, bit, true, out); }

/* One gate: what twist says of its bit, added to sums, and both states as they were before it. `inverse` is its inverse. */
static void FN(back_one)(FN(amplitude) *a, FN(amplitude) *b, int64_t all, int bit, const FN(gate) *inverse, double *sums)
{
    const FN(gate) g = *inverse;
    int64_t d = (int64_t)1 << bit, half = all / 2, run = half < FN(RUN) ? half : FN(RUN);
    for (int64_t k0 = 0; k0 < half; k0 += run) {
        V x = { 0 }, y = { 0 }, z = { 0 };
        for (int64_t k = k0; k < k0 + run; k++) {
            int64_t i = ((k & ~(d - 1)) << 1) | (k & (d - 1));
            FN(amplitude) a0 = a[i], a1 = a[i + d], b0 = b[i], b1 = b[i + d];
            x += (a0.re * b1.im - a0.im * b1.re) + (a1.re * b0.im - a1.im * b0.re);
            y += (a1.re * b0.re + a1.im * b0.im) - (a0.re * b1.re + a0.im * b1.im);
            z += (a0.re * b0.im - a0.im * b0.re) - (a1.re * b1.im - a1.im * b1.re);
            FN(apply)(&g, &a0, &a1);
            FN(apply)(&g, &b0, &b1);
            a[i] = a0, a[i + d] = a1, b[i] = b0, b[i + d] = b1;
        }
        FN(add_lanes)(sums, x);
        FN(add_lanes)(sums + LANES, y);
        FN(add_lanes)(sums + 2 * LANES, z);
    }
}

enum { FN(NEAR_BITS) = 6 }; /* both states of so many bits lie in the first-level cache */

/* As FN(sweep): the highest bit, then the parts one by one until they are small. */
static void FN(back_sweep)(FN(amplitude) *a, FN(amplitude) *b, int q, int n, const int *bit, const FN(gate) *inverse, double *sums)
{
    if (n == 0) return;
    if (q <= FN(NEAR_BITS)) {
        for (int i = 0; i < n; i++) FN(back_one)(a, b, (int64_t)1 << q, bit[i], &inverse[i], sums + 3 * LANES * i);
        return;
    }
    FN(back_one)(a, b, (int64_t)1 << q, bit[0], &inverse[0], sums);
    for (int64_t part = 0; part < (int64_t)1 << q; part += (int64_t)1 << bit[0])
        FN(back_sweep)(a + part, b + part, bit[0], n - 1, bit + 1, inverse + 1, sums + 3 * LANES);
}

static void FN(back)(void *a, void *b, int q, int n, const int *bit, const void *coef, double *sums)
{
    FN(gate) inverse[32];
    for (int i = 0; i < 3 * LANES * n; i++) sums[i] = 0;
    FN(invert)(inverse, coef, n);
    FN(back_sweep)(a, b, q, n, bit, inverse, sums);
}

static void FN(parities)(const void *a, const void *b, int q, int n_terms, const lt_phase_term *term, double *scratch, double *out)
{
    const FN(amplitude) *x = a, *y = b;
    int64_t n = (int64_t)1 << q;
    for (int64_t k = 0; k < n; k++) {
        V v = x[k].re * y[k].im - x[k].im * y[k].re;
        T part[LANES];
        memcpy(part, &v, sizeof v);
        for (int r = 0; r < LANES; r++) scratch[k * LANES + r] = (double)part[r];
    }
    FN(transform)((D *)scratch, n);
    for (int t = 0; t < n_terms; t++)
        for (int r = 0; r < LANES; r++) out[(int64_t)t * LANES + r] = scratch[(int64_t)term[t].mask * LANES + r];
}
