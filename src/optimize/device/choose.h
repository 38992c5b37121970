/* Which device evaluates a graph, and what an evaluation costs on it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_CHOOSE_H
#define LT_OPTIMIZE_DEVICE_CHOOSE_H

#include "lathe/solve.h"

/* How programs are compiled for the device (NULL: the CPU): captured ones unless the options say otherwise. */
lt_mode lt_device_mode(const lt_solve_options *opt, const lt_device *dev);
/* Seconds of one evaluation on a device, about: what decides the order of values and gradients. */
double  lt_device_cost(const lt_program_info *i);
/* A device spends most of such an evaluation waiting, and several take little longer than one. */
bool    lt_device_idles(const lt_program_info *i);

/* device_name=auto: true when one evaluation (all: its program on the CPU) is large enough for a GPU and one is
   here, which is then opened. The reason is given either way. */
bool    lt_device_auto(const lt_program_info *all, lt_device **out, char *reason, size_t size);
/* The GPU that auto took failed to compile or hold the program: the text of that failure becomes the reason. */
void    lt_device_auto_refused(const lt_device *dev, char *reason, size_t size);

#endif
