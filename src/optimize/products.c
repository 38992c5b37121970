/* Products of the QPs' H with the sampled gradients. A BFGS update changes them by rank two, so they
   are updated instead of computed again: with v = G's and u = G'h
       HG+ = gamma HG - rho (h v' + s u') + b s v',   Q+ = gamma Q - rho (u v' + v u') + b v v'.
   Every 50 updates, or when the check below fails, all are computed from scratch.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/dense.h"
#include "optimize/solver.h"
#include "optimize/sparse.h"
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
#define BLOCK_NUMBERS ((int64_t)1 << 20) /* of products that are not kept: 8 MiB */

/* H y where the update of H wants it. */
static lt_status take_there(lt_run *r, int64_t columns)
{
    lt_products *p = &r->products;
    p->Hy = r->hessian.h;
    LT_TRY(lt_vectors_take(r->vectors, r->n, "H s", &p->Hs));
    return lt_vectors_take(r->vectors, columns * r->n, "products with H", &p->HG);
}

lt_status lt_products_create(lt_run *r)
{
    lt_products *p = &r->products;
    int64_t slots = r->cache.capacity, columns = slots * r->k;
    p->incremental = r->opt.incremental_products && !r->hessian.limited && !isfinite(r->opt.regularize_threshold);
    p->slot = -1;
    p->valid = lt_calloc((size_t)slots, sizeof *p->valid);
    p->place = lt_malloc((size_t)slots * sizeof *p->place);
    p->taken = lt_calloc((size_t)slots, sizeof *p->taken);
    p->block_columns = LT_MAX(LT_MIN(BLOCK_NUMBERS / r->n, LT_LBFGS_BLOCK), 1);
    bool kept = !r->hessian.limited || r->evaluator->exchange; /* pairs may still go to the device */
    if (r->vectors) LT_TRY(take_there(r, columns));
    else {
        p->HG = lt_malloc_aligned((size_t)((kept ? columns : p->block_columns) * r->n) * sizeof(double));
        p->Hy = lt_malloc_aligned((size_t)(2 * r->n) * sizeof(double));
        p->Hs = p->Hy ? p->Hy + r->n : NULL;
    }
    p->from = lt_malloc((size_t)(columns + 2) * sizeof *p->from);
    p->to = lt_malloc((size_t)(columns + 2) * sizeof *p->to);
    p->u = lt_malloc((size_t)(2 * columns) * sizeof(double));
    p->column = lt_malloc((size_t)columns * sizeof *p->column);
    if (!p->place || !p->taken) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < slots; i++) p->place[i] = i;
    LT_TRY(lt_sparse_create(r->k, r->n, &p->sparse));
    if (!p->valid || !p->HG || !p->Hy || !p->from || !p->to || !p->u || !p->column) return LT_ERR_MEMORY;
    p->v = p->u + columns;
    if (!p->incremental || columns > Q_COLUMNS_MAX) return LT_OK;
    p->Q = lt_malloc_aligned((size_t)(columns * columns) * sizeof(double));
    return p->Q ? LT_OK : LT_ERR_MEMORY;
}

void lt_products_release(lt_run *r)
{
    lt_products *p = &r->products;
    lt_free(p->valid);
    lt_free(p->place);
    lt_free(p->taken);
    lt_sparse_release(&p->sparse);
    if (!r->vectors) { /* else they go with the vectors */
        lt_free_aligned(p->HG);
        lt_free_aligned(p->Hy);
    }
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
    r->products.slot = -1;
}

static double *column_G(const lt_run *r, int64_t column) { return r->cache.grads + column * r->n; }
static double *column_HG(const lt_run *r, int64_t column)
{
    int64_t slot = column / r->k;
    return r->products.HG + (r->products.place[slot] * r->k + column % r->k) * r->n;
}
static double *entry_Q(const lt_run *r, int64_t i, int64_t j) { return r->products.Q + i * r->cache.capacity * r->k + j; }

/* Limited memory on the host: products are as cheap as reading the pairs, and cannot be carried. None is kept. */
static bool keeps_none(const lt_run *r) { return r->hessian.limited && !r->hessian.far; }

/* Q between one slot and all valid ones, from that slot's products, which are fresh. */
static void fill_rows(lt_run *r, int64_t slot)
{
    int64_t k = r->k;
    for (int64_t other = 0; other < r->cache.count; other++) {
        if (!r->products.valid[other]) continue;
        for (int64_t i = slot * k; i < (slot + 1) * k; i++)
            for (int64_t j = other * k; j < (other + 1) * k; j++)
                *entry_Q(r, i, j) = *entry_Q(r, j, i) = lt_space_dot(r->vectors, r->n, column_G(r, j), column_HG(r, i));
    }
}

/* The newest products are fresh: g_a'(H g_new) must agree with (H g_a)'g_new of each carried column. */
static double disagreement(const lt_run *r)
{
    int64_t k = r->k, at = r->cache.newest * k;
    double worst = 0;
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t j = r->cache.near_[i] * k;
        double off = fabs(lt_space_dot(r->vectors, r->n, column_G(r, at), column_HG(r, j)) - *entry_Q(r, at, j));
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
    if (!r->iter || (r->hessian.limited && !r->hessian.far) || r->regular.active) return at;
    if (!r->hessian.limited) at = add_column(p, at, r->y, p->Hy);
    p->has_Hy = !r->hessian.limited;
    if (r->vectors ? !(r->hessian.damping > 0) : !lt_hessian_wants_Hs(&r->hessian, r->s, r->y)) return at; /* there it costs less than asking */
    p->has_Hs = true;
    return add_column(p, at, r->s, p->Hs);
}

/* Slots that become valid take the first free places, so that no more memory is touched than there
   are valid slots at one time. */
static void take_place(lt_products *p, int64_t slot)
{
    int64_t at = 0;
    while (p->taken[at]) at++;
    p->taken[at] = true;
    p->place[slot] = at;
}

static const lt_sparse *describe_current(lt_run *r)
{
    lt_sparse *s = &r->products.sparse;
    if (!s->k || r->hessian.limited || r->regular.active || r->vectors) return NULL;
    if (s->iter != r->iter) lt_sparse_describe(s, r->cur->grads);
    s->iter = r->iter;
    return s->n_sparse ? s : NULL;
}

/* The columns of one slot that are to be multiplied as dense vectors. */
static int64_t add_slot(lt_run *r, int64_t slot, int64_t at)
{
    bool cheap = slot == r->cache.newest && !r->hessian.diagonal && !r->hessian.far; /* a multiple of the identity costs nothing as it is */
    const lt_sparse *sparse = cheap ? describe_current(r) : NULL;
    for (int64_t j = 0; j < r->k; j++)
        if (!sparse || !sparse->is_sparse[j])
            at = add_column(&r->products, at, column_G(r, slot * r->k + j), column_HG(r, slot * r->k + j));
    if (sparse) lt_sparse_apply(sparse, r->hessian.lower, column_HG(r, slot * r->k));
    return at;
}

/* Gradients of one slot times products of another. */
static void expect_slots(lt_run *r, int64_t gradients, int64_t products)
{
    int64_t k = r->k;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) lt_space_expect(r->vectors, column_G(r, gradients * k + i), column_HG(r, products * k + j));
}

/* Vectors on a device: the inner products that Q, its check and the update of H are about to ask for, in one wait. */
static void foresee_Q(lt_run *r)
{
    const lt_cache *c = &r->cache;
    const lt_products *p = &r->products;
    for (int64_t a = 0; a < c->n_near; a++) {
        lt_space_expect(r->vectors, column_G(r, c->newest * r->k), column_HG(r, c->near_[a] * r->k)); /* the check */
        for (int64_t b = 0; b < c->n_near; b++)
            if (p->Q ? !p->valid[c->near_[b]] : b <= a) expect_slots(r, c->near_[a], c->near_[b]);
    }
}

static void foresee_update(lt_run *r)
{
    const lt_products *p = &r->products;
    const double *const pair[][2] = { { r->s, r->y }, { r->s, r->s }, { r->y, r->y }, { r->y, p->Hy }, { r->s, p->Hy }, { r->s, p->Hs } };
    for (size_t i = 0; i < LT_LEN(pair); i++)
        if (i < 3 || (i < 5 ? p->has_Hy : p->has_Hs)) lt_space_expect(r->vectors, pair[i][0], pair[i][1]);
    lt_vectors_expect(r->vectors, LT_MEASURE_BAD, r->s, r->s);
    lt_vectors_expect(r->vectors, LT_MEASURE_BAD, p->has_Hy ? p->Hy : r->y, p->has_Hy ? p->Hy : r->y);
    for (int64_t i = 0; p->incremental && p->has_Hy && i < r->cache.n_near * r->k; i++) {
        const double *g = column_G(r, r->cache.near_[i / r->k] * r->k + i % r->k);
        lt_space_expect(r->vectors, g, r->s);
        lt_space_expect(r->vectors, g, p->Hy);
    }
}

static void foresee(lt_run *r, bool with_update)
{
    foresee_Q(r);
    if (with_update && r->iter) foresee_update(r);
}

static void compute(lt_run *r, bool with_update)
{
    lt_products *p = &r->products;
    int64_t n_columns = 0;
    for (int64_t i = 0; i < r->cache.n_near; i++) {
        int64_t slot = r->cache.near_[i];
        if (p->valid[slot]) continue;
        take_place(p, slot);
        n_columns = add_slot(r, slot, n_columns);
    }
    if (with_update) n_columns = add_update(r, n_columns);
    lt_qp_hessian_apply(r, n_columns, p->from, p->to);
    if (r->vectors) foresee(r, with_update);
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
    if (keeps_none(r)) return;
    lt_span span = lt_span_begin("h_apply");
    int64_t at = 0;
    for (int64_t slot = 0; slot < r->cache.count; slot++) {
        bool is_near = at < r->cache.n_near && r->cache.near_[at] == slot;
        at += is_near;
        if (!p->valid[slot] || (is_near && slot != r->cache.newest && p->incremental)) continue;
        p->valid[slot] = false; /* it left the ball, or was overwritten: no longer carried */
        p->taken[p->place[slot]] = false;
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

/* The same on a device: numbers first, then all columns side by side. */
static void update_columns_there(lt_run *r, const lt_rank2 *z)
{
    lt_products *p = &r->products;
    int64_t columns = r->cache.count * r->k, n_valid = 0;
    for (int64_t j = 0; j < columns; j++) /* known already unless this update scaled H */
        if (p->valid[j / r->k]) lt_space_expect(r->vectors, column_G(r, j), z->h);
    for (int64_t j = 0; j < columns; j++) {
        bool valid = p->valid[j / r->k];
        p->v[j] = valid ? lt_space_dot(r->vectors, r->n, column_G(r, j), z->s) : 0;
        p->u[j] = valid ? lt_space_dot(r->vectors, r->n, column_G(r, j), z->h) : 0;
        n_valid += valid;
    }
    lt_vectors_forget(r->vectors);
    lt_vectors_many_begin(r->vectors, n_valid);
    for (int64_t j = 0; j < columns; j++) {
        if (!p->valid[j / r->k]) continue;
        double *HG = column_HG(r, j);
        const double factor[] = { z->gamma, -z->rho * p->v[j], z->b * p->v[j] - z->rho * p->u[j] };
        lt_vectors_combine(r->vectors, 3, factor, (const double *const[]){ HG, z->h, z->s }, HG);
    }
    lt_vectors_many_end(r->vectors);
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
        if (r->vectors) lt_vectors_forget(r->vectors); /* what was asked about the last step */
        return;
    }
    if (r->vectors) update_columns_there(r, z);
    else update_columns(r, z);
    if (r->products.Q) update_Q(r, z);
    r->products.n_updates++;
}

const double *lt_products_current(lt_run *r)
{
    lt_products *p = &r->products;
    if (p->slot >= 0 && p->valid[p->slot]) return column_HG(r, p->slot * r->k);
    double *out = r->trial->grads; /* as many, and not needed before the step that these lead to */
    for (int64_t j = 0; j < r->k; j++) add_column(p, j, r->cur->grads + j * r->n, out + j * r->n);
    lt_qp_hessian_apply(r, r->k, p->from, p->to);
    return out;
}

void lt_products_dots(lt_run *r, int64_t first, const double *x, double *out)
{
    const lt_sparse *sparse = describe_current(r);
    for (int64_t j = first; j < r->k; j++) lt_space_expect(r->vectors, r->cur->grads + j * r->n, x);
    for (int64_t j = first; j < r->k; j++)
        if (!sparse || !sparse->is_sparse[j]) out[j] = lt_space_dot(r->vectors, r->n, r->cur->grads + j * r->n, x);
    if (sparse) lt_sparse_dots(sparse, first, x, out);
}

/* Row and column `a` of Q, up to the diagonal. */
static void gram_row(const lt_run *r, int64_t m, int64_t a, double *Q)
{
    const lt_products *p = &r->products;
    for (int64_t b = 0; b <= a; b++)
        Q[a * m + b] = Q[b * m + a] = lt_space_dot(r->vectors, r->n, column_G(r, p->column[a]), column_HG(r, p->column[b]));
}

/* Some columns of Q at a time: sparse gradients pass over them all at once. */
void lt_products_rows(lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x, double *Q)
{
    const lt_sparse *sparse = describe_current(r);
    double *row = Q + (first - skip) * m; /* of gradient 0, if it had one */
    for (int64_t b = 0; r->vectors && b < m; b++)
        for (int64_t j = skip + LT_MAX(b - first, 0); j < r->k; j++) lt_space_expect(r->vectors, r->cur->grads + j * r->n, x[b]);
    for (int64_t b0 = 0; b0 < m; b0 += LT_DENSE_ROW) {
        int64_t b1 = LT_MIN(b0 + LT_DENSE_ROW, m);
        if (sparse) lt_sparse_dots_block(sparse, skip + LT_MAX(b0 - first, 0), b1 - b0, x + b0, row + b0, m);
        for (int64_t b = b0; b < b1; b++)
            for (int64_t j = skip + LT_MAX(b - first, 0); j < r->k; j++) {
                double *entry = row + j * m + b;
                if (!sparse || !sparse->is_sparse[j]) *entry = lt_space_dot(r->vectors, r->n, r->cur->grads + j * r->n, x[b]);
                Q[b * m + first - skip + j] = *entry;
            }
    }
}

static void compute_gram(lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    lt_products *p = &r->products;
    int64_t k = r->k, m = l * k, current = -1;
    for (int64_t a = 0; a < l; a++) {
        if (slot[a] == r->cache.newest && !r->vectors) current = a; /* on a device the slot's own copy is what was foreseen */
        for (int64_t j = 0; j < k; j++) p->column[a * k + j] = slot[a] * k + j;
    }
    for (int64_t a = 0; a < m; a++)
        if (a / k != current) gram_row(r, m, a, Q);
    if (current < 0) return;
    for (int64_t b = 0; b < m; b++) p->from[b] = column_HG(r, p->column[b]); /* the current gradients may be sparse */
    lt_products_rows(r, 0, current * k, m, p->from, Q);
}

/* The same with a few products at a time. */
static void compute_gram_in_blocks(lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    lt_products *p = &r->products;
    int64_t k = r->k, m = l * k;
    double *block = p->block_columns > 1 ? p->HG : lt_run_work(r);
    for (int64_t a = 0; a < m; a++) p->column[a] = slot[a / k] * k + a % k;
    for (int64_t b0 = 0; b0 < m; b0 += p->block_columns) {
        int64_t some = LT_MIN(p->block_columns, m - b0);
        for (int64_t j = 0; j < some; j++) add_column(p, j, column_G(r, p->column[b0 + j]), block + j * r->n);
        lt_qp_hessian_apply(r, some, p->from, p->to);
        for (int64_t b = b0; b < b0 + some; b++)
            for (int64_t a = b; a < m; a++)
                Q[a * m + b] = Q[b * m + a] = lt_vec_dot(r->n, column_G(r, p->column[a]), p->to[b - b0]);
    }
}

static void copy_gram(const lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    int64_t k = r->k, m = l * k;
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b < l; b++)
            memcpy(Q + a * m + b * k, entry_Q(r, slot[a / k] * k + a % k, slot[b] * k), (size_t)k * sizeof *Q);
}

lt_gram_view lt_products_gram(lt_run *r, int64_t l, const int64_t *slot, double *work)
{
    lt_span span = lt_span_begin("gram");
    lt_gram_view view = { work, l * r->k };
    if (keeps_none(r)) compute_gram_in_blocks(r, l, slot, work);
    else if (!r->products.Q) compute_gram(r, l, slot, work);
    else if (slot[l - 1] - slot[0] == l - 1) view = (lt_gram_view){ entry_Q(r, slot[0] * r->k, slot[0] * r->k), r->cache.capacity * r->k };
    else copy_gram(r, l, slot, work);
    lt_span_end(span);
    return view;
}

void lt_products_combine(lt_run *r, int64_t m, const int64_t *slot, const double *y, double *out)
{
    if (keeps_none(r)) {
        const double *from = out;
        lt_qp_hessian_apply(r, 1, &from, &out);
        lt_vec_scale(r->n, -1, out);
        return;
    }
    lt_space_sum(r->vectors, r->n, out);
    for (int64_t i = 0; i < m; i++)
        if (y[i] != 0) lt_space_add(r->vectors, r->n, -y[i], column_HG(r, slot[i / r->k] * r->k + i % r->k), out);
    lt_space_sum_end(r->vectors);
}

bool lt_products_current_gram(lt_run *r, double *Q)
{
    lt_products *p = &r->products;
    int64_t m = r->k - 1;
    if (!p->Q || p->slot < 0 || !p->valid[p->slot]) return false;
    for (int64_t i = 0; i < m; i++) memcpy(Q + i * m, entry_Q(r, p->slot * r->k + 1 + i, p->slot * r->k + 1), (size_t)m * sizeof *Q);
    return true;
}

bool lt_products_carried(const lt_run *r, int64_t first, double c_0, const double *c, double *out)
{
    const lt_products *p = &r->products;
    int64_t at = p->slot * r->k;
    if (!r->vectors || !p->Q || p->slot < 0 || !p->valid[p->slot]) return false;
    for (int64_t j = first; j < r->k; j++) {
        out[j] = c_0 * *entry_Q(r, at + j, at);
        for (int64_t i = 1; c && i < r->k; i++) out[j] += c[i - 1] * *entry_Q(r, at + j, at + i);
    }
    return true;
}
