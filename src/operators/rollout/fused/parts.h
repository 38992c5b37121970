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
typedef enum lt_conv_result { LT_RESULT_MAP, LT_RESULT_NORMS } lt_conv_result;

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

/* How a kernel that passes over maps once is cut. */
typedef struct lt_pass_shape {
    int    threads, per_core;      /* of a block; blocks on a core at once */
    int    parts;                  /* of project.cu: so many blocks share a tile, each has some of its channels */
    int    slots;                  /* for tiles: of a block; of output.cu: of a warp */
    size_t shared_bytes;           /* dynamic */
} lt_pass_shape;
lt_pass_shape lt_join_shape(int channels);
lt_pass_shape lt_project_shape(int in_c, int out_c);
lt_pass_shape lt_output_shape(int channels, bool skip);

/* ---- Kernels (rollout/fused/kernels.c) ---- */
typedef struct lt_fused_style { /* what all texts of an operator are compiled with */
    bool bf16, wrap;
    int  activation;               /* as half.cuh numbers them */
} lt_fused_style;
/* Each adds one kernel, which the builder makes when it finishes. */
void lt_fused_add_conv(lt_builder *b, const lt_fused_style *style, const lt_conv_shape *s, unsigned blocks, double flops, lt_kernel **out);
/* blocks: per sample, and per part where there are several. */
void lt_fused_add_join(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip_norm, lt_kernel **out);
/* The same, of a block that widens from in_c to out_c channels. */
void lt_fused_add_project(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int in_c, int out_c, lt_kernel **out);
/* noise: as output.cu numbers it. */
void lt_fused_add_output(lt_builder *b, const lt_fused_style *style, int64_t samples, int blocks, int channels, bool skip, int noise, lt_kernel **out);
void lt_fused_add_pack(lt_builder *b, const lt_fused_style *style, unsigned blocks, int n_jobs, lt_kernel **out);

#endif
