/* Problems read from text: the public functions. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/model.h"
#include "optimize/language/reader.h"
#include "optimize/nl/ampl.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void lt_model_destroy(lt_model *m)
{
    if (!m) return;
    lt_graph_destroy(m->view.graph);
    lt_free(m->messages);
    lt_free(m->variables);
    lt_free(m->constraints);
    lt_free(m->options);
    lt_free(m->x0);
    lt_free(m->declared);
    lt_arena_release(&m->arena);
    lt_free(m);
}

void lt_model_get_into(const lt_model *m, lt_model_view *out)
{
    lt_model_view none = { .size = sizeof none, .x = LT_NONE, .f = LT_NONE, .ci = LT_NONE, .ce = LT_NONE };
    LT_GIVE(out, m ? &m->view : &none);
}

const char *lt_model_messages(const lt_model *m) { return m && m->messages ? m->messages : ""; }
int lt_model_error_count(const lt_model *m) { return m ? m->n_errors : 0; }

/* ---- from the reader to the model ---- */

static lt_status fill_start(const lt_reader *r, lt_model *m)
{
    m->x0 = lt_malloc(LT_MAX((size_t)r->n, 1) * sizeof *m->x0);
    if (!m->x0) return LT_ERR_MEMORY;
    for (int i = 0; i < r->n_variables; i++) {
        int64_t n = lt_shape_count(&r->variables[i].shape), at = r->variables[i].offset;
        for (int64_t k = 0; k < n; k++) m->x0[at + k] = r->start[i] ? r->start[i][k] : (double)NAN;
    }
    return LT_OK;
}

/* The lines of one kind, joined to one vector. */
static lt_status join_lines(lt_reader *r, bool equality, lt_node *out, int64_t *total)
{
    lt_node *parts = lt_arena_alloc(&r->temporary, LT_MAX((size_t)r->n_lines, 1) * sizeof *parts);
    int n = 0;
    if (!parts) return LT_ERR_MEMORY;
    *total = 0;
    *out = LT_NONE;
    for (int i = 0; i < r->n_lines; i++)
        if (r->lines[i].equality == equality) {
            parts[n++] = r->lines[i].node;
            *total += r->lines[i].count;
        }
    if (n) *out = lt_concat_many(r, r->graph, parts, n, 0);
    return lt_graph_status(r->graph);
}

static lt_status list_constraints(const lt_reader *r, lt_model *m)
{
    m->constraints = lt_calloc(LT_MAX((size_t)r->n_lines, 1), sizeof *m->constraints);
    if (!m->constraints) return LT_ERR_MEMORY;
    int64_t next[2] = { 0, 0 };
    for (int i = 0; i < r->n_lines; i++) {
        const lt_read_constraint *l = &r->lines[i];
        m->constraints[i] = (lt_model_constraint){ l->name, l->line, l->equality, next[l->equality], l->count, l->side };
        next[l->equality] += l->count;
    }
    return LT_OK;
}

/* Which inequalities are bounds that somebody wrote as such. */
static lt_status list_declared(const lt_reader *r, lt_model *m)
{
    int64_t at = 0;
    m->declared = lt_calloc((size_t)LT_MAX(m->view.p, 1), sizeof *m->declared);
    if (!m->declared) return LT_ERR_MEMORY;
    for (int i = 0; i < r->n_lines; i++) {
        const lt_read_constraint *l = &r->lines[i];
        for (int64_t k = 0; !l->equality && k < l->count; k++) m->declared[at++] = l->interval;
    }
    return LT_OK;
}

static lt_status hand_over(lt_reader *r, lt_model *m)
{
    lt_model_view *v = &m->view;
    LT_TRY(lt_input_cut(r->graph, r->x, r->n));
    LT_TRY(join_lines(r, false, &v->ci, &v->p));
    LT_TRY(join_lines(r, true, &v->ce, &v->q));
    LT_TRY(list_constraints(r, m));
    LT_TRY(list_declared(r, m));
    LT_TRY(fill_start(r, m));
    v->graph = r->graph, r->graph = NULL;
    v->x = r->x, v->f = r->f, v->n = r->n, v->maximize = r->maximize;
    m->variables = r->variables, r->variables = NULL;
    m->options = r->options, r->options = NULL;
    v->variables = m->variables, v->n_variables = r->n_variables;
    v->constraints = m->constraints, v->n_constraints = r->n_lines;
    v->options = m->options, v->n_options = r->n_options;
    v->x0 = m->x0;
    int column;
    lt_text_locate(&r->text, r->objective_at.at, &v->objective_line, &column);
    return LT_OK;
}

/* ---- reading ---- */

static void check_complete(lt_reader *r)
{
    lt_text_span end = { r->text.n_bytes, r->text.n_bytes };
    if (r->text.n_errors) return; /* what is missing may be what was wrong */
    if (!r->objective_at.end) lt_text_error(&r->text, end, "the problem has no 'minimize' or 'maximize'");
    else if (!r->n_variables) lt_text_error(&r->text, end, "the problem has no variables; 'var x[2]' makes two");
}

static lt_status read_statements(lt_reader *r)
{
    LT_TRY(lt_graph_create(&r->graph));
    r->x = lt_input(r->graph, "x", LT_F64, lt_shape1(r->limits.elements));
    LT_TRY(lt_graph_status(r->graph));
    lt_parser_start(&r->parser, &r->text, &r->syntax, &r->kept);
    for (;;) {
        lt_parsed_statement s = lt_parser_statement(&r->parser);
        if (s.kind == LT_TOKEN_END || r->text.no_memory || r->text.more_errors) break;
        lt_reader_execute(r, &s);
        lt_arena_release(&r->temporary);
        lt_arena_release(&r->syntax);
    }
    lt_reader_check_unused(r);
    check_complete(r);
    return r->text.no_memory ? LT_FAIL(LT_ERR_MEMORY, "no memory to read %s", r->text.name) : LT_OK;
}

static void release(lt_reader *r)
{
    lt_graph_destroy(r->graph);
    lt_free(r->table);
    lt_free(r->variables);
    lt_free(r->start);
    lt_free(r->lines);
    lt_free(r->options);
    lt_arena_release(&r->syntax);
    lt_arena_release(&r->temporary);
    lt_arena_release(&r->text.arena);
}

static lt_status read_model(lt_reader *r, lt_model *m)
{
    lt_status s = read_statements(r);
    if (!s && r->text.n_notices && !(m->messages = lt_text_render(&r->text))) s = LT_ERR_MEMORY;
    m->n_errors = r->text.n_errors;
    if (!s && m->n_errors) {
        const char *first = m->messages;
        for (const char *e = m->messages; (e = strstr(e, ": error: ")); e++) { /* the first error's line */
            first = e;
            while (first > m->messages && first[-1] != '\n') first--;
            break;
        }
        s = lt_text_place(LT_FAIL(LT_ERR_FORMAT, "%d error%s; %.*s", m->n_errors, m->n_errors == 1 ? "" : "s", (int)strcspn(first, "\n"), first), &r->text);
    }
    if (!s) s = hand_over(r, m);
    m->arena = r->kept; /* names and starts live on; the model owns them even after an error */
    return s;
}

static lt_status parse(const char *name, const char *folder, const char *text, size_t length, const lt_limits *limits, const lt_data_value *given, lt_model **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_parse: out is NULL");
    *out = NULL;
    if (!name || (!text && length)) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_parse: %s is NULL", name ? "text" : "name");
    if (length > LT_TEXT_MAX_BYTES)
        return LT_FAIL(LT_ERR_FORMAT, "%s: %zu bytes of text; at most %u are read", name, length, LT_TEXT_MAX_BYTES);
    lt_model *m = lt_calloc(1, sizeof *m);
    lt_reader *r = lt_calloc(1, sizeof *r);
    if (!m || !r) { lt_free(m); lt_free(r); return LT_ERR_MEMORY; }
    bool mark = length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
    r->text.bytes = text + (mark ? 3 : 0);
    r->text.n_bytes = (uint32_t)(length - (mark ? 3 : 0));
    r->limits = *limits;
    r->folder = folder;
    r->given = given;
    r->f = r->x = LT_NONE;
    r->text.name = lt_arena_strdup(&r->kept, name);
    m->view = lt_model_get(NULL);
    m->view.name = r->text.name;
    lt_status s = r->text.name ? read_model(r, m) : LT_ERR_MEMORY;
    if (!r->text.name) lt_arena_release(&r->kept);
    if (!s && given && !r->given_used) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: has no 'data %s = …' whose value could be given", name, given->name);
    release(r);
    lt_free(r);
    *out = m;
    return s;
}

lt_status lt_model_parse_limited(const char *name, const char *folder, const char *text, size_t length, const lt_limits *limits, lt_model **out)
{
    return parse(name, folder, text, length, limits, NULL, out);
}

static const lt_limits usual_limits = LT_LIMITS_DEFAULT;

lt_status lt_model_parse(const char *name, const char *folder, const char *text, size_t length, lt_model **out)
{
    return parse(name, folder, text, length, &usual_limits, NULL, out);
}

static lt_status read_file(const char *path, const lt_data_value *given, lt_model **out)
{
    if (!strncmp(path, "example:", 8)) {
        lt_example example = { .size = sizeof example };
        LT_TRY(lt_example_find(path + 8, &example));
        return parse(path, NULL, example.text, strlen(example.text), &usual_limits, given, out);
    }
    if (lt_ampl_is_path(path) && given) return LT_FAIL(LT_ERR_ARGUMENT, "%s: a model of AMPL's has no data by name: its values are fixed where it is written", path);
    if (lt_ampl_is_path(path)) return lt_ampl_read(path, out);
    char *text, *folder;
    size_t n;
    LT_TRY(lt_file_read(path, LT_TEXT_MAX_BYTES, &text, &n));
    folder = lt_strdup(path);
    if (!folder) { lt_free(text); return LT_ERR_MEMORY; }
    char *slash = strrchr(folder, '/');
    folder[slash ? slash - folder + (slash == folder) : 0] = 0; /* "" is the current folder, "/" the root */
    lt_status s = parse(path, folder, text, n, &usual_limits, given, out);
    lt_free(folder);
    lt_free(text);
    return s;
}

lt_status lt_model_read(const char *path, lt_model **out)
{
    if (!path || !out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_read: %s is NULL", path ? "out" : "path");
    *out = NULL;
    return read_file(path, NULL, out);
}

lt_status lt_model_read_with(const char *path, const char *name, double value, lt_model **out)
{
    if (!path || !name || !out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_read_with: %s is NULL", !path ? "path" : !name ? "the name" : "out");
    *out = NULL;
    if (!isfinite(value)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: data %s is given the value %g; it must be finite", path, name, value);
    return read_file(path, &(lt_data_value){ name, value }, out);
}
