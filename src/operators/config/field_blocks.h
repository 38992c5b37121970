/* Reading simulation.input_generation. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_FIELD_BLOCKS_H
#define LT_OPERATORS_CONFIG_FIELD_BLOCKS_H

#include "operators/fields/types.h"
#include "operators/config/yaml.h"

/* Fills c->field and c->field_weight; method, length_scale, variance and the engine keys are read. */
lt_status lt_config_read_fields(lt_dataset_config *c, const lt_yaml_node *root, lt_notes *notes);

#endif
