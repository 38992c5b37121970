/* The closed form of collapsed kernels, a product over wires: part of loops_isa.h (double only).
   SPDX-License-Identifier: BSD-3-Clause */

/* Wires after which products are scaled back by 2^-512: 1 + n.n' reaches 2, and 2^1024 is too large. */
enum { WIRES_AT_ONCE = 512 };

/* One wire of MV row vectors and PRODUCT_COLUMNS columns. Rows stay in registers while columns are spread one by one:
   read from memory at each use they would keep the load ports busier than the arithmetic. */
static inline __attribute__((always_inline)) void FN(product_wire)(const V *a, const T *b, int components, V product[PRODUCT_COLUMNS][MV])
{
    V x[LT_CLOSED_BLOCH][MV];
    UNROLL for (int i = 0; i < components; i++)
        UNROLL for (int v = 0; v < MV; v++) x[i][v] = a[i * MV + v];
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++) {
        V y[LT_CLOSED_BLOCH];
        UNROLL for (int i = 0; i < components; i++) y[i] = SPREAD(b[i * MV * LANES + j]);
        UNROLL for (int v = 0; v < MV; v++) {
            V sum = x[0][v] * y[0] + x[1][v] * y[1];
            if (components == LT_CLOSED_BLOCH) product[j][v] += product[j][v] * (sum + x[2][v] * y[2]);
            else product[j][v] *= sum;
        }
    }
}

/* cos((a-b)/2) = c c' + s s', squared at the end; 2 |<a|b>|^2 = 1 + n.n' with Bloch vectors, scaled back at the end:
   rest_scale is for the wires that are left over. */
static inline __attribute__((always_inline)) void FN(product_kernel)(const V *a, const T *b, int64_t wires, T rest_scale, int components,
                                                                     V *k, int64_t step)
{
    V product[PRODUCT_COLUMNS][MV];
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
        UNROLL for (int v = 0; v < MV; v++) product[j][v] = SPREAD((T)1);
    while (wires > 0) {
        int64_t n = wires < WIRES_AT_ONCE ? wires : WIRES_AT_ONCE;
        T scale = wires < WIRES_AT_ONCE ? rest_scale : 0x1p-512;
        for (int64_t w = 0; w < n; w++, a += components * MV, b += components * MV * LANES)
            FN(product_wire)(a, b, components, product);
        wires -= n;
        if (components != LT_CLOSED_BLOCH) continue;
        UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
            UNROLL for (int v = 0; v < MV; v++) product[j][v] *= scale;
    }
    UNROLL for (int j = 0; j < PRODUCT_COLUMNS; j++)
        UNROLL for (int v = 0; v < MV; v++) {
            if (components != LT_CLOSED_BLOCH) product[j][v] *= product[j][v];
            k[j * step + v] = product[j][v];
        }
}

static inline __attribute__((always_inline)) void FN(product_columns)(const lt_overlap_job *job, int components, T rest_scale, int64_t i, int64_t j,
                                                                      V *k, int64_t step)
{
    const V *a = (const V *)((const T *)job->a + i * job->a_step);
    const T *b = (const T *)job->b + (j / (MV * LANES)) * job->b_step + j % (MV * LANES);
    if (components == LT_CLOSED_BLOCH) FN(product_kernel)(a, b, job->amplitudes, rest_scale, LT_CLOSED_BLOCH, k, step);
    else FN(product_kernel)(a, b, job->amplitudes, rest_scale, LT_CLOSED_RY, k, step);
}

/* Straight to K: while lines of one block wait for memory, the next one is computed. */
static void FN(product_to_rows)(lt_overlap_job *job, int components, T rest_scale)
{
    V sum = { 0 }, *k = (V *)job->k;
    for (int64_t j = 0; j < job->n_columns; j += LT_LINE_DOUBLES) /* walking down columns meets fewer pages of K than along rows */
        for (int64_t i = 0; i < job->n_a; i++) {
            int64_t row = i * MV * LANES;
            for (int c = 0; c < LT_LINE_DOUBLES; c += PRODUCT_COLUMNS)
                FN(product_columns)(job, components, rest_scale, i, j + c, k + c * MV, MV);
            sum += FN(put_lines)(k, MV, job->rows + row * job->pitch + j, job->mirror ? job->mirror + j * job->pitch + row : NULL, job->pitch);
        }
    job->sum = 0;
    for (int i = 0; i < LANES; i++) job->sum += sum[i];
}

static void FN(product)(lt_overlap_job *job, int components)
{
    T rest_scale = ldexp(1, -(int)(job->amplitudes % WIRES_AT_ONCE));
    int64_t step = job->n_a * MV;
    if (job->rows) {
        FN(product_to_rows)(job, components, rest_scale);
        return;
    }
    for (int64_t i = 0; i < job->n_a; i++) /* a panel of rows stays in the first-level cache while columns pass */
        for (int64_t j = 0; j < job->n_columns; j += PRODUCT_COLUMNS)
            if (i * MV * LANES <= j + PRODUCT_COLUMNS - 1 + job->diagonal)
                FN(product_columns)(job, components, rest_scale, i, j, (V *)job->k + j * step + i * MV, step);
}
