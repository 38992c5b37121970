/* The offline extractor's document laid over the configuration of a dataset, and which families are computed.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract.h"
#include "operators/tools/extract_document.h"

#include "base/status.h"
#include "operators/file/dataset_file.h"

#include <stdio.h>
#include <string.h>

/* Families in the order of lt_extract_sections: the parts of the file that are theirs. */
static const unsigned parts_of[LT_EXTRACT_SECTIONS] = {
    1u << LT_PART_TEMPORAL, 1u << LT_PART_PER_TRAJECTORY | 1u << LT_PART_AGGREGATED | 1u << LT_PART_LEARNED, 1u << LT_PART_ARCHITECTURE,
    1u << LT_PART_INITIAL | 1u << LT_PART_INITIAL_MANUAL | 1u << LT_PART_INITIAL_CNN,
};
static const char *const arrays_of[LT_EXTRACT_SECTIONS] = { "/features/temporal/features", "/features/summary", "/features/architecture", "/features/initial" };
enum { TEMPORAL, SUMMARY, ARCHITECTURE, INITIAL, ALL = (1 << LT_EXTRACT_SECTIONS) - 1 };

static lt_status set_text(lt_arena *arena, lt_yaml_node *root, const char *path, const char *text)
{
    lt_yaml_node *value;
    LT_TRY(lt_yaml_scalar(arena, text, true, "extract-features", &value));
    return lt_yaml_set(arena, root, path, value);
}

/* ---- Families ------------------------------------------------------------------------------------------------ */

static bool is_off(const lt_yaml_node *section)
{
    const lt_yaml_node *enabled = section && section->kind == LT_YAML_MAP ? lt_yaml_member(section, "enabled") : NULL;
    return enabled && enabled->kind == LT_YAML_BOOL && !enabled->integer;
}

static lt_status parse_only(const char *text, unsigned *out)
{
    *out = 0;
    for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        char word[32];
        int i = 0;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        while (i < LT_EXTRACT_SECTIONS && strcmp(word, lt_extract_sections[i])) i++;
        if (i == LT_EXTRACT_SECTIONS) return LT_FAIL(LT_ERR_ARGUMENT, "only '%s': expected some of temporal, summary, architecture, initial, with commas", text);
        *out |= 1u << i;
    }
    return *out ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "only '': expected some of temporal, summary, architecture, initial, with commas");
}

/* Bits of the families that are computed. Without a choice: in place those that the document has, as its settings of SUMMARY are those of
   TEMPORAL too; else all. */
static lt_status choose_families(const lt_extract *e, const lt_extract_document *doc, unsigned *out)
{
    unsigned found = 0, off = 0;
    if (e->opt->only) return parse_only(e->opt->only, out);
    for (int i = 0; doc && i < LT_EXTRACT_SECTIONS; i++) {
        lt_yaml_node *section = lt_yaml_member(doc->root, lt_extract_sections[i]);
        found |= section ? 1u << i : 0;
        off |= is_off(section) ? 1u << i : 0;
    }
    if (found >> SUMMARY & 1) found |= 1u << TEMPORAL;
    *out = e->in_place && found ? found & ~off : ALL;
    return *out ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "every family of the document is switched off: nothing to compute");
}

/* In place, features that are there are replaced only where that is asked for. */
static lt_status check_overwrite(const lt_extract *e, unsigned families)
{
    for (int i = 0; i < LT_EXTRACT_SECTIONS && !e->opt->overwrite; i++)
        if (families >> i & 1 && lt_dataset_find(e->d, arrays_of[i]))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: has %s features already: allow them to be replaced (--overwrite), choose others (--only) or another file (--output)", e->d->path,
                           lt_extract_sections[i]);
    return LT_OK;
}

/* ---- Settings -------------------------------------------------------------------------------------------------- */

/* A section lies below `features` in a dataset's configuration. One of ARCHITECTURE means its named columns. */
static lt_status lay_section(lt_extract *e, lt_yaml_node *root, lt_yaml_node *section, int family)
{
    char path[64], key[96];
    snprintf(path, sizeof path, "features.%s", lt_extract_sections[family]);
    bool on = !is_off(section), switches = section->kind == LT_YAML_MAP && (family == ARCHITECTURE || family == INITIAL);
    bool has_variant = switches && lt_yaml_member(section, "variant");
    lt_yaml_node *old = lt_schema_find(root, path);
    if (old && old->kind == LT_YAML_MAP && section->kind == LT_YAML_MAP && family != TEMPORAL) lt_yaml_merge(old, section);
    else LT_TRY(lt_yaml_set(&e->arena, root, path, section));
    if (!switches) return LT_OK;
    snprintf(key, sizeof key, "%s.enabled", path);
    LT_TRY(set_text(&e->arena, root, key, on ? "true" : "false"));
    snprintf(key, sizeof key, "%s.variant", path);
    return has_variant || family != ARCHITECTURE ? LT_OK : set_text(&e->arena, root, key, "named");
}

/* Sections are moved, which breaks the document's list: all are found first. */
static lt_status lay_document(lt_extract *e, lt_extract_document *doc, unsigned families, lt_yaml_node *root)
{
    lt_yaml_node *found[LT_EXTRACT_SECTIONS];
    for (int i = 0; i < LT_EXTRACT_SECTIONS; i++) found[i] = lt_yaml_member(doc->root, lt_extract_sections[i]);
    for (int i = 0; i < LT_EXTRACT_SECTIONS; i++) {
        lt_yaml_node *section = found[i];
        if (!section || section->kind == LT_YAML_NULL || !(families >> i & 1)) continue;
        if (section->kind != LT_YAML_MAP) return lt_schema_refuse(section, lt_extract_sections[i], "a mapping");
        LT_TRY(lay_section(e, root, section, i));
    }
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

/* --only of a family that the configuration has switched off switches it on. */
static lt_status switch_on(lt_extract *e, unsigned families, lt_yaml_node *root)
{
    char key[96];
    for (int i = 0; e->opt->only && i < LT_EXTRACT_SECTIONS; i++) {
        if (!(families >> i & 1)) continue;
        snprintf(key, sizeof key, "features.%s.enabled", lt_extract_sections[i]);
        LT_TRY(set_text(&e->arena, root, key, "true"));
    }
    return LT_OK;
}

static void fill_in(lt_extract *e, const lt_extract_document *doc)
{
    lt_extract_options *o = e->opt;
    if (!o->batch_size) o->batch_size = doc->batch_size;
    if (!o->max_rows) o->max_rows = doc->max_samples;
    if (!o->output) o->output = doc->output;
    o->overwrite = o->overwrite || doc->overwrite;
    memcpy(e->note, doc->note, sizeof e->note);
}

lt_status lt_extract_config(lt_extract *e, lt_dataset_config **out)
{
    lt_yaml_node *root;
    lt_notes notes = { .arena = &e->arena };
    unsigned families = ALL;
    if (e->opt->config) LT_TRY(lt_extract_document_load(e->opt->config, &e->document));
    if (e->document) fill_in(e, e->document);
    e->in_place = !e->opt->output;
    if (!e->upgrading) {
        LT_TRY(choose_families(e, e->document, &families));
        if (e->in_place) LT_TRY(check_overwrite(e, families));
        for (int i = 0; i < LT_EXTRACT_SECTIONS; i++) e->kept |= families >> i & 1 ? 0 : parts_of[i];
        if (e->in_place) e->kept |= 1u << LT_PART_FIELD;
    }
    LT_TRY(lt_yaml_read(&e->arena, e->in.config, strlen(e->in.config), "the dataset's configuration", &notes, &root));
    if (e->document) LT_TRY(lay_document(e, e->document, families, root));
    LT_TRY(apply_flags(e->opt, &e->arena, root));
    LT_TRY(switch_on(e, families, root));
    if (!e->in_place) LT_TRY(set_text(&e->arena, root, "dataset.storage.store_trajectories", "false"));
    return lt_config_from_document(root, &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = e->opt->output }, out);
}
