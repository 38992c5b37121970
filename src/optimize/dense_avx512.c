/* The dense loops for avx512. SPDX-License-Identifier: BSD-3-Clause */
#define TABLE lt_dense_avx512
#include "optimize/dense_body.h"
