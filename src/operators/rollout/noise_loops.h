/* Random numbers in bulk: blocks of Philox streams turned into uniform, normal and Laplace values.
   SPDX-License-Identifier: BSD-3-Clause

   Element i uses word i % 4 of block i / 4, as in lathe/rng.h. The arithmetic is plain IEEE single
   precision without contraction or library calls, so every instruction set gives the same bits;
   values agree with lt_draws_uniform_f32 and lt_draws_normal_f32 to a few units in the last place. */
#ifndef LT_OPERATORS_ROLLOUT_NOISE_LOOPS_H
#define LT_OPERATORS_ROLLOUT_NOISE_LOOPS_H

#include "lathe/rng.h"

typedef enum lt_variate {
    LT_VARIATE_UNIFORM,   /* in [-1, 1) */
    LT_VARIATE_NORMAL,    /* Box-Muller pairs */
    LT_VARIATE_LAPLACE,   /* exponential with a random sign: 31 bits and one */
    LT_VARIATE_COUNT
} lt_variate;

#define LT_DRAW_CHUNK 64  /* blocks turned together */

/* 4 * LT_DRAW_CHUNK elements from block `first` on, times scale. */
typedef void (*lt_draw_chunk)(const lt_draws *s, uint32_t first, float scale, float *out);

extern const lt_draw_chunk lt_draw_chunk_plain[LT_VARIATE_COUNT];
#if LT_VEC_X86
extern const lt_draw_chunk lt_draw_chunk_avx2[LT_VARIATE_COUNT], lt_draw_chunk_avx512[LT_VARIATE_COUNT];
#endif

/* Elements first..first+n-1 of the stream, times scale; first must be a multiple of four. */
void lt_draw_fill(const lt_draws *s, lt_variate v, int64_t first, int64_t n, float scale, float *out);

#endif
