/* Single elementwise ops and reductions as one-step fused kernels.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/status.h"

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

bool lt_elementwise_fused_applies(const lt_problem_key *p) { return lt_key_is_real(p) && p->n_in <= 3; }

lt_status lt_elementwise_fused_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_fused_load loads[3];
    lt_fused_step step = { .op = p->op, .reg = p->n_in };
    for (int i = 0; i < p->n_in; i++) {
        loads[i] = (lt_fused_load){ i, i, p->in[i].dtype, broadcast_view(&p->in[i].shape, &p->out.shape) };
        step.src[i] = i;
    }
    lt_fused_store store = { p->n_in, p->n_in, p->out.dtype, broadcast_view(&p->out.shape, &p->out.shape) };
    lt_fused f = { .type = register_type(p), .domain = p->out.shape, .n_regs = p->n_in + 1, .n_args = p->n_in + 1,
                   .n_loads = p->n_in, .loads = loads, .n_steps = 1, .steps = &step, .n_stores = 1, .stores = &store };
    return lt_fused_prepare_cpu(&f, p->isa, out);
}

bool lt_reduce_fused_applies(const lt_problem_key *p) { return lt_key_is_real(p) && lt_tensor_count(&p->in[0]) > 0; }

lt_status lt_reduce_fused_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_tensor_type *x = &p->in[0];
    lt_fused_load load = { 0, 0, x->dtype, broadcast_view(&x->shape, &x->shape) };
    lt_fused_reduce reduce = { p->op, 0, 1, p->out.dtype, p->attr->u.reduce.axes };
    lt_fused f = { .type = register_type(p), .domain = x->shape, .n_regs = 1, .n_args = 2, .n_loads = 1, .loads = &load,
                   .n_reduces = 1, .reduces = &reduce };
    return lt_fused_prepare_cpu(&f, p->isa, out);
}
