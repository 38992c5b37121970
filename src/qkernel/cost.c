/* Costs of exact methods, fitted to measured times. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/cost.h"

#include "base/status.h"

#include <math.h>

/* Least times of many calls in turns, 4 to 13 qubits, 20 to 3000 rows, both precisions (decision 274). A call; an amplitude of a row that is made and packed; an
   amplitude of a pair, in double; a pair that is squared and written; a wire of a pair. */
static const double states_call = 5000, transfer_call = 3300, amplitude_made = 0.75, amplitude_pair = 0.0864, pair_written = 0.46, wire_pair = 6.0;
enum { LANES_MEASURED = 8, PLANES_MEASURED = LT_PLANES_COMPLEX };

static double pairs_of(const lt_plan_request *r)
{
    const double n = (double)r->n;
    const bool half = !r->cross && (r->opt->symmetric || r->opt->packed);
    return half ? n * (n + 1) / 2 : n * (double)r->m;
}

static double rounded(int64_t n, int64_t unit) { return (double)((n + unit - 1) / unit * unit); }

/* Rows are made in vectors, so a few of them cost as much as a whole one. */
static double states_cost(const lt_plan_request *r, double pairs)
{
    const lt_gram_loops *loops = lt_states_loops(r->isa, r->opt->dtype, r->circuit->q);
    const bool single = r->opt->dtype != LT_GRAM_FLOAT64;
    const double planes = r->circuit->real ? LT_PLANES_REAL : LT_PLANES_COMPLEX, slower = (double)LANES_MEASURED / ((double)loops->lanes / (single ? 2 : 1));
    const double rows = rounded(r->n, loops->lanes) + (r->cross ? rounded(r->m, loops->lanes) : 0), amplitudes = ldexp(1, r->circuit->q);
    const double pair = amplitude_pair * planes / PLANES_MEASURED * (single ? 0.387 : 1); /* a little better than half: less to load */
    return states_call + slower * amplitudes * (amplitude_made * rows + pair * pairs) + pair_written * pairs;
}

double lt_cost_of(const lt_plan_request *r, lt_gram_method method)
{
    const double pairs = pairs_of(r);
    if (method == LT_GRAM_STATES) return states_cost(r, pairs);
    return transfer_call + wire_pair * LANES_MEASURED / (double)r->isa->closed.lanes * (double)r->circuit->q * pairs;
}
