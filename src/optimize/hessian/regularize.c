/* H with a bounded condition number, for the QPs only; H itself is never altered.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "trace/clock.h"

#include <math.h>
#include <string.h>

static bool clip(const lt_run *r, double *w)
{
    int64_t n = r->n;
    double K = r->opt.condition_limit, least = INFINITY;
    bool changed = false;
    for (int64_t i = 0; i < n; i++) least = fmin(least, fabs(w[i]));
    if (r->opt.clip_large_eigenvalues && least > 0) {
        for (int64_t i = 0; i < n; i++)
            if (w[i] > least * K) w[i] = least * K, changed = true;
        return changed;
    }
    double floor_value = w[n - 1] / K; /* ascending: the last is the largest */
    for (int64_t i = 0; i < n; i++)
        if (w[i] < floor_value) w[i] = floor_value, changed = true;
    return changed;
}

/* cond(H) <= trace(H) / lambda_min, and lambda_min >= 1 / trace(H^-1): a diagonal H settles it without
   an eigendecomposition; otherwise the bound below from Gershgorin's discs. */
static bool surely_well_conditioned(const lt_run *r)
{
    const double *lower = r->hessian.lower;
    double *off = r->regular.work, least = INFINITY, most = 0;
    memset(off, 0, (size_t)r->n * sizeof *off);
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < i; j++) {
            double v = fabs(lower[lt_packed_row(i) + j]);
            off[i] += v;
            off[j] += v;
        }
    for (int64_t i = 0; i < r->n; i++) {
        double centre = lower[lt_packed_row(i) + i];
        least = fmin(least, centre - off[i]);
        most = fmax(most, centre + off[i]);
    }
    return least > 0 && most <= r->opt.condition_limit * least;
}

static void rebuild(lt_run *r)
{
    int64_t n = r->n;
    double *H = r->regular.H;
    memset(H, 0, (size_t)(n * n) * sizeof *H);
    for (int64_t k = 0; k < n; k++) {
        const double *v = r->regular.vectors + k * n;
        for (int64_t i = 0; i < n; i++) lt_vec_axpy(n, r->regular.values[k] * v[i], v, H + i * n);
    }
}

void lt_regularize(lt_run *r)
{
    r->regular.active = false;
    if (!r->regular.H) return;
    lt_hessian_fill(&r->hessian);
    if (surely_well_conditioned(r)) return;
    int64_t n = r->n;
    double *H = r->regular.H;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) H[i * n + j] = H[j * n + i] = r->hessian.lower[lt_packed_row(i) + j];
    if (!lt_eigen_symmetric(n, H, r->regular.values, r->regular.vectors, r->regular.work)) {
        lt_console_note(r, 3, "The eigenvalues of H could not be computed: H is used as it is.");
        return;
    }
    if (!clip(r, r->regular.values)) return;
    rebuild(r);
    r->regular.active = true;
}

void lt_qp_hessian_apply(lt_run *r, int64_t k, const double *const *b, double *const *out)
{
    int64_t begin = lt_clock_ns();
    if (!r->regular.active) {
        lt_hessian_apply_rows(&r->hessian, k, b, out);
        lt_stop_if_lost(r);
    } else {
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < r->n; i++) out[j][i] = lt_vec_dot(r->n, r->regular.H + i * r->n, b[j]);
    }
    r->hessian_ns += lt_clock_ns() - begin;
}
