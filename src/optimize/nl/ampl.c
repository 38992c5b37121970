/* From a .nl file, and the names beside it, to a model. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/ampl.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "optimize/language/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_BYTES ((size_t)1 << 32)

bool lt_ampl_is_path(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".nl");
}

/* ---- Names ------------------------------------------------------------------------------------------- */

/* The first n lines, each a name; NULL unless there are as many. AMPL adds the objectives to the rows. */
static const char **split_names(lt_arena *arena, const char *text, int64_t n)
{
    const char **names = text ? lt_arena_alloc(arena, (size_t)n * sizeof *names) : NULL;
    char *copy = names ? lt_arena_strdup(arena, text) : NULL;
    int64_t k = 0;
    for (char *at = copy; at && *at && k < n; k++) {
        char *end = at + strcspn(at, "\r\n"), *next = end + strspn(end, "\r\n");
        names[k] = at;
        *end = 0;
        at = next;
        if (!*names[k]) return NULL;
    }
    return copy && k == n ? names : NULL;
}

static const char *numbered(lt_arena *arena, const char *stem, int64_t i)
{
    char text[64];
    snprintf(text, sizeof text, "%s[%" PRId64 "]", stem, i + 1); /* AMPL counts from 1 */
    return lt_arena_strdup(arena, text);
}

/* ---- The model ----------------------------------------------------------------------------------------- */

static lt_status list_variables(lt_model *m, const lt_nl *nl, const char *columns)
{
    const char **names = split_names(&m->arena, columns, nl->n);
    int64_t count = names ? nl->n : 1;
    m->variables = lt_calloc((size_t)count, sizeof *m->variables);
    m->x0 = lt_malloc((size_t)nl->n * sizeof *m->x0);
    if (!m->variables || !m->x0) return LT_ERR_MEMORY;
    if (!names) m->variables[0] = (lt_model_variable){ "x", lt_shape1(nl->n), 0 };
    for (int64_t i = 0; names && i < nl->n; i++) m->variables[i] = (lt_model_variable){ names[i], { 0 }, i };
    memcpy(m->x0, nl->x0, (size_t)nl->n * sizeof *m->x0);
    m->view.variables = m->variables, m->view.n_variables = (int)count;
    m->view.x0 = m->x0;
    return LT_OK;
}

static void add_constraint(lt_model *m, const char *name, bool equality, int64_t first, int64_t count, int side)
{
    if (first < 0 || !count) return;
    m->constraints[m->view.n_constraints++] = (lt_model_constraint){ name, 0, equality, first, count, side };
}

/* Rows of bounds stand together, each kind in one piece. */
static void add_bounds(lt_model *m, const int64_t *where, int64_t n, const char *name, bool equality, int side)
{
    int64_t first = -1, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (where[i] < 0) continue;
        if (first < 0) first = where[i];
        count++;
    }
    add_constraint(m, name, equality, first, count, side);
}

static lt_status list_constraints(lt_model *m, const lt_nl *nl, const lt_nl_graph *g, const char *rows)
{
    const char **names = split_names(&m->arena, rows, nl->m);
    m->constraints = lt_calloc((size_t)(2 * nl->m + 3), sizeof *m->constraints);
    if (!m->constraints) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < nl->m; i++) {
        const char *name = names ? names[i] : numbered(&m->arena, "_scon", i);
        if (!name) return LT_ERR_MEMORY;
        add_constraint(m, name, true, g->constraint.equal[i], 1, -1);
        add_constraint(m, name, false, g->constraint.upper[i], 1, -1);
        add_constraint(m, name, false, g->constraint.lower[i], 1, 1);
    }
    add_bounds(m, g->bound.equal, nl->n, "fixed variables", true, -1);
    add_bounds(m, g->bound.upper, nl->n, "upper bounds", false, -1);
    add_bounds(m, g->bound.lower, nl->n, "lower bounds", false, 1);
    m->view.constraints = m->constraints;
    return LT_OK;
}

static lt_status fill_model(lt_model *m, const lt_nl *nl, const char *columns, const char *rows)
{
    lt_nl_graph g;
    LT_TRY(lt_graph_create(&m->view.graph));
    LT_TRY(lt_nl_build(nl, &m->arena, m->view.graph, &g));
    LT_TRY(list_variables(m, nl, columns));
    LT_TRY(list_constraints(m, nl, &g, rows));
    m->ampl = lt_arena_alloc(&m->arena, sizeof *m->ampl);
    if (!m->ampl) return LT_ERR_MEMORY;
    *m->ampl = (lt_ampl){ .n_options = nl->n_options, .options_tolerance = nl->options_tolerance, .has_tolerance = nl->has_tolerance,
                          .n = nl->n, .m = nl->m, .constraint = g.constraint };
    m->declared = lt_calloc((size_t)(g.p + 1), sizeof *m->declared);
    if (!m->declared) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < nl->n; i++) {
        if (g.bound.upper[i] >= 0) m->declared[g.bound.upper[i]] = true;
        if (g.bound.lower[i] >= 0) m->declared[g.bound.lower[i]] = true;
    }
    memcpy(m->ampl->options, nl->options, sizeof nl->options);
    m->view.x = g.x, m->view.f = g.f, m->view.ci = g.ci, m->view.ce = g.ce;
    m->view.n = nl->n, m->view.p = g.p, m->view.q = g.q;
    m->view.maximize = nl->maximize;
    return LT_OK;
}

lt_status lt_ampl_parse(const char *name, const char *bytes, size_t n, const char *columns, const char *rows, lt_model **out)
{
    *out = NULL;
    lt_model *m = lt_calloc(1, sizeof *m);
    if (!m) return LT_ERR_MEMORY;
    m->view = lt_model_get(NULL);
    m->view.name = lt_arena_strdup(&m->arena, name);
    lt_nl nl = { 0 };
    lt_nl_cursor c = { .name = name, .at = bytes, .begin = bytes, .end = bytes + n, .line = 1 };
    lt_status s = m->view.name ? lt_nl_read(&c, &nl) : LT_ERR_MEMORY;
    if (!s) s = fill_model(m, &nl, columns, rows);
    lt_nl_release(&nl);
    if (s) {
        lt_model_destroy(m);
        return s;
    }
    *out = m;
    return LT_OK;
}

/* ---- Files ------------------------------------------------------------------------------------------- */

/* The file with this ending in place of .nl; *text NULL where there is none. A text of names holds no NUL. */
static lt_status read_beside(const char *path, const char *ending, char **text)
{
    char *other = lt_malloc(strlen(path) + 8);
    size_t n;
    struct stat st;
    lt_status s = LT_OK;
    *text = NULL;
    if (!other) return LT_ERR_MEMORY;
    sprintf(other, "%.*s%s", (int)(strlen(path) - 3), path, ending);
    if (stat(other, &st) == 0 && S_ISREG(st.st_mode)) s = lt_file_read(other, MOST_BYTES, text, &n);
    lt_free(other);
    return s;
}

lt_status lt_ampl_read(const char *path, lt_model **out)
{
    char *bytes = NULL, *columns = NULL, *rows = NULL;
    size_t n = 0;
    LT_TRY(lt_file_read(path, MOST_BYTES, &bytes, &n));
    lt_status s = read_beside(path, ".col", &columns);
    if (!s) s = read_beside(path, ".row", &rows);
    if (!s) s = lt_ampl_parse(path, bytes, n, columns, rows, out);
    lt_free(bytes);
    lt_free(columns);
    lt_free(rows);
    return s;
}
