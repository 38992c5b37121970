/* What the files of `lathe-bench gram` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_GRAM_GRAM_H
#define LATHE_BENCH_GRAM_GRAM_H

#include "cli/frame/cli.h"

enum { GRAM_MAX_ROWS = 32, GRAM_MAX_REPEATS = 25 };

typedef struct gram_bench_options {
    cli_common  common;
    int         sweep;
    int64_t     n, qubits, layers;
    int         repeats;
    bool        quick, large;
    const char *csv, *report, *peer;
    lt_text_list only;
} gram_bench_options;

typedef struct gram_row {        /* one configuration, and what it did */
    char            label[40];
    int64_t         n, q, layers;
    lt_gram_options opt;
    lt_gram        *gram;        /* while measuring */
    bool            fresh;       /* the handle is made anew for each call */
    double          seconds[GRAM_MAX_REPEATS];
    lt_gram_info    info;        /* of the last call */
    double          median, spread, deviation, average, p95; /* spread: distance of the quartiles; deviation: standard */
    double          blas_flops;  /* complex matrix product of the same shape, same run; NaN = not built in */
    double          error, mean_error, frobenius; /* against the first row of the same size; NaN = nothing to compare */
    double          diagonal_error; /* mean distance of the diagonal from one; NaN = packed */
    double          low, high, mean, std, middle; /* of the entries */
    int64_t         n_nan, n_infinite;
} gram_row;

typedef struct gram_bench {
    cli_context *c;
    const gram_bench_options *o;
    const char  *sweep;
    int          n_rows, repeats;
    gram_row     row[GRAM_MAX_ROWS];
    bool         fitted;         /* T(N) = a N + b N^2 */
    double       fit_a, fit_b;
    double       slope;          /* of log T over log N, by least squares */
} gram_bench;

double    gram_row_flops(const gram_row *r); /* per second, counted as lt_gram_info says, over the whole call */
lt_status gram_bench_present(gram_bench *b);
/* Numbers in [-range, range) from a seed: the same ones with every build. */
bool      gram_on_cpu(const gram_bench *b);
void      gram_draw(uint64_t seed, double *v, int64_t n, double range);
lt_status gram_targets(gram_bench *b);       /* --sweep targets */
lt_status gram_targets_check(const gram_bench_options *o); /* that --only names rows */
lt_status gram_limits(gram_bench *b);        /* --sweep limits */
lt_status gram_compare(gram_bench *b);       /* --sweep compare */
lt_status gram_circuits(gram_bench *b);      /* --sweep circuits */
lt_status gram_auto(gram_bench *b);          /* --sweep auto */
void      gram_number_cell(cli_table *t, int column, const char *format, double v); /* "-" where it is not a number */
/* The middle of n numbers, which are sorted. */
double    gram_median(double *v, int n);

#endif
