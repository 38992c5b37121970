/* Fused steps: how their convolutions are cut, and that their texts compile. Needs NVRTC for the second, no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "compile_kernels.h"
#include "build_kernel.h"

enum { SHARED_BYTES = 232448 }; /* of a block on sm_90 */

LT_TEST(widths_are_filled_up_little_and_cut_well)
{
    for (int c = 1; c <= LT_FUSED_MAX_CHANNELS; c++) {
        int width = lt_fused_width(c);
        LT_CHECK(width >= c && width % 16 == 0 && width < c + 48);
        for (int kernel = 1; kernel <= 9; kernel += 2) {
            lt_conv_shape s = { .source = LT_SOURCE_NORMALISED, .result = LT_RESULT_NORMS, .kernel = kernel, .stem = 1, .in_c = width, .out_c = width };
            LT_CHECK(lt_conv_shape_choose(&s));
            LT_CHECK(s.chunk % 16 == 0 && s.in_c % s.chunk == 0 && s.chunk <= 64);
            LT_CHECK(s.tile_n % 16 == 0 && s.tile_n * s.blocks_n == s.out_c && s.tile_n <= 128);
            LT_CHECK(s.a_stages >= 2 && s.b_stages >= 3 && s.c_stages >= 1 && s.finishers >= 1 && s.shared_bytes < SHARED_BYTES);
            if (kernel <= 7 && width >= 32) LT_CHECK(s.chunk >= 32);
        }
    }
}

LT_TEST(what_does_not_fit_into_shared_memory_is_refused)
{
    lt_conv_shape s = { .kernel = 71, .stem = 1, .in_c = 64, .out_c = 64 };
    LT_CHECK(!lt_conv_shape_choose(&s));
}

static void check_pass(lt_pass_shape s, int least_slots)
{
    enum { CORE_BYTES = 233472, BESIDES = 12 * 1024 }; /* of a core on sm_90; norms, weights and what the device takes of every block */
    LT_CHECK(s.threads % 32 == 0 && s.threads >= 32 && s.per_core >= 1 && s.threads * s.per_core <= 1024 && s.parts >= 1);
    LT_CHECK(s.slots >= least_slots && s.shared_bytes % 16 == 0 && s.shared_bytes + BESIDES < SHARED_BYTES);
    LT_CHECK((size_t)LT_MIN(s.per_core, 2) * (s.shared_bytes + BESIDES) <= CORE_BYTES);
}

LT_TEST(passes_over_maps_fit_into_shared_memory)
{
    for (int c = 1; c <= LT_FUSED_MAX_CHANNELS; c++) {
        int width = lt_fused_width(c), wider = lt_fused_width(2 * c);
        check_pass(lt_join_shape(width), 2);
        for (int skip = 0; skip < 2; skip++) check_pass(lt_output_shape(width, skip), 1);
        if (wider > LT_FUSED_MAX_CHANNELS) continue;
        check_pass(lt_project_shape(width, wider), 2);
        LT_CHECK(lt_project_shape(width, wider).threads * lt_project_shape(width, wider).parts >= wider);
    }
    LT_CHECK(lt_output_shape(256, true).threads == 128 && lt_project_shape(128, 256).slots == 4 && lt_project_shape(256, 512).parts == 2);
}

/* ---- a device that compiles and nothing else ---- */
static lt_status compile(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    LT_TRY(compile_for(key, 90)); /* its instructions are those of sm_90 */
    return compiled_kernel(key, out);
}

static const lt_backend backend = { .name = "compile", .build = compile };
static lt_device device = { .backend = &backend, .id = "compile" };

LT_TEST(convolutions_compile)
{
    OPEN_OR_SKIP();
    static const struct { lt_conv_source source; lt_conv_result result; int kernel, stem, in_c, out_c; bool bf16, wrap; int act; } row[] = {
        { LT_SOURCE_STATE, LT_RESULT_NORMS, 1, 5, 96, 48, false, false, 1 },    { LT_SOURCE_NORMALISED, LT_RESULT_NORMS, 3, 1, 64, 128, false, true, 1 },
        { LT_SOURCE_MAP, LT_RESULT_MAP, 7, 1, 160, 160, true, false, 3 },      { LT_SOURCE_MAP, LT_RESULT_MAP, 1, 1, 96, 224, true, false, 4 },
    };
    for (size_t i = 0; i < LT_LEN(row); i++) {
        lt_conv_shape s = { .source = row[i].source, .result = row[i].result, .kernel = row[i].kernel, .stem = row[i].stem, .in_c = row[i].in_c, .out_c = row[i].out_c };
        lt_fused_style style = { .numbers = (lt_fused_numbers)row[i].bf16, .wrap = row[i].wrap, .activation = row[i].act };
        lt_kernel *k = NULL;
        LT_CHECK(lt_conv_shape_choose(&s));
        BUILD_KERNEL(&device, lt_fused_add_conv, &style, &s, 2, 0, &k);
        lt_kernel_destroy(k);
    }
}

LT_TEST(joins_outputs_and_packing_compile)
{
    OPEN_OR_SKIP();
    lt_kernel *k = NULL;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        lt_fused_style style = { .numbers = (lt_fused_numbers)bf16, .activation = 1 + 4 * bf16 };
        BUILD_KERNEL(&device, lt_fused_add_join, &style, 3, 10, bf16 ? 96 : 64, bf16, &k);
        lt_kernel_destroy(k);
        BUILD_KERNEL(&device, lt_fused_add_project, &style, 3, 10, bf16 ? 256 : 48, bf16 ? 512 : 96, &k);
        lt_kernel_destroy(k);
        BUILD_KERNEL(&device, lt_fused_add_pack, &style, 3, 7, &k);
        lt_kernel_destroy(k);
        for (int noise = bf16; noise <= 5; noise += 2) {
            BUILD_KERNEL(&device, lt_fused_add_output, &style, 3, 10, bf16 ? 512 : 48, noise & 1, noise, &k);
            lt_kernel_destroy(k);
        }
    }
}

/* ---- for every card ---- */
static lt_status compile_everywhere(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    LT_TRY(compile_for_all(key));
    return compiled_kernel(key, out);
}
static const lt_backend everywhere = { .name = "compile", .build = compile_everywhere };
static lt_device any_card = { .backend = &everywhere, .id = "compile" };

LT_TEST(shapes_for_every_card_fit_into_its_shared_memory)
{
    enum { LEAST = 99 * 1024 }; /* sm_86, 89 and 120 */
    for (int numbers = LT_FUSED_F16; numbers <= LT_FUSED_F32; numbers++)
        for (int c = 1; c <= LT_FUSED_MAX_CHANNELS; c++)
            for (int kernel = 1; kernel <= 7; kernel += 2) {
                int width = lt_fused_width(c), cell = lt_fused_cell((lt_fused_numbers)numbers);
                lt_conv_shape s = { .source = LT_SOURCE_NORMALISED, .result = LT_RESULT_NORMS, .kernel = kernel, .stem = 1, .in_c = width, .out_c = width };
                LT_CHECK(lt_mma_shape_choose(&s, (lt_fused_numbers)numbers, LEAST));
                LT_CHECK(s.chunk % (2 * cell) == 0 && width % s.chunk == 0 && s.tile_n % 16 == 0 && s.tile_n <= 64 && s.tile_n * s.blocks_n == width);
                LT_CHECK(s.b_stages >= 3 && s.shared_bytes + 4096 <= LEAST && s.shared_bytes >= 512 * 24);
            }
    lt_conv_shape wide = { .source = LT_SOURCE_NORMALISED, .result = LT_RESULT_NORMS, .kernel = 71, .stem = 1, .in_c = 64, .out_c = 64 };
    LT_CHECK(!lt_mma_shape_choose(&wide, LT_FUSED_F16, LEAST));
}

LT_TEST(kernels_for_every_card_compile)
{
    OPEN_OR_SKIP();
    static const struct { lt_fused_numbers numbers; lt_conv_source source; lt_conv_result result; int kernel, stem, in_c, out_c; bool wrap; int act; } row[] = {
        { LT_FUSED_F16, LT_SOURCE_NORMALISED, LT_RESULT_NORMS, 3, 1, 128, 128, true, 1 }, { LT_FUSED_BF16, LT_SOURCE_STATE, LT_RESULT_NORMS, 1, 5, 96, 48, false, 4 },
        { LT_FUSED_TF32, LT_SOURCE_MAP, LT_RESULT_JOINED, 1, 1, 96, 224, false, 2 },      { LT_FUSED_F32, LT_SOURCE_NORMALISED, LT_RESULT_MAP, 5, 1, 48, 16, true, 5 },
    };
    lt_kernel *k = NULL;
    for (size_t i = 0; i < LT_LEN(row); i++) {
        lt_conv_shape s = { .source = row[i].source, .result = row[i].result, .kernel = row[i].kernel, .stem = row[i].stem, .in_c = row[i].in_c, .out_c = row[i].out_c };
        lt_fused_style style = { .numbers = row[i].numbers, .wrap = row[i].wrap, .mma = true, .activation = row[i].act };
        LT_CHECK(lt_mma_shape_choose(&s, lt_fused_products(&style, s.source), 99 * 1024));
        BUILD_KERNEL(&any_card, lt_mma_add_conv, &style, &s, 2, 0, &k);
        lt_kernel_destroy(k);
        if (i % 3) continue; /* what passes over maps only knows halves and single numbers */
        BUILD_KERNEL(&any_card, lt_mma_add_join, &style, 3, 10, row[i].out_c, i % 2, &k);
        lt_kernel_destroy(k);
        BUILD_KERNEL(&any_card, lt_mma_add_output, &style, 3, 10, row[i].out_c, i % 2, (int)i, &k);
        lt_kernel_destroy(k);
        BUILD_KERNEL(&any_card, lt_fused_add_pack, &style, 3, 7, &k);
        lt_kernel_destroy(k);
    }
}

LT_TEST_MAIN()
