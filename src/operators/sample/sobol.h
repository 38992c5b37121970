/* Sobol points in Gray-code order, scrambled by a random matrix and a digital shift per column.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_SAMPLE_SOBOL_H
#define LT_OPERATORS_SAMPLE_SOBOL_H

#include "lathe/base.h"

enum { LT_SOBOL_BITS = 30, LT_SOBOL_MAX_COLUMNS = 128 };
#define LT_SOBOL_MAX_POINTS (1 << LT_SOBOL_BITS)

/* Joe and Kuo's numbers of column d >= 1: a primitive polynomial over GF(2) of degree `degree`
   with inner coefficients `a`, and the first odd integers. Column 0 is van der Corput's. */
typedef struct lt_sobol_column { uint8_t degree; uint16_t a; uint16_t m[10]; } lt_sobol_column;
extern const lt_sobol_column lt_sobol_columns[LT_SOBOL_MAX_COLUMNS];

/* Direction numbers and shift: table [n][LT_SOBOL_BITS + 1]. Without scramble the shifts are 0. */
void lt_sobol_prepare(int n_columns, bool scramble, uint64_t seed, uint32_t *table);
/* Point i, 0 <= i < LT_SOBOL_MAX_POINTS: n numbers in [0, 1). No other point is needed. */
void lt_sobol_point(const uint32_t *table, int n_columns, int64_t i, double *out);

#endif
