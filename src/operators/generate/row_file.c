/* From a configuration and its rows to a file, all rows pending. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/row_table.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/files/file.h"
#include "base/status.h"
#include "lathe/dataset.h"
#include "lathe/json.h"
#include "operators/features/learned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Names of columns ------------------------------------------------------------------------- */

static lt_status set_names(lt_arena *arena, lt_part_plan *part, int n)
{
    part->n_names = n;
    part->names = lt_arena_alloc(arena, (size_t)n * sizeof *part->names);
    return part->names ? LT_OK : LT_ERR_MEMORY;
}

#define FILL_NAMES(part_, n_, expression)                                             \
    do {                                                                              \
        LT_TRY(set_names(arena, part_, n_));                                          \
        for (int i = 0; i < (n_); i++) ((const char **)(part_)->names)[i] = expression; \
    } while (0)

static lt_status name_architecture(const lt_dataset_config *c, lt_arena *arena, lt_part_plan *part, int n)
{
    char name[128];
    LT_TRY(set_names(arena, part, n));
    for (int i = 0; i < n; i++) {
        LT_TRY(lt_architecture_name(c, i, name, sizeof name));
        if (!(((const char **)part->names)[i] = lt_arena_strdup(arena, name))) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

/* Attributes of the oldest file format hold 64 KiB, 16 bytes a name: arrays with more columns have no column names. */
enum { MAX_NAMES = 4000 };

static lt_status name_learned(lt_arena *arena, lt_part_plan *part, int n)
{
    char name[32];
    if (n > MAX_NAMES) return LT_OK;
    LT_TRY(set_names(arena, part, n));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "learned_%d", i);
        if (!(((const char **)part->names)[i] = lt_arena_strdup(arena, name))) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

static int manual_count(const lt_dataset_config *c) { return c->initial && c->initials.manual ? lt_initial_count(c->initial_variant) : 0; }
static int cnn_count(const lt_dataset_config *c) { return c->initial && c->initials.cnn ? (int)c->initials.dim : 0; }

/* Columns of the variant, then those of the embedding, where the array has them. */
static lt_status name_initial(const lt_dataset_config *c, lt_arena *arena, lt_part_plan *part, bool manual, bool cnn)
{
    int n_manual = manual ? manual_count(c) : 0, n = n_manual + (cnn ? cnn_count(c) : 0);
    char name[32];
    if (!part->rank) return LT_OK;
    LT_TRY(set_names(arena, part, n));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "ic_cnn_%02d", i - n_manual);
        const char *text = i < n_manual ? lt_initial_name(c->initial_variant, i) : lt_arena_strdup(arena, name);
        if (!(((const char **)part->names)[i] = text)) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

static lt_status name_columns(const lt_file_content *f, lt_arena *arena, lt_store_plan *p)
{
    const lt_dataset_config *c = f->config;
    if (p->temporal_columns) FILL_NAMES(&p->part[LT_PART_TEMPORAL], p->temporal_columns, lt_feature_temporal_name(f->features, i));
    if (p->summary_columns) {
        FILL_NAMES(&p->part[LT_PART_PER_TRAJECTORY], p->summary_columns, lt_feature_summary_name(f->features, i));
        FILL_NAMES(&p->part[LT_PART_AGGREGATED], 3 * p->summary_columns, lt_feature_aggregated_name(f->features, i));
        p->operator_columns = lt_feature_sensitivity_columns(f->features, &p->first_operator_column);
    }
    if (p->learned_columns) LT_TRY(name_learned(arena, &p->part[LT_PART_LEARNED], p->learned_columns));
    LT_TRY(name_initial(c, arena, &p->part[LT_PART_INITIAL], true, true));
    LT_TRY(name_initial(c, arena, &p->part[LT_PART_INITIAL_MANUAL], true, false));
    LT_TRY(name_initial(c, arena, &p->part[LT_PART_INITIAL_CNN], false, true));
    return p->architecture_columns ? name_architecture(c, arena, &p->part[LT_PART_ARCHITECTURE], p->architecture_columns) : LT_OK;
}

lt_status lt_dataset_file_plan(const lt_file_content *f, lt_arena *arena, lt_store_plan *out)
{
    const lt_dataset_config *c = f->config;
    bool on = f->all_features;
    *out = (lt_store_plan){
        .rows = f->rows->n, .total = f->total, .shard_index = f->shard_index, .shard_count = f->shard_count, .chunk_rows = c->chunk_rows,
        .parameters = c->space.n, .realizations = f->realizations, .steps = f->steps, .grid = f->rows->max_grid,
        .temporal_columns = on && c->temporal ? lt_feature_temporal_count(f->features) : 0,
        .summary_columns = on && c->summary ? lt_feature_summary_count(f->features) : 0,
        .initial_columns = on && c->initials.combined ? manual_count(c) + cnn_count(c) : 0,
        .manual_columns = on && c->initials.manual_separate ? manual_count(c) : 0, .cnn_columns = on && c->initials.cnn_separate ? cnn_count(c) : 0,
        .architecture_columns = on && c->architecture ? lt_architecture_count(c) : 0,
        .outputs = f->outputs, .row_devices = f->row_devices, .compression = c->compression, .level = c->compression_level,
    };
    if (on && c->learned.enabled) LT_TRY(lt_learned_columns(&c->learned, c->kind, f->rows->max_grid, &out->learned_columns));
    LT_TRY(lt_store_plan_finish(out));
    return name_columns(f, arena, out);
}

/* ---- The file --------------------------------------------------------------------------------------- */

static void date_now(char text[40])
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(text, 40, "%Y-%m-%dT%H:%M:%S+00:00", &tm);
}

static void put_list(lt_json *j, const char *key, int n, const char *const *items)
{
    lt_json_key(j, key);
    lt_json_array_begin(j);
    for (int i = 0; i < n; i++) lt_json_string(j, items[i]);
    lt_json_array_end(j);
}

/* Options of the extraction: always the three reductions over realizations, in this order. */
static lt_status extraction_json(const lt_dataset_config *c, lt_json **out)
{
    const lt_text_list *over_time = &c->features.temporal_aggregation;
    LT_TRY(lt_json_create(LT_JSON_COMPACT, out));
    lt_json_object_begin(*out);
    lt_json_field_bool(*out, "per_channel", c->features.per_channel);
    if (over_time->n) put_list(*out, "temporal_aggregation", over_time->n, over_time->item);
    else put_list(*out, "temporal_aggregation", 2, (const char *const[]){ "mean", "std" });
    put_list(*out, "realization_aggregation", 3, (const char *const[]){ "mean", "std", "cv" });
    lt_json_object_end(*out);
    lt_status s = lt_json_finish(*out);
    if (s) lt_json_destroy(*out);
    return s;
}

lt_status lt_dataset_file_create(const lt_store_claim *claim, const lt_file_content *f, const lt_store_plan *plan)
{
    const lt_dataset_config *c = f->config;
    const lt_row_table *t = f->rows;
    char now[40] = LT_DATE_NOT_RECORDED, latents[512] = "";
    lt_json *extraction = NULL;
    LT_TRY(extraction_json(c, &extraction));
    const char **names = lt_malloc((size_t)c->space.n * sizeof *names);
    if (!names) {
        lt_json_destroy(extraction);
        return LT_ERR_MEMORY;
    }
    for (int i = 0; i < c->space.n; i++) names[i] = c->space.param[i].name;
    if (f->record_times) date_now(now);
    if (plan->learned_columns) lt_learned_describe(&c->learned, c->kind, latents, sizeof latents);
    lt_store_labels labels = { t->unit, t->alias, t->policy, t->noise, t->grid, t->index, f->row_device };
    lt_store_texts texts = {
        .config = f->config_json ? f->config_json : c->record_json, .engine_config = c->engine_json, .sampling_metrics = f->metrics ? f->metrics : "{}",
        .precision = lt_precision_name(f->precision), .device = f->device ? f->device : "cpu", .date = f->date ? f->date : now,
        .registry = f->features ? lt_feature_registry_json(f->features) : "{}",
        .registered = f->features ? lt_feature_registry_count(f->features) : 0, .extraction_config = lt_json_text(extraction),
        .notes = f->notes, .learned = latents, .dimension_names = names, .seed = c->seed,
    };
    lt_status s = lt_store_skeleton(claim, plan, &labels, &texts);
    lt_free((void *)names);
    lt_json_destroy(extraction);
    return s;
}

/* ---- A file that takes the place of another, or of none, when it is whole ------------------------------------------------------------ */

lt_file_stamp lt_dataset_file_stamp(const char *path)
{
    lt_file_stamp stamp = { "" };
    struct stat st;
    if (!stat(path, &st))
        snprintf(stamp.s, sizeof stamp.s, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return stamp;
}

static char *next_to(const char *path)
{
    size_t bytes = strlen(path) + sizeof ".lathe-next";
    char *beside = lt_malloc(bytes);
    if (beside) snprintf(beside, bytes, "%s.lathe-next", path);
    return beside;
}

/* An empty file with the mode of the one it will replace: what is written at its place takes that mode over, and so does its journal. */
static lt_status make_private(const char *path, const char *like)
{
    struct stat st;
    if (stat(like, &st)) return LT_FAIL(LT_ERR_IO, "%s: cannot read its mode: %s", like, strerror(errno));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0777);
    if (fd < 0) return LT_FAIL(LT_ERR_IO, "%s: cannot be made: %s", path, strerror(errno));
    lt_status s = lt_file_set_mode(fd, path, st.st_mode & 0777);
    close(fd);
    return s;
}

static lt_status rewrite_at(const char *path, const char *old, const lt_file_content *f, const lt_store_plan *plan, const char *identity, lt_store **out)
{
    lt_store_claim *claim;
    LT_TRY(make_private(path, old));
    LT_TRY(lt_store_claim_take(path, &claim));
    bool resume = lt_store_claim_has_run(claim, identity, strlen(identity));
    lt_status s = resume ? LT_OK : lt_store_claim_clear(claim);
    if (!s && !resume) s = lt_dataset_file_create(claim, f, plan);
    if (!s) return lt_store_open(claim, plan, identity, strlen(identity), resume, out);
    lt_store_claim_release(claim);
    return s;
}

lt_status lt_dataset_file_rewrite(lt_store_claim *claim, const lt_file_content *f, const lt_store_plan *plan, const char *identity, lt_store **out)
{
    const char *old = lt_store_claim_path(claim);
    char *path = next_to(old);
    *out = NULL;
    lt_status s = path ? rewrite_at(path, old, f, plan, identity, out) : LT_ERR_MEMORY;
    lt_free(path);
    if (s) lt_store_claim_release(claim);
    else lt_store_replace(*out, claim);
    return s;
}

/* Nothing of it can be resumed, so what an earlier run left goes. */
static lt_status begin_anew(const char *path, const char *final, const lt_file_content *f, const lt_store_plan *plan, const char *identity, lt_store **out)
{
    lt_store_claim *claim;
    LT_TRY(lt_store_claim_take(path, &claim));
    lt_status s = lt_store_claim_clear(claim);
    if (!s) lt_store_claim_list(claim, true);
    if (!s && unlink(path) && errno != ENOENT) s = LT_FAIL(LT_ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
    if (!s && !access(final, F_OK)) s = make_private(path, final);
    if (!s) s = lt_dataset_file_create(claim, f, plan);
    if (!s) return lt_store_open(claim, plan, identity, strlen(identity), false, out);
    (void)unlink(path);
    lt_store_claim_release(claim);
    return s;
}

lt_status lt_dataset_file_begin(const char *path, const lt_file_content *f, const lt_store_plan *plan, const char *identity, bool overwrite, lt_store **out)
{
    lt_store_claim *claim;
    *out = NULL;
    LT_TRY(lt_store_claim_take(path, &claim));
    lt_status s = overwrite ? LT_OK : lt_store_claim_check(claim, identity, strlen(identity));
    if (!s) lt_store_claim_list(claim, false);
    char *beside = s ? NULL : next_to(lt_store_claim_path(claim));
    if (!s) s = beside ? begin_anew(beside, lt_store_claim_path(claim), f, plan, identity, out) : LT_ERR_MEMORY;
    lt_free(beside);
    if (s) lt_store_claim_release(claim);
    else lt_store_replace_anew(*out, claim);
    return s;
}
