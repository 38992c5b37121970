/* What the kernels of H work on: C writes it, hessian.cu reads it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of that text: plain types only, no includes. */
#ifndef LT_OPTIMIZE_DEVICE_HESSIAN_JOB_H
#define LT_OPTIMIZE_DEVICE_HESSIAN_JOB_H

/* Rows of the matrix are `stride` numbers apart, a multiple of 8. Sums over rows of limited memory are made of `chunks` shares. */
typedef struct lt_hessian_sizes { long long n, stride, pairs, chunk, chunks; } lt_hessian_sizes;

/* The head of limited memory: pairs in use, the factor of the identity, the newest pair's slot, and its 1 / s'y where it came since the
   last product (else 0). */
enum { LT_HEAD_USED, LT_HEAD_GAMMA, LT_HEAD_NEWEST, LT_HEAD_RHO, LT_HEAD_COUNT };

#endif
