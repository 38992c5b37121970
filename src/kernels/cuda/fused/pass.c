/* Sizes of one pass of a fused program: merged axes, packs, threads, parts.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/fused/pass.h"

#include "base/status.h"
#include "lathe/base.h"

#include <string.h>

/* ---- The walk ------------------------------------------------------------------------------- */
static void add_dim(lt_fused_walk *w, int source, int64_t extent)
{
    w->dim[w->n_dims] = extent;
    w->source[w->n_dims][0] = source;
    w->source[w->n_dims][1] = -1;
    w->n_dims++;
}

/* Step of a merged dim is that of its innermost part. */
void lt_fused_walk_strides(const lt_fused_walk *w, const lt_affine *v, int64_t stride[LT_MAX_RANK])
{
    for (int d = 0; d < w->n_dims; d++) {
        int last = 0;
        while (last + 1 < LT_MAX_RANK && w->source[d][last + 1] >= 0) last++;
        stride[d] = v->stride[w->source[d][last]];
    }
}

static bool view_merges(const lt_fused_walk *w, const lt_affine *v, int d)
{
    int64_t s[LT_MAX_RANK];
    lt_fused_walk_strides(w, v, s);
    return s[d] == s[d + 1] * w->dim[d + 1];
}

/* Whether dims d and d + 1 are one in every view of the program. */
static bool merges(const lt_fused_pass *p, int d)
{
    const lt_fused *f = p->f;
    for (int i = 0; i < f->n_loads; i++)
        if (!view_merges(&p->walk, &f->loads[i].view, d)) return false;
    for (int i = 0; p->stores && i < f->n_stores; i++)
        if (!view_merges(&p->walk, &f->stores[i].view, d)) return false;
    return true;
}

static void merge(lt_fused_walk *w, int d)
{
    int n = 0, m = 0;
    while (n < LT_MAX_RANK && w->source[d][n] >= 0) n++;
    while (n < LT_MAX_RANK && m < LT_MAX_RANK && w->source[d + 1][m] >= 0) w->source[d][n++] = w->source[d + 1][m++];
    if (n < LT_MAX_RANK) w->source[d][n] = -1;
    w->dim[d] *= w->dim[d + 1];
    for (int i = d + 1; i + 1 < w->n_dims; i++) {
        w->dim[i] = w->dim[i + 1];
        memcpy(w->source[i], w->source[i + 1], sizeof w->source[i]);
    }
    w->n_dims--;
    if (d + 1 < w->n_kept) w->n_kept--;
}

static void make_walk(lt_fused_pass *p)
{
    const lt_shape *s = &p->f->domain;
    lt_fused_walk *w = &p->walk;
    w->kept = w->reduced = 1;
    for (int side = 0; side < 2; side++) {
        for (int d = 0; d < s->rank; d++) {
            if ((int)(p->axes >> d & 1) != side) continue;
            *(side ? &w->reduced : &w->kept) *= s->dim[d];
            if (s->dim[d] != 1) add_dim(w, d, s->dim[d]);
        }
        if (!side) w->n_kept = w->n_dims;
    }
    for (int d = w->n_dims - 2; d >= 0; d--)
        if (d + 1 != w->n_kept && merges(p, d)) merge(w, d);
}

/* ---- Packs ---------------------------------------------------------------------------------- */
lt_fused_access lt_fused_pass_access(const lt_fused_pass *p, const lt_affine *v)
{
    int64_t s[LT_MAX_RANK];
    const lt_fused_walk *w = &p->walk;
    int last = w->n_dims - 1;
    if (last < 0) return LT_ACCESS_SAME;
    lt_fused_walk_strides(w, v, s);
    if (s[last] == 0) return LT_ACCESS_SAME;
    bool whole = s[last] == 1 && v->offset % p->vector == 0;
    for (int d = 0; d < last; d++) whole = whole && s[d] % p->vector == 0;
    return whole ? LT_ACCESS_PACK : LT_ACCESS_EACH;
}

static size_t narrowest(const lt_fused *f)
{
    size_t bytes = 8;
    for (int i = 0; i < f->n_loads; i++) bytes = LT_MIN(bytes, lt_dtype_size(f->loads[i].from));
    for (int i = 0; i < f->n_stores; i++) bytes = LT_MIN(bytes, lt_dtype_size(f->stores[i].to));
    return bytes;
}

static int n_slow_steps(const lt_fused *f)
{
    int n = 0;
    for (int i = 0; i < f->n_steps; i++) n += lt_op_is_slow(f->steps[i].op);
    return n;
}

/* The widest pack that some view can use; it divides the last dim unless that is the only one. */
static void choose_vector(lt_fused_pass *p)
{
    const lt_fused *f = p->f;
    int last = p->walk.n_dims - 1;
    int most = narrowest(f) >= 8 ? 2 : narrowest(f) >= 4 ? 4 : 8;
    /* Every step is written out once per element: long programs take narrow packs. */
    if (f->n_regs > 64 || n_slow_steps(f) > 4) most = LT_MIN(most, 4);
    if (n_slow_steps(f) > 12) most = LT_MIN(most, 2);
    for (p->vector = most; p->vector > 1; p->vector /= 2) {
        bool useful = last >= 0 && (last == 0 ? p->walk.dim[0] >= 64 : p->walk.dim[last] % p->vector == 0);
        int packs = 0;
        for (int i = 0; i < f->n_loads; i++) packs += lt_fused_pass_access(p, &f->loads[i].view) == LT_ACCESS_PACK;
        for (int i = 0; i < f->n_stores; i++) packs += lt_fused_pass_access(p, &f->stores[i].view) == LT_ACCESS_PACK;
        if (useful && packs) return;
    }
}

/* ---- Index width ------------------------------------------------------------------------------ */
static int64_t reach(const lt_fused_walk *w, const lt_affine *v)
{
    int64_t s[LT_MAX_RANK], most = v->offset < 0 ? -v->offset : v->offset;
    lt_fused_walk_strides(w, v, s);
    for (int d = 0; d < w->n_dims; d++) most += (s[d] < 0 ? -s[d] : s[d]) * (w->dim[d] - 1);
    return most;
}

static bool needs_64_bits(const lt_fused_pass *p)
{
    const int64_t limit = (int64_t)1 << 30; /* with room for what a last block runs over */
    int64_t most = p->walk.kept * p->walk.reduced;
    for (int i = 0; i < p->f->n_loads; i++) most = LT_MAX(most, reach(&p->walk, &p->f->loads[i].view));
    for (int i = 0; i < p->f->n_stores; i++) most = LT_MAX(most, reach(&p->walk, &p->f->stores[i].view));
    return most >= limit;
}

/* ---- Threads and blocks ------------------------------------------------------------------------- */
static int64_t power_of_two_from(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* 16 bytes per thread and load in flight reach the memory's full rate; more only takes registers. */
static int choose_unroll(const lt_fused_pass *p)
{
    int64_t bytes = (int64_t)narrowest(p->f) * p->vector;
    return bytes < 16 && n_slow_steps(p->f) <= 2 && p->f->n_loads <= 8 ? (int)LT_MIN(16 / bytes, 4) : 1;
}

static lt_status size_grid(lt_fused_pass *p)
{
    int64_t blocks = ceil_div(ceil_div(p->walk.kept, p->vector), (int64_t)LT_FUSED_THREADS * p->unroll);
    if (blocks > INT32_MAX) return LT_FAIL(LT_ERR_SHAPE, "fused kernel over %s: too many elements for one grid", lt_shape_str(&p->f->domain).s);
    p->grid[0] = (unsigned)blocks;
    return LT_OK;
}

static lt_status plan_elementwise(lt_fused_pass *p)
{
    choose_vector(p);
    p->unroll = choose_unroll(p);
    return size_grid(p);
}

lt_status lt_fused_pass_reshape(lt_fused_pass *p, lt_fused_shape shape)
{
    if (p->reduces) return LT_FAIL(LT_ERR_ARGUMENT, "a fused kernel with reductions has one shape only");
    p->vector = LT_MIN(p->vector, shape.vector);
    p->unroll = shape.unroll;
    return size_grid(p);
}

/* The order of a sum follows from items, lanes and parts, and these from shape and type alone: compiled and eager programs,
   aligned memory and other, give the same bits. */
static int reduction_vector(const lt_fused *f, int last)
{
    int vector = f->type == LT_F64 ? 2 : 4;
    while (vector > 1 && (last < 0 || f->domain.dim[last] % vector)) vector /= 2;
    return vector;
}

/* Does not change the order of a sum. Every load in flight takes registers, so wide programs unroll less. */
static int reduction_unroll(const lt_fused_pass *p)
{
    const lt_fused *f = p->f;
    if (n_slow_steps(f) > 2 || f->n_regs > 64) return p->vector > 1 ? 1 : 2;
    return p->vector * f->n_loads <= 8 ? 4 : p->vector * f->n_loads <= 16 ? 2 : 1;
}

/* Few results of many elements each are cut into parts, so that every multiprocessor has work. */
static lt_status plan_reduction(lt_fused_pass *p)
{
    enum { ENOUGH_BLOCKS = 528, ENOUGH_THREADS = 1 << 18, LEAST_PER_THREAD = 16, MAX_PARTS = 1024 };
    const lt_fused_walk *w = &p->walk;
    int last = p->f->domain.rank - 1;
    while (last > 0 && p->f->domain.dim[last] == 1) last--;
    p->inner = last < 0 || (p->axes >> last & 1);
    p->vector = p->inner ? reduction_vector(p->f, last) : 1;
    p->unroll = reduction_unroll(p);
    /* Where results alone give every multiprocessor enough to do, threads take more each: folding takes time, too. */
    bool many = w->kept * ceil_div(w->reduced, 32) >= ENOUGH_THREADS;
    int64_t share = power_of_two_from(ceil_div(w->reduced, p->inner && !many ? 8 : 32));
    int64_t most = p->inner ? LT_FUSED_THREADS : LT_FUSED_THREADS / 32;
    if (!p->inner && w->kept < 32) most = LT_FUSED_THREADS / power_of_two_from(w->kept);
    p->lanes = (int)LT_MAX(1, LT_MIN(share, most));
    int64_t results = LT_FUSED_THREADS / p->lanes, blocks = ceil_div(w->kept, results);
    p->parts = LT_MIN(ceil_div(ENOUGH_BLOCKS, LT_MAX(blocks, 1)), w->reduced / ((int64_t)p->lanes * LEAST_PER_THREAD));
    p->parts = LT_MAX(1, LT_MIN(p->parts, MAX_PARTS));
    p->part_items = ceil_div(w->reduced / p->vector, p->parts);
    if (blocks > INT32_MAX) return LT_FAIL(LT_ERR_SHAPE, "fused reduction over %s: too many results for one grid", lt_shape_str(&p->f->domain).s);
    p->grid[0] = (unsigned)blocks;
    p->grid[1] = (unsigned)p->parts;
    return LT_OK;
}

lt_status lt_fused_pass_plan(const lt_fused *f, uint32_t axes, bool stores, lt_fused_pass *out)
{
    *out = (lt_fused_pass){ .f = f, .axes = axes, .stores = stores, .parts = 1, .grid = { 1, 1, 1 } };
    for (int i = 0; i < f->n_reduces; i++) out->reduces = out->reduces || f->reduces[i].axes == axes;
    if (!out->reduces) out->axes = 0;
    make_walk(out);
    out->wide = needs_64_bits(out);
    return out->reduces ? plan_reduction(out) : plan_elementwise(out);
}

lt_status lt_fused_pass_plan_copy(const lt_fused *f, lt_fused_pass *out)
{
    LT_TRY(lt_fused_pass_plan(f, 0, true, out));
    out->raw = true;
    return LT_OK;
}
