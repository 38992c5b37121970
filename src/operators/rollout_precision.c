/* Which arithmetic a precision runs in on this machine. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout.h"

#include "base/status.h"
#include "kernels/fused.h"

#include <stdio.h>

lt_status lt_rollout_choose_precision(lt_precision wanted, lt_rollout_info *info, lt_compile_options *out)
{
    info->precision = wanted;
    const char *isa = lt_isa_name(lt_isa_best());
    if (wanted == LT_PRECISION_FLOAT32) {
        snprintf(info->arithmetic, sizeof info->arithmetic, "float32 (%s)", isa);
        return LT_OK;
    }
    out->low_precision = true;
    out->storage_type = wanted == LT_PRECISION_FLOAT16 ? LT_F16 : LT_BF16;
    snprintf(info->arithmetic, sizeof info->arithmetic, "float32 products of values rounded to %s (%s)", lt_precision_name(wanted), isa);
    return LT_OK;
}
