/* Datasets of the standard operator made on a GPU: what features add, and how long the device waits for the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/generate/rollout.h"

#include "lathe/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operator takes what MANY take longer than FEW: operators overlap, so the times between rows say little, and both have the same
   beginning and end. FEW are as many as are made before the first one is used again. */
enum { FEW = 8, MANY = 16 };

typedef struct generation {
    const char *name;
    bool        features;
    int         at_once;       /* 0: as usual */
    double      seconds;       /* of one operator in steady state */
    double      device_seconds; /* of one operator, by the device's clock, beside what runs with it */
} generation;

static lt_status make_config(const bench_rollout_request *q, bool features, int operators, const char *path, lt_dataset_config **out)
{
    const lt_operator_spec *s = &q->spec;
    char text[2048];
    snprintf(text, sizeof text,
             "metadata: {name: bench}\n"
             "parameter_space:\n"
             "  architecture: {num_layers: {type: choice, choices: [%d]}, base_channels: {type: choice, choices: [%d]},\n"
             "    kernel_size: {type: choice, choices: [%d]}, activation: {type: choice, choices: [gelu]}}\n"
             "  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: choice, choices: [%g]}}\n"
             "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [%d]}}\n"
             "  evolution: {update_policy: {type: choice, choices: [convex]}}\n"
             "sampling: {total_samples: %d, batch_size: %d, sobol: {seed: 1}}\n"
             "simulation: {device: cuda, precision: float16, num_realizations: %lld, num_timesteps: %lld,\n"
             "  input_generation: {method: gaussian_random_field}}\n"
             "dataset: {output_path: '%s', storage: {chunk_size: %d}}\n"
             "features: {temporal: {enabled: %s}, summary: {enabled: %s}}\n",
             s->num_layers, s->base_channels, s->kernel_size, s->noise_scale, s->grid, operators, operators, (long long)q->realizations,
             (long long)q->steps, path, operators, features ? "true" : "false", features ? "true" : "false");
    return lt_dataset_config_parse(text, strlen(text), "bench", NULL, out);
}

static lt_status generate(const bench_rollout_request *q, const char *path, const generation *g, int operators, double *seconds, double *device_seconds)
{
    lt_dataset_config *config;
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    opt.device = q->c->device;
    opt.at_once = g->at_once;
    opt.overwrite = true;
    opt.stop = cli_interrupt_flag();
    CLI_TRY(make_config(q, g->features, operators, path, &config));
    double start = cli_now();
    lt_status s = lt_generate(config, &opt, &info);
    *seconds = cli_now() - start;
    lt_dataset_config_destroy(config);
    if (!s) *device_seconds = info.device_seconds / operators;
    return s;
}

/* The first run also compiles, and is not counted. */
static lt_status time_generation(const bench_rollout_request *q, const char *path, generation *g)
{
    double few, many, alone;
    CLI_TRY(generate(q, path, g, 1, &few, &alone));
    CLI_TRY(generate(q, path, g, FEW, &few, &alone));
    CLI_TRY(generate(q, path, g, MANY, &many, &g->device_seconds));
    g->seconds = (many - few) / (MANY - FEW);
    return LT_OK;
}

/* bare: the same without features; alone: what the device takes for one operator when nothing runs beside it. */
static void show(const bench_rollout_request *q, cli_table *t, const generation *g, double bare, double alone)
{
    double added = 100 * (g->seconds / bare - 1), idle = 100 * (1 - alone / g->seconds);
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", g->name);
    cli_table_cell(t, 1, "%s", cli_seconds(g->seconds).s);
    cli_table_cell(t, 2, "%s", cli_seconds(g->device_seconds).s);
    cli_table_cell(t, 3, "%.1f %%", added);
    cli_table_cell(t, 4, "%.1f %%", idle);
    if (!q->c->json) return;
    lt_json_object_begin(q->c->json);
    lt_json_field_string(q->c->json, "name", g->name);
    lt_json_field_bool(q->c->json, "features", g->features);
    lt_json_field_int(q->c->json, "at_once", g->at_once);
    lt_json_field_double(q->c->json, "seconds_per_operator", g->seconds);
    lt_json_field_double(q->c->json, "device_seconds", g->device_seconds);
    lt_json_field_double(q->c->json, "added_by_features", 0.01 * added);
    lt_json_field_double(q->c->json, "device_idle", 0.01 * idle);
    lt_json_object_end(q->c->json);
}

lt_status bench_generation(const bench_rollout_request *q)
{
    static const char *const columns[] = { "datasets", "per operator", "on the device", "added by features", "device idle" };
    generation row[] = { { "one operator at a time, no features", false, 1, 0, 0 }, { "one operator at a time", true, 1, 0, 0 },
                         { "as usual, no features", false, 0, 0, 0 }, { "as usual", true, 0, 0, 0 } };
    cli_folder folder;
    cli_table *t;
    CLI_TRY(cli_folder_make(&folder));
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(row) && !s; i++) s = time_generation(q, cli_folder_file(&folder, "bench.h5").s, &row[i]);
    cli_folder_remove(&folder);
    CLI_TRY(s);
    CLI_TRY(cli_table_create("Datasets of the standard operator, steady state", CLI_LEN(columns), columns, &t));
    if (q->c->json) {
        lt_json_key(q->c->json, "generation");
        lt_json_array_begin(q->c->json);
    }
    for (int i = 0; i < CLI_LEN(row); i++) show(q, t, &row[i], row[i / 2 * 2].seconds, row[i % 2].device_seconds);
    if (q->c->json) lt_json_array_end(q->c->json);
    else cli_table_print(t, stdout), putchar('\n');
    cli_table_destroy(t);
    return LT_OK;
}
