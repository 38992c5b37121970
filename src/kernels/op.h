/* The ops of the graph's IR: ops.def has their rows. What users call (lt_norm, lt_softmax, …) is built from these.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_OP_H
#define LT_KERNELS_OP_H

#include "lathe/base.h"

/* Elementwise ops come first: loops over them end at LT_N_ELEMENTWISE. */
typedef enum lt_op {
#define LT_ELEMENTWISE(ID, name, n) LT_OP_##ID,
#include "kernels/ops.def"
    LT_N_ELEMENTWISE,
    LT_OP_BEFORE_OTHERS = LT_N_ELEMENTWISE - 1,
#define LT_SOURCE(ID, name, doc) LT_OP_##ID,
#define LT_OTHER(ID, ...) LT_OP_##ID,
#include "kernels/ops.def"
    LT_OP_COUNT
} lt_op;

/* What an elementwise op does with integers, and whether it has a slope: see ops.def. */
typedef enum lt_op_kind { LT_KIND_REAL, LT_KIND_WHOLE, LT_KIND_PICK, LT_KIND_STEP } lt_op_kind;

static inline bool lt_op_is_elementwise(lt_op op) { return op < LT_N_ELEMENTWISE; }
static inline bool lt_op_is_reduce(lt_op op) { return op == LT_OP_SUM || op == LT_OP_RMAX || op == LT_OP_RMIN; }
const char *lt_op_name(lt_op op);          /* "?" when out of range */
int         lt_op_arity(lt_op op);         /* -1 = any number */
/* Of elementwise ops; REAL and 0 for others. */
lt_op_kind  lt_op_kind_of(lt_op op);
double      lt_op_flops(lt_op op);         /* of one element, roughly */
/* Takes long enough to hide memory's latency behind: no single instruction computes it. */
static inline bool lt_op_is_slow(lt_op op) { return lt_op_flops(op) >= 8; }

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
    bool    tf32;         /* operands are numbers of TF32: tensor cores may multiply them */
} lt_window;

/* Attributes of a node; each op reads the members named in its row. */
typedef struct lt_attr {
    union {
        double     value;                  /* FULL */
        const void *data;                  /* CONST: dense, borrowed from the graph */
        lt_affine  view;                   /* VIEW */
        const lt_affine *place;            /* PLACE: one per input, on the output's elements */
        lt_window  conv;                   /* CONV2D…, pooling */
        struct { uint32_t axes; } reduce;  /* SUM RMAX RMIN: bit i = axis i of the input; NORM: of its second */
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
