/* Vectors on the device from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_VECTORS_INTERNAL_H
#define LT_OPTIMIZE_DEVICE_VECTORS_INTERNAL_H

#include "optimize/device/memory.h"
#include "optimize/device/vectors.h"

typedef union lt_word { int64_t i; double d; double *p; const double *q; } lt_word;
/* As in vectors.cu. */
typedef struct lt_vector_sizes { int64_t n, chunk, chunks; double *passed; } lt_vector_sizes;
typedef struct lt_arrival { uint32_t low, ticket, high, again; } lt_arrival; /* a number, and twice which run it is of */

/* A list in page-locked memory, as vectors.cu tells it. */
enum { LT_LIST_PASSED = 3, LT_LIST_HEAD = 8, LT_LIST_SUMS = 1024, LT_LIST_STATEMENTS = 64, LT_LIST_MAX_SUMS = 1024,
       LT_LIST_TERMS = (LT_LIST_SUMS - LT_LIST_HEAD - 4 * LT_LIST_STATEMENTS) / 2,
       LT_LIST_COPIES = 8, LT_LIST_WORDS = LT_LIST_SUMS + 4 * (LT_LIST_MAX_SUMS + LT_LIST_COPIES) };
enum { LT_LIST_COPY = LT_MEASURE_COUNT }; /* among the sums: b, in page-locked memory, becomes a */

_Static_assert(LT_LIST_PASSED + 1 + LT_VECTORS_MAX_PASSED == LT_LIST_HEAD, "numbers passed stand behind their count");

/* The functions of vectors.cu, and the same in C for a device that is the host. */
typedef enum lt_vector_entry { LT_VECTORS_IN_ORDER, LT_VECTORS_SIDE_BY_SIDE, LT_VECTORS_FINISH, LT_VECTORS_ENTRY_COUNT } lt_vector_entry;
lt_kernel *lt_vectors_host_kernel(lt_vector_entry entry, const char *name); /* NULL: no memory */
/* Shares of one sum, folded; also of the shares themselves. */
double     lt_vectors_fold(lt_measure what, double sum, double more);

#endif
