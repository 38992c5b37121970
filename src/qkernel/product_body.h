/* The closed form of collapsed kernels, a product over wires: part of loops_isa.h (double only).
   SPDX-License-Identifier: BSD-3-Clause */

/* MV row vectors by NR columns. cos((a-b)/2) = c c' + s s'; |<a|b>|^2 = 1/2 + n.n' with n = Bloch / sqrt 2. */
static inline __attribute__((always_inline)) void FN(product_kernel)(const V *a, const T *b, int64_t wires, int components,
                                                                     V f[NR][MV])
{
    V product[NR][MV];
    UNROLL for (int j = 0; j < NR; j++)
        UNROLL for (int v = 0; v < MV; v++) product[j][v] = (V){ 0 } + 1;
    for (int64_t w = 0; w < wires; w++, a += components * MV, b += components * MV * LANES) {
        const T *b1 = b + MV * LANES, *b2 = b1 + MV * LANES;
        UNROLL for (int v = 0; v < MV; v++) {
            V x0 = a[v], x1 = a[MV + v], x2 = components == LT_CLOSED_BLOCH ? a[2 * MV + v] : (V){ 0 };
            UNROLL for (int j = 0; j < NR; j++)
                product[j][v] *= components == LT_CLOSED_BLOCH ? x0 * b[j] + (x1 * b1[j] + (x2 * b2[j] + 0.5))
                                                               : x0 * b[j] + x1 * b1[j];
        }
    }
    UNROLL for (int j = 0; j < NR; j++)
        UNROLL for (int v = 0; v < MV; v++) f[j][v] = product[j][v];
}

static void FN(product)(const lt_overlap_job *job, int components)
{
    int64_t step = job->n_a * MV;
    for (int64_t j = 0; j < job->n_columns; j += NR) {
        const T *b = (const T *)job->b + (j / (MV * LANES)) * job->b_step + j % (MV * LANES);
        for (int64_t i = 0; i < job->n_a && i * MV * LANES <= j + NR - 1 + job->diagonal; i++) {
            const V *a = (const V *)((const T *)job->a + i * job->a_step);
            V f[NR][MV], *k = (V *)job->k + j * step + i * MV;
            if (components == LT_CLOSED_BLOCH) {
                FN(product_kernel)(a, b, job->amplitudes, LT_CLOSED_BLOCH, f);
                for (int c = 0; c < NR; c++)
                    for (int v = 0; v < MV; v++) k[c * step + v] = f[c][v];
            } else {
                FN(product_kernel)(a, b, job->amplitudes, LT_CLOSED_RY, f);
                for (int c = 0; c < NR; c++)
                    for (int v = 0; v < MV; v++) k[c * step + v] = f[c][v] * f[c][v];
            }
        }
    }
}
