/* What rows of convolution share: how one begins, and how work is cut into tasks: groups of whole images, or bands of rows of one image.
   By shape only, so that results do not depend on the number of threads.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_BANDS_H
#define LT_KERNELS_CPU_CONV_BANDS_H

#include "kernels/host_kernel.h"
#include "kernels/window.h"

typedef lt_status (*lt_conv_pack)(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed);
/* The sizes of p. Notes its FLOPs in the kernel, and how weights can be packed beforehand. */
lt_conv_sizes lt_conv_begin(lt_host_kernel *host, const lt_problem_key *p, lt_conv_pack pack);

typedef struct lt_conv_bands {
    int64_t group;      /* images per task; more than 1 only with a single band */
    int64_t n_groups, n_bands, n_tasks; /* n_tasks = n_groups * n_bands */
    int64_t band_rows;  /* rows of the result (y, or x for the data gradient) per band */
} lt_conv_bands;

/* The rows of x and y that one task works on, and the padding seen from there. */
typedef struct lt_conv_part {
    int64_t image, n_images;
    int64_t x_row, x_rows, y_row, y_rows, pad_top, pad_bottom;
} lt_conv_part;

/* max_tasks bounds n_tasks (weight gradients keep one partial sum per task). */
lt_conv_bands lt_conv_bands_of(const lt_conv_sizes *s, lt_op op, double task_flops, int64_t max_tasks);
lt_conv_part  lt_conv_part_of(const lt_conv_sizes *s, lt_op op, const lt_conv_bands *b, int64_t task);

#endif
