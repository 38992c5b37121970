/* A kernel of fused steps as a shared library of the CPU: KERNEL_TEXT is the text that a device would compile, with
   calls instead of its asm statements; ENTRY its function. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_shim.h"
#include "ptx_host.h"

#include KERNEL_TEXT

extern "C" void run_kernel(unsigned blocks, unsigned cluster, unsigned threads, size_t shared_bytes, int mixed, void **arg)
{
    shim::order o = { false, false, 1 };
    if (mixed) o = { true, true, 3 };
    shim::launch<ENTRY>(blocks, cluster, threads, shared_bytes, o, arg);
}
