/* Kernels of fused steps, from the texts under operators/cuda. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/fused/parts.h"

#include "base/status.h"
#include "kernels/cuda/text.h"

extern const char lt_text_half_cuh[], lt_text_norms_cuh[], lt_text_barriers_cuh[], lt_text_fetch_cuh[], lt_text_conv_cu[], lt_text_join_cu[], lt_text_project_cu[], lt_text_output_cu[], lt_text_pack_cu[];

enum { PACK_THREADS = 256 }; /* of pack.cu */

static void define(lt_text *t, const char *name, int value) { lt_text_add(t, "#define %s %d\n", name, value); }

static void begin(lt_text *t, const lt_fused_style *style, bool norms)
{
    define(t, "BF16", style->bf16);
    define(t, "ACT", style->activation);
    define(t, "WRAP", style->wrap);
    lt_text_add(t, "%s", lt_text_half_cuh);
    if (norms) lt_text_add(t, "%s%s", lt_text_norms_cuh, lt_text_barriers_cuh);
}

static lt_status build(lt_device *dev, lt_text *t, const char *body, lt_kernel_key key, lt_kernel **out)
{
    lt_text_add(t, "%s", body);
    key.source = t->s;
    lt_status s = t->failed ? LT_FAIL(LT_ERR_MEMORY, "kernel '%s': no memory for its text", key.name) : lt_device_build(dev, &key, out);
    lt_text_free(t);
    return s;
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

lt_status lt_fused_build_conv(lt_device *dev, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out)
{
    lt_text t = { 0 };
    begin(&t, style, true);
    define(&t, "KERNEL", s->kernel);
    define(&t, "STEM", s->stem);
    define(&t, "CHUNK", s->chunk);
    define(&t, "TILE_N", s->tile_n);
    define(&t, "A_STAGES", s->a_stages);
    define(&t, "B_STAGES", s->b_stages);
    define(&t, "C_STAGES", s->c_stages);
    define(&t, "FINISHERS", s->finishers);
    define(&t, "SOURCE", s->source);
    define(&t, "RESULT", s->result);
    write_wgmma(&t, s->tile_n, style->bf16);
    return build(dev, &t, lt_text_conv_cu, (lt_kernel_key){ .name = "rollout conv", .entry = "conv", .n_args = 2, .grid = { blocks, 1, 1 },
                 .block = { LT_FUSED_THREADS, 1, 1 }, .shared_bytes = s->shared_bytes, .flops = flops }, out);
}

/* ---- passes over maps ---- */
static void begin_pass(lt_text *t, const lt_fused_style *style, const lt_pass_shape *s, int blocks)
{
    define(t, "BLOCKS", blocks);
    define(t, "PER_CORE", s->per_core);
    define(t, "SLOTS", s->slots);
    begin(t, style, true);
    lt_text_add(t, "%s", lt_text_fetch_cuh);
}

static lt_kernel_key pass_key(const lt_pass_shape *s, int64_t samples, int blocks)
{
    return (lt_kernel_key){ .n_args = 1, .grid = { (unsigned)(samples * blocks * s->parts), 1, 1 }, .block = { (unsigned)s->threads, 1, 1 }, .shared_bytes = s->shared_bytes };
}

lt_status lt_fused_build_join(lt_device *dev, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out)
{
    lt_text t = { 0 };
    lt_pass_shape s = lt_join_shape(channels);
    lt_kernel_key key = pass_key(&s, samples, blocks);
    key.name = "rollout join", key.entry = "join";
    begin_pass(&t, style, &s, blocks);
    define(&t, "CHANNELS", channels);
    define(&t, "JOIN_THREADS", s.threads);
    define(&t, "SKIP_NORM", skip_norm);
    return build(dev, &t, lt_text_join_cu, key, out);
}

lt_status lt_fused_build_project(lt_device *dev, const lt_fused_style *style, int64_t samples, int blocks, int in_c, int out_c, lt_kernel **out)
{
    lt_text t = { 0 };
    lt_pass_shape s = lt_project_shape(in_c, out_c);
    lt_kernel_key key = pass_key(&s, samples, blocks);
    key.name = "rollout project", key.entry = "project";
    begin_pass(&t, style, &s, blocks);
    define(&t, "IN_C", in_c);
    define(&t, "OUT_C", out_c);
    define(&t, "PARTS", s.parts);
    define(&t, "GROUPS", s.threads / 32);
    return build(dev, &t, lt_text_project_cu, key, out);
}

lt_status lt_fused_build_output(lt_device *dev, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out)
{
    lt_text t = { 0 };
    lt_pass_shape s = lt_output_shape(channels, skip);
    lt_kernel_key key = pass_key(&s, samples, blocks);
    key.name = "rollout output", key.entry = "output", key.n_args = 7;
    begin_pass(&t, style, &s, blocks);
    define(&t, "CHANNELS", channels);
    define(&t, "WARPS", s.threads / 32);
    define(&t, "SKIP", skip);
    define(&t, "NOISE", noise);
    return build(dev, &t, lt_text_output_cu, key, out);
}

lt_status lt_fused_build_pack(lt_device *dev, const lt_fused_style *style, unsigned blocks, int n_jobs, lt_kernel **out)
{
    lt_text t = { 0 };
    begin(&t, style, false);
    define(&t, "N_JOBS", n_jobs);
    return build(dev, &t, lt_text_pack_cu, (lt_kernel_key){ .name = "rollout weights", .entry = "pack_weights", .n_args = 2,
                 .grid = { blocks, 1, 1 }, .block = { PACK_THREADS, 1, 1 } }, out);
}
