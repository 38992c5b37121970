/* Reading a YAML tree through one table of keys. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/schema.h"

#include "base/options.h"
#include "base/status.h"

#include <string.h>

enum { PATH_BYTES = 256, MAX_SIBLINGS = 256 };

/* Where values that are only checked are put. */
typedef union scratch {
    int64_t      integer;
    double       real;
    bool         flag;
    const char  *text;
    lt_text_list list;
} scratch;

/* ---- Values ------------------------------------------------------------------- */
static void value_text(const lt_yaml_node *n, char *text, size_t size)
{
    if (n->kind == LT_YAML_LIST || n->kind == LT_YAML_MAP) snprintf(text, size, "%s", lt_yaml_kind_name(n->kind));
    else if (n->kind == LT_YAML_NULL) snprintf(text, size, "null");
    else snprintf(text, size, "'%.80s'", n->text);
}

lt_status lt_schema_refuse(const lt_yaml_node *n, const char *path, const char *expected)
{
    char value[128];
    value_text(n, value, sizeof value);
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s is %s: expected %s", lt_yaml_place(n).s, path, value, expected), n);
}

static lt_status refuse_row(const lt_option *row, const lt_yaml_node *n, const char *path)
{
    char all[384], expected[448];
    lt_option_expects(row, all, sizeof all);
    int n_names = 0;
    while (row->type == LT_OPTION_TYPE_ENUM && row->names[n_names]) n_names++;
    /* Among many names the nearest stands first: the list may be cut. */
    const char *near = n_names > 8 && n->kind == LT_YAML_TEXT ? lt_text_nearest(n->text, row->names, n_names) : NULL;
    snprintf(expected, sizeof expected, "%s%s%s%s", near ? "perhaps '" : "", near ? near : "", near ? "', " : "", all);
    return lt_schema_refuse(n, path, expected);
}

static bool has_name(const lt_option *row, const char *name)
{
    int i = 0;
    while (row->names[i] && strcmp(row->names[i], name)) i++;
    return row->names[i] != NULL;
}

/* The text that sets an option to what the scalar means. on, off, yes and true are all booleans of YAML. An integer may be written 10.0, and any
   number or boolean as a text: values that came through ${NAME} are texts. */
static const char *option_text(const lt_option *row, const lt_yaml_node *n, char *buffer, size_t size)
{
    if (row->type == LT_OPTION_TYPE_ENUM && n->kind == LT_YAML_BOOL && has_name(row, "on")) return n->integer ? "on" : "off";
    if (row->type == LT_OPTION_TYPE_STRING || row->type == LT_OPTION_TYPE_PATH || row->type == LT_OPTION_TYPE_ENUM) return n->text;
    switch (n->kind) {
    case LT_YAML_BOOL:
        if (row->type != LT_OPTION_TYPE_BOOL) return NULL; /* yes is not 1 */
        return n->integer ? "true" : "false";
    case LT_YAML_INT: snprintf(buffer, size, "%lld", (long long)n->integer); return buffer;
    case LT_YAML_REAL:
        if (row->type == LT_OPTION_TYPE_INT && n->real == floor(n->real) && fabs(n->real) < 9e15) snprintf(buffer, size, "%.0f", n->real);
        else lt_double_text(n->real, buffer);
        return buffer;
    case LT_YAML_TEXT: return n->text;
    default: return NULL;
    }
}

static lt_status set_list(const lt_option *row, const lt_yaml_node *n, const char *path, void *field)
{
    if (n->kind != LT_YAML_LIST) return refuse_row(row, n, path);
    memset(field, 0, row->size);
    for (const lt_yaml_node *m = n->first; m; m = m->next)
        if (m->kind == LT_YAML_LIST || m->kind == LT_YAML_MAP || lt_option_set_field(row, m->text, field)) return refuse_row(row, m, path);
    return LT_OK;
}

/* One scalar through an option row; path is for messages. */
static lt_status set_scalar(const lt_option *row, const lt_yaml_node *n, const char *path, void *field)
{
    if (row->type == LT_OPTION_TYPE_LIST) return set_list(row, n, path, field);
    char buffer[64];
    const char *text = n->kind == LT_YAML_NULL ? NULL : option_text(row, n, buffer, sizeof buffer);
    if (!text || lt_option_set_field(row, text, field)) return refuse_row(row, n, path);
    return LT_OK;
}

/* ---- Rows ------------------------------------------------------------------------- */
/* The node at a path; *parent says whether the mapping it belongs to is there. */
static lt_status descend(const lt_yaml_node *root, const char *path, const lt_yaml_node **out, bool *parent)
{
    char part[PATH_BYTES];
    *out = NULL;
    for (const char *at = path;;) {
        const char *dot = strchr(at, '.');
        size_t length = dot ? (size_t)(dot - at) : strlen(at);
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        *parent = true;
        const lt_yaml_node *n = lt_yaml_member(root, part);
        if (!dot) {
            *out = n;
            return LT_OK;
        }
        *parent = false;
        if (!n || n->kind == LT_YAML_NULL) return LT_OK;
        snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
        if (n->kind != LT_YAML_MAP) return lt_schema_refuse(n, part, "a mapping");
        root = n;
        at = dot + 1;
    }
}

lt_yaml_node *lt_schema_find(const lt_yaml_node *root, const char *path)
{
    const lt_yaml_node *n;
    bool parent;
    return descend(root, path, &n, &parent) ? NULL : (lt_yaml_node *)n;
}

/* into NULL: the value is checked only. */
static lt_status read_row(const lt_schema_row *row, const lt_yaml_node *root, void *into)
{
    const lt_option *o = &row->option;
    const lt_yaml_node *n;
    bool parent, is_map = row->flags & (LT_KEY_SECTION | LT_KEY_OPEN | LT_KEY_STRICT);
    LT_TRY(descend(root, o->name, &n, &parent));
    if (n && n->kind == LT_YAML_NULL && (row->flags & LT_KEY_NULL || (is_map && !(row->flags & LT_KEY_REQUIRED)))) return LT_OK;
    if (!n) {
        if (parent && row->flags & LT_KEY_REQUIRED)
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: %s is missing: expected %s (%s)", root->source, o->name, is_map ? "a mapping" : "a value", o->help);
        return LT_OK;
    }
    if (is_map) return n->kind == LT_YAML_MAP ? LT_OK : lt_schema_refuse(n, o->name, "a mapping");
    if (row->read) return row->read(row, n, into);
    scratch aside = { 0 };
    return set_scalar(o, n, o->name, into ? (char *)into + o->offset : (void *)&aside);
}

static lt_status set_default(const lt_schema_row *row, void *into)
{
    const lt_option *o = &row->option;
    if (row->read) return row->read(row, NULL, into);
    if (row->flags & (LT_KEY_SECTION | LT_KEY_OPEN | LT_KEY_STRICT) || !o->default_text) return LT_OK;
    if (lt_option_set_field(o, o->default_text, (char *)into + o->offset))
        return LT_FAIL(LT_ERR_INTERNAL, "default of '%s': %s", o->name, lt_error_text());
    return LT_OK;
}

static lt_status read_more(const lt_schema *s, const lt_yaml_node *root, void *into)
{
    void *base = (char *)into + s->more_base;
    LT_TRY(lt_options_defaults(s->more, base));
    for (int g = 0; g < s->more->n_groups; g++)
        for (int i = 0; i < s->more->groups[g].n_rows; i++) {
            const lt_option *o = &s->more->groups[g].rows[i];
            char path[PATH_BYTES];
            const lt_yaml_node *n;
            bool parent;
            snprintf(path, sizeof path, "%s%s", s->more_prefix, o->name);
            LT_TRY(descend(root, path, &n, &parent));
            if (n) LT_TRY(set_scalar(o, n, path, (char *)base + s->more->groups[g].base + o->offset));
        }
    return LT_OK;
}

lt_status lt_schema_read(const lt_schema *s, const lt_yaml_node *root, void *into)
{
    for (int i = 0; i < s->n_rows; i++) LT_TRY(set_default(&s->rows[i], into));
    for (int i = 0; i < s->n_rows; i++) LT_TRY(read_row(&s->rows[i], root, into));
    for (int i = 0; i < s->n_unused; i++) LT_TRY(read_row(&s->unused[i], root, NULL));
    return s->more ? read_more(s, root, into) : LT_OK;
}

/* ---- Unknown keys --------------------------------------------------------------------- */
typedef struct siblings {
    char        path[PATH_BYTES];  /* of the mapping, with its dot; "" for the root */
    int         n;
    char        name[MAX_SIBLINGS][64];
    const char *at[MAX_SIBLINGS];
} siblings;

/* The next part of a known path below the mapping's. */
static void add_sibling(siblings *b, const char *known)
{
    size_t skip = strlen(b->path);
    if (strncmp(known, b->path, skip) || !known[skip] || b->n == MAX_SIBLINGS) return;
    snprintf(b->name[b->n], sizeof b->name[0], "%.*s", (int)strcspn(known + skip, "."), known + skip);
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->name[i], b->name[b->n])) return;
    b->at[b->n] = b->name[b->n];
    b->n++;
}

static void collect(const lt_schema *s, siblings *b)
{
    b->n = 0;
    for (int i = 0; i < s->n_rows; i++) add_sibling(b, s->rows[i].option.name);
    for (int i = 0; i < s->n_unused; i++) add_sibling(b, s->unused[i].option.name);
    if (!s->more) return;
    for (int g = 0; g < s->more->n_groups; g++)
        for (int i = 0; i < s->more->groups[g].n_rows; i++) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s%s", s->more_prefix, s->more->groups[g].rows[i].name);
            add_sibling(b, path);
        }
}

static const lt_schema_row *row_at(const lt_schema *s, const char *path)
{
    for (int i = 0; i < s->n_rows; i++)
        if (!strcmp(s->rows[i].option.name, path)) return &s->rows[i];
    for (int i = 0; i < s->n_unused; i++)
        if (!strcmp(s->unused[i].option.name, path)) return &s->unused[i];
    return NULL;
}

lt_status lt_schema_note_key(lt_notes *notes, const lt_yaml_node *n, const char *path, const char *const *known, int n_known)
{
    const char *near = lt_text_nearest(n->key, known, n_known);
    LT_TRY(lt_note(notes, "%s: unknown key '%.120s' is ignored%s%s%s", lt_yaml_place(n).s, path, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : ""));
    return lt_note_idle(notes, n, path, "unknown%s%s%s", near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static lt_status unknown_key(const siblings *b, const lt_yaml_node *n, const char *path, bool strict, lt_notes *notes)
{
    if (!strict) return lt_schema_note_key(notes, n, path, b->at, b->n);
    const char *near = lt_text_nearest(n->key, b->at, b->n);
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: unknown key '%.120s'%s%s%s", lt_yaml_place(n).s, path, near ? ": did you mean '" : "",
                   near ? near : "", near ? "'?" : ""), n);
}

/* One list of siblings serves all levels, so it is made anew for each member. */
static lt_status note_level(const lt_schema *s, const lt_yaml_node *map, const char *prefix, bool strict, siblings *b, lt_notes *notes)
{
    for (const lt_yaml_node *m = map->first; m; m = m->next) {
        char path[PATH_BYTES], below[PATH_BYTES + 1];
        snprintf(b->path, sizeof b->path, "%s", prefix);
        collect(s, b);
        bool known = false;
        for (int i = 0; i < b->n && !known; i++) known = !strcmp(b->name[i], m->key);
        if (snprintf(path, sizeof path, "%s%s", prefix, m->key) >= (int)sizeof path) known = false;
        if (!known) {
            LT_TRY(unknown_key(b, m, path, strict, notes));
            continue;
        }
        const lt_schema_row *row = row_at(s, path);
        if (m->kind != LT_YAML_MAP || (row && (row->read || row->flags & LT_KEY_OPEN))) continue;
        snprintf(below, sizeof below, "%s.", path);
        if (strlen(below) < PATH_BYTES) LT_TRY(note_level(s, m, below, strict || (row && row->flags & LT_KEY_STRICT), b, notes));
    }
    return LT_OK;
}

lt_status lt_schema_refuse_unknown(const lt_schema *s, const lt_yaml_node *map, const char *prefix, lt_arena *arena)
{
    siblings *b = lt_arena_alloc(arena, sizeof *b);
    return b ? note_level(s, map, prefix, true, b, NULL) : LT_ERR_MEMORY;
}

lt_status lt_schema_note_unknown(const lt_schema *s, const lt_yaml_node *root, lt_notes *notes)
{
    siblings *b = lt_arena_alloc(notes->arena, sizeof *b);
    return b ? note_level(s, root, "", false, b, notes) : LT_ERR_MEMORY;
}
