/* Kernels of fused steps for every card since Ampere, from the texts of this folder. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/fused/parts.h"

#include "base/status.h"

extern const char lt_text_norms_cuh[], lt_text_barriers_cuh[], lt_text_cells_cuh[], lt_text_settle_cuh[], lt_text_conv_mma_cu[], lt_text_join_mma_cu[], lt_text_output_mma_cu[];

static lt_text *begin(lt_builder *b, const lt_fused_style *style, lt_fused_numbers numbers)
{
    lt_text *t = lt_fused_begin_text(b, style, numbers);
    lt_text_part(t, lt_text_norms_cuh);
    lt_text_part(t, lt_text_cells_cuh);
    return t;
}

void lt_mma_add_conv(lt_builder *b, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out)
{
    const struct { const char *name; int value; } constant[] = {
        { "KERNEL", s->kernel }, { "STEM", s->stem }, { "CHUNK", s->chunk }, { "TILE_N", s->tile_n }, { "B_STAGES", s->b_stages }, { "RESIDENT", 1 },
        { "SOURCE", (int)s->source }, { "RESULT", (int)s->result } };
    lt_text *t = begin(b, style, lt_fused_products(style, s->source));
    lt_text_define(t, "STORES", (int)style->numbers);
    for (size_t i = 0; i < LT_LEN(constant); i++) lt_text_define(t, constant[i].name, constant[i].value);
    lt_text_part(t, lt_text_barriers_cuh);
    lt_text_part(t, lt_text_conv_mma_cu);
    lt_builder_add(b, t, &(lt_kernel_key){ .name = "rollout conv", .entry = "conv", .n_args = 2, .grid = { blocks }, .block = { LT_MMA_THREADS },
                                           .shared_bytes = s->shared_bytes, .flops = flops }, out);
}

static lt_text *begin_pass(lt_builder *b, const lt_fused_style *style, int blocks, int channels)
{
    lt_text *t = begin(b, style, style->numbers);
    lt_text_define(t, "BLOCKS", blocks);
    lt_text_define(t, "CHANNELS", channels);
    return t;
}

static void add_pass(lt_builder *b, lt_text *t, const char *body, int64_t blocks, lt_kernel_key key, lt_kernel **out)
{
    lt_text_part(t, body);
    key.grid[0] = (unsigned)blocks;
    key.block[0] = LT_MMA_THREADS;
    lt_builder_add(b, t, &key, out);
}

void lt_mma_add_join(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out)
{
    lt_text *t = begin_pass(b, style, blocks, channels);
    lt_text_define(t, "SKIP_NORM", skip_norm);
    add_pass(b, t, lt_text_join_mma_cu, samples * blocks, (lt_kernel_key){ .name = "rollout join", .entry = "join", .n_args = 1 }, out);
}

void lt_mma_add_output(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out)
{
    lt_text *t = begin_pass(b, style, blocks, channels);
    lt_text_define(t, "SKIP", skip);
    lt_text_define(t, "NOISE", noise);
    lt_text_part(t, lt_text_settle_cuh);
    add_pass(b, t, lt_text_output_mma_cu, samples * blocks, (lt_kernel_key){ .name = "rollout output", .entry = "output", .n_args = 7 }, out);
}
