/* Opening the vendor's libraries at run time: one binary runs with or without them.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_LIBRARY_H
#define LT_DEVICE_CUDA_LIBRARY_H

#include "device/cuda/api_driver.h"
#include "device/cuda/api_nvrtc.h"
#include "lathe/base.h"

/* What a library is called, and which functions of it are needed. */
typedef struct lt_cuda_library {
    const char *title;                /* "NVRTC" */
    const char *const *files;         /* sonames, best first; NULL ends */
    const char *remedy;               /* what brings it here */
    const char *const *symbols;       /* in the order of the table of function pointers */
    int n_symbols;
} lt_cuda_library;

/* Opens it and fills the table (n_symbols pointers). LT_ERR_UNSUPPORTED says which file or which
   function is missing and what to do. The library stays open until the process ends. */
lt_status lt_cuda_library_open(const lt_cuda_library *lib, void *table, size_t table_bytes);

/* Opened on first use, once per process; a failure is remembered with its text. */
lt_status lt_cuda_driver_open(const lt_cuda_driver **out);
lt_status lt_nvrtc_open(const lt_nvrtc **out, int *major, int *minor);

#endif
