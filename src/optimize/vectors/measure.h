/* Numbers about vectors. SPDX-License-Identifier: BSD-3-Clause
   This header is also a part of device/vectors.cu: plain types only, no includes. */
#ifndef LT_OPTIMIZE_VECTORS_MEASURE_H
#define LT_OPTIMIZE_VECTORS_MEASURE_H

typedef enum lt_measure {
    LT_MEASURE_DOT,      /* a'b */
    LT_MEASURE_SQUARES,  /* |a - b| squared */
    LT_MEASURE_LARGEST,  /* the largest |a_i|; NaN when there is one. b is a */
    LT_MEASURE_BAD,      /* how many a_i are not finite. b is a */
    LT_MEASURE_COUNT
} lt_measure;

#endif
