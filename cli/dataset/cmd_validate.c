/* lathe validate: is a dataset what it should be? SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

typedef struct validate_cli { cli_common common; const char *dataset; bool check_samples, check_metadata; int64_t replays; } validate_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(validate_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_BOOL(validate_cli, check_samples, "check-samples", "false", "also replay some operators and compare their features bit for bit"),
    LT_OPTION_BOOL(validate_cli, check_metadata, "check-metadata", "false", "also compare parameters and labels with what seed and configuration give"),
    LT_OPTION_INT(validate_cli, replays, "replays", "3", LT_RANGE_CLOSED(1, 100000), "N", "how many operators --check-samples replays"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe validate", .summary = "Check a dataset file", .operands = "[FILE.h5]", .max_operands = 1, .groups = groups, .n_groups = 2,
    .example = "lathe validate small.h5 --check-samples --check-metadata",
};

typedef struct tally { cli_context *c; int n[3]; } tally;

static void take_finding(void *ctx, lt_finding_level level, const char *finding)
{
    char text[512];
    snprintf(text, sizeof text, "%s", finding);
    cli_drop_sources(text);
    static const char *const words[] = { "ok", "warning", "error" };
    tally *t = ctx;
    t->n[level]++;
    if (!t->c->json) {
        if (level != LT_FINDING_OK || !t->c->common.quiet) printf("%-8s %s\n", words[level], text);
        return;
    }
    lt_json_object_begin(t->c->json);
    lt_json_field_string(t->c->json, "level", words[level]);
    lt_json_field_string(t->c->json, "text", text);
    lt_json_object_end(t->c->json);
}

static lt_status run(cli_context *c)
{
    const validate_cli *o = c->options;
    tally t = { .c = c };
    lt_dataset *d;
    lt_validate_options opt = { .size = sizeof opt, .check_samples = o->check_samples, .check_metadata = o->check_metadata,
                                .replays = (int)o->replays, .device = dataset_device(c) };
    CLI_TRY(dataset_open(c, o->dataset, &d));
    if (c->json) {
        lt_json_key(c->json, "findings");
        lt_json_array_begin(c->json);
    }
    lt_status s = lt_dataset_validate(d, &opt, take_finding, &t);
    lt_dataset_close(d);
    if (c->json) {
        lt_json_array_end(c->json);
        lt_json_field_int(c->json, "errors", t.n[LT_FINDING_ERROR]);
        lt_json_field_int(c->json, "warnings", t.n[LT_FINDING_WARNING]);
    }
    CLI_TRY(s);
    c->json_complete = true; /* what is wrong is what was asked for */
    if (t.n[LT_FINDING_ERROR]) return cli_fail(LT_ERR_MISMATCH, "%d of %d checks failed", t.n[LT_FINDING_ERROR], t.n[0] + t.n[1] + t.n[2]);
    if (!c->json) printf("%d checks passed, %d warning%s\n", t.n[LT_FINDING_OK], t.n[LT_FINDING_WARNING], t.n[LT_FINDING_WARNING] == 1 ? "" : "s");
    return LT_OK;
}

const cli_command cli_validate = {
    .name = "validate", .options = &table, .options_bytes = sizeof(validate_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "Checks groups, equal numbers of rows, metadata, unit parameters, finite features in finished rows and the shares of initial fields and "
                   "policies. Ends with status 1 when an error is found; warnings alone are no failure.",
};
