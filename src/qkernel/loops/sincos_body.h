/* Sine and cosine of vectors of angles: part of loops_isa.h (double only). SPDX-License-Identifier: BSD-3-Clause

   Angles are brought to [-pi/4, pi/4] by multiples of pi/2 in three parts, of which the first two have so few bits that their
   multiples are exact, fused or not; then come the polynomials of fdlibm. Errors stay below one unit in the last place. */

typedef int64_t FN(bits) __attribute__((vector_size(LT_VECTOR_BYTES), may_alias));

static inline __attribute__((always_inline)) V FN(choose)(FN(bits) which, V yes, V no)
{
    return (V)((which & (FN(bits))yes) | (~which & (FN(bits))no));
}

static void FN(sincos)(double *sine, double *cosine, const double *angle, int n)
{
    const double largest = 1e6; /* whose multiple of pi/2 still has 20 bits */
    const double round = 0x1.8p52; /* added: the last bits of the sum are those of the nearest whole number */
    for (int k = 0; k * LANES < n; k++) {
        V x = ((const V *)angle)[k], shifted = x * 0x1.45f306dc9c883p-1 + round, turns = shifted - round;
        V r = ((x - turns * 0x1.921fb544p+0) - turns * 0x1.0b4611a6p-34) - turns * 0x1.3198a2e037073p-69, z = r * r;
        V s = r + r * z * (-0x1.5555555555549p-3 + z * (0x1.111111110f8a6p-7 + z * (-0x1.a01a019c161d5p-13 + z * (0x1.71de357b1fe7dp-19
                           + z * (-0x1.ae5e68a2b9cebp-26 + z * 0x1.5d93a5acfd57cp-33)))));
        V c = (1 - 0.5 * z) + z * z * (0x1.555555555554cp-5 + z * (-0x1.6c16c16c15177p-10 + z * (0x1.a01a019cb159p-16
                           + z * (-0x1.27e4f809c52adp-22 + z * (0x1.1ee9ebdb4b1c4p-29 - z * 0x1.8fae9be8838d4p-37)))));
        FN(bits) quarter = (FN(bits))shifted, odd = -(quarter & 1);
        ((V *)sine)[k] = (V)((FN(bits))FN(choose)(odd, c, s) ^ (quarter & 2) << 62);
        ((V *)cosine)[k] = (V)((FN(bits))FN(choose)(odd, s, c) ^ ((quarter + 1) & 2) << 62);
        for (int i = k * LANES; i < (k + 1) * LANES; i++) /* each for itself: a result never depends on its neighbours */
            if (!(fabs(angle[i]) <= largest)) {
                sine[i] = sin(angle[i]);
                cosine[i] = cos(angle[i]);
            }
    }
}
