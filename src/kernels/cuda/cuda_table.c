/* The table of CUDA kernels: for each op the best row first. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/cuda_table.h"

#include "base/status.h"
#include "kernels/fused_key.h"
#include "kernels/host_kernel.h"

#include <stdio.h>

static lt_status fused_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_fused_one one;
    lt_fused_of_key(p, &one);
    return lt_fused_prepare_cuda(dev, &one.f, out);
}

static const lt_cuda_row rows[] = {
#define X(id, name) { "elementwise_fused", LT_OP_##id, lt_key_is_real, fused_prepare },
    LT_OPS_UNARY(X) LT_OPS_BINARY(X) LT_OPS_TERNARY(X)
#undef X
    { "reduce_fused", LT_OP_SUM, lt_key_is_real, fused_prepare },
    { "reduce_fused", LT_OP_RMAX, lt_key_is_real, fused_prepare },
    { "reduce_fused", LT_OP_RMIN, lt_key_is_real, fused_prepare },
};

const lt_cuda_row *lt_cuda_rows(int *n_rows)
{
    *n_rows = (int)LT_LEN(rows);
    return rows;
}

int lt_cuda_candidates(const lt_problem_key *p, const lt_cuda_row **out, int max)
{
    int n = 0;
    for (size_t i = 0; i < LT_LEN(rows) && n < max; i++)
        if (rows[i].op == p->op && rows[i].applies(p)) out[n++] = &rows[i];
    return n;
}

lt_status lt_cuda_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    const lt_cuda_row *row;
    *out = NULL;
    if (lt_cuda_candidates(p, &row, 1)) return row->prepare(dev, p, out);
    char types[128] = "";
    size_t at = 0;
    for (int i = 0; i < p->n_in && i < 3; i++)
        at += (size_t)snprintf(types + at, sizeof types - at, "%s%s", i ? ", " : "", lt_dtype_name(p->in[i].dtype));
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s has no kernel for op '%s' of (%s) -> %s; run it on the CPU (--device cpu)", lt_device_id(dev),
                   lt_op_name(p->op), types, lt_dtype_name(p->out.dtype));
}
