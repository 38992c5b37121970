/* lathe-bench transfers: copies between host and device, pageable against a ring of page-locked memory.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"

#include <string.h>

typedef struct transfer_options {
    cli_common  common;
    bool        quick;
    int         order;
    const char *report;
} transfer_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(transfer_options, quick, "quick", "false", "short measurements: a look, not a figure to keep"),
    LT_OPTION_INT(transfer_options, order, "order", "1000", LT_RANGE_CLOSED(1, 20000), "N", "the matrix is N by N, in double precision"),
    LT_OPTION_PATH(transfer_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench transfers", .summary = "Time copies between host and device, pageable against staged",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench transfers --device cpu --order 2000",
};

typedef struct outcome { double to_device, to_host; bool pinned; } outcome; /* seconds */

static double round_seconds(const outcome *o) { return o->to_device + o->to_host; }
static size_t matrix_bytes(int order) { return (size_t)order * (size_t)order * sizeof(double); }

static const char *const way_name[] = { "pageable", "staged" };

static void put_json(lt_json *j, size_t bytes, const outcome *o)
{
    lt_json_field_int(j, "matrix_bytes", (int64_t)bytes);
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < 2; i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "way", way_name[i]);
        lt_json_field_bool(j, "pinned", o[i].pinned);
        lt_json_field_double(j, "to_device_seconds", o[i].to_device);
        lt_json_field_double(j, "to_host_seconds", o[i].to_host);
        lt_json_field_double(j, "round_seconds", round_seconds(&o[i]));
        lt_json_field_double(j, "speedup", round_seconds(&o[0]) / round_seconds(&o[i]));
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static lt_status fill_table(size_t bytes, const outcome *o, cli_table **t)
{
    const char *columns[] = { "way", "pinned", "to device", "to host", "round trip", "speedup" };
    CLI_TRY(cli_table_create(NULL, 6, columns, t));
    for (int i = 0; i < 2; i++) {
        cli_table_row(*t);
        cli_table_cell(*t, 0, "%s", way_name[i]);
        cli_table_cell(*t, 1, "%s", o[i].pinned ? "yes" : "no");
        cli_table_cell(*t, 2, "%.2f GB/s", (double)bytes / o[i].to_device / 1e9);
        cli_table_cell(*t, 3, "%.2f GB/s", (double)bytes / o[i].to_host / 1e9);
        cli_table_cell(*t, 4, "%s", cli_seconds(round_seconds(&o[i])).s);
        cli_table_cell(*t, 5, "%.2fx", round_seconds(&o[0]) / round_seconds(&o[i]));
    }
    return LT_OK;
}

static lt_status present(cli_context *c, const outcome *o)
{
    const transfer_options *opt = c->options;
    size_t bytes = matrix_bytes(opt->order);
    cli_table *t;
    CLI_TRY(fill_table(bytes, o, &t));
    lt_status s = LT_OK;
    if (c->json) {
        s = cli_json_machine(c);
        put_json(c->json, bytes, o);
    } else {
        printf("%s: a %d x %d matrix (%s)\n", lt_device_id(c->device), opt->order, opt->order, cli_bytes((double)bytes).s);
        cli_table_print(t, stdout);
        if (!c->common.quiet && cli_on_cpu(c->device))
            printf("On the CPU both ways copy within the same memory; the ring pays off with a GPU.\n");
    }
    if (!s && opt->report) s = cli_table_page(c, t, "Copies between host and device", opt->report);
    cli_table_destroy(t);
    return s;
}

static lt_status run(cli_context *c)
{
    enum { QUICK_ROUNDS = 3, ROUNDS = 31 };
    const transfer_options *o = c->options;
    outcome result[2];
    for (int i = 0; i < 2; i++)
        CLI_TRY(lt_device_transfer_seconds(c->device, (int64_t)matrix_bytes(o->order), i == 1, o->quick ? QUICK_ROUNDS : ROUNDS, &result[i].to_device,
                                           &result[i].to_host, &result[i].pinned));
    return present(c, result);
}

const cli_command bench_transfers = {
    .name = "transfers", .options = &table, .options_bytes = sizeof(transfer_options), .need = CLI_NEED_DEVICE, .reports_device = true, .stops = true, .run = run,
    .description = "Copies a matrix to the device and back, once with ordinary pageable memory and once through a ring of page-locked "
                   "memory, and prints both rates and the speedup.",
};
