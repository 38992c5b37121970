/* What a Gram matrix of given sizes will do: method, tiles, memory, and why.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/plan.h"

#include "base/number.h"
#include "base/status.h"
#include "qkernel/cost.h"
#include "qkernel/rows/closed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- method ---- */

static lt_status refuse_product(const lt_layers *c)
{
    if (c->program)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: method product needs wires that never meet, and %d of this circuit do; use auto or states", lt_layers_widest(c));
    return LT_FAIL(LT_ERR_ARGUMENT, "gram: method product needs re-embedding off, or one layer: here %lld layers are re-embedded; use auto or states",
                   (long long)c->n_layers);
}

/* What is asked for and not given, and nothing else. */
static lt_status refuse_transfer(const lt_layers *c, bool re_embeds)
{
    char layers[64] = "";
    if (c->program) return LT_FAIL(LT_ERR_ARGUMENT, "gram: method transfer is for two re-embedded layers of today's embeddings, not for circuits; use auto or states");
    if (c->n_layers != 2) snprintf(layers, sizeof layers, "two layers (here: %lld)", (long long)c->n_layers);
    if (re_embeds && c->n_layers == 2)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: method transfer does not know the strong entangler on two qubits; use auto or states");
    return LT_FAIL(LT_ERR_ARGUMENT, "gram: method transfer needs %s%s%s; use auto or states", re_embeds ? "" : "re-embedding (here: off)",
                   !re_embeds && layers[0] ? " and " : "", layers);
}

/* Real parts need overlaps, which products over wires do not keep. */
static void choose_for_program(const lt_plan_request *r, lt_gram_method *method, char *reason, size_t bytes)
{
    const lt_compiled *p = r->circuit->program;
    *method = p->product && !r->real_part ? LT_GRAM_PRODUCT : LT_GRAM_STATES;
    if (*method == LT_GRAM_PRODUCT) snprintf(reason, bytes, "exact: no gate that matters joins wires, so K is a product over them");
    else if (p->n_factors > 1) snprintf(reason, bytes, "K is a product over %d groups of wires that never meet, the largest of %d", p->n_factors, p->widest);
    else snprintf(reason, bytes, "its gates join all %d wires", p->widest);
}

/* Two exact methods: timings of this machine where there are some, else a device's number of qubits, else costs. */
static void choose_for_two_layers(const lt_plan_request *r, lt_gram_method *method, char *reason, size_t bytes)
{
    const lt_gram_method stored = LT_MAX(r->n, r->m) <= LT_FEW_ROWS ? r->stored.few : r->stored.many;
    const int q = r->circuit->q;
    const bool possible = q <= LT_STATES_MAX_QUBITS, by_qubits = r->transfer_from > 0;
    bool transfer = !possible || stored == LT_GRAM_TRANSFER;
    double gain = 0;
    if (possible && stored == LT_GRAM_AUTO && by_qubits) transfer = q >= r->transfer_from;
    if (possible && stored == LT_GRAM_AUTO && !by_qubits) {
        gain = lt_cost_of(r, LT_GRAM_STATES) / lt_cost_of(r, LT_GRAM_TRANSFER);
        transfer = gain > 1;
    }
    *method = transfer ? LT_GRAM_TRANSFER : LT_GRAM_STATES;
    const char *exact = transfer ? "exact for two re-embedded layers, and " : "", *than = transfer ? "than states" : "than transfer matrices";
    if (!possible) snprintf(reason, bytes, "exact for two re-embedded layers; states stop at %d qubits", LT_STATES_MAX_QUBITS);
    else if (stored != LT_GRAM_AUTO) snprintf(reason, bytes, "%sfaster %s here (stored timings)", exact, than);
    else if (by_qubits) snprintf(reason, bytes, "%sfaster %s %s %d qubits (%s)", exact, than, transfer ? "from" : "below", r->transfer_from, r->transfer_reason);
    else snprintf(reason, bytes, "%sfaster %s at these sizes, about %.2g times (built-in costs)", exact, than, transfer ? gain : 1 / gain);
}

lt_status lt_plan_method(const lt_plan_request *r, lt_gram_method *method, char *reason, size_t bytes)
{
    const lt_layers *c = r->circuit;
    *method = r->opt->method;
    snprintf(reason, bytes, "asked for");
    switch (r->opt->method) {
    case LT_GRAM_PRODUCT:
        return c->collapses && !r->real_part ? LT_OK : refuse_product(c);
    case LT_GRAM_TRANSFER:
        return c->has_transfer ? LT_OK : refuse_transfer(c, r->opt->re_embed_between_layers);
    case LT_GRAM_STATES:
        if (lt_layers_widest(c) <= LT_STATES_MAX_QUBITS) return LT_OK;
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d qubits are too many for state vectors (at most %d)", c->q, LT_STATES_MAX_QUBITS);
    default: break;
    }
    if (c->program) {
        choose_for_program(r, method, reason, bytes);
    } else if (c->collapses) {
        *method = LT_GRAM_PRODUCT;
        snprintf(reason, bytes, "exact: all rows are turned by the same unitary, which cancels");
    } else if (c->has_transfer) {
        choose_for_two_layers(r, method, reason, bytes);
    } else if (c->q <= LT_STATES_MAX_QUBITS) {
        *method = LT_GRAM_STATES;
        snprintf(reason, bytes, "no closed form for %lld re-embedded layers", (long long)c->n_layers);
    } else {
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %d qubits with %lld re-embedded layers need state vectors, which stop at %d qubits",
                       c->q, (long long)c->n_layers, LT_STATES_MAX_QUBITS);
    }
    return LT_OK;
}

/* ---- tiles ---- */

static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

/* Rows of one tile stay in the second-level cache for a chunk of amplitudes: 96 rows of 256
   amplitudes of three planes are 590 KB in double. */
enum { TILE_ROWS = 96 };
enum { BAND_ROWS = 2048 };
/* A symmetric matrix beyond this share of the free memory is written band by band. Mirroring tiles would scatter pages over the whole
   file, which a disk takes many times longer for than computing every pair twice; how often memory holds them anyway is not known. */
static const double LARGE_FROM = 0.75;
/* Products are computed so fast that it matters how often the addresses of K's pages are looked up. Tiles below each other write
   to the same pages of the mirror image, if the same thread computes them. */
enum { TASK_TILES = 4 };

static int64_t n_tiles(const lt_gram_plan *p) { return ((p->n - 1) / p->tile_rows + 1) * ((p->m - 1) / p->tile_columns + 1); }

static void choose_tiles(const lt_plan_request *r, lt_gram_plan *p)
{
    const int64_t unit = p->method == LT_GRAM_PRODUCT ? LT_SQUARE : p->panel;
    p->tile_rows = unit * LT_MAX(1, TILE_ROWS / unit);
    p->tile_columns = round_up(r->opt->tile_size, unit);
    /* Enough tasks to share out: the result does not depend on how it is cut. */
    int64_t want = 4 * (int64_t)r->threads;
    while (p->tile_columns > unit && n_tiles(p) < want) p->tile_columns = round_up(p->tile_columns / 2, unit);
    while (p->tile_rows > unit && n_tiles(p) < want) p->tile_rows = round_up(p->tile_rows / 2, unit);
    p->task_tiles = p->method == LT_GRAM_PRODUCT ? LT_MAX(1, LT_MIN(TASK_TILES, n_tiles(p) / (4 * want))) : 1;
    size_t tile = (size_t)(p->tile_rows * p->tile_columns) * sizeof(double);
    p->scratch_bytes = p->planes == LT_PLANES_COMPLEX ? 2 * tile : tile;
    if (p->method == LT_GRAM_STATES && p->program && p->program->n_factors > 1) p->scratch_bytes *= 2; /* the product so far */
    if (p->method == LT_GRAM_TRANSFER)
        p->scratch_bytes += (size_t)(12 * p->closed->lanes) * (size_t)r->circuit->q * sizeof(double);
    p->scratch_bytes = (p->scratch_bytes + 63) / 64 * 64;
}

int64_t lt_plan_tiles_skipped(const lt_gram_plan *p, int64_t tile_row)
{
    return p->half ? tile_row * p->tile_rows / p->tile_columns : 0;
}

int64_t lt_plan_tiles_before(const lt_gram_plan *p, int64_t tile_row)
{
    int64_t across = (p->m - 1) / p->tile_columns + 1, n = 0;
    for (int64_t i = 0; i < tile_row; i++) n += across - lt_plan_tiles_skipped(p, i);
    return n;
}

/* ---- memory ---- */

typedef struct text { char *s; size_t bytes, used; } text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->s + t->used, t->bytes - t->used, format, ap);
    va_end(ap);
    if (n > 0) t->used = LT_MIN(t->used + (size_t)n, t->bytes - 1);
}

static double gib(double bytes) { return bytes / (1024.0 * 1024 * 1024); }

static double panels_bytes(const lt_gram_plan *p, int64_t rows)
{
    return (double)((rows + p->panel - 1) / p->panel) * (double)p->panel_bytes;
}

/* Slots for as many groups as there are threads, unless they would take more than a quarter. */
static void choose_slots(const lt_plan_request *r, double budget, lt_gram_plan *p)
{
    p->n_slots = 0;
    if (p->method == LT_GRAM_PRODUCT && p->program) p->work_bytes = (size_t)r->threads * p->maker.slot_bytes;
    if (p->method != LT_GRAM_STATES) return;
    int64_t groups = (LT_MAX(p->n, p->m) + p->loops->lanes - 1) / p->loops->lanes;
    p->n_slots = (int)LT_MIN((int64_t)r->threads, groups);
    while (p->n_slots > 1 && (double)p->n_slots * (double)p->maker.slot_bytes > budget / 4) p->n_slots--;
    p->work_bytes = (size_t)p->n_slots * p->maker.slot_bytes;
}

/* The larger the block of rows that stays, the fewer times columns are built again. */
static lt_status choose_blocks(const lt_plan_request *r, double budget, lt_gram_plan *p)
{
    double left = (budget - (double)p->work_bytes - (double)r->threads * (double)p->scratch_bytes) / (double)p->panel_bytes;
    if (left < 2) return LT_ERR_MEMORY; /* lt_gram_plan_make says what is missing */
    int64_t fit = left > 1e15 ? (int64_t)1e15 : (int64_t)left; /* panels */
    int64_t columns = LT_MAX(1, LT_MIN(4 * p->tile_columns / p->panel, fit / 4));
    int64_t rows = fit - columns;
    int64_t tile = r->opt->state_tile;
    if (tile < 0 && !r->opt->precompute_all_states)
        tile = lt_gram_state_tile(r->total_bytes, r->opt->vram_fraction, lt_layers_widest(r->circuit), 2 * (int)p->element);
    if (tile > 0) {
        rows = LT_MIN(rows, (tile + p->panel - 1) / p->panel);
        columns = LT_MIN(columns, rows);
    }
    p->block_rows = LT_MIN(rows * p->panel, round_up(p->n, p->panel));
    p->block_columns = LT_MIN(columns * p->panel, round_up(p->m, p->panel));
    p->batch = lt_batch_bounds_of(r->opt->dynamic_batch, p->block_rows, (fit - columns) * p->panel, 1);
    p->a_bytes = (size_t)((p->batch.max + p->panel - 1) / p->panel) * p->panel_bytes;
    p->b_bytes = (size_t)(p->block_columns / p->panel) * p->panel_bytes;
    return LT_OK;
}

/* All rows, packed once. */
static void hold_all(lt_gram_plan *p)
{
    /* Products may lead rows by up to a line, and compute whole lines and squares. */
    int64_t unit = p->method == LT_GRAM_PRODUCT ? LT_SQUARE : 1, lead = p->method == LT_GRAM_PRODUCT ? LT_LINE_DOUBLES - 1 : 0;
    p->bulk = true;
    p->a_bytes = (size_t)panels_bytes(p, round_up(p->n + lead, unit));
    p->b_bytes = p->cross ? (size_t)panels_bytes(p, round_up(p->m + lead, unit)) : 0;
    p->block_rows = round_up(p->n, p->panel);
    p->block_columns = round_up(p->m, p->panel);
    p->batch = (lt_batch_bounds){ p->block_rows, p->block_rows };
}

/* A slice stays in the caches that cores share; shorter ones would read and write sums for too little work. */
enum { SLICE_BYTES = 16 << 20, SLICE_AMPLITUDES = 1024 };

/* States of two stages can be made in slices of amplitudes, from tables. Overlaps of all pairs are then summed slice by slice,
   in the same order, to the same bits; what was never touched is a gain only where sums, tables and a slice are small beside the states (decision 112). */
static bool choose_slices(const lt_plan_request *r, double budget, lt_gram_plan *p, text *t)
{
    if (p->method != LT_GRAM_STATES || !p->maker.bond_bits || !r->opt->precompute_all_states) return false;
    int64_t groups = lt_state_groups(p->loops, p->n) + (p->cross ? lt_state_groups(p->loops, p->m) : 0), all = p->slice;
    double states = panels_bytes(p, p->n) + (p->cross ? panels_bytes(p, p->m) : 0);
    double tables = (double)groups * (double)p->maker.table_bytes;
    double sums = (double)lt_plan_tiles_before(p, (p->n - 1) / p->tile_rows + 1) * (double)p->scratch_bytes;
    int64_t slice = all;
    while (slice > SLICE_AMPLITUDES && states / (double)all * (double)slice > SLICE_BYTES) slice /= 2;
    double held = states / (double)all * (double)slice + tables + sums;
    double rest = (double)p->work_bytes + (double)r->threads * (double)p->scratch_bytes;
    if (slice == all || 2 * held > states || held + rest > budget) return false;
    p->slice = slice;
    p->n_slices = all / slice;
    p->panel_bytes = (size_t)lt_panel_elements(p->loops, slice, p->planes) * p->element;
    p->tables_bytes = (size_t)tables;
    p->sums_bytes = (size_t)sums;
    hold_all(p);
    say(t, "memory: %lld slices of %lld amplitudes, %s with tables and sums where all states take %s; the budget is %s "
        "(%g of %s free, less K)\n", (long long)p->n_slices, (long long)slice, lt_bytes_str(held + rest).s, lt_bytes_str(states).s, lt_bytes_str(budget).s,
        r->opt->vram_fraction, lt_bytes_str((double)r->free_bytes).s);
    return true;
}

static double bytes_of_K(const lt_plan_request *r, const lt_gram_plan *p)
{
    return (double)p->n * (double)p->m * (r->opt->return_dtype == LT_GRAM_FLOAT32 ? 4 : 8);
}

/* K is filled as we go and takes memory too, unless it is so large that it must live in a file. */
static double budget_of(const lt_plan_request *r, const lt_gram_plan *p)
{
    double budget = r->opt->vram_fraction * (double)r->free_bytes;
    return budget - LT_MIN(bytes_of_K(r, p), budget / 2);
}

static lt_status choose_memory(const lt_plan_request *r, lt_gram_plan *p, text *t)
{
    double K = bytes_of_K(r, p), budget = budget_of(r, p);
    /* A mirrored tile touches a page of every row of K it writes to. Where pages cannot all stay, a band of
       tiles fills them one after the other, so that each is written to the file once or twice, not once per tile. */
    p->band_tiles = K > (double)r->free_bytes / 2 ? LT_MAX(1, BAND_ROWS / p->tile_rows) : p->task_tiles;
    double from = r->large.from_bytes ? (double)r->large.from_bytes : LARGE_FROM * (double)r->free_bytes;
    choose_slots(r, budget, p);
    if (choose_slices(r, budget, p, t)) return LT_OK;
    double a = panels_bytes(p, p->n), b = p->cross ? panels_bytes(p, p->m) : 0;
    double all = a + b + (double)p->work_bytes + (double)r->threads * (double)p->scratch_bytes;
    if (all <= budget && (r->opt->precompute_all_states || p->method != LT_GRAM_STATES)) {
        hold_all(p);
        p->by_bands = p->half && !r->opt->packed && K > from;
        p->band_rows = round_up(r->large.band_rows ? r->large.band_rows : BAND_ROWS, p->tile_rows);
        say(t, "memory: all rows packed once, %s of a budget of %s (%g of %s free, less K)\n", lt_bytes_str(all).s, lt_bytes_str(budget).s, r->opt->vram_fraction,
            lt_bytes_str((double)r->free_bytes).s);
        return LT_OK;
    }
    LT_TRY(choose_blocks(r, budget, p));
    int64_t n_blocks = (p->n - 1) / p->block_rows + 1;
    say(t, "memory: %s: %lld block%s of %lld rows stay while blocks of %lld columns pass; %s of a budget of %s\n",
        all > budget ? "not all rows fit" : "precomputing is off", (long long)n_blocks, n_blocks == 1 ? "" : "s",
        (long long)p->block_rows, (long long)p->block_columns, lt_bytes_str((double)(p->a_bytes + p->b_bytes + p->work_bytes)).s, lt_bytes_str(budget).s);
    return LT_OK;
}

/* ---- when it does not fit ---- */

/* Which share of the memory would be enough, in steps of a twentieth; 0: not even all of it. */
static double enough(const lt_plan_request *r, const lt_gram_plan *p)
{
    for (int k = 1; k <= 20; k++) {
        lt_gram_options opt = *r->opt;
        lt_plan_request larger = *r;
        lt_gram_plan plan = *p;
        opt.vram_fraction = k / 20.0;
        larger.opt = &opt;
        if (opt.vram_fraction > r->opt->vram_fraction && !choose_memory(&larger, &plan, &(text){ plan.text, sizeof plan.text, 0 })) return opt.vram_fraction;
    }
    return 0;
}

static lt_status too_large(const lt_plan_request *r, const lt_gram_plan *p)
{
    char remedy[96] = "Lower the need: vram_fraction 0.70 leaves room for others";
    double state = p->planes * (double)p->element * (double)p->slice, share = enough(r, p);
    if (share > 0) snprintf(remedy, sizeof remedy, "Raise vram_fraction to %.2f or more, or lower the need", share);
    return LT_FAIL(LT_ERR_MEMORY, "gram: states of %d qubits do not fit: %.3g GiB each, at least %lld at once beside %.3g GiB of "
                   "workspace, the budget is %.3g GiB (%g of %.3g GiB free). %s%s state_tile 2048 or less holds fewer states, precompute_all_states off "
                   "holds one block of them; fewer qubits or float32 halve it", lt_layers_widest(r->circuit), gib(state), (long long)(2 * p->panel),
                   gib((double)p->work_bytes), gib(budget_of(r, p)), r->opt->vram_fraction, gib((double)r->free_bytes), remedy, share > 0 ? ":" : ",");
}

/* ---- all of it ---- */

static void choose_kernel(const lt_plan_request *r, lt_gram_plan *p)
{
    const lt_layers *c = r->circuit;
    if (p->method == LT_GRAM_STATES) {
        p->loops = lt_states_loops(r->isa, r->opt->dtype, lt_layers_widest(c));
        p->maker = lt_state_maker_of_overlaps(c, p->loops, r->opt->dtype);
        p->planes = c->real ? LT_PLANES_REAL : LT_PLANES_COMPLEX;
        p->panel = p->loops->panel;
        p->element = p->maker.element;
        p->slice = c->program ? c->program->amplitudes : (int64_t)1 << c->q;
        p->panel_bytes = (size_t)lt_panel_elements(p->loops, p->slice, p->planes) * p->element;
    } else {
        p->closed = &r->isa->closed;
        p->components = lt_closed_components(c, p->method);
        if (c->program) p->maker = lt_state_maker_of_overlaps(c, lt_states_loops(r->isa, LT_GRAM_FLOAT64, 1), LT_GRAM_FLOAT64);
        p->planes = LT_PLANES_REAL;
        p->panel = p->closed->panel;
        p->element = sizeof(double);
        p->panel_bytes = (size_t)(p->panel * p->components) * (size_t)c->q * sizeof(double);
    }
}

lt_status lt_gram_plan_make(const lt_plan_request *r, lt_gram_plan *p)
{
    char reason[160];
    text t = { p->text, sizeof p->text, 0 };
    *p = (lt_gram_plan){ .isa = r->isa, .n = r->n, .m = r->m, .cross = r->cross, .n_slices = 1 };
    p->half = !r->cross && (r->opt->symmetric || r->opt->packed);
    p->program = r->circuit->program;
    p->real_part = r->real_part;
    LT_TRY(lt_plan_method(r, &p->method, reason, sizeof reason));
    say(&t, "method: %s, %s\n", lt_gram_method_name(p->method), reason);
    choose_kernel(r, p);
    choose_tiles(r, p);
    if (choose_memory(r, p, &t)) return too_large(r, p);
    say(&t, "tiles: %lld x %lld of %lld x %lld, %s; %d thread%s", (long long)p->tile_rows, (long long)p->tile_columns,
        (long long)p->n, (long long)p->m,
        p->by_bands ? "upper half, computed again for the lower one" : p->half ? "upper half, mirrored" : "all of them",
        r->threads, r->threads == 1 ? "" : "s");
    if (r->learned) say(&t, "; learnt from earlier runs");
    if (p->batch.max > p->batch.min) say(&t, "\nbatch: %lld to %lld rows, as memory and times allow", (long long)p->batch.min, (long long)p->batch.max);
    if (p->program) {
        char circuit[400];
        lt_compiled_describe(p->program, circuit, sizeof circuit);
        say(&t, "\n%s", circuit);
    } else if (p->method == LT_GRAM_STATES)
        say(&t, "\nstates: %d real plane%s of 2^%d amplitudes; %s", p->planes, p->planes == 1 ? " (amplitudes are real)" : "s",
            r->circuit->q, "the last layer cancels and is left out");
    if (r->opt->jitter > 0 && !r->opt->normalize) say(&t, "\njitter: has no effect without normalize");
    return LT_OK;
}
