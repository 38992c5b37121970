/* Random valid graphs with a bound on rounding: every value carries how large it can be and how far
   two right evaluations of it can lie apart, so comparisons need no tuned tolerance.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_RANDOM_GRAPH_H
#define LT_TEST_RANDOM_GRAPH_H

#include "lathe/graph.h"
#include "lathe/rng.h"

#define MAKER_VALUES 96
#define MAKER_INPUTS 4
#define MAKER_OUTPUTS 8
#define MAKER_LARGEST 1500 /* elements of a value */

typedef struct maker_value {
    lt_node node;
    double  size;         /* bound on |element| */
    double  error;        /* bound on the difference of two evaluations */
    bool    exact;        /* made by moving inputs around: bits are the same everywhere */
} maker_value;

typedef struct maker {
    lt_graph *g;
    lt_rng    rng;
    lt_dtype  type;       /* LT_F64 or LT_F32 */
    bool      smooth;     /* for differences: no casts, no jumps */
    maker_value v[MAKER_VALUES];
    int       n;
    int       n_inputs;
    lt_node   input[MAKER_INPUTS];
    double   *data[MAKER_INPUTS];      /* the inputs as doubles, … */
    void     *raw[MAKER_INPUTS];       /* … and in their type */
    int64_t   count[MAKER_INPUTS];
    maker_value output[MAKER_OUTPUTS];
    int       n_outputs;
} maker;

/* Builds n_nodes random nodes on top of 1 to 4 inputs and picks outputs. */
void maker_begin(maker *m, uint64_t seed, lt_dtype type, bool smooth, int n_nodes);
void maker_end(maker *m);

#endif
