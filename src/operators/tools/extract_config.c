/* The offline extractor's document laid over the configuration of a dataset.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "operators/config/keys.h"

#include <stdio.h>
#include <string.h>

static const char *const known_keys[] = { "input_dataset", "output_dataset", "temporal", "summary", "batch_size", "device", "overwrite", "max_samples",
                                          "num_workers", "cache_trajectories" };

static lt_status set_text(lt_arena *arena, lt_yaml_node *root, const char *path, const char *text)
{
    lt_yaml_node *value;
    LT_TRY(lt_yaml_scalar(arena, text, true, "extract-features", &value));
    return lt_yaml_set(arena, root, path, value);
}

static lt_status check_keys(const char *path, const lt_yaml_node *doc)
{
    if (doc->kind != LT_YAML_MAP) return LT_FAIL(LT_ERR_FORMAT, "%s: expected a mapping", path);
    for (lt_yaml_node *key = doc->first; key; key = key->next) {
        bool known = false;
        for (size_t i = 0; i < LT_LEN(known_keys); i++) known = known || !strcmp(key->key, known_keys[i]);
        if (known) continue;
        const char *near = lt_text_nearest(key->key, known_keys, (int)LT_LEN(known_keys));
        return LT_FAIL(LT_ERR_FORMAT, "%s: unknown key '%s'%s%s%s", lt_yaml_place(key).s, key->key, near ? "; did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
    }
    return LT_OK;
}

/* Checked before it is merged onto the configuration of the dataset, whose unknown keys were reported when that was loaded. */
static lt_status check_part(const lt_yaml_node *part, const char *prefix, lt_arena *arena)
{
    lt_schema schema = lt_config_schema();
    return part && part->kind == LT_YAML_MAP ? lt_schema_refuse_unknown(&schema, part, prefix, arena) : LT_OK;
}

static lt_status read_count(const lt_yaml_node *doc, const char *name, int64_t most, int64_t *out)
{
    lt_yaml_node *n = lt_yaml_member(doc, name);
    if (!n || n->kind == LT_YAML_NULL) return LT_OK;
    if (n->kind != LT_YAML_INT || n->integer < 1 || n->integer > most) return lt_schema_refuse(n, name, "a positive integer in range");
    if (!*out) *out = n->integer;
    return LT_OK;
}

/* Sizes and paths. The number of workers and the caching of states do not change results. */
static lt_status read_run_keys(lt_extract_options *opt, const lt_yaml_node *doc)
{
    int64_t workers = 0;
    lt_yaml_node *to = lt_yaml_member(doc, "output_dataset"), *overwrite = lt_yaml_member(doc, "overwrite");
    LT_TRY(read_count(doc, "batch_size", 1000, &opt->batch_size));
    LT_TRY(read_count(doc, "max_samples", INT64_MAX, &opt->max_rows));
    LT_TRY(read_count(doc, "num_workers", 1024, &workers));
    if (to && to->kind != LT_YAML_TEXT) return lt_schema_refuse(to, "output_dataset", "a path");
    if (to && !opt->output) opt->output = to->text;
    if (overwrite && overwrite->kind != LT_YAML_BOOL) return lt_schema_refuse(overwrite, "overwrite", "true or false");
    opt->overwrite = opt->overwrite || (overwrite && overwrite->integer);
    return LT_OK;
}

/* The document's `temporal` and `summary` stand below `features` in a dataset's configuration. */
static lt_status read_document(lt_extract_options *opt, lt_arena *arena, lt_yaml_node *root)
{
    char *text;
    size_t n;
    lt_yaml_node *doc;
    lt_notes notes = { .arena = arena };
    LT_TRY(lt_file_read(opt->config, LT_YAML_MAX_BYTES, &text, &n));
    lt_status s = lt_yaml_read(arena, text, n, opt->config, &notes, &doc);
    lt_free(text);
    LT_TRY(s);
    LT_TRY(check_keys(opt->config, doc));
    LT_TRY(read_run_keys(opt, doc));
    lt_yaml_node *temporal = lt_yaml_member(doc, "temporal"), *summary = lt_yaml_member(doc, "summary");
    LT_TRY(check_part(temporal, "features.temporal.", arena));
    LT_TRY(check_part(summary, "features.summary.", arena));
    if (temporal) LT_TRY(lt_yaml_set(arena, root, "features.temporal", temporal));
    lt_yaml_node *old = lt_schema_find(root, "features.summary");
    if (summary && old && old->kind == LT_YAML_MAP && summary->kind == LT_YAML_MAP) lt_yaml_merge(old, summary);
    else if (summary) LT_TRY(lt_yaml_set(arena, root, "features.summary", summary));
    return LT_OK;
}

static lt_status apply_flags(const lt_extract_options *opt, lt_arena *arena, lt_yaml_node *root)
{
    const struct { const char *category; bool on; } categories[] = {
        { "spatial", opt->spatial }, { "spectral", opt->spectral }, { "temporal", opt->temporal },
        { "cross_channel", false }, { "causality", false }, { "invariant_drift", false },
    };
    char path[96], number[16];
    if (opt->spatial || opt->spectral || opt->temporal)
        for (size_t i = 0; i < LT_LEN(categories); i++) {
            snprintf(path, sizeof path, "features.summary.%s.enabled", categories[i].category);
            LT_TRY(set_text(arena, root, path, categories[i].on ? "true" : "false"));
        }
    if (!opt->num_fft_scales) return LT_OK;
    snprintf(number, sizeof number, "%d", opt->num_fft_scales);
    return set_text(arena, root, "features.summary.spectral.num_fft_scales", number);
}

lt_status lt_extract_config(lt_dataset *d, lt_extract_options *opt, lt_arena *arena, lt_dataset_config **out)
{
    lt_dataset_info info = lt_dataset_get_info(d);
    lt_yaml_node *root;
    lt_notes notes = { .arena = arena };
    LT_TRY(lt_yaml_read(arena, info.config, strlen(info.config), "the dataset's configuration", &notes, &root));
    if (opt->config) LT_TRY(read_document(opt, arena, root));
    LT_TRY(apply_flags(opt, arena, root));
    LT_TRY(set_text(arena, root, "dataset.storage.store_trajectories", "false"));
    return lt_config_from_document(root, &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = opt->output }, out);
}
