/* Independent chains of multiply-adds in registers, once per instruction set. The build lets the
   compiler contract a * b + c here, and here only. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/machine.h"

enum { ROUNDS = 200000, CHAINS = 12 }; /* long enough that waking threads does not count; 12 chains hide the latency of two units of up to 6 cycles */

/* x <- x * m + a keeps converging to a / (1 - m): no overflow, no denormals. */
#define DEFINE_CHAINS(name, attribute, scalar, vector_bytes)                                   \
    typedef scalar name##_vector __attribute__((vector_size(vector_bytes)));                   \
    attribute static void name(void *ctx, int thread, int n_threads)                           \
    {                                                                                          \
        (void)n_threads;                                                                       \
        name##_vector x[CHAINS], m = (name##_vector){ 0 } + (scalar)0.999, a = (name##_vector){ 0 } + (scalar)0.5; \
        for (int k = 0; k < CHAINS; k++) x[k] = (name##_vector){ 0 } + (scalar)k;              \
        for (int i = 0; i < ROUNDS; i++) {                                                     \
            x[0] = x[0] * m + a; x[1] = x[1] * m + a; x[2] = x[2] * m + a;                     \
            x[3] = x[3] * m + a; x[4] = x[4] * m + a; x[5] = x[5] * m + a;                     \
            x[6] = x[6] * m + a; x[7] = x[7] * m + a; x[8] = x[8] * m + a;                     \
            x[9] = x[9] * m + a; x[10] = x[10] * m + a; x[11] = x[11] * m + a;                 \
        }                                                                                      \
        for (int k = 1; k < CHAINS; k++) x[0] += x[k];                                         \
        if (thread < 0) *(double *)ctx = (double)x[0][0]; /* never; keeps the work alive */    \
        __asm__ volatile("" : : "m"(x) : "memory");                                            \
    }

DEFINE_CHAINS(plain_f32, , float, 16)
DEFINE_CHAINS(plain_f64, , double, 16)
#if defined(__x86_64__)
DEFINE_CHAINS(avx2_f32, __attribute__((target("avx2,fma"))), float, 32)
DEFINE_CHAINS(avx2_f64, __attribute__((target("avx2,fma"))), double, 32)
DEFINE_CHAINS(avx512_f32, __attribute__((target("avx512f"))), float, 64)
DEFINE_CHAINS(avx512_f64, __attribute__((target("avx512f"))), double, 64)
#endif

void (*cli_peak_kernel(lt_dtype type, int64_t *flops_per_call))(void *ctx, int thread, int n_threads)
{
    bool single = type == LT_F32;
    int64_t flops_per_lane = (int64_t)ROUNDS * CHAINS * 2;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        *flops_per_call = flops_per_lane * (single ? 16 : 8);
        return single ? avx512_f32 : avx512_f64;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *flops_per_call = flops_per_lane * (single ? 8 : 4);
        return single ? avx2_f32 : avx2_f64;
    }
#endif
    *flops_per_call = flops_per_lane * (single ? 4 : 2);
    return single ? plain_f32 : plain_f64;
}
