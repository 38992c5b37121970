/* Full-memory BFGS: one packed triangle of H, updated in place by a symmetric rank-2 pass.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/hessian.h"
#include "optimize/dense.h"
#include "optimize/vector.h"

#include <math.h>
#include <string.h>

void lt_packed_apply_rows(int64_t n, const double *lower, int64_t k, const double *const *b, double *const *out)
{
    const lt_dense *dense = lt_dense_best();
    for (int64_t j = 0; j < k; j++) memset(out[j], 0, (size_t)n * sizeof(double));
    for (int64_t j = 0; j < k; j += LT_DENSE_BLOCK)
        dense->symmetric_apply(n, lower, k - j < LT_DENSE_BLOCK ? k - j : LT_DENSE_BLOCK, b + j, out + j);
}

void lt_packed_apply(int64_t n, const double *lower, const double *b, double *out)
{
    lt_packed_apply_rows(n, lower, 1, &b, &out);
}

bool lt_packed_is_definite(int64_t n, const double *lower, double *work)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = work + lt_packed_row(i);
        for (int64_t j = 0; j <= i; j++) {
            const double *other = work + lt_packed_row(j);
            double v = lower[lt_packed_row(i) + j] - lt_vec_dot(j, row, other);
            if (j < i) row[j] = v / other[j];
            else if (!(v > 0) || isinf(v)) return false;
            else row[j] = sqrt(v);
        }
    }
    return true;
}

static void scale_first(lt_hessian *h, double gamma)
{
    lt_vec_scale(lt_packed_row(h->n), gamma, h->lower);
    h->trace *= gamma;
    h->last.gamma = gamma;
}

/* Check first, write second: rho, b and every entry of h and s are looked at before H is touched,
   so that a bad update can be left out without a copy of H. */
lt_update_code lt_bfgs_update(lt_hessian *h, const double *s, const double *y, double sty)
{
    int64_t n = h->n;
    lt_update_code code = LT_UPDATE_DONE;
    h->last.done = false;
    h->last.gamma = 1;
    if (!(sty > 0)) return LT_UPDATE_NO_CURVATURE;
    lt_packed_apply(n, h->lower, y, h->h);
    if (h->scale_pending) {
        double gamma = sty / lt_vec_dot(n, y, y);
        h->scale_pending = false;
        if (isfinite(gamma)) {
            scale_first(h, gamma);
            lt_vec_scale(n, gamma, h->h);
        } else {
            code = LT_UPDATE_NOT_SCALED;
        }
    }
    double rho = 1 / sty, b = rho * rho * lt_vec_dot(n, y, h->h) + rho;
    if (b < 0) b = 0;
    if (!isfinite(rho) || !isfinite(b) || !lt_vec_finite(n, h->h) || !lt_vec_finite(n, s)) return LT_UPDATE_NOT_FINITE;
    /* H - rho (h s' + s h') + b s s' = H + s w' + w s' with w = (b/2) s - rho h. */
    double *w = h->Hs;
    for (int64_t i = 0; i < n; i++) w[i] = 0.5 * b * s[i] - rho * h->h[i];
    lt_dense_best()->rank2(n, s, w, h->lower);
    if (h->single) lt_vec_round_f32(lt_packed_row(n), h->lower);
    h->trace += 2 * lt_vec_dot(n, s, w);
    h->last.done = true;
    h->last.rho = rho;
    h->last.b = b;
    h->last.h = h->h;
    memcpy(h->last.s, s, (size_t)n * sizeof *s);
    return code;
}
