/* States of two stages with a ring of parities between them, for one T and V: part of loops_isa.h.
   SPDX-License-Identifier: BSD-3-Clause

   Behind the ring the amplitude of o is the product of a_k(o_k ^ o_{k-1}) over the wires, where o_{-1} and, in wire 1 too,
   o_{q-1} join the ends of the ring. So the first wires and the last ones know of each other by two bits only: m, the last of
   the first wires, and e, the last of all. For each of the four values the second stage acts on either part alone, and an
   amplitude of the whole is a sum of four products: 16 multiply-adds instead of 8 per wire (decision 99). */

enum { FN(N_BONDS) = 4 }; /* i = 2 m + e */

/* One part of the wires for one bond: amplitudes whose last bit is `last`, found in the product state by changing `flip`. The
   other half is zero, so the gates of the other wires pass over this one, and that of the last wire makes two of each. */
static void FN(fill_bond)(FN(amplitude) *to, const FN(amplitude) *product, int n_wires, uint32_t last, uint32_t flip, const FN(gate) *second)
{
    int64_t half = (int64_t)1 << (n_wires - 1);
    for (uint32_t o = last; o < 2 * half; o += 2) to[o / 2] = product[(o ^ o >> 1) ^ flip];
    FN(gates)(to, second, n_wires - 1);
    FN(gate) g = second[n_wires - 1];
    /* The columns are (a, b) and (-b*, a*). */
    V ar = last ? -g.br : g.ar, ai = last ? g.bi : g.ai, br = last ? g.ar : g.br, bi = last ? -g.ai : g.bi;
    for (int64_t b = half - 1; b >= 0; b--) {
        FN(amplitude) x = to[b];
        to[2 * b + 1] = FN(times)(x, br, bi);
        to[2 * b] = FN(times)(x, ar, ai);
    }
}

static void FN(bond_tables)(void *tables, const void *first, const void *second, int q, int low_bits)
{
    int high_bits = q - low_bits;
    int64_t n_high = (int64_t)1 << high_bits, n_low = (int64_t)1 << low_bits;
    const FN(gate) *a = first, *b = second;
    FN(amplitude) *high = tables, *low = high + FN(N_BONDS) * n_high, *product = low + FN(N_BONDS) * n_low;
    FN(fill_table)(product, a, high_bits);
    for (int i = 0; i < FN(N_BONDS); i++)
        FN(fill_bond)(high + i * n_high, product, high_bits, (uint32_t)i >> 1, (i & 1) ? 3u << (high_bits - 2) : 0, b);
    FN(fill_table)(product, a + high_bits, low_bits);
    for (int i = 0; i < FN(N_BONDS); i++)
        FN(fill_bond)(low + i * n_low, product, low_bits, (uint32_t)i & 1, (uint32_t)(i >> 1) << (low_bits - 1), b + high_bits);
}

static void FN(bond_sums)(void *state, const void *tables, int q, int low_bits, int64_t begin, int64_t n)
{
    int64_t n_high = (int64_t)1 << (q - low_bits), n_low = (int64_t)1 << low_bits;
    const FN(amplitude) *high = (const FN(amplitude) *)tables + begin / n_low, *low = (const FN(amplitude) *)tables + FN(N_BONDS) * n_high;
    FN(amplitude) *to = state;
    for (int64_t h = 0; h < n / n_low; h++, high++) {
        FN(amplitude) x[FN(N_BONDS)];
        UNROLL for (int i = 0; i < FN(N_BONDS); i++) x[i] = high[i * n_high];
        for (int64_t l = 0; l < n_low; l++) {
            V re = { 0 }, im = { 0 };
            UNROLL for (int i = 0; i < FN(N_BONDS); i++) {
                const FN(amplitude) *y = &low[i * n_low + l];
                re += x[i].re * y->re - x[i].im * y->im;
                im += x[i].re * y->im + x[i].im * y->re;
            }
            *to++ = (FN(amplitude)){ re, im };
        }
    }
}
