/* CAST between all element types, as lt_convert does: integers are exact where they can be, complex
   numbers lose or gain an imaginary part of zero. SPDX-License-Identifier: BSD-3-Clause */

/* A double that rounds to 8 or 11 bits as v itself does: bits beyond 53 survive as one sticky bit. */
inline f64 sticky(i64 v)
{
    u64 m = v < 0 ? 0 - (u64)v : (u64)v;
    if (m >> 53) m = (m & ~0x7ffull) | ((m & 0x7ffu) ? 0x800u : 0);
    return v < 0 ? -(f64)m : (f64)m;
}
inline i64 clamp(i64 v, i64 lo, i64 hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Reals through double, which holds every one of them. */
template <class F, class T> void real(F x, T &to) { narrow(widen<f64>(x), to); }
/* Integers through i64. */
inline void whole(i64 v, f16 &to) { narrow(sticky(v), to); }
inline void whole(i64 v, bf16 &to) { narrow(sticky(v), to); }
inline void whole(i64 v, f32 &to) { to = (f32)v; }
inline void whole(i64 v, f64 &to) { to = (f64)v; }
inline void whole(i64 v, i32 &to) { to = (i32)clamp(v, -2147483648ll, 2147483647ll); }
inline void whole(i64 v, u8 &to) { to = (u8)clamp(v, 0, 255); }
inline void whole(i64 v, i64 &to) { to = v; }

template <class T> void part(f16 x, T &to) { real(x, to); }
template <class T> void part(bf16 x, T &to) { real(x, to); }
template <class T> void part(f32 x, T &to) { real(x, to); }
template <class T> void part(f64 x, T &to) { real(x, to); }
template <class T> void part(i32 x, T &to) { whole(x, to); }
template <class T> void part(i64 x, T &to) { whole(x, to); }
template <class T> void part(u8 x, T &to) { whole(x, to); }

template <class F, class T> struct convert { static void run(F x, T &to) { part(x, to); } };
template <class T> struct convert<c64, T> { static void run(c64 x, T &to) { part(x.re, to); } };
template <class T> struct convert<c128, T> { static void run(c128 x, T &to) { part(x.re, to); } };
template <class F> struct convert<F, c64> { static void run(F x, c64 &to) { part(x, to.re); to.im = 0; } };
template <class F> struct convert<F, c128> { static void run(F x, c128 &to) { part(x, to.re); to.im = 0; } };
template <> struct convert<c64, c64> { static void run(c64 x, c64 &to) { to = x; } };
template <> struct convert<c128, c128> { static void run(c128 x, c128 &to) { to = x; } };
template <> struct convert<c64, c128> { static void run(c64 x, c128 &to) { to.re = x.re; to.im = x.im; } };
template <> struct convert<c128, c64> { static void run(c128 x, c64 &to) { to.re = (f32)x.re; to.im = (f32)x.im; } };

extern "C" __global__ void __launch_bounds__(256) cast(const From *x, To *y)
{
    lt_wait();
    i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
    if (i < COUNT) convert<From, To>::run(x[i], y[i]);
}
