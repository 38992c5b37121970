/* Calls: arguments to parameters, then the function's builder. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"
#include "lathe/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ---- */

static void read_signature(lt_builtin_call *c)
{
    for (const char *s = c->fn->signature; *s;) {
        lt_parameter *p = &c->parameter[c->n_parameters++];
        *p = (lt_parameter){ .name = s, .name_length = (int)strcspn(s, ":? "), .type = 't' };
        s += p->name_length;
        if (*s == ':') p->type = s[1], s += 2;
        if (*s == '?') p->optional = true, s++;
        if (*s == '*') p->rest = p->optional = true, s++;
        while (*s == ' ') s++;
    }
}

static int find_parameter(const lt_builtin_call *c, const char *name)
{
    for (int i = 0; i < c->n_parameters; i++)
        if (!c->parameter[i].rest && (int)strlen(name) == c->parameter[i].name_length &&
            !strncmp(name, c->parameter[i].name, strlen(name)))
            return i;
    return -1;
}

static bool unknown_parameter(lt_builtin_call *c, const lt_argument *a)
{
    char copies[LT_MAX_PARAMETERS][24];
    const char *names[LT_MAX_PARAMETERS];
    int n = 0;
    for (int i = 0; i < c->n_parameters; i++)
        if (!c->parameter[i].rest) {
            snprintf(copies[n], sizeof copies[n], "%.*s", c->parameter[i].name_length, c->parameter[i].name);
            names[n] = copies[n], n++;
        }
    const char *near = n && strlen(a->name) < 60 ? lt_text_nearest(a->name, names, n) : NULL;
    if (near) lt_reader_error(c->r, a->name_at, "'%s' has no parameter '%.60s'; did you mean '%s'?", c->fn->name, a->name, near);
    else lt_reader_error(c->r, a->name_at, "'%s' has no parameter '%.60s'", c->fn->name, a->name);
    return false;
}

/* Which parameter an argument is for; -1 after reporting that there is none. */
static int place_argument(lt_builtin_call *c, const lt_argument *a, int *next)
{
    if (a->name) {
        int i = find_parameter(c, a->name);
        if (i < 0) { unknown_parameter(c, a); return -1; }
        if (c->given[i]) { lt_reader_error(c->r, a->name_at, "'%.60s' is given twice", a->name); return -1; }
        return i;
    }
    if (*next < c->n_parameters && c->parameter[*next].rest) return *next;
    for (int i = 0; i < *next && i < c->n_parameters; i++)
        if (c->parameter[i].rest) *next = c->n_parameters;
    if (*next < c->n_parameters && !c->given[*next]) return (*next)++;
    int most = 0;
    while (most < c->n_parameters && !c->parameter[most].rest) most++;
    lt_reader_error(c->r, a->value->where, "'%s' takes at most %d argument%s", c->fn->name, most, most == 1 ? "" : "s");
    return -1;
}

static bool wrong_type(lt_builtin_call *c, int i, const char *needed)
{
    lt_reader_error(c->r, c->where[i], "'%.*s' of '%s' must be %s", c->parameter[i].name_length, c->parameter[i].name, c->fn->name, needed);
    return false;
}

static bool read_number(lt_builtin_call *c, int i)
{
    const lt_value *v = &c->value[i];
    if (v->kind != LT_VALUE_CONSTANT || lt_value_count(v) != 1) return wrong_type(c, i, "a number known when the file is read");
    c->real[i] = v->data[0];
    return true;
}

static bool read_pair(lt_builtin_call *c, int i)
{
    const lt_value *v = &c->value[i];
    int64_t n = v->kind == LT_VALUE_CONSTANT ? lt_value_count(v) : 0;
    if (n < 1 || n > 2) return wrong_type(c, i, "one or two integers");
    for (int k = 0; k < 2; k++) {
        double x = v->data[n == 1 ? 0 : k];
        if (x != floor(x) || fabs(x) > 1e9) return wrong_type(c, i, "one or two integers");
        c->integer[i][k] = (int64_t)x;
    }
    return true;
}

/* Checks the value of parameter i against its type. */
static bool read_value(lt_builtin_call *c, int i)
{
    char what[80];
    if (c->value[i].lead && c->parameter[i].type != 't') { lt_cannot_lift(c->r, c->fn->name); return false; }
    switch (c->parameter[i].type) {
    case 't': return lt_expect_tensor(c->r, c->where[i], &c->value[i]);
    case 'i':
        snprintf(what, sizeof what, "'%.*s'", c->parameter[i].name_length, c->parameter[i].name);
        return lt_value_integer(c->r, c->where[i], &c->value[i], what, &c->integer[i][0]);
    case 'b':
        if (!read_number(c, i)) return false;
        c->integer[i][0] = c->real[i] != 0;
        return c->real[i] == 0 || c->real[i] == 1 || wrong_type(c, i, "true or false");
    case 'r': return read_number(c, i);
    case 'p': return read_pair(c, i);
    case 's': return c->value[i].kind == LT_VALUE_STRING || wrong_type(c, i, "a string");
    case 'g': return c->value[i].kind == LT_VALUE_STREAM || wrong_type(c, i, "a stream made with 'rng'");
    default: return true;
    }
}

/* Evaluates and places all arguments; all are looked at even when one is wrong. */
static bool bind_arguments(lt_builtin_call *c)
{
    const lt_expr *e = c->e;
    int next = 0;
    bool good = true;
    c->rest = lt_arena_alloc(&c->r->temporary, (size_t)LT_MAX(e->n, 1) * sizeof *c->rest);
    if (!c->rest) { lt_reader_no_memory(c->r); return false; }
    for (int k = 0; k < e->n; k++) {
        lt_value v = lt_expr_evaluate(c->r, e->argument[k].value);
        int i = place_argument(c, &e->argument[k], &next);
        if (i < 0 || v.kind == LT_VALUE_NONE) { good = false; if (i >= 0) c->given[i] = true; continue; }
        c->where[i] = e->argument[k].value->where;
        c->lead = LT_MAX(c->lead, v.lead);
        if (c->parameter[i].rest) {
            c->rest[c->n_rest++] = v;
            good &= lt_expect_tensor(c->r, c->where[i], &v);
        } else {
            c->given[i] = true;
            c->value[i] = v;
            good &= read_value(c, i);
        }
    }
    for (int i = 0; i < c->n_parameters && good; i++)
        if (!c->given[i] && !c->parameter[i].optional) {
            lt_reader_error(c->r, e->point, "'%s' needs '%.*s'", c->fn->name, c->parameter[i].name_length, c->parameter[i].name);
            good = false;
        }
    return good && !c->r->text.no_memory;
}

/* ---- for the builders ---- */

lt_node lt_call_fail(lt_builtin_call *c, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    lt_reader_error(c->r, c->e->point, "%s", text);
    return LT_NONE;
}

bool lt_call_axis(lt_builtin_call *c, int parameter, const lt_value *of, int extra, int otherwise, int *axis)
{
    int rank = of->shape.rank - of->lead + extra;
    int64_t wanted = c->given[parameter] ? c->integer[parameter][0] : otherwise;
    if (wanted < -rank || wanted >= rank) {
        lt_reader_error(c->r, c->given[parameter] ? c->where[parameter] : c->e->point, "%s of %s: axis %lld is outside %d..%d",
                        c->fn->name, lt_value_shape_text(of).s, (long long)wanted, -rank, rank - 1);
        return false;
    }
    *axis = (int)(wanted < 0 ? wanted + rank : wanted) + of->lead;
    return true;
}

bool lt_call_extents(lt_builtin_call *c, int n_rest, lt_shape *shape)
{
    *shape = (lt_shape){ .rank = 0 };
    for (int k = 0; k < n_rest; k++) {
        const lt_value *v = &c->rest[k];
        if (v->lead) { lt_cannot_lift(c->r, c->fn->name); return false; }
        int64_t n = v->kind == LT_VALUE_CONSTANT ? lt_value_count(v) : 1;
        for (int64_t i = 0; i < n; i++) {
            int64_t extent;
            lt_value one = v->kind == LT_VALUE_CONSTANT ? lt_value_constant(&(lt_shape){ .rank = 0 }, v->data + i) : *v;
            if (!lt_value_integer(c->r, c->e->where, &one, "a size", &extent)) return false;
            if (shape->rank == LT_MAX_RANK) { lt_call_fail(c, "a tensor has at most %d axes", LT_MAX_RANK); return false; }
            shape->dim[shape->rank++] = extent;
        }
    }
    return true;
}

/* ---- calling ---- */

static lt_node build_call(void *ctx, lt_graph *g, const lt_node *in)
{
    lt_builtin_call *c = ctx;
    if (c->fn->unary) return c->fn->unary(g, in[0]);
    if (c->fn->binary) return c->fn->binary(g, in[0], in[1]);
    if (c->fn->ternary) return c->fn->ternary(g, in[0], in[1], in[2]);
    return c->fn->build(c, g, in);
}

/* Whether the elements broadcast to one shape. */
static bool check_broadcast(lt_builtin_call *c, const lt_value *in, int n)
{
    lt_shape common = { .rank = 0 };
    for (int i = 0; i < n; i++) {
        lt_shape s = lt_value_element(&in[i]);
        if (!lt_value_is_tensor(&in[i])) continue;
        for (int k = 1; k <= s.rank && k <= common.rank; k++) {
            int64_t a = common.dim[common.rank - k], b = s.dim[s.rank - k];
            if (a == b || a == 1 || b == 1) continue;
            lt_call_fail(c, "%s of %s and %s: the shapes do not broadcast", c->fn->name, lt_shape_str(&common).s, lt_shape_str(&s).s);
            return false;
        }
        lt_shape longer = s.rank > common.rank ? s : common, shorter = s.rank > common.rank ? common : s;
        for (int k = 1; k <= shorter.rank; k++)
            if (longer.dim[longer.rank - k] == 1) longer.dim[longer.rank - k] = shorter.dim[shorter.rank - k];
        common = longer;
    }
    return true;
}

/* Tensors to one rank with their lead axes in place, so that they broadcast as their elements would. */
static bool align(lt_builtin_call *c, lt_value *in, int n)
{
    int rank = 0;
    for (int i = 0; i < n; i++) rank = LT_MAX(rank, in[i].shape.rank - in[i].lead);
    if (rank + c->lead > LT_MAX_RANK) { lt_cannot_lift(c->r, "the number of its axes"); return false; }
    for (int i = 0; i < n; i++) {
        if (!lt_value_is_tensor(&in[i])) continue;
        lt_shape s = lt_value_aligned(&in[i], c->lead, rank);
        in[i] = lt_value_reshape(c->r, c->e->where, &in[i], &s, c->lead);
        if (in[i].kind == LT_VALUE_NONE) return false;
    }
    return true;
}

static lt_value call_builder(lt_builtin_call *c)
{
    int n = c->n_parameters + c->n_rest;
    lt_value *in = lt_arena_alloc(&c->r->temporary, (size_t)n * sizeof *in);
    if (!in) { lt_reader_no_memory(c->r); return lt_value_none(); }
    for (int i = 0; i < c->n_parameters; i++)
        in[i] = c->given[i] && lt_value_is_tensor(&c->value[i]) && c->parameter[i].type == 't' ? c->value[i] : lt_value_none();
    for (int i = 0; i < c->n_rest; i++) in[c->n_parameters + i] = c->rest[i];
    if (c->fn->lifting == LT_LIFT_EACH && !check_broadcast(c, in, n)) return lt_value_none();
    if (c->lead) {
        if (c->fn->lifting == LT_LIFT_NOT) return lt_cannot_lift(c->r, c->fn->name);
        bool several = c->fn->lifting == LT_LIFT_EACH || c->n_rest > 1 || (c->fn->binary == NULL && c->n_parameters > 1 && lt_value_is_tensor(&in[1]));
        if (several && !align(c, in, n)) return lt_value_none();
        for (int i = 0; i < c->n_parameters; i++) if (lt_value_is_tensor(&in[i])) c->value[i] = in[i];
        for (int i = 0; i < c->n_rest; i++) c->rest[i] = in[c->n_parameters + i];
    }
    return lt_value_build(c->r, c->e->point, in, n, c->lead, build_call, c);
}

/* Elementwise functions of one constant number need no graph. */
static bool scalar_shortcut(const lt_builtin_call *c, lt_value *out)
{
    static const struct { const char *name; double (*f)(double); } table[] = {
        { "sqrt", sqrt }, { "exp", exp }, { "log", log }, { "abs", fabs }, { "floor", floor }, { "sin", sin }, { "cos", cos },
    };
    const lt_value *v = &c->value[0];
    if (c->n_parameters != 1 || v->kind != LT_VALUE_CONSTANT || v->shape.rank) return false;
    for (size_t i = 0; i < LT_LEN(table); i++)
        if (!strcmp(c->fn->name, table[i].name)) { *out = lt_value_number(c->r, table[i].f(v->data[0])); return true; }
    return false;
}

/* A function of the user's: its body with the parameters as local names. */
static lt_value expand(lt_reader *r, const lt_expr *e, lt_symbol *fn)
{
    lt_local *locals = lt_arena_alloc(&r->temporary, (size_t)LT_MAX(e->n, 1) * sizeof *locals);
    if (!locals) { lt_reader_no_memory(r); return lt_value_none(); }
    bool good = true;
    for (int i = 0; i < e->n; i++) {
        if (e->argument[i].name) { lt_reader_error(r, e->argument[i].name_at, "'%.60s' takes its arguments by position", fn->name); good = false; }
        locals[i] = (lt_local){ i < fn->n_parameters ? fn->parameter[i].text : "", lt_expr_evaluate(r, e->argument[i].value), i ? &locals[i - 1] : NULL };
        good &= locals[i].value.kind != LT_VALUE_NONE;
    }
    fn->used = true;
    if (e->n != fn->n_parameters) {
        lt_reader_error(r, e->point, "'%.60s' takes %d argument%s; %d %s given", fn->name, fn->n_parameters,
                        fn->n_parameters == 1 ? "" : "s", e->n, e->n == 1 ? "is" : "are");
        return lt_value_none();
    }
    if (fn->expanding) { lt_reader_error(r, e->point, "'%.60s' calls itself; functions are expanded and cannot recur", fn->name); return lt_value_none(); }
    if (!good) return lt_value_none();
    if (r->calls == r->limits.calls) { lt_reader_error(r, e->point, "more than %d functions within each other", r->limits.calls); return lt_value_none(); }
    const lt_local *outer = r->locals;
    lt_symbol *outer_fn = r->in_fn;
    lt_text_span called_at = r->called_at;
    if (!outer_fn) r->called_at = e->point; /* the call a reader sees in the statement */
    r->in_fn = fn;
    r->locals = e->n ? &locals[e->n - 1] : NULL;
    fn->expanding = true;
    r->calls++;
    lt_value v = lt_expr_evaluate(r, fn->body);
    r->calls--;
    fn->expanding = false;
    r->locals = outer;
    r->in_fn = outer_fn;
    r->called_at = called_at;
    return v;
}

static lt_value not_callable(lt_reader *r, const lt_expr *e, const lt_symbol *s)
{
    for (int i = 0; i < e->n; i++) lt_expr_evaluate(r, e->argument[i].value); /* mistakes of their own */
    if (!s) lt_builtin_report_unknown(r, e);
    else if (s->kind != LT_SYMBOL_ERROR)
        lt_reader_error(r, e->point, "'%.60s' is not a function; elements are taken with %.60s[…]", e->text, e->text);
    return lt_value_none();
}

lt_value lt_expr_call(lt_reader *r, const lt_expr *e)
{
    lt_symbol *s = lt_reader_find(r, e->text);
    if (s && s->kind == LT_SYMBOL_FN) return expand(r, e, s);
    const lt_builtin *fn = lt_builtin_find(e->text);
    if (!fn) return not_callable(r, e, s);
    lt_builtin_call c = { .r = r, .e = e, .fn = fn };
    read_signature(&c);
    lt_value out;
    if (!bind_arguments(&c)) return lt_value_none();
    if (scalar_shortcut(&c, &out)) return out;
    return fn->make ? fn->make(&c) : call_builder(&c);
}
