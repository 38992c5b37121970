/* Random numbers in bulk: the choice of loops, and ranges of any length.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/noise_loops.h"

#include "kernels/fused.h"

#include <string.h>

static const lt_draw_chunk *loops(void)
{
#if LT_VEC_X86
    lt_isa isa = lt_isa_best();
    if (isa == LT_ISA_AVX512) return lt_draw_chunk_avx512;
    if (isa == LT_ISA_AVX2) return lt_draw_chunk_avx2;
#endif
    return lt_draw_chunk_plain;
}

void lt_draw_fill(const lt_draws *s, lt_variate v, int64_t first, int64_t n, float scale, float *out)
{
    enum { CHUNK = 4 * LT_DRAW_CHUNK };
    lt_draw_chunk chunk = loops()[v];
    uint32_t block = (uint32_t)(first / 4);
    for (; n >= CHUNK; n -= CHUNK, out += CHUNK, block += LT_DRAW_CHUNK) chunk(s, block, scale, out);
    if (n <= 0) return;
    float rest[CHUNK];
    chunk(s, block, scale, rest);
    memcpy(out, rest, (size_t)n * sizeof *out);
}
