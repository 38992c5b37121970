/* Gates as primitives. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_CIRCUIT_LOWER_H
#define LT_QKERNEL_CIRCUIT_LOWER_H

#include "qkernel/circuit/circuit.h"

typedef struct lt_angle { int32_t node; double factor, offset; } lt_angle; /* factor * node + offset; node -1 = offset alone */

typedef struct lt_prim {
    uint8_t  op, axis;    /* lt_prim_op */
    int32_t  first, n;    /* its wires in prims.wire: control before target */
    lt_angle angle;
    int32_t  matrix;      /* in circuit.number */
} lt_prim;

typedef struct lt_prims {
    lt_prim *prim; int64_t n, capacity;
    int32_t *wire; int64_t n_wires, wire_capacity;
} lt_prims;

/* All gates in order; PHASE primitives hold global phases and have no wires. *out is to be destroyed, on failure too. */
lt_status lt_prims_of(const lt_circuit *c, lt_prims *out);
void      lt_prims_destroy(lt_prims *p);

#endif
