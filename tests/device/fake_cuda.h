/* What the made-up driver counts, and how it is made to fail. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_FAKE_CUDA_H
#define LT_TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_cuda {         /* _Atomic: what calls of several threads change */
    size_t          memory_bytes;
    _Atomic size_t  used_bytes;
    _Atomic int     launches, early, instantiated, modules, loads;
    _Atomic int     locked, locks;         /* pieces of page-locked memory now; calls that locked some */
    int             most_locked;           /* 0: any number */
    void *_Atomic   last_arg;              /* first argument of the last kernel that ran */
    _Atomic int     fail_after;            /* the n-th call from now fails with fail_with, and all that follow */
    unsigned        fail_with;
    _Atomic unsigned sticky;
    bool            refuse_updates;        /* captured kernels cannot be changed in place */
} fake_cuda;

#endif
