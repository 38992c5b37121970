/* Rows of one circuit on a device without a Gram handle: kernels and a maker that live for a call. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_DEVICE_CIRCUITS_APART_H
#define LT_QKERNEL_DEVICE_CIRCUITS_APART_H

#include "qkernel/device/circuits/circuits.h"

typedef struct lt_circuit_apart {
    lt_device      *dev;
    lt_stream      *stream;
    lt_layers       layers;    /* that name the program */
    lt_gram_kernels kernels;
    lt_row_maker    maker;
} lt_circuit_apart;

typedef enum lt_apart_for { LT_APART_STATES, LT_APART_BLOCH, LT_APART_ADJOINT } lt_apart_for;
/* On failure it is closed. a stays where it is. */
lt_status lt_circuit_apart_open(lt_circuit_apart *a, lt_device *dev, lt_pool *pool, const lt_compiled *p, bool single, lt_apart_for what);
void      lt_circuit_apart_close(lt_circuit_apart *a);

#endif
