/* Which gradients are the same in every sample. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/columns.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

/* Gradients that stay the same for a while and change one by one make all products be computed again each time. */
#define CHANGES_BORNE 8

lt_status lt_columns_create(int64_t k, int64_t slots, lt_columns *c)
{
    *c = (lt_columns){ .k = k, .slots = slots };
    c->is_shared = lt_calloc((size_t)k, sizeof *c->is_shared);
    c->shared = lt_malloc((size_t)(3 * k) * sizeof *c->shared);
    if (!c->is_shared || !c->shared) return LT_ERR_MEMORY;
    c->own = c->shared + k;
    c->number = c->own + k;
    lt_columns_arrange(c);
    return LT_OK;
}

void lt_columns_release(lt_columns *c)
{
    lt_free(c->is_shared);
    lt_free(c->shared);
    *c = (lt_columns){ 0 };
}

void lt_columns_arrange(lt_columns *c)
{
    c->n_shared = c->n_own = 0;
    for (int64_t j = 0; j < c->k; j++)
        if (c->is_shared[j]) {
            c->number[j] = c->n_shared;
            c->shared[c->n_shared++] = j;
        } else {
            c->number[j] = c->n_own;
            c->own[c->n_own++] = j;
        }
    c->count = c->n_shared + c->slots * c->n_own;
}

void lt_columns_share_none(lt_columns *c)
{
    memset(c->is_shared, 0, (size_t)c->k * sizeof *c->is_shared);
    lt_columns_arrange(c);
}

bool lt_columns_follow(lt_columns *c, int64_t n, const double *before, const double *now, int64_t most)
{
    const int64_t had = c->n_shared;
    if (c->decided && !had) return false;
    for (int64_t j = 1; j < c->k; j++)
        if (!c->decided || c->is_shared[j]) c->is_shared[j] = !memcmp(before + j * n, now + j * n, (size_t)n * sizeof *now);
    lt_columns_arrange(c);
    if (c->decided) c->n_changes += c->n_shared != had;
    c->decided = true;
    if (c->count > most || c->n_changes > CHANGES_BORNE) lt_columns_share_none(c);
    return c->n_shared != had;
}
