/* Fusion: which elementwise nodes and reductions share a kernel. SPDX-License-Identifier: BSD-3-Clause

   Nodes are visited in order. A node that is used once and made only from values that lie in
   memory anyway waits for its user and is computed there: a relu's mask, say, is never stored.
   Every other node joins the group of an operand, or a new one. Depths keep groups from depending
   on each other in a circle: whatever a group reads from memory has a smaller depth. */
#include "graph/lower/schedule_internal.h"

#include "base/dtype.h"
#include "base/status.h"

#define MAX_MEMBERS 92           /* with 32 loads and a store each: below LT_KERNEL_MAX_ARGS */
#define MAX_WAITING 24           /* nodes that may wait for one user */
#define MAX_TREE (3 * MAX_WAITING + 1) /* a node with the trees of its operands */
#define MAX_REREAD 2             /* tensors a waiting tree may read again */
#define SMALL_DOMAIN 4096        /* unrelated groups up to this size share a kernel: launches cost more */
#define RECENT 8                 /* how many units back such a partner is looked for */

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

/* ---- wishes: what is to join a group together ---- */

typedef struct wish {
    int32_t  node[MAX_TREE];        /* waiting operands first, then the node itself */
    int      n;
    lt_dtype type;
    lt_shape domain;
    bool     rigid, reduces;
    int      min_depth;             /* of a group that has none of the operands as registers */
    int32_t  memory[3 * MAX_TREE];  /* what is read from memory outside the group, each once */
    int      n_memory;
} wish;

static const lt_ir_node *node_of(const lt_schedule *s, int32_t id) { return &s->m->ir.node[id]; }
static bool is_lazy_view(const lt_schedule *s, int32_t id) { return node_of(s, id)->op == LT_OP_VIEW && s->unit_of[id] < 0; }

/* Whether a node's own needs fix the factors of the domain. */
static bool is_rigid(const lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = node_of(s, id);
    if (lt_op_is_reduce((lt_op)n->op)) {
        const lt_shape *in = &node_of(s, n->in[0])->shape;
        for (int i = 0; i < in->rank; i++)
            if (in->dim[i] != 1 && !(n->attr.u.reduce.axes >> i & 1)) return true;
    }
    for (int i = 0; i < n->n_in; i++)
        if (is_lazy_view(s, lt_schedule_strip(s, n->in[i]))) return true;
    return false;
}

/* Adds a node and, before it, its waiting operands. False: an operand cannot be computed in the
   same group and must be placed first; it is named in *blocker. */
static bool gather(const lt_schedule *s, int32_t id, wish *w, int32_t *blocker)
{
    const lt_ir_node *n = node_of(s, id);
    bool rigid = is_rigid(s, id);
    lt_shape domain = lt_group_domain(&s->m->ir, id);
    *blocker = id;
    if (lt_compute_type((lt_dtype)n->dtype) != w->type || lt_shape_count(&domain) != lt_shape_count(&w->domain)) return false;
    if (rigid && w->rigid && !lt_shape_equal(&domain, &w->domain)) return false;
    if (rigid && !w->rigid) { w->domain = domain; w->rigid = true; }
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        if (s->waiting[r] && !gather(s, r, w, blocker)) return false;
    }
    w->node[w->n++] = id;
    return true;
}

static void add_memory(wish *w, int32_t memory)
{
    for (int i = 0; i < w->n_memory; i++) if (w->memory[i] == memory) return;
    w->memory[w->n_memory++] = memory;
}

static lt_status make_wish(lt_schedule *s, int32_t id, wish *w)
{
    int32_t blocker;
    for (;;) {
        *w = (wish){ .type = lt_compute_type((lt_dtype)node_of(s, id)->dtype), .domain = lt_group_domain(&s->m->ir, id), .min_depth = 1 };
        w->rigid = is_rigid(s, id);
        w->reduces = lt_op_is_reduce((lt_op)node_of(s, id)->op);
        if (gather(s, id, w, &blocker)) break;
        LT_TRY(lt_schedule_place_waiting(s, blocker));
    }
    for (int k = 0; k < w->n; k++) {
        const lt_ir_node *n = node_of(s, w->node[k]);
        for (int i = 0; i < n->n_in; i++) {
            int32_t r = lt_schedule_strip(s, n->in[i]);
            if (s->waiting[r] || node_of(s, r)->op == LT_OP_FULL) continue;
            add_memory(w, r);
            w->min_depth = LT_MAX(w->min_depth, lt_schedule_available(s, r) + 1);
        }
    }
    return LT_OK;
}

/* ---- groups ---- */

/* Readers must see the stored value where storing changes it: a cast to a type smaller than
   registers is a rounding that was asked for, and arithmetic on integers may leave their range. */
static bool rounds(const lt_ir_node *n)
{
    if (n->op == LT_OP_CAST) return n->dtype != lt_compute_type((lt_dtype)n->dtype);
    lt_op_kind kind = lt_op_kind_of((lt_op)n->op);
    return lt_dtype_is_integer((lt_dtype)n->dtype) && kind != LT_KIND_PICK && kind != LT_KIND_STEP;
}

/* Whether r is a register of group u: computed there, neither a reduction nor a rounding. */
static bool is_register(const lt_schedule *s, int32_t u, int32_t r)
{
    const lt_ir_node *n = node_of(s, r);
    return s->unit_of[r] == u && s->unit[u].op < 0 && !lt_op_is_reduce((lt_op)n->op) && !rounds(n);
}

static bool knows_external(const lt_unit *u, int32_t memory)
{
    for (int i = 0; i < u->n_externals; i++) if (u->external[i] == memory) return true;
    return false;
}

/* Operands are registers of the group or ready before it, and shapes agree. */
static bool can_join(const lt_schedule *s, int32_t unit, const wish *w)
{
    const lt_unit *u = &s->unit[unit];
    int new_externals = 0;
    if (u->op >= 0 || u->type != w->type || u->n_members + w->n > MAX_MEMBERS) return false;
    if (lt_shape_count(&u->domain) != lt_shape_count(&w->domain)) return false;
    if (u->rigid && w->rigid && !lt_shape_equal(&u->domain, &w->domain)) return false;
    for (int i = 0; i < w->n_memory; i++) {
        if (is_register(s, unit, w->memory[i])) continue;
        if (lt_schedule_available(s, w->memory[i]) >= u->depth) return false;
        new_externals += !knows_external(u, lt_schedule_memory(s, w->memory[i]));
    }
    return u->n_externals + new_externals <= (int)LT_LEN(u->external);
}

static void join(lt_schedule *s, int32_t unit, const wish *w)
{
    lt_unit *u = &s->unit[unit];
    for (int i = 0; i < w->n_memory; i++) {
        if (is_register(s, unit, w->memory[i])) continue;
        int32_t memory = lt_schedule_memory(s, w->memory[i]);
        s->stored[memory] = true;
        if (!knows_external(u, memory)) u->external[u->n_externals++] = memory;
    }
    if (w->rigid && !u->rigid) u->domain = w->domain;
    u->rigid = u->rigid || w->rigid;
    u->reduces = u->reduces || w->reduces;
    for (int k = 0; k < w->n; k++) {
        int32_t id = w->node[k];
        if (u->last >= 0) s->next[u->last] = id; else u->first = id;
        u->last = id;
        u->n_members++;
        s->unit_of[id] = unit;
        s->waiting[id] = false;
    }
}

/* The deepest group of an operand that takes the wish; else a recent group of the same size that
   is small or reads the same memory. */
static int32_t find_group(const lt_schedule *s, const wish *w)
{
    int32_t best = -1;
    for (int i = 0; i < w->n_memory; i++) {
        int32_t u = s->unit_of[w->memory[i]];
        if (u >= 0 && (best < 0 || s->unit[u].depth > s->unit[best].depth) && can_join(s, u, w)) best = u;
    }
    for (int32_t u = s->n_units - 1; best < 0 && u >= 0 && u >= s->n_units - RECENT; u--) {
        if (s->unit[u].depth < w->min_depth || !can_join(s, u, w)) continue;
        bool related = lt_shape_count(&w->domain) <= SMALL_DOMAIN;
        for (int i = 0; !related && i < w->n_memory; i++)
            related = knows_external(&s->unit[u], lt_schedule_memory(s, w->memory[i]));
        if (related) best = u;
    }
    return best;
}

lt_status lt_schedule_place_waiting(lt_schedule *s, int32_t id)
{
    wish w;
    s->waiting[id] = false; /* it is the head of its own wish now */
    LT_TRY(make_wish(s, id, &w));
    int32_t u = s->fuse ? find_group(s, &w) : -1;
    if (u < 0) {
        LT_TRY(lt_schedule_add_unit(s, -1, w.min_depth, &u));
        s->unit[u].type = w.type;
        s->unit[u].domain = w.domain;
    }
    join(s, u, &w);
    return LT_OK;
}

/* ---- waiting ---- */

/* Whether the operand's data will be in memory whatever becomes of this node. */
static bool lies_in_memory(const lt_schedule *s, int32_t r)
{
    int32_t memory = lt_schedule_memory(s, r);
    return s->unit_of[memory] < 0 || s->stored[memory];
}

/* A node may wait for its only user when that costs no more memory traffic than storing it. */
static bool may_wait(lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = node_of(s, id);
    int length = 1, reread = 0;
    if (!s->fuse || s->uses[id] != 1 || lt_op_is_reduce((lt_op)n->op) || rounds(n)) return false;
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        if (node_of(s, r)->op == LT_OP_FULL) continue;
        if (s->waiting[r]) {
            length += s->wait_length[r];
            reread += s->wait_reread[r];
        } else {
            if (!lies_in_memory(s, r)) return false;
            reread += lt_ir_count(&s->m->ir, lt_schedule_memory(s, r)) > 1;
        }
    }
    s->wait_length[id] = (uint8_t)LT_MIN(length, 255);
    s->wait_reread[id] = (uint8_t)LT_MIN(reread, 255);
    return length <= MAX_WAITING && reread <= MAX_REREAD;
}

/* Views that cannot be indexed by the node's domain are copied first. */
static lt_status prepare_operands(lt_schedule *s, int32_t id)
{
    const lt_ir_node *n = node_of(s, id);
    lt_shape domain = lt_group_domain(&s->m->ir, id);
    for (int i = 0; i < n->n_in; i++) {
        int32_t r = lt_schedule_strip(s, n->in[i]);
        const lt_ir_node *v = node_of(s, r);
        lt_affine unused;
        if (is_lazy_view(s, r) && !lt_affine_reshape(&v->attr.u.view, &v->shape, &domain, &unused))
            LT_TRY(lt_schedule_copy_view(s, r));
    }
    return LT_OK;
}

lt_status lt_schedule_place_groupable(lt_schedule *s, int32_t id)
{
    LT_TRY(prepare_operands(s, id));
    s->waiting[id] = may_wait(s, id);
    return s->waiting[id] ? LT_OK : lt_schedule_place_waiting(s, id);
}
