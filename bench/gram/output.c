/* What `lathe-bench gram` prints and writes. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/gram/gram.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void gram_number_cell(cli_table *t, int column, const char *format, double v)
{
    char text[32];
    if (isnan(v)) snprintf(text, sizeof text, "-");
    else snprintf(text, sizeof text, format, v);
    cli_table_cell(t, column, "%s", text);
}

static lt_status fill_table(const gram_bench *b, cli_table **t)
{
    const char *columns[] = { "row", "N", "q", "kernel", "time", "spread", "Mpairs/s", "GFLOP/s", "of zgemm", "vs first", "max diff" };
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, t));
    for (int i = 0; i < b->n_rows; i++) {
        const gram_row *r = &b->row[i];
        bool states = r->info.method == LT_GRAM_STATES;
        cli_table_row(*t);
        cli_table_cell(*t, 0, "%s", r->label);
        cli_table_cell(*t, 1, "%lld", (long long)r->n);
        cli_table_cell(*t, 2, "%lld", (long long)r->q);
        cli_table_cell(*t, 3, "%s", r->info.kernel);
        cli_table_cell(*t, 4, "%s", cli_seconds(r->median).s);
        cli_table_cell(*t, 5, "%.0f %%", 100 * r->spread / r->median);
        gram_number_cell(*t, 6, "%.4g", 1e-6 * (double)r->info.pairs / r->median);
        gram_number_cell(*t, 7, "%.4g", 1e-9 * gram_row_flops(r));
        gram_number_cell(*t, 8, "%.2f", states ? gram_row_flops(r) / r->blas_flops : NAN);
        gram_number_cell(*t, 9, "%.2fx", b->row[0].median / r->median);
        gram_number_cell(*t, 10, "%.2g", r->error);
    }
    return LT_OK;
}

static void put_row(lt_json *j, const gram_bench *b, const gram_row *r)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "label", r->label);
    lt_json_field_int(j, "n_samples", r->n);
    lt_json_field_int(j, "n_qubits", r->q);
    lt_json_field_int(j, "layers", r->layers);
    lt_json_field_string(j, "method", lt_gram_method_name(r->info.method));
    lt_json_field_string(j, "kernel", r->info.kernel);
    lt_json_field_string(j, "dtype", lt_gram_float_name(r->info.precision));
    lt_json_field_int(j, "workers", r->info.threads);
    lt_json_field_double(j, "time_s", r->median);
    lt_json_field_double(j, "spread_s", r->spread);
    lt_json_field_double(j, "std_s", r->deviation);
    lt_json_field_double(j, "mean_s", r->average);
    lt_json_field_double(j, "p95_s", r->p95);
    lt_json_field_double(j, "cv", r->deviation / r->average);
    lt_json_field_bool(j, "unstable", r->deviation > 0.1 * r->average);
    lt_json_field_double(j, "states_s", r->info.states_seconds);
    lt_json_field_double(j, "product_s", r->info.product_seconds);
    lt_json_field_double(j, "device_s", r->info.device_seconds);
    lt_json_field_int(j, "graph_replays", r->info.graph_replays);
    lt_json_field_double(j, "mpairs_per_s", 1e-6 * (double)r->info.pairs / r->median);
    lt_json_field_double(j, "flops_per_second", gram_row_flops(r));
    lt_json_field_double(j, "zgemm_flops_per_second", r->blas_flops);
    lt_json_field_double(j, "speedup", b->row[0].median / r->median);
    lt_json_field_double(j, "max_difference", r->error);
    lt_json_field_double(j, "mean_difference", r->mean_error);
    lt_json_field_double(j, "relative_frobenius", r->frobenius);
    lt_json_field_double(j, "diagonal_mean_difference", r->diagonal_error);
    lt_json_field_double(j, "min", r->low);
    lt_json_field_double(j, "max", r->high);
    lt_json_field_double(j, "mean", r->mean);
    lt_json_field_double(j, "std", r->std);
    lt_json_field_double(j, "median", r->middle);
    lt_json_field_int(j, "nan", r->n_nan);
    lt_json_field_int(j, "infinite", r->n_infinite);
    lt_json_field_int(j, "peak_bytes", r->info.peak_bytes);
    lt_json_object_end(j);
}

static lt_status put_json(const gram_bench *b)
{
    lt_json *j = b->c->json;
    CLI_TRY(cli_json_machine(b->c));
    lt_json_field_string(j, "sweep", b->sweep);
    lt_json_field_int(j, "repeats", b->repeats);
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < b->n_rows; i++) put_row(j, b, &b->row[i]);
    lt_json_array_end(j);
    if (b->fitted) {
        lt_json_field_double(j, "seconds_per_row", b->fit_a);
        lt_json_field_double(j, "seconds_per_row_squared", b->fit_b);
        lt_json_field_double(j, "log_slope", b->slope);
    }
    return LT_OK;
}

/* The columns of the pipeline's throughput tool. */
static lt_status write_csv(const gram_bench *b, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return cli_fail(LT_ERR_ARGUMENT, "%s: cannot write: %s", path, strerror(errno));
    fprintf(f, "device,n_samples,n_qubits,tile_size,state_tile,workers,symmetric,layers,dtype,gram_backend,time_s,std_s,Mpairs_per_s,max_vram_gb\n");
    for (int i = 0; i < b->n_rows; i++) {
        const gram_row *r = &b->row[i];
        fprintf(f, "%s,%lld,%lld,%lld,%lld,%d,%d,%lld,%s,%s,%.9g,%.9g,%.9g,%.9g\n", lt_device_id(b->c->device), (long long)r->n,
                (long long)r->q, (long long)r->opt.tile_size, (long long)r->opt.state_tile, r->info.threads, r->opt.symmetric,
                (long long)r->layers, lt_gram_float_name(r->info.precision), lt_gram_method_name(r->info.method), r->median,
                r->deviation, 1e-6 * (double)r->info.pairs / r->median, 1e-9 * (double)r->info.peak_bytes);
    }
    bool bad = ferror(f);
    if (fclose(f) || bad) return cli_fail(LT_ERR_IO, "%s: could not be written", path);
    return LT_OK;
}

static lt_status write_report(const gram_bench *b, const cli_table *t, const char *path)
{
    lt_report *page;
    const char *labels[GRAM_MAX_ROWS];
    double rate[GRAM_MAX_ROWS];
    CLI_TRY(lt_report_create("Gram matrices", &page));
    cli_report_machine(b->c, page);
    cli_table_report(t, page);
    for (int i = 0; i < b->n_rows; i++) {
        labels[i] = b->row[i].label;
        rate[i] = 1e-6 * (double)b->row[i].info.pairs / b->row[i].median;
    }
    lt_report_bars(page, "Rate", "million pairs per second", b->n_rows, labels, rate);
    if (b->fitted) lt_report_paragraph(page, "Fitted: T(N) = %.4g us N + %.4g ns N^2.", 1e6 * b->fit_a, 1e9 * b->fit_b);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}

lt_status gram_bench_present(gram_bench *b)
{
    cli_table *t;
    CLI_TRY(fill_table(b, &t));
    lt_status s = LT_OK;
    if (b->c->json) s = put_json(b);
    else {
        cli_table_print(t, stdout);
        if (b->fitted) printf("T(N) = %.4g us N + %.4g ns N^2; slope of log T over log N %.2f\n", 1e6 * b->fit_a, 1e9 * b->fit_b, b->slope);
    }
    if (!s && b->o->csv) s = write_csv(b, b->o->csv);
    if (!s && b->o->report) s = write_report(b, t, b->o->report);
    cli_table_destroy(t);
    return s;
}
