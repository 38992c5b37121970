/* lathe-bench gram --sweep compare: every method and precision of a device against state vectors in double precision on the CPU,
   for squares and cross kernels, as they are, normalised and centred. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/gram/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 }; /* rows come in blocks of as many, and are never as many as qubits: a transposed input would not be seen */

typedef enum pairing { A_WITH_A, B_WITH_B, B_WITH_A, N_PAIRINGS } pairing;
typedef enum form { RAW, NORMALISED, CENTRED, N_FORMS } form;
static const char *const pairing_names[] = { "A with A", "B with B", "B with A" }, *const form_names[] = { "raw", "normalised", "centred" };

typedef struct way { const char *what; bool re_embed; lt_gram_method method; lt_gram_float type; } way;
static const way ways[] = {
    { "states float64", true, LT_GRAM_STATES, LT_GRAM_FLOAT64 },   { "states float32", true, LT_GRAM_STATES, LT_GRAM_FLOAT32 },
    { "states float16", true, LT_GRAM_STATES, LT_GRAM_FLOAT16 },
    { "transfer", true, LT_GRAM_TRANSFER, LT_GRAM_FLOAT64 },       { "states, no re-embedding", false, LT_GRAM_STATES, LT_GRAM_FLOAT64 },
    { "product, no re-embedding", false, LT_GRAM_PRODUCT, LT_GRAM_FLOAT64 },
};
enum { MAX_COMPARED = CLI_LEN(ways) * N_PAIRINGS * N_FORMS };

typedef struct compared {
    const way *way;
    pairing    pair;
    form       form;
    double     max, mean, frobenius, diagonal; /* absolute; absolute; relative; mean absolute, NaN = none */
    int64_t    row, column;                    /* of the worst entry */
    double     got, want, allowed;
} compared;

typedef struct comparison {
    gram_bench *b;
    int64_t     n, q;
    double     *a, *bb, *w, *got, *want, *means; /* features of A and B, weights, K, what it should be, means of columns */
    int         n_rows;
    compared    row[MAX_COMPARED];
} comparison;

static lt_status fill(const comparison *c, lt_device *dev, const way *y, pairing pair, bool normalise, double *K)
{
    lt_gram_options opt = lt_gram_defaults();
    lt_rows a = { c->a, LT_F64, c->n, c->q, 0 }, b = { c->bb, LT_F64, c->n, c->q, 0 };
    lt_gram *g;
    opt.re_embed_between_layers = y->re_embed;
    opt.method = y->method;
    opt.dtype = y->type;
    opt.normalize = normalise;
    opt.learn_tiles = false;
    CLI_TRY(lt_gram_create(dev, &opt, &(lt_weights){ c->w, c->b->o->layers, c->q }, &g));
    lt_status s = lt_gram_fill(g, pair == A_WITH_A ? &a : &b, pair == B_WITH_A ? &a : NULL, K);
    lt_gram_destroy(g);
    return s;
}

/* One matrix in one form. Cross kernels are centred by the means of A with A, as test rows are. */
static lt_status make(const comparison *c, lt_device *dev, const way *y, pairing pair, form f, double *K)
{
    double mean;
    if (f != CENTRED) return fill(c, dev, y, pair, f == NORMALISED, K);
    if (pair != B_WITH_A) {
        CLI_TRY(fill(c, dev, y, pair, false, K));
        return lt_gram_center(K, c->n, c->means, &mean);
    }
    CLI_TRY(fill(c, dev, y, A_WITH_A, false, K));
    CLI_TRY(lt_gram_center(K, c->n, c->means, &mean));
    CLI_TRY(fill(c, dev, y, pair, false, K));
    return lt_gram_center_cross(K, c->n, c->n, c->means, mean);
}

static void look(const comparison *c, compared *r)
{
    double difference = 0, size = 0, sum = 0, diagonal = 0;
    for (int64_t i = 0; i < c->n * c->n; i++) {
        double e = fabs(c->got[i] - c->want[i]);
        if (i == 0 || !(e <= r->max)) r->max = e, r->row = i / c->n, r->column = i % c->n, r->got = c->got[i], r->want = c->want[i];
        sum += e, difference += e * e, size += c->want[i] * c->want[i];
        if (i % (c->n + 1) == 0) diagonal += e;
    }
    r->mean = sum / (double)(c->n * c->n);
    r->frobenius = sqrt(difference / size);
    r->diagonal = r->pair == B_WITH_A ? NAN : diagonal / (double)c->n;
}

/* Normalising divides by nearly one; centring adds up four numbers. */
static double allowed(lt_gram_float type, form f) { return lt_gram_float_bound(type) * (f == RAW ? 1 : f == NORMALISED ? 2 : 4); }

static lt_status compare_way(comparison *c, const way *y, pairing pair, form f)
{
    way oracle = { "", y->re_embed, LT_GRAM_STATES, LT_GRAM_FLOAT64 };
    compared *r = &c->row[c->n_rows];
    *r = (compared){ .way = y, .pair = pair, .form = f, .allowed = allowed(y->type, f) };
    CLI_TRY(make(c, NULL, &oracle, pair, f == CENTRED ? CENTRED : RAW, c->want));
    if (f == NORMALISED && pair != B_WITH_A) CLI_TRY(lt_gram_normalize(c->want, c->n, 0)); /* the flag against the function; k(x,x) = 1 with Y */
    CLI_TRY(make(c, c->b->c->device, y, pair, f, c->got));
    look(c, r);
    c->n_rows++;
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

static lt_status compare_all(comparison *c)
{
    for (int i = 0; i < CLI_LEN(ways); i++) {
        if (ways[i].method == LT_GRAM_TRANSFER && c->b->o->layers != 2) continue;
        if (ways[i].type == LT_GRAM_FLOAT16 && gram_on_cpu(c->b)) continue;
        for (int p = 0; p < N_PAIRINGS; p++)
            for (int f = 0; f < N_FORMS; f++) CLI_TRY(compare_way(c, &ways[i], (pairing)p, (form)f));
    }
    return LT_OK;
}

static lt_status print_table(const comparison *c)
{
    const char *columns[] = { "row", "matrix", "form", "max abs", "mean abs", "Frobenius", "diagonal", "worst at", "here", "CPU states" };
    cli_table *t;
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, &t));
    for (int i = 0; i < c->n_rows; i++) {
        const compared *r = &c->row[i];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", r->way->what);
        cli_table_cell(t, 1, "%s", pairing_names[r->pair]);
        cli_table_cell(t, 2, "%s", form_names[r->form]);
        cli_table_cell(t, 3, "%.2g", r->max);
        cli_table_cell(t, 4, "%.2g", r->mean);
        cli_table_cell(t, 5, "%.2g", r->frobenius);
        gram_number_cell(t, 6, "%.2g", r->diagonal);
        cli_table_cell(t, 7, "%lld, %lld", (long long)r->row, (long long)r->column);
        cli_table_cell(t, 8, "%.6g", r->got);
        cli_table_cell(t, 9, "%.6g", r->want);
    }
    cli_table_print(t, stdout);
    cli_table_destroy(t);
    return LT_OK;
}

static lt_status put_json(const comparison *c)
{
    lt_json *j = c->b->c->json;
    CLI_TRY(cli_json_machine(c->b->c));
    lt_json_field_string(j, "sweep", "compare");
    lt_json_field_int(j, "n_samples", c->n);
    lt_json_field_int(j, "n_qubits", c->q);
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < c->n_rows; i++) {
        const compared *r = &c->row[i];
        lt_json_object_begin(j);
        lt_json_field_string(j, "label", r->way->what);
        lt_json_field_string(j, "matrix", pairing_names[r->pair]);
        lt_json_field_string(j, "form", form_names[r->form]);
        lt_json_field_double(j, "max_abs", r->max);
        lt_json_field_double(j, "mean_abs", r->mean);
        lt_json_field_double(j, "relative_frobenius", r->frobenius);
        lt_json_field_double(j, "diagonal_mean_abs", r->diagonal);
        lt_json_field_int(j, "worst_row", r->row);
        lt_json_field_int(j, "worst_column", r->column);
        lt_json_field_double(j, "worst_value", r->got);
        lt_json_field_double(j, "worst_expected", r->want);
        lt_json_field_double(j, "allowed", r->allowed);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
    return LT_OK;
}

static lt_status judge(const comparison *c)
{
    for (int i = 0; i < c->n_rows; i++) {
        const compared *r = &c->row[i];
        if (!(r->max <= r->allowed))
            return cli_fail(LT_ERR_MISMATCH, "%s, %s, %s: %g instead of %g at row %lld, column %lld; allowed is a difference of %g", r->way->what,
                            pairing_names[r->pair], form_names[r->form], r->got, r->want, (long long)r->row, (long long)r->column, r->allowed);
    }
    return LT_OK;
}

lt_status gram_compare(gram_bench *b)
{
    int64_t n = b->o->quick ? 3 * BLOCK : (b->o->n + BLOCK - 1) / BLOCK * BLOCK, q = b->o->quick && b->o->qubits > 8 ? 8 : b->o->qubits;
    if (n == q) n += BLOCK;
    comparison *c = calloc(1, sizeof *c);
    if (!c) return cli_fail(LT_ERR_MEMORY, "no memory for the rows");
    *c = (comparison){ .b = b, .n = n, .q = q, .a = malloc((size_t)(n * q) * sizeof(double)), .bb = malloc((size_t)(n * q) * sizeof(double)),
                       .w = malloc((size_t)(b->o->layers * q) * sizeof(double)), .got = malloc((size_t)(n * n) * sizeof(double)),
                       .want = malloc((size_t)(n * n) * sizeof(double)), .means = malloc((size_t)n * sizeof(double)) };
    lt_status s = c->a && c->bb && c->w && c->got && c->want && c->means ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for matrices of %lld rows", (long long)n);
    if (!s) {
        gram_draw((uint64_t)b->c->common.seed, c->a, n * q, 3);
        gram_draw((uint64_t)b->c->common.seed + 2, c->bb, n * q, 3);
        gram_draw((uint64_t)b->c->common.seed + 1, c->w, b->o->layers * q, 0.3);
        s = compare_all(c);
    }
    if (!s) s = b->c->json ? put_json(c) : print_table(c);
    b->c->json_complete = !s; /* also when something differs */
    if (!s) s = judge(c);
    free(c->a), free(c->bb), free(c->w), free(c->got), free(c->want), free(c->means), free(c);
    return s;
}
