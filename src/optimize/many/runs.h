/* Rows of many runs. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_MANY_RUNS_H
#define LT_OPTIMIZE_MANY_RUNS_H

#include "cluster/cluster.h"
#include "optimize/options.h"

/* What travels between ranks; the variables of a sweep follow it. */
typedef struct lt_run_result {
    lt_run_row row;
    double     order_f, order_tv; /* what starts are ordered by */
    int64_t    n;                 /* variables that follow; 0 = none */
} lt_run_result;

struct lt_runs {
    int64_t      count, n_x;
    char        *results;         /* [count] of lt_run_result and n_x numbers */
    int64_t     *place;           /* [count]: which result stands there */
    lt_solution *best;
};

static inline size_t lt_run_bytes(int64_t n_x) { return sizeof(lt_run_result) + (size_t)n_x * sizeof(double); }
static inline lt_run_result *lt_run_at(const lt_runs *r, int64_t i) { return (lt_run_result *)(void *)(r->results + (size_t)i * lt_run_bytes(r->n_x)); }

/* Rows without content, in order; on other ranks than 0 none. */
lt_status     lt_runs_create(lt_cluster *c, int64_t count, int64_t n_x, lt_runs **out);
lt_run_result lt_run_of(const lt_solution *s);
/* A run that could not begin; the thread's error text says why. */
lt_run_result lt_run_failed(void);
/* All ranks, each with its outcome so far: the same devices, options, and problem, as its functions at x show. x, p and n may be 0 where s is a failure. */
lt_status     lt_runs_agree(lt_cluster *c, lt_status s, lt_problem *p, const lt_solve_options *opt, const double *x, int64_t count);

#endif
