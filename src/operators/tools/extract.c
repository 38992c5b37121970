/* Features of an existing dataset, computed again: from stored states, or by replaying.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/rollout/rollout.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BLOCK = 16 };

typedef struct extract {
    lt_dataset               *d;
    lt_dataset_info           in;
    lt_extract_options       *opt;
    lt_generate_info         *info;
    lt_dataset_config        *c;         /* of the new file */
    lt_arena                  arena;
    lt_feature_set           *set;
    lt_row_table              rows;
    lt_store_plan             plan;
    lt_store                 *store;
    lt_row_features           features;
    lt_replay                *replay;
    lt_operator_weights      *weights;   /* of the row being worked on, where its features need them */
    int64_t                  *code, *step; /* [rows] of the dataset */
    int64_t                  *failed;    /* [MAX_BLOCK, M] */
    float                    *states, *small; /* one step of a block; one row of it, not padded */
    float                    *field;     /* [3, Gmax, Gmax] */
} extract;

static double since(int64_t start) { return 1e-9 * (double)(lt_clock_ns() - start); }

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

/* Stored states of rows first..first+n-1, step by step into their streams. */
static lt_status push_stored(extract *e, int64_t first, int n, lt_feature_stream **streams)
{
    int64_t m = e->in.realizations, g = e->in.grid, row = m * LT_FIELD_CHANNELS * g * g;
    for (int64_t i = 0; i < n * m; i++) e->failed[i] = -1;
    for (int64_t t = 0; t < e->in.steps; t++) {
        LT_TRY(lt_dataset_read_step(e->d, first, n, t, e->states, n * row));
        for (int k = 0; k < n; k++) {
            int grid = e->rows.spec[first + k].grid;
            const float *x = e->states + k * row;
            if (grid != g) unpad(x, m * LT_FIELD_CHANNELS, g, grid, e->small), x = e->small;
            note_failures(t, x, m, (int64_t)LT_FIELD_CHANNELS * grid * grid, e->failed + k * m);
            LT_TRY(push_features(streams[k], e->features.learned, t, x, e->failed + k * m));
        }
    }
    return LT_OK;
}

typedef struct replayed { lt_feature_stream *stream; lt_learned *learned; } replayed;

static lt_status push_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    const replayed *r = ctx;
    return push_features(r->stream, r->learned, t, states, failed);
}

static lt_status draw_operator(extract *e, int64_t row)
{
    lt_operator_weights_destroy(e->weights);
    e->weights = NULL;
    LT_TRY(lt_operator_weights_create(&e->rows.spec[row], &e->weights));
    return lt_operator_weights_draw(e->weights, e->c->seed, e->rows.index[row]);
}

static lt_status begin_learned(extract *e, int64_t row)
{
    if (!e->features.learned) return LT_OK;
    LT_TRY(draw_operator(e, row));
    return lt_learned_begin(e->features.learned, &e->rows.spec[row], e->weights);
}

/* Sensitivity belongs to the operator, not to its states. */
static lt_status add_sensitivity(extract *e, int64_t row, lt_feature_stream *s)
{
    if (!e->features.probes) return LT_OK;
    if (!e->features.learned) LT_TRY(draw_operator(e, row));
    return lt_row_features_sensitivity(&e->features, &e->rows.spec[row], e->weights, e->field, e->rows.index[row], s);
}

static bool ran(const extract *e, int64_t row) { return e->code[row] == LT_RUN_DONE || e->code[row] == LT_RUN_NON_FINITE; }

static lt_status put_row(extract *e, int64_t row, lt_feature_stream *s)
{
    lt_store_row *out;
    const float *unit = e->rows.unit + row * e->rows.parameters;
    int grid = e->rows.spec[row].grid;
    int64_t start = lt_clock_ns();
    LT_TRY(lt_replay_row(e->replay, e->rows.index[row], NULL, e->field));
    if (ran(e, row)) LT_TRY(add_sensitivity(e, row, s));
    LT_TRY(lt_store_row_take(e->store, row, &out));
    lt_status st = ran(e, row) ? lt_row_features_finish(&e->features, &e->plan, s, unit, e->field, grid, out)
                               : lt_row_features_fail(&e->features, &e->plan, unit, e->field, grid, out);
    if (!st && ran(e, row) && e->features.learned) st = lt_learned_finish(e->features.learned, out->part[LT_PART_LEARNED]);
    if (st) {
        lt_store_row_drop(e->store, out);
        return st;
    }
    out->code = (uint8_t)(e->code[row] == LT_RUN_LOST ? LT_RUN_PENDING : e->code[row]); /* no later run resumes this file */
    out->step = (int32_t)e->step[row];
    out->seconds = e->opt->record_times ? (float)since(start) : 0;
    e->info->samples++;
    e->info->realizations += e->plan.realizations;
    return lt_store_row_put(e->store, out);
}

static lt_status run_block(extract *e, int64_t first, int n)
{
    lt_feature_stream *streams[MAX_BLOCK] = { NULL };
    lt_status s = LT_OK;
    for (int k = 0; k < n && !s; k++) s = lt_row_features_take(&e->features, e->rows.spec[first + k].grid, &streams[k]);
    int64_t start = lt_clock_ns();
    if (!s) s = begin_learned(e, first); /* then the block is this one row */
    if (!s && e->in.has_outputs) s = push_stored(e, first, n, streams);
    for (int k = 0; k < n && !s && !e->in.has_outputs; k++)
        if (ran(e, first + k))
            s = lt_replay_run(e->replay, e->rows.index[first + k], -1, push_state, &(replayed){ streams[k], e->features.learned }, NULL);
    e->info->feature_seconds += since(start);
    for (int k = 0; k < n && !s; k++) s = put_row(e, first + k, streams[k]);
    for (int k = 0; k < n; k++) lt_row_features_give(&e->features, e->rows.spec[first + k].grid, streams[k]);
    if (!s && e->opt->progress) e->opt->progress(e->opt->progress_ctx, &(lt_generate_progress){ sizeof(lt_generate_progress), first + n, e->plan.rows, (first + n) * e->in.steps });
    return s;
}

static lt_status run_all(extract *e)
{
    int64_t block = e->opt->batch_size ? e->opt->batch_size : 32;
    block = e->in.has_outputs && !e->features.learned ? LT_MIN(LT_MIN(block, e->plan.chunk_rows), (int64_t)MAX_BLOCK) : 1;
    for (int64_t first = 0; first < e->plan.rows; first += block) {
        if (e->opt->stop && *e->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        LT_TRY(run_block(e, first, (int)LT_MIN(block, e->plan.rows - first)));
    }
    return LT_OK;
}

/* ---- Preparing ------------------------------------------------------------------------------------------- */

static lt_status check_request(const extract *e, const char *output)
{
    struct stat st;
    if (!e->in.engine_version[0]) return LT_FAIL(LT_ERR_ARGUMENT, "lathe did not write this dataset: its rows cannot be told from its configuration");
    if (!output) return LT_FAIL(LT_ERR_ARGUMENT, "no output: give one that differs from the dataset");
    if (lt_dataset_is_at(e->d, output)) return LT_FAIL(LT_ERR_ARGUMENT, "output %s is the dataset itself; it must differ", output);
    if (stat(output, &st) == 0 && !e->opt->overwrite) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is there already; overwrite is not set", output);
    return LT_OK;
}

static lt_status allocate(extract *e)
{
    size_t m = (size_t)e->in.realizations, g = (size_t)e->in.grid, row = m * LT_FIELD_CHANNELS * g * g;
    e->code = lt_malloc((size_t)e->in.rows * sizeof *e->code);
    e->step = lt_malloc((size_t)e->in.rows * sizeof *e->step);
    e->failed = lt_malloc(MAX_BLOCK * m * sizeof *e->failed);
    e->states = lt_malloc((e->in.has_outputs ? MAX_BLOCK * row : 1) * sizeof *e->states);
    e->small = lt_malloc(row * sizeof *e->small);
    e->field = lt_malloc(LT_FIELD_CHANNELS * g * g * sizeof *e->field);
    return e->code && e->step && e->failed && e->states && e->small && e->field ? LT_OK : LT_ERR_MEMORY;
}

/* The dataset's sizes and rows against its configuration, by which rows are replayed. */
static lt_status check_sizes(extract *e)
{
    const lt_dataset_info *i = &e->in;
    if (!i->has_outputs && !i->steps) e->in.steps = e->c->steps; /* a file without TEMPORAL features does not say */
    bool agrees = i->has_outputs || (i->realizations == e->c->realizations && i->steps == e->c->steps);
    if (!agrees || i->realizations < 1 || i->grid < 1)
        return LT_FAIL(LT_ERR_FORMAT, "the dataset holds %" PRId64 " realizations, %" PRId64 " steps, grid %" PRId64 "; its configuration gives %" PRId64
                       " realizations and %" PRId64 " steps", i->realizations, i->steps, i->grid, e->c->realizations, e->c->steps);
    for (int64_t r = 0; r < e->rows.n; r++) {
        if (e->rows.spec[r].grid > i->grid)
            return LT_FAIL(LT_ERR_FORMAT, "the dataset has grid %" PRId64 ", its configuration gives row %" PRId64 " grid %d", i->grid, r, e->rows.spec[r].grid);
        if (e->code[r] < LT_RUN_PENDING || e->code[r] > LT_RUN_FAILED || e->step[r] < INT32_MIN || e->step[r] > INT32_MAX)
            return LT_FAIL(LT_ERR_FORMAT, "/status has code %" PRId64 " and step %" PRId64 " for row %" PRId64, e->code[r], e->step[r], r);
    }
    return LT_OK;
}

static lt_status open_output(extract *e, const char *output)
{
    const lt_dataset_config *c = e->c;
    int64_t n = e->opt->max_rows ? LT_MIN(e->opt->max_rows, e->in.rows) : e->in.rows;
    int64_t end = e->in.shard_index + (n - 1) * e->in.shard_count + 1;
    int precision = 0;
    while (precision < LT_PRECISION_COUNT - 1 && strcmp(lt_precision_name((lt_precision)precision), e->in.precision)) precision++;
    LT_TRY(lt_feature_set_create(&c->features, c->operator_features, &e->set));
    LT_TRY(lt_row_table_create(c, e->in.shard_index, e->in.shard_count, end, &e->rows));
    LT_TRY(check_sizes(e));
    e->rows.max_grid = (int)e->in.grid;
    lt_file_content f = { .config = c, .features = e->set, .rows = &e->rows, .total = c->total_samples, .shard_index = e->in.shard_index,
                          .shard_count = e->in.shard_count, .realizations = e->in.realizations, .steps = e->in.steps, .all_features = true,
                          .precision = (lt_precision)precision, .device = e->in.device[0] ? e->in.device : NULL, .metrics = e->in.sampling_metrics[0] ? e->in.sampling_metrics : NULL,
                          .record_times = e->opt->record_times };
    int64_t n_devices;
    LT_TRY(lt_dataset_texts(e->d, "/status/device", &n_devices, &f.row_device));
    if (n_devices < n) f.row_device = NULL;
    LT_TRY(lt_dataset_file_plan(&f, &e->arena, &e->plan));
    LT_TRY(lt_row_features_open(c, e->set, e->in.realizations, e->in.steps, (int)e->in.grid, c->precision, e->opt->device, e->opt->stop, &e->features));
    lt_replay_options replay = lt_replay_defaults();
    replay.device = e->opt->device;
    LT_TRY(lt_replay_create(c, &replay, &e->replay));
    return lt_dataset_file_begin(output, &f, &e->plan, "extract", e->opt->overwrite, &e->store);
}

static lt_status extract_all(extract *e)
{
    lt_store_stats stats;
    LT_TRY(lt_extract_config(e->d, e->opt, &e->arena, &e->c));
    LT_TRY(check_request(e, e->opt->output));
    LT_TRY(allocate(e));
    LT_TRY(lt_dataset_read_ints(e->d, "/status/code", 0, e->in.rows, e->code, e->in.rows));
    LT_TRY(lt_dataset_read_ints(e->d, "/status/step", 0, e->in.rows, e->step, e->in.rows));
    LT_TRY(open_output(e, e->opt->output));
    lt_status s = run_all(e);
    if (s) {
        lt_store_discard(e->store);
        return s;
    }
    LT_TRY(lt_store_close_whole(e->store, &stats));
    e->info->file_bytes = stats.file_bytes;
    e->info->raw_bytes = stats.raw_bytes;
    return LT_OK;
}

void lt_extract_defaults_into(lt_extract_options *out)
{
    LT_GIVE(out, &(lt_extract_options){ .size = sizeof(lt_extract_options) });
}

lt_status lt_dataset_extract(lt_dataset *d, const lt_extract_options *opt, lt_generate_info *out)
{
    lt_generate_info info = { .size = sizeof info };
    lt_extract_options options = lt_extract_defaults();
    LT_TRY(LT_TAKE(lt_extract_options, opt, &options));
    LT_TRY(LT_CHECK_SIZE(lt_generate_info, out));
    extract e = { .d = d, .in = lt_dataset_get_info(d), .opt = &options, .info = &info };
    int64_t start = lt_clock_ns();
    lt_status s = extract_all(&e);
    e.info->total_seconds = since(start);
    e.info->samples_per_second = (double)e.info->samples / e.info->total_seconds;
    lt_row_features_close(&e.features);
    lt_operator_weights_destroy(e.weights);
    lt_replay_destroy(e.replay);
    lt_row_table_release(&e.rows);
    lt_feature_set_destroy(e.set);
    lt_dataset_config_destroy(e.c);
    lt_arena_release(&e.arena);
    lt_free(e.code);
    lt_free(e.step);
    lt_free(e.failed);
    lt_free(e.states);
    lt_free(e.small);
    lt_free(e.field);
    LT_GIVE(out, &info);
    return s;
}
