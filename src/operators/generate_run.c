/* Running the operators of a dataset: rollout, features, row handed to the writer.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double since(int64_t start) { return 1e-9 * (double)(lt_clock_ns() - start); }
static bool stopped(const lt_generator *g) { return g->opt->stop && *g->opt->stop; }

/* An operator whose rollout is done: its row, and its features until they are finished. */
typedef struct finished {
    int64_t            row;           /* of the table */
    lt_feature_stream *stream;
    lt_store_row      *out;
    float             *field;         /* a copy when finishing waits for the batch */
    lt_rollout_result  result;
    lt_status          failure;
} finished;

typedef struct sink_context { lt_generator *g; finished *f; int grid; int64_t steps; lt_learned *learned; } sink_context;

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    sink_context *k = ctx;
    lt_generator *g = k->g;
    if (stopped(g)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    int64_t start = lt_clock_ns();
    if (k->f->stream) LT_TRY(lt_feature_stream_push(k->f->stream, t, states, failed));
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

static lt_status roll_out(lt_generator *g, lt_ready *ready, finished *f)
{
    const lt_operator_spec *spec = &g->rows.spec[ready->row];
    sink_context k = { g, f, spec->grid, 0, f->out ? g->features.learned : NULL };
    lt_span span = lt_span_begin("operator");
    int64_t start = lt_clock_ns();
    g->feature_seconds = g->storage_seconds = 0;
    if (g->beat) g->beat(g->beat_ctx, ready->row, -1);
    lt_status s = lt_rollout_set_operator(ready->rollout, spec, ready->weights);
    if (!s && k.learned) s = lt_learned_begin(k.learned, spec, ready->weights);
    if (!s) s = lt_rollout_run(ready->rollout, ready->field, -1, take_state, &k, &f->result);
    if (is_operators_own(s)) {
        f->failure = s;
        f->result = (lt_rollout_result){ .status = LT_RUN_FAILED, .step = k.steps, .seconds = since(start) };
        if (!g->info->first_failure[0]) snprintf(g->info->first_failure, sizeof g->info->first_failure, "%s", lt_error_text());
        s = fill_steps(g, &k);
    }
    int64_t behind = lt_clock_ns();
    if (!s && !f->failure && f->stream)
        s = lt_feature_lane_sensitivity(&g->features, spec, ready->weights, ready->field, g->rows.index[ready->row], f->stream);
    if (!s && !f->failure && k.learned) s = lt_learned_finish(k.learned, f->out->part[LT_PART_LEARNED]);
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
    row->seconds = (float)result->seconds;
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

static lt_status run_one(lt_generator *g, lt_ready *ready)
{
    finished f;
    lt_status s = begin_operator(g, ready->row, &f);
    if (!s) s = roll_out(g, ready, &f);
    if (!s) s = finish_row(g, &f, ready->field);
    release_finished(g, &f);
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
    return roll_out(g, ready, f);
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

lt_status lt_generator_run(lt_generator *g)
{
    if (g->c->features.clip_batch) return run_batches(g);
    for (;;) {
        lt_ready *ready;
        if (stopped(g)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        LT_TRY(next_operator(g, &ready));
        if (!ready) return LT_OK;
        lt_status s = run_one(g, ready);
        lt_lane_ahead_done(g->ahead, ready);
        LT_TRY(s);
    }
}
