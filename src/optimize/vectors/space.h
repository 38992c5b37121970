/* The solver's operations on vectors, wherever they live: on the host as vector.h has them, or on a device, where
   arithmetic is queued and numbers are waited for. `v` NULL: the host. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_SPACE_H
#define LT_OPTIMIZE_VECTORS_SPACE_H

#include "optimize/device/vectors.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

static inline double lt_space_dot(lt_vectors *v, int64_t n, const double *a, const double *b)
{
    return v ? lt_vectors_measure(v, LT_MEASURE_DOT, a, b) : lt_vec_dot(n, a, b);
}

static inline double lt_space_norm2(lt_vectors *v, int64_t n, const double *a)
{
    return v ? lt_vectors_norm2(v, a) : lt_vec_norm2(n, a);
}

static inline double lt_space_max_abs(lt_vectors *v, int64_t n, const double *a)
{
    return v ? lt_vectors_measure(v, LT_MEASURE_LARGEST, a, a) : lt_vec_max_abs(n, a);
}

static inline double lt_space_distance(lt_vectors *v, int64_t n, const double *a, const double *b)
{
    return v ? sqrt(lt_vectors_measure(v, LT_MEASURE_SQUARES, a, b)) : lt_vec_distance(n, a, b);
}

static inline bool lt_space_finite(lt_vectors *v, int64_t n, const double *a)
{
    return v ? lt_vectors_measure(v, LT_MEASURE_BAD, a, a) == 0 : lt_vec_finite(n, a);
}

/* Numbers that will be asked for soon: they come with the next wait, whatever it is for. Nothing on the host. */
static inline void lt_space_expect(lt_vectors *v, const double *a, const double *b)
{
    if (v) lt_vectors_expect(v, LT_MEASURE_DOT, a, b);
}

static inline void lt_space_scaled(lt_vectors *v, int64_t n, double c, const double *a, double *to) /* to = c a */
{
    if (v) lt_vectors_combine(v, 1, &c, &a, to);
    else for (int64_t i = 0; i < n; i++) to[i] = c * a[i];
}

static inline void lt_space_copy(lt_vectors *v, int64_t n, const double *a, double *to)
{
    if (v) lt_space_scaled(v, n, 1, a, to);
    else memcpy(to, a, (size_t)n * sizeof *to);
}

static inline void lt_space_scale(lt_vectors *v, int64_t n, double c, double *y)
{
    if (v) lt_space_scaled(v, n, c, y, y);
    else lt_vec_scale(n, c, y);
}

static inline void lt_space_step(lt_vectors *v, int64_t n, const double *x, double t, const double *d, double *y) /* y = x + t d */
{
    if (v) lt_vectors_combine(v, 2, (const double[]){ 1, t }, (const double *const[]){ x, d }, y);
    else lt_vec_step(n, x, t, d, y);
}

static inline void lt_space_axpy(lt_vectors *v, int64_t n, double c, const double *a, double *y) /* y += c a */
{
    if (v) lt_space_step(v, n, y, c, a, y);
    else lt_vec_axpy(n, c, a, y);
}

static inline void lt_space_difference(lt_vectors *v, int64_t n, const double *a, const double *b, double *to) /* may be a or b */
{
    if (v) lt_vectors_combine(v, 2, (const double[]){ 1, -1 }, (const double *const[]){ a, b }, to);
    else for (int64_t i = 0; i < n; i++) to[i] = a[i] - b[i];
}

static inline void lt_space_fill(lt_vectors *v, int64_t n, double value, double *y)
{
    if (v) lt_vectors_fill(v, value, y);
    else for (int64_t i = 0; i < n; i++) y[i] = value;
}

/* y = 0, then y += c a for some c and a, then the end: on a device one statement, made of what came in between. */
static inline void lt_space_sum(lt_vectors *v, int64_t n, double *y)
{
    if (v) lt_vectors_sum_begin(v, y);
    else memset(y, 0, (size_t)n * sizeof *y);
}

static inline void lt_space_add(lt_vectors *v, int64_t n, double c, const double *a, double *y)
{
    if (v) lt_vectors_sum_add(v, c, a);
    else lt_vec_axpy(n, c, a, y);
}

static inline void lt_space_sum_end(lt_vectors *v)
{
    if (v) lt_vectors_sum_end(v);
}

/* Copies between the host and wherever vectors live; these wait. */
static inline void lt_space_put(lt_vectors *v, int64_t count, const double *from_host, double *to)
{
    if (v) lt_vectors_put(v, count, from_host, to);
    else if (to != from_host) memcpy(to, from_host, (size_t)count * sizeof *to);
}

static inline void lt_space_get(lt_vectors *v, int64_t count, const double *from, double *to_host)
{
    if (v) lt_vectors_get(v, count, from, to_host);
    else if (to_host != from) memcpy(to_host, from, (size_t)count * sizeof *to_host);
}

/* The same for reading: without a copy on the host. */
static inline const double *lt_space_look(lt_vectors *v, int64_t count, const double *from, double *to_host)
{
    if (!v) return from;
    lt_vectors_get(v, count, from, to_host);
    return to_host;
}

#endif
