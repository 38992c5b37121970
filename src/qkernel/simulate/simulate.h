/* States of a program for groups of rows. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SIMULATE_SIMULATE_H
#define LT_QKERNEL_SIMULATE_SIMULATE_H

#include "base/pool.h"
#include "qkernel/loops/loops.h"
#include "qkernel/simulate/loops.h"

typedef struct lt_simulator {
    const lt_compiled        *program;
    const lt_simulate_loops *loops;
    const lt_gram_loops     *states;    /* product states, packing: of the same lanes */
    size_t                   element;   /* bytes of a real number of a state */
    size_t                   state_bytes, slot_bytes;
    int                      n_buffers; /* states in a slot: 2 where something permutes */
} lt_simulator;

/* One group of rows at work: parts of a slot of slot_bytes, 64-byte aligned. */
typedef struct lt_slot {
    void   *state, *other, *table, *coef;
    double *x, *value;               /* features (columns, lanes); the tape's values */
    double *angle, *sine, *cosine;   /* of turns, or of terms */
    double *scratch;                 /* of phases */
} lt_slot;

/* type: float64 or float32. */
lt_simulator lt_simulator_of(const lt_compiled *p, lt_isa isa, lt_gram_float type);
lt_slot      lt_slot_at(const lt_simulator *m, void *workspace, int64_t index);

/* Shape, numbers and angles of all rows: refused by row, with the place of the expression that does not exist there. */
lt_status lt_compiled_check_rows(const lt_compiled *p, const char *name, const lt_rows *x);

/* Features and angles of the rows from first on; lanes before the first row of x or behind its last repeat that one. */
void  lt_simulate_rows(const lt_simulator *m, const lt_slot *s, const lt_rows *x, int64_t first);
/* Coefficients of a factor's gates; with its state, in s->state. */
void  lt_simulate_coefficients(const lt_simulator *m, const lt_slot *s, const lt_factor *f);
const void *lt_simulate_coef_at(const lt_simulator *m, const lt_slot *s, int32_t gate);
void  lt_simulate_factor(const lt_simulator *m, lt_slot *s, const lt_factor *f);
/* Sines and cosines of all half angles of a factor's turns; angles of terms of a phase pass times -1/2. */
void  lt_simulate_turns(const lt_simulator *m, const lt_slot *s, const lt_factor *f);
/* One pass, or its inverse; not for those that begin a state. */
void  lt_simulate_pass(const lt_simulator *m, lt_slot *s, const lt_factor *f, const lt_state_pass *a, bool undo);

/* Panels of Bloch vectors for the closed form of circuits whose wires never meet: rows first..first+n-1, and what fills up the last panel.
   workspace: a slot for each thread of the pool. */
lt_status lt_simulate_closed(const lt_simulator *m, lt_pool *pool, const lt_closed_loops *l, const lt_rows *x, int64_t first, int64_t n, void *workspace, double *panels);

/* Bloch vectors of all wires of the circuit: out (n_rows, 3, wires). */
lt_status lt_simulate_bloch(const lt_compiled *p, lt_pool *pool, lt_gram_float type, const lt_rows *x, double *out);

#endif
