/* Loading dataset configurations: read, merge, override, substitute, check.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/config.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/files/file.h"
#include "base/options.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/dataset.h"
#include "operators/config/field_blocks.h"
#include "operators/config/idle.h"
#include "operators/features/features.h"
#include "operators/config/keys.h"
#include "operators/sample/sobol.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Substitution --------------------------------------------------------------------- */
/* The name in a text that is entirely ${NAME}; false for any other text. */
static bool placeholder(const char *text, char *name, size_t size)
{
    size_t n = strlen(text);
    if (n < 4 || n - 3 >= size || strncmp(text, "${", 2) || text[n - 1] != '}') return false;
    for (size_t i = 2; i < n - 1; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
    snprintf(name, size, "%.*s", (int)(n - 3), text + 2);
    return true;
}

static lt_status substitute_text(lt_arena *arena, lt_yaml_node *n, const lt_dataset_overrides *over)
{
    char name[128];
    if (!placeholder(n->text, name, sizeof name)) return LT_OK;
    lt_yaml_node *value;
    const char *text = NULL;
    for (int i = 0; over && i < over->n_names && !text; i++)
        if (!strcmp(over->names[i], name)) text = over->values[i];
    bool given = text != NULL;
    if (!given) text = lt_config_variable(name);
    if (!text)
        return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s stands for nothing: expected a parameter or an environment variable %s", lt_yaml_place(n).s, n->text, name), n);
    LT_TRY(lt_yaml_scalar(arena, text, given, n->source, &value)); /* from the environment it stays a text */
    n->kind = value->kind;
    n->text = value->text;
    n->integer = value->integer;
    n->real = value->real;
    return LT_OK;
}

static lt_status substitute(lt_arena *arena, lt_yaml_node *n, const lt_dataset_overrides *over)
{
    if (n->kind == LT_YAML_TEXT) return substitute_text(arena, n, over);
    for (lt_yaml_node *m = n->first; m; m = m->next) LT_TRY(substitute(arena, m, over));
    return LT_OK;
}

static bool stands_in(const lt_yaml_node *n, const char *name)
{
    char found[128];
    if (n->kind == LT_YAML_TEXT) return placeholder(n->text, found, sizeof found) && !strcmp(found, name);
    for (const lt_yaml_node *m = n->first; m; m = m->next)
        if (stands_in(m, name)) return true;
    return false;
}

/* Who writes --define KEY=VALUE to set a key learns that it did nothing. */
static lt_status note_unused(lt_dataset_config *c, const lt_dataset_overrides *over)
{
    for (int i = 0; over && i < over->n_names; i++)
        if (!stands_in(c->document, over->names[i]))
            LT_TRY(lt_note(&c->notes, "--define %s has no effect: no value in the configuration is ${%s}; --merge replaces keys", over->names[i], over->names[i]));
    return LT_OK;
}

/* ---- Overrides ----------------------------------------------------------------------------- */
static lt_status override_text(lt_dataset_config *c, const char *path, const char *flag, const char *text, bool plain)
{
    lt_yaml_node *value;
    char section[32];
    snprintf(section, sizeof section, "%.*s", (int)strcspn(path, "."), path);
    /* A required section that is missing stays missing, so that the check reports it. */
    if (!text || (!lt_yaml_member(c->document, section) && strcmp(section, "engine"))) return LT_OK;
    LT_TRY(lt_yaml_scalar(&c->arena, text, plain, flag, &value));
    return lt_yaml_set(&c->arena, c->document, path, value);
}

static lt_status override_number(lt_dataset_config *c, const char *path, const char *flag, int64_t number, bool given)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return override_text(c, path, flag, given ? text : NULL, true);
}

/* What may differ between two runs that make the same rows: who shares them, and notes for people. */
static void drop_notes(lt_yaml_node *document)
{
    static const char *const notes[] = { "description", "author", "created", "purpose", "license" };
    lt_yaml_drop(lt_yaml_member(document, "simulation"), "parallelism");
    for (size_t i = 0; i < LT_LEN(notes); i++) lt_yaml_drop(lt_yaml_member(document, "metadata"), notes[i]);
}

static lt_status apply_overrides(lt_dataset_config *c, const lt_dataset_overrides *o)
{
    LT_TRY(override_text(c, "dataset.output_path", "--output", o->output, false));
    LT_TRY(override_text(c, "simulation.device", "--device", o->device, false));
    LT_TRY(override_number(c, "sampling.total_samples", "--total-samples", o->total_samples, o->total_samples != 0));
    LT_TRY(override_number(c, "sampling.batch_size", "--batch-size", o->batch_size, o->batch_size != 0));
    LT_TRY(override_number(c, "simulation.num_realizations", "--num-realizations", o->realizations, o->realizations != 0));
    LT_TRY(override_text(c, "engine.watchdog", "--watchdog", o->watchdog, false));
    if (o->any_devices) drop_notes(c->document);
    return override_number(c, "sampling.sobol.seed", "--seed", (int64_t)o->seed, o->has_seed);
}

/* The output path, the device, the batch size and the watchdog change no row. So the document kept in the file has the values of the
   configuration for them, not those of the command line: runs that differ only in these options write equal files. */
enum { OWN_OUTPUT, OWN_DEVICE, OWN_BATCH, OWN_WATCHDOG, OWN_COUNT };
static const char *const own_path[OWN_COUNT] = { "dataset.output_path", "simulation.device", "sampling.batch_size", "engine.watchdog" };

static void find_own(const lt_dataset_config *c, lt_yaml_node *own[OWN_COUNT])
{
    char name[128];
    for (int i = 0; i < OWN_COUNT; i++) {
        own[i] = lt_schema_find(c->document, own_path[i]);
        if (own[i] && own[i]->kind == LT_YAML_TEXT && placeholder(own[i]->text, name, sizeof name)) own[i] = NULL; /* from the environment: not kept */
    }
}

static lt_status put_own_back(lt_dataset_config *c, int i, lt_yaml_node *own)
{
    char section[32];
    const char *dot = strchr(own_path[i], '.');
    if (!own && i == OWN_OUTPUT) LT_TRY(lt_yaml_scalar(&c->arena, "dataset.h5", false, "a name", &own)); /* the key is required */
    if (own) return lt_yaml_set(&c->arena, c->document, own_path[i], own);
    snprintf(section, sizeof section, "%.*s", (int)(dot - own_path[i]), own_path[i]);
    lt_yaml_node *map = lt_yaml_member(c->document, section);
    lt_yaml_drop(map, dot + 1);
    if (map && map->count == 0) lt_yaml_drop(c->document, section); /* made for the option */
    return LT_OK;
}

static lt_status merge_file(lt_dataset_config *c, const char *path)
{
    char *text;
    size_t n_bytes;
    LT_TRY(lt_file_read(path, LT_YAML_MAX_BYTES, &text, &n_bytes));
    lt_yaml_node *over = NULL;
    lt_status s = lt_yaml_read(&c->arena, text, n_bytes, path, &c->notes, &over);
    lt_free(text);
    if (s) return s;
    if (over->kind != LT_YAML_MAP) return lt_schema_refuse(over, "the document", "a mapping");
    lt_yaml_merge(c->document, over);
    return LT_OK;
}

/* ---- Checks of several keys, and what follows from them ---------------------------------------- */
static lt_status derive_sampling(lt_dataset_config *c)
{
    c->sobol = lt_arena_alloc(&c->arena, (size_t)c->space.n * (LT_SOBOL_BITS + 1) * sizeof *c->sobol);
    if (!c->sobol) return LT_ERR_MEMORY;
    lt_sobol_prepare(c->space.n, c->scramble, c->seed, c->sobol);
    /* A check that is off passes. With both off, Spinlock uses its default limits. */
    if (!c->check_discrepancy && !c->check_correlation) {
        c->max_discrepancy = 0.01;
        c->max_correlation = 0.05;
    } else {
        if (!c->check_discrepancy) c->max_discrepancy = INFINITY;
        if (!c->check_correlation) c->max_correlation = INFINITY;
    }
    return LT_OK;
}

/* Warns about settings that never have an effect and were changed from their defaults. */
static lt_status note_idle_settings(lt_dataset_config *c)
{
    const lt_option_table *t = lt_feature_options_table();
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; i < t->groups[g].n_rows; i++) {
            const lt_option *row = &t->groups[g].rows[i];
            char key[128];
            snprintf(key, sizeof key, "features.summary.%s", row->name);
            const lt_yaml_node *n = lt_feature_option_idle(row) ? lt_schema_find(c->document, key) : NULL;
            double given = 0, usual = 0; /* what is no number was refused before */
            if (n && n->text && (lt_text_real(n->text, &given), lt_text_real(row->default_text, &usual), given != usual))
                LT_TRY(lt_note(&c->notes, "%s: %s has no effect: %s", lt_yaml_place(n).s, key, lt_feature_option_idle(row)));
        }
    return LT_OK;
}

static lt_status derive(lt_dataset_config *c)
{
    c->operator_features |= c->summary_operator_features;
    c->circular_padding = c->engine.padding == 1;
    c->tanh_gelu = c->engine.gelu == 1;
    c->full_noise = c->engine.noise_semantics == 1;
    c->physical_grf = c->engine.grf == 1;
    c->ignore_alias_blocks = c->engine.alias_blocks == 1;
    c->features.clip_batch = c->engine.clip == 1;
    c->features.corrected = c->engine.features == 1;
    const lt_yaml_node *precision = lt_schema_find(c->document, "simulation.precision");
    c->precision_given = precision != NULL;
    if (!precision) c->precision = c->steps > 1 ? LT_PRECISION_FLOAT16 : LT_PRECISION_FLOAT32;
    if (c->learned.projection_dim && c->learned.projection_dim < 8)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: features.summary.learned.projection_dim is %d: expected null or an integer in [8, 512]",
                       lt_yaml_place(lt_schema_find(c->document, "features.summary.learned.projection_dim")).s, c->learned.projection_dim);
    if (c->learned.enabled && c->summary_mode == LT_SUMMARY_MANUAL)
        LT_TRY(lt_note(&c->notes, "%s: features.summary.learned.enabled has no effect: summary_mode is manual; use learned or hybrid",
                       lt_yaml_place(lt_schema_find(c->document, "features.summary.learned.enabled")).s));
    c->learned.enabled = c->summary && c->summary_mode != LT_SUMMARY_MANUAL;
    if (c->summary_mode == LT_SUMMARY_LEARNED) c->summary = false;
    return note_idle_settings(c);
}

/* ---- JSON ------------------------------------------------------------------------------------------ */
static lt_status keep_json(lt_dataset_config *c, lt_json *j, char **out)
{
    lt_status s = lt_json_finish(j);
    if (!s && !(*out = lt_arena_strdup(&c->arena, lt_json_text(j)))) s = LT_ERR_MEMORY;
    lt_json_destroy(j);
    return s;
}

/* The document is stored in files that people share, so it must not hold account keys (decision 40). */
static void withhold_secrets(const lt_yaml_node *cloud)
{
    static const char *const secret[] = { "api_key", "access_key_id", "secret_access_key" };
    for (lt_yaml_node *block = cloud ? cloud->first : NULL; block; block = block->next)
        for (size_t i = 0; i < LT_LEN(secret); i++) {
            lt_yaml_node *n = lt_yaml_member(block, secret[i]);
            if (!n || n->kind == LT_YAML_NULL) continue;
            n->kind = LT_YAML_TEXT;
            n->text = "(withheld)";
        }
}

static lt_status write_document(lt_dataset_config *c, char **out)
{
    lt_json *j;
    withhold_secrets(lt_yaml_member(c->document, "cloud"));
    LT_TRY(lt_json_create(LT_JSON_COMPACT, &j));
    lt_yaml_json(c->document, j);
    return keep_json(c, j, out);
}

/* Called last, because it changes the document. With engine.clip: batch, rows depend on the batch size, which is then kept. */
static lt_status write_record(lt_dataset_config *c, const lt_dataset_overrides *o, lt_yaml_node *own[OWN_COUNT])
{
    bool given[OWN_COUNT] = { false };
    if (o) given[OWN_OUTPUT] = o->output, given[OWN_DEVICE] = o->device, given[OWN_BATCH] = o->batch_size && !c->features.clip_batch, given[OWN_WATCHDOG] = o->watchdog;
    for (int i = 0; i < OWN_COUNT; i++)
        if (given[i]) LT_TRY(put_own_back(c, i, own[i]));
    return write_document(c, &c->record_json);
}

static lt_status write_engine(lt_dataset_config *c, const lt_schema *schema)
{
    lt_json *j;
    LT_TRY(lt_json_create(LT_JSON_COMPACT, &j));
    lt_json_object_begin(j);
    for (int i = 0; i < schema->n_rows; i++) {
        const lt_option *o = &schema->rows[i].option;
        if (strncmp(o->name, "engine.", 7) || !strcmp(o->name, "engine.watchdog")) continue; /* what results depend on */
        lt_json_field_string(j, o->name + 7, o->names[*(const int *)((const char *)c + o->offset)]);
    }
    lt_json_object_end(j);
    return keep_json(c, j, &c->engine_json);
}

/* Lists of numbers and names are read when the columns are chosen: tried here, where their place is known. */
static lt_status check_features(const lt_dataset_config *c)
{
    lt_feature_set *set = NULL;
    const lt_yaml_node *summary = lt_schema_find(c->document, "features.summary");
    if (!summary) return LT_OK;
    lt_status s = lt_feature_set_create(&c->features, false, &set);
    lt_feature_set_destroy(set);
    if (s != LT_ERR_ARGUMENT) return s;
    char why[300];
    const char *text = lt_error_text(), *kind = strstr(text, ": "); /* "argument: ..." */
    snprintf(why, sizeof why, "%s", kind ? kind + 2 : text);
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: features.summary: %s", lt_yaml_place(summary).s, why), summary);
}

/* ---- Loading ------------------------------------------------------------------------------------------ */
static lt_status check_document(lt_dataset_config *c, const lt_dataset_overrides *over)
{
    if (c->document->kind != LT_YAML_MAP) return lt_schema_refuse(c->document, "the document", "a mapping");
    if (over && over->merge_path) LT_TRY(merge_file(c, over->merge_path));
    LT_TRY(note_unused(c, over)); /* before options replace values */
    lt_yaml_node *own[OWN_COUNT];
    find_own(c, own);
    if (over) LT_TRY(apply_overrides(c, over));
    LT_TRY(substitute(&c->arena, c->document, over));
    lt_schema schema = lt_config_schema();
    LT_TRY(lt_schema_read(&schema, c->document, c));
    LT_TRY(lt_schema_note_unknown(&schema, c->document, &c->notes));
    LT_TRY(derive(c));
    LT_TRY(check_features(c));
    LT_TRY(lt_space_read(&c->arena, c->document, c->kind, &c->notes, &c->space));
    LT_TRY(lt_config_read_fields(c, c->document, &c->notes));
    LT_TRY(lt_config_find_idle(c));
    LT_TRY(derive_sampling(c));
    LT_TRY(write_document(c, &c->json));
    LT_TRY(write_engine(c, &schema));
    return write_record(c, over, own);
}

static lt_status create(lt_dataset_config **out)
{
    *out = lt_calloc(1, sizeof **out);
    if (!*out) return LT_FAIL(LT_ERR_MEMORY, "%zu bytes for the configuration", sizeof **out);
    (*out)->notes.arena = &(*out)->arena;
    return LT_OK;
}

/* Destroys a configuration that could not be loaded. */
static lt_status keep_or_drop(lt_status s, lt_dataset_config **c)
{
    if (!s) return LT_OK;
    lt_dataset_config_destroy(*c);
    *c = NULL;
    return s;
}

void lt_dataset_overrides_defaults_into(lt_dataset_overrides *out)
{
    LT_GIVE(out, &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides) });
}

lt_status lt_dataset_config_parse(const char *text, size_t length, const char *name, const lt_dataset_overrides *overrides, lt_dataset_config **out)
{
    if (!out || !name || (!text && length)) return LT_FAIL(LT_ERR_ARGUMENT, "config: %s is NULL", !out ? "out" : !name ? "name" : "text");
    *out = NULL;
    lt_dataset_overrides over = lt_dataset_overrides_defaults();
    LT_TRY(LT_TAKE(lt_dataset_overrides, overrides, &over));
    LT_TRY(create(out));
    lt_status s = lt_yaml_read(&(*out)->arena, text ? text : "", length, name, &(*out)->notes, &(*out)->document);
    if (!s) s = check_document(*out, &over);
    return keep_or_drop(s, out);
}

lt_status lt_config_from_document(lt_yaml_node *document, const lt_dataset_overrides *over, lt_dataset_config **out)
{
    LT_TRY(create(out));
    (*out)->document = document;
    return keep_or_drop(check_document(*out, over), out);
}

lt_status lt_dataset_config_load(const char *path, const lt_dataset_overrides *over, lt_dataset_config **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "config: out is NULL");
    *out = NULL;
    char *text;
    size_t n_bytes;
    LT_TRY(lt_file_read(path, LT_YAML_MAX_BYTES, &text, &n_bytes));
    lt_status s = lt_dataset_config_parse(text, n_bytes, path, over, out);
    lt_free(text);
    return s;
}

void lt_dataset_config_destroy(lt_dataset_config *c)
{
    if (!c) return;
    lt_arena_release(&c->arena);
    lt_free(c);
}

int         lt_dataset_config_warning_count(const lt_dataset_config *c) { return c->notes.n; }
const char *lt_dataset_config_warning(const lt_dataset_config *c, int i) { return i >= 0 && i < c->notes.n ? c->notes.line[i] : ""; }
const lt_idle_key *lt_dataset_config_idle(const lt_dataset_config *c, int i) { return i >= 0 && i < c->notes.n_idle ? &c->notes.idle[i].shown : NULL; }
const char *lt_dataset_config_json(const lt_dataset_config *c) { return c->json; }

void lt_dataset_config_summary_into(const lt_dataset_config *c, lt_dataset_summary *out)
{
    static const char *const providers[] = { "lambda_labs", "runpod", "aws", "local" }; /* in the order of keys.c */
    const lt_dataset_summary s = { .size = sizeof s, .name = c->name, .output = c->output_path, .device = c->device, .provider = providers[c->provider],
                                 .total_samples = c->total_samples, .batch_size = c->batch_size, .realizations = c->realizations, .steps = c->steps,
                                 .seed = c->seed, .store_trajectories = c->store_trajectories, .precision = c->precision };
    LT_GIVE(out, &s);
}
