/* lathe-bench gram --sweep auto: what `auto` takes against the best exact method, over qubits, rows and precisions; calls of both in turns.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/gram/gram.h"

#include <math.h>
#include <stdlib.h>

enum { STATES, TRANSFER, N_METHODS };
static const lt_gram_method methods[N_METHODS] = { LT_GRAM_STATES, LT_GRAM_TRANSFER };
static const int64_t row_counts[] = { 20, 50, 200, 1000, 4000 };
enum { FIRST_QUBITS = 7, LAST_QUBITS = 13, SIZES = CLI_LEN(row_counts), POINTS = 2 * SIZES * (LAST_QUBITS - FIRST_QUBITS + 1) };
static const double most_seconds = 20; /* of one method at one point: what a call costs in states of 13 qubits */

typedef struct point { lt_gram_float dtype; int64_t n, q; double seconds[N_METHODS]; int best, chosen; } point;
typedef struct grid { gram_bench *b; point p[POINTS]; int n_points; double *x, *w, *K; } grid;

static lt_status open_gram(const grid *g, const point *p, lt_gram_method method, lt_gram **out)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.method = method;
    opt.dtype = p->dtype;
    return lt_gram_create(g->b->c->device, &opt, &(lt_weights){ g->w, 2, p->q }, out);
}

static lt_status fill(const grid *g, const point *p, lt_gram *gram, double *seconds)
{
    lt_rows x = { g->x, LT_F64, p->n, p->q, 0 };
    double start = cli_now();
    CLI_TRY(lt_gram_fill(gram, &x, NULL, g->K));
    *seconds = cli_now() - start;
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

/* Short calls are repeated more often, since one of them may wait for a core for longer than it takes. */
static lt_status time_both(const grid *g, point *p, lt_gram *gram[N_METHODS])
{
    double seconds[N_METHODS][GRAM_MAX_REPEATS], first;
    const int repeats = p->n <= 200 ? GRAM_MAX_REPEATS : g->b->repeats;
    int n = 0;
    for (int m = 0; m < N_METHODS; m++) CLI_TRY(fill(g, p, gram[m], &first));
    for (double sum = 0; n < repeats && sum < most_seconds; n++)
        for (int m = 0; m < N_METHODS; m++) {
            CLI_TRY(fill(g, p, gram[m], &seconds[m][n]));
            sum += seconds[m][n];
        }
    for (int m = 0; m < N_METHODS; m++) p->seconds[m] = gram_median(seconds[m], n);
    p->best = p->seconds[TRANSFER] < p->seconds[STATES] ? TRANSFER : STATES;
    return LT_OK;
}

static lt_status measure(const grid *g, point *p)
{
    lt_gram *gram[N_METHODS] = { NULL }, *chosen = NULL;
    double seconds;
    lt_status s = LT_OK;
    for (int m = 0; !s && m < N_METHODS; m++) s = open_gram(g, p, methods[m], &gram[m]);
    if (!s) s = time_both(g, p, gram);
    if (!s) s = open_gram(g, p, LT_GRAM_AUTO, &chosen);
    if (!s) s = fill(g, p, chosen, &seconds);
    if (!s) p->chosen = lt_gram_get_info(chosen).method == LT_GRAM_TRANSFER ? TRANSFER : STATES;
    for (int m = 0; m < N_METHODS; m++) lt_gram_destroy(gram[m]);
    lt_gram_destroy(chosen);
    return s;
}

static void list_points(grid *g)
{
    for (int type = 0; type < 2; type++)
        for (int64_t q = FIRST_QUBITS; q <= LAST_QUBITS; q++)
            for (int k = 0; k < SIZES; k++) {
                if (g->b->o->quick && (row_counts[k] > 200 || q > 10)) continue;
                g->p[g->n_points++] = (point){ .dtype = type ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64, .n = row_counts[k], .q = q };
            }
}

static lt_status allocate(grid *g)
{
    const int64_t n = row_counts[SIZES - 1];
    g->x = malloc((size_t)(n * LAST_QUBITS) * sizeof *g->x);
    g->w = malloc(2 * LAST_QUBITS * sizeof *g->w);
    g->K = malloc((size_t)(n * n) * sizeof *g->K);
    if (!g->x || !g->w || !g->K) return cli_fail(LT_ERR_MEMORY, "no memory for rows and K");
    gram_draw(1, g->x, n * LAST_QUBITS, 1.5);
    gram_draw(2, g->w, 2 * LAST_QUBITS, 0.5);
    return LT_OK;
}

static void put_point(lt_json *j, const point *p, double ratio)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "dtype", lt_gram_float_name(p->dtype));
    lt_json_field_int(j, "qubits", p->q);
    lt_json_field_int(j, "n", p->n);
    lt_json_field_double(j, "states_s", p->seconds[STATES]);
    lt_json_field_double(j, "transfer_s", p->seconds[TRANSFER]);
    lt_json_field_string(j, "best", lt_gram_method_name(methods[p->best]));
    lt_json_field_string(j, "chosen", lt_gram_method_name(methods[p->chosen]));
    lt_json_field_double(j, "ratio", ratio);
    lt_json_object_end(j);
}

static lt_status present(const grid *g)
{
    const char *columns[] = { "precision", "qubits", "N", "states", "transfer", "best", "auto", "auto / best" };
    lt_json *j = g->b->c->json;
    double worst = 1;
    int beyond = 0;
    cli_table *t;
    CLI_TRY(cli_table_create("What auto takes", CLI_LEN(columns), columns, &t));
    if (j) lt_json_key(j, "rows"), lt_json_array_begin(j);
    for (int i = 0; i < g->n_points; i++) {
        const point *p = &g->p[i];
        const double ratio = p->seconds[p->chosen] / p->seconds[p->best];
        worst = fmax(worst, ratio);
        beyond += ratio > 1.1;
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", lt_gram_float_name(p->dtype));
        cli_table_cell(t, 1, "%lld", (long long)p->q);
        cli_table_cell(t, 2, "%lld", (long long)p->n);
        for (int m = 0; m < N_METHODS; m++) cli_table_cell(t, 3 + m, "%s", cli_seconds(p->seconds[m]).s);
        cli_table_cell(t, 5, "%s", lt_gram_method_name(methods[p->best]));
        cli_table_cell(t, 6, "%s", lt_gram_method_name(methods[p->chosen]));
        cli_table_cell(t, 7, "%.3f", ratio);
        if (j) put_point(j, p, ratio);
    }
    if (j) {
        lt_json_array_end(j);
        lt_json_field_double(j, "worst", worst);
        lt_json_field_int(j, "beyond_a_tenth", beyond);
    } else {
        cli_table_print(t, stdout);
        printf("%d of %d points are more than a tenth above the best, the worst %.3f times it\n", beyond, g->n_points, worst);
    }
    cli_table_destroy(t);
    return LT_OK;
}

lt_status gram_auto(gram_bench *b)
{
    grid g = { .b = b };
    if (!gram_on_cpu(b)) return cli_fail(LT_ERR_ARGUMENT, "--sweep auto: costs are those of the CPU; give --device cpu");
    list_points(&g);
    lt_status s = allocate(&g);
    for (int i = 0; !s && i < g.n_points; i++) s = measure(&g, &g.p[i]);
    if (!s) s = present(&g);
    free(g.x);
    free(g.w);
    free(g.K);
    return s;
}
