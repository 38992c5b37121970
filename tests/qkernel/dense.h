/* A simulator that multiplies 2^q by 2^q matrices, written from the definitions of gates and from nothing else, for tests.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_DENSE_H
#define LT_TEST_DENSE_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#undef I
#define DENSE_I _Complex_I
typedef double _Complex dense;

/* matrix (2^k by 2^k, row major) on wires of a state of q wires: wire 0 is the top bit, the first wire listed is the top bit of the matrix. */
static inline void dense_apply(dense *state, int q, const dense *m, const int *wires, int k)
{
    int64_t n = (int64_t)1 << q, d = (int64_t)1 << k;
    dense *out = calloc((size_t)n, sizeof *out);
    for (int64_t to = 0; to < n; to++) {
        int64_t row = 0;
        for (int i = 0; i < k; i++) row = 2 * row + (to >> (q - 1 - wires[i]) & 1);
        for (int64_t column = 0; column < d; column++) {
            int64_t from = to;
            for (int i = 0; i < k; i++) {
                int64_t bit = (int64_t)1 << (q - 1 - wires[i]);
                from = column >> (k - 1 - i) & 1 ? from | bit : from & ~bit;
            }
            out[to] += m[row * d + column] * state[from];
        }
    }
    memcpy(state, out, (size_t)n * sizeof *out);
    free(out);
}

/* exp(-i t/2 P) with P^2 = 1: cos - i sin P. P is given as a matrix of dimension d. */
static inline void dense_rotation(dense *m, const dense *P, int64_t d, double t)
{
    for (int64_t i = 0; i < d * d; i++) m[i] = (i % (d + 1) == 0) * cos(t / 2) - DENSE_I * sin(t / 2) * P[i];
}

/* The product of Pauli matrices of a word, one for each wire. */
static inline void dense_word(dense *P, const char *word)
{
    static const dense one[4][4] = { { 1, 0, 0, 1 }, { 0, 1, 1, 0 }, { 0, -DENSE_I, DENSE_I, 0 }, { 1, 0, 0, -1 } };
    int k = (int)strlen(word);
    int64_t d = (int64_t)1 << k;
    for (int64_t r = 0; r < d; r++)
        for (int64_t c = 0; c < d; c++) {
            P[r * d + c] = 1;
            for (int i = 0; i < k; i++) {
                int which = (int)(strchr("IXYZ", word[i]) - "IXYZ");
                P[r * d + c] *= one[which][2 * (r >> (k - 1 - i) & 1) + (c >> (k - 1 - i) & 1)];
            }
        }
}

/* The gate without its controls. Returns its number of wires; -1 when it is not known here. */
static inline int dense_gate(const char *name, const double *t, dense *m)
{
    const double h = M_SQRT1_2;
    const struct { const char *name; dense m[4]; } small[] = {
        { "I", { 1, 0, 0, 1 } }, { "X", { 0, 1, 1, 0 } }, { "Y", { 0, -DENSE_I, DENSE_I, 0 } }, { "Z", { 1, 0, 0, -1 } }, { "H", { h, h, h, -h } },
        { "S", { 1, 0, 0, DENSE_I } }, { "Sdg", { 1, 0, 0, -DENSE_I } }, { "T", { 1, 0, 0, cexp(DENSE_I * M_PI / 4) } }, { "Tdg", { 1, 0, 0, cexp(-DENSE_I * M_PI / 4) } },
        { "SX", { (1 + DENSE_I) / 2, (1 - DENSE_I) / 2, (1 - DENSE_I) / 2, (1 + DENSE_I) / 2 } },
        { "RX", { cos(t[0] / 2), -DENSE_I * sin(t[0] / 2), -DENSE_I * sin(t[0] / 2), cos(t[0] / 2) } },
        { "RY", { cos(t[0] / 2), -sin(t[0] / 2), sin(t[0] / 2), cos(t[0] / 2) } },
        { "RZ", { cexp(-DENSE_I * t[0] / 2), 0, 0, cexp(DENSE_I * t[0] / 2) } }, { "P", { 1, 0, 0, cexp(DENSE_I * t[0]) } },
        { "U3", { cos(t[0] / 2), -cexp(DENSE_I * t[2]) * sin(t[0] / 2), cexp(DENSE_I * t[1]) * sin(t[0] / 2), cexp(DENSE_I * (t[1] + t[2])) * cos(t[0] / 2) } },
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (!strcmp(name, small[i].name)) {
            memcpy(m, small[i].m, sizeof small[i].m);
            return 1;
        }
    dense part[64];
    int k;
    if (name[0] == 'C' && (k = dense_gate(name + 1, t, part)) > 0) { /* controlled: CX, CCX, CSWAP */
        int64_t d = (int64_t)1 << k;
        memset(m, 0, (size_t)(4 * d * d) * sizeof *m);
        for (int64_t r = 0; r < d; r++) {
            m[r * 2 * d + r] = 1;
            for (int64_t c = 0; c < d; c++) m[(d + r) * 2 * d + d + c] = part[r * d + c];
        }
        return k + 1;
    }
    if (!strcmp(name, "SWAP") || !strcmp(name, "iSWAP")) {
        dense across = name[0] == 'i' ? DENSE_I : 1;
        memcpy(m, (dense[16]){ 1, 0, 0, 0, 0, 0, across, 0, 0, across, 0, 0, 0, 0, 0, 1 }, 16 * sizeof *m);
        return 2;
    }
    if (strlen(name) == 3 && name[0] == 'R' && name[1] == name[2]) { /* RXX, RYY, RZZ */
        dense P[16];
        dense_word(P, name + 1);
        dense_rotation(m, P, 4, t[0]);
        return 2;
    }
    return -1;
}

#endif
