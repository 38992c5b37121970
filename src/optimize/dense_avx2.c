/* The dense loops for avx2. SPDX-License-Identifier: BSD-3-Clause */
#define TABLE lt_dense_avx2
#include "optimize/dense_body.h"
