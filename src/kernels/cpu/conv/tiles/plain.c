/* A convolution by tiles without tiles: the same walk over the same memory in plain loops. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/tiles/tiles.h"

#include "base/dtype.h"

static void begin(void) { }
static void end(void) { }

static void add_line(const uint16_t *x, const uint16_t *w, float *sum)
{
    for (int o = 0; o < LT_TILE_BLOCK; o++) {
        const uint16_t *half = w + o / LT_TILE_SIDE * LT_TILE_SIDE * LT_TILE_BLOCK + o % LT_TILE_SIDE * 2;
        for (int c = 0; c < LT_TILE_BLOCK; c++) sum[o] += lt_bf16_to_f32(x[c]) * lt_bf16_to_f32(half[c / 2 * LT_TILE_BLOCK + c % 2]);
    }
}

static void multiply(const lt_tile_band *b, const char *x, const char *w, int tall, float *sum)
{
    for (int i = 0; i < LT_TILE_BLOCK * LT_TILE_BLOCK; i++) sum[i] = 0;
    for (int64_t k = 0; k < b->n_blocks; k++)
        for (int64_t r = 0; r < b->taps[0]; r++)
            for (int64_t q = 0; q < b->taps[1]; q++, w += 2 * LT_TILE_SIDE * LT_TILE_LINE)
                for (int p = 0; p < (tall ? 2 : 1) * LT_TILE_SIDE; p++) {
                    const char *line = x + k * b->plane_step + r * b->tap_step[0] + q * b->tap_step[1] + p * b->pixel_step;
                    add_line((const uint16_t *)(const void *)line, (const uint16_t *)(const void *)w, sum + p * LT_TILE_BLOCK);
                }
}

static void round_row(uint16_t *y, const float *sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = lt_f32_to_bf16(sum[i]);
}

#include "kernels/cpu/conv/tiles/body.h"

const lt_tile_loops lt_tiles_plain = { spread, band };
