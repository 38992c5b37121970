/* What the kernels that make states of any circuit work on: C writes it, texts read it. SPDX-License-Identifier: BSD-3-Clause
   This header also stands in those texts, behind rows_job.h: plain types only, and includes for C alone. */
#ifndef LT_QKERNEL_DEVICE_CIRCUITS_SWEEP_JOB_H
#define LT_QKERNEL_DEVICE_CIRCUITS_SWEEP_JOB_H

#ifdef __STDC_VERSION__
#include "qkernel/device/rows_job.h" /* lt_su2 */
#endif

enum { LT_SWEEP_MOST_BITS = 13, LT_SWEEP_STATE_BITS = 30 };

/* ---- coefficients of rows, from the values of their expressions ---- */

typedef struct lt_sweep_turn { int axis, slot; double factor, offset; lt_su2 fixed; } lt_sweep_turn; /* by factor * value[slot] + offset, halves of angles; axis -1: fixed */
typedef struct lt_sweep_gate { int first, n; } lt_sweep_gate;                                         /* turns in the order they act */
typedef struct lt_sweep_term { int slot, unused; double factor, offset; } lt_sweep_term;              /* slot -1: the offset alone */

typedef struct lt_coefficient_job {
    long long n_rows, n_values, padded_rows; /* padded_rows: closed forms, from one plane of rows to the next */
    long long n_gates, n_terms, n_wires;
    const double *value;                  /* (n_rows, n_values) */
    const lt_sweep_turn *turn;
    const lt_sweep_gate *gate;
    const lt_sweep_term *term;
    const int *wire;                      /* closed forms: the gate of each wire, -1 = none; states: the wire of each of theirs */
    lt_su2 *gate_out;                     /* (n_rows, n_gates) */
    double *term_out;                     /* (n_rows, n_terms) */
    double *wire_out;                     /* (n_wires, 3, padded_rows) */
} lt_coefficient_job;

/* ---- sweeps ---- */

/* What is done to a chunk: amplitudes whose addresses differ in the bits of a window and agree in all others. */
enum { LT_SWEEP_GATES, LT_SWEEP_HADAMARDS, LT_SWEEP_PHASES, LT_SWEEP_PERMUTE, LT_SWEEP_MATRIX };
typedef struct lt_sweep_op {
    int kind;
    int place;     /* GATES, HADAMARDS: which four bits of the chunk; PERMUTE: where the table of high bits begins */
    int n;         /* GATES, HADAMARDS: which of the four, a bit each; PHASES: groups; PERMUTE: low bits; MATRIX: bits */
    int first;     /* GATES: which of the four change with their row or with weights; PHASES: the first group; PERMUTE: where the table of low bits begins; MATRIX: in numbers */
    int index[4];  /* GATES: the gate of each; MATRIX: bits of the chunk, the top one of the matrix first */
} lt_sweep_op;

typedef struct lt_phase_group { int local, first, n; } lt_phase_group;    /* terms with the same mask inside a chunk: parts first..first + n - 1 */
typedef struct lt_phase_part { unsigned outside; int term; } lt_phase_part; /* the mask's bits outside */

enum { LT_SWEEP_LOAD, LT_SWEEP_PRODUCT, LT_SWEEP_ROW, LT_SWEEP_ZERO };
typedef struct lt_sweep {
    int begin;             /* with what is in memory; a product state; the row itself; |0...0> */
    int first_gate;        /* PRODUCT: of the first wire, the others follow */
    int mapped, low_bits, low_at, high_at; /* amplitude o is read at, or made as, high[o >> low_bits] ^ low[o % 2^low_bits] */
    int first_op, n_ops;
    int straight;          /* so many bits of the chunk are the lowest of the address */
    int bit[LT_SWEEP_MOST_BITS], rest[LT_SWEEP_STATE_BITS]; /* where the chunk's bits lie in the address, ascending; and those of its number */
} lt_sweep;

typedef struct lt_sweep_job {
    long long n_rows, n_values, n_gates, n_terms;
    long long q, n_columns, first_column; /* wires; the row itself is value[first_column..] */
    const lt_sweep *sweep;
    const lt_sweep_op *op;
    const lt_phase_group *group;
    const lt_phase_part *part;
    const unsigned *map;
    const double *number;                 /* of matrices */
    const lt_su2 *gate;                   /* (n_rows, n_gates) */
    const double *term, *value;           /* (n_rows, n_terms), (n_rows, n_values) */
    const void *from;                     /* states (n_rows, 2^q); `to` where nothing is mapped */
    void *to;
} lt_sweep_job;

/* ---- derivatives ---- */

/* A sweep undone, on states and what they are differentiated against. */
typedef struct lt_adjoint_job {
    lt_sweep_job sweep;                   /* from and to: states */
    const void *lambda_from;
    void *lambda_to;
    double *out;                          /* (n_rows, chunks of a state, 3 n_gates + n_terms): sums over each chunk */
} lt_adjoint_job;

/* Sums over chunks of a state. */
typedef struct lt_adjoint_sum_job { long long n_rows, n_parts, n_items; const double *from; double *to; } lt_adjoint_sum_job;

/* lambda_j = sum over i of m_ij phi_i with m_ij = 2 (loss_ij + loss_ji) <phi_i|phi_j>, or (loss_ij + loss_ji) for real parts. */
typedef struct lt_lambda_job {
    long long n, amplitudes, real_part, first, n_rows; /* rows first..first + n_rows - 1 of lambda */
    const void *states;
    const double *loss;
    void *weights, *lambda;               /* (n, n_rows) of m; (n_rows, amplitudes) */
} lt_lambda_job;

/* x, y, z of each wire's Bloch vector: out (n_rows, 3, n_wires). */
typedef struct lt_bloch_job { long long n_rows, q, n_wires; const int *wire; const void *states; double *out; } lt_bloch_job;

#endif
