/* Sobol points: direction numbers, scrambling, random access. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/sample/sobol.h"

#include "lathe/rng.h"

/* The recurrence of the column's polynomial; numbers stand at the top of LT_SOBOL_BITS bits. */
static void direction_numbers(int column, uint32_t v[LT_SOBOL_BITS])
{
    const lt_sobol_column *c = &lt_sobol_columns[column];
    uint32_t m[LT_SOBOL_BITS];
    for (int j = 0; j < LT_SOBOL_BITS; j++) {
        if (column == 0) m[j] = 1;
        else if (j < c->degree) m[j] = c->m[j];
        else {
            m[j] = m[j - c->degree] ^ m[j - c->degree] << c->degree;
            for (int k = 1; k < c->degree; k++)
                if (c->a >> (c->degree - 1 - k) & 1) m[j] ^= m[j - k] << k;
        }
        v[j] = m[j] << (LT_SOBOL_BITS - 1 - j);
    }
}

static uint32_t parity(uint32_t x) { return (uint32_t)__builtin_popcount(x) & 1; }

/* Row p of the matrix (p = 0 is the leading bit) has a one on the diagonal and random bits before it. */
static void scramble_column(lt_draws *stream, uint32_t v[LT_SOBOL_BITS], uint32_t *shift)
{
    uint32_t matrix[LT_SOBOL_BITS], word[4], counter[4] = { 0, stream->coordinate[0], stream->coordinate[1], stream->coordinate[2] };
    for (int p = 0; p <= LT_SOBOL_BITS; p++) {
        if (p % 4 == 0) {
            counter[0] = (uint32_t)p / 4;
            lt_philox4x32(counter, stream->key, word);
        }
        if (p == LT_SOBOL_BITS) *shift = word[p % 4] >> (32 - LT_SOBOL_BITS);
        else {
            uint32_t diagonal = 1u << (LT_SOBOL_BITS - 1 - p);
            matrix[p] = diagonal | (word[p % 4] & ~(2 * diagonal - 1) & ((1u << LT_SOBOL_BITS) - 1));
        }
    }
    for (int j = 0; j < LT_SOBOL_BITS; j++) {
        uint32_t mixed = 0;
        for (int p = 0; p < LT_SOBOL_BITS; p++) mixed |= parity(matrix[p] & v[j]) << (LT_SOBOL_BITS - 1 - p);
        v[j] = mixed;
    }
}

void lt_sobol_prepare(int n_columns, bool scramble, uint64_t seed, uint32_t *table)
{
    for (int d = 0; d < n_columns; d++) {
        uint32_t *v = table + d * (LT_SOBOL_BITS + 1);
        direction_numbers(d, v);
        v[LT_SOBOL_BITS] = 0;
        lt_draws stream = lt_draws_make(seed, "sobol", (uint32_t)d, 0, 0);
        if (scramble) scramble_column(&stream, v, &v[LT_SOBOL_BITS]);
    }
}

void lt_sobol_point(const uint32_t *table, int n_columns, int64_t i, double *out)
{
    uint32_t gray = (uint32_t)i ^ (uint32_t)i >> 1;
    for (int d = 0; d < n_columns; d++) {
        const uint32_t *v = table + d * (LT_SOBOL_BITS + 1);
        uint32_t x = v[LT_SOBOL_BITS];
        for (uint32_t bits = gray; bits; bits &= bits - 1) x ^= v[__builtin_ctz(bits)];
        out[d] = x * (1.0 / (1 << LT_SOBOL_BITS));
    }
}
