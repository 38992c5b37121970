/* CONV2D, its transposes and pooling: every row against the plain one, which faces the adjoint
   identities. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

#include "kernels/window.h"

typedef struct conv_case { int64_t n, c, h, w, o, kh, kw, stride[2], pad[2], dilation[2], groups; } conv_case;

static const conv_case cases[] = {
    { 1, 1, 1, 1, 1, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1 },
    { 2, 3, 8, 9, 6, 5, 5, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1 },
    { 3, 4, 7, 6, 5, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 },
    { 2, 4, 9, 8, 6, 3, 2, { 2, 1 }, { 1, 0 }, { 1, 1 }, 2 },
    { 2, 3, 11, 10, 4, 3, 3, { 1, 1 }, { 2, 2 }, { 2, 2 }, 1 },
    { 2, 6, 10, 13, 6, 3, 3, { 2, 3 }, { 1, 2 }, { 2, 1 }, 6 },
    { 1, 2, 12, 5, 3, 1, 5, { 1, 1 }, { 0, 2 }, { 1, 1 }, 1 },
    { 2, 3, 8, 8, 17, 4, 4, { 4, 4 }, { 0, 0 }, { 1, 1 }, 1 },
    { 2, 5, 9, 9, 4, 2, 2, { 3, 3 }, { 0, 0 }, { 1, 1 }, 1 },   /* rows that no window touches */
    { 3, 16, 20, 33, 18, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 },
    { 1, 40, 96, 110, 40, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 }, /* several bands */
    { 37, 3, 14, 14, 6, 5, 5, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1 },  /* several groups of images */
};

static lt_shape image(bool last, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return last ? lt_shape4(n, h, w, c) : lt_shape4(n, c, h, w);
}

static int64_t out_size(const conv_case *c, int d)
{
    int64_t in = d ? c->w : c->h, k = d ? c->kw : c->kh;
    return (in + 2 * c->pad[d] - (k - 1) * c->dilation[d] - 1) / c->stride[d] + 1;
}

static lt_problem_key conv_key(const conv_case *c, lt_op op, lt_dtype t, bool last, lt_attr *attr)
{
    *attr = (lt_attr){ .u.conv = { .kernel = { c->kh, c->kw }, .stride = { c->stride[0], c->stride[1] }, .pad = { c->pad[0], c->pad[1] },
                                   .dilation = { c->dilation[0], c->dilation[1] }, .size = { c->h, c->w }, .groups = c->groups, .channels_last = last } };
    lt_tensor_type x = ops_type(t, image(last, c->n, c->c, c->h, c->w)), w = ops_type(t, lt_shape4(c->o, c->c / c->groups, c->kh, c->kw));
    lt_tensor_type y = ops_type(t, image(last, c->n, c->o, out_size(c, 0), out_size(c, 1)));
    lt_problem_key p = { .op = op, .n_in = 2, .attr = attr, .isa = lt_isa_best() };
    p.in[0] = op == LT_OP_CONV2D_DGRAD ? y : x;
    p.in[1] = op == LT_OP_CONV2D_WGRAD ? y : w;
    p.out = op == LT_OP_CONV2D ? y : op == LT_OP_CONV2D_DGRAD ? x : w;
    return p;
}

static int64_t terms(const conv_case *c, lt_op op)
{
    int64_t taps = c->kh * c->kw;
    return op == LT_OP_CONV2D ? taps * c->c : op == LT_OP_CONV2D_DGRAD ? taps * c->o : c->n * out_size(c, 0) * out_size(c, 1);
}

/* A device has one set of instructions, whatever the host's. */
static bool walked(lt_isa isa)
{
#ifdef OPS_CUDA
    return isa == lt_isa_best();
#else
    return lt_isa_usable(isa);
#endif
}

static const lt_op conv_ops[] = { LT_OP_CONV2D, LT_OP_CONV2D_DGRAD, LT_OP_CONV2D_WGRAD };
static const lt_dtype types[] = { LT_F64, LT_F32, LT_F16, LT_BF16 };

LT_TEST(conv_rows_agree)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(cases); i++)
            for (size_t o = 0; o < LT_LEN(conv_ops); o++)
                for (int last = 0; last < 2; last++) {
                    lt_attr attr;
                    if (t >= 2 && i >= 9 && i != 11) continue;
                    if (lt_test_brief() && (i >= 9 || i % 2)) continue;
                    if (i == 10 && (t != 1 || last != (o != 1))) continue; /* long in plain loops */
                    lt_problem_key p = conv_key(&cases[i], conv_ops[o], types[t], last, &attr);
                    ops_walk_random(&p, terms(&cases[i], conv_ops[o]));
                }
}

LT_TEST(conv_rows_agree_on_lower_instruction_sets)
{
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (size_t i = 1; walked((lt_isa)isa) && i < 10; i++)
            for (size_t o = 0; o < LT_LEN(conv_ops); o++)
                for (size_t t = 0; t < 2; t++) {
                    lt_attr attr;
                    lt_problem_key p = conv_key(&cases[i], conv_ops[o], types[t], false, &attr);
                    p.isa = (lt_isa)isa;
                    ops_walk_random(&p, terms(&cases[i], conv_ops[o]));
                }
}

/* Windows that transformed tiles serve: sizes that end inside a tile and inside a vector, padding of any kind. */
LT_TEST(conv_tiles_agree)
{
    static const conv_case tiled[] = {
        { 2, 17, 11, 14, 35, 7, 7, { 1, 1 }, { 3, 3 }, { 1, 1 }, 1 }, { 1, 16, 19, 10, 16, 7, 7, { 1, 1 }, { 0, 1 }, { 1, 1 }, 1 },
        { 2, 18, 13, 9, 33, 5, 5, { 1, 1 }, { 2, 2 }, { 1, 1 }, 1 },  { 1, 48, 8, 30, 20, 5, 5, { 1, 1 }, { 0, 3 }, { 1, 1 }, 1 },
        { 3, 31, 6, 21, 64, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 },  { 1, 16, 70, 50, 16, 3, 3, { 1, 1 }, { 2, 0 }, { 1, 1 }, 1 },
        { 2, 17, 29, 31, 34, 7, 7, { 1, 1 }, { 3, 3 }, { 1, 1 }, 1 }, { 1, 20, 36, 34, 18, 5, 5, { 1, 1 }, { 0, 4 }, { 1, 1 }, 1 },
    };
    for (int isa = 0; isa < LT_ISA_COUNT; isa++)
        for (size_t i = 0; walked((lt_isa)isa) && i < LT_LEN(tiled); i += lt_test_brief() ? 3 : 1)
            for (size_t o = 0; o < LT_LEN(conv_ops); o++)
                for (size_t t = 1; t < LT_LEN(types); t++) {
                    lt_attr attr;
                    lt_problem_key p = conv_key(&tiled[i], conv_ops[o], types[t], true, &attr);
                    p.isa = (lt_isa)isa;
                    ops_walk_random(&p, terms(&tiled[i], conv_ops[o]));
                }
}

LT_TEST(conv_of_more_tiles_than_a_block_has)
{
    static const conv_case c[] = { { 1, 16, 96, 75, 17, 7, 7, { 1, 1 }, { 3, 2 }, { 1, 1 }, 1 }, { 1, 16, 9, 1090, 16, 5, 5, { 1, 1 }, { 2, 2 }, { 1, 1 }, 1 } };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        lt_attr attr;
        lt_problem_key p = conv_key(&c[i], LT_OP_CONV2D, LT_F32, true, &attr);
        ops_walk_random(&p, terms(&c[i], LT_OP_CONV2D));
    }
}

#ifndef OPS_CUDA
/* Several runs of one kernel at once, with filters larger than a cache: to the bit what each gives by itself. */
static void check_abreast(const lt_problem_key *p, const lt_kernel_row *row)
{
    enum { RUNS = 3 };
    lt_kernel *k = NULL;
    LT_CHECK_OK(row->prepare(p, &k));
    LT_CHECK(k->run_abreast != NULL);
    void *w = ops_random_tensor(&p->in[1]), *arg[RUNS][4], *const *all[RUNS], *want = ops_alloc(&p->out);
    k->packed = lt_malloc_aligned(k->packed_bytes);
    LT_CHECK_OK(k->pack(k, ops_pool(2), w, k->packed));
    for (int i = 0; i < RUNS; i++) {
        void *each[] = { ops_random_tensor(&p->in[0]), w, ops_alloc(&p->out), lt_malloc_aligned(k->scratch_bytes) };
        memcpy(arg[i], each, sizeof each);
        all[i] = arg[i];
    }
    for (int threads = 1; threads <= 2; threads++) {
        for (int i = 0; i < RUNS; i++) memset(arg[i][2], 0xff, lt_tensor_bytes(&p->out));
        LT_CHECK_OK(k->run_abreast(k, ops_pool(threads), RUNS, all));
        for (int i = 0; i < RUNS; i++) {
            void *const alone[] = { arg[i][0], w, want, arg[i][3] };
            LT_CHECK_OK(k->run(k, ops_pool(1), alone));
            if (memcmp(want, arg[i][2], lt_tensor_bytes(&p->out))) LT_TEST_FAIL("%s %s: run %d of %d differs", row->name, lt_isa_name(p->isa), i, RUNS);
        }
    }
    for (int i = 0; i < RUNS; i++) free(arg[i][0]), free(arg[i][2]), lt_free_aligned(arg[i][3]);
    lt_free_aligned(k->packed);
    lt_kernel_destroy(k);
    free(w), free(want);
}

LT_TEST(conv_runs_abreast_have_the_same_bits)
{
    static const conv_case c = { 1, 90, 60, 64, 94, 5, 5, { 1, 1 }, { 2, 2 }, { 1, 1 }, 1 };
    for (int isa = LT_ISA_AVX2; isa < LT_ISA_COUNT; isa++) {
        if (!walked((lt_isa)isa)) continue;
        lt_attr attr;
        lt_problem_key p = conv_key(&c, LT_OP_CONV2D, LT_F32, true, &attr);
        p.isa = (lt_isa)isa;
        const lt_kernel_row *row[16];
        if (lt_kernel_candidates(&p, row, 16)) check_abreast(&p, row[0]);
        else LT_TEST_FAIL("no row");
    }
}
#endif

/* Enough channels and pixels for tiles of a GPU, which end inside them: channels that fill slices and such that do not. */
static const conv_case blocks[] = {
    { 2, 16, 33, 41, 70, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 }, { 3, 37, 45, 36, 65, 5, 3, { 1, 1 }, { 2, 0 }, { 1, 2 }, 1 },
    { 5, 32, 61, 40, 64, 3, 3, { 2, 1 }, { 1, 1 }, { 1, 1 }, 1 }, { 1, 64, 50, 51, 132, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1 },
    { 2, 40, 48, 40, 33, 3, 3, { 1, 1 }, { 2, 1 }, { 1, 1 }, 1 },
};

LT_TEST(conv_blocks_agree)
{
    for (size_t i = 0; i < LT_LEN(blocks); i += lt_test_brief() ? 3 : 1)
        for (size_t o = 0; o < 2; o++)
            for (int last = 0; last < 2; last++) {
                lt_attr attr;
                lt_problem_key p = conv_key(&blocks[i], conv_ops[o], LT_F32, last, &attr);
                ops_walk_random(&p, terms(&blocks[i], conv_ops[o]));
            }
}

LT_TEST(weight_gradients_of_several_seeds)
{
    const conv_case *c = &cases[2];
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (int which = 1; which < 4; which++)
            for (int last = 0; last < 2; last++) {
                lt_attr attr;
                lt_problem_key p = conv_key(c, LT_OP_CONV2D_WGRAD, types[t], last, &attr);
                for (int i = 0; i < 2; i++) {
                    if (!(which >> i & 1)) continue;
                    lt_shape s = p.in[i].shape;
                    p.in[i].shape = lt_shape_of(5, (int64_t[]){ 3, s.dim[0], s.dim[1], s.dim[2], s.dim[3] });
                }
                lt_shape w = p.out.shape;
                p.out.shape = lt_shape_of(5, (int64_t[]){ 3, w.dim[0], w.dim[1], w.dim[2], w.dim[3] });
                ops_walk_random(&p, terms(c, LT_OP_CONV2D_WGRAD));
            }
}

LT_TEST(conv_of_nothing)
{
    conv_case c = cases[1];
    c.n = 0;
    for (size_t o = 0; o < LT_LEN(conv_ops); o++) {
        lt_attr attr;
        lt_problem_key p = conv_key(&c, conv_ops[o], LT_F32, false, &attr);
        ops_walk_random(&p, 1);
    }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* <conv(x, w), y> = <x, dgrad(y, w)> = <w, wgrad(x, y)>, by the plain rows. */
LT_TEST(conv_adjoints)
{
    for (size_t i = 0; i < 10; i++) {
        lt_attr attr;
        lt_problem_key f = conv_key(&cases[i], LT_OP_CONV2D, LT_F64, i & 1, &attr);
        lt_problem_key d = conv_key(&cases[i], LT_OP_CONV2D_DGRAD, LT_F64, i & 1, &attr);
        lt_problem_key g = conv_key(&cases[i], LT_OP_CONV2D_WGRAD, LT_F64, i & 1, &attr);
        double *x = ops_random_tensor(&f.in[0]), *w = ops_random_tensor(&f.in[1]), *y = ops_random_tensor(&f.out);
        double *cx = ops_result(ops_plain_row(&f), &f, (void *[]){ x, w }), *dy = ops_result(ops_plain_row(&d), &d, (void *[]){ y, w });
        double *gw = ops_result(ops_plain_row(&g), &g, (void *[]){ x, y });
        double want = dot(cx, y, lt_tensor_count(&f.out));
        LT_CHECK_NEAR(dot(x, dy, lt_tensor_count(&f.in[0])), want, 1e-10);
        LT_CHECK_NEAR(dot(w, gw, lt_tensor_count(&f.in[1])), want, 1e-10);
        free(x), free(w), free(y), free(cx), free(dy), free(gw);
    }
}

LT_TEST(conv_by_hand) /* 1 2 3 / 4 5 6 / 7 8 9 under [[1, 0], [0, -1]] */
{
    conv_case c = { 1, 1, 3, 3, 1, 2, 2, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1 };
    lt_attr attr;
    lt_problem_key p = conv_key(&c, LT_OP_CONV2D, LT_F64, false, &attr);
    double x[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, w[4] = { 1, 0, 0, -1 };
    double *y = ops_result(ops_plain_row(&p), &p, (void *[]){ x, w });
    for (int i = 0; i < 4; i++) LT_CHECK(y[i] == -4);
    free(y);
}

/* ---- Epilogues -------------------------------------------------------------------------------- */
typedef struct epilogue_case { bool bias; lt_op activation, extra; } epilogue_case; /* LT_OP_COUNT = none */

static double activate(lt_op op, double x)
{
    switch (op) {
    case LT_OP_RELU: return x < 0 ? 0 : x;
    case LT_OP_GELU: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case LT_OP_TANH: return tanh(x);
    case LT_OP_SIGMOID: return 1 / (1 + exp(-x));
    case LT_OP_SQUARE: return x * x;
    default: return x;
    }
}

#ifdef OPS_CUDA
enum { NAN_MAY_SPREAD = 0 };
#else
enum { NAN_MAY_SPREAD = 1 }; /* by the transforms of Winograd */
#endif

/* What is not a number stays so, whatever follows. */
static void check_epilogue_of(const conv_case *c, lt_dtype t, bool last, const epilogue_case *e, bool with_nan)
{
    lt_attr attr;
    lt_problem_key p = conv_key(c, LT_OP_CONV2D, t, last, &attr);
    lt_affine whole = { 0 }, channel = { 0 };
    int64_t at = 1;
    int channel_dim = last ? 3 : 1;
    for (int d = 3; d >= 0; d--) whole.stride[d] = at, at *= p.out.shape.dim[d];
    channel.stride[channel_dim] = 1;
    lt_fused_load loads[2] = { { 0, 0, t, whole }, { 1, 1, t, channel } };
    lt_fused_step steps[3];
    int n_steps = 0, reg = 0;
    if (e->bias) steps[n_steps++] = (lt_fused_step){ LT_OP_ADD, 2, { 0, 1 } }, reg = 2;
    if (e->activation != LT_OP_COUNT) steps[n_steps++] = (lt_fused_step){ e->activation, 3, { reg } }, reg = 3;
    if (e->extra != LT_OP_COUNT) steps[n_steps++] = (lt_fused_step){ e->extra, 4, { reg } }, reg = 4;
    lt_fused_store store = { reg, 2, t, whole };
    lt_fused f = { .type = lt_compute_type(t), .domain = p.out.shape, .n_regs = 5, .n_args = 3, .n_loads = e->bias ? 2 : 1, .n_steps = n_steps,
                   .n_stores = 1, .loads = loads, .steps = steps, .stores = &store };
    lt_tensor_type bias_type = ops_type(t, lt_shape1(c->o));
    void *x = ops_random_tensor(&p.in[0]), *w = ops_random_tensor(&p.in[1]), *bias = ops_random_tensor(&bias_type);
    if (with_nan) lt_store_double(t, x, 1, NAN);
    void *raw = ops_alloc(&p.out), *got = ops_alloc(&p.out);
    double *plain = ops_result(ops_plain_row(&p), &p, (void *[]){ x, w }), biggest = 0;
    for (int64_t i = 0; i < lt_tensor_count(&p.out); i++) biggest = fmax(biggest, fabs(plain[i])); /* passes over NaN */
    double tolerance = (t == LT_F64 ? 1e-12 : t == LT_F32 ? 4e-6 : 4 * ops_unit(t)) * (1 + biggest); /* small results are differences of large ones */
    p.epilogue = &f;
    const lt_kernel_row *row[8];
    int n_rows = lt_kernel_candidates(&p, row, 8);
    for (int r = 0; r < n_rows; r++) {
        memset(got, 0xff, lt_tensor_bytes(&p.out));
        LT_CHECK_OK(ops_run(row[r], &p, (void *[]){ x, w, raw, bias, got }, 2));
        for (int64_t i = 0; i < lt_tensor_count(&p.out); i++) {
            double b = e->bias ? lt_load_double(t, bias, i / whole.stride[channel_dim] % c->o) : 0;
            double want = activate(e->extra, activate(e->activation, plain[i] + b)), value = lt_load_double(t, got, i);
            if (fabs(value - want) <= tolerance * (1 + fabs(want)) || (isnan(value) && (isnan(want) || (with_nan && NAN_MAY_SPREAD)))) continue;
            LT_TEST_FAIL("%s %s: element %lld is %g, expected %g", row[r]->name, lt_op_name(e->activation), (long long)i, value, want);
            break;
        }
    }
    free(x), free(w), free(bias), free(raw), free(got), free(plain);
}
static void check_epilogue(const conv_case *c, lt_dtype t, bool last, const epilogue_case *e)
{
    check_epilogue_of(c, t, last, e, false);
    check_epilogue_of(c, t, last, e, true);
}

LT_TEST(conv_epilogues)
{
    static const epilogue_case e[] = { { true, LT_OP_COUNT, LT_OP_COUNT }, { true, LT_OP_RELU, LT_OP_COUNT }, { true, LT_OP_GELU, LT_OP_COUNT },
                                       { false, LT_OP_TANH, LT_OP_COUNT }, { true, LT_OP_SIGMOID, LT_OP_COUNT }, { true, LT_OP_RELU, LT_OP_SQUARE } };
    for (size_t i = 0; i < LT_LEN(e); i++)
        for (int last = 0; last < 2; last++) {
            check_epilogue(&cases[2], LT_F32, last, &e[i]);
            check_epilogue(&cases[2], LT_F64, last, &e[i]);
        }
    check_epilogue(&cases[10], LT_F32, true, &e[2]);
    for (int last = 0; last < 2; last++) {
        check_epilogue(&blocks[0], LT_F32, last, &e[2]);
        check_epilogue(&blocks[1], LT_F32, last, &e[5]);
    }
}

/* Channels that fill packs of 16 bytes: where one kernel may do it all. */
LT_TEST(conv_epilogues_in_16_bits)
{
    static const conv_case c = { 2, 16, 9, 10, 24, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 };
    static const epilogue_case e[] = { { true, LT_OP_COUNT, LT_OP_COUNT }, { true, LT_OP_RELU, LT_OP_COUNT }, { true, LT_OP_GELU, LT_OP_COUNT },
                                       { false, LT_OP_GELU, LT_OP_COUNT }, { true, LT_OP_RELU, LT_OP_SQUARE } };
    for (size_t i = 0; i < LT_LEN(e); i++)
        for (int last = 0; last < 2; last++) {
            check_epilogue(&c, LT_F16, last, &e[i]);
            check_epilogue(&c, LT_BF16, last, &e[i]);
        }
}

#ifdef OPS_CUDA
/* Every engine that may be chosen keeps the bound, not only the one that is: some round more than they say. */
LT_TEST(every_engine_of_a_convolution_agrees)
{
    static const conv_case c[] = { { 1, 48, 8, 30, 20, 5, 5, { 1, 1 }, { 0, 3 }, { 1, 1 }, 1 }, { 3, 31, 6, 21, 64, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 },
                                   { 2, 18, 13, 9, 33, 7, 7, { 1, 1 }, { 2, 2 }, { 1, 1 }, 1 }, { 4, 32, 16, 16, 32, 3, 3, { 2, 2 }, { 1, 1 }, { 1, 1 }, 1 },
                                   { 2, 40, 48, 40, 33, 3, 3, { 1, 1 }, { 2, 1 }, { 1, 1 }, 1 } };
    for (size_t i = 0; i < LT_LEN(c); i++)
        for (size_t o = 0; o < LT_LEN(conv_ops); o++)
            for (int last = 0; last < 2; last++) {
                static lt_cuda_way way[48];
                lt_attr attr;
                lt_problem_key p = conv_key(&c[i], conv_ops[o], LT_F32, last, &attr);
                int n = lt_cuda_ways(ops_gpu, &p, way, 48);
                LT_CHECK(n > 0);
                for (int k = 0; k < n; k++) {
                    lt_kernel *prepared = NULL;
                    lt_status s = lt_cuda_way_prepare(ops_gpu, &p, &way[k], &prepared);
                    lt_kernel_destroy(prepared);
                    if (s == LT_ERR_UNSUPPORTED) continue; /* listed, and refused when it comes to it */
                    ops_only_way = &way[k];
                    ops_walk_random(&p, terms(&c[i], conv_ops[o]));
                }
                ops_only_way = NULL;
            }
}
#endif

/* ---- Pooling ------------------------------------------------------------------------------------ */
static const conv_case pools[] = {
    { 2, 3, 8, 8, 3, 2, 2, { 2, 2 }, { 0, 0 }, { 1, 1 }, 1 },
    { 2, 3, 9, 11, 3, 3, 3, { 2, 2 }, { 1, 1 }, { 1, 1 }, 1 },
    { 1, 5, 7, 6, 5, 3, 2, { 1, 1 }, { 1, 0 }, { 1, 1 }, 1 },
    { 2, 2, 12, 13, 2, 2, 3, { 1, 2 }, { 0, 1 }, { 3, 2 }, 1 },
    { 1, 4, 5, 5, 4, 5, 5, { 5, 5 }, { 0, 0 }, { 1, 1 }, 1 },
    { 0, 4, 5, 5, 4, 5, 5, { 5, 5 }, { 0, 0 }, { 1, 1 }, 1 },
    { 16, 6, 28, 28, 6, 2, 2, { 2, 2 }, { 0, 0 }, { 1, 1 }, 1 },
};

LT_TEST(pooling_rows_agree)
{
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (size_t i = 0; i < LT_LEN(pools); i++)
            for (int last = 0; last < 2; last++) {
                lt_attr attr;
                lt_problem_key p = conv_key(&pools[i], LT_OP_CONV2D, types[t], last, &attr);
                p.n_in = 1;
                lt_problem_key avg = p, grad = p, max = p;
                avg.op = LT_OP_AVGPOOL, grad.op = LT_OP_AVGPOOL_GRAD, max.op = LT_OP_MAXPOOL_INDEX;
                grad.in[0] = p.out, grad.out = p.in[0];
                max.out.dtype = LT_I64;
                int64_t taps = pools[i].kh * pools[i].kw;
                ops_walk_random(&avg, taps + 2);
                ops_walk_random(&grad, taps + 2);
                ops_walk_random(&max, 0);
                void *x = ops_random_tensor(&max.in[0]);
                for (int64_t j = 0; j < lt_tensor_count(&max.in[0]); j++) /* many ties, some NaN and infinities */
                    lt_store_double(types[t], x, j, j % 7 == 3 ? NAN : j % 5 == 0 ? -INFINITY : (double)(j % 3));
                ops_walk(&max, &x, 0, 0);
                free(x);
            }
}

LT_TEST(maxpool_takes_the_first_of_ties)
{
    lt_attr attr;
    conv_case c = { 1, 1, 2, 4, 1, 2, 2, { 2, 2 }, { 0, 0 }, { 1, 1 }, 1 };
    lt_problem_key p = conv_key(&c, LT_OP_CONV2D, LT_F64, false, &attr);
    p.op = LT_OP_MAXPOOL_INDEX, p.n_in = 1, p.out.dtype = LT_I64;
    double x[8] = { 1, 3, -1, NAN, 3, 0, NAN, 5 };
    double *y = ops_result(ops_plain_row(&p), &p, (void *[]){ x });
    LT_CHECK(y[0] == 1 && y[1] == 3);
    free(y);
}

LT_TEST(average_adjoint)
{
    for (size_t i = 0; i < 5; i++) {
        lt_attr attr;
        lt_problem_key f = conv_key(&pools[i], LT_OP_CONV2D, LT_F64, false, &attr), g = f;
        f.op = LT_OP_AVGPOOL, g.op = LT_OP_AVGPOOL_GRAD, f.n_in = g.n_in = 1;
        g.in[0] = f.out, g.out = f.in[0];
        double *x = ops_random_tensor(&f.in[0]), *y = ops_random_tensor(&f.out);
        double *a = ops_result(ops_plain_row(&f), &f, (void *[]){ x }), *b = ops_result(ops_plain_row(&g), &g, (void *[]){ y });
        LT_CHECK_NEAR(dot(a, y, lt_tensor_count(&f.out)), dot(x, b, lt_tensor_count(&f.in[0])), 1e-12);
        free(x), free(y), free(a), free(b);
    }
}

LT_TEST_MAIN()
