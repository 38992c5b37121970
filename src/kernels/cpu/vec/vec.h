/* Vector functions over blocks: one table per instruction set and type. The bits of an
   element never depend on its position, on n or on alignment.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_VEC_VEC_H
#define LT_KERNELS_CPU_VEC_VEC_H

#include "kernels/fused.h"

/* d[i] = f(a[i], b[i], c[i]), i in 0..n-1. d may be the very array of an operand, but may not
   overlap one otherwise. Operands a function does not take are ignored. */
typedef void (*lt_vec_fn)(void *d, const void *a, const void *b, const void *c, int64_t n);

/* Reduces n_rows runs of n elements each: d[r] = reduce(x[r*n .. r*n+n-1]). */
typedef void (*lt_vec_rows_fn)(void *d, const void *x, int64_t n, int64_t n_rows);

/* Folds n_rows rows of n elements into acc[0..n-1], top to bottom. */
typedef void (*lt_vec_columns_fn)(void *acc, const void *x, int64_t n, int64_t n_rows);

#define LT_VEC_N_FORMS 4

/* ---- chains: cheap ops on an accumulator ----------------------------------------
   A chain runs its steps on a tile of a few vectors that stays in registers, then on the next
   tile: intermediate values never reach memory. The value at hand is the accumulator A; the
   other operands are arrays (V) or one element (S), in the order they are written. */
typedef enum lt_chain_code {
    LT_CHAIN_LOAD,               /* A = a */
    LT_CHAIN_LOAD_AHEAD,           /* the same from memory: asks for later lines ahead of time */
    LT_CHAIN_STORE,              /* a = A */
    LT_CHAIN_STREAM,             /* the same past the caches; fence() must follow the chain */
    LT_CHAIN_LOAD_BF16, LT_CHAIN_LOAD_F16, LT_CHAIN_STORE_BF16, LT_CHAIN_STORE_F16, /* the same of half types, in f32 alone */
#define ROW1_CHAIN(ID, name) LT_CHAIN_##ID,
#define ROW1_OWN_CHAIN(ID, name) LT_CHAIN_##ID, /* in f32 alone: as f64 they are calls of a library */
#define ROW1_OWN_SIDE(ID, name) LT_CHAIN_##ID,
#define ROW2_CHAIN(ID, name) LT_CHAIN_##ID##_AV, LT_CHAIN_##ID##_AS, LT_CHAIN_##ID##_VA, LT_CHAIN_##ID##_SA,
#include "kernels/cpu/vec/rows.def"
    LT_CHAIN_WHERE_AVV, LT_CHAIN_WHERE_AVS, LT_CHAIN_WHERE_ASV, LT_CHAIN_WHERE_ASS,
    LT_CHAIN_WHERE_VAV, LT_CHAIN_WHERE_VAS, LT_CHAIN_WHERE_VVA, LT_CHAIN_WHERE_VSA,
    LT_CHAIN_CLAMP_AVV, LT_CHAIN_CLAMP_ASS,
    LT_CHAIN_END,                /* the last of every chain */
    LT_CHAIN_CODE_COUNT
} lt_chain_code;

typedef struct lt_chain_step {
    int32_t code;                /* lt_chain_code */
    int32_t a, b;                /* operands other than A: positions in addr */
} lt_chain_step;

/* Pages that a chain which begins with LT_CHAIN_LOAD_AHEAD reads side by side, if it gets that many at once. */
#define LT_CHAIN_PAGES 8

/* Runs the steps, up to LT_CHAIN_END, over n elements of the arrays at addr[]. */
typedef void (*lt_chain_fn)(const lt_chain_step *steps, char *const *addr, int64_t n);

typedef enum lt_vec_reduce { LT_VEC_SUM, LT_VEC_MAX, LT_VEC_MIN, LT_VEC_N_REDUCES } lt_vec_reduce;

/* d [columns][d_stride] = f(a [rows][a_stride]) turned around: d[j][i] = f(a[i][j]). Strides in elements; d and a are apart. */
typedef void (*lt_vec_turn_fn)(float *d, int64_t d_stride, const float *a, int64_t a_stride, int64_t rows, int64_t columns);
typedef enum lt_vec_turn { LT_TURN_COPY, LT_TURN_RELU, LT_TURN_GELU, LT_TURN_COUNT } lt_vec_turn;

typedef struct lt_vec_set {
    /* Forms say which operands are one element instead of an array. Binary: bit 0 = a, bit 1 = b.
       Ternary: bit 0 = b, bit 1 = c. NULL: this form does not exist, fill the operand first. */
    lt_vec_fn op[LT_N_ELEMENTWISE][LT_VEC_N_FORMS];
    lt_chain_fn chain;
    lt_vec_fn fill;                    /* d[i] = a[0] */
    lt_vec_fn copy, copy_streaming;    /* streaming: past the caches; fence() must follow */
    void    (*fence)(void);
    lt_vec_fn load[LT_DTYPE_COUNT];    /* d (compute type) from a (this type) */
    lt_vec_fn store[LT_DTYPE_COUNT];   /* d (this type) from a (compute type) */
    lt_vec_rows_fn    rows[LT_VEC_N_REDUCES];
    lt_vec_columns_fn columns[LT_VEC_N_REDUCES];
    lt_vec_turn_fn    turn[LT_TURN_COUNT]; /* f32 alone */
} lt_vec_set;

/* LT_F32 or LT_F64; NULL when the build does not hold this instruction set. */
const lt_vec_set *lt_vec_set_of(lt_isa isa, lt_dtype type);

/* One table per compiled instruction set. */
extern const lt_vec_set lt_vec_plain_f32, lt_vec_plain_f64;
#if LT_VEC_X86
extern const lt_vec_set lt_vec_avx2_f32, lt_vec_avx2_f64, lt_vec_avx512_f32, lt_vec_avx512_f64;
#endif

#endif
