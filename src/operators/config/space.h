/* What the named columns of a parameter space set in an operator. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_SPACE_H
#define LT_OPERATORS_CONFIG_SPACE_H

#include "operators/config/config.h"

typedef enum lt_target_kind { LT_TARGET_INT, LT_TARGET_REAL, LT_TARGET_NAME, LT_TARGET_NOTHING } lt_target_kind;

typedef struct lt_param_target {
    const char        *name;
    lt_target_kind     kind;
    size_t             offset;  /* in lt_operator_spec; names are ints there */
    lt_range           range;
    const char *const *names;
    bool               odd;
} lt_param_target;

const lt_param_target *lt_param_target_of(const char *name); /* NULL: a column without effect */
const char *lt_param_target_nearest(const char *name);
int         lt_param_name_position(const lt_param_target *t, const char *text); /* -1: none */

#endif
