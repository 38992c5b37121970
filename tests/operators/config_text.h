/* A small configuration to change in tests. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_CONFIG_TEXT_H
#define LT_CONFIG_TEXT_H

#include "operators/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key per line, so that tests can replace single lines. */
static const char base_config[] =
    "metadata: {name: small}\n"
    "parameter_space:\n"
    "  architecture:\n"
    "    num_layers: {type: integer, bounds: [2, 5]}\n"
    "    kernel_size: {type: choice, choices: [3, 5, 7], weights: [0.3, 0.5, 0.2]}\n"
    "  stochastic:\n"
    "    noise_type: {type: choice, choices: [gaussian]}\n"
    "    noise_scale: {type: continuous, bounds: [1e-5, 1.0], log_scale: true}\n"
    "  operator:\n"
    "    grid_size: {type: choice, choices: [64]}\n"
    "  evolution: {alpha: {type: continuous, bounds: [0, 1]}}\n"
    "sampling: {total_samples: 100, batch_size: 7, sobol: {seed: 5}}\n"
    "simulation:\n"
    "  num_timesteps: 20\n"
    "  input_generation: {method: sampled, ic_type_weights: {structured: 1}}\n"
    "dataset: {output_path: out.h5}\n";

/* base_config with the first `from` replaced by `to`; the caller frees it. */
static inline char *config_with(const char *from, const char *to)
{
    const char *at = strstr(base_config, from);
    if (!at) abort(); /* the test itself is wrong */
    size_t n = sizeof base_config + strlen(to);
    char *text = malloc(n);
    if (text) snprintf(text, n, "%.*s%s%s", (int)(at - base_config), base_config, to, at + strlen(from));
    return text;
}

static inline lt_status load_with(const char *from, const char *to, const lt_dataset_overrides *over, lt_dataset_config **out)
{
    char *text = config_with(from, to);
    lt_status s = lt_dataset_config_parse(text, strlen(text), "test.yaml", over, out);
    free(text);
    return s;
}

#endif
