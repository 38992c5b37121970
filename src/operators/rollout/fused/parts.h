/* What the files of fused steps share: shapes of convolutions and passes, their kernels.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_ROLLOUT_FUSED_PARTS_H
#define LT_OPERATORS_ROLLOUT_FUSED_PARTS_H

#include "kernels/cuda/builder.h"
#include "operators/rollout/fused/fused.h"
#include "operators/rollout/fused/fused_jobs.h"

/* ---- Shapes (rollout/fused/shape.c) ---- */
enum { LT_FUSED_TILE = 16, LT_FUSED_MAX_CHANNELS = 512, LT_FUSED_MAX_KERNEL = 11, LT_FUSED_THREADS = 512 };
typedef enum lt_conv_source { LT_SOURCE_MAP, LT_SOURCE_NORMALISED, LT_SOURCE_STATE } lt_conv_source;
typedef enum lt_conv_result { LT_RESULT_MAP, LT_RESULT_NORMS, LT_RESULT_JOINED } lt_conv_result; /* joined: conv_mma.cu alone */
/* What maps hold and how they are multiplied, as cells.cuh numbers it. */
typedef enum lt_fused_numbers { LT_FUSED_F16, LT_FUSED_BF16, LT_FUSED_TF32, LT_FUSED_F32 } lt_fused_numbers;
static inline bool lt_fused_single(lt_fused_numbers n) { return n >= LT_FUSED_TF32; }
static inline int  lt_fused_cell(lt_fused_numbers n) { return lt_fused_single(n) ? 4 : 8; } /* channels of 16 bytes */

typedef struct lt_conv_shape {
    lt_conv_source source;
    lt_conv_result result;
    int    kernel, stem;           /* taps along one side; of the state: 1, and its own in stem */
    int    in_c, out_c;            /* with filling */
    int    chunk, tile_n, blocks_n, a_stages, b_stages, c_stages;
    int    finishers;              /* warps that write tiles out */
    size_t shared_bytes;           /* dynamic */
} lt_conv_shape;

/* Channels of a map with the filling that lets convolutions be cut well. */
int lt_fused_width(int64_t channels);
/* Fills chunk … shared_bytes from the rest; false when not even the least fits into shared memory. */
bool lt_conv_shape_choose(lt_conv_shape *s);

/* The same for conv_mma.cu, with `limit` bytes of shared memory for a block. */
bool lt_mma_shape_choose(lt_conv_shape *s, lt_fused_numbers numbers, size_t limit);
enum { LT_MMA_THREADS = 256, LT_MMA_WARPS_N = 2 };

/* How a kernel that passes over maps once is cut. */
typedef struct lt_pass_shape {
    int    threads, per_core;      /* of a block; blocks on a core at once */
    int    parts;                  /* of project.cu: the number of blocks that share a tile; each has some of its channels */
    int    slots;                  /* for tiles: of a block; of output.cu: of a warp */
    size_t shared_bytes;           /* dynamic */
} lt_pass_shape;
lt_pass_shape lt_join_shape(int channels);
lt_pass_shape lt_project_shape(int in_c, int out_c);
lt_pass_shape lt_output_shape(int channels, bool skip);

/* ---- Kernels (rollout/fused/kernels.c) ---- */
typedef struct lt_fused_style { /* what all texts of an operator are compiled with */
    lt_fused_numbers numbers;
    bool wrap, mma;                /* mma: texts for every card since Ampere (kernels_mma.c), else for sm_90 (kernels.c) */
    int  activation;               /* as half.cuh numbers them */
} lt_fused_style;
/* What a convolution multiplies: the state keeps its digits on the way into the stem, whatever maps hold (decision 371). */
static inline lt_fused_numbers lt_fused_products(const lt_fused_style *style, lt_conv_source source) { return style->mma && source == LT_SOURCE_STATE ? LT_FUSED_F32 : style->numbers; }
/* Each adds one kernel, which the builder makes when it finishes. */
void lt_fused_add_conv(lt_builder *b, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out);
/* blocks: per sample, and per part where there are several. */
void lt_fused_add_join(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out);
/* The same, of a block that widens from in_c to out_c channels. */
void lt_fused_add_project(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int in_c, int out_c, lt_kernel **out);
/* noise: as output.cu numbers it. */
void lt_fused_add_output(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out);
void lt_fused_add_pack(lt_builder *b, const lt_fused_style *style, unsigned blocks, int n_jobs, lt_kernel **out);
/* What all texts of a style begin with; numbers: those that are multiplied. */
lt_text *lt_fused_begin_text(lt_builder *b, const lt_fused_style *style, lt_fused_numbers numbers);

/* ---- The same on every card since Ampere (rollout/fused/kernels_mma.c) ---- */
/* A block that widens is a convolution whose result is joined. */
void lt_mma_add_conv(lt_builder *b, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out);
void lt_mma_add_join(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out);
void lt_mma_add_output(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out);

#endif
