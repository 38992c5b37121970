/* Angles as expressions of x[i], w[j], pi and numbers. SPDX-License-Identifier: BSD-3-Clause

   Nodes of all angles of a circuit lie in one list, operands before what uses them, so that evaluating is one pass in order and
   needs no recursion. A tape is the part of the list that some angles need, with weights and other constants folded. */
#ifndef LT_QKERNEL_CIRCUIT_EXPR_H
#define LT_QKERNEL_CIRCUIT_EXPR_H

#include "qkernel/circuit/script.h"

typedef enum lt_expr_op {
    LT_EXPR_NUMBER, LT_EXPR_PI, LT_EXPR_X, LT_EXPR_W,
    LT_EXPR_ADD, LT_EXPR_SUB, LT_EXPR_MUL, LT_EXPR_DIV, LT_EXPR_POW,
    LT_EXPR_NEG, LT_EXPR_SIN, LT_EXPR_COS, LT_EXPR_TAN, LT_EXPR_EXP, LT_EXPR_LN, LT_EXPR_SQRT,
    LT_EXPR_ARCSIN, LT_EXPR_ARCCOS, LT_EXPR_ARCTAN,
    LT_EXPR_OP_COUNT
} lt_expr_op;

enum { LT_EXPR_NEEDS_X = 1, LT_EXPR_NEEDS_W = 2 };

typedef struct lt_expr_node {
    uint8_t op, needs;   /* lt_expr_op; what the value depends on */
    int32_t a, b;        /* operands; a: the index of x or w */
    double  value;       /* of a number */
    int32_t line, column; /* in the text it comes from; 0 = from no text */
} lt_expr_node;

typedef struct lt_exprs { lt_expr_node *node; int32_t n, capacity; } lt_exprs;

void      lt_exprs_destroy(lt_exprs *e);
lt_status lt_exprs_copy(const lt_exprs *e, lt_exprs *out);
/* Each appends a node and returns its index; -1 when memory is out (error text set) or an operand is -1. */
int32_t lt_expr_number(lt_exprs *e, double value);
int32_t lt_expr_leaf(lt_exprs *e, lt_expr_op op, int32_t index);
int32_t lt_expr_unary(lt_exprs *e, lt_expr_op op, int32_t a);
int32_t lt_expr_binary(lt_exprs *e, lt_expr_op op, int32_t a, int32_t b);

/* What names stand for; *node is -1 when the name is unknown. The source stands behind the name and may be read on, as for x[3]. */
typedef struct lt_expr_names {
    lt_status (*look_up)(void *ctx, lt_script *s, const lt_script_word *name, lt_exprs *e, int32_t *node);
    void *ctx;
    bool  caret_is_power; /* as in angles and OpenQASM 2; in OpenQASM 3 ** is */
} lt_expr_names;
lt_status lt_expr_read(lt_script *s, lt_exprs *e, const lt_expr_names *names, int32_t *node);
/* A whole text over x[0..n_features-1], w[0..n_weights-1], pi. */
lt_status lt_expr_parse(const char *text, lt_exprs *e, int64_t n_features, int64_t n_weights, int32_t *node);

/* Writes the text of a node, as lt_expr_parse reads it; `name` (may be NULL) writes leaves x and w in another way.
   Returns false when the text was cut. */
typedef int (*lt_expr_leaf_text)(void *ctx, lt_expr_op op, int32_t index, char *to, size_t bytes);
bool lt_expr_text(const lt_exprs *e, int32_t node, lt_expr_leaf_text leaf, void *ctx, char *to, size_t bytes);

/* The value of a node that depends on neither x nor w; false where it does, or is too deep. */
bool lt_expr_constant(const lt_exprs *e, int32_t node, double *value);
/* One value of an expression of numbers alone, or with x and w given (may be NULL where not needed). */
double lt_expr_apply(lt_expr_op op, double a, double b);
/* Partial derivatives of the operation at operands a, b and value v. */
void   lt_expr_slopes(lt_expr_op op, double a, double b, double v, double *da, double *db);

/* ---- tapes ---- */

typedef struct lt_tape_step { uint8_t op; int32_t a, b; double value; int32_t node; } lt_tape_step; /* a, b: steps; or the index of x or w */
typedef struct lt_tape {
    lt_tape_step *step;
    int32_t       n;
    int32_t      *at;     /* for each node of the list: its step, or -1 */
} lt_tape;

/* For the wanted nodes. Constants are folded; weights too, unless keep_weights. A constant that is not finite is refused by its place. */
lt_status lt_tape_make(const lt_exprs *e, const int32_t *wanted, int32_t n_wanted, const double *w, bool keep_weights, lt_tape *out);
void      lt_tape_destroy(lt_tape *t);
/* Values of all steps for `lanes` rows at once: value (n, lanes); x (columns, lanes); w one for all rows, only where kept. */
void      lt_tape_run(const lt_tape *t, const double *x, const double *w, int lanes, double *value);
/* Adds slope (n, lanes), the derivatives by the values of steps, up to the leaves: to dx (columns, lanes) and dw (n_weights),
   each may be NULL. slope is used up. */
void      lt_tape_slopes(const lt_tape *t, int lanes, const double *value, double *slope, double *dx, double *dw);
/* LT_OK, or why step values of one row are not finite: which expression, where, and the feature it is about. */
lt_status lt_tape_check(const lt_tape *t, const lt_exprs *e, const char *rows, int64_t row, const double *x, const double *value);

#endif
