/* Stored choices: between states and transfer matrices, and among shapes of a GPU's tiles. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_TUNING_H
#define LT_QKERNEL_TUNING_H

#include "qkernel/device/device.h"
#include "qkernel/plan.h"

/* Precisions that are timed are float64 and float32; float16, whose states and tiles are those of float32, goes by its answers. */
static inline lt_gram_float lt_gram_timed_as(lt_gram_float type) { return type == LT_GRAM_FLOAT16 ? LT_GRAM_FLOAT32 : type; }

/* What the device's tuning file says for this many qubits. Tuning files of the quantum pipeline are not
   read (decision 140). */
lt_stored_choices lt_gram_stored_choice(lt_device *dev, int q, lt_gram_float type);
/* The same for the shape of tiles of overlaps, on devices that have a choice. */
bool lt_gram_stored_shape(lt_device *dev, int q, lt_gram_float type, lt_tile_shape *shape);
/* Times them for this many qubits. x: as many columns as qubits are taken; weights: two layers. */
lt_status lt_gram_tune_shapes(lt_device *dev, lt_tuner *tuner, int q, lt_gram_float type, const lt_rows *x, const double *weights);

#endif
