/* A device whose kernels the CPU runs, thread by thread: their text is compiled as C++ with calls of ptx_host.h instead
   of asm statements. SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_DEVICE_H
#define HOST_DEVICE_H

#include "lathe/base.h"

/* Whether there is a C++ compiler to make kernels with. */
bool host_device_possible(void);

/* Stands in the place of lt_backend.build. Launches run their kernels before they return. */
struct lt_device;
struct lt_kernel_key;
struct lt_kernel;
lt_status host_device_build(struct lt_device *dev, const struct lt_kernel_key *key, struct lt_kernel **out);

/* In which order threads, blocks and asynchronous work run, from now on: as they come, or last first and as late as
   they may, several clusters beside each other. */
void host_device_mix(bool mixed);

#endif
