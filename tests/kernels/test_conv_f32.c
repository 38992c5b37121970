/* Convolutions in plain f32 of the CUDA device, run by the CPU thread by thread: every tile against the plain row, and
   one tile against the other bit by bit. SPDX-License-Identifier: BSD-3-Clause */
#include "conv_chain.h"
#include "host_library.h"
#include "ops_test.h"

#include "kernels/cuda/rows.h"

/* ---- A device whose kernels are libraries of the CPU ---- */
typedef void run_launch(int turns, unsigned blocks, unsigned threads, size_t shared_bytes, int backwards, void **arg);
typedef struct host_kernel { lt_kernel base; run_launch *launch; bool turns; unsigned blocks, threads; size_t shared_bytes; } host_kernel;
static int backwards; /* the order of threads: what depends on it lacks a barrier */

static void destroy(lt_kernel *k) { lt_free(k); }

static run_launch *compile(const char *source)
{
    run_launch *found = NULL;
    void *library = host_library_open(source, "-ffp-contract=off -fno-strict-aliasing -w", "conv_f32_host.cc"); /* stays: kernels come and go */
    if (library) *(void **)&found = dlsym(library, "run_launch");
    return found;
}

/* Both kernels of a convolution are of one text. */
static run_launch *find_or_compile(const char *source)
{
    static char *known;
    static run_launch *launch;
    if (known && strcmp(known, source) == 0) return launch;
    free(known);
    known = strdup(source);
    return launch = compile(source);
}

static lt_status build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    host_kernel *k = lt_calloc(1, sizeof *k);
    (void)dev;
    *out = NULL;
    if (!k) return LT_ERR_MEMORY;
    *k = (host_kernel){ .base = { .name = "host", .destroy = destroy, .n_args = key->n_args }, .launch = find_or_compile(key->source),
                        .turns = strcmp(key->entry, "turn") == 0, .blocks = key->grid[0], .threads = key->block[0], .shared_bytes = key->shared_bytes };
    if (!k->launch) return destroy(&k->base), LT_FAIL(LT_ERR_UNSUPPORTED, "the C++ compiler refuses kernel '%s'", key->name);
    *out = &k->base;
    return LT_OK;
}

static lt_status launch(lt_stream *st, const lt_launch *at)
{
    const host_kernel *k = (const host_kernel *)at->kernel;
    if (at->kernel->enqueue) return at->kernel->enqueue(at->kernel, st, at->arg);
    k->launch(k->turns, k->blocks, k->threads, k->shared_bytes, backwards, at->arg);
    return LT_OK;
}

static const lt_backend backend = { .name = "host", .build = build, .launch = launch };
static lt_device device = { .backend = &backend, .id = "host" };

/* ---- Problems ---- */
typedef struct conv_case { int64_t n, c, h, w, o, kh, kw, stride[2], pad[2], dilation[2]; } conv_case;
typedef struct problem { lt_attr attr; lt_problem_key key; } problem;

static lt_shape image(bool last, int64_t n, int64_t c, int64_t h, int64_t w) { return last ? lt_shape4(n, h, w, c) : lt_shape4(n, c, h, w); }

static int64_t extent(const conv_case *c, int d)
{
    int64_t in = d ? c->w : c->h, k = d ? c->kw : c->kh;
    return (in + 2 * c->pad[d] - (k - 1) * c->dilation[d] - 1) / c->stride[d] + 1;
}

static void describe(const conv_case *c, lt_op op, bool last, problem *out)
{
    out->attr = (lt_attr){ .u.conv = { .kernel = { c->kh, c->kw }, .stride = { c->stride[0], c->stride[1] }, .pad = { c->pad[0], c->pad[1] },
                                       .dilation = { c->dilation[0], c->dilation[1] }, .size = { c->h, c->w }, .groups = 1, .channels_last = last } };
    lt_tensor_type x = ops_type(LT_F32, image(last, c->n, c->c, c->h, c->w)), w = ops_type(LT_F32, lt_shape4(c->o, c->c, c->kh, c->kw));
    lt_tensor_type y = ops_type(LT_F32, image(last, c->n, c->o, extent(c, 0), extent(c, 1)));
    out->key = (lt_problem_key){ .op = op, .n_in = 2, .attr = &out->attr, .isa = LT_ISA_PLAIN };
    out->key.in[0] = op == LT_OP_CONV2D ? x : y, out->key.in[1] = w;
    out->key.out = op == LT_OP_CONV2D ? y : x;
}

/* Weights turned at the run, or beforehand, and threads in either order. */
static void run(const lt_problem_key *p, void *const *in, float *out, bool ahead)
{
    lt_stream st = { .dev = &device };
    lt_kernel *k = NULL;
    LT_CHECK_OK(lt_conv_f32_prepare(&device, p, &k));
    if (!k) return;
    void *room = lt_malloc_aligned(k->scratch_bytes);
    void *arg[] = { in[0], in[1], out, room };
    memset(room, 0xff, k->scratch_bytes);
    memset(out, 0xff, lt_tensor_bytes(&p->out));
    backwards = ahead;
    if (ahead) LT_CHECK_OK(k->queue_pack(k, &st, in[1], room));
    if (ahead) k->packed = room, arg[3] = NULL;
    LT_CHECK_OK(lt_stream_launch(&st, &(lt_launch){ k, arg }));
    lt_free_aligned(room);
    lt_kernel_destroy(k);
}

static void check(const conv_case *c, lt_op op, bool last)
{
    problem f;
    describe(c, op, last, &f);
    const lt_kernel_row *plain = ops_plain_row(&f.key);
    int64_t n = lt_tensor_count(&f.key.out);
    void *in[2] = { ops_random_tensor(&f.key.in[0]), ops_random_tensor(&f.key.in[1]) };
    double *want = ops_result(plain, &f.key, in), most = 0;
    float *first = ops_alloc(&f.key.out), *got = ops_alloc(&f.key.out);
    char name[16][LT_CUDA_VARIANT_TEXT];
    int n_tiles = lt_conv_f32_variants(&device, &f.key, name, 16);
    LT_CHECK(n_tiles > 1);
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
    for (int t = 0; t < n_tiles; t++) {
        f.key.variant = name[t];
        run(&f.key, in, t ? got : first, t % 2);
        if (t && memcmp(first, got, lt_tensor_bytes(&f.key.out))) LT_TEST_FAIL("%s: other bits than %s", name[t], name[0]);
    }
    for (int64_t i = 0; i < n; i++) {
        if (fabs(first[i] - want[i]) <= 1e-5 * (1 + most)) continue;
        LT_TEST_FAIL("%s last=%d: element %lld is %g, expected %g", lt_op_name(op), last, (long long)i, first[i], want[i]);
        break;
    }
    free(in[0]), free(in[1]), free(want), free(first), free(got);
}

/* Bias, factor and ReLU inside the kernel, against the same after the plain row. */
static void check_chain(const conv_case *c, bool last)
{
    problem f;
    chain after;
    describe(c, LT_OP_CONV2D, last, &f);
    int64_t n = lt_tensor_count(&f.key.out), inner = last ? 1 : extent(c, 0) * extent(c, 1);
    lt_tensor_type of_bias = ops_type(LT_F32, lt_shape1(c->o));
    void *in[2] = { ops_random_tensor(&f.key.in[0]), ops_random_tensor(&f.key.in[1]) };
    float *bias = ops_random_tensor(&of_bias), *factor = ops_random_tensor(&f.key.out), *got = ops_alloc(&f.key.out);
    double *want = ops_result(ops_plain_row(&f.key), &f.key, in), most = 0;
    lt_stream st = { .dev = &device };
    lt_kernel *k = NULL;
    for (int64_t i = 0; i < n; i++) want[i] = fmax((want[i] + bias[i / inner % c->o]) * factor[i], 0), most = fmax(most, want[i]);
    chain_behind(&f.key.out, last ? 3 : 1, LT_OP_RELU, &after);
    f.key.epilogue = &after.f;
    LT_CHECK_OK(lt_conv_f32_prepare(&device, &f.key, &k));
    if (k) {
        void *room = lt_malloc_aligned(k->scratch_bytes);
        LT_CHECK_OK(lt_stream_launch(&st, &(lt_launch){ k, (void *[]){ in[0], in[1], NULL, bias, factor, got, room } }));
        lt_free_aligned(room);
        for (int64_t i = 0; i < n; i++) LT_CHECK(fabs(got[i] - want[i]) <= 1e-5 * (1 + most));
    }
    lt_kernel_destroy(k);
    free(in[0]), free(in[1]), free(want), free(bias), free(factor), free(got);
}

static const conv_case cases[] = {
    { 1, 16, 9, 21, 70, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 } },   /* channels of one tap; ends inside tiles */
    { 3, 5, 11, 12, 9, 5, 3, { 1, 1 }, { 2, 0 }, { 1, 2 } },    /* slices over several taps, images inside a tile */
    { 2, 32, 8, 8, 20, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 } },
    { 2, 3, 17, 16, 64, 3, 3, { 2, 3 }, { 1, 1 }, { 2, 1 } },
};

LT_TEST(every_tile_agrees_with_the_plain_row)
{
    if (!host_library_possible()) LT_SKIP("no C++ compiler");
    for (size_t i = 0; i < LT_LEN(cases); i++)
        for (int last = 0; last < 2; last++) {
            check(&cases[i], LT_OP_CONV2D, last);
            if (cases[i].stride[0] == 1) check(&cases[i], LT_OP_CONV2D_DGRAD, last);
        }
}

LT_TEST(what_follows_is_computed_inside)
{
    if (!host_library_possible()) LT_SKIP("no C++ compiler");
    for (int last = 0; last < 2; last++) check_chain(&cases[0], last);
}

LT_TEST_MAIN()
