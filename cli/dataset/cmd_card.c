/* lathe card: a dataset described in Markdown. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <stdlib.h>

typedef struct card_cli { cli_common common; const char *dataset, *output, *license; bool without_checksum; } card_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(card_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(card_cli, output, "output", NULL, "CARD.md", "write it there instead of printing it", .alias = "out"),
    LT_OPTION_STRING(card_cli, license, "license", NULL, "NAME", "state this licence instead of metadata.license of the configuration"),
    LT_OPTION_BOOL(card_cli, without_checksum, "without-checksum", "false", "leave out the SHA-256 of the file, which takes reading all of it"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe card", .summary = "Describe a dataset in Markdown", .operands = "[FILE.h5]", .max_operands = 1, .groups = groups, .n_groups = 2,
    .example = "lathe card small.h5 --output README.md",
};

/* Into memory first: half a card is none. */
static lt_status print(cli_context *c, lt_dataset *d, const lt_card_options *opt)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return cli_fail(LT_ERR_MEMORY, "no memory for the card");
    lt_status s = lt_dataset_card(d, opt, to);
    if (fclose(to) && !s) s = cli_fail(LT_ERR_MEMORY, "no memory for the card");
    if (!s && c->json) lt_json_field_string(c->json, "card", text);
    else if (!s) fputs(text, stdout);
    free(text);
    return s;
}

static lt_status save(cli_context *c, lt_dataset *d, const lt_card_options *opt, const char *path)
{
    CLI_TRY(lt_dataset_save_card(d, opt, path));
    if (c->json) lt_json_field_string(c->json, "output", path);
    else printf("%s\n", cli_shown(path).s);
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    const card_cli *o = c->options;
    lt_card_options opt = lt_card_defaults();
    lt_dataset *d;
    opt.checksum = !o->without_checksum;
    opt.license = o->license;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_status s = o->output ? save(c, d, &opt, o->output) : print(c, d, &opt);
    lt_dataset_close(d);
    return s;
}

const cli_command cli_card = {
    .name = "card", .options = &table, .options_bytes = sizeof(card_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "A card for those who get the file from others: what is in it, how it was made, figures, licence and checksum, all from the file's own metadata. The licence is "
                   "metadata.license of the configuration. lathe.Dataset(FILE).card() gives the same text.",
};
