/* The graphs the benchmarks and the demo run. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lt_node case_input(case_graph *c, const char *name, lt_dtype t, lt_shape s, double spread)
{
    lt_node n = lt_input(c->g, name, t, s);
    if (c->n_inputs < CASE_MAX_IO) {
        c->input[c->n_inputs] = n;
        c->spread[c->n_inputs++] = spread;
    }
    return n;
}

static void give(case_graph *c, lt_node n)
{
    if (c->n_outputs < CASE_MAX_IO) c->output[c->n_outputs++] = n;
}

/* Gives f and its gradient with respect to the first n_wrt inputs. */
static void give_with_gradient(case_graph *c, lt_node f, int n_wrt)
{
    lt_node d[CASE_MAX_IO];
    give(c, f);
    if (lt_grad(c->g, f, c->input, n_wrt, d)) return;
    for (int i = 0; i < n_wrt; i++) give(c, d[i]);
}

/* ---- Small and elementwise ------------------------------------------------------------- */

/* 8 |x0^2 - x1| + (1 - x0)^2 */
static void build_rosenbrock(case_graph *c, bool quick)
{
    (void)quick;
    lt_graph *g = c->g;
    lt_node x = case_input(c, "x", LT_F64, lt_shape1(2), 1), x0 = lt_at(g, x, 0), x1 = lt_at(g, x, 1);
    lt_node f = lt_add(g, lt_scale(g, lt_abs(g, lt_sub(g, lt_square(g, x0), x1)), 8), lt_square(g, lt_rsub(g, 1, x0)));
    give_with_gradient(c, f, 1);
}

/* Eight ops that cost an instruction each, one array in, one out: memory should be all it waits for. */
static void build_chain_of(case_graph *c, lt_dtype t, int64_t n)
{
    lt_graph *g = c->g;
    lt_node x = case_input(c, "x", t, lt_shape1(n), 1);
    lt_node y = lt_scale(g, x, 0.5);
    y = lt_shift(g, y, 1);
    y = lt_square(g, y);
    y = lt_sub(g, y, x);
    y = lt_abs(g, y);
    y = lt_minimum(g, y, lt_full(g, t, lt_node_shape(g, x), 2));
    y = lt_maximum(g, y, x);
    give(c, lt_scale(g, y, 3));
}

static void build_chain(case_graph *c, bool quick) { build_chain_of(c, LT_F64, quick ? 1000000 : 10000000); }
static void build_chain_f32(case_graph *c, bool quick) { build_chain_of(c, LT_F32, quick ? 10000000 : 100000000); }

/* Compiled without fusion, 100 kernels that compute next to nothing: what is left is what launching costs. */
static void build_launches(case_graph *c, bool quick)
{
    (void)quick;
    lt_node x = case_input(c, "x", LT_F32, lt_shape1(1024), 1), y = x;
    for (int i = 0; i < 50; i++) y = lt_mul(c->g, lt_add(c->g, y, x), x);
    give(c, y);
}

static void build_sum_exp(case_graph *c, bool quick)
{
    (void)quick;
    lt_node x = case_input(c, "x", LT_F32, lt_shape1(1000000), 1);
    give(c, lt_sum(c->g, lt_exp(c->g, lt_neg(c->g, lt_square(c->g, x)))));
}

static void build_softmax(case_graph *c, bool quick)
{
    lt_node x = case_input(c, "x", LT_F32, lt_shape2(quick ? 256 : 2048, 1024), 1);
    give(c, lt_softmax(c->g, x, -1));
}

/* Normalise, scale and shift, GELU: what follows a convolution in the operators. */
static void build_group_norm(case_graph *c, bool quick)
{
    int64_t side = quick ? 32 : 128;
    lt_node x = case_input(c, "x", LT_F32, lt_shape4(5, 64, side, side), 1);
    lt_node gamma = case_input(c, "gamma", LT_F32, lt_shape1(64), 1), beta = case_input(c, "beta", LT_F32, lt_shape1(64), 1);
    give(c, lt_gelu(c->g, lt_groupnorm(c->g, x, 8, gamma, beta, 1e-5)));
}

/* ---- Matrices and convolutions ------------------------------------------------------------ */

static void square_product(case_graph *c, lt_dtype t, int64_t n)
{
    lt_node a = case_input(c, "a", t, lt_shape2(n, n), 1), b = case_input(c, "b", t, lt_shape2(n, n), 1);
    give(c, lt_matmul(c->g, a, b));
}

static void build_matmul(case_graph *c, bool quick) { square_product(c, LT_F32, quick ? 512 : 1024); }
static void build_matmul_f64(case_graph *c, bool quick) { square_product(c, LT_F64, quick ? 512 : 1024); }

/* 64 -> 64 channels, 3 x 3, on 128 x 128, batch 5. */
static lt_node convolution(case_graph *c, bool quick, bool bias)
{
    static const lt_conv_options same = { sizeof same, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, false };
    int64_t side = quick ? 32 : 128;
    lt_node x = case_input(c, "x", LT_F32, lt_shape4(5, 64, side, side), 1);
    lt_node w = case_input(c, "w", LT_F32, lt_shape4(64, 64, 3, 3), 0.04);
    lt_node b = bias ? case_input(c, "b", LT_F32, lt_shape1(64), 1) : LT_NONE;
    return lt_conv2d(c->g, x, w, b, &same);
}

static void build_conv(case_graph *c, bool quick) { give(c, convolution(c, quick, false)); }
static void build_conv_gelu(case_graph *c, bool quick) { give(c, lt_gelu(c->g, convolution(c, quick, true))); }

/* LeNet-5 on 3 x 32 x 32 images with cross-entropy: value and the gradient of all 62006 parameters. */
static void build_lenet(case_graph *c, lt_dtype t, int64_t batch)
{
    lt_graph *g = c->g;
    lt_node w1 = case_input(c, "w1", t, lt_shape4(6, 3, 5, 5), 0.1), b1 = case_input(c, "b1", t, lt_shape1(6), 0.1);
    lt_node w2 = case_input(c, "w2", t, lt_shape4(16, 6, 5, 5), 0.08), b2 = case_input(c, "b2", t, lt_shape1(16), 0.1);
    lt_node w3 = case_input(c, "w3", t, lt_shape2(120, 400), 0.05), b3 = case_input(c, "b3", t, lt_shape1(120), 0.1);
    lt_node w4 = case_input(c, "w4", t, lt_shape2(84, 120), 0.09), b4 = case_input(c, "b4", t, lt_shape1(84), 0.1);
    lt_node w5 = case_input(c, "w5", t, lt_shape2(10, 84), 0.1), b5 = case_input(c, "b5", t, lt_shape1(10), 0.1);
    lt_node x = case_input(c, "images", t, lt_shape4(batch, 3, 32, 32), 1);
    lt_node labels = case_input(c, "labels", LT_I64, lt_shape1(batch), 10);
    lt_node h = lt_maxpool2d(g, lt_relu(g, lt_conv2d(g, x, w1, b1, NULL)), 2, 2, 0);
    h = lt_maxpool2d(g, lt_relu(g, lt_conv2d(g, h, w2, b2, NULL)), 2, 2, 0);
    h = lt_reshape(g, h, lt_shape2(batch, 400));
    h = lt_relu(g, lt_linear(g, h, w3, b3));
    h = lt_relu(g, lt_linear(g, h, w4, b4));
    give_with_gradient(c, lt_cross_entropy(g, lt_linear(g, h, w5, b5), labels), 10);
}

static void build_lenet_f32(case_graph *c, bool quick) { build_lenet(c, LT_F32, quick ? 32 : 256); }
static void build_lenet_f64(case_graph *c, bool quick) { build_lenet(c, LT_F64, quick ? 32 : 256); }

/* All 900 rows of d (V'V - I) / dV in one sweep. */
static void build_jacobian(case_graph *c, bool quick)
{
    int64_t n = quick ? 10 : 30;
    lt_node v = case_input(c, "v", LT_F64, lt_shape2(n, n), 1), rows;
    lt_node y = lt_sub(c->g, lt_matmul(c->g, lt_transpose(c->g, v), v), lt_eye(c->g, LT_F64, n));
    if (!lt_jacobian(c->g, &y, 1, v, &rows)) give(c, rows);
}

const case_row case_rosenbrock = { "rosenbrock", "nonsmooth Rosenbrock, value and gradient, f64", build_rosenbrock };
const case_row case_chain = { "chain", "8 elementwise ops on 10^7 f64", build_chain };
const case_row case_chain_f32 = { "chain_f32", "8 elementwise ops on 10^8 f32", build_chain_f32 };
const case_row case_launches = { "launches", "100 small kernels of one program", build_launches };
const case_row case_sum_exp = { "sum_exp", "sum(exp(-x^2)) over 10^6 f32", build_sum_exp };
const case_row case_matmul = { "matmul_f32", "matmul 1024^3, f32", build_matmul };
const case_row case_matmul_f64 = { "matmul_f64", "matmul 1024^3, f64", build_matmul_f64 };
const case_row case_conv = { "conv", "conv 64->64 3x3 on 128x128, batch 5, f32", build_conv };
const case_row case_conv_gelu = { "conv_gelu", "the same with bias and GELU", build_conv_gelu };
const case_row case_lenet_f32 = { "lenet_f32", "LeNet-5, 256 images, value and gradient, f32", build_lenet_f32 };
const case_row case_lenet_f64 = { "lenet_f64", "LeNet-5, 256 images, value and gradient, f64", build_lenet_f64 };
const case_row case_jacobian = { "jacobian", "Jacobian of V'V - I, V 30x30, 900 rows, f64", build_jacobian };
const case_row case_softmax = { "softmax", "softmax of 2048 rows of 1024, f32", build_softmax };
const case_row case_group_norm = { "group_norm", "group norm and GELU on 5x64x128x128, f32", build_group_norm };

/* ---- Running one ------------------------------------------------------------------------------ */

static void fill(lt_dtype t, int64_t n, double spread, lt_rng *r, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (t == LT_I64) ((int64_t *)to)[i] = (int64_t)lt_rng_below(r, (uint64_t)spread);
        else if (t == LT_F64) ((double *)to)[i] = spread * (2 * lt_rng_uniform(r) - 1);
        else ((float *)to)[i] = (float)(spread * (2 * lt_rng_uniform(r) - 1));
    }
}

/* 64-byte aligned memory for one value of the graph, touched so that its pages are there. */
static void *memory_for(const lt_graph *g, lt_node n, int64_t *count)
{
    lt_shape s = lt_node_shape(g, n);
    *count = lt_shape_count(&s);
    size_t bytes = ((size_t)*count * lt_dtype_size(lt_node_dtype(g, n)) + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes ? bytes : 64);
    if (p) memset(p, 0, bytes);
    return p;
}

static lt_status prepare(case_graph *c, const lt_compile_options *opt, uint64_t seed, case_run *out)
{
    CLI_TRY(lt_graph_status(c->g));
    CLI_TRY(lt_program_create(c->g, c->output, c->n_outputs, opt, &out->program));
    out->info = lt_program_get_info(out->program);
    lt_rng r = lt_rng_seed(seed);
    int64_t count;
    for (int i = 0; i < c->n_inputs; i++) {
        if (!(out->input[i] = memory_for(c->g, c->input[i], &count))) return cli_fail(LT_ERR_MEMORY, "out of memory for input %d", i);
        out->input_count[i] = count;
        fill(lt_node_dtype(c->g, c->input[i]), count, c->spread[i], &r, out->input[i]);
    }
    for (int i = 0; i < c->n_outputs; i++)
        if (!(out->output[i] = memory_for(c->g, c->output[i], &count))) return cli_fail(LT_ERR_MEMORY, "out of memory for output %d", i);
    out->n_inputs = c->n_inputs;
    out->n_outputs = c->n_outputs;
    return LT_OK;
}

lt_status case_open(const case_row *row, bool quick, const lt_compile_options *opt, uint64_t seed, case_run *out)
{
    memset(out, 0, sizeof *out);
    case_graph c = { 0 };
    CLI_TRY(lt_graph_create(&c.g));
    row->build(&c, quick);
    lt_status s = prepare(&c, opt, seed, out);
    lt_graph_destroy(c.g);
    if (s) case_close(out);
    return s;
}

void case_close(case_run *r)
{
    lt_program_destroy(r->program);
    for (int i = 0; i < CASE_MAX_IO; i++) {
        free(r->input[i]);
        free(r->output[i]);
    }
    memset(r, 0, sizeof *r);
}

lt_status case_call(void *run)
{
    case_run *r = run;
    return lt_program_run(r->program, (const void *const *)r->input, r->output);
}

lt_status case_measure(case_run *r, lt_device *dev, double budget, cli_timing *out)
{
    enum { SAMPLES = 15 };
    double sample[SAMPLES], once;
    if (!cli_on_gpu(dev)) return cli_time(case_call, r, budget, out);
    CLI_TRY(case_call(r));
    CLI_TRY(lt_program_time(r->program, 1, &once));
    double wanted = budget / SAMPLES / (once > 1e-6 ? once : 1e-6);
    int repeats = wanted < 1 ? 1 : wanted > 1000 ? 1000 : (int)wanted;
    for (int i = 0; i < SAMPLES; i++) {
        if (cli_interrupted()) return cli_stopped();
        CLI_TRY(lt_program_time(r->program, repeats, &sample[i]));
        for (int k = i; k > 0 && sample[k] < sample[k - 1]; k--) {
            double t = sample[k];
            sample[k] = sample[k - 1];
            sample[k - 1] = t;
        }
    }
    *out = (cli_timing){ .median = sample[SAMPLES / 2], .low = sample[SAMPLES / 4], .high = sample[SAMPLES - 1 - SAMPLES / 4],
                         .samples = SAMPLES, .calls_per_sample = repeats };
    return LT_OK;
}

lt_status case_compile_large(int n_nodes, const lt_compile_options *opt, double *seconds)
{
    double start = cli_now();
    lt_graph *g;
    CLI_TRY(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape2(16, 16)), y = x;
    /* Matrix products and sums break the chain, so that it is not one fused kernel. */
    for (int i = 0; lt_graph_node_count(g) < n_nodes; i++) {
        if (i % 16 == 15) y = lt_scale(g, lt_matmul(g, y, x), 1.0 / 16);
        else if (i % 16 == 7) y = lt_sub(g, y, lt_mean_axis(g, y, 1, true));
        else y = lt_tanh(g, lt_add(g, y, lt_scale(g, x, 1 + i * 1e-3)));
    }
    lt_node out = lt_sum(g, y);
    lt_program *p = NULL;
    lt_status s = lt_program_create(g, &out, 1, opt, &p);
    *seconds = cli_now() - start;
    lt_program_destroy(p);
    lt_graph_destroy(g);
    return s;
}
