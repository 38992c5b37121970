/* The table of functions. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define EACH(name_, builder_)    { .name = name_, .signature = "x", .lifting = LT_LIFT_EACH, .unary = builder_ }
#define EACH2(name_, builder_)   { .name = name_, .signature = "a b", .lifting = LT_LIFT_EACH, .binary = builder_ }
#define WHOLE(name_, builder_)   { .name = name_, .signature = "x", .unary = builder_ }
#define WHOLE2(name_, builder_)  { .name = name_, .signature = "a b", .binary = builder_ }
#define REDUCE(name_, builder_)  { .name = name_, .signature = "x axis:i? keepdims:b?", .lifting = LT_LIFT_KNOWN, .build = builder_ }
#define BUILD(name_, signature_, builder_) { .name = name_, .signature = signature_, .build = builder_ }
#define LIFTED(name_, signature_, builder_) { .name = name_, .signature = signature_, .lifting = LT_LIFT_KNOWN, .build = builder_ }
#define MAKE(name_, signature_, maker_) { .name = name_, .signature = signature_, .make = maker_ }

static const lt_function table[] = {
    /* elementwise */
    EACH("abs", lt_abs), EACH("sign", lt_sign), EACH("square", lt_square), EACH("sqrt", lt_sqrt), EACH("cbrt", lt_cbrt),
    EACH("exp", lt_exp), EACH("expm1", lt_expm1), EACH("log", lt_log), EACH("log1p", lt_log1p), EACH("sin", lt_sin),
    EACH("cos", lt_cos), EACH("tan", lt_tan), EACH("asin", lt_asin), EACH("acos", lt_acos), EACH("atan", lt_atan),
    EACH("sinh", lt_sinh), EACH("cosh", lt_cosh), EACH("tanh", lt_tanh), EACH("sigmoid", lt_sigmoid),
    EACH("softplus", lt_softplus), EACH("relu", lt_relu), EACH("gelu", lt_gelu), EACH("erf", lt_erf), EACH("floor", lt_floor),
    EACH("detach", lt_detach),
    EACH2("atan2", lt_atan2), EACH2("mod", lt_mod), EACH2("hypot", lt_hypot), EACH2("lt", lt_lt), EACH2("le", lt_le),
    EACH2("gt", lt_gt), EACH2("ge", lt_ge), EACH2("eq", lt_eq),
    MAKE("pow", "a b", lt_fn_pow),
    { .name = "clamp", .signature = "x lo hi", .lifting = LT_LIFT_EACH, .build = lt_fn_clamp },
    { .name = "where", .signature = "mask a b", .lifting = LT_LIFT_EACH, .build = lt_fn_where },
    /* reductions: max and min of several arguments act elementwise */
    REDUCE("sum", lt_fn_sum), REDUCE("mean", lt_fn_mean), REDUCE("prod", lt_fn_prod), REDUCE("logsumexp", lt_fn_logsumexp),
    REDUCE("amax_abs", lt_fn_amax_abs), LIFTED("max", "x:t* axis:i? keepdims:b?", lt_fn_max),
    LIFTED("min", "x:t* axis:i? keepdims:b?", lt_fn_min),
    LIFTED("argmax", "x axis:i?", lt_fn_argmax), LIFTED("argmin", "x axis:i?", lt_fn_argmin), BUILD("topk", "x k:i", lt_fn_topk),
    LIFTED("cumsum", "x axis:i?", lt_fn_cumsum),
    LIFTED("norm", "x order:o? axis:i? keepdims:b?", lt_fn_norm),
    /* linear algebra */
    LIFTED("dot", "a b", lt_fn_dot), WHOLE2("outer", lt_outer), LIFTED("transpose", "x", lt_fn_transpose), WHOLE("trace", lt_trace),
    WHOLE("diag", lt_diag), WHOLE("det", lt_det), WHOLE("logdet", lt_logdet), WHOLE("inv", lt_inv), WHOLE2("solve", lt_linsolve),
    WHOLE("svdvals", lt_svdvals), WHOLE("eigvals_re", lt_eigvals_re), WHOLE("eigvals_im", lt_eigvals_im),
    WHOLE("eigvalsh", lt_eigvalsh), WHOLE("cholesky", lt_cholesky),
    /* shape */
    LIFTED("reshape", "x d:i*", lt_fn_reshape), LIFTED("flatten", "x", lt_fn_flatten), BUILD("concat", "x:t* axis:i?", lt_fn_concat),
    BUILD("stack", "x:t* axis:i?", lt_fn_stack), BUILD("split", "x n:i axis:i?", lt_fn_split), BUILD("squeeze", "x axis:i?", lt_fn_squeeze),
    BUILD("unsqueeze", "x axis:i", lt_fn_unsqueeze), BUILD("gather", "x index axis:i?", lt_fn_gather),
    BUILD("flip", "x axis:i?", lt_fn_flip), BUILD("roll", "x shift:i axis:i?", lt_fn_roll),
    BUILD("pad", "x before:i after:i? axis:i?", lt_fn_pad),
    { .name = "cast", .signature = "x type:s", .lifting = LT_LIFT_EACH, .build = lt_fn_cast },
    MAKE("len", "x", lt_fn_len), MAKE("size", "x axis:i?", lt_fn_size),
    /* networks */
    BUILD("conv2d", "x w b? stride:p? padding:p? dilation:p? groups:i?", lt_fn_conv2d),
    BUILD("maxpool2d", "x kernel:i stride:i? padding:i?", lt_fn_maxpool2d),
    BUILD("avgpool2d", "x kernel:i stride:i? padding:i?", lt_fn_avgpool2d),
    BUILD("batchnorm", "x gamma? beta? mean? var? eps:r?", lt_fn_batchnorm), BUILD("linear", "x w b?", lt_fn_linear),
    BUILD("rnn_tanh", "x w_ih w_hh b_ih? b_hh?", lt_fn_rnn_tanh), LIFTED("softmax", "x axis:i?", lt_fn_softmax),
    LIFTED("log_softmax", "x axis:i?", lt_fn_log_softmax), BUILD("cross_entropy", "z labels", lt_fn_cross_entropy),
    /* folds */
    REDUCE("fold_max", lt_fn_max), REDUCE("fold_max_abs", lt_fn_amax_abs), LIFTED("fold_l1", "x", lt_fn_fold_l1),
    LIFTED("fold_l2", "x", lt_fn_fold_l2), WHOLE("lower", lt_lower),
    /* constants */
    MAKE("zeros", "d:i*", lt_fn_zeros), MAKE("ones", "d:i*", lt_fn_ones), MAKE("full", "d:i* value:r?", lt_fn_full),
    MAKE("eye", "n:i", lt_fn_eye), MAKE("arange", "start:r stop:r? step:r?", lt_fn_arange),
    MAKE("linspace", "first:r last:r n:i", lt_fn_linspace), MAKE("normal", "d:i* rng:g? seed:i? type:s?", lt_fn_normal),
    MAKE("uniform", "d:i* rng:g? seed:i? type:s?", lt_fn_uniform), MAKE("load", "file:s name:s?", lt_fn_load),
    MAKE("csv", "file:s column:i? skip:i?", lt_fn_csv), MAKE("mt19937", "seed:i?", lt_fn_stream),
    MAKE("philox", "seed:i?", lt_fn_stream),
};

int lt_function_count(void) { return (int)LT_LEN(table); }
const lt_function *lt_function_at(int i) { return &table[i]; }

const lt_function *lt_function_find(const char *name)
{
    for (size_t i = 0; i < LT_LEN(table); i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}

void lt_function_report_unknown(lt_reader *r, const lt_expr *e)
{
    const char *near = lt_reader_nearest(r, e->text, true);
    if (near) lt_reader_error(r, e->point, "unknown function '%.60s'; did you mean '%s'?", e->text, near);
    else lt_reader_error(r, e->point, "unknown function '%.60s'", e->text);
    lt_symbol *s = lt_reader_define(r, e->text, e->point, LT_SYMBOL_ERROR);
    if (s) s->where = (lt_text_span){ 0, 0 };
}
