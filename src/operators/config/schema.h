/* Reading a YAML tree through one table of keys: defaults, checks, notes on unknown keys.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_SCHEMA_H
#define LT_OPERATORS_CONFIG_SCHEMA_H

#include "lathe/options.h"
#include "operators/config/yaml.h"

enum {
    LT_KEY_REQUIRED = 1,  /* when the mapping it belongs to is there */
    LT_KEY_NULL = 2,      /* null means the default */
    LT_KEY_SECTION = 4,   /* a mapping whose keys have rows of their own */
    LT_KEY_OPEN = 8,      /* as a section, but its keys are judged by other code */
    LT_KEY_STRICT = 16    /* as a section in which an unknown key is an error */
};

typedef struct lt_schema_row lt_schema_row;
struct lt_schema_row {
    lt_option option;     /* name: the path from the root, "sampling.sobol.seed" */
    unsigned  flags;
    const char *why;      /* rows that are checked only: why the key has no effect */
    /* For what no option type holds: called with NULL for the default, then with the node if there
       is one; `into` is the whole struct. */
    lt_status (*read)(const lt_schema_row *row, const lt_yaml_node *n, void *into);
};

typedef struct lt_schema {
    const lt_schema_row   *rows;
    int                    n_rows;
    const lt_schema_row   *unused;       /* keys that are checked and not read */
    int                    n_unused;
    const lt_option_table *more;         /* further keys, NULL: none … */
    const char            *more_prefix;  /* … below this path, with its dot … */
    size_t                 more_base;    /* … into a struct at this offset */
} lt_schema;

/* Fills `into` from root: defaults where keys are absent. */
lt_status lt_schema_read(const lt_schema *s, const lt_yaml_node *root, void *into);
/* A note for every key without a row, with the nearest that has one; an error in strict sections. */
lt_status lt_schema_note_unknown(const lt_schema *s, const lt_yaml_node *root, lt_notes *notes);
/* The first such key of a mapping that stands at prefix ("features.summary."), as an error. */
lt_status lt_schema_refuse_unknown(const lt_schema *s, const lt_yaml_node *map, const char *prefix, lt_arena *arena);

/* The failure for a value that does not fit. */
lt_status lt_schema_refuse(const lt_yaml_node *n, const char *path, const char *expected);
/* "file:3:5: unknown key 'a.b' is ignored; did you mean 'c'?" */
lt_status lt_schema_note_key(lt_notes *notes, const lt_yaml_node *n, const char *path, const char *const *known, int n_known);
/* The node at a path, or NULL. */
lt_yaml_node *lt_schema_find(const lt_yaml_node *root, const char *path);

#endif
