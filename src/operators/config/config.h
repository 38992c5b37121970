/* A dataset's configuration after loading: every key checked, defaults filled in.
   SPDX-License-Identifier: BSD-3-Clause

   Made by lt_dataset_config_load (include/lathe/dataset_config.h); the other files of this layer
   read it and never change it. */
#ifndef LT_OPERATORS_CONFIG_CONFIG_H
#define LT_OPERATORS_CONFIG_CONFIG_H

#include "lathe/dataset_config.h"
#include "operators/features/options.h"
#include "operators/config/yaml.h"

/* ---- Parameter space ------------------------------------------------------------ */
typedef enum lt_param_kind { LT_PARAM_INTEGER, LT_PARAM_CONTINUOUS, LT_PARAM_CHOICE, LT_PARAM_BOOLEAN } lt_param_kind;
typedef enum lt_param_block { LT_BLOCK_ARCHITECTURE, LT_BLOCK_STOCHASTIC, LT_BLOCK_OPERATOR, LT_BLOCK_EVOLUTION, LT_BLOCK_UAFNO } lt_param_block;

typedef struct lt_param_choice {
    const char *text;    /* as written, for names and one-hot columns */
    double      number;  /* NaN when the choice is not a number */
} lt_param_choice;

typedef struct lt_param {
    const char      *name;
    lt_param_block   block;
    lt_param_kind    kind;
    double           lo, hi;
    bool             log_scale;
    int              n_choices;
    lt_param_choice *choices;
    double          *weights;       /* NULL: all alike */
} lt_param;

typedef struct lt_space {
    int       n;                    /* P: columns, in the order of the file */
    lt_param *param;
} lt_space;

/* A mapped value: choice index, or the number (booleans 0 or 1). */
typedef struct lt_param_value { int choice; double number; const char *text; } lt_param_value;
lt_param_value  lt_param_map(const lt_param *p, double unit);
const lt_param *lt_space_find(const lt_space *s, const char *name, int *column); /* NULL when absent */
/* The columns of parameter_space, checked; cross checks need the operator kind. */
lt_status       lt_space_read(lt_arena *arena, const lt_yaml_node *root, lt_operator_kind kind, lt_notes *notes, lt_space *out);

/* ---- Initial fields --------------------------------------------------------------- */
typedef struct lt_field_recipe lt_field_recipe; /* one type with its parameters: operators/fields/fields.h */

/* ---- The whole ---------------------------------------------------------------------- */
typedef enum lt_compression { LT_COMPRESS_GZIP, LT_COMPRESS_LZF, LT_COMPRESS_NONE } lt_compression;
typedef enum lt_summary_mode { LT_SUMMARY_MANUAL, LT_SUMMARY_LEARNED, LT_SUMMARY_HYBRID } lt_summary_mode;
typedef enum lt_initial_variant { LT_INITIAL_MANUAL14, LT_INITIAL_BASIC38 } lt_initial_variant;
typedef enum lt_architecture_variant { LT_ARCHITECTURE_UNIT, LT_ARCHITECTURE_NAMED, LT_ARCHITECTURE_PRODUCTS } lt_architecture_variant;

/* Which named columns of ARCHITECTURE there are: groups, and what each includes. */
typedef struct lt_architecture_switches {
    bool architecture, depth, width, kernel_size, activation, dropout, parameters;
    bool stochastic, noise_scale, schedule, correlation, noise_type, score;
    bool operators, normalization, grid_size, grid_class;
    bool evolution, policy, dt, alpha;
    bool stratification, strata, hash, boundary, extremeness;
} lt_architecture_switches;

/* What INITIAL holds besides its variant's columns, and where. */
typedef struct lt_initial_switches {
    bool manual, cnn, vae, manual_separate, cnn_separate, combined;
    int  cnn_kind;
    int64_t dim;                    /* of the embedding */
} lt_initial_switches;

/* The engine: mapping, each the position of its name in the schema (config/keys.c). */
typedef struct lt_engine_keys { int padding, gelu, noise_semantics, grf, clip, features, alias_blocks, watchdog; } lt_engine_keys;
enum { LT_WATCHDOG_AUTO, LT_WATCHDOG_ON, LT_WATCHDOG_OFF };

struct lt_dataset_config {
    lt_arena  arena;                /* holds everything below */
    lt_yaml_node *document;
    char     *json;                 /* the whole document, substitutions, merges and overrides done */
    char     *record_json;          /* the same for the file: as if options that change no row had not been given */
    char     *engine_json;          /* the engine: mapping with defaults filled in */
    const char *name;               /* metadata.name */
    lt_space  space;
    /* sampling */
    bool      scramble;
    uint64_t  seed;                 /* sobol.seed: of everything */
    bool      check_discrepancy, check_correlation;
    double    max_discrepancy, max_correlation; /* INFINITY when its check is off */
    int64_t   total_samples, batch_size;
    uint32_t *sobol;                /* [space.n][LT_SOBOL_BITS + 1]: scrambled direction numbers, then the shift */
    /* simulation */
    const char      *device;        /* "cuda", "cuda:1", "cpu" */
    uint32_t         devices;       /* bits of the GPUs that share the rows; 0: all */
    lt_operator_kind kind;
    lt_precision     precision;     /* what applies, given or not */
    bool             precision_given;
    int64_t          realizations, steps; /* M, T */
    bool             operator_features, summary_operator_features; /* the ten sensitivity columns: two names of one switch */
    int              provider;            /* cloud.provider.provider, position in lathe's list of providers */
    /* initial fields: n_fields recipes with their weights */
    int              method;         /* position in lt_field_method_names */
    double           length_scale, variance; /* of the plain random field */
    int              n_fields;
    lt_field_recipe *field;
    double          *field_weight;
    /* dataset */
    const char    *output_path;
    lt_compression compression;
    int            compression_level;
    int64_t        chunk_rows;      /* K, not yet clamped to N */
    bool           store_trajectories;
    /* features */
    bool               temporal, summary, initial, architecture; /* summary: the statistics; learned.enabled: the latents */
    lt_initial_variant initial_variant;
    lt_architecture_variant architecture_variant;
    lt_architecture_switches named;
    lt_initial_switches initials;
    lt_summary_mode    summary_mode;
    lt_learned_options learned;
    lt_feature_options features;
    /* engine */
    lt_engine_keys engine;
    bool circular_padding, tanh_gelu, full_noise, physical_grf, ignore_alias_blocks;
    /* notes for the user, one line each: unknown keys with the nearest known one, … */
    lt_notes notes;
};

/* As lt_dataset_config_parse, from nodes that know their places; they outlive *out, which changes them. */
lt_status lt_config_from_document(lt_yaml_node *document, const lt_dataset_overrides *over, lt_dataset_config **out);

/* Row i of the dataset: unit parameters, rounded to float32 as the file keeps them; any i, in any
   order. unit has space.n elements. Safe from several threads. */
lt_status lt_dataset_unit_row(const lt_dataset_config *c, int64_t i, float *unit);
/* What the row means. The one mapping, used everywhere. */
lt_status lt_dataset_map_row(const lt_dataset_config *c, const float *unit, lt_operator_spec *out);

#endif
