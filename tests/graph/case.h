/* Cases of the graph's ops: how to build one, and what it must give by plain loops. test_ops.c
   compares values, test_grad.c derivatives, both by walking the same tables. To add an op: one
   row (or a few, for its shapes) in the table of its group, cases_<group>.c.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_GRAPH_CASE_H
#define LT_TEST_GRAPH_CASE_H

#include "lathe/graph.h"

#define CASE_INPUTS 6

enum {                       /* what a case is good for */
    CASE_SMALL = 1,          /* f16 and bf16, too */
    CASE_GRAD = 2,           /* has a gradient, and is smooth where it is sampled */
    CASE_GRAD2 = 4,          /* … and a second one */
    CASE_F64 = 8,            /* f64 only */
    CASE_I64 = 16            /* the result is i64 */
};

enum {                       /* what the first input is; the others are uniform */
    DRAW_UNIFORM,
    DRAW_POSITIVE_DEFINITE,  /* symmetric, eigenvalues well above 0 */
    DRAW_DOMINANT,           /* a diagonal that makes it well conditioned */
    DRAW_SYMMETRIC
};

/* One evaluation of a case for its oracle. */
typedef struct case_run {
    lt_shape      in_shape[CASE_INPUTS], out_shape;
    const double *x[CASE_INPUTS];
    const double *got;       /* for results that are unique only up to a property */
    double       *want;      /* to be filled: … */
    double       *size;      /* … and the magnitude of the numbers that were rounded for it */
    int64_t       n_in[CASE_INPUTS], n_out;
} case_run;

typedef struct op_case {
    const char *name;
    lt_node   (*build)(lt_graph *g, const lt_node *x);
    void      (*oracle)(case_run *c);
    int         n_inputs;
    lt_shape    in[CASE_INPUTS];
    double      lo, hi;      /* range of the inputs */
    double      roundings;   /* how many lie between the inputs and an element of the result */
    unsigned    flags, draw;
} op_case;

/* Each table ends with a row without a name. */
extern const op_case cases_elementwise[], cases_reduce[], cases_shape[], cases_linalg[], cases_network[];

#define S0 { 0, { 0 } }
#define S1(a) { 1, { a } }
#define S2(a, b) { 2, { a, b } }
#define S3(a, b, c) { 3, { a, b, c } }
#define S4(a, b, c, d) { 4, { a, b, c, d } }
#define S5(a, b, c, d, e) { 5, { a, b, c, d, e } }

/* Row-major position of an element of the broadcast result in an operand of shape s. */
int64_t case_broadcast_at(const lt_shape *out, int64_t i, const lt_shape *s);
/* Splits position i of shape s around an axis: i = (outer * extent + k) * inner + rest. */
typedef struct case_axis { int64_t outer, extent, inner; } case_axis;
case_axis case_split(const lt_shape *s, int axis);

/* Dense algebra by plain loops, for oracles: solves a x = b in place by elimination with row
   exchanges (a n x n, b n x m) and returns the determinant. */
long double case_eliminate(long double *a, long double *b, int n, int m);
/* Singular values of a (m x n) in descending order by one-sided Jacobi rotations. */
void case_singular_values(const double *a, int m, int n, double *s);

#endif
