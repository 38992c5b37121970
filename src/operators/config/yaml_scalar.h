/* What an unquoted scalar of YAML means. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_YAML_SCALAR_H
#define LT_OPERATORS_CONFIG_YAML_SCALAR_H

#include "operators/config/yaml.h"

/* Sets kind, text (kept, not copied) and value of a scalar that stood unquoted. */
void lt_yaml_resolve(lt_yaml_node *n, const char *text);

#endif
