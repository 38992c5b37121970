/* Initial fields once more, by plain formulas pixel by pixel. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_FIELDS_ORACLE_H
#define LT_FIELDS_ORACLE_H

#include "operators/fields/types.h"

/* field [3, grid, grid] in double; sums over modes are written out, so keep the grid small. */
void oracle_field(const lt_field_recipe *recipe, int grid, bool physical, uint64_t seed, int64_t index, double *field);

#endif
