/* Canvas and fields in colour. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/image.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t grey[3] = { 128, 128, 128 }; /* of values that are not finite */

lt_status lt_image_create(int width, int height, uint32_t background, lt_image *out)
{
    *out = (lt_image){ 0 };
    if (width < 1 || height < 1 || width > LT_IMAGE_MAX_SIDE || height > LT_IMAGE_MAX_SIDE)
        return LT_FAIL(LT_ERR_ARGUMENT, "an image of %d by %d pixels: expected 1..%d each way", width, height, LT_IMAGE_MAX_SIDE);
    uint8_t *rgb = lt_malloc((size_t)width * (size_t)height * 3);
    if (!rgb) return LT_ERR_MEMORY;
    *out = (lt_image){ width, height, rgb };
    lt_image_fill(out, (lt_rect){ 0, 0, width, height }, background);
    return LT_OK;
}

void lt_image_free(lt_image *m)
{
    lt_free(m->rgb);
    *m = (lt_image){ 0 };
}

static uint8_t *pixel(const lt_image *m, int x, int y) { return m->rgb + 3 * ((size_t)y * (size_t)m->width + (size_t)x); }

static lt_rect cut(const lt_image *m, lt_rect r)
{
    int x0 = LT_MAX(r.x, 0), y0 = LT_MAX(r.y, 0), x1 = LT_MIN(r.x + r.width, m->width), y1 = LT_MIN(r.y + r.height, m->height);
    return (lt_rect){ x0, y0, LT_MAX(x1 - x0, 0), LT_MAX(y1 - y0, 0) };
}

void lt_image_fill(lt_image *m, lt_rect r, uint32_t colour)
{
    const uint8_t rgb[3] = { (uint8_t)(colour >> 16), (uint8_t)(colour >> 8), (uint8_t)colour };
    r = cut(m, r);
    for (int y = r.y; y < r.y + r.height; y++)
        for (int x = r.x; x < r.x + r.width; x++) memcpy(pixel(m, x, y), rgb, 3);
}

/* ---- Fields -------------------------------------------------------------------------- */
static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void lt_image_quantiles(const float *x, int64_t n, float *scratch, float *lo, float *hi)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) scratch[kept++] = x[i];
    *lo = *hi = 0;
    if (!kept) return;
    qsort(scratch, (size_t)kept, sizeof *scratch, by_value);
    *lo = scratch[(int64_t)floor(0.01 * (double)(kept - 1) + 0.5)];
    *hi = scratch[(int64_t)floor(0.99 * (double)(kept - 1) + 0.5)];
}

/* 0..255; the middle when there is no range. */
static int level(float v, float lo, float hi)
{
    if (!(hi > lo)) return 128;
    float t = (v - lo) / (hi - lo);
    return (int)(fminf(fmaxf(t, 0), 1) * 255 + 0.5f);
}

void lt_image_plane(lt_image *m, lt_rect r, const float *plane, int rows, int columns, float lo, float hi, const uint8_t table[256][3])
{
    lt_rect seen = cut(m, r);
    for (int y = seen.y; y < seen.y + seen.height; y++)
        for (int x = seen.x; x < seen.x + seen.width; x++) {
            int64_t at = (int64_t)(y - r.y) * rows / r.height * columns + (int64_t)(x - r.x) * columns / r.width;
            memcpy(pixel(m, x, y), isfinite(plane[at]) ? table[level(plane[at], lo, hi)] : grey, 3);
        }
}

void lt_image_colour_planes(lt_image *m, lt_rect r, const float *planes, int rows, int columns, float lo, float hi)
{
    lt_rect seen = cut(m, r);
    int64_t n = (int64_t)rows * columns;
    for (int y = seen.y; y < seen.y + seen.height; y++)
        for (int x = seen.x; x < seen.x + seen.width; x++) {
            const float *v = planes + (int64_t)(y - r.y) * rows / r.height * columns + (int64_t)(x - r.x) * columns / r.width;
            for (int c = 0; c < 3; c++) pixel(m, x, y)[c] = isfinite(v[c * n]) ? (uint8_t)level(v[c * n], lo, hi) : grey[c];
        }
}
