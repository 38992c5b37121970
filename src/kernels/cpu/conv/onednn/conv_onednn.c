/* CONV2D and its transposes through oneDNN: every task is one single-threaded primitive on a group
   of images or a band of rows, in f32 with the channels last, which is the layout oneDNN computes
   in; other layouts and half types are brought there piece by piece, in cache.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/bands.h"
#include "kernels/cpu/conv/onednn/slab.h"
#include "kernels/cpu/conv/onednn/onednn.h"
#include "kernels/cpu/conv/onednn/post.h"
#include "kernels/cpu/vec/vec.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

/* The primitive for one geometry of task; bands in the middle of an image share one. */
typedef struct variant {
    lt_conv_part part;        /* image and row positions are those of its first task */
    dnnl_primitive_t conv;
    lt_dnnl_desc x, y, w;
    size_t scratchpad;
} variant;

/* What one lane owns: memory objects are only handles, pointed at data when run. */
typedef struct onednn_lane {
    dnnl_stream_t stream;
    dnnl_memory_t *x, *y, *w, *pad; /* one per variant */
    dnnl_memory_t bias;
} onednn_lane;

typedef struct conv_kernel {
    lt_host_kernel host;
    lt_conv_sizes s;
    lt_conv_bands bands;
    lt_dnnl_post post;
    bool direct;              /* x and y are already as oneDNN reads them, with the channels last */
    bool native;              /* computed in bf16; else in f32 */
    int n_variants, n_lanes;
    variant *variants;
    int *variant_of;          /* per task of one of the k problems */
    onednn_lane *lanes;
    dnnl_primitive_t reorder; /* weights: plain to blocked, or back for their gradient */
    dnnl_memory_t plain_w, blocked_w, reorder_pad;
    size_t w_count, w_bytes;  /* plain elements, blocked bytes */
    size_t plain_at, blocked_at, reorder_at, lane_at, lane_bytes, x_bytes, y_bytes, pad_bytes;
} conv_kernel;

/* ---- Making primitives ------------------------------------------------------------------------ */
static dnnl_data_type_t type_of(const conv_kernel *v) { return v->native ? dnnl_bf16 : dnnl_f32; }

static lt_status image_desc(const conv_kernel *v, lt_dnnl_desc *md, int64_t n, int64_t c, int64_t h, int64_t w)
{
    dnnl_dims_t dims = { n, c, h, w };
    LT_TRY_DNNL(lt_dnnl_desc_make(md, 4, dims, type_of(v), dnnl_nhwc));
    return LT_OK;
}

static lt_status weight_desc(const conv_kernel *v, lt_dnnl_desc *md, bool plain)
{
    const lt_conv_sizes *s = &v->s;
    int64_t g = s->groups;
    dnnl_dims_t dense = { s->o, s->c, s->win.kernel[0], s->win.kernel[1] };
    dnnl_dims_t grouped = { g, s->o / g, s->c / g, s->win.kernel[0], s->win.kernel[1] };
    if (g == 1) LT_TRY_DNNL(lt_dnnl_desc_make(md, 4, dense, type_of(v), plain ? dnnl_oihw : dnnl_format_tag_any));
    else LT_TRY_DNNL(lt_dnnl_desc_make(md, 5, grouped, type_of(v), plain ? dnnl_goihw : dnnl_format_tag_any));
    return LT_OK;
}

static lt_dnnl_conv conv_of(const conv_kernel *v, const variant *u, lt_dnnl_view w, lt_dnnl_view bias)
{
    const lt_window *win = &v->s.win;
    lt_op op = v->host.key.op;
    int64_t reach = (win->kernel[1] - 1) * win->dilation[1];
    int64_t right = LT_MAX(0, (v->s.ow - 1) * win->stride[1] + reach + 1 - v->s.w - win->pad[1]);
    return (lt_dnnl_conv){ .pass = op == LT_OP_CONV2D ? LT_DNNL_FORWARD : op == LT_OP_CONV2D_DGRAD ? LT_DNNL_TO_INPUT : LT_DNNL_TO_WEIGHTS,
                           .x = lt_dnnl_look(&u->x), .w = w, .bias = bias, .y = lt_dnnl_look(&u->y), .stride = { win->stride[0], win->stride[1] },
                           .dilation = { win->dilation[0] - 1, win->dilation[1] - 1 }, .begin = { u->part.pad_top, win->pad[1] },
                           .end = { u->part.pad_bottom, right } };
}

static lt_status set_attributes(const conv_kernel *v, dnnl_primitive_attr_t attr)
{
    LT_TRY_DNNL(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    if (!v->post.by_library) return LT_OK;
    dnnl_post_ops_t ops;
    LT_TRY_DNNL(dnnl_post_ops_create(&ops));
    dnnl_status_t s = lt_dnnl_append_activation(ops, v->post.activation);
    if (s == dnnl_success) s = dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    LT_TRY_DNNL(s);
    return LT_OK;
}

static lt_status bias_desc(const conv_kernel *v, lt_dnnl_desc *md)
{
    dnnl_dims_t channels = { v->s.o };
    LT_TRY_DNNL(lt_dnnl_desc_make(md, 1, channels, dnnl_f32, dnnl_a));
    return LT_OK;
}

static lt_status describe_primitive(const conv_kernel *v, const variant *u, lt_dnnl_view w, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr;
    lt_dnnl_desc bias;
    LT_TRY(bias_desc(v, &bias));
    lt_dnnl_conv c = conv_of(v, u, w, v->post.bias_arg ? lt_dnnl_look(&bias) : NULL);
    dnnl_status_t made = dnnl_primitive_attr_create(&attr);
    lt_status s = LT_OK;
    if (made == dnnl_success) {
        s = set_attributes(v, attr);
        if (!s) made = lt_dnnl_conv_create(pd, lt_onednn_engine(), &c, attr);
        dnnl_primitive_attr_destroy(attr);
    }
    lt_dnnl_desc_release(&bias);
    if (s) return s;
    LT_TRY_DNNL(made);
    return LT_OK;
}

/* w is what the first variant chose: all must agree on one blocked layout. */
static lt_status make_primitive(conv_kernel *v, variant *u, lt_dnnl_view w)
{
    dnnl_primitive_desc_t pd = NULL;
    LT_TRY(describe_primitive(v, u, w, &pd));
    bool wgrad = v->host.key.op == LT_OP_CONV2D_WGRAD;
    dnnl_status_t made = lt_dnnl_desc_copy(&u->w, dnnl_primitive_desc_query_md(pd, wgrad ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0));
    u->scratchpad = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
    if (made == dnnl_success) made = dnnl_primitive_create(&u->conv, pd);
    dnnl_primitive_desc_destroy(pd);
    LT_TRY_DNNL(made);
    return LT_OK;
}

static bool same_geometry(const lt_conv_part *a, const lt_conv_part *b)
{
    return a->n_images == b->n_images && a->x_rows == b->x_rows && a->y_rows == b->y_rows && a->pad_top == b->pad_top && a->pad_bottom == b->pad_bottom;
}

static lt_status add_variant(conv_kernel *v, const lt_conv_part *part, lt_dnnl_view any_weights)
{
    variant *u = &v->variants[v->n_variants++];
    u->part = *part;
    LT_TRY(image_desc(v, &u->x, part->n_images, v->s.c, part->x_rows, v->s.w));
    LT_TRY(image_desc(v, &u->y, part->n_images, v->s.o, part->y_rows, v->s.ow));
    LT_TRY(make_primitive(v, u, u == v->variants ? any_weights : lt_dnnl_look(&v->variants[0].w)));
    v->x_bytes = LT_MAX(v->x_bytes, lt_align64(dnnl_memory_desc_get_size(lt_dnnl_look(&u->x))));
    v->y_bytes = LT_MAX(v->y_bytes, lt_align64(dnnl_memory_desc_get_size(lt_dnnl_look(&u->y))));
    v->pad_bytes = LT_MAX(v->pad_bytes, lt_align64(u->scratchpad));
    return LT_OK;
}

static lt_status add_variants(conv_kernel *v, lt_dnnl_view any_weights)
{
    for (int64_t task = 0; task < v->bands.n_tasks; task++) {
        lt_conv_part part = lt_conv_part_of(&v->s, v->host.key.op, &v->bands, task);
        int i = 0;
        while (i < v->n_variants && !same_geometry(&v->variants[i].part, &part)) i++;
        v->variant_of[task] = i;
        if (i == v->n_variants) LT_TRY(add_variant(v, &part, any_weights));
    }
    v->w_bytes = lt_align64(dnnl_memory_desc_get_size(lt_dnnl_look(&v->variants[0].w)));
    return LT_OK;
}

static lt_status make_variants(conv_kernel *v)
{
    lt_dnnl_desc any;
    LT_TRY(weight_desc(v, &any, false));
    lt_status s = add_variants(v, lt_dnnl_look(&any));
    lt_dnnl_desc_release(&any);
    return s;
}

static lt_status make_reorder_between(conv_kernel *v, lt_dnnl_view plain, lt_dnnl_view blocked, size_t *scratchpad)
{
    dnnl_engine_t e = lt_onednn_engine();
    bool back = v->host.key.op == LT_OP_CONV2D_WGRAD;
    LT_TRY_DNNL(dnnl_memory_create(&v->plain_w, plain, e, DNNL_MEMORY_NONE));
    LT_TRY_DNNL(dnnl_memory_create(&v->blocked_w, blocked, e, DNNL_MEMORY_NONE));
    dnnl_primitive_attr_t attr;
    LT_TRY_DNNL(dnnl_primitive_attr_create(&attr));
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success) s = dnnl_reorder_primitive_desc_create(&pd, back ? blocked : plain, e, back ? plain : blocked, e, attr);
    dnnl_primitive_attr_destroy(attr);
    LT_TRY_DNNL(s);
    lt_dnnl_view pad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    *scratchpad = lt_align64(dnnl_memory_desc_get_size(pad));
    s = dnnl_memory_create(&v->reorder_pad, pad, e, DNNL_MEMORY_NONE);
    if (s == dnnl_success) s = dnnl_primitive_create(&v->reorder, pd);
    dnnl_primitive_desc_destroy(pd);
    LT_TRY_DNNL(s);
    return LT_OK;
}

static lt_status make_reorder(conv_kernel *v, size_t *scratchpad)
{
    lt_dnnl_desc plain;
    LT_TRY(weight_desc(v, &plain, true));
    lt_status s = make_reorder_between(v, lt_dnnl_look(&plain), lt_dnnl_look(&v->variants[0].w), scratchpad);
    lt_dnnl_desc_release(&plain);
    return s;
}

/* A handle on memory that is given at each run. */
static lt_status make_memory(dnnl_memory_t *out, lt_dnnl_view md)
{
    LT_TRY_DNNL(dnnl_memory_create(out, md, lt_onednn_engine(), DNNL_MEMORY_NONE));
    return LT_OK;
}

static lt_status make_scratchpad(dnnl_memory_t *out, size_t bytes)
{
    lt_dnnl_desc pad;
    dnnl_dims_t dims = { (int64_t)bytes };
    LT_TRY_DNNL(lt_dnnl_desc_make(&pad, 1, dims, dnnl_u8, dnnl_a));
    lt_status s = make_memory(out, lt_dnnl_look(&pad));
    lt_dnnl_desc_release(&pad);
    return s;
}

static lt_status make_lane(const conv_kernel *v, onednn_lane *l)
{
    dnnl_engine_t e = lt_onednn_engine();
    size_t n = (size_t)v->n_variants;
    l->x = lt_calloc(4 * n, sizeof(dnnl_memory_t));
    if (!l->x) return LT_ERR_MEMORY;
    l->y = l->x + n, l->w = l->y + n, l->pad = l->w + n;
    LT_TRY_DNNL(dnnl_stream_create(&l->stream, e, dnnl_stream_default_flags));
    for (size_t i = 0; i < n; i++) {
        const variant *u = &v->variants[i];
        LT_TRY(make_memory(&l->x[i], lt_dnnl_look(&u->x)));
        LT_TRY(make_memory(&l->y[i], lt_dnnl_look(&u->y)));
        LT_TRY(make_memory(&l->w[i], lt_dnnl_look(&u->w)));
        LT_TRY(make_scratchpad(&l->pad[i], u->scratchpad));
    }
    lt_dnnl_desc bias;
    LT_TRY(bias_desc(v, &bias));
    lt_status s = make_memory(&l->bias, lt_dnnl_look(&bias));
    lt_dnnl_desc_release(&bias);
    return s;
}

static void destroy_memory(dnnl_memory_t m)
{
    if (m) dnnl_memory_destroy(m);
}

static void conv_release(lt_host_kernel *h)
{
    conv_kernel *v = (conv_kernel *)h;
    for (int i = 0; v->lanes && i < v->n_lanes; i++) {
        onednn_lane *l = &v->lanes[i];
        for (int j = 0; l->x && j < 4 * v->n_variants; j++) destroy_memory(l->x[j]);
        destroy_memory(l->bias);
        if (l->stream) dnnl_stream_destroy(l->stream);
        lt_free(l->x);
    }
    for (int i = 0; v->variants && i < v->n_variants; i++) {
        variant *u = &v->variants[i];
        if (u->conv) dnnl_primitive_destroy(u->conv);
        lt_dnnl_desc_release(&u->x);
        lt_dnnl_desc_release(&u->y);
        lt_dnnl_desc_release(&u->w);
    }
    destroy_memory(v->plain_w);
    destroy_memory(v->blocked_w);
    destroy_memory(v->reorder_pad);
    if (v->reorder) dnnl_primitive_destroy(v->reorder);
    lt_free(v->lanes);
    lt_free(v->variants);
    lt_free(v->variant_of);
}

/* ---- Running ------------------------------------------------------------------------------------- */
typedef struct onednn_job {
    const conv_kernel *v;
    char *x, *y, *w, *scratch, *bias; /* w: blocked; weight gradients have theirs in the scratch */
    int64_t x_step, y_step; /* bytes between the k problems of a weight gradient; 0 = shared */
} onednn_job;

static char *lane_part(const onednn_job *j, int lane_index, size_t at)
{
    return j->scratch + j->v->lane_at + (size_t)lane_index * j->v->lane_bytes + at;
}

static lt_status execute(const onednn_job *j, int index, int lane_index, void *x, void *y, void *w)
{
    const conv_kernel *v = j->v;
    const onednn_lane *l = &v->lanes[lane_index];
    lt_op op = v->host.key.op;
    LT_TRY_DNNL(dnnl_memory_set_data_handle(l->x[index], x));
    LT_TRY_DNNL(dnnl_memory_set_data_handle(l->y[index], y));
    LT_TRY_DNNL(dnnl_memory_set_data_handle(l->w[index], w));
    LT_TRY_DNNL(dnnl_memory_set_data_handle(l->pad[index], lane_part(j, lane_index, 2 * v->x_bytes + 2 * v->y_bytes)));
    dnnl_exec_arg_t arg[5] = {
        { op == LT_OP_CONV2D_DGRAD ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, l->x[index] },
        { op == LT_OP_CONV2D_WGRAD ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, l->w[index] },
        { op == LT_OP_CONV2D ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, l->y[index] },
        { DNNL_ARG_SCRATCHPAD, l->pad[index] },
    };
    int n = 4;
    if (j->bias) {
        LT_TRY_DNNL(dnnl_memory_set_data_handle(l->bias, j->bias));
        arg[n++] = (dnnl_exec_arg_t){ DNNL_ARG_BIAS, l->bias };
    }
    LT_TRY_DNNL(dnnl_primitive_execute(v->variants[index].conv, l->stream, n, arg));
    LT_TRY_DNNL(dnnl_stream_wait(l->stream));
    return LT_OK;
}

static lt_status run_part(const onednn_job *j, int64_t item, int lane_index)
{
    const conv_kernel *v = j->v;
    const lt_conv_sizes *s = &v->s;
    const lt_problem_key *p = &v->host.key;
    bool wgrad = p->op == LT_OP_CONV2D_WGRAD, dgrad = p->op == LT_OP_CONV2D_DGRAD;
    int64_t k = item / v->bands.n_tasks, task = item % v->bands.n_tasks;
    lt_conv_part part = lt_conv_part_of(s, p->op, &v->bands, task);
    bool last = s->win.channels_last;
    lt_conv_slab sx = { dgrad ? p->out.dtype : p->in[0].dtype, last, part.image, part.n_images, s->c, s->h, s->w, part.x_row, part.x_rows };
    lt_conv_slab sy = { wgrad ? p->in[1].dtype : dgrad ? p->in[0].dtype : p->out.dtype, last, part.image, part.n_images, s->o, s->oh, s->ow, part.y_row, part.y_rows };
    char *x = j->x + k * j->x_step, *y = j->y + k * j->y_step;
    char *w = wgrad ? j->scratch + v->blocked_at + (size_t)item * v->w_bytes : j->w;
    int64_t size = v->native ? 2 : 4;
    if (v->direct) {
        x += ((part.image * s->h + part.x_row) * s->w * s->c) * size;
        y += ((part.image * s->oh + part.y_row) * s->ow * s->o) * size;
        LT_TRY(execute(j, v->variant_of[task], lane_index, x, y, w));
        if (v->post.own) v->post.own(y, y, NULL, NULL, part.n_images * part.y_rows * s->ow * s->o);
        return LT_OK;
    }
    float *px = (float *)(void *)lane_part(j, lane_index, 0), *py = (float *)(void *)lane_part(j, lane_index, v->x_bytes);
    float *half = (float *)(void *)lane_part(j, lane_index, v->x_bytes + v->y_bytes);
    const lt_vec_set *set = lt_vec_set_of(p->isa, LT_F32);
    if (!dgrad) lt_conv_slab_pack(&sx, set, px, x, half);
    if (p->op != LT_OP_CONV2D) lt_conv_slab_pack(&sy, set, py, y, half);
    LT_TRY(execute(j, v->variant_of[task], lane_index, px, py, w));
    if (dgrad) lt_conv_slab_unpack(&sx, set, LT_TURN_COPY, x, px, half);
    if (p->op == LT_OP_CONV2D) lt_conv_slab_unpack(&sy, set, v->post.turn, y, py, half);
    return LT_OK;
}

static lt_status conv_item(void *ctx, int64_t item, int lane_index)
{
    int token = lt_onednn_enter();
    lt_status s = run_part(ctx, item, lane_index);
    lt_onednn_leave(token);
    return s;
}

static lt_status reorder_weights(const conv_kernel *v, void *plain, void *blocked, char *scratch)
{
    bool back = v->host.key.op == LT_OP_CONV2D_WGRAD;
    LT_TRY_DNNL(dnnl_memory_set_data_handle(v->plain_w, plain));
    LT_TRY_DNNL(dnnl_memory_set_data_handle(v->blocked_w, blocked));
    LT_TRY_DNNL(dnnl_memory_set_data_handle(v->reorder_pad, scratch + v->reorder_at));
    dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, back ? v->blocked_w : v->plain_w }, { DNNL_ARG_TO, back ? v->plain_w : v->blocked_w },
                              { DNNL_ARG_SCRATCHPAD, v->reorder_pad } };
    int token = lt_onednn_enter();
    dnnl_status_t s = dnnl_primitive_execute(v->reorder, v->lanes[0].stream, 3, arg);
    if (s == dnnl_success) s = dnnl_stream_wait(v->lanes[0].stream);
    lt_onednn_leave(token);
    LT_TRY_DNNL(s);
    return LT_OK;
}

/* Weight gradients: the partial sums of all tasks in order, then the plain layout. */
static lt_status finish_weights(const conv_kernel *v, char *scratch, char *out)
{
    lt_dtype t = v->host.key.out.dtype;
    for (int64_t k = 0; k < v->s.k; k++) {
        char *part = scratch + v->blocked_at + (size_t)(k * v->bands.n_tasks) * v->w_bytes;
        float *sum = (float *)(void *)part;
        for (int64_t i = 1; i < v->bands.n_tasks; i++) {
            const float *next = (const float *)(const void *)(part + (size_t)i * v->w_bytes);
            for (size_t e = 0; e < v->w_bytes / sizeof *sum; e++) sum[e] += next[e];
        }
        char *to = out + (size_t)k * v->w_count * lt_dtype_size(t), *plain = t == LT_F32 ? to : scratch + v->plain_at;
        LT_TRY(reorder_weights(v, plain, part, scratch));
        if (t != LT_F32) lt_convert(t, to, LT_F32, plain, (int64_t)v->w_count);
    }
    return LT_OK;
}

/* Weights that stay the same are brought into oneDNN's layout once. */
static lt_status pack_weights(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    (void)pool;
    return reorder_weights((const conv_kernel *)k, (void *)(uintptr_t)weights, packed, packed); /* its own scratch is empty */
}

static lt_status conv_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const conv_kernel *v = (const conv_kernel *)k;
    const lt_problem_key *p = &v->host.key;
    char *scratch = arg[k->n_args];
    onednn_job j = { .v = v, .scratch = scratch };
    LT_TRY(lt_onednn_need_room());
    if (p->op == LT_OP_CONV2D_WGRAD) {
        j.x = arg[0], j.y = arg[1];
        if (v->s.k_in_x) j.x_step = (int64_t)lt_tensor_bytes(&p->in[0]) / v->s.k;
        if (v->s.k_in_y) j.y_step = (int64_t)lt_tensor_bytes(&p->in[1]) / v->s.k;
        LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->s.k * v->bands.n_tasks, conv_item, &j));
        return finish_weights(v, scratch, arg[2]);
    }
    char *w = arg[1];
    if (p->in[1].dtype != LT_F32 && !v->native) {
        w = scratch + v->plain_at;
        lt_convert(LT_F32, w, p->in[1].dtype, arg[1], (int64_t)v->w_count);
    }
    j.w = k->packed ? k->packed : scratch + v->blocked_at;
    if (!k->packed) LT_TRY(reorder_weights(v, w, j.w, scratch));
    char *result = v->post.found ? arg[p->n_in + v->post.out_arg] : arg[p->n_in];
    j.bias = v->post.bias_arg ? arg[p->n_in + v->post.bias_arg] : NULL;
    j.x = p->op == LT_OP_CONV2D ? arg[0] : result;
    j.y = p->op == LT_OP_CONV2D ? result : arg[0];
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->bands.n_tasks, conv_item, &j));
    return lt_host_epilogue(&v->host, pool, arg);
}

/* ---- The row --------------------------------------------------------------------------------------- */
/* f32, and the half types through f32; empty problems are left to the plain row. */
bool lt_conv_onednn_applies(const lt_problem_key *p)
{
    lt_dtype t = p->out.dtype;
    if (!lt_key_is_all(p, t) || (t != LT_F32 && t != LT_F16 && t != LT_BF16)) return false;
    return lt_tensor_count(&p->in[0]) > 0 && lt_tensor_count(&p->in[1]) > 0 && lt_tensor_count(&p->out) > 0;
}

/* In bf16 throughout: worth it only where the processor multiplies matrices of it. */
bool lt_conv_onednn_bf16_applies(const lt_problem_key *p)
{
    return p->op == LT_OP_CONV2D && lt_conv_onednn_applies(p) && p->out.dtype == LT_BF16 && p->attr->u.conv.channels_last && lt_onednn_bf16_is_native();
}

static void place_scratch(conv_kernel *v, size_t reorder_pad)
{
    bool wgrad = v->host.key.op == LT_OP_CONV2D_WGRAD;
    size_t at = 0;
    v->plain_at = at;
    if (v->host.key.out.dtype != LT_F32 && !v->native) at += lt_align64(v->w_count * sizeof(float));
    v->reorder_at = at;
    at += reorder_pad;
    v->lane_at = at;
    v->lane_bytes = 2 * (v->x_bytes + v->y_bytes) + v->pad_bytes; /* x, y, half (at most x + y), scratchpad */
    at += (size_t)v->n_lanes * v->lane_bytes + 64;
    v->blocked_at = at; /* last: a launcher that packs ahead leaves it out */
    v->host.kernel.scratch_bytes = at + v->w_bytes * (wgrad ? (size_t)(v->s.k * v->bands.n_tasks) : 1);
    bool plain = v->host.key.in[1].dtype == LT_F32 || v->native;
    if (v->host.key.op != LT_OP_CONV2D || !plain || reorder_pad) return;
    v->host.kernel.pack = pack_weights;
    v->host.kernel.pack_arg = 1;
    v->host.kernel.packed_bytes = v->w_bytes;
}

static lt_status make_all(conv_kernel *v)
{
    v->variants = lt_calloc((size_t)v->bands.n_tasks, sizeof *v->variants);
    v->variant_of = lt_calloc((size_t)v->bands.n_tasks, sizeof *v->variant_of);
    v->n_lanes = lt_host_lanes(v->s.k * v->bands.n_tasks);
    v->lanes = lt_calloc((size_t)v->n_lanes, sizeof *v->lanes);
    if (!v->variants || !v->variant_of || !v->lanes) return LT_ERR_MEMORY;
    if (!lt_onednn_engine()) return LT_ERR_INTERNAL;
    size_t reorder_pad = 0;
    LT_TRY(make_variants(v));
    LT_TRY(make_reorder(v, &reorder_pad));
    if (v->direct) v->x_bytes = v->y_bytes = 0; /* nothing is packed */
    for (int i = 0; i < v->n_lanes; i++) LT_TRY(make_lane(v, &v->lanes[i]));
    place_scratch(v, reorder_pad);
    return LT_OK;
}

static lt_status prepare(const lt_problem_key *p, const char *name, bool native, lt_kernel **out)
{
    *out = NULL;
    conv_kernel *v = lt_host_kernel_create(p, sizeof *v, name, conv_run);
    if (!v) return LT_ERR_MEMORY;
    v->native = native;
    v->host.release = conv_release;
    v->s = lt_conv_sizes_of(p);
    v->host.kernel.flops = lt_conv_flops(&v->s);
    v->bands = lt_conv_bands_of(&v->s, p->op, 150e6, p->op == LT_OP_CONV2D_WGRAD ? 16 : 1024);
    v->direct = v->s.win.channels_last && (p->out.dtype == LT_F32 || native);
    v->w_count = (size_t)(v->s.o * (v->s.c / v->s.groups) * v->s.win.kernel[0] * v->s.win.kernel[1]);
    v->post = p->out.dtype == LT_F32 && p->op == LT_OP_CONV2D ? lt_dnnl_post_of(p) : (lt_dnnl_post){ 0 };
    lt_status s = lt_onednn_need_room();
    int token = s ? 0 : lt_onednn_enter();
    if (!s) s = make_all(v);
    lt_onednn_leave(token);
    if (s == LT_OK && !v->post.found) s = lt_host_epilogue_prepare(&v->host, p);
    return lt_host_kernel_finish(&v->host, s, out);
}

lt_status lt_conv_onednn_prepare(const lt_problem_key *p, lt_kernel **out) { return prepare(p, "conv_onednn", false, out); }
lt_status lt_conv_onednn_bf16_prepare(const lt_problem_key *p, lt_kernel **out) { return prepare(p, "conv_onednn_bf16", true, out); }
