/* Fuzz target: any bytes as a dataset configuration. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "operators/fields/fields.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *text = malloc(n_bytes + 1); /* exactly as long as it is: an overrun is seen */
    if (!text) return 0;
    if (n_bytes) memcpy(text, data, n_bytes);
    lt_dataset_config *c = NULL, *again = NULL;
    lt_status s = lt_dataset_config_parse(text, n_bytes, "fuzz", NULL, &c);
    LT_FUZZ_REQUIRE(s == LT_OK || s == LT_ERR_FORMAT || s == LT_ERR_ARGUMENT);
    LT_FUZZ_REQUIRE((s == LT_OK) == (c != NULL));
    if (c) {
        /* What was accepted is within its limits, maps, and is read back from its own JSON. */
        LT_FUZZ_REQUIRE(c->space.n >= 1 && c->total_samples >= 1 && c->realizations >= 1 && c->steps >= 1 && c->n_fields >= 1);
        float unit[128];
        lt_operator_spec spec = { .size = sizeof spec };
        LT_FUZZ_REQUIRE(lt_dataset_unit_row(c, c->total_samples - 1, unit) == LT_OK && lt_dataset_map_row(c, unit, &spec) == LT_OK);
        int which = lt_field_choose(c, 3);
        LT_FUZZ_REQUIRE(which >= 0 && which < c->n_fields);
        const char *json = lt_dataset_config_json(c);
        s = lt_dataset_config_parse(json, strlen(json), "json", NULL, &again);
        if (s) fprintf(stderr, "%s\n%s\n", json, lt_error_text());
        LT_FUZZ_REQUIRE(s == LT_OK && !strcmp(lt_dataset_config_json(again), json));
    }
    lt_dataset_config_destroy(again);
    lt_dataset_config_destroy(c);
    free(text);
    return 0;
}

static const char *const seeds[] = {
    "metadata: {name: a}\nparameter_space:\n  architecture: {num_layers: {type: integer, bounds: [2, 5]}, kernel_size: {type: choice, choices: [3, 5]}}\n"
    "  stochastic: {noise_scale: {type: continuous, bounds: [1e-5, 1.0], log_scale: true}}\n  operator: {grid_size: {type: choice, choices: [64]}}\n"
    "sampling: {total_samples: 9}\nsimulation: {num_timesteps: 3}\ndataset: {output_path: x.h5}\n",
    "{\"metadata\":{\"name\":\"b\"},\"parameter_space\":{\"architecture\":{},\"stochastic\":{},\"operator\":{\"grid_size\":{\"type\":\"choice\","
    "\"choices\":[32,64],\"weights\":[0.25,0.75]}}},\"sampling\":{\"total_samples\":4},\"simulation\":{\"input_generation\":{\"method\":\"sampled\","
    "\"ic_type_weights\":{\"structured_v1\":1}}},\"dataset\":{\"output_path\":\"x\"}}",
    "a: &a {x: [1, 2]}\nb: {<<: *a, y: !!str 3}\nc: [*a, *a, |\n  text\n  more\n]\n",
    "metadata: {name: '${HOME}'}\nengine: {grf: physical, nothing: 1}\ncloud: {s3: {bucket: b}}\n",
    "simulation:\n  input_generation:\n    method: turing_pattern\n    turing_pattern: {wavelength_range: [4, 9], pattern_type: mixed}\n",
};

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
