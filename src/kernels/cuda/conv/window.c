/* Pooling and plain convolution on the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/window.h"

#include "kernels/cuda/fused/epilogue.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"

#include "base/status.h"

#include <stdio.h>

extern const char lt_text_window_cu[];
enum { THREADS = 256 };

static void add_window(lt_text *t, const lt_window *w)
{
    static const char *const name[4][2] = { { "KH", "KW" }, { "SH", "SW" }, { "PH", "PW" }, { "DH", "DW" } };
    const int64_t *const value[4] = { w->kernel, w->stride, w->pad, w->dilation };
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < 2; d++) lt_text_constant(t, name[i][d], value[i][d]);
}

/* ---- Pooling ------------------------------------------------------------------------------------ */
bool lt_cuda_pool_applies(const lt_problem_key *p)
{
    return lt_key_is_real(p) && (p->op == LT_OP_MAXPOOL_INDEX || p->in[0].dtype == p->out.dtype);
}

lt_status lt_cuda_pool_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_pool_sizes s = lt_pool_sizes_of(p);
    int64_t n = lt_tensor_count(&p->out);
    lt_text t = { 0 };
    if (n == 0) return lt_sequence_nothing(dev, "pool_cuda", p->n_in + 1, out);
    const char *entry = p->op == LT_OP_MAXPOOL_INDEX ? "maxpool" : p->op == LT_OP_AVGPOOL ? "avgpool" : "avgpool_grad";
    lt_text_add(&t, "#define %s\n", p->op == LT_OP_MAXPOOL_INDEX ? "MAXPOOL" : p->op == LT_OP_AVGPOOL ? "AVGPOOL" : "AVGPOOL_GRAD");
    lt_text_type(&t, "T", p->in[0].dtype);
    lt_text_constant(&t, "PLANES", s.planes);
    lt_text_constant(&t, "C", s.c);
    lt_text_constant(&t, "H", s.h), lt_text_constant(&t, "W", s.w);
    lt_text_constant(&t, "OH", s.oh), lt_text_constant(&t, "OW", s.ow);
    add_window(&t, &s.win);
    double taps = (double)(s.planes * s.oh * s.ow * s.c) * (double)(s.win.kernel[0] * s.win.kernel[1]);
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "pool_cuda", entry, lt_text_window_cu, 2, { lt_blocks(n, THREADS) }, { THREADS }, taps,
                                                        lt_problem_bytes(p) }, &t, out);
}

/* ---- Convolution --------------------------------------------------------------------------------- */
bool lt_cuda_conv_applies(const lt_problem_key *p) { return lt_key_is_real(p) && lt_key_is_all(p, p->out.dtype); }

static void add_conv(lt_text *t, const lt_conv_sizes *s)
{
    lt_text_constant(t, "N", s->n), lt_text_constant(t, "C", s->c), lt_text_constant(t, "H", s->h), lt_text_constant(t, "W", s->w);
    lt_text_constant(t, "O", s->o), lt_text_constant(t, "OH", s->oh), lt_text_constant(t, "OW", s->ow), lt_text_constant(t, "GROUPS", s->groups);
    lt_text_constant(t, "K_IN_X", s->k_in_x), lt_text_constant(t, "K_IN_Y", s->k_in_y);
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "XS%d", i);
        lt_text_constant(t, name, s->xs[i]);
        snprintf(name, sizeof name, "YS%d", i);
        lt_text_constant(t, name, s->ys[i]);
    }
    add_window(t, &s->win);
}

lt_status lt_cuda_conv_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    lt_conv_sizes s = lt_conv_sizes_of(p);
    int64_t n = lt_tensor_count(&p->out);
    lt_text t = { 0 };
    lt_kernel *k;
    if (n == 0) return lt_epilogue_wrap(dev, p, "conv2d_cuda", NULL, out);
    lt_text_add(&t, "#define %s\n", p->op == LT_OP_CONV2D ? "CONV" : p->op == LT_OP_CONV2D_DGRAD ? "DGRAD" : "WGRAD");
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_type(&t, "R", lt_compute_type(p->out.dtype));
    add_conv(&t, &s);
    unsigned grid = p->op == LT_OP_CONV2D_WGRAD ? (unsigned)n : lt_blocks(n, THREADS);
    LT_TRY(lt_text_kernel_build(dev, &(lt_text_kernel){ "conv2d_cuda", "conv", lt_text_window_cu, 3, { grid }, { THREADS }, lt_conv_flops(&s),
                                                        lt_problem_bytes(p) }, &t, &k));
    return lt_epilogue_wrap(dev, p, "conv2d_cuda", k, out);
}
