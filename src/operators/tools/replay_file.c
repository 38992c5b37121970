/* One row's states as a dataset file of its own. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/flags.h"
#include "operators/rollout/rollout.h"

typedef struct file_sink { lt_store *store; lt_store_row *row; int grid; } file_sink;

static lt_status write_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)t, (void)failed;
    file_sink *f = ctx;
    return lt_store_row_step(f->store, f->row, states, f->grid);
}

static lt_status run_into(lt_replay *r, int64_t index, int64_t realization, lt_store *store, lt_rollout_result *out)
{
    lt_operator_spec spec = { .size = sizeof spec };
    file_sink sink = { .store = store };
    LT_TRY(lt_replay_row(r, index, &spec, NULL));
    sink.grid = spec.grid;
    LT_TRY(lt_store_row_take(store, 0, &sink.row));
    lt_status s = lt_replay_run(r, index, realization, write_state, &sink, out);
    if (!s) s = lt_replay_row(r, index, NULL, sink.row->part[LT_PART_FIELD]); /* one row: its grid is the file's */
    if (s) {
        lt_store_row_drop(store, sink.row);
        return s;
    }
    sink.row->code = (uint8_t)out->status;
    sink.row->step = (int32_t)out->step;
    return lt_store_row_put(store, sink.row);
}

static lt_status precision_of(const lt_dataset_config *c, const lt_replay_options *opt, lt_precision *out)
{
    lt_rollout_info info = { .size = sizeof info, .precision = LT_PRECISION_FLOAT32 };
    lt_compile_options compile = { .size = sizeof compile };
    LT_TRY(lt_rollout_choose_precision(opt->device, opt->has_precision ? opt->precision : c->precision, &info, &compile));
    *out = info.precision;
    return LT_OK;
}

static lt_status write_file(const lt_dataset_config *c, const lt_replay_options *opt, int64_t index, int64_t realization, const char *path,
                            lt_arena *arena, lt_row_table *rows, lt_rollout_result *out)
{
    lt_store_plan plan;
    lt_store *store;
    lt_replay *r = NULL;
    lt_file_content f = { .config = c, .rows = rows, .total = 1, .shard_count = 1, .outputs = true,
                          .realizations = realization >= 0 ? 1 : opt->realizations ? opt->realizations : c->realizations,
                          .steps = opt->steps ? opt->steps : c->steps, .device = opt->device ? lt_device_kind(opt->device) : NULL };
    LT_TRY(precision_of(c, opt, &f.precision));
    LT_TRY(lt_dataset_file_plan(&f, arena, &plan));
    LT_TRY(lt_replay_create(c, opt, &r));
    lt_status s = lt_dataset_file_begin(path, &f, &plan, "replay", false, &store);
    if (!s) {
        s = run_into(r, index, realization, store, out);
        if (s) lt_store_discard(store);
        else s = lt_store_close_whole(store, NULL);
    }
    lt_replay_destroy(r);
    return s;
}

lt_status lt_replay_to_file(const lt_dataset_config *c, const lt_replay_options *options, int64_t index, int64_t realization, const char *path,
                            lt_rollout_result *out)
{
    LT_NEED(c);
    LT_NEED(path);
    lt_replay_options opt = lt_replay_defaults();
    lt_rollout_result own = { .size = sizeof own };
    lt_arena arena = { 0 };
    lt_row_table rows;
    if (index < 0 || index >= c->total_samples)
        return LT_FAIL(LT_ERR_ARGUMENT, "row %lld: expected 0..%lld", (long long)index, (long long)c->total_samples - 1);
    LT_TRY(LT_TAKE(lt_replay_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_rollout_result, out));
    LT_TRY(lt_row_table_create(c, index, 1, index + 1, &rows));
    lt_status s = write_file(c, &opt, index, realization, path, &arena, &rows, &own);
    LT_GIVE(out, &own);
    lt_row_table_release(&rows);
    lt_arena_release(&arena);
    return s;
}
