/* Which arithmetic a precision runs in on this machine. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/rollout.h"

#include "base/status.h"
#include "device/flags.h"
#include "kernels/kernel_table.h"

#include <stdio.h>
#include <string.h>

/* On a GPU: products of halves on tensor cores; float32 is never rounded to TF32 unless that is asked for (decision 370). Every GPU that opens has bfloat16. */
static lt_status choose_on_device(lt_device *dev, lt_precision wanted, lt_rollout_info *info, lt_compile_options *out)
{
    lt_device_info d = { .size = sizeof d };
    LT_TRY(lt_device_describe(dev, &d));
    info->precision = wanted;
    out->full_first = wanted != LT_PRECISION_FLOAT32;
    out->tf32 = wanted == LT_PRECISION_TF32;
    out->low_precision = wanted != LT_PRECISION_FLOAT32 && !out->tf32;
    out->storage_type = wanted == LT_PRECISION_BFLOAT16 ? LT_BF16 : LT_F16;
    snprintf(info->arithmetic, sizeof info->arithmetic, "%s%s on %.48s", lt_precision_name(wanted),
             wanted == LT_PRECISION_FLOAT32 ? "" : " products, float32 sums", d.name);
    return LT_OK;
}

/* Half precisions always run: where the processor has no fast arithmetic for them, products are taken in
   float32 of values that were rounded, which is faster than its slow one and has the same meaning (decision 58). */
lt_status lt_rollout_choose_precision(lt_device *dev, lt_precision wanted, lt_rollout_info *info, lt_compile_options *out)
{
    if (lt_device_has(dev, LT_DEVICE_OWN_MEMORY)) return choose_on_device(dev, wanted, info, out);
    const char *isa = lt_isa_name(lt_isa_best());
    info->precision = wanted;
    if (wanted == LT_PRECISION_FLOAT32) {
        snprintf(info->arithmetic, sizeof info->arithmetic, "float32 (%s)", isa);
        return LT_OK;
    }
    out->full_first = true; /* as on a GPU, the state is not rounded: where a field is nearly flat, the first normalisation would magnify the rounding (decision 91) */
    out->tf32 = wanted == LT_PRECISION_TF32;
    out->low_precision = !out->tf32;
    out->storage_type = wanted == LT_PRECISION_FLOAT16 ? LT_F16 : LT_BF16;
    if (wanted == LT_PRECISION_BFLOAT16 && lt_kernel_bf16_is_native())
        snprintf(info->arithmetic, sizeof info->arithmetic, "bfloat16 products, float32 sums");
    else
        snprintf(info->arithmetic, sizeof info->arithmetic, "float32 products of values rounded to %s (%s)", lt_precision_name(wanted), isa);
    return LT_OK;
}
