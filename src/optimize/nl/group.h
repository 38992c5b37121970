/* Expressions of one shape, computed together as vectors. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_NL_GROUP_H
#define LT_OPTIMIZE_NL_GROUP_H

#include "optimize/nl/nl.h"

/* One expression among others: constraint, defined variable, or term of a sum. */
typedef struct lt_nl_item {
    int64_t             id;     /* whose it is */
    int                 kind;   /* items of different kinds are kept apart */
    int64_t             first;  /* node, -1: none */
    double              factor; /* of the expression */
    const lt_nl_linear *linear; /* NULL: none */
    uint64_t            hash;
} lt_nl_item;

/* What expressions are built over. */
typedef struct lt_nl_scope {
    const lt_nl *nl;
    lt_arena    *arena;    /* for lists */
    lt_graph    *g;
    lt_node      values;   /* x, then the defined variables there are so far: f64 [n_values] */
    int64_t     *position; /* of variables and defined variables in `values` */
    bool        *no_memory; /* set when a list could not be had: what was built is not to be used */
} lt_nl_scope;

void *lt_nl_take(const lt_nl_scope *s, int64_t n, size_t bytes); /* a zeroed list that lives as long as the arena */

/* Orders items so that those of one shape stand together; returns how many stand with the first of items[0 … n - 1]. */
void    lt_nl_sort(const lt_nl *nl, lt_nl_item *items, int64_t n);
int64_t lt_nl_group_size(const lt_nl *nl, const lt_nl_item *items, int64_t n);
/* The values of n items of one shape: f64 [n]. */
lt_node lt_nl_group_build(const lt_nl_scope *s, const lt_nl_item *items, int64_t n);
/* The entries of `values` at these positions: f64 [n], or a scalar where n is 1. */
lt_node lt_nl_pick(const lt_nl_scope *s, const int64_t *position, int64_t n);
lt_node lt_nl_vector(lt_graph *g, const double *v, int64_t n); /* a constant: scalar where all are equal */
/* The sum of an expression and a linear part: a scalar. */
lt_node lt_nl_total(const lt_nl_scope *s, int64_t first, const lt_nl_linear *linear);

#endif
