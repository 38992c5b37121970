/* Walks the domain of each pass block by block, on one thread or shared out over the pool.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/plan.h"

#include "base/status.h"

/* A task should be worth waking a thread for, and there should be a few per thread so that an
   interrupted one does not hold up the rest. */
#define TASK_NS 20000.0
#define TASKS_PER_THREAD 4
#define STREAMING_TASKS_PER_THREAD 16 /* memory serves one thread faster than another */
#define PAGE_BYTES 4096
#define SMALL_TASK_BYTES (48 * 1024)

/* ---- one block ------------------------------------------------------------------ */

static void run_instr(const fused_task *t, const fused_instr *in, int64_t first, int64_t n)
{
    char **addr = t->addr;
    switch (in->kind) {
    case FUSED_CALL: in->fn(addr[in->d], addr[in->a], addr[in->b], addr[in->c], n); break;
    case FUSED_CHAIN: t->pass->set->chain(t->pass->chain + in->index, addr, n); break;
    case FUSED_GATHER:
        lt_fused_gather(&t->pass->views[in->index], in->size, addr[in->d], addr[in->a], first, n);
        break;
    case FUSED_SCATTER:
        lt_fused_scatter(&t->pass->views[in->index], in->size, addr[in->d], addr[in->a], first, n);
        break;
    case FUSED_REDUCE: lt_fused_fold_block(t, &t->pass->folds[in->index], addr[in->a], n); break;
    }
}

static void run_block(const fused_task *t, int64_t first, int64_t n)
{
    const fused_pass *p = t->pass;
    for (int i = 0; i < p->n_moving; i++) {
        const fused_slot *s = &p->slots[p->moving[i]];
        t->addr[p->moving[i]] = t->arg[s->arg] + s->offset_bytes + first * s->step_bytes;
    }
    for (int i = 0; i < p->n_located; i++) {
        const fused_located *l = &p->located[i];
        t->addr[l->slot] = t->arg[p->slots[l->slot].arg] + lt_fused_view_at(&p->views[l->view], first) * l->size;
    }
    for (int i = p->n_prologue; i < p->n_instrs; i++) run_instr(t, &p->instrs[i], first, n);
}

/* first: where a map's blocks begin. */
static void begin_task(fused_task *t, int64_t first)
{
    const fused_pass *p = t->pass;
    for (int i = 0; i < p->n_slots; i++) {
        const fused_slot *s = &p->slots[i];
        char *base = s->arg == FUSED_IN_TASK ? t->mem : s->arg == FUSED_IN_PLAN ? p->constants : t->arg[s->arg];
        t->addr[i] = base + s->offset_bytes;
    }
    for (int i = 0; i < p->n_prologue; i++) run_instr(t, &p->instrs[i], 0, 1);
    for (int i = 0; i < p->n_repeats; i++) {
        const fused_repeat *r = &p->repeats[i];
        lt_fused_gather(&p->views[r->view], r->size, t->addr[r->raw], t->addr[r->base], first, p->block);
        if (r->convert) r->convert(t->addr[r->slot], t->addr[r->raw], t->addr[r->raw], t->addr[r->raw], p->block);
    }
}

/* ---- the units of each mode ------------------------------------------------------- */

/* Elements before the first output comes to stand on a page, whose end stops the processor's prefetchers; where
   that cannot be, on a cache line, as streamed stores need. */
static int64_t unaligned_head(const fused_task *t, int64_t first)
{
    const fused_pass *p = t->pass;
    for (int i = 0; i < p->n_moving; i++) {
        const fused_slot *s = &p->slots[p->moving[i]];
        if (!s->written) continue;
        uintptr_t at = (uintptr_t)(t->arg[s->arg] + s->offset_bytes + first * s->step_bytes);
        int64_t to_page = (int64_t)(-at % PAGE_BYTES);
        return (to_page % s->step_bytes ? (int64_t)(-at % 64) : to_page) / s->step_bytes;
    }
    return 0;
}

static void run_map(fused_task *t, int64_t first, int64_t end)
{
    const fused_pass *p = t->pass;
    int64_t head = p->streaming && !p->period && !p->n_repeats ? unaligned_head(t, first) : 0, n = head ? head : p->block;
    for (; first < end; first += n, n = p->block) {
        n = LT_MIN(n, end - first);
        if (p->period) n = LT_MIN(n, p->period - first % p->period);
        run_block(t, first, n);
    }
    if (p->streaming) p->set->fence();
}

/* Units are rows, or the chunks of long ones. */
static void run_rows(fused_task *t, int64_t unit, int64_t end)
{
    const fused_pass *p = t->pass;
    if (p->reduced <= FUSED_SEGMENT) {
        int64_t step = p->block / p->reduced;
        for (; unit < end; unit += step) {
            t->row = unit;
            run_block(t, unit * p->reduced, LT_MIN(step, end - unit) * p->reduced);
        }
        return;
    }
    t->row = -1;
    for (; unit < end; unit++) {
        int64_t row = unit / p->n_chunks, chunk = unit % p->n_chunks;
        int64_t from = chunk * p->chunk, to = LT_MIN(from + p->chunk, p->reduced);
        lt_fused_fold_begin(t);
        for (; from < to; from += p->block) run_block(t, row * p->reduced + from, LT_MIN(p->block, to - from));
        lt_fused_fold_end_run(t, row, chunk);
    }
}

/* Rows that fit a block are taken several at a time, wider ones tile by tile. */
static void run_columns_unit(fused_task *t, int64_t outer, int64_t chunk, int64_t tile)
{
    const fused_pass *p = t->pass;
    const int64_t w = p->lanes * p->inner, n_wide = p->reduced / p->lanes, origin = outer * p->reduced * p->inner;
    int64_t row = chunk * p->chunk, end = LT_MIN(row + p->chunk, n_wide);
    int64_t first = tile * p->block, n = LT_MIN(p->block, p->inner - first);
    lt_fused_fold_begin(t);
    if (p->n_tiles > 1) {
        t->width = n;
        t->n_rows = 1;
        for (; row < end; row++) run_block(t, origin + row * w + first, n);
    } else {
        t->width = w;
        for (int64_t step = p->block / w; row < end; row += step) {
            t->n_rows = LT_MIN(step, end - row);
            run_block(t, origin + row * w, t->n_rows * w);
        }
    }
    int64_t left = p->reduced % p->lanes;
    if (left && end == n_wide) {
        t->n_rows = 0;
        t->width = left * p->inner;
        run_block(t, origin + n_wide * w, t->width);
    }
    lt_fused_fold_end_columns(t, outer, chunk, first, n);
}

static void run_columns(fused_task *t, int64_t unit, int64_t end)
{
    const fused_pass *p = t->pass;
    for (; unit < end; unit++) {
        int64_t tile = unit % p->n_tiles, rest = unit / p->n_tiles;
        run_columns_unit(t, rest / p->n_chunks, rest % p->n_chunks, tile);
    }
}

/* ---- tasks --------------------------------------------------------------------- */

typedef struct pass_run {
    const fused_pass *pass;
    char *const *arg;
    int64_t first, end;                    /* elements of a map; else all units */
    int64_t n_tasks;
} pass_run;

static void run_share(const pass_run *r, int64_t index, char *mem)
{
    const fused_pass *p = r->pass;
    fused_task t = { .pass = p, .arg = r->arg, .mem = mem, .addr = (char **)(void *)mem, .row = -1 };
    if (p->mode == FUSED_MAP) {
        int64_t n_blocks = (r->end - r->first + p->block - 1) / p->block;
        int64_t from = r->first + n_blocks * index / r->n_tasks * p->block;
        int64_t to = r->first + n_blocks * (index + 1) / r->n_tasks * p->block;
        begin_task(&t, from);
        run_map(&t, from, LT_MIN(to, r->end));
        return;
    }
    begin_task(&t, 0);
    int64_t from = p->n_units * index / r->n_tasks, to = p->n_units * (index + 1) / r->n_tasks;
    if (p->mode == FUSED_ROWS) run_rows(&t, from, to);
    else run_columns(&t, from, to);
}

static void run_share_small(const pass_run *r, int64_t index)
{
    _Alignas(64) char mem[SMALL_TASK_BYTES];
    run_share(r, index, mem);
}

static void __attribute__((noinline)) run_share_large(const pass_run *r, int64_t index)
{
    _Alignas(64) char mem[FUSED_TASK_BYTES_MAX];
    run_share(r, index, mem);
}

static lt_status run_task(void *ctx, int64_t index, int worker)
{
    const pass_run *r = ctx;
    (void)worker;
    if (r->pass->task_bytes <= SMALL_TASK_BYTES) run_share_small(r, index);
    else run_share_large(r, index);
    return LT_OK;
}

static lt_status run_pass(const fused_pass *p, lt_pool *pool, char *const *arg)
{
    pass_run r = { .pass = p, .arg = arg, .end = p->count, .n_tasks = 1 };
    double worth = p->unit_ns * (double)p->n_units / TASK_NS;
    if (pool && worth >= 2) {
        int64_t most = (int64_t)lt_pool_threads(pool) * (p->streaming ? STREAMING_TASKS_PER_THREAD : TASKS_PER_THREAD);
        r.n_tasks = LT_MIN(LT_MIN(p->n_units, most), (int64_t)LT_MIN(worth, 1e6));
    }
    if (pool && r.n_tasks > 1 && lt_pool_threads(pool) > 1) {
        LT_TRY(lt_pool_run(pool, r.n_tasks, run_task, &r));
    } else {
        r.n_tasks = 1;
        LT_TRY(run_task(&r, 0, 0));
    }
    if (p->n_chunks > 1) lt_fused_fold_partials(p, arg);
    return LT_OK;
}

lt_status lt_fused_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const fused_kernel *fk = (const fused_kernel *)k;
    for (int i = 0; i < fk->n_passes; i++) LT_TRY(run_pass(&fk->passes[i], pool, (char *const *)arg));
    return LT_OK;
}

lt_status lt_fused_run_range(const lt_kernel *k, void *const *arg, int64_t first, int64_t end)
{
    if (k->run != lt_fused_run)
        return LT_FAIL(LT_ERR_ARGUMENT, "a part of kernel '%s': expected a fused kernel without reductions", k->name);
    const fused_kernel *fk = (const fused_kernel *)k;
    if (fk->n_reduces) return LT_FAIL(LT_ERR_ARGUMENT, "a part of kernel '%s', which has %d reductions", k->name, fk->n_reduces);
    if (first < 0 || first > end || end > fk->count)
        return LT_FAIL(LT_ERR_ARGUMENT, "elements %lld..%lld of kernel '%s', the domain is %s", (long long)first, (long long)end, k->name,
                       lt_shape_str(&fk->domain).s);
    for (int i = 0; first < end && i < fk->n_passes; i++) {
        pass_run r = { .pass = &fk->passes[i], .arg = (char *const *)arg, .first = first, .end = end, .n_tasks = 1 };
        LT_TRY(run_task(&r, 0, 0));
    }
    return LT_OK;
}

lt_status lt_fused_run_rows(const lt_kernel *k, void *const *arg, int64_t first, int64_t count)
{
    const fused_kernel *fk = (const fused_kernel *)k;
    if (k->run != lt_fused_run) return lt_fused_run_range(k, arg, 0, 0); /* which says why */
    int64_t n_rows = fk->domain.rank ? fk->domain.dim[0] : 1;
    if (first < 0 || count < 0 || first > n_rows - count)
        return LT_FAIL(LT_ERR_ARGUMENT, "run_rows of rows %lld..%lld, the domain is %s", (long long)first,
                       (long long)(first + count), lt_shape_str(&fk->domain).s);
    int64_t row = n_rows ? fk->count / n_rows : 0;
    return lt_fused_run_range(k, arg, first * row, (first + count) * row);
}
