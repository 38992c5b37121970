/* Plans of cuDNN's backend graph API. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/cudnn_graph.h"

#include "base/status.h"

enum { MAX_CONFIGS = 16, MAX_NOTES = 16, MAX_DESCRIPTORS = 9 + MAX_CONFIGS };

/* Descriptors made on the way; all but the plan are given back at the end. */
typedef struct maker {
    const lt_cudnn *api;
    lt_cudnn_descriptor made[MAX_DESCRIPTORS];
    int n_made;
} maker;

lt_status lt_cudnn_failed(const lt_cudnn *api, unsigned result, const char *what)
{
    char detail[200] = "";
    api->cudnnGetLastErrorString(detail, sizeof detail);
    return LT_FAIL(result >= 3000 && result < 4000 ? LT_ERR_UNSUPPORTED : LT_ERR_DEVICE, "cuDNN: %s: %s%s%s", what, api->cudnnGetErrorString(result),
                   detail[0] ? "; " : "", detail);
}
#define LT_TRY_DNN(what, call) do { unsigned r_ = (call); if (r_) return lt_cudnn_failed(m->api, r_, what); } while (0)

static lt_status create(maker *m, unsigned type, lt_cudnn_descriptor *out)
{
    if (m->n_made == MAX_DESCRIPTORS) return LT_FAIL(LT_ERR_INTERNAL, "cuDNN: more than %d descriptors", MAX_DESCRIPTORS);
    LT_TRY_DNN("descriptor", m->api->cudnnBackendCreateDescriptor(type, out));
    m->made[m->n_made++] = *out;
    return LT_OK;
}

static lt_status set(maker *m, lt_cudnn_descriptor d, unsigned name, unsigned type, int64_t n, const void *value)
{
    LT_TRY_DNN("attribute", m->api->cudnnBackendSetAttribute(d, name, type, n, value));
    return LT_OK;
}

static lt_status finalize(maker *m, lt_cudnn_descriptor d, const char *what)
{
    LT_TRY_DNN(what, m->api->cudnnBackendFinalize(d));
    return LT_OK;
}

/* ---- The operation --------------------------------------------------------------------------------- */
static unsigned data_type(lt_dtype t)
{
    return t == LT_F64 ? LT_CUDNN_DATA_DOUBLE : t == LT_F32 ? LT_CUDNN_DATA_FLOAT : t == LT_F16 ? LT_CUDNN_DATA_HALF : LT_CUDNN_DATA_BFLOAT16;
}

static lt_status make_tensor(maker *m, int64_t id, lt_dtype t, const int64_t dim[4], const int64_t stride[4], lt_cudnn_descriptor *out)
{
    unsigned type = data_type(t);
    int64_t alignment = LT_CUDNN_ALIGNMENT;
    LT_TRY(create(m, LT_CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_TENSOR_DATA_TYPE, LT_CUDNN_TYPE_DATA_TYPE, 1, &type));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_TENSOR_DIMENSIONS, LT_CUDNN_TYPE_INT64, 4, dim));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_TENSOR_STRIDES, LT_CUDNN_TYPE_INT64, 4, stride));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_TENSOR_UNIQUE_ID, LT_CUDNN_TYPE_INT64, 1, &id));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, LT_CUDNN_TYPE_INT64, 1, &alignment));
    return finalize(m, *out, "tensor");
}

static lt_status make_window(maker *m, lt_dtype t, const lt_window *w, lt_cudnn_descriptor *out)
{
    unsigned compute = t == LT_F64 ? LT_CUDNN_DATA_DOUBLE : LT_CUDNN_DATA_FLOAT, mode = LT_CUDNN_CROSS_CORRELATION;
    int64_t dims = 2;
    LT_TRY(create(m, LT_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_COMP_TYPE, LT_CUDNN_TYPE_DATA_TYPE, 1, &compute));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_CONV_MODE, LT_CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, LT_CUDNN_TYPE_INT64, 1, &dims));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, LT_CUDNN_TYPE_INT64, 2, w->pad));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, LT_CUDNN_TYPE_INT64, 2, w->pad));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_DILATIONS, LT_CUDNN_TYPE_INT64, 2, w->dilation));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, LT_CUDNN_TYPE_INT64, 2, w->stride));
    return finalize(m, *out, "window");
}

/* The three operations number their attributes alike: alpha, beta, window, w, x, y from a first one on. */
static lt_status make_operation(maker *m, lt_op op, lt_dtype t, lt_cudnn_descriptor window, lt_cudnn_descriptor x, lt_cudnn_descriptor w,
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
    LT_TRY(create(m, type, out));
    LT_TRY(set(m, *out, first, scale, 1, wide ? (const void *)&one : &one32));
    LT_TRY(set(m, *out, first + 1, scale, 1, wide ? (const void *)&zero : &zero32));
    for (unsigned i = 0; i < 4; i++) LT_TRY(set(m, *out, first + 2 + i, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operand[i]));
    return finalize(m, *out, "operation");
}

static lt_status make_graph(maker *m, lt_cudnn_handle handle, const lt_problem_key *p, const lt_conv_shape *s, lt_cudnn_descriptor *out)
{
    lt_dtype t = p->out.dtype;
    int64_t cg = s->c / s->groups, kh = s->win.kernel[0], kw = s->win.kernel[1];
    bool last = s->win.channels_last;
    const int64_t x_dim[] = { s->n, s->c, s->h, s->w }, y_dim[] = { s->n, s->o, s->oh, s->ow }, w_dim[] = { s->o, cg, kh, kw };
    const int64_t w_step[] = { cg * kh * kw, last ? 1 : kh * kw, last ? kw * cg : kw, last ? cg : 1 };
    lt_cudnn_descriptor x, w, y, window, operation;
    LT_TRY(make_tensor(m, 1, t, x_dim, s->xs, &x));
    LT_TRY(make_tensor(m, 2, t, w_dim, w_step, &w));
    LT_TRY(make_tensor(m, 3, t, y_dim, s->ys, &y));
    LT_TRY(make_window(m, t, &s->win, &window));
    LT_TRY(make_operation(m, p->op, t, window, x, w, y, &operation));
    LT_TRY(create(m, LT_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_OPERATIONGRAPH_OPS, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation));
    LT_TRY(set(m, *out, LT_CUDNN_ATTR_OPERATIONGRAPH_HANDLE, LT_CUDNN_TYPE_HANDLE, 1, &handle));
    return finalize(m, *out, "operation graph");
}

/* ---- The engine ------------------------------------------------------------------------------------ */
/* Everything but plain arithmetic is refused: engines that round f32 inputs (which is all tensor cores can do
   with f32), add up in less than f32, go through Winograd's or Fourier's transform, or change bits from run to run. */
static bool is_refused(int note, lt_dtype t)
{
    return note != LT_CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP && (t == LT_F32 || note != LT_CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

static bool is_welcome(const maker *m, lt_cudnn_descriptor config, lt_dtype t)
{
    lt_cudnn_descriptor engine = NULL;
    int note[MAX_NOTES];
    int64_t n = 0;
    if (m->api->cudnnBackendCreateDescriptor(LT_CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine)) return false;
    unsigned r = m->api->cudnnBackendGetAttribute(config, LT_CUDNN_ATTR_ENGINECFG_ENGINE, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine);
    if (!r) r = m->api->cudnnBackendGetAttribute(engine, LT_CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, LT_CUDNN_TYPE_NUMERICAL_NOTE, MAX_NOTES, &n, note);
    bool welcome = !r;
    for (int64_t i = 0; welcome && i < n && i < MAX_NOTES; i++) welcome = !is_refused(note[i], t);
    (void)m->api->cudnnBackendDestroyDescriptor(engine);
    return welcome;
}

/* A plan of this configuration; false when it cannot run the problem. */
static bool try_plan(const maker *m, lt_cudnn_handle handle, lt_cudnn_descriptor config, lt_cudnn_descriptor *plan, size_t *workspace_bytes)
{
    int64_t n = 0, bytes = 0;
    if (m->api->cudnnBackendCreateDescriptor(LT_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, plan)) return false;
    unsigned r = m->api->cudnnBackendSetAttribute(*plan, LT_CUDNN_ATTR_EXECUTION_PLAN_HANDLE, LT_CUDNN_TYPE_HANDLE, 1, &handle);
    if (!r) r = m->api->cudnnBackendSetAttribute(*plan, LT_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    if (!r) r = m->api->cudnnBackendFinalize(*plan);
    if (!r) r = m->api->cudnnBackendGetAttribute(*plan, LT_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, LT_CUDNN_TYPE_INT64, 1, &n, &bytes);
    *workspace_bytes = (size_t)bytes;
    if (!r) return true;
    (void)m->api->cudnnBackendDestroyDescriptor(*plan);
    *plan = NULL;
    return false;
}

/* The first welcome configuration of one heuristic that gives a plan. */
static lt_status search(maker *m, lt_cudnn_handle handle, lt_cudnn_descriptor graph, unsigned mode, lt_dtype t, lt_cudnn_descriptor *plan,
                        size_t *workspace_bytes)
{
    lt_cudnn_descriptor heuristic, config[MAX_CONFIGS];
    int64_t n = 0;
    int first = m->n_made;
    LT_TRY(create(m, LT_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic));
    LT_TRY(set(m, heuristic, LT_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph));
    LT_TRY(set(m, heuristic, LT_CUDNN_ATTR_ENGINEHEUR_MODE, LT_CUDNN_TYPE_HEUR_MODE, 1, &mode));
    LT_TRY(finalize(m, heuristic, "heuristic"));
    for (int i = 0; i < MAX_CONFIGS; i++) LT_TRY(create(m, LT_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
    LT_TRY_DNN("heuristic", m->api->cudnnBackendGetAttribute(heuristic, LT_CUDNN_ATTR_ENGINEHEUR_RESULTS, LT_CUDNN_TYPE_BACKEND_DESCRIPTOR, MAX_CONFIGS, &n, config));
    for (int64_t i = 0; i < n && i < MAX_CONFIGS && !*plan; i++)
        if (is_welcome(m, config[i], t)) (void)try_plan(m, handle, config[i], plan, workspace_bytes);
    while (m->n_made > first) (void)m->api->cudnnBackendDestroyDescriptor(m->made[--m->n_made]);
    return LT_OK;
}

static lt_status make_plan(maker *m, lt_cudnn_handle handle, const lt_problem_key *p, const lt_conv_shape *s, lt_cudnn_descriptor *plan, size_t *workspace_bytes)
{
    lt_cudnn_descriptor graph;
    LT_TRY(make_graph(m, handle, p, s, &graph));
    LT_TRY(search(m, handle, graph, LT_CUDNN_HEUR_MODE_A, p->out.dtype, plan, workspace_bytes));
    if (!*plan) LT_TRY(search(m, handle, graph, LT_CUDNN_HEUR_MODE_FALLBACK, p->out.dtype, plan, workspace_bytes));
    return *plan ? LT_OK : LT_FAIL(LT_ERR_UNSUPPORTED, "cuDNN: no engine for %s of %s%s", lt_op_name(p->op), lt_dtype_name(p->out.dtype), lt_shape_str(&p->out.shape).s);
}

lt_status lt_cudnn_plan_convolution(const lt_cudnn *api, lt_cudnn_handle handle, const lt_problem_key *p, const lt_conv_shape *s,
                                    lt_cudnn_descriptor *plan, size_t *workspace_bytes)
{
    maker m = { .api = api };
    *plan = NULL;
    lt_status status = make_plan(&m, handle, p, s, plan, workspace_bytes);
    while (m.n_made > 0) (void)api->cudnnBackendDestroyDescriptor(m.made[--m.n_made]);
    return status;
}
