/* Products of the QPs' H with the sampled gradients. A BFGS update changes them by rank two, so they
   are updated instead of computed again: with v = G's and u = G'h
       HG+ = gamma HG - rho (h v' + s u') + b s v',   Q+ = gamma Q - rho (u v' + v u') + b v v'.
   Every 50 updates, or when the check below fails, all are computed from scratch.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/products.h"

#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

#define UPDATES_KEPT 50
#define DRIFT_ALLOWED 1e-10
#define Q_COLUMNS_MAX 1024 /* the stored Q takes at most 8 MiB */
#define Q_UNTIL_ITERATION 2 /* nothing is allocated later */
#define BLOCK_NUMBERS ((int64_t)1 << 20) /* of products that are not kept: 8 MiB */

static lt_status take_Q(lt_products *p, int64_t columns)
{
    p->Q = lt_malloc_aligned((size_t)(columns * columns) * sizeof(double));
    p->Q_columns = p->Q ? columns : 0;
    return p->Q ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_products_create(lt_run *r)
{
    lt_products *p = &r->products;
    const lt_vectors *v = &r->vectors;
    int64_t slots = r->cache.capacity, columns = slots * r->k;
    p->shares = lt_vectors_reads(v);
    p->incremental = r->opt.debug->incremental_products && !r->hessian.limited && !isfinite(r->opt.condition_limit);
    p->slot = -1;
    p->valid = lt_calloc((size_t)slots, sizeof *p->valid);
    p->block = lt_malloc((size_t)slots * sizeof *p->block);
    p->taken = lt_calloc((size_t)slots, sizeof *p->taken);
    p->block_columns = LT_MAX(LT_MIN(BLOCK_NUMBERS / r->n, LT_LBFGS_BLOCK), 1);
    bool kept = !r->hessian.limited || r->evaluator->on_device; /* pairs may still go to the device */
    p->Hy = r->hessian.h; /* where the update of H wants it */
    LT_TRY(v->on->take_block(v, r->n, "H s", &p->Hs));
    LT_TRY(v->on->take_block(v, (kept ? columns : p->block_columns) * r->n, "products with H", &p->HG));
    p->from = lt_malloc((size_t)(columns + 2) * sizeof *p->from);
    p->to = lt_malloc((size_t)(columns + 2) * sizeof *p->to);
    p->u = lt_malloc((size_t)(2 * columns) * sizeof(double));
    p->column = lt_malloc((size_t)columns * sizeof *p->column);
    if (!p->block || !p->taken) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < slots; i++) p->block[i] = i;
    LT_TRY(lt_columns_create(r->k, slots, &p->columns));
    LT_TRY(lt_sparse_create(lt_vectors_reads(v) ? r->k : 0, r->n, &p->sparse));
    if (!p->valid || !p->from || !p->to || !p->u || !p->column) return LT_ERR_MEMORY;
    p->v = p->u + columns;
    return p->incremental && columns <= Q_COLUMNS_MAX ? take_Q(p, columns) : LT_OK;
}

void lt_products_release(lt_run *r)
{
    lt_products *p = &r->products;
    lt_free(p->valid);
    lt_free(p->block);
    lt_free(p->taken);
    lt_columns_release(&p->columns);
    lt_sparse_release(&p->sparse);
    r->vectors.on->give_block(&r->vectors, p->HG);
    r->vectors.on->give_block(&r->vectors, p->Hs);
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
    memset(r->products.taken, 0, (size_t)r->cache.capacity * sizeof *r->products.taken);
    r->products.shared_valid = false;
    r->products.slot = -1;
}

static bool is_valid(const lt_products *p, int64_t column)
{
    return column < p->columns.n_shared ? p->shared_valid : p->valid[lt_columns_slot(&p->columns, column)];
}

/* Columns that may have products: none after the last slot in use has. */
static int64_t columns_in_use(const lt_run *r) { return lt_columns_first(&r->products.columns, r->cache.count); }

/* Q between some columns, whose products are fresh, and all valid ones. */
static void fill_rows(lt_run *r, int64_t first, int64_t count)
{
    int64_t in_use = columns_in_use(r);
    for (int64_t i = first; i < first + count; i++)
        for (int64_t j = 0; j < in_use; j++) {
            if (!is_valid(&r->products, j) || (j > i && j < first + count)) continue;
            *lt_entry_Q(r, i, j) = *lt_entry_Q(r, j, i) = lt_vectors_dot(&r->vectors, lt_column_G(r, j), lt_column_HG(r, i));
        }
}

/* The newest products are fresh: g_a'(H g_new) must agree with (H g_a)'g_new of each carried column. */
static double disagreement(const lt_run *r)
{
    const lt_columns *c = &r->products.columns;
    int64_t at = lt_columns_first(c, r->cache.newest);
    double worst = 0;
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t j = lt_columns_first(c, r->cache.near_[i]);
        double off = fabs(lt_vectors_dot(&r->vectors, lt_column_G(r, at), lt_column_HG(r, j)) - *lt_entry_Q(r, at, j));
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

/* As far as it matters to the QP, whose scale is the largest diagonal entry; and not when products computed
   from scratch disagree nearly as much, as they do when H is ill-conditioned. */
static bool has_drifted(const lt_run *r)
{
    const lt_columns *c = &r->products.columns;
    double scale = 0, off = disagreement(r);
    for (int64_t i = 0; i < c->n_shared + r->cache.n_near * c->n_own; i++) {
        int64_t j = lt_columns_pick(c, r->cache.near_, i);
        scale = fmax(scale, *lt_entry_Q(r, j, j));
    }
    return !(off <= DRIFT_ALLOWED * scale || off <= 16 * r->products.noise);
}

/* The coming update needs H y, and perhaps H s: taken along in the same pass over H. */
static int64_t add_update(lt_run *r, int64_t at)
{
    lt_products *p = &r->products;
    p->has_Hy = p->has_Hs = false;
    if (!r->iter || (r->hessian.limited && !r->hessian.device) || r->regular.active) return at;
    if (!r->hessian.limited) at = lt_products_add(p, at, r->last.y, p->Hy);
    p->has_Hy = !r->hessian.limited;
    if (!lt_hessian_may_want_Hs(&r->hessian, r->last.s, r->last.y)) return at;
    p->has_Hs = true;
    return lt_products_add(p, at, r->last.s, p->Hs);
}

void lt_products_take_block(lt_products *p, int64_t slot)
{
    int64_t at = 0;
    while (p->taken[at]) at++;
    p->taken[at] = true;
    p->block[slot] = at;
}

const lt_sparse *lt_products_sparse(lt_run *r)
{
    lt_sparse *s = &r->products.sparse;
    if (!s->k || r->hessian.limited || r->regular.active) return NULL;
    if (s->iter != r->iter) lt_sparse_describe(s, r->cur->grads);
    s->iter = r->iter;
    return s->n_sparse ? s : NULL;
}

/* Columns whose products are to be made, of the gradients at cur or of a slot: those that are to be multiplied as dense vectors are
   added, sparse ones at cur are multiplied here. */
static int64_t add_columns(lt_run *r, int64_t first, int64_t count, bool of_cur, int64_t at)
{
    lt_products *p = &r->products;
    bool cheap = of_cur && !r->hessian.diagonal && !r->hessian.device; /* a multiple of the identity costs nothing as it is */
    const lt_sparse *sparse = cheap ? lt_products_sparse(r) : NULL;
    double **to = p->to + at; /* the added ones come after these, and are written when these are done with */
    if (sparse) {
        memset(to, 0, (size_t)r->k * sizeof *to);
        for (int64_t i = first; i < first + count; i++) to[lt_columns_gradient(&p->columns, i)] = lt_column_HG(r, i);
        lt_sparse_apply(sparse, r->hessian.lower, to);
    }
    for (int64_t i = first; i < first + count; i++)
        if (!sparse || !sparse->is_sparse[lt_columns_gradient(&p->columns, i)]) at = lt_products_add(p, at, lt_column_G(r, i), lt_column_HG(r, i));
    return at;
}

static void compute(lt_run *r, bool with_update)
{
    lt_products *p = &r->products;
    const lt_columns *c = &p->columns;
    int64_t n_columns = 0;
    const bool shared = c->n_shared && !p->shared_valid;
    if (shared) n_columns = add_columns(r, 0, c->n_shared, true, n_columns);
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t slot = r->cache.near_[i];
        if (p->valid[slot]) continue;
        lt_products_take_block(p, slot);
        n_columns = add_columns(r, lt_columns_first(c, slot), c->n_own, slot == r->cache.newest, n_columns);
    }
    if (with_update) n_columns = add_update(r, n_columns);
    lt_qp_hessian_apply(r, n_columns, p->from, p->to);
    lt_foresee_products(r, with_update);
    if (shared) {
        p->shared_valid = true;
        fill_rows(r, 0, c->n_shared);
    }
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t slot = r->cache.near_[i];
        if (p->valid[slot]) continue;
        p->valid[slot] = true;
        if (lt_products_carries_Q(p)) fill_rows(r, lt_columns_first(c, slot), c->n_own);
    }
}

lt_status lt_products_make_room(lt_run *r)
{
    lt_products *p = &r->products;
    if (!p->columns.n_shared || p->Q) return LT_OK;
    if (!p->incremental || p->columns.count > Q_COLUMNS_MAX)
        return LT_FAIL(LT_ERR_FORMAT, "checkpoint: %lld columns of gradients, some of them shared", (long long)p->columns.count);
    return take_Q(p, Q_COLUMNS_MAX);
}

/* True when columns moved, so that no product is where it belongs. Only where Q is carried, since it pays then. */
static bool follow_columns(lt_run *r)
{
    lt_products *p = &r->products;
    const lt_cache *c = &r->cache;
    if (!p->incremental || !p->shares || c->count < 2 || (!p->Q && r->iter > Q_UNTIL_ITERATION)) return false;
    bool moved = lt_columns_follow(&p->columns, r->n, c->grads[lt_cache_slot(c, 1)], c->grads[c->newest], Q_COLUMNS_MAX);
    if (lt_products_make_room(r)) lt_columns_share_none(&p->columns);
    return moved;
}

void lt_products_leave(lt_run *r, int64_t slot)
{
    lt_products *p = &r->products;
    if (p->valid[slot]) p->taken[p->block[slot]] = false;
    p->valid[slot] = false;
}

void lt_products_sample(lt_run *r)
{
    lt_products *p = &r->products;
    if (lt_products_keeps_none(r)) return;
    lt_span span = lt_span_begin("h_apply");
    int64_t at = 0;
    bool anew = follow_columns(r);
    if (anew) lt_products_forget(r);
    for (int64_t slot = 0; slot < r->cache.count; slot++) {
        bool is_near = at < r->cache.n_near && r->cache.near_[at] == slot;
        at += is_near;
        if (!(is_near && slot != r->cache.newest && p->incremental)) lt_products_leave(r, slot); /* it left the ball, or was overwritten */
    }
    compute(r, true);
    if (!anew && (p->n_updates >= UPDATES_KEPT || (lt_products_carries_Q(p) && p->n_updates && has_drifted(r)))) {
        lt_products_forget(r);
        compute(r, false);
        anew = true;
    }
    if (anew) {
        p->n_updates = 0;
        p->noise = lt_products_carries_Q(p) ? disagreement(r) : 0;
    }
    p->slot = r->cache.newest;
    lt_span_end(span);
}

/* Numbers first, then all columns, which do not depend on each other. u and v stay zero for slots that are not carried, so that whole rows
   of Q can be updated at once. */
static void update_columns(lt_run *r, const lt_rank2 *z)
{
    lt_products *p = &r->products;
    const lt_vectors *v = &r->vectors;
    const int64_t columns = columns_in_use(r);
    int64_t n_valid = 0;
    for (int64_t j = 0; v->on->queues && j < columns; j++) /* known already unless this update scaled H */
        if (is_valid(p, j)) lt_vectors_expect(v, LT_MEASURE_DOT, lt_column_G(r, j), z->h);
    for (int64_t j = 0; j < columns; j++) {
        const bool valid = is_valid(p, j);
        p->v[j] = valid ? lt_vectors_dot(v, lt_column_G(r, j), z->s) : 0;
        p->u[j] = valid ? lt_vectors_dot(v, lt_column_G(r, j), z->h) : 0;
        n_valid += valid;
    }
    lt_vectors_forget(v);
    lt_vectors_many_begin(v, n_valid);
    for (int64_t j = 0; j < columns; j++) {
        if (!is_valid(p, j)) continue;
        double *HG = lt_column_HG(r, j);
        const double factor[] = { z->gamma, -z->rho * p->v[j], z->b * p->v[j] - z->rho * p->u[j] };
        lt_vectors_combine(v, 3, factor, (const double *const[]){ HG, z->h, z->s }, HG);
    }
    lt_vectors_many_end(v);
}

static void update_Q(lt_run *r, const lt_rank2 *z)
{
    const lt_products *p = &r->products;
    int64_t columns = columns_in_use(r);
    for (int64_t i = 0; i < columns; i++) {
        if (!is_valid(p, i)) continue;
        double *row = lt_entry_Q(r, i, 0);
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
        lt_vectors_forget(&r->vectors); /* what was asked about the last step */
        return;
    }
    update_columns(r, z);
    if (lt_products_carries_Q(&r->products)) update_Q(r, z);
    r->products.n_updates++;
}

/* Shared ones stand elsewhere; those who ask want all k in order. */
static const double *gather_current(lt_run *r, double *out)
{
    for (int64_t j = 0; j < r->k; j++)
        memcpy(out + j * r->n, lt_column_HG(r, lt_columns_of(&r->products.columns, r->products.slot, j)), (size_t)r->n * sizeof *out);
    return out;
}

const double *lt_products_current(lt_run *r)
{
    lt_products *p = &r->products;
    double *out = r->trial->grads; /* as many, and not needed before the step that these lead to */
    if (p->slot >= 0 && p->valid[p->slot]) return p->columns.n_shared ? gather_current(r, out) : lt_column_HG(r, lt_columns_first(&p->columns, p->slot));
    for (int64_t j = 0; j < r->k; j++) lt_products_add(p, j, r->cur->grads + j * r->n, out + j * r->n);
    lt_qp_hessian_apply(r, r->k, p->from, p->to);
    return out;
}
