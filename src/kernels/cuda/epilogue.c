/* Epilogues of matrix products and convolutions. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/epilogue.h"

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

/* ---- Recognising a bias ------------------------------------------------------------------------ */
static bool is_dense(const lt_affine *v, const lt_shape *s)
{
    int64_t at = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        if (s->dim[d] > 1 && v->stride[d] != at) return false;
        at *= s->dim[d];
    }
    return v->offset == 0;
}

static bool is_last_axis(const lt_affine *v, const lt_shape *s)
{
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] > 1 && v->stride[d] != (d == s->rank - 1)) return false;
    return v->offset == 0;
}

bool lt_epilogue_is_bias(const lt_problem_key *p, int *bias, int *result)
{
    const lt_fused *f = p->epilogue;
    if (!f || f->n_loads != 2 || f->n_consts || f->n_steps != 1 || f->n_stores != 1 || f->n_reduces || f->steps[0].op != LT_OP_ADD) return false;
    const lt_fused_load *raw = &f->loads[f->loads[0].arg == 0 ? 0 : 1], *b = &f->loads[f->loads[0].arg == 0 ? 1 : 0];
    const lt_fused_step *s = &f->steps[0];
    bool both = (s->src[0] == raw->reg && s->src[1] == b->reg) || (s->src[1] == raw->reg && s->src[0] == b->reg);
    lt_dtype t = p->out.dtype;
    if (!both || raw->arg != 0 || b->arg == 0 || f->stores[0].reg != s->reg || b->from != t || f->stores[0].to != t) return false;
    *bias = p->n_in + b->arg;
    *result = p->n_in + f->stores[0].arg;
    return is_dense(&raw->view, &f->domain) && is_dense(&f->stores[0].view, &f->domain) && is_last_axis(&b->view, &f->domain);
}
