/* Passes over the states of a vector of rows: one table per instruction set and element type. SPDX-License-Identifier: BSD-3-Clause

   A state is laid out as qkernel/loops/loops.h has it: amplitude k as a vector of real and one of imaginary parts, a lane for each row.
   What is computed for a row never depends on its lane. */
#ifndef LT_QKERNEL_SIMULATE_LOOPS_H
#define LT_QKERNEL_SIMULATE_LOOPS_H

#include "kernels/fused.h"
#include "qkernel/simulate/program.h"

enum { LT_PHASE_BLOCK_BITS = 7 }; /* amplitudes whose phases are made at once: they stay in the first-level cache */

typedef struct lt_phase_job {
    int             n_terms;
    const lt_phase_term *term;    /* of which the masks count here */
    const double   *coefficient;  /* (n_terms, lanes): the phase of b is the sum of (-1)^(mask . b) times these */
    double         *scratch;      /* 3 << min(q, LT_PHASE_BLOCK_BITS) vectors of doubles */
} lt_phase_job;

typedef struct lt_simulate_loops {
    int lanes;
    /* coef (four vectors per gate) of n gates from their turns, whose half angles have these sines and cosines (a vector per turn). In
       double, rounded once. */
    void (*fuse)(void *coef, const lt_wire_gate *gate, int n, const lt_turn *turn, const double *sine, const double *cosine);
    void (*sincos)(double *sine, double *cosine, const double *angle, int64_t n);
    /* Gates of n different bits, the highest first; undo: their inverses. */
    void (*gates)(void *state, int q, int n, const int *bit, const void *coef, bool undo);
    void (*hadamards)(void *state, int q, int n, const int *bit);
    void (*phases)(void *state, int q, const lt_phase_job *job, bool undo);
    void (*matrix)(void *state, int q, int n_bits, const int *bit, const double *m, bool undo);
    void (*turn)(void *state, int64_t n, const double *sine, const double *cosine);  /* all amplitudes by one phase for each lane */
    void (*load)(void *state, int64_t n, const double *x, int64_t columns);          /* x (columns, lanes), the rest zero */
    /* Real and imaginary parts of amplitudes, each a vector of the lanes, `step` apart. */
    void (*join)(void *state, int64_t n, const double *re, const double *im, int64_t step);
    /* x, y, z of the wire's Bloch vector, (3, lanes). */
    void (*bloch)(const void *state, int q, int bit, double *out);
    /* Imaginary parts of <a|P|b> for P = X, Y, Z of a wire, (3, lanes). */
    void (*twist)(const void *a, const void *b, int q, int bit, double *out);
    /* Gates undone on both states at once; out (n, 3, lanes): what twist says of each gate's bit before it is undone. */
    void (*back)(void *a, void *b, int q, int n, const int *bit, const void *coef, double *out);
    /* out (n_terms, lanes): sums of Im(conj(a) b) with the signs of each mask. scratch: 2^q vectors of doubles. */
    void (*parities)(const void *a, const void *b, int q, int n_terms, const lt_phase_term *term, double *scratch, double *out);
} lt_simulate_loops;

typedef struct lt_simulate_isa { lt_simulate_loops f32, f64, narrow_f32, narrow_f64; } lt_simulate_isa;

extern const lt_simulate_isa lt_simulate_plain;
#if LT_VEC_X86
extern const lt_simulate_isa lt_simulate_avx2, lt_simulate_avx512;
#endif


#endif
