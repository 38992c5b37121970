/* The QP solver's inner loops for AVX2 with fused multiply-add. SPDX-License-Identifier: BSD-3-Clause */
#define LOOPS lt_qp_loops_avx2
#include "optimize/qp_loops_body.h"
