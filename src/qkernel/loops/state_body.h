/* Loops over the states of LANES rows, for one T and V: part of loops_body.h.
   SPDX-License-Identifier: BSD-3-Clause */

typedef struct FN(amplitude) { V re, im; } FN(amplitude);
typedef struct FN(gate) { V ar, ai, br, bi; } FN(gate);

static inline FN(amplitude) FN(times)(FN(amplitude) x, V re, V im)
{
    return (FN(amplitude)){ x.re * re - x.im * im, x.re * im + x.im * re };
}

/* ---- coefficients ---- */

static void FN(fuse)(void *coef, const double *sine, const double *cosine, const lt_stage *stage, lt_embed mode, int q)
{
    static const lt_su2 identity = { 1, 0, 0, 0 };
    const int pieces = LANES * (int)sizeof(double) / (int)sizeof(D);
    for (int i = 0; i < q * pieces; i++) {
        D s = ((const D *)sine)[i], c = ((const D *)cosine)[i], zero = { 0 }, ar = c, ai = zero, br = s, bi = zero;
        if (!stage->embed) ar = zero + 1, br = zero;
        else if (mode == LT_EMBED_RYRZ) ar = c * c, ai = -s * c, br = c * s, bi = s * s;
        lt_su2 g = stage->gate ? stage->gate[i / pieces] : identity;
        ROUNDED *to = (ROUNDED *)coef + i / pieces * 4 * pieces + i % pieces;
        to[0] = ROUND(g.ar * ar - g.ai * ai - (g.br * br + g.bi * bi));
        to[pieces] = ROUND(g.ar * ai + g.ai * ar - (g.br * bi - g.bi * br));
        to[2 * pieces] = ROUND(g.br * ar - g.bi * ai + (g.ar * br + g.ai * bi));
        to[3 * pieces] = ROUND(g.br * ai + g.bi * ar + (g.ar * bi - g.ai * br));
    }
}

/* ---- product states ---- */

/* The amplitudes of n_wires wires, the first the most significant bit. */
static void FN(fill_table)(FN(amplitude) *t, const FN(gate) *g, int n_wires)
{
    t[0] = (FN(amplitude)){ (V){ 0 } + 1, (V){ 0 } };
    for (int w = 0; w < n_wires; w++)
        for (int64_t b = ((int64_t)1 << w) - 1; b >= 0; b--) {
            FN(amplitude) x = t[b];
            t[2 * b + 1] = FN(times)(x, g[w].br, g[w].bi);
            t[2 * b] = FN(times)(x, g[w].ar, g[w].ai);
        }
}

static void FN(product_state)(void *state, const void *coef, int q, int low_bits, const uint32_t *low,
                              const uint32_t *high, void *table)
{
    FN(amplitude) *to = state, *t_low = table, *t_high = t_low + ((int64_t)1 << low_bits);
    const FN(gate) *g = coef;
    int64_t n_low = (int64_t)1 << low_bits, n_high = (int64_t)1 << (q - low_bits);
    FN(fill_table)(t_high, g, q - low_bits);
    FN(fill_table)(t_low, g + (q - low_bits), low_bits);
    for (int64_t h = 0; h < n_high; h++)
        for (int64_t l = 0; l < n_low; l++) {
            uint32_t b = high[h] ^ low[l];
            const FN(amplitude) *x = &t_high[b >> low_bits];
            to[h * n_low + l] = FN(times)(t_low[b & (n_low - 1)], x->re, x->im);
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

/* One gate on the top wire of a block of 2 half amplitudes. */
static void FN(gate_one)(FN(amplitude) *s, int64_t half, const FN(gate) *g)
{
    FN(gate) a = *g;
    for (int64_t i = 0; i < half; i++) {
        FN(amplitude) x = s[i], y = s[i + half];
        FN(apply)(&a, &x, &y);
        s[i] = x;
        s[i + half] = y;
    }
}

/* Two gates on the two top wires of a block of 4 quarter amplitudes, in one pass over it. */
static void FN(gate_two)(FN(amplitude) *s, int64_t quarter, const FN(gate) *g)
{
    FN(gate) a = g[0], b = g[1];
    FN(amplitude) *s0 = s, *s1 = s + quarter, *s2 = s + 2 * quarter, *s3 = s + 3 * quarter;
    for (int64_t i = 0; i < quarter; i++) {
        FN(amplitude) x0 = s0[i], x1 = s1[i], x2 = s2[i], x3 = s3[i];
        FN(apply)(&a, &x0, &x2);
        FN(apply)(&a, &x1, &x3);
        FN(apply)(&b, &x0, &x1);
        FN(apply)(&b, &x2, &x3);
        s0[i] = x0;
        s1[i] = x1;
        s2[i] = x2;
        s3[i] = x3;
    }
}

/* Top wires first, then the parts one by one: whatever the sizes of the caches, a part that fits
   into one stays there until all its wires are done. */
static void FN(gates)(void *state, const void *coef, int q)
{
    FN(amplitude) *s = state;
    const FN(gate) *g = coef;
    if (q == 0) return;
    if (q == 1) {
        FN(gate_one)(s, 1, g);
        return;
    }
    int64_t quarter = (int64_t)1 << (q - 2);
    FN(gate_two)(s, quarter, g);
    if (q == 2) return;
    for (int i = 0; i < 4; i++) FN(gates)(s + i * quarter, g + 2, q - 2);
}

static void FN(permute)(void *to, const void *from, int q, int low_bits, const uint32_t *low, const uint32_t *high)
{
    FN(amplitude) *d = to;
    const FN(amplitude) *s = from;
    int64_t n_low = (int64_t)1 << low_bits, n_high = (int64_t)1 << (q - low_bits);
    for (int64_t h = 0; h < n_high; h++)
        for (int64_t l = 0; l < n_low; l++) d[h * n_low + l] = s[high[h] ^ low[l]];
}

/* ---- out of the vectors ---- */

static inline __attribute__((always_inline)) void FN(pack_with)(void *panel, int part, int planes, const void *state, int64_t begin, int64_t n,
                                                                int64_t amplitudes, double *norm, bool streaming)
{
    const FN(amplitude) *s = state;
    int64_t chunk = amplitudes < LT_CHUNK ? amplitudes : LT_CHUNK;
    for (int64_t c = 0; c < n; c += chunk, s += chunk) {
        V *plane = (V *)panel + part * planes * amplitudes + (begin + c) * planes, square = { 0 };
        for (int64_t k = 0; k < chunk; k++) {
            V re = s[k].re, im = s[k].im;
            PUT(&plane[k], re, streaming);
            if (planes == LT_PLANES_COMPLEX) {
                PUT(&plane[chunk + k], re + 2 * im, streaming);
                PUT(&plane[2 * chunk + k], re - 2 * im, streaming);
            }
            if (norm) square += re * re + im * im;
        }
        for (int r = 0; norm && r < LANES; r++) norm[r] += (double)LANE(square, r);
    }
}

static void FN(pack)(void *panel, int part, int planes, const void *state, int64_t begin, int64_t n, int64_t amplitudes, double *norm, bool streaming)
{
    if (streaming) FN(pack_with)(panel, part, planes, state, begin, n, amplitudes, norm, true);
    else FN(pack_with)(panel, part, planes, state, begin, n, amplitudes, norm, false);
    if (begin + n == amplitudes) FENCE();
}

static void FN(unpack)(void *const *rows, int n_rows, const void *state, int q, int low_bits,
                       const uint32_t *low, const uint32_t *high)
{
    const FN(amplitude) *s = state;
    int64_t n_low = (int64_t)1 << low_bits, n_high = (int64_t)1 << (q - low_bits);
    for (int64_t h = 0; h < n_high; h++)
        for (int r = 0; r < n_rows; r++) {
            T *row = rows[r];
            for (int64_t l = 0; l < n_low; l++) {
                const FN(amplitude) *x = &s[high[h] ^ low[l]];
                int64_t at = 2 * (h * n_low + l);
                row[at] = LANE(x->re, r);
                row[at + 1] = LANE(x->im, r);
            }
        }
}
