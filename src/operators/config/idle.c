/* Which keys of a document have no effect, and why. SPDX-License-Identifier: BSD-3-Clause

   Unknown keys and columns without a meaning are noted where they are found. This file adds the rest: keys that lathe accepts and
   never uses, settings that never act, and settings of what this document switches off. */
#include "operators/config/idle.h"

#include "base/status.h"
#include "operators/config/keys.h"
#include "operators/features/table.h"
#include "operators/fields/types.h"

#include <stdlib.h>
#include <string.h>

static lt_status find_unused(lt_dataset_config *c)
{
    for (int i = 0; i < lt_accepted_unused_count; i++) {
        const lt_schema_row *row = &lt_accepted_unused[i];
        const lt_yaml_node *n = lt_schema_find(c->document, row->option.name);
        if (n) LT_TRY(lt_note_idle(&c->notes, n, row->option.name, "%s", row->why));
    }
    return LT_OK;
}

/* ---- Settings of feature categories ------------------------------------------------------------- */
/* The category whose settings the row is one of; -1: settings of the whole. */
static int category_of(const lt_option *row)
{
    size_t length = strcspn(row->name, ".");
    for (int i = 0; row->name[length] && i < LT_CATEGORY_COUNT; i++)
        if (strlen(lt_feature_category_name(i)) == length && !strncmp(row->name, lt_feature_category_name(i), length)) return i;
    return -1;
}

static lt_status find_idle_feature(lt_dataset_config *c, const lt_option *row)
{
    char key[128];
    snprintf(key, sizeof key, "features.summary.%s", row->name);
    const lt_yaml_node *n = lt_schema_find(c->document, key);
    const char *never = lt_feature_option_idle(row);
    int category = category_of(row);
    if (!n) return LT_OK;
    if (never) return lt_note_idle(&c->notes, n, key, "%s", never);
    if (category < 0 || c->features.enabled[category] || !strcmp(row->name + strcspn(row->name, "."), ".enabled")) return LT_OK;
    return lt_note_idle(&c->notes, n, key, "features.summary.%s.enabled is false", lt_feature_category_name(category));
}

static lt_status find_idle_features(lt_dataset_config *c)
{
    const lt_option_table *t = lt_feature_options_table();
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; i < t->groups[g].n_rows; i++) LT_TRY(find_idle_feature(c, &t->groups[g].rows[i]));
    return LT_OK;
}

/* ---- Settings of what is switched off ------------------------------------------------------------- */
typedef struct condition { const char *key; bool idle; const char *why; } condition;

static lt_status find_conditions(lt_dataset_config *c, const condition *list, int n)
{
    for (int i = 0; i < n; i++) {
        const lt_yaml_node *node = list[i].idle ? lt_schema_find(c->document, list[i].key) : NULL;
        if (node) LT_TRY(lt_note_idle(&c->notes, node, list[i].key, "%s", list[i].why));
    }
    return LT_OK;
}

static bool draws(const lt_dataset_config *c, lt_field_type type)
{
    for (int i = 0; i < c->n_fields; i++)
        if (c->field[i].type == type) return true;
    return false;
}

static lt_status find_switched_off(lt_dataset_config *c)
{
    bool random = draws(c, LT_FIELD_GRF) || draws(c, LT_FIELD_MIXED), no_check = !c->check_discrepancy && !c->check_correlation;
    const condition list[] = {
        { "simulation.input_generation.ic_type_weights", c->method != LT_METHOD_SAMPLED, "simulation.input_generation.method is not sampled" },
        { "simulation.input_generation.length_scale", !random, "no gaussian_random_field is drawn" },
        { "simulation.input_generation.variance", !random, "no gaussian_random_field is drawn" },
        { "dataset.storage.compression_level", c->compression != LT_COMPRESS_GZIP, "dataset.storage.compression is not gzip" },
        { "sampling.validation.max_discrepancy", !c->check_discrepancy, no_check ? "both checks are off: their default limits apply" : "check_discrepancy is false" },
        { "sampling.validation.max_pairwise_correlation", !c->check_correlation, no_check ? "both checks are off: their default limits apply" : "check_correlation is false" },
        { "features.initial.variant", !c->initial, "features.initial.enabled is false" },
        { "features.architecture.variant", !c->architecture, "features.architecture.enabled is false" },
    };
    return find_conditions(c, list, (int)LT_LEN(list));
}

static lt_status find_unlearned(lt_dataset_config *c)
{
    static const char prefix[] = "features.summary.learned.";
    const char *why = c->summary_mode == LT_SUMMARY_MANUAL ? "features.summary.summary_mode is manual" : "features.summary.enabled is false";
    lt_schema schema = lt_config_schema();
    for (int i = 0; !c->learned.enabled && i < schema.n_rows; i++) {
        const char *key = schema.rows[i].option.name;
        const lt_yaml_node *n = strncmp(key, prefix, strlen(prefix)) ? NULL : lt_schema_find(c->document, key);
        if (n) LT_TRY(lt_note_idle(&c->notes, n, key, "%s", why));
    }
    if (!c->learned.enabled || c->learned.from == LT_LEARNED_ALL) return LT_OK;
    const condition list[] = {
        { "features.summary.learned.skip_levels", c->learned.from != LT_LEARNED_SKIPS, "features.summary.learned.extract_from is neither all nor skips" },
        { "features.summary.learned.layer_indices", c->learned.from != LT_LEARNED_MID, "features.summary.learned.extract_from is neither all nor mid" },
    };
    return find_conditions(c, list, (int)LT_LEN(list));
}

/* ---- Columns of the parameter space that no rollout reads ------------------------------------------- */
static lt_status find_idle_columns(lt_dataset_config *c)
{
    bool simple_noise = !c->full_noise;
    const char *noise = "the rollout does not read it: engine.noise_semantics is reference";
    const condition list[] = {
        { "dropout_rate", true, "the rollout does not read it: dropout is off when operators run" },
        { "noise_schedule", simple_noise, noise },
        { "schedule_period", simple_noise, noise },
        { "spatial_correlation", simple_noise && c->kind == LT_OPERATOR_CNN, noise },
    };
    const lt_yaml_node *space = lt_yaml_member(c->document, "parameter_space");
    for (const lt_yaml_node *part = space ? space->first : NULL; part; part = part->next)
        for (size_t i = 0; i < LT_LEN(list); i++) {
            char key[128];
            const lt_yaml_node *n = list[i].idle ? lt_yaml_member(part, list[i].key) : NULL;
            snprintf(key, sizeof key, "parameter_space.%s.%s", part->key, list[i].key);
            if (n) LT_TRY(lt_note_idle(&c->notes, n, key, "%s", list[i].why));
        }
    return LT_OK;
}

/* ---- Order ------------------------------------------------------------------------------------------ */
/* First the configuration, then the file merged onto it, each in its own order. */
static int by_place(const void *x, const void *y)
{
    const lt_idle_note *a = x, *b = y;
    if (a->merged != b->merged) return a->merged - b->merged;
    return a->line != b->line ? a->line - b->line : a->column != b->column ? a->column - b->column : strcmp(a->shown.key, b->shown.key);
}

static void sort_by_place(const lt_yaml_node *document, lt_notes *notes)
{
    for (int i = 0; i < notes->n_idle; i++) notes->idle[i].merged = strcmp(notes->idle[i].source, document->source) != 0;
    if (notes->n_idle) qsort(notes->idle, (size_t)notes->n_idle, sizeof *notes->idle, by_place);
}

lt_status lt_config_find_idle(lt_dataset_config *c)
{
    LT_TRY(find_unused(c));
    LT_TRY(find_idle_features(c));
    LT_TRY(find_switched_off(c));
    LT_TRY(find_unlearned(c));
    LT_TRY(find_idle_columns(c));
    sort_by_place(c->document, &c->notes);
    return LT_OK;
}
