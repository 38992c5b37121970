/* The weights of an operator: one block of memory, cut up as the network's list says.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_NETWORK_WEIGHTS_H
#define LT_OPERATORS_NETWORK_WEIGHTS_H

#include "operators/network/network.h"

struct lt_operator_weights {
    lt_network network;       /* without its graph: the list of tensors */
    float     *block;         /* network.n_floats */
    uint64_t   seed;          /* of the last drawing … */
    int64_t    index;         /* … and the operator; -1: not drawn yet */
};

/* For weights that a device draws: notes (seed, index) and draws only the output convolution, which the mixed noise needs. */
lt_status lt_operator_weights_draw_output(lt_operator_weights *w, uint64_t seed, int64_t index);

#endif
