/* What PLACE adds up in: floats in double, rounded once; integers wrap; complex numbers by parts.
   SPDX-License-Identifier: BSD-3-Clause */
template <class E> struct sum_of { typedef f64 type; };
template <> struct sum_of<i32> { typedef u32 type; };
template <> struct sum_of<i64> { typedef u64 type; };
template <> struct sum_of<u8> { typedef u32 type; };
template <> struct sum_of<c64> { typedef c64 type; };
template <> struct sum_of<c128> { typedef c128 type; };
typedef sum_of<T>::type Sum;

inline void add(f64 &s, f16 x) { s += widen<f64>(x); }
inline void add(f64 &s, bf16 x) { s += widen<f64>(x); }
inline void add(f64 &s, f32 x) { s += (f64)x; }
inline void add(f64 &s, f64 x) { s += x; }
inline void add(u32 &s, i32 x) { s += (u32)x; }
inline void add(u64 &s, i64 x) { s += (u64)x; }
inline void add(u32 &s, u8 x) { s += x; }
inline void add(c64 &s, c64 x) { s.re += x.re; s.im += x.im; }
inline void add(c128 &s, c128 x) { s.re += x.re; s.im += x.im; }

template <class E> void put(f64 s, E &to) { narrow(s, to); }
inline void put(u32 s, i32 &to) { to = (i32)s; }
inline void put(u64 s, i64 &to) { to = (i64)s; }
inline void put(u32 s, u8 &to) { to = (u8)s; }
inline void put(c64 s, c64 &to) { to = s; }
inline void put(c128 s, c128 &to) { to = s; }
