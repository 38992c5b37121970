/* Comparing a compiled program with the eager one, node by node when they differ.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>

/* Results of one program, one block of memory per output. */
typedef struct results { void **data; int n; } results;

static void release(results *r)
{
    for (int i = 0; r->data && i < r->n; i++) lt_free_aligned(r->data[i]);
    lt_free(r->data);
    *r = (results){ 0 };
}

static lt_status evaluate(lt_graph *g, const lt_node *outputs, int n, const lt_compile_options *opt,
                          const void *const *inputs, results *out)
{
    lt_program *p = NULL;
    *out = (results){ lt_calloc((size_t)n, sizeof *out->data), n };
    lt_status s = out->data ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; !s && i < n; i++) {
        size_t bytes = (size_t)lt_shape_count(lt_shape_at(g, outputs[i])) * lt_dtype_size(lt_dtype_at(g, outputs[i]));
        if (!(out->data[i] = lt_malloc_aligned(LT_MAX(bytes, 1)))) s = LT_ERR_MEMORY;
    }
    if (!s) s = lt_program_create(g, outputs, n, opt, &p);
    if (!s) s = lt_program_run(p, inputs, out->data);
    lt_program_destroy(p);
    return s;
}

/* Index of the first element that differs, or -1; magnitude is the largest eager element. */
static int64_t first_difference(lt_dtype t, int64_t n, const void *compiled, const void *eager, double rel_tol)
{
    double magnitude = 0;
    for (int64_t i = 0; i < n; i++) {
        double e = fabs(lt_load_double(t, eager, i));
        if (isfinite(e) && e > magnitude) magnitude = e;
    }
    for (int64_t i = 0; i < n; i++) {
        double c = lt_load_double(t, compiled, i), e = lt_load_double(t, eager, i);
        if (c == e || (isnan(c) && isnan(e))) continue;
        if (!(fabs(c - e) <= rel_tol * magnitude)) return i;
    }
    return -1;
}

static lt_status compare(const lt_graph *g, lt_node n, const void *compiled, const void *eager, double rel_tol)
{
    char line[256];
    lt_dtype t = lt_dtype_at(g, n);
    int64_t at = first_difference(t, lt_shape_count(lt_shape_at(g, n)), compiled, eager, rel_tol);
    if (at < 0) return LT_OK;
    lt_ir_print_node(&g->ir, n.id, line, sizeof line);
    return LT_FAIL(LT_ERR_MISMATCH, "compiled and eager differ first at %s: element %lld is %.17g compiled, %.17g eager", line,
                   (long long)at, lt_load_double(t, compiled, at), lt_load_double(t, eager, at));
}

static lt_status compare_outputs(lt_graph *g, const lt_node *outputs, int n, const lt_compile_options *opt,
                                 const void *const *inputs, double rel_tol)
{
    static const lt_compile_options eager_mode = { .size = sizeof(lt_compile_options), .mode = LT_MODE_EAGER };
    results compiled = { 0 }, eager = { 0 };
    lt_status s = evaluate(g, outputs, n, &eager_mode, inputs, &eager);
    if (!s) s = evaluate(g, outputs, n, opt, inputs, &compiled);
    for (int i = 0; !s && i < n; i++) s = compare(g, outputs[i], compiled.data[i], eager.data[i], rel_tol);
    release(&compiled);
    release(&eager);
    return s;
}

/* The outputs differ: tries every node they are made from, in order, for the first that does. */
static lt_status find_culprit(lt_graph *g, const lt_node *outputs, int n, const lt_compile_options *opt,
                              const void *const *inputs, double rel_tol)
{
    bool *needed = lt_calloc((size_t)g->ir.n_nodes, sizeof *needed);
    if (!needed) return LT_ERR_MEMORY;
    for (int i = 0; i < n; i++) needed[outputs[i].id] = true;
    for (int32_t id = g->ir.n_nodes - 1; id >= 0; id--)
        for (int i = 0; needed[id] && i < g->ir.node[id].n_in; i++) needed[lt_ir_in(&g->ir.node[id], i)] = true;
    lt_status s = LT_OK;
    for (int32_t id = 0; !s && id < g->ir.n_nodes; id++) {
        lt_node node = lt_of(g, id);
        if (needed[id] && g->ir.node[id].n_in) s = compare_outputs(g, &node, 1, opt, inputs, rel_tol);
    }
    lt_free(needed);
    return s;
}

lt_status lt_graph_verify(lt_graph *g, const lt_node *outputs, int n_outputs,
                          const lt_compile_options *opt, const void *const *inputs, double rel_tol)
{
    LT_TRY(lt_graph_status(g));
    if (n_outputs < 1 || !outputs) return LT_FAIL(LT_ERR_ARGUMENT, "verify: needs at least one output, got %d", n_outputs);
    if (!(rel_tol >= 0)) return LT_FAIL(LT_ERR_ARGUMENT, "verify: rel_tol is %g, need >= 0", rel_tol);
    if (!lt_operands_ok(g, "verify", n_outputs, outputs)) return lt_graph_status(g);
    lt_status s = compare_outputs(g, outputs, n_outputs, opt, inputs, rel_tol);
    if (s != LT_ERR_MISMATCH) return s;
    lt_status found = find_culprit(g, outputs, n_outputs, opt, inputs, rel_tol);
    /* Alone each node agrees: the difference comes from computing them together. */
    return found ? found : compare_outputs(g, outputs, n_outputs, opt, inputs, rel_tol);
}
