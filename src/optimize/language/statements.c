/* Statements carried out one after the other. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"
#include "lathe/solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Arrays of the model grow one item at a time; false when memory is out. */
static bool room(lt_reader *r, void **items, int n, size_t size)
{
    if (n & (n - 1)) return true;
    void *larger = lt_realloc(*items, LT_MAX((size_t)n * 2, 1) * size);
    if (!larger) { lt_reader_no_memory(r); return false; }
    *items = larger;
    return true;
}

/* ---- var ---- */

static bool read_extents(lt_reader *r, const lt_parsed_statement *s, lt_shape *shape)
{
    *shape = (lt_shape){ .rank = 0 };
    if (s->n_extents > LT_MAX_RANK) {
        lt_text_error(&r->text, s->extent[LT_MAX_RANK]->where, "a variable has at most %d axes", LT_MAX_RANK);
        return false;
    }
    bool good = true;
    for (int i = 0; i < s->n_extents; i++) {
        int64_t extent;
        if (!lt_expr_integer(r, s->extent[i], "a size", &extent)) { good = false; continue; }
        if (extent < 1) {
            lt_text_error(&r->text, s->extent[i]->where, "a size is %lld; it must be at least 1", (long long)extent);
            good = false;
        }
        shape->dim[shape->rank++] = extent;
    }
    return good;
}

/* The start, broadcast to the variable's shape; NULL when there is none, or after an error. */
static double *read_start(lt_reader *r, const lt_parsed_statement *s, const lt_value *v, const lt_shape *shape)
{
    if (v->kind == LT_VALUE_NODE) {
        lt_text_error(&r->text, s->value->where, "the start of a variable cannot depend on variables");
        return NULL;
    }
    for (int64_t i = 0; i < lt_value_count(v); i++)
        if (!isfinite(v->data[i])) {
            lt_text_error(&r->text, s->value->where, "the start has the value %g; it must be finite", lt_plain(v->data[i]));
            return NULL;
        }
    lt_shape aligned = lt_value_aligned(v, 0, LT_MAX(v->shape.rank, shape->rank));
    bool fits = v->shape.rank <= shape->rank;
    for (int i = 0; i < shape->rank && fits; i++) fits = aligned.dim[i] == 1 || aligned.dim[i] == shape->dim[i];
    if (!fits) {
        lt_text_error(&r->text, s->value->where, "a start %s does not broadcast to the variable's shape %s", lt_value_shape_text(v).s,
                      lt_shape_str(shape).s);
        return NULL;
    }
    lt_value full = lt_value_reshape(r, s->value->where, v, &aligned, 0);
    full = lt_value_broadcast(r, s->value->where, &full, shape, 0);
    if (full.kind == LT_VALUE_NONE) return NULL;
    full = lt_value_keep(r, &full);
    return (double *)(uintptr_t)full.data;
}

static void add_variable(lt_reader *r, const lt_parsed_statement *s, const lt_shape *shape, double *start)
{
    int64_t count = lt_shape_count(shape);
    lt_symbol *symbol = lt_reader_find(r, s->name);
    if (count < 0 || r->n + count > r->limits.elements) {
        lt_text_error(&r->text, s->name_at, "more than %lld variables", (long long)r->limits.elements);
        return;
    }
    if (!lt_value_fits(r, s->name_at, shape)) return;
    lt_node slice = lt_slice(r->graph, r->x, 0, r->n, r->n + count, 1);
    lt_node node = lt_name(r->graph, lt_reshape(r->graph, slice, *shape), s->name);
    if (!room(r, (void **)&r->variables, r->n_variables, sizeof *r->variables) ||
        !room(r, (void **)&r->start, r->n_variables, sizeof *r->start))
        return;
    r->start[r->n_variables] = start;
    r->variables[r->n_variables++] = (lt_model_variable){ symbol->name, *shape, r->n };
    r->n += count;
    symbol->value = lt_value_node(r, s->where, node, 0);
    if (lt_graph_status(r->graph)) lt_reader_no_memory(r);
    if (symbol->value.kind == LT_VALUE_NONE) return;
    symbol->kind = LT_SYMBOL_VALUE;
    if (s->interval) lt_reader_interval(r, s, &symbol->value);
}

/* Without sizes the start gives the shape. */
static void execute_var(lt_reader *r, const lt_parsed_statement *s)
{
    lt_shape shape = { .rank = 0 };
    double *start = NULL;
    bool good = read_extents(r, s, &shape);
    if (s->value) {
        lt_value v = lt_expr_evaluate(r, s->value);
        if (v.kind == LT_VALUE_NONE || !lt_expect_tensor(r, s->value->where, &v)) good = false;
        else if (good) {
            if (!s->has_extents) shape = v.shape;
            start = read_start(r, s, &v, &shape);
            good = start != NULL;
        }
    }
    if (s->name && lt_reader_define(r, s->name, s->name_at, LT_SYMBOL_ERROR) && good && lt_reader_find(r, s->name)->where.end == s->name_at.end &&
        !lt_builtin_find(s->name))
        add_variable(r, s, &shape, start);
}

/* ---- data, let, rng, fn ---- */

/* The number that a caller gave in place of what the text says (lt_model_read_with). */
static void take_given(lt_reader *r, const lt_parsed_statement *s, lt_value *v)
{
    if (!r->given || s->kind != LT_TOKEN_DATA || !s->name || strcmp(s->name, r->given->name)) return;
    r->given_used = true;
    if (v->kind != LT_VALUE_CONSTANT) return;
    if (lt_shape_count(&v->shape) != 1) {
        lt_text_error(&r->text, s->value->where, "'%s' has shape %s; only a single number can be given another value", s->name, lt_shape_str(&v->shape).s);
        *v = lt_value_none();
        return;
    }
    v->data = &r->given->value;
    v->symbol = NULL;
}

static void execute_value(lt_reader *r, const lt_parsed_statement *s)
{
    lt_value v = lt_expr_evaluate(r, s->value);
    if (v.kind == LT_VALUE_NODE && s->kind == LT_TOKEN_DATA) {
        lt_text_error(&r->text, s->value->where, "'data' is a constant, and this depends on variables; use 'let'");
        v = lt_value_none();
    }
    if (v.kind != LT_VALUE_NONE && !lt_expect_tensor(r, s->value->where, &v)) v = lt_value_none();
    take_given(r, s, &v);
    if (!s->name) return;
    lt_symbol *symbol = lt_reader_define(r, s->name, s->name_at, v.kind == LT_VALUE_NONE ? LT_SYMBOL_ERROR : LT_SYMBOL_VALUE);
    if (symbol && symbol->kind == LT_SYMBOL_VALUE) symbol->value = lt_value_keep(r, &v);
}

static bool read_seed(lt_reader *r, const lt_expr *e, lt_random *random)
{
    bool mt = e->kind == LT_EXPR_CALL && !strcmp(e->text, "mt19937");
    int64_t seed = 0;
    if (e->kind == LT_EXPR_ERROR) return false;
    if (!mt && (e->kind != LT_EXPR_CALL || strcmp(e->text, "philox"))) {
        lt_text_error(&r->text, e->where, "a stream is mt19937(seed) or philox(seed)");
        return false;
    }
    if (e->n != 1 || (e->argument[0].name && strcmp(e->argument[0].name, "seed"))) {
        lt_text_error(&r->text, e->where, "'%s' takes one seed", e->text);
        return false;
    }
    if (!lt_expr_integer(r, e->argument[0].value, "a seed", &seed)) return false;
    if (seed < 0 || seed > UINT32_MAX) {
        lt_text_error(&r->text, e->argument[0].value->where, "a seed is %lld; 0..4294967295 are possible", (long long)seed);
        return false;
    }
    random->is_philox = !mt;
    random->seed = (uint64_t)seed;
    lt_mt_seed(&random->mt, (uint32_t)seed);
    return true;
}

static void execute_rng(lt_reader *r, const lt_parsed_statement *s)
{
    lt_random *random = lt_arena_alloc(&r->kept, sizeof *random);
    if (!random) { lt_reader_no_memory(r); return; }
    bool good = read_seed(r, s->value, random);
    if (!s->name) return;
    lt_symbol *symbol = lt_reader_define(r, s->name, s->name_at, good ? LT_SYMBOL_STREAM : LT_SYMBOL_ERROR);
    if (symbol) symbol->random = random;
}

static void execute_fn(lt_reader *r, const lt_parsed_statement *s)
{
    if (!s->name) return;
    bool good = s->value->kind != LT_EXPR_ERROR;
    for (int i = 0; good && i < s->n_extents; i++) /* a list that could not be read is NULL */
        if (lt_builtin_find(s->parameter[i].text)) {
            lt_text_error(&r->text, s->parameter[i].where, "'%.60s' is a function of the language and cannot be the name of a parameter", s->parameter[i].text);
            good = false;
        }
    lt_symbol *symbol = lt_reader_define(r, s->name, s->name_at, good ? LT_SYMBOL_FN : LT_SYMBOL_ERROR);
    if (!symbol) return;
    symbol->n_parameters = s->n_extents;
    symbol->parameter = s->parameter;
    symbol->body = s->value;
}

/* ---- objective, options ---- */

static lt_node build_objective(void *ctx, lt_graph *g, const lt_node *in)
{
    lt_node f = lt_reshape(g, in[0], lt_shape0());
    return *(const bool *)ctx ? lt_neg(g, f) : f;
}

static void execute_objective(lt_reader *r, const lt_parsed_statement *s)
{
    lt_value v = lt_expr_evaluate(r, s->value);
    if (r->objective_at.end) {
        int line, column;
        lt_text_locate(&r->text, r->objective_at.at, &line, &column);
        lt_text_error(&r->text, s->where, "a second objective; the first is on line %d", line);
        return;
    }
    r->objective_at = s->where;
    r->maximize = s->kind == LT_TOKEN_MAXIMIZE;
    if (v.kind == LT_VALUE_NONE || !lt_expect_tensor(r, s->value->where, &v)) return;
    if (lt_value_count(&v) != 1) {
        lt_text_error(&r->text, s->value->where, "the objective is a tensor %s; one number is needed, a sum for instance",
                      lt_value_shape_text(&v).s);
        return;
    }
    if (v.kind == LT_VALUE_CONSTANT) { /* a feasibility problem */
        if (!isfinite(v.data[0])) { lt_text_error(&r->text, s->value->where, "the objective is %g everywhere", lt_plain(v.data[0])); return; }
        r->f = lt_scalar(r->graph, LT_F64, r->maximize ? -v.data[0] : v.data[0]);
    } else r->f = lt_value_build(r, s->where, &v, 1, 0, build_objective, &r->maximize).node;
}

/* Tries the option on a set of defaults: name and value are checked here, where their place is known. */
static bool option_is_valid(lt_reader *r, const lt_parsed_statement *s, const char *value)
{
    lt_solve_options scratch = lt_solve_defaults();
    char text[400];
    if (!lt_solve_options_set(&scratch, s->name, value)) return true;
    lt_value_plain_text(lt_error_text(), text, sizeof text);
    size_t base;
    bool known = lt_options_find(lt_solve_options_table(), s->name, &base) != NULL;
    lt_text_error(&r->text, known ? s->value->where : s->name_at, "%s", text);
    return false;
}

/* The value as text, for the table of options: a number, or a string or bare word as it stands. */
static void execute_option(lt_reader *r, const lt_parsed_statement *s)
{
    char text[64];
    const char *value = text;
    if (!s->name || s->value->kind == LT_EXPR_ERROR) return;
    int before = lt_reader_claim(r, '=', s->name, s->name_at, s->line);
    if (before) { lt_text_error(&r->text, s->name_at, "option '%.60s' is set already, on line %d", s->name, before); return; }
    if (s->value->kind == LT_EXPR_STRING) value = s->value->text;
    else if (s->value->kind == LT_EXPR_NAME && !lt_reader_find(r, s->value->text)) value = s->value->text;
    else {
        lt_value v = lt_expr_evaluate(r, s->value);
        if (v.kind == LT_VALUE_NONE) return;
        if (v.kind != LT_VALUE_CONSTANT || lt_value_count(&v) != 1) {
            lt_text_error(&r->text, s->value->where, "the value of an option is a number, a word or a string");
            return;
        }
        double x = v.data[0];
        if (x == floor(x) && fabs(x) < 1e15) snprintf(text, sizeof text, "%.0f", x);
        else lt_double_text(x, text);
        if (s->value->kind == LT_EXPR_NUMBER && s->value->where.end - s->value->where.at < sizeof text) /* as written: true, 1e-6 */
            snprintf(text, sizeof text, "%.*s", (int)(s->value->where.end - s->value->where.at), r->text.bytes + s->value->where.at);
    }
    if (!option_is_valid(r, s, value) || !room(r, (void **)&r->options, r->n_options, sizeof *r->options)) return;
    lt_model_option o = { lt_arena_strdup(&r->kept, s->name), lt_arena_strdup(&r->kept, value), s->line,
                          lt_text_column(&r->text, s->name_at.at) };
    if (!o.name || !o.value) { lt_reader_no_memory(r); return; }
    r->options[r->n_options++] = o;
}

void lt_reader_execute(lt_reader *r, const lt_parsed_statement *s)
{
    r->steps = 0;
    switch (s->kind) {
    case LT_TOKEN_VAR: execute_var(r, s); break;
    case LT_TOKEN_DATA: case LT_TOKEN_LET: execute_value(r, s); break;
    case LT_TOKEN_FN: execute_fn(r, s); break;
    case LT_TOKEN_RNG: execute_rng(r, s); break;
    case LT_TOKEN_MINIMIZE: case LT_TOKEN_MAXIMIZE: execute_objective(r, s); break;
    case LT_TOKEN_OPTION: execute_option(r, s); break;
    case LT_TOKEN_NAME: lt_reader_constraint(r, s); break;
    default: break;
    }
    if (r->unliftable) { /* only a comprehension can take that up, and there was none */
        lt_text_error(&r->text, s->where, "this statement is too complex: %s", r->unliftable);
        r->unliftable = NULL;
    }
}
