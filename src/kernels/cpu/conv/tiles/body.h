/* A band of a convolution by tiles: part of cpu/conv/tiles/amx.c and cpu/conv/tiles/plain.c, which have before it
     multiply(b, x, w, tall, sum)  sum [16 or 32 pixels][32 outputs] of the windows from x on; tall: 32 of them
     round_row(y, sum, n)          y [n] = sum [n], n <= 32, to the nearest bfloat16
   and begin, end around all that. SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

static void spread(const uint16_t *x, int64_t n_pixels, int64_t c, char *to, int64_t plane_step)
{
    const int64_t whole = c / LT_TILE_BLOCK, rest = c % LT_TILE_BLOCK;
    for (int64_t i = 0; i < n_pixels; i++, x += c, to += LT_TILE_LINE) {
        for (int64_t b = 0; b < whole; b++) memcpy(to + b * plane_step, x + b * LT_TILE_BLOCK, LT_TILE_LINE);
        if (!rest) continue;
        uint16_t line[LT_TILE_BLOCK] = { 0 };
        memcpy(line, x + whole * LT_TILE_BLOCK, (size_t)rest * sizeof *line);
        memcpy(to + whole * plane_step, line, sizeof line);
    }
}

/* All pixels of one block of outputs before the next: its weights stay in a cache. */
static void band(const lt_tile_band *b)
{
    _Alignas(64) float sum[LT_TILE_BLOCK * LT_TILE_BLOCK];
    const int64_t w_step = b->n_blocks * b->taps[0] * b->taps[1] * 2 * LT_TILE_SIDE * LT_TILE_LINE;
    begin();
    for (int64_t o = 0; o < b->outputs; o += LT_TILE_BLOCK)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t p = 0; p < b->width; p += LT_TILE_BLOCK) {
                int64_t n_pixels = b->width - p, n_outputs = b->outputs - o;
                const char *x = b->x + r * b->row_step + p * b->pixel_step;
                if (n_pixels > LT_TILE_SIDE) multiply(b, x, b->w + o / LT_TILE_BLOCK * w_step, 1, sum);
                else multiply(b, x, b->w + o / LT_TILE_BLOCK * w_step, 0, sum);
                if (n_pixels > LT_TILE_BLOCK) n_pixels = LT_TILE_BLOCK;
                if (n_outputs > LT_TILE_BLOCK) n_outputs = LT_TILE_BLOCK;
                uint16_t *y = b->y + (r * b->width + p) * b->outputs + o;
                for (int64_t i = 0; i < n_pixels; i++) round_row(y + i * b->outputs, sum + i * LT_TILE_BLOCK, n_outputs);
            }
    end();
}
