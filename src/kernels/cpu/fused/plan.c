/* Divides a fused program into passes: one for each set of reduced axes, and further ones where
   reduced and kept axes alternate. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/plan.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* A reduction is cut into chunks of at least this many elements, and only while there are
   fewer than MANY_UNITS pieces of work. */
#define CHUNK_ELEMENTS 32768
#define MANY_UNITS 64
#define COLUMN_TILE 1024   /* for counting work; the block size itself may differ */
#define COLUMN_LANES 64    /* narrow rows are put side by side up to this width */

typedef struct planner {
    fused_kernel *k;
    const lt_vec_set *set;
    lt_isa isa;
    size_t scratch_bytes;
} planner;

static lt_status build_passes(planner *pl, const lt_fused *f);

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static lt_affine dense_view(const lt_shape *s, int64_t offset)
{
    lt_affine v = { .offset = offset };
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        v.stride[i] = stride;
        stride *= s->dim[i];
    }
    return v;
}

/* Axes of extent 1 do not matter. */
static uint32_t real_axes(const lt_shape *domain, uint32_t axes)
{
    for (int i = 0; i < domain->rank; i++)
        if (domain->dim[i] == 1) axes &= ~(1u << i);
    return axes;
}

/* ---- cost ------------------------------------------------------------------------ */

static double flops_per_element(const lt_fused *f)
{
    double flops = f->n_reduces;
    for (int i = 0; i < f->n_steps; i++) flops += lt_op_flops(f->steps[i].op);
    return flops;
}

/* Rough nanoseconds an element costs one thread: memory traffic and arithmetic. */
static double element_ns(const lt_fused *f, lt_isa isa)
{
    static const double ns_per_flop[] = { [LT_ISA_PLAIN] = 1.0, [LT_ISA_AVX2] = 0.1, [LT_ISA_AVX512] = 0.05 };
    return 0.3 * (f->n_loads + f->n_stores) + flops_per_element(f) * ns_per_flop[isa] + 0.1;
}

/* ---- the shape of one pass ---------------------------------------------------------- */

/* The innermost group of reduced axes of the domain, seen as [outer, reduced, inner]; returns how
   many leading axes form `outer`. */
static int split_domain(fused_pass *p, const lt_shape *d, uint32_t axes)
{
    int i = d->rank;
    p->inner = p->reduced = p->outer = 1;
    for (; i > 0 && (!(axes >> (i - 1) & 1)); i--) p->inner *= d->dim[i - 1];
    for (; i > 0 && (axes >> (i - 1) & 1 || d->dim[i - 1] == 1); i--) p->reduced *= d->dim[i - 1];
    for (int j = 0; j < i; j++) p->outer *= d->dim[j];
    p->mode = p->inner == 1 ? FUSED_ROWS : FUSED_COLUMNS;
    return i;
}

/* Depends on the domain and the axes only: it fixes the order of every sum. */
static void cut_reduction(fused_pass *p)
{
    p->lanes = 1;
    int64_t n_pieces = p->outer, extent = p->reduced, grain = FUSED_BLOCK, piece = p->reduced;
    if (p->mode == FUSED_COLUMNS) {
        if (p->inner < COLUMN_LANES) p->lanes = LT_MIN(ceil_div(COLUMN_LANES, p->inner), p->reduced);
        n_pieces *= ceil_div(p->inner, COLUMN_TILE);
        extent = p->reduced / p->lanes;
        piece = p->reduced * LT_MIN(p->inner, COLUMN_TILE);
        grain = FUSED_ROW_GROUP;
    }
    int64_t wanted = n_pieces >= MANY_UNITS ? 1 : LT_MIN(2 * MANY_UNITS / n_pieces, piece / CHUNK_ELEMENTS);
    p->chunk = ceil_div(ceil_div(extent, LT_MAX(wanted, 1)), grain) * grain;
    p->n_chunks = ceil_div(extent, p->chunk);
}

static void count_units(fused_pass *p, const lt_fused *f, lt_isa isa)
{
    p->n_tiles = 1;
    if (p->mode == FUSED_MAP) {
        p->n_chunks = 1;
        p->n_units = ceil_div(p->count, p->block);
    } else {
        if (p->mode == FUSED_COLUMNS) p->n_tiles = ceil_div(p->lanes * p->inner, p->block);
        p->n_units = p->outer * p->n_chunks * p->n_tiles;
    }
    p->unit_ns = element_ns(f, isa) * (double)p->count / (double)p->n_units;
}

/* ---- building ---------------------------------------------------------------------- */

static int64_t take_scratch(planner *pl, int64_t n, size_t size)
{
    int64_t at = (int64_t)pl->scratch_bytes;
    pl->scratch_bytes += ((size_t)n * size + 63) / 64 * 64;
    return at;
}

/* A later pass that reduces the remaining axes of what this one left in the scratch memory. */
static lt_status build_next_stage(planner *pl, const lt_fused *f, const lt_fused_reduce *r, const fused_pass *p,
                                  int n_outer, uint32_t axes, int64_t stage_bytes)
{
    lt_shape domain = { .rank = n_outer };
    memcpy(domain.dim, f->domain.dim, (size_t)n_outer * sizeof *domain.dim);
    if (p->inner > 1) domain.dim[domain.rank++] = p->inner;
    lt_fused_load load = { .arg = pl->k->base.n_args, .from = f->type,
                           .view = dense_view(&domain, stage_bytes / (int64_t)lt_dtype_size(f->type)) };
    lt_fused_reduce reduce = { .op = r->op, .arg = r->arg, .to = r->to, .axes = axes };
    lt_fused next = { .type = f->type, .domain = domain, .n_regs = 1, .n_args = pl->k->base.n_args + 1,
                      .n_loads = 1, .loads = &load, .n_reduces = 1, .reduces = &reduce };
    return build_passes(pl, &next);
}

static fused_pass *new_pass(planner *pl, const lt_fused *f)
{
    fused_pass *p = &pl->k->passes[pl->k->n_passes++];
    p->type = f->type;
    p->set = pl->set;
    p->count = lt_shape_count(&f->domain);
    p->scratch_arg = pl->k->base.n_args;
    return p;
}

static lt_status build_map(planner *pl, const lt_fused *f)
{
    if (!f->n_stores) return LT_OK;
    fused_pass *p = new_pass(pl, f);
    p->mode = FUSED_MAP;
    p->streaming = !f->near && lt_fused_bytes(f) >= FUSED_STREAMING_BYTES;
    LT_TRY(lt_fused_emit(f, pl->set, &(fused_goal){ .stores = true }, &pl->k->memory, p));
    count_units(p, f, pl->isa);
    return LT_OK;
}

static lt_status build_reduction(planner *pl, const lt_fused *f, const fused_goal *goal)
{
    static const lt_vec_reduce reduce_of[] = { LT_VEC_SUM, LT_VEC_MAX, LT_VEC_MIN };
    fused_pass *p = new_pass(pl, f);
    uint32_t axes = real_axes(&f->domain, f->reduces[goal->reduces[0]].axes);
    int n_outer = split_domain(p, &f->domain, axes);
    uint32_t axes_left = axes & ((1u << n_outer) - 1);
    p->n_folds = goal->n_reduces;
    cut_reduction(p);
    LT_TRY(lt_fused_emit(f, pl->set, goal, &pl->k->memory, p));
    count_units(p, f, pl->isa);
    const size_t real_bytes = lt_dtype_size(f->type);
    const int64_t n_out = p->outer * p->inner;
    for (int i = 0; i < goal->n_reduces; i++) {
        const lt_fused_reduce *r = &f->reduces[goal->reduces[i]];
        fused_fold *fold = &p->folds[i];
        fold->op = reduce_of[r->op - LT_OP_SUM];
        if (p->n_chunks > 1) fold->partial_bytes = take_scratch(pl, n_out * p->n_chunks, real_bytes);
        fold->arg = axes_left ? pl->k->base.n_args : r->arg;
        lt_dtype to = axes_left ? f->type : r->to;
        fold->store = pl->set->store[to];
        fold->size = (int32_t)lt_dtype_size(to);
        if (!axes_left) continue;
        fold->arg_bytes = take_scratch(pl, n_out, real_bytes);
        LT_TRY(build_next_stage(pl, f, r, p, n_outer, axes_left, fold->arg_bytes));
    }
    return LT_OK;
}

/* One pass per set of axes; what is stored goes with the last, since stores may overwrite what
   the others still read. */
static lt_status build_passes(planner *pl, const lt_fused *f)
{
    if (!f->n_reduces) return build_map(pl, f);
    int *order = lt_arena_alloc(&pl->k->memory, (size_t)f->n_reduces * sizeof *order), n_ordered = 0;
    unsigned char *done = lt_arena_alloc(&pl->k->memory, (size_t)f->n_reduces);
    if (!order || !done) return LT_ERR_MEMORY;
    for (int i = 0; i < f->n_reduces; i++) {
        if (done[i]) continue;
        uint32_t axes = real_axes(&f->domain, f->reduces[i].axes);
        fused_goal goal = { .reduces = order + n_ordered };
        for (int j = i; j < f->n_reduces; j++) {
            if (real_axes(&f->domain, f->reduces[j].axes) != axes) continue;
            order[n_ordered++] = j;
            done[j] = 1;
            goal.n_reduces++;
        }
        goal.stores = n_ordered == f->n_reduces && f->n_stores > 0;
        LT_TRY(build_reduction(pl, f, &goal));
    }
    return LT_OK;
}

/* Reductions over axes of extent 1 are stores. The result borrows f's other arrays. */
static lt_status turn_trivial_reduces(const lt_fused *f, lt_arena *memory, lt_fused *out)
{
    *out = *f;
    lt_fused_store *stores = lt_arena_alloc(memory, (size_t)(f->n_stores + f->n_reduces + 1) * sizeof *stores);
    lt_fused_reduce *reduces = lt_arena_alloc(memory, (size_t)(f->n_reduces + 1) * sizeof *reduces);
    if (!stores || !reduces) return LT_ERR_MEMORY;
    if (f->n_stores) memcpy(stores, f->stores, (size_t)f->n_stores * sizeof *stores);
    out->n_reduces = 0;
    for (int i = 0; i < f->n_reduces; i++) {
        const lt_fused_reduce *r = &f->reduces[i];
        if (real_axes(&f->domain, r->axes)) reduces[out->n_reduces++] = *r;
        else stores[out->n_stores++] = (lt_fused_store){ r->reg, r->arg, r->to, dense_view(&f->domain, 0) };
    }
    out->stores = stores;
    out->reduces = reduces;
    return LT_OK;
}

/* ---- empty domains ------------------------------------------------------------------ */

typedef struct fused_zero { int32_t arg; size_t bytes; } fused_zero;
typedef struct empty_kernel {
    lt_kernel base;
    char name[64];
    int n_zeros;
    fused_zero zeros[];
} empty_kernel;

/* Sums over nothing are zero, and every real type writes zero as zero bytes. */
static lt_status run_empty(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const empty_kernel *e = (const empty_kernel *)k;
    (void)pool;
    for (int i = 0; i < e->n_zeros; i++) memset(arg[e->zeros[i].arg], 0, e->zeros[i].bytes);
    return LT_OK;
}

static void destroy_empty(lt_kernel *k) { lt_free(k); }

static lt_status prepare_empty(const lt_fused *f, lt_kernel **out)
{
    empty_kernel *e = lt_calloc(1, sizeof *e + (size_t)f->n_reduces * sizeof *e->zeros);
    if (!e) return LT_ERR_MEMORY;
    for (int i = 0; i < f->n_reduces; i++) {
        size_t bytes = lt_dtype_size(f->reduces[i].to);
        for (int d = 0; d < f->domain.rank; d++)
            if (!(f->reduces[i].axes >> d & 1)) bytes *= (size_t)f->domain.dim[d];
        if (bytes) e->zeros[e->n_zeros++] = (fused_zero){ f->reduces[i].arg, bytes };
    }
    snprintf(e->name, sizeof e->name, "fused_%s_empty", lt_dtype_name(f->type));
    e->base = (lt_kernel){ .name = e->name, .run = run_empty, .destroy = destroy_empty, .n_args = f->n_args };
    *out = &e->base;
    return LT_OK;
}

/* ---- preparing ---------------------------------------------------------------------- */

static void destroy(lt_kernel *k)
{
    fused_kernel *fk = (fused_kernel *)k;
    lt_arena_release(&fk->memory);
    lt_free(fk);
}

static lt_status plan(fused_kernel *k, const lt_fused *f, lt_isa isa)
{
    lt_fused g;
    LT_TRY(turn_trivial_reduces(f, &k->memory, &g));
    planner pl = { .k = k, .set = lt_vec_set_of(isa, f->type), .isa = isa };
    k->n_reduces = g.n_reduces;
    k->passes = lt_arena_alloc(&k->memory, (size_t)(1 + g.n_reduces * (1 + LT_MAX_RANK / 2)) * sizeof *k->passes);
    if (!k->passes) return LT_ERR_MEMORY;
    LT_TRY(build_passes(&pl, &g));
    k->base.scratch_bytes = pl.scratch_bytes;
    return LT_OK;
}

lt_status lt_fused_prepare_cpu(const lt_fused *f, lt_isa isa, lt_kernel **out)
{
    *out = NULL;
    if (!lt_isa_usable(isa))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "instruction set %s is not available here", lt_isa_name(isa));
    LT_TRY(lt_fused_check(f));
    int64_t count = lt_shape_count(&f->domain);
    if (count == 0) return prepare_empty(f, out);
    fused_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->domain = f->domain;
    k->count = count;
    snprintf(k->name, sizeof k->name, "fused_%s_%s_%dops", lt_dtype_name(f->type), lt_isa_name(isa),
             f->n_steps + f->n_reduces);
    k->base = (lt_kernel){ .name = k->name, .run = lt_fused_run, .destroy = destroy, .n_args = f->n_args,
                           .flops = flops_per_element(f) * (double)count, .bytes = lt_fused_bytes(f) };
    lt_status s = plan(k, f, isa);
    if (s) {
        destroy(&k->base);
        return s;
    }
    *out = &k->base;
    return LT_OK;
}
