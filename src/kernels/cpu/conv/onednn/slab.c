/* Any layout and float type to f32 with the channels last, and back. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/onednn/slab.h"

#include "base/dtype.h"

void lt_conv_slab_pack(const lt_conv_slab *b, const lt_vec_set *set, float *dst, const char *src, float *half)
{
    size_t size = lt_dtype_size(b->t);
    int64_t pixels = b->rows * b->w, plane = b->h * b->w;
    for (int64_t i = 0; i < b->n; i++, dst += pixels * b->c) {
        const char *image = src + (size_t)((b->image + i) * plane * b->c) * size;
        if (b->last) {
            lt_convert(LT_F32, dst, b->t, image + (size_t)(b->row * b->w * b->c) * size, pixels * b->c);
        } else if (b->t == LT_F32) {
            set->turn[LT_TURN_COPY](dst, b->c, (const float *)(const void *)image + b->row * b->w, plane, b->c, pixels);
        } else {
            for (int64_t c = 0; c < b->c; c++)
                lt_convert(LT_F32, half + c * pixels, b->t, image + (size_t)(c * plane + b->row * b->w) * size, pixels);
            set->turn[LT_TURN_COPY](dst, b->c, half, pixels, b->c, pixels);
        }
    }
}

void lt_conv_slab_unpack(const lt_conv_slab *b, const lt_vec_set *set, lt_vec_turn way, char *dst, const float *src, float *half)
{
    size_t size = lt_dtype_size(b->t);
    int64_t pixels = b->rows * b->w, plane = b->h * b->w;
    for (int64_t i = 0; i < b->n; i++, src += pixels * b->c) {
        char *image = dst + (size_t)((b->image + i) * plane * b->c) * size;
        if (b->last) {
            lt_convert(b->t, image + (size_t)(b->row * b->w * b->c) * size, LT_F32, src, pixels * b->c);
        } else if (b->t == LT_F32) {
            set->turn[way]((float *)(void *)image + b->row * b->w, plane, src, b->c, pixels, b->c);
        } else {
            set->turn[LT_TURN_COPY](half, pixels, src, b->c, pixels, b->c);
            for (int64_t c = 0; c < b->c; c++)
                lt_convert(b->t, image + (size_t)(c * plane + b->row * b->w) * size, LT_F32, half + c * pixels, pixels);
        }
    }
}
