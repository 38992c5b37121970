/* Many starts in parallel threads, ordered the same way whatever the number of threads.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/many/devices.h"
#include "optimize/options.h"
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"


typedef struct batch {
    lt_problem *problem;
    const lt_solve_options *opt;
    lt_multistart *result;
    double *x0;          /* n per start */
    bool    given_first; /* the first start is the caller's or the problem's own */
    char   (*error)[256];
    lt_shared_devices devices;
    lt_error_place first; /* what error[0] is about */
} batch;

/* A start that cannot begin (its functions are not finite at it) is no failure of the whole. */
static lt_status run_one(void *ctx, int64_t i, int worker)
{
    (void)worker;
    batch *b = ctx;
    lt_solve_options opt = *b->opt;
    if (i > 0 || !b->given_first) opt.x0 = b->x0 + i * b->problem->n;
    opt.print_to = NULL;
    opt.threads = 0;
    b->result->start[i] = i;
    int device = lt_shared_devices_take(&b->devices, &opt);
    lt_status s = lt_solve(b->problem, &opt, &b->result->solution[i]);
    lt_shared_devices_give(&b->devices, device);
    if (!s) return LT_OK;
    snprintf(b->error[i], sizeof b->error[i], "%s", lt_error_text());
    if (i == 0) b->first = lt_error_get_place();
    return s == LT_ERR_NUMERIC ? LT_OK : s;
}

/* Negative when a comes first: feasible ones by f, then the others by violation, failed ones last. */
static int compare(const lt_solution *a, const lt_solution *b)
{
    if (!a || !b) return (a == NULL) - (b == NULL);
    if (a->best.present != b->best.present) return a->best.present ? -1 : 1;
    const lt_solution_point *p = a->best.present ? &a->best : &a->most_feasible;
    const lt_solution_point *q = b->best.present ? &b->best : &b->most_feasible;
    if (!a->best.present && p->tv != q->tv) return p->tv < q->tv ? -1 : 1;
    return p->f < q->f ? -1 : p->f > q->f;
}

static void order(lt_multistart *m)
{
    for (int64_t i = 1; i < m->n_starts; i++) /* insertion: stable, so ties keep the order of the starts */
        for (int64_t j = i; j > 0 && compare(m->solution[j], m->solution[j - 1]) < 0; j--) {
            lt_solution *s = m->solution[j];
            m->solution[j] = m->solution[j - 1];
            m->solution[j - 1] = s;
            int64_t at = m->start[j];
            m->start[j] = m->start[j - 1];
            m->start[j - 1] = at;
        }
}

static lt_status draw_starts(batch *b)
{
    int64_t n = b->problem->n;
    for (int64_t i = 0; i < b->result->n_starts; i++) {
        lt_draws draws = lt_draws_make((uint64_t)b->opt->seed, "x0", (uint32_t)i, 0, 0);
        LT_TRY(lt_draws_normal_f64(&draws, 0, n, b->x0 + i * n));
    }
    b->given_first = b->opt->x0 || b->opt->x0_file || b->problem->x0;
    return LT_OK;
}

static lt_status run_all(batch *b, int64_t n_threads)
{
    lt_pool *pool;
    LT_TRY(draw_starts(b));
    LT_TRY(lt_pool_create((int)n_threads, &pool));
    lt_status s = lt_pool_run(pool, b->result->n_starts, run_one, b);
    lt_pool_destroy(pool);
    if (s) return s;
    order(b->result);
    if (!b->result->solution[0]) return lt_place_again(LT_FAIL(LT_ERR_NUMERIC, "no start could begin; the first: %s", b->error[0]), &b->first);
    return LT_OK;
}

lt_status lt_solve_multistart(lt_problem *p, const lt_solve_options *opt, int64_t n_starts, int64_t n_threads,
                              lt_multistart **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "multistart: out is NULL");
    *out = NULL;
    if (!p) return LT_FAIL(LT_ERR_ARGUMENT, "multistart: the problem is NULL");
    if (n_starts < 1 || n_starts > INT32_MAX)
        return LT_FAIL(LT_ERR_ARGUMENT, "multistart: %lld starts, expected at least 1", (long long)n_starts);
    if (n_threads < 0 || n_threads > 4096)
        return LT_FAIL(LT_ERR_ARGUMENT, "multistart: %lld threads, expected 0 to 4096", (long long)n_threads);
    lt_settings settings;
    LT_TRY(lt_settings_take(opt, &settings));
    batch b = { .problem = p, .opt = &settings.opt };
    const char *single = b.opt->checkpoint ? "checkpoint" : b.opt->resume ? "resume" : b.opt->profile ? "profile" : NULL;
    if (single) return LT_FAIL(LT_ERR_ARGUMENT, "multistart: option '%s' is of a single run", single);
    LT_TRY(lt_shared_devices_open(b.opt, &b.devices));
    b.result = lt_calloc(1, sizeof *b.result);
    if (!b.result) return LT_ERR_MEMORY;
    b.result->n_starts = n_starts;
    b.result->solution = lt_calloc((size_t)n_starts, sizeof *b.result->solution);
    b.result->start = lt_calloc((size_t)n_starts, sizeof *b.result->start);
    b.x0 = lt_malloc((size_t)(n_starts * p->n) * sizeof *b.x0);
    b.error = lt_calloc((size_t)n_starts, sizeof *b.error);
    lt_status s = b.result->solution && b.result->start && b.x0 && b.error ? run_all(&b, n_threads) : LT_ERR_MEMORY;
    lt_free(b.x0);
    lt_free(b.error);
    if (s) lt_multistart_destroy(b.result);
    else *out = b.result;
    return s;
}

void lt_multistart_destroy(lt_multistart *m)
{
    if (!m) return;
    for (int64_t i = 0; m->solution && i < m->n_starts; i++) lt_solution_destroy(m->solution[i]);
    lt_free(m->solution);
    lt_free(m->start);
    lt_free(m);
}
