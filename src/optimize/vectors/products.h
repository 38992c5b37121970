/* What the two files about products with H share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_PRODUCTS_H
#define LT_OPTIMIZE_VECTORS_PRODUCTS_H

#include "optimize/solver.h"

/* Columns are numbered as columns.h has it. A shared gradient is the newest sample's, as it is any other's. */
enum { LT_PRODUCTS_FEW = 8 }; /* columns whose inner products on a device cost next to nothing */

static inline double *lt_column_G(const lt_run *r, int64_t column)
{
    const lt_columns *c = &r->products.columns;
    int64_t slot = column < c->n_shared ? r->cache.newest : lt_columns_slot(c, column);
    return r->cache.grads[slot] + lt_columns_gradient(c, column) * r->n;
}

static inline double *lt_column_HG(const lt_run *r, int64_t column)
{
    const lt_columns *c = &r->products.columns;
    if (column >= c->n_shared) {
        int64_t slot = lt_columns_slot(c, column);
        column += (r->products.block[slot] - slot) * c->n_own;
    }
    return r->products.HG + column * r->n;
}

static inline double *lt_entry_Q(const lt_run *r, int64_t i, int64_t j) { return r->products.Q + i * r->products.columns.count + j; }

/* G'HG is kept and updated with H. */
static inline bool lt_products_carries_Q(const lt_products *p) { return p->Q && p->columns.count <= p->Q_columns; }

/* Limited memory on the host: products are as cheap as reading the pairs, and cannot be carried. None is kept. */
static inline bool lt_products_keeps_none(const lt_run *r) { return r->hessian.limited && !r->hessian.device; }

/* One more vector to multiply, as number `at`; returns the next number. */
static inline int64_t lt_products_add(lt_products *p, int64_t at, const double *from, double *to)
{
    p->from[at] = from;
    p->to[at] = to;
    return at + 1;
}

/* Slots that become valid take the first free blocks, so that no more memory is touched than there are valid slots at one time. */
void lt_products_take_block(lt_products *p, int64_t slot);
/* Memory for Q where the columns, some of them shared, need it. */
lt_status lt_products_make_room(lt_run *r);
/* The gradients at cur as sparse ones; NULL where no gradient is sparse, or nothing is gained by it. */
const lt_sparse *lt_products_sparse(lt_run *r);

#endif
