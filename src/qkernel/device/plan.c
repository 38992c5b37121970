/* What is held on the device at once. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/parts.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

#define RESERVE_BYTES 1e9          /* left to others: the driver's own needs, libraries, kernels */
#define SLOT_SHARE 0.125           /* of the budget, for parts of K on their way to the host */
/* Parts of K, so that copying it to the host hides behind computing it. The end of a launch leaves a part of the device
   idle for half a tile's time, which for long states is more than further parts would hide. */
enum { PANELS_WANTED = 12, PANELS_OF_LONG_STATES = 4, LONG_STATE_BYTES = 512 << 10 };
#define PANEL_MIN_BYTES 16e6       /* ... unless K is so small that launches would show */

static double gib(double bytes) { return bytes / (1024.0 * 1024 * 1024); }
static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }
static int64_t round_down(double v, int64_t unit) { return (int64_t)(v / (double)unit) * unit; }

/* Both kinds of tiles fit into a row of blocks. */
static int64_t unit_of(const lt_gram_device_sizes *s) { return LT_MAX(s->tile_rows, s->tile_columns); }

static lt_status make_plan(const lt_gram_device_sizes *s, lt_gram_device_plan *p, bool *fits);

static double budget_of(const lt_gram_device_sizes *s) { return s->opt->vram_fraction * (double)LT_MIN(s->free_bytes, s->total_bytes) - RESERVE_BYTES; }

/* Which share of the memory would be enough, in steps of a twentieth; 0: not even all of it. */
static double enough(const lt_gram_device_sizes *s)
{
    for (int k = 1; k <= 20; k++) {
        lt_gram_options opt = *s->opt;
        lt_gram_device_sizes larger = *s;
        lt_gram_device_plan plan;
        bool fits;
        opt.vram_fraction = k / 20.0;
        larger.opt = &opt;
        if (opt.vram_fraction > s->opt->vram_fraction && !make_plan(&larger, &plan, &fits) && fits) return opt.vram_fraction;
    }
    return 0;
}

static lt_status too_large(const lt_gram_device_sizes *s)
{
    char remedy[128] = "End other programs on the device, or lower the need: vram_fraction 0.70 leaves room for others";
    double share = enough(s);
    if (share > 0) snprintf(remedy, sizeof remedy, "Raise vram_fraction to %.2f or more, or lower the need", share);
    return LT_FAIL(LT_ERR_MEMORY, "gram: rows of %.3g GiB each do not fit: at least %lld at once, the budget is %.3g GiB (%g of the smaller of "
                   "%.3g GiB free and %.3g GiB, less %.3g GiB for driver and kernels). %s%s state_tile 2048 or less holds "
                   "fewer states, precompute_all_states off holds one block of them; fewer qubits or float32 halve it",
                   gib((double)s->row_bytes), (long long)(2 * unit_of(s)), gib(fmax(budget_of(s), 0)), s->opt->vram_fraction, gib((double)s->free_bytes),
                   gib((double)s->total_bytes), gib(RESERVE_BYTES), remedy, share > 0 ? ":" : ",");
}

/* Rows of K to compute and copy to the host together where all of it lies on the device. */
static int64_t rows_together(const lt_gram_device_sizes *s, const lt_gram_device_plan *p, int64_t unit)
{
    int64_t wanted = s->row_bytes >= LONG_STATE_BYTES ? PANELS_OF_LONG_STATES : PANELS_WANTED;
    int64_t share = (s->n - 1) / wanted + 1, least = (int64_t)(PANEL_MIN_BYTES / ((double)s->m * (double)s->element)) + 1;
    return LT_MIN(p->block_rows, round_up(LT_MAX(share, least), unit));
}

/* Panels of K: some on the device at a time, each with its mirror image. */
static void choose_panels(const lt_gram_device_sizes *s, double budget, lt_gram_device_plan *p)
{
    int64_t unit = s->tile_rows, widest = p->cross ? p->block_columns : LT_MAX(p->block_columns, p->batch.max); /* a block of rows is its own columns too */
    double row = (double)(p->half ? 2 : 1) * (double)widest * (double)s->element;
    p->panel_rows = LT_MAX(unit, LT_MIN(round_down(SLOT_SHARE * budget / (s->n_slots * row), unit), round_up(p->block_rows, unit)));
    if (!p->half || s->shared) p->panel_rows = LT_MIN(p->panel_rows, round_up((p->block_rows - 1) / PANELS_WANTED + 1, unit));
    p->slot_bytes = (size_t)((double)p->panel_rows * row);
}

/* False where not even the fewest rows fit. */
static bool choose_blocks(const lt_gram_device_sizes *s, double budget, lt_gram_device_plan *p)
{
    int64_t unit = unit_of(s), tile = s->opt->state_tile;
    double left = (1 - SLOT_SHARE) * budget / (double)s->row_bytes; /* rows */
    if (left < (double)(2 * unit)) return false;
    int64_t columns = LT_MAX(unit, round_down(left / 4, unit)), rows = round_down(left - (double)columns, unit);
    if (tile < 0 && !s->opt->precompute_all_states) tile = lt_gram_state_tile(s->total_bytes, s->opt->vram_fraction, (int)log2((double)s->row_bytes / 16), 16);
    if (tile > 0) rows = LT_MIN(rows, round_up(tile, unit)), columns = LT_MIN(columns, rows);
    p->block_rows = LT_MIN(rows, round_up(p->n, unit));
    p->block_columns = LT_MIN(columns, round_up(p->m, unit));
    p->batch = lt_batch_bounds_of(s->opt->dynamic_batch, p->block_rows, round_down(left - (double)columns, unit), unit);
    p->a_bytes = (size_t)p->batch.max * s->row_bytes;
    p->b_bytes = (size_t)p->block_columns * s->row_bytes;
    return true;
}

static lt_status make_plan(const lt_gram_device_sizes *s, lt_gram_device_plan *p, bool *fits)
{
    int64_t unit = unit_of(s), padded_n = round_up(s->n, unit), padded_m = round_up(s->m, unit);
    double budget = budget_of(s);
    double k = (double)s->n * (double)s->m * (double)s->element, a = (double)padded_n * (double)s->row_bytes;
    double b = s->cross ? (double)padded_m * (double)s->row_bytes : 0;
    *p = (lt_gram_device_plan){ .n = s->n, .m = s->m, .cross = s->cross, .half = s->half, .shared = s->shared, .keep = s->keep, .row_bytes = s->row_bytes };
    p->whole_k = s->keep || (!s->shared && k + LT_MIN(a + b, budget / 4) <= budget);
    if (p->whole_k) budget -= k;
    if (budget <= 0 && s->keep)
        return LT_FAIL(LT_ERR_MEMORY, "gram: K takes %.3g GiB, the device has %.3g GiB free: bring it to the host", gib(k), gib((double)s->free_bytes));
    *fits = budget > 0;
    if (!*fits) return LT_OK;
    p->bulk = a + b <= (1 - (p->whole_k ? 0 : SLOT_SHARE)) * budget && s->opt->precompute_all_states;
    p->k_bytes = p->whole_k ? (size_t)k : 0;
    if (p->bulk) {
        p->block_rows = padded_n;
        p->batch = (lt_batch_bounds){ padded_n, padded_n };
        p->block_columns = padded_m;
        p->a_bytes = (size_t)a;
        p->b_bytes = (size_t)b;
    } else {
        *fits = choose_blocks(s, budget, p);
        if (!*fits) return LT_OK;
    }
    if (!p->whole_k) choose_panels(s, budget, p);
    else p->panel_rows = s->keep ? p->block_rows : rows_together(s, p, unit);
    snprintf(p->text, sizeof p->text, "memory: %s (%.3g GiB), %s, %.3g GiB of a budget of %.3g GiB; panels of %lld rows",
             p->bulk ? "all rows made once" : "blocks of rows made as they are needed", gib((double)(p->a_bytes + p->b_bytes)),
             p->whole_k ? "K on the device" : "K in panels", gib((double)(p->a_bytes + p->b_bytes + p->k_bytes) + s->n_slots * (double)p->slot_bytes),
             gib(budget + (p->whole_k ? k : 0)), (long long)p->panel_rows);
    return LT_OK;
}

lt_status lt_gram_device_plan_make(const lt_gram_device_sizes *s, lt_gram_device_plan *p)
{
    bool fits;
    LT_TRY(make_plan(s, p, &fits));
    return fits ? LT_OK : too_large(s);
}
