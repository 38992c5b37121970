/* The functions of the problem language: one row each in functions.def. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_LANGUAGE_FUNCTIONS_H
#define LT_OPTIMIZE_LANGUAGE_FUNCTIONS_H

#include "optimize/language/reader.h"

#define LT_MAX_PARAMETERS 8

/* What a comprehension does with a function of lifted values. */
typedef enum lt_lifting {
    LT_LIFT_NOT,      /* the body is written out */
    LT_LIFT_EACH,     /* acts on each element: arguments are aligned, then built as usual */
    LT_LIFT_KNOWN     /* the builder looks at call->lead */
} lt_lifting;

typedef struct lt_builtin_call lt_builtin_call;

/* signature: parameters separated by spaces, "name" or "name:type", then '?' when it may be left
   out. Types: t tensor (the default), i integer, r number, b true or false, s string, g stream,
   p one or two integers, o anything (the builder looks); "…:*" takes all further arguments by
   position ("d:i*", "x:t*"), and parameters after it go by name only. */
typedef struct lt_builtin {
    const char *name, *signature;
    lt_lifting  lifting;
    lt_node   (*unary)(lt_graph *g, lt_node x);                          /* one of these five: */
    lt_node   (*binary)(lt_graph *g, lt_node a, lt_node b);
    lt_node   (*ternary)(lt_graph *g, lt_node a, lt_node b, lt_node c);
    lt_node   (*build)(lt_builtin_call *c, lt_graph *g, const lt_node *in);      /* in: by parameter, then the rest */
    lt_value  (*make)(lt_builtin_call *c);                                       /* anything else */
} lt_builtin;

typedef struct lt_parameter {
    const char *name;
    int  name_length;
    char type;
    bool optional, rest;
} lt_parameter;

struct lt_builtin_call {
    lt_reader *r;
    const lt_expr *e;
    const lt_builtin *fn;
    int          n_parameters;
    lt_parameter parameter[LT_MAX_PARAMETERS];
    bool         given[LT_MAX_PARAMETERS];
    lt_text_span      where[LT_MAX_PARAMETERS];
    lt_value     value[LT_MAX_PARAMETERS];
    int64_t      integer[LT_MAX_PARAMETERS][2]; /* i, b, p */
    double       real[LT_MAX_PARAMETERS];       /* r */
    int          n_rest;
    lt_value    *rest;                          /* tensors, or constants that hold integers */
    int          lead;                          /* the most of the arguments */
};

/* ---- the table (functions.c) ---- */
int lt_builtin_count(void);
const lt_builtin *lt_builtin_at(int i);
const lt_builtin *lt_builtin_find(const char *name); /* NULL: none */
void lt_builtin_report_unknown(lt_reader *r, const lt_expr *e);

/* ---- for the builders (call.c) ---- */
/* Says what is wrong with the call, at its name, and returns nothing. */
lt_node  lt_call_fail(lt_builtin_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The axis a parameter names, counted from 0 in the element of `of` (with `extra` more axes than
   that), plus the lead; false after reporting one outside. Missing: `otherwise`. */
bool lt_call_axis(lt_builtin_call *c, int parameter, const lt_value *of, int extra, int otherwise, int *axis);
/* The rest as integers; false after reporting. Vectors count as their elements. */
bool lt_call_extents(lt_builtin_call *c, int n_rest, lt_shape *shape);

/* Functions of the other files. */
#define LT_DECLARE_unary(function)
#define LT_DECLARE_binary(function)
#define LT_DECLARE_ternary(function)
#define LT_DECLARE_build(function) lt_node function(lt_builtin_call *c, lt_graph *g, const lt_node *in);
#define LT_DECLARE_make(function) lt_value function(lt_builtin_call *c);
#define LT_BUILTIN(name, signature, lifting, how, function) LT_DECLARE_##how(function)
#include "optimize/language/functions.def"

#endif
