/* Convolutions, and what follows them, as operation graphs of cuDNN. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/conv/cudnn_graph.h"

#include "base/status.h"

lt_status lt_cudnn_failed(const lt_cudnn *api, unsigned result, const char *what)
{
    char detail[200] = "";
    api->cudnnGetLastErrorString(detail, sizeof detail);
    return LT_FAIL(result >= 3000 && result < 4000 ? LT_ERR_UNSUPPORTED : LT_ERR_DEVICE, "cuDNN: %s: %s%s%s", what, api->cudnnGetErrorString(result),
                   detail[0] ? "; " : "", detail);
}
#define LT_TRY_DNN(what, call) do { unsigned r_ = (call); if (r_) return lt_cudnn_failed(m->api, r_, what); } while (0)

lt_status lt_cudnn_create(lt_cudnn_maker *m, unsigned type, lt_cudnn_descriptor *out)
{
    if (m->n_made == LT_CUDNN_MAX_DESCRIPTORS) return LT_FAIL(LT_ERR_INTERNAL, "cuDNN: more than %d descriptors", LT_CUDNN_MAX_DESCRIPTORS);
    LT_TRY_DNN("descriptor", m->api->cudnnBackendCreateDescriptor(type, out));
    m->made[m->n_made++] = *out;
    return LT_OK;
}

lt_status lt_cudnn_set(const lt_cudnn_maker *m, lt_cudnn_descriptor d, unsigned name, unsigned type, int64_t n, const void *value)
{
    LT_TRY_DNN("attribute", m->api->cudnnBackendSetAttribute(d, name, type, n, value));
    return LT_OK;
}

lt_status lt_cudnn_finalize(const lt_cudnn_maker *m, lt_cudnn_descriptor d, const char *what)
{
    LT_TRY_DNN(what, m->api->cudnnBackendFinalize(d));
    return LT_OK;
}

void lt_cudnn_drop(lt_cudnn_maker *m, int first)
{
    while (m->n_made > first) (void)m->api->cudnnBackendDestroyDescriptor(m->made[--m->n_made]);
}

/* ---- Tensors --------------------------------------------------------------------------------------- */
static unsigned data_type(lt_dtype t)
{
    return t == LT_F64 ? LT_CUDNN_DATA_DOUBLE : t == LT_F32 ? LT_CUDNN_DATA_FLOAT : t == LT_F16 ? LT_CUDNN_DATA_HALF : LT_CUDNN_DATA_BFLOAT16;
}

/* id 0: a value between two operations, which has no memory. */
static lt_status make_tensor(lt_cudnn_maker *m, int64_t id, lt_dtype t, const int64_t dim[4], const int64_t stride[4], lt_cudnn_descriptor *out)
{
    unsigned type = data_type(t);
    int64_t alignment = LT_CUDNN_ALIGNMENT, name = id ? id : 100 + m->n_made;
    bool is_virtual = !id;
    LT_TRY(lt_cudnn_create(m, LT_CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_DATA_TYPE, LT_CUDNN_TYPE_DATA_TYPE, 1, &type));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_DIMENSIONS, LT_CUDNN_TYPE_INT64, 4, dim));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_STRIDES, LT_CUDNN_TYPE_INT64, 4, stride));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_UNIQUE_ID, LT_CUDNN_TYPE_INT64, 1, &name));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, LT_CUDNN_TYPE_INT64, 1, &alignment));
    if (is_virtual) LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_TENSOR_IS_VIRTUAL, LT_CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    return lt_cudnn_finalize(m, *out, "tensor");
}

/* ---- The convolution -------------------------------------------------------------------------------- */
static lt_status make_window(lt_cudnn_maker *m, lt_dtype t, const lt_window *w, lt_cudnn_descriptor *out)
{
    unsigned compute = t == LT_F64 ? LT_CUDNN_DATA_DOUBLE : LT_CUDNN_DATA_FLOAT, mode = LT_CUDNN_CROSS_CORRELATION;
    int64_t dims = 2;
    LT_TRY(lt_cudnn_create(m, LT_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_COMP_TYPE, LT_CUDNN_TYPE_DATA_TYPE, 1, &compute));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_CONV_MODE, LT_CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, LT_CUDNN_TYPE_INT64, 1, &dims));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, LT_CUDNN_TYPE_INT64, 2, w->pad));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, LT_CUDNN_TYPE_INT64, 2, w->pad));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_DILATIONS, LT_CUDNN_TYPE_INT64, 2, w->dilation));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, LT_CUDNN_TYPE_INT64, 2, w->stride));
    return lt_cudnn_finalize(m, *out, "window");
}

/* The three operations number their attributes alike: alpha, beta, window, w, x, y from a first one on. */
static lt_status make_convolution(lt_cudnn_maker *m, lt_op op, lt_dtype t, lt_cudnn_descriptor window, lt_cudnn_descriptor x, lt_cudnn_descriptor w,
                                  lt_cudnn_descriptor y, lt_cudnn_descriptor *out)
{
    unsigned type = op == LT_OP_CONV2D ? LT_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                  : op == LT_OP_CONV2D_DGRAD ? LT_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                                             : LT_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    unsigned first = op == LT_OP_CONV2D ? LT_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA
                   : op == LT_OP_CONV2D_DGRAD ? LT_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA
                                              : LT_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA;
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    bool wide = t == LT_F64;
    unsigned scale = wide ? LT_CUDNN_TYPE_DOUBLE : LT_CUDNN_TYPE_FLOAT;
    lt_cudnn_descriptor operand[] = { window, w, x, y };
    LT_TRY(lt_cudnn_create(m, type, out));
    LT_TRY(lt_cudnn_set(m, *out, first, scale, 1, wide ? (const void *)&one : &one32));
    LT_TRY(lt_cudnn_set(m, *out, first + 1, scale, 1, wide ? (const void *)&zero : &zero32));
    for (unsigned i = 0; i < 4; i++) LT_TRY(lt_cudnn_set(m, *out, first + 2 + i, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operand[i]));
    return lt_cudnn_finalize(m, *out, "convolution");
}

/* ---- What follows ----------------------------------------------------------------------------------- */
static unsigned pointwise_mode(lt_op op)
{
    return op == LT_OP_ADD ? LT_CUDNN_POINTWISE_ADD : op == LT_OP_MUL ? LT_CUDNN_POINTWISE_MUL
         : op == LT_OP_RELU ? LT_CUDNN_POINTWISE_RELU_FWD : LT_CUDNN_POINTWISE_GELU_FWD;
}

static lt_status make_step(lt_cudnn_maker *m, lt_op op, lt_cudnn_descriptor x, lt_cudnn_descriptor operand, lt_cudnn_descriptor y, lt_cudnn_descriptor *out)
{
    unsigned mode = pointwise_mode(op), type = LT_CUDNN_DATA_FLOAT, propagate = LT_CUDNN_PROPAGATE_NAN;
    lt_cudnn_descriptor how;
    LT_TRY(lt_cudnn_create(m, LT_CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &how));
    LT_TRY(lt_cudnn_set(m, how, LT_CUDNN_ATTR_POINTWISE_MODE, LT_CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    LT_TRY(lt_cudnn_set(m, how, LT_CUDNN_ATTR_POINTWISE_MATH_PREC, LT_CUDNN_TYPE_DATA_TYPE, 1, &type));
    if (op == LT_OP_RELU) LT_TRY(lt_cudnn_set(m, how, LT_CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, LT_CUDNN_TYPE_NAN_PROPOGATION, 1, &propagate));
    LT_TRY(lt_cudnn_finalize(m, how, "pointwise"));
    LT_TRY(lt_cudnn_create(m, LT_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, out));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_OPERATION_POINTWISE_XDESC, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x));
    if (operand) LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_OPERATION_POINTWISE_BDESC, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operand));
    LT_TRY(lt_cudnn_set(m, *out, LT_CUDNN_ATTR_OPERATION_POINTWISE_YDESC, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y));
    return lt_cudnn_finalize(m, *out, "elementwise operation");
}

/* Values between the steps are f32, whatever the tensors are. */
static lt_status make_chain(lt_cudnn_maker *m, const lt_cudnn_problem *p, lt_cudnn_descriptor raw, lt_cudnn_descriptor y, lt_cudnn_descriptor *operation)
{
    const lt_conv_sizes *s = p->shape;
    const lt_epilogue_chain *chain = p->chain;
    lt_dtype t = p->key->out.dtype;
    const int64_t dim[] = { s->n, s->o, s->oh, s->ow }, one[] = { 1, s->o, 1, 1 };
    const int64_t step = s->win.channels_last ? s->o : 1, vector[] = { s->o, 1, step, step };
    for (int i = 0; i < chain->n_steps; i++) {
        const lt_epilogue_step *e = &chain->step[i];
        lt_cudnn_descriptor operand = NULL, result = y;
        if (e->arg >= 0) LT_TRY(make_tensor(m, LT_CUDNN_ID_OPERAND + i, t, e->whole ? dim : one, e->whole ? s->ys : vector, &operand));
        if (i + 1 < chain->n_steps) LT_TRY(make_tensor(m, 0, LT_F32, dim, s->ys, &result));
        LT_TRY(make_step(m, e->op, raw, operand, result, &operation[i]));
        raw = result;
    }
    return LT_OK;
}

lt_status lt_cudnn_describe(lt_cudnn_maker *m, lt_cudnn_handle handle, const lt_cudnn_problem *p, lt_cudnn_descriptor *graph)
{
    const lt_conv_sizes *s = p->shape;
    lt_dtype t = p->key->out.dtype;
    int64_t cg = s->c / s->groups, kh = s->win.kernel[0], kw = s->win.kernel[1];
    bool last = s->win.channels_last;
    const int64_t x_dim[] = { s->n, s->c, s->h, s->w }, y_dim[] = { s->n, s->o, s->oh, s->ow }, w_dim[] = { s->o, cg, kh, kw };
    const int64_t w_step[] = { cg * kh * kw, last ? 1 : kh * kw, last ? kw * cg : kw, last ? cg : 1 };
    lt_cudnn_descriptor x, w, y, raw, window, operation[1 + LT_EPILOGUE_STEPS];
    int n_operations = 1 + (p->chain ? p->chain->n_steps : 0);
    LT_TRY(make_tensor(m, LT_CUDNN_ID_X, t, x_dim, s->xs, &x));
    LT_TRY(make_tensor(m, LT_CUDNN_ID_W, t, w_dim, w_step, &w));
    LT_TRY(make_tensor(m, LT_CUDNN_ID_Y, t, y_dim, s->ys, &y));
    raw = y;
    if (p->chain) LT_TRY(make_tensor(m, 0, LT_F32, y_dim, s->ys, &raw));
    LT_TRY(make_window(m, t, &s->win, &window));
    LT_TRY(make_convolution(m, p->key->op, t, window, x, w, raw, &operation[0]));
    if (p->chain) LT_TRY(make_chain(m, p, raw, y, operation + 1));
    LT_TRY(lt_cudnn_create(m, LT_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, graph));
    LT_TRY(lt_cudnn_set(m, *graph, LT_CUDNN_ATTR_OPERATIONGRAPH_OPS, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, n_operations, operation));
    LT_TRY(lt_cudnn_set(m, *graph, LT_CUDNN_ATTR_OPERATIONGRAPH_HANDLE, LT_CUDNN_TYPE_HANDLE, 1, &handle));
    return lt_cudnn_finalize(m, *graph, "operation graph");
}
