/* From registers to block buffers: the calls of one pass. A dense load of the compute type is
   read where it lies, a dense store written by the op that makes the value; everything else
   passes through a buffer that is reused as soon as its value is dead.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/emit.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static int32_t new_slot(emitter *e, int32_t arg, int64_t offset_bytes, size_t step_bytes)
{
    fused_pass *p = e->pass;
    p->slots[p->n_slots] = (fused_slot){ .arg = arg, .offset_bytes = offset_bytes, .step_bytes = (int32_t)step_bytes };
    if (step_bytes) p->moving[p->n_moving++] = p->n_slots;
    return p->n_slots++;
}

/* Offsets of scalars and buffers are their numbers, scalars' complemented, until place(). */
int32_t lt_emit_scalar_slot(emitter *e) { return new_slot(e, FUSED_IN_TASK, ~(int64_t)e->n_scalars++, 0); }

int32_t lt_emit_take_buffer(emitter *e, bool for_chain)
{
    if (for_chain && e->free_in_chain.n) return e->free_in_chain.at[--e->free_in_chain.n];
    if (e->free.n) return e->free.at[--e->free.n];
    e->buffer_slot[e->n_buffers] = new_slot(e, FUSED_IN_TASK, e->n_buffers, 0);
    return e->n_buffers++;
}

void lt_emit_give_buffer(emitter *e, int32_t buffer)
{
    buffer_list *l = e->chain_first >= 0 ? &e->free_in_chain : &e->free;
    if (buffer >= 0) l->at[l->n++] = buffer;
}

fused_instr *lt_emit_instr(emitter *e, fused_instr in)
{
    fused_pass *p = e->pass;
    p->instrs[p->n_instrs] = in;
    return &p->instrs[p->n_instrs++];
}

void lt_emit_call(emitter *e, lt_vec_fn fn, int32_t d, int32_t a, int32_t b, int32_t c)
{
    lt_emit_instr(e, (fused_instr){ .kind = FUSED_CALL, .fn = fn, .d = d, .a = a, .b = b, .c = c });
}

static int32_t add_view(emitter *e, const fused_view *v)
{
    e->pass->views[e->n_views] = *v;
    return e->n_views++;
}

/* ---- loads ------------------------------------------------------------------ */

void lt_emit_set_block(emitter *e, int32_t reg, int32_t slot, int32_t buffer)
{
    e->regs[reg].state = REG_BLOCK;
    e->regs[reg].slot = slot;
    e->regs[reg].buffer = buffer;
}

/* One element for the whole domain: converted once, or read where it is. */
static void load_scalar(emitter *e, const lt_fused_load *l, const fused_view *v)
{
    reg_info *r = &e->regs[l->reg];
    int32_t from = new_slot(e, l->arg, v->offset * (int64_t)lt_dtype_size(l->from), 0);
    r->state = REG_SCALAR;
    r->slot = from;
    if (l->from == e->f->type) return;
    r->slot = lt_emit_scalar_slot(e);
    e->prologue[e->n_prologue++] = (fused_instr){ .kind = FUSED_CALL, .fn = e->set->load[l->from],
                                                  .d = r->slot, .a = from, .b = from, .c = from };
}

/* ---- runs read where they lie ------------------------------------------------ */

/* The extent of the view's innermost run when it is long enough to be worth it; else 0. */
static int64_t long_run(const emitter *e, const lt_fused_load *l, const fused_view *v)
{
    if (v->rank < 2) return 0;
    int64_t stride = v->stride[v->rank - 1], extent = v->dim[v->rank - 1];
    bool fits = stride == 1 || (stride == 0 && l->from == e->f->type);
    return fits && extent >= FUSED_RUN_MIN ? extent : 0;
}

/* Whether every block lies inside one run: by the shape of a reduction's blocks, or because a
   map's blocks are cut at multiples of the shortest run. */
static bool is_located(const emitter *e, const lt_fused_load *l, const fused_view *v)
{
    const fused_pass *p = e->pass;
    int64_t run = long_run(e, l, v), inside = p->period;
    if (p->mode == FUSED_ROWS) inside = p->reduced > FUSED_SEGMENT ? p->reduced : 0;
    if (p->mode == FUSED_COLUMNS) inside = p->inner > FUSED_BLOCK ? p->inner : 0;
    return run && inside && run % inside == 0;
}

/* The length of a row that repeats all over the domain and fits a block of any size; else 0. */
static int64_t repeated_row(const fused_view *v)
{
    return v->rank == 2 && v->stride[0] == 0 && v->dim[1] <= FUSED_BLOCK_SMALL ? v->dim[1] : 0;
}

static bool is_repeated(const emitter *e, const fused_view *v)
{
    int64_t row = repeated_row(v);
    return row && e->pass->repeat % row == 0 && e->pass->repeat > 0;
}

static void choose_period(emitter *e)
{
    fused_pass *p = e->pass;
    p->period = 0;
    for (int i = 0; p->mode == FUSED_MAP && i < e->f->n_loads; i++) {
        if (!e->regs[e->f->loads[i].reg].needed) continue;
        fused_view v = lt_fused_view_merge(&e->f->domain, &e->f->loads[i].view);
        int64_t run = is_repeated(e, &v) ? 0 : long_run(e, &e->f->loads[i], &v);
        if (run && (!p->period || run < p->period)) p->period = run;
    }
}

/* Where blocks may begin. Blocks of columns begin with a row; those of a map are cut so that they begin with one of the longest
   that repeats, unless runs that are read where they lie cut them otherwise. */
static void choose_blocks(emitter *e)
{
    fused_pass *p = e->pass;
    if (p->mode == FUSED_COLUMNS && p->inner <= FUSED_BLOCK_SMALL) p->repeat = p->inner; /* wider rows are cut into tiles */
    for (int i = 0; p->mode == FUSED_MAP && i < e->f->n_loads; i++) {
        fused_view v = lt_fused_view_merge(&e->f->domain, &e->f->loads[i].view);
        if (e->regs[e->f->loads[i].reg].needed) p->repeat = LT_MAX(p->repeat, repeated_row(&v));
    }
    choose_period(e);
    if (!p->period || !p->repeat) return;
    p->repeat = 0;
    choose_period(e);
}

static int32_t add_located(emitter *e, const lt_fused_load *l, const fused_view *v)
{
    fused_pass *p = e->pass;
    int32_t slot = new_slot(e, l->arg, 0, 0);
    p->located[p->n_located++] = (fused_located){ slot, add_view(e, v), (int32_t)lt_dtype_size(l->from) };
    return slot;
}

static bool is_direct(const emitter *e, const lt_fused_load *l, const fused_view *v)
{
    return l->from == e->f->type && lt_fused_view_dense(v);
}

/* One element for each block. */
static void load_element(emitter *e, const lt_fused_load *l, const fused_view *v)
{
    reg_info *r = &e->regs[l->reg];
    r->state = REG_SCALAR;
    r->is_element = true;
    r->slot = add_located(e, l, v);
}

/* Emitted before anything else, so that no other value has had its buffers. */
/* Spread once per task, not for every block (decision 128). */
static void load_repeat(emitter *e, const lt_fused_load *l, const fused_view *v)
{
    fused_pass *p = e->pass;
    bool converts = l->from != e->f->type;
    int32_t slot = e->buffer_slot[lt_emit_take_buffer(e, false)], raw = converts ? e->buffer_slot[lt_emit_take_buffer(e, false)] : slot;
    p->repeats[p->n_repeats++] = (fused_repeat){ .slot = slot, .raw = raw, .base = new_slot(e, l->arg, 0, 0), .view = add_view(e, v),
                                                 .size = (int32_t)lt_dtype_size(l->from), .convert = converts ? e->set->load[l->from] : NULL };
    lt_emit_set_block(e, l->reg, slot, -1);
}

int32_t lt_emit_source(emitter *e, const lt_fused_load *l)
{
    fused_view v = lt_fused_view_merge(&e->f->domain, &l->view);
    size_t size = lt_dtype_size(l->from);
    if (lt_fused_view_dense(&v)) return new_slot(e, l->arg, v.offset * (int64_t)size, size);
    return is_located(e, l, &v) ? add_located(e, l, &v) : -1;
}

static void load_block(emitter *e, const lt_fused_load *l)
{
    int32_t from = lt_emit_source(e, l);
    if (from >= 0) {
        if (l->from == e->f->type) {
            lt_emit_set_block(e, l->reg, from, -1);
            return;
        }
        int32_t buffer = lt_emit_take_buffer(e, false), slot = e->buffer_slot[buffer];
        lt_emit_call(e, e->set->load[l->from], slot, from, from, from);
        lt_emit_set_block(e, l->reg, slot, buffer);
        return;
    }
    fused_view v = lt_fused_view_merge(&e->f->domain, &l->view);
    size_t size = lt_dtype_size(l->from);
    int32_t base = new_slot(e, l->arg, 0, 0), buffer = lt_emit_take_buffer(e, false), slot = e->buffer_slot[buffer];
    bool converts = l->from != e->f->type;
    int32_t raw = converts ? lt_emit_take_buffer(e, false) : buffer, raw_slot = e->buffer_slot[raw];
    lt_emit_instr(e, (fused_instr){ .kind = FUSED_GATHER, .d = raw_slot, .a = base, .index = add_view(e, &v),
                                .size = (int32_t)size });
    if (converts) {
        lt_emit_call(e, e->set->load[l->from], slot, raw_slot, raw_slot, raw_slot);
        lt_emit_give_buffer(e, raw);
    }
    lt_emit_set_block(e, l->reg, slot, buffer);
}

/* Makes the register's block available; a scalar is spread over a buffer of its own, which the
   caller gives back (returned through *spread, else -1). */
int32_t lt_emit_block(emitter *e, int32_t reg, int32_t *spread)
{
    reg_info *r = &e->regs[reg];
    *spread = -1;
    if (r->state == REG_UNSET) load_block(e, &e->f->loads[r->load]);
    if (r->state == REG_BLOCK) return r->slot;
    *spread = lt_emit_take_buffer(e, false);
    int32_t slot = e->buffer_slot[*spread];
    lt_emit_call(e, e->set->fill, slot, r->slot, r->slot, r->slot);
    return slot;
}

void lt_emit_release_after(emitter *e, int32_t reg, int32_t position)
{
    reg_info *r = &e->regs[reg];
    if (r->state == REG_BLOCK && r->last_use <= position) {
        lt_emit_give_buffer(e, r->buffer);
        r->buffer = -1;
    }
}

/* ---- stores and reductions ---------------------------------------------------- */

const lt_fused_store *lt_emit_dense_store(const emitter *e, int32_t reg, lt_dtype t)
{
    for (int i = 0; e->goal->stores && i < e->f->n_stores; i++) {
        const lt_fused_store *s = &e->f->stores[i];
        fused_view v = lt_fused_view_merge(&e->f->domain, &s->view);
        if (s->reg == reg && s->to == t && lt_fused_view_dense(&v)) return s;
    }
    return NULL;
}

bool lt_emit_has_outputs(const emitter *e, int32_t reg, const lt_fused_store *besides)
{
    for (int i = 0; e->goal->stores && i < e->f->n_stores; i++)
        if (e->f->stores[i].reg == reg && &e->f->stores[i] != besides) return true;
    for (int i = 0; i < e->goal->n_reduces; i++)
        if (e->f->reduces[e->goal->reduces[i]].reg == reg) return true;
    return false;
}

int32_t lt_emit_store_slot(emitter *e, const lt_fused_store *s, size_t size)
{
    int32_t slot = new_slot(e, s->arg, s->view.offset * (int64_t)size, size);
    e->pass->slots[slot].written = true;
    return slot;
}

static void emit_store(emitter *e, const lt_fused_store *s)
{
    fused_view v = lt_fused_view_merge(&e->f->domain, &s->view);
    size_t size = lt_dtype_size(s->to);
    bool dense = lt_fused_view_dense(&v), converts = s->to != e->f->type;
    const reg_info *r = &e->regs[s->reg];
    if (dense && !converts && r->state == REG_SCALAR) {
        lt_emit_call(e, e->set->fill, lt_emit_store_slot(e, s, size), r->slot, r->slot, r->slot);
        return;
    }
    int32_t spread, from = lt_emit_block(e, s->reg, &spread);
    if (dense) {
        int32_t to = lt_emit_store_slot(e, s, size);
        bool streams = e->pass->streaming && !converts;
        lt_emit_call(e, streams ? e->set->copy_streaming : e->set->store[s->to], to, from, from, from);
    } else {
        int32_t raw = converts ? lt_emit_take_buffer(e, false) : -1, raw_slot = converts ? e->buffer_slot[raw] : from;
        if (converts) lt_emit_call(e, e->set->store[s->to], raw_slot, from, from, from);
        lt_emit_instr(e, (fused_instr){ .kind = FUSED_SCATTER, .d = new_slot(e, s->arg, 0, 0), .a = raw_slot,
                                    .index = add_view(e, &v), .size = (int32_t)size });
        lt_emit_give_buffer(e, raw);
    }
    lt_emit_give_buffer(e, spread);
}

void lt_emit_reduces_of(emitter *e, int32_t reg)
{
    for (int i = 0; i < e->goal->n_reduces; i++) {
        if (e->f->reduces[e->goal->reduces[i]].reg != reg) continue;
        int32_t spread, from = lt_emit_block(e, reg, &spread);
        lt_emit_instr(e, (fused_instr){ .kind = FUSED_REDUCE, .a = from, .index = i });
        lt_emit_give_buffer(e, spread);
    }
}

/* Stores of a fresh value: at once when nothing reads an argument any more, else at the end. */
void lt_emit_stores_of(emitter *e, int32_t reg, const lt_fused_store *done)
{
    if (!e->goal->stores) return;
    for (int i = 0; i < e->f->n_stores; i++)
        if (e->f->stores[i].reg == reg && &e->f->stores[i] != done) emit_store(e, &e->f->stores[i]);
}

/* ---- liveness ------------------------------------------------------------------ */

static void need(emitter *e, int32_t reg, int32_t position)
{
    e->regs[reg].needed = true;
    e->regs[reg].n_uses++;
    e->regs[reg].last_use = LT_MAX(e->regs[reg].last_use, position);
}

static void find_needed(emitter *e)
{
    const lt_fused *f = e->f;
    for (int i = 0; e->goal->stores && i < f->n_stores; i++) need(e, f->stores[i].reg, -1);
    for (int i = 0; i < e->goal->n_reduces; i++) need(e, f->reduces[e->goal->reduces[i]].reg, -1);
    for (int32_t i = f->n_steps - 1; i >= 0; i--) {
        const lt_fused_step *s = &f->steps[i];
        if (!e->regs[s->reg].needed) continue;
        e->regs[s->reg].last_use = LT_MAX(e->regs[s->reg].last_use, i);
        for (int j = 0; j < lt_op_arity(s->op); j++) need(e, s->src[j], i);
    }
}

static int32_t first_use(const emitter *e, int32_t reg)
{
    for (int32_t i = 0; i < e->f->n_steps; i++) {
        const lt_fused_step *s = &e->f->steps[i];
        if (!e->regs[s->reg].needed) continue;
        for (int j = 0; j < lt_op_arity(s->op); j++)
            if (s->src[j] == reg) return i;
    }
    return -1;
}

/* The last step that reads an argument: no store may come before it, lest it overwrite what is
   still to be read. (Loads without steps are read before the first step.) */
static void find_last_read(emitter *e)
{
    e->last_read = -1;
    for (int i = 0; i < e->f->n_loads; i++) {
        const lt_fused_load *l = &e->f->loads[i];
        const reg_info *r = &e->regs[l->reg];
        fused_view v = lt_fused_view_merge(&e->f->domain, &l->view);
        if (!r->needed || r->state == REG_SCALAR || is_repeated(e, &v)) continue; /* the latter two are read before all blocks */
        int32_t read = is_direct(e, l, &v) ? r->last_use : first_use(e, l->reg);
        e->last_read = LT_MAX(e->last_read, read);
    }
}

/* Values stored before all arguments are read, or never made by a step, wait for the end. */
static void find_late_stores(emitter *e)
{
    for (int i = 0; e->goal->stores && i < e->f->n_stores; i++) {
        int32_t reg = e->f->stores[i].reg, step = e->regs[reg].step;
        if (step < 0 || step < e->last_read) e->regs[reg].last_use = e->f->n_steps;
    }
}

static bool is_stored(const emitter *e, int32_t reg)
{
    for (int i = 0; e->goal->stores && i < e->f->n_stores; i++)
        if (e->f->stores[i].reg == reg) return true;
    return false;
}

/* Scalars are known first: they decide which steps run once instead of once per block. */
static void prepare_sources(emitter *e)
{
    const lt_fused *f = e->f;
    double *constants = (double *)(void *)e->pass->constants;
    for (int i = 0; i < f->n_consts; i++) {
        reg_info *r = &e->regs[f->consts[i].reg];
        float narrow = (float)f->consts[i].value;
        if (f->type == LT_F64) constants[i] = f->consts[i].value;
        else memcpy(&constants[i], &narrow, sizeof narrow);
        r->state = REG_SCALAR;
        r->is_scalar = r->is_element = true;
        r->slot = new_slot(e, FUSED_IN_PLAN, i * (int64_t)sizeof *constants, 0);
    }
    for (int i = 0; i < f->n_loads; i++) {
        fused_view v = lt_fused_view_merge(&f->domain, &f->loads[i].view);
        reg_info *r = &e->regs[f->loads[i].reg];
        r->load = i;
        /* A domain of one point has no scalars: everything is a block, and may be in place. */
        r->is_scalar = r->is_element = v.rank == 0 && e->pass->count > 1;
        if (!r->needed) continue;
        if (r->is_scalar) load_scalar(e, &f->loads[i], &v);
        else if (is_repeated(e, &v)) load_repeat(e, &f->loads[i], &v);
        else if (is_located(e, &f->loads[i], &v) && v.stride[v.rank - 1] == 0) load_element(e, &f->loads[i], &v);
    }
    for (int i = 0; i < f->n_steps; i++) {
        const lt_fused_step *s = &f->steps[i];
        bool scalar = true;
        for (int j = 0; j < lt_op_arity(s->op); j++) scalar &= e->regs[s->src[j]].is_scalar;
        e->regs[s->reg].is_scalar = e->regs[s->reg].is_element = scalar;
    }
}

/* Loads that a reduction or a store takes as they are. A copy that waits for the end while
   other stores run could find its argument overwritten, so it is made now. */
static void emit_plain_loads(emitter *e)
{
    const lt_fused *f = e->f;
    for (int i = 0; i < f->n_loads; i++) {
        const reg_info *r = &e->regs[f->loads[i].reg];
        if (!r->needed || r->state == REG_SCALAR) continue;
        lt_emit_reduces_of(e, f->loads[i].reg);
        if (!is_stored(e, f->loads[i].reg)) {
            lt_emit_release_after(e, f->loads[i].reg, -1);
            continue;
        }
        int32_t spread, from = lt_emit_block(e, f->loads[i].reg, &spread);
        if (r->buffer >= 0 || f->n_stores == 1) continue;
        int32_t buffer = lt_emit_take_buffer(e, false);
        lt_emit_call(e, e->set->copy, e->buffer_slot[buffer], from, from, from);
        lt_emit_set_block(e, f->loads[i].reg, e->buffer_slot[buffer], buffer);
    }
}

static void emit_late_stores(emitter *e)
{
    const lt_fused *f = e->f;
    for (int i = 0; i < f->n_consts; i++) lt_emit_reduces_of(e, f->consts[i].reg);
    for (int i = 0; i < f->n_loads; i++)
        if (e->regs[f->loads[i].reg].state == REG_SCALAR) lt_emit_reduces_of(e, f->loads[i].reg);
    for (int i = 0; i < f->n_steps; i++)
        if (e->regs[f->steps[i].reg].state == REG_SCALAR) lt_emit_reduces_of(e, f->steps[i].reg);
    for (int i = 0; e->goal->stores && i < f->n_stores; i++) {
        const reg_info *r = &e->regs[f->stores[i].reg];
        if (r->state == REG_SCALAR || r->last_use == f->n_steps) emit_store(e, &f->stores[i]);
    }
}

/* ---- memory -------------------------------------------------------------------- */

static lt_status allocate(emitter *e, lt_arena *memory, lt_arena *scratch)
{
    const lt_fused *f = e->f;
    fused_pass *p = e->pass;
    size_t n_steps = (size_t)f->n_steps, n_loads = (size_t)f->n_loads, n_consts = (size_t)f->n_consts,
           n_out = (size_t)(f->n_stores + f->n_reduces), n_all = n_steps + n_loads + n_consts + n_out;
    size_t max_buffers = n_steps + 2 * n_loads + 8, max_slots = 4 * n_all + max_buffers + 8;
    size_t max_instrs = 4 * n_steps + 3 * n_loads + 4 * n_out + 8;
    p->slots = lt_arena_alloc(memory, max_slots * sizeof *p->slots);
    p->moving = lt_arena_alloc(memory, max_slots * sizeof *p->moving);
    p->located = lt_arena_alloc(memory, (n_loads + 1) * sizeof *p->located);
    p->repeats = lt_arena_alloc(memory, (n_loads + 1) * sizeof *p->repeats);
    p->instrs = lt_arena_alloc(memory, max_instrs * sizeof *p->instrs);
    p->chain = lt_arena_alloc(memory, (5 * n_steps + 1) * sizeof *p->chain);
    p->views = lt_arena_alloc(memory, (n_loads + n_out + 1) * sizeof *p->views);
    p->folds = lt_arena_alloc(memory, (n_out + 1) * sizeof *p->folds);
    p->constants = lt_arena_alloc(memory, (n_consts + 1) * sizeof(double));
    e->regs = lt_arena_alloc(scratch, ((size_t)f->n_regs + 1) * sizeof *e->regs);
    e->prologue = lt_arena_alloc(scratch, (n_steps + n_loads + 1) * sizeof *e->prologue);
    e->free.at = lt_arena_alloc(scratch, max_buffers * sizeof *e->free.at);
    e->free_in_chain.at = lt_arena_alloc(scratch, max_buffers * sizeof *e->free_in_chain.at);
    e->buffer_slot = lt_arena_alloc(scratch, max_buffers * sizeof *e->buffer_slot);
    if (!p->slots || !p->moving || !p->located || !p->repeats || !p->instrs || !p->views || !p->folds || !p->constants || !e->regs ||
        !e->prologue || !e->free.at || !e->free_in_chain.at || !e->buffer_slot || !p->chain)
        return LT_ERR_MEMORY;
    for (int i = 0; i < f->n_regs; i++)
        e->regs[i] = (reg_info){ .buffer = -1, .load = -1, .step = -1, .last_use = -1 };
    for (int i = 0; i < f->n_steps; i++) e->regs[f->steps[i].reg].step = i;
    return LT_OK;
}

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Elements of a block made of whole rows, a quarter more than usual at most: whole cache lines where that is possible, and few
   vectors beyond the tiles that chains take at once, since those cost three times as much. */
static int64_t whole_rows(int64_t usual, int64_t row)
{
    enum { LINE = 16, TILE = 128 };
    int64_t most = usual + usual * 5 / 16, step = row, best = row;
    double least = INFINITY;
    while (step % LINE && step + row <= most) step += row;
    if (step % LINE) step = row;
    for (int64_t n = step; n <= most; n += step) {
        double cost = (double)(n / TILE * (TILE / LINE) + 3 * ((n % TILE + LINE - 1) / LINE) + TILE / LINE) / (double)n;
        if (cost < least) least = cost, best = n;
    }
    return best;
}

/* Task memory: slot addresses, scalars, fold states, block buffers, rows being folded. */
static lt_status place(emitter *e)
{
    fused_pass *p = e->pass;
    size_t head = round_up((size_t)p->n_slots * sizeof(char *), 64), scalars = head;
    head = round_up(head + (size_t)e->n_scalars * sizeof(double), 64);
    for (int i = 0; i < e->goal->n_reduces; i++) {
        p->folds[i].state_bytes = (int64_t)head;
        head = round_up(head + sizeof(fused_fold_state), 64);
    }
    size_t n_blocks = (size_t)(e->n_buffers + 2 * e->goal->n_reduces), block_bytes = 0;
    bool pages = p->streaming && !n_blocks; /* nothing to keep in a cache: blocks as chains like to read them */
    bool rows = p->mode == FUSED_MAP && p->n_repeats;
    for (int64_t usual = pages ? FUSED_BLOCK_PAGES(lt_dtype_size(p->type)) : FUSED_BLOCK; usual >= FUSED_BLOCK_SMALL; usual /= 2) {
        p->block = rows ? whole_rows(usual, p->repeat) : usual;
        block_bytes = round_up((size_t)p->block * e->buffer_elem_bytes, 64);
        if (head + n_blocks * block_bytes <= FUSED_TASK_BYTES_MAX) break;
    }
    if (block_bytes * n_blocks + head > FUSED_TASK_BYTES_MAX)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "fused kernel keeps %zu values alive at once: more than %d bytes of blocks",
                       n_blocks, FUSED_TASK_BYTES_MAX);
    for (int i = 0; i < p->n_slots; i++) {
        fused_slot *s = &p->slots[i];
        if (s->arg != FUSED_IN_TASK) continue;
        if (s->offset_bytes < 0) s->offset_bytes = (int64_t)scalars + ~s->offset_bytes * (int64_t)sizeof(double);
        else s->offset_bytes = (int64_t)(head + (size_t)s->offset_bytes * block_bytes);
    }
    for (int i = 0; i < e->goal->n_reduces; i++)
        for (int j = 0; j < 2; j++)
            p->folds[i].acc_bytes[j] = (int64_t)(head + (size_t)(e->n_buffers + 2 * i + j) * block_bytes);
    p->task_bytes = head + n_blocks * block_bytes;
    return LT_OK;
}

static void join_prologue(emitter *e)
{
    fused_pass *p = e->pass;
    memmove(p->instrs + e->n_prologue, p->instrs, (size_t)p->n_instrs * sizeof *p->instrs);
    memcpy(p->instrs, e->prologue, (size_t)e->n_prologue * sizeof *p->instrs);
    p->n_prologue = e->n_prologue;
    p->n_instrs += e->n_prologue;
}

lt_status lt_fused_emit(const lt_fused *f, const lt_vec_set *set, const fused_goal *goal,
                        lt_arena *memory, fused_pass *pass)
{
    lt_arena scratch = { 0 };
    emitter e = { .f = f, .set = set, .goal = goal, .pass = pass, .real_bytes = lt_dtype_size(f->type),
                  .chain_first = -1, .acc_reg = -1 };
    e.buffer_elem_bytes = e.real_bytes;
    for (int i = 0; i < f->n_loads; i++) e.buffer_elem_bytes = LT_MAX(e.buffer_elem_bytes, lt_dtype_size(f->loads[i].from));
    for (int i = 0; i < f->n_stores; i++) e.buffer_elem_bytes = LT_MAX(e.buffer_elem_bytes, lt_dtype_size(f->stores[i].to));
    lt_status s = allocate(&e, memory, &scratch);
    if (!s) {
        find_needed(&e);
        choose_blocks(&e);
        prepare_sources(&e);
        find_last_read(&e);
        find_late_stores(&e);
        emit_plain_loads(&e);
        lt_emit_steps(&e);
        emit_late_stores(&e);
        join_prologue(&e);
        s = place(&e);
    }
    lt_arena_release(&scratch);
    return s;
}
