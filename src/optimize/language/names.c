/* Names: the table of definitions, local names, and messages about unknown ones.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "lathe/options.h"
#include "optimize/language/functions.h"

#include <stdio.h>
#include <string.h>

void lt_reader_no_memory(lt_reader *r) { r->text.no_memory = true; }

/* Inside a function the message says which call led there: the mistake may lie in its arguments. */
void lt_reader_error(lt_reader *r, lt_text_span where, const char *format, ...)
{
    char message[480];
    int line, column;
    va_list args;
    if (lt_text_noted(&r->text, where)) return; /* a function may be called a million times */
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (r->in_fn) {
        lt_text_locate(&r->text, r->called_at.at, &line, &column);
        lt_text_error(&r->text, where, "%s (in '%.60s' called on line %d)", message, r->in_fn->name, line);
    } else lt_text_error(&r->text, where, "%s", message);
}

/* ---- the table ---- */

static lt_symbol **slot_of(const lt_reader *r, const char *name)
{
    size_t mask = (size_t)r->n_slots - 1, at = (size_t)lt_hash64(name, strlen(name), 0) & mask;
    while (r->table[at] && strcmp(r->table[at]->name, name)) at = (at + 1) & mask;
    return &r->table[at];
}

lt_symbol *lt_reader_find(const lt_reader *r, const char *name) { return r->n_slots ? *slot_of(r, name) : NULL; }

static bool grow_table(lt_reader *r)
{
    if (r->n_symbols * 2 < r->n_slots) return true;
    lt_symbol **old = r->table;
    int n_old = r->n_slots, n_new = LT_MAX(64, n_old * 2);
    lt_symbol **table = lt_calloc((size_t)n_new, sizeof *table);
    if (!table) return false;
    r->table = table;
    r->n_slots = n_new;
    for (int i = 0; i < n_old; i++)
        if (old[i]) *slot_of(r, old[i]->name) = old[i];
    lt_free(old);
    return true;
}

lt_symbol *lt_reader_define(lt_reader *r, const char *name, lt_text_span where, lt_symbol_kind kind)
{
    lt_symbol *before = lt_reader_find(r, name);
    if (lt_builtin_find(name)) {
        lt_text_error(&r->text, where, "'%.60s' is a function of the language and cannot be redefined", name);
        kind = LT_SYMBOL_ERROR;
    } else if (before && before->where.end) {
        int line, column;
        lt_text_locate(&r->text, before->where.at, &line, &column);
        lt_text_error(&r->text, where, "'%.60s' is defined already, on line %d", name, line);
        return NULL;
    }
    lt_symbol *s = before;
    if (!s) {
        char *copy = lt_arena_strdup(&r->kept, name);
        s = lt_arena_alloc(&r->kept, sizeof *s);
        if (!copy || !s || !grow_table(r)) { lt_reader_no_memory(r); return NULL; }
        s->name = copy;
        *slot_of(r, copy) = s;
        r->n_symbols++;
    } /* else: a name used before it was defined, which was reported */
    s->where = where;
    s->kind = before ? LT_SYMBOL_ERROR : kind;
    s->node = LT_NONE;
    return s;
}

/* Names of constraints and options live beside the others, with a sign in front. */
int lt_reader_claim(lt_reader *r, char sign, const char *name, lt_text_span where, int line)
{
    size_t n = strlen(name);
    char *key = lt_arena_alloc(&r->temporary, n + 2);
    if (!key) { lt_reader_no_memory(r); return 0; }
    key[0] = sign;
    memcpy(key + 1, name, n + 1);
    lt_symbol *before = lt_reader_find(r, key);
    if (before) return before->n_parameters;
    lt_symbol *s = lt_reader_define(r, key, where, LT_SYMBOL_ERROR);
    if (s) s->n_parameters = line;
    return 0;
}

/* ---- unknown names ---- */

const char *lt_reader_nearest(lt_reader *r, const char *name, bool call)
{
    int n = 0, most = lt_builtin_count() + r->n_symbols + 64;
    const char **names = lt_arena_alloc(&r->temporary, (size_t)most * sizeof *names);
    if (!names) { lt_reader_no_memory(r); return NULL; }
    if (strlen(name) > 60) return NULL; /* not a slip of the pen */
    for (const lt_local *l = r->locals; l && !call && n < 64; l = l->outer) names[n++] = l->name;
    for (int i = 0; i < r->n_slots; i++)
        if (r->table[i] && r->table[i]->where.end && !strchr(":=", r->table[i]->name[0]) && (!call || r->table[i]->kind == LT_SYMBOL_FN)) names[n++] = r->table[i]->name;
    for (int i = 0; call && i < lt_builtin_count(); i++) names[n++] = lt_builtin_at(i)->name;
    return lt_text_nearest(name, names, n);
}

/* One message for each unknown name: later uses find a symbol in error. */
static void report_unknown(lt_reader *r, const lt_expr *e)
{
    const char *near = lt_reader_nearest(r, e->text, false);
    if (lt_builtin_find(e->text)) lt_reader_error(r, e->where, "'%.60s' is a function; call it as %.60s(…)", e->text, e->text);
    else if (near) lt_reader_error(r, e->where, "unknown name '%.60s'; did you mean '%s'?", e->text, near);
    else lt_reader_error(r, e->where, "unknown name '%.60s'; names are defined before their use", e->text);
    if (lt_builtin_find(e->text)) return;
    lt_symbol *s = lt_reader_define(r, e->text, e->where, LT_SYMBOL_ERROR);
    if (s) s->where = (lt_text_span){ 0, 0 }; /* not a definition: the real one may follow */
}

lt_value lt_reader_lookup(lt_reader *r, const lt_expr *e)
{
    for (const lt_local *l = r->locals; l; l = l->outer)
        if (!strcmp(l->name, e->text)) return l->value;
    lt_symbol *s = lt_reader_find(r, e->text);
    if (!s) { report_unknown(r, e); return lt_value_none(); }
    s->used = true;
    if (s->kind == LT_SYMBOL_STREAM) return (lt_value){ .kind = LT_VALUE_STREAM, .symbol = s, .node = LT_NONE };
    if (s->kind == LT_SYMBOL_FN) lt_reader_error(r, e->where, "'%.60s' is a function; call it as %.60s(…)", e->text, e->text);
    if (s->kind != LT_SYMBOL_VALUE) return lt_value_none();
    lt_value v = s->value;
    v.symbol = s;
    return v;
}

/* ---- functions never called ---- */

static bool is_parameter(const lt_symbol *fn, const char *name)
{
    for (int i = 0; i < fn->n_parameters; i++)
        if (!strcmp(fn->parameter[i].text, name)) return true;
    return false;
}

/* Names of loops may hide others; a body with loops is left alone rather than half understood. */
static void check_body(lt_reader *r, const lt_symbol *fn, const lt_expr *e)
{
    if (!e) return;
    switch (e->kind) {
    case LT_EXPR_NAME:
        if (!is_parameter(fn, e->text) && !lt_reader_find(r, e->text)) report_unknown(r, e);
        break;
    case LT_EXPR_CALL:
        if (!lt_builtin_find(e->text) && !lt_reader_find(r, e->text)) lt_builtin_report_unknown(r, e);
        for (int i = 0; i < e->n; i++) check_body(r, fn, e->argument[i].value);
        break;
    case LT_EXPR_INDEX:
        check_body(r, fn, e->a);
        for (int i = 0; i < e->n; i++)
            check_body(r, fn, e->part[i].at), check_body(r, fn, e->part[i].to), check_body(r, fn, e->part[i].step);
        break;
    case LT_EXPR_LIST: for (int i = 0; i < e->n; i++) check_body(r, fn, e->item[i]); break;
    case LT_EXPR_CHAIN:
        check_body(r, fn, e->a);
        for (int i = 0; i < e->n; i++) check_body(r, fn, e->link[i].operand);
        break;
    case LT_EXPR_POWER: check_body(r, fn, e->a); check_body(r, fn, e->b); break;
    case LT_EXPR_NEGATE: case LT_EXPR_TRANSPOSE: check_body(r, fn, e->a); break;
    default: break;
    }
}

void lt_reader_check_unused(lt_reader *r)
{
    lt_symbol **all = lt_arena_alloc(&r->temporary, (size_t)LT_MAX(r->n_symbols, 1) * sizeof *all);
    if (!all) { lt_reader_no_memory(r); return; }
    int n = 0;
    for (int i = 0; i < r->n_slots; i++) /* collected first: reporting adds to the table */
        if (r->table[i] && r->table[i]->kind == LT_SYMBOL_FN && !r->table[i]->used) all[n++] = r->table[i];
    for (int i = 0; i < n && !r->text.more_errors; i++) check_body(r, all[i], all[i]->body);
}
