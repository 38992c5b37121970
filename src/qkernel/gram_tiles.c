/* Tiles learnt from earlier runs. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>

enum { RUN_TO_REMEMBER_MS = 20 }; /* shorter ones say more about the machine's mood than about tiles */

static lt_status device_name(const lt_gram *g, char *text, size_t bytes)
{
    lt_device_info d = { .size = sizeof d };
    LT_TRY(lt_device_describe(g->dev, &d));
    snprintf(text, bytes, "%s x%d", d.name, lt_pool_threads(g->pool));
    return LT_OK;
}

/* Where the caller leaves tiles to us, those of the fastest run like this one. A folder that cannot
   be read costs the experience, not the result. */
bool lt_gram_learned_tiles(lt_gram *g, lt_gram_method method, int64_t n, int64_t memory_bytes, lt_gram_options *opt)
{
    char device[96];
    lt_gram_options usual = lt_gram_defaults();
    if (!opt->learn_tiles || opt->tile_size != usual.tile_size || opt->state_tile != usual.state_tile) return false;
    if (!g->history_read) {
        g->history_read = true;
        g->history = lt_calloc(1, sizeof *g->history);
        if (!g->history || device_name(g, device, sizeof device) || lt_history_load(device, method, opt->dtype, g->history)) return false;
    }
    if (!g->history) return false;
    lt_tile_prediction p = lt_history_predict(g->history, n, g->circuit.q, memory_bytes);
    if (p.confidence <= 0.5) return false;
    opt->tile_size = p.tile_size;
    if (opt->precompute_all_states) return true; /* holding all of them is never slower where it fits */
    opt->state_tile = p.state_tile;
    return true;
}

void lt_gram_note_run(lt_gram *g)
{
    const lt_gram_info *i = &g->info;
    int64_t rate = (int64_t)(1e6 * i->mpairs_per_s);
    if (!g->opt.learn_tiles || i->total_seconds < 1e-3 * RUN_TO_REMEMBER_MS || (g->best.n == i->n && rate <= g->best.pairs_per_second)) return;
    g->best = (lt_tile_record){ i->n, i->n_qubits, g->used.state_tile, g->used.tile_size, rate, i->peak_bytes };
}

/* Once, at the end: a call to fill never writes a file. */
void lt_gram_remember_tiles(lt_gram *g)
{
    char device[96];
    if (g->best.n == 0 || device_name(g, device, sizeof device)) return;
    if (!g->history && !(g->history = lt_calloc(1, sizeof *g->history))) return;
    /* Read again: other handles may have added theirs. */
    if (lt_history_load(device, g->info.method, g->opt.dtype, g->history)) return;
    lt_history_append(g->history, &g->best);
    (void)lt_history_save(device, g->info.method, g->opt.dtype, g->history); /* nobody is left to report it to */
}
