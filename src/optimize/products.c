/* Products of the QPs' H with the sampled gradients. A BFGS update changes them by rank two, so they
   are updated instead of computed again: with v = G's and u = G'h
       HG+ = gamma HG - rho (h v' + s u') + b s v',   Q+ = gamma Q - rho (u v' + v u') + b v v'.
   Every 50 updates, or when the check below fails, all are computed from scratch.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

#define UPDATES_KEPT 50
#define DRIFT_ALLOWED 1e-10
#define Q_COLUMNS_MAX 1024 /* the stored Q takes at most 8 MiB */

lt_status lt_products_create(lt_run *r)
{
    lt_products *p = &r->products;
    int64_t slots = r->cache.capacity, columns = slots * r->k;
    p->incremental = r->opt.incremental_products && !r->hessian.limited && !isfinite(r->opt.regularize_threshold);
    p->slot = -1;
    p->valid = lt_calloc((size_t)slots, sizeof *p->valid);
    p->HG = lt_malloc_aligned((size_t)(columns * r->n) * sizeof(double));
    p->current = lt_malloc_aligned((size_t)((r->k + 2) * r->n) * sizeof(double));
    p->from = lt_malloc((size_t)(columns + 2) * sizeof *p->from);
    p->to = lt_malloc((size_t)(columns + 2) * sizeof *p->to);
    p->u = lt_malloc((size_t)(2 * columns) * sizeof(double));
    p->column = lt_malloc((size_t)columns * sizeof *p->column);
    if (!p->valid || !p->HG || !p->current || !p->from || !p->to || !p->u || !p->column) return LT_ERR_MEMORY;
    p->v = p->u + columns;
    p->Hy = p->current + r->k * r->n;
    p->Hs = p->Hy + r->n;
    if (!p->incremental || columns > Q_COLUMNS_MAX) return LT_OK;
    p->Q = lt_malloc_aligned((size_t)(columns * columns) * sizeof(double));
    return p->Q ? LT_OK : LT_ERR_MEMORY;
}

void lt_products_release(lt_run *r)
{
    lt_products *p = &r->products;
    lt_free(p->valid);
    lt_free_aligned(p->HG);
    lt_free_aligned(p->current);
    lt_free(p->from);
    lt_free(p->to);
    lt_free(p->u);
    lt_free(p->column);
    lt_free_aligned(p->Q);
    *p = (lt_products){ 0 };
}

void lt_products_forget(lt_run *r)
{
    memset(r->products.valid, 0, (size_t)r->cache.capacity * sizeof *r->products.valid);
    r->products.slot = -1;
}

static double *column_G(const lt_run *r, int64_t column) { return r->cache.grads + column * r->n; }
static double *column_HG(const lt_run *r, int64_t column) { return r->products.HG + column * r->n; }
static double *entry_Q(const lt_run *r, int64_t i, int64_t j) { return r->products.Q + i * r->cache.capacity * r->k + j; }

/* Q between one slot and all valid ones, from that slot's products, which are fresh. */
static void fill_rows(lt_run *r, int64_t slot)
{
    int64_t k = r->k;
    for (int64_t other = 0; other < r->cache.count; other++) {
        if (!r->products.valid[other]) continue;
        for (int64_t i = slot * k; i < (slot + 1) * k; i++)
            for (int64_t j = other * k; j < (other + 1) * k; j++)
                *entry_Q(r, i, j) = *entry_Q(r, j, i) = lt_vec_dot(r->n, column_G(r, j), column_HG(r, i));
    }
}

/* The newest products are fresh: g_a'(H g_new) must agree with (H g_a)'g_new of each carried column. */
static double disagreement(const lt_run *r)
{
    int64_t k = r->k, at = r->cache.newest * k;
    double worst = 0;
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t j = r->cache.near_[i] * k;
        double off = fabs(lt_vec_dot(r->n, column_G(r, at), column_HG(r, j)) - *entry_Q(r, at, j));
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

/* As far as the QP can tell, whose scale is the largest diagonal entry; and not when products computed
   from scratch disagree nearly as much, as they do when H is ill-conditioned. */
static bool has_drifted(const lt_run *r)
{
    double scale = 0, off = disagreement(r);
    for (int64_t i = 0; i < r->cache.n_near * r->k; i++) {
        int64_t j = r->cache.near_[i / r->k] * r->k + i % r->k;
        scale = fmax(scale, *entry_Q(r, j, j));
    }
    return !(off <= DRIFT_ALLOWED * scale || off <= 16 * r->products.noise);
}

static int64_t add_column(lt_products *p, int64_t at, const double *from, double *to)
{
    p->from[at] = from;
    p->to[at] = to;
    return at + 1;
}

/* The coming update needs H y, and perhaps H s: taken along in the same pass over H. */
static int64_t add_update(lt_run *r, int64_t at)
{
    lt_products *p = &r->products;
    p->has_Hy = p->has_Hs = false;
    if (!r->iter || r->hessian.limited || r->regular.active) return at;
    at = add_column(p, at, r->y, p->Hy);
    p->has_Hy = true;
    if (!lt_hessian_wants_Hs(&r->hessian, r->s, r->y)) return at;
    p->has_Hs = true;
    return add_column(p, at, r->s, p->Hs);
}

static void compute(lt_run *r, bool with_update)
{
    lt_products *p = &r->products;
    int64_t k = r->k, n_columns = 0;
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t slot = r->cache.near_[i];
        for (int64_t j = 0; !p->valid[slot] && j < k; j++)
            n_columns = add_column(p, n_columns, column_G(r, slot * k + j), column_HG(r, slot * k + j));
    }
    if (with_update) n_columns = add_update(r, n_columns);
    lt_qp_hessian_apply(r, n_columns, p->from, p->to);
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t slot = r->cache.near_[i];
        if (p->valid[slot]) continue;
        p->valid[slot] = true;
        if (p->Q) fill_rows(r, slot);
    }
}

void lt_products_sample(lt_run *r)
{
    lt_products *p = &r->products;
    lt_span span = lt_span_begin("h_apply");
    bool *near_slot = p->valid; /* a slot that left the ball, or was overwritten, is no longer carried */
    int64_t at = 0;
    for (int64_t slot = 0; slot < r->cache.count; slot++) {
        bool is_near = at < r->cache.n_near && r->cache.near_[at] == slot;
        at += is_near;
        near_slot[slot] = near_slot[slot] && is_near && slot != r->cache.newest && p->incremental;
    }
    compute(r, true);
    if (p->n_updates >= UPDATES_KEPT || (p->Q && p->n_updates && has_drifted(r))) {
        lt_products_forget(r);
        compute(r, false);
        p->n_updates = 0;
        p->noise = p->Q ? disagreement(r) : 0;
    }
    p->slot = r->cache.newest;
    lt_span_end(span);
}

/* u and v stay zero for slots that are not carried, so that whole rows of Q can be updated at once. */
static void update_columns(lt_run *r, const lt_rank2 *z)
{
    lt_products *p = &r->products;
    int64_t k = r->k;
    for (int64_t slot = 0; slot < r->cache.count; slot++)
        for (int64_t j = slot * k; j < (slot + 1) * k; j++) {
            p->u[j] = p->v[j] = 0;
            if (!p->valid[slot]) continue;
            double *HG = column_HG(r, j);
            double v = p->v[j] = lt_vec_dot(r->n, column_G(r, j), z->s);
            double u = p->u[j] = lt_vec_dot(r->n, column_G(r, j), z->h);
            if (z->gamma != 1) lt_vec_scale(r->n, z->gamma, HG);
            lt_vec_axpy(r->n, -z->rho * v, z->h, HG);
            lt_vec_axpy(r->n, z->b * v - z->rho * u, z->s, HG);
        }
}

static void update_Q(lt_run *r, const lt_rank2 *z)
{
    const lt_products *p = &r->products;
    int64_t columns = r->cache.count * r->k;
    for (int64_t i = 0; i < columns; i++) {
        if (!p->valid[i / r->k]) continue;
        double *row = entry_Q(r, i, 0);
        if (z->gamma != 1) lt_vec_scale(columns, z->gamma, row);
        lt_vec_axpy(columns, z->b * p->v[i] - z->rho * p->u[i], p->v, row);
        lt_vec_axpy(columns, -z->rho * p->v[i], p->u, row);
    }
}

void lt_products_updated(lt_run *r)
{
    const lt_rank2 *z = &r->hessian.last;
    if (r->products.incremental && !z->done && z->gamma == 1) return; /* H is as it was */
    if (!r->products.incremental || !z->done) {
        lt_products_forget(r);
        return;
    }
    update_columns(r, z);
    if (r->products.Q) update_Q(r, z);
    r->products.n_updates++;
}

const double *lt_products_current(lt_run *r)
{
    lt_products *p = &r->products;
    if (p->slot >= 0 && p->valid[p->slot]) return column_HG(r, p->slot * r->k);
    for (int64_t j = 0; j < r->k; j++) {
        p->from[j] = r->cur->grads + j * r->n;
        p->to[j] = p->current + j * r->n;
    }
    lt_qp_hessian_apply(r, r->k, p->from, p->to);
    return p->current;
}

/* Only the lower triangle is computed; the QP wants both. */
void lt_products_gram(lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    lt_products *p = &r->products;
    int64_t k = r->k, m = l * k;
    lt_span span = lt_span_begin("gram");
    for (int64_t a = 0; a < l; a++)
        for (int64_t j = 0; j < k; j++) p->column[a * k + j] = slot[a] * k + j;
    for (int64_t a = 0; a < m; a++) {
        const double *row = p->Q ? entry_Q(r, p->column[a], 0) : NULL;
        for (int64_t b = 0; b <= a; b++)
            Q[a * m + b] = Q[b * m + a] = row ? row[p->column[b]]
                                              : lt_vec_dot(r->n, column_G(r, p->column[a]), column_HG(r, p->column[b]));
    }
    lt_span_end(span);
}
