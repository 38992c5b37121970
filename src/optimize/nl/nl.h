/* AMPL models: what a .nl file holds, before it becomes a graph (D. M. Gay, "Writing .nl files", 2005; a reader of our own, decision 159).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_NL_NL_H
#define LT_OPTIMIZE_NL_NL_H

#include "base/arena.h"
#include "lathe/graph.h"

/* ---- Expressions -------------------------------------------------------------------------------- */

typedef enum lt_nl_kind { LT_NL_NUMBER, LT_NL_VARIABLE, LT_NL_OP } lt_nl_kind;

/* One node of an expression. Nodes stand in prefix order: an op before its operands, so that the first operand of node i is node
   i + 1 and the next one follows behind `size` nodes. */
typedef struct lt_nl_node {
    uint8_t kind;      /* lt_nl_kind */
    uint8_t op;        /* row of the table of ops */
    bool    exponent;  /* a number that is one: it counts as part of the op above it */
    int32_t count;     /* ops: operands; piecewise-linear terms: slopes, which are not operands */
    int64_t size;      /* nodes of this subtree, itself included */
    int64_t variable;  /* variables: 0 … n - 1, then defined variables; piecewise-linear terms: first number of lt_nl.breakpoints */
    double  number;
} lt_nl_node;

typedef lt_node (*lt_nl_builder)(lt_graph *g, const lt_node *x, int n);

typedef struct lt_nl_op {
    int           code;    /* in the file */
    const char   *name;
    int           arity;   /* -1: a count stands before the operands */
    lt_nl_builder build;   /* NULL: refused by name */
} lt_nl_op;

const lt_nl_op *lt_nl_op_row(int row);
int             lt_nl_op_find(int code); /* -1: no such op */
enum { LT_NL_OP_POWER_CODE = 5, LT_NL_OP_PIECES_CODE = 64 };
bool lt_nl_op_adds(int row, double *sign_of_second); /* sums, whose operands may stand alone */
bool    lt_nl_is_power(const lt_nl_node *node);

/* ---- Parts ---------------------------------------------------------------------------------------- */

typedef struct lt_nl_linear { /* sum of coefficient[k] * variable[k] */
    int64_t  n;
    int64_t *variable;
    double  *coefficient;
} lt_nl_linear;

typedef struct lt_nl_body {   /* an expression and a linear part: constraint, objective or defined variable */
    int64_t      first;       /* node of lt_nl.node; -1: no expression */
    lt_nl_linear linear;
    bool         given;       /* its segment C, O or V was there */
} lt_nl_body;

typedef struct lt_nl {
    lt_arena arena;
    const char *name;         /* of the file, in messages */
    int      options[9], n_options; /* of the first line, which the .sol file repeats */
    double   options_tolerance;     /* where options[1] is 3 */
    bool     has_tolerance;
    int64_t  n, m, n_objectives, n_defined;
    lt_nl_body *constraint, *defined; /* m, n_defined */
    lt_nl_body  objective;
    bool        maximize;
    double  *lower, *upper;   /* n, infinite where there is none */
    double  *c_lower, *c_upper; /* m */
    double  *x0;              /* n, zero where the file gives none */
    lt_nl_node *node;
    int64_t  n_nodes, nodes_capacity;
    double  *breakpoints;     /* slopes and breakpoints of piecewise-linear terms, in turns */
    int64_t  n_breakpoints, breakpoints_capacity;
    bool     has_bounds, has_ranges;
    int64_t  n_terms[2], terms_expected[2]; /* linear terms of constraints and objectives: read, and promised by the header */
} lt_nl;

/* ---- A place in the file ------------------------------------------------------------------------- */

typedef struct lt_nl_cursor {
    const char *name;
    const char *at, *begin, *end;
    bool        binary;
    int         line;         /* text: of `at`, from 1 */
} lt_nl_cursor;

lt_status lt_nl_fail(const lt_nl_cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3))); /* LT_ERR_FORMAT at this place */
lt_status lt_nl_letter(lt_nl_cursor *c, char *out);         /* 0 at the end of the file */
lt_status lt_nl_int(lt_nl_cursor *c, const char *what, int64_t least, int64_t most, int64_t *out);
lt_status lt_nl_number(lt_nl_cursor *c, const char *what, double *out);
lt_status lt_nl_short(lt_nl_cursor *c, const char *what, double *out); /* a whole number of two bytes in binary files */
lt_status lt_nl_text(lt_nl_cursor *c, const char *what, const char **out, int64_t *length); /* a string with its length before it, or a name */
void      lt_nl_end_line(lt_nl_cursor *c);                  /* text: skips the rest, a comment */

/* ---- Reading ---------------------------------------------------------------------------------------- */
lt_status lt_nl_read(lt_nl_cursor *c, lt_nl *out);          /* release in any case */
lt_status lt_nl_read_expression(lt_nl_cursor *c, lt_nl *nl, int64_t *first);
void      lt_nl_release(lt_nl *nl);

/* ---- Building ---------------------------------------------------------------------------------------- */

/* Where constraint i went: rows of ci and ce, -1 where it has none. */
typedef struct lt_nl_rows { int64_t *upper, *lower, *equal; } lt_nl_rows;

typedef struct lt_nl_graph {
    lt_node    x, f, ci, ce;
    int64_t    p, q;
    lt_nl_rows constraint, bound; /* m, n */
} lt_nl_graph;

lt_status lt_nl_build(const lt_nl *nl, lt_arena *arena, lt_graph *g, lt_nl_graph *out);

#endif
