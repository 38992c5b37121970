/* Any layout and float type to f32 with the channels last, and back. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_slab.h"

#include "base/dtype.h"
#include "base/status.h"

enum { TILE = 16 };

/* dst (pixels, c) = src (c, pixels) with `plane` elements between channels. */
static void channels_to_last(float *dst, const float *src, int64_t plane, int64_t pixels, int64_t c)
{
    for (int64_t p0 = 0; p0 < pixels; p0 += TILE)
        for (int64_t c0 = 0; c0 < c; c0 += TILE)
            for (int64_t p = p0; p < LT_MIN(pixels, p0 + TILE); p++)
                for (int64_t i = c0; i < LT_MIN(c, c0 + TILE); i++) dst[p * c + i] = src[i * plane + p];
}

static void channels_to_first(float *dst, const float *src, int64_t plane, int64_t pixels, int64_t c)
{
    for (int64_t c0 = 0; c0 < c; c0 += TILE)
        for (int64_t p0 = 0; p0 < pixels; p0 += TILE)
            for (int64_t i = c0; i < LT_MIN(c, c0 + TILE); i++)
                for (int64_t p = p0; p < LT_MIN(pixels, p0 + TILE); p++) dst[i * plane + p] = src[p * c + i];
}

void lt_conv_slab_pack(const lt_conv_slab *b, float *dst, const char *src, float *half)
{
    size_t size = lt_dtype_size(b->t);
    int64_t pixels = b->rows * b->w, plane = b->h * b->w;
    for (int64_t i = 0; i < b->n; i++, dst += pixels * b->c) {
        const char *image = src + (size_t)((b->image + i) * plane * b->c) * size;
        if (b->last) {
            lt_convert(LT_F32, dst, b->t, image + (size_t)(b->row * b->w * b->c) * size, pixels * b->c);
        } else if (b->t == LT_F32) {
            channels_to_last(dst, (const float *)(const void *)image + b->row * b->w, plane, pixels, b->c);
        } else {
            for (int64_t c = 0; c < b->c; c++)
                lt_convert(LT_F32, half + c * pixels, b->t, image + (size_t)(c * plane + b->row * b->w) * size, pixels);
            channels_to_last(dst, half, pixels, pixels, b->c);
        }
    }
}

void lt_conv_slab_unpack(const lt_conv_slab *b, char *dst, const float *src, float *half)
{
    size_t size = lt_dtype_size(b->t);
    int64_t pixels = b->rows * b->w, plane = b->h * b->w;
    for (int64_t i = 0; i < b->n; i++, src += pixels * b->c) {
        char *image = dst + (size_t)((b->image + i) * plane * b->c) * size;
        if (b->last) {
            lt_convert(b->t, image + (size_t)(b->row * b->w * b->c) * size, LT_F32, src, pixels * b->c);
        } else if (b->t == LT_F32) {
            channels_to_first((float *)(void *)image + b->row * b->w, src, plane, pixels, b->c);
        } else {
            channels_to_first(half, src, pixels, pixels, b->c);
            for (int64_t c = 0; c < b->c; c++)
                lt_convert(b->t, image + (size_t)(c * plane + b->row * b->w) * size, LT_F32, half + c * pixels, pixels);
        }
    }
}
