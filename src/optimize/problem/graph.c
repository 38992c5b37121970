/* Problems written as graphs: derivatives are added to the graph once, and two programs compiled:
   values alone, and everything. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/choose.h"
#include "optimize/device/exchange.h"
#include "optimize/device/far.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* ---- Building ---------------------------------------------------------------------------------------- */
static lt_node graph_input(const lt_graph *g, int index)
{
    for (int32_t id = 0; id < g->ir.n_nodes; id++) {
        const lt_ir_node *n = &g->ir.node[id];
        if (n->op == LT_OP_INPUT && n->attr.u.input.input == index) return (lt_node){ id, g->serial };
    }
    return LT_NONE;
}

static lt_status list_variables(lt_graph *g, lt_variable *v, lt_node *inputs)
{
    for (int i = 0; i < g->ir.n_inputs; i++) {
        inputs[i] = graph_input(g, i);
        if (lt_is_none(inputs[i])) return LT_FAIL(LT_ERR_INTERNAL, "problem: input %d of the graph is missing", i);
        lt_dtype t = lt_node_dtype(g, inputs[i]);
        const char *name = g->ir.node[inputs[i].id].name;
        if (t != LT_F64 && t != LT_F32)
            return LT_FAIL(LT_ERR_TYPE, "problem: variable '%s' is %s, expected f64 or f32", name ? name : "?", lt_dtype_name(t));
        v[i] = (lt_variable){ .name = name, .shape = lt_node_shape(g, inputs[i]) };
    }
    return LT_OK;
}

static int64_t count_of(const lt_graph *g, lt_node n)
{
    lt_shape s = lt_node_shape(g, n);
    return lt_shape_count(&s);
}

static lt_status count_block(const lt_graph *g, const lt_node *c, int n, const char *what, int64_t *count)
{
    *count = 0;
    for (int i = 0; i < n; i++) {
        if (lt_is_none(c[i])) return LT_FAIL(LT_ERR_ARGUMENT, "problem: %s constraint %d is no node", what, i);
        lt_dtype t = lt_node_dtype(g, c[i]);
        if (t != LT_F64 && t != LT_F32)
            return LT_FAIL(LT_ERR_TYPE, "problem: %s constraint %d is %s, expected f64 or f32", what, i, lt_dtype_name(t));
        *count += count_of(g, c[i]);
    }
    return LT_OK;
}

/* [count(y), n]: the blocks of all variables side by side. */
static lt_status add_jacobians(lt_graph *g, const lt_node *y, int n_y, const lt_node *inputs, int n_inputs, lt_node *out)
{
    if (n_inputs == 1) return lt_jacobian(g, y, n_y, inputs[0], out);
    lt_node *block = lt_malloc((size_t)n_y * (size_t)n_inputs * sizeof *block * 2);
    if (!block) return LT_ERR_MEMORY;
    lt_node *beside = block + (size_t)n_y * (size_t)n_inputs;
    lt_status s = LT_OK;
    for (int i = 0; i < n_inputs && !s; i++) s = lt_jacobian(g, y, n_y, inputs[i], block + i * n_y);
    for (int j = 0; j < n_y && !s; j++) {
        for (int i = 0; i < n_inputs; i++) beside[i] = block[i * n_y + j];
        out[j] = lt_concat(g, beside, n_inputs, 1);
        s = lt_graph_status(g);
    }
    lt_free(block);
    return s;
}

static lt_status add_gradient(lt_graph *g, lt_node f, const lt_node *inputs, int n_inputs, lt_node *out)
{
    lt_node *part = lt_malloc((size_t)n_inputs * sizeof *part);
    if (!part) return LT_ERR_MEMORY;
    lt_status s = lt_grad(g, f, inputs, n_inputs, part);
    if (!s) {
        for (int i = 0; i < n_inputs; i++) part[i] = lt_flatten(g, part[i]);
        *out = n_inputs == 1 ? part[0] : lt_concat(g, part, n_inputs, 0);
        s = lt_graph_status(g);
    }
    lt_free(part);
    return s;
}

static lt_status build(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce, const lt_node *inputs)
{
    int n_values = 1 + p->n_ce + p->n_ci;
    p->node = lt_malloc((size_t)(2 * n_values) * sizeof *p->node);
    if (!p->node) return LT_ERR_MEMORY;
    p->node[0] = f;
    for (int i = 0; i < p->n_ce; i++) p->node[1 + i] = ce[i];
    for (int i = 0; i < p->n_ci; i++) p->node[1 + p->n_ce + i] = ci[i];
    LT_TRY(add_gradient(p->graph, f, inputs, p->n_variables, &p->node[n_values]));
    if (n_values == 1) return LT_OK;
    return add_jacobians(p->graph, p->node + 1, n_values - 1, inputs, p->n_variables, p->node + n_values + 1);
}

lt_status lt_problem_from_graph(lt_graph *g, lt_node f, const lt_node *ci, int n_ci, const lt_node *ce, int n_ce,
                                lt_problem **out)
{
    if (!out || !g) return LT_FAIL(LT_ERR_ARGUMENT, "problem: an argument is NULL");
    *out = NULL;
    LT_TRY(lt_graph_status(g));
    if (lt_is_none(f) || count_of(g, f) != 1)
        return LT_FAIL(LT_ERR_SHAPE, "problem: the objective has %lld elements, expected 1",
                       lt_is_none(f) ? 0LL : (long long)count_of(g, f));
    if (n_ci < 0 || n_ce < 0 || (n_ci && !ci) || (n_ce && !ce)) return LT_FAIL(LT_ERR_ARGUMENT, "problem: constraints are NULL");
    int n_inputs = g->ir.n_inputs;
    if (!n_inputs) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the graph has no input: nothing to minimise over");
    lt_variable *v = lt_calloc((size_t)n_inputs, sizeof *v);
    lt_node *inputs = lt_malloc((size_t)n_inputs * sizeof *inputs);
    int64_t n = 0, p = 0, q = 0;
    lt_status s = v && inputs ? list_variables(g, v, inputs) : LT_ERR_MEMORY;
    if (!s) s = count_block(g, ci, n_ci, "inequality", &p);
    if (!s) s = count_block(g, ce, n_ce, "equality", &q);
    if (!s) n = lt_variables_layout(v, n_inputs);
    if (!s) s = lt_problem_alloc(&lt_problem_kind_graph, n, p, q, out);
    if (!s) {
        (*out)->graph = g;
        (*out)->n_ci = n_ci;
        (*out)->n_ce = n_ce;
        (*out)->variable = v;
        (*out)->n_variables = n_inputs;
        v = NULL;
        s = build(*out, f, ci, ce, inputs);
    }
    lt_free(v);
    lt_free(inputs);
    if (s) {
        lt_problem_destroy(*out);
        *out = NULL;
    }
    return s;
}

/* ---- Running ------------------------------------------------------------------------------------------ */
static int value_nodes(const lt_problem *p) { return 1 + p->n_ce + p->n_ci; }

/* Half work, half fixed cost per kernel: an estimate is all that is needed to choose an order. */
static double host_cost(lt_program_info i) { return i.bytes + i.flops + 2000.0 * i.n_kernels; }

/* Whether `all` may serve for the values alone, too, so that gradients asked for afterwards need no values computed again.
   It keeps what gradients need, and may compute some of it with the values: that must not cost much. */
static bool values_lead(lt_program_info values, lt_program_info all)
{
    const lt_program_info lead = { .size = sizeof lead, .bytes = all.lead_bytes, .flops = all.lead_flops, .n_kernels = all.n_lead };
    return all.n_lead && host_cost(lead) <= 1.25 * host_cost(values);
}

static lt_compile_options compile_options(const lt_solve_options *opt, const lt_evaluator *e)
{
    return (lt_compile_options){ .size = sizeof(lt_compile_options), .mode = lt_device_mode(opt, e->device), .device = e->device, .low_precision = opt->precision_mixed,
                                 .storage_type = LT_BF16, .lead_outputs = value_nodes(e->problem) };
}

lt_status lt_evaluator_more_values(const lt_evaluator *e, const lt_solve_options *opt, lt_program **out)
{
    lt_problem *p = e->problem;
    const lt_compile_options c = compile_options(opt, e);
    pthread_mutex_lock(&p->lock);
    lt_status s = lt_program_create(p->graph, p->node, value_nodes(p), &c, out);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* Programs for e->device; on failure e is as it was. */
static lt_status compile(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    int n = value_nodes(p);
    const lt_compile_options c = compile_options(opt, e);
    int64_t begin = lt_clock_ns();
    lt_program *values = NULL, *all = NULL;
    lt_status s = lt_program_create(p->graph, p->node, n, &c, &values);
    if (!s) s = lt_program_create(p->graph, p->node, 2 * n, &c, &all);
    e->compile_seconds += (double)(lt_clock_ns() - begin) * 1e-9;
    if (s) {
        lt_program_destroy(values);
        return s;
    }
    e->values = values;
    e->all = all;
    lt_program_info v = lt_program_get_info(values), a = lt_program_get_info(all);
    double cost_v = e->device ? lt_device_cost(&v) : host_cost(v), cost_a = e->device ? lt_device_cost(&a) : host_cost(a);
    e->value_share = cost_a > 0 ? LT_MIN(cost_v / cost_a, 1) : 1;
    e->idles = e->device && lt_device_idles(&v);
    if (e->device || !values_lead(v, a)) return LT_OK;
    lt_program_destroy(values);
    e->values = NULL;
    e->value_share = 0; /* values first never cost more */
    return LT_OK;
}

/* torch_device=auto begins on the CPU, whose programs tell how large an evaluation is. What a GPU cannot do stays there. */
static lt_status compile_where_it_pays(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    LT_TRY(compile(p, opt, e));
    lt_program_info all = lt_program_get_info(e->all);
    if (!lt_device_auto(&all, &e->device, e->reason, sizeof e->reason)) return LT_OK;
    lt_evaluator host = *e;
    lt_status s = compile(p, opt, e);
    if (!s) s = lt_exchange_create(e, opt, &e->exchange);
    if (s) {
        lt_device_auto_refused(e->device, e->reason, sizeof e->reason);
        host.compile_seconds = e->compile_seconds;
        if (e->values != host.values) { /* compiled, but its memory does not fit */
            lt_program_destroy(e->values);
            lt_program_destroy(e->all);
        }
        lt_device_close(e->device);
        memcpy(host.reason, e->reason, sizeof host.reason);
        *e = host;
        e->device = NULL;
        return LT_OK;
    }
    lt_program_destroy(host.values);
    lt_program_destroy(host.all);
    return LT_OK;
}

/* Inputs and outputs as the programs want them, worked out once: a run must not look into the
   graph, which another thread may be compiling. */
static lt_port input_port(const lt_problem *p, int i, int64_t *at)
{
    lt_node in = graph_input(p->graph, i);
    lt_port port = { .offset = *at, .count = count_of(p->graph, in), .single = lt_node_dtype(p->graph, in) == LT_F32 };
    *at += port.count;
    return port;
}

static lt_port output_port(const lt_problem *p, int i, int64_t *at)
{
    int n = value_nodes(p), j = i % n;
    lt_port port = { .count = count_of(p->graph, p->node[i]), .single = lt_node_dtype(p->graph, p->node[i]) == LT_F32 };
    port.block = (j == 0 ? LT_BLOCK_F : j <= p->n_ce ? LT_BLOCK_CE : LT_BLOCK_CI) + (i >= n ? LT_BLOCK_GRAD_F : 0);
    if (j <= 1 || j == p->n_ce + 1) *at = 0; /* a new block begins */
    port.offset = *at;
    *at += port.count;
    return port;
}

static lt_status describe_ports(lt_problem *p, lt_evaluator *e)
{
    e->n_inputs = p->graph->ir.n_inputs;
    e->n_values = value_nodes(p);
    e->port = lt_calloc((size_t)(e->n_inputs + 2 * e->n_values), sizeof *e->port);
    if (!e->port) return LT_ERR_MEMORY;
    int64_t at = 0, n_single = 0;
    for (int i = 0; i < e->n_inputs; i++) e->port[i] = input_port(p, i, &at);
    for (int i = 0; i < 2 * e->n_values; i++) e->port[e->n_inputs + i] = output_port(p, i, &at);
    for (int i = 0; i < e->n_inputs + 2 * e->n_values; i++)
        if (e->port[i].single) n_single += e->port[i].count;
    if (e->mixed && !n_single)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'precision_mixed': the graph's variables are f64, expected f32");
    if (n_single) e->single = lt_malloc_aligned((size_t)n_single * sizeof *e->single);
    return n_single && !e->single ? LT_ERR_MEMORY : LT_OK;
}

/* Programs and memory of the device that was asked for. */
static lt_status open_there(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    lt_status s = compile(p, opt, e);
    if (!s) s = lt_exchange_create(e, opt, &e->exchange);
    if (s != LT_ERR_MEMORY) return s;
    char text[400];
    snprintf(text, sizeof text, "%s", lt_error_text());
    return LT_FAIL(s, "solve: the problem, %lld variables with %lld constraints, does not fit on %s: %s; the CPU may hold it",
                   (long long)p->n, (long long)(p->p + p->q), lt_device_id(e->device), text);
}

static lt_status graph_open(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    LT_TRY(describe_ports(p, e));
    int64_t k = 1 + p->p + p->q;
    e->inputs = lt_calloc((size_t)e->n_inputs, sizeof *e->inputs);
    e->outputs = lt_calloc((size_t)(2 * e->n_values), sizeof *e->outputs);
    if (!e->inputs || !e->outputs) return LT_ERR_MEMORY;
    e->borrowed = opt->device != NULL;
    e->device = opt->device;
    snprintf(e->reason, sizeof e->reason, "asked for");
    if (!opt->device && !strcmp(opt->torch_device, "auto")) LT_TRY(compile_where_it_pays(p, opt, e));
    else {
        if (!opt->device && strcmp(opt->torch_device, "cpu")) LT_TRY(lt_device_open(opt->torch_device, &e->device));
        LT_TRY(e->device ? open_there(p, opt, e) : compile(p, opt, e));
    }
    if (e->exchange) return LT_OK;
    for (int i = 0; !e->values && i < 2 * e->n_values; i++)
        if (lt_program_output_leads(e->all, i)) e->early[e->port[e->n_inputs + i].block] = true;
    e->led_at = lt_malloc((size_t)p->n * sizeof *e->led_at);
    e->scratch = lt_malloc_aligned((size_t)(k * (1 + p->n)) * sizeof *e->scratch);
    return e->led_at && e->scratch ? LT_OK : LT_ERR_MEMORY;
}

static void graph_close(lt_evaluator *e)
{
    lt_far_destroy(e->far);
    lt_exchange_destroy(e->exchange);
    lt_program_destroy(e->values);
    lt_program_destroy(e->all);
    lt_free(e->port);
    lt_free(e->inputs);
    lt_free(e->outputs);
    lt_free(e->led_at);
    lt_free_aligned(e->scratch);
    lt_free_aligned(e->single);
    if (!e->borrowed) lt_device_close(e->device);
}

/* The six blocks of an evaluation: where they are wanted, or in scratch, which also has what the rest of an
   evaluation reads again: the caller may change the values it was given. */
typedef struct blocks {
    double *at[LT_BLOCK_COUNT], *wanted[LT_BLOCK_COUNT];
    int64_t count[LT_BLOCK_COUNT];
} blocks;

static blocks list_blocks(const lt_evaluator *e, const lt_outputs *out)
{
    const lt_problem *p = e->problem;
    blocks b = { .wanted = { out->f, out->ce, out->ci, out->grad_f, out->grad_ce, out->grad_ci },
                 .count = { 1, p->q, p->p, p->n, p->q * p->n, p->p * p->n } };
    double *scratch = e->scratch;
    for (int i = 0; i < LT_BLOCK_COUNT; i++) {
        b.at[i] = b.wanted[i] && !e->early[i] ? b.wanted[i] : scratch;
        scratch += b.count[i];
    }
    return b;
}

static void deliver(const blocks *b)
{
    for (int i = 0; i < LT_BLOCK_COUNT; i++)
        if (b->wanted[i] && b->wanted[i] != b->at[i]) memcpy(b->wanted[i], b->at[i], (size_t)b->count[i] * sizeof *b->at[i]);
}

/* Points the programs at x and the blocks, or at their single-precision doubles. */
static void bind(lt_evaluator *e, const double *x, const blocks *b)
{
    const lt_port *in = e->port, *result = e->port + e->n_inputs;
    float *single = e->single;
    for (int i = 0; i < e->n_inputs; i++) {
        e->inputs[i] = x + in[i].offset;
        if (!in[i].single) continue;
        for (int64_t j = 0; j < in[i].count; j++) single[j] = (float)x[in[i].offset + j];
        e->inputs[i] = single;
        single += in[i].count;
    }
    for (int i = 0; i < 2 * e->n_values; i++) {
        e->outputs[i] = b->at[result[i].block] + result[i].offset;
        if (!result[i].single) continue;
        e->outputs[i] = single;
        single += result[i].count;
    }
}

static void widen(const lt_evaluator *e, int n_out, const blocks *b)
{
    const lt_port *result = e->port + e->n_inputs;
    for (int i = 0; i < n_out; i++) {
        if (!result[i].single) continue;
        const float *from = e->outputs[i];
        double *to = b->at[result[i].block] + result[i].offset;
        for (int64_t j = 0; j < result[i].count; j++) to[j] = from[j];
    }
}

/* Values alone, everything, or the gradients at the x whose values were computed last. */
static lt_status run_programs(lt_evaluator *e, const double *x, bool values, bool gradients)
{
    size_t bytes = (size_t)e->problem->n * sizeof *x;
    bool led = e->led && !memcmp(x, e->led_at, bytes);
    e->led = false;
    if (!gradients && e->values) return lt_program_run(e->values, e->inputs, e->outputs);
    if (gradients) return (led && !values ? lt_program_run_rest : lt_program_run)(e->all, e->inputs, e->outputs);
    LT_TRY(lt_program_run_lead(e->all, e->inputs, e->outputs));
    memcpy(e->led_at, x, bytes);
    e->led = true;
    return LT_OK;
}

static lt_status graph_run(lt_evaluator *e, const double *x, const lt_outputs *out)
{
    if (e->exchange) return lt_exchange_run(e->exchange, x, out);
    bool values = out->f || out->ce || out->ci, gradients = out->grad_f || out->grad_ce || out->grad_ci;
    blocks b = list_blocks(e, out);
    bind(e, x, &b);
    LT_TRY(run_programs(e, x, values, gradients));
    widen(e, gradients ? 2 * e->n_values : e->n_values, &b);
    deliver(&b);
    return LT_OK;
}

const lt_problem_kind lt_problem_kind_graph = { "graph", graph_open, graph_close, graph_run };
