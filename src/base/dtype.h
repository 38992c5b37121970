/* Correctly rounded conversions between element types. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_DTYPE_H
#define LT_BASE_DTYPE_H

#include "lathe/base.h"

float    lt_f16_to_f32(uint16_t h);
uint16_t lt_f32_to_f16(float f);   /* round to nearest even; overflow to infinity; NaN stays NaN */
uint16_t lt_f64_to_f16(double d);  /* one rounding, not two */
float    lt_bf16_to_f32(uint16_t h);
uint16_t lt_f32_to_bf16(float f);
uint16_t lt_f64_to_bf16(double d);

static inline bool lt_dtype_is_float(lt_dtype t) { return t <= LT_F64; }
static inline bool lt_dtype_is_complex(lt_dtype t) { return t == LT_C64 || t == LT_C128; }
static inline bool lt_dtype_is_integer(lt_dtype t) { return t >= LT_I32 && t <= LT_U8; }

/* Converts n elements; src and dst may not overlap. Real to complex gives zero imaginary
   parts, complex to real drops them; float to integer truncates and saturates, NaN gives 0; integers
   that do not fit saturate. Every result is the exact value rounded once. */
void lt_convert(lt_dtype to, void *dst, lt_dtype from, const void *src, int64_t n);
/* One element as a double (real part of complex), and back. */
double lt_load_double(lt_dtype t, const void *src, int64_t index);
void   lt_store_double(lt_dtype t, void *dst, int64_t index, double value);

#endif
