/* Single elementwise ops and reductions as one-step fused kernels.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/fused_key.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/status.h"

bool lt_elementwise_fused_applies(const lt_problem_key *p) { return lt_key_is_real(p) && p->n_in <= 3; }

lt_status lt_elementwise_fused_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_fused_one one;
    lt_fused_of_key(p, &one);
    return lt_fused_prepare_cpu(&one.f, p->isa, out);
}

bool lt_reduce_fused_applies(const lt_problem_key *p) { return lt_key_is_real(p) && lt_tensor_count(&p->in[0]) > 0; }

lt_status lt_reduce_fused_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_elementwise_fused_prepare(p, out);
}
