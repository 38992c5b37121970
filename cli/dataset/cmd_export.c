/* lathe export: a dataset in the formats of other programs. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

typedef struct export_cli { cli_common common; const char *dataset; lt_export_options e; } export_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(export_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(export_cli, e.zarr, "zarr", NULL, "DIR", "make a Zarr group (format 3) in a new folder"),
    LT_OPTION_PATH(export_cli, e.the_well, "the-well", NULL, "OUT.h5", "write stored states in the HDF5 layout of The Well"),
    LT_OPTION_PATH(export_cli, e.npz, "npz", NULL, "OUT.npz", "write a NumPy archive"),
    LT_OPTION_STRING(export_cli, e.arrays, "arrays", NULL, "NAMES",
                     "for --zarr and --npz: parameters, inputs, outputs, families of features, paths, with commas; all by default"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe export", .summary = "Write a dataset in the format of other programs", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = groups, .n_groups = 2, .example = "lathe export small.h5 --zarr small.zarr --arrays parameters,summary",
};

static void show(cli_context *c, const lt_export_options *o, const lt_export_info *i, double seconds)
{
    if (c->json) {
        lt_json_field_int(c->json, "arrays", i->arrays);
        lt_json_field_int(c->json, "left_out", i->left_out);
        lt_json_field_int(c->json, "trajectories", i->trajectories);
        lt_json_field_int(c->json, "trajectories_left_out", i->trajectories_left_out);
        lt_json_field_int(c->json, "bytes", (int64_t)i->bytes);
        lt_json_field_double(c->json, "seconds", seconds);
        return;
    }
    if (o->zarr || o->npz) printf("%lld arrays", (long long)i->arrays);
    if (i->left_out) printf(" (%lld of types that are not exported left out)", (long long)i->left_out);
    if (o->the_well) printf("%s%lld trajectories", o->zarr || o->npz ? ", " : "", (long long)i->trajectories);
    if (i->trajectories_left_out) printf(" (%lld of rows that are not done or on smaller grids left out)", (long long)i->trajectories_left_out);
    printf(", %s", cli_bytes((double)i->bytes).s);
    printf(" in %s\n", cli_seconds(seconds).s);
}

static lt_status run(cli_context *c)
{
    const export_cli *o = c->options;
    lt_export_options opt = o->e;
    lt_export_info info = { .size = sizeof info };
    dataset_bar bar = { .c = c, .label = "export", .unit = "MiB" };
    lt_dataset *d;
    double start = cli_now();
    opt.size = sizeof opt;
    opt.stop = cli_interrupt_flag();
    opt.progress = dataset_bar_set;
    opt.progress_ctx = &bar;
    if (!opt.zarr && !opt.the_well && !opt.npz) return cli_fail(LT_ERR_ARGUMENT, "as what? Give --zarr DIR, --the-well OUT.h5 or --npz OUT.npz");
    if (opt.arrays && !opt.zarr && !opt.npz) return cli_fail(LT_ERR_ARGUMENT, "--arrays chooses for --zarr and --npz; The Well always has states and parameters");
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = lt_dataset_export(d, &opt, &info);
    dataset_bar_end(&bar);
    lt_dataset_close(d);
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_fail(s, "%s; nothing was written", cli_stop_reason());
    CLI_TRY(s);
    show(c, &opt, &info, cli_now() - start);
    return LT_OK;
}

const cli_command cli_export = {
    .name = "export", .options = &table, .options_bytes = sizeof(export_cli), .need = CLI_NEED_NOTHING, .stops = true, .run = run,
    .description = "All three are written whole or not at all, beside their name and renamed, in blocks that do not grow with the dataset.\n"
                   "--zarr and --npz keep the names of the file's arrays; names of columns are attributes (column_names) or members (NAME.columns). "
                   "--the-well takes the states of the rows that are "
                   "done, a trajectory for each realization, channels as scalar fields and parameters as scalars: docs/guide-datasets.md has the table.",
};
