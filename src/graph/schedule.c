/* Fusion: groups of nodes that become one kernel. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/schedule.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <string.h>

#define MAX_MEMBERS 92           /* with 32 loads and a store each: below LT_KERNEL_MAX_ARGS */
#define SMALL_DOMAIN 4096        /* unrelated groups up to this size share a kernel: launches cost more */
#define RECENT 8                 /* how many units back such a partner is looked for */

int32_t lt_schedule_strip(const lt_schedule *s, int32_t id)
{
    while (s->m->ir.node[id].op == LT_OP_RESHAPE && s->unit_of[id] < 0) id = s->m->ir.node[id].in[0];
    return id;
}

bool lt_is_groupable(const lt_ir *ir, int32_t id)
{
    const lt_ir_node *n = &ir->node[id];
    if (lt_op_is_elementwise((lt_op)n->op) || lt_op_is_reduce((lt_op)n->op)) return true;
    /* Casts to integers truncate, which registers do not: they have their own kernel. */
    return n->op == LT_OP_CAST && lt_dtype_is_float((lt_dtype)n->dtype) && !lt_dtype_is_complex((lt_dtype)ir->node[n->in[0]].dtype);
}

lt_shape lt_group_domain(const lt_ir *ir, int32_t id)
{
    const lt_ir_node *n = &ir->node[id];
    const lt_shape *s = lt_op_is_reduce((lt_op)n->op) ? &ir->node[n->in[0]].shape : &n->shape;
    lt_shape d = { .rank = 0 };
    for (int i = 0; i < s->rank; i++) if (s->dim[i] != 1) d.dim[d.rank++] = s->dim[i];
    return d;
}

static bool is_source(const lt_ir_node *n) { return n->op == LT_OP_INPUT || n->op == LT_OP_CONST || n->op == LT_OP_FULL; }

/* The node whose memory an operand is read from: below reshapes and views that were not copied. */
static int32_t memory_of(const lt_schedule *s, int32_t id)
{
    for (;;) {
        id = lt_schedule_strip(s, id);
        if (s->m->ir.node[id].op != LT_OP_VIEW || s->unit_of[id] >= 0) return id;
        id = s->m->ir.node[id].in[0];
    }
}

/* Depth of the unit that writes the operand's memory; 0 for sources. */
static int available(const lt_schedule *s, int32_t id)
{
    int32_t u = s->unit_of[memory_of(s, id)];
    return u < 0 ? 0 : s->unit[u].depth;
}

/* A cast to a type smaller than registers is a rounding that was asked for: readers must see the
   stored value. */
static bool rounds(const lt_ir_node *n) { return n->op == LT_OP_CAST && n->dtype != lt_compute_type((lt_dtype)n->dtype); }

/* Whether r is a register of group u: same number of elements, same arithmetic, not a reduction. */
static bool is_register(const lt_schedule *s, int32_t u, int32_t r)
{
    const lt_ir_node *n = &s->m->ir.node[r];
    return s->unit_of[r] == u && s->unit[u].op < 0 && !lt_op_is_reduce((lt_op)n->op) && !rounds(n);
}

static lt_status add_unit(lt_schedule *s, int32_t op, int depth, int32_t *out)
{
    if (s->n_units == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 64;
        lt_unit *unit = lt_realloc(s->unit, (size_t)capacity * sizeof *unit);
        if (!unit) return LT_ERR_MEMORY;
        s->unit = unit;
        s->capacity = capacity;
    }
    s->unit[s->n_units] = (lt_unit){ .op = op, .first = -1, .last = -1, .depth = depth };
    *out = s->n_units++;
    return LT_OK;
}

/* ---- views ---- */

static lt_status materialise(lt_schedule *s, int32_t id);

/* Gives a view a kernel that copies it out. */
static lt_status copy_view(lt_schedule *s, int32_t id)
{
    int32_t base = s->m->ir.node[id].in[0], u;
    LT_TRY(materialise(s, base));
    LT_TRY(add_unit(s, id, available(s, base) + 1, &u));
    s->unit_of[id] = u;
    s->stored[id] = true;
    return LT_OK;
}

/* Makes sure an operand lies dense in memory: views are copied unless they are a dense piece. */
static lt_status materialise(lt_schedule *s, int32_t id)
{
    int32_t r = lt_schedule_strip(s, id);
    const lt_ir_node *n = &s->m->ir.node[r];
    if (n->op == LT_OP_VIEW && s->unit_of[r] < 0) {
        if (s->fuse && lt_affine_is_dense(&n->attr.u.view, &n->shape)) return materialise(s, n->in[0]);
        return copy_view(s, r);
    }
    s->stored[r] = true;
    return LT_OK;
}

/* ---- groups ---- */

/* What a node asks of a group it would join. */
typedef struct wish {
    int32_t  id;
    lt_dtype type;
    lt_shape domain;
    bool     rigid, reduces;
    int      min_depth;      /* of a group that has none of its operands as registers */
} wish;

static wish wish_of(const lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = &s->m->ir.node[id];
    wish w = { .id = id, .type = lt_compute_type((lt_dtype)n->dtype), .domain = lt_group_domain(&s->m->ir, id), .min_depth = 1 };
    w.reduces = lt_op_is_reduce((lt_op)n->op);
    if (w.reduces) {
        const lt_shape *in = &s->m->ir.node[n->in[0]].shape;
        for (int i = 0; i < in->rank; i++)
            if (in->dim[i] != 1 && !(n->attr.u.reduce.axes >> i & 1)) w.rigid = true;
    }
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        if (s->m->ir.node[r].op == LT_OP_VIEW && s->unit_of[r] < 0) w.rigid = true;
        int depth = available(s, r) + 1;
        if (depth > w.min_depth) w.min_depth = depth;
    }
    return w;
}

static bool knows_external(const lt_unit *u, int32_t memory)
{
    for (int i = 0; i < u->n_externals; i++) if (u->external[i] == memory) return true;
    return false;
}

/* Whether w may join group u: operands are registers of it or ready before it, and shapes agree. */
static bool can_join(const lt_schedule *s, int32_t unit, const wish *w)
{
    const lt_unit *u = &s->unit[unit];
    const lt_ir_node *n = &s->m->ir.node[w->id];
    int new_externals = 0;
    if (u->op >= 0 || u->type != w->type || u->n_members >= MAX_MEMBERS) return false;
    if (lt_shape_count(&u->domain) != lt_shape_count(&w->domain)) return false;
    if (u->rigid && w->rigid && !lt_shape_equal(&u->domain, &w->domain)) return false;
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        if (s->m->ir.node[r].op == LT_OP_FULL || is_register(s, unit, r)) continue;
        if (available(s, r) >= u->depth) return false;
        new_externals += !knows_external(u, memory_of(s, r));
    }
    return u->n_externals + new_externals <= (int)LT_LEN(u->external);
}

static void join(lt_schedule *s, int32_t unit, const wish *w)
{
    lt_unit *u = &s->unit[unit];
    const lt_ir_node *n = &s->m->ir.node[w->id];
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        if (s->m->ir.node[r].op == LT_OP_FULL || is_register(s, unit, r)) continue;
        int32_t memory = memory_of(s, r);
        s->stored[memory] = true;
        if (!knows_external(u, memory)) u->external[u->n_externals++] = memory;
    }
    if (w->rigid && !u->rigid) u->domain = w->domain;
    u->rigid = u->rigid || w->rigid;
    u->reduces = u->reduces || w->reduces;
    if (u->last >= 0) s->next[u->last] = w->id; else u->first = w->id;
    u->last = w->id;
    u->n_members++;
    s->unit_of[w->id] = unit;
}

/* The group of an operand if it takes the node; else a recent group of the same size that is
   small or reads the same memory. */
static int32_t find_group(const lt_schedule *s, const wish *w)
{
    const lt_ir_node *n = &s->m->ir.node[w->id];
    int32_t best = -1;
    for (int i = 0; i < n->n_in; i++) {
        int32_t u = s->unit_of[lt_schedule_strip(s, n->in[i])];
        if (u >= 0 && (best < 0 || s->unit[u].depth > s->unit[best].depth) && can_join(s, u, w)) best = u;
    }
    if (best >= 0) return best;
    for (int32_t u = s->n_units - 1; u >= 0 && u >= s->n_units - RECENT; u--) {
        if (s->unit[u].depth < w->min_depth || !can_join(s, u, w)) continue;
        bool related = lt_shape_count(&w->domain) <= SMALL_DOMAIN;
        for (int i = 0; !related && i < n->n_in; i++)
            related = knows_external(&s->unit[u], memory_of(s, n->in[i]));
        if (related) return u;
    }
    return -1;
}

/* Views that cannot be indexed by the node's domain are copied first. */
static lt_status prepare_operands(lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = &s->m->ir.node[id];
    lt_shape domain = lt_group_domain(&s->m->ir, id);
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        const lt_ir_node *v = &s->m->ir.node[r];
        lt_affine unused;
        if (v->op == LT_OP_VIEW && s->unit_of[r] < 0 && !lt_affine_reshape(&v->attr.u.view, &v->shape, &domain, &unused))
            LT_TRY(copy_view(s, r));
    }
    return LT_OK;
}

static lt_status place_in_group(lt_schedule *s, int32_t id)
{
    LT_TRY(prepare_operands(s, id));
    wish w = wish_of(s, id);
    int32_t u = s->fuse ? find_group(s, &w) : -1;
    if (u < 0) {
        LT_TRY(add_unit(s, -1, w.min_depth, &u));
        s->unit[u].type = w.type;
        s->unit[u].domain = w.domain;
    }
    join(s, u, &w);
    return LT_OK;
}

/* ---- ops with kernels of their own ---- */

static lt_status place_op(lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = &s->m->ir.node[id];
    int depth = 0;
    int32_t u;
    for (int i = 0; i < n->n_in; i++) {
        LT_TRY(materialise(s, lt_ir_in(n, i)));
        depth = LT_MAX(depth, available(s, lt_ir_in(n, i)));
    }
    LT_TRY(add_unit(s, id, depth + 1, &u));
    s->unit_of[id] = u;
    s->stored[id] = true;
    return LT_OK;
}

/* ---- epilogues ---- */

/* Hands a group to the product or convolution it works on, when that is its only reader. */
static void attach_epilogue(lt_schedule *s, int32_t group, const int32_t *readers)
{
    lt_unit *u = &s->unit[group];
    for (int i = 0; i < u->n_externals && !u->dropped; i++) {
        int32_t id = u->external[i], host = s->unit_of[id];
        const lt_ir_node *n = &s->m->ir.node[id];
        if (host < 0 || s->unit[host].op != id || s->unit[host].first >= 0 || (n->op != LT_OP_MATMUL && n->op != LT_OP_CONV2D)) continue;
        if (readers[id] != 1 || s->unit[host].depth + 1 != u->depth || u->type != lt_compute_type((lt_dtype)n->dtype)) continue;
        lt_shape plain = lt_group_domain(&s->m->ir, id);
        if (u->reduces || (u->rigid ? !lt_shape_equal(&plain, &u->domain) : lt_shape_count(&plain) != lt_shape_count(&u->domain))) continue;
        lt_unit *h = &s->unit[host];
        h->first = u->first;
        h->last = u->last;
        h->n_members = u->n_members;
        h->n_externals = u->n_externals;
        memcpy(h->external, u->external, sizeof h->external);
        h->type = u->type;
        h->domain = n->shape;
        h->rigid = true;
        u->dropped = true;
        for (int32_t k = u->first; k >= 0; k = s->next[k]) s->unit_of[k] = host;
    }
}

/* Loads of the raw result through views see elements before they are final: not an epilogue. */
static bool loads_only_dense(const lt_schedule *s, const lt_unit *u, int32_t id)
{
    for (int32_t k = u->first; k >= 0; k = s->next[k]) {
        const lt_ir_node *n = &s->m->ir.node[k];
        for (int i = 0; i < n->n_in; i++) {
            int32_t r = lt_schedule_strip(s, n->in[i]);
            if (s->m->ir.node[r].op == LT_OP_VIEW && s->unit_of[r] < 0 && memory_of(s, r) == id) return false;
        }
    }
    return true;
}

static lt_status attach_epilogues(lt_schedule *s)
{
    int32_t *readers = lt_calloc((size_t)LT_MAX(s->m->ir.n_nodes, 1), sizeof *readers);
    if (!readers) return LT_ERR_MEMORY;
    for (int i = 0; i < s->m->n_outputs; i++) readers[memory_of(s, s->m->output[i])] += 2;
    for (int u = 0; u < s->n_units; u++) {
        const lt_unit *unit = &s->unit[u];
        for (int i = 0; i < unit->n_externals; i++)
            readers[unit->external[i]] += loads_only_dense(s, unit, unit->external[i]) ? 1 : 2;
        if (unit->op < 0) continue;
        const lt_ir_node *n = &s->m->ir.node[unit->op];
        for (int i = 0; i < n->n_in; i++) readers[memory_of(s, lt_ir_in(n, i))] += 2;
    }
    for (int u = 0; u < s->n_units; u++)
        if (s->unit[u].op < 0) attach_epilogue(s, u, readers);
    lt_free(readers);
    return LT_OK;
}

/* ---- outputs and order ---- */

/* Outputs must have memory of their own: sources, views and repeats are copied by a reshape node
   that is given a unit. */
static lt_status claim_outputs(lt_module *m)
{
    bool *claimed = lt_calloc((size_t)m->ir.n_nodes + 1, sizeof *claimed);
    lt_status s = claimed ? LT_OK : LT_ERR_MEMORY;
    int n_before = m->ir.n_nodes;
    for (int i = 0; !s && i < m->n_outputs; i++) {
        int32_t id = m->output[i], base = id;
        while (m->ir.node[base].op == LT_OP_RESHAPE && base < n_before) base = m->ir.node[base].in[0];
        if (base < n_before && !claimed[base] && !is_source(&m->ir.node[base]) && m->ir.node[base].op != LT_OP_VIEW) {
            claimed[base] = true;
            continue;
        }
        const lt_ir_node *n = &m->ir.node[id];
        lt_shape shape = n->shape;
        int32_t copy = lt_ir_push(&m->ir, LT_OP_RESHAPE, (lt_dtype)n->dtype, &shape, 1, &id, NULL);
        if (copy < 0) s = LT_ERR_MEMORY; else m->output[i] = copy;
    }
    lt_free(claimed);
    return s;
}

static void mark_live(lt_schedule *s)
{
    const lt_ir *ir = &s->m->ir;
    for (int i = 0; i < s->m->n_outputs; i++) s->live[s->m->output[i]] = true;
    for (int32_t id = ir->n_nodes - 1; id >= 0; id--)
        for (int i = 0; s->live[id] && i < ir->node[id].n_in; i++) s->live[lt_ir_in(&ir->node[id], i)] = true;
}

/* The unit whose memory operand number i of a unit's k-th reader needs, as a depth-first walk
   visits them: members' externals first, then the op's own operands. */
static int32_t dependency(const lt_schedule *s, const lt_unit *u, int i)
{
    if (i < u->n_externals) return s->unit_of[u->external[i]];
    i -= u->n_externals;
    if (u->op < 0 || i >= s->m->ir.node[u->op].n_in) return -2; /* no more */
    return s->unit_of[memory_of(s, lt_ir_in(&s->m->ir.node[u->op], i))];
}

/* Depth first from the outputs: values are made shortly before they are used, which keeps
   lifetimes short. */
static lt_status order_units(lt_schedule *s)
{
    size_t n = (size_t)LT_MAX(s->n_units, 1);
    int32_t *stack = lt_malloc(n * sizeof *stack), *step = lt_calloc(n, sizeof *step);
    bool *seen = lt_calloc(n, sizeof *seen);
    s->order = lt_malloc(n * sizeof *s->order);
    lt_status status = stack && step && seen && s->order ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; !status && i < s->m->n_outputs; i++) {
        int32_t root = s->unit_of[memory_of(s, s->m->output[i])];
        int top = 0;
        if (root < 0 || seen[root]) continue;
        seen[root] = true;
        stack[top++] = root;
        while (top) {
            int32_t u = stack[top - 1], d = dependency(s, &s->unit[u], step[u]++);
            if (d == -2) { s->order[s->n_order++] = u; top--; }
            else if (d >= 0 && d != u && !seen[d]) { seen[d] = true; stack[top++] = d; }
        }
    }
    lt_free(stack);
    lt_free(step);
    lt_free(seen);
    return status;
}

/* A lazy view can be read through by one affine map only: what it looks at must be memory. */
static lt_status place_view(lt_schedule *s, int32_t id)
{
    if (!s->fuse) return place_op(s, id);
    int32_t base = lt_schedule_strip(s, s->m->ir.node[id].in[0]);
    return s->m->ir.node[base].op == LT_OP_VIEW && s->unit_of[base] < 0 ? copy_view(s, base) : LT_OK;
}

static lt_status schedule_nodes(lt_schedule *s)
{
    const lt_ir *ir = &s->m->ir;
    mark_live(s);
    for (int32_t id = 0; id < ir->n_nodes; id++) {
        const lt_ir_node *n = &ir->node[id];
        if (!s->live[id] || is_source(n)) continue;
        if (lt_is_groupable(ir, id)) LT_TRY(place_in_group(s, id));
        else if (n->op == LT_OP_VIEW) LT_TRY(place_view(s, id));
        else if (n->op != LT_OP_RESHAPE || id >= s->first_copy) LT_TRY(place_op(s, id));
    }
    for (int i = 0; i < s->m->n_outputs; i++) s->stored[lt_schedule_strip(s, s->m->output[i])] = true;
    return LT_OK;
}

void lt_schedule_free(lt_schedule *s)
{
    lt_free(s->unit);
    lt_free(s->unit_of);
    lt_free(s->next);
    lt_free(s->stored);
    lt_free(s->live);
    lt_free(s->order);
    *s = (lt_schedule){ 0 };
}

lt_status lt_schedule_make(lt_module *m, bool fuse, lt_schedule *out)
{
    *out = (lt_schedule){ .m = m, .fuse = fuse, .first_copy = m->ir.n_nodes };
    LT_TRY(claim_outputs(m));
    size_t n = (size_t)LT_MAX(m->ir.n_nodes, 1);
    out->unit_of = lt_malloc(n * sizeof *out->unit_of);
    out->next = lt_malloc(n * sizeof *out->next);
    out->stored = lt_calloc(n, sizeof *out->stored);
    out->live = lt_calloc(n, sizeof *out->live);
    lt_status s = out->unit_of && out->next && out->stored && out->live ? LT_OK : LT_ERR_MEMORY;
    if (!s) {
        memset(out->unit_of, -1, n * sizeof *out->unit_of);
        memset(out->next, -1, n * sizeof *out->next);
        s = schedule_nodes(out);
    }
    if (!s && fuse) s = attach_epilogues(out);
    if (!s) s = order_units(out);
    if (s) lt_schedule_free(out);
    return s;
}
