/* Keys of a document that have no effect, and why. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_IDLE_H
#define LT_OPERATORS_CONFIG_IDLE_H

#include "operators/config/config.h"

/* Adds to c->notes what only the whole document shows: accepted and unused keys, settings of parts that are switched off. Sorts all by place. */
lt_status lt_config_find_idle(lt_dataset_config *c);

#endif
