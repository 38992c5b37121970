/* The texts that a program's kernels are compiled from, before there is a program. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "device/flags.h"
#include "graph/lower/choose.h"
#include "graph/passes/passes.h"
#include "graph/program/program.h"
#include "kernels/cuda/cuda_table.h"

static lt_status note_unit(const lt_schedule *s, const lt_unit *u, lt_device *dev, lt_arena *scratch)
{
    lt_lowered low = { 0 };
    lt_problem_key key;
    lt_kernel *k;
    if (u->first >= 0) LT_TRY(lt_lower_group(s, u, scratch, &low));
    if (u->op < 0) {
        LT_TRY(lt_fused_prepare_cuda(dev, &low.fused, &k));
        lt_kernel_destroy(k);
        return LT_OK;
    }
    lt_lower_key(s, u, &low, &key);
    return lt_cuda_prepare_texts(dev, &key);
}

lt_status lt_program_build_texts(lt_module *m, const lt_compile_options *opt)
{
    lt_schedule schedule = { 0 };
    lt_arena scratch = { 0 };
    bool eager = opt->mode == LT_MODE_EAGER;
    if (!lt_device_has(opt->device, LT_DEVICE_TEXT_KERNELS | LT_DEVICE_COMPUTES)) return LT_OK;
    if (!eager) LT_TRY(lt_passes_run(m, opt));
    lt_status s = lt_schedule_make(m, !eager && !(opt->skip_passes >> LT_PASS_FUSE & 1), &schedule);
    for (int k = 0; k < schedule.n_order && !s; k++) s = note_unit(&schedule, &schedule.unit[schedule.order[k]], opt->device, &scratch);
    lt_schedule_free(&schedule);
    lt_arena_release(&scratch);
    return s;
}
