/* One operator of a dataset: rollout, features, row handed to the writer; again where the device failed under it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/operator.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/rollout/device/device.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

enum { TRIES_AGAIN = 2 }; /* in this process: by the same rollout, by another */

static const lt_operator_spec *spec_of(const lt_operator_run *o) { return &o->g->rows.spec[o->row]; }

/* ---- States ------------------------------------------------------------------------------------------------ */

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    lt_operator_run *o = ctx;
    lt_generator *g = o->g;
    if (g->opt->stop && *g->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    int64_t start = lt_clock_ns();
    if (o->measured) LT_TRY(lt_device_features_push(o->measured, o->stream, t));
    else if (o->stream) LT_TRY(lt_feature_stream_push(o->stream, t, states, failed));
    if (o->learned) LT_TRY(lt_learned_push(o->learned, t, states, failed));
    g->feature_seconds += lt_seconds_since(start);
    o->steps = t + 1;
    if (g->beat) g->beat(g->beat_ctx, o->row, t);
    if (!g->plan.outputs || !o->out) return LT_OK;
    start = lt_clock_ns();
    lt_status s = lt_store_row_step(g->store, o->out, states, spec_of(o)->grid);
    g->storage_seconds += lt_seconds_since(start);
    return s;
}

/* Fills the states that a failed run did not reach with NaN, so that the row keeps its size. */
static lt_status fill_steps(lt_operator_run *o)
{
    lt_generator *g = o->g;
    int grid = spec_of(o)->grid;
    size_t n = (size_t)g->plan.realizations * LT_FIELD_CHANNELS * (size_t)grid * (size_t)grid;
    if (!g->plan.outputs || o->steps >= g->plan.steps) return LT_OK;
    float *nothing = lt_malloc(n * sizeof *nothing);
    if (!nothing) return LT_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) nothing[i] = NAN;
    lt_status s = LT_OK;
    for (; o->steps < g->plan.steps && !s; o->steps++) s = lt_store_row_step(g->store, o->out, nothing, grid);
    lt_free(nothing);
    return s;
}

/* ---- Rollout ------------------------------------------------------------------------------------------------ */

/* Faults of one operator mark its row and the run goes on; anything else ends it. */
static bool is_operators_own(lt_status s) { return s == LT_ERR_NUMERIC || s == LT_ERR_DEVICE || s == LT_ERR_MISMATCH; }

/* Takes an empty row and an empty feature stream. */
static lt_status take_row_and_stream(lt_operator_run *o)
{
    lt_generator *g = o->g;
    int64_t start = lt_clock_ns();
    lt_status s = lt_store_row_done(g->store, o->row) ? LT_OK : lt_store_row_take(g->store, o->row, &o->out);
    g->info->storage_seconds += lt_seconds_since(start);
    if (!s && (g->plan.temporal_columns || g->plan.summary_columns)) s = lt_row_features_take(&g->features, spec_of(o)->grid, &o->stream);
    return s;
}

static void give_places(lt_operator_run *o)
{
    if (o->out) lt_store_row_drop(o->g->store, o->out);
    if (o->stream) lt_row_features_give(&o->g->features, spec_of(o)->grid, o->stream);
    o->out = NULL;
    o->stream = NULL;
}

/* Features and files that need no states leave them on the device. */
static lt_status start_rollout(lt_operator_run *o)
{
    lt_generator *g = o->g;
    lt_rollout *r = o->ready->rollout;
    if (!r) {
        lt_error_set(o->ready->why);
        return o->ready->failure;
    }
    o->learned = o->out ? g->features.learned : NULL;
    o->measured = o->stream ? lt_rollout_cache_features(g->cache, r) : NULL;
    LT_TRY(lt_rollout_set_operator(r, spec_of(o), o->ready->weights));
    if (o->learned) LT_TRY(lt_learned_begin(o->learned, spec_of(o), o->ready->weights));
    bool stay = (o->measured || !o->stream) && !o->learned && !(g->plan.outputs && o->out);
    if (lt_rollout_cache_has_device(g->cache)) LT_TRY(lt_rollout_keep_states(r, stay));
    return lt_rollout_start(r, o->ready->field, -1, take_state, o);
}

static void note_reason(lt_operator_run *o)
{
    if (!o->why[0]) snprintf(o->why, sizeof o->why, "%.150s", lt_error_text());
}

/* Starts the rollout when row and feature stream are ready. */
static lt_status start(lt_operator_run *o)
{
    lt_generator *g = o->g;
    int64_t begin = lt_clock_ns();
    o->steps = 0;
    o->ended = false;
    o->failure = LT_OK;
    o->why[0] = 0;
    if (g->beat) g->beat(g->beat_ctx, o->row, -1);
    o->started = start_rollout(o);
    if (o->started) note_reason(o);
    g->info->inference_seconds += lt_seconds_since(begin);
    return is_operators_own(o->started) ? LT_OK : o->started;
}

lt_status lt_operator_run_start(lt_generator *g, lt_ready *ready, lt_operator_run *o)
{
    *o = (lt_operator_run){ .g = g, .ready = ready, .row = ready->row };
    LT_TRY(take_row_and_stream(o));
    return start(o);
}

static void note_failure(lt_operator_run *o, lt_status s, double seconds)
{
    note_reason(o);
    o->failure = s;
    o->result = (lt_rollout_result){ .size = sizeof(lt_rollout_result), .status = s == LT_ERR_DEVICE ? LT_RUN_LOST : LT_RUN_FAILED, .step = o->steps, .seconds = seconds };
}

/* Computes the features that need all states. */
static lt_status end_features(lt_operator_run *o)
{
    lt_generator *g = o->g;
    if (o->failure) return LT_OK;
    if (o->stream) LT_TRY(lt_row_features_sensitivity(&g->features, spec_of(o), o->ready->weights, o->ready->field, g->rows.index[o->row], o->stream));
    return o->learned ? lt_learned_finish(o->learned, o->out->part[LT_PART_LEARNED]) : LT_OK;
}

lt_status lt_operator_run_end(lt_operator_run *o)
{
    lt_generator *g = o->g;
    if (o->ended) return LT_OK;
    lt_span span = lt_span_begin("operator");
    int64_t begin = lt_clock_ns();
    g->feature_seconds = g->storage_seconds = 0;
    o->ended = true;
    o->result.size = sizeof o->result;
    lt_status s = o->started ? o->started : lt_rollout_wait(o->ready->rollout, &o->result);
    if (is_operators_own(s)) {
        note_failure(o, s, lt_seconds_since(begin));
        s = LT_OK;
    }
    g->info->device_seconds += o->result.device_seconds;
    int64_t behind = lt_clock_ns();
    if (!s && (s = end_features(o)) == LT_ERR_DEVICE) {
        note_failure(o, s, lt_seconds_since(begin));
        s = LT_OK;
    }
    g->feature_seconds += lt_seconds_since(behind);
    g->info->inference_seconds += lt_seconds_since(begin) - g->feature_seconds - g->storage_seconds;
    g->info->feature_seconds += g->feature_seconds;
    g->info->storage_seconds += g->storage_seconds;
    if (o->ready->rollout) g->info->total_flops += lt_rollout_get_info(o->ready->rollout).flops * (double)LT_MAX(g->plan.steps - 1, 1);
    lt_span_end(span);
    return s;
}

/* ---- Again --------------------------------------------------------------------------------------------------- */

lt_status lt_operator_run_check_device(const lt_operator_run *o)
{
    lt_device *dev = o->g->opt->device;
    return lt_operator_run_is_lost(o) && dev ? lt_stream_sync(lt_device_stream(dev)) : LT_OK;
}

static lt_status run_once_more(lt_operator_run *o, bool anew)
{
    lt_generator *g = o->g;
    lt_ready *r = o->ready;
    give_places(o);
    LT_TRY(take_row_and_stream(o));
    if (anew || !r->rollout) r->failure = lt_rollout_cache_renew(g->cache, spec_of(o), &r->rollout);
    if (r->failure) snprintf(r->why, sizeof r->why, "%.150s", lt_error_text());
    if (r->failure && !is_operators_own(r->failure)) return r->failure;
    LT_TRY(start(o));
    return lt_operator_run_end(o);
}

lt_status lt_operator_run_again(lt_operator_run *o)
{
    lt_generate_info *info = o->g->info;
    lt_status s = LT_OK;
    if (!info->retry_reason[0]) snprintf(info->retry_reason, sizeof info->retry_reason, "operator %lld: %.120s", (long long)o->g->rows.index[o->row], o->why);
    lt_prefetch_hold(o->g->ahead);
    for (int i = 0; i < TRIES_AGAIN && !s && lt_operator_run_is_lost(o) && !lt_operator_run_check_device(o); i++) {
        info->retries++;
        s = run_once_more(o, i > 0);
    }
    lt_prefetch_resume(o->g->ahead);
    return s;
}

/* ---- Row ----------------------------------------------------------------------------------------------------- */

static lt_status fill_row(lt_operator_run *o, const float *field, lt_store_row *row)
{
    lt_generator *g = o->g;
    const float *unit = g->rows.unit + o->row * g->rows.parameters;
    int grid = spec_of(o)->grid;
    if (!o->failure) return lt_row_features_finish(&g->features, &g->plan, o->stream, unit, field, grid, row);
    LT_TRY(fill_steps(o));
    return lt_row_features_fail(&g->features, &g->plan, unit, field, grid, row);
}

lt_status lt_operator_run_finish(lt_operator_run *o, const float *field)
{
    lt_generator *g = o->g;
    int64_t begin = lt_clock_ns();
    lt_store_row *row = o->out;
    if (!row) return LT_OK;
    if (o->failure && !g->info->first_failure[0]) snprintf(g->info->first_failure, sizeof g->info->first_failure, "%s", o->why);
    lt_status s = fill_row(o, field, row);
    g->info->feature_seconds += lt_seconds_since(begin);
    o->out = NULL;
    if (!s) return lt_generator_put_row(g, row, &o->result);
    lt_store_row_drop(g->store, row);
    return s;
}

void lt_operator_run_release(lt_operator_run *o)
{
    if (!o->g) return;
    give_places(o);
    lt_free(o->field);
    *o = (lt_operator_run){ 0 };
}
