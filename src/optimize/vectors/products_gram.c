/* Gram matrices G'HG of sampled gradients, carried or computed, and combinations of the products.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/dense.h"
#include "optimize/vectors/products.h"
#include "optimize/vectors/vector.h"

#include "base/status.h"
#include "trace/trace.h"

#include <string.h>

void lt_products_dots(lt_run *r, int64_t first, const lt_combination *x, double *out)
{
    const lt_sparse *sparse = lt_products_sparse(r);
    lt_foresee_rows(r, first, x->m, x->m, x->a);
    for (int64_t j = first; j < r->k; j++)
        if (!sparse || !sparse->is_sparse[j]) out[j] = lt_vectors_dot_sum(&r->vectors, r->cur->grads + j * r->n, x);
    if (sparse) lt_sparse_dots(sparse, first, x->whole, out);
}

/* Row and column `a` of Q, up to the diagonal. */
static void gram_row(const lt_run *r, int64_t m, int64_t a, double *Q)
{
    const lt_products *p = &r->products;
    for (int64_t b = 0; b <= a; b++)
        Q[a * m + b] = Q[b * m + a] = lt_vectors_dot(&r->vectors, lt_column_G(r, p->column[a]), lt_column_HG(r, p->column[b]));
}

/* Some columns of Q at a time: sparse gradients pass over them all at once. */
void lt_products_rows(lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x, double *Q)
{
    const lt_sparse *sparse = lt_products_sparse(r);
    double *row = Q + (first - skip) * m; /* of gradient 0, if it had one */
    lt_foresee_rows(r, skip, first, m, x);
    for (int64_t b0 = 0; b0 < m; b0 += LT_DENSE_ROW) {
        int64_t b1 = LT_MIN(b0 + LT_DENSE_ROW, m);
        if (sparse) lt_sparse_dots_block(sparse, skip + LT_MAX(b0 - first, 0), b1 - b0, x + b0, row + b0, m);
        for (int64_t b = b0; b < b1; b++)
            for (int64_t j = skip + LT_MAX(b - first, 0); j < r->k; j++) {
                double *entry = row + j * m + b;
                if (!sparse || !sparse->is_sparse[j]) *entry = lt_vectors_dot(&r->vectors, r->cur->grads + j * r->n, x[b]);
                Q[b * m + first - skip + j] = *entry;
            }
    }
}

/* Where Q is not carried no gradient is shared: columns are the gradients of the slots. */
static void compute_gram(lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    lt_products *p = &r->products;
    int64_t k = r->k, m = l * k, current = -1;
    for (int64_t a = 0; a < l; a++) {
        if (slot[a] == r->cache.newest && lt_products_sparse(r)) current = a; /* all that those at cur are asked for */
        for (int64_t j = 0; j < k; j++) p->column[a * k + j] = slot[a] * k + j;
    }
    for (int64_t a = 0; a < m; a++)
        if (a / k != current) gram_row(r, m, a, Q);
    if (current < 0) return;
    for (int64_t b = 0; b < m; b++) p->from[b] = lt_column_HG(r, p->column[b]); /* the current gradients may be sparse */
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
        for (int64_t j = 0; j < some; j++) lt_products_add(p, j, lt_column_G(r, p->column[b0 + j]), block + j * r->n);
        lt_qp_hessian_apply(r, some, p->from, p->to);
        for (int64_t b = b0; b < b0 + some; b++)
            for (int64_t a = b; a < m; a++)
                Q[a * m + b] = Q[b * m + a] = lt_vectors_dot(&r->vectors, lt_column_G(r, p->column[a]), p->to[b - b0]);
    }
}

static void copy_gram(const lt_run *r, int64_t l, const int64_t *slot, double *Q)
{
    const lt_columns *c = &r->products.columns;
    int64_t m = c->n_shared + l * c->n_own;
    for (int64_t a = 0; a < m; a++) {
        const double *row = lt_entry_Q(r, lt_columns_pick(c, slot, a), 0);
        double *to = Q + a * m;
        memcpy(to, row, (size_t)c->n_shared * sizeof *to);
        to += c->n_shared;
        for (int64_t b = 0; b < l; b++, to += c->n_own) memcpy(to, row + lt_columns_first(c, slot[b]), (size_t)c->n_own * sizeof *to);
    }
}

lt_gram_view lt_products_gram(lt_run *r, int64_t l, const int64_t *slot, double *work)
{
    lt_span span = lt_span_begin("gram");
    const lt_columns *c = &r->products.columns;
    const int64_t first = c->n_shared ? 0 : lt_columns_first(c, slot[0]);
    lt_gram_view view = { work, c->n_shared + l * c->n_own };
    if (lt_products_keeps_none(r)) compute_gram_in_blocks(r, l, slot, work);
    else if (!lt_products_carries_Q(&r->products)) compute_gram(r, l, slot, work);
    else if (slot[l - 1] - slot[0] == l - 1 && (!c->n_shared || !slot[0])) view = (lt_gram_view){ lt_entry_Q(r, first, first), c->count };
    else copy_gram(r, l, slot, work);
    lt_span_end(span);
    return view;
}

void lt_products_combine(lt_run *r, int64_t m, const int64_t *slot, const double *y, const double *plain, double *out)
{
    if (lt_products_keeps_none(r)) {
        lt_qp_hessian_apply(r, 1, &plain, &out);
        lt_vectors_scale(&r->vectors, -1, out);
        return;
    }
    lt_vectors_sum(&r->vectors, out);
    for (int64_t i = 0; i < m; i++)
        if (y[i] != 0) lt_vectors_add(&r->vectors, -y[i], lt_column_HG(r, lt_columns_pick(&r->products.columns, slot, i)), out);
    lt_vectors_sum_end(&r->vectors);
}

bool lt_products_current_gram(lt_run *r, double *Q)
{
    const lt_products *p = &r->products;
    const lt_columns *c = &p->columns;
    int64_t m = r->k - 1;
    if (!lt_products_carries_Q(p) || p->slot < 0 || !p->valid[p->slot]) return false;
    for (int64_t i = 0; i < m; i++) {
        const double *row = lt_entry_Q(r, lt_columns_of(c, p->slot, 1 + i), 0);
        for (int64_t j = 0; j < m; j++) Q[i * m + j] = row[lt_columns_of(c, p->slot, 1 + j)];
    }
    return true;
}

bool lt_products_carried(const lt_run *r, int64_t first, double c_0, const double *c, double *out)
{
    const lt_products *p = &r->products;
    int64_t at = p->slot * r->k;
    if (lt_vectors_reads(&r->vectors) || !lt_products_carries_Q(p) || p->slot < 0 || !p->valid[p->slot]) return false;
    for (int64_t j = first; j < r->k; j++) {
        out[j] = c_0 * *lt_entry_Q(r, at + j, at);
        for (int64_t i = 1; c && i < r->k; i++) out[j] += c[i - 1] * *lt_entry_Q(r, at + j, at + i);
    }
    return true;
}
