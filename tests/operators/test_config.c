/* Dataset configurations: the sample files, defaults, substitution, merging, overrides, notes.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "config_text.h"
#include "operators/config/keys.h"
#include "operators/fields/types.h"

#include <dirent.h>
#include <unistd.h>

static lt_dataset_config *load_ok(const char *from, const char *to)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with(from, to, NULL, &c));
    return c;
}

static bool has_note(const lt_dataset_config *c, const char *part)
{
    for (int i = 0; i < lt_dataset_config_warning_count(c); i++)
        if (strstr(lt_dataset_config_warning(c, i), part)) return true;
    return false;
}

/* ---- The sample files ------------------------------------------------------------------ */
LT_TEST(every_sample_loads_without_a_note_and_reads_back_from_its_json)
{
    DIR *folder = opendir(LT_CONFIGS);
    LT_CHECK(folder != NULL);
    int n = 0;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (!strstr(e->d_name, ".yaml")) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", LT_CONFIGS, e->d_name);
        lt_dataset_config *c = NULL, *again = NULL;
        LT_CHECK_OK(lt_dataset_config_load(path, NULL, &c));
        if (!c) continue;
        n++;
        for (int i = 0; i < lt_dataset_config_warning_count(c); i++) LT_TEST_FAIL("note: %s", lt_dataset_config_warning(c, i));
        const char *json = lt_dataset_config_json(c);
        LT_CHECK_OK(lt_dataset_config_parse(json, strlen(json), "json", NULL, &again));
        if (again) LT_CHECK(!strcmp(lt_dataset_config_json(again), json));
        float a[128], b[128];
        lt_operator_spec spec = { .size = sizeof spec };
        for (int64_t i = 0; again && i < 16 && i < c->total_samples; i++) { /* every row maps, the same from file and JSON */
            LT_CHECK_OK(lt_dataset_unit_row(c, i, a));
            LT_CHECK_OK(lt_dataset_unit_row(again, i, b));
            LT_CHECK(!memcmp(a, b, (size_t)c->space.n * sizeof *a));
            LT_CHECK_OK(lt_dataset_map_row(c, a, &spec));
            LT_CHECK_OK(lt_operator_check(&spec));
        }
        lt_dataset_config_destroy(again);
        lt_dataset_config_destroy(c);
    }
    if (folder) closedir(folder);
    LT_CHECK(n >= 5);
}

LT_TEST(the_baseline_has_twelve_columns_in_the_order_of_the_file)
{
    static const char *const names[] = { "num_layers", "base_channels", "kernel_size", "activation", "dropout_rate", "noise_type", "noise_scale",
                                         "noise_schedule", "spatial_correlation", "normalization", "grid_size", "update_policy" };
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(lt_dataset_config_load(LT_CONFIGS "/baseline_10k.yaml", NULL, &c));
    if (!c) return;
    LT_CHECK_EQ_INT(c->space.n, 12);
    for (int i = 0; i < 12 && i < c->space.n; i++) LT_CHECK(!strcmp(c->space.param[i].name, names[i]));
    LT_CHECK_EQ_INT(c->n_fields, 10);
    LT_CHECK(c->precision == LT_PRECISION_FLOAT16 && c->precision_given);
    LT_CHECK(c->field[0].type == LT_FIELD_GRF && c->field[0].value[0].item[0] == 0.05 && c->field[0].value[1].item[0] == 0.25);
    LT_CHECK(c->field[5].value[0].n == 3 && c->field[5].value[0].item[2] == 0.40);
    LT_CHECK(c->field[8].type == LT_FIELD_STRUCTURED && c->field[8].value[0].item[0] == 3 && c->field[8].value[1].n == 1);
    lt_dataset_config_destroy(c);
}

LT_TEST(the_block_of_uafno_has_five_columns_in_a_fixed_order)
{
    lt_dataset_config *c = load_ok("  evolution: {", "  u_afno: {hidden_dim: {type: integer, bounds: [40, 50]}}\n  evolution: {");
    static const char *const names[] = { "modes", "hidden_dim", "encoder_levels", "afno_blocks", "blocks_per_level" };
    if (!c) return;
    LT_CHECK_EQ_INT(c->space.n, 11);
    for (int i = 0; i < 5; i++) LT_CHECK(!strcmp(c->space.param[6 + i].name, names[i]));
    LT_CHECK(c->space.param[6].lo == 8 && c->space.param[6].hi == 64 && c->space.param[7].lo == 40 && c->space.param[10].hi == 4);
    lt_dataset_config_destroy(c);
}

/* ---- Defaults and values ---------------------------------------------------------------- */
LT_TEST(defaults_are_those_of_the_schema)
{
    lt_dataset_config *c = load_ok("", "");
    if (!c) return;
    LT_CHECK(c->scramble && c->check_discrepancy && c->max_discrepancy == 0.01 && c->max_correlation == 0.05);
    LT_CHECK_EQ_INT(c->realizations, 10);
    LT_CHECK(!strcmp(c->device, "cuda") && c->kind == LT_OPERATOR_CNN);
    LT_CHECK(c->precision == LT_PRECISION_FLOAT16 && !c->precision_given); /* absent, T > 1 */
    LT_CHECK(c->compression == LT_COMPRESS_GZIP && c->compression_level == 4 && c->chunk_rows == 1000 && !c->store_trajectories);
    LT_CHECK(c->temporal && c->summary && !c->initial && !c->architecture && c->summary_mode == LT_SUMMARY_MANUAL);
    LT_CHECK(c->learned.skip_levels == 7 && c->learned.layer_indices == 0 && c->learned.cosine && !c->learned.flatten);
    LT_CHECK(c->learned.training_epochs == 100 && c->learned.learning_rate == 1e-3 && c->learned.patience == 20);
    LT_CHECK(strstr(c->engine_json, "\"grf\":\"reference\"") && strstr(c->engine_json, "\"alias_blocks\":\"use\""));
    LT_CHECK_EQ_INT(lt_dataset_config_warning_count(c), 0);
    lt_dataset_config_destroy(c);
    c = load_ok("  num_timesteps: 20\n", "");
    if (c) LT_CHECK(c->precision == LT_PRECISION_FLOAT32 && c->steps == 1);
    lt_dataset_config_destroy(c);
}

LT_TEST(engine_keys_and_forgotten_keys_are_honoured)
{
    lt_dataset_config *c = load_ok("dataset: {output_path: out.h5}",
        "dataset: {output_path: out.h5, storage: {store_trajectories: yes, compression: none}}\n"
        "features: {initial: {enabled: true, variant: basic38}, architecture: {enabled: true}, summary: {extract_operator_features: true, nonlinear: {enabled: true}}}\n"
        "engine: {padding: circular, gelu: tanh, noise_semantics: full, grf: physical, clip: batch, features: corrected}");
    if (!c) return;
    LT_CHECK(c->store_trajectories && c->compression == LT_COMPRESS_NONE && c->initial && c->architecture && c->operator_features);
    LT_CHECK(c->initial_variant == LT_INITIAL_BASIC38);
    LT_CHECK(c->circular_padding && c->tanh_gelu && c->full_noise && c->physical_grf && c->features.clip_batch && c->features.corrected);
    LT_CHECK_EQ_INT(lt_dataset_config_warning_count(c), 0);
    lt_dataset_config_destroy(c);
}

LT_TEST(on_and_off_are_booleans_of_yaml_and_names_of_ours)
{
    static const struct { const char *text; int value; } key[] = { { "on", LT_WATCHDOG_ON }, { "off", LT_WATCHDOG_OFF }, { "true", LT_WATCHDOG_ON },
                                                                   { "'off'", LT_WATCHDOG_OFF }, { "auto", LT_WATCHDOG_AUTO } };
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        char text[80];
        snprintf(text, sizeof text, "engine: {watchdog: %s}\ndataset: {", key[i].text);
        lt_dataset_config *c = load_ok("dataset: {", text), *again = NULL;
        if (c) LT_CHECK_EQ_INT(c->engine.watchdog, key[i].value);
        if (c) LT_CHECK(!strstr(c->engine_json, "watchdog")); /* nothing depends on it */
        if (c) LT_CHECK_OK(lt_dataset_config_parse(c->json, strlen(c->json), "again", NULL, &again));
        if (again) LT_CHECK_EQ_INT(again->engine.watchdog, key[i].value);
        lt_dataset_config_destroy(c);
        lt_dataset_config_destroy(again);
    }
    lt_dataset_config *c = NULL;
    LT_CHECK_FAILS(load_with("dataset: {", "engine: {watchdog: 3}\ndataset: {", NULL, &c), LT_ERR_ARGUMENT, "expected one of auto, on, off");
}

LT_TEST(checks_that_are_off_pass_but_both_off_fall_back)
{
    lt_dataset_config *c = load_ok("batch_size: 7", "validation: {check_discrepancy: false}");
    if (c) LT_CHECK(isinf(c->max_discrepancy) && c->max_correlation == 0.05);
    lt_dataset_config_destroy(c);
    c = load_ok("batch_size: 7", "validation: {check_discrepancy: off, check_correlation: no, max_discrepancy: 0.5}");
    if (c) LT_CHECK(c->max_discrepancy == 0.01 && c->max_correlation == 0.05);
    lt_dataset_config_destroy(c);
}

/* ---- Fields --------------------------------------------------------------------------------- */
LT_TEST(alias_blocks_ranges_and_shared_parameters_reach_the_recipes)
{
    static const char section[] =
        "{method: sampled, length_scale: 0.3, ic_type_weights: {gaussian_random_field: 1, gaussian_random_field_v1: 1, turing_pattern_v3: 2, mixed: 1, random: 1},\n"
        "    gaussian_random_field: {variance: 2}, gaussian_random_field_v1: {length_scale: 0.07}, turing_pattern: {wavelength_range: [4, 9], pattern_type: stripes},\n"
        "    turing_pattern_v3: {perturbation_amplitude: 0}, structured: {num_structures: 9}}";
    lt_dataset_config *c = load_ok("{method: sampled, ic_type_weights: {structured: 1}}", section);
    if (!c) return;
    LT_CHECK_EQ_INT(c->n_fields, 5);
    LT_CHECK(c->field[0].value[0].item[0] == 0.3 && c->field[0].value[1].item[0] == 2);
    LT_CHECK(c->field[1].value[0].item[0] == 0.07 && c->field[1].value[1].item[0] == 2 && !strcmp(c->field[1].alias, "gaussian_random_field_v1"));
    LT_CHECK(c->field[2].value[0].item[0] == 1 && c->field[2].value[1].drawn && c->field[2].value[1].item[1] == 9 && c->field[2].value[2].item[0] == 0);
    LT_CHECK(c->field[3].type == LT_FIELD_MIXED && c->field[3].value[1].item[0] == 2 && c->field[3].value[2].item[0] == 9);
    LT_CHECK(c->field[4].type == LT_FIELD_GRF && c->field[4].value[1].item[0] == 2 && !strcmp(c->field[4].alias, "random"));
    LT_CHECK_EQ_INT(lt_dataset_config_warning_count(c), 0);
    lt_dataset_config_destroy(c);
    char both[1024];
    snprintf(both, sizeof both, "%s\nengine: {alias_blocks: ignore}", section);
    c = load_ok("{method: sampled, ic_type_weights: {structured: 1}}", both);
    if (c) LT_CHECK(c->field[1].value[0].item[0] == 0.3 && c->field[2].value[2].item[0] == 0.1 && c->field[3].value[2].item[0] == 5);
    lt_dataset_config_destroy(c);
}

LT_TEST(empty_weights_mean_a_random_field_and_a_method_is_its_own_alias)
{
    lt_dataset_config *c = load_ok("{method: sampled, ic_type_weights: {structured: 1}}", "{method: sampled}");
    if (c) LT_CHECK(c->n_fields == 1 && !strcmp(c->field[0].alias, "gaussian_random_field"));
    lt_dataset_config_destroy(c);
    c = load_ok("{method: sampled, ic_type_weights: {structured: 1}}", "{method: shock_front, shock_front: {shock_angle: 0.5, amplitude_range: [1, 2]}}");
    if (c) LT_CHECK(c->field[0].type == LT_FIELD_SHOCK && c->field[0].value[1].item[0] == 0.5 && c->field[0].value[0].n == 0);
    if (c) LT_CHECK(has_note(c, "shock_front.amplitude_range"));
    lt_dataset_config_destroy(c);
}

/* ---- Substitution, merging, overrides ---------------------------------------------------------- */
LT_TEST(names_come_from_parameters_then_from_the_environment)
{
    setenv("LT_TEST_SEED", "77", 1);
    setenv("LT_TEST_NAME", "of the environment", 1);
    const char *const names[] = { "LT_TEST_NAME", "COUNT" }, *const values[] = { "given", "12" };
    lt_dataset_overrides over = { .size = sizeof over, .names = names, .values = values, .n_names = 2 };
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("metadata: {name: small}", "metadata: {name: \"${LT_TEST_NAME}\", author: \"a ${LT_TEST_NAME} b\", purpose: \"${LT_TEST_SEED}\"}", &over, &c));
    if (c) LT_CHECK(!strcmp(c->name, "given") && strstr(c->json, "\"author\":\"a ${LT_TEST_NAME} b\"") && strstr(c->json, "\"purpose\":\"77\""));
    lt_dataset_config_destroy(c);
    LT_CHECK_OK(load_with("total_samples: 100, batch_size: 7, sobol: {seed: 5}", "total_samples: \"${COUNT}\", sobol: {seed: \"${LT_TEST_SEED}\"}", &over, &c));
    if (c) LT_CHECK(c->total_samples == 12 && c->seed == 77 && strstr(c->json, "\"total_samples\":12"));
    if (c) LT_CHECK(lt_dataset_config_warning_count(c) == 1 && !strncmp(lt_dataset_config_warning(c, 0), "--define LT_TEST_NAME has no effect: no value in the configuration is ${LT_TEST_NAME}", 84));
    lt_dataset_config_destroy(c);
    unsetenv("LT_TEST_SEED");
    LT_CHECK_FAILS(load_with("seed: 5", "seed: \"${LT_TEST_SEED}\"", &over, &c), LT_ERR_ARGUMENT, "test.yaml:12:61: ${LT_TEST_SEED} stands for nothing");
}

LT_TEST(overrides_are_written_into_the_document_and_checked_like_it)
{
    lt_dataset_overrides over = { .size = sizeof over, .output = "b.h5", .device = "cuda:1", .total_samples = 33, .batch_size = 4, .realizations = 2, .has_seed = true, .seed = 9 };
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("", "", &over, &c));
    if (c) LT_CHECK(!strcmp(c->output_path, "b.h5") && !strcmp(c->device, "cuda:1") && c->total_samples == 33 && c->batch_size == 4 && c->realizations == 2 && c->seed == 9);
    if (c) LT_CHECK(strstr(c->json, "\"output_path\":\"b.h5\"") && strstr(c->json, "\"seed\":9") && strstr(c->json, "\"num_realizations\":2"));
    lt_dataset_config_destroy(c);
    over = (lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .realizations = 1000 };
    LT_CHECK_FAILS(load_with("", "", &over, &c), LT_ERR_ARGUMENT, "--num-realizations: simulation.num_realizations is '1000': expected an integer in [1, 100]");
    over = (lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .device = "gpu" };
    LT_CHECK_FAILS(load_with("", "", &over, &c), LT_ERR_ARGUMENT, "--device: simulation.device is 'gpu': expected cpu, cuda, cuda:N or auto");
}

LT_TEST(a_second_document_is_merged_deeply)
{
    char path[] = "/tmp/lathe-merge-XXXXXX";
    int fd = mkstemp(path);
    static const char over_text[] = "sampling: {sobol: {seed: 8}, total_samples: 3}\nparameter_space: {operator: {grid_size: {choices: [32]}}}\nengine: {gelu: tanh}\n";
    LT_CHECK(fd >= 0 && write(fd, over_text, sizeof over_text - 1) == (ssize_t)sizeof over_text - 1);
    close(fd);
    lt_dataset_overrides over = { .size = sizeof over, .merge_path = path };
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("", "", &over, &c));
    if (c) LT_CHECK(c->seed == 8 && c->total_samples == 3 && c->batch_size == 7 && c->tanh_gelu && c->space.param[4].choices[0].number == 32);
    lt_dataset_config_destroy(c);
    LT_CHECK_FAILS(load_with("total_samples: 100", "total_samples: x", &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .merge_path = "/no/such.yaml" }, &c), LT_ERR_IO, "/no/such.yaml");
    unlink(path);
}

/* ---- Notes and secrets ------------------------------------------------------------------------------- */
LT_TEST(unknown_keys_are_noted_with_the_nearest_known_one)
{
    lt_dataset_config *c = load_ok("sampling: {", "sampels: 3\nsampling: {tottal: 1, sobol: {sede: 1}, ");
    if (c) LT_CHECK(has_note(c, "test.yaml:12:10: unknown key 'sampels' is ignored") && has_note(c, "unknown key 'sampling.tottal'"));
    if (c) LT_CHECK(has_note(c, "'sobol' was already given")); /* the later sobol replaces the one with sede */
    lt_dataset_config_destroy(c);
    c = load_ok("sobol: {seed: 5}", "sobol: {sede: 5}");
    if (c) LT_CHECK(has_note(c, "test.yaml:12:61: unknown key 'sampling.sobol.sede' is ignored; did you mean 'seed'?") && c->seed == 42);
    lt_dataset_config_destroy(c);
    c = load_ok("num_layers:", "num_layer:");
    if (c) LT_CHECK(has_note(c, "parameter 'parameter_space.architecture.num_layer' has a column and no effect; did you mean 'num_layers'?"));
    lt_dataset_config_destroy(c);
    c = load_ok("bounds: [2, 5]", "bounds: [2, 5], wieghts: [1]");
    if (c) LT_CHECK(has_note(c, "num_layers.wieghts' is ignored; did you mean 'weights'?"));
    lt_dataset_config_destroy(c);
    c = load_ok("{method: sampled,", "{structurd: {}, structured: {num_structure: 2}, method: sampled,");
    if (c) LT_CHECK(has_note(c, "input_generation.structurd' is ignored; did you mean 'structured'?") && has_note(c, "did you mean 'num_structures'?"));
    lt_dataset_config_destroy(c);
}

LT_TEST(settings_without_effect_are_noted_when_they_are_not_the_default)
{
    lt_dataset_config *c = load_ok("dataset: {", "features: {summary: {causality: {granger_ar_order: 4}, structural: {edge_threshold: 0.10}}}\ndataset: {");
    if (c) LT_CHECK(has_note(c, "features.summary.causality.granger_ar_order has no effect: the definition has no regression"));
    if (c) LT_CHECK_EQ_INT(lt_dataset_config_warning_count(c), 1);
    lt_dataset_config_destroy(c);
}

LT_TEST(keys_of_accounts_do_not_reach_the_json)
{
    setenv("LT_TEST_KEY", "very-secret", 1);
    lt_dataset_config *c = load_ok("dataset: {", "cloud: {provider: {provider: runpod}, runpod: {api_key: \"${LT_TEST_KEY}\"}, s3: {bucket: b, secret_access_key: very-secret}}\ndataset: {");
    if (c) LT_CHECK(!strstr(c->json, "very-secret") && strstr(c->json, "(withheld)") && c->provider == 1);
    lt_dataset_config_destroy(c);
}

/* ---- Keys without effect ------------------------------------------------------------------ */
static const lt_idle_key *find_idle(const lt_dataset_config *c, const char *key)
{
    const lt_idle_key *k;
    for (int i = 0; (k = lt_dataset_config_idle(c, i)); i++)
        if (!strcmp(k->key, key)) return k;
    return NULL;
}

/* Loads the small configuration with one change; `key` must then have no effect for a reason that holds `why`. */
static void check_idle(const char *from, const char *to, const char *key, const char *why)
{
    lt_dataset_config *c = load_ok(from, to);
    const lt_idle_key *k = c ? find_idle(c, key) : NULL;
    if (!k) LT_TEST_FAIL("%s is not listed after '%s'", key, to);
    else if (!strstr(k->reason, why)) LT_TEST_FAIL("%s: '%s' does not say '%s'", key, k->reason, why);
    lt_dataset_config_destroy(c);
}

LT_TEST(keys_without_effect_are_listed_with_their_reasons)
{
    check_idle("metadata: {name: small", "metadata: {name: small, author: me", "metadata.author", "people");
    check_idle("batch_size: 7", "refinement: {enabled: false}", "sampling.refinement.enabled", "seed alone");
    check_idle("batch_size: 7", "bacth_size: 7", "sampling.bacth_size", "did you mean 'batch_size'");
    check_idle("num_layers:", "num_leyers:", "parameter_space.architecture.num_leyers", "no operator reads");
    check_idle("    kernel_size:", "    dropout_rate: {type: continuous, bounds: [0, 0.2]}\n    kernel_size:", "parameter_space.architecture.dropout_rate", "dropout is off");
    check_idle("method: sampled", "method: structured", "simulation.input_generation.ic_type_weights", "not sampled");
    check_idle("{method: sampled", "{turing_pattern: {}, method: sampled", "simulation.input_generation.turing_pattern", "no field of this type");
    check_idle("{output_path: out.h5", "{output_path: out.h5, storage: {compression: lzf, compression_level: 9}", "dataset.storage.compression_level", "not gzip");
    check_idle("dataset: {", "features: {summary: {learned: {patience: 3, training_epochs: 5}}}\ndataset: {", "features.summary.learned.training_epochs", "manual");
    check_idle("dataset: {", "features: {summary: {nonlinear: {enabled: false, rqa_epsilon: 0.2}}}\ndataset: {", "features.summary.nonlinear.rqa_epsilon",
               "features.summary.nonlinear.enabled is false");
}

LT_TEST(keys_with_effect_are_not_listed_and_the_order_is_that_of_the_file)
{
    lt_dataset_config *c = load_ok("metadata: {name: small}", "version: 1\nmetadata: {purpose: p, name: small, author: me}");
    if (!c) return;
    static const char *const want[][2] = { { "version", "test.yaml:1:10" }, { "metadata.purpose", "test.yaml:2:21" }, { "metadata.author", "test.yaml:2:45" } };
    for (int i = 0; i < 3; i++) {
        const lt_idle_key *k = lt_dataset_config_idle(c, i);
        LT_CHECK(k && !strcmp(k->key, want[i][0]) && !strcmp(k->place, want[i][1]));
    }
    LT_CHECK(!lt_dataset_config_idle(c, 3) && !lt_dataset_config_idle(c, -1));
    lt_dataset_config_destroy(c);
}

/* Row i of both lists. */
static const lt_schema_row *row_of(const lt_schema *s, int i) { return i < s->n_rows ? &s->rows[i] : &s->unused[i - s->n_rows]; }

LT_TEST(the_schema_has_no_path_twice_and_every_default_fits_its_row)
{
    lt_schema s = lt_config_schema();
    for (int i = 0; i < s.n_rows + s.n_unused; i++) {
        const lt_schema_row *row = row_of(&s, i);
        LT_CHECK(row->option.help && *row->option.help);
        LT_CHECK((row->why != NULL) == (i >= s.n_rows)); /* a reason for all keys without effect, and for no other */
        for (int k = 0; k < i; k++)
            if (!strcmp(row->option.name, row_of(&s, k)->option.name)) LT_TEST_FAIL("twice: %s", row->option.name);
    }
    LT_CHECK(s.n_rows + s.n_unused > 120);
}

LT_TEST_MAIN()
