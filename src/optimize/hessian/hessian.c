/* Creating H, products with it, damping. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/vectors/dense.h"
#include "optimize/device/hessian.h"
#include "optimize/vectors/vectors.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Added to zero, as every other product is: a negative zero becomes a positive one. */
static void apply_identity(const lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < h->n; i++) out[j][i] = 0.0 + h->scale * b[j][i];
}

void lt_hessian_apply_rows(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    if (h->device) lt_device_hessian_apply(h, k, b, out);
    else if (h->limited) lt_lbfgs_apply(h, k, b, out);
    else if (h->diagonal) apply_identity(h, k, b, out);
    else lt_packed_apply_rows(h->n, h->lower, k, b, out, h->partial);
}

void lt_hessian_apply(lt_hessian *h, const double *b, double *out)
{
    lt_hessian_apply_rows(h, 1, &b, &out);
}

/* s'Hs <= trace(H) s's, so that most updates need no product to know that they need no damping. */
static bool wants_Hs(const lt_hessian *h, const double *s, const double *y)
{
    if (!(h->damping > 0)) return false;
    return h->limited || !(lt_vectors_dot(&h->vectors, s, y) >= h->damping * h->trace * lt_vectors_dot(&h->vectors, s, s));
}

bool lt_hessian_may_want_Hs(const lt_hessian *h, const double *s, const double *y)
{
    return h->vectors.on->queues ? h->damping > 0 : wants_Hs(h, s, y);
}

/* Powell's damping with H in the place of the Hessian. Returns the new s'y; h->Hs receives the
   damped y. */
static double damp(lt_hessian *h, const double *s, const double *y, const double *Hs, bool *damped)
{
    const double sty = lt_vectors_dot(&h->vectors, s, y);
    *damped = false;
    if (!wants_Hs(h, s, y)) return sty;
    if (!Hs) {
        lt_hessian_apply(h, s, h->Hs);
        Hs = h->Hs;
    }
    double sHs = lt_vectors_dot(&h->vectors, s, Hs);
    if (!(sty < h->damping * sHs)) return sty;
    double theta = (1 - h->damping) * sHs / (sHs - sty);
    lt_vectors_mix(&h->vectors, theta, y, 1 - theta, Hs, h->Hs);
    *damped = true;
    return theta * sty + (1 - theta) * sHs;
}

lt_update_code lt_hessian_update(lt_hessian *h, const double *s, const double *y, const double *Hs, const double *Hy)
{
    bool damped;
    double sty = damp(h, s, y, Hs, &damped);
    if (damped) y = h->Hs, Hy = NULL;
    lt_update_code code = h->limited ? lt_lbfgs_update(h, s, y, sty) : lt_bfgs_update(h, s, y, sty, Hy);
    bool updated = code == LT_UPDATE_DONE || code == LT_UPDATE_NOT_SCALED;
    h->counts.requests++;
    h->counts.damped_requests += damped;
    h->counts.updates += updated;
    h->counts.damped_updates += damped && updated;
    h->counts.scaling_skips += code == LT_UPDATE_NOT_SCALED;
    h->counts.sty_fails += code == LT_UPDATE_NO_CURVATURE;
    h->counts.infnan_fails += code == LT_UPDATE_NOT_FINITE;
    return code;
}

/* ---- Creation ---------------------------------------------------------------------------------- */
static lt_status pack(int64_t n, const double *H, double *lower)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double a = H[i * n + j], b = H[j * n + i], v = 0.5 * (a + b);
            if (!isfinite(v)) return LT_FAIL(LT_ERR_ARGUMENT, "H0[%lld][%lld] is not finite", (long long)i, (long long)j);
            if (fabs(a - b) > 1e-8 * (fabs(a) + fabs(b)))
                return LT_FAIL(LT_ERR_ARGUMENT, "H0[%lld][%lld] is %g, but H0[%lld][%lld] is %g: expected a symmetric matrix", (long long)i,
                               (long long)j, a, (long long)j, (long long)i, b);
            lower[lt_packed_row(i) + j] = v;
        }
    return LT_OK;
}

static lt_status check_definite(int64_t n, const double *lower)
{
    double *work = lt_malloc_aligned((size_t)lt_packed_row(n) * sizeof *work);
    if (!work) return LT_ERR_MEMORY;
    bool definite = lt_packed_is_definite(n, lower, work);
    lt_free_aligned(work);
    return definite ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "H0 is not positive definite (check_H0 = false allows it)");
}

static lt_status too_large(int64_t n)
{
    return LT_FAIL(LT_ERR_MEMORY, "no memory for H, %lld x %lld (%.1f GB): set lbfgs_pairs, 10 to 100 pairs, for this many variables",
                   (long long)n, (long long)n, (double)n * (double)n * 8e-9);
}

static lt_status create_full(const lt_solve_options *opt, lt_hessian *h)
{
    int64_t n = h->n, square = n * n;
    bool parts = n >= LT_PACKED_PARTS_FROM;
    h->lower = lt_malloc_aligned((size_t)square * sizeof *h->lower);
    if (!h->lower) return too_large(n);
    if (parts) h->partial = lt_malloc_aligned((size_t)(LT_PACKED_PARTS * LT_DENSE_BLOCK * n) * sizeof *h->partial);
    if (!lt_debug_of(opt)->in_place_bfgs) h->spare = lt_malloc_aligned((size_t)square * sizeof *h->spare);
    if ((parts && !h->partial) || (!lt_debug_of(opt)->in_place_bfgs && !h->spare)) return LT_ERR_MEMORY;
    h->diagonal = !opt->H0;
    h->scale = 1;
    h->trace = h->diagonal ? (double)n : 0;
    if (h->diagonal) return LT_OK; /* written by the first update: many runs are short, and memory is slow the first time (decision 86) */
    LT_TRY(pack(n, opt->H0, h->lower));
    if (opt->check_H0) LT_TRY(check_definite(n, h->lower));
    for (int64_t i = 0; i < n; i++) h->trace += h->lower[lt_packed_row(i) + i];
    return LT_OK;
}

static lt_status warm_start(const lt_hessian_state *from, lt_hessian *h)
{
    int64_t n = h->n;
    if (from->n != n || from->m < 1 || !from->S || !from->Y || !from->rho)
        return LT_FAIL(LT_ERR_ARGUMENT, "lbfgs_state: %lld pairs of %lld numbers, expected pairs of %lld",
                       (long long)from->m, (long long)from->n, (long long)n);
    int64_t keep = from->m < h->capacity ? from->m : h->capacity, skip = from->m - keep; /* the newest are kept */
    if (!lt_vec_finite(from->m * n, from->S) || !lt_vec_finite(from->m * n, from->Y) || !lt_vec_finite(from->m, from->rho)
        || !isfinite(from->gamma))
        return LT_FAIL(LT_ERR_ARGUMENT, "lbfgs_state: an entry is not finite");
    memcpy(h->S, from->S + skip * n, (size_t)(keep * n) * sizeof *h->S);
    memcpy(h->Y, from->Y + skip * n, (size_t)(keep * n) * sizeof *h->Y);
    memcpy(h->rho, from->rho + skip, (size_t)keep * sizeof *h->rho);
    memset(h->users, 1, (size_t)keep);
    h->count = keep;
    h->newest = keep - 1;
    h->gamma = from->gamma;
    return LT_OK;
}

/* S has max_samples rows beyond those of the pairs, for samples; no page of a row is touched before it is used. */
static lt_status create_limited(const lt_solve_options *opt, lt_hessian *h)
{
    int64_t n = h->n, m = h->capacity = opt->lbfgs_pairs;
    h->n_rows = m + opt->max_samples;
    h->S = lt_malloc_aligned((size_t)(h->n_rows * n) * sizeof(double));
    h->Y = lt_malloc_aligned((size_t)(m * n) * sizeof(double));
    h->rho = lt_malloc((size_t)m * sizeof(double));
    h->row = lt_malloc((size_t)m * sizeof *h->row);
    h->users = lt_calloc((size_t)h->n_rows, sizeof *h->users);
    h->coefficient = lt_malloc((size_t)(m * LT_LBFGS_BLOCK) * sizeof(double));
    h->free_rho = lt_malloc((size_t)m * sizeof(double));
    if (!h->free_rho || !h->S || !h->Y || !h->rho || !h->row || !h->users || !h->coefficient) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < m; i++) h->row[i] = i;
    h->newest = m - 1;
    if (opt->H0) {
        h->base_lower = lt_malloc_aligned((size_t)lt_packed_row(n) * sizeof(double));
        if (!h->base_lower) return LT_ERR_MEMORY;
        LT_TRY(pack(n, opt->H0, h->base_lower));
    } else if (opt->H0_diagonal) {
        h->base_diagonal = lt_malloc((size_t)n * sizeof(double));
        if (!h->base_diagonal) return LT_ERR_MEMORY;
        memcpy(h->base_diagonal, opt->H0_diagonal, (size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++)
            if (!(h->base_diagonal[i] > 0) || isinf(h->base_diagonal[i]))
                return LT_FAIL(LT_ERR_ARGUMENT, "H0_diagonal[%lld] is %g: expected positive and finite", (long long)i,
                               h->base_diagonal[i]);
    }
    return opt->lbfgs_state ? warm_start(opt->lbfgs_state, h) : LT_OK;
}

lt_status lt_hessian_create(int64_t n, const lt_solve_options *opt, lt_hessian *h)
{
    *h = (lt_hessian){ .n = n, .vectors = lt_vectors_on_host(n, NULL), .limited = opt->lbfgs_pairs > 0, .single = !opt->double_precision,
                       .scale_pending = opt->scale_H0, .fixed_scaling = opt->lbfgs_fixed_scaling,
                       .blocked = lt_debug_of(opt)->blocked_lbfgs, .damping = opt->bfgs_damping, .gamma = 1 };
    h->Hs = h->memory = lt_malloc_aligned((size_t)(2 * n) * sizeof(double));
    if (!h->Hs) return LT_ERR_MEMORY;
    h->h = h->Hs + n;
    lt_status s = h->limited ? create_limited(opt, h) : create_full(opt, h);
    if (s) lt_hessian_release(h);
    return s;
}

lt_status lt_hessian_move(lt_hessian *h, const lt_vectors *s)
{
    double *work;
    if (s->on == h->vectors.on) return LT_OK;
    LT_TRY(s->on->take(s, 2 * h->n, "updates of H", &work));
    lt_free_aligned(h->memory);
    h->memory = NULL;
    h->vectors = *s;
    h->Hs = work;
    h->h = work + h->n;
    return LT_OK;
}

void lt_hessian_release(lt_hessian *h)
{
    lt_device_hessian_destroy(h->device);
    lt_free_aligned(h->memory);
    lt_free_aligned(h->lower);
    lt_free_aligned(h->partial);
    lt_free_aligned(h->spare);
    lt_free_aligned(h->S);
    lt_free_aligned(h->Y);
    lt_free(h->rho);
    lt_free(h->row);
    lt_free(h->users);
    lt_free(h->coefficient);
    lt_free(h->free_rho);
    lt_free_aligned(h->base_lower);
    lt_free(h->base_diagonal);
    *h = (lt_hessian){ 0 };
}
