/* What kind of device this is: what the layers above ask for instead of a back end's name.
   SPDX-License-Identifier: BSD-3-Clause

   Everywhere dev NULL means the CPU, as it does in the options of all engines. */
#ifndef LT_DEVICE_FLAGS_H
#define LT_DEVICE_FLAGS_H

#include "lathe/device.h"

typedef enum lt_device_flag {
    LT_DEVICE_OWN_MEMORY    = 1 << 0, /* the host cannot follow its addresses: numbers are copied */
    LT_DEVICE_HOST_KERNELS  = 1 << 1, /* lt_device_build takes kernels in C */
    LT_DEVICE_TEXT_KERNELS  = 1 << 2, /* lt_device_build takes source text */
    LT_DEVICE_COMPUTES      = 1 << 3, /* kernels run; else they are checked and counted */
    LT_DEVICE_TRACES_ITSELF = 1 << 4, /* the trace gets a span of each kernel without events around it */
} lt_device_flag;

/* Whether the device has all of `flags`. */
bool lt_device_has(const lt_device *dev, unsigned flags);
/* "cpu", "cuda", "null": for reports and files, not to decide by. */
const char *lt_device_kind(const lt_device *dev);
/* The generation of its kernels' machine code: 90 for sm_90, 0 on the CPU. The null device plans as an sm_90. */
int lt_device_generation(const lt_device *dev);
/* Shared memory that a block of threads may have; 0 on the CPU. It does not grow with the generation: 163 KiB on sm_80, 99 on sm_86, 89 and 120, 227 on
   sm_90 and 100. */
size_t lt_device_shared_bytes(const lt_device *dev);

/* Which of several GPUs is meant where no number is said, by "cuda" and "auto": ranks of one machine share them out. Taken modulo those here. */
void lt_device_prefer(int number);

#endif
