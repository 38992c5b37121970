/* A stream of states turned into features: one state and a few numbers per step are all it keeps.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"
#include "operators/features/stream.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Making one --------------------------------------------------------------------- */
static lt_status make_workers(lt_feature_stream *f)
{
    size_t steps = (size_t)f->steps, distances = (size_t)lt_nonlinear_distances(&f->time);
    f->work = lt_arena_alloc(&f->arena, (size_t)f->n_workers * sizeof *f->work);
    f->time_work = lt_arena_alloc(&f->arena, (size_t)f->n_workers * sizeof *f->time_work);
    if (!f->work || !f->time_work) return LT_ERR_MEMORY;
    for (int i = 0; i < f->n_workers; i++) {
        LT_TRY(lt_field_work_create(f->plan, &f->work[i]));
        lt_time_work *w = &f->time_work[i];
        size_t scratch = f->time.fft ? f->time.fft->scratch_bytes / sizeof(double) + 8 : 0;
        double *block = lt_malloc_aligned((4 * steps + 2 + scratch + distances) * sizeof *block);
        if (!block) return LT_ERR_MEMORY;
        w->scratch = block; /* first: the only part that must be aligned */
        w->in = block + scratch;
        w->out = w->in + steps;
        w->a = w->out + steps + 2;
        w->b = w->a + steps;
        w->distance = w->b + steps;
    }
    return LT_OK;
}

static lt_status make_tracks(lt_feature_stream *f)
{
    int64_t n = f->realizations * f->channels;
    f->track = lt_arena_alloc(&f->arena, (size_t)n * sizeof *f->track);
    double *series = lt_arena_alloc(&f->arena, (size_t)(n * LT_SERIES_COUNT * f->steps) * sizeof *series);
    if (!f->track || !series) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < LT_SERIES_COUNT; k++) f->track[i].series[k] = series + (i * LT_SERIES_COUNT + k) * f->steps;
    return LT_OK;
}

static lt_status make_values(lt_feature_stream *f)
{
    const lt_feature_set *s = f->set;
    size_t n = (size_t)(f->realizations * f->channels), pixels = (size_t)f->plan->n;
    size_t columns = (size_t)s->of[LT_FAMILY_STEP].n, steps = (size_t)f->steps;
    f->before = lt_arena_alloc(&f->arena, n * pixels * sizeof *f->before);
    f->mi_bin = lt_arena_alloc(&f->arena, n * pixels);
    f->record = lt_arena_alloc(&f->arena, (size_t)f->realizations * sizeof *f->record);
    f->now = lt_arena_alloc(&f->arena, n * sizeof *f->now);
    f->last = lt_arena_alloc(&f->arena, n * sizeof *f->last);
    f->step = lt_arena_alloc(&f->arena, n * (size_t)s->n_slots[LT_FAMILY_STEP] * sizeof *f->step);
    f->run = lt_arena_alloc(&f->arena, n * (size_t)s->n_slots[LT_FAMILY_RUN] * sizeof *f->run);
    f->sensitivity = lt_arena_alloc(&f->arena, (size_t)lt_feature_sensitivity_count(s) * sizeof *f->sensitivity);
    f->failed = lt_arena_alloc(&f->arena, (size_t)f->realizations * sizeof *f->failed);
    f->flagged = lt_arena_alloc(&f->arena, n * sizeof *f->flagged);
    f->temporal = lt_arena_alloc(&f->arena, LT_MAX(steps * columns, 1) * sizeof *f->temporal);
    bool made = f->before && f->mi_bin && f->record && f->now && f->last && f->step && f->run && f->sensitivity && f->failed && f->flagged && f->temporal;
    if (!made) return LT_ERR_MEMORY;
    /* Values of one step are averaged as float32 in both cases, so clipping with no bound changes no bit. */
    size_t kept = s->opt.clip_batch ? steps : 1;
    f->raw = lt_arena_alloc(&f->arena, LT_MAX(kept * n * columns, 1) * sizeof *f->raw);
    return f->raw ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_feature_stream_create(const lt_feature_set *s, int64_t realizations, int64_t steps, int grid, lt_pool *pool,
                                   lt_feature_stream **out)
{
    *out = NULL;
    if (realizations < 1 || steps < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "features of %lld realizations and %lld steps: expected at least 1 of each",
                       (long long)realizations, (long long)steps);
    lt_feature_stream *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    f->set = f->time.set = s;
    f->pool = pool;
    f->realizations = realizations;
    f->steps = f->time.steps = steps;
    f->channels = s->channels;
    f->n_workers = pool ? lt_pool_threads(pool) : 1;
    lt_status status = lt_field_plan_create(s, grid, &f->plan);
    if (!status && steps > 1) status = lt_feature_fft_create(1, steps, &f->time.fft);
    if (!status) status = make_workers(f);
    if (!status) status = make_tracks(f);
    if (!status) status = make_values(f);
    if (status) {
        lt_feature_stream_destroy(f);
        return status;
    }
    *out = f;
    return LT_OK;
}

void lt_feature_stream_destroy(lt_feature_stream *f)
{
    if (!f) return;
    for (int i = 0; f->work && f->time_work && i < f->n_workers; i++) {
        lt_field_work_destroy(&f->work[i]);
        lt_free_aligned(f->time_work[i].scratch);
    }
    lt_field_plan_destroy(f->plan);
    lt_kernel_destroy(f->time.fft);
    lt_arena_release(&f->arena);
    lt_free(f);
}

void lt_feature_stream_reset(lt_feature_stream *f)
{
    size_t n = (size_t)(f->realizations * f->channels);
    for (size_t i = 0; i < n; i++) {
        memset(f->track[i].drift, 0, sizeof f->track[i].drift);
        f->track[i].flow = f->track[i].flow_anisotropy = 0;
    }
    memset(f->failed, 0, (size_t)f->realizations * sizeof *f->failed);
    memset(f->sensitivity, 0, (size_t)lt_feature_sensitivity_count(f->set) * sizeof *f->sensitivity);
    f->next = 0;
    f->summarised = false;
}

void lt_feature_stream_sensitivity(lt_feature_stream *f, const double *value)
{
    memcpy(f->sensitivity, value, (size_t)lt_feature_sensitivity_count(f->set) * sizeof *value);
}

/* ---- Series ----------------------------------------------------------------------------- */
static void follow(lt_drift *d, int64_t t, double value)
{
    if (t == 0) {
        *d = (lt_drift){ .first = value, .last = value };
        return;
    }
    double change = value - d->last, from_mean = change - d->mean;
    d->mean += from_mean / (double)t;
    d->m2 += from_mean * (change - d->mean);
    d->signs += (change > 0) - (change < 0);
    d->last = value;
}

static void extend_track(const lt_feature_stream *f, lt_track *track, int64_t t, const lt_channel *c)
{
    track->series[LT_SERIES_MEAN][t] = c->mean;
    track->series[LT_SERIES_ENERGY][t] = c->square;
    track->series[LT_SERIES_VARIANCE][t] = c->variance;
    for (int i = 0; i < f->set->opt.num_scales; i++) {
        const lt_norm_sums *n = &c->norm[i];
        follow(&track->drift[LT_INVARIANT_L1][i], t, n->abs);
        follow(&track->drift[LT_INVARIANT_L2][i], t, sqrt(n->square + 1e-8));
        follow(&track->drift[LT_INVARIANT_LINF][i], t, fmax(fabs((double)n->lo), fabs((double)n->hi)));
        follow(&track->drift[LT_INVARIANT_ENTROPY][i], t, c->entropy[i]);
        follow(&track->drift[LT_INVARIANT_TV][i], t, n->variation);
        follow(&track->drift[LT_INVARIANT_MASS][i], t, n->sum);
        follow(&track->drift[LT_INVARIANT_ENERGY][i], t, n->square);
        follow(&track->drift[LT_INVARIANT_GRADIENT_ENERGY][i], t, n->gradient);
    }
    if (t == 0) return;
    track->flow += sqrt(c->flow[0] * c->flow[0] + c->flow[1] * c->flow[1] + 1e-8);
    track->flow_anisotropy += fabs(c->flow[0]) / (fabs(c->flow[1]) + 1e-8);
}

/* ---- One step ------------------------------------------------------------------------------ */
typedef struct push_job { lt_feature_stream *f; int64_t t; const float *states; } push_job;

static double *step_values(lt_feature_stream *f, int64_t i) { return f->step + i * f->set->n_slots[LT_FAMILY_STEP]; }

/* Takes the record of channel i % C of realization i / C, measured on the host or on a device. */
static void take_channel(lt_feature_stream *f, int64_t t, int64_t i, const lt_channel_record *r)
{
    f->flagged[i] = !isfinite(r->range.sum);
    if (f->flagged[i]) return;
    lt_field_values(f->plan, r, t ? &f->last[i] : NULL, step_values(f, i), &f->now[i]);
    extend_track(f, &f->track[i], t, &f->now[i]);
}

static void average_channels(const lt_field_plan *p, const float *state, float *out)
{
    const float *a = state, *b = state + p->n, *c = state + 2 * p->n;
    for (int64_t i = 0; i < p->n; i++) out[i] = (float)(((double)a[i] + (double)b[i] + (double)c[i]) / LT_MAX_CHANNELS);
}

static lt_status push_channel(void *ctx, int64_t i, int worker)
{
    const push_job *j = ctx;
    lt_feature_stream *f = j->f;
    const lt_field_plan *p = f->plan;
    lt_field_work *w = &f->work[worker];
    int64_t m = i / f->channels;
    f->flagged[i] = false;
    if (f->failed[m]) return LT_OK;
    const float *state = j->states + m * LT_MAX_CHANNELS * p->n, *u = state + (i % f->channels) * p->n;
    if (f->channels == 1) {
        average_channels(p, state, w->average);
        u = w->average;
    }
    float *before = f->before + i * p->n;
    lt_channel_record *r = &f->record[m].channel[i % f->channels];
    bool finite = lt_field_measure(p, w, u, j->t ? before : NULL, r, f->mi_bin + i * p->n);
    take_channel(f, j->t, i, r);
    if (!finite) return LT_OK;
    if (f->set->wanted_extra) lt_extra_values(p, w, u, &f->now[i], step_values(f, i));
    memcpy(before, u, (size_t)p->n * sizeof *before);
    return LT_OK;
}

static lt_status push_realization(void *ctx, int64_t m, int worker)
{
    const push_job *j = ctx;
    lt_feature_stream *f = j->f;
    const float *state = j->states + m * LT_MAX_CHANNELS * f->plan->n;
    int64_t i = m * f->channels;
    if (f->failed[m]) return LT_OK;
    lt_state_measure(f->plan, state, f->mi_bin + i * f->plan->n, &f->record[m]);
    lt_channel_values(f->plan, &f->record[m], &f->now[i], step_values(f, i));
    if (f->set->stored[LT_F_COHERENCE]) lt_coherence_values(f->plan, &f->work[worker], state, step_values(f, i));
    return LT_OK;
}

static lt_status share_out(lt_feature_stream *f, int64_t n, lt_task task, void *ctx)
{
    if (f->pool) return lt_pool_run(f->pool, n, task, ctx);
    for (int64_t i = 0; i < n; i++) LT_TRY(task(ctx, i, 0));
    return LT_OK;
}

static float *raw_of(lt_feature_stream *f, int64_t t)
{
    int64_t size = f->realizations * f->channels * f->set->of[LT_FAMILY_STEP].n;
    return f->raw + (f->set->opt.clip_batch ? t * size : 0);
}

void lt_feature_average_step(lt_feature_stream *f, const float *value, float *row)
{
    const lt_feature_columns *columns = &f->set->of[LT_FAMILY_STEP];
    for (int k = 0; k < columns->n; k++) {
        bool each = lt_feature_row_of(columns->column[k].id)->axis == LT_AXIS_EACH;
        double sum = 0;
        int64_t n = 0;
        for (int64_t i = 0; i < f->realizations * f->channels; i++) {
            float v = value[i * columns->n + k];
            if ((!each && i % f->channels) || isnan(v)) continue;
            sum += (double)v;
            n++;
        }
        row[k] = n ? lt_feature_float(sum / (double)n) : NAN;
    }
}

static void store_step(lt_feature_stream *f, int64_t t)
{
    const lt_feature_columns *columns = &f->set->of[LT_FAMILY_STEP];
    int n_slots = f->set->n_slots[LT_FAMILY_STEP];
    float *raw = raw_of(f, t);
    for (int64_t i = 0; i < f->realizations * f->channels; i++)
        for (int k = 0; k < columns->n; k++) {
            double v = f->step[i * n_slots + columns->column[k].slot];
            raw[i * columns->n + k] = f->failed[i / f->channels] ? NAN : lt_feature_float(v);
        }
    lt_feature_average_step(f, raw, f->temporal + t * columns->n);
}

static lt_status check_step(const lt_feature_stream *f, int64_t t)
{
    if (t == f->next && t < f->steps) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "features of step %lld: expected step %lld of %lld", (long long)t, (long long)f->next, (long long)f->steps);
}

static bool has_pairs(const lt_feature_stream *f) { return f->channels > 1 && f->set->wanted[LT_CATEGORY_CROSS_CHANNEL]; }

static void fail_flagged(lt_feature_stream *f)
{
    for (int64_t i = 0; i < f->realizations * f->channels; i++)
        if (f->flagged[i]) f->failed[i / f->channels] = true;
}

static void end_step(lt_feature_stream *f, int64_t t)
{
    store_step(f, t);
    lt_channel *last = f->last;
    f->last = f->now;
    f->now = last;
    f->next++;
}

lt_status lt_feature_stream_push(lt_feature_stream *f, int64_t t, const float *states, const int64_t *failed)
{
    LT_TRY(check_step(f, t));
    push_job job = { f, t, states };
    for (int64_t m = 0; failed && m < f->realizations; m++) f->failed[m] = f->failed[m] || failed[m] >= 0;
    LT_TRY(share_out(f, f->realizations * f->channels, push_channel, &job));
    fail_flagged(f);
    if (has_pairs(f)) LT_TRY(share_out(f, f->realizations, push_realization, &job));
    end_step(f, t);
    return LT_OK;
}

/* ---- States measured on a device----------------------------------------------------------------- */
bool lt_feature_set_takes_records(const lt_feature_set *s, char why[static 160])
{
    const char *reason = s->channels == 1              ? "per_channel: false averages the channels first"
                       : s->wanted_extra               ? "optional per-step categories are on"
                       : s->stored[LT_F_COHERENCE]     ? "cross_channel.include_coherence is on"
                                                       : NULL;
    why[0] = 0;
    if (reason) snprintf(why, 160, "%s", reason);
    return !reason;
}

lt_status lt_feature_stream_push_records(lt_feature_stream *f, int64_t t, const lt_state_record *record)
{
    LT_TRY(check_step(f, t));
    for (int64_t i = 0; i < f->realizations * f->channels; i++) {
        f->flagged[i] = false;
        if (!f->failed[i / f->channels]) take_channel(f, t, i, &record[i / f->channels].channel[i % f->channels]);
    }
    fail_flagged(f);
    for (int64_t m = 0; has_pairs(f) && m < f->realizations; m++)
        if (!f->failed[m]) lt_channel_values(f->plan, &record[m], &f->now[m * f->channels], step_values(f, m * f->channels));
    end_step(f, t);
    return LT_OK;
}

/* ---- The end ---------------------------------------------------------------------------------- */
static lt_status summarise_channel(void *ctx, int64_t i, int worker)
{
    lt_feature_stream *f = ctx;
    if (f->failed[i / f->channels]) return LT_OK;
    lt_track_values(&f->time, &f->time_work[worker], &f->track[i], f->run + i * f->set->n_slots[LT_FAMILY_RUN]);
    return LT_OK;
}

static lt_status summarise_realization(void *ctx, int64_t m, int worker)
{
    lt_feature_stream *f = ctx;
    const lt_feature_set *s = f->set;
    double *value = f->run + m * f->channels * s->n_slots[LT_FAMILY_RUN];
    memcpy(value + s->slot[LT_F_FIRST_SENSITIVITY], f->sensitivity, (size_t)lt_feature_sensitivity_count(s) * sizeof *value);
    if (!f->failed[m] && f->channels > 1) lt_causality_pair_values(&f->time, &f->time_work[worker], &f->track[m * f->channels], value);
    return LT_OK;
}

lt_status lt_feature_stream_summarise(lt_feature_stream *f)
{
    if (f->summarised) return LT_OK;
    /* A rollout that ended early has no whole trajectory, so its remaining steps are missing values. */
    for (; f->next < f->steps; f->next++) {
        for (int64_t m = 0; m < f->realizations; m++) f->failed[m] = true;
        store_step(f, f->next);
    }
    memset(f->run, 0, (size_t)(f->realizations * f->channels * f->set->n_slots[LT_FAMILY_RUN]) * sizeof *f->run);
    LT_TRY(share_out(f, f->realizations * f->channels, summarise_channel, f));
    LT_TRY(share_out(f, f->realizations, summarise_realization, f));
    f->summarised = true;
    return LT_OK;
}
