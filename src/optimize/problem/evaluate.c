/* One evaluation of a graph's programs on the CPU; on a device, see device/functions.c. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/compressed.h"
#include "optimize/problem/graph.h"

#include "optimize/device/functions.h"

#include "base/status.h"

#include <string.h>

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
    if (p->compressed) {
        b.wanted[LT_BLOCK_GRAD_CE] = out->grad_ce ? e->groups : NULL;
        b.wanted[LT_BLOCK_GRAD_CI] = NULL;
        b.count[LT_BLOCK_GRAD_CE] = p->compressed->n_groups * p->n;
        b.count[LT_BLOCK_GRAD_CI] = 0;
    }
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
    for (int i = 0; i < e->n_outputs; i++) {
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

lt_status lt_graph_run(lt_evaluator *e, const double *x, const lt_outputs *out)
{
    if (e->on_device) return lt_device_functions_run(e->on_device, x, out);
    bool values = out->f || out->ce || out->ci, gradients = out->grad_f || out->grad_ce || out->grad_ci;
    blocks b = list_blocks(e, out);
    bind(e, x, &b);
    LT_TRY(run_programs(e, x, values, gradients));
    widen(e, gradients ? e->n_outputs : e->n_values, &b);
    deliver(&b);
    if (e->groups && out->grad_ce) lt_compressed_gather(e->problem->compressed, e->groups, out->grad_ce);
    return LT_OK;
}
