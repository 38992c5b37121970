/* lathe info: what a dataset file holds. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <string.h>
#include <sys/stat.h>

typedef struct info_cli { cli_common common; const char *dataset, *report; bool verbose; } info_cli;

static const lt_option rows[] = {
    LT_OPTION_PATH(info_cli, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(info_cli, report, "report", NULL, "FILE.html", "also write a page: coverage, shares, the best, median and worst rows in motion, failures, features"),
    LT_OPTION_BOOL(info_cli, verbose, "verbose", "false", "also columns and the whole configuration"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe info", .summary = "Show what a dataset file holds", .operands = "[FILE.h5]", .max_operands = 1, .groups = groups, .n_groups = 2,
    .example = "lathe info small.h5 --verbose",
};

/* Rows that a run finished and has not made part of the file yet lie beside it. */
static bool has_journal(const char *path)
{
    char journal[4096];
    struct stat st;
    int n = snprintf(journal, sizeof journal, "%s.journal", path);
    return n < (int)sizeof journal && !stat(journal, &st) && st.st_size > 0; /* an empty one is a lock */
}

static lt_status print_item(void *ctx, const lt_dataset_item *i)
{
    (void)ctx;
    if (i->group) printf("%s\n", cli_shown(i->path).s);
    else {
        printf("  %-52s %-18s %-8s", cli_shown(i->path).s, lt_shape_str(&i->shape).s, i->dtype);
        if (i->chunk.rank) printf(" chunk %s", lt_shape_str(&i->chunk).s);
        if (i->compression[0]) printf(" %s", i->compression);
        printf(" %s\n", cli_bytes((double)i->stored_bytes).s);
    }
    return LT_OK;
}

static lt_status json_item(void *ctx, const lt_dataset_item *i)
{
    lt_json *j = ctx;
    lt_json_object_begin(j);
    lt_json_field_string(j, "path", i->path);
    lt_json_field_string(j, "kind", i->group ? "group" : "array");
    if (!i->group) {
        lt_json_field_string(j, "dtype", i->dtype);
        lt_json_key(j, "shape");
        lt_json_array_begin(j);
        for (int k = 0; k < i->shape.rank; k++) lt_json_int(j, i->shape.dim[k]);
        lt_json_array_end(j);
        lt_json_key(j, "chunk");
        lt_json_array_begin(j);
        for (int k = 0; k < i->chunk.rank; k++) lt_json_int(j, i->chunk.dim[k]);
        lt_json_array_end(j);
        lt_json_field_string(j, "compression", i->compression);
        lt_json_field_int(j, "stored_bytes", (int64_t)i->stored_bytes);
    }
    lt_json_object_end(j);
    return LT_OK;
}

static lt_status put_json(lt_dataset *d, const lt_dataset_info *i, const char *path, lt_json *j)
{
    lt_json_field_string(j, "dataset", path);
    lt_json_field_int(j, "rows", i->rows);
    lt_json_field_int(j, "parameters", i->parameters);
    lt_json_field_int(j, "realizations", i->realizations);
    lt_json_field_int(j, "steps", i->steps);
    lt_json_field_int(j, "grid", i->grid);
    lt_json_field_bool(j, "outputs", i->has_outputs);
    lt_json_field_string(j, "engine_version", i->engine_version);
    lt_json_field_int(j, "engine_age", i->engine_age);
    lt_json_field_string(j, "precision", i->precision);
    lt_json_field_string(j, "device", i->device);
    dataset_devices devices = { 0 };
    CLI_TRY(dataset_count_devices(d, &devices));
    dataset_json_devices(j, &devices);
    lt_json_field_string(j, "creation_date", i->creation_date);
    lt_json_field_int(j, "seed", (int64_t)i->seed);
    lt_json_field_int(j, "shard_index", i->shard_index);
    lt_json_field_int(j, "shard_count", i->shard_count);
    lt_json_field_int(j, "file_bytes", (int64_t)i->file_bytes);
    lt_json_key(j, "status");
    lt_json_object_begin(j);
    lt_json_field_int(j, "pending", i->status[LT_RUN_PENDING]);
    lt_json_field_int(j, "done", i->status[LT_RUN_DONE]);
    lt_json_field_int(j, "non_finite", i->status[LT_RUN_NON_FINITE]);
    lt_json_field_int(j, "failed", i->status[LT_RUN_FAILED]);
    lt_json_field_int(j, "lost", i->status[LT_RUN_LOST]);
    lt_json_object_end(j);
    lt_json_field_bool(j, "journal", has_journal(path));
    lt_json_field_string(j, "config", i->config);
    lt_json_field_string(j, "sampling_metrics", i->sampling_metrics);
    lt_json_key(j, "contents");
    lt_json_array_begin(j);
    lt_status s = lt_dataset_walk(d, json_item, j);
    lt_json_array_end(j);
    return s;
}

static lt_status print_columns(lt_dataset *d)
{
    static const char *const arrays[] = { "/parameters@dimension_names", "/features/temporal/features@column_names",
                                          "/features/summary/per_trajectory/features@column_names", "/features/initial/aggregated/features@column_names",
                                          "/features/architecture/aggregated/features@column_names" };
    for (int i = 0; i < CLI_LEN(arrays); i++) {
        const char *const *names;
        int64_t n;
        CLI_TRY(lt_dataset_texts(d, arrays[i], &n, &names));
        if (n == 0) continue;
        printf("\n%.*s: %lld columns\n", (int)strcspn(arrays[i], "@"), arrays[i], (long long)n);
        for (int64_t k = 0; k < n; k++) printf("%s%s", k % 6 ? "  " : k ? "\n  " : "  ", names[k]);
        putchar('\n');
    }
    return LT_OK;
}

static lt_status print_all(lt_dataset *d, const lt_dataset_info *i, const char *path, bool verbose)
{
    printf("%s: %s, %lld operators x %lld realizations x %lld steps, grid %lld\n", cli_shown(path).s, cli_bytes((double)i->file_bytes).s, (long long)i->rows,
           (long long)i->realizations, (long long)i->steps, (long long)i->grid);
    bool dated = i->creation_date[0] && strcmp(i->creation_date, LT_DATE_NOT_RECORDED);
    if (i->engine_version[0]) printf("written by lathe (engine %s)", i->engine_version);
    else printf("written by another program");
    printf("%s%s, %s, seed %llu\n", dated ? " on " : "", dated ? i->creation_date : "", i->precision[0] ? i->precision : "precision not recorded", (unsigned long long)i->seed);
    if (i->engine_age)
        printf("of %s engine than this one, %s%s\n", i->engine_age < 0 ? "an older" : "a newer", lt_dataset_engine(),
               i->engine_age < 0 ? ": 'lathe upgrade' rewrites it" : "");
    dataset_devices devices = { 0 };
    char text[256];
    CLI_TRY(dataset_count_devices(d, &devices));
    printf("rows were made: %s\n", dataset_list_devices(&devices, text));
    if (i->shard_count > 1) printf("shard %lld of %lld\n", (long long)i->shard_index, (long long)i->shard_count);
    printf("rows: %lld done, %lld not finite, %lld failed, %lld pending", (long long)i->status[LT_RUN_DONE], (long long)i->status[LT_RUN_NON_FINITE],
           (long long)i->status[LT_RUN_FAILED], (long long)i->status[LT_RUN_PENDING]);
    if (i->status[LT_RUN_LOST]) printf(", %lld lost to faults of the device", (long long)i->status[LT_RUN_LOST]);
    putchar('\n');
    if (has_journal(path)) printf("%s.journal: finished rows that are not in the file yet; 'lathe generate --resume' takes them up\n", cli_shown(path).s);
    putchar('\n');
    CLI_TRY(lt_dataset_walk(d, print_item, NULL));
    if (i->sampling_metrics[0]) printf("\nsampling metrics: %s\n", i->sampling_metrics);
    if (!verbose) return LT_OK;
    CLI_TRY(print_columns(d));
    printf("\nconfiguration: %s\n", i->config);
    return LT_OK;
}

static lt_status write_report(cli_context *c, lt_dataset *d, const char *path)
{
    lt_report *r = NULL;
    lt_status s = lt_report_create("Operator dataset", &r);
    if (!s) s = lt_dataset_report(d, NULL, r);
    if (!s) {
        lt_report_heading(r, "Run");
        cli_report_machine(c, r);
        s = lt_report_write(r, path);
    }
    lt_report_destroy(r);
    return s;
}

static lt_status run(cli_context *c)
{
    const info_cli *o = c->options;
    lt_dataset *d;
    CLI_TRY(dataset_open(c, o->dataset, &d));
    lt_dataset_info i = lt_dataset_get_info(d);
    const char *path = dataset_path(c, o->dataset);
    if (o->report) {
        lt_status s = lt_dataset_is_at(d, o->report) ? cli_fail(LT_ERR_ARGUMENT, "--report %s: is the dataset itself", o->report) : write_report(c, d, o->report);
        if (s) {
            lt_dataset_close(d);
            return s;
        }
    }
    lt_status s = c->json ? put_json(d, &i, path, c->json) : print_all(d, &i, path, o->verbose);
    lt_dataset_close(d);
    return s;
}

const cli_command cli_info = {
    .name = "info", .options = &table, .options_bytes = sizeof(info_cli), .need = CLI_NEED_NOTHING, .run = run,
    .description = "Lists every group and array of a dataset file with shape, type and stored size, the state of its rows and its metadata.",
};
