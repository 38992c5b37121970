/* The subdifferentials around an iterate, gradient by gradient: along the best combination of those known a step either descends, or ends
   where a gradient was missing (after Mahdavi-Amiri and Yousefpour, J. Optim. Theory Appl. 152:265-289, 2012). Where BFGS has stalled at a
   kink this shows the other pieces, and ends with a direction or a certificate (decision 187). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

enum { POINTS_MAX = 400, SAMPLES_MAX = 20, NUMBERS_MAX = 1 << 24, BISECTIONS = 30, FEWER_FROM = 200 };
#define DESCENT 1e-2       /* share of the slope that a step must gain */
#define CERTIFIED_WITHIN 1e-4 /* gradients from farther away prove nothing, unless samples may come from there */

typedef struct hull {
    double  radius;
    int64_t capacity, n_points;
    double *grads;           /* cur's, those of n_points (room for `capacity`), then samples': k times n numbers each, on the host wherever vectors are */
    double *x, *at, *phi;    /* n each: cur; the point tried; the gradient of phi there */
    double *v, length;       /* the best combination, and its length */
    lt_vectors vectors;      /* of the host */
    lt_kkt_columns columns;
} hull;

static int64_t points_for(const lt_run *r)
{
    const int64_t room = NUMBERS_MAX / (r->k * r->n), most = r->n > FEWER_FROM ? POINTS_MAX / 2 : POINTS_MAX;
    return LT_MIN(LT_MIN(3 * r->n + 20, most), room);
}

/* ---- Points ------------------------------------------------------------------------------------------------ */
/* Values at cur - t v / |v|. False: the run has stopped. */
static bool try_point(lt_run *r, const hull *h, double t)
{
    lt_point *p = r->trial;
    const double factor = -t / h->length;
    for (int64_t i = 0; i < r->n; i++) h->at[i] = h->x[i] + factor * h->v[i];
    if (!r->opt.double_precision) lt_vec_round_f32(r->n, h->at);
    if (lt_bounded(&r->bounds)) lt_bounds_project(r, h->at);
    lt_oracle_forget(r);
    lt_vectors_put(&r->vectors, r->n, h->at, p->x);
    p->mu = r->cur->mu;
    return lt_oracle_values(r, p, &(lt_line_trial){ .t = 1 }) && !lt_oracle_stopped(r);
}

static bool descends(const lt_run *r, const hull *h, double t) { return r->trial->finite && r->trial->phi <= r->cur->phi - DESCENT * t * r->cur->mu * h->length; }

/* At the point tried last, phi does not fall along -v. */
static bool is_missing(const lt_run *r, const hull *h)
{
    lt_vectors_get(&r->vectors, r->n, r->trial->grad_phi, h->phi);
    return -lt_vec_dot(r->n, h->phi, h->v) >= -DESCENT * r->cur->mu * h->length * h->length;
}

static bool add_point(const lt_run *r, hull *h)
{
    const int64_t count = r->k * r->n;
    double *to = h->grads + (h->n_points + 1) * count;
    if (h->n_points == h->capacity) return false;
    lt_vectors_get(&r->vectors, count, r->trial->grads, to);
    if (!lt_vec_finite(count, to)) return false;
    h->n_points++;
    return lt_kkt_add(r, &h->columns, to);
}

typedef enum finding { NOTHING, GRADIENT, DIRECTION, STOPPED } finding;

/* Where the whole step does not descend, some part of it ends at a missing gradient. */
static finding look_along(lt_run *r, hull *h)
{
    double low = 0, high = h->radius, t = high;
    for (int i = 0; i < BISECTIONS; i++, t = 0.5 * (low + high)) {
        if (!try_point(r, h, t)) return STOPPED;
        const bool falls = descends(r, h, t);
        if (falls && !i) return DIRECTION;
        if (falls) low = t;
        else high = t;
        if (!r->trial->finite) continue;
        if (!lt_oracle_gradients(r, r->trial)) return STOPPED;
        if (is_missing(r, h)) return add_point(r, h) ? GRADIENT : NOTHING;
    }
    return NOTHING;
}

/* ---- The whole ---------------------------------------------------------------------------------------------- */
static bool direct(lt_run *r, const hull *h)
{
    double *d = r->recovery.direction;
    if (!d && !(d = r->recovery.direction = lt_malloc((size_t)r->n * sizeof *d))) return false;
    memset(d, 0, (size_t)r->n * sizeof *d);
    lt_vec_axpy(r->n, -h->radius / h->length, h->v, d);
    if (lt_bounded(&r->bounds)) lt_bounds_block(r, d);
    lt_vectors_get(&r->vectors, r->n, r->penalty.grad_phi, h->phi);
    return r->recovery.directed = lt_vec_dot(r->n, d, h->phi) < 0;
}

/* Only gradients from near enough may improve the certificate. */
static double combine(lt_run *r, hull *h)
{
    lt_kkt *now = &r->certification.now;
    const bool counts = h->radius <= fmax(r->opt.sample_radius, CERTIFIED_WITHIN), known = now->known;
    const double residual = now->residual;
    if (!counts && known) now->residual = -1; /* better than any */
    const double length = lt_kkt_solve(r, &h->columns, h->v);
    if (!counts && known) now->residual = residual;
    return length;
}

/* What is known already, newest first. */
static void add_samples(const lt_run *r, hull *h)
{
    const lt_cache *c = &r->cache;
    const int64_t count = r->k * r->n;
    for (int64_t i = c->n_near - 1, n = 0; i >= 0 && n < SAMPLES_MAX; i--) {
        if (!lt_kkt_is_sample(r, c->near_[i])) continue;
        double *to = h->grads + (1 + h->capacity + n++) * count;
        lt_vectors_get(&r->vectors, count, c->grads[c->near_[i]], to);
        if (!lt_kkt_add(r, &h->columns, to)) return;
    }
}

static bool explore(lt_run *r, hull *h)
{
    finding what = GRADIENT;
    if (lt_certify(r)) return false;
    lt_vectors_get(&r->vectors, r->n, r->cur->x, h->x);
    lt_vectors_get(&r->vectors, r->k * r->n, r->cur->grads, h->grads);
    h->columns.vectors = &h->vectors;
    lt_kkt_begin(r, &h->columns, h->grads);
    if (h->radius >= r->opt.sample_radius) add_samples(r, h);
    while (what == GRADIENT) {
        h->length = combine(r, h);
        if (!(h->length > 0) || isinf(h->length) || lt_certified(r)) return false;
        what = look_along(r, h);
    }
    return what == DIRECTION && direct(r, h);
}

static lt_status make(const lt_run *r, int64_t count, hull *h)
{
    const int64_t samples = LT_MIN(r->cache.n_near, SAMPLES_MAX), n = r->n, grads = (1 + count + samples) * r->k * n;
    h->vectors = lt_vectors_on_host(n, NULL);
    h->grads = lt_malloc((size_t)(grads + 4 * n) * sizeof *h->grads);
    if (!h->grads) return LT_ERR_MEMORY;
    h->v = h->grads + grads;
    h->x = h->v + n;
    h->at = h->x + n;
    h->phi = h->at + n;
    return lt_kkt_columns_create(LT_MIN(LT_KKT_COLUMNS_MAX, (1 + samples + count) * r->k), &h->columns);
}

bool lt_sample_around(lt_run *r, double radius)
{
    const int64_t count = points_for(r), allocations = lt_alloc_count();
    if (!r->opt.recover_samples || count < 1 || r->rows.on) return false; /* sparse gradients are those of the point alone */
    lt_span span = lt_span_begin("sampling");
    lt_console_note(r, 2, "Recovery: gradients within %g of x in iteration %lld.", radius, (long long)r->iter + 1);
    hull h = { .radius = radius, .capacity = count };
    const bool found = !make(r, count, &h) && explore(r, &h);
    lt_kkt_columns_release(&h.columns);
    lt_free(h.grads);
    r->recovery.n_allocations += lt_alloc_count() - allocations;
    lt_span_end(span);
    return found;
}
