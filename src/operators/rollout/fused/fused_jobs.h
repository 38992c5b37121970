/* What the kernels of fused steps work on: C writes it, texts read it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of those texts: plain types only, no includes. Shapes count channels with the filling. */
#ifndef LT_OPERATORS_ROLLOUT_FUSED_FUSED_JOBS_H
#define LT_OPERATORS_ROLLOUT_FUSED_FUSED_JOBS_H

/* Norms of a map that are still to be applied. */
typedef struct lt_norm_job {
    const struct float2 *ready;            /* of a sample's channels */
    int stride, channels;                  /* from one sample to the next; channels with the filling, even */
} lt_norm_job;

/* Sums of a map's tiles, of which its norms are made. */
typedef struct lt_sums_job {
    struct float2       *sums;             /* [samples, tiles, channels]: of values and of squares */
    const struct float2 *affine;           /* gamma and beta, [channels] */
    struct float2       *norms;            /* [samples, channels] */
    unsigned int        *counts;           /* [samples]: tiles that are done; zero between launches */
    int   tiles, channels;                 /* channels with the filling, even */
    int   real, group;                     /* without it; how many are normalised together */
    float pixels;
} lt_sums_job;

typedef struct lt_conv_job {
    const struct uint4  *source;           /* [samples, grid, grid, in_c] */
    const unsigned char *weights;
    struct uint4        *result;           /* [samples, grid, grid, out_c] */
    lt_norm_job norm;                      /* of the source; where the result is added to a map, of that */
    lt_sums_job own;                       /* of the result */
    int samples, grid, tiles_wide, in_c, out_c, chunks, blocks_n; /* tiles_wide: along one side */
} lt_conv_job;

typedef struct lt_join_job {
    const struct uint4 *map, *skip;        /* [samples, pixels, channels] */
    struct uint4       *result;            /* may be map */
    lt_norm_job norm, skip_norm;
    int pixels;
} lt_join_job;

typedef struct lt_project_job {
    const struct uint4 *map, *source;      /* [samples, pixels, out_c], [samples, pixels, in_c] */
    const struct uint4 *weights;           /* [in_c / 8, out_c] cells of eight inputs, as conv.cu has them */
    struct uint4       *result;            /* may be map */
    lt_norm_job norm;                      /* of map */
    int pixels;
} lt_project_job;

typedef struct lt_output_job {
    const struct uint4 *map, *skip;        /* [samples, pixels, channels] */
    const float        *weights;           /* [3, channels], then three biases */
    unsigned int       *ended;             /* [samples]: blocks that are done; zero between launches */
    lt_norm_job norm;
    int pixels, real;
} lt_output_job;

typedef enum lt_pack_kind { LT_PACK_CONV, LT_PACK_AFFINE, LT_PACK_OUTPUT } lt_pack_kind;
typedef struct lt_pack_job {
    long long first, count;                /* items before this job's; its items: pairs of weights (single ones in single precision), channels, numbers */
    long long from, second;                /* floats of the block; second: of beta or bias, -1 without */
    void *to;
    int   kind, inputs, outputs;           /* inputs, outputs: without filling. Of the state: kernel^2 times three as inputs */
    int   taps, chunk, tile, chunks;
    int   single;                          /* weights in single precision: 1 as they are, 2 rounded to TF32 */
    int   cell, fragments;                 /* inputs that lie together; of conv_mma.cu: of a warp's channels, else 0 */
    float scale;                           /* of gamma */
} lt_pack_job;

#endif
