/* A prepared call of cuSOLVER. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_LINALG_LINALG_H
#define LT_KERNELS_CUDA_LINALG_LINALG_H

#include "device/cuda/libraries.h"
#include "kernels/kernel_table.h"

typedef struct lt_solver {
    lt_kernel base;
    lt_device *dev;
    const lt_cusolver *api;
    lt_op    op;
    size_t   element;                  /* 4 or 8 bytes */
    int64_t  count, count_a;           /* calls; matrices a there are */
    int64_t  m, n, r;                  /* of one matrix; r: the smaller */
    int64_t  n_systems;                /* SOLVE: right sides of one call, one after the other */
    int64_t  out_count;                /* elements of one call's result */
    bool     transposed;               /* SOLVE: a' x = b */
    bool     turned;                   /* SVD: tall, so that a itself is given in columns */
    lt_kernel *copy_in, *finish, *spoil, *identity, *turn[2];
    size_t   at[6];                    /* into the scratch: work, second, third, pivot, state, device workspace */
    size_t   device_bytes, host_bytes;
    void    *host;
    pthread_mutex_t use;               /* of host */
} lt_solver;

/* Memory of one call on the device. */
typedef struct lt_solver_places { char *work, *second, *third; int64_t *pivot; int *state; char *device; } lt_solver_places;

/* The library's part of one call, by handle h; cuSOLVER's status. */
unsigned lt_solver_call(const lt_solver *v, const lt_library_handle *h, const lt_solver_places *p, char *out);
/* Asks for device_bytes and host_bytes. */
unsigned lt_solver_sizes(lt_solver *v, const lt_library_handle *h);

#endif
