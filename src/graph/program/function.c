/* Functions: programs compiled on demand for the shapes and types they are called with.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <stdio.h>
#include <string.h>

typedef struct signature { lt_dtype dtype; lt_shape shape; } signature;

typedef struct plan {
    signature  *in, *out;
    lt_program *program;
    int64_t     last_use;
} plan;

struct lt_function {
    lt_function_builder build;
    void  *ctx;
    int    n_inputs, n_outputs;
    lt_function_options opt;
    lt_compile_options compile;
    plan  *plan;            /* opt.max_plans of them; unused ones have no program */
    int64_t clock;          /* calls so far */
    lt_function_stats stats;
    const void **in_pointer;
    void       **out_pointer;
};

static void clear_plan(plan *p)
{
    lt_program_destroy(p->program);
    lt_free(p->in);
    lt_free(p->out);
    *p = (plan){ 0 };
}

void lt_function_destroy(lt_function *f)
{
    if (!f) return;
    for (int i = 0; f->plan && i < f->opt.max_plans; i++) clear_plan(&f->plan[i]);
    lt_free(f->plan);
    lt_free(f->in_pointer);
    lt_free(f->out_pointer);
    lt_free(f);
}

void lt_function_defaults_into(lt_function_options *out)
{
    LT_GIVE(out, &(lt_function_options){ .size = sizeof(lt_function_options) });
}

lt_status lt_function_create(lt_function_builder build, void *ctx, int n_inputs, int n_outputs,
                             const lt_function_options *opt, lt_function **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_function_create: out is NULL");
    *out = NULL;
    if (!build || n_inputs < 0 || n_outputs < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "lt_function_create: builder %s, %d inputs, %d outputs; need a builder, >= 0 and >= 1",
                       build ? "given" : "NULL", n_inputs, n_outputs);
    lt_function_options own = lt_function_defaults();
    lt_compile_options compile = lt_compile_defaults();
    LT_TRY(LT_TAKE(lt_function_options, opt, &own));
    LT_TRY(LT_TAKE(lt_compile_options, own.compile, &compile));
    if (own.max_plans < 1) own.max_plans = 8;
    if (own.max_compiles < 1) own.max_compiles = 16;
    lt_function *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    *f = (lt_function){ .build = build, .ctx = ctx, .n_inputs = n_inputs, .n_outputs = n_outputs, .opt = own, .compile = compile,
                        .stats.size = sizeof f->stats };
    f->plan = lt_calloc((size_t)f->opt.max_plans, sizeof *f->plan);
    f->in_pointer = lt_calloc((size_t)n_inputs + 1, sizeof *f->in_pointer);
    f->out_pointer = lt_calloc((size_t)n_outputs, sizeof *f->out_pointer);
    if (!f->plan || !f->in_pointer || !f->out_pointer) { lt_function_destroy(f); return LT_ERR_MEMORY; }
    *out = f;
    return LT_OK;
}

void lt_function_get_stats_into(const lt_function *f, lt_function_stats *out)
{
    LT_GIVE(out, f ? &f->stats : &(lt_function_stats){ .size = sizeof(lt_function_stats) });
}

/* ---- guards ---- */

static bool matches(const signature *s, const lt_tensor *t) { return s->dtype == t->dtype && lt_shape_equal(&s->shape, &t->shape); }

/* First input that differs from the plan's, or -1. */
static int first_mismatch(const lt_function *f, const plan *p, const lt_tensor *inputs)
{
    for (int i = 0; i < f->n_inputs; i++) if (!matches(&p->in[i], &inputs[i])) return i;
    return -1;
}

static plan *find_plan(lt_function *f, const lt_tensor *inputs)
{
    for (int i = 0; i < f->opt.max_plans; i++)
        if (f->plan[i].program && first_mismatch(f, &f->plan[i], inputs) < 0) return &f->plan[i];
    return NULL;
}

/* Says what kept the latest plan from being used. */
static void explain(lt_function *f, const lt_tensor *inputs)
{
    const plan *latest = NULL;
    for (int i = 0; i < f->opt.max_plans; i++)
        if (f->plan[i].program && (!latest || f->plan[i].last_use > latest->last_use)) latest = &f->plan[i];
    int i = latest ? first_mismatch(f, latest, inputs) : -1;
    if (i < 0) snprintf(f->stats.last_reason, sizeof f->stats.last_reason, "first call");
    else snprintf(f->stats.last_reason, sizeof f->stats.last_reason, "input %d is %s%.50s, was %s%.50s", i, lt_dtype_name(inputs[i].dtype),
                  lt_shape_str(&inputs[i].shape).s, lt_dtype_name(latest->in[i].dtype), lt_shape_str(&latest->in[i].shape).s);
}

/* An empty place for a plan, or that of the least recently used one. */
static plan *make_room(lt_function *f)
{
    plan *oldest = &f->plan[0];
    for (int i = 0; i < f->opt.max_plans; i++) {
        if (!f->plan[i].program) return &f->plan[i];
        if (f->plan[i].last_use < oldest->last_use) oldest = &f->plan[i];
    }
    clear_plan(oldest);
    f->stats.evictions++;
    return oldest;
}

/* ---- compiling ---- */

static lt_status build_graph(lt_function *f, const lt_tensor *inputs, lt_graph *g, lt_node *in, lt_node *out)
{
    char name[16];
    for (int i = 0; i < f->n_inputs; i++) {
        snprintf(name, sizeof name, "input%d", i);
        in[i] = lt_input(g, name, inputs[i].dtype, inputs[i].shape);
    }
    for (int j = 0; j < f->n_outputs; j++) out[j] = LT_NONE;
    LT_TRY(lt_graph_status(g));
    LT_TRY(lt_callback_status("function: the builder", f->build(f->ctx, g, in, f->n_inputs, out, f->n_outputs)));
    LT_TRY(lt_graph_status(g));
    return lt_operands_ok(g, "function output", f->n_outputs, out) ? LT_OK : lt_graph_status(g);
}

static lt_status compile_plan(lt_function *f, const lt_tensor *inputs, plan *p)
{
    lt_compile_options opt = f->compile;
    lt_graph *g = NULL;
    if (f->stats.eager) opt.mode = LT_MODE_EAGER;
    lt_node *nodes = lt_malloc(((size_t)f->n_inputs + (size_t)f->n_outputs) * sizeof *nodes), *out = nodes ? nodes + f->n_inputs : NULL;
    p->in = lt_malloc(((size_t)f->n_inputs + 1) * sizeof *p->in);
    p->out = lt_malloc((size_t)f->n_outputs * sizeof *p->out);
    lt_status s = nodes && p->in && p->out ? lt_graph_create(&g) : LT_ERR_MEMORY;
    if (!s) s = build_graph(f, inputs, g, nodes, out);
    if (!s) s = lt_program_create(g, out, f->n_outputs, &opt, &p->program);
    for (int i = 0; !s && i < f->n_inputs; i++) p->in[i] = (signature){ inputs[i].dtype, inputs[i].shape };
    for (int j = 0; !s && j < f->n_outputs; j++) p->out[j] = (signature){ lt_node_dtype(g, out[j]), lt_node_shape(g, out[j]) };
    lt_graph_destroy(g);
    lt_free(nodes);
    if (s) clear_plan(p);
    return s;
}

static lt_status check_outputs(const lt_function *f, const plan *p, const lt_tensor *outputs)
{
    for (int j = 0; j < f->n_outputs; j++)
        if (!matches(&p->out[j], &outputs[j]))
            return LT_FAIL(LT_ERR_SHAPE, "function output %d is %s%s, the tensor given is %s%s", j, lt_dtype_name(p->out[j].dtype),
                           lt_shape_str(&p->out[j].shape).s, lt_dtype_name(outputs[j].dtype), lt_shape_str(&outputs[j].shape).s);
    return LT_OK;
}

lt_status lt_function_call(lt_function *f, const lt_tensor *inputs, const lt_tensor *outputs)
{
    if (!f || (!inputs && f->n_inputs) || !outputs)
        return LT_FAIL(LT_ERR_ARGUMENT, "lt_function_call: %s is NULL", !f ? "function" : !outputs ? "outputs" : "inputs");
    plan *p = find_plan(f, inputs);
    if (p) {
        f->stats.hits++;
    } else {
        explain(f, inputs);
        p = make_room(f);
        LT_TRY(compile_plan(f, inputs, p));
        f->stats.compiles++;
        f->stats.eager = f->stats.compiles >= f->opt.max_compiles;
    }
    p->last_use = ++f->clock;
    LT_TRY(check_outputs(f, p, outputs));
    for (int i = 0; i < f->n_inputs; i++) f->in_pointer[i] = inputs[i].data;
    for (int j = 0; j < f->n_outputs; j++) f->out_pointer[j] = outputs[j].data;
    return lt_program_run(p->program, f->in_pointer, f->out_pointer);
}
