/* Parts of images brought into the layout fast convolutions compute in. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_ONEDNN_SLAB_H
#define LT_KERNELS_CPU_CONV_ONEDNN_SLAB_H

#include "kernels/cpu/vec/vec.h"

/* One side of a convolution: rows [row, row + rows) of n images of (h, w, c), from `image` on; last: channels last. */
typedef struct lt_conv_slab { lt_dtype t; bool last; int64_t image, n, c, h, w, row, rows; } lt_conv_slab;

/* Between the tensor (of type t) and dense f32 with the channels last; half has room for as many floats, set is that of f32.
   Tensors of f32 with the channels first may have an activation applied on their way out; others may not. */
void lt_conv_slab_pack(const lt_conv_slab *b, const lt_vec_set *set, float *dst, const char *src, float *half);
void lt_conv_slab_unpack(const lt_conv_slab *b, const lt_vec_set *set, lt_vec_turn way, char *dst, const float *src, float *half);

#endif
