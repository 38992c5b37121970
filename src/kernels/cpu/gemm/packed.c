/* The packed matrix product: cutting, packing and the order of the work. Items of a pass are drawn in ascending
   order, those that pack first; an item that multiplies waits for the blocks of b it is about to use, which
   other threads are packing at that moment, so there is no pause between the two.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/packed.h"

#include "base/dtype.h"
#include "base/status.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
    K_BLOCK = 256,        /* a panel of b then takes 32 or 48 KiB, what a first-level cache holds, or nearly */
    ROWS_MOST = 224,      /* of a packed at once: within the second-level cache */
    PASS_COLUMNS = 2048,  /* at most, in whole panels */
    PASS_BLOCKS_MAX = 64, /* blocks of k in a pass */
    GROUP_PANELS = 4,     /* panels of b packed by one item */
    COLUMN_PANELS = 4     /* at least this many in an item: a is packed again for each cut of the columns */
};
#define ITEM_FLOPS 4e5    /* less is not worth another thread */

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t panel_columns(const lt_packed_gemm *g) { return g->loops->panel; }

/* ---- Cutting ------------------------------------------------------------------------------------ */
static const lt_gemm_loops *loops_of(lt_isa isa, lt_dtype t)
{
    bool wide = t == LT_F64;
#if LT_VEC_X86
    if (isa == LT_ISA_AVX512) return wide ? &lt_gemm_avx512_f64 : &lt_gemm_avx512_f32;
    if (isa == LT_ISA_AVX2) return wide ? &lt_gemm_avx2_f64 : &lt_gemm_avx2_f32;
#endif
    (void)isa;
    return wide ? &lt_gemm_plain_f64 : &lt_gemm_plain_f32;
}

/* As many equal items as there are threads, or a multiple. Rows are cut first, down to two tiles, since a is
   packed by item; columns only when rows do not suffice. */
static void cut_items(lt_packed_gemm *g, bool rows_only)
{
    int64_t least = LT_MAX(1, ceil_div(g->m, ROWS_MOST)), lanes = g->n_lanes;
    int64_t most = LT_MAX(least, g->m / (2 * g->loops->tile_rows));
    g->row_parts = LT_MIN(ceil_div(least, lanes) * lanes, most);
    g->column_parts = 1;
    if (g->row_parts < lanes && !rows_only) {
        int64_t panels = ceil_div(LT_MIN(g->n, g->pass_columns), panel_columns(g));
        g->column_parts = LT_MAX(1, LT_MIN(ceil_div(lanes, g->row_parts), panels / COLUMN_PANELS));
        g->row_parts = LT_MAX(least, LT_MIN(g->row_parts, ceil_div(lanes, g->column_parts)));
    }
    g->row_parts = LT_MIN(g->row_parts, LT_MAX(1, g->m / g->unit));
}

void lt_packed_gemm_plan(lt_packed_gemm *g, lt_isa isa, int n_lanes, int64_t unit, bool rows_only, size_t b_limit)
{
    size_t size = lt_dtype_size(g->t);
    g->loops = loops_of(isa, g->t);
    g->unit = unit;
    g->k_block = K_BLOCK;
    int64_t wide = panel_columns(g);
    g->pass_columns = LT_MIN(ceil_div(g->n, wide), PASS_COLUMNS / wide) * wide;
    int64_t fit = (int64_t)(b_limit / size) / LT_MAX(1, g->pass_columns * K_BLOCK);
    g->pass_depth = LT_MIN(g->k, LT_MAX(1, LT_MIN(fit, PASS_BLOCKS_MAX)) * K_BLOCK);
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    g->n_lanes = (int)LT_MAX(1, LT_MIN((double)n_lanes, flops / ITEM_FLOPS));
    cut_items(g, rows_only || unit > 1);
    int64_t rows = ceil_div(LT_MAX(1, g->m / unit), g->row_parts) * unit;
    g->b_bytes = lt_align64((size_t)(g->pass_columns * g->pass_depth + g->loops->lanes) * size);
    g->lane_bytes = lt_align64((size_t)(rows * LT_MIN(K_BLOCK, g->k) + g->loops->lanes) * size);
}

bool lt_packed_gemm_has_whole_rows(const lt_packed_gemm *g) { return g->column_parts == 1 && g->n <= g->pass_columns; }

/* ---- A pass: columns [column, column + columns) of c, blocks of k from `depth` on --------------------- */
typedef struct gemm_pass {
    const lt_packed_gemm *g;
    const lt_packed_call *call;
    int64_t column, columns, depth, deep;
    int64_t n_blocks, n_groups;
    _Atomic int64_t packed[PASS_BLOCKS_MAX]; /* groups of panels packed so far, by block of k */
} gemm_pass;

static int64_t block_depth(const gemm_pass *p, int64_t block) { return LT_MIN(p->g->k_block, p->deep - block * p->g->k_block); }

/* Blocks of k one behind the other, in each the panels. */
static char *packed_panel(const gemm_pass *p, int64_t block, int64_t panel)
{
    const lt_packed_gemm *g = p->g;
    int64_t wide = panel_columns(g), all = ceil_div(p->columns, wide) * wide;
    return lt_offset(p->call->packed_b, (size_t)(block * g->k_block * all + panel * wide * block_depth(p, block)) * lt_dtype_size(g->t));
}

static void pack_panel(const lt_packed_gemm *g, lt_gemm_panel *panel, const void *matrix, int64_t at, int64_t all, bool across)
{
    panel->from = lt_offset(matrix, (size_t)at * lt_dtype_size(g->t));
    panel->room = all - at;
    if (across) g->loops->pack_across(panel);
    else g->loops->pack_along(panel);
}

static void pack_b(gemm_pass *p, int64_t block, int64_t group)
{
    const lt_packed_gemm *g = p->g;
    int64_t wide = panel_columns(g), first = group * GROUP_PANELS, end = LT_MIN(first + GROUP_PANELS, ceil_div(p->columns, wide));
    int64_t from_k = p->depth + block * g->k_block;
    for (int64_t i = first; i < end; i++) {
        int64_t column = p->column + i * wide;
        lt_gemm_panel panel = { .to = packed_panel(p, block, i), .n = LT_MIN(wide, p->column + p->columns - column),
                                .k = block_depth(p, block), .ld = g->trans_b ? g->k : g->n, .step = wide };
        int64_t at = g->trans_b ? column * g->k + from_k : from_k * g->n + column;
        pack_panel(g, &panel, p->call->b, at, g->k * g->n, g->trans_b);
    }
    atomic_fetch_add_explicit(&p->packed[block], 1, memory_order_release);
}

static void pack_a(const gemm_pass *p, int64_t block, int64_t row, int64_t rows, char *to)
{
    const lt_packed_gemm *g = p->g;
    int64_t n_panels = ceil_div(rows, g->loops->tile_rows), from_k = p->depth + block * g->k_block, k = block_depth(p, block);
    for (int64_t i = 0; i < n_panels; i++) { /* ascending: a panel overwrites what its predecessor wrote too much */
        int64_t begin, end;
        lt_part_range(rows, n_panels, i, &begin, &end);
        lt_gemm_panel panel = { .to = lt_offset(to, (size_t)(begin * k) * lt_dtype_size(g->t)), .n = end - begin, .k = k,
                                .ld = g->trans_a ? g->m : g->k, .step = end - begin };
        int64_t at = g->trans_a ? from_k * g->m + row + begin : (row + begin) * g->k + from_k;
        pack_panel(g, &panel, p->call->a, at, g->m * g->k, !g->trans_a);
    }
}

/* Whoever packs the block is running, or has run: items are drawn in ascending order and packing waits for nothing. */
static void wait_for_block(gemm_pass *p, int64_t block)
{
    enum { PATIENCE = 2000 };
    for (int64_t i = 0; atomic_load_explicit(&p->packed[block], memory_order_acquire) < p->n_groups; i++) {
        if (i > PATIENCE) sched_yield();
#if LT_VEC_X86
        else __builtin_ia32_pause();
#endif
    }
}

static lt_status multiply(gemm_pass *p, int64_t item, int lane)
{
    const lt_packed_gemm *g = p->g;
    size_t size = lt_dtype_size(g->t);
    int64_t row, row_end, panel, panel_end, wide = panel_columns(g);
    lt_part_range(g->m / g->unit, g->row_parts, item / g->column_parts, &row, &row_end);
    lt_part_range(ceil_div(p->columns, wide), g->column_parts, item % g->column_parts, &panel, &panel_end);
    row *= g->unit, row_end *= g->unit;
    char *a = lt_offset(p->call->lanes, (size_t)lane * g->lane_bytes);
    lt_gemm_block b = { .a = a, .c = lt_offset(p->call->c, (size_t)(row * g->n + p->column + panel * wide) * size), .rows = row_end - row,
                        .columns = LT_MIN(panel_end * wide, p->columns) - panel * wide, .ldc = g->n };
    for (int64_t i = 0; i < p->n_blocks && b.rows > 0; i++) {
        pack_a(p, i, row, b.rows, a);
        wait_for_block(p, i);
        b.b = packed_panel(p, i, panel);
        b.k = block_depth(p, i);
        b.add = p->depth > 0 || i > 0;
        g->loops->block(&b);
    }
    bool last = p->depth + p->deep >= g->k && p->call->finish;
    return last ? p->call->finish(p->call->ctx, row, row_end - row) : LT_OK;
}

static lt_status pass_item(void *ctx, int64_t item, int lane)
{
    gemm_pass *p = ctx;
    int64_t n_pack = p->n_blocks * p->n_groups;
    if (item >= n_pack) return multiply(p, item - n_pack, lane);
    pack_b(p, item / p->n_groups, item % p->n_groups);
    return LT_OK;
}

lt_status lt_packed_gemm_run(const lt_packed_gemm *g, lt_pool *pool, const lt_packed_call *call)
{
    if (g->m == 0 || g->n == 0) return LT_OK;
    if (g->k == 0) {
        memset(call->c, 0, (size_t)(g->m * g->n) * lt_dtype_size(g->t));
        return call->finish ? call->finish(call->ctx, 0, g->m) : LT_OK;
    }
    for (int64_t column = 0; column < g->n; column += g->pass_columns)
        for (int64_t depth = 0; depth < g->k; depth += g->pass_depth) {
            gemm_pass p = { .g = g, .call = call, .column = column, .columns = LT_MIN(g->pass_columns, g->n - column),
                            .depth = depth, .deep = LT_MIN(g->pass_depth, g->k - depth) };
            p.n_blocks = ceil_div(p.deep, g->k_block);
            p.n_groups = ceil_div(ceil_div(p.columns, panel_columns(g)), GROUP_PANELS);
            int64_t n_items = p.n_blocks * p.n_groups + g->row_parts * g->column_parts;
            LT_TRY(lt_host_run_lanes(pool, g->n_lanes, n_items, pass_item, &p));
        }
    return LT_OK;
}
