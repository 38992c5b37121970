/* What a call reports about itself. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/status.h"
#include "device/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double flops_per_pair(lt_gram_method method, const lt_layers *c)
{
    if (method == LT_GRAM_STATES) return c->program ? 8.0 * (double)c->program->amplitudes : ldexp(8, c->q);
    return method == LT_GRAM_PRODUCT ? 8.0 * c->q : 370.0 * (c->q - 1);
}

static void name_kernel(const lt_gram *g, char *name, size_t bytes)
{
    const lt_gram_plan *p = &g->plan;
    const char *isa = lt_isa_name(lt_isa_best());
    if (p->method == LT_GRAM_STATES)
        snprintf(name, bytes, "overlap%d_%s_%s_%s", p->planes, p->element == 4 ? "f32" : "f64", isa, p->loops->shape);
    else
        snprintf(name, bytes, "%s_f64_%s_%s", lt_gram_method_name(p->method), isa,
                 p->method == LT_GRAM_PRODUCT ? p->closed->product_shape : p->closed->transfer_shape);
}

static void note_collapse(lt_gram *g)
{
    if (g->program) {
        if (g->program->circuit->n_weights && !g->program->weights_matter)
            snprintf(g->info.note, sizeof g->info.note, "weights cannot influence this kernel: the gates that hold them follow all that hold features, and cancel");
    } else if (g->circuit.collapses)
        snprintf(g->info.note, sizeof g->info.note, "weights, layers and entangler cannot influence this kernel: %s, so one fixed unitary "
                 "follows the embedding and cancels", g->opt.re_embed_between_layers ? "there is one layer" : "re-embedding is off");
}

void lt_gram_report(lt_gram_filling *f, int64_t post_ns, int64_t total_ns)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    lt_gram_info *i = &g->info;
    *i = (lt_gram_info){ .size = sizeof(lt_gram_info), .method = p->method, .backend = "cpu", .devices = 1, .precision = p->element == 4 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64,
        .n = p->n, .m = p->m, .n_qubits = g->circuit.q, .n_layers = g->circuit.n_layers, .threads = lt_pool_threads(g->pool),
        .states_seconds = 1e-9 * (double)f->states_ns, .product_seconds = 1e-9 * (double)f->product_ns,
        .post_seconds = 1e-9 * (double)post_ns, .total_seconds = 1e-9 * (double)total_ns,
        .pairs = f->meter.pairs_total, .tiles = f->meter.tiles_total, .states_built = f->states_built,
        .peak_bytes = lt_gram_held_bytes(g), .repaired = f->meter.repaired,
    };
    i->mpairs_per_s = 1e-6 * (double)i->pairs / fmax(i->total_seconds, 1e-9);
    i->tflops = 1e-12 * (double)i->pairs * flops_per_pair(p->method, &g->circuit) / fmax(i->product_seconds, 1e-9);
    name_kernel(g, i->kernel, sizeof i->kernel);
    i->error_bound = lt_gram_float_bound(i->precision);
    memcpy(i->plan, p->text, sizeof i->plan);
    note_collapse(g);
}

lt_status lt_gram_report_memory(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    const struct { const char *name; const lt_gram_buffer *b; } all[] = {
        { "row states", &g->a }, { "column states", &g->b }, { "workspace", &g->work }, { "tiles", &g->scratch }, { "diagonals", &g->norms },
        { "tables", &g->tables }, { "sums", &g->sums },
    };
    int64_t free_bytes;
    lt_gram_profile *p = &g->profile;
    *p = (lt_gram_profile){ .size = sizeof(lt_gram_profile), .peak_bytes = lt_gram_held_bytes(g), .kernel_launches = g->info.tiles + f->n_packs,
                            .mpairs_per_s = g->info.mpairs_per_s,
                            .kernel_seconds = 1e-9 * (double)(f->meter.tile_ns + f->states_ns), .batch_calls = f->batch.calls,
                            .batch_adjustments = f->batch.adjustments, .batch_min = f->least_rows, .batch_max = f->most_rows };
    for (size_t i = 0; i < LT_LEN(all); i++) {
        if (!all[i].b->bytes) continue;
        p->allocation[p->n_allocations].name = all[i].name;
        p->allocation[p->n_allocations++].bytes = (int64_t)all[i].b->bytes;
    }
    return lt_device_free_memory(g->dev, &free_bytes, &p->total_bytes);
}

void lt_gram_report_devices(lt_gram_filling *f, int64_t total_ns)
{
    lt_gram *g = f->g;
    lt_gram_info *i = &g->info;
    i->total_seconds = 1e-9 * (double)total_ns;
    i->error_bound = lt_gram_float_bound(i->precision);
    i->mpairs_per_s = 1e-6 * (double)i->pairs / fmax(i->total_seconds, 1e-9);
    i->tflops = 1e-12 * (double)i->pairs * flops_per_pair(i->method, &g->circuit) / fmax(i->product_seconds, 1e-9);
    g->profile.mpairs_per_s = g->opt.profile_memory ? i->mpairs_per_s : 0;
    note_collapse(g);
}
