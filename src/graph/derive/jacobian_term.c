/* Terms of a Jacobian: making them dense and changing how their axes are split.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/derive/jacobian.h"

#include "base/status.h"

#include <string.h>

static void clear_axes(lt_jacobian_term *t)
{
    for (int b = 0; b < LT_MAX_RANK; b++) {
        t->follows[b] = LT_AXIS_FREE;
        t->offset[b] = 0;
        t->stride[b] = 0;
    }
}

static void open_window(lt_jacobian_term *t)
{
    for (int a = 0; a < t->seed.rank; a++) { t->low[a] = 0; t->window[a] = t->seed.dim[a]; }
}

/* [seed…, shape…]; a rank above the limit is the caller's to avoid. */
static lt_shape joined(const lt_shape *seed, const lt_shape *shape)
{
    lt_shape s = *seed;
    for (int i = 0; i < shape->rank && s.rank < LT_MAX_RANK; i++) s.dim[s.rank++] = shape->dim[i];
    return s;
}

lt_jacobian_term lt_term_identity(lt_graph *g, lt_node y, int group)
{
    lt_shape s = { .rank = 0 };
    const lt_shape *full = lt_shape_at(g, y);
    for (int i = 0; i < full->rank; i++) if (full->dim[i] != 1) s.dim[s.rank++] = full->dim[i];
    lt_jacobian_term t = { .group = group, .seed = s, .shape = s };
    if (2 * s.rank > LT_MAX_RANK) { /* too many axes to pair: one long one */
        t.seed = t.shape = lt_shape1(lt_shape_count(&s));
        s = t.seed;
    }
    clear_axes(&t);
    open_window(&t);
    lt_shape ones = { .rank = 2 * s.rank };
    for (int b = 0; b < ones.rank; b++) ones.dim[b] = 1;
    for (int b = 0; b < s.rank; b++) { t.follows[b] = (int8_t)b; t.stride[b] = 1; }
    t.core = lt_full(g, lt_dtype_at(g, y), ones, 1);
    return t;
}

lt_jacobian_term lt_term_from_dense(lt_graph *g, lt_node dense, int group, const lt_shape *shape)
{
    lt_jacobian_term t = { .group = group, .seed = lt_shape1(lt_shape_at(g, dense)->dim[0]), .shape = *shape, .core = dense };
    clear_axes(&t);
    open_window(&t);
    return t;
}

bool lt_term_is_dense(const lt_jacobian_term *t)
{
    for (int b = 0; b < t->shape.rank; b++) if (t->follows[b] != LT_AXIS_FREE) return false;
    for (int a = 0; a < t->seed.rank; a++) if (t->low[a] || t->window[a] != t->seed.dim[a]) return false;
    return true;
}

bool lt_term_same_form(const lt_jacobian_term *a, const lt_jacobian_term *b)
{
    if (a->group != b->group || !lt_shape_equal(&a->seed, &b->seed) || !lt_shape_equal(&a->shape, &b->shape)) return false;
    for (int i = 0; i < a->seed.rank; i++)
        if (a->low[i] != b->low[i] || a->window[i] != b->window[i]) return false;
    for (int i = 0; i < a->shape.rank; i++)
        if (a->follows[i] != b->follows[i] || (a->follows[i] != LT_AXIS_FREE &&
            (a->offset[i] != b->offset[i] || (a->follows[i] >= 0 && a->stride[i] != b->stride[i])))) return false;
    return true;
}

lt_node lt_term_dense(lt_graph *g, const lt_jacobian_term *t)
{
    if (lt_is_none(t->core)) return LT_NONE;
    lt_shape full = joined(&t->seed, &t->shape), out = { .rank = 0 }, wide = full;
    int64_t dense[LT_MAX_RANK];
    lt_affine at = { .offset = 0 };
    lt_dense_strides(&full, dense);
    for (int a = 0; a < t->seed.rank; a++) {
        wide.dim[a] = t->window[a];
        at.stride[a] = dense[a];
        at.offset += t->low[a] * dense[a];
    }
    for (int b = 0; b < t->shape.rank; b++) {
        int64_t step = dense[t->seed.rank + b];
        if (t->follows[b] == LT_AXIS_FREE) { at.stride[t->seed.rank + b] = step; continue; }
        wide.dim[t->seed.rank + b] = 1;
        at.offset += t->offset[b] * step;
        if (t->follows[b] < 0) continue;
        at.stride[t->follows[b]] += t->stride[b] * step;
        at.offset += t->low[t->follows[b]] * t->stride[b] * step;
    }
    out.dim[out.rank++] = lt_shape_count(&t->seed);
    for (int b = 0; b < t->shape.rank && out.rank < LT_MAX_RANK; b++) out.dim[out.rank++] = t->shape.dim[b];
    lt_node core = lt_broadcast_to(g, t->core, wide);
    if (!lt_term_is_dense(t)) core = lt_place(g, &full, 1, &core, &at);
    return lt_is_none(core) ? core : lt_reshape(g, core, out);
}

/* ---- refactoring ---- */

/* A run of old axes [f0, f1) that holds the same elements as the new axes [t0, t1). */
typedef struct term_block { int f0, f1, t0, t1; } term_block;

static int match_blocks(const lt_shape *from, const lt_shape *to, term_block *out)
{
    int n = 0, f = 0, t = 0;
    while (f < from->rank || t < to->rank) {
        term_block b = { f, f, t, t };
        int64_t pf = 1, pt = 1;
        do {
            if (pf <= pt && f < from->rank) pf *= from->dim[f++];
            else if (t < to->rank) pt *= to->dim[t++];
            else return -1;
        } while (pf != pt);
        while (f < from->rank && from->dim[f] == 1) f++;
        while (t < to->rank && to->dim[t] == 1) t++;
        b.f1 = f;
        b.t1 = t;
        out[n++] = b;
        if (n == LT_MAX_RANK) break;
    }
    return n;
}

/* A whole seed axis followed from the start, by this node axis alone. */
static bool follows_whole(const lt_jacobian_term *t, int b)
{
    int a = t->follows[b];
    if (a < 0 || t->offset[b] || t->stride[b] != 1 || t->shape.dim[b] != t->seed.dim[a] || t->low[a] || t->window[a] != t->seed.dim[a])
        return false;
    for (int o = 0; o < t->shape.rank; o++) if (o != b && t->follows[o] == a) return false;
    return true;
}

static int only_long_axis(const lt_shape *s, int first, int last)
{
    int found = -1;
    for (int i = first; i < last; i++) {
        if (s->dim[i] == 1) continue;
        if (found >= 0) return -2;
        found = i;
    }
    return found;
}

/* A term on its way to new axes. */
typedef struct refitting {
    const lt_jacobian_term *old;
    lt_jacobian_term out;
    term_block block[LT_MAX_RANK];
    int      n_blocks;
    int      split_by[LT_MAX_RANK]; /* block that splits old seed axis a, or -1 */
    int      first[LT_MAX_RANK];    /* where old seed axis a begins among the new ones */
    lt_shape old_core, core;
} refitting;

/* Which seed axes are split, by which blocks. False: a merge of axes, or a split of what does not follow one seed axis whole. */
static bool find_splits(refitting *r)
{
    const lt_jacobian_term *t = r->old;
    for (int a = 0; a < t->seed.rank; a++) r->split_by[a] = -1;
    for (int k = 0; k < r->n_blocks; k++) {
        const term_block *b = &r->block[k];
        int from = only_long_axis(&t->shape, b->f0, b->f1);
        if (from == -2) return false;
        if (from == -1 || only_long_axis(&r->out.shape, b->t0, b->t1) != -2 || t->follows[from] == LT_AXIS_FREE) continue;
        if (!follows_whole(t, from)) return false;
        r->split_by[t->follows[from]] = k;
    }
    for (int b = 0; b < t->shape.rank; b++) /* unit axes may not follow anything once they are gone */
        if (t->shape.dim[b] == 1 && t->follows[b] >= 0 && t->window[t->follows[b]] != 1) return false;
    return true;
}

/* The new seed axes. False: too many. */
static bool lay_seed_axes(refitting *r)
{
    const lt_jacobian_term *t = r->old;
    lt_jacobian_term *out = &r->out;
    for (int a = 0; a < t->seed.rank; a++) {
        r->first[a] = out->seed.rank;
        int k = r->split_by[a], t0 = k < 0 ? 0 : r->block[k].t0, t1 = k < 0 ? 1 : r->block[k].t1;
        for (int i = t0; i < t1; i++) {
            if (out->seed.rank + out->shape.rank >= LT_MAX_RANK) return false;
            int64_t extent = k < 0 ? t->seed.dim[a] : out->shape.dim[i];
            r->core.dim[r->core.rank++] = r->old_core.dim[a] == 1 ? 1 : k < 0 ? r->old_core.dim[a] : extent;
            out->low[out->seed.rank] = k < 0 ? t->low[a] : 0;
            out->window[out->seed.rank] = k < 0 ? t->window[a] : extent;
            out->seed.dim[out->seed.rank++] = extent;
        }
    }
    return true;
}

/* The node's new axes: the long one of a block, or the parts it was split into, follow what it followed. */
static void lay_shape_axes(refitting *r)
{
    const lt_jacobian_term *t = r->old;
    lt_jacobian_term *out = &r->out;
    clear_axes(out);
    for (int k = 0; k < r->n_blocks; k++) {
        const term_block *b = &r->block[k];
        int from = only_long_axis(&t->shape, b->f0, b->f1), f = from >= 0 ? t->follows[from] : LT_AXIS_FREE;
        bool split = f >= 0 && r->split_by[f] >= 0;
        for (int i = b->t0; i < b->t1; i++) {
            int64_t extent = out->shape.dim[i];
            bool moves = from >= 0 && extent != 1;
            r->core.dim[r->core.rank++] = moves && f == LT_AXIS_FREE && r->old_core.dim[t->seed.rank + from] != 1 ? extent : 1;
            if (!moves || f == LT_AXIS_FREE) continue;
            out->follows[i] = (int8_t)(f < 0 ? f : r->first[f] + (split ? i - b->t0 : 0));
            out->offset[i] = split ? 0 : t->offset[from];
            out->stride[i] = split ? 1 : t->stride[from];
        }
    }
}

/* Rewrites the term for the new axes where each block is unchanged up to unit axes, or a split of
   one axis; anything else is left to the dense form. */
static bool refit(lt_graph *g, lt_jacobian_term *t, const lt_shape *to)
{
    refitting r = { .old = t, .out = { .group = t->group, .shape = *to, .core = t->core }, .old_core = *lt_shape_at(g, t->core) };
    r.n_blocks = match_blocks(&t->shape, to, r.block);
    if (r.n_blocks < 0 || !find_splits(&r) || !lay_seed_axes(&r)) return false;
    lay_shape_axes(&r);
    r.out.core = lt_reshape(g, t->core, r.core);
    *t = r.out;
    return true;
}

void lt_term_fit(lt_graph *g, lt_jacobian_term *t, const lt_shape *shape)
{
    if (lt_is_none(t->core) || lt_shape_equal(&t->shape, shape)) return;
    if (lt_shape_count(shape) > 0 && refit(g, t, shape)) return;
    lt_node dense = lt_term_dense(g, t);
    if (lt_is_none(dense)) { t->core = dense; return; }
    lt_shape s = { .rank = 1, .dim = { lt_shape_count(&t->seed) } };
    for (int i = 0; i < shape->rank && s.rank < LT_MAX_RANK; i++) s.dim[s.rank++] = shape->dim[i];
    *t = lt_term_from_dense(g, lt_reshape(g, dense, s), t->group, shape);
}
