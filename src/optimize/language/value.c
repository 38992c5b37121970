/* Values: constants and nodes, their shapes, and building from them. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/status.h"
#include "device/cpu/cpu.h"
#include "graph/build/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

lt_value lt_value_none(void) { return (lt_value){ .kind = LT_VALUE_NONE, .node = LT_NONE }; }

lt_value lt_cannot_lift(lt_reader *r, const char *why)
{
    if (!r->unliftable) r->unliftable = why;
    return lt_value_none();
}

lt_value lt_value_constant(const lt_shape *shape, const double *data)
{
    return (lt_value){ .kind = LT_VALUE_CONSTANT, .shape = *shape, .data = data, .node = LT_NONE };
}

lt_value lt_value_number(lt_reader *r, double x)
{
    double *data = lt_arena_alloc(&r->temporary, sizeof *data);
    if (!data) { lt_reader_no_memory(r); return lt_value_none(); }
    *data = x;
    return lt_value_constant(&(lt_shape){ .rank = 0 }, data);
}

static bool within_limits(lt_reader *r, lt_text_span where, const lt_shape *s)
{
    int64_t count = lt_shape_count(s);
    if (count < 0 || count > r->limits.elements) {
        lt_reader_error(r, where, "a tensor %s has too many elements; at most %lld are possible", lt_shape_str(s).s,
                        (long long)r->limits.elements);
        return false;
    }
    return true;
}

bool lt_value_fits(lt_reader *r, lt_text_span where, const lt_shape *shape)
{
    if (!within_limits(r, where, shape)) return false;
    int64_t bytes = lt_shape_count(shape) * (int64_t)sizeof(double);
    /* Large tensors exist a few times while they are computed; better to say so than to be killed. */
    if (bytes <= (64 << 20) || bytes <= lt_cpu_memory_free() / 4) return true;
    lt_reader_error(r, where, "a tensor %s needs %.1f GB of memory, several times while it is computed; %.1f GB are free, and a quarter of that is the limit",
                    lt_shape_str(shape).s, (double)bytes * 1e-9, (double)lt_cpu_memory_free() * 1e-9);
    return false;
}

double *lt_value_alloc(lt_reader *r, lt_text_span where, const lt_shape *shape)
{
    if (!lt_value_fits(r, where, shape)) return NULL;
    double *data = lt_arena_alloc(&r->temporary, LT_MAX((size_t)lt_shape_count(shape), 1) * sizeof *data);
    if (!data) lt_reader_no_memory(r);
    return data;
}

int64_t lt_value_count(const lt_value *v) { return lt_shape_count(&v->shape); }

lt_shape lt_value_element(const lt_value *v) { return lt_shape_of(v->shape.rank - v->lead, v->shape.dim + v->lead); }

lt_shape_text lt_value_shape_text(const lt_value *v)
{
    lt_shape s = lt_value_element(v);
    return lt_shape_str(&s);
}

lt_value lt_value_keep(lt_reader *r, const lt_value *v)
{
    if (v->kind != LT_VALUE_CONSTANT) return *v;
    size_t bytes = (size_t)lt_value_count(v) * sizeof(double);
    double *data = lt_arena_alloc(&r->kept, LT_MAX(bytes, sizeof(double)));
    if (!data) { lt_reader_no_memory(r); return lt_value_none(); }
    memcpy(data, v->data, bytes);
    return lt_value_constant(&v->shape, data);
}

/* ---- nodes ---- */

static lt_node constant_node(lt_graph *g, const lt_value *v)
{
    int64_t n = lt_value_count(v);
    bool uniform = n > 0;
    for (int64_t i = 1; i < n && uniform; i++) uniform = v->data[i] == v->data[0];
    if (uniform && !isnan(v->data[0])) return lt_full(g, LT_F64, v->shape, v->data[0]);
    return lt_constant(g, LT_F64, v->shape, v->data);
}

/* The value as a node of g: the problem's graph, or one made for constants. */
static lt_node to_node(lt_reader *r, lt_graph *g, const lt_value *v)
{
    if (v->kind == LT_VALUE_NODE) return v->node;
    bool shared = g == r->graph && v->symbol && v->symbol->value.data == v->data &&
                  lt_shape_equal(&v->shape, &v->symbol->value.shape);
    if (!shared) return constant_node(g, v);
    if (lt_is_none(v->symbol->node)) v->symbol->node = lt_name(g, constant_node(g, v), v->symbol->name);
    return v->symbol->node;
}

lt_value lt_value_node(lt_reader *r, lt_text_span where, lt_node n, int lead)
{
    lt_value v = { .kind = LT_VALUE_NODE, .lead = lead, .shape = lt_node_shape(r->graph, n), .node = n };
    if (!within_limits(r, where, &v.shape)) return lt_value_none();
    if (lt_graph_node_count(r->graph) > r->limits.nodes) {
        lt_reader_error(r, where, "the problem has more than %d operations; use whole tensors instead of single elements",
                        r->limits.nodes);
        return lt_value_none();
    }
    return v;
}

void lt_value_plain_text(const char *text, char *out, size_t size)
{
    const char *colon = strstr(text, ": "), *end = strrchr(text, '(');
    if (colon && colon - text < 16) text = colon + 2;
    int n = end && end > text && strstr(end, ".c:") ? (int)(end - text) : (int)strlen(text);
    while (n && text[n - 1] == ' ') n--;
    snprintf(out, size, "%.*s", n, text);
}

/* "shape: det of %3 [3]: … (src/…:27)" as a user of the language would say it: without the labels of
   nodes, '%' and a number or a name in quotes before a shape. */
static void plain_text(const char *text, char *out, size_t size)
{
    char plain[400];
    size_t n = 0;
    lt_value_plain_text(text, plain, sizeof plain);
    for (const char *s = plain; *s && n + 1 < size;) {
        const char *after = s + 1, *close = *s == '\'' ? strchr(s + 1, '\'') : NULL;
        if (*s == '%') while (*after >= '0' && *after <= '9') after++;
        else if (close) after = close + 1;
        bool label = after > s + 1 && *after == ' ' && after[1] == '[';
        if (label) s = after + 1;
        else out[n++] = *s++;
    }
    out[n] = 0;
}

/* Reports what the graph refused; it may be built on afterwards. */
static bool accepted(lt_reader *r, lt_text_span where, lt_graph *g, int lead)
{
    lt_status s = lt_graph_status(g);
    if (!s) return true;
    if (s == LT_ERR_MEMORY) lt_reader_no_memory(r);
    else if (lead) lt_cannot_lift(r, "its shapes"); /* written out, the message will show the element's shapes */
    else {
        char text[400];
        plain_text(lt_error_text(), text, sizeof text);
        lt_reader_error(r, where, "%s", text);
    }
    lt_graph_forgive(g);
    return false;
}

/* Runs a graph of constants and takes its one output. */
static lt_value run_constants(lt_reader *r, lt_text_span where, lt_graph *g, lt_node out, int lead)
{
    lt_shape shape = lt_node_shape(g, out);
    double *data = lt_value_alloc(r, where, &shape);
    if (!data) return lt_value_none();
    lt_program *p = NULL;
    lt_status s = lt_program_create(g, &out, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER }, &p);
    if (!s) s = lt_program_run(p, NULL, (void *const[]){ data });
    lt_program_destroy(p);
    if (s == LT_ERR_MEMORY) lt_reader_no_memory(r);
    else if (s) {
        char text[400];
        plain_text(lt_error_text(), text, sizeof text);
        lt_reader_error(r, where, "this cannot be computed: %s", text);
    }
    if (s) return lt_value_none();
    lt_value v = lt_value_constant(&shape, data);
    v.lead = lead;
    return v;
}

static bool all_constant(const lt_value *in, int n)
{
    for (int i = 0; i < n; i++)
        if (in[i].kind == LT_VALUE_NODE) return false;
    return true;
}

lt_value lt_value_build(lt_reader *r, lt_text_span where, const lt_value *in, int n_in, int lead, lt_build build, void *ctx)
{
    lt_node few[16], *nodes = few;
    if (n_in > (int)LT_LEN(few)) nodes = lt_arena_alloc(&r->temporary, (size_t)n_in * sizeof *nodes);
    lt_graph *g = r->graph;
    bool constants = all_constant(in, n_in);
    if (!nodes || (constants && lt_graph_create(&g))) { lt_reader_no_memory(r); return lt_value_none(); }
    for (int i = 0; i < n_in; i++) nodes[i] = in[i].kind == LT_VALUE_NONE ? LT_NONE : to_node(r, g, &in[i]);
    lt_node out = build(ctx, g, nodes);
    if (lt_node_dtype(g, out) != LT_F64) out = lt_cast(g, out, LT_F64);
    lt_value result = lt_value_none();
    if (accepted(r, where, g, lead) && !lt_is_none(out))
        result = constants ? run_constants(r, where, g, out, lead) : lt_value_node(r, where, out, lead);
    if (constants) lt_graph_destroy(g);
    return result;
}

/* Joined in groups of groups: a node takes a limited number of parts, and more in one step would
   cost a full-sized result for each group. */
lt_node lt_concat_many(lt_reader *r, lt_graph *g, const lt_node *parts, int n, int axis)
{
    enum { GROUP = 32 };
    if (n <= GROUP) return lt_concat(g, parts, n, axis);
    int n_groups = (n + GROUP - 1) / GROUP;
    lt_node *groups = lt_arena_alloc(&r->temporary, (size_t)n_groups * sizeof *groups);
    if (!groups) { lt_reader_no_memory(r); return LT_NONE; }
    for (int i = 0; i < n_groups; i++) {
        groups[i] = lt_concat(g, parts + i * GROUP, LT_MIN(GROUP, n - i * GROUP), axis);
        if (lt_is_none(groups[i])) return LT_NONE;
    }
    return lt_concat_many(r, g, groups, n_groups, axis);
}

/* ---- shapes of lifted values ---- */

lt_shape lt_value_aligned(const lt_value *v, int lead, int element_rank)
{
    lt_shape s = { .rank = lead + element_rank }, element = lt_value_element(v);
    for (int i = 0; i < s.rank; i++) s.dim[i] = 1;
    for (int i = 0; i < v->lead; i++) s.dim[i] = v->shape.dim[i];
    for (int i = 0; i < element.rank; i++) s.dim[s.rank - element.rank + i] = element.dim[i];
    return s;
}

static lt_node build_reshape(void *ctx, lt_graph *g, const lt_node *in) { return lt_reshape(g, in[0], *(const lt_shape *)ctx); }

lt_value lt_value_reshape(lt_reader *r, lt_text_span where, const lt_value *v, const lt_shape *shape, int lead)
{
    if (lt_shape_equal(&v->shape, shape)) {
        lt_value same = *v;
        same.lead = lead;
        return same;
    }
    if (v->kind == LT_VALUE_CONSTANT) {
        lt_value same = lt_value_constant(shape, v->data);
        same.lead = lead;
        return same;
    }
    return lt_value_build(r, where, v, 1, lead, build_reshape, (void *)(uintptr_t)shape);
}

static lt_node build_broadcast(void *ctx, lt_graph *g, const lt_node *in) { return lt_broadcast_to(g, in[0], *(const lt_shape *)ctx); }

lt_value lt_value_broadcast(lt_reader *r, lt_text_span where, const lt_value *v, const lt_shape *shape, int lead)
{
    if (lt_shape_equal(&v->shape, shape)) {
        lt_value same = *v;
        same.lead = lead;
        return same;
    }
    return lt_value_build(r, where, v, 1, lead, build_broadcast, (void *)(uintptr_t)shape);
}
