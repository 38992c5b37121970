/* Many starts of one problem, over ranks (decision 253): a row for each; the best solution is kept where it was found, and found again by rank 0 where that is
   another rank. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "optimize/many/devices.h"
#include "optimize/many/runs.h"
#include "optimize/problem/evaluator.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct starts {
    lt_problem             *problem;
    const lt_solve_options *opt;
    bool                    given_first;  /* the first start is the caller's or the problem's own */
    lt_shared_devices       devices;
    pthread_mutex_t         lock;         /* of what follows */
    lt_solution            *best;         /* of this rank */
    lt_run_result           best_row;
} starts;

/* Negative when a comes first: feasible ones by f, then the others by violation, failed ones last. */
static int compare(const lt_run_result *a, const lt_run_result *b)
{
    if (a->row.failed != b->row.failed) return a->row.failed ? 1 : -1;
    if (!a->row.failed && a->row.feasible != b->row.feasible) return a->row.feasible ? -1 : 1;
    if (!a->row.failed && !a->row.feasible && a->order_tv != b->order_tv) return a->order_tv < b->order_tv ? -1 : 1;
    if (!a->row.failed && a->order_f != b->order_f) return a->order_f < b->order_f ? -1 : 1;
    return a->row.number < b->row.number ? -1 : a->row.number > b->row.number;
}

static lt_status draw(const starts *s, int64_t start, double *x)
{
    lt_draws draws = lt_draws_make((uint64_t)s->opt->seed, "x0", (uint32_t)start, 0, 0);
    return lt_draws_normal_f64(&draws, 0, s->problem->n, x);
}

static lt_status solve_one(starts *s, int64_t start, lt_solution **out)
{
    lt_solve_options opt = *s->opt;
    double *x0 = lt_malloc((size_t)s->problem->n * sizeof *x0);
    *out = NULL;
    if (!x0) return LT_ERR_MEMORY;
    lt_status status = draw(s, start, x0);
    if (start > 0 || !s->given_first) opt.x0 = x0;
    opt.print_to = NULL;
    opt.threads = 0;
    int device = lt_shared_devices_take(&s->devices, &opt);
    if (!status) status = lt_solve(s->problem, &opt, out);
    lt_shared_devices_give(&s->devices, device);
    lt_free(x0);
    return status;
}

/* Keeps the best solution of this rank. */
static void keep_best(starts *s, const lt_run_result *r, lt_solution *solution)
{
    pthread_mutex_lock(&s->lock);
    if (!s->best || compare(r, &s->best_row) < 0) {
        lt_solution *worse = s->best;
        s->best = solution;
        s->best_row = *r;
        solution = worse;
    }
    pthread_mutex_unlock(&s->lock);
    lt_solution_destroy(solution);
}

/* A start that cannot begin (its functions are not finite at it) is no failure of the whole. */
static lt_status run_start(void *ctx, int64_t unit, void *row)
{
    starts *s = ctx;
    lt_solution *solution;
    lt_status status = solve_one(s, unit, &solution);
    if (status && status != LT_ERR_NUMERIC) return status;
    lt_run_result r = status ? lt_run_failed() : lt_run_of(solution);
    r.row.number = unit;
    memcpy(row, &r, sizeof r);
    if (!status) keep_best(s, &r, solution);
    return LT_OK;
}

static int compare_results(const void *a, const void *b) { return compare(a, b); }

/* Rank 0: the rows in order, the first one's solution. */
static lt_status order(starts *s, lt_runs *r)
{
    qsort(r->results, (size_t)r->count, lt_run_bytes(0), compare_results);
    const lt_run_result *first = lt_run_at(r, 0);
    if (first->row.failed) {
        lt_solution *none;
        lt_status status = solve_one(s, 0, &none); /* once more, for its place in the problem */
        lt_error_place place = lt_error_get_place();
        lt_solution_destroy(none);
        return lt_place_again(LT_FAIL(status ? status : LT_ERR_NUMERIC, "no start could begin; the first: %s", lt_run_at(r, 0)->row.error), &place);
    }
    if (s->best && s->best_row.row.number == first->row.number) {
        r->best = s->best;
        s->best = NULL;
        return LT_OK;
    }
    return solve_one(s, first->row.number, &r->best);
}

static lt_status check(const lt_problem *p, const lt_solve_options *opt, int64_t n_starts, int64_t n_threads)
{
    if (n_starts < 1 || n_starts > INT32_MAX) return LT_FAIL(LT_ERR_ARGUMENT, "starts: %lld, expected at least 1", (long long)n_starts);
    if (n_threads < 0 || n_threads > 4096) return LT_FAIL(LT_ERR_ARGUMENT, "starts: %lld threads, expected 0 to 4096", (long long)n_threads);
    if (p->n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "starts: the problem has no variables");
    const char *single = opt->checkpoint ? "checkpoint" : opt->resume ? "resume" : opt->profile ? "profile" : NULL;
    return single ? LT_FAIL(LT_ERR_ARGUMENT, "starts: option '%s' is of a single run", single) : LT_OK;
}

static lt_status agree(const starts *s, lt_cluster *c, lt_status status, int64_t n_starts)
{
    double *x = lt_calloc((size_t)s->problem->n + 1, sizeof *x);
    if (!status) status = x ? draw(s, 0, x) : LT_ERR_MEMORY;
    status = lt_runs_agree(c, status, s->problem, s->opt, x, n_starts);
    lt_free(x);
    return status;
}

lt_status lt_solve_starts(lt_cluster *c, lt_problem *p, const lt_solve_options *opt, int64_t n_starts, int64_t n_threads, lt_runs **out)
{
    lt_settings settings;
    lt_runs *r = NULL;
    if (!p || !out) return LT_FAIL(LT_ERR_ARGUMENT, "starts: %s is NULL", p ? "out" : "the problem");
    *out = NULL;
    LT_TRY(lt_settings_take(opt, &settings));
    starts s = { .problem = p, .opt = &settings.opt, .lock = PTHREAD_MUTEX_INITIALIZER };
    s.given_first = s.opt->x0 || s.opt->x0_file || p->x0;
    lt_status status = check(p, s.opt, n_starts, n_threads);
    if (!status) status = lt_shared_devices_open(s.opt, &s.devices);
    if (!status && s.devices.n && lt_cluster_size(c) > 1) status = LT_FAIL(LT_ERR_ARGUMENT, "starts: a rank has one device, '%s' names several", s.opt->device_name);
    if (!status) status = lt_runs_create(c, n_starts, 0, &r);
    status = agree(&s, c, status, n_starts);
    if (!status) status = lt_cluster_map(c, n_starts, lt_run_bytes(0), run_start, &s, (int)n_threads, NULL, r->results);
    if (!status) status = lt_cluster_agree(c, r->count ? order(&s, r) : LT_OK, "best start", NULL, 0);
    lt_solution_destroy(s.best);
    if (status) lt_runs_destroy(r);
    else *out = r;
    return status;
}
