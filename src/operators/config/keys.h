/* The schema of dataset configurations. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_KEYS_H
#define LT_OPERATORS_CONFIG_KEYS_H

#include "operators/config/schema.h"

/* Keys that are checked, kept in the document and without effect on any run; each row says why. */
extern const lt_schema_row lt_accepted_unused[];
extern const int           lt_accepted_unused_count;

/* Reads into struct lt_dataset_config. Rows in the order of the documentation. */
lt_schema lt_config_schema(void);

#endif
