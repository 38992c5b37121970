/* The dense loops for the compiler's own target. SPDX-License-Identifier: BSD-3-Clause */
#define TABLE lt_dense_plain
#include "optimize/dense_body.h"
