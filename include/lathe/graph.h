/* Graphs of tensor operations: build once, differentiate, compile, run many times.

       lt_graph *g; lt_graph_create(&g);
       lt_node x = lt_input(g, "x", LT_F64, lt_shape1(2));
       lt_node f = lt_sum(g, lt_abs(g, x)), df;
       lt_grad(g, f, &x, 1, &df);
       lt_program *p; lt_program_create(g, (lt_node[]){ f, df }, 2, NULL, &p);
       lt_program_run(p, (const void *[]){ xs }, (void *[]){ &value, gradient });

   Builders chain: the first mistake is recorded in the graph, later calls do nothing, and
   lt_graph_status or the next call that returns a status reports it. Tensors are dense and
   row major; broadcasting, negative axes and indices are NumPy's. Arithmetic on integers goes
   through f64 (u8: f32) and saturates: exact up to 2^53.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_GRAPH_H
#define LATHE_GRAPH_H

#include "lathe/base.h"
#include "lathe/device.h"
#include "lathe/tune.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_graph lt_graph; /* opaque; one thread at a time */

/* A value of a graph. Plain data: copy it freely; it lives as long as its graph. */
typedef struct lt_node {
    int32_t  id;    /* -1: none */
    uint32_t graph; /* which graph it belongs to */
} lt_node;

#define LT_NONE (lt_node_none())
static inline lt_node lt_node_none(void) { lt_node n = { -1, 0 }; return n; }
static inline bool lt_is_none(lt_node n) { return n.id < 0; }

LT_API lt_status lt_graph_create(lt_graph **out);
LT_API void      lt_graph_destroy(lt_graph *g); /* NULL is allowed; programs made from it live on */
/* The first mistake made while building, its text again in lt_error_text(); LT_OK if none. */
LT_API lt_status lt_graph_status(const lt_graph *g);
LT_API int       lt_graph_node_count(const lt_graph *g);
LT_API lt_shape  lt_node_shape(const lt_graph *g, lt_node n); /* rank 0 for a node that is none */
LT_API lt_dtype  lt_node_dtype(const lt_graph *g, lt_node n);
LT_API lt_node   lt_name(lt_graph *g, lt_node n, const char *name); /* for messages and dumps; returns n */
LT_API lt_status lt_graph_dump(const lt_graph *g, FILE *to); /* one line per node */

/* ---- Sources ---------------------------------------------------------------- */
/* Inputs are numbered in order of creation; programs take them in that order. */
LT_API lt_node lt_input(lt_graph *g, const char *name, lt_dtype t, lt_shape s);
LT_API lt_node lt_constant(lt_graph *g, lt_dtype t, lt_shape s, const void *data); /* copied */
LT_API lt_node lt_scalar(lt_graph *g, lt_dtype t, double value);
LT_API lt_node lt_full(lt_graph *g, lt_dtype t, lt_shape s, double value);
LT_API lt_node lt_zeros(lt_graph *g, lt_dtype t, lt_shape s);
LT_API lt_node lt_ones(lt_graph *g, lt_dtype t, lt_shape s);
LT_API lt_node lt_eye(lt_graph *g, lt_dtype t, int64_t n);
LT_API lt_node lt_arange(lt_graph *g, lt_dtype t, double start, double step, int64_t n);
LT_API lt_node lt_linspace(lt_graph *g, lt_dtype t, double first, double last, int64_t n);

/* ---- Elementwise -------------------------------------------------------------- */
/* Rows of src/kernels/ops.def, written by `ninja op_files`: */
LT_API lt_node lt_neg(lt_graph *g, lt_node x);      /* -x */
LT_API lt_node lt_abs(lt_graph *g, lt_node x);      /* |x|; gradient 0 at 0 */
LT_API lt_node lt_sign(lt_graph *g, lt_node x);     /* -1, 0 or 1; no gradient */
LT_API lt_node lt_square(lt_graph *g, lt_node x);   /* x^2 */
LT_API lt_node lt_sqrt(lt_graph *g, lt_node x);     /* square root */
LT_API lt_node lt_cbrt(lt_graph *g, lt_node x);     /* cube root */
LT_API lt_node lt_exp(lt_graph *g, lt_node x);      /* e^x */
LT_API lt_node lt_expm1(lt_graph *g, lt_node x);    /* e^x - 1, accurate near 0 */
LT_API lt_node lt_log(lt_graph *g, lt_node x);      /* natural logarithm; log(1 + exp(t)) becomes softplus(t) */
LT_API lt_node lt_log1p(lt_graph *g, lt_node x);    /* log(1 + x), accurate near 0 */
LT_API lt_node lt_sin(lt_graph *g, lt_node x);      /* sine */
LT_API lt_node lt_cos(lt_graph *g, lt_node x);      /* cosine */
LT_API lt_node lt_tan(lt_graph *g, lt_node x);      /* tangent */
LT_API lt_node lt_asin(lt_graph *g, lt_node x);     /* arc sine */
LT_API lt_node lt_acos(lt_graph *g, lt_node x);     /* arc cosine */
LT_API lt_node lt_atan(lt_graph *g, lt_node x);     /* arc tangent */
LT_API lt_node lt_sinh(lt_graph *g, lt_node x);     /* hyperbolic sine */
LT_API lt_node lt_cosh(lt_graph *g, lt_node x);     /* hyperbolic cosine */
LT_API lt_node lt_tanh(lt_graph *g, lt_node x);     /* hyperbolic tangent */
LT_API lt_node lt_sigmoid(lt_graph *g, lt_node x);  /* 1 / (1 + exp(-x)) */
LT_API lt_node lt_softplus(lt_graph *g, lt_node x); /* log(1 + exp(x)), stable */
LT_API lt_node lt_relu(lt_graph *g, lt_node x);     /* max(x, 0); gradient 0 at 0 */
LT_API lt_node lt_gelu(lt_graph *g, lt_node x);     /* exact: x Phi(x) */
LT_API lt_node lt_erf(lt_graph *g, lt_node x);      /* error function */
LT_API lt_node lt_floor(lt_graph *g, lt_node x);    /* largest integer <= x; no gradient */
LT_API lt_node lt_recip(lt_graph *g, lt_node x);    /* 1 / x */
LT_API lt_node lt_add(lt_graph *g, lt_node a, lt_node b);     /* a + b */
LT_API lt_node lt_sub(lt_graph *g, lt_node a, lt_node b);     /* a - b */
LT_API lt_node lt_mul(lt_graph *g, lt_node a, lt_node b);     /* a b */
LT_API lt_node lt_div(lt_graph *g, lt_node a, lt_node b);     /* a / b */
LT_API lt_node lt_pow(lt_graph *g, lt_node a, lt_node b);     /* a^b; exact for a < 0 where b is a small integer */
LT_API lt_node lt_atan2(lt_graph *g, lt_node y, lt_node x);   /* angle of the point (x, y) */
LT_API lt_node lt_hypot(lt_graph *g, lt_node a, lt_node b);   /* sqrt(a^2 + b^2); gradient 0 at the origin */
LT_API lt_node lt_minimum(lt_graph *g, lt_node a, lt_node b); /* the smaller one; ties share the gradient */
LT_API lt_node lt_maximum(lt_graph *g, lt_node a, lt_node b); /* the larger one; ties share the gradient */
LT_API lt_node lt_lt(lt_graph *g, lt_node a, lt_node b);      /* mask: 1 where a < b, else 0; no gradient */
LT_API lt_node lt_le(lt_graph *g, lt_node a, lt_node b);      /* mask: a <= b */
LT_API lt_node lt_gt(lt_graph *g, lt_node a, lt_node b);      /* mask: a > b */
LT_API lt_node lt_ge(lt_graph *g, lt_node a, lt_node b);      /* mask: a >= b */
LT_API lt_node lt_eq(lt_graph *g, lt_node a, lt_node b);      /* mask: a == b */
LT_API lt_node lt_where(lt_graph *g, lt_node mask, lt_node a, lt_node b); /* a where mask is not 0, else b */
LT_API lt_node lt_clamp(lt_graph *g, lt_node x, lt_node lo, lt_node hi); /* min(max(x, lo), hi); the gradient passes where lo <= x <= hi */
/* End of these rows. */
LT_API lt_node lt_mod(lt_graph *g, lt_node a, lt_node b);     /* a - b floor(a/b) */
/* With a plain number on one side. */
LT_API lt_node lt_scale(lt_graph *g, lt_node a, double c);         /* c a */
LT_API lt_node lt_shift(lt_graph *g, lt_node a, double c);         /* a + c */
LT_API lt_node lt_rsub(lt_graph *g, double c, lt_node a);          /* c - a */
LT_API lt_node lt_rdiv(lt_graph *g, double c, lt_node a);          /* c / a */
LT_API lt_node lt_pow_scalar(lt_graph *g, lt_node a, double c);    /* integral c: exact for a < 0 */
LT_API lt_node lt_clamp_scalar(lt_graph *g, lt_node x, double lo, double hi);
LT_API lt_node lt_cast(lt_graph *g, lt_node x, lt_dtype t);
LT_API lt_node lt_detach(lt_graph *g, lt_node x);                  /* same value, gradient 0 */

/* ---- Reductions ----------------------------------------------------------------
   Without an axis: over everything, to a scalar. */
LT_API lt_node lt_sum(lt_graph *g, lt_node x);
LT_API lt_node lt_mean(lt_graph *g, lt_node x);
LT_API lt_node lt_prod(lt_graph *g, lt_node x);
LT_API lt_node lt_max(lt_graph *g, lt_node x);        /* ties share the gradient equally */
LT_API lt_node lt_min(lt_graph *g, lt_node x);
LT_API lt_node lt_amax_abs(lt_graph *g, lt_node x);   /* max |x|, ties share */
LT_API lt_node lt_logsumexp(lt_graph *g, lt_node x);
LT_API lt_node lt_sum_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_mean_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_prod_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_max_axis(lt_graph *g, lt_node x, int axis, bool keepdims); /* gradient to the first maximum */
LT_API lt_node lt_min_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_amax_abs_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_logsumexp_axis(lt_graph *g, lt_node x, int axis, bool keepdims);
LT_API lt_node lt_sum_axes(lt_graph *g, lt_node x, int n_axes, const int *axes, bool keepdims);
LT_API lt_node lt_mean_axes(lt_graph *g, lt_node x, int n_axes, const int *axes, bool keepdims);
LT_API lt_node lt_argmax(lt_graph *g, lt_node x, int axis);  /* i64, first of ties, no gradient */
LT_API lt_node lt_argmin(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_topk(lt_graph *g, lt_node x, int64_t k);   /* k largest along the last axis, descending */
LT_API lt_node lt_topk_index(lt_graph *g, lt_node x, int64_t k); /* where they are: i64, first of ties, NaN first, no gradient */
LT_API lt_node lt_cumsum(lt_graph *g, lt_node x, int axis);

/* ---- Norms ---------------------------------------------------------------------- */
LT_API lt_node lt_norm(lt_graph *g, lt_node x);      /* 2-norm of all elements, also of huge and tiny ones; gradient 0 at 0 */
LT_API lt_node lt_norm1(lt_graph *g, lt_node x);     /* sum |x| */
LT_API lt_node lt_norm_inf(lt_graph *g, lt_node x);  /* max |x| */
LT_API lt_node lt_norm_nuc(lt_graph *g, lt_node m);  /* sum of singular values */
LT_API lt_node lt_norm_spec(lt_graph *g, lt_node m); /* largest singular value */
LT_API lt_node lt_norm_axis(lt_graph *g, lt_node x, double order, int axis, bool keepdims); /* 1, 2 or INFINITY */

/* ---- Linear algebra -------------------------------------------------------------- */
LT_API lt_node lt_matmul(lt_graph *g, lt_node a, lt_node b);  /* NumPy's @ */
LT_API lt_node lt_dot(lt_graph *g, lt_node a, lt_node b);     /* of two vectors */
LT_API lt_node lt_outer(lt_graph *g, lt_node a, lt_node b);
LT_API lt_node lt_transpose(lt_graph *g, lt_node x);          /* swaps the last two axes; rank < 2: unchanged */
LT_API lt_node lt_permute(lt_graph *g, lt_node x, const int *axes);
LT_API lt_node lt_trace(lt_graph *g, lt_node m);
LT_API lt_node lt_diag(lt_graph *g, lt_node x);               /* vector -> matrix, matrix -> vector */
LT_API lt_node lt_lower(lt_graph *g, lt_node m);              /* lower triangle of a square matrix as a vector, row by row */
LT_API lt_node lt_det(lt_graph *g, lt_node m);
LT_API lt_node lt_logdet(lt_graph *g, lt_node m);             /* log det m; NaN where det m < 0, or m is symmetric and not positive definite */
LT_API lt_node lt_logabsdet(lt_graph *g, lt_node m);          /* log |det m| */
LT_API lt_node lt_inv(lt_graph *g, lt_node m);
LT_API lt_node lt_linsolve(lt_graph *g, lt_node a, lt_node b);
LT_API lt_node lt_cholesky(lt_graph *g, lt_node m);
LT_API lt_node lt_eigvals_re(lt_graph *g, lt_node m);         /* general square matrix; LAPACK's order */
LT_API lt_node lt_eigvals_im(lt_graph *g, lt_node m);
LT_API lt_node lt_eigvalsh(lt_graph *g, lt_node m);           /* symmetric; ascending */
LT_API lt_node lt_eigh(lt_graph *g, lt_node m, lt_node *vectors); /* vectors in columns, without gradient */
LT_API lt_node lt_svdvals(lt_graph *g, lt_node m);            /* descending */
LT_API lt_node lt_svd(lt_graph *g, lt_node m, lt_node *u, lt_node *vt); /* u, vt without gradient */

/* ---- Shape ------------------------------------------------------------------------ */
LT_API lt_node lt_reshape(lt_graph *g, lt_node x, lt_shape s);  /* one extent may be -1 */
LT_API lt_node lt_flatten(lt_graph *g, lt_node x);
LT_API lt_node lt_squeeze(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_unsqueeze(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_broadcast_to(lt_graph *g, lt_node x, lt_shape s);
LT_API lt_node lt_at(lt_graph *g, lt_node x, int64_t i);        /* x[i]: drops the first axis */
LT_API lt_node lt_select(lt_graph *g, lt_node x, int axis, int64_t i); /* drops that axis */
/* x[…, start:stop:step, …] on one axis; step may be negative (then start > stop).
   LT_END as stop means "to the end". */
#define LT_END INT64_MAX
LT_API lt_node lt_slice(lt_graph *g, lt_node x, int axis, int64_t start, int64_t stop, int64_t step);
LT_API lt_node lt_flip(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_roll(lt_graph *g, lt_node x, int64_t shift, int axis);
LT_API lt_node lt_pad(lt_graph *g, lt_node x, int axis, int64_t before, int64_t after); /* zeros */
LT_API lt_node lt_concat(lt_graph *g, const lt_node *parts, int n, int axis);
LT_API lt_node lt_stack(lt_graph *g, const lt_node *parts, int n, int axis);
/* n equal parts along axis. */
LT_API lt_status lt_split(lt_graph *g, lt_node x, int n, int axis, lt_node *parts);
/* index of x's rank: take_along_axis; of rank 0 or 1: NumPy's take. index is i64 or i32. */
LT_API lt_node lt_gather(lt_graph *g, lt_node x, lt_node index, int axis);

/* ---- Networks ----------------------------------------------------------------------- */
typedef struct lt_conv_options {
    size_t  size;
    int64_t stride[2], padding[2], dilation[2], groups;
    bool    channels_last; /* x and the result are [n,h,w,c] instead of [n,c,h,w] */
} lt_conv_options;
LT_API void lt_conv_defaults_into(lt_conv_options *out); /* stride 1, no padding, dilation 1, one group */
static inline lt_conv_options lt_conv_defaults(void) { lt_conv_options sized; sized.size = sizeof sized; lt_conv_defaults_into(&sized); return sized; }
/* w [o, c/groups, kh, kw]; bias [o] or LT_NONE; opt NULL = defaults. */
LT_API lt_node lt_conv2d(lt_graph *g, lt_node x, lt_node w, lt_node bias, const lt_conv_options *opt);
/* Windows over the last two axes; padding with -inf (max) or counted zeros (average). */
LT_API lt_node lt_maxpool2d(lt_graph *g, lt_node x, int64_t kernel, int64_t stride, int64_t padding);
LT_API lt_node lt_avgpool2d(lt_graph *g, lt_node x, int64_t kernel, int64_t stride, int64_t padding);
LT_API lt_node lt_adaptive_avgpool2d(lt_graph *g, lt_node x, int64_t out_h, int64_t out_w);
/* [n, c, …]; mean, var LT_NONE: statistics of the batch (biased variance). gamma, beta may be LT_NONE. */
LT_API lt_node lt_batchnorm(lt_graph *g, lt_node x, lt_node gamma, lt_node beta, lt_node mean, lt_node var, double eps);
LT_API lt_node lt_groupnorm(lt_graph *g, lt_node x, int64_t groups, lt_node gamma, lt_node beta, double eps);
LT_API lt_node lt_linear(lt_graph *g, lt_node x, lt_node w, lt_node bias); /* x w' + b; w [out, in] */
/* x [batch, time, in]; all hidden states [batch, time, hidden]; biases may be LT_NONE; starts at zero. */
LT_API lt_node lt_rnn_tanh(lt_graph *g, lt_node x, lt_node w_ih, lt_node w_hh, lt_node b_ih, lt_node b_hh);
LT_API lt_node lt_softmax(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_log_softmax(lt_graph *g, lt_node x, int axis);
LT_API lt_node lt_cross_entropy(lt_graph *g, lt_node z, lt_node labels); /* z [n, classes], labels [n] i64 or i32: mean */
LT_API lt_node lt_rfft2(lt_graph *g, lt_node x);                    /* [..,h,w] -> [..,h,w/2+1,2], unnormalised */
LT_API lt_node lt_irfft2(lt_graph *g, lt_node x, int64_t width);    /* inverse up to the factor h*w */

/* ---- Folds: many constraints into one -------------------------------------------------- */
LT_API lt_node lt_fold_max(lt_graph *g, lt_node c);
LT_API lt_node lt_fold_max_abs(lt_graph *g, lt_node c);
LT_API lt_node lt_fold_l1(lt_graph *g, lt_node c);
LT_API lt_node lt_fold_l2(lt_graph *g, lt_node c);

/* ---- Derivatives: nodes of the same graph, so they can be differentiated again ---------- */
/* d f / d wrt[i], each of wrt[i]'s shape; f has one element. Zero where f does not depend on it. */
LT_API lt_status lt_grad(lt_graph *g, lt_node f, const lt_node *wrt, int n_wrt, lt_node *out);
/* seed . d y / d wrt[i]; seed has y's shape. */
LT_API lt_status lt_vjp(lt_graph *g, lt_node y, lt_node seed, const lt_node *wrt, int n_wrt, lt_node *out);
/* All rows of d y[i] / d x, each [count(y[i]), count(x)], in one reverse sweep that shares
   common work and keeps elementwise, slice, reduction and matmul structure sparse. */
LT_API lt_status lt_jacobian(lt_graph *g, const lt_node *y, int n_y, lt_node x, lt_node *out);

/* ---- Programs -------------------------------------------------------------------------- */
typedef enum lt_mode {
    LT_MODE_DEFAULT,         /* passes, fusion, planned memory */
    LT_MODE_EAGER,           /* one plain kernel per node: for debugging and comparison */
    LT_MODE_REDUCE_OVERHEAD, /* as default, launched as one captured sequence */
    LT_MODE_MAX_AUTOTUNE,    /* as reduce-overhead, kernels chosen by timing them */
    LT_MODE_COUNT
} lt_mode;
LT_API const char *lt_mode_name(lt_mode m); /* "default", "eager", "reduce-overhead", "max-autotune" */

typedef enum lt_pass { /* switches for ablation; set bits in skip_passes */
    LT_PASS_FOLD, LT_PASS_CSE, LT_PASS_ALGEBRAIC, LT_PASS_LAYOUT, LT_PASS_PRECISION, LT_PASS_FUSE, LT_PASS_REUSE,
    LT_PASS_COUNT
} lt_pass;
LT_API const char *lt_pass_name(lt_pass p);

typedef struct lt_compile_options { /* plain data; start from lt_compile_defaults() */
    size_t    size;
    lt_mode   mode;
    uint32_t  skip_passes;     /* bit p: leave out pass p */
    lt_device *device;         /* NULL: the CPU */
    lt_tuner  *tuner;          /* max-autotune: where choices are kept; NULL: the user's cache folder */
    bool      low_precision;   /* store network activations and weights in storage_type */
    lt_dtype  storage_type;    /* LT_F16 or LT_BF16, with low_precision */
    bool      full_first;      /* with low_precision: products whose first operand is an input, or a part of one, stay in f32 */
    int       held_from;       /* > 0: inputs from this number on keep their contents from run to run, until
                                  lt_program_renew; what follows from them alone is computed once (CPU) */
    struct lt_program *held_by; /* not NULL: a program of the same graph, options and held inputs that computes what follows from
                                  those for this one as well: it must outlive this one and have run, or lt_program_hold, before */
    int       lead_outputs;    /* > 0: the first lead_outputs outputs can be had alone and the others later, from what is
                                  there already: lt_program_run_lead (CPU only) */
    uint64_t  tf32;            /* not 0: f32 products read operands rounded to the 11 digits of TF32, which tensor cores multiply; sums
                                  stay f32. With full_first as above; not with low_precision. (So wide that the size shows it) */
} lt_compile_options;
LT_API void lt_compile_defaults_into(lt_compile_options *out);
static inline lt_compile_options lt_compile_defaults(void) { lt_compile_options sized; sized.size = sizeof sized; lt_compile_defaults_into(&sized); return sized; }

/* A tuner for the kernels of this build on this device (NULL: the CPU). path NULL: the cache folder. */
LT_API lt_status lt_tuner_open(lt_device *device, lt_tune_mode mode, const char *path, lt_tuner **out);

typedef struct lt_program lt_program; /* opaque; one run at a time; independent of its graph */

typedef struct lt_program_info {
    size_t  size;
    int     n_nodes, n_kernels, n_fused;     /* nodes left after the passes; kernels; fused ones among them */
    size_t  arena_bytes, unplanned_bytes, constant_bytes; /* unplanned: had every value its own memory */
    size_t  held_bytes;                      /* of the arena: what is computed once from held inputs, for held_by, too */
    double  flops, bytes;                    /* of one run */
    int     n_lead;                          /* kernels of the lead outputs; 0: there are none */
    double  lead_flops, lead_bytes;
    double  compile_seconds;
} lt_program_info;

/* Compiles the outputs. opt NULL = defaults. The graph may be destroyed afterwards. */
LT_API lt_status lt_program_create(lt_graph *g, const lt_node *outputs, int n_outputs,
                                   const lt_compile_options *opt, lt_program **out);
LT_API void      lt_program_destroy(lt_program *p); /* NULL is allowed */
/* inputs[i] is the graph's i-th input (may be NULL where no output needs it), outputs[j] receives
   the j-th output. Neither allocates nor locks. Outputs may not overlap inputs. */
LT_API lt_status lt_program_run(lt_program *p, const void *const *inputs, void *const *outputs);
/* The lead outputs alone; LT_ERR_UNSUPPORTED where info.n_lead is 0. Others may be NULL unless lt_program_output_leads:
   they are computed along with the lead outputs. */
LT_API lt_status lt_program_run_lead(lt_program *p, const void *const *inputs, void *const *outputs);
/* The other outputs, from what lt_program_run_lead left: inputs and outputs that lead must be where and as they were then. */
LT_API lt_status lt_program_run_rest(lt_program *p, const void *const *inputs, void *const *outputs);
LT_API bool      lt_program_output_leads(const lt_program *p, int output);
/* Computes what follows from held inputs, if it is not there yet: programs held_by this one may then run beside it. */
LT_API lt_status lt_program_hold(lt_program *p, const void *const *inputs, void *const *outputs);
/* The contents of held inputs changed; another pointer is noticed without this. */
LT_API void      lt_program_renew(lt_program *p);
/* Seconds of one run of the kernels alone, over what the last run left on the device: the mean of `repeats`
   runs queued one after the other, by the device's own clock. The program must have run once. */
LT_API lt_status lt_program_time(lt_program *p, int repeats, double *seconds);
LT_API void lt_program_get_info_into(const lt_program *p, lt_program_info *out);
static inline lt_program_info lt_program_get_info(const lt_program *p) { lt_program_info sized; sized.size = sizeof sized; lt_program_get_info_into(p, &sized); return sized; }
/* The plan: every kernel with what it fuses, its arguments, bytes and FLOPs; then memory. */
LT_API lt_status lt_program_dump(const lt_program *p, FILE *to);
/* Runs outputs compiled and eager at these inputs and compares; LT_ERR_MISMATCH names the first
   node that differs by more than rel_tol (relative to the largest element) with both values. */
LT_API lt_status lt_graph_verify(lt_graph *g, const lt_node *outputs, int n_outputs,
                                 const lt_compile_options *opt, const void *const *inputs, double rel_tol);

/* ---- Functions: compiled on demand for the shapes they are called with ------------------- */
typedef struct lt_tensor {
    lt_dtype dtype;
    lt_shape shape;
    void    *data;
} lt_tensor;

typedef struct lt_function lt_function;
/* Builds the outputs for these inputs; called once for each new combination of shapes and types. */
typedef lt_status (*lt_function_builder)(void *ctx, lt_graph *g, const lt_node *inputs, int n_inputs,
                                         lt_node *outputs, int n_outputs);
typedef struct lt_function_options { /* plain data; start from lt_function_defaults() */
    size_t size;
    const lt_compile_options *compile; /* copied; NULL: lt_compile_defaults() */
    int max_plans;        /* plans kept, least recently used leaves first; 0 = 8 */
    int max_compiles;     /* after this many compilations, run eagerly; 0 = 16 */
} lt_function_options;
LT_API void lt_function_defaults_into(lt_function_options *out);
static inline lt_function_options lt_function_defaults(void) { lt_function_options sized; sized.size = sizeof sized; lt_function_defaults_into(&sized); return sized; }
typedef struct lt_function_stats {
    size_t size;
    int  compiles, hits, evictions;
    bool eager;                /* max_compiles was reached */
    char last_reason[160];     /* why the last compilation happened */
} lt_function_stats;

LT_API lt_status lt_function_create(lt_function_builder build, void *ctx, int n_inputs, int n_outputs,
                                    const lt_function_options *opt, lt_function **out);
LT_API void      lt_function_destroy(lt_function *f);
/* Output shapes must match what the builder made; a mismatch is an error naming both. */
LT_API lt_status lt_function_call(lt_function *f, const lt_tensor *inputs, const lt_tensor *outputs);
LT_API void lt_function_get_stats_into(const lt_function *f, lt_function_stats *out);
static inline lt_function_stats lt_function_get_stats(const lt_function *f) { lt_function_stats sized; sized.size = sizeof sized; lt_function_get_stats_into(f, &sized); return sized; }

#ifdef __cplusplus
}
#endif
#endif
