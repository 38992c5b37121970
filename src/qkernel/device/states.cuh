/* What the texts that make states share; follows rows_job.h. SPDX-License-Identifier: BSD-3-Clause
   Fixed when compiled: Q (wires), REAL_T (float or double), SPLIT (states end as pairs of half-precision
   numbers, as overlap_f32.cu reads them: its PRODUCTS; else 0), REAL_PART (K is the real part of overlaps). */

typedef long long i64;
struct amplitude_t { REAL_T x, y; };

#define THREADS 256

static __device__ __forceinline__ double2 times(double2 a, double2 b)
{
    return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* The nearest half-precision number, as bits, and what is left. */
static __device__ __forceinline__ unsigned half_of(float x, float *left)
{
    unsigned short h;
    float back;
    asm("cvt.rn.f16.f32 %0, %1;\n" : "=h"(h) : "f"(x));
    asm("cvt.f32.f16 %0, %1;\n" : "=f"(back) : "h"(h));
    *left = x - back;
    return h;
}

/* Two amplitudes as 16 bytes: re h, im h, re l, im l, each of both. */
static __device__ __forceinline__ uint4 split_pair(const float *x)
{
    float left[4], none;
    unsigned h[4], l[4];
    for (int k = 0; k < 4; k++) h[k] = half_of(x[k] * 1024, &left[k]), l[k] = half_of(left[k], &none);
    return make_uint4(h[0] | h[2] << 16, h[1] | h[3] << 16, l[0] | l[2] << 16, l[1] | l[3] << 16);
}

/* Two amplitudes to where they lie in float32. Where h alone is multiplied (SPLIT 1), those of four pairs lie side by side in the first
   half of the pairs' 64 bytes: half of the sectors are never read. */
static __device__ __forceinline__ void put_split(uint4 *to, const float *x)
{
    uint4 v = split_pair(x);
    if (SPLIT == 1) *((uint2 *)to - (unsigned long long)to / sizeof *to % 4) = make_uint2(v.x, v.y);
    else *to = v;
}
