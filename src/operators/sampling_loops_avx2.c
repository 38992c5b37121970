/* Loops over a row and a tile of rows, with AVX2. SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#define NAME(x) x##_avx2
#define VECTOR __m256d
#define SPREAD(x) _mm256_set1_pd(x)
#define LEAST(a, b) _mm256_min_pd(a, b)
#include "operators/sampling_loops_body.h"
