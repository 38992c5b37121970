/* What the files of the compiler share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_CIRCUIT_COMPILE_H
#define LT_QKERNEL_CIRCUIT_COMPILE_H

#include "qkernel/circuit/lower.h"
#include "qkernel/simulate/program.h"

/* A primitive with its angle resolved: step of the tape, or a number. */
typedef struct lt_bound { lt_prim prim; int32_t step; double factor, offset; bool of_x, dropped; } lt_bound;

/* Packs the primitives of one factor into passes (schedule.c). local: for each wire of the circuit its place in the factor. */
lt_status lt_schedule(lt_compiled *p, lt_factor *f, const lt_bound *prim, const int64_t *which, int64_t n, const int32_t *wires, const int32_t *local);

#endif
