/* Kernels between prepared rows: the quantum one, and the Gaussian one to compare with.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/pool.h"
#include "base/status.h"

#include <math.h>

typedef struct gaussian { const double *z, *other; int64_t m, q; double gamma; double *K; } gaussian;

static lt_status fill_row(void *ctx, int64_t i, int worker)
{
    const gaussian *g = ctx;
    (void)worker;
    const double *a = g->z + i * g->q;
    for (int64_t j = 0; j < g->m; j++) {
        const double *b = g->other + j * g->q;
        double square = 0;
        for (int64_t k = 0; k < g->q; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
        g->K[i * g->m + j] = exp(-g->gamma * square);
    }
    return LT_OK;
}

lt_status lt_row_kernel_fill(const lt_row_kernel *k, const double *z, int64_t n, const double *other, int64_t m, double *K)
{
    if (!k->gram) {
        lt_pool *pool = lt_pool_shared();
        gaussian g = { z, other ? other : z, other ? m : n, k->n_qubits, k->gamma, K };
        return pool ? lt_pool_run(pool, n, fill_row, &g) : LT_ERR_MEMORY;
    }
    lt_rows rows = { z, LT_F64, n, k->n_qubits, 0 }, columns = { other, LT_F64, m, k->n_qubits, 0 };
    LT_TRY(lt_gram_fill(k->gram, &rows, other ? &columns : NULL, K));
    /* Jitter shrinks the off-diagonal entries of a normalised training kernel: pairs with new rows shrink alike. */
    for (int64_t i = 0; other && k->jitter > 0 && i < n * m; i++) K[i] /= 1 + k->jitter;
    return LT_OK;
}
