/* Inside of a circuit: gates in order, their wires, angles and matrices in lists beside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_CIRCUIT_CIRCUIT_H
#define LT_QKERNEL_CIRCUIT_CIRCUIT_H

#include "lathe/circuit.h"
#include "qkernel/circuit/expr.h"
#include "qkernel/circuit/gates.h"

enum { LT_GATE_MAX_ANGLES = 3 };

typedef struct lt_gate {
    uint8_t kind, n_controls;              /* controls are the first wires, all of them 1 for the gate to act */
    int32_t first_wire, n_wires;           /* in circuit.wire; controls counted */
    int32_t angle[LT_GATE_MAX_ANGLES];     /* nodes of circuit.exprs */
    int32_t extra;                         /* PauliRot: its letters in circuit.letter; Unitary: its numbers in circuit.number */
} lt_gate;

struct lt_circuit {
    int64_t  n_qubits, n_features, n_weights;
    lt_shape weights;
    bool     amplitudes;                   /* begins as x, normalised and padded, instead of |0...0> */
    lt_exprs exprs;
    lt_gate *gate;     int64_t n_gates, gate_capacity;
    int32_t *wire;     int64_t n_wires, wire_capacity;
    double  *number;   int64_t n_numbers, number_capacity;
    char    *letter;   int64_t n_letters, letter_capacity;
};

/* Appends a gate with angles that are nodes of c->exprs already. Wires are checked; angles may be -1 where memory was out. */
typedef struct lt_gate_request {
    lt_gate_kind   kind;
    int            n_controls;
    const int32_t *wires;
    int            n_wires;                /* controls counted */
    const int32_t *angles;
    int            n_angles;
    const char    *letters;                /* PauliRot: one for each wire that is no control */
    const double  *matrix;                 /* Unitary */
} lt_gate_request;
lt_status lt_circuit_add(lt_circuit *c, const lt_gate_request *r);
lt_status lt_circuit_copy(const lt_circuit *c, lt_circuit **out);
/* Weights of the right number, all finite. */
lt_status lt_circuit_check_weights(const lt_circuit *c, const double *w, int64_t n);

#endif
