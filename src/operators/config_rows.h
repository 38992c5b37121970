/* The schema of dataset configurations. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_ROWS_H
#define LT_OPERATORS_CONFIG_ROWS_H

#include "operators/config_schema.h"

/* Reads into struct lt_dataset_config. Rows in the order of the documentation. */
lt_schema lt_config_schema(void);

#endif
