/* Pragmas for the register-tiled loops of convolution and matrix product.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_LOOPS_H
#define LT_KERNELS_CPU_LOOPS_H

/* Before a loop over a tile, whose bounds are constants once inlined: unrolled, its elements become registers.
   Not under sanitizers: checks on every element of unrolled tiles take clang many minutes to compile. */
#if LT_SANITIZED
#define LT_UNROLL
#elif defined(__clang__)
#define LT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LT_UNROLL _Pragma("GCC unroll 16")
#endif

/* Keeps the compiler from loading v again at each use. */
#if defined(__AVX512F__)
#define LT_KEEP_IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define LT_KEEP_IN_REGISTER(v) __asm__("" : "+x"(v))
#else
#define LT_KEEP_IN_REGISTER(v) ((void)0)
#endif

#endif
