/* Constant folding: what depends on constants alone is computed now, by the same kernels.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes/passes.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "graph/program/evaluate.h"

#define LARGEST_FOLD ((int64_t)1 << 24) /* elements; larger results are cheaper to recompute than to keep */

static bool is_constant(const lt_ir_node *n) { return n->op == LT_OP_CONST || n->op == LT_OP_FULL; }

/* Dense data of a constant; a FULL is written out into the arena. NULL when memory is out. */
static const void *constant_data(lt_rewrite *r, const lt_ir_node *n)
{
    if (n->op == LT_OP_CONST) return n->attr.u.data;
    int64_t count = lt_shape_count(&n->shape);
    void *data = lt_arena_alloc(r->to->arena, LT_MAX((size_t)count, 1) * lt_dtype_size((lt_dtype)n->dtype));
    for (int64_t i = 0; data && i < count; i++) lt_store_double((lt_dtype)n->dtype, data, i, n->attr.u.value);
    return data;
}

/* Elementwise ops of uniform constants stay uniform: one element is enough. */
static int32_t fold_uniform(lt_rewrite *r, const lt_ir_node *n)
{
    double in[3], out;
    for (int i = 0; i < n->n_in; i++) in[i] = r->to->node[r->map[n->in[i]]].attr.u.value;
    if (lt_evaluate_scalar((lt_op)n->op, (lt_dtype)n->dtype, n->n_in, in, &out)) return -1;
    return lt_rewrite_emit(r, LT_OP_FULL, (lt_dtype)n->dtype, &n->shape, 0, NULL, &(lt_attr){ .u.value = out });
}

static int32_t fold_tensor(lt_rewrite *r, const lt_ir_node *n)
{
    const void *in[LT_OP_MAX_INPUTS];
    lt_tensor_type type[LT_OP_MAX_INPUTS];
    for (int i = 0; i < n->n_in; i++) {
        const lt_ir_node *a = &r->to->node[r->map[lt_ir_in(n, i)]];
        type[i] = (lt_tensor_type){ (lt_dtype)a->dtype, a->shape };
        if (!(in[i] = constant_data(r, a))) return -1;
    }
    lt_tensor_type out = { (lt_dtype)n->dtype, n->shape };
    void *data = lt_arena_alloc(r->to->arena, LT_MAX((size_t)lt_shape_count(&n->shape), 1) * lt_dtype_size(out.dtype));
    if (!data || lt_evaluate((lt_op)n->op, n->n_in, type, in, &out, &n->attr, data)) return -1;
    return lt_rewrite_emit(r, LT_OP_CONST, out.dtype, &out.shape, 0, NULL, &(lt_attr){ .u.data = data });
}

static int32_t node(lt_rewrite *r, int32_t old)
{
    const lt_ir_node *n = &r->from->node[old];
    bool all = n->n_in > 0, uniform = lt_op_is_elementwise((lt_op)n->op);
    int64_t largest = lt_shape_count(&n->shape);
    for (int i = 0; i < n->n_in; i++) {
        const lt_ir_node *a = &r->to->node[r->map[lt_ir_in(n, i)]];
        all = all && is_constant(a);
        uniform = uniform && a->op == LT_OP_FULL;
        largest = LT_MAX(largest, lt_shape_count(&a->shape));
    }
    if (!all || (largest > LARGEST_FOLD && !uniform)) return lt_rewrite_copy(r, old);
    int32_t id = uniform ? fold_uniform(r, n) : fold_tensor(r, n);
    /* A kernel that fails here (a singular matrix, say) must fail when the program runs instead. */
    return id >= 0 ? id : lt_rewrite_copy(r, old);
}

const lt_pass_row lt_pass_fold = { "fold", LT_PASS_FOLD, NULL, node, NULL };
