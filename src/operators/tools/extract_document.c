/* The document of the offline extractor: its keys, checked. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/extract_document.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <string.h>

static lt_status read_device(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    const char **field = (const char **)((char *)into + row->option.offset);
    *field = n ? n->text : NULL;
    if (!n || (n->text && (!strcmp(n->text, "cpu") || !strcmp(n->text, "auto") || !strncmp(n->text, "cuda", 4)))) return LT_OK;
    return lt_schema_refuse(n, row->option.name, "cpu, cuda, cuda:N or auto");
}

#define D lt_extract_document
#define TEXT(field_, path, help_) { .option = LT_OPTION_STRING(D, field_, path, NULL, "TEXT", help_), .flags = LT_KEY_NULL }
#define COUNT(field_, path, most, help_) { .option = LT_OPTION_INT(D, field_, path, NULL, LT_RANGE_CLOSED(1, most), "N", help_), .flags = LT_KEY_NULL }
#define IDLE(field_, path, why_) { .option = LT_OPTION_BOOL(D, field_, path, "false", "as Spinlock knows it"), .flags = LT_KEY_NULL, .why = why_ }
#define SECTION(path, help_) { .option = { .name = path, .help = help_ }, .flags = LT_KEY_OPEN }

static const lt_schema_row rows[] = {
    { .option = { .name = "metadata", .help = "notes for people, kept as attributes of /features" }, .flags = LT_KEY_SECTION },
    TEXT(note[0], "metadata.name", "name"), TEXT(note[1], "metadata.description", "in words"), TEXT(note[2], "metadata.author", "who"),
    TEXT(note[3], "metadata.created", "when"), TEXT(note[4], "metadata.purpose", "what for"),
    TEXT(input, "input_dataset", "the dataset, unless the command names one"),
    TEXT(output, "output_dataset", "where to; null or left out: into the dataset itself"),
    COUNT(batch_size, "batch_size", 1000, "operators read at a time"),
    COUNT(max_samples, "max_samples", 4294967296.0, "only the first operators; null: all"),
    { .option = { .name = "device", .type = LT_OPTION_TYPE_STRING, LT_OPTION_FIELD_(D, device), .help = "where states are replayed" }, .flags = LT_KEY_NULL, .read = read_device },
    { .option = LT_OPTION_BOOL(D, overwrite, "overwrite", "false", "features or a file that are there may be replaced") },
    { .option = LT_OPTION_INT(D, workers, "num_workers", "4", LT_RANGE_CLOSED(0, 1024), "N", "processes"), .flags = LT_KEY_NULL, .why = "all cores compute, in one process" },
    IDLE(cache, "cache_trajectories", "states are read or replayed once and never kept"),
    SECTION("temporal", "per-step features"), SECTION("summary", "per-trajectory features"), SECTION("architecture", "what the operator is"),
    SECTION("initial", "features of the initial field"),
};

const char *const lt_extract_sections[LT_EXTRACT_SECTIONS] = { "temporal", "summary", "architecture", "initial" };
const char *const lt_extract_notes[LT_EXTRACT_NOTES] = { "name", "description", "author", "created", "purpose" };

/* Its own keys; those of sections are keys of a dataset's configuration below `features`. */
static lt_schema schema_of_document(void) { return (lt_schema){ .rows = rows, .n_rows = (int)LT_LEN(rows) }; }

/* Unknown keys are errors here: a misspelt switch would cost a whole extraction. */
static lt_status check_sections(lt_extract_document *d)
{
    lt_schema own = schema_of_document(), features = lt_config_schema();
    LT_TRY(lt_schema_refuse_unknown(&own, d->root, "", &d->arena));
    for (int i = 0; i < LT_EXTRACT_SECTIONS; i++) {
        char prefix[64];
        lt_yaml_node *part = lt_yaml_member(d->root, lt_extract_sections[i]);
        snprintf(prefix, sizeof prefix, "features.%s.", lt_extract_sections[i]);
        if (part && part->kind == LT_YAML_MAP) LT_TRY(lt_schema_refuse_unknown(&features, part, prefix, &d->arena));
    }
    return LT_OK;
}

static lt_status find_idle(lt_extract_document *d)
{
    for (size_t i = 0; i < LT_LEN(rows); i++) {
        const lt_yaml_node *n = rows[i].why ? lt_schema_find(d->root, rows[i].option.name) : NULL;
        if (n) LT_TRY(lt_note_idle(&d->notes, n, rows[i].option.name, "%s", rows[i].why));
    }
    for (int i = 0; i < lt_accepted_unused_count; i++) { /* those of sections, which stand below `features` in a dataset's configuration */
        const char *name = lt_accepted_unused[i].option.name;
        const lt_yaml_node *n = strncmp(name, "features.", 9) ? NULL : lt_schema_find(d->root, name + 9);
        if (n) LT_TRY(lt_note_idle(&d->notes, n, name + 9, "%s", lt_accepted_unused[i].why));
    }
    return LT_OK;
}

static lt_status read_document(lt_extract_document *d, const char *path)
{
    char *text;
    size_t n;
    lt_schema schema = schema_of_document();
    LT_TRY(lt_file_read(path, LT_YAML_MAX_BYTES, &text, &n));
    lt_status s = lt_yaml_read(&d->arena, text, n, path, &d->notes, &d->root);
    lt_free(text);
    LT_TRY(s);
    if (d->root->kind != LT_YAML_MAP) return LT_FAIL(LT_ERR_FORMAT, "%s: expected a mapping", path);
    LT_TRY(check_sections(d));
    LT_TRY(lt_schema_read(&schema, d->root, d));
    return find_idle(d);
}

lt_status lt_extract_document_load(const char *path, lt_extract_document **out)
{
    LT_NEED(path);
    LT_NEED(out);
    *out = NULL;
    lt_extract_document *d = lt_calloc(1, sizeof *d);
    if (!d) return LT_ERR_MEMORY;
    d->notes.arena = &d->arena;
    lt_status s = read_document(d, path);
    if (s) lt_extract_document_destroy(d);
    else *out = d;
    return s;
}

void lt_extract_document_destroy(lt_extract_document *d)
{
    if (!d) return;
    lt_arena_release(&d->arena);
    lt_free(d);
}

const char *lt_extract_document_input(const lt_extract_document *d) { return d->input; }
const char *lt_extract_document_output(const lt_extract_document *d) { return d->output; }
const char *lt_extract_document_device(const lt_extract_document *d) { return d->device; }
const lt_idle_key *lt_extract_document_idle(const lt_extract_document *d, int i) { return i >= 0 && i < d->notes.n_idle ? &d->notes.idle[i].shown : NULL; }
