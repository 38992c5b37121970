/* Filling K on devices with memory of their own. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/status.h"
#include "trace/clock.h"

/* Rows held at once, where the caller leaves them to us and not all are. The tuner chooses tiles of K on a device. */
static void choose_state_tile(lt_gram_filling *f, lt_gram_method method)
{
    lt_gram *g = f->g;
    lt_device_info d = { .size = sizeof d };
    g->used = g->opt;
    if (g->opt.precompute_all_states) return;
    if (!lt_device_describe(g->dev, &d)) (void)lt_gram_learned_tiles(g, method, f->x->n, d.memory_total_bytes, &g->used);
}

lt_status lt_gram_run_on_devices(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    char reason[160];
    lt_device_gram_request q = { .reason = reason, .x = f->x, .y = f->y, .meter = &f->meter, .leads = true };
    lt_plan_request r = { .opt = &g->opt, .circuit = &g->circuit, .transfer_from = g->transfer_from, .transfer_reason = g->transfer_reason, .stored = g->stored,
                          .n = f->x->n, .m = f->y ? f->y->n : f->x->n };
    lt_gram_info *i = &g->info;
    lt_gram_profile *profile = g->opt.profile_memory ? &g->profile : NULL;
    int64_t start = lt_clock_ns();
    f->meter.start_ns = start;
    LT_TRY(lt_plan_method(&r, &q.method, reason, sizeof reason));
    if (!f->out.K && g->n_devices > 1) return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: K of %d devices is copied to the host; only one device alone may keep it", g->n_devices);
    *i = (lt_gram_info){ .size = sizeof(lt_gram_info), .method = q.method, .backend = lt_device_kind(g->dev), .devices = g->n_devices, .n = f->x->n, .m = f->y ? f->y->n : f->x->n,
                         .n_qubits = g->circuit.q, .n_layers = g->circuit.n_layers, .threads = lt_pool_threads(g->pool) };
    lt_gram_choose_copy(f, (double)i->n * (double)i->m);
    choose_state_tile(f, q.method);
    q.out = f->out;
    if (g->n_devices > 1) LT_TRY(lt_device_gram_fill_shared(g->on_device, g->n_devices, &q, i, profile));
    else LT_TRY(lt_device_gram_fill(g->on_device[0], &q, i, profile));
    lt_gram_report_devices(f, lt_clock_ns() - start);
    lt_gram_note_run(g);
    return LT_OK;
}
