/* Kernels from .cu files: the prelude, sizes as constants, then the file's text.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_TEXT_KERNEL_H
#define LT_KERNELS_CUDA_TEXT_KERNEL_H

#include "device/stream.h"
#include "kernels/cuda/text.h"
#include "kernels/kernel_table.h"

typedef struct lt_text_kernel {
    const char *name, *entry, *body; /* body: what lt_embed made of the .cu file */
    int      n_args;
    unsigned grid[3], block[3];      /* 0 counts as 1 */
    double   flops, bytes;
} lt_text_kernel;

/* Every entry point begins with lt_wait(). constants: C++ text that the body's names come from; freed here, whether it succeeds or not. */
lt_status lt_text_kernel_build(lt_device *dev, const lt_text_kernel *t, lt_text *constants, lt_kernel **out);
/* The text a build would compile, for tests: prelude, constants, body. */
void lt_text_kernel_join(const lt_text *constants, const char *body, lt_text *out);

/* "enum : i64 { NAME = value };" */
void lt_text_constant(lt_text *t, const char *name, int64_t value);
/* "typedef f32 NAME;" */
void lt_text_type(lt_text *t, const char *name, lt_dtype type);

/* Blocks of `threads` for n items; at least 1. */
unsigned lt_blocks(int64_t n, int threads);
/* Bytes of all inputs and the output of p, once. */
double lt_problem_bytes(const lt_problem_key *p);

#endif
