/* Initial fields: 28 types, each a function of (seed, operator index) alone.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FIELDS_FIELDS_H
#define LT_OPERATORS_FIELDS_FIELDS_H

#include "operators/config/config.h"

/* Which of c's recipes operator `index` draws: 0..n_fields-1. */
int         lt_field_choose(const lt_dataset_config *c, int64_t index);
/* The full alias as recorded in the file: "gaussian_random_field_v2". */
const char *lt_field_alias(const lt_dataset_config *c, int which);

/* Fourier plans and work memory for one grid; one drawing at a time. */
typedef struct lt_field_maker lt_field_maker;
lt_status lt_field_maker_create(int grid, lt_field_maker **out);
void      lt_field_maker_destroy(lt_field_maker *m); /* NULL is allowed */
/* field [3, G, G]. Allocates nothing. */
lt_status lt_field_draw(lt_field_maker *m, const lt_dataset_config *c, int which, int64_t index, float *field);

#endif
