/* Convolution by transformed tiles with AVX2. SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include <stdint.h>

#define W 8
#define ROWS 6
#define NAME lt_wino_avx2
#define FOURIER_NAME lt_fourier_avx2
#define stream(p, v) _mm256_stream_ps(p, (__m256)(v))
#define stream_end() _mm_sfence()
#define half_load(p) ((vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)(p))))
#define half_store(p, v) _mm_storeu_si128((__m128i_u *)(void *)(p), _mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT))
#include "kernels/cpu/conv_winograd_body.h"
#include "kernels/cpu/conv_fourier_body.h"
