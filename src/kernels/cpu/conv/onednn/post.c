/* Bias and activation that a convolution applies by itself, recognised in an epilogue. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/onednn/post.h"

static bool is_dense(const lt_affine *v, const lt_shape *s)
{
    int64_t at = 1;
    for (int d = s->rank - 1; d >= 0; at *= s->dim[d--])
        if (s->dim[d] != 1 && v->stride[d] != at) return false;
    return v->offset == 0;
}

static bool is_per_channel(const lt_affine *v, const lt_shape *s, int channel)
{
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] != 1 && v->stride[d] != (d == channel)) return false;
    return v->offset == 0;
}

/* oneDNN's ReLU makes zeros of what is not a number, which hides that something went wrong before; its GELU is slower
   than ours. */
static bool set_activation(lt_dnnl_post *post, lt_isa isa, lt_op op)
{
    switch (op) {
    case LT_OP_GELU: post->turn = LT_TURN_GELU; break;
    case LT_OP_RELU: post->turn = LT_TURN_RELU; break;
    case LT_OP_TANH: post->activation = dnnl_eltwise_tanh; break;
    case LT_OP_SIGMOID: post->activation = dnnl_eltwise_logistic; break;
    default: return false;
    }
    post->by_library = post->turn == LT_TURN_COPY;
    if (!post->by_library) post->own = lt_vec_set_of(isa, LT_F32)->op[op][0];
    return true;
}

/* y -> activation(y + bias[channel]), either part optional, stored once in f32. */
lt_dnnl_post lt_dnnl_post_of(const lt_problem_key *p)
{
    lt_dnnl_post post = { 0 }, none = post;
    const lt_fused *f = p->epilogue;
    if (!f || f->n_stores != 1 || f->n_reduces || f->n_consts || f->n_loads < 1 || f->n_loads > 2) return none;
    int channel = p->attr->u.conv.channels_last ? 3 : 1, raw = -1, bias = -1, step = 0;
    for (int i = 0; i < f->n_loads; i++) {
        const lt_fused_load *l = &f->loads[i];
        if (l->from != LT_F32) return none;
        if (l->arg == 0 && is_dense(&l->view, &f->domain)) raw = l->reg;
        else if (l->arg > 0 && is_per_channel(&l->view, &f->domain, channel)) bias = l->reg, post.bias_arg = l->arg;
    }
    if (raw < 0 || (f->n_loads == 2) != (bias >= 0)) return none;
    int value = raw;
    if (bias >= 0) {
        const lt_fused_step *add = &f->steps[step++];
        if (f->n_steps < 1 || add->op != LT_OP_ADD) return none;
        if (!(add->src[0] == raw && add->src[1] == bias) && !(add->src[1] == raw && add->src[0] == bias)) return none;
        value = add->reg;
    }
    if (step < f->n_steps) {
        if (f->steps[step].src[0] != value || !set_activation(&post, p->isa, f->steps[step].op)) return none;
        value = f->steps[step++].reg;
    }
    const lt_fused_store *store = f->stores;
    if (step != f->n_steps || store->reg != value || store->to != LT_F32 || !is_dense(&store->view, &f->domain)) return none;
    post.out_arg = store->arg;
    post.found = true;
    return post;
}
