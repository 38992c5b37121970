/* How the gradients of all samples stand beside each other in products and QPs. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_COLUMNS_H
#define LT_OPTIMIZE_VECTORS_COLUMNS_H

#include "lathe/base.h"

/* Bounds and other linear constraints have the same gradient in every sample. Such gradients are columns that stand once, before
   all others (decision 115); then come the columns of each slot of the cache. With none of them a slot's columns are its k gradients in order. */
typedef struct lt_columns {
    int64_t  k, slots;
    int64_t  n_shared, n_own;  /* together k */
    int64_t  count;            /* of all columns: n_shared + slots * n_own */
    bool    *is_shared;        /* k; never f's, which is gradient 0 */
    int64_t *shared, *own;     /* which gradients they are, ascending */
    int64_t *number;           /* k: which of the shared or of the own ones a gradient is */
    bool     decided;          /* two samples have been seen */
    int32_t  n_changes;        /* times that a shared gradient turned out to change after all */
} lt_columns;

lt_status lt_columns_create(int64_t k, int64_t slots, lt_columns *c);
void      lt_columns_release(lt_columns *c);
void      lt_columns_arrange(lt_columns *c);   /* everything else from is_shared */
void      lt_columns_share_none(lt_columns *c);
/* Looks at two samples one after the other, k gradients of n numbers each. True: columns moved. `most`: no more columns than this,
   or none is shared. */
bool      lt_columns_follow(lt_columns *c, int64_t n, const double *before, const double *now, int64_t most);

static inline int64_t lt_columns_first(const lt_columns *c, int64_t slot) { return c->n_shared + slot * c->n_own; }

static inline int64_t lt_columns_of(const lt_columns *c, int64_t slot, int64_t gradient)
{
    return c->is_shared[gradient] ? c->number[gradient] : lt_columns_first(c, slot) + c->number[gradient];
}

/* Column i of a QP over the samples in these slots: the shared ones, then each sample's own. */
static inline int64_t lt_columns_pick(const lt_columns *c, const int64_t *slot, int64_t i)
{
    if (i < c->n_shared) return i;
    i -= c->n_shared;
    return lt_columns_first(c, slot[i / c->n_own]) + i % c->n_own;
}

static inline int64_t lt_columns_slot(const lt_columns *c, int64_t column) { return (column - c->n_shared) / c->n_own; } /* not of a shared one */

static inline int64_t lt_columns_gradient(const lt_columns *c, int64_t column)
{
    return column < c->n_shared ? c->shared[column] : c->own[(column - c->n_shared) % c->n_own];
}

#endif
