/* lathe table: a dataset as a table, one row per operator. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

typedef struct table_cli { cli_common common; const char *dataset; lt_table_options t; } table_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(table_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(table_cli, t.csv, "csv", NULL, "OUT.csv", "write the table as CSV"),
    LT_OPTION_PATH(table_cli, t.parquet, "parquet", NULL, "OUT.parquet", "write the table as Parquet"),
    LT_OPTION_BOOL(table_cli, t.unit, "unit", "false", "parameters as the stored numbers of the unit interval instead of values"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe table", .summary = "Write a dataset as a table", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = groups, .n_groups = 2, .example = "lathe table small.h5 --csv small.csv",
};

static lt_status run(cli_context *c)
{
    const table_cli *o = c->options;
    lt_dataset *d;
    lt_table_options opt = o->t;
    lt_table_info info = { .size = sizeof info };
    opt.size = sizeof opt;
    if (!opt.csv && !opt.parquet) return cli_fail(LT_ERR_ARGUMENT, "where to? Give --csv OUT.csv or --parquet OUT.parquet");
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = lt_dataset_table(d, &opt, &info);
    lt_dataset_close(d);
    CLI_TRY(s);
    if (c->json) {
        lt_json_field_int(c->json, "rows", info.rows);
        lt_json_field_int(c->json, "columns", info.columns);
    } else printf("%lld rows, %lld columns\n", (long long)info.rows, (long long)info.columns);
    return LT_OK;
}

const cli_command cli_table_command = {
    .name = "table", .options = &table, .options_bytes = sizeof(table_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "One row per operator: parameters as values, families of features with one row each, labels and status, under the names that the Python package uses "
                   "(parameters.noise_scale, summary.trend_strength_mean, metadata.ic_types). Rows are read and written in blocks, so memory does not grow "
                   "with the dataset.",
};
