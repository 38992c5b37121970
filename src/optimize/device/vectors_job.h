/* What the kernels of vectors work on: C writes it, vectors.cu reads it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of that text, behind vectors/measure.h: plain types only, no includes.

   A list lies in page-locked host memory. Words: [0] statements, [1] terms, [2] sums and, in the upper half, the ticket of their results,
   [LT_LIST_PASSED] how many numbers are passed, then these. From LT_LIST_HEAD on the statements (4 words: to, first term and, in the upper
   half, where its level ends, terms, constant), then the terms (2 words: factor, vector), then the sums (4 words: kind, a, b, unused), and
   behind them copies of a to b, which lies in host memory: nobody waits for these. */
#ifndef LT_OPTIMIZE_DEVICE_VECTORS_JOB_H
#define LT_OPTIMIZE_DEVICE_VECTORS_JOB_H

typedef union lt_word { long long i; double d; double *p; const double *q; } lt_word;

/* Sums are made of `chunks` shares; passed: where numbers that go with a list arrive. */
typedef struct lt_vector_sizes { long long n, chunk, chunks; double *passed; } lt_vector_sizes;

/* A number in host memory: each half with a ticket beside it, in one store of 8 bytes, so that the host sees when it has arrived and
   no kernel need wait for that. */
typedef struct lt_arrival {
#ifdef __cplusplus
    alignas(16)
#else
    _Alignas(16)
#endif
    unsigned low;
    unsigned ticket, high, again;
} lt_arrival;

enum { LT_LIST_PASSED = 3, LT_LIST_HEAD = 16, LT_LIST_MOST = 1024 }; /* LT_LIST_MOST: words before the sums */
enum { LT_LIST_COPY = 4 };                                           /* among the sums, no lt_measure: b, in page-locked memory, becomes a */

#endif
