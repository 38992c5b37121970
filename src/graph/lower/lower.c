/* From scheduled groups to fused kernels, and where every value lies.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/lower/lower.h"

#include "base/status.h"

#include <string.h>

lt_place_of lt_schedule_locate(const lt_schedule *s, int32_t id)
{
    lt_place_of at = { lt_schedule_strip(s, id), 0 };
    for (;;) {
        const lt_ir_node *n = &s->m->ir.node[at.node];
        if (n->op != LT_OP_VIEW || s->unit_of[at.node] >= 0) return at;
        at.offset_bytes += (size_t)n->attr.u.view.offset * lt_dtype_size((lt_dtype)n->dtype);
        at.node = lt_schedule_strip(s, n->in[0]);
    }
}

/* A group being written down. */
typedef struct lowering {
    const lt_schedule *s;
    const lt_unit     *u;
    lt_fused_load   *load;
    lt_fused_const  *constant;
    lt_fused_step   *step;
    lt_fused_store  *store;
    lt_fused_reduce *reduce;
    int32_t         *member;     /* the members, and … */
    int32_t         *reg;        /* … the register each is in */
    int              n_members;
    lt_lowered      *out;
} lowering;

static const lt_ir_node *node_of(const lowering *w, int32_t id) { return &w->s->m->ir.node[id]; }

static int argument(lowering *w, int32_t node, bool writes)
{
    lt_lowered *o = w->out;
    for (int i = 0; i < o->fused.n_args; i++)
        if (o->arg[i] == node) return i;
    o->arg[o->fused.n_args] = node;
    o->writes[o->fused.n_args] = writes;
    return o->fused.n_args++;
}

static int32_t constant_register(lowering *w, double value)
{
    lt_fused *f = &w->out->fused;
    for (int i = 0; i < f->n_consts; i++)
        if (memcmp(&w->constant[i].value, &value, sizeof value) == 0) return w->constant[i].reg;
    w->constant[f->n_consts++] = (lt_fused_const){ f->n_regs, value };
    return f->n_regs++;
}

static int32_t load_register(lowering *w, int32_t memory, const lt_affine *view)
{
    lt_fused *f = &w->out->fused;
    int arg = argument(w, memory, false);
    for (int i = 0; i < f->n_loads; i++)
        if (w->load[i].arg == arg && memcmp(&w->load[i].view, view, sizeof *view) == 0) return w->load[i].reg;
    w->load[f->n_loads++] = (lt_fused_load){ arg, f->n_regs, (lt_dtype)node_of(w, memory)->dtype, *view };
    return f->n_regs++;
}

/* The register of an operand: a member's, a constant's, or a new load. */
static lt_status operand_register(lowering *w, int32_t id, int32_t *reg)
{
    int32_t r = lt_schedule_strip(w->s, id);
    const lt_ir_node *n = node_of(w, r);
    for (int i = w->n_members - 1; i >= 0; i--)
        if (w->member[i] == r) { *reg = w->reg[i]; return LT_OK; }
    if (n->op == LT_OP_FULL) { *reg = constant_register(w, n->attr.u.value); return LT_OK; }
    lt_affine view = { .offset = 0 };
    int32_t memory = r;
    if (lt_schedule_reads_through(w->s, w->u, r)) {
        if (!lt_affine_reshape(&n->attr.u.view, &n->shape, &w->u->domain, &view))
            return LT_FAIL(LT_ERR_INTERNAL, "fuse: view %%%d cannot be indexed by %s", r, lt_shape_str(&w->u->domain).s);
        memory = lt_schedule_strip(w->s, n->in[0]);
    } else {
        lt_dense_strides(&w->u->domain, view.stride);
    }
    *reg = load_register(w, memory, &view);
    return LT_OK;
}

/* Axes of a reduction as bits of the domain, which leaves out axes of extent 1. */
static uint32_t domain_axes(const lowering *w, const lt_ir_node *n)
{
    const lt_shape *in = &node_of(w, n->in[0])->shape, *d = &w->u->domain;
    uint32_t axes = 0, bit = 0;
    bool whole = true;
    for (int i = 0; i < in->rank; i++) {
        if (in->dim[i] == 1) continue;
        if (n->attr.u.reduce.axes >> i & 1) axes |= 1u << bit; else whole = false;
        bit++;
    }
    return whole ? (1u << d->rank) - 1 : axes;
}

static void store(lowering *w, int32_t id, int32_t reg)
{
    const lt_ir_node *n = node_of(w, id);
    lt_fused_store st = { reg, argument(w, id, true), (lt_dtype)n->dtype, { .offset = 0 } };
    lt_dense_strides(&w->u->domain, st.view.stride);
    w->store[w->out->fused.n_stores++] = st;
}

static lt_status lower_member(lowering *w, int32_t id)
{
    const lt_ir_node *n = node_of(w, id);
    lt_fused *f = &w->out->fused;
    int32_t src[3] = { 0 };
    for (int i = 0; i < n->n_in; i++) LT_TRY(operand_register(w, n->in[i], &src[i]));
    if (lt_op_is_reduce((lt_op)n->op)) {
        w->reduce[f->n_reduces++] = (lt_fused_reduce){ (lt_op)n->op, src[0], argument(w, id, true), (lt_dtype)n->dtype, domain_axes(w, n) };
        return LT_OK;
    }
    int32_t reg = src[0]; /* a cast only changes how its value is stored */
    if (n->op != LT_OP_CAST) {
        reg = f->n_regs++;
        w->step[f->n_steps++] = (lt_fused_step){ (lt_op)n->op, reg, { src[0], src[1], src[2] } };
    }
    w->member[w->n_members] = id;
    w->reg[w->n_members++] = reg;
    if (w->s->stored[id]) store(w, id, reg);
    return LT_OK;
}

lt_status lt_lower_group(const lt_schedule *s, const lt_unit *u, lt_arena *a, lt_lowered *out)
{
    size_t n = (size_t)u->n_members + 1, operands = 3 * n;
    lowering w = { .s = s, .u = u, .out = out };
    *out = (lt_lowered){ .fused = { .type = u->type, .domain = u->domain } };
    w.load = lt_arena_alloc(a, operands * sizeof *w.load);
    w.constant = lt_arena_alloc(a, operands * sizeof *w.constant);
    w.step = lt_arena_alloc(a, n * sizeof *w.step);
    w.store = lt_arena_alloc(a, n * sizeof *w.store);
    w.reduce = lt_arena_alloc(a, n * sizeof *w.reduce);
    w.member = lt_arena_alloc(a, n * sizeof *w.member);
    w.reg = lt_arena_alloc(a, n * sizeof *w.reg);
    out->arg = lt_arena_alloc(a, (operands + n) * sizeof *out->arg);
    out->writes = lt_arena_alloc(a, (operands + n) * sizeof *out->writes);
    if (!w.load || !w.constant || !w.step || !w.store || !w.reduce || !w.member || !w.reg || !out->arg || !out->writes)
        return LT_ERR_MEMORY;
    if (u->op >= 0) argument(&w, u->op, true);
    for (int32_t id = u->first; id >= 0; id = s->next[id]) LT_TRY(lower_member(&w, id));
    out->fused.loads = w.load;
    out->fused.consts = w.constant;
    out->fused.steps = w.step;
    out->fused.stores = w.store;
    out->fused.reduces = w.reduce;
    return LT_OK;
}

void lt_lower_key(const lt_schedule *s, const lt_unit *u, const lt_lowered *low, lt_problem_key *out)
{
    const lt_ir *ir = &s->m->ir;
    const lt_ir_node *n = &ir->node[u->op];
    *out = (lt_problem_key){ .op = (lt_op)n->op, .n_in = n->n_in, .attr = &n->attr, .isa = lt_isa_best(), .out = { (lt_dtype)n->dtype, n->shape },
                             .epilogue = u->first >= 0 ? &low->fused : NULL };
    for (int i = 0; i < n->n_in; i++) {
        const lt_ir_node *a = &ir->node[lt_ir_in(n, i)];
        out->in[i] = (lt_tensor_type){ (lt_dtype)a->dtype, a->shape };
    }
}
