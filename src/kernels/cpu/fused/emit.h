/* The state of turning one pass into calls, shared by cpu/fused/emit.c (loads, stores, liveness,
   memory) and cpu/fused/steps.c (the ops). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_FUSED_EMIT_H
#define LT_KERNELS_CPU_FUSED_EMIT_H

#include "kernels/cpu/fused/plan.h"

typedef enum reg_state { REG_UNSET, REG_SCALAR, REG_BLOCK } reg_state;

typedef struct reg_info {
    reg_state state;
    bool    needed;
    bool    is_scalar;     /* one value for the whole domain, known before anything is emitted */
    bool    is_element;    /* one value for each block at least: ops may take it as one element */
    int32_t slot;          /* -1: the value is only in the accumulator */
    int32_t buffer;        /* -1: the value is not in a buffer of ours */
    int32_t load;          /* which load makes it, -1 none */
    int32_t step;          /* which step makes it, -1 none */
    int32_t last_use;      /* step after which the value is dead; n_steps = the end */
    int32_t n_uses;        /* operands of steps, stores and reductions */
} reg_info;

typedef struct buffer_list { int32_t *at, n; } buffer_list;

typedef struct emitter {
    const lt_fused   *f;
    const lt_vec_set *set;
    const fused_goal *goal;
    fused_pass *pass;
    reg_info   *regs;
    fused_instr *prologue; /* joined in front of the body at the end */
    int32_t     n_prologue, n_views, n_chain;
    int32_t     n_buffers, n_scalars;
    /* While a chain is open, what it frees may be written by its own later steps only: calls
       emitted meanwhile run before the chain. */
    buffer_list free, free_in_chain;
    int32_t    *buffer_slot;
    int32_t     chain_first;   /* its first step, -1 when none is open */
    int32_t     acc_reg;       /* the register in the accumulator, -1 none */
    int32_t     last_read;     /* last step that reads an argument */
    size_t      real_bytes, buffer_elem_bytes;
} emitter;

int32_t lt_emit_scalar_slot(emitter *e);
int32_t lt_emit_take_buffer(emitter *e, bool for_chain);
void    lt_emit_give_buffer(emitter *e, int32_t buffer);       /* -1 is allowed */
void    lt_emit_call(emitter *e, lt_vec_fn fn, int32_t d, int32_t a, int32_t b, int32_t c);
fused_instr *lt_emit_instr(emitter *e, fused_instr in);
/* The slot of the register's block. A scalar is spread over a buffer, which the caller gives
   back (through *spread, else -1). */
int32_t lt_emit_block(emitter *e, int32_t reg, int32_t *spread);
void    lt_emit_set_block(emitter *e, int32_t reg, int32_t slot, int32_t buffer);
void    lt_emit_release_after(emitter *e, int32_t reg, int32_t position);
/* Where a load is read as it lies, whatever its type; -1: its elements must be gathered. */
int32_t lt_emit_source(emitter *e, const lt_fused_load *l);
/* A store of this register that is dense and of type t; NULL none. */
const lt_fused_store *lt_emit_dense_store(const emitter *e, int32_t reg, lt_dtype t);
int32_t lt_emit_store_slot(emitter *e, const lt_fused_store *s, size_t size);
bool    lt_emit_has_outputs(const emitter *e, int32_t reg, const lt_fused_store *besides);
/* Reductions of the register, and its stores but `done`. */
void    lt_emit_reduces_of(emitter *e, int32_t reg);
void    lt_emit_stores_of(emitter *e, int32_t reg, const lt_fused_store *done);

void    lt_emit_steps(emitter *e);

#endif
