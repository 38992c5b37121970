/* Kernels of fused steps, from the texts of this folder. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/fused/parts.h"

#include "base/status.h"

extern const char lt_text_fused_jobs_h[], lt_text_half_cuh[], lt_text_norms_cuh[], lt_text_barriers_cuh[], lt_text_fetch_cuh[], lt_text_cells_cuh[], lt_text_settle_cuh[],
    lt_text_conv_cu[], lt_text_join_cu[], lt_text_project_cu[], lt_text_output_cu[], lt_text_pack_cu[];

enum { PACK_THREADS = 256 }; /* of pack.cu */

lt_text *lt_fused_begin_text(lt_builder *b, const lt_fused_style *style, lt_fused_numbers numbers)
{
    lt_text *t = lt_builder_text(b);
    lt_text_define(t, "NUMBERS", (int)numbers);
    lt_text_define(t, "BF16", style->numbers == LT_FUSED_BF16);
    lt_text_define(t, "ACT", style->activation);
    lt_text_define(t, "WRAP", style->wrap);
    lt_text_part(t, lt_text_fused_jobs_h);
    lt_text_part(t, lt_text_half_cuh);
    return t;
}

static void add_norms(lt_text *t)
{
    lt_text_part(t, lt_text_norms_cuh);
    lt_text_part(t, lt_text_barriers_cuh);
}

/* The instruction names every register of its sums, so its text depends on the width of a tile. */
static void write_wgmma(lt_text *t, int width, bool bf16)
{
    const char *type = bf16 ? "bf16" : "f16";
    int n = width / 2;
    lt_text_add(t, "static __device__ __forceinline__ void wgmma(float (&d)[%d], u64 a, u64 b, int keep)\n{\n"
                   "    asm volatile(\"{.reg .pred p; setp.ne.b32 p, %%%d, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {", n, n + 2, width, type, type);
    for (int i = 0; i < n; i++) lt_text_add(t, "%s%%%d", i ? ", " : "", i);
    lt_text_add(t, "}, %%%d, %%%d, p, 1, 1, 0, 0;}\"\n        : ", n, n + 1);
    for (int i = 0; i < n; i++) lt_text_add(t, "%s\"+f\"(d[%d])", i ? ", " : "", i);
    lt_text_add(t, " : \"l\"(a), \"l\"(b), \"r\"(keep));\n}\n"
                   "static __device__ __forceinline__ void wgmma_begin(float (&d)[%d])\n{\n"
                   "    #pragma unroll\n    for (int i = 0; i < %d; i++) asm volatile(\"\" : \"+f\"(d[i]) :: \"memory\");\n}\n", n, n);
}

void lt_fused_add_conv(lt_builder *b, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out)
{
    const struct { const char *name; int value; } constant[] = {
        { "KERNEL", s->kernel }, { "STEM", s->stem }, { "CHUNK", s->chunk }, { "TILE_N", s->tile_n }, { "A_STAGES", s->a_stages }, { "B_STAGES", s->b_stages },
        { "C_STAGES", s->c_stages }, { "FINISHERS", s->finishers }, { "SOURCE", (int)s->source }, { "RESULT", (int)s->result } };
    lt_text *t = lt_fused_begin_text(b, style, style->numbers);
    add_norms(t);
    for (size_t i = 0; i < LT_LEN(constant); i++) lt_text_define(t, constant[i].name, constant[i].value);
    write_wgmma(t, s->tile_n, style->numbers == LT_FUSED_BF16);
    lt_text_part(t, lt_text_conv_cu);
    lt_builder_add(b, t, &(lt_kernel_key){ .name = "rollout conv", .entry = "conv", .n_args = 2, .grid = { blocks }, .block = { LT_FUSED_THREADS },
                                           .shared_bytes = s->shared_bytes, .flops = flops }, out);
}

/* ---- passes over maps ---- */
static lt_text *begin_pass(lt_builder *b, const lt_fused_style *style, const lt_pass_shape *s, int blocks)
{
    lt_text *t = lt_fused_begin_text(b, style, style->numbers);
    lt_text_define(t, "BLOCKS", blocks);
    lt_text_define(t, "PER_CORE", s->per_core);
    lt_text_define(t, "SLOTS", s->slots);
    add_norms(t);
    lt_text_part(t, lt_text_fetch_cuh);
    return t;
}

static void add_pass(lt_builder *b, lt_text *t, const char *body, const lt_pass_shape *s, int64_t blocks, lt_kernel_key key, lt_kernel **out)
{
    lt_text_part(t, body);
    key.grid[0] = (unsigned)(blocks * s->parts);
    key.block[0] = (unsigned)s->threads;
    key.shared_bytes = s->shared_bytes;
    lt_builder_add(b, t, &key, out);
}

void lt_fused_add_join(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out)
{
    lt_pass_shape s = lt_join_shape(channels);
    lt_text *t = begin_pass(b, style, &s, blocks);
    lt_text_define(t, "CHANNELS", channels);
    lt_text_define(t, "JOIN_THREADS", s.threads);
    lt_text_define(t, "SKIP_NORM", skip_norm);
    add_pass(b, t, lt_text_join_cu, &s, samples * blocks, (lt_kernel_key){ .name = "rollout join", .entry = "join", .n_args = 1 }, out);
}

void lt_fused_add_project(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int in_c, int out_c, lt_kernel **out)
{
    lt_pass_shape s = lt_project_shape(in_c, out_c);
    lt_text *t = begin_pass(b, style, &s, blocks);
    lt_text_define(t, "IN_C", in_c);
    lt_text_define(t, "OUT_C", out_c);
    lt_text_define(t, "PARTS", s.parts);
    lt_text_define(t, "GROUPS", s.threads / 32);
    add_pass(b, t, lt_text_project_cu, &s, samples * blocks, (lt_kernel_key){ .name = "rollout project", .entry = "project", .n_args = 1 }, out);
}

void lt_fused_add_output(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out)
{
    lt_pass_shape s = lt_output_shape(channels, skip);
    lt_text *t = begin_pass(b, style, &s, blocks);
    lt_text_define(t, "CHANNELS", channels);
    lt_text_define(t, "WARPS", s.threads / 32);
    lt_text_define(t, "SKIP", skip);
    lt_text_define(t, "NOISE", noise);
    lt_text_part(t, lt_text_settle_cuh);
    add_pass(b, t, lt_text_output_cu, &s, samples * blocks, (lt_kernel_key){ .name = "rollout output", .entry = "output", .n_args = 7 }, out);
}

void lt_fused_add_pack(lt_builder *b, const lt_fused_style *style, unsigned blocks, int n_jobs, lt_kernel **out)
{
    lt_text *t = lt_fused_begin_text(b, style, style->numbers);
    lt_text_define(t, "N_JOBS", n_jobs);
    lt_text_part(t, lt_text_cells_cuh);
    lt_text_part(t, lt_text_pack_cu);
    lt_builder_add(b, t, &(lt_kernel_key){ .name = "rollout weights", .entry = "pack_weights", .n_args = 2, .grid = { blocks }, .block = { PACK_THREADS } }, out);
}
