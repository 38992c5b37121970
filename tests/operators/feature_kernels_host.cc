/* Feature kernels as a shared library of the CPU: KERNEL_TEXT is the text that a device would compile.
   SPDX-License-Identifier: BSD-3-Clause */
#include "../cuda_shim.h"

#include KERNEL_TEXT

extern "C" void run_launch(int which, unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg)
{
    shim::backwards = backwards;
    if (which == 0) shim::launch(feature_slices, blocks, threads, shared_bytes, arg);
    if (which == 1) shim::launch(feature_planes, blocks, threads, shared_bytes, arg);
    if (which == 2) shim::launch(feature_records, blocks, threads, shared_bytes, arg);
}
