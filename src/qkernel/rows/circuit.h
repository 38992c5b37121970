/* Circuits of named embeddings (decision 164) as stages of fused one-wire gates and address maps. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_ROWS_CIRCUIT_H
#define LT_QKERNEL_ROWS_CIRCUIT_H

#include "lathe/gram.h"
#include "qkernel/device/rows_job.h" /* lt_su2 */

/* Qubits for which state vectors are considered at all: addresses of amplitudes are 32 bits. */
enum { LT_STATES_MAX_QUBITS = 30 };

lt_su2 lt_su2_embed(lt_embed mode, double angle);
lt_su2 lt_su2_times(lt_su2 a, lt_su2 b);                   /* the matrix product a b: b acts first */

/* A permutation of basis states that is linear over GF(2): what ends at o comes from
   high[o >> low_bits] ^ low[o % 2^low_bits]. Reading through the map keeps the writes in order. */
typedef struct lt_ring {
    int       low_bits;
    uint32_t *low, *high; /* one allocation, at low */
} lt_ring;

/* Controlled nots k -> (k + range) mod q for k = 0..n_gates-1; none is the identity. */
lt_status lt_ring_create(int q, int n_gates, int range, lt_ring *out);
void      lt_ring_destroy(lt_ring *r);

typedef struct lt_stage {
    const lt_su2  *gate;  /* one per wire, the same for all rows; NULL = none */
    bool           embed; /* the embedding acts before the gate */
    const lt_ring *ring;  /* acts last; the identity is never NULL */
} lt_stage;

typedef struct lt_layers {
    int        q;
    const struct lt_compiled *program; /* a circuit of any gates instead of layers (simulate/program.h); NULL = layers */
    int64_t    n_layers;
    lt_embed   embed;
    double     scale;
    lt_su2    *gates;     /* (n_layers, q) */
    lt_ring   *rings;     /* identity first */
    int        n_rings;
    lt_stage  *full;      /* n_layers stages: the circuit as it is */
    lt_stage  *overlap;   /* without what cancels in overlaps: the last layer and a ring at the end */
    int64_t    n_full, n_overlap;
    bool       collapses; /* every row is turned by the same unitary: weights do not matter */
    bool       real;      /* amplitudes of `overlap` are real */
    bool       parity_ring; /* the first layer's ring ends on parities: q >= 3 */
    bool       has_transfer; /* two layers, re-embedded, with a ring transfer matrices know */
} lt_layers;

/* Wires whose states are held together: of the widest factor of a circuit of any gates. */
int lt_layers_widest(const lt_layers *c);

/* Weights are copied. Stages and maps are made up to LT_STATES_MAX_QUBITS; above, closed forms remain.
   On failure *out is still to be destroyed. */
lt_status lt_layers_create(const lt_gram_options *opt, const lt_weights *w, lt_layers *out);
void      lt_layers_destroy(lt_layers *c); /* zero-initialised is allowed */

#endif
