/* Which device evaluates a graph, and what an evaluation costs on it. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/choose.h"

#include "base/status.h"

#include <stdio.h>

/* Estimates depend on the program alone, never on a clock: the same problem takes the same path every time (decision 70). */
static const double crossing_seconds = 9e-6;    /* copies to the device and back, launch, wait; these four by an H200 */
static const double kernel_seconds = 2e-6;
static const double device_bytes_per_second = 1e12, device_flops = 5e12;
static const double host_bytes_per_second = 1e10, host_flops = 2e10; /* a few cores */
static const double auto_from_seconds = 200e-6; /* of an evaluation on the CPU: many crossings */

lt_mode lt_device_mode(const lt_solve_options *opt, const lt_device *dev)
{
    lt_mode mode = opt->compile_mode;
    if (!dev || mode == LT_MODE_EAGER || mode == LT_MODE_MAX_AUTOTUNE) return mode;
    return lt_debug_of(opt)->captured_evaluation ? LT_MODE_REDUCE_OVERHEAD : LT_MODE_DEFAULT;
}

static double waiting(const lt_program_info *i) { return crossing_seconds + kernel_seconds * i->n_kernels; }
static double working(const lt_program_info *i) { return i->bytes / device_bytes_per_second + i->flops / device_flops; }

double lt_device_cost(const lt_program_info *i) { return waiting(i) + working(i); }
bool   lt_device_idles(const lt_program_info *i) { return waiting(i) > working(i); }

/* A GPU that opens and has no compiler for its kernels is none. */
static bool open_gpu(lt_device **out)
{
    lt_device_info info = { .size = sizeof info };
    if (lt_device_open("cuda", out)) return false;
    if (!lt_device_describe(*out, &info) && info.computes) return true;
    lt_device_close(*out);
    *out = NULL;
    return false;
}

bool lt_device_auto(const lt_program_info *all, lt_device **out, char *reason, size_t size)
{
    double seconds = all->bytes / host_bytes_per_second + all->flops / host_flops;
    *out = NULL;
    if (seconds < auto_from_seconds) {
        snprintf(reason, size, "auto: an evaluation takes the CPU about %.3g us; a GPU pays from %.0f us on", 1e6 * seconds,
                 1e6 * auto_from_seconds);
        return false;
    }
    if (!open_gpu(out)) {
        snprintf(reason, size, "auto: an evaluation takes the CPU about %.3g us, but no GPU can be used here", 1e6 * seconds);
        return false;
    }
    snprintf(reason, size, "auto: an evaluation would take the CPU about %.3g us", 1e6 * seconds);
    return true;
}

void lt_device_auto_refused(const lt_device *dev, char *reason, size_t size)
{
    snprintf(reason, size, "auto: %s cannot: %.120s", lt_device_id(dev), lt_error_text());
}
