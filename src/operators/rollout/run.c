/* Running rollouts: the loop over steps. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/rollout.h"

#include "base/callback.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/program/program.h"
#include "operators/rollout/device/device.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* One run. Realizations are those of the operator: first..first+n-1; slot i holds realization first+i. */
typedef struct run {
    lt_rollout *r;
    int64_t     first, n;
    int64_t     t;
    float      *from, *to;        /* states of the last step and of this one */
    int64_t     chunk, chunk_end; /* slots whose noise is drawn */
    _Atomic int64_t next;         /* slot to be taken by the next free lane */
} run;

/* ---- States ---------------------------------------------------------------------------------- */
bool lt_state_is_finite(const float *x, int64_t n)
{
    uint32_t worst = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint32_t magnitude = bits & 0x7fffffffu;
        worst = magnitude > worst ? magnitude : worst;
    }
    return worst < 0x7f800000u;
}

static void fill_nan(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = NAN;
}

static void minmax(float *x, int64_t n)
{
    float lo = x[0], hi = x[0];
    for (int64_t i = 1; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    float range = hi - lo;
    if (range > 1e-8f)
        for (int64_t i = 0; i < n; i++) x[i] = (x[i] - lo) / range;
}

static void zscore(float *x, int64_t n)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    double spread = sqrt(square / (double)LT_MAX(n - 1, 1)) + 1e-8;
    for (int64_t i = 0; i < n; i++) x[i] = (float)((x[i] - mean) / spread);
}

/* Post-processing of one realization's state. */
static void post_process(const lt_rollout_options *opt, float *x, int64_t n)
{
    if (opt->post == LT_POST_MINMAX) minmax(x, n);
    if (opt->post == LT_POST_ZSCORE) zscore(x, n);
    if (!opt->clamp) return;
    float lo = (float)opt->clamp_lo, hi = (float)opt->clamp_hi;
    for (int64_t i = 0; i < n; i++) x[i] = x[i] < lo ? lo : x[i] > hi ? hi : x[i];
}

/* A state that is not finite ends its realization. */
static void settle(run *q, int64_t slot)
{
    lt_rollout *r = q->r;
    float *x = q->to + slot * r->field;
    if (r->failed[slot] < 0 && lt_state_is_finite(x, r->field)) {
        post_process(&r->opt, x, r->field);
        return;
    }
    if (r->failed[slot] < 0) r->failed[slot] = q->t;
    fill_nan(x, r->field);
}

/* ---- One step ---------------------------------------------------------------------------------- */
typedef lt_status (*program_fn)(lt_program *p, const void *const *inputs, void *const *outputs);

static void set_arguments(run *q, int64_t slot, lt_step_lane *lane)
{
    lt_rollout *r = q->r;
    int64_t drawn = r->noise.whole_batch ? q->first + slot : slot - q->chunk;
    lane->input[LT_STEP_STATE] = q->from + slot * r->field;
    lane->input[LT_STEP_NOISE] = r->noise_block + drawn * r->noise.count;
    lane->input[LT_STEP_KEEP] = &r->policy[0];
    lane->input[LT_STEP_GAIN] = &r->policy[1];
}

/* Runs the program of a lane on a slot, or prepares its weights. */
static lt_status with_arguments(run *q, int64_t slot, lt_step_lane *lane, program_fn fn)
{
    set_arguments(q, slot, lane);
    return fn(lane->program, lane->input, (void *[]){ q->to + slot * q->r->field });
}

static lt_status advance(run *q, int64_t slot, lt_step_lane *lane)
{
    if (q->r->failed[slot] < 0) LT_TRY(with_arguments(q, slot, lane, lt_program_run));
    settle(q, slot);
    return LT_OK;
}

/* A lane takes slots until none is left. All lanes run the same program, so it does not matter which lane computes a slot. Inside a task of
   the pool a lane uses one thread, otherwise all of them. */
static lt_status lane_task(void *ctx, int64_t index, int worker)
{
    run *q = ctx;
    (void)worker;
    for (;;) {
        int64_t slot = atomic_fetch_add_explicit(&q->next, 1, memory_order_relaxed);
        if (slot >= q->chunk_end) return LT_OK;
        LT_TRY(advance(q, slot, &q->r->lane[index]));
    }
}

/* Runs as many active slots as there are lanes, one in each; *slot moves past the last. */
static lt_status run_abreast(run *q, int64_t *slot)
{
    lt_rollout *r = q->r;
    lt_program *program[LT_MOST_ABREAST];
    const void *const *input[LT_MOST_ABREAST];
    void *to[LT_MOST_ABREAST], *const *output[LT_MOST_ABREAST];
    int n = 0;
    int64_t first = *slot;
    for (; *slot < q->chunk_end && n < r->n_lanes; ++*slot) {
        if (r->failed[*slot] >= 0) continue;
        lt_step_lane *lane = &r->lane[n];
        set_arguments(q, *slot, lane);
        program[n] = lane->program, input[n] = lane->input;
        to[n] = q->to + *slot * r->field, output[n] = &to[n];
        n++;
    }
    if (n) LT_TRY(lt_program_run_abreast(program, n, input, output));
    for (int64_t i = first; i < *slot; i++) settle(q, i);
    return LT_OK;
}

static lt_status run_chunk(run *q)
{
    lt_rollout *r = q->r;
    int64_t last_t = LT_MAX(r->opt.steps - 1, 1);
    if (!r->noise.whole_batch)
        LT_TRY(lt_noise_draw(&r->noise, r->pool, q->t, last_t, q->first + q->chunk, q->chunk_end - q->chunk, r->noise_block));
    int64_t together = (q->chunk_end - q->chunk) / r->n_lanes * r->n_lanes, end = q->chunk_end;
    int64_t slot = q->chunk;
    while (r->abreast && slot < end) LT_TRY(run_abreast(q, &slot));
    if (r->abreast) return LT_OK;
    if (r->n_lanes > 1 && together) {
        q->chunk_end = q->chunk + together;
        LT_TRY(with_arguments(q, slot, &r->lane[0], lt_program_hold)); /* for all lanes, by all threads */
        atomic_store(&q->next, q->chunk);
        LT_TRY(lt_pool_run(r->pool, r->n_lanes, lane_task, q));
        slot = q->chunk_end;
        q->chunk_end = end;
    }
    /* The rest is computed one by one, with all threads: the same program and the same bits. */
    atomic_store(&q->next, slot);
    return r->limited ? lt_pool_run(r->pool, 1, lane_task, q) : lane_task(q, 0, 0);
}

static lt_status step(run *q)
{
    lt_rollout *r = q->r;
    lt_span span = lt_span_begin("rollout step");
    lt_status s = LT_OK;
    if (r->noise.whole_batch)
        s = lt_noise_draw(&r->noise, r->pool, q->t, LT_MAX(r->opt.steps - 1, 1), 0, r->opt.realizations, r->noise_block);
    for (int64_t at = 0; !s && at < q->n; at += r->info.micro_batch) {
        q->chunk = at;
        q->chunk_end = LT_MIN(q->n, at + r->info.micro_batch);
        s = run_chunk(q);
    }
    lt_span_end(span);
    return s;
}

/* ---- The loop ------------------------------------------------------------------------------------- */
static void start(run *q, const float *field)
{
    lt_rollout *r = q->r;
    for (int64_t i = 0; i < q->n; i++) {
        r->failed[i] = -1;
        memcpy(q->to + i * r->field, field, (size_t)r->field * sizeof *field);
    }
}

static lt_status show(const run *q, int64_t t)
{
    const lt_rollout *r = q->r;
    return r->run_sink ? lt_callback_status("rollout: the sink", r->run_sink(r->run_ctx, t, q->to, r->failed)) : LT_OK;
}

static lt_status run_steps(run *q, const float *field)
{
    lt_rollout *r = q->r;
    q->to = r->state[0];
    q->from = r->state[1];
    start(q, field);
    if (r->opt.steps == 1) { /* snapshot: the operator on the field, without policy */
        q->from = r->state[0], q->to = r->state[1];
        LT_TRY(step(q));
        return show(q, 0);
    }
    for (int64_t i = 0; i < q->n; i++) settle(q, i);
    LT_TRY(show(q, 0));
    for (q->t = 1; q->t < r->opt.steps; q->t++) {
        float *old = q->from;
        q->from = q->to, q->to = old;
        LT_TRY(step(q));
        LT_TRY(show(q, q->t));
    }
    return LT_OK;
}

lt_status lt_rollout_start(lt_rollout *r, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx)
{
    if (!r || !field) return LT_FAIL(LT_ERR_ARGUMENT, "lt_rollout_run: a rollout and a field are needed");
    if (!r->weights) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: no operator is set");
    if (realization < -1 || realization >= r->opt.realizations)
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: realization %lld: expected 0..%lld, or -1 for all", (long long)realization, (long long)(r->opt.realizations - 1));
    if (r->on_device) return lt_device_rollout_start(r->on_device, field, realization, sink, ctx);
    r->run_field = field;
    r->run_realization = realization;
    r->run_sink = sink;
    r->run_ctx = ctx;
    return LT_OK;
}

static lt_status finish(lt_rollout *r, lt_rollout_result *out)
{
    if (r->on_device) return lt_device_rollout_wait(r->on_device, out);
    run q = { .r = r, .first = LT_MAX(r->run_realization, 0), .n = r->run_realization < 0 ? r->opt.realizations : 1 };
    int64_t begin = lt_clock_ns();
    LT_TRY(run_steps(&q, r->run_field));
    *out = (lt_rollout_result){ .size = sizeof(lt_rollout_result), .status = LT_RUN_DONE, .step = r->opt.steps - 1, .seconds = lt_seconds_since(begin) };
    for (int64_t i = 0; i < q.n; i++) {
        if (r->failed[i] < 0) continue;
        out->status = LT_RUN_NON_FINITE;
        out->step = LT_MIN(out->step, r->failed[i]);
    }
    return LT_OK;
}

lt_status lt_rollout_wait(lt_rollout *r, lt_rollout_result *out)
{
    LT_NEED(r);
    lt_rollout_result result = { .size = sizeof result, .status = LT_RUN_FAILED };
    lt_status s = finish(r, &result); /* what was started ends, whatever the caller's struct */
    if (!s) s = LT_CHECK_SIZE(lt_rollout_result, out);
    LT_GIVE(out, &result);
    return s;
}

lt_status lt_rollout_run(lt_rollout *r, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx, lt_rollout_result *out)
{
    LT_TRY(LT_CHECK_SIZE(lt_rollout_result, out));
    lt_status s = lt_rollout_start(r, field, realization, sink, ctx);
    if (!s) return lt_rollout_wait(r, out);
    LT_GIVE(out, &(lt_rollout_result){ .size = sizeof(lt_rollout_result), .status = LT_RUN_FAILED });
    return s;
}
