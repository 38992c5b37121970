/* Programs for the functions of a graph: values alone, and everything, on the CPU or on a device. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/compressed.h"
#include "optimize/problem/graph.h"

#include "optimize/device/choose.h"
#include "optimize/device/functions.h"
#include "optimize/device/hessian.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"
#include "trace/clock.h"

#include <string.h>

static int value_nodes(const lt_problem *p) { return 1 + p->n_ce + p->n_ci; }
static int output_nodes(const lt_problem *p) { return p->compressed ? value_nodes(p) + 2 : 2 * value_nodes(p); }

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
    return (lt_compile_options){ .size = sizeof(lt_compile_options), .mode = lt_device_mode(opt, e->device), .device = e->device, .low_precision = opt->mixed_precision,
                                 .storage_type = LT_BF16, .lead_outputs = value_nodes(e->problem) };
}

lt_status lt_evaluator_more_values(const lt_evaluator *e, const lt_solve_options *opt, lt_program **out)
{
    lt_problem *p = e->problem;
    const lt_compile_options c = compile_options(opt, e);
    lt_problem_lock_graph(p);
    lt_status s = lt_program_create(p->graph, p->node, value_nodes(p), &c, out);
    lt_problem_unlock_graph(p);
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
    if (!s) s = lt_program_create(p->graph, p->node, output_nodes(p), &c, &all);
    e->compile_seconds += lt_seconds_since(begin);
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

/* device_name=auto begins on the CPU, whose programs say how large an evaluation is. What a GPU cannot do stays on the CPU. */
static lt_status compile_where_it_pays(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    LT_TRY(compile(p, opt, e));
    lt_program_info all = lt_program_get_info(e->all);
    if (!lt_device_auto(&all, &e->device, e->reason, sizeof e->reason)) return LT_OK;
    lt_evaluator host = *e;
    lt_status s = compile(p, opt, e);
    if (!s) s = lt_device_functions_create(e, opt, &e->on_device);
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
    lt_node in = lt_graph_input(p->graph, i);
    lt_port port = { .offset = *at, .count = lt_node_elements(p->graph, in), .single = lt_node_dtype(p->graph, in) == LT_F32 };
    *at += port.count;
    return port;
}

static lt_port output_port(const lt_problem *p, int i, int64_t *at)
{
    int n = value_nodes(p), j = p->compressed && i > n ? 1 : i % n; /* groups stand for the gradients of all constraints */
    lt_port port = { .count = lt_node_elements(p->graph, p->node[i]), .single = lt_node_dtype(p->graph, p->node[i]) == LT_F32 };
    port.block = (j == 0 ? LT_BLOCK_F : j <= p->n_ce || (p->compressed && i > n) ? LT_BLOCK_CE : LT_BLOCK_CI) + (i >= n ? LT_BLOCK_GRAD_F : 0);
    if (j <= 1 || j == p->n_ce + 1) *at = 0; /* a new block begins */
    port.offset = *at;
    *at += port.count;
    return port;
}

static lt_status describe_ports(lt_problem *p, lt_evaluator *e)
{
    e->n_inputs = p->graph->ir.n_inputs;
    e->n_values = value_nodes(p);
    e->n_outputs = output_nodes(p);
    e->port = lt_calloc((size_t)(e->n_inputs + e->n_outputs), sizeof *e->port);
    if (!e->port) return LT_ERR_MEMORY;
    int64_t at = 0, n_single = 0;
    for (int i = 0; i < e->n_inputs; i++) e->port[i] = input_port(p, i, &at);
    for (int i = 0; i < e->n_outputs; i++) e->port[e->n_inputs + i] = output_port(p, i, &at);
    for (int i = 0; i < e->n_inputs + e->n_outputs; i++)
        if (e->port[i].single) n_single += e->port[i].count;
    if (e->mixed && !n_single)
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'mixed_precision': the graph's variables are f64, expected f32");
    if (n_single) e->single = lt_malloc_aligned((size_t)n_single * sizeof *e->single);
    return n_single && !e->single ? LT_ERR_MEMORY : LT_OK;
}

/* Programs and memory of the device that was asked for. */
static lt_status open_on_device(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e)
{
    lt_status s = compile(p, opt, e);
    if (!s) s = lt_device_functions_create(e, opt, &e->on_device);
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
    e->outputs = lt_calloc((size_t)e->n_outputs, sizeof *e->outputs);
    if (!e->inputs || !e->outputs) return LT_ERR_MEMORY;
    e->borrowed = opt->device != NULL;
    e->device = opt->device;
    snprintf(e->reason, sizeof e->reason, "asked for");
    if (p->compressed) {
        const long long sweeps = p->compressed->n_groups;
        snprintf(e->reason, sizeof e->reason, "gradients of constraints are sparse: %lld entries by %lld sweep%s",
                 (long long)p->compressed->a.start[p->compressed->a.m], sweeps, sweeps == 1 ? "" : "s");
        LT_TRY(compile(p, opt, e));
    } else if (!opt->device && !strcmp(opt->device_name, "auto")) LT_TRY(compile_where_it_pays(p, opt, e));
    else {
        if (!opt->device && strcmp(opt->device_name, "cpu")) LT_TRY(lt_device_open(opt->device_name, &e->device));
        LT_TRY(e->device ? open_on_device(p, opt, e) : compile(p, opt, e));
    }
    if (e->on_device) return LT_OK;
    for (int i = 0; !e->values && i < e->n_outputs; i++)
        if (lt_program_output_leads(e->all, i)) e->early[e->port[e->n_inputs + i].block] = true;
    e->led_at = lt_malloc((size_t)p->n * sizeof *e->led_at);
    const int64_t groups = p->compressed ? p->compressed->n_groups * p->n : 0;
    e->scratch = lt_malloc_aligned((size_t)(p->compressed ? k + p->n + groups : k * (1 + p->n)) * sizeof *e->scratch);
    if (groups && !(e->groups = lt_malloc_aligned((size_t)groups * sizeof *e->groups))) return LT_ERR_MEMORY;
    return e->led_at && e->scratch ? LT_OK : LT_ERR_MEMORY;
}

static void graph_close(lt_evaluator *e)
{
    lt_device_hessian_destroy(e->hessian);
    lt_device_functions_destroy(e->on_device);
    lt_program_destroy(e->values);
    lt_program_destroy(e->all);
    lt_free(e->port);
    lt_free(e->inputs);
    lt_free(e->outputs);
    lt_free(e->led_at);
    lt_free_aligned(e->scratch);
    lt_free_aligned(e->groups);
    lt_free_aligned(e->single);
    if (!e->borrowed) lt_device_close(e->device);
}

const lt_problem_kind lt_problem_kind_graph = { "graph", graph_open, graph_close, lt_graph_run };
