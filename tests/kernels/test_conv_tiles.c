/* Convolution by matrix tiles: layouts, edges and bits, with tiles where the machine has them and always with the plain
   loops that walk the same memory. SPDX-License-Identifier: BSD-3-Clause */
#include "ops_test.h"

#include "kernels/cpu/conv/tiles/tiles.h"
#include "kernels/window.h"

static lt_status prepare_plain(const lt_problem_key *p, lt_kernel **out) { return lt_conv_tiles_prepare_with(p, &lt_tiles_plain, out); }
static lt_status prepare_amx(const lt_problem_key *p, lt_kernel **out) { return lt_conv_tiles_prepare_with(p, &lt_tiles_amx, out); }

static const lt_kernel_row plain_row = { "conv_tiles_plain", LT_OP_CONV2D, lt_conv_tiles_fits, prepare_plain };
static const lt_kernel_row amx_row = { "conv_tiles_amx", LT_OP_CONV2D, lt_conv_tiles_fits, prepare_amx };

typedef struct tiles_case { int64_t n, c, h, w, o, kh, kw, stride[2], pad[2], dilation[2]; } tiles_case;

static int64_t out_size(int64_t in, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation)
{
    return (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
}

static lt_problem_key key_of(const tiles_case *c, lt_attr *attr)
{
    *attr = (lt_attr){ .u.conv = { .kernel = { c->kh, c->kw }, .stride = { c->stride[0], c->stride[1] }, .pad = { c->pad[0], c->pad[1] },
                                   .dilation = { c->dilation[0], c->dilation[1] }, .size = { c->h, c->w }, .groups = 1, .channels_last = true } };
    lt_problem_key p = { .op = LT_OP_CONV2D, .n_in = 2, .attr = attr, .isa = lt_isa_best() };
    p.in[0] = ops_type(LT_BF16, lt_shape4(c->n, c->h, c->w, c->c));
    p.in[1] = ops_type(LT_BF16, lt_shape4(c->o, c->c, c->kh, c->kw));
    p.out = ops_type(LT_BF16, lt_shape4(c->n, out_size(c->h, c->pad[0], c->kh, c->stride[0], c->dilation[0]),
                                        out_size(c->w, c->pad[1], c->kw, c->stride[1], c->dilation[1]), c->o));
    return p;
}

/* Channels, outputs and pixels that end inside a tile, images of one band and of many, windows that begin outside. */
static const tiles_case cases[] = {
    { 1, 32, 4, 32, 32, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 } },
    { 1, 64, 33, 32, 64, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 2, 40, 7, 45, 3, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 1, 17, 20, 12, 50, 5, 5, { 1, 1 }, { 2, 2 }, { 1, 1 } },
    { 1, 33, 9, 70, 16, 3, 7, { 1, 1 }, { 2, 6 }, { 1, 1 } },
    { 3, 16, 11, 35, 33, 3, 3, { 2, 2 }, { 1, 1 }, { 1, 1 } },
    { 1, 24, 16, 21, 31, 3, 3, { 1, 1 }, { 2, 2 }, { 2, 2 } },
    { 1, 96, 40, 16, 32, 3, 3, { 3, 1 }, { 0, 0 }, { 1, 1 } },
    { 1, 16, 3, 9, 5, 1, 1, { 1, 1 }, { 3, 5 }, { 1, 1 } },
};

static void check(const lt_kernel_row *row)
{
    for (size_t i = 0; i < LT_LEN(cases); i++) {
        lt_attr attr;
        lt_problem_key p = key_of(&cases[i], &attr);
        if (!lt_conv_tiles_fits(&p)) LT_TEST_FAIL("case %zu does not fit", i);
        const lt_kernel_row *rows[] = { row, ops_plain_row(&p) };
        void *in[2] = { ops_random_tensor(&p.in[0]), ops_random_tensor(&p.in[1]) };
        ops_walk_rows(&p, in, 3, cases[i].c * cases[i].kh * cases[i].kw, rows, 2);
        free(in[0]), free(in[1]);
    }
}

LT_TEST(plain_loops_agree) { check(&plain_row); }

LT_TEST(tiles_agree)
{
    if (!lt_tiles_work()) LT_SKIP("no matrix tiles for bfloat16 here");
    check(&amx_row);
}

/* Weights packed ahead give the same bits. */
LT_TEST(packed_weights_agree)
{
    lt_attr attr;
    lt_problem_key p = key_of(&cases[3], &attr);
    lt_kernel *k = NULL;
    LT_CHECK_OK(prepare_plain(&p, &k));
    void *x = ops_random_tensor(&p.in[0]), *w = ops_random_tensor(&p.in[1]), *first = ops_alloc(&p.out), *second = ops_alloc(&p.out);
    void *scratch = lt_malloc_aligned(k->scratch_bytes), *packed = lt_malloc_aligned(k->packed_bytes);
    LT_CHECK_OK(k->run(k, ops_pool(2), (void *[]){ x, w, first, scratch }));
    LT_CHECK_OK(k->pack(k, ops_pool(2), w, packed));
    k->packed = packed;
    LT_CHECK_OK(k->run(k, ops_pool(2), (void *[]){ x, NULL, second, scratch }));
    LT_CHECK(!memcmp(first, second, lt_tensor_bytes(&p.out)));
    lt_kernel_destroy(k);
    lt_free_aligned(scratch), lt_free_aligned(packed);
    free(x), free(w), free(first), free(second);
}

LT_TEST(others_do_not_fit)
{
    lt_attr attr;
    lt_problem_key p = key_of(&cases[1], &attr);
    LT_CHECK(lt_conv_tiles_fits(&p));
    attr.u.conv.channels_last = false;
    LT_CHECK(!lt_conv_tiles_fits(&p));
    attr.u.conv.channels_last = true, attr.u.conv.groups = 2;
    LT_CHECK(!lt_conv_tiles_fits(&p));
    attr.u.conv.groups = 1, p.out.dtype = LT_F32;
    LT_CHECK(!lt_conv_tiles_fits(&p));
    tiles_case narrow = cases[1], stem = cases[1];
    narrow.w = 7, stem.c = 3;
    p = key_of(&narrow, &attr);
    LT_CHECK(!lt_conv_tiles_fits(&p));
    p = key_of(&stem, &attr);
    LT_CHECK(!lt_conv_tiles_fits(&p));
}

LT_TEST_MAIN()
