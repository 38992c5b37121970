/* Loops over a row and a tile of rows, with AVX-512. SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#define NAME(x) x##_avx512
#define VECTOR __m512d
#define SPREAD(x) _mm512_set1_pd(x)
#define LEAST(a, b) _mm512_min_pd(a, b)
#include "operators/sampling_loops_body.h"
