/* Limited-memory BFGS: a ring of pairs, products by the two-loop recursion on all right-hand sides
   at once. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/hessian.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

static int64_t slot(const lt_hessian *h, int64_t age) /* 0 = newest */
{
    int64_t at = h->newest - age;
    return at < 0 ? at + h->capacity : at;
}

/* The first free one, so that no more memory is touched than is in use. There is one: see create_limited. */
int64_t lt_hessian_take_row(lt_hessian *h)
{
    int64_t row = 0;
    while (h->users[row]) row++;
    h->users[row] = 1;
    return row;
}

int64_t lt_hessian_share_row(lt_hessian *h, int64_t at)
{
    h->users[h->row[at]]++;
    return h->row[at];
}

void lt_hessian_leave_row(lt_hessian *h, int64_t row) { h->users[row]--; }

lt_update_code lt_lbfgs_update(lt_hessian *h, const double *s, const double *y, double sty)
{
    int64_t n = h->n;
    lt_update_code code = LT_UPDATE_DONE;
    if (!(sty > 0)) return LT_UPDATE_NO_CURVATURE;
    if (!lt_vectors_finite(&h->vectors, s) || !lt_vectors_finite(&h->vectors, y) || !isfinite(1 / sty)) return LT_UPDATE_NOT_FINITE;
    if (h->scale_pending) {
        double gamma = sty / lt_vectors_dot(&h->vectors, y, y);
        if (isfinite(gamma)) {
            h->gamma = gamma;
            if (h->fixed_scaling) h->scale_pending = false;
        } else {
            code = LT_UPDATE_NOT_SCALED;
        }
    }
    const bool full = h->count == h->capacity;
    h->newest = (h->newest + 1) % h->capacity;
    if (!full) h->count++;
    if (h->device) lt_device_hessian_push(h, s, y);
    else {
        if (full) lt_hessian_leave_row(h, h->row[h->newest]);
        h->row[h->newest] = lt_hessian_take_row(h);
        memcpy(lt_hessian_step(h, h->newest), s, (size_t)n * sizeof *s);
        memcpy(h->Y + h->newest * n, y, (size_t)n * sizeof *y);
    }
    h->rho[h->newest] = 1 / sty;
    return code;
}

static void apply_base(const lt_hessian *h, double *b)
{
    if (h->base_lower) {
        const double *from = b;
        double *to = h->h;
        lt_packed_apply_rows(h->n, h->base_lower, 1, &from, &to, NULL);
        memcpy(b, h->h, (size_t)h->n * sizeof *b);
    } else if (h->base_diagonal) {
        for (int64_t i = 0; i < h->n; i++) b[i] *= h->base_diagonal[i];
    }
    if (h->gamma != 1) lt_vec_scale(h->n, h->gamma, b);
}

/* Each of the 2m steps is one pass over a pair for all k right-hand sides; the pair stays in cache. */
static void two_loops(lt_hessian *h, int64_t k, double *const *b)
{
    int64_t n = h->n;
    for (int64_t age = 0; age < h->count; age++) {
        int64_t at = slot(h, age);
        const double *s = lt_hessian_step(h, at), *y = h->Y + at * n;
        for (int64_t j = 0; j < k; j++) {
            double a = h->rho[at] * lt_vec_dot(n, s, b[j]);
            h->coefficient[age * LT_LBFGS_BLOCK + j] = a;
            lt_vec_axpy(n, -a, y, b[j]);
        }
    }
    for (int64_t j = 0; j < k; j++) apply_base(h, b[j]);
    for (int64_t age = h->count - 1; age >= 0; age--) {
        int64_t at = slot(h, age);
        const double *s = lt_hessian_step(h, at), *y = h->Y + at * n;
        for (int64_t j = 0; j < k; j++) {
            double c = h->coefficient[age * LT_LBFGS_BLOCK + j] - h->rho[at] * lt_vec_dot(n, y, b[j]);
            lt_vec_axpy(n, c, s, b[j]);
        }
    }
}

/* ---- Of some variables ------------------------------------------------------------------------------------ */
/* 1 / s'y of a pair's free entries; 0: their curvature is noise, and the pair is left out. */
static double rho_of(const lt_hessian *h, const double *s, const double *y)
{
    double sty = 0, yty = 0, sts = 0;
    for (int64_t i = 0; i < h->n; i++) {
        const double a = h->free[i] ? s[i] : 0, b = h->free[i] ? y[i] : 0;
        sty += a * b;
        yty += b * b;
        sts += a * a;
    }
    return sty > 1e-12 * sqrt(yty) * sqrt(sts) && isfinite(1 / sty) ? 1 / sty : 0;
}

void lt_hessian_free_variables(lt_hessian *h, const uint8_t *free)
{
    if (!h->limited || h->device) return;
    h->free = free;
    for (int64_t age = 0; free && age < h->count; age++, h->n_passes++) {
        const int64_t at = slot(h, age);
        h->free_rho[at] = rho_of(h, lt_hessian_step(h, at), h->Y + at * h->n);
    }
}

/* b += c v, and zero where variables are held. */
static void add_free(const lt_hessian *h, double c, const double *v, double *b)
{
    const uint8_t *free = h->free;
    for (int64_t i = 0; i < h->n; i++) b[i] = free[i] ? b[i] + c * v[i] : 0;
}

static void two_loops_free(lt_hessian *h, int64_t k, double *const *b)
{
    const int64_t n = h->n;
    for (int64_t j = 0; j < k; j++) add_free(h, 0, b[j], b[j]);
    for (int64_t age = 0; age < h->count; age++, h->n_passes++) {
        const int64_t at = slot(h, age);
        for (int64_t j = 0; j < k && h->free_rho[at] != 0; j++) {
            const double a = h->free_rho[at] * lt_vec_dot(n, lt_hessian_step(h, at), b[j]);
            h->coefficient[age * LT_LBFGS_BLOCK + j] = a;
            add_free(h, -a, h->Y + at * n, b[j]);
        }
    }
    for (int64_t j = 0; j < k; j++) apply_base(h, b[j]);
    for (int64_t j = 0; h->base_lower && j < k; j++) add_free(h, 0, b[j], b[j]);
    for (int64_t age = h->count - 1; age >= 0; age--, h->n_passes++) {
        const int64_t at = slot(h, age);
        for (int64_t j = 0; j < k && h->free_rho[at] != 0; j++) {
            const double c = h->coefficient[age * LT_LBFGS_BLOCK + j] - h->free_rho[at] * lt_vec_dot(n, h->Y + at * n, b[j]);
            add_free(h, c, lt_hessian_step(h, at), b[j]);
        }
    }
}

void lt_lbfgs_apply(lt_hessian *h, int64_t k, const double *const *b, double *const *out)
{
    int64_t most = h->blocked ? LT_LBFGS_BLOCK : 1;
    for (int64_t j = 0; j < k; j++)
        if (out[j] != b[j]) memcpy(out[j], b[j], (size_t)h->n * sizeof(double));
    for (int64_t j = 0; j < k; j += most) (h->free ? two_loops_free : two_loops)(h, k - j < most ? k - j : most, out + j);
}
