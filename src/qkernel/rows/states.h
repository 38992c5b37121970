/* State vectors of many rows. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_ROWS_STATES_H
#define LT_QKERNEL_ROWS_STATES_H

#include "base/pool.h"
#include "qkernel/rows/circuit.h"
#include "qkernel/loops/loops.h"
#include "qkernel/simulate/simulate.h"

/* From this many qubits on, rows are prepared one by one: a vector of rows would be too large. The
   rule looks at q alone, so that results do not depend on the memory at hand. */
enum { LT_NARROW_FROM_QUBITS = 22 };

typedef struct lt_state_maker {
    const lt_layers    *circuit;
    const lt_gram_loops *loops;
    size_t               element;    /* bytes of a real number: 4 or 8 */
    size_t               slot_bytes; /* workspace of one group of rows at work */
    size_t               state_bytes, table_bytes, coef_bytes, angle_bytes; /* parts of a slot */
    int                  n_buffers;  /* states in a slot: 2 where a ring stands between gates */
    int                  bond_bits;  /* two stages made chunk by chunk from tables of 2^bond_bits; 0 = wire by wire */
    lt_simulator         simulator;  /* of a circuit of any gates; its program is NULL for layers */
} lt_state_maker;

/* The tables of this type and number of qubits. */
const lt_gram_loops *lt_states_loops(const lt_gram_isa *isa, lt_gram_float type, int q);
/* For lt_states_unpack: all layers. */
lt_state_maker lt_state_maker_of(const lt_layers *c, const lt_gram_loops *loops, lt_gram_float type);
/* For lt_states_pack: what does not cancel in overlaps. */
lt_state_maker lt_state_maker_of_overlaps(const lt_layers *c, const lt_gram_loops *loops, lt_gram_float type);

/* Elements of one panel of packed states, whole or in slices. */
static inline int64_t lt_panel_elements(const lt_gram_loops *l, int64_t amplitudes, int planes)
{
    return planes * l->panel * amplitudes;
}

/* Groups of rows in the panels of n rows. */
static inline int64_t lt_state_groups(const lt_gram_loops *l, int64_t n) { return (n + l->panel - 1) / l->panel * (l->panel / l->lanes); }

typedef struct lt_state_job {
    const lt_rows *x;
    int64_t first, n;          /* rows of x */
    int     planes, n_slots;
    void   *workspace;         /* n_slots slots, 64-byte aligned */
    void   *panels;
    double *norms;             /* squared, of the n rows; may be NULL */
    bool    streaming;         /* panels are written past the caches */
    /* A slice of the amplitudes, of whole chunks, for makers with bond_bits; slices are made in order. 0 = all of them. */
    int64_t begin, amplitudes;
    void   *tables;            /* table_bytes for each group: what the first slice leaves for the others */
    /* Called on the calling thread now and then with the rows that are done; false stops. May be NULL. */
    bool  (*report)(void *ctx, int64_t rows_done, int64_t rows);
    void   *report_ctx;
} lt_state_job;

/* Rows into panels. Those that pad the last panel hold the state of a zero row. */
lt_status lt_states_pack(const lt_state_maker *m, lt_pool *pool, const lt_state_job *job);
/* All layers: out (n, 2^q) interleaved complex. */
lt_status lt_states_unpack(const lt_state_maker *m, lt_pool *pool, const lt_rows *x, void *workspace, int n_slots, void *out);

#endif
