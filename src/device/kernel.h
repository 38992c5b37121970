/* What a device runs: kernels, and sequences of launches.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_KERNEL_H
#define LT_DEVICE_KERNEL_H

#include "base/pool.h"

#define LT_KERNEL_MAX_ARGS 128

typedef struct lt_kernel lt_kernel;
struct lt_stream;

/* A prepared piece of work: everything that depends on shapes and types alone is decided
   when it is made, so running it neither allocates nor looks anything up. arg[] holds the
   tensors in the order the maker documents (inputs, outputs), then the scratch memory. */
enum { LT_MOST_ABREAST = 4 };     /* runs of one kernel at once */

struct lt_kernel {
    const char *name;             /* the row it came from: "matmul_f64_openblas" */
    lt_status (*run)(const lt_kernel *k, lt_pool *pool, void *const *arg); /* host kernels */
    /* Host kernels that gain from several runs at once, since one pass over an operand of all of them (that of pack_arg) serves
       them all: the same as n <= LT_MOST_ABREAST calls of run, to the bit. NULL: nothing is gained. */
    lt_status (*run_abreast)(const lt_kernel *k, lt_pool *pool, int n, void *const *const *arg);
    /* Device kernels made of several launches or library calls: queues them on st, and nothing else,
       so that it can be captured. NULL for one function of a module. */
    lt_status (*enqueue)(const lt_kernel *k, struct lt_stream *st, void *const *arg);
    void      (*destroy)(lt_kernel *k);
    bool        uncapturable;     /* waits for the device inside: cannot be part of a captured sequence */
    size_t      scratch_bytes;    /* the launcher passes this much, 64-byte aligned; 0 = none */
    int         n_args;           /* without the scratch pointer, which is arg[n_args] */
    double      flops, bytes;     /* cost of one run, for plans and traces */
    /* Kernels that bring an operand into a form of their own first. Left alone they do so at each run, in
       their scratch; a launcher whose operand stays the same calls pack once and points `packed` at the
       result. Host kernels keep the form in the last packed_bytes of their scratch, which then need not be
       passed; device kernels queue the packing instead. */
    lt_status (*pack)(const lt_kernel *k, lt_pool *pool, const void *operand, void *packed); /* NULL: nothing to pack */
    lt_status (*queue_pack)(const lt_kernel *k, struct lt_stream *st, const void *operand, void *packed);
    int         pack_arg;         /* which argument */
    size_t      packed_bytes;
    void       *packed;
    void       *module;           /* device kernels: state of the device it was built for */
};

typedef struct lt_launch {
    const lt_kernel *kernel;
    void **arg;                   /* n_args pointers, then the scratch pointer */
} lt_launch;

static inline void lt_kernel_destroy(lt_kernel *k) { if (k) k->destroy(k); }

#endif
