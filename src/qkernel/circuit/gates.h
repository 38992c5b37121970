/* The gates: one row each, with what it is made of. SPDX-License-Identifier: BSD-3-Clause

   Every gate but a given matrix is a short recipe of primitives: rotations of one wire, rotations about products of Zs, controlled
   nots, flips and swaps. Simulation, gradients and compilation know primitives only: a primitive's angle is factor times a parameter
   of the gate plus a multiple of pi, so the derivative of a gate is that of its rotations. */
#ifndef LT_QKERNEL_CIRCUIT_GATES_H
#define LT_QKERNEL_CIRCUIT_GATES_H

#include "lathe/base.h"

typedef enum lt_gate_kind {
    LT_GATE_I, LT_GATE_X, LT_GATE_Y, LT_GATE_Z, LT_GATE_H, LT_GATE_S, LT_GATE_SDG, LT_GATE_T, LT_GATE_TDG, LT_GATE_SX, LT_GATE_SXDG,
    LT_GATE_RX, LT_GATE_RY, LT_GATE_RZ, LT_GATE_P, LT_GATE_U3, LT_GATE_GPHASE,
    LT_GATE_CX, LT_GATE_CY, LT_GATE_CZ, LT_GATE_CH, LT_GATE_SWAP, LT_GATE_ISWAP, LT_GATE_CRX, LT_GATE_CRY, LT_GATE_CRZ, LT_GATE_CP,
    LT_GATE_RXX, LT_GATE_RYY, LT_GATE_RZZ, LT_GATE_CCX, LT_GATE_CSWAP,
    LT_GATE_MULTIRZ, LT_GATE_PAULIROT, LT_GATE_UNITARY,
    LT_GATE_COUNT
} lt_gate_kind;

typedef enum lt_prim_op {
    LT_PRIM_ROTATE, /* exp(-i angle/2 P) of one wire; axis says which P */
    LT_PRIM_H,      /* Hadamard */
    LT_PRIM_PARITY, /* exp(-i angle/2 Z...Z) of some wires */
    LT_PRIM_X, LT_PRIM_CX, LT_PRIM_SWAP,
    LT_PRIM_PHASE,  /* exp(i angle) */
    LT_PRIM_MATRIX,
} lt_prim_op;
enum { LT_AXIS_X, LT_AXIS_Y, LT_AXIS_Z };

typedef struct lt_recipe_step {
    uint8_t op, axis;
    uint8_t wires;     /* PARITY: a bit for each wire of the gate; else the first wire */
    uint8_t second;    /* of CX (its target) and SWAP */
    int8_t  parameter; /* of the gate; -1 = none */
    double  factor, pis; /* angle = factor * parameter + pis * pi */
} lt_recipe_step;

enum { LT_RECIPE_MAX = 16, LT_ANY_WIRES = -1 };

typedef struct lt_gate_row {
    const char    *name, *qasm; /* qasm: its name in stdgates.inc, NULL = it has none */
    int            n_wires, n_angles;
    bool           diagonal;
    int            n_steps;     /* 0 of I, and of the three that need more than a recipe: MultiRZ, PauliRot, Unitary */
    lt_recipe_step step[LT_RECIPE_MAX];
} lt_gate_row;

const lt_gate_row *lt_gate_at(lt_gate_kind kind);
/* By its name, whatever the case, or by another name people use (CNOT, Toffoli, phase); LT_GATE_COUNT when there is none. */
lt_gate_kind lt_gate_named(const char *name, size_t length);
/* The gate that undoes it when its angles are negated; U3 and those with fixed angles need more, and say so by LT_GATE_COUNT. */
lt_gate_kind lt_gate_inverse(lt_gate_kind kind);

#endif
