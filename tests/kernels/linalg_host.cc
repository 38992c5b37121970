/* Texts of linear algebra as a shared library of the CPU: KERNEL_TEXT is the text that a device would compile, KERNEL_ENTRY its kernel.
   SPDX-License-Identifier: BSD-3-Clause */
#include "../cuda_shim.h"

float __double2float_rz(double); /* the prelude names it, no kernel here calls it */
static double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, sizeof x); return x; }

#undef __shared__
#define __shared__ static /* one for all threads; blocks run one after the other */

#include KERNEL_TEXT

extern "C" void run_launch(unsigned blocks, unsigned threads, int backwards, void **arg)
{
    shim::backwards = backwards;
    shim::launch(KERNEL_ENTRY, blocks, threads, 0, arg);
}
