/* Options: one table of rows per command or struct feeds defaults, checks, flags, help, manual
   pages, shell completion and Python keywords. SPDX-License-Identifier: BSD-3-Clause

       typedef struct fit_options { int n_steps; double rate; const char *out; bool quiet; } fit_options;
       static const lt_option rows[] = {
           LT_OPTION_INT(fit_options, n_steps, "steps", "100", LT_AT_LEAST(1), "N", "number of steps"),
           LT_OPTION_REAL(fit_options, rate, "rate", "0.1", LT_RANGE_OPEN(0, 1), "R", "step length"),
           LT_OPTION_PATH(fit_options, out, "out", NULL, "F.npy", "where the result goes"),
           LT_OPTION_BOOL(fit_options, quiet, "quiet", "false", "say nothing"),
       };
       static const lt_option_group groups[] = { { .rows = rows, .n_rows = 4 } };
       static const lt_option_table table = { .program = "fit", .groups = groups, .n_groups = 1 };
       fit_options opt;
       lt_parsed parsed;
       if (lt_options_parse(&table, argc - 1, argv + 1, &opt, &parsed)) …lt_error_text()…

   Further fields of a row may follow its help text: LT_OPTION_BOOL(…, "say nothing", .letter = 'q'). */
#ifndef LATHE_OPTIONS_H
#define LATHE_OPTIONS_H

#include "lathe/base.h"

#include <math.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Rows ---------------------------------------------------------------- */
typedef enum lt_option_type {
    LT_OPTION_TYPE_BOOL,   /* bool */
    LT_OPTION_TYPE_INT,    /* int or int64_t */
    LT_OPTION_TYPE_REAL,   /* float or double */
    LT_OPTION_TYPE_STRING, /* const char *, borrowed from the text that was set */
    LT_OPTION_TYPE_PATH,   /* as a string; completion offers files */
    LT_OPTION_TYPE_ENUM,   /* int or an enum of its size: the position of the name in `names` */
    LT_OPTION_TYPE_LIST,   /* lt_text_list: the option may be given several times */
    LT_OPTION_TYPE_COUNT
} lt_option_type;

LT_API const char *lt_option_type_name(lt_option_type t); /* "bool", "integer", … */

#define LT_TEXT_LIST_MAX 64
typedef struct lt_text_list { /* texts are borrowed */
    int         n;
    const char *item[LT_TEXT_LIST_MAX];
} lt_text_list;

/* Which numbers are allowed. NaN never is; infinity only as a closed end. */
typedef struct lt_range {
    double lo, hi;
    bool   lo_open, hi_open;
    bool   limited; /* false: any finite number */
} lt_range;

typedef struct lt_option {
    const char        *name;          /* as written after "--"; '-' and '_' are the same */
    lt_option_type     type;
    size_t             offset, size;  /* of the field in its struct */
    const char        *default_text;  /* NULL: zero, NULL, the first name, or no items */
    lt_range           range;         /* integers and reals */
    const char *const *names;         /* enums: ends with NULL */
    const char *const *(*names_of)(void); /* enums of the library: gives the names, instead of the above */
    const char        *alias;         /* another name that is understood; NULL: none */
    const char        *metavar;       /* "N", "FILE"; NULL for bools and enums */
    const char        *help;          /* a phrase without a full stop */
    char               letter;        /* short flag: 'q' for -q; 0 = none */
    bool               hidden;        /* left out of help, manual and completion */
} lt_option;

#ifndef __cplusplus
#define LT_RANGE_ANY { 0, 0, false, false, false }
#define LT_RANGE_CLOSED(lo_, hi_) { lo_, hi_, false, false, true }
#define LT_RANGE_OPEN(lo_, hi_) { lo_, hi_, true, true, true }
#define LT_RANGE_OPEN_LO(lo_, hi_) { lo_, hi_, true, false, true }  /* (lo, hi] */
#define LT_RANGE_OPEN_HI(lo_, hi_) { lo_, hi_, false, true, true }  /* [lo, hi) */
#define LT_AT_LEAST(lo_) { lo_, INFINITY, false, true, true }
#define LT_ABOVE(lo_) { lo_, INFINITY, true, true, true }

#define LT_OPTION_FIELD_(struct_, field_) \
    .offset = offsetof(struct_, field_), .size = sizeof(((struct_ *)0)->field_)
#define LT_OPTION_BOOL(struct_, field_, name_, default_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_BOOL, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .help = __VA_ARGS__ }
#define LT_OPTION_INT(struct_, field_, name_, default_, range_, metavar_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_INT, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .range = range_, .metavar = metavar_, .help = __VA_ARGS__ }
#define LT_OPTION_REAL(struct_, field_, name_, default_, range_, metavar_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_REAL, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .range = range_, .metavar = metavar_, .help = __VA_ARGS__ }
#define LT_OPTION_STRING(struct_, field_, name_, default_, metavar_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_STRING, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .metavar = metavar_, .help = __VA_ARGS__ }
#define LT_OPTION_PATH(struct_, field_, name_, default_, metavar_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_PATH, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .metavar = metavar_, .help = __VA_ARGS__ }
#define LT_OPTION_ENUM(struct_, field_, name_, default_, names_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_ENUM, LT_OPTION_FIELD_(struct_, field_), \
      .default_text = default_, .names = names_, .help = __VA_ARGS__ }
#define LT_OPTION_LIST(struct_, field_, name_, metavar_, /* help */...) \
    { .name = name_, .type = LT_OPTION_TYPE_LIST, LT_OPTION_FIELD_(struct_, field_), \
      .metavar = metavar_, .help = __VA_ARGS__ }
#endif

/* ---- Tables --------------------------------------------------------------- */
typedef struct lt_option_table lt_option_table;

typedef struct lt_option_group {
    const char      *title;  /* heading in the help; NULL: "Options" */
    const lt_option *rows;
    int              n_rows;
    size_t           base;   /* offset of these rows' struct inside the options struct */
    /* Instead of rows: those of a struct of the library, which begins with its size. LT_OPTIONS_OF fills these in. */
    const lt_option_table *(*table)(void);
    size_t           size;   /* of that struct, as the program was compiled: a newer library's further options are left out */
    const char      *except; /* a row that the program has one of its own for; NULL: none */
} lt_option_group;
/* The options struct `field_` inside `struct_`, with the rows of `table_`: { .title = "Kernel", LT_OPTIONS_OF(my_options, gram, lt_gram_options_table) } */
#define LT_OPTIONS_OF(struct_, field_, table_) .base = offsetof(struct_, field_), .table = table_, .size = sizeof(((struct_ *)0)->field_)

struct lt_option_table {
    const char            *program;  /* "lathe gram" */
    const char            *summary;  /* one sentence */
    const char            *operands; /* "FILE..." in the usage line; NULL when there are none */
    int                    min_operands, max_operands; /* max -1: any number */
    const lt_option_group *groups;
    int                    n_groups;
    const char            *example;  /* shown at the end of the help; may be NULL */
    const char            *listed_by; /* what shows the rows, for messages about unknown names; NULL: --help */
};

typedef struct lt_parsed {
    bool   help;       /* -h or --help was given: nothing else was checked */
    int    n_operands;
    char **operand;    /* the front of argv, which is reordered */
} lt_parsed;

/* Every row's default, and the size of structs of the library; the rest untouched. LT_ERR_INTERNAL names a bad row. */
LT_API lt_status lt_options_defaults(const lt_option_table *t, void *options);
/* Sets one option from text. LT_ERR_ARGUMENT names option, value and what was expected, or the
   nearest known name. The text of strings, paths and lists must outlive the struct. */
LT_API lt_status lt_options_set(const lt_option_table *t, const char *name, const char *value, void *options);
/* The value as the text that would set it, cut to the buffer; lists are joined by commas. */
LT_API lt_status lt_options_get(const lt_option_table *t, const char *name, const void *options,
                                char *text, size_t text_bytes);
/* Defaults, then "--name value", "--name=value", "--flag", "--no-flag", "-q", "-o value", operands,
   and "--" before operands that begin with '-'. argv holds arguments only, not the program. */
LT_API lt_status lt_options_parse(const lt_option_table *t, int argc, char **argv, void *options, lt_parsed *out);
LT_API void      lt_options_help(const lt_option_table *t, FILE *to);
/* Row number i of a group, or NULL past the last; the names of an enum's row. */
LT_API const lt_option   *lt_option_group_row(const lt_option_group *g, int i);
LT_API const char *const *lt_option_names(const lt_option *row);
/* The row called `name`, or NULL; *base is its group's base. */
LT_API const lt_option *lt_options_find(const lt_option_table *t, const char *name, size_t *base);
/* What a row accepts: "a number in (0, 1]", "one of auto, cpu, cuda". Cut to the buffer. */
LT_API void lt_option_expects(const lt_option *row, char *text, size_t text_bytes);

/* The name most like `word` by edit distance, or NULL when none is near. */
LT_API const char *lt_text_nearest(const char *word, const char *const *names, int n_names);

/* ---- Environment ------------------------------------------------------------ */
typedef struct lt_env_row {
    const char *name, *metavar, *fallback, *help; /* fallback: what holds when it is not set, in words */
} lt_env_row;

LT_API const lt_env_row *lt_env_rows(int *n_rows);           /* every variable the library reads */
LT_API const char       *lt_env_value(const lt_env_row *row); /* NULL when unset or empty */
/* LT_ERR_ARGUMENT when a variable is set to what it cannot be, with name, value and what was expected. A library that finds such
   a value where it cannot say so goes on as if the variable were unset. */
LT_API lt_status         lt_env_check(const lt_env_row *row);

#ifdef __cplusplus
}
#endif
#endif
