/* A convolution by tiles. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/tiles/tiles.h"

#include <immintrin.h>

/* What LDTILECFG reads: eight tiles of 16 rows of 64 bytes. */
typedef struct tile_shapes {
    uint8_t  palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t  n_rows[16];
} tile_shapes;
_Static_assert(sizeof(tile_shapes) == 64, "as the processor reads it");

static const tile_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 }, .n_rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };

static void begin(void) { _tile_loadconfig(&shapes); }

/* Unused tiles cost nothing when the system switches threads. */
static void end(void) { _tile_release(); }

/* Weights come from the second-level cache: they are prefetched this many steps ahead. */
enum { STEP_BYTES = 2 * LT_TILE_SIDE * LT_TILE_LINE, AHEAD = 2 * STEP_BYTES };

/* Tiles 0 to 3 are sums (pixels by outputs), 4 and 5 pixels, 6 and 7 weights. */
static inline __attribute__((always_inline)) void multiply(const lt_tile_band *b, const char *x, const char *w, int tall, float *sum)
{
    const int64_t pixel = b->pixel_step;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < b->n_blocks; k++, x += b->plane_step)
        for (int64_t r = 0; r < b->taps[0]; r++)
            for (int64_t q = 0; q < b->taps[1]; q++, w += STEP_BYTES) {
                const char *at = x + r * b->tap_step[0] + q * b->tap_step[1];
                for (int i = 0; i < STEP_BYTES; i += LT_TILE_LINE) _mm_prefetch(w + AHEAD + i, _MM_HINT_T0);
                _tile_loadd(4, at, pixel);
                _tile_loadd(6, w, LT_TILE_LINE);
                _tile_dpbf16ps(0, 4, 6);
                _tile_loadd(7, w + STEP_BYTES / 2, LT_TILE_LINE);
                _tile_dpbf16ps(1, 4, 7);
                if (!tall) continue;
                _tile_loadd(5, at + LT_TILE_SIDE * pixel, pixel);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
    const int64_t row = LT_TILE_BLOCK * sizeof *sum;
    _tile_stored(0, sum, row);
    _tile_stored(1, sum + LT_TILE_SIDE, row);
    if (!tall) return;
    _tile_stored(2, sum + LT_TILE_SIDE * LT_TILE_BLOCK, row);
    _tile_stored(3, sum + LT_TILE_SIDE * LT_TILE_BLOCK + LT_TILE_SIDE, row);
}

static inline void round_row(uint16_t *y, const float *sum, int64_t n)
{
    __m512bh v = _mm512_cvtne2ps_pbh(_mm512_load_ps(sum + LT_TILE_SIDE), _mm512_load_ps(sum));
    if (n == LT_TILE_BLOCK) _mm512_storeu_si512(y, (__m512i)v);
    else _mm512_mask_storeu_epi16(y, (__mmask32)((UINT32_C(1) << n) - 1), (__m512i)v);
}

#include "kernels/cpu/conv/tiles/body.h"

const lt_tile_loops lt_tiles_amx = { spread, band };
