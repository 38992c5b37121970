/* Configurations with one mistake each: the message names place, key, value and what was expected.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "config_text.h"

#include "base/alloc.h"

/* A line of base_config, what replaces it, and a part of the message. */
static const struct { const char *from, *to, *says; } cases[] = {
    /* the document */
    { "metadata: {name: small}", "metadata: {name: small", "test.yaml:" },
    { "metadata: {name: small}", "\tmetadata: {name: small}", "test.yaml:1:1: found character that cannot start any token" },
    { "metadata: {name: small}", "metadata: [small]", "test.yaml:1:11: metadata is a list: expected a mapping" },
    { "metadata: {name: small}", "", "test.yaml: metadata is missing: expected a mapping" },
    { "metadata: {name: small}", "metadata: {}", "metadata.name is missing" },
    { "metadata: {name: small}", "metadata: {name: [a]}", "metadata.name is a list: expected a text" },
    { "metadata: {name: small}", "metadata: {name: *no}", "alias *no stands for nothing" },
    { "metadata: {name: small}", "metadata: {name: !!python/object small}", "tag 'tag:yaml.org,2002:python/object' does not fit" },
    { "metadata: {name: small}", "metadata: {name: \"a\\0b\"}", "a text with a zero byte in it" },
    { "metadata: {name: small}", "metadata: {[1]: 2, name: small}", "a list as a key" },
    { "metadata: {name: small}", "metadata: {<<: 3, name: small}", "'<<' takes a mapping" },
    { "dataset: {output_path: out.h5}\n", "dataset: {output_path: out.h5}\n---\na: 1\n", "a second document" },
    /* sections and types */
    { "dataset: {output_path: out.h5}", "dataset: {}", "dataset.output_path is missing" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x, storage: {compression: zip}}", "dataset.storage.compression is 'zip': expected one of gzip, lzf, none" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x, storage: {compression_level: 11}}", "compression_level is '11': expected an integer in [0, 9]" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x, storage: {chunk_size: 0}}", "chunk_size is '0': expected an integer of at least 1" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x, storage: {backend: zarr}}", "dataset.storage.backend is 'zarr': expected one of hdf5" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x, storage: 4}", "dataset.storage is '4': expected a mapping" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\ncloud: {provder: {}}", "unknown key 'cloud.provder': did you mean 'provider'?" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\ncloud: {runpod: {gpu_type: a}}", "cloud.runpod.api_key is missing" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\nengine: {gelu: fast}", "engine.gelu is 'fast': expected one of erf, tanh" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\nfeatures: {temporal: {enabled: maybe}}", "features.temporal.enabled is 'maybe': expected true or false" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\nfeatures: {summary: {learned: {projection_dim: 4}}}", "projection_dim is 4: expected null or an integer in [8, 512]" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\nfeatures: {summary: {learned: {skip_levels: [1, x]}}}", "skip_levels is 'x': expected integers in 0..31" },
    { "dataset: {output_path: out.h5}", "dataset: {output_path: x}\nfeatures: {summary: {learned: {spatial_agg: sum}}}", "spatial_agg is 'sum': expected gap or flatten" },
    /* sampling */
    { "total_samples: 100, ", "", "sampling.total_samples is missing" },
    { "total_samples: 100", "total_samples: 0", "test.yaml:12:27: sampling.total_samples is '0': expected an integer in [1, 1073741824]" },
    { "total_samples: 100", "total_samples: many", "sampling.total_samples is 'many': expected an integer" },
    { "total_samples: 100", "total_samples: 1.5", "sampling.total_samples is '1.5': expected an integer" },
    { "total_samples: 100", "total_samples: true", "sampling.total_samples is 'true': expected an integer" },
    { "total_samples: 100", "total_samples: null", "sampling.total_samples is null: expected an integer" },
    { "total_samples: 100", "total_samples: 99999999999999999999", "sampling.total_samples is '99999999999999999999'" },
    { "batch_size: 7", "batch_size: -1", "sampling.batch_size is '-1'" },
    { "batch_size: 7", "strategy: random", "sampling.strategy is 'random': expected one of sobol_stratified" },
    { "batch_size: 7", "refinement: {pilot_fraction: 0.5}", "sampling.refinement.pilot_fraction is '0.5': expected a number in (0, 0.1]" },
    { "batch_size: 7", "stratification: {num_strata_per_dim: 11}", "num_strata_per_dim is '11': expected an integer in [2, 10]" },
    { "batch_size: 7", "validation: {max_pairwise_correlation: 1}", "max_pairwise_correlation is '1': expected a number in (0, 1)" },
    { "seed: 5", "seed: -5", "sampling.sobol.seed is '-5'" },
    /* parameter space */
    { "{type: integer, bounds: [2, 5]}", "5", "parameter_space.architecture.num_layers is '5': expected a mapping like" },
    { "{type: integer, bounds: [2, 5]}", "{bounds: [2, 5]}", "num_layers is a mapping: expected a key type" },
    { "{type: integer, bounds: [2, 5]}", "{type: float, bounds: [2, 5]}", "num_layers.type is 'float': expected integer, continuous, choice or boolean" },
    { "{type: integer, bounds: [2, 5]}", "{type: array, length: 2}", "arrays have no columns" },
    { "bounds: [2, 5]", "bounds: [5, 5]", "num_layers.bounds is [5, 5]: expected lo < hi" },
    { "bounds: [2, 5]", "bounds: [2.5, 5]", "num_layers.bounds is '2.5': expected [lo, hi], two integers" },
    { "bounds: [2, 5]", "bounds: [2]", "num_layers.bounds is a list: expected [lo, hi]" },
    { "bounds: [2, 5]", "bounds: [0, 5]", "parameter_space.architecture.num_layers can be 0: expected an integer in [1, 64]" },
    { "{type: integer, bounds: [2, 5]}", "{type: continuous, bounds: [2, 5]}", "num_layers.type is a mapping: expected integer or choice" },
    { "choices: [3, 5, 7]", "choices: [3, 4, 7]", "kernel_size can be 4: expected an integer in [1, 31], odd" },
    { "{type: choice, choices: [3, 5, 7], weights: [0.3, 0.5, 0.2]}", "{type: integer, bounds: [3, 7]}", "choice of odd numbers" },
    { "weights: [0.3, 0.5, 0.2]", "weights: [0.3, 0.5]", "kernel_size.weights is a list: expected a list of 3 weights" },
    { "weights: [0.3, 0.5, 0.2]", "weights: [0.3, 0.5, 0.3]", "kernel_size.weights sum to 1.1: expected 1 within 1e-6" },
    { "weights: [0.3, 0.5, 0.2]", "weights: [0.3, 0.9, -0.2]", "kernel_size.weights is '-0.2'" },
    { "choices: [gaussian]", "choices: []", "noise_type.choices is a list: expected a list of one or more" },
    { "choices: [gaussian]", "choices: [gausian]", "noise_type.choices is 'gausian': expected one of none, gaussian, laplace, multiplicative, dropout" },
    { "choices: [gaussian]", "choices: [off]", "noise_type.choices is 'off': expected texts or numbers (put a text like no or off in quotes)" },
    { "bounds: [1e-5, 1.0]", "bounds: [0, 1.0]", "noise_scale.bounds begins at 0: expected lo > 0 with log_scale" },
    { "bounds: [1e-5, 1.0], log_scale: true", "bounds: [1e-5, 1.0], log_scale: 3", "noise_scale.log_scale is '3': expected true or false" },
    { "choices: [gaussian]}\n    noise_scale: {type: continuous, bounds: [1e-5, 1.0]", "choices: [dropout]}\n    noise_scale: {type: continuous, bounds: [1e-5, 2.0]", "noise_scale can be 2 with noise_type dropout" },
    { "choices: [gaussian]}\n    noise_scale: {type: continuous, bounds: [1e-5, 1.0]", "choices: [dropout]}\n    noise_scale: {type: continuous, bounds: [1e-5, 1.0]", "noise_scale can be 1 with noise_type dropout" },
    { "grid_size: {type: choice, choices: [64]}", "num_layers: {type: choice, choices: [3]}", "operator.num_layers: another block has a parameter of this name" },
    { "alpha: {type: continuous, bounds: [0, 1]}", "alpha: {type: continuous, bounds: [0, 1.5]}", "evolution.alpha can be 1.5" },
    { "alpha: {type: continuous, bounds: [0, 1]}", "alpha: {type: choice, choices: [0, 1]}", "evolution.alpha can be 1: expected a number in [0, 1)" },
    { "alpha: {type: continuous, bounds: [0, 1]}", "alpha: {type: boolean}", "evolution.alpha.type is a mapping: expected integer, continuous or choice" },
    { "  operator:\n    grid_size: {type: choice, choices: [64]}\n", "", "parameter_space.operator is missing" },
    /* simulation */
    { "num_timesteps: 20", "num_timesteps: 10001", "simulation.num_timesteps is '10001': expected an integer in [1, 10000]" },
    { "num_timesteps: 20", "num_realizations: 0", "simulation.num_realizations is '0'" },
    { "num_timesteps: 20", "precision: float64", "simulation.precision is 'float64': expected one of float32, float16, bfloat16, tf32" },
    { "num_timesteps: 20", "device: tpu", "simulation.device is 'tpu': expected cpu, cuda, cuda:N or auto" },
    { "num_timesteps: 20", "device: cuda:x", "simulation.device is 'cuda:x'" },
    { "num_timesteps: 20", "parallelism: {devices: [a]}", "simulation.parallelism.devices is 'a': expected auto or a list of integers in 0..31, each once" },
    { "num_timesteps: 20", "parallelism: {devices: [0, 2, 0]}", "simulation.parallelism.devices is '0': expected auto or a list of integers in 0..31, each once" },
    { "num_timesteps: 20", "parallelism: {devices: []}", "simulation.parallelism.devices is a list: expected auto or a list of integers in 0..31, each once" },
    { "{method: sampled", "{method: turing", "simulation.input_generation.method is 'turing': expected perhaps 'turing_pattern', one of sampled" },
    { "num_timesteps: 20", "operator_type: mlp", "simulation.operator_type is 'mlp': expected one of cnn, u_afno" },
    { "num_timesteps: 20\n  input_generation: {method: sampled", "operator_type: u_afno\n  input_generation: {method: spiral", "input_generation.method is 'spiral'" },
    { "{structured: 1}", "{structurd: 1}", "ic_type_weights.structurd: no such type of field: did you mean 'structured'?" },
    { "{structured: 1}", "{structured: -1}", "ic_type_weights.structured is '-1': expected a weight of at least 0" },
    { "{structured: 1}", "{structured: 0}", "weights with a sum above 0" },
    { "{structured: 1}", "[structured]", "ic_type_weights is a list: expected a mapping" },
    { "{structured: 1}", "{structured: 1}, length_scale: 2", "input_generation.length_scale is '2': expected a number in (0, 1]" },
    { "{structured: 1}", "{structured: 1}, structured: 5", "input_generation.structured is '5': expected a mapping of parameters" },
    { "{structured: 1}", "{structured: 1}, structured: {num_structures: 2.5}", "structured.num_structures is '2.5': expected an integer in [0, 1000]" },
    { "{structured: 1}", "{structured: 1}, structured: {structure_types: [disc]}", "structure_types is 'disc': expected one of circle, stripe, blob" },
    { "{structured: 1}", "{structured: 1}, shock_front: {shock_width: 0}", "shock_front.shock_width is '0': expected a number above 0" },
    { "{structured: 1}", "{structured: 1}, turing_pattern: {wavelength_range: [9, 4]}", "turing_pattern.wavelength_range is a list: expected [a, b] with a <= b" },
    { "{structured: 1}", "{localized: 1}, localized: {min_width: 20}", "localized: min_width 20 is above max_width 15" },
    { "{structured: 1}", "{structured: 1}, multiscale_grf: {scales: []}", "multiscale_grf.scales is a list: expected a list of 1 to 16" },
};

LT_TEST(every_mistake_is_told_with_its_place)
{
    LT_CHECK(sizeof cases / sizeof *cases >= 80);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lt_dataset_config *c = NULL;
        int64_t live = lt_alloc_live();
        lt_status s = load_with(cases[i].from, cases[i].to, NULL, &c);
        if (!s) LT_TEST_FAIL("case %zu, %s: accepted", i, cases[i].to);
        else if (s != LT_ERR_ARGUMENT && s != LT_ERR_FORMAT) LT_TEST_FAIL("case %zu: status %s", i, lt_status_name(s));
        else if (!strstr(lt_error_text(), cases[i].says)) LT_TEST_FAIL("case %zu: '%s' lacks '%s'", i, lt_error_text(), cases[i].says);
        LT_CHECK(s == LT_OK || c == NULL);
        lt_dataset_config_destroy(c);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
}

LT_TEST(grids_must_divide_by_the_halvings)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("num_timesteps: 20", "operator_type: u_afno", NULL, &c)); /* 64 by 8 */
    lt_dataset_config_destroy(c);
    char *text = config_with("num_timesteps: 20", "operator_type: u_afno");
    char *at = strstr(text, "choices: [64]");
    memcpy(at, "choices: [36]", 13);
    LT_CHECK_FAILS(lt_dataset_config_parse(text, strlen(text), "t", NULL, &c), LT_ERR_ARGUMENT, "grid_size can be 36 and encoder_levels 3: expected grids divisible by 8");
    free(text);
}

LT_TEST(what_the_command_sets_does_not_hide_a_missing_section)
{
    lt_dataset_config *c = NULL;
    lt_dataset_overrides over = { .size = sizeof over, .device = "cpu", .realizations = 2, .watchdog = "off" };
    LT_CHECK_FAILS(load_with("simulation:\n  num_timesteps: 20\n  input_generation: {method: sampled, ic_type_weights: {structured: 1}}\n", "", &over, &c),
                   LT_ERR_ARGUMENT, "simulation is missing");
    LT_CHECK_OK(load_with("num_timesteps: 20", "num_timesteps: 20", &over, &c)); /* there is no engine section in it either */
    lt_dataset_config_destroy(c);
}

LT_TEST(files_that_are_not_there_or_too_large_are_refused)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_FAILS(lt_dataset_config_load("/no/such/file.yaml", NULL, &c), LT_ERR_IO, "/no/such/file.yaml");
    LT_CHECK_FAILS(lt_dataset_config_parse("", 0, "empty.yaml", NULL, &c), LT_ERR_FORMAT, "empty.yaml: empty");
    LT_CHECK_FAILS(lt_dataset_config_parse("3", 1, "n.yaml", NULL, &c), LT_ERR_ARGUMENT, "n.yaml:1:1: the document is '3': expected a mapping");
}

LT_TEST(running_out_of_memory_is_reported_at_every_allocation)
{
    for (int n = 1; n < 400; n++) {
        lt_dataset_config *c = NULL;
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(n);
        lt_status s = lt_dataset_config_parse(base_config, sizeof base_config - 1, "t", NULL, &c);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || s == LT_ERR_MEMORY);
        lt_dataset_config_destroy(c);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
        if (!s) {
            LT_CHECK(n > 3);
            return;
        }
    }
    LT_TEST_FAIL("still failing after 400 allocations");
}

LT_TEST_MAIN()
