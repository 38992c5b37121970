/* lathe upgrade: files of older engines. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

typedef struct upgrade_cli { cli_common common; const char *dataset; bool dry_run; } upgrade_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(upgrade_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_BOOL(upgrade_cli, dry_run, "dry-run", "false", "say whether there is anything to do; write nothing"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe upgrade", .summary = "Rewrite a dataset of an older engine", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = groups, .n_groups = 2, .example = "lathe upgrade old.h5",
};

static lt_status look(cli_context *c, const upgrade_cli *o, lt_dataset_info *info, char version[32])
{
    lt_dataset *d;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    *info = lt_dataset_get_info(d);
    snprintf(version, 32, "%.31s", info->engine_version); /* the text ends with the dataset */
    lt_dataset_close(d);
    return LT_OK;
}

static void show(cli_context *c, const char *path, const char *version, int64_t rows_done, bool older)
{
    if (c->json) {
        lt_json_field_string(c->json, "output", path);
        lt_json_field_string(c->json, "from_engine", version);
        lt_json_field_string(c->json, "engine", lt_dataset_engine());
        lt_json_field_bool(c->json, "older", older);
        lt_json_field_int(c->json, "rows", rows_done);
    } else if (!older) printf("%s: is of engine %s: nothing to do\n", cli_shown(path).s, lt_dataset_engine());
    else if (!rows_done) printf("%s: is of engine %s and would be rewritten for %s\n", cli_shown(path).s, version, lt_dataset_engine());
    else printf("%s: %lld rows rewritten, engine %s to %s\n", cli_shown(path).s, (long long)rows_done, version, lt_dataset_engine());
}

static lt_status run(cli_context *c)
{
    const upgrade_cli *o = c->options;
    const char *path = dataset_path(c, o->dataset);
    lt_dataset_info info;
    char version[32];
    dataset_bar bar = { .c = c, .label = "upgrade" };
    lt_generate_info done = { .size = sizeof done };
    CLI_TRY(look(c, o, &info, version));
    if (o->dry_run) {
        show(c, path, version, 0, info.engine_age < 0);
        return LT_OK;
    }
    lt_upgrade_options opt = lt_upgrade_defaults();
    opt.device = dataset_device(c);
    opt.stop = cli_interrupt_flag();
    opt.progress = dataset_bar_set;
    opt.progress_ctx = &bar;
    lt_status s = lt_dataset_upgrade(path, &opt, &done);
    dataset_bar_end(&bar);
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_fail(s, "%s; the file is as it was, and the same command goes on", cli_stop_reason());
    CLI_TRY(s);
    show(c, path, version, info.rows, info.engine_age < 0);
    return LT_OK;
}

const cli_command cli_upgrade = {
    .name = "upgrade", .options = &table, .options_bytes = sizeof(upgrade_cli), .need = CLI_NEED_CHOSEN, .stops = true, .run = run,
    .description = "Files of older engines have other columns or other formulas (docs/guide-datasets.md). Their rows are computed again, or their features from stored "
                   "states; what did not change must come out as stored, and stays as it is to the bit. The new file is written beside the old one and renamed "
                   "over it when it is whole: until then the old one is as it was, and after a kill the same command goes on.",
};
