/* SPDX-License-Identifier: BSD-3-Clause */
#define LOOPS lt_hessenberg_avx2
#include "kernels/cpu/hessenberg_loops_body.h"
