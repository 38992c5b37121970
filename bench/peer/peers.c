/* OpenBLAS and oneDNN called directly, for ratios in the same run. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peer/peers.h"

#include <stdlib.h>

/* ---- OpenBLAS: the one that lathe opens -------------------------------------------------- */
typedef void gemm_f32(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void gemm_f64(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

typedef struct product { lt_dtype t; int n; void *a, *b, *c; gemm_f32 *sgemm; gemm_f64 *dgemm; } product;

void peer_openblas_threads(int n)
{
    void (*set)(int) = NULL;
    *(void **)&set = lt_openblas_function("openblas_set_num_threads");
    if (set) set(n);
}

static lt_status multiply(void *ctx)
{
    product *p = ctx;
    if (p->t == LT_F32) p->sgemm(PEER_ROWS, PEER_PLAIN, PEER_PLAIN, p->n, p->n, p->n, 1, p->a, p->n, p->b, p->n, 0, p->c, p->n);
    else p->dgemm(PEER_ROWS, PEER_PLAIN, PEER_PLAIN, p->n, p->n, p->n, 1, p->a, p->n, p->b, p->n, 0, p->c, p->n);
    return LT_OK;
}

static void fill_halves(lt_dtype t, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (t == LT_F32) ((float *)to)[i] = (float)(i % 7) - 3;
        else ((double *)to)[i] = (double)(i % 7) - 3;
    }
}

lt_status peer_openblas_matmul(lt_dtype t, int64_t n, int n_threads, double budget, cli_timing *out)
{
    size_t bytes = ((size_t)(n * n) * lt_dtype_size(t) + 63) / 64 * 64;
    product p = { .t = t, .n = (int)n, .a = aligned_alloc(64, bytes), .b = aligned_alloc(64, bytes), .c = aligned_alloc(64, bytes) };
    lt_status s = p.a && p.b && p.c ? LT_OK : cli_fail(LT_ERR_MEMORY, "out of memory for OpenBLAS's matrices");
    *(void **)&p.sgemm = lt_openblas_function("cblas_sgemm");
    *(void **)&p.dgemm = lt_openblas_function("cblas_dgemm");
    if (!s && (!p.sgemm || !p.dgemm)) s = LT_ERR_UNSUPPORTED;
    if (!s) {
        fill_halves(t, n * n, p.a);
        fill_halves(t, n * n, p.b);
        peer_openblas_threads(n_threads);
        s = cli_time(multiply, &p, budget, out);
        peer_openblas_threads(1);
    }
    free(p.a);
    free(p.b);
    free(p.c);
    return s;
}

/* ---- oneDNN ------------------------------------------------------------------------------- */
#if LT_HAVE_ONEDNN
#include <dnnl.h>

typedef struct convolution {
    dnnl_engine_t         engine;
    dnnl_stream_t         stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t      primitive;
    dnnl_memory_t         memory[3];   /* input, weights, output */
} convolution;

static const int argument[3] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };

static lt_status convolve(void *ctx)
{
    convolution *c = ctx;
    dnnl_exec_arg_t arg[3];
    for (int i = 0; i < 3; i++) arg[i] = (dnnl_exec_arg_t){ argument[i], c->memory[i] };
    if (dnnl_primitive_execute(c->primitive, c->stream, 3, arg) || dnnl_stream_wait(c->stream))
        return cli_fail(LT_ERR_DEVICE, "oneDNN could not run the convolution");
    return LT_OK;
}

/* Versions 2 and 3 differ in how descriptions are made. */
static dnnl_status_t describe(convolution *c, const peer_layer *l, bool own_layout)
{
    const dnnl_dims_t x = { l->batch, l->in, l->side, l->side }, y = { l->batch, l->out, l->side, l->side };
    const dnnl_dims_t w = { l->out, l->in, l->kernel, l->kernel }, stride = { 1, 1 }, pad = { l->kernel / 2, l->kernel / 2 };
    dnnl_format_tag_t tag = own_layout ? dnnl_format_tag_any : dnnl_nchw;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl_dims_t dilate = { 0, 0 };
    dnnl_memory_desc_t x_md = NULL, w_md = NULL, y_md = NULL;
    dnnl_status_t s = dnnl_memory_desc_create_with_tag(&x_md, 4, x, dnnl_f32, tag);
    if (!s) s = dnnl_memory_desc_create_with_tag(&y_md, 4, y, dnnl_f32, tag);
    if (!s) s = dnnl_memory_desc_create_with_tag(&w_md, 4, w, dnnl_f32, dnnl_format_tag_any);
    if (!s) s = dnnl_convolution_forward_primitive_desc_create(&c->desc, c->engine, dnnl_forward_inference, dnnl_convolution_auto,
                                                               x_md, w_md, NULL, y_md, stride, dilate, pad, pad, NULL);
    if (x_md) dnnl_memory_desc_destroy(x_md);
    if (w_md) dnnl_memory_desc_destroy(w_md);
    if (y_md) dnnl_memory_desc_destroy(y_md);
    return s;
#else
    dnnl_memory_desc_t x_md, w_md, y_md;
    dnnl_convolution_desc_t op;
    dnnl_status_t s = dnnl_memory_desc_init_by_tag(&x_md, 4, x, dnnl_f32, tag);
    if (!s) s = dnnl_memory_desc_init_by_tag(&y_md, 4, y, dnnl_f32, tag);
    if (!s) s = dnnl_memory_desc_init_by_tag(&w_md, 4, w, dnnl_f32, dnnl_format_tag_any);
    if (!s) s = dnnl_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_auto, &x_md, &w_md, NULL, &y_md,
                                                   stride, pad, pad);
    if (!s) s = dnnl_primitive_desc_create(&c->desc, &op, NULL, c->engine, NULL);
    return s;
#endif
}

static dnnl_status_t make_memory(convolution *c)
{
    static const dnnl_query_t query[3] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md };
    for (int i = 0; i < 3; i++) {
        dnnl_status_t s = dnnl_memory_create(&c->memory[i], dnnl_primitive_desc_query_md(c->desc, query[i], 0), c->engine, DNNL_MEMORY_ALLOCATE);
        if (s) return s;
        void *data;
        if (i < 2 && !dnnl_memory_get_data_handle(c->memory[i], &data)) {
            float *f = data;
            size_t n = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(c->desc, query[i], 0)) / sizeof(float);
            for (size_t k = 0; k < n; k++) f[k] = (float)(k % 5) - 2;
        }
    }
    return dnnl_success;
}

lt_status peer_onednn_conv(const peer_layer *l, bool own_layout, double budget, cli_timing *out)
{
    convolution c = { 0 };
    dnnl_status_t d = dnnl_engine_create(&c.engine, dnnl_cpu, 0);
    if (!d) d = dnnl_stream_create(&c.stream, c.engine, dnnl_stream_default_flags);
    if (!d) d = describe(&c, l, own_layout);
    if (!d) d = dnnl_primitive_create(&c.primitive, c.desc);
    if (!d) d = make_memory(&c);
    lt_status s = d ? cli_fail(LT_ERR_DEVICE, "oneDNN refused the convolution, status %d", (int)d) : cli_time(convolve, &c, budget, out);
    for (int i = 0; i < 3; i++)
        if (c.memory[i]) dnnl_memory_destroy(c.memory[i]);
    if (c.primitive) dnnl_primitive_destroy(c.primitive);
    if (c.desc) dnnl_primitive_desc_destroy(c.desc);
    if (c.stream) dnnl_stream_destroy(c.stream);
    if (c.engine) dnnl_engine_destroy(c.engine);
    return s;
}
#else
lt_status peer_onednn_conv(const peer_layer *l, bool own_layout, double budget, cli_timing *out)
{
    (void)l, (void)own_layout, (void)budget, (void)out;
    return cli_fail(LT_ERR_UNSUPPORTED, "built without oneDNN");
}
#endif
