/* The functions of the problem language: one table row each. SPDX-License-Identifier: BSD-3-Clause */
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

typedef struct lt_call lt_call;

/* signature: parameters separated by spaces, "name" or "name:type", then '?' when it may be left
   out. Types: t tensor (the default), i integer, r number, b true or false, s string, g stream,
   p one or two integers, o anything (the builder looks); "…:*" takes all further arguments by
   position ("d:i*", "x:t*"), and parameters after it go by name only. */
typedef struct lt_function {
    const char *name, *signature;
    lt_lifting  lifting;
    lt_node   (*unary)(lt_graph *g, lt_node x);                          /* one of these four: */
    lt_node   (*binary)(lt_graph *g, lt_node a, lt_node b);
    lt_node   (*build)(lt_call *c, lt_graph *g, const lt_node *in);      /* in: by parameter, then the rest */
    lt_value  (*make)(lt_call *c);                                       /* anything else */
} lt_function;

typedef struct lt_parameter {
    const char *name;
    int  name_length;
    char type;
    bool optional, rest;
} lt_parameter;

struct lt_call {
    lt_reader *r;
    const lt_expr *e;
    const lt_function *fn;
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
int lt_function_count(void);
const lt_function *lt_function_at(int i);
const lt_function *lt_function_find(const char *name); /* NULL: none */
void lt_function_report_unknown(lt_reader *r, const lt_expr *e);

/* ---- for the builders (call.c) ---- */
/* Says what is wrong with the call, at its name, and returns nothing. */
lt_node  lt_call_fail(lt_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The axis a parameter names, counted from 0 in the element of `of` (with `extra` more axes than
   that), plus the lead; false after reporting one outside. Missing: `otherwise`. */
bool lt_call_axis(lt_call *c, int parameter, const lt_value *of, int extra, int otherwise, int *axis);
/* The rest as integers; false after reporting. Vectors count as their elements. */
bool lt_call_extents(lt_call *c, int n_rest, lt_shape *shape);

/* Builders of the other files, named lt_fn_<function>. */
lt_node lt_fn_sum(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_mean(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_prod(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_max(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_min(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_logsumexp(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_amax_abs(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_argmax(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_argmin(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_cumsum(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_topk(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_norm(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_fold_l1(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_fold_l2(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_clamp(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_where(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_dot(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_reshape(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_flatten(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_concat(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_stack(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_split(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_squeeze(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_unsqueeze(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_gather(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_flip(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_roll(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_pad(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_cast(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_transpose(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_conv2d(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_maxpool2d(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_avgpool2d(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_batchnorm(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_linear(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_rnn_tanh(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_softmax(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_log_softmax(lt_call *c, lt_graph *g, const lt_node *in);
lt_node lt_fn_cross_entropy(lt_call *c, lt_graph *g, const lt_node *in);
lt_value lt_fn_pow(lt_call *c);
lt_value lt_fn_len(lt_call *c);
lt_value lt_fn_size(lt_call *c);
lt_value lt_fn_zeros(lt_call *c);
lt_value lt_fn_ones(lt_call *c);
lt_value lt_fn_full(lt_call *c);
lt_value lt_fn_eye(lt_call *c);
lt_value lt_fn_arange(lt_call *c);
lt_value lt_fn_linspace(lt_call *c);
lt_value lt_fn_normal(lt_call *c);
lt_value lt_fn_uniform(lt_call *c);
lt_value lt_fn_load(lt_call *c);
lt_value lt_fn_csv(lt_call *c);
lt_value lt_fn_stream(lt_call *c);

#endif
