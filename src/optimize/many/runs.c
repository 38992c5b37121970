/* Rows of many runs, and how they are given out. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/many/runs.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

lt_status lt_runs_create(lt_cluster *c, int64_t count, int64_t n_x, lt_runs **out)
{
    lt_runs *r = lt_calloc(1, sizeof *r);
    *out = r;
    if (!r) return LT_ERR_MEMORY;
    r->n_x = n_x;
    if (lt_cluster_rank(c)) return LT_OK;
    r->count = count;
    r->results = lt_calloc((size_t)count, lt_run_bytes(n_x));
    r->place = lt_malloc((size_t)count * sizeof *r->place);
    if (!r->results || !r->place) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) r->place[i] = i;
    return LT_OK;
}

lt_run_result lt_run_of(const lt_solution *s)
{
    const lt_solution_point *shown = s->best.present ? &s->best : &s->final, *p = s->best.present ? &s->best : &s->most_feasible;
    lt_run_result r;
    memset(&r, 0, sizeof r);
    r.row = (lt_run_row){ .size = sizeof r.row, .value = NAN, .feasible = s->best.present, .interrupted = s->interrupted, .f = shown->f, .tv = shown->tv, .iters = s->iters,
                          .fn_evals = s->fn_evals, .termination_code = s->termination_code };
    if (s->error) snprintf(r.row.error, sizeof r.row.error, "%s", s->error);
    r.order_f = p->f;
    r.order_tv = p->tv;
    return r;
}

lt_run_result lt_run_failed(void)
{
    lt_run_result r;
    memset(&r, 0, sizeof r);
    r.row = (lt_run_row){ .size = sizeof r.row, .value = NAN, .failed = true, .f = NAN, .tv = NAN };
    lt_error_reason(r.row.error, sizeof r.row.error);
    return r;
}

int64_t lt_runs_count(const lt_runs *r) { return r ? r->count : 0; }
const lt_solution *lt_runs_best(const lt_runs *r) { return r ? r->best : NULL; }

bool lt_runs_get(const lt_runs *r, int64_t place, lt_run_row *out)
{
    if (place < 0 || place >= lt_runs_count(r)) return false;
    LT_GIVE(out, &lt_run_at(r, r->place[place])->row);
    return true;
}

const double *lt_runs_x(const lt_runs *r, int64_t place)
{
    if (place < 0 || place >= lt_runs_count(r)) return NULL;
    lt_run_result *found = lt_run_at(r, r->place[place]);
    return found->n && !found->row.failed ? (const double *)(found + 1) : NULL;
}

void lt_runs_destroy(lt_runs *r)
{
    if (!r) return;
    lt_solution_destroy(r->best);
    lt_free(r->results);
    lt_free(r->place);
    lt_free(r);
}
