/* What the made-up driver counts, and how it is made to fail. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_FAKE_CUDA_H
#define LT_TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_cuda {
    size_t   memory_bytes, used_bytes;
    int      launches, early, instantiated;
    _Atomic int modules, loads;  /* by several threads */
    int      locked, locks, most_locked; /* pieces of page-locked memory now; calls that locked some; 0: any number */
    void    *last_arg;           /* first argument of the last kernel that ran */
    int      fail_after;         /* the n-th call from now fails with fail_with, and all that follow */
    unsigned fail_with, sticky;
    bool     refuse_updates;     /* captured kernels cannot be changed in place */
} fake_cuda;

#endif
