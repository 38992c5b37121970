/* Common subexpressions: equal nodes become one. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes/passes.h"

#include "base/alloc.h"

typedef struct node_table {
    int32_t *slot;      /* id + 1 of a node of `to`; 0 = empty */
    uint32_t mask;
} node_table;

static lt_status begin(lt_rewrite *r)
{
    uint32_t size = 64;
    while (size < 2u * (uint32_t)r->from->n_nodes) size *= 2;
    node_table *t = lt_malloc(sizeof *t);
    r->state = t;
    if (!t) return LT_ERR_MEMORY;
    *t = (node_table){ lt_calloc(size, sizeof *t->slot), size - 1 };
    return t->slot ? LT_OK : LT_ERR_MEMORY;
}

static void end(lt_rewrite *r)
{
    node_table *t = r->state;
    if (t) lt_free(t->slot);
    lt_free(t);
}

static int32_t node(lt_rewrite *r, int32_t old)
{
    node_table *t = r->state;
    int32_t id = lt_rewrite_copy(r, old);
    if (id < 0) return -1;
    const lt_ir_node *n = &r->to->node[id];
    for (uint32_t at = (uint32_t)lt_ir_hash(n) & t->mask;; at = (at + 1) & t->mask) {
        if (!t->slot[at]) { t->slot[at] = id + 1; return id; }
        if (!lt_ir_same(n, &r->to->node[t->slot[at] - 1])) continue;
        r->to->n_nodes--; /* the copy was the last node: take it back */
        return t->slot[at] - 1;
    }
}

const lt_pass_row lt_pass_cse = { "cse", LT_PASS_CSE, begin, node, end };
