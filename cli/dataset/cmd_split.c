/* lathe split: rows for training, validation and test, and what normalising needs. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <math.h>
#include <string.h>

typedef struct split_cli { cli_common common; const char *dataset, *output, *statistics, *status; double train, val, test; bool stratify, without_statistics; } split_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(split_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_REAL(split_cli, train, "train", "0.8", LT_RANGE_CLOSED(0, 1e9), "SHARE",
                   "share of the rows for training; a number of rows where the three add up to more than 1"),
    LT_OPTION_REAL(split_cli, val, "val", "0.1", LT_RANGE_CLOSED(0, 1e9), "SHARE", "for validation"),
    LT_OPTION_REAL(split_cli, test, "test", "0.1", LT_RANGE_CLOSED(0, 1e9), "SHARE", "for test"),
    LT_OPTION_BOOL(split_cli, stratify, "stratify", "false", "each part gets its share of every architecture and every initial field"),
    LT_OPTION_STRING(split_cli, status, "with-status", "done", "WORDS", "rows that take part, by how they ended: done, non-finite, failed, lost, pending, with commas"),
    LT_OPTION_PATH(split_cli, output, "output", NULL, "SPLIT.json", "instead of FILE.h5.split.json", .alias = "out"),
    LT_OPTION_PATH(split_cli, statistics, "statistics", NULL, "STATS.json", "instead of FILE.h5.statistics.json"),
    LT_OPTION_BOOL(split_cli, without_statistics, "without-statistics", "false", "do not compute the statistics of the training rows"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe split", .summary = "Choose rows for training, validation and test", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = groups, .n_groups = 2, .example = "lathe split small.h5 --train 0.8 --val 0.1 --test 0.1 --seed 1 --stratify",
};

static const char *const part_names[] = { "train", "val", "test" };

static lt_status read_status(const char *text, unsigned *out)
{
    static const char *const words[] = { "pending", "done", "non-finite", "failed", "lost" };
    *out = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        int k = 0;
        while (k < CLI_LEN(words) && (strlen(words[k]) != n || strncmp(words[k], at, n))) k++;
        if (k == CLI_LEN(words)) return cli_fail(LT_ERR_ARGUMENT, "--with-status '%.*s': expected some of done, non-finite, failed, lost, pending", (int)n, at);
        *out |= 1u << k;
        at += n + (at[n] == ',');
    }
    return *out ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "--with-status is empty");
}

/* Where the files go. */
typedef struct split_names { char split[4100], statistics[4100]; } split_names;

static split_names names_of(const cli_context *c, const split_cli *o)
{
    const char *path = dataset_path(c, o->dataset);
    split_names n;
    snprintf(n.split, sizeof n.split, "%s%s", o->output ? o->output : path, o->output ? "" : ".split.json");
    snprintf(n.statistics, sizeof n.statistics, "%s%s", o->statistics ? o->statistics : path, o->statistics ? "" : ".statistics.json");
    return n;
}

/* Names that were given are checked before anything begins. */
static lt_status check_names(const split_cli *o, const split_names *n)
{
    if (!o->output) CLI_TRY(cli_check_output(n->split));
    return o->statistics || o->without_statistics ? LT_OK : cli_check_output(n->statistics);
}

static lt_status save(lt_dataset *d, const split_cli *o, const lt_row_split *s)
{
    const int64_t *train;
    int64_t n = lt_row_split_rows(s, LT_SPLIT_TRAIN, &train);
    CLI_TRY(lt_row_split_save(s, d, o->output));
    return o->without_statistics ? LT_OK : lt_dataset_save_statistics(d, n, train, o->statistics);
}

static void show(cli_context *c, const split_cli *o, const lt_row_split *s)
{
    const split_names n = names_of(c, o);
    if (c->json) {
        for (int p = 0; p < CLI_LEN(part_names); p++) lt_json_field_int(c->json, part_names[p], lt_row_split_rows(s, p, NULL));
        lt_json_field_int(c->json, "seed", c->common.seed);
        lt_json_field_string(c->json, "rule", lt_row_split_rule(s));
        lt_json_field_string(c->json, "output", n.split);
        lt_json_field_string(c->json, "statistics", o->without_statistics ? NULL : n.statistics);
        return;
    }
    printf("train %lld, val %lld, test %lld rows, seed %lld\n%s\n", (long long)lt_row_split_rows(s, 0, NULL), (long long)lt_row_split_rows(s, 1, NULL),
           (long long)lt_row_split_rows(s, 2, NULL), (long long)c->common.seed, cli_shown(n.split).s);
    if (!o->without_statistics) printf("%s: of the training rows\n", cli_shown(n.statistics).s);
}

static lt_status run(cli_context *c)
{
    const split_cli *o = c->options;
    lt_dataset *d;
    lt_row_split *made = NULL;
    lt_row_split_options opt = lt_row_split_defaults();
    CLI_TRY(read_status(o->status, &opt.status));
    if (o->without_statistics && o->statistics) return cli_fail(LT_ERR_ARGUMENT, "--statistics and --without-statistics exclude each other");
    opt.train = o->train, opt.val = o->val, opt.test = o->test;
    opt.counts = o->train + o->val + o->test > 1 + 1e-9 && o->train == floor(o->train) && o->val == floor(o->val) && o->test == floor(o->test);
    opt.stratify = o->stratify;
    opt.seed = c->common.seed;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    const split_names names = names_of(c, o);
    lt_status s = check_names(o, &names);
    if (!s) s = lt_dataset_split(d, &opt, &made);
    if (!s) s = save(d, o, made);
    lt_dataset_close(d);
    if (!s) show(c, o, made);
    lt_row_split_destroy(made);
    return s;
}

const cli_command cli_split = {
    .name = "split", .options = &table, .options_bytes = sizeof(split_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "Rows are operators with all their realizations, so none leaks from one part into another. Those that are done are put in the order of SHA-256(\"lathe split SEED ROW\") and "
                   "cut, the same on every machine; with --stratify each part gets its share of every architecture (discrete parameters; integers with many "
                   "values in four ranges) and initial field.\n"
                   "FILE.h5.split.json holds the rows, FILE.h5.statistics.json mean, deviation, quartiles and robust deviation of each column over the "
                   "training rows: the files that "
                   "lathe.Dataset(FILE).split and statistics write and read.",
};
