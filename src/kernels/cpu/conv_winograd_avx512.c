/* Convolution by transformed tiles with AVX-512. SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include <stdint.h>

#define W 16
#define ROWS 12
#define NAME lt_wino_avx512
#define FOURIER_NAME lt_fourier_avx512
#define stream(p, v) _mm512_stream_ps(p, (__m512)(v))
#define stream_end() _mm_sfence()
#define half_load(p) ((vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(const void *)(p))))
#define half_store(p, v) _mm256_storeu_si256((__m256i_u *)(void *)(p), _mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT))
#include "kernels/cpu/conv_winograd_body.h"
#include "kernels/cpu/conv_fourier_body.h"
