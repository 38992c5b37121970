/* Text to tree, by libyaml's events. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/yaml_scalar.h"

#include "base/status.h"

#include <string.h>

#if LT_HAVE_YAML
#include <yaml.h>

typedef struct anchor {
    const char    *name;
    lt_yaml_node  *node;
    struct anchor *next;
} anchor;

typedef struct reader {
    yaml_parser_t parser;
    lt_arena     *arena;
    lt_notes     *notes;
    const char   *name;
    anchor       *anchors;   /* the latest first: a name may be used again */
    int           n_nodes;
} reader;

static lt_status at_mark(const reader *r, lt_status s, yaml_mark_t at)
{
    return lt_place_line(s, r->name, (int64_t)at.line + 1, (int64_t)at.column + 1);
}

/* ---- Nodes ------------------------------------------------------------------- */
static lt_status make_node(reader *r, lt_yaml_kind kind, yaml_mark_t at, lt_yaml_node **out)
{
    if (++r->n_nodes > LT_YAML_MAX_NODES)
        return at_mark(r, LT_FAIL(LT_ERR_FORMAT, "%s:%zu:%zu: the document has more than %d nodes (aliases count each time they are used)",
                       r->name, at.line + 1, at.column + 1, LT_YAML_MAX_NODES), at);
    lt_yaml_node *n = *out = lt_arena_alloc(r->arena, sizeof *n);
    if (!n) return LT_ERR_MEMORY;
    *n = (lt_yaml_node){ .kind = kind, .source = r->name, .line = (int)at.line + 1, .column = (int)at.column + 1 };
    return LT_OK;
}

static lt_status check_depth(const reader *r, yaml_mark_t at, int depth)
{
    if (depth <= LT_YAML_MAX_DEPTH) return LT_OK;
    return at_mark(r, LT_FAIL(LT_ERR_FORMAT, "%s:%zu:%zu: nested deeper than %d", r->name, at.line + 1, at.column + 1, LT_YAML_MAX_DEPTH), at);
}

/* Copies a subtree: what an alias stands for may be changed afterwards by a merge. */
static lt_status copy_tree(reader *r, const lt_yaml_node *from, yaml_mark_t at, int depth, lt_yaml_node **out)
{
    LT_TRY(check_depth(r, at, depth));
    LT_TRY(make_node(r, from->kind, at, out));
    lt_yaml_node *n = *out;
    n->line = from->line;
    n->column = from->column;
    n->text = from->text;
    n->integer = from->integer;
    n->real = from->real;
    for (const lt_yaml_node *m = from->first; m; m = m->next) {
        lt_yaml_node *child = NULL;
        LT_TRY(copy_tree(r, m, at, depth + 1, &child));
        child->key = m->key;
        lt_yaml_append(n, child);
    }
    return LT_OK;
}

/* ---- Events --------------------------------------------------------------------- */
static lt_status parser_failure(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_MEMORY_ERROR) return LT_FAIL(LT_ERR_MEMORY, "%s: libyaml ran out of memory", r->name);
    if (p->error == YAML_READER_ERROR)
        return LT_FAIL(LT_ERR_FORMAT, "%s: byte %zu: %s", r->name, p->problem_offset, problem);
    return at_mark(r, LT_FAIL(LT_ERR_FORMAT, "%s:%zu:%zu: %s%s%s", r->name, p->problem_mark.line + 1, p->problem_mark.column + 1, problem,
                   p->context ? ", " : "", p->context ? p->context : ""), p->problem_mark);
}

static lt_status next_event(reader *r, yaml_event_t *e)
{
    return yaml_parser_parse(&r->parser, e) ? LT_OK : parser_failure(r);
}

static lt_status remember(reader *r, const yaml_char_t *name, lt_yaml_node *node)
{
    if (!name) return LT_OK;
    anchor *a = lt_arena_alloc(r->arena, sizeof *a);
    char *copy = lt_arena_strdup(r->arena, (const char *)name);
    if (!a || !copy) return LT_ERR_MEMORY;
    *a = (anchor){ copy, node, r->anchors };
    r->anchors = a;
    return LT_OK;
}

static lt_status read_alias(reader *r, const yaml_event_t *e, int depth, lt_yaml_node **out)
{
    const char *name = (const char *)e->data.alias.anchor;
    for (const anchor *a = r->anchors; a; a = a->next)
        if (!strcmp(a->name, name)) return copy_tree(r, a->node, e->start_mark, depth, out);
    return at_mark(r, LT_FAIL(LT_ERR_FORMAT, "%s:%zu:%zu: alias *%.60s stands for nothing: no anchor of that name before it", r->name,
                   e->start_mark.line + 1, e->start_mark.column + 1, name), e->start_mark);
}

/* Accepts only tags that name the type the scalar has anyway. */
static lt_status apply_tag(const yaml_event_t *e, lt_yaml_node *n)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const names[] = {
        [LT_YAML_NULL] = "null", [LT_YAML_BOOL] = "bool", [LT_YAML_INT] = "int", [LT_YAML_REAL] = "float", [LT_YAML_TEXT] = "str",
    };
    const char *tag = (const char *)e->data.scalar.tag;
    if (!strcmp(tag, "!") || !strcmp(tag, "tag:yaml.org,2002:str")) {
        n->kind = LT_YAML_TEXT;
        return LT_OK;
    }
    lt_yaml_resolve(n, n->text);
    bool known = !strncmp(tag, prefix, sizeof prefix - 1);
    if (known && !strcmp(tag + sizeof prefix - 1, names[n->kind])) return LT_OK;
    if (known && n->kind == LT_YAML_INT && !strcmp(tag + sizeof prefix - 1, "float")) {
        n->kind = LT_YAML_REAL;
        return LT_OK;
    }
    return lt_yaml_at(LT_FAIL(LT_ERR_FORMAT, "%s: tag '%.60s' does not fit '%.60s' here", lt_yaml_place(n).s, tag, n->text), n);
}

static lt_status read_scalar(reader *r, const yaml_event_t *e, lt_yaml_node **out)
{
    LT_TRY(make_node(r, LT_YAML_TEXT, e->start_mark, out));
    const char *text = (const char *)e->data.scalar.value;
    if (strlen(text) != e->data.scalar.length)
        return LT_FAIL(LT_ERR_FORMAT, "%s: a text with a zero byte in it", lt_yaml_place(*out).s);
    char *copy = lt_arena_strdup(r->arena, text);
    if (!copy) return LT_ERR_MEMORY;
    (*out)->text = copy;
    if (e->data.scalar.tag) return apply_tag(e, *out);
    if (e->data.scalar.plain_implicit) lt_yaml_resolve(*out, copy);
    return LT_OK;
}

/* ---- Collections ------------------------------------------------------------------ */
static lt_status read_value(reader *r, const yaml_event_t *e, int depth, lt_yaml_node **out);

static lt_status read_next(reader *r, int depth, yaml_event_type_t end, bool *ended, lt_yaml_node **out)
{
    yaml_event_t e;
    LT_TRY(next_event(r, &e));
    *ended = e.type == end;
    lt_status s = *ended ? LT_OK : read_value(r, &e, depth, out);
    yaml_event_delete(&e);
    return s;
}

static lt_status read_list(reader *r, lt_yaml_node *list, int depth)
{
    for (bool ended;;) {
        lt_yaml_node *item = NULL;
        LT_TRY(read_next(r, depth + 1, YAML_SEQUENCE_END_EVENT, &ended, &item));
        if (ended) return LT_OK;
        lt_yaml_append(list, item);
    }
}

/* "<<": the keys of another mapping, or of several, which do not replace those given here. */
static lt_status spread(lt_yaml_node *map, lt_yaml_node *from)
{
    if (from->kind == LT_YAML_LIST) {
        for (lt_yaml_node *m = from->first, *next; m; m = next) {
            next = m->next;
            m->next = NULL;
            LT_TRY(spread(map, m));
        }
        return LT_OK;
    }
    if (from->kind != LT_YAML_MAP)
        return lt_yaml_at(LT_FAIL(LT_ERR_FORMAT, "%s: '<<' takes a mapping or a list of mappings, got %s", lt_yaml_place(from).s, lt_yaml_kind_name(from->kind)), from);
    for (lt_yaml_node *m = from->first, *next; m; m = next) {
        next = m->next;
        m->next = NULL;
        if (!lt_yaml_member(map, m->key)) lt_yaml_append(map, m);
    }
    return LT_OK;
}

static lt_status read_member(reader *r, lt_yaml_node *map, const lt_yaml_node *key, int depth, lt_yaml_node **merged)
{
    if (key->kind == LT_YAML_LIST || key->kind == LT_YAML_MAP)
        return lt_yaml_at(LT_FAIL(LT_ERR_FORMAT, "%s: %s as a key: expected a name", lt_yaml_place(key).s, lt_yaml_kind_name(key->kind)), key);
    lt_yaml_node *value = NULL;
    bool ended;
    LT_TRY(read_next(r, depth + 1, YAML_NO_EVENT, &ended, &value));
    if (!value) return lt_yaml_at(LT_FAIL(LT_ERR_FORMAT, "%s: a key without a value", lt_yaml_place(key).s), key);
    value->key = key->text;
    if (!strcmp(key->text, "<<")) {
        *merged = value;
        return LT_OK;
    }
    const lt_yaml_node *old = lt_yaml_put(map, value);
    if (!old) return LT_OK;
    /* As in PyYAML the later value counts; unlike PyYAML, say so. */
    return lt_note(r->notes, "%s: key '%.60s' was already given at line %d; the later value counts", lt_yaml_place(value).s, value->key, old->line);
}

static lt_status read_map(reader *r, lt_yaml_node *map, int depth)
{
    lt_yaml_node *merged = NULL;
    for (bool ended;;) {
        lt_yaml_node *key = NULL;
        LT_TRY(read_next(r, depth + 1, YAML_MAPPING_END_EVENT, &ended, &key));
        if (ended) return merged ? spread(map, merged) : LT_OK;
        LT_TRY(read_member(r, map, key, depth, &merged));
    }
}

static lt_status read_value(reader *r, const yaml_event_t *e, int depth, lt_yaml_node **out)
{
    LT_TRY(check_depth(r, e->start_mark, depth));
    switch (e->type) {
    case YAML_ALIAS_EVENT: return read_alias(r, e, depth, out);
    case YAML_SCALAR_EVENT:
        LT_TRY(read_scalar(r, e, out));
        return remember(r, e->data.scalar.anchor, *out);
    case YAML_SEQUENCE_START_EVENT:
        LT_TRY(make_node(r, LT_YAML_LIST, e->start_mark, out));
        LT_TRY(read_list(r, *out, depth));
        return remember(r, e->data.sequence_start.anchor, *out);
    case YAML_MAPPING_START_EVENT:
        LT_TRY(make_node(r, LT_YAML_MAP, e->start_mark, out));
        LT_TRY(read_map(r, *out, depth));
        return remember(r, e->data.mapping_start.anchor, *out);
    default: return at_mark(r, LT_FAIL(LT_ERR_FORMAT, "%s:%zu:%zu: expected a value", r->name, e->start_mark.line + 1, e->start_mark.column + 1), e->start_mark);
    }
}

/* Stream start, one document, stream end. */
static lt_status read_document(reader *r, lt_yaml_node **out)
{
    yaml_event_t e;
    for (int i = 0; i < 2; i++) {
        LT_TRY(next_event(r, &e));
        yaml_event_type_t type = e.type;
        yaml_event_delete(&e);
        if (type == YAML_STREAM_END_EVENT) return LT_FAIL(LT_ERR_FORMAT, "%s: empty: expected a mapping", r->name);
    }
    bool ended;
    LT_TRY(read_next(r, 0, YAML_NO_EVENT, &ended, out));
    if (!*out) return LT_FAIL(LT_ERR_FORMAT, "%s: empty: expected a mapping", r->name);
    for (int i = 0; i < 2; i++) {
        LT_TRY(next_event(r, &e));
        yaml_event_type_t type = e.type;
        size_t line = e.start_mark.line + 1;
        yaml_event_delete(&e);
        if (type == YAML_DOCUMENT_START_EVENT) return LT_FAIL(LT_ERR_FORMAT, "%s:%zu:1: a second document: expected one", r->name, line);
    }
    return LT_OK;
}

lt_status lt_yaml_read(lt_arena *arena, const char *text, size_t n_bytes, const char *name, lt_notes *notes, lt_yaml_node **out)
{
    *out = NULL;
    if (n_bytes > LT_YAML_MAX_BYTES)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %zu bytes: a configuration has at most %d", name, n_bytes, LT_YAML_MAX_BYTES);
    reader r = { .arena = arena, .notes = notes, .name = lt_arena_strdup(arena, name) };
    if (!r.name) return LT_ERR_MEMORY;
    if (!yaml_parser_initialize(&r.parser)) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for libyaml", name);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n_bytes);
    lt_status s = read_document(&r, out);
    yaml_parser_delete(&r.parser);
    return s;
}

#else

lt_status lt_yaml_read(lt_arena *arena, const char *text, size_t n_bytes, const char *name, lt_notes *notes, lt_yaml_node **out)
{
    (void)arena, (void)text, (void)n_bytes, (void)notes;
    *out = NULL;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: cannot be read: lathe was built without libyaml (Debian package libyaml-dev)", name);
}

#endif
