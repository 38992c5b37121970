/* Running the operators of a dataset: rollout, features, row handed to the writer.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/remote/remote.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double since(int64_t start) { return 1e-9 * (double)(lt_clock_ns() - start); }
static bool stopped(const lt_generator *g) { return g->opt->stop && *g->opt->stop; }

/* An operator that runs or is done: its row, and its features until they are finished. */
typedef struct finished {
    int64_t            row;           /* of the table */
    lt_feature_stream *stream;
    lt_store_row      *out;
    float             *field;         /* a copy when finishing waits for the batch */
    lt_rollout_result  result;
    lt_status          started, failure; /* of the rollout's start; of the operator, once that is known */
} finished;

typedef struct sink_context {
    lt_generator       *g;
    finished           *f;
    int                 grid;
    int64_t             steps;
    lt_learned         *learned;
    lt_remote_features *measured;      /* features are measured on the device; NULL: here, from the states */
} sink_context;

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    sink_context *k = ctx;
    lt_generator *g = k->g;
    if (stopped(g)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    int64_t start = lt_clock_ns();
    if (k->measured) LT_TRY(lt_remote_features_push(k->measured, k->f->stream, t));
    else if (k->f->stream) LT_TRY(lt_feature_stream_push(k->f->stream, t, states, failed));
    if (k->learned) LT_TRY(lt_learned_push(k->learned, t, states, failed));
    g->feature_seconds += since(start);
    k->steps = t + 1;
    if (g->beat) g->beat(g->beat_ctx, k->f->row, t);
    if (!g->plan.outputs || !k->f->out) return LT_OK;
    start = lt_clock_ns();
    lt_status s = lt_store_row_step(g->store, k->f->out, states, k->grid);
    g->storage_seconds += since(start);
    return s;
}

/* The states a failed run did not reach: not a number, so that the row keeps its size. */
static lt_status fill_steps(lt_generator *g, sink_context *k)
{
    size_t n = (size_t)g->plan.realizations * LT_FIELD_CHANNELS * (size_t)k->grid * (size_t)k->grid;
    if (!g->plan.outputs || !k->f->out || k->steps >= g->plan.steps) return LT_OK;
    float *nothing = lt_malloc(n * sizeof *nothing);
    if (!nothing) return LT_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) nothing[i] = NAN;
    lt_status s = LT_OK;
    for (; k->steps < g->plan.steps && !s; k->steps++) s = lt_store_row_step(g->store, k->f->out, nothing, k->grid);
    lt_free(nothing);
    return s;
}

/* Faults of one operator mark its row and the run goes on; anything else ends it. */
static bool is_operators_own(lt_status s) { return s == LT_ERR_NUMERIC || s == LT_ERR_DEVICE || s == LT_ERR_MISMATCH; }

/* Features and files that need no states leave them on the device. */
static lt_status start_rollout(lt_generator *g, lt_ready *ready, finished *f, sink_context *k)
{
    const lt_operator_spec *spec = &g->rows.spec[ready->row];
    int64_t start = lt_clock_ns();
    *k = (sink_context){ g, f, spec->grid, 0, f->out ? g->features.learned : NULL, NULL };
    if (g->beat) g->beat(g->beat_ctx, ready->row, -1);
    if (f->stream) k->measured = lt_rollout_cache_features(g->cache, ready->rollout);
    lt_status s = lt_rollout_set_operator(ready->rollout, spec, ready->weights);
    if (!s && k->learned) s = lt_learned_begin(k->learned, spec, ready->weights);
    if (!s && lt_rollout_cache_is_remote(g->cache))
        s = lt_rollout_keep_states(ready->rollout, (k->measured || !f->stream) && !k->learned && !(g->plan.outputs && f->out));
    if (!s) s = lt_rollout_start(ready->rollout, ready->field, -1, take_state, k);
    f->started = s;
    g->info->inference_seconds += since(start);
    return is_operators_own(s) ? LT_OK : s;
}

/* A fault may have taken the device along: then the operators to come would all fail for no fault of theirs. */
static lt_status check_device(const lt_generator *g, const finished *f)
{
    if (f->failure != LT_ERR_DEVICE || !g->opt->device) return LT_OK;
    return lt_stream_sync(lt_device_stream(g->opt->device));
}

static void note_failure(lt_generator *g, sink_context *k, lt_status s, double seconds)
{
    k->f->failure = s;
    k->f->result = (lt_rollout_result){ .status = LT_RUN_FAILED, .step = k->steps, .seconds = seconds };
    if (!g->info->first_failure[0]) snprintf(g->info->first_failure, sizeof g->info->first_failure, "%s", lt_error_text());
}

static lt_status end_rollout(lt_generator *g, lt_ready *ready, finished *f, sink_context *k)
{
    const lt_operator_spec *spec = &g->rows.spec[ready->row];
    lt_span span = lt_span_begin("operator");
    int64_t start = lt_clock_ns();
    g->feature_seconds = g->storage_seconds = 0;
    lt_status s = f->started ? f->started : lt_rollout_wait(ready->rollout, &f->result);
    if (is_operators_own(s)) {
        note_failure(g, k, s, since(start));
        s = fill_steps(g, k);
    }
    g->info->device_seconds += f->result.device_seconds;
    int64_t behind = lt_clock_ns();
    if (!s && !f->failure && f->stream)
        s = lt_feature_lane_sensitivity(&g->features, spec, ready->weights, ready->field, g->rows.index[ready->row], f->stream);
    if (!s && !f->failure && k->learned) s = lt_learned_finish(k->learned, f->out->part[LT_PART_LEARNED]);
    g->feature_seconds += since(behind);
    g->info->inference_seconds += since(start) - g->feature_seconds - g->storage_seconds;
    g->info->feature_seconds += g->feature_seconds;
    g->info->storage_seconds += g->storage_seconds;
    g->info->total_flops += lt_rollout_get_info(ready->rollout).flops * (double)LT_MAX(g->plan.steps - 1, 1);
    lt_span_end(span);
    return s;
}

static void tell_progress(lt_generator *g)
{
    if (!g->opt->progress) return;
    lt_generate_progress p = { g->info->skipped + g->info->samples, g->plan.rows, g->info->samples * g->plan.steps };
    g->opt->progress(g->opt->progress_ctx, &p);
}

lt_status lt_generator_put_row(lt_generator *g, lt_store_row *row, const lt_rollout_result *result)
{
    row->code = (uint8_t)result->status;
    row->step = (int32_t)result->step;
    row->seconds = g->opt->record_times ? (float)result->seconds : 0;
    g->info->samples++;
    g->info->realizations += g->plan.realizations;
    g->info->non_finite += result->status == LT_RUN_NON_FINITE;
    g->info->failed += result->status == LT_RUN_FAILED;
    int64_t start = lt_clock_ns();
    lt_status s = lt_store_row_put(g->store, row);
    g->info->storage_seconds += since(start);
    tell_progress(g);
    return s;
}

/* Features to their arrays, the row to the writer. The row is gone afterwards, whatever happens. */
static lt_status finish_row(lt_generator *g, finished *f, const float *field)
{
    const lt_operator_spec *spec = &g->rows.spec[f->row];
    const float *unit = g->rows.unit + f->row * g->rows.parameters;
    int64_t start = lt_clock_ns();
    lt_store_row *row = f->out;
    if (!row) return LT_OK; /* in the file already: it ran for the sake of its batch */
    f->out = NULL;
    lt_status s = f->failure ? lt_feature_lane_fail(&g->features, &g->plan, unit, field, spec->grid, row)
                             : lt_feature_lane_finish(&g->features, &g->plan, f->stream, unit, field, spec->grid, row);
    g->info->feature_seconds += since(start);
    if (s) {
        lt_store_row_drop(g->store, row);
        return s;
    }
    return lt_generator_put_row(g, row, &f->result);
}

/* Takes the next operator from the lane; the wait counts as compiling and drawing, as it was spent. */
static lt_status next_operator(lt_generator *g, lt_ready **out)
{
    int64_t start = lt_clock_ns();
    LT_TRY(lt_lane_ahead_next(g->ahead, out));
    if (!*out) return LT_OK;
    double waited = since(start), spent = (*out)->compile_seconds + (*out)->draw_seconds;
    double compiling = spent > 0 ? (*out)->compile_seconds / spent : 0;
    g->info->warmup_seconds += waited * compiling;
    g->info->input_seconds += waited * (1 - compiling);
    return LT_OK;
}

static lt_status begin_operator(lt_generator *g, int64_t row, finished *f)
{
    int64_t start = lt_clock_ns();
    *f = (finished){ .row = row };
    lt_status s = lt_store_row_done(g->store, row) ? LT_OK : lt_store_row_take(g->store, row, &f->out);
    g->info->storage_seconds += since(start);
    if (!s && (g->plan.temporal_columns || g->plan.summary_columns)) s = lt_feature_lane_take(&g->features, g->rows.spec[row].grid, &f->stream);
    return s;
}

static void release_finished(lt_generator *g, finished *f)
{
    if (f->out) lt_store_row_drop(g->store, f->out);
    if (f->stream) lt_feature_lane_give(&g->features, g->rows.spec[f->row].grid, f->stream);
    lt_free(f->field);
    *f = (finished){ 0 };
}

/* ---- Several at once ------------------------------------------------------------------------------------ */

/* An operator whose rollout was started. */
typedef struct under_way { lt_ready *ready; finished f; sink_context k; } under_way;

/* A GPU is not filled by small steps, so that several run side by side; with two it never waits for the host. The
   CPU runs one, and so does everybody who keeps maps of the network. What a row holds does not depend on this. */
static int at_once(const lt_generator *g, const lt_ready *ready)
{
    if (!lt_rollout_cache_is_remote(g->cache) || g->features.learned) return 1;
    if (g->opt->at_once) return LT_MIN(g->opt->at_once, LT_MOST_AT_ONCE);
    return lt_rollout_get_info(ready->rollout).flops < LT_SMALL_DEVICE_STEP_FLOPS ? LT_MOST_AT_ONCE : 2;
}

static lt_status start_operator(lt_generator *g, under_way *u)
{
    lt_status s = begin_operator(g, u->ready->row, &u->f);
    return s ? s : start_rollout(g, u->ready, &u->f, &u->k);
}

/* The lane gets the operator back, whatever happens. One that lost its device is written as failed, and is the last. */
static lt_status end_operator(lt_generator *g, under_way *u, lt_status s)
{
    if (!s) s = end_rollout(g, u->ready, &u->f, &u->k);
    if (!s) s = finish_row(g, &u->f, u->ready->field);
    if (!s) s = check_device(g, &u->f);
    release_finished(g, &u->f);
    lt_lane_ahead_done(g->ahead, u->ready);
    return s;
}

typedef struct queue { under_way *at[LT_MOST_AT_ONCE]; under_way memory[LT_MOST_AT_ONCE]; int n; lt_ready *next; bool no_more; } queue;

/* Starts what fits beside those under way; waits for the lane only when nothing is under way. */
static lt_status fill_queue(lt_generator *g, queue *q)
{
    while (q->n < LT_MOST_AT_ONCE && !q->no_more) {
        if (!q->next && q->n > 0 && !lt_lane_ahead_ready(g->ahead)) return LT_OK;
        if (!q->next) LT_TRY(next_operator(g, &q->next));
        q->no_more = !q->next;
        if (q->no_more || q->n >= at_once(g, q->next)) return LT_OK;
        under_way *u = q->at[q->n];
        u->ready = q->next;
        q->next = NULL;
        lt_status s = start_operator(g, u);
        if (s) return end_operator(g, u, s);
        q->n++;
    }
    return LT_OK;
}

/* The oldest leaves; its place is the last one now. */
static lt_status end_oldest(lt_generator *g, queue *q)
{
    under_way *first = q->at[0];
    lt_status s = end_operator(g, first, LT_OK);
    memmove((void *)q->at, (void *)(q->at + 1), (LT_MOST_AT_ONCE - 1) * sizeof *q->at);
    q->at[LT_MOST_AT_ONCE - 1] = first;
    q->n--;
    return s;
}

/* After a failure: what the device still works on is waited for, its rows are dropped. */
static void abandon(lt_generator *g, queue *q)
{
    char text[LT_ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "%s", lt_error_text());
    for (int i = 0; i < q->n; i++) { /* in order: the lane's places are used in turn */
        under_way *u = q->at[i];
        if (!u->f.started) (void)lt_rollout_wait(u->ready->rollout, NULL);
        (void)end_operator(g, u, LT_ERR_CANCELLED);
    }
    if (q->next) lt_lane_ahead_done(g->ahead, q->next);
    lt_error_set(text);
}

static lt_status run_queue(lt_generator *g)
{
    queue q = { .n = 0 };
    lt_status s = LT_OK;
    for (int i = 0; i < LT_MOST_AT_ONCE; i++) q.at[i] = &q.memory[i];
    for (;;) {
        s = stopped(g) ? LT_FAIL(LT_ERR_CANCELLED, "stopped") : fill_queue(g, &q);
        if (s || q.n == 0) break;
        if ((s = end_oldest(g, &q))) break;
    }
    if (s) abandon(g, &q);
    return s;
}

/* ---- engine.clip: batch ------------------------------------------------------------------------------- */

/* The features of a batch are bounded together, as the reference does: all its operators run first. */
static lt_status finish_batch(lt_generator *g, finished *batch, int n)
{
    lt_feature_stream **streams = lt_malloc((size_t)n * sizeof *streams);
    if (!streams) return LT_ERR_MEMORY;
    int n_streams = 0;
    for (int i = 0; i < n; i++)
        if (batch[i].stream && !batch[i].failure) streams[n_streams++] = batch[i].stream;
    lt_status s = n_streams ? lt_feature_clip_batch(streams, n_streams) : LT_OK;
    lt_free((void *)streams);
    for (int i = 0; i < n && !s; i++) s = finish_row(g, &batch[i], batch[i].field);
    return s;
}

static lt_status run_in_batch(lt_generator *g, lt_ready *ready, finished *f)
{
    int grid = g->rows.spec[ready->row].grid;
    size_t bytes = sizeof(float) * LT_FIELD_CHANNELS * (size_t)grid * (size_t)grid;
    LT_TRY(begin_operator(g, ready->row, f));
    if (!(f->field = lt_malloc(bytes))) return LT_ERR_MEMORY;
    memcpy(f->field, ready->field, bytes);
    sink_context k;
    LT_TRY(start_rollout(g, ready, f, &k));
    LT_TRY(end_rollout(g, ready, f, &k));
    return check_device(g, f);
}

static lt_status run_batches(lt_generator *g)
{
    int size = (int)LT_MIN(g->c->batch_size, g->n_order), n = 0;
    finished *batch = lt_calloc((size_t)size, sizeof *batch);
    if (!batch) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int64_t i = 0; i < g->n_order && !s; i++) {
        lt_ready *ready;
        if ((s = next_operator(g, &ready))) break;
        s = run_in_batch(g, ready, &batch[n++]);
        lt_lane_ahead_done(g->ahead, ready);
        bool last = i + 1 == g->n_order || g->order[i + 1] / g->c->batch_size != g->order[i] / g->c->batch_size;
        if (!s && last) s = finish_batch(g, batch, n);
        if (last || s)
            while (n > 0) release_finished(g, &batch[--n]);
    }
    lt_free(batch);
    return s;
}

lt_status lt_generator_run(lt_generator *g) { return g->c->features.clip_batch ? run_batches(g) : run_queue(g); }
