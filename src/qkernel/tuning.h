/* The stored choice between states and transfer matrices. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_TUNING_H
#define LT_QKERNEL_TUNING_H

#include "lathe/gram.h"

/* What the device's tuning file says for this many qubits: false when it says nothing. */
bool lt_gram_stored_choice(lt_device *dev, int q, lt_gram_float type, lt_gram_method *method);

#endif
