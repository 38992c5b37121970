/* A YAML document as a tree in which every node knows its place. SPDX-License-Identifier: BSD-3-Clause

   Read by libyaml; scalars are resolved as PyYAML's safe loader resolves them (YAML 1.1: yes, no, on
   and off are booleans, 0x and leading zeros are integers), with two differences: 1e-3 is a number
   although it has no point, and dates and base-60 numbers stay text. JSON is read as the YAML it is. */
#ifndef LT_OPERATORS_CONFIG_YAML_H
#define LT_OPERATORS_CONFIG_YAML_H

#include "base/arena.h"
#include "lathe/dataset_config.h"
#include "lathe/json.h"

#define LT_YAML_MAX_BYTES (1 << 20)  /* of text */
#define LT_YAML_MAX_NODES 20000      /* after aliases are expanded: a document cannot grow without end */
#define LT_YAML_MAX_DEPTH 32

typedef enum lt_yaml_kind {
    LT_YAML_NULL, LT_YAML_BOOL, LT_YAML_INT, LT_YAML_REAL, LT_YAML_TEXT, LT_YAML_LIST, LT_YAML_MAP, LT_YAML_KIND_COUNT
} lt_yaml_kind;

typedef struct lt_yaml_node lt_yaml_node;
struct lt_yaml_node {
    lt_yaml_kind  kind;
    const char   *source;         /* the file, or what stands for it: "--seed" */
    int           line, column;   /* from 1; line 0: not from a file */
    const char   *text;           /* scalars: as written */
    int64_t       integer;        /* integers, and booleans as 0 or 1 */
    double        real;           /* integers and reals */
    const char   *key;            /* in a mapping */
    int           count;          /* lists and mappings */
    lt_yaml_node *first, *last, *next;
};

/* A key without effect. */
typedef struct lt_idle_note {
    lt_idle_key shown;
    const char *source;
    int         line, column;
    bool        merged;           /* not from the configuration itself */
} lt_idle_note;

/* Notes for the user, one line each, and the keys that have no effect; the texts live in the arena. */
typedef struct lt_notes {
    lt_arena     *arena;
    int           n, capacity;
    char        **line;
    int           n_idle, idle_capacity;
    lt_idle_note *idle;
} lt_notes;
lt_status lt_note_idle(lt_notes *n, const lt_yaml_node *at, const char *key, const char *why, ...) __attribute__((format(printf, 4, 5)));
lt_status lt_note(lt_notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One document. Nodes live in the arena; `name` (copied) stands for the file in messages. */
lt_status lt_yaml_read(lt_arena *arena, const char *text, size_t n_bytes, const char *name, lt_notes *notes, lt_yaml_node **out);

/* "file:12:5", or the source alone. */
typedef struct lt_place { char s[160]; } lt_place;
lt_place    lt_yaml_place(const lt_yaml_node *n);
lt_status   lt_yaml_at(lt_status s, const lt_yaml_node *n); /* gives the failure just recorded the place of n */
const char *lt_yaml_kind_name(lt_yaml_kind k); /* "a mapping", "an integer", … */

lt_yaml_node *lt_yaml_member(const lt_yaml_node *map, const char *key); /* NULL when absent or not a mapping */
void          lt_yaml_append(lt_yaml_node *parent, lt_yaml_node *child); /* at the end of a list or mapping */
/* Into a mapping under value->key, in the place of a member of that key, which is returned, or at the
   end: the order of keys is the order of columns. */
lt_yaml_node *lt_yaml_put(lt_yaml_node *map, lt_yaml_node *value);
/* A scalar made of text as if it stood unquoted (plain) or quoted in a file. */
lt_status lt_yaml_scalar(lt_arena *arena, const char *text, bool plain, const char *source, lt_yaml_node **out);
/* Puts value at a path of keys, "a.b.c", making mappings on the way; replaces what is there. */
lt_status lt_yaml_set(lt_arena *arena, lt_yaml_node *root, const char *path, lt_yaml_node *value);
void      lt_yaml_drop(lt_yaml_node *map, const char *key); /* a member that may be missing, of a mapping that may be NULL */
/* Mappings merge, everything else replaces. What `over` holds is moved, not copied. */
void      lt_yaml_merge(lt_yaml_node *base, lt_yaml_node *over);
void      lt_yaml_json(const lt_yaml_node *n, lt_json *j);

#endif
