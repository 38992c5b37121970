/* A circuit made ready to run: factors of wires that meet, each a short list of passes over its states.
   SPDX-License-Identifier: BSD-3-Clause

   Gates of one wire are multiplied together. All that lies between them (rotations about products of Zs, nots, swaps) is one pass that
   multiplies by phases and one that permutes: a run of nots makes every wire a parity of what the wires were when the run began, so a
   rotation inside the run is a rotation about parities at its beginning. Passes therefore alternate: gates, phases, permutation. */
#ifndef LT_QKERNEL_SIMULATE_PROGRAM_H
#define LT_QKERNEL_SIMULATE_PROGRAM_H

#include "qkernel/circuit/circuit.h"
#include "qkernel/rows/circuit.h"

/* One factor of a one-wire gate: a rotation, by factor times a step of the tape plus offset, or a fixed gate. */
typedef struct lt_turn {
    int8_t  axis;             /* LT_AXIS_*; -1 = fixed */
    int32_t step;             /* of the tape; -1 = the offset alone */
    double  factor, offset;
    lt_su2  fixed;
} lt_turn;

typedef struct lt_wire_gate { int bit; int32_t first, n; } lt_wire_gate; /* turns in the order they act */

typedef struct lt_phase_term { uint32_t mask; int32_t step; double factor, offset; } lt_phase_term; /* exp(-i angle/2 Z^mask) */

typedef enum lt_state_pass_kind {
    LT_STATE_PASS_PRODUCT,          /* the state begins as the product of first columns of a gate for each wire, read through a ring */
    LT_STATE_PASS_AMPLITUDES,       /* the state begins as the row itself */
    LT_STATE_PASS_GATES, LT_STATE_PASS_HADAMARDS, LT_STATE_PASS_PHASES, LT_STATE_PASS_PERMUTE, LT_STATE_PASS_MATRIX,
    LT_STATE_PASS_COUNT
} lt_state_pass_kind;

typedef struct lt_state_pass {
    lt_state_pass_kind kind;
    int32_t      first, n;    /* PRODUCT, GATES, HADAMARDS: gates; PHASES: terms */
    lt_ring      ring, back;  /* PERMUTE, and PRODUCT's; back undoes it */
    int          bits[LT_CIRCUIT_MAX_MATRIX_QUBITS], n_bits; /* MATRIX: the first is the most significant of its index */
    int32_t      matrix;      /* in numbers */
} lt_state_pass;

typedef struct lt_factor {
    int      q;               /* wires of this factor */
    int32_t *wire;            /* which, ascending: the first is the top bit */
    lt_state_pass *pass;            int32_t n_passes, pass_capacity;
    lt_wire_gate *gate;       int32_t n_gates, gate_capacity;
    lt_turn *turn;            int32_t n_turns, turn_capacity;
    lt_phase_term *term;      int32_t n_terms, term_capacity;
} lt_factor;

typedef struct lt_compiled {
    lt_circuit *circuit;      /* a copy */
    double     *weights;
    bool        keep_weights; /* angles of weights stay on the tape, for gradients */
    bool        whole;        /* all wires in one factor, nothing left out, global phases too */
    lt_tape     tape;
    lt_factor  *factor;       int n_factors; /* wires no gate touches are in none */
    lt_phase_term *phase;     int32_t n_phases; /* the global phase: sum of factor * step + offset, mask unused … */
    double      phase_offset; /* … and this */
    bool        product;      /* every factor has one wire */
    bool        real;         /* amplitudes are real */
    bool        weights_matter; /* a primitive that holds one did not cancel */
    int         widest;       /* wires of the largest factor; 0 = none */
    int64_t     amplitudes;   /* of all factors together */
    int64_t     n_gates, n_prims, n_dropped; /* of the circuit; primitives in it, and those that cancel */
    double      flops;        /* of one row's states */
} lt_compiled;

typedef enum lt_compile_for { LT_COMPILE_FIDELITY, LT_COMPILE_REAL, LT_COMPILE_STATES } lt_compile_for;
typedef enum lt_compile_flags { LT_COMPILE_KEEP_WEIGHTS = 1, LT_COMPILE_ONE_FACTOR = 2 /* of all wires that gates touch */ } lt_compile_flags;

/* circuit/compile.c. Weights were checked. On failure *out is NULL. */
lt_status lt_compiled_create(const lt_circuit *c, const double *weights, lt_compile_for what, unsigned flags, lt_compiled **out);
void      lt_compiled_destroy(lt_compiled *p); /* NULL is allowed */
/* What was done and what it costs, in lines of text. */
void      lt_compiled_describe(const lt_compiled *p, char *text, size_t bytes);

lt_su2 lt_turn_su2(int axis, double angle);
/* One of the gate's turns goes by a step of the tape. */
bool   lt_gate_varies(const lt_factor *f, const lt_wire_gate *gate);
/* The vector t turned back by a gate; the gate of a turn whose half angle has this sine and cosine. */
void   lt_turn_back(double t[3], const lt_su2 *g);
lt_su2 lt_turn_of(const lt_turn *t, double sine, double cosine);

#endif
