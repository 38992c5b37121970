/* Convolutions in plain f32 as a shared library of the CPU: KERNEL_TEXT is the text that a device would compile.
   SPDX-License-Identifier: BSD-3-Clause */
#include "../cuda_shim.h"

static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
float __double2float_rz(double); /* the prelude names it, no kernel here calls it */

#include KERNEL_TEXT

extern "C" void run_launch(int turns, unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg)
{
    shim::backwards = backwards;
    if (turns) shim::launch(turn, blocks, threads, shared_bytes, arg);
    else shim::launch(conv, blocks, threads, shared_bytes, arg);
}
