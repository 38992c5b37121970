/* The list of ops of the graph's IR. What users call (lt_norm, lt_softmax, …) is built from
   these; graph/ops.c holds their rules. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_OP_H
#define LT_KERNELS_OP_H

#include "lathe/base.h"

/* X(enum suffix, "name", number of inputs; -1 = any) */
#define LT_OPS_UNARY(X)                                                                     \
    X(NEG, "neg") X(ABS, "abs") X(SIGN, "sign") X(SQUARE, "square") X(SQRT, "sqrt")         \
    X(CBRT, "cbrt") X(EXP, "exp") X(EXPM1, "expm1") X(LOG, "log") X(LOG1P, "log1p")         \
    X(SIN, "sin") X(COS, "cos") X(TAN, "tan") X(ASIN, "asin") X(ACOS, "acos")               \
    X(ATAN, "atan") X(SINH, "sinh") X(COSH, "cosh") X(TANH, "tanh") X(SIGMOID, "sigmoid")   \
    X(SOFTPLUS, "softplus") X(RELU, "relu") X(GELU, "gelu") X(ERF, "erf")                   \
    X(FLOOR, "floor") X(RECIP, "recip")
#define LT_OPS_BINARY(X)                                                                    \
    X(ADD, "add") X(SUB, "sub") X(MUL, "mul") X(DIV, "div") X(POW, "pow")                   \
    X(ATAN2, "atan2") X(HYPOT, "hypot") X(MIN, "minimum") X(MAX, "maximum")                 \
    X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge") X(EQ, "eq")
#define LT_OPS_TERNARY(X) X(WHERE, "where") X(CLAMP, "clamp")
#define LT_OPS_SOURCE(X) X(INPUT, "input", 0) X(CONST, "const", 0) X(FULL, "full", 0)
#define LT_OPS_OTHER(X)                                                                     \
    X(CAST, "cast", 1)                    /* element type conversion */                     \
    X(RESHAPE, "reshape", 1)              /* same elements in the same order */             \
    X(VIEW, "view", 1)                    /* affine gather: slice, transpose, broadcast, flip, diagonal */ \
    X(PLACE, "place", -1)                 /* sum of affine scatters into zeros: pad, concat, gradient of view */ \
    X(SUM, "sum", 1) X(RMAX, "max", 1) X(RMIN, "min", 1)  /* over attr.axes */               \
    X(ARGMAX, "argmax", 1) X(ARGMIN, "argmin", 1)         /* along attr.axis, first of ties, i64 */ \
    X(CUMSUM, "cumsum", 1)                /* along attr.axis, attr.reverse */               \
    X(TOPK_INDEX, "topk_index", 1)        /* last axis, attr.k largest, descending, i64 */  \
    X(TAKE, "take", 2)                    /* (x, i64 index): along attr.axis, as numpy.take */ \
    X(PUT, "put", 2)                      /* transpose of TAKE: scatter-add into attr.extent */ \
    X(TAKE_ALONG, "take_along", 2)        /* (x [..,P], i64 index [..,Q]) -> [..,Q], last axis */ \
    X(PUT_ALONG, "put_along", 2)          /* transpose: (g [..,Q], index [..,Q]) -> [..,attr.extent] */ \
    X(MATMUL, "matmul", 2)                /* [..,m,k] by [..,k,n]; attr.trans_a, attr.trans_b */ \
    X(EIG, "eig", 1)                      /* [n,n] -> [2,n]: real parts, imaginary parts */  \
    X(EIG_GRAD, "eig_grad", 3)            /* (M [n,n], W [2,n], G [..,2,n]) -> [..,n,n] */   \
    X(EIGH, "eigh", 1)                    /* symmetric [n,n] -> [n*n + n]: V row major, then w ascending */ \
    X(SVD, "svd", 1)                      /* [m,n], r=min -> U [m,r], s [r] descending, Vt [r,n], packed flat */ \
    X(CHOLESKY, "cholesky", 1)            /* lower factor, zeros above the diagonal */       \
    X(SOLVE, "solve", 2)                  /* (A [n,n], B [..,n,m]); attr.trans_a solves A' X = B */ \
    X(INV, "inv", 1) X(DET, "det", 1) X(LOGDET, "logdet", 1) /* logdet: log|det|, a scalar */ \
    X(CONV2D, "conv2d", 2)                /* (x, w [o,c/groups,kh,kw]); attr.conv */          \
    X(CONV2D_DGRAD, "conv2d_dgrad", 2)    /* (gy, w) -> shape of x (attr.conv.size) */       \
    X(CONV2D_WGRAD, "conv2d_wgrad", 2)    /* (x [n,..] or [k,n,..], gy [n,..] or [k,n,..]) -> w or [k, w] */ \
    X(MAXPOOL_INDEX, "maxpool_index", 1)  /* [..,h,w] -> i64 flat index into h*w, first of ties */ \
    X(AVGPOOL, "avgpool2d", 1)            /* [..,h,w] mean over windows, padding counted */   \
    X(AVGPOOL_GRAD, "avgpool2d_grad", 1)  /* its transpose: (gy) -> attr.conv.size */         \
    X(RFFT2, "rfft2", 1)                  /* [..,h,w] -> [..,h,w/2+1,2], unnormalised */      \
    X(IRFFT2, "irfft2", 1)                /* [..,h,w/2+1,2] -> [..,h,attr.extent], unnormalised */

typedef enum lt_op {
#define X(id, name) LT_OP_##id,
    LT_OPS_UNARY(X) LT_OPS_BINARY(X) LT_OPS_TERNARY(X)
#undef X
#define X(id, name, n) LT_OP_##id,
    LT_OPS_SOURCE(X) LT_OPS_OTHER(X)
#undef X
    LT_OP_COUNT
} lt_op;

static inline bool lt_op_is_unary(lt_op op) { return op <= LT_OP_RECIP; }
static inline bool lt_op_is_binary(lt_op op) { return op >= LT_OP_ADD && op <= LT_OP_EQ; }
static inline bool lt_op_is_elementwise(lt_op op) { return op <= LT_OP_CLAMP; }
static inline bool lt_op_is_reduce(lt_op op) { return op == LT_OP_SUM || op == LT_OP_RMAX || op == LT_OP_RMIN; }
const char *lt_op_name(lt_op op);          /* "?" when out of range */
int         lt_op_arity(lt_op op);         /* -1 = any number */

/* Where the elements of an affine view lie: element (i0, i1, …) of the viewed shape is
   element offset + i0*stride[0] + i1*stride[1] + … of the dense, row-major base. */
typedef struct lt_affine {
    int64_t offset;
    int64_t stride[LT_MAX_RANK];
} lt_affine;

/* Windows of convolution and pooling. Layout: x is [n,c,h,w], or [n,h,w,c] with
   channels_last; weights are always [o,c/groups,kh,kw]. Padding is with zeros
   (convolution, average) or minus infinity (maximum). */
typedef struct lt_window {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    int64_t size[2];      /* spatial size of x: needed by the transposes */
    int64_t groups;
    bool    channels_last;
} lt_window;

/* Attributes of a node; each op reads the members named beside it above. */
typedef struct lt_attr {
    union {
        double     value;                  /* FULL */
        const void *data;                  /* CONST: dense, borrowed from the graph */
        lt_affine  view;                   /* VIEW */
        const lt_affine *place;            /* PLACE: one per input, on the output's elements */
        lt_window  conv;                   /* CONV2D…, pooling */
        struct { uint32_t axes; } reduce;  /* SUM RMAX RMIN: bit i = axis i of the input */
        struct { bool a, b; } trans;       /* MATMUL; SOLVE uses a */
        struct { int32_t input; } input;   /* INPUT: number in order of creation */
        struct {
            int32_t axis;                  /* ARGMAX ARGMIN CUMSUM TAKE PUT */
            bool    reverse;               /* CUMSUM */
            int64_t k;                     /* TOPK_INDEX */
            int64_t extent;                /* PUT PUT_ALONG IRFFT2 */
        } index;
    } u;
} lt_attr;

#endif
