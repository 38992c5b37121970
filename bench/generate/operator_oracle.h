/* CNN operators in double precision, from saved weights and the public graph builders alone, and how far a step
   is from that. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_GENERATE_OPERATOR_ORACLE_H
#define LATHE_BENCH_GENERATE_OPERATOR_ORACLE_H

#include "cli/frame/cli.h"

/* *out [3, G, G], to be freed: the operator without noise on field; instance norm and GELU only. */
lt_status operator_oracle(const lt_operator_spec *spec, const lt_operator_weights *w, const float *field, double **out);

/* |got - want| / |want| in the 2-norm, of one application without noise in this precision. */
lt_status operator_error(const lt_operator_spec *spec, lt_precision precision, const lt_operator_weights *w, const float *field, const double *want,
                         double *error);
/* The same on a device; NULL: the CPU. */
lt_status operator_error_on(lt_device *device, const lt_operator_spec *spec, lt_precision precision, const lt_operator_weights *w, const float *field,
                            const double *want, double *error);
double operator_error_limit(lt_precision precision); /* what is accepted */

#endif
