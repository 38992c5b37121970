/* Kernels of states beside exact fidelities: projected ones, draws, noise (decision 165). SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "qkernel/device/circuits/circuits.h"
#include "qkernel/similarity/binomial.h"
#include "qkernel/post.h"
#include "trace/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = { "fidelity", "projected", "real", NULL };
_Static_assert(LT_LEN(kind_names) == LT_SIMILARITY_COUNT + 1, "one name per similarity");
const char *lt_similarity_name(lt_similarity s) { return (unsigned)s < LT_SIMILARITY_COUNT ? kind_names[s] : "?"; }

#define S lt_similarity_options
static const lt_option option_rows[] = {
    LT_OPTION_ENUM(S, kind, "similarity", "fidelity", kind_names, "of states: |<x,y>|^2, exp(-gamma sum |rho(x) - rho(y)|^2) of one-qubit states, or Re <x,y>"),
    LT_OPTION_REAL(S, gamma, "gamma", "0", LT_AT_LEAST(0), "G", "of projected; 0 = 1 / (qubits times the median over pairs of rows)"),
    LT_OPTION_INT(S, shots, "shots", "0", LT_AT_LEAST(0), "N", "each entry a binomial mean of N draws, by --seed; 0 = exact"),
    LT_OPTION_REAL(S, depolarizing, "depolarizing", "0", LT_RANGE_CLOSED(0, 1), "P", "(1 - P) K + P / 2^qubits"),
};
#undef S
static const lt_option_group groups[] = { { .rows = option_rows, .n_rows = LT_LEN(option_rows) } };
static const lt_option_table table = { .program = "similarity", .summary = "Options of kernels of states", .groups = groups, .n_groups = 1 };

const lt_option_table *lt_similarity_options_table(void) { return &table; }

void lt_similarity_defaults_into(lt_similarity_options *out)
{
    lt_similarity_options opt = { .size = sizeof opt };
    (void)lt_options_defaults(&table, &opt); /* fails only on a bad row, which a test would show */
    LT_GIVE(out, &opt);
}

/* ---- one entry of K at a time ---- */

static int64_t place(const lt_gram_out *o, int64_t i, int64_t j) { return o->packed ? i * o->n_columns - i * (i - 1) / 2 + (j - i) : i * o->n_columns + j; }

/* ---- draws and noise ---- */

typedef struct disturbing { const lt_gram *g; const lt_gram_out *out; bool symmetric; } disturbing;

static double depolarized(const lt_similarity_options *s, int q, double v) { return s->depolarizing > 0 ? (1 - s->depolarizing) * v + ldexp(s->depolarizing, -q) : v; }

/* A mean of draws, each 1 with the value as its probability; real parts lie in -1..1 and are drawn as (1 + v) / 2. */
static double drawn(const lt_similarity_options *s, int64_t i, int64_t j, double v)
{
    bool real = s->kind == LT_SIMILARITY_REAL;
    double p = fmin(fmax(real ? (1 + v) / 2 : v, 0), 1);
    lt_rng r = { .stream = lt_draws_make((uint64_t)s->seed, "gram shots", (uint32_t)i, (uint32_t)j, (uint32_t)((uint64_t)i >> 32 << 16 | (uint64_t)j >> 32)) };
    double mean = (double)lt_binomial(&r, s->shots, p) / (double)s->shots;
    return real ? 2 * mean - 1 : mean;
}

/* One row of K, its upper part with the mirror image where K is symmetric. */
static lt_status disturb_row(void *ctx, int64_t i, int worker)
{
    const disturbing *d = ctx;
    const lt_similarity_options *s = &d->g->similarity;
    const lt_gram_out *o = d->out;
    (void)worker;
    for (int64_t j = d->symmetric ? i : 0; j < o->n_columns; j++) {
        int64_t at = place(o, i, j);
        double v = depolarized(s, d->g->circuit.q, lt_gram_entry(o, at));
        if (s->shots) v = d->symmetric && i == j ? 1 : drawn(s, i, j, v);
        lt_gram_put(o, at, v);
        if (d->symmetric && !o->packed && i != j) lt_gram_put(o, place(o, j, i), v);
    }
    return LT_OK;
}

bool lt_similarity_disturbs(const lt_similarity_options *s) { return s->shots > 0 || s->depolarizing > 0; }

lt_status lt_similarity_disturb(lt_gram_filling *f)
{
    const lt_similarity_options *s = &f->g->similarity;
    if (!lt_similarity_disturbs(s)) return LT_OK;
    for (int64_t i = 0; f->left && i < f->x->n; i++) f->left[i] = s->shots ? 1 : depolarized(s, f->g->circuit.q, f->left[i]);
    for (int64_t i = 0; f->right && i < f->y->n; i++) f->right[i] = s->shots ? 1 : depolarized(s, f->g->circuit.q, f->right[i]);
    disturbing d = { f->g, &f->out, f->y == NULL };
    return lt_pool_run(f->g->pool, f->x->n, disturb_row, &d);
}

/* ---- projected kernels ---- */

typedef struct projected {
    const lt_gram_out *out;
    const double *a, *b;      /* Bloch vectors, width numbers a row */
    int64_t width;
    double  factor;           /* -gamma / 2: |rho - rho'|_F^2 is half of that of Bloch vectors */
    bool    symmetric;
} projected;

/* The sum of squares in eight parts, whose order does not depend on anything. */
static double distance(const double *a, const double *b, int64_t n)
{
    double part[8] = { 0 }, sum = 0;
    int64_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int l = 0; l < 8; l++) part[l] += (a[k + l] - b[k + l]) * (a[k + l] - b[k + l]);
    for (; k < n; k++) part[k % 8] += (a[k] - b[k]) * (a[k] - b[k]);
    for (int l = 0; l < 8; l++) sum += part[l];
    return sum;
}

static lt_status project_row(void *ctx, int64_t i, int worker)
{
    const projected *p = ctx;
    (void)worker;
    for (int64_t j = p->symmetric ? i : 0; j < p->out->n_columns; j++) {
        double v = exp(p->factor * distance(p->a + i * p->width, p->b + j * p->width, p->width));
        lt_gram_put(p->out, place(p->out, i, j), v);
        if (p->symmetric && !p->out->packed && i != j) lt_gram_put(p->out, place(p->out, j, i), v);
    }
    return LT_OK;
}

enum { MEDIAN_ROWS = 1000 };

/* 1 / (q median) over pairs of rows; of at most MEDIAN_ROWS rows at even distances. */
static lt_status median_gamma(const double *a, int64_t n, int64_t q, double *gamma)
{
    const int64_t rows = LT_MIN(n, MEDIAN_ROWS), pairs = rows * (rows - 1) / 2;
    double *d = lt_malloc((size_t)LT_MAX(1, pairs) * sizeof *d);
    if (!d) return LT_ERR_MEMORY;
    int64_t k = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++) d[k++] = distance(a + i * n / rows * 3 * q, a + j * n / rows * 3 * q, 3 * q) / 2;
    if (pairs) qsort(d, (size_t)pairs, sizeof *d, lt_ascending);
    double median = pairs == 0 ? 0 : pairs % 2 ? d[pairs / 2] : (d[pairs / 2 - 1] + d[pairs / 2]) / 2;
    *gamma = median > 0 ? 1 / ((double)q * median) : 1;
    lt_free(d);
    return LT_OK;
}

static void report_projected(lt_gram_filling *f, double gamma, int64_t states_ns, int64_t start)
{
    lt_gram *g = f->g;
    double total = lt_seconds_since(start);
    char circuit[400];
    g->info = (lt_gram_info){ .size = sizeof(lt_gram_info), .method = LT_GRAM_STATES, .backend = lt_device_kind(g->dev), .devices = 1,
                              .precision = g->opt.dtype, .error_bound = lt_gram_float_bound(g->opt.dtype),
                              .n = f->x->n, .m = f->out.n_columns, .n_qubits = g->circuit.q, .threads = lt_pool_threads(g->pool),
                              .states_seconds = 1e-9 * (double)states_ns, .product_seconds = total - 1e-9 * (double)states_ns, .total_seconds = total,
                              .pairs = f->y ? f->x->n * f->y->n : f->x->n * (f->x->n + 1) / 2, .states_built = f->x->n + (f->y ? f->y->n : 0) };
    g->info.mpairs_per_s = 1e-6 * (double)g->info.pairs / fmax(total, 1e-9);
    snprintf(g->info.kernel, sizeof g->info.kernel, "projected");
    lt_compiled_describe(g->program, circuit, sizeof circuit);
    snprintf(g->info.plan, sizeof g->info.plan, "method: one-qubit reduced states of each row, then exp(-gamma sum |rho - rho'|^2) with gamma %.6g%s\n%s", gamma,
             g->similarity.gamma > 0 ? "" : " (by the median)", circuit);
}

static lt_status bloch_vectors(const lt_gram *g, const lt_rows *x, double *out)
{
    if (g->n_devices) return lt_circuit_device_bloch(g->dev, g->program, g->opt.dtype, x, out);
    return lt_simulate_bloch(g->program, g->pool, g->opt.dtype, x, out);
}

/* Diagonals are one whatever the rows, so normalising has nothing to do. */
lt_status lt_gram_run_projected(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    const int64_t q = g->circuit.q, n = f->x->n, m = f->y ? f->y->n : 0, start = lt_clock_ns();
    double *a = lt_malloc((size_t)((n + m) * 3 * q) * sizeof *a), *b = a + n * 3 * q, gamma = g->similarity.gamma;
    if (!a) return LT_ERR_MEMORY;
    f->out.half = !f->y;
    f->out.n_columns = f->y ? m : n;
    lt_status s = bloch_vectors(g, f->x, a);
    if (!s && f->y) s = bloch_vectors(g, f->y, b);
    int64_t states_ns = lt_clock_ns() - start;
    if (!s && !(gamma > 0)) s = median_gamma(a, n, q, &gamma);
    projected p = { &f->out, a, f->y ? b : a, 3 * q, -gamma / 2, !f->y };
    if (!s) s = lt_pool_run(g->pool, n, project_row, &p);
    lt_free(a);
    if (!s) s = lt_similarity_disturb(f);
    if (!s) report_projected(f, gamma, states_ns, start);
    return s;
}
