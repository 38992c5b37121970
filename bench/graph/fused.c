/* lathe-bench fused: what fusion and planning are worth, by switching them off.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "cli/system/cases.h"

#include <string.h>

typedef struct fused_options {
    cli_common  common;
    bool        quick;
    const char *report;
} fused_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(fused_options, quick, "quick", "false", "small sizes and short measurements: a look, not a figure to keep"),
    LT_OPTION_PATH(fused_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench fused", .summary = "Time graphs with and without fusion: the ablation",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench fused --quick --json",
};

/* The same graph four ways. */
static const struct variant { const char *name; lt_compile_options opt; } variant[] = {
    { "fused", { .size = sizeof(lt_compile_options), .mode = LT_MODE_REDUCE_OVERHEAD } },
    { "no fusion", { .size = sizeof(lt_compile_options), .mode = LT_MODE_REDUCE_OVERHEAD, .skip_passes = 1u << LT_PASS_FUSE } },
    { "no memory reuse", { .size = sizeof(lt_compile_options), .mode = LT_MODE_REDUCE_OVERHEAD, .skip_passes = 1u << LT_PASS_REUSE } },
    { "eager", { .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER } },
};
enum { N_VARIANTS = sizeof variant / sizeof variant[0] };

static const case_row *const graph[] = { &case_rosenbrock, &case_chain, &case_sum_exp, &case_softmax, &case_group_norm, &case_conv_gelu, &case_lenet_f32 };
enum { N_GRAPHS = sizeof graph / sizeof graph[0] };

typedef struct cell { double seconds; lt_program_info info; } cell;

static lt_status measure(cli_context *c, cell out[N_GRAPHS][N_VARIANTS])
{
    const fused_options *o = c->options;
    lt_progress *bar;
    CLI_TRY(lt_progress_create("fused", "run", (int64_t)N_GRAPHS * N_VARIANTS, c->common.quiet || c->json, &bar));
    lt_status s = LT_OK;
    for (int i = 0; i < N_GRAPHS * N_VARIANTS && !s; i++) {
        cell *at = &out[i / N_VARIANTS][i % N_VARIANTS];
        lt_compile_options opt = variant[i % N_VARIANTS].opt;
        opt.device = c->device;
        case_run run;
        cli_timing t = { 0 };
        s = case_open(graph[i / N_VARIANTS], o->quick, &opt, (uint64_t)c->common.seed, &run);
        if (s) break;
        s = case_measure(&run, c->device, o->quick ? 0.05 : 0.5, &t);
        *at = (cell){ .seconds = t.median, .info = run.info };
        case_close(&run);
        lt_progress_set(bar, i + 1);
    }
    lt_progress_destroy(bar);
    return s;
}

static void put_json(lt_json *j, cell m[N_GRAPHS][N_VARIANTS])
{
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < N_GRAPHS; i++)
        for (int k = 0; k < N_VARIANTS; k++) {
            lt_json_object_begin(j);
            lt_json_field_string(j, "name", graph[i]->name);
            lt_json_field_string(j, "variant", variant[k].name);
            lt_json_field_double(j, "seconds", m[i][k].seconds);
            lt_json_field_double(j, "slowdown", m[i][k].seconds / m[i][0].seconds);
            lt_json_field_int(j, "kernels", m[i][k].info.n_kernels);
            lt_json_field_double(j, "bytes", m[i][k].info.bytes);
            lt_json_field_int(j, "arena_bytes", (int64_t)m[i][k].info.arena_bytes);
            lt_json_object_end(j);
        }
    lt_json_array_end(j);
}

static lt_status fill_table(cell m[N_GRAPHS][N_VARIANTS], cli_table **out)
{
    const char *columns[] = { "graph", "fused", "kernels", "arena", "no fusion", "no memory reuse", "eager" };
    CLI_TRY(cli_table_create(NULL, 7, columns, out));
    for (int i = 0; i < N_GRAPHS; i++) {
        cli_table_row(*out);
        cli_table_cell(*out, 0, "%s", graph[i]->what);
        cli_table_cell(*out, 1, "%s", cli_seconds(m[i][0].seconds).s);
        cli_table_cell(*out, 2, "%d", m[i][0].info.n_kernels);
        cli_table_cell(*out, 3, "%s", cli_bytes((double)m[i][0].info.arena_bytes).s);
        for (int k = 1; k < N_VARIANTS; k++) cli_table_cell(*out, 3 + k, "%.2fx", m[i][k].seconds / m[i][0].seconds);
    }
    return LT_OK;
}

static lt_status write_report(cli_context *c, const cli_table *t, const char *path)
{
    lt_report *page;
    CLI_TRY(lt_report_create("What fusion is worth", &page));
    cli_report_machine(c, page);
    lt_report_paragraph(page, "Each graph is compiled as usual, then with one pass switched off, then run op by op. "
                              "A figure of 3x means: three times as slow without it.");
    cli_table_report(t, page);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}

static lt_status run(cli_context *c)
{
    const fused_options *o = c->options;
    cell m[N_GRAPHS][N_VARIANTS];
    memset(m, 0, sizeof m);
    CLI_TRY(measure(c, m));
    cli_table *t;
    CLI_TRY(fill_table(m, &t));
    lt_status s = LT_OK;
    if (c->json) {
        cli_json_machine(c);
        put_json(c->json, m);
    } else {
        cli_table_print(t, stdout);
    }
    if (o->report) s = write_report(c, t, o->report);
    cli_table_destroy(t);
    return s;
}

const cli_command bench_fused = {
    .name = "fused", .options = &table, .options_bytes = sizeof(fused_options), .need = CLI_NEED_DEVICE, .stops = true, .run = run,
    .description = "Runs the same graphs with every pass, without fusion, without memory reuse, and op by op, and prints how many times "
                   "slower each is than the full compiler.",
};
