/* Epilogues of matrix products and convolutions. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/fused/epilogue.h"

#include "base/status.h"
#include "kernels/cuda/sequence.h"

#include <string.h>

static lt_status add_epilogue(lt_device *dev, const lt_problem_key *p, lt_sequence *s)
{
    lt_part_arg arg[LT_KERNEL_MAX_ARGS + 2];
    lt_kernel *k;
    LT_TRY(lt_fused_prepare_cuda(dev, p->epilogue, &k));
    for (int i = 0; i < p->epilogue->n_args; i++) arg[i] = (lt_part_arg){ p->n_in + i, 0 };
    if (k->scratch_bytes) arg[k->n_args] = (lt_part_arg){ LT_SEQUENCE_SCRATCH, lt_sequence_scratch(s, k->scratch_bytes) };
    return lt_sequence_add(s, k, arg);
}

/* k takes its own scratch, if any, from the sequence's. */
static lt_status add_main(const lt_problem_key *p, lt_kernel *k, lt_sequence *s)
{
    lt_part_arg arg[LT_OP_MAX_INPUTS + 2];
    for (int i = 0; i <= p->n_in; i++) arg[i] = (lt_part_arg){ i, 0 };
    if (k->scratch_bytes) arg[k->n_args] = (lt_part_arg){ LT_SEQUENCE_SCRATCH, lt_sequence_scratch(s, k->scratch_bytes) };
    lt_sequence_forward_pack(s, k);
    return lt_sequence_add(s, k, arg);
}

lt_status lt_epilogue_wrap(lt_device *dev, const lt_problem_key *p, const char *name, lt_kernel *k, lt_kernel **out)
{
    lt_sequence *s;
    *out = k;
    if (k && !p->epilogue) return LT_OK;
    *out = NULL;
    lt_status status = lt_sequence_create(dev, name, p->n_in + (p->epilogue ? p->epilogue->n_args : 1), &s);
    if (status) {
        lt_kernel_destroy(k);
        return status;
    }
    if (k) status = add_main(p, k, s);
    if (!status && p->epilogue && lt_shape_count(&p->epilogue->domain) > 0) status = add_epilogue(dev, p, s);
    return lt_sequence_finish(s, status, out);
}

/* ---- Recognising a chain ------------------------------------------------------------------------ */
static bool is_dense(const lt_affine *v, const lt_shape *s)
{
    int64_t at = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        if (s->dim[d] > 1 && v->stride[d] != at) return false;
        at *= s->dim[d];
    }
    return v->offset == 0;
}

static bool is_vector(const lt_affine *v, const lt_shape *s, int axis)
{
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] > 1 && v->stride[d] != (d == axis)) return false;
    return v->offset == 0;
}

static const lt_fused_load *load_of(const lt_fused *f, int reg)
{
    for (int i = 0; i < f->n_loads; i++)
        if (f->loads[i].reg == reg) return &f->loads[i];
    return NULL;
}

/* A step on the value in register `at` and, for a sum or product, one more tensor. */
static bool takes_one_more(const lt_problem_key *p, const lt_fused_step *s, int at, int channel, lt_epilogue_step *out)
{
    const lt_fused *f = p->epilogue;
    *out = (lt_epilogue_step){ s->op, -1, false };
    if (s->op == LT_OP_RELU || s->op == LT_OP_GELU) return s->src[0] == at;
    if ((s->op != LT_OP_ADD && s->op != LT_OP_MUL) || (s->src[0] == at) == (s->src[1] == at)) return false;
    const lt_fused_load *l = load_of(f, s->src[s->src[0] == at ? 1 : 0]);
    if (!l || l->arg == 0 || l->from != p->out.dtype) return false;
    out->arg = p->n_in + l->arg;
    out->whole = !is_vector(&l->view, &f->domain, channel);
    return !out->whole || is_dense(&l->view, &f->domain);
}

bool lt_epilogue_is_chain(const lt_problem_key *p, int channel, lt_epilogue_chain *out)
{
    const lt_fused *f = p->epilogue;
    *out = (lt_epilogue_chain){ 0 };
    if (!f || f->n_consts || f->n_reduces || f->n_stores != 1 || f->n_steps < 1 || f->n_steps > LT_EPILOGUE_STEPS) return false;
    int at = -1;
    for (int i = 0; i < f->n_loads; i++)
        if (f->loads[i].arg == 0 && f->loads[i].from == p->out.dtype && is_dense(&f->loads[i].view, &f->domain)) at = f->loads[i].reg;
    for (int i = 0; i < f->n_steps; i++) {
        if (at < 0 || !takes_one_more(p, &f->steps[i], at, channel, &out->step[out->n_steps++])) return false;
        at = f->steps[i].reg;
    }
    out->result = p->n_in + f->stores[0].arg;
    return f->stores[0].reg == at && f->stores[0].to == p->out.dtype && is_dense(&f->stores[0].view, &f->domain);
}
