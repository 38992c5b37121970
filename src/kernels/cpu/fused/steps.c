/* The ops of one pass: cheap ones join a chain that keeps its value in registers, the others are
   calls on whole blocks. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/emit.h"

#include "base/status.h"

/* ---- which ops a chain can take ------------------------------------------------ */

#define NOT_IN_CHAIN (-1)

/* The code of a unary op, or the first of the four forms of a binary one. Greater-than is
   less-than with its operands exchanged. */
static int chain_code(lt_op op, lt_dtype type)
{
    switch (op) {
#define ROW1_CHAIN(ID, name) case LT_OP_##ID: return LT_CHAIN_##ID;
#define ROW1_OWN_CHAIN(ID, name) case LT_OP_##ID: return type == LT_F32 ? LT_CHAIN_##ID : NOT_IN_CHAIN;
#define ROW1_OWN_SIDE(ID, name) case LT_OP_##ID: return type == LT_F32 ? LT_CHAIN_##ID : NOT_IN_CHAIN;
#define ROW2_CHAIN(ID, name) case LT_OP_##ID: return LT_CHAIN_##ID##_AV;
#include "kernels/cpu/vec/rows.def"
    case LT_OP_GT: return LT_CHAIN_LT_AV;
    case LT_OP_GE: return LT_CHAIN_LE_AV;
    case LT_OP_WHERE: return LT_CHAIN_WHERE_AVV;
    case LT_OP_CLAMP: return LT_CHAIN_CLAMP_AVV;
    default: return NOT_IN_CHAIN;
    }
}

static bool is_element(const emitter *e, int32_t reg) { return e->regs[reg].is_element; }

/* A clamp needs its value as a block, and both bounds of one kind. */
static bool fits_chain(const emitter *e, const lt_fused_step *s)
{
    if (s->op == LT_OP_CLAMP) return !is_element(e, s->src[0]) && is_element(e, s->src[1]) == is_element(e, s->src[2]);
    return chain_code(s->op, e->f->type) != NOT_IN_CHAIN;
}

/* Which operand is the accumulator when the register is in it; -1 when it cannot be. */
static int acc_operand(const lt_fused_step *s, int32_t reg)
{
    int n = s->op == LT_OP_CLAMP ? 1 : lt_op_arity(s->op);
    for (int j = 0; j < n; j++)
        if (s->src[j] == reg) return j;
    return -1;
}

static const lt_fused_step *next_block_step(const emitter *e, int32_t at)
{
    for (int32_t i = at + 1; i < e->f->n_steps; i++) {
        const reg_info *r = &e->regs[e->f->steps[i].reg];
        if (r->needed && !r->is_scalar) return &e->f->steps[i];
    }
    return NULL;
}

/* The only use of the value is the next step, which finds it in the accumulator. */
static bool stays_in_accumulator(const emitter *e, int32_t at)
{
    int32_t reg = e->f->steps[at].reg;
    const lt_fused_step *next = next_block_step(e, at);
    return e->regs[reg].n_uses == 1 && next && fits_chain(e, next) && acc_operand(next, reg) >= 0;
}

/* ---- chains -------------------------------------------------------------------- */

static void add_link(emitter *e, int code, int32_t a, int32_t b)
{
    e->pass->chain[e->n_chain++] = (lt_chain_step){ .code = code, .a = a, .b = b };
}

static void open_chain(emitter *e)
{
    if (e->chain_first < 0) e->chain_first = e->n_chain;
}

static void close_chain(emitter *e)
{
    if (e->chain_first < 0) return;
    add_link(e, LT_CHAIN_END, 0, 0);
    lt_emit_instr(e, (fused_instr){ .kind = FUSED_CHAIN, .index = e->chain_first });
    e->chain_first = e->acc_reg = -1;
    while (e->free_in_chain.n) e->free.at[e->free.n++] = e->free_in_chain.at[--e->free_in_chain.n];
}

/* The code for a half type that a chain reads or writes; `codes` are those of bf16 and f16. */
static int half_code(const emitter *e, lt_dtype t, const int codes[2])
{
    return e->f->type != LT_F32 ? NOT_IN_CHAIN : t == LT_BF16 ? codes[0] : t == LT_F16 ? codes[1] : NOT_IN_CHAIN;
}

/* A value of a half type that is used here only: read where it lies. */
static bool load_half(emitter *e, int32_t reg)
{
    static const int codes[2] = { LT_CHAIN_LOAD_BF16, LT_CHAIN_LOAD_F16 };
    const reg_info *r = &e->regs[reg];
    if (r->state != REG_UNSET || r->n_uses != 1) return false;
    int code = half_code(e, e->f->loads[r->load].from, codes);
    int32_t slot = code == NOT_IN_CHAIN ? -1 : lt_emit_source(e, &e->f->loads[r->load]);
    if (slot < 0) return false;
    open_chain(e);
    add_link(e, code, slot, 0);
    return true;
}

/* Brings an operand of the step into the accumulator; returns which. */
static int load_accumulator(emitter *e, const lt_fused_step *s, int32_t *spread)
{
    int have = e->chain_first >= 0 && e->acc_reg >= 0 ? acc_operand(s, e->acc_reg) : -1;
    if (have >= 0) return have;
    int n = s->op == LT_OP_CLAMP ? 1 : lt_op_arity(s->op), first = 0;
    while (first < n - 1 && is_element(e, s->src[first])) first++;
    if (load_half(e, s->src[first])) return first;
    int32_t slot = lt_emit_block(e, s->src[first], spread);
    open_chain(e);
    bool ahead = e->pass->streaming && e->pass->slots[slot].step_bytes;
    add_link(e, ahead ? LT_CHAIN_LOAD_AHEAD : LT_CHAIN_LOAD, slot, 0);
    return first;
}

/* An operand that is not the accumulator: an array, or one element where the form allows it. */
static int32_t other_operand(emitter *e, int32_t reg, bool may_be_element, int32_t *spread)
{
    *spread = -1;
    return is_element(e, reg) && may_be_element ? e->regs[reg].slot : lt_emit_block(e, reg, spread);
}

static void link_binary(emitter *e, const lt_fused_step *s, int acc, int32_t *spread)
{
    int32_t other = s->src[1 - acc], slot = other_operand(e, other, true, spread);
    bool swap = s->op == LT_OP_GT || s->op == LT_OP_GE;
    bool acc_first = (acc == 0) != swap;
    add_link(e, chain_code(s->op, e->f->type) + (acc_first ? 0 : 2) + is_element(e, other), slot, 0);
}

static void link_where(emitter *e, const lt_fused_step *s, int acc, int32_t *spread)
{
    static const int code[3][2][2] = { /* by accumulator, then which of the others are elements */
        { { LT_CHAIN_WHERE_AVV, LT_CHAIN_WHERE_AVS }, { LT_CHAIN_WHERE_ASV, LT_CHAIN_WHERE_ASS } },
        { { LT_CHAIN_WHERE_VAV, LT_CHAIN_WHERE_VAS } },
        { { LT_CHAIN_WHERE_VVA }, { LT_CHAIN_WHERE_VSA } },
    };
    int32_t a = s->src[acc == 0 ? 1 : 0], b = s->src[acc == 2 ? 1 : 2];
    int32_t slot_a = other_operand(e, a, acc == 0, &spread[0]), slot_b = other_operand(e, b, true, &spread[1]);
    if (acc == 0) add_link(e, code[0][is_element(e, a)][is_element(e, b)], slot_a, slot_b);
    else if (acc == 1) add_link(e, code[1][0][is_element(e, b)], slot_a, slot_b);
    else add_link(e, code[2][is_element(e, b)][0], slot_a, slot_b);
}

static void link_clamp(emitter *e, const lt_fused_step *s, int32_t *spread)
{
    bool elements = is_element(e, s->src[1]);
    int32_t lo = other_operand(e, s->src[1], true, &spread[0]), hi = other_operand(e, s->src[2], true, &spread[1]);
    add_link(e, elements ? LT_CHAIN_CLAMP_ASS : LT_CHAIN_CLAMP_AVV, lo, hi);
}

/* Writes the accumulator where its later users expect it: an output, a buffer, or nowhere.
   Returns the store this took care of. */
static const lt_fused_store *link_result(emitter *e, int32_t at, bool may_store)
{
    static const int half_codes[2] = { LT_CHAIN_STORE_BF16, LT_CHAIN_STORE_F16 };
    int32_t reg = e->f->steps[at].reg;
    const lt_fused_store *direct = may_store ? lt_emit_dense_store(e, reg, e->f->type) : NULL;
    e->acc_reg = reg;
    for (int i = 0; i < 2 && may_store && !direct && e->regs[reg].n_uses == 1; i++) {
        const lt_fused_store *half = lt_emit_dense_store(e, reg, i ? LT_F16 : LT_BF16);
        int code = half ? half_code(e, half->to, half_codes) : NOT_IN_CHAIN;
        if (code == NOT_IN_CHAIN) continue;
        add_link(e, code, lt_emit_store_slot(e, half, lt_dtype_size(half->to)), 0);
        lt_emit_set_block(e, reg, -1, -1);
        return half;
    }
    if (direct) {
        int32_t slot = lt_emit_store_slot(e, direct, e->real_bytes);
        add_link(e, e->pass->streaming ? LT_CHAIN_STREAM : LT_CHAIN_STORE, slot, 0);
        lt_emit_set_block(e, reg, slot, -1);
        if (!e->pass->streaming || e->regs[reg].n_uses == 1) return direct;
    } else if (stays_in_accumulator(e, at)) {
        lt_emit_set_block(e, reg, -1, -1);
        return NULL;
    }
    int32_t buffer = lt_emit_take_buffer(e, true);
    add_link(e, LT_CHAIN_STORE, e->buffer_slot[buffer], 0);
    lt_emit_set_block(e, reg, e->buffer_slot[buffer], buffer);
    return direct;
}

/* What a step leaves behind: reductions and remaining stores of its value. */
static void emit_outputs(emitter *e, int32_t at, bool may_store, const lt_fused_store *done)
{
    int32_t reg = e->f->steps[at].reg;
    if (lt_emit_has_outputs(e, reg, done)) {
        close_chain(e);
        lt_emit_reduces_of(e, reg);
        if (may_store) lt_emit_stores_of(e, reg, done);
    }
    lt_emit_release_after(e, reg, at);
}

static void emit_chain_step(emitter *e, int32_t at)
{
    const lt_fused_step *s = &e->f->steps[at];
    const int n = lt_op_arity(s->op);
    int32_t spread[3] = { -1, -1, -1 };
    int acc = load_accumulator(e, s, &spread[0]);
    if (n == 1) add_link(e, chain_code(s->op, e->f->type), 0, 0);
    else if (n == 2) link_binary(e, s, acc, &spread[1]);
    else if (s->op == LT_OP_WHERE) link_where(e, s, acc, &spread[1]);
    else link_clamp(e, s, &spread[1]);
    for (int j = 0; j < 3; j++) lt_emit_give_buffer(e, spread[j]);
    for (int j = 0; j < n; j++) lt_emit_release_after(e, s->src[j], at);
    bool may_store = e->last_read <= at;
    emit_outputs(e, at, may_store, link_result(e, at, may_store));
}

/* ---- calls ------------------------------------------------------------------------ */

static void emit_scalar_step(emitter *e, const lt_fused_step *s)
{
    reg_info *r = &e->regs[s->reg];
    int32_t src[3];
    for (int j = 0; j < 3; j++) src[j] = e->regs[s->src[j < lt_op_arity(s->op) ? j : 0]].slot;
    r->state = REG_SCALAR;
    r->slot = lt_emit_scalar_slot(e);
    e->prologue[e->n_prologue++] = (fused_instr){ .kind = FUSED_CALL, .fn = e->set->op[s->op][0], .d = r->slot,
                                                  .a = src[0], .b = src[1], .c = src[2] };
}

/* Which operands a form of the op takes as one element; the others are blocks. */
static int scalar_form(const emitter *e, const lt_fused_step *s)
{
    int n = lt_op_arity(s->op), form = 0;
    if (n == 1) return 0;
    for (int j = n == 3; j < n; j++)
        if (is_element(e, s->src[j])) form |= 1 << (n == 3 ? j - 1 : j);
    return e->set->op[s->op][form] ? form : 0;
}

static bool takes_scalar(int arity, int form, int operand)
{
    return arity == 2 ? form >> operand & 1 : arity == 3 && operand > 0 && (form >> (operand - 1) & 1);
}

static void emit_call_step(emitter *e, int32_t at)
{
    const lt_fused_step *s = &e->f->steps[at];
    const int n = lt_op_arity(s->op), form = scalar_form(e, s);
    int32_t src[3] = { 0 }, spread[3] = { -1, -1, -1 };
    close_chain(e);
    for (int j = 0; j < n; j++)
        src[j] = takes_scalar(n, form, j) ? e->regs[s->src[j]].slot : lt_emit_block(e, s->src[j], &spread[j]);
    for (int j = n; j < 3; j++) src[j] = src[0];
    for (int j = 0; j < n; j++) {
        lt_emit_give_buffer(e, spread[j]);
        lt_emit_release_after(e, s->src[j], at);
    }
    bool may_store = e->last_read <= at;
    const lt_fused_store *direct = may_store && !e->pass->streaming ? lt_emit_dense_store(e, s->reg, e->f->type) : NULL;
    if (direct) {
        lt_emit_set_block(e, s->reg, lt_emit_store_slot(e, direct, e->real_bytes), -1);
    } else {
        int32_t buffer = lt_emit_take_buffer(e, false);
        lt_emit_set_block(e, s->reg, e->buffer_slot[buffer], buffer);
    }
    lt_emit_call(e, e->set->op[s->op][form], e->regs[s->reg].slot, src[0], src[1], src[2]);
    emit_outputs(e, at, may_store, direct);
}

void lt_emit_steps(emitter *e)
{
    for (int32_t i = 0; i < e->f->n_steps; i++) {
        const lt_fused_step *s = &e->f->steps[i];
        if (!e->regs[s->reg].needed) continue;
        if (e->regs[s->reg].is_scalar) emit_scalar_step(e, s);
        else if (fits_chain(e, s)) emit_chain_step(e, i);
        else emit_call_step(e, i);
    }
    close_chain(e);
}
