/* What every generated kernel starts with: element types and their conversions, as in base/dtype.h. The elementwise ops
   of a fused kernel follow it (render.c): the bodies of kernels/ops.def. SPDX-License-Identifier: BSD-3-Clause */
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef int i32;
typedef unsigned char u8;
typedef float f32;
typedef double f64;
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
struct c64 { f32 re, im; };
struct c128 { f64 re, im; };

/* ---- Conversions: to nearest even once; to integers truncated and saturated, NaN gives 0 ---- */
template <class R> R widen(f32 x) { return (R)x; }
template <class R> R widen(f64 x) { return (R)x; }
template <class R> R widen(i32 x) { return (R)x; }
template <class R> R widen(i64 x) { return (R)x; }
template <class R> R widen(u8 x) { return (R)x; }
template <class R> R widen(f16 x)
{
    f32 f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return (R)f;
}
template <class R> R widen(bf16 x) { return (R)__uint_as_float((u32)x.bits << 16); }

/* Elements that are only moved. */
struct raw8 { u8 bits; };
struct raw16 { unsigned short bits; };
struct raw32 { u32 bits; };
struct raw64 { u64 bits; };
struct alignas(16) raw128 { u64 bits[2]; };
template <class R> R widen(raw8 x) { return x; }
template <class R> R widen(raw16 x) { return x; }
template <class R> R widen(raw32 x) { return x; }
template <class R> R widen(raw64 x) { return x; }
template <class R> R widen(raw128 x) { return x; }
inline void narrow(raw8 x, raw8 &to) { to = x; }
inline void narrow(raw16 x, raw16 &to) { to = x; }
inline void narrow(raw32 x, raw32 &to) { to = x; }
inline void narrow(raw64 x, raw64 &to) { to = x; }
inline void narrow(raw128 x, raw128 &to) { to = x; }

inline void narrow(f32 x, f32 &to) { to = x; }
inline void narrow(f64 x, f32 &to) { to = (f32)x; }
inline void narrow(f32 x, f64 &to) { to = (f64)x; }
inline void narrow(f64 x, f64 &to) { to = x; }
inline void narrow(f32 x, f16 &to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
inline void narrow(f64 x, f16 &to) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(to.bits) : "d"(x)); }
inline void narrow(f32 x, bf16 &to)
{
    u32 u = __float_as_uint(x);
    to.bits = (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
/* Rounded to odd first, so that the second rounding sees on which side of a tie x lay. */
inline void narrow(f64 x, bf16 &to)
{
    f32 f = __double2float_rz(x);
    if ((f64)f != x) f = __uint_as_float(__float_as_uint(f) | 1u);
    narrow(f, to);
}
template <class R> void narrow(R x, i32 &to)
{
    to = x != x ? 0 : x >= (R)2147483648.0 ? 2147483647 : x < (R)-2147483648.0 ? -2147483647 - 1 : (i32)x;
}
template <class R> void narrow(R x, i64 &to)
{
    to = x != x ? 0 : x >= (R)9223372036854775808.0 ? 9223372036854775807ll
       : x < (R)-9223372036854775808.0 ? -9223372036854775807ll - 1 : (i64)x;
}
template <class R> void narrow(R x, u8 &to) { to = x != x || x <= (R)0 ? 0 : x >= (R)256 ? 255 : (u8)(i32)x; }

/* What the bodies of elementwise ops call a math function. */
#define LIBM(name) name

/* ---- Folds: NaN counts as the extreme and stays ---- */
template <class R> R fold_sum(R a, R b) { return a + b; }
template <class R> R fold_max(R a, R b) { return a != a || a >= b ? a : b; }
template <class R> R fold_min(R a, R b) { return a != a || a <= b ? a : b; }

/* ---- Order ---- */
/* Kernels may be started before those they follow have ended (lt_kernel_key.waits): nothing is read or
   written before this. The next kernel may be started from here on; it waits in the same way. */
inline void lt_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- Several elements at once ---- */
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack { T e[N]; };
template <bool PACKED, int N, class T> pack<T, N> get_pack(const T *from) /* PACKED: it is aligned */
{
    if constexpr (PACKED) return *(const pack<T, N> *)from;
    pack<T, N> p;
    for (int i = 0; i < N; i++) p.e[i] = from[i];
    return p;
}
template <bool PACKED, class T, int N> void put_pack(pack<T, N> p, T *to)
{
    if constexpr (PACKED) *(pack<T, N> *)to = p;
    else
        for (int i = 0; i < N; i++) to[i] = p.e[i];
}
/* Whether an address suits a pack of N elements. */
template <class T, int N> bool fits(const T *p) { return (u64)p % alignof(pack<T, N>) == 0; }
