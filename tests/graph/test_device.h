/* The device a graph test runs on: LT_TEST_DEVICE of the environment, else the CPU.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_GRAPH_DEVICE_H
#define LT_TEST_GRAPH_DEVICE_H

#include "lathe/device.h"

#include <stdio.h>
#include <stdlib.h>

/* NULL for the CPU. A device that cannot be opened ends the program as skipped, with the reason. */
static inline lt_device *test_device(void)
{
    static lt_device *dev;
    const char *name = getenv("LT_TEST_DEVICE");
    if (!dev && name && lt_device_open(name, &dev)) {
        printf("skip: %s\n", lt_error_text());
        exit(77);
    }
    return dev;
}

#endif
