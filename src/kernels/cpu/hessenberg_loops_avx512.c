/* SPDX-License-Identifier: BSD-3-Clause */
#define LOOPS lt_hessenberg_avx512
#include "kernels/cpu/hessenberg_loops_body.h"
