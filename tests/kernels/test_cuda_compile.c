/* Every kernel text compiles for the architectures lathe is made for: generated programs and the .cu
   files. Needs NVRTC, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "fused_program.h"

#include "device/cuda/compile.h"
#include "device/cuda/library.h"
#include "kernels/cuda/fused_pass.h"

static const int architectures[] = { 89, 90 };
static const lt_nvrtc *rtc;

#define OPEN_OR_SKIP() do { int major_, minor_; if (lt_nvrtc_open(&rtc, &major_, &minor_)) LT_SKIP("%s", lt_error_text()); } while (0)

static void compile(const lt_kernel_key *key)
{
    for (size_t i = 0; i < LT_LEN(architectures); i++) {
        char *cubin = NULL;
        size_t bytes = 0;
        if (lt_cuda_compile(rtc, key, architectures[i], &cubin, &bytes)) LT_TEST_FAIL("sm_%d: %s", architectures[i], lt_error_text());
        else LT_CHECK(bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
        lt_free(cubin);
    }
}

static void compile_pass(const lt_fused *f, uint32_t axes, bool stores)
{
    static const char *const options[] = { "--fmad=false" };
    lt_fused_pass p;
    lt_text text = { 0 };
    LT_CHECK_OK(lt_fused_pass_plan(f, axes, stores, &p));
    lt_fused_render(&p, &text);
    LT_CHECK(!text.failed && text.s);
    if (text.s) compile(&(lt_kernel_key){ .name = "fused", .source = text.s, .entry = "fused", .options = options, .n_options = 1 });
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
    enum { N = LT_OP_CLAMP + 1 };
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
