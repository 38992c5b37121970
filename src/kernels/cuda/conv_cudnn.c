/* Convolutions by cuDNN's backend graph API. SPDX-License-Identifier: BSD-3-Clause

   One plan per problem, chosen by cuDNN's heuristics among the engines that neither round inputs (TF32) nor
   give other bits from run to run. Weights of channels-last problems are turned to cuDNN's own order first. */
#include "kernels/cuda/cudnn_graph.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"
#include "kernels/window.h"

enum { X, W, Y }; /* operands; also cuDNN's unique ids, plus one */

typedef struct convolution {
    lt_kernel base;
    lt_device *dev;
    const lt_cudnn *api;
    lt_cudnn_handle handle;
    lt_cudnn_descriptor plan;
    lt_conv_shape s;
    lt_op     op;
    size_t    workspace_bytes, weight_bytes; /* weight_bytes: of the turned copy, 0 when weights stay as they are */
    size_t    x_bytes, y_bytes, w_bytes;     /* of one of k gradients */
    lt_kernel *turn;                         /* weights to cuDNN's order, or back */
    lt_kernel *plain;                        /* for addresses that are not multiples of 16 bytes */
} convolution;

/* ---- Running -------------------------------------------------------------------------------------- */
static bool aligned(const void *p) { return (uintptr_t)p % LT_CUDNN_ALIGNMENT == 0; }

static lt_status execute(const convolution *c, lt_stream *st, void *x, void *w, void *y, void *workspace)
{
    int64_t id[] = { X + 1, W + 1, Y + 1 };
    void *pointer[] = { x, w, y };
    lt_cudnn_descriptor pack = NULL;
    lt_cuda_libraries_lock(c->dev);
    unsigned r = c->api->cudnnSetStream(c->handle, lt_cuda_handle(st));
    if (!r) r = c->api->cudnnBackendCreateDescriptor(LT_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, LT_CUDNN_TYPE_INT64, 3, id);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, LT_CUDNN_TYPE_VOID_PTR, 3, pointer);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_WORKSPACE, LT_CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (!r) r = c->api->cudnnBackendFinalize(pack);
    if (!r) r = c->api->cudnnBackendExecute(c->handle, c->plan, pack);
    if (pack) (void)c->api->cudnnBackendDestroyDescriptor(pack);
    lt_cuda_libraries_unlock(c->dev);
    return r ? lt_cudnn_failed(c->api, r, "convolution") : LT_OK;
}

static lt_status turn_weights(const convolution *c, lt_stream *st, void *from, void *to)
{
    return c->turn ? lt_stream_launch(st, &(lt_launch){ c->turn, (void *[]){ from, to } }) : LT_OK;
}

static lt_status run_one(const convolution *c, lt_stream *st, void *x, void *w, void *y, char *scratch)
{
    void *turned = c->turn ? scratch : w;
    if (c->op != LT_OP_CONV2D_WGRAD) LT_TRY(turn_weights(c, st, w, turned));
    LT_TRY(execute(c, st, x, turned, y, scratch + c->weight_bytes));
    return c->op == LT_OP_CONV2D_WGRAD ? turn_weights(c, st, turned, w) : LT_OK;
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const convolution *c = (const convolution *)k;
    if (!aligned(arg[0]) || !aligned(arg[1]) || !aligned(arg[2]))
        return lt_stream_launch(st, &(lt_launch){ c->plain, (void **)(uintptr_t)arg });
    char *x = arg[c->op == LT_OP_CONV2D_DGRAD ? 2 : 0], *y = arg[c->op == LT_OP_CONV2D ? 2 : c->op == LT_OP_CONV2D_DGRAD ? 0 : 1];
    char *w = arg[c->op == LT_OP_CONV2D_WGRAD ? 2 : 1], *scratch = (char *)(((uintptr_t)arg[k->n_args] + 255) / 256 * 256);
    for (int64_t i = 0; i < c->s.k; i++)
        LT_TRY(run_one(c, st, x + (c->s.k_in_x ? (size_t)i * c->x_bytes : 0), w + (size_t)i * c->w_bytes,
                       y + (c->s.k_in_y ? (size_t)i * c->y_bytes : 0), scratch));
    return LT_OK;
}

static void destroy(lt_kernel *k)
{
    convolution *c = (convolution *)k;
    if (c->plan) (void)c->api->cudnnBackendDestroyDescriptor(c->plan);
    lt_kernel_destroy(c->turn);
    lt_kernel_destroy(c->plain);
    lt_free(c);
}

/* ---- Making ---------------------------------------------------------------------------------------- */
/* Weights [o, c, kh, kw] as [o, kh, kw, c], or back. */
static lt_status build_turn(convolution *c, lt_dtype t)
{
    int64_t o = c->s.o, cg = c->s.c / c->s.groups, kh = c->s.win.kernel[0], kw = c->s.win.kernel[1];
    bool back = c->op == LT_OP_CONV2D_WGRAD;
    lt_attr attr = { .u.view = back ? (lt_affine){ 0, { kh * kw * cg, 1, kw * cg, cg } } : (lt_affine){ 0, { cg * kh * kw, kw, 1, kh * kw } } };
    lt_shape ours = lt_shape4(o, cg, kh, kw), theirs = lt_shape4(o, kh, kw, cg);
    lt_problem_key p = { .op = LT_OP_VIEW, .n_in = 1, .attr = &attr, .in = { { t, back ? theirs : ours } }, .out = { t, back ? ours : theirs } };
    c->weight_bytes = ((size_t)(o * cg * kh * kw) * lt_dtype_size(t) + 255) / 256 * 256;
    return lt_cuda_view_prepare(c->dev, &p, &c->turn);
}

static lt_status make(convolution *c, const lt_problem_key *p)
{
    const lt_conv_shape *s = &c->s;
    lt_problem_key bare = *p;
    bare.epilogue = NULL;
    size_t element = lt_dtype_size(p->out.dtype);
    int64_t cg = s->c / s->groups, kh = s->win.kernel[0], kw = s->win.kernel[1];
    c->x_bytes = (size_t)(s->n * s->c * s->h * s->w) * element;
    c->y_bytes = (size_t)(s->n * s->o * s->oh * s->ow) * element;
    c->w_bytes = (size_t)(s->o * cg * kh * kw) * element;
    LT_TRY(lt_cuda_dnn(c->dev, &c->api, &c->handle));
    if (s->win.channels_last) LT_TRY(build_turn(c, p->out.dtype));
    LT_TRY(lt_cudnn_plan_convolution(c->api, c->handle, p, s, &c->plan, &c->workspace_bytes));
    c->base.scratch_bytes = c->weight_bytes + c->workspace_bytes + 256;
    return lt_cuda_conv_prepare(c->dev, &bare, &c->plain);
}

/* Several gradients follow each other without gaps: each must begin where cuDNN can. */
static bool gradients_align(const lt_conv_shape *s, size_t element)
{
    int64_t weights = s->o * (s->c / s->groups) * s->win.kernel[0] * s->win.kernel[1];
    return s->k == 1 || ((size_t)(s->n * s->c * s->h * s->w) * element % LT_CUDNN_ALIGNMENT == 0
                         && (size_t)(s->n * s->o * s->oh * s->ow) * element % LT_CUDNN_ALIGNMENT == 0
                         && (size_t)weights * element % LT_CUDNN_ALIGNMENT == 0);
}

bool lt_conv_cudnn_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    if (!lt_key_is_real(p)) return false;
    lt_conv_shape s = lt_conv_shape_of(p);
    return lt_key_is_all(p, t) && (t == LT_F16 || t == LT_BF16 || t == LT_F32 || t == LT_F64)
        && gradients_align(&s, lt_dtype_size(t)) && s.k > 0 && s.n > 0 && s.c > 0 && s.h > 0 && s.w > 0 && s.o > 0 && s.oh > 0 && s.ow > 0;
}

lt_status lt_conv_cudnn_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    convolution *c = lt_calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "no memory for a convolution");
    c->dev = dev;
    c->op = p->op;
    c->s = lt_conv_shape_of(p);
    c->base = (lt_kernel){ .name = "conv2d_cudnn", .enqueue = enqueue, .destroy = destroy, .module = dev->state, .n_args = 3,
                           .flops = lt_conv_flops(&c->s), .bytes = lt_problem_bytes(p) };
    lt_status s = make(c, p);
    if (s) {
        destroy(&c->base);
        return s;
    }
    return lt_epilogue_wrap(dev, p, "conv2d_cudnn+epilogue", &c->base, out);
}
