/* Convolutions by cuDNN's backend graph API, with what follows them in the same kernel where an engine does that.
   SPDX-License-Identifier: BSD-3-Clause

   One plan per problem, chosen by cuDNN's heuristics, or by name, among the engines that neither round inputs (TF32)
   nor give other bits from run to run (decision 51). Weights of channels-last problems are turned to cuDNN's own order first: once
   where they stay the same (queue_pack). */
#include "kernels/cuda/conv/cudnn_graph.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include <string.h>

#define FUSED "fused " /* names of variants that compute the epilogue begin with it */

typedef struct cudnn_convolution {
    lt_kernel base;
    lt_device *dev;
    const lt_cudnn *api;
    lt_cudnn_descriptor plan;
    pthread_mutex_t use;                     /* of the plan: not every engine's bears two threads */
    lt_conv_sizes s;
    lt_op     op;
    bool      fused;
    lt_epilogue_chain chain;                 /* with `fused` */
    size_t    workspace_bytes, weight_bytes; /* weight_bytes: of the turned copy, 0 when weights stay as they are */
    size_t    x_bytes, y_bytes, w_bytes;     /* of one of k gradients */
    lt_kernel *turn;                         /* weights to cuDNN's order, or back */
    lt_kernel *plain;                        /* for addresses that are not multiples of 16 bytes */
} cudnn_convolution;

/* ---- Running -------------------------------------------------------------------------------------- */
static bool aligned(const void *p) { return (uintptr_t)p % LT_CUDNN_ALIGNMENT == 0; }

typedef struct tensors { int64_t id[LT_CUDNN_IDS]; void *at[LT_CUDNN_IDS]; int n; } tensors;

static void add_tensor(tensors *t, int64_t id, void *at)
{
    t->id[t->n] = id;
    t->at[t->n++] = at;
}

static unsigned call(const cudnn_convolution *c, lt_cudnn_handle handle, const tensors *t, void *workspace)
{
    lt_cudnn_descriptor pack = NULL;
    unsigned r = c->api->cudnnBackendCreateDescriptor(LT_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, LT_CUDNN_TYPE_INT64, t->n, t->id);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, LT_CUDNN_TYPE_VOID_PTR, t->n, t->at);
    if (!r) r = c->api->cudnnBackendSetAttribute(pack, LT_CUDNN_ATTR_VARIANT_PACK_WORKSPACE, LT_CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (!r) r = c->api->cudnnBackendFinalize(pack);
    if (!r) r = c->api->cudnnBackendExecute(handle, c->plan, pack);
    if (pack) (void)c->api->cudnnBackendDestroyDescriptor(pack);
    return r;
}

/* By the stream's own handle: a plan runs with any handle of the device it was made for. */
static lt_status execute(const cudnn_convolution *c, lt_stream *st, const tensors *t, void *workspace)
{
    pthread_mutex_t *use = (pthread_mutex_t *)(uintptr_t)&c->use; /* what is locked is not part of what const promises */
    const lt_library_handle *h;
    LT_TRY(lt_cuda_stream_lock(st, LT_LIBRARY_DNN, &h));
    pthread_mutex_lock(use);
    unsigned r = call(c, h->dnn, t, workspace);
    lt_status s = r ? lt_cudnn_failed(c->api, r, "convolution") : LT_OK; /* here: the library's text is that of its last failure */
    pthread_mutex_unlock(use);
    lt_cuda_stream_unlock(st);
    return s;
}

static lt_status turn_weights(const cudnn_convolution *c, lt_stream *st, const void *from, void *to)
{
    return lt_stream_launch(st, &(lt_launch){ c->turn, (void *[]){ (void *)(uintptr_t)from, to } });
}

static lt_status queue_pack(const lt_kernel *k, lt_stream *st, const void *operand, void *packed)
{
    return turn_weights((const cudnn_convolution *)k, st, operand, packed);
}

static lt_status run_one(const cudnn_convolution *c, lt_stream *st, char *x, char *w, char *y, void *const *arg, char *scratch)
{
    bool makes_weights = c->op == LT_OP_CONV2D_WGRAD, packed = c->base.packed && !makes_weights;
    char *turned = packed ? c->base.packed : c->turn ? scratch : w;
    tensors t = { .n = 0 };
    add_tensor(&t, LT_CUDNN_ID_X, x);
    add_tensor(&t, LT_CUDNN_ID_W, turned);
    add_tensor(&t, LT_CUDNN_ID_Y, y);
    for (int i = 0; i < c->chain.n_steps; i++)
        if (c->chain.step[i].arg >= 0) add_tensor(&t, LT_CUDNN_ID_OPERAND + i, arg[c->chain.step[i].arg]);
    if (c->turn && !makes_weights && !packed) LT_TRY(turn_weights(c, st, w, turned));
    LT_TRY(execute(c, st, &t, scratch + c->weight_bytes));
    return c->turn && makes_weights ? turn_weights(c, st, turned, w) : LT_OK;
}

static bool all_aligned(const cudnn_convolution *c, void *const *arg)
{
    bool good = aligned(arg[0]) && aligned(arg[1]) && aligned(arg[c->fused ? c->chain.result : 2]);
    for (int i = 0; i < c->chain.n_steps; i++) good = good && (c->chain.step[i].arg < 0 || aligned(arg[c->chain.step[i].arg]));
    return good;
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const cudnn_convolution *c = (const cudnn_convolution *)k;
    if (!all_aligned(c, arg)) return lt_stream_launch(st, &(lt_launch){ c->plain, (void **)(uintptr_t)arg });
    int out = c->fused ? c->chain.result : 2;
    char *x = arg[c->op == LT_OP_CONV2D_DGRAD ? 2 : 0], *y = arg[c->op == LT_OP_CONV2D ? out : c->op == LT_OP_CONV2D_DGRAD ? 0 : 1];
    char *w = arg[c->op == LT_OP_CONV2D_WGRAD ? 2 : 1], *scratch = (char *)(((uintptr_t)arg[k->n_args] + 255) / 256 * 256);
    for (int64_t i = 0; i < c->s.k; i++)
        LT_TRY(run_one(c, st, x + (c->s.k_in_x ? (size_t)i * c->x_bytes : 0), w + (size_t)i * c->w_bytes,
                       y + (c->s.k_in_y ? (size_t)i * c->y_bytes : 0), arg, scratch));
    return LT_OK;
}

static void destroy(lt_kernel *k)
{
    cudnn_convolution *c = (cudnn_convolution *)k;
    if (c->plan) (void)c->api->cudnnBackendDestroyDescriptor(c->plan);
    lt_kernel_destroy(c->turn);
    lt_kernel_destroy(c->plain);
    pthread_mutex_destroy(&c->use);
    lt_free(c);
}

/* ---- Making ---------------------------------------------------------------------------------------- */
/* Weights [o, c, kh, kw] as [o, kh, kw, c], or back. */
static lt_status build_turn(cudnn_convolution *c, lt_dtype t)
{
    int64_t o = c->s.o, cg = c->s.c / c->s.groups, kh = c->s.win.kernel[0], kw = c->s.win.kernel[1];
    bool back = c->op == LT_OP_CONV2D_WGRAD;
    lt_attr attr = { .u.view = back ? (lt_affine){ 0, { kh * kw * cg, 1, kw * cg, cg } } : (lt_affine){ 0, { cg * kh * kw, kw, 1, kh * kw } } };
    lt_shape ours = lt_shape4(o, cg, kh, kw), theirs = lt_shape4(o, kh, kw, cg);
    lt_problem_key p = { .op = LT_OP_VIEW, .n_in = 1, .attr = &attr, .in = { { t, back ? theirs : ours } }, .out = { t, back ? ours : theirs } };
    c->weight_bytes = ((size_t)(o * cg * kh * kw) * lt_dtype_size(t) + 255) / 256 * 256;
    if (!back && c->s.k == 1) {
        c->base.queue_pack = queue_pack;
        c->base.pack_arg = 1;
        c->base.packed_bytes = c->weight_bytes;
    }
    return lt_cuda_view_prepare(c->dev, &p, &c->turn);
}

static lt_status make_plan(cudnn_convolution *c, const lt_cudnn_problem *problem, const char *config)
{
    lt_library_handle *h;
    LT_TRY(lt_cuda_dnn_api(&c->api));
    LT_TRY(lt_cuda_library_take(c->dev, LT_LIBRARY_DNN, &h));
    lt_status s = lt_cudnn_plan(c->api, h->dnn, problem, config, &c->plan, &c->workspace_bytes);
    lt_cuda_library_give(c->dev, h);
    return s;
}

static lt_status make(cudnn_convolution *c, const lt_problem_key *p)
{
    const lt_conv_sizes *s = &c->s;
    lt_problem_key own = *p; /* what this kernel computes: with the epilogue, or without */
    if (!c->fused) own.epilogue = NULL;
    size_t element = lt_dtype_size(p->out.dtype);
    int64_t cg = s->c / s->groups, kh = s->win.kernel[0], kw = s->win.kernel[1];
    lt_cudnn_problem problem = { p, s, c->fused ? &c->chain : NULL };
    const char *config = p->variant && c->fused ? p->variant + strlen(FUSED) : p->variant;
    c->x_bytes = (size_t)(s->n * s->c * s->h * s->w) * element;
    c->y_bytes = (size_t)(s->n * s->o * s->oh * s->ow) * element;
    c->w_bytes = (size_t)(s->o * cg * kh * kw) * element;
    LT_TRY(make_plan(c, &problem, config));
    if (s->win.channels_last) LT_TRY(build_turn(c, p->out.dtype));
    LT_TRY(lt_cuda_conv_prepare(c->dev, &own, &c->plain));
    c->base.scratch_bytes = LT_MAX(c->weight_bytes + c->workspace_bytes + 256, c->plain->scratch_bytes);
    return LT_OK;
}

static lt_status prepare_one(lt_device *dev, const lt_problem_key *p, const lt_epilogue_chain *chain, lt_kernel **out)
{
    cudnn_convolution *c = lt_calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "no memory for a convolution");
    pthread_mutex_init(&c->use, NULL);
    c->dev = dev;
    c->op = p->op;
    c->s = lt_conv_sizes_of(p);
    c->fused = chain != NULL;
    if (chain) c->chain = *chain;
    c->base = (lt_kernel){ .name = chain ? "conv2d_cudnn_fused" : "conv2d_cudnn", .enqueue = enqueue, .destroy = destroy, .module = dev->state,
                           .n_args = p->n_in + (chain ? p->epilogue->n_args : 1), .flops = lt_conv_flops(&c->s), .bytes = lt_problem_bytes(p) };
    lt_status s = make(c, p);
    if (s) destroy(&c->base);
    else *out = &c->base;
    return s;
}

/* Several gradients follow each other without gaps: each must begin where cuDNN can. */
static bool gradients_align(const lt_conv_sizes *s, size_t element)
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
    lt_conv_sizes s = lt_conv_sizes_of(p);
    return lt_key_is_all(p, t) && (t == LT_F16 || t == LT_BF16 || t == LT_F32 || t == LT_F64)
        && gradients_align(&s, lt_dtype_size(t)) && s.k > 0 && s.n > 0 && s.c > 0 && s.h > 0 && s.w > 0 && s.o > 0 && s.oh > 0 && s.ow > 0;
}

/* Engines that fuse round to TF32 with f32, and what they take for erf is made for 16 bits. */
static bool may_fuse(const lt_problem_key *p, lt_epilogue_chain *chain)
{
    int channel = p->attr->u.conv.channels_last ? 3 : 1;
    return p->op == LT_OP_CONV2D && (p->out.dtype == LT_F16 || p->out.dtype == LT_BF16) && p->out.shape.rank == 4 && lt_epilogue_is_chain(p, channel, chain);
}

lt_status lt_conv_cudnn_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_epilogue_chain chain;
    lt_kernel *k;
    bool asked = p->variant && strncmp(p->variant, FUSED, strlen(FUSED)) == 0;
    if (may_fuse(p, &chain) && (asked || !p->variant)) {
        lt_status s = prepare_one(dev, p, &chain, out);
        if (s != LT_ERR_UNSUPPORTED || asked) return s;
    }
    LT_TRY(prepare_one(dev, p, NULL, &k));
    return lt_epilogue_wrap(dev, p, "conv2d_cudnn+epilogue", k, out);
}

static int list_variants(const lt_cudnn *api, lt_cudnn_handle handle, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max)
{
    lt_epilogue_chain chain;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    int n = 0;
    if (may_fuse(p, &chain)) n = lt_cudnn_configurations(api, handle, &(lt_cudnn_problem){ p, &s, &chain }, variant, max);
    for (int i = 0; i < n; i++) { /* names leave room for the prefix */
        memmove(variant[i] + strlen(FUSED), variant[i], strlen(variant[i]) + 1);
        memcpy(variant[i], FUSED, strlen(FUSED));
    }
    return n + lt_cudnn_configurations(api, handle, &(lt_cudnn_problem){ p, &s, NULL }, variant + n, max - n);
}

int lt_conv_cudnn_variants(lt_device *dev, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max)
{
    const lt_cudnn *api;
    lt_library_handle *h;
    if (lt_cuda_dnn_api(&api) || lt_cuda_library_take(dev, LT_LIBRARY_DNN, &h)) return 0;
    int n = list_variants(api, h->dnn, p, variant, max);
    lt_cuda_library_give(dev, h);
    return n;
}

/* Before the convolution of our own, which is exact but has no tensor cores. */
bool      lt_conv_tf32_applies(const lt_problem_key *p) { return lt_key_is_all(p, LT_F32) && p->attr->u.conv.tf32 && lt_conv_cudnn_applies(p); }
lt_status lt_conv_tf32_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out) { return lt_conv_cudnn_prepare(dev, p, out); }
int       lt_conv_tf32_variants(lt_device *dev, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max) { return lt_conv_cudnn_variants(dev, p, variant, max); }
