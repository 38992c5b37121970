/* States of rows, stored or replayed, to rows of the new file. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract.h"

#include "base/status.h"
#include "operators/rollout/rollout.h"
#include "trace/clock.h"

#include <string.h>

typedef struct block {
    int64_t            first;
    int                n, put;             /* rows taken from the store; handed back to it */
    lt_store_row      *row[LT_EXTRACT_BLOCK];
    lt_feature_stream *stream[LT_EXTRACT_BLOCK];
} block;

/* ---- States of rows ------------------------------------------------------------------------------------ */

/* The middle [planes, grid, grid] of padded planes. */
static void unpad(const float *padded, int64_t planes, int64_t from_grid, int grid, float *out)
{
    int64_t low = (from_grid - grid) / 2;
    for (int64_t c = 0; c < planes; c++)
        for (int64_t y = 0; y < grid; y++)
            memcpy(out + (c * grid + y) * grid, padded + (c * from_grid + low + y) * from_grid + low, (size_t)grid * sizeof *out);
}

static void note_failures(int64_t t, const float *x, int64_t m, int64_t field, int64_t *failed)
{
    for (int64_t i = 0; i < m; i++)
        if (failed[i] < 0 && !lt_state_is_finite(x + i * field, field)) failed[i] = t;
}

static lt_status push_features(lt_feature_stream *s, lt_learned *learned, int64_t t, const float *states, const int64_t *failed)
{
    LT_TRY(lt_feature_stream_push(s, t, states, failed));
    return learned ? lt_learned_push(learned, t, states, failed) : LT_OK;
}

/* One step of one row: into the new file where that keeps states, and into the features. */
static lt_status push_step(lt_extract *e, block *b, int k, int64_t t, const float *x)
{
    int64_t m = e->in.realizations, g = e->in.grid;
    int grid = e->rows.spec[b->first + k].grid;
    if (e->plan.outputs) LT_TRY(lt_store_row_step(e->store, b->row[k], x, (int)g));
    if (!e->needs_states) return LT_OK;
    if (grid != g) unpad(x, m * LT_FIELD_CHANNELS, g, grid, e->small), x = e->small;
    note_failures(t, x, m, (int64_t)LT_FIELD_CHANNELS * grid * grid, e->failed + k * m);
    return push_features(b->stream[k], e->features.learned, t, x, e->failed + k * m);
}

static lt_status push_stored(lt_extract *e, block *b)
{
    int64_t m = e->in.realizations, g = e->in.grid, row = m * LT_FIELD_CHANNELS * g * g;
    for (int64_t i = 0; i < b->n * m; i++) e->failed[i] = -1;
    for (int64_t t = 0; t < e->in.steps; t++) {
        LT_TRY(lt_dataset_read_step(e->d, b->first, b->n, t, e->states, b->n * row));
        for (int k = 0; k < b->n; k++) LT_TRY(push_step(e, b, k, t, e->states + k * row));
    }
    return LT_OK;
}

typedef struct replayed { lt_feature_stream *stream; lt_learned *learned; } replayed;

static lt_status push_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    const replayed *r = ctx;
    return push_features(r->stream, r->learned, t, states, failed);
}

static bool ran(const lt_extract *e, int64_t row) { return e->status.code[row] == LT_RUN_DONE || e->status.code[row] == LT_RUN_NON_FINITE; }

static lt_status push_replayed(lt_extract *e, block *b)
{
    for (int k = 0; k < b->n; k++)
        if (ran(e, b->first + k))
            LT_TRY(lt_replay_run(e->replay, e->rows.index[b->first + k], -1, push_state, &(replayed){ b->stream[k], e->features.learned }, NULL));
    return LT_OK;
}

static lt_status push_states(lt_extract *e, block *b)
{
    if (e->in.has_outputs && (e->needs_states || e->plan.outputs)) return push_stored(e, b);
    return e->needs_states ? push_replayed(e, b) : LT_OK;
}

/* ---- Features of one row ---------------------------------------------------------------------------------- */

static lt_status draw_operator(lt_extract *e, int64_t row)
{
    lt_operator_weights_destroy(e->weights);
    e->weights = NULL;
    LT_TRY(lt_operator_weights_create(&e->rows.spec[row], &e->weights));
    return lt_operator_weights_draw(e->weights, e->c->seed, e->rows.index[row]);
}

static lt_status begin_learned(lt_extract *e, int64_t row)
{
    if (!e->features.learned) return LT_OK;
    LT_TRY(draw_operator(e, row));
    return lt_learned_begin(e->features.learned, &e->rows.spec[row], e->weights);
}

/* Sensitivity belongs to the operator, not to its states. */
static lt_status add_sensitivity(lt_extract *e, int64_t row, lt_feature_stream *s)
{
    if (!e->features.probes || !e->needs_states) return LT_OK;
    if (!e->features.learned) LT_TRY(draw_operator(e, row));
    return lt_row_features_sensitivity(&e->features, &e->rows.spec[row], e->weights, e->field, e->rows.index[row], s);
}

static lt_status keep_parts(lt_extract *e, int64_t row, lt_store_row *out)
{
    for (int i = 0; i < LT_PART_OUTPUT; i++) {
        const float *values;
        if (!(e->kept >> i & 1) || !out->part[i]) continue;
        LT_TRY(lt_row_reader_get(&e->old, (lt_part)i, e->plan.part[i].path, row, (int64_t)(e->plan.part[i].row_bytes / sizeof(float)), &values));
        memcpy(out->part[i], values, e->plan.part[i].row_bytes);
    }
    return LT_OK;
}

static lt_status compute_row(lt_extract *e, int64_t row, lt_feature_stream *s, lt_store_row *out)
{
    const float *unit = e->rows.unit + row * e->rows.parameters;
    int grid = e->rows.spec[row].grid;
    LT_TRY(lt_replay_row(e->replay, e->rows.index[row], NULL, e->field));
    if (ran(e, row)) LT_TRY(add_sensitivity(e, row, s));
    if (!ran(e, row)) LT_TRY(lt_row_features_fail(&e->features, &e->plan, unit, e->field, grid, out));
    else LT_TRY(lt_row_features_finish(&e->features, &e->plan, e->needs_states ? s : NULL, unit, e->field, grid, out));
    if (ran(e, row) && e->features.learned && e->needs_states) LT_TRY(lt_learned_finish(e->features.learned, out->part[LT_PART_LEARNED]));
    LT_TRY(keep_parts(e, row, out));
    return e->upgrade && ran(e, row) ? lt_upgrade_row(e->upgrade, e, row, out) : LT_OK;
}

static lt_status put_row(lt_extract *e, block *b, int k)
{
    int64_t start = lt_clock_ns(), row = b->first + k;
    lt_store_row *out = b->row[k];
    LT_TRY(compute_row(e, row, b->stream[k], out));
    bool lost = e->status.code[row] == LT_RUN_LOST;
    out->code = (uint8_t)(lost ? LT_RUN_PENDING : e->status.code[row]); /* no later run resumes this file */
    out->step = (int32_t)e->status.step[row];
    out->seconds = e->in_place ? e->status.seconds[row] : e->opt->record_times ? (float)lt_seconds_since(start) : 0;
    e->info->samples++;
    e->info->realizations += e->plan.realizations;
    b->put++;
    return lt_store_row_put(e->store, out);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------- */

static lt_status open_block(lt_extract *e, block *b, int n)
{
    for (; b->n < n; b->n++) LT_TRY(lt_store_row_take(e->store, b->first + b->n, &b->row[b->n]));
    for (int k = 0; k < b->n; k++) LT_TRY(lt_row_features_take(&e->features, e->rows.spec[b->first + k].grid, &b->stream[k]));
    return LT_OK;
}

static lt_status run_block(lt_extract *e, int64_t first, int n)
{
    block b = { .first = first };
    lt_status s = open_block(e, &b, n);
    int64_t start = lt_clock_ns();
    if (!s && e->needs_states) s = begin_learned(e, first); /* then the block is this one row */
    if (!s) s = push_states(e, &b);
    e->info->feature_seconds += lt_seconds_since(start);
    for (int k = 0; k < b.n && !s; k++) s = put_row(e, &b, k);
    for (int k = b.put; k < b.n; k++) lt_store_row_drop(e->store, b.row[k]);
    for (int k = 0; k < b.n; k++) lt_row_features_give(&e->features, e->rows.spec[first + k].grid, b.stream[k]);
    if (!s && e->opt->progress) e->opt->progress(e->opt->progress_ctx, &(lt_generate_progress){ sizeof(lt_generate_progress), first + n, e->plan.rows, (first + n) * e->in.steps });
    return s;
}

/* Neighbours from `first` on that the file does not have yet, `most` at most. */
static int count_missing(const lt_extract *e, int64_t first, int64_t most)
{
    int n = 0;
    while (n < most && first + n < e->plan.rows && !lt_store_row_done(e->store, first + n)) n++;
    return n;
}

lt_status lt_extract_rows(lt_extract *e)
{
    int64_t most = e->opt->batch_size ? e->opt->batch_size : 32;
    most = e->in.has_outputs && !e->features.learned ? LT_MIN(LT_MIN(most, e->plan.chunk_rows), (int64_t)LT_EXTRACT_BLOCK) : 1;
    for (int64_t first = 0; first < e->plan.rows;) {
        if (e->opt->stop && *e->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        int n = count_missing(e, first, most);
        if (n) LT_TRY(run_block(e, first, n));
        first += n ? n : 1;
    }
    return LT_OK;
}
