/* A finished dataset with more rows, or with some of its rows made again: a copy beside the file takes its place when it is whole (decision 206).
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/file/journal.h"
#include "operators/generate/row_copy.h"

#include <inttypes.h>
#include <string.h>

static bool is_made_again(const lt_generator *g, int64_t row)
{
    return g->rows.index[row] >= g->opt->first_row && g->rows.index[row] < g->opt->end_row;
}

bool lt_generator_grows(const lt_generator *g, const lt_dataset_info *old) { return g->opt->end_row || old->rows < g->plan.rows; }

/* With batch clipping features depend on whole batches: rows can only be added or made again by the batch. */
static lt_status check_batches(const lt_generator *g, int64_t old_rows)
{
    int64_t b = g->c->batch_size, n = LT_MIN(old_rows, g->plan.rows);
    if (!g->c->features.clip_batch) return LT_OK;
    bool split = old_rows < g->plan.rows && old_rows % b;
    for (int64_t r = 0; r < n; r++) split = split || is_made_again(g, r) != is_made_again(g, r / b * b);
    return split ? LT_FAIL(LT_ERR_ARGUMENT, "engine.clip is batch: rows can be added or made again by whole batches of %" PRId64 " only", b) : LT_OK;
}

static lt_status check_rows(const lt_generator *g)
{
    int64_t n = 0;
    if (!g->opt->end_row) return LT_OK;
    for (int64_t r = 0; r < g->plan.rows; r++) n += is_made_again(g, r);
    return n ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "rows %" PRId64 ":%" PRId64 ": the dataset has none of them, it has rows below %" PRId64, g->opt->first_row, g->opt->end_row,
                               g->c->total_samples);
}

static lt_status check_finished(const lt_generator *g, const lt_dataset_info *old)
{
    int64_t missing = old->status[LT_RUN_PENDING] + old->status[LT_RUN_LOST];
    if (!missing && !lt_journal_exists(g->c->output_path)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: is unfinished, %" PRId64 " of its %" PRId64 " rows are missing: finish it first, with the total_samples it was begun with (--resume)", g->c->output_path,
                   missing, old->rows);
}

lt_status lt_generator_grow(lt_generator *g, lt_store_claim *claim, const lt_file_content *content)
{
    lt_dataset_info old = lt_dataset_get_info(g->old);
    size_t bytes = strlen(g->c->record_json) + 256;
    char *identity = NULL;
    lt_status s = check_finished(g, &old);
    if (!s) s = check_rows(g);
    if (!s) s = check_batches(g, old.rows);
    if (!s && !(identity = lt_malloc(bytes))) s = LT_ERR_MEMORY;
    if (s) {
        lt_store_claim_release(claim);
        return s;
    }
    snprintf(identity, bytes, "grow %s %s %s %" PRId64 ":%" PRId64 " %s", lt_dataset_engine(), lt_precision_name(g->info->precision),
             lt_dataset_file_stamp(g->c->output_path).s, g->opt->first_row, g->opt->end_row, g->c->record_json);
    g->plan.rows_on_the_way = LT_MAX(g->plan.rows_on_the_way, 16);
    s = lt_dataset_file_rewrite(claim, content, &g->plan, identity, &g->store);
    lt_free(identity);
    return s;
}

/* ---- Rows that the old file has -------------------------------------------------------------------------------- */

static bool is_copied(const lt_generator *g, int64_t row) { return !is_made_again(g, row) && !lt_store_row_done(g->store, row); }

static lt_status copy_rows(lt_generator *g, lt_row_copy *c, lt_row_reader *from, const lt_row_status *status)
{
    int64_t n_old = lt_dataset_get_info(from->d).rows, to[LT_COPY_ROWS];
    for (int64_t first = 0, n; first < n_old; first += LT_MAX(n, (int64_t)1)) {
        if (g->opt->stop && *g->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        for (n = 0; n < c->most && first + n < n_old && is_copied(g, first + n); n++) to[n] = first + n;
        if (n) LT_TRY(lt_row_copy_run(c, from, status, first, (int)n, to));
        for (int64_t k = 0; k < n; k++) g->given[first + k] = true;
    }
    return LT_OK;
}

lt_status lt_generator_copy_rows(lt_generator *g)
{
    lt_row_reader from = { .d = g->old };
    lt_row_status status = { 0 };
    lt_row_copy copy = { 0 };
    if (!g->old) return LT_OK;
    lt_dataset_info old = lt_dataset_get_info(g->old);
    lt_status s = (g->given = lt_calloc((size_t)g->plan.rows, sizeof *g->given)) ? lt_row_status_read(g->old, &status) : LT_ERR_MEMORY;
    if (!s) s = lt_row_copy_check(g->c->output_path, &old, &status, &g->plan);
    if (!s) s = lt_row_copy_open(g->store, &g->plan, &copy);
    if (!s) s = copy_rows(g, &copy, &from, &status);
    lt_row_copy_close(&copy);
    lt_row_reader_close(&from);
    lt_row_status_release(&status);
    return s;
}
