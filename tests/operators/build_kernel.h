/* One kernel of fused steps, built at once: BUILD_KERNEL(device, lt_fused_add_pack, &style, …, &kernel). SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUILD_KERNEL_H
#define BUILD_KERNEL_H

#include "lt_test.h"
#include "operators/rollout/fused/parts.h"

/* Numbers of a test where a job points to vectors of them. */
#define ANY(p) ((void *)(p))

#define BUILD_KERNEL(dev, add, ...)                    \
    do {                                               \
        lt_builder b_ = lt_builder_begin(dev);         \
        add(&b_, __VA_ARGS__);                         \
        LT_CHECK_OK(lt_builder_finish(&b_, NULL));     \
    } while (0)

#endif
