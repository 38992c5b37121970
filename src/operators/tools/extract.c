/* Features of an existing dataset, computed again: from stored states, or by replaying. Into a new file, or in the place of the old one.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract.h"
#include "operators/tools/extract_document.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/file/dataset_file.h"
#include "operators/file/journal.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* ---- What is asked for ------------------------------------------------------------------------------------ */

/* A copy in the place of an unfinished file would lose the rows of its journal. */
static lt_status check_in_place(const lt_extract *e)
{
    const char *path = e->d->path;
    int64_t missing = e->in.status[LT_RUN_PENDING] + e->in.status[LT_RUN_LOST];
    if (missing || lt_journal_exists(path))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is unfinished (%" PRId64 " rows are missing): finish it first (lathe generate --resume)", path, missing);
    if (e->opt->max_rows && e->opt->max_rows < e->in.rows)
        return LT_FAIL(LT_ERR_ARGUMENT, "max_samples %" PRId64 " would drop rows of %s itself, which has %" PRId64 ": give an output", e->opt->max_rows, path, e->in.rows);
    return LT_OK;
}

static lt_status check_request(const lt_extract *e)
{
    struct stat st;
    const char *output = e->opt->output;
    if (!e->in.engine_version[0]) return LT_FAIL(LT_ERR_ARGUMENT, "lathe did not write this dataset: its rows cannot be told from its configuration");
    if (e->in.engine_age > 0) return LT_FAIL(LT_ERR_ARGUMENT, "%s: a newer engine wrote it, %s; this is %s", e->d->path, e->in.engine_version, lt_dataset_engine());
    if (e->in_place && e->in.engine_age < 0 && !e->upgrading)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: an older engine wrote it, %s; this is %s: rewrite it first (lathe upgrade)", e->d->path, e->in.engine_version, lt_dataset_engine());
    if (e->in_place) return check_in_place(e);
    if (lt_dataset_is_at(e->d, output)) return LT_FAIL(LT_ERR_ARGUMENT, "output %s is the dataset itself: leave the output out to write into it", output);
    if (stat(output, &st) == 0 && !e->opt->overwrite) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is there already; overwrite is not set", output);
    return LT_OK;
}

/* The dataset's sizes and rows against its configuration, by which rows are replayed. */
static lt_status check_sizes(lt_extract *e)
{
    const lt_dataset_info *i = &e->in;
    if (!i->has_outputs && !i->steps) e->in.steps = e->c->steps; /* a file without TEMPORAL features does not say */
    bool agrees = i->has_outputs || (i->realizations == e->c->realizations && i->steps == e->c->steps);
    if (!agrees || i->realizations < 1 || i->grid < 1)
        return LT_FAIL(LT_ERR_FORMAT, "the dataset holds %" PRId64 " realizations, %" PRId64 " steps, grid %" PRId64 "; its configuration gives %" PRId64
                       " realizations and %" PRId64 " steps", i->realizations, i->steps, i->grid, e->c->realizations, e->c->steps);
    for (int64_t r = 0; r < e->rows.n; r++) {
        int64_t code = e->status.code[r], step = e->status.step[r];
        if (e->rows.spec[r].grid > i->grid)
            return LT_FAIL(LT_ERR_FORMAT, "the dataset has grid %" PRId64 ", its configuration gives row %" PRId64 " grid %d", i->grid, r, e->rows.spec[r].grid);
        if (code < LT_RUN_PENDING || code >= LT_RUN_STATUS_COUNT || step < INT32_MIN || step > INT32_MAX)
            return LT_FAIL(LT_ERR_FORMAT, "/status has code %" PRId64 " and step %" PRId64 " for row %" PRId64, code, step, r);
    }
    return LT_OK;
}

/* ---- Parts that are kept ------------------------------------------------------------------------------------ */

/* A kept array goes over as it is, so the columns that the file has must be those of the plan. */
static lt_status check_kept(const lt_extract *e, lt_part part)
{
    const lt_part_plan *p = &e->plan.part[part];
    lt_shape shape = lt_dataset_shape(e->d, p->path);
    char path[160];
    const char *const *names;
    int64_t n;
    if (!shape.rank) return LT_FAIL(LT_ERR_ARGUMENT, "%s: has no array %s to keep", e->d->path, p->path);
    snprintf(path, sizeof path, "%s@column_names", p->path);
    LT_TRY(lt_dataset_texts(e->d, path, &n, &names));
    bool same = shape.rank == p->rank + 1 && shape.dim[shape.rank - 1] == p->dim[p->rank - 1];
    for (int i = 0; same && i < p->n_names && n == p->n_names; i++) same = !strcmp(names[i], p->names[i]);
    return same ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "%s: the columns of %s would change with these settings too, so they cannot be kept: compute them as well (--only)",
                                  e->d->path, p->path);
}

static bool is_kept(const lt_extract *e, lt_part part) { return e->kept >> part & 1 && e->plan.part[part].rank; }

static lt_status choose_parts(lt_extract *e)
{
    static const lt_part of_states[] = { LT_PART_TEMPORAL, LT_PART_PER_TRAJECTORY, LT_PART_AGGREGATED, LT_PART_LEARNED };
    for (int i = LT_PART_TEMPORAL; i < LT_PART_OUTPUT; i++)
        if (is_kept(e, (lt_part)i)) LT_TRY(check_kept(e, (lt_part)i));
    for (size_t i = 0; i < LT_LEN(of_states); i++)
        e->needs_states = e->needs_states || (e->plan.part[of_states[i]].rank && !is_kept(e, of_states[i]));
    e->plan.rows_on_the_way = LT_EXTRACT_BLOCK + 2;
    return LT_OK;
}

/* ---- Preparing ------------------------------------------------------------------------------------------- */

static lt_status allocate(lt_extract *e)
{
    size_t m = (size_t)e->in.realizations, g = (size_t)e->in.grid, row = m * LT_FIELD_CHANNELS * g * g;
    e->failed = lt_malloc(LT_EXTRACT_BLOCK * m * sizeof *e->failed);
    e->states = lt_malloc((e->in.has_outputs ? LT_EXTRACT_BLOCK * row : 1) * sizeof *e->states);
    e->small = lt_malloc(row * sizeof *e->small);
    e->field = lt_malloc(LT_FIELD_CHANNELS * g * g * sizeof *e->field);
    return e->failed && e->states && e->small && e->field ? LT_OK : LT_ERR_MEMORY;
}

/* In place: what is computed from which file, so that a run that was killed is only resumed by the same one. */
static lt_status begin_in_place(lt_extract *e, const lt_file_content *f)
{
    const char *path = e->d->path, *work = e->upgrading ? "upgrade" : "extract";
    size_t bytes = strlen(e->c->json) + 256;
    char *identity = lt_malloc(bytes);
    lt_store_claim *claim = NULL;
    if (!identity) return LT_ERR_MEMORY;
    lt_status s = lt_store_claim_take(path, &claim);
    if (!s && !lt_dataset_is_at(e->d, path)) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: another process has replaced it", path);
    snprintf(identity, bytes, "%s %s %s %x %s", work, lt_dataset_engine(), lt_dataset_file_stamp(path).s, e->kept, e->c->json);
    if (!s) s = lt_dataset_file_rewrite(claim, f, &e->plan, identity, &e->store);
    else lt_store_claim_release(claim);
    lt_free(identity);
    return s;
}

static lt_status open_output(lt_extract *e)
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
    bool dated = e->in_place && strcmp(e->in.creation_date, LT_DATE_NOT_RECORDED);
    lt_file_content f = { .config = c, .features = e->set, .rows = &e->rows, .total = c->total_samples, .shard_index = e->in.shard_index,
                          .shard_count = e->in.shard_count, .realizations = e->in.realizations, .steps = e->in.steps, .all_features = true,
                          .outputs = e->in_place && e->in.has_outputs,
                          .precision = (lt_precision)precision, .device = e->in.device[0] ? e->in.device : NULL,
                          .metrics = e->in.sampling_metrics[0] ? e->in.sampling_metrics : NULL,
                          .date = dated && e->in.creation_date[0] ? e->in.creation_date : NULL, .record_times = e->opt->record_times, .notes = e->note };
    int64_t n_devices;
    LT_TRY(lt_dataset_texts(e->d, "/status/device", &n_devices, &f.row_device));
    if (n_devices < n) f.row_device = NULL;
    LT_TRY(lt_dataset_file_plan(&f, &e->arena, &e->plan));
    if (e->upgrading) LT_TRY(lt_upgrade_create(e, &e->upgrade));
    LT_TRY(choose_parts(e));
    LT_TRY(lt_row_features_open(c, e->set, e->in.realizations, e->in.steps, (int)e->in.grid, c->precision, e->opt->device, e->opt->stop, &e->features));
    lt_replay_options replay = lt_replay_defaults();
    replay.device = e->opt->device;
    LT_TRY(lt_replay_create(c, &replay, &e->replay));
    return e->in_place ? begin_in_place(e, &f) : lt_dataset_file_begin(e->opt->output, &f, &e->plan, "extract", e->opt->overwrite, &e->store);
}

/* In place a run that ended early leaves its rows beside the file, for one that goes on. */
static lt_status close_output(lt_extract *e, lt_status s)
{
    lt_store_stats stats = { 0 };
    char text[LT_ERROR_TEXT_BYTES];
    if (s && !e->in_place) {
        lt_store_discard(e->store);
        return s;
    }
    snprintf(text, sizeof text, "%s", lt_error_text());
    lt_status closed = e->in_place ? lt_store_close(e->store, &stats) : lt_store_close_whole(e->store, &stats);
    e->info->file_bytes = stats.file_bytes;
    e->info->raw_bytes = stats.raw_bytes;
    if (s) lt_error_set(text);
    return s ? s : closed;
}

lt_status lt_extract_run(lt_extract *e)
{
    LT_TRY(lt_extract_config(e, &e->c));
    LT_TRY(check_request(e));
    LT_TRY(allocate(e));
    LT_TRY(lt_row_status_read(e->d, &e->status));
    e->old.d = e->d;
    LT_TRY(open_output(e));
    return close_output(e, lt_extract_rows(e));
}

void lt_extract_release(lt_extract *e)
{
    lt_row_features_close(&e->features);
    lt_operator_weights_destroy(e->weights);
    lt_replay_destroy(e->replay);
    lt_upgrade_destroy(e->upgrade);
    lt_row_table_release(&e->rows);
    lt_feature_set_destroy(e->set);
    lt_dataset_config_destroy(e->c);
    lt_extract_document_destroy(e->document);
    lt_arena_release(&e->arena);
    lt_row_status_release(&e->status);
    lt_row_reader_close(&e->old);
    lt_free(e->failed);
    lt_free(e->states);
    lt_free(e->small);
    lt_free(e->field);
}

void lt_extract_defaults_into(lt_extract_options *out)
{
    LT_GIVE(out, &(lt_extract_options){ .size = sizeof(lt_extract_options) });
}

lt_status lt_dataset_extract(lt_dataset *d, const lt_extract_options *opt, lt_generate_info *out)
{
    LT_NEED(d);
    lt_generate_info info = { .size = sizeof info };
    lt_extract_options options = lt_extract_defaults();
    LT_TRY(LT_TAKE(lt_extract_options, opt, &options));
    LT_TRY(LT_CHECK_SIZE(lt_generate_info, out));
    lt_extract e = { .d = d, .in = lt_dataset_get_info(d), .opt = &options, .info = &info };
    int64_t start = lt_clock_ns();
    lt_status s = lt_extract_run(&e);
    info.total_seconds = lt_seconds_since(start);
    info.samples_per_second = (double)info.samples / info.total_seconds;
    lt_extract_release(&e);
    LT_GIVE(out, &info);
    return s;
}
