/* Problem files: the text language of `lathe solve` read into a graph.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_PROBLEM_H
#define LATHE_PROBLEM_H

#include "lathe/graph.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_model lt_model; /* opaque: a problem read from text */

typedef struct lt_model_variable {
    const char *name;
    lt_shape    shape;
    int64_t     offset;    /* of its first element in the packed x; row major */
} lt_model_variable;

typedef struct lt_model_constraint { /* one line of "subject to" */
    const char *name;      /* NULL when it has none */
    int         line;
    bool        equality;
    int64_t     first, count; /* elements of ci or ce */
    int         side;      /* -1: they are expression - bound; +1: bound - expression. side times the multiplier is what f, as it is minimised, gains
                              by one unit more of the bound: of the right side, or of the left where that alone is constant */
} lt_model_constraint;

typedef struct lt_model_option { const char *name, *value; int line, column; } lt_model_option;

/* Everything a solver needs; pointers live as long as the model. */
typedef struct lt_model_view {
    size_t      size;
    lt_graph   *graph;
    lt_node     x;         /* the packed variables: the graph's only input, f64 [n] */
    lt_node     f;         /* to be minimised (already negated for "maximize") */
    lt_node     ci, ce;    /* vectors, ci <= 0 and ce == 0; LT_NONE when absent */
    bool        maximize;
    int64_t     n, p, q;
    const lt_model_variable   *variables;   int n_variables;
    const lt_model_constraint *constraints; int n_constraints;
    const lt_model_option     *options;     int n_options;
    const double *x0;      /* n values; NaN where the file gives no start */
    const char   *name;    /* of the file, for messages */
    int           objective_line; /* where it says minimize or maximize */
} lt_model_view;

/* Reads and checks a problem: a file, or "example:NAME". A name that ends in .nl is a model of AMPL's, as text or binary; names of its
   variables and constraints come from the files .col and .row beside it, where they are. When the text is wrong (LT_ERR_FORMAT) *out
   holds no graph but all messages, so that they can be printed; destroy it in any case. */
LT_API lt_status lt_model_read(const char *path, lt_model **out);
/* The same with another number for `data NAME = …`: LT_ERR_ARGUMENT where the text has none of this name, LT_ERR_FORMAT where it is no single number. */
LT_API lt_status lt_model_read_with(const char *path, const char *name, double value, lt_model **out);
/* folder: where load("…") and csv("…") look, "" for the current one, NULL for the data of the built-in
   examples only; name: how messages call the text. */
LT_API lt_status lt_model_parse(const char *name, const char *folder, const char *text, size_t length, lt_model **out);
LT_API void      lt_model_destroy(lt_model *m); /* NULL is allowed */
LT_API void lt_model_get_into(const lt_model *m, lt_model_view *out);
static inline lt_model_view lt_model_get(const lt_model *m) { lt_model_view sized; sized.size = sizeof sized; lt_model_get_into(m, &sized); return sized; }
/* Errors and warnings in order, each with source line and caret, newline separated; "" if none. */
LT_API const char *lt_model_messages(const lt_model *m);
LT_API int       lt_model_error_count(const lt_model *m);
/* What `lathe solve --check` prints: sizes, variables, constraints, options, the ops of the graph and
   how often each occurs. LT_ERR_ARGUMENT for a model with errors. */
LT_API lt_status lt_model_describe(const lt_model *m, FILE *to);

/* ---- Answers for AMPL ------------------------------------------------------------ */
typedef struct lt_ampl_answer { /* start from lt_ampl_answer_defaults(), or from { .size = sizeof(lt_ampl_answer) }: other fields are 0 by default */
    size_t        size;
    const char   *message;     /* lines for people */
    int           code;        /* AMPL's solve_result_num: 0 to 99 solved, 200 infeasible, 300 unbounded, 400 limit, 500 failure */
    const double *x;           /* n numbers; NULL: no point */
    const double *ci_multipliers, *ce_multipliers; /* p and q numbers, of f + l'ci + m'ce; NULL: none are written */
} lt_ampl_answer;
LT_API void lt_ampl_answer_defaults_into(lt_ampl_answer *out);
static inline lt_ampl_answer lt_ampl_answer_defaults(void) { lt_ampl_answer sized; sized.size = sizeof sized; lt_ampl_answer_defaults_into(&sized); return sized; }
/* Writes FILE.sol for a model that was read from FILE.nl, whole or not at all; multipliers as AMPL has them: what f gains by one unit more
   of a right-hand side. LT_ERR_ARGUMENT for a model that was not. */
LT_API lt_status lt_model_write_sol(const lt_model *m, const char *path, const lt_ampl_answer *answer);

/* ---- Built-in examples -------------------------------------------------------- */
typedef struct lt_example {
    size_t      size;
    const char *name;      /* "A1": read it with lt_model_read("example:A1", …) */
    const char *text;      /* the problem; terminated */
    char        title[120]; /* "nonsmooth Rosenbrock function with two bounds" */
} lt_example;

LT_API int  lt_example_count(void);
LT_API bool lt_example_get(int index, lt_example *out); /* false: there is none */
/* By name, in any case; LT_ERR_ARGUMENT names the nearest when there is none. */
LT_API lt_status lt_example_find(const char *name, lt_example *out);

#ifdef __cplusplus
}
#endif
#endif
