/* Names of the enumerations, as configurations write them. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/names.h"

const char *const lt_operator_kind_names[] = { "cnn", "u_afno", NULL };
const char *const lt_activation_names[] = { "gelu", "relu", "silu", "tanh", "none", NULL };
const char *const lt_normalization_names[] = { "instance", "batch", "group", "layer", "none", NULL };
const char *const lt_noise_names[] = { "none", "gaussian", "laplace", "multiplicative", "dropout", NULL };
const char *const lt_noise_schedule_names[] = { "constant", "annealing", "periodic", NULL };
const char *const lt_policy_names[] = { "autoregressive", "residual", "convex", NULL };
const char *const lt_precision_names[] = { "float32", "float16", "bfloat16", "tf32", NULL };

#define NAME_OF(type, count) \
    const char *type##_name(type v) { return (unsigned)v < (unsigned)(count) ? type##_names[v] : "?"; }
NAME_OF(lt_operator_kind, LT_OPERATOR_KIND_COUNT)
NAME_OF(lt_activation, LT_ACT_COUNT)
NAME_OF(lt_normalization, LT_NORM_COUNT)
NAME_OF(lt_noise, LT_NOISE_COUNT)
NAME_OF(lt_noise_schedule, LT_SCHEDULE_COUNT)
NAME_OF(lt_policy, LT_POLICY_COUNT)
NAME_OF(lt_precision, LT_PRECISION_COUNT)
