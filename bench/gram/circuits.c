/* lathe-bench gram --sweep circuits: states, kernels and gradients of circuits; what a row is held against is measured in the same run.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/gram/gram.h"

#include <stdlib.h>
#include <string.h>

typedef enum what { STATES, KERNEL, LAYERS, GRADIENT } what;

typedef struct circuit_row {
    const char *label, *map;
    what        what;
    int64_t     n, q, quick_n;
    int         against;       /* another row: seconds over its seconds; -1 = none */
    double      seconds;
} circuit_row;

/* LAYERS: states of today's ryrz embedding in two re-embedded layers. */
static const circuit_row all_rows[] = {
    { "states, zz", "zz", STATES, 4000, 8, 100, -1, 0 },
    { "states, zz", "zz", STATES, 200, 16, 8, -1, 0 },
    { "states, strong, 3 layers", "strong(layers=3, reupload=true)", STATES, 4000, 8, 100, -1, 0 },
    { "kernel, layers, ryrz", NULL, LAYERS, 4000, 10, 100, -1, 0 },
    { "kernel, zz", "zz", KERNEL, 4000, 10, 100, 3, 0 },
    { "kernel, strong, 3 layers", "strong(layers=3, reupload=true)", KERNEL, 500, 8, 50, -1, 0 },
    { "its gradient", "strong(layers=3, reupload=true)", GRADIENT, 500, 8, 50, 5, 0 },
};
enum { N_ROWS = CLI_LEN(all_rows) };

typedef struct circuits { gram_bench *b; circuit_row row[N_ROWS]; double *x, *w, *K, *dw; void *states; } circuits;

static lt_status make(const circuits *k, const circuit_row *r, lt_circuit **c, lt_gram **g)
{
    lt_map_options map = lt_map_defaults();
    lt_gram_options opt = lt_gram_defaults();
    opt.method = LT_GRAM_STATES;
    if (r->what == LAYERS) {
        opt.re_embed_between_layers = true;
        return lt_gram_create(k->b->c->device, &opt, &(lt_weights){ k->w, 2, r->q }, g);
    }
    map.n_features = r->q;
    CLI_TRY(lt_circuit_from_map(r->map, &map, c));
    return lt_gram_create_circuit(k->b->c->device, &opt, NULL, *c, k->w, lt_circuit_describe(*c).n_weights, g);
}

static lt_status call(const circuits *k, const circuit_row *r, lt_gram *g)
{
    lt_rows x = { k->x, LT_F64, r->n, r->q, 0 };
    if (r->what == STATES) return lt_gram_states(g, &x, k->states);
    if (r->what == GRADIENT) return lt_gram_gradient(g, &x, k->K, k->dw, NULL); /* any matrix serves as the loss */
    return lt_gram_fill(g, &x, NULL, k->K);
}

static lt_status measure(circuits *k, circuit_row *r)
{
    lt_circuit *c = NULL;
    lt_gram *g = NULL;
    double seconds[GRAM_MAX_REPEATS];
    lt_status s = make(k, r, &c, &g);
    for (int i = -1; !s && i < k->b->repeats; i++) {
        double start = cli_now();
        s = call(k, r, g);
        if (i >= 0) seconds[i] = cli_now() - start;
        if (!s && cli_interrupted()) s = cli_stopped();
    }
    if (!s) r->seconds = gram_median(seconds, k->b->repeats);
    lt_gram_destroy(g);
    lt_circuit_destroy(c);
    return s;
}

static lt_status allocate(circuits *k)
{
    int64_t x = 0, K = 0, states = 0;
    for (int i = 0; i < N_ROWS; i++) {
        circuit_row *r = &k->row[i];
        *r = all_rows[i];
        if (k->b->o->quick) r->n = r->quick_n;
        x = r->n * r->q > x ? r->n * r->q : x;
        K = r->n * r->n > K ? r->n * r->n : K;
        if (r->what == STATES && r->n << r->q > states) states = r->n << r->q;
    }
    k->x = malloc((size_t)x * sizeof *k->x);
    k->w = malloc(1024 * sizeof *k->w);
    k->dw = malloc(1024 * sizeof *k->dw);
    k->K = calloc((size_t)K, sizeof *k->K);
    k->states = malloc((size_t)states * 16);
    if (!k->x || !k->w || !k->dw || !k->K || !k->states) return cli_fail(LT_ERR_MEMORY, "no memory for rows, states and K");
    gram_draw(1, k->x, x, 1.5);
    gram_draw(2, k->w, 1024, 3);
    return LT_OK;
}

static lt_status present(const circuits *k)
{
    const char *columns[] = { "row", "N", "qubits", "time", "rows/s", "against", "ratio" };
    cli_table *t;
    lt_json *j = k->b->c->json;
    CLI_TRY(cli_table_create("Circuits", CLI_LEN(columns), columns, &t));
    if (j) lt_json_key(j, "rows"), lt_json_array_begin(j);
    for (int i = 0; i < N_ROWS; i++) {
        const circuit_row *r = &k->row[i], *of = r->against < 0 ? NULL : &k->row[r->against];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", r->label);
        cli_table_cell(t, 1, "%lld", (long long)r->n);
        cli_table_cell(t, 2, "%lld", (long long)r->q);
        cli_table_cell(t, 3, "%s", cli_seconds(r->seconds).s);
        cli_table_cell(t, 4, "%.4g", (double)r->n / r->seconds);
        cli_table_cell(t, 5, "%s", of ? of->label : "-");
        if (of) cli_table_cell(t, 6, "%.3f", r->seconds / of->seconds);
        else cli_table_cell(t, 6, "-");
        if (!j) continue;
        lt_json_object_begin(j);
        lt_json_field_string(j, "label", r->label);
        lt_json_field_int(j, "n", r->n);
        lt_json_field_int(j, "qubits", r->q);
        lt_json_field_double(j, "seconds", r->seconds);
        if (of) lt_json_field_double(j, "ratio", r->seconds / of->seconds);
        lt_json_object_end(j);
    }
    if (j) lt_json_array_end(j);
    else cli_table_print(t, stdout);
    cli_table_destroy(t);
    return LT_OK;
}

lt_status gram_circuits(gram_bench *b)
{
    circuits k = { .b = b };
    lt_status s = gram_on_cpu(b) ? allocate(&k) : cli_fail(LT_ERR_ARGUMENT, "--sweep circuits: circuits run on the CPU so far; give --device cpu");
    for (int i = 0; !s && i < N_ROWS; i++) s = measure(&k, &k.row[i]);
    if (!s) s = present(&k);
    free(k.x);
    free(k.w);
    free(k.dw);
    free(k.K);
    free(k.states);
    return s;
}
