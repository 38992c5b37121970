/* SPDX-License-Identifier: BSD-3-Clause */
#define LOOPS lt_hessenberg_plain
#include "kernels/cpu/hessenberg_loops_body.h"
