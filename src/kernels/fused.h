/* Fused kernels: a chain of elementwise ops and the reductions that end it, as data. The CPU
   interprets it block by block in cache; the CUDA device renders it as source text.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_FUSED_H
#define LT_KERNELS_FUSED_H

#include "device/kernel.h"
#include "kernels/op.h"

/* One pass over a domain: every value is a register with one element per point of the domain.
   Registers are f32 or f64 (`type`), whatever the tensors' own types: loads and stores convert. */

typedef struct lt_fused_load {    /* reg = convert(arg[view(point)]) */
    int32_t   arg, reg;
    lt_dtype  from;               /* any real type */
    lt_affine view;               /* strides over the domain's dims; 0 broadcasts */
} lt_fused_load;

typedef struct lt_fused_const { int32_t reg; double value; } lt_fused_const;

typedef struct lt_fused_step {    /* reg = op(src…); an elementwise op; src come earlier */
    lt_op   op;
    int32_t reg, src[3];
} lt_fused_step;

typedef struct lt_fused_store {   /* arg[view(point)] = convert(reg); views never overlap */
    int32_t   reg, arg;
    lt_dtype  to;
    lt_affine view;               /* dense row major for an ordinary output */
} lt_fused_store;

typedef struct lt_fused_reduce {  /* arg[kept dims, dense row major] = SUM|RMAX|RMIN of reg */
    lt_op    op;
    int32_t  reg, arg;
    lt_dtype to;
    uint32_t axes;                /* bit i: domain dim i is reduced */
} lt_fused_reduce;

typedef struct lt_fused {
    lt_dtype type;                /* LT_F32 or LT_F64: what registers hold */
    lt_shape domain;
    int n_regs, n_args;
    int n_loads, n_consts, n_steps, n_stores, n_reduces;
    bool near;                    /* run in parts on what was just written: it does not pass the caches by, however large the whole */
    const lt_fused_load   *loads;
    const lt_fused_const  *consts;
    const lt_fused_step   *steps;
    const lt_fused_store  *stores;
    const lt_fused_reduce *reduces;
} lt_fused;

/* Refuses programs that do not hold together: registers, arguments, types, shapes. */
lt_status lt_fused_check(const lt_fused *f);
/* What one run moves to and from memory at least. */
double    lt_fused_bytes(const lt_fused *f);

/* Instruction sets the vector kernels are compiled for. */
typedef enum lt_isa { LT_ISA_PLAIN, LT_ISA_AVX2, LT_ISA_AVX512, LT_ISA_COUNT } lt_isa;
lt_isa      lt_isa_best(void);             /* what this CPU runs; LATHE_ISA can lower it */
const char *lt_isa_name(lt_isa isa);
bool        lt_isa_usable(lt_isa isa);     /* compiled in and supported by this CPU */

/* Prepares f for the CPU (f is copied). Inputs may alias an output exactly (same pointer,
   same dense view, same element size): every block is loaded before it is stored.
   Bits do not depend on the thread count, nor on where block boundaries fall, nor for a
   reduction on the kernel's other outputs (which NaN it is may). */
lt_status lt_fused_prepare_cpu(const lt_fused *f, lt_isa isa, lt_kernel **out);

/* Runs a prepared fused kernel for rows [first, first+count) of the domain's dim 0 only, on
   the calling thread: epilogues of matmul and convolution panels. Requires no reductions. */
lt_status lt_fused_run_rows(const lt_kernel *k, void *const *arg, int64_t first, int64_t count);
/* The same for elements [first, end) of the domain, counted in order. */
lt_status lt_fused_run_range(const lt_kernel *k, void *const *arg, int64_t first, int64_t end);

#endif
