/* Every kernel text compiles for the architectures lathe is made for: generated programs and the .cu
   files. Needs NVRTC, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "compile_kernels.h"
#include "conv_chain.h"
#include "fused_program.h"

#include "kernels/cuda/cuda_table.h"
#include "kernels/cuda/fused/pass.h"
#include "kernels/cuda/text_kernel.h"

static void compile_pass(const lt_fused *f, uint32_t axes, bool stores)
{
    static const char *const options[] = { "--fmad=false" };
    lt_fused_pass p;
    lt_text text = { 0 };
    LT_CHECK_OK(lt_fused_pass_plan(f, axes, stores, &p));
    lt_fused_render(&p, &text);
    LT_CHECK(!text.failed && text.s);
    if (text.s) compile_kernels(&(lt_kernel_key){ .name = "fused", .source = text.s, .entry = "fused", .options = options, .n_options = 1 });
    lt_text_free(&text);
}

static void compile_programs(lt_dtype type, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++) {
        program p;
        rng_state = seed + (uint64_t)i;
        random_program(&p, type);
        if (lt_shape_count(&p.f.domain) < 1) continue; /* an empty domain has no text */
        compile_pass(&p.f, p.f.n_reduces ? p.f.reduces[0].axes : 0, true);
    }
}

LT_TEST(random_programs_compile)
{
    OPEN_OR_SKIP();
    compile_programs(LT_F32, 1, 6);
    compile_programs(LT_F64, 100, 6);
}

/* All ops in one program, over a domain that needs 64-bit indices. */
LT_TEST(every_op_compiles_with_wide_indices)
{
    OPEN_OR_SKIP();
    enum { N = LT_N_ELEMENTWISE };
    static const lt_dtype types[] = { LT_F32, LT_F64 };
    for (size_t t = 0; t < LT_LEN(types); t++) {
        lt_fused_step step[N];
        for (int i = 0; i < N; i++) step[i] = (lt_fused_step){ (lt_op)i, i + 1, { i, i / 2, 0 } };
        lt_fused_load load = { 0, 0, LT_BF16, { 0, { 1 << 18, 1 } } };
        lt_fused_store store = { N, 1, LT_F16, { 0, { 1, 1 << 18 } } };
        lt_fused f = { .type = types[t], .domain = lt_shape2(1 << 18, 1 << 18), .n_regs = N + 1, .n_args = 2, .n_loads = 1, .loads = &load,
                       .n_steps = N, .steps = step, .n_stores = 1, .stores = &store };
        compile_pass(&f, 0, true);
    }
}

/* ---- the .cu files: every row of the table that has text of its own, on a device that only compiles ---- */
static int n_compiled;

static lt_status compile_only(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    n_compiled++;
    compile_kernels(key);
    return compiled_kernel(key, out);
}

static const lt_backend compiler = { .name = "compiler", .build = compile_only };

static lt_tensor_type of(lt_dtype t, lt_shape s) { return (lt_tensor_type){ t, s }; }

static void prepare(const lt_problem_key *p, const char *row_name)
{
    lt_device dev = { .backend = &compiler, .id = "compiler" };
    int n_rows, before = n_compiled;
    const lt_cuda_row *row = lt_cuda_rows(&n_rows);
    for (int i = 0; i < n_rows; i++) {
        lt_kernel *k = NULL;
        if (row[i].op != p->op || strcmp(row[i].name, row_name)) continue;
        if (!row[i].applies(p)) LT_TEST_FAIL("%s does not apply", row_name);
        else LT_CHECK_OK(row[i].prepare(&dev, p, &k));
        lt_kernel_destroy(k);
    }
    if (n_compiled == before) LT_TEST_FAIL("%s %s compiled nothing", row_name, lt_op_name(p->op));
}

LT_TEST(movement_and_index_texts_compile)
{
    OPEN_OR_SKIP();
    static const lt_dtype pair[][2] = { { LT_F16, LT_F32 }, { LT_F64, LT_BF16 }, { LT_I64, LT_F16 }, { LT_F32, LT_U8 }, { LT_C64, LT_C128 }, { LT_I32, LT_C64 }, { LT_C128, LT_I64 } };
    lt_shape s = lt_shape3(4, 5, 6);
    for (size_t i = 0; i < LT_LEN(pair); i++)
        prepare(&(lt_problem_key){ .op = LT_OP_CAST, .n_in = 1, .in = { of(pair[i][0], s) }, .out = of(pair[i][1], s) }, "cuda_cast");
    static const lt_dtype moved[] = { LT_U8, LT_BF16, LT_F32, LT_C64, LT_C128 };
    lt_attr view = { .u.view = { 5, { 30, -1, 6 } } }, index = { .u.index = { .axis = 1, .k = 3, .extent = 6 } };
    lt_affine at[2] = { { 0, { 1, 0, 8 } }, { 119, { -30, 6, -1 } } };
    lt_attr place = { .u.place = at };
    for (size_t i = 0; i < LT_LEN(moved); i++) {
        lt_dtype t = moved[i];
        prepare(&(lt_problem_key){ .op = LT_OP_VIEW, .n_in = 1, .attr = &view, .in = { of(t, s) }, .out = of(t, lt_shape3(4, 6, 5)) }, "cuda_view");
        prepare(&(lt_problem_key){ .op = LT_OP_PLACE, .n_in = 2, .attr = &place, .in = { of(t, s), of(t, s) }, .out = of(t, lt_shape1(240)) }, "cuda_place");
        prepare(&(lt_problem_key){ .op = LT_OP_TAKE, .n_in = 2, .attr = &index, .in = { of(t, s), of(LT_I64, lt_shape1(3)) }, .out = of(t, lt_shape3(4, 3, 6)) }, "cuda_take");
    }
    prepare(&(lt_problem_key){ .op = LT_OP_TAKE_ALONG, .n_in = 2, .attr = &index, .in = { of(LT_F16, s), of(LT_I64, lt_shape2(5, 3)) }, .out = of(LT_F16, lt_shape3(4, 5, 3)) }, "cuda_take_along");
    prepare(&(lt_problem_key){ .op = LT_OP_PUT_ALONG, .n_in = 2, .attr = &index, .in = { of(LT_F16, s), of(LT_I64, lt_shape2(1, 6)) }, .out = of(LT_F16, s) }, "cuda_put_along");
    prepare(&(lt_problem_key){ .op = LT_OP_PUT, .n_in = 2, .attr = &index, .in = { of(LT_BF16, s), of(LT_I64, lt_shape1(5)) }, .out = of(LT_BF16, lt_shape3(4, 6, 6)) }, "cuda_put");
    prepare(&(lt_problem_key){ .op = LT_OP_ARGMAX, .n_in = 1, .attr = &index, .in = { of(LT_I32, s) }, .out = of(LT_I64, lt_shape2(4, 6)) }, "cuda_arg");
    prepare(&(lt_problem_key){ .op = LT_OP_CUMSUM, .n_in = 1, .attr = &index, .in = { of(LT_U8, s) }, .out = of(LT_U8, s) }, "cuda_cumsum");
    prepare(&(lt_problem_key){ .op = LT_OP_TOPK_INDEX, .n_in = 1, .attr = &index, .in = { of(LT_F64, s) }, .out = of(LT_I64, lt_shape3(4, 5, 3)) }, "cuda_topk");
}

LT_TEST(window_and_product_texts_compile)
{
    OPEN_OR_SKIP();
    lt_attr conv = { .u.conv = { .kernel = { 3, 3 }, .stride = { 1, 2 }, .pad = { 1, 1 }, .dilation = { 1, 1 }, .size = { 6, 6 }, .groups = 1 } };
    lt_attr none = { .u.trans = { false, false } };
    static const lt_dtype types[] = { LT_F16, LT_BF16, LT_F32, LT_F64 };
    for (size_t i = 0; i < LT_LEN(types); i++) {
        lt_tensor_type x = of(types[i], lt_shape4(2, 3, 6, 6)), w = of(types[i], lt_shape4(4, 3, 3, 3)), y = of(types[i], lt_shape4(2, 4, 6, 3));
        prepare(&(lt_problem_key){ .op = LT_OP_CONV2D, .n_in = 2, .attr = &conv, .in = { x, w }, .out = y }, "cuda_conv");
        prepare(&(lt_problem_key){ .op = LT_OP_CONV2D_DGRAD, .n_in = 2, .attr = &conv, .in = { y, w }, .out = x }, "cuda_conv");
        prepare(&(lt_problem_key){ .op = LT_OP_CONV2D_WGRAD, .n_in = 2, .attr = &conv, .in = { x, y }, .out = w }, "cuda_conv");
        lt_tensor_type pooled = of(types[i], lt_shape4(2, 3, 6, 3)), where = of(LT_I64, pooled.shape);
        prepare(&(lt_problem_key){ .op = LT_OP_MAXPOOL_INDEX, .n_in = 1, .attr = &conv, .in = { x }, .out = where }, "cuda_pool");
        prepare(&(lt_problem_key){ .op = LT_OP_AVGPOOL, .n_in = 1, .attr = &conv, .in = { x }, .out = pooled }, "cuda_pool");
        prepare(&(lt_problem_key){ .op = LT_OP_AVGPOOL_GRAD, .n_in = 1, .attr = &conv, .in = { pooled }, .out = x }, "cuda_pool");
        prepare(&(lt_problem_key){ .op = LT_OP_MATMUL, .n_in = 2, .attr = &none, .in = { of(types[i], lt_shape3(2, 3, 4)), of(types[i], lt_shape2(4, 5)) },
                                   .out = of(types[i], lt_shape3(2, 3, 5)) }, "cuda_matmul");
        prepare(&(lt_problem_key){ .op = LT_OP_DET, .n_in = 1, .attr = &none, .in = { of(types[i], lt_shape3(3, 0, 0)) }, .out = of(types[i], lt_shape1(3)) },
                "linalg_cusolver");
        lt_attr rows = { .u.reduce.axes = 2 };
        prepare(&(lt_problem_key){ .op = LT_OP_NORM, .n_in = 2, .attr = &rows, .in = { of(types[i], lt_shape2(3, 5)), of(types[i], lt_shape3(3, 4, 5)) },
                                   .out = of(types[i], lt_shape2(3, 5)) }, "cuda_norm");
        prepare(&(lt_problem_key){ .op = LT_OP_ADJUGATE, .n_in = 2, .attr = &none, .in = { of(types[i], lt_shape3(2, 4, 4)), of(types[i], lt_shape1(2)) },
                                   .out = of(types[i], lt_shape3(2, 4, 4)) }, "cuda_adjugate");
        prepare(&(lt_problem_key){ .op = LT_OP_SVD, .n_in = 1, .attr = &none, .in = { of(types[i], lt_shape3(2, 3, 4)) }, .out = of(types[i], lt_shape2(2, 24)) },
                "cuda_svd");
    }
}

LT_TEST(convolutions_of_f32_compile)
{
    OPEN_OR_SKIP();
    for (int last = 0; last < 2; last++)
        for (int64_t c = 3; c <= 64; c += 61) {
            lt_attr attr = { .u.conv = { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 }, .size = { 64, 64 }, .groups = 1, .channels_last = last } };
            lt_tensor_type x = of(LT_F32, last ? lt_shape4(5, 64, 64, c) : lt_shape4(5, c, 64, 64)), w = of(LT_F32, lt_shape4(64, c, 3, 3));
            lt_tensor_type y = of(LT_F32, lt_shape4(5, 64, 64, 64));
            prepare(&(lt_problem_key){ .op = LT_OP_CONV2D, .n_in = 2, .attr = &attr, .in = { x, w }, .out = y }, "conv_f32");
            chain after;
            chain_behind(&y, last ? 3 : 1, LT_OP_GELU, &after);
            prepare(&(lt_problem_key){ .op = LT_OP_CONV2D, .n_in = 2, .attr = &attr, .in = { x, w }, .out = y, .epilogue = &after.f }, "conv_f32");
            if (c == 64) prepare(&(lt_problem_key){ .op = LT_OP_CONV2D_DGRAD, .n_in = 2, .attr = &attr, .in = { y, w }, .out = x }, "conv_f32");
        }
}

/* One text with three entry points, compiled for each: long, so in the narrowest and the widest type only. */
LT_TEST(eigenvalue_gradients_compile)
{
    OPEN_OR_SKIP();
    lt_attr none = { .u.trans = { false, false } };
    static const lt_dtype types[] = { LT_F16, LT_F64 };
    for (size_t i = 0; i < LT_LEN(types); i++)
        prepare(&(lt_problem_key){ .op = LT_OP_EIG_GRAD, .n_in = 3, .attr = &none, .out = of(types[i], lt_shape4(3, 2, 5, 5)),
                                   .in = { of(types[i], lt_shape3(2, 5, 5)), of(types[i], lt_shape3(2, 2, 5)), of(types[i], lt_shape4(3, 2, 2, 5)) } },
                "cuda_eig_grad");
}

/* The texts around calls of cuSOLVER and cuFFT, whose rows need the library to be prepared. */
LT_TEST(texts_around_library_calls_compile)
{
    OPEN_OR_SKIP();
    extern const char lt_text_linalg_cu[], lt_text_spectrum_cu[];
    static const char *const type[] = { "f32", "f64" };
    for (int i = 0; i < 2; i++) {
        lt_text constants = { 0 }, whole = { 0 };
        lt_text_add(&constants, "typedef %s T;\nenum : i64 { M = 5, N = 5, ROWS = 5, COLUMNS = 5, COUNT = 30, TRANSPOSE = %d, LOGARITHM = %d, POSITIVE = 1, CHECK_INFO = 1 };\n",
                    type[i], i, i);
        lt_text_kernel_join(&constants, lt_text_linalg_cu, &whole);
        compile_kernels(&(lt_kernel_key){ .name = "linalg", .source = whole.s, .entry = "copy_in" });
        lt_text_free(&constants), lt_text_free(&whole);
        lt_text_add(&constants, "typedef %s T;\nenum : i64 { COUNT = 2, HEIGHT = 4, WIDTH = 8 };\n", type[i]);
        lt_text_kernel_join(&constants, lt_text_spectrum_cu, &whole);
        compile_kernels(&(lt_kernel_key){ .name = "spectrum", .source = whole.s, .entry = "take_hermitian" });
        lt_text_free(&constants), lt_text_free(&whole);
    }
}

LT_TEST(bad_text_is_refused_with_its_line)
{
    OPEN_OR_SKIP();
    char *cubin;
    size_t bytes;
    const lt_kernel_key key = { .name = "bad", .source = "extern \"C\" __global__ void bad()\n{ nonsense(); }\n", .entry = "bad" };
    LT_CHECK_FAILS(lt_cuda_compile(rtc, &key, 90, &cubin, &bytes), LT_ERR_FORMAT, "nonsense");
    LT_CHECK(cubin == NULL);
}

LT_TEST_MAIN()
