/* Gram handles of circuits of any gates. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/flags.h"
#include "device/memory.h"
#include "graph/program/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct circuit_request {
    const lt_circuit *circuit;
    const double *weights;
    int64_t n_weights;
    const lt_similarity_options *similarity;
} circuit_request;

/* A device with memory of its own makes states of all wires together, or multiplies over wires that never meet (decision 362). */
static lt_status compile_for(const lt_gram *g, const lt_circuit *c, const double *weights, lt_compiled **out)
{
    const bool real_part = g->similarity.kind == LT_SIMILARITY_REAL;
    const lt_compile_for what = real_part ? LT_COMPILE_REAL : LT_COMPILE_FIDELITY;
    LT_TRY(lt_compiled_create(c, weights, what, 0, out));
    if (!lt_device_has(g->dev, LT_DEVICE_OWN_MEMORY) || (*out)->n_factors < 2) return LT_OK;
    if ((*out)->product && !real_part && g->similarity.kind != LT_SIMILARITY_PROJECTED && g->opt.method != LT_GRAM_STATES) return LT_OK;
    lt_compiled_destroy(*out);
    return lt_compiled_create(c, weights, what, LT_COMPILE_ONE_FACTOR, out);
}

static lt_status compile(lt_gram *g, const lt_circuit *c, const double *weights)
{
    lt_compiled *p;
    LT_TRY(compile_for(g, c, weights, &p));
    for (int i = 0; i < g->n_devices; i++) lt_device_gram_forget(g->on_device[i]);
    lt_compiled_destroy(g->program); /* and c with it, where c is the program's own */
    g->program = p;
    g->circuit = (lt_layers){ .q = (int)p->circuit->n_qubits, .program = p, .collapses = p->product, .real = p->real };
    g->planned = false;
    return LT_OK;
}

static lt_status make_circuit(lt_gram *g, const void *from)
{
    const circuit_request *r = from;
    g->similarity = *r->similarity;
    g->opt.learn_tiles = false; /* what is remembered is of layers */
    return compile(g, r->circuit, r->weights);
}

static lt_status check_similarity(const lt_similarity_options *s)
{
    if ((unsigned)s->kind >= LT_SIMILARITY_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "similarity: there is no kind %d", (int)s->kind);
    if (!(s->gamma >= 0 && isfinite(s->gamma))) return LT_FAIL(LT_ERR_ARGUMENT, "similarity: gamma is %g, expected a positive number, or 0 for the median", s->gamma);
    if (s->gamma > 0 && s->kind != LT_SIMILARITY_PROJECTED) return LT_FAIL(LT_ERR_ARGUMENT, "similarity: gamma belongs to projected, not to %s", lt_similarity_name(s->kind));
    if (s->shots < 0 || s->shots > INT64_C(1) << 40) return LT_FAIL(LT_ERR_ARGUMENT, "similarity: %lld shots, expected 0 to 2^40", (long long)s->shots);
    if (!(s->depolarizing >= 0 && s->depolarizing <= 1)) return LT_FAIL(LT_ERR_ARGUMENT, "similarity: depolarizing is %g, expected 0 to 1", s->depolarizing);
    if (s->depolarizing > 0 && s->kind != LT_SIMILARITY_FIDELITY)
        return LT_FAIL(LT_ERR_ARGUMENT, "similarity: depolarizing is defined for fidelity, not for %s", lt_similarity_name(s->kind));
    return LT_OK;
}

lt_status lt_gram_create_circuit(lt_device *dev, const lt_gram_options *opt, const lt_similarity_options *similarity, const lt_circuit *c,
                                 const double *weights, int64_t n_weights, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    if (!dev) LT_TRY(lt_default_device(&dev));
    return lt_gram_create_circuit_on(&dev, 1, opt, similarity, c, weights, n_weights, out);
}

lt_status lt_gram_create_circuit_on(lt_device *const *devices, int n_devices, const lt_gram_options *opt, const lt_similarity_options *similarity, const lt_circuit *c,
                                    const double *weights, int64_t n_weights, lt_gram **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "gram: out is NULL");
    *out = NULL;
    if (!c) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the circuit is NULL");
    lt_similarity_options own = lt_similarity_defaults();
    LT_TRY(LT_TAKE(lt_similarity_options, similarity, &own));
    LT_TRY(check_similarity(&own));
    LT_TRY(lt_circuit_check_weights(c, weights, n_weights));
    return lt_gram_open(devices, n_devices, opt, make_circuit, &(circuit_request){ c, weights, n_weights, &own }, out);
}

lt_status lt_gram_set_weights(lt_gram *g, const double *weights, int64_t n_weights)
{
    if (!g || !g->program) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle is not of a circuit");
    LT_TRY(lt_circuit_check_weights(g->program->circuit, weights, n_weights));
    return compile(g, g->program->circuit, weights);
}

lt_status lt_gram_explain(lt_gram *g, int64_t n, int64_t m, char *text, size_t bytes)
{
    if (!g || !text || bytes < 1) return LT_FAIL(LT_ERR_ARGUMENT, "gram: the handle or the text is NULL");
    if (g->n_devices) return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: a device with memory of its own plans while it fills; lt_gram_get_info tells afterwards");
    if (n < 1 || m < 0) return LT_FAIL(LT_ERR_ARGUMENT, "gram: %lld rows and %lld columns, expected at least one row", (long long)n, (long long)m);
    int64_t free_bytes, total_bytes;
    lt_gram_plan *p = lt_malloc(sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    lt_status s = lt_device_free_memory(g->dev, &free_bytes, &total_bytes);
    lt_plan_request r = { .opt = &g->opt, .circuit = &g->circuit, .isa = g->isa, .threads = lt_pool_threads(g->pool), .n = n, .m = m ? m : n, .cross = m > 0,
                          .free_bytes = s ? 0 : free_bytes, .total_bytes = s ? 0 : total_bytes, .transfer_from = g->transfer_from,
                          .transfer_reason = g->transfer_reason, .stored = g->stored, .real_part = g->similarity.kind == LT_SIMILARITY_REAL };
    if (!s) s = lt_gram_plan_make(&r, p);
    if (!s) snprintf(text, bytes, "%s", p->text);
    lt_free(p);
    return s;
}
