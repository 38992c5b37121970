/* Texts of Gram matrices as a shared library of the CPU: KERNEL_TEXT is what a device would compile (of one without tensor cores),
   KERNEL_ENTRY its kernel. SPDX-License-Identifier: BSD-3-Clause */
#include "../cuda_shim.h"
#include <algorithm>

#undef __shared__
#define __shared__ static /* one for all threads; blocks run one after the other */
#define asm(...)          /* of half numbers, which only tensor cores multiply */

using std::max;
using std::min;
typedef unsigned long long u64;
struct int2 { int x, y; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
double2 chunk[1]; /* of kernels that are not run here */
static inline uint2 make_uint2(unsigned x, unsigned y) { return { x, y }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return { x, y, z, w }; }
static inline int __double2hiint(double v) { long long x; memcpy(&x, &v, 8); return (int)(x >> 32); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline u64 atomicAdd(u64 *at, u64 x) { u64 old = *at; *at += x; return old; }
static inline u64 atomicMin(u64 *at, u64 x) { u64 old = *at; if (x < old) *at = x; return old; }

#include KERNEL_TEXT

extern "C" void run_launch(unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg)
{
    shim::backwards = backwards;
    blockDim.x = threads;
    shim::launch(KERNEL_ENTRY, blocks, threads, shared_bytes, arg);
}
