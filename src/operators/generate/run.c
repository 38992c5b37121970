/* Running the operators of a dataset: which run side by side, and in which order their rows are handed over.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/operator.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#include <stdlib.h>
#include <string.h>

static void report_progress(lt_generator *g)
{
    if (!g->opt->progress) return;
    lt_generate_progress p = { sizeof p, g->info->skipped + g->info->samples, g->plan.rows, g->info->samples * g->plan.steps };
    g->opt->progress(g->opt->progress_ctx, &p);
}

/* Keeps the LT_LOST_NAMED lowest row numbers, in whatever order rows are lost. */
static void note_lost(lt_generate_info *info, int64_t index)
{
    int64_t last = info->lost < LT_LOST_NAMED ? info->lost : LT_LOST_NAMED, at = last;
    while (at > 0 && info->lost_operators[at - 1] > index) at--;
    info->lost++;
    if (at == LT_LOST_NAMED) return;
    memmove(info->lost_operators + at + 1, info->lost_operators + at, (size_t)(LT_MIN(last, LT_LOST_NAMED - 1) - at) * sizeof index);
    info->lost_operators[at] = index;
}

lt_status lt_generator_put_row(lt_generator *g, lt_store_row *row, const lt_rollout_result *result)
{
    row->code = (uint8_t)result->status;
    row->step = (int32_t)result->step;
    row->seconds = g->opt->record_times ? (float)result->seconds : 0;
    if (!row->device[0]) memcpy(row->device, lt_generator_device(g), strnlen(lt_generator_device(g), sizeof row->device));
    g->info->samples++;
    g->info->realizations += g->plan.realizations;
    g->info->non_finite += result->status == LT_RUN_NON_FINITE;
    g->info->failed += result->status == LT_RUN_FAILED;
    if (result->status == LT_RUN_LOST) note_lost(g->info, g->rows.index[row->row]);
    int64_t start = lt_clock_ns();
    lt_status s = lt_store_row_put(g->store, row);
    g->info->storage_seconds += lt_seconds_since(start);
    report_progress(g);
    return s;
}

/* Takes the next operator from the prefetch thread. The wait counts as compiling and drawing, which is what it waited for. */
static lt_status next_operator(lt_generator *g, lt_ready **out)
{
    int64_t start = lt_clock_ns();
    LT_TRY(lt_prefetch_next(g->ahead, out));
    if (!*out) return LT_OK;
    double waited = lt_seconds_since(start), spent = (*out)->compile_seconds + (*out)->draw_seconds;
    double compiling = spent > 0 ? (*out)->compile_seconds / spent : 0;
    g->info->warmup_seconds += waited * compiling;
    g->info->input_seconds += waited * (1 - compiling);
    return LT_OK;
}

/* ---- The order of rows ----------------------------------------------------------------------------------- */

typedef struct scheduled { int64_t row; const lt_operator_spec *spec; } scheduled;

static int compare_scheduled(const void *a, const void *b)
{
    const scheduled *x = a, *y = b;
    int order = lt_architecture_compare(x->spec, y->spec);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static bool has_row(const lt_generator *g, int64_t row) { return lt_store_row_done(g->store, row) || (g->given && g->given[row]); }

/* With batch clipping a batch runs whole or not at all. */
static bool needs_run(const lt_generator *g, int64_t row)
{
    if (!g->c->features.clip_batch) return !has_row(g, row);
    int64_t first = row / g->c->batch_size * g->c->batch_size, last = LT_MIN(first + g->c->batch_size, g->plan.rows);
    for (int64_t r = first; r < last; r++)
        if (!has_row(g, r)) return true;
    return false;
}

/* Orders pending rows, window by window (decision 63). Inside a window, rows of one architecture are neighbours where possible. A window ends with a
   slab, so that few rows wait in the journal. */
lt_status lt_generator_schedule(lt_generator *g)
{
    int64_t k = g->plan.chunk_rows, n = g->plan.rows, batch = LT_MIN(g->c->batch_size, n); /* a batch may be any number */
    int64_t window = g->c->features.clip_batch ? batch : (batch + k - 1) / k * k;
    g->order = lt_malloc((size_t)n * sizeof *g->order);
    scheduled *list = lt_malloc((size_t)LT_MIN(window, n) * sizeof *list);
    lt_status s = g->order && list ? LT_OK : LT_ERR_MEMORY;
    for (int64_t first = 0; first < n && !s; first += window) {
        int64_t count = 0;
        for (int64_t r = first; r < LT_MIN(first + window, n); r++)
            if (needs_run(g, r)) list[count++] = (scheduled){ r, &g->rows.spec[r] };
        qsort(list, (size_t)count, sizeof *list, compare_scheduled);
        for (int64_t i = 0; i < count; i++) g->order[g->n_order++] = list[i].row;
    }
    lt_free(list);
    return s;
}

/* ---- Several at once ------------------------------------------------------------------------------------ */

/* Small steps do not fill a GPU, so several operators run side by side; with two the GPU never waits for the host (decision 76). The CPU runs one
   operator at a time, and so does a run with learned features, which keep maps of the network. Rows do not depend on this. */
static int at_once(const lt_generator *g, const lt_ready *ready)
{
    if (!lt_rollout_cache_has_device(g->cache) || g->features.learned || !ready->rollout) return 1;
    if (g->opt->at_once) return LT_MIN(g->opt->at_once, LT_MOST_AT_ONCE);
    return lt_rollout_get_info(ready->rollout).flops < LT_SMALL_DEVICE_STEP_FLOPS ? LT_MOST_AT_ONCE : 2;
}

typedef struct queue { lt_operator_run *at[LT_MOST_AT_ONCE], memory[LT_MOST_AT_ONCE]; int n; lt_ready *next; bool no_more; } queue;

/* Tries the operator alone: those beside it end first and are handed over in turn. */
static lt_status try_alone(queue *q, lt_operator_run *o)
{
    for (int i = 0; i < q->n; i++) LT_TRY(lt_operator_run_end(q->at[i]));
    return lt_operator_run_again(o);
}

/* Returns the operator to the prefetch thread in any case. One that lost its device is written as lost, and the run ends. */
static lt_status end_operator(queue *q, lt_operator_run *o, lt_status s)
{
    lt_generator *g = o->g;
    lt_ready *ready = o->ready;
    if (!s) s = lt_operator_run_end(o);
    if (!s && lt_operator_run_is_lost(o)) s = try_alone(q, o);
    if (!s) s = lt_operator_run_finish(o, ready->field);
    if (!s) s = lt_operator_run_check_device(o);
    lt_operator_run_release(o);
    lt_prefetch_done(g->ahead, ready);
    return s;
}

/* Starts as many operators as may run side by side. Waits for the prefetch thread only when nothing is running. */
static lt_status fill_queue(lt_generator *g, queue *q)
{
    while (q->n < LT_MOST_AT_ONCE && !q->no_more) {
        if (!q->next && q->n > 0 && !lt_prefetch_ready(g->ahead)) return LT_OK;
        if (!q->next) LT_TRY(next_operator(g, &q->next));
        q->no_more = !q->next;
        if (q->no_more || q->n >= at_once(g, q->next)) return LT_OK;
        lt_operator_run *o = q->at[q->n];
        lt_status s = lt_operator_run_start(g, q->next, o);
        q->next = NULL;
        if (s) return end_operator(q, o, s);
        q->n++;
    }
    return LT_OK;
}

/* Ends the oldest and moves the others up. */
static lt_status end_oldest(queue *q)
{
    lt_operator_run *first = q->at[0];
    lt_status s = end_operator(q, first, LT_OK);
    memmove((void *)q->at, (void *)(q->at + 1), (LT_MOST_AT_ONCE - 1) * sizeof *q->at);
    q->at[LT_MOST_AT_ONCE - 1] = first;
    q->n--;
    return s;
}

/* After a failure: waits for what the device still computes, and drops the rows. */
static void abandon(lt_generator *g, queue *q)
{
    char text[LT_ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "%s", lt_error_text());
    for (int i = 0; i < q->n; i++) { /* in order, as the prefetch thread expects them back */
        lt_operator_run *o = q->at[i];
        if (!o->started && !o->ended) (void)lt_rollout_wait(o->ready->rollout, NULL);
        (void)end_operator(q, o, LT_ERR_CANCELLED);
    }
    if (q->next) lt_prefetch_done(g->ahead, q->next);
    lt_error_set(text);
}

static lt_status run_queue(lt_generator *g)
{
    queue q = { .n = 0 };
    lt_status s = LT_OK;
    for (int i = 0; i < LT_MOST_AT_ONCE; i++) q.at[i] = &q.memory[i];
    for (;;) {
        s = lt_generator_stopped(g) ? LT_FAIL(LT_ERR_CANCELLED, "stopped") : fill_queue(g, &q);
        if (s || q.n == 0) break;
        if ((s = end_oldest(&q))) break;
    }
    if (s) abandon(g, &q);
    return s;
}

/* ---- engine.clip: batch ------------------------------------------------------------------------------- */

/* The bounds of a batch need all its operators: when one is lost, the others are lost with it. */
static void lose_with(lt_operator_run *batch, int n)
{
    const lt_operator_run *lost = NULL;
    for (int i = 0; i < n; i++)
        if (lt_operator_run_is_lost(&batch[i])) lost = &batch[i];
    for (int i = 0; i < n && lost; i++) {
        if (lt_operator_run_is_lost(&batch[i])) continue;
        batch[i].failure = LT_ERR_DEVICE;
        batch[i].result.status = LT_RUN_LOST;
        snprintf(batch[i].why, sizeof batch[i].why, "%s", lost->why);
    }
}

/* Clips the features of a batch together, as Spinlock does: all its operators run first. */
static lt_status finish_batch(lt_operator_run *batch, int n)
{
    lt_feature_stream **streams = lt_malloc((size_t)n * sizeof *streams);
    if (!streams) return LT_ERR_MEMORY;
    int n_streams = 0;
    lose_with(batch, n);
    for (int i = 0; i < n; i++)
        if (batch[i].stream && !batch[i].failure) streams[n_streams++] = batch[i].stream;
    lt_status s = n_streams ? lt_feature_clip_batch(streams, n_streams) : LT_OK;
    lt_free((void *)streams);
    for (int i = 0; i < n && !s; i++) s = lt_operator_run_finish(&batch[i], batch[i].field);
    return s;
}

static lt_status run_in_batch(lt_generator *g, lt_ready *ready, lt_operator_run *o)
{
    int grid = g->rows.spec[ready->row].grid;
    size_t bytes = sizeof(float) * LT_FIELD_CHANNELS * (size_t)grid * (size_t)grid;
    LT_TRY(lt_operator_run_start(g, ready, o));
    LT_TRY(lt_operator_run_end(o));
    if (lt_operator_run_is_lost(o)) LT_TRY(lt_operator_run_again(o));
    if (!(o->field = lt_malloc(bytes))) return LT_ERR_MEMORY;
    memcpy(o->field, ready->field, bytes);
    return lt_operator_run_check_device(o);
}

static lt_status run_batches(lt_generator *g)
{
    int size = (int)LT_MIN(g->c->batch_size, g->n_order), n = 0;
    lt_operator_run *batch = lt_calloc((size_t)size, sizeof *batch);
    if (!batch) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int64_t i = 0; i < g->n_order && !s; i++) {
        lt_ready *ready;
        if ((s = next_operator(g, &ready))) break;
        s = run_in_batch(g, ready, &batch[n++]);
        lt_prefetch_done(g->ahead, ready);
        bool last = i + 1 == g->n_order || g->order[i + 1] / g->c->batch_size != g->order[i] / g->c->batch_size;
        if (!s && last) s = finish_batch(batch, n);
        if (last || s)
            while (n > 0) lt_operator_run_release(&batch[--n]);
    }
    lt_free(batch);
    return s;
}

lt_status lt_generator_run(lt_generator *g) { return g->c->features.clip_batch ? run_batches(g) : run_queue(g); }
