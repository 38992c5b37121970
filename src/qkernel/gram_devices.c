/* Filling K on devices with memory of their own. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/post.h"
#include "trace/clock.h"

/* Rows held at once, where the caller leaves them to us and not all are. The tuner chooses tiles of K on a device. */
static void choose_state_tile(lt_gram_filling *f, lt_gram_method method)
{
    lt_gram *g = f->g;
    lt_device_info d = { .size = sizeof d };
    g->used = g->opt;
    g->used.normalize &= !lt_similarity_disturbs(&g->similarity); /* draws and noise come first, on the host */
    if (g->opt.precompute_all_states) return;
    if (!lt_device_describe(g->dev, &d)) (void)lt_gram_learned_tiles(g, method, f->x->n, d.memory_total_bytes, &g->used);
}

/* Draws and noise, and then what K is divided by: states are of length 1, so k(x,x) is 1 before them. */
static lt_status disturb(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    if (!lt_similarity_disturbs(&g->similarity)) return LT_OK;
    const int64_t n = f->x->n, m = f->y ? f->y->n : 0;
    double *ones = lt_malloc((size_t)(n + m) * sizeof *ones);
    if (!ones) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n + m; i++) ones[i] = 1;
    f->left = f->y ? ones : NULL;
    f->right = f->y ? ones + n : NULL;
    lt_status s = lt_similarity_disturb(f);
    if (!s && g->opt.normalize) s = f->y ? lt_post_normalize_cross(&f->out, g->pool, n, f->left, f->right) : lt_post_normalize(&f->out, g->pool, g->opt.jitter, ones);
    f->left = f->right = NULL;
    lt_free(ones);
    return s;
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
    if (!f->out.K && lt_similarity_disturbs(&g->similarity)) return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: draws and noise are added on the host; K of them cannot stay on the device");
    q.out = f->out;
    if (g->n_devices > 1) LT_TRY(lt_device_gram_fill_shared(g->on_device, g->n_devices, &q, i, profile));
    else LT_TRY(lt_device_gram_fill(g->on_device[0], &q, i, profile));
    f->out.half = !f->y;
    f->out.n_columns = i->m;
    LT_TRY(disturb(f));
    lt_gram_report_devices(f, lt_clock_ns() - start);
    lt_gram_note_run(g);
    return LT_OK;
}
