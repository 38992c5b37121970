/* The page `lathe gram --report` writes. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_HEAT = 400, MAX_SAMPLES = 200000, MAX_EIGEN = 1000 };

/* K as the user sees it, whatever its layout and type. */
static double entry(const gram_job *j, int64_t r, int64_t c)
{
    int64_t at = r * j->m + c;
    if (j->o->gram.packed) {
        int64_t i = r < c ? r : c, k = r < c ? c : r;
        at = i * j->n - i * (i - 1) / 2 + (k - i);
    }
    return j->o->gram.return_dtype == LT_GRAM_FLOAT32 ? (double)((const float *)j->K)[at] : ((const double *)j->K)[at];
}

static void put_facts(lt_report *r, const gram_job *j)
{
    const lt_gram_info *i = &j->info;
    char text[8][96];
    const char *names[8] = { "K", "circuit", "embedding", "method", "kernel", "rate", "memory held, without K", "states built" }, *values[8];
    snprintf(text[0], sizeof text[0], "%lld x %lld, %s", (long long)i->n, (long long)i->m, lt_gram_float_name(j->o->gram.return_dtype));
    snprintf(text[1], sizeof text[1], "%lld qubit%s, %lld layer%s, %s entangler", (long long)i->n_qubits, i->n_qubits == 1 ? "" : "s",
             (long long)i->n_layers, i->n_layers == 1 ? "" : "s", lt_entangler_name(j->o->gram.entangler));
    snprintf(text[2], sizeof text[2], "%s, angles are features times %g, re-embedding %s", lt_embed_name(j->o->gram.embed_mode),
             j->o->gram.angle_scale, j->o->gram.re_embed_between_layers ? "on" : "off");
    if (j->circuit) {
        snprintf(text[1], sizeof text[1], "%lld qubit%s, %lld gates", (long long)i->n_qubits, i->n_qubits == 1 ? "" : "s", (long long)lt_circuit_describe(j->circuit).n_gates);
        snprintf(text[2], sizeof text[2], "%.60s; kernel: %s", j->o->map ? j->o->map : j->o->circuit, lt_similarity_name(j->o->similarity.kind));
    }
    snprintf(text[3], sizeof text[3], "%s, in %s: errors below %g", lt_gram_method_name(i->method), lt_gram_float_name(i->precision), i->error_bound);
    snprintf(text[4], sizeof text[4], "%s on %d threads", i->kernel, i->threads);
    snprintf(text[5], sizeof text[5], "%.4g million pairs per second, %.4g TFLOP/s in the product", i->mpairs_per_s, i->tflops);
    snprintf(text[6], sizeof text[6], "%s", cli_bytes((double)i->peak_bytes).s);
    snprintf(text[7], sizeof text[7], "%lld", (long long)i->states_built);
    for (int k = 0; k < 8; k++) values[k] = text[k];
    lt_report_facts(r, 8, names, values);
    if (i->note[0]) lt_report_paragraph(r, "Note: %s.", i->note);
}

/* Ticks count what is shown. */
static void name_axis(const char *what, int64_t step, char *text, size_t bytes)
{
    if (step > 1) snprintf(text, bytes, "%s, divided by %lld", what, (long long)step);
    else snprintf(text, bytes, "%s", what);
}

/* Every k-th row and column, so that at most MAX_HEAT of each remain. */
static lt_status put_heat(lt_report *r, const gram_job *j)
{
    int64_t step_r = (j->n - 1) / MAX_HEAT + 1, step_c = (j->m - 1) / MAX_HEAT + 1;
    int64_t rows = (j->n - 1) / step_r + 1, columns = (j->m - 1) / step_c + 1;
    double *v = malloc((size_t)(rows * columns) * sizeof *v);
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for the heat map");
    for (int64_t a = 0; a < rows; a++)
        for (int64_t b = 0; b < columns; b++) v[a * columns + b] = entry(j, a * step_r, b * step_c);
    char title[96], along[48], down[48];
    snprintf(title, sizeof title, step_r * step_c > 1 ? "K, every %lld-th row and %lld-th column" : "K", (long long)step_r, (long long)step_c);
    name_axis(j->o->y ? "row of Y" : "row of X", step_c, along, sizeof along);
    name_axis("row of X", step_r, down, sizeof down);
    lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = title, .x_label = along, .y_label = down, .rows = rows, .columns = columns, .values = v });
    free(v);
    return LT_OK;
}

/* Off-diagonal entries, evenly spread over the matrix. */
static lt_status put_histogram(lt_report *r, const gram_job *j)
{
    int64_t total = j->n * j->m, step = (total - 1) / MAX_SAMPLES + 1, n = 0;
    double *v = malloc((size_t)(total / step + 1) * sizeof *v), sum = 0, square = 0;
    if (!v) return cli_fail(LT_ERR_MEMORY, "no memory for the histogram");
    /* A step that shares no factor with the width visits all columns. */
    for (; step > 1 && j->m % step == 0; step++) { }
    for (int64_t at = 0; at < total; at += step) {
        if (!j->o->y && at / j->m == at % j->m) continue;
        double k = entry(j, at / j->m, at % j->m);
        v[n++] = k;
        sum += k;
        square += k * k;
    }
    if (n > 0) {
        double mean = sum / (double)n, spread = sqrt(fmax(square / (double)n - mean * mean, 0));
        lt_report_histogram(r, j->o->y ? "Entries of K" : "Off-diagonal entries of K", "K", n, v, 0);
        lt_report_paragraph(r, "Mean %.6g, standard deviation %.3g over %lld entries.", mean, spread, (long long)n);
        if (!j->o->y && spread < 0.01 && mean > 0.9)
            lt_report_paragraph(r, "All rows look alike to this kernel: angles are small. A larger --angle-scale spreads them.");
    }
    free(v);
    return LT_OK;
}

static lt_status eigenvalues(const gram_job *j, int64_t n, double *K, double *values)
{
    lt_graph *g;
    lt_program *p = NULL;
    int64_t step = (j->n - 1) / n + 1;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++) K[a * n + b] = entry(j, a * step, b * step);
    CLI_TRY(lt_graph_create(&g));
    lt_node e = lt_eigvalsh(g, lt_input(g, "K", LT_F64, lt_shape2(n, n)));
    lt_status s = lt_program_create(g, &e, 1, NULL, &p);
    if (!s) s = lt_program_run(p, (const void *[]){ K }, (void *[]){ values });
    lt_program_destroy(p);
    lt_graph_destroy(g);
    return s;
}

/* The spectrum of K, or of every k-th row and column of a large one. */
static lt_status put_spectrum(lt_report *r, const gram_job *j)
{
    int64_t step = (j->n - 1) / MAX_EIGEN + 1, n = (j->n - 1) / step + 1;
    double *K = malloc((size_t)(n * n + 2 * n) * sizeof *K);
    if (!K) return cli_fail(LT_ERR_MEMORY, "no memory for the eigenvalues");
    double *up = K + n * n, *down = up + n, sum = 0, square = 0;
    lt_status s = eigenvalues(j, n, K, up);
    for (int64_t i = 0; !s && i < n; i++) {
        down[i] = up[n - 1 - i];
        sum += down[i];
        square += down[i] * down[i];
    }
    if (!s) {
        lt_series line = { NULL, NULL, down, n };
        lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = step > 1 ? "Eigenvalues of a part of K" : "Eigenvalues of K", .x_label = "number, largest first",
                                      .y_log = true, .n_series = 1, .series = &line });
        lt_report_paragraph(r, "Largest %.6g, smallest %.3g; effective rank (sum squared over sum of squares) %.4g of %lld%s.", down[0],
                            down[n - 1], sum * sum / square, (long long)n, step > 1 ? ", over evenly spaced rows" : "");
    }
    free(K);
    return s;
}

lt_status gram_report(gram_job *j)
{
    lt_report *r;
    CLI_TRY(lt_report_create("Gram matrix", &r));
    put_facts(r, j);
    lt_status s = put_heat(r, j);
    if (!s) s = put_histogram(r, j);
    if (!s && !j->o->y) s = put_spectrum(r, j);
    const lt_gram_info *i = &j->info;
    lt_report_heading(r, "Plan");
    lt_report_listing(r, i->plan);
    lt_report_bars(r, "Where the time went", "ms", 3, (const char *[]){ "states or per-row data", "product", "normalising" },
                   (double[]){ 1e3 * i->states_seconds, 1e3 * i->product_seconds, 1e3 * i->post_seconds });
    lt_report_heading(r, "Run");
    cli_report_machine(j->c, r);
    if (!s) s = lt_report_write(r, j->o->report);
    lt_report_destroy(r);
    return s;
}
