/* Shape and type rules: linear algebra, convolution, pooling, Fourier transforms.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/status.h"
#include "graph/infer.h"

static const lt_ir_node *operand(const lt_infer *x, int i) { return &x->ir->node[x->in[i]]; }

#define LABEL(i) lt_node_label(x->ir, x->in[i]).s
#define SHAPE(i) lt_shape_str(&operand(x, i)->shape).s
#define NAME lt_op_name(x->op)

/* Same floating type for all operands; the small ones only where `small` allows them. */
static lt_status check_float(lt_infer *x, bool small)
{
    lt_dtype t = (lt_dtype)operand(x, 0)->dtype;
    if (!lt_dtype_is_float(t) || (!small && t < LT_F32))
        return LT_FAIL(LT_ERR_TYPE, "%s of %s %s: needs %s", NAME, LABEL(0), lt_dtype_name(t),
                       small ? "a real floating type" : "f32 or f64");
    for (int i = 1; i < x->n_in; i++)
        if (operand(x, i)->dtype != t)
            return LT_FAIL(LT_ERR_TYPE, "%s of %s %s and %s %s: types differ", NAME, LABEL(0), lt_dtype_name(t), LABEL(i),
                           lt_dtype_name((lt_dtype)operand(x, i)->dtype));
    x->dtype = t;
    return LT_OK;
}

lt_status lt_infer_matmul(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_shape *a = &operand(x, 0)->shape, *b = &operand(x, 1)->shape;
    if (a->rank < 2 || b->rank < 2)
        return LT_FAIL(LT_ERR_SHAPE, "matmul of %s %s by %s %s: need [m, k] by [k, n]", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    bool ta = x->attr->u.trans.a, tb = x->attr->u.trans.b;
    int64_t m = a->dim[a->rank - 2 + ta], ka = a->dim[a->rank - 1 - ta];
    int64_t kb = b->dim[b->rank - 2 + tb], n = b->dim[b->rank - 1 - tb];
    if (ka != kb)
        return LT_FAIL(LT_ERR_SHAPE, "matmul of %s %s by %s %s: inner sizes %lld and %lld differ", LABEL(0), SHAPE(0),
                       LABEL(1), SHAPE(1), (long long)ka, (long long)kb);
    lt_shape out = { .rank = LT_MAX(a->rank, b->rank) };
    for (int i = 3; i <= out.rank; i++) {
        int64_t da = i <= a->rank ? a->dim[a->rank - i] : 1, db = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1)
            return LT_FAIL(LT_ERR_SHAPE, "matmul of %s %s by %s %s: batch sizes %lld and %lld differ", LABEL(0), SHAPE(0),
                           LABEL(1), SHAPE(1), (long long)da, (long long)db);
        out.dim[out.rank - i] = da == 1 ? db : da;
    }
    out.dim[out.rank - 2] = m;
    out.dim[out.rank - 1] = n;
    x->shape = out;
    return LT_OK;
}

static lt_status check_square(lt_infer *x, int64_t *n)
{
    const lt_shape *s = &operand(x, 0)->shape;
    if (s->rank < 2 || s->dim[s->rank - 1] != s->dim[s->rank - 2])
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: needs a square matrix", NAME, LABEL(0), SHAPE(0));
    *n = s->dim[s->rank - 1];
    return LT_OK;
}

lt_status lt_infer_square_matrix(lt_infer *x)
{
    int64_t n;
    LT_TRY(check_float(x, false));
    LT_TRY(check_square(x, &n));
    x->shape = operand(x, 0)->shape;
    int r = x->shape.rank;
    switch (x->op) {
    case LT_OP_EIG: x->shape.dim[r - 2] = 2; break;
    case LT_OP_EIGH: x->shape.dim[r - 1] = 0; x->shape.rank = r - 1; x->shape.dim[r - 2] = n * n + n; break;
    case LT_OP_DET: case LT_OP_LOGDET: case LT_OP_LOGABSDET:
        x->shape.dim[r - 1] = x->shape.dim[r - 2] = 0;
        x->shape.rank = r - 2;
        break;
    default: break;
    }
    return LT_OK;
}

lt_status lt_infer_adjugate(lt_infer *x)
{
    int64_t n;
    LT_TRY(check_float(x, false));
    LT_TRY(check_square(x, &n));
    lt_shape stack = operand(x, 0)->shape;
    stack.rank -= 2;
    stack.dim[stack.rank] = stack.dim[stack.rank + 1] = 0;
    if (!lt_shape_equal(&operand(x, 1)->shape, &stack))
        return LT_FAIL(LT_ERR_SHAPE, "adjugate of %s with %s: needs one determinant for each matrix", SHAPE(0), SHAPE(1));
    x->shape = operand(x, 0)->shape;
    return LT_OK;
}

lt_status lt_infer_eig_grad(lt_infer *x)
{
    int64_t n;
    LT_TRY(check_float(x, false));
    LT_TRY(check_square(x, &n));
    const lt_shape *w = &operand(x, 1)->shape, *g = &operand(x, 2)->shape;
    if (operand(x, 0)->shape.rank != 2 || w->rank != 2 || w->dim[0] != 2 || w->dim[1] != n ||
        g->rank < 2 || g->dim[g->rank - 2] != 2 || g->dim[g->rank - 1] != n)
        return LT_FAIL(LT_ERR_SHAPE, "eig_grad of %s, %s, %s: need [n, n], [2, n], [.., 2, n]", SHAPE(0), SHAPE(1), SHAPE(2));
    x->shape = *g;
    x->shape.dim[g->rank - 2] = n;
    return LT_OK;
}

lt_status lt_infer_svd(lt_infer *x)
{
    LT_TRY(check_float(x, false));
    const lt_shape *s = &operand(x, 0)->shape;
    if (s->rank < 2) return LT_FAIL(LT_ERR_SHAPE, "svd of %s %s: needs a matrix", LABEL(0), SHAPE(0));
    int64_t m = s->dim[s->rank - 2], n = s->dim[s->rank - 1], r = LT_MIN(m, n);
    x->shape = *s;
    x->shape.dim[s->rank - 1] = 0;
    x->shape.rank = s->rank - 1;
    x->shape.dim[s->rank - 2] = m * r + r + r * n;
    return LT_OK;
}

lt_status lt_infer_solve(lt_infer *x)
{
    int64_t n;
    LT_TRY(check_float(x, false));
    LT_TRY(check_square(x, &n));
    const lt_shape *b = &operand(x, 1)->shape;
    if (operand(x, 0)->shape.rank != 2 || b->rank < 2 || b->dim[b->rank - 2] != n)
        return LT_FAIL(LT_ERR_SHAPE, "solve of %s %s by %s %s: need [n, n] and [.., n, m]", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    x->shape = *b;
    return LT_OK;
}

/* ---- windows ---- */

#define LARGEST_WINDOW ((int64_t)1 << 30) /* so that no product below overflows */

static lt_status check_window(const lt_infer *x, const lt_window *w)
{
    for (int i = 0; i < 2; i++)
        if (LT_MAX(LT_MAX(w->kernel[i], w->stride[i]), LT_MAX(w->dilation[i], w->pad[i])) > LARGEST_WINDOW ||
            w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || w->pad[i] < 0 || w->size[i] < 0 || w->groups < 1)
            return LT_FAIL(LT_ERR_ARGUMENT, "%s of %s %s: kernel %lld, stride %lld, dilation %lld, padding %lld, groups %lld "
                           "(kernel, stride, dilation, groups >= 1; padding >= 0; all at most 2^30)", NAME, LABEL(0), SHAPE(0),
                           (long long)w->kernel[i], (long long)w->stride[i], (long long)w->dilation[i],
                           (long long)w->pad[i], (long long)w->groups);
    for (int i = 0; i < 2; i++)
        if (lt_window_extent(w, i) < 1)
            return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: a window of %lld does not fit into %lld with padding %lld", NAME,
                           LABEL(0), SHAPE(0), (long long)(w->dilation[i] * (w->kernel[i] - 1) + 1),
                           (long long)w->size[i], (long long)w->pad[i]);
    return LT_OK;
}

/* Positions of channel, height, width in an activation of rank r. */
static void axes_of(const lt_window *w, int rank, int *c, int *h)
{
    *c = w->channels_last ? rank - 1 : rank - 3;
    *h = w->channels_last ? rank - 3 : rank - 2;
}

static lt_shape activation(const lt_window *w, int64_t n, int64_t c, int64_t h, int64_t wd)
{
    return w->channels_last ? lt_shape4(n, h, wd, c) : lt_shape4(n, c, h, wd);
}

lt_status lt_infer_conv(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_window *w = &x->attr->u.conv;
    const lt_shape *s = &operand(x, 0)->shape, *k = &operand(x, 1)->shape;
    int c, h;
    if (s->rank != 4 || k->rank != 4)
        return LT_FAIL(LT_ERR_SHAPE, "conv2d of %s %s by %s %s: need [n, c, h, w] by [o, c/groups, kh, kw]", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    axes_of(w, 4, &c, &h);
    LT_TRY(check_window(x, w));
    if (s->dim[c] % w->groups || s->dim[c] / w->groups != k->dim[1] || k->dim[0] % w->groups)
        return LT_FAIL(LT_ERR_SHAPE, "conv2d of %s %s by %s %s: %lld input channels, weights take %lld x %lld groups", LABEL(0),
                       SHAPE(0), LABEL(1), SHAPE(1), (long long)s->dim[c], (long long)k->dim[1], (long long)w->groups);
    if (w->size[0] != s->dim[h] || w->size[1] != s->dim[h + 1] || w->kernel[0] != k->dim[2] || w->kernel[1] != k->dim[3])
        return LT_FAIL(LT_ERR_INTERNAL, "conv2d of %s: attributes disagree with its shapes", LABEL(0));
    x->shape = activation(w, s->dim[0], k->dim[0], lt_window_extent(w, 0), lt_window_extent(w, 1));
    return LT_OK;
}

lt_status lt_infer_conv_dgrad(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_window *w = &x->attr->u.conv;
    const lt_shape *s = &operand(x, 0)->shape, *k = &operand(x, 1)->shape;
    int c, h;
    axes_of(w, 4, &c, &h);
    if (s->rank != 4 || k->rank != 4 || s->dim[c] != k->dim[0] ||
        s->dim[h] != lt_window_extent(w, 0) || s->dim[h + 1] != lt_window_extent(w, 1))
        return LT_FAIL(LT_ERR_SHAPE, "conv2d_dgrad of %s %s by %s %s: shapes do not fit", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    x->shape = activation(w, s->dim[0], k->dim[1] * w->groups, w->size[0], w->size[1]);
    return LT_OK;
}

lt_status lt_infer_conv_wgrad(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_window *w = &x->attr->u.conv;
    const lt_shape *s = &operand(x, 0)->shape, *g = &operand(x, 1)->shape;
    int cs, hs, cg, hg;
    axes_of(w, s->rank, &cs, &hs);
    axes_of(w, g->rank, &cg, &hg);
    bool fits = (s->rank == 4 || s->rank == 5) && (g->rank == 4 || g->rank == 5);
    fits = fits && s->dim[s->rank - 4] == g->dim[g->rank - 4] && s->dim[hs] == w->size[0] && s->dim[hs + 1] == w->size[1] &&
           g->dim[hg] == lt_window_extent(w, 0) && g->dim[hg + 1] == lt_window_extent(w, 1) && s->dim[cs] % w->groups == 0 &&
           g->dim[cg] % w->groups == 0 && (s->rank != 5 || g->rank != 5 || s->dim[0] == g->dim[0]);
    if (!fits)
        return LT_FAIL(LT_ERR_SHAPE, "conv2d_wgrad of %s %s by %s %s: shapes do not fit", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    lt_shape k = lt_shape4(g->dim[cg], s->dim[cs] / w->groups, w->kernel[0], w->kernel[1]);
    x->shape = k;
    if (s->rank == 5 || g->rank == 5) {
        x->shape.rank = 5;
        x->shape.dim[0] = s->rank == 5 ? s->dim[0] : g->dim[0];
        for (int i = 0; i < 4; i++) x->shape.dim[1 + i] = k.dim[i];
    }
    return LT_OK;
}

lt_status lt_infer_pool(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_window *w = &x->attr->u.conv;
    const lt_shape *s = &operand(x, 0)->shape;
    int c, h;
    axes_of(w, s->rank, &c, &h);
    if (s->rank < (w->channels_last ? 3 : 2) || s->dim[h] != w->size[0] || s->dim[h + 1] != w->size[1])
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: needs [.., h, w]", NAME, LABEL(0), SHAPE(0));
    LT_TRY(check_window(x, w));
    for (int i = 0; i < 2; i++)
        if (w->pad[i] >= w->kernel[i])
            return LT_FAIL(LT_ERR_ARGUMENT, "%s of %s: padding %lld is not below the window's %lld", NAME, LABEL(0),
                           (long long)w->pad[i], (long long)w->kernel[i]);
    x->shape = *s;
    x->shape.dim[h] = lt_window_extent(w, 0);
    x->shape.dim[h + 1] = lt_window_extent(w, 1);
    if (x->op == LT_OP_MAXPOOL_INDEX) x->dtype = LT_I64;
    return LT_OK;
}

lt_status lt_infer_pool_grad(lt_infer *x)
{
    LT_TRY(check_float(x, true));
    const lt_window *w = &x->attr->u.conv;
    const lt_shape *s = &operand(x, 0)->shape;
    int c, h;
    axes_of(w, s->rank, &c, &h);
    if (s->rank < (w->channels_last ? 3 : 2) || s->dim[h] != lt_window_extent(w, 0) || s->dim[h + 1] != lt_window_extent(w, 1))
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: shapes do not fit", NAME, LABEL(0), SHAPE(0));
    x->shape = *s;
    x->shape.dim[h] = w->size[0];
    x->shape.dim[h + 1] = w->size[1];
    return LT_OK;
}

lt_status lt_infer_fft(lt_infer *x)
{
    LT_TRY(check_float(x, false));
    const lt_shape *s = &operand(x, 0)->shape;
    int r = s->rank;
    x->shape = *s;
    if (x->op == LT_OP_RFFT2) {
        if (r < 2 || r >= LT_MAX_RANK || s->dim[r - 1] < 1 || s->dim[r - 2] < 1)
            return LT_FAIL(LT_ERR_SHAPE, "rfft2 of %s %s: needs [.., h, w] of rank 2 to %d", LABEL(0), SHAPE(0), LT_MAX_RANK - 1);
        x->shape.dim[r - 1] = s->dim[r - 1] / 2 + 1;
        x->shape.dim[r] = 2;
        x->shape.rank = r + 1;
        return LT_OK;
    }
    int64_t width = x->attr->u.index.extent;
    if (r < 3 || s->dim[r - 1] != 2 || width < 1 || s->dim[r - 2] != width / 2 + 1 || s->dim[r - 3] < 1)
        return LT_FAIL(LT_ERR_SHAPE, "irfft2 of %s %s to width %lld: needs [.., h, width/2 + 1, 2]", LABEL(0), SHAPE(0), (long long)width);
    x->shape.dim[r - 1] = 0;
    x->shape.dim[r - 2] = width;
    x->shape.rank = r - 1;
    return LT_OK;
}
