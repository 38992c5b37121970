/* One problem for many values of a datum, over ranks. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/status.h"
#include "optimize/many/devices.h"
#include "optimize/many/runs.h"

#include <math.h>
#include <string.h>

typedef struct sweep {
    const char             *path, *data;
    double                  first, last;
    int64_t                 count, n_x;
    const lt_solve_options *opt;
    lt_shared_devices       devices;
} sweep;

static double value_at(const sweep *s, int64_t i)
{
    if (i == 0) return s->first;
    return i == s->count - 1 ? s->last : s->first + (s->last - s->first) * ((double)i / (double)(s->count - 1));
}

/* The result of one value, and its variables behind it. */
static lt_status solve_model(sweep *s, const lt_model *m, lt_run_result *r, double *x)
{
    lt_problem *p = NULL;
    lt_solution *solution = NULL;
    lt_solve_options opt = *s->opt;
    opt.print_to = NULL;
    opt.threads = 0;
    lt_status status = lt_problem_from_model(m, &p);
    int device = lt_shared_devices_take(&s->devices, &opt);
    if (!status) status = lt_solve(p, &opt, &solution);
    lt_shared_devices_give(&s->devices, device);
    if (!status) {
        const lt_solution_point *shown = solution->best.present ? &solution->best : &solution->final;
        *r = lt_run_of(solution);
        r->n = solution->n == s->n_x ? s->n_x : 0;
        if (r->n) memcpy(x, shown->x, (size_t)r->n * sizeof *x);
    }
    lt_solution_destroy(solution);
    lt_problem_destroy(p);
    return status;
}

/* A value for which the text is wrong, or its run cannot begin, is a row that says so. */
static lt_status run_value(void *ctx, int64_t unit, void *row)
{
    sweep *s = ctx;
    lt_model *m;
    lt_run_result r;
    lt_status status = lt_model_read_with(s->path, s->data, value_at(s, unit), &m);
    if (!status) status = solve_model(s, m, &r, (double *)((lt_run_result *)row + 1));
    lt_model_destroy(m);
    if (status == LT_ERR_MEMORY || status == LT_ERR_DEVICE || status == LT_ERR_INTERNAL) return status;
    if (status) r = lt_run_failed();
    r.row.number = unit;
    r.row.value = value_at(s, unit);
    memcpy(row, &r, sizeof r);
    return LT_OK;
}

static lt_status check(const sweep *s, int64_t n_threads)
{
    if (s->count < 1 || s->count > INT32_MAX) return LT_FAIL(LT_ERR_ARGUMENT, "sweep: %lld values, expected at least 1", (long long)s->count);
    if (!isfinite(s->first) || !isfinite(s->last)) return LT_FAIL(LT_ERR_ARGUMENT, "sweep: from %g to %g, expected finite numbers", s->first, s->last);
    if (n_threads < 0 || n_threads > 4096) return LT_FAIL(LT_ERR_ARGUMENT, "sweep: %lld threads, expected 0 to 4096", (long long)n_threads);
    const char *single = s->opt->checkpoint ? "checkpoint" : s->opt->resume ? "resume" : s->opt->profile ? "profile" : NULL;
    return single ? LT_FAIL(LT_ERR_ARGUMENT, "sweep: option '%s' is of a single run", single) : LT_OK;
}

/* The first value's problem shows that the file is right, and how many variables there are. */
static lt_status begin(sweep *s, lt_cluster *c, int64_t n_threads)
{
    lt_model *m = NULL;
    lt_problem *p = NULL;
    double *x = NULL;
    lt_status status = check(s, n_threads);
    if (!status) status = lt_shared_devices_open(s->opt, &s->devices);
    if (!status && s->devices.n && lt_cluster_size(c) > 1) status = LT_FAIL(LT_ERR_ARGUMENT, "sweep: a rank has one device, '%s' names several", s->opt->device_name);
    if (!status) status = lt_model_read_with(s->path, s->data, s->first, &m);
    if (!status) {
        s->n_x = lt_model_get(m).n;
        status = lt_problem_from_model(m, &p);
    }
    if (!status && !(x = lt_malloc((size_t)s->n_x * sizeof *x + 1))) status = LT_ERR_MEMORY;
    for (int64_t i = 0; !status && i < s->n_x; i++) x[i] = 0.5 + 0.25 * (double)(i % 3);
    status = lt_runs_agree(c, status, p, s->opt, x, s->count);
    lt_free(x);
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return status;
}

lt_status lt_solve_sweep(lt_cluster *c, const char *path, const char *data, double first, double last, int64_t n, const lt_solve_options *opt, int64_t n_threads, lt_runs **out)
{
    lt_settings settings;
    lt_runs *r = NULL;
    if (!path || !data || !out) return LT_FAIL(LT_ERR_ARGUMENT, "sweep: %s is NULL", !path ? "path" : !data ? "the name of the data" : "out");
    *out = NULL;
    LT_TRY(lt_settings_take(opt, &settings));
    sweep s = { .path = path, .data = data, .first = first, .last = last, .count = n, .opt = &settings.opt };
    LT_TRY(begin(&s, c, n_threads));
    lt_status status = lt_cluster_agree(c, lt_runs_create(c, n, s.n_x, &r), "rows", NULL, 0);
    if (!status) status = lt_cluster_map(c, n, lt_run_bytes(s.n_x), run_value, &s, (int)n_threads, NULL, r->results);
    if (status) lt_runs_destroy(r);
    else *out = r;
    return status;
}
