/* A CNN operator in double precision, from saved weights and the public graph builders alone.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_OPERATOR_ORACLE_H
#define LATHE_CLI_OPERATOR_ORACLE_H

#include "cli.h"

/* out [3, G, G]: the operator without noise on field; instance norm and GELU only. weights is a file of
   lt_operator_weights_save. */
lt_status operator_oracle(const lt_operator_spec *spec, const char *weights, const float *field, double *out);

#endif
