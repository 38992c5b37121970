/* The types of initial fields and their parameters: one table for configurations, drawing and
   documentation. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FIELDS_TYPES_H
#define LT_OPERATORS_FIELDS_TYPES_H

#include "operators/fields/fields.h"

typedef enum lt_field_type {
    /* baseline */
    LT_FIELD_GRF, LT_FIELD_MULTISCALE, LT_FIELD_HEAVY_TAILED, LT_FIELD_STRUCTURED, LT_FIELD_LOCALIZED, LT_FIELD_COMPOSITE, LT_FIELD_MIXED,
    /* tier 1 */
    LT_FIELD_QUANTUM_PACKET, LT_FIELD_TURING, LT_FIELD_THERMAL, LT_FIELD_MORPHOGEN, LT_FIELD_REACTION_FRONT,
    /* tier 2 */
    LT_FIELD_LIGHT_CONE, LT_FIELD_CRITICAL, LT_FIELD_PHASE_BOUNDARY, LT_FIELD_BZ, LT_FIELD_SHANNON,
    /* tier 3 */
    LT_FIELD_INTERFERENCE, LT_FIELD_CELLS, LT_FIELD_CHROMATIN, LT_FIELD_SHOCK, LT_FIELD_GENES,
    /* tier 4 */
    LT_FIELD_COHERENT, LT_FIELD_RELATIVISTIC, LT_FIELD_MUTUAL_INFORMATION, LT_FIELD_REGULATORY, LT_FIELD_DLA, LT_FIELD_CODE,
    LT_FIELD_TYPE_COUNT
} lt_field_type;

enum { LT_FIELD_MAX_PARAMS = 8, LT_FIELD_MAX_LIST = 16 };

typedef enum lt_field_param_kind {
    LT_FIELD_REAL,       /* a number, or a range under NAME_range: drawn anew for each field */
    LT_FIELD_INT,        /* as a number, rounded down */
    LT_FIELD_MAYBE,      /* a number or null: drawn by the type's own rule */
    LT_FIELD_NAME,       /* one of `names` */
    LT_FIELD_PAIR,       /* [lo, hi] */
    LT_FIELD_REALS,      /* a list of numbers */
    LT_FIELD_NAMES       /* a list out of `names`; null or empty: the type's own rule */
} lt_field_param_kind;

typedef struct lt_field_param {
    const char         *name;
    lt_field_param_kind kind;
    lt_range            range;           /* of each number */
    int                 n_defaults;
    double              defaults[5];     /* number, pair, list, or positions in names */
    const char *const  *names;
} lt_field_param;

typedef struct lt_field_type_row {
    const char           *name;
    int                   tier;          /* 0: baseline */
    int                   n_params;
    const lt_field_param *params;
} lt_field_type_row;

extern const lt_field_type_row lt_field_types[LT_FIELD_TYPE_COUNT];
extern const char *const lt_field_tier_names[]; /* "baseline", "tier1", …; ends with NULL */
/* "sampled", "random" and every type; ends with NULL. */
extern const char *const lt_field_method_names[];
enum { LT_METHOD_SAMPLED, LT_METHOD_RANDOM, LT_METHOD_FIRST_TYPE };

/* A parameter's value in a recipe. */
typedef struct lt_field_value {
    bool   drawn;                        /* from U[item[0], item[1]) for each field */
    int    n;                            /* items; 0: null */
    double item[LT_FIELD_MAX_LIST];      /* the number, the pair, the list, or positions in names */
} lt_field_value;

struct lt_field_recipe {
    const char    *alias;                /* as written; what the file records */
    lt_field_type  type;
    lt_field_value value[LT_FIELD_MAX_PARAMS];
};

/* The type an alias stands for: "turing_pattern_v3", "multiscale_grf_low", "random"; false when none. */
bool lt_field_type_find(const char *alias, lt_field_type *out);
/* The row's defaults under this alias (kept, not copied). */
void lt_field_recipe_default(lt_field_type type, const char *alias, lt_field_recipe *out);
/* The nearest name of a type, or NULL. */
const char *lt_field_type_nearest(const char *name);

#endif
