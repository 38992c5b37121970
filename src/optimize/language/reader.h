/* Reading a problem: names, values, and what the files of the reader share.
   SPDX-License-Identifier: BSD-3-Clause

   A value is a constant, computed while reading, or a node of the problem's graph. Inside a
   comprehension values are lifted: they carry the comprehension's axes in front ("lead" axes, each
   as long as its loop or 1), so that the body is built once for all values of the indices. */
#ifndef LT_OPTIMIZE_LANGUAGE_READER_H
#define LT_OPTIMIZE_LANGUAGE_READER_H

#include "lathe/problem.h"
#include "lathe/rng.h"
#include "optimize/language/syntax.h"

typedef struct lt_limits {
    int64_t elements;   /* of one tensor */
    int64_t steps;      /* expressions evaluated for one statement */
    int     nodes;      /* of the graph */
    int     copies;     /* of a comprehension's body, when it cannot be lifted */
    int     calls;      /* nested calls of fn */
} lt_limits;
#define LT_LIMITS_DEFAULT { INT64_C(1) << 31, 20000000, 2000000, 1000, LT_MAX_NESTING }

typedef enum lt_value_kind {
    LT_VALUE_NONE,      /* in error, which was reported; silences what uses it */
    LT_VALUE_CONSTANT, LT_VALUE_NODE, LT_VALUE_STRING, LT_VALUE_STREAM
} lt_value_kind;

typedef struct lt_symbol lt_symbol;

typedef struct lt_value {
    lt_value_kind kind;
    int      lead;      /* loop axes in front of the element's own */
    lt_shape shape;     /* lead axes, then the element's */
    const double *data; /* CONSTANT: row major */
    lt_node  node;      /* NODE */
    const char *text;   /* STRING */
    lt_symbol *symbol;  /* CONSTANT: whose value it is, or NULL; STREAM: the stream */
} lt_value;

typedef struct lt_random { /* a stream of random numbers */
    bool     is_philox;
    lt_mt    mt;
    uint64_t seed;
    uint32_t draws;     /* philox: each draw is a stream of its own */
} lt_random;

typedef enum lt_symbol_kind { LT_SYMBOL_ERROR, LT_SYMBOL_VALUE, LT_SYMBOL_FN, LT_SYMBOL_STREAM } lt_symbol_kind;

struct lt_symbol {
    const char *name;
    lt_text_span     where;      /* of its definition */
    lt_symbol_kind kind;
    lt_value    value;
    lt_node     node;       /* a constant's node in the graph, made on first use */
    lt_random  *random;
    int         n_parameters;
    const lt_token *parameter;
    const lt_expr *body;
    bool        expanding, used;
};

typedef struct lt_local { /* a parameter or an index: hides outer names */
    const char *name;
    lt_value    value;
    const struct lt_local *outer;
} lt_local;

typedef struct lt_read_constraint { /* a constraint as it is read */
    const char *name;
    int  line;
    bool equality;
    lt_node node;           /* <= 0 or == 0, a vector */
    int64_t count;
    int  side;              /* as in lt_model_constraint */
    bool interval;          /* of `in`: a bound, where it is of one variable */
} lt_read_constraint;

typedef struct lt_data_value { const char *name; double value; } lt_data_value;

typedef struct lt_reader {
    lt_problem_text   text;
    lt_limits limits;
    const char *folder;     /* of data files; NULL: those of the built-in examples */
    const lt_data_value *given; /* a number that stands for what the text gives this data; NULL: none */
    bool      given_used;
    lt_parser parser;
    lt_arena  syntax, kept, temporary; /* this statement's trees; what lasts; this statement's values */

    lt_symbol **table;      /* open addressing; n_slots is a power of two */
    int       n_slots, n_symbols;
    const lt_local *locals;
    int       loops, calls; /* nesting, now */
    int       depth;        /* of evaluation */
    int64_t   steps;
    lt_symbol *in_fn;       /* the function being expanded, and where it was called */
    lt_text_span   called_at;
    const char *unliftable; /* why lifting failed; NULL while it goes well */

    lt_graph *graph;
    lt_node   x;            /* longer than any problem until all variables are known */
    int64_t   n;
    lt_node   f;
    bool      maximize;
    lt_text_span   objective_at;
    lt_model_variable *variables; int n_variables;
    double  **start;        /* one for each variable; NULL: none given */
    lt_read_constraint  *lines;     int n_lines;
    lt_model_option *options;     int n_options;
} lt_reader;

/* ---- values (value.c) ---- */
lt_value lt_value_none(void);
lt_value lt_value_number(lt_reader *r, double x);
/* Whether a tensor of this shape is within the limits and memory; says so at `where` when it is not. */
bool     lt_value_fits(lt_reader *r, lt_text_span where, const lt_shape *shape);
/* Zeroed room for one that fits; NULL otherwise. */
double  *lt_value_alloc(lt_reader *r, lt_text_span where, const lt_shape *shape);
lt_value lt_value_constant(const lt_shape *shape, const double *data);
lt_value lt_value_node(lt_reader *r, lt_text_span where, lt_node n, int lead);
static inline bool lt_value_is_tensor(const lt_value *v) { return v->kind == LT_VALUE_CONSTANT || v->kind == LT_VALUE_NODE; }
int64_t  lt_value_count(const lt_value *v);
lt_shape lt_value_element(const lt_value *v);        /* the shape without the lead axes */
lt_shape_text lt_value_shape_text(const lt_value *v);
/* lead axes and then the element's, with 1s in between: shapes that broadcast as elements do. */
lt_shape lt_value_aligned(const lt_value *v, int lead, int element_rank);
lt_value lt_value_reshape(lt_reader *r, lt_text_span where, const lt_value *v, const lt_shape *shape, int lead);
lt_value lt_value_broadcast(lt_reader *r, lt_text_span where, const lt_value *v, const lt_shape *shape, int lead);
/* A copy that outlives the statement. */
lt_value lt_value_keep(lt_reader *r, const lt_value *v);

/* Builds nodes for values: constants among themselves are computed at once, in a graph of their own. */
typedef lt_node (*lt_build)(void *ctx, lt_graph *g, const lt_node *in);
lt_value lt_value_build(lt_reader *r, lt_text_span where, const lt_value *in, int n_in, int lead, lt_build build, void *ctx);
lt_node lt_concat_many(lt_reader *r, lt_graph *g, const lt_node *parts, int n, int axis);
/* Lifting does not reach this; the comprehension will be written out. */
lt_value lt_cannot_lift(lt_reader *r, const char *why);
/* The elementwise operators, constants at once. */
lt_value lt_value_binary(lt_reader *r, lt_text_span where, int sign, const lt_value *a, const lt_value *b);

/* A failure's text without its kind and its place in the source. */
void lt_value_plain_text(const char *text, char *out, size_t size);

/* ---- expressions (evaluate.c, index.c, comprehension.c) ---- */
lt_value lt_expr_evaluate(lt_reader *r, const lt_expr *e);
lt_value lt_expr_index(lt_reader *r, const lt_expr *e, const lt_value *base);
lt_value lt_expr_comprehension(lt_reader *r, const lt_expr *e);
/* Stacks n values of one shape on a new first axis (of the element). */
lt_value lt_value_stack(lt_reader *r, lt_text_span where, lt_value *items, int n, int lead);
/* A tensor; anything else is reported. */
bool lt_expect_tensor(lt_reader *r, lt_text_span where, const lt_value *v);
/* A constant integer, wherever one is needed; `what` names it in messages. */
bool lt_expr_integer(lt_reader *r, const lt_expr *e, const char *what, int64_t *out);
bool lt_value_integer(lt_reader *r, lt_text_span where, const lt_value *v, const char *what, int64_t *out);
/* from:to:step as NumPy reads it, over an axis of length n. */
int64_t lt_range_length(int64_t from, int64_t to, int64_t step);

/* ---- names (names.c) ---- */
lt_symbol *lt_reader_find(const lt_reader *r, const char *name);
/* A new symbol; an error when the name is taken. NULL when memory is out. */
lt_symbol *lt_reader_define(lt_reader *r, const char *name, lt_text_span where, lt_symbol_kind kind);
/* Takes a name of another kind; the line that has it already, or 0. */
int lt_reader_claim(lt_reader *r, char sign, const char *name, lt_text_span where, int line);
lt_value lt_reader_lookup(lt_reader *r, const lt_expr *e);
void lt_reader_error(lt_reader *r, lt_text_span where, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lt_reader_no_memory(lt_reader *r);
/* Nearest known name among functions, symbols and locals, or NULL. */
const char *lt_reader_nearest(lt_reader *r, const char *name, bool call);
/* Functions never called are looked through for names that do not exist. */
void lt_reader_check_unused(lt_reader *r);

/* ---- calls (call.c) ---- */
lt_value lt_expr_call(lt_reader *r, const lt_expr *e);

/* ---- data (data_file.c, examples.c) ---- */
lt_value lt_read_npy(lt_reader *r, lt_text_span where, const char *file, const char *member);
lt_value lt_read_csv(lt_reader *r, lt_text_span where, const char *file, int64_t column, int64_t skip);
/* A file of the built-in examples; NULL when there is none of this name. */
const char *lt_example_file(const char *name, size_t *n_bytes);

/* ---- statements (statements.c, constraints.c) ---- */
void lt_reader_execute(lt_reader *r, const lt_parsed_statement *s);
void lt_reader_constraint(lt_reader *r, const lt_parsed_statement *s);
/* The bounds of `var x in [a, b]`, for the value that x has become. */
void lt_reader_interval(lt_reader *r, const lt_parsed_statement *s, const lt_value *x);
/* Reads with limits of the caller's choice; lt_model_parse uses the default ones. */
lt_status lt_model_parse_limited(const char *name, const char *folder, const char *text, size_t length,
                                 const lt_limits *limits, lt_model **out);

#endif
