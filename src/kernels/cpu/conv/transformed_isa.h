/* Convolutions by transformed tiles for one instruction set, Winograd's and Fourier's: lt_isa_sources compiles this for AVX2
   and AVX-512. SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include <stdint.h>

#define NAME LT_ISA_NAME(lt_wino)
#define FOURIER_NAME LT_ISA_NAME(lt_fourier)
#define stream_end() _mm_sfence()
#if LT_ISA_BYTES == 64
#define W 16
#define ROWS 12
#define stream(p, v) _mm512_stream_ps(p, (__m512)(v))
#define half_load(p) ((vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(const void *)(p))))
#define half_store(p, v) _mm256_storeu_si256((__m256i_u *)(void *)(p), _mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT))
#else
#define W 8
#define ROWS 6
#define stream(p, v) _mm256_stream_ps(p, (__m256)(v))
#define half_load(p) ((vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)(p))))
#define half_store(p, v) _mm_storeu_si128((__m128i_u *)(void *)(p), _mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT))
#endif
#include "kernels/cpu/conv/winograd/body.h"
#include "kernels/cpu/conv/fourier/body.h"
