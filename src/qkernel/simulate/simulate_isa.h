/* All passes for one instruction set (lt_isa_sources compiles this once for each). SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/simulate/loops.h"

#include <math.h>
#include <string.h>

#define LT_VECTOR_BYTES LT_ISA_BYTES
#define SIZED(bytes) __attribute__((vector_size(bytes), may_alias))

typedef float vector_f32 SIZED(LT_VECTOR_BYTES);
typedef double vector_f64 SIZED(LT_VECTOR_BYTES);
typedef float half_f32 SIZED(LT_VECTOR_BYTES / 2); /* as many lanes as vector_f64 */

/* ---- vectors of rows ---- */
#define D vector_f64
#define ROUND(v) __builtin_convertvector((v), ROUNDED)

#define T double
#define V vector_f64
#define ROUNDED vector_f64
#define LANES (LT_VECTOR_BYTES / 8)
#define FN(name) name##_f64
#include "qkernel/loops/sincos_body.h"
#include "qkernel/simulate/simulate_body.h"
#undef T
#undef V
#undef ROUNDED
#undef LANES
#undef FN

#define T float
#define V vector_f32
#define ROUNDED half_f32
#define LANES (LT_VECTOR_BYTES / 4)
#define FN(name) name##_f32
#include "qkernel/simulate/simulate_body.h"
#undef T
#undef V
#undef ROUNDED
#undef LANES
#undef FN
#undef D
#undef ROUND

/* ---- one row at a time ---- */
#define D double
#define ROUNDED T
#define ROUND(v) ((T)(v))
#define LANES 1

#define T double
#define V double
#define FN(name) name##_narrow_f64
#include "qkernel/simulate/simulate_body.h"
#undef T
#undef V
#undef FN

#define T float
#define V float
#define FN(name) name##_narrow_f32
#include "qkernel/simulate/simulate_body.h"

/* Any number of angles: what is left over of a vector is computed in one of its own. */
static void sines(double *sine, double *cosine, const double *angle, int64_t n)
{
    enum { DOUBLES = LT_VECTOR_BYTES / 8, AT_ONCE = 1 << 20 };
    int64_t whole = n / DOUBLES * DOUBLES;
    for (int64_t i = 0; i < whole; i += AT_ONCE) sincos_f64(sine + i, cosine + i, angle + i, (int)(whole - i < AT_ONCE ? whole - i : AT_ONCE));
    if (whole == n) return;
    vector_f64 a = { 0 }, s, c;
    for (int64_t i = whole; i < n; i++) a[i - whole] = angle[i];
    sincos_f64((double *)&s, (double *)&c, (double *)&a, DOUBLES);
    for (int64_t i = whole; i < n; i++) sine[i] = s[i - whole], cosine[i] = c[i - whole];
}

#define ROW(lanes_, t) { lanes_, fuse##t, sines, gates##t, hadamards##t, phases##t, matrix##t, turn##t, load##t, join##t, bloch##t, twist##t, back##t, parities##t }
const lt_simulate_isa LT_ISA_NAME(lt_simulate) = {
    .f32 = ROW(LT_VECTOR_BYTES / 4, _f32),
    .f64 = ROW(LT_VECTOR_BYTES / 8, _f64),
    .narrow_f32 = ROW(1, _narrow_f32),
    .narrow_f64 = ROW(1, _narrow_f64),
};
