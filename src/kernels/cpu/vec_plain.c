/* The vector functions in plain C over libm: any processor. SPDX-License-Identifier: BSD-3-Clause */
#define VEC_BYTES 16
#define VEC_NAME(type) lt_vec_plain_##type
#include "kernels/cpu/vec_body.h"
