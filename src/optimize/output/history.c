/* One row for each iterate, or for some of them. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#define ROWS_MAX 65536

lt_status lt_history_create(lt_run *r)
{
    lt_history *h = &r->history;
    h->step = 1;
    h->capacity = LT_MIN(r->opt.max_iterations + 1, ROWS_MAX);
    h->row = lt_malloc((size_t)h->capacity * sizeof *h->row);
    return h->row ? LT_OK : LT_ERR_MEMORY;
}

void lt_history_log(lt_run *r)
{
    lt_history *h = &r->history;
    if (r->iter % h->step) return;
    if (h->n == h->capacity) { /* keep every second row from here on */
        for (int64_t i = 0; 2 * i < h->n; i++) h->row[i] = h->row[2 * i];
        h->n = (h->n + 1) / 2;
        h->step *= 2;
        if (r->iter % h->step) return;
    }
    const lt_point *x = r->cur;
    h->row[h->n++] = (lt_history_row){
        .iter = r->iter, .evals = r->last.evals, .mu = x->mu, .phi = x->phi, .f = lt_oracle_f(&r->oracle, x->f), .tvi = x->tvi, .tve = x->tve,
        .t = r->last.alpha, .stat = r->stat.value, .stat_unweighted = r->stat.unweighted, .level = r->last.level,
        .qp_attempts = r->stat.attempts, .n_gradients = r->stat.n_samples,
        .seconds = lt_seconds_since(r->start_ns) };
}
