/* A single elementwise op or reduction as a fused program. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/fused_key.h"

/* Strides of a dense tensor over the domain: right aligned, extents of 1 broadcast. */
static lt_affine broadcast_view(const lt_shape *s, const lt_shape *domain)
{
    lt_affine v = { 0 };
    int64_t at = 1;
    for (int d = domain->rank - 1, e = s->rank - 1; e >= 0; d--, e--) {
        v.stride[d] = s->dim[e] == 1 ? 0 : at;
        at *= s->dim[e];
    }
    return v;
}

/* Registers are f64 as soon as one tensor would lose bits in f32. */
static lt_dtype register_type(const lt_problem_key *p)
{
    lt_dtype t = lt_compute_type(p->out.dtype);
    for (int i = 0; i < p->n_in; i++)
        if (lt_compute_type(p->in[i].dtype) == LT_F64) t = LT_F64;
    return t;
}

static void of_reduction(const lt_problem_key *p, lt_fused_one *o)
{
    const lt_tensor_type *x = &p->in[0];
    o->load[0] = (lt_fused_load){ 0, 0, x->dtype, broadcast_view(&x->shape, &x->shape) };
    o->reduce = (lt_fused_reduce){ p->op, 0, 1, p->out.dtype, p->attr->u.reduce.axes };
    o->f = (lt_fused){ .type = register_type(p), .domain = x->shape, .n_regs = 1, .n_args = 2, .n_loads = 1, .loads = o->load,
                       .n_reduces = 1, .reduces = &o->reduce };
}

void lt_fused_of_key(const lt_problem_key *p, lt_fused_one *o)
{
    if (lt_op_is_reduce(p->op)) {
        of_reduction(p, o);
        return;
    }
    o->step = (lt_fused_step){ .op = p->op, .reg = p->n_in };
    for (int i = 0; i < p->n_in; i++) {
        o->load[i] = (lt_fused_load){ i, i, p->in[i].dtype, broadcast_view(&p->in[i].shape, &p->out.shape) };
        o->step.src[i] = i;
    }
    o->store = (lt_fused_store){ p->n_in, p->n_in, p->out.dtype, broadcast_view(&p->out.shape, &p->out.shape) };
    o->f = (lt_fused){ .type = register_type(p), .domain = p->out.shape, .n_regs = p->n_in + 1, .n_args = p->n_in + 1,
                       .n_loads = p->n_in, .loads = o->load, .n_steps = 1, .steps = &o->step, .n_stores = 1, .stores = &o->store };
}
