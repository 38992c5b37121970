/* Which arithmetic a precision runs in on this machine. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout.h"

#include "base/status.h"
#include "kernels/kernel_table.h"

#include <stdio.h>

/* Half precisions always run: where the processor has no fast arithmetic for them, products are taken in
   float32 of values that were rounded, which is faster than its slow one and has the same meaning. */
lt_status lt_rollout_choose_precision(lt_precision wanted, lt_rollout_info *info, lt_compile_options *out)
{
    const char *isa = lt_isa_name(lt_isa_best());
    info->precision = wanted;
    if (wanted == LT_PRECISION_FLOAT32) {
        snprintf(info->arithmetic, sizeof info->arithmetic, "float32 (%s)", isa);
        return LT_OK;
    }
    out->low_precision = true;
    out->storage_type = wanted == LT_PRECISION_FLOAT16 ? LT_F16 : LT_BF16;
    if (wanted == LT_PRECISION_BFLOAT16 && lt_kernel_bf16_is_native())
        snprintf(info->arithmetic, sizeof info->arithmetic, "bfloat16 products, float32 sums (oneDNN)");
    else
        snprintf(info->arithmetic, sizeof info->arithmetic, "float32 products of values rounded to %s (%s)", lt_precision_name(wanted), isa);
    return LT_OK;
}
