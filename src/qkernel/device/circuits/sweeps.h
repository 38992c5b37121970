/* A compiled circuit as lists that kernels read. SPDX-License-Identifier: BSD-3-Clause

   A sweep goes over all states once. Small states lie in one chunk, so one sweep does everything. Of larger ones a chunk has the amplitudes
   whose addresses differ in the bits of a window, and does all gates that act on those; phases are the same in any window. So a circuit
   takes as many sweeps as it takes windows to reach its gates in order (decision 360). */
#ifndef LT_QKERNEL_DEVICE_CIRCUITS_SWEEPS_H
#define LT_QKERNEL_DEVICE_CIRCUITS_SWEEPS_H

#include "qkernel/device/circuits/sweep_job.h"
#include "qkernel/simulate/program.h"

/* Bits of a chunk. The lowest WINDOW_BASE bits are in every window: neighbours in memory are read together. */
enum { LT_CHUNK_LEAST_BITS = 8, LT_WINDOW_BASE = 4 };

typedef struct lt_sweep_list { void *at; int32_t n, capacity; } lt_sweep_list;

typedef struct lt_sweeps {
    int           q, chunk_bits;  /* wires of the states; 0 = closed form */
    lt_sweep_list sweep, op, group, part, map, turn, gate, term; /* of lt_sweep, lt_sweep_op, … and uint32_t */
    lt_sweep_list slot;           /* int32_t: the step of the tape that each value is of */
    int32_t      *wire;           /* closed forms: the gate of each wire, -1 = none */
    int           n_columns;      /* the row itself follows the values: its length, 0 = it does not */
    int           n_mapped;       /* sweeps that read through a map from other memory */
    bool          reversible;     /* begins with |0...0> or the row: gates and maps of product states are operations like others */
} lt_sweeps;

/* p has one factor, or (closed) as many as its wires need. *out is to be destroyed, on failure too. */
lt_status lt_sweeps_of_states(const lt_compiled *p, int chunk_bits, bool reversible, lt_sweeps *out);
lt_status lt_sweeps_closed(const lt_compiled *p, lt_sweeps *out);
void      lt_sweeps_destroy(lt_sweeps *s);

static inline int64_t lt_sweeps_values(const lt_sweeps *s) { return s->slot.n + s->n_columns; }

#endif
