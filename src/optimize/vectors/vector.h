/* Vectors of doubles: the few loops the solver's own arithmetic is made of. Sums that decide
   branches run in a fixed order with eight partial sums, so a run repeats bit for bit.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_VECTOR_H
#define LT_OPTIMIZE_VECTORS_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

double lt_vec_dot(int64_t n, const double *a, const double *b);
double lt_vec_norm2(int64_t n, const double *a);    /* scaled: neither overflows nor underflows */
double lt_vec_max_abs(int64_t n, const double *a);  /* NaN when an entry is */
double lt_vec_distance(int64_t n, const double *a, const double *b);
/* The same piece by piece, bit for bit where all pieces but the last are multiples of eight numbers. */
typedef struct lt_vec_sums { double part[8]; } lt_vec_sums;
void   lt_vec_add_squares(int64_t n, const double *a, const double *b, lt_vec_sums *to);
double lt_vec_root(const lt_vec_sums *sums);
void   lt_vec_axpy(int64_t n, double c, const double *a, double *y);                  /* y += c a */
void   lt_vec_scale(int64_t n, double c, double *y);
void   lt_vec_step(int64_t n, const double *x, double t, const double *d, double *y); /* y = x + t d; y may be x */
bool   lt_vec_finite(int64_t n, const double *a);
void   lt_vec_round_f32(int64_t n, double *a);      /* to the nearest float32 values */

#endif
