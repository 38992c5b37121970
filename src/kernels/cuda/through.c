/* Narrow floats where a library knows only wide ones. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/through.h"

#include "base/status.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/host_kernel.h"

static bool is_narrow(lt_dtype t) { return t == LT_F16 || t == LT_BF16; }

/* Converts between `narrow` at one place and its f32 form at another. */
static lt_status add_cast(lt_device *dev, lt_sequence *s, const lt_tensor_type *narrow, bool widen, lt_part_arg from, lt_part_arg to)
{
    lt_tensor_type wide = { LT_F32, narrow->shape };
    lt_problem_key p = { .op = LT_OP_CAST, .n_in = 1, .in = { widen ? *narrow : wide }, .out = widen ? wide : *narrow };
    lt_kernel *k;
    LT_TRY(lt_cuda_cast_prepare(dev, &p, &k));
    return lt_sequence_add(s, k, (lt_part_arg[]){ from, to });
}

static lt_status add_all(lt_device *dev, const lt_problem_key *p,
                         lt_status (*prepare)(lt_device *dev, const lt_problem_key *p, lt_kernel **out), lt_sequence *s)
{
    lt_problem_key wide = *p;
    lt_part_arg arg[LT_OP_MAX_INPUTS + 2];
    lt_kernel *k;
    for (int i = 0; i <= p->n_in; i++) {
        lt_tensor_type *t = i < p->n_in ? &wide.in[i] : &wide.out;
        arg[i] = (lt_part_arg){ i, 0 };
        if (!is_narrow(t->dtype)) continue;
        arg[i] = (lt_part_arg){ LT_SEQUENCE_SCRATCH, lt_sequence_scratch(s, (size_t)lt_tensor_count(t) * sizeof(float)) };
        if (i < p->n_in) LT_TRY(add_cast(dev, s, &p->in[i], true, (lt_part_arg){ i, 0 }, arg[i]));
        t->dtype = LT_F32;
    }
    LT_TRY(prepare(dev, &wide, &k));
    if (k->scratch_bytes) arg[k->n_args] = (lt_part_arg){ LT_SEQUENCE_SCRATCH, lt_sequence_scratch(s, k->scratch_bytes) };
    LT_TRY(lt_sequence_add(s, k, arg));
    return is_narrow(p->out.dtype) ? add_cast(dev, s, &p->out, false, arg[p->n_in], (lt_part_arg){ p->n_in, 0 }) : LT_OK;
}

lt_status lt_through_f32(lt_device *dev, const lt_problem_key *p,
                         lt_status (*prepare)(lt_device *dev, const lt_problem_key *p, lt_kernel **out), lt_kernel **out)
{
    lt_sequence *s;
    *out = NULL;
    LT_TRY(lt_sequence_create(dev, "through_f32", p->n_in + 1, &s));
    return lt_sequence_finish(s, add_all(dev, p, prepare, s), out);
}
