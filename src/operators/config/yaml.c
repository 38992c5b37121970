/* Trees of YAML: finding, setting, merging, writing as JSON. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/yaml.h"

#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const char *const kind_names[] = {
    [LT_YAML_NULL] = "null", [LT_YAML_BOOL] = "a boolean", [LT_YAML_INT] = "an integer", [LT_YAML_REAL] = "a number",
    [LT_YAML_TEXT] = "a text", [LT_YAML_LIST] = "a list", [LT_YAML_MAP] = "a mapping",
};
_Static_assert(LT_LEN(kind_names) == LT_YAML_KIND_COUNT, "one name per kind");

const char *lt_yaml_kind_name(lt_yaml_kind k) { return kind_names[k]; }

lt_place lt_yaml_place(const lt_yaml_node *n)
{
    lt_place p;
    if (n->line) snprintf(p.s, sizeof p.s, "%.120s:%d:%d", n->source, n->line, n->column);
    else snprintf(p.s, sizeof p.s, "%.150s", n->source);
    return p;
}

lt_status lt_yaml_at(lt_status s, const lt_yaml_node *n)
{
    return n->line ? lt_place_line(s, n->source, n->line, n->column) : lt_place_file(s, n->source);
}

/* Room for one more element in a list of the arena. */
static lt_status make_room(lt_arena *arena, int n, int *capacity, size_t element_bytes, void *list)
{
    if (n < *capacity) return LT_OK;
    int larger = *capacity ? 2 * *capacity : 8;
    void *room = lt_arena_alloc(arena, (size_t)larger * element_bytes), *old;
    if (!room) return LT_ERR_MEMORY;
    memcpy(&old, list, sizeof old);
    if (n) memcpy(room, old, (size_t)n * element_bytes);
    memcpy(list, &room, sizeof room);
    *capacity = larger;
    return LT_OK;
}

lt_status lt_note(lt_notes *n, const char *format, ...)
{
    LT_TRY(make_room(n->arena, n->n, &n->capacity, sizeof *n->line, &n->line));
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    char *copy = lt_arena_strdup(n->arena, text);
    if (!copy) return LT_ERR_MEMORY;
    n->line[n->n++] = copy;
    return LT_OK;
}

lt_status lt_note_idle(lt_notes *n, const lt_yaml_node *at, const char *key, const char *why, ...)
{
    LT_TRY(make_room(n->arena, n->n_idle, &n->idle_capacity, sizeof *n->idle, &n->idle));
    char text[512];
    va_list ap;
    va_start(ap, why);
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    lt_idle_note *note = &n->idle[n->n_idle];
    *note = (lt_idle_note){ { lt_arena_strdup(n->arena, key), lt_arena_strdup(n->arena, lt_yaml_place(at).s), lt_arena_strdup(n->arena, text) },
                            at->source, at->line, at->column, false };
    if (!note->shown.key || !note->shown.place || !note->shown.reason) return LT_ERR_MEMORY;
    n->n_idle++;
    return LT_OK;
}

lt_yaml_node *lt_yaml_member(const lt_yaml_node *map, const char *key)
{
    if (!map || map->kind != LT_YAML_MAP) return NULL;
    for (lt_yaml_node *m = map->first; m; m = m->next)
        if (!strcmp(m->key, key)) return m;
    return NULL;
}

void lt_yaml_append(lt_yaml_node *parent, lt_yaml_node *child)
{
    child->next = NULL;
    if (parent->last) parent->last->next = child;
    else parent->first = child;
    parent->last = child;
    parent->count++;
}

lt_yaml_node *lt_yaml_put(lt_yaml_node *map, lt_yaml_node *value)
{
    lt_yaml_node *before = NULL, *old = map->first;
    while (old && strcmp(old->key, value->key)) {
        before = old;
        old = old->next;
    }
    if (!old) {
        lt_yaml_append(map, value);
        return NULL;
    }
    value->next = old->next;
    if (before) before->next = value;
    else map->first = value;
    if (map->last == old) map->last = value;
    return old;
}

lt_status lt_yaml_set(lt_arena *arena, lt_yaml_node *root, const char *path, lt_yaml_node *value)
{
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        lt_yaml_node *next = lt_yaml_member(root, key);
        if (!next || next->kind == LT_YAML_NULL) {
            next = lt_arena_alloc(arena, sizeof *next);
            char *copy = lt_arena_strdup(arena, key);
            if (!next || !copy) return LT_ERR_MEMORY;
            *next = (lt_yaml_node){ .kind = LT_YAML_MAP, .source = value->source, .key = copy };
            lt_yaml_put(root, next);
        } else if (next->kind != LT_YAML_MAP) {
            return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s is %s: expected a mapping", lt_yaml_place(next).s, key, lt_yaml_kind_name(next->kind)), next);
        }
        root = next;
    }
    char *copy = lt_arena_strdup(arena, path);
    if (!copy) return LT_ERR_MEMORY;
    value->key = copy;
    lt_yaml_put(root, value);
    return LT_OK;
}

void lt_yaml_drop(lt_yaml_node *map, const char *key)
{
    lt_yaml_node *out = map ? lt_yaml_member(map, key) : NULL, *before = NULL;
    if (!out) return;
    for (lt_yaml_node *n = map->first; n != out; n = n->next) before = n;
    *(before ? &before->next : &map->first) = out->next;
    if (map->last == out) map->last = before;
    map->count--;
}

void lt_yaml_merge(lt_yaml_node *base, lt_yaml_node *over)
{
    for (lt_yaml_node *m = over->first, *next; m; m = next) {
        next = m->next;
        lt_yaml_node *old = lt_yaml_member(base, m->key);
        if (old && old->kind == LT_YAML_MAP && m->kind == LT_YAML_MAP) lt_yaml_merge(old, m);
        else lt_yaml_put(base, m);
    }
}

void lt_yaml_json(const lt_yaml_node *n, lt_json *j)
{
    switch (n->kind) {
    case LT_YAML_NULL: lt_json_null(j); break;
    case LT_YAML_BOOL: lt_json_bool(j, n->integer != 0); break;
    case LT_YAML_INT: lt_json_int(j, n->integer); break;
    case LT_YAML_REAL: /* JSON has no infinities and no NaN; where a text is expected, .nan is one */
        if (isfinite(n->real)) lt_json_double(j, n->real + 0.0); /* "-0" would be read back as the integer 0 */
        else lt_json_string(j, n->text);
        break;
    case LT_YAML_LIST:
        lt_json_array_begin(j);
        for (const lt_yaml_node *m = n->first; m; m = m->next) lt_yaml_json(m, j);
        lt_json_array_end(j);
        break;
    case LT_YAML_MAP:
        lt_json_object_begin(j);
        for (const lt_yaml_node *m = n->first; m; m = m->next) {
            lt_json_key(j, m->key);
            lt_yaml_json(m, j);
        }
        lt_json_object_end(j);
        break;
    default: lt_json_string(j, n->text);
    }
}
