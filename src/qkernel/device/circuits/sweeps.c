/* Cuts the passes of a circuit into sweeps. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/circuits/sweeps.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* What a sweep will do, by bits of the state: the window is not complete before the sweep ends. */
typedef struct wide_op { int kind; const lt_state_pass *pass; uint32_t bits; } wide_op;

typedef struct maker {
    const lt_compiled *p;
    const lt_factor *f;
    lt_sweeps  *out;
    int32_t    *slot_of;      /* of each step of the tape; -1 = none yet */
    lt_sweep    sweep;        /* that is being filled */
    uint32_t    window;
    lt_sweep_list wide;       /* of wide_op */
    int         local;        /* bits of a window */
} maker;

/* ---- lists ---- */

static void *add(lt_sweep_list *l, size_t element, const void *what)
{
    if (l->n == l->capacity) {
        int32_t larger = LT_MAX(16, 2 * l->capacity);
        void *more = lt_realloc(l->at, (size_t)larger * element);
        if (!more) return NULL;
        l->at = more;
        l->capacity = larger;
    }
    return memcpy((char *)l->at + (size_t)l->n++ * element, what, element);
}
#define ADD(list, ...) (add(&(list), sizeof(__VA_ARGS__), &(__VA_ARGS__)) ? LT_OK : LT_ERR_MEMORY)

void lt_sweeps_destroy(lt_sweeps *s)
{
    lt_sweep_list *all[] = { &s->sweep, &s->op, &s->group, &s->part, &s->map, &s->turn, &s->gate, &s->term, &s->slot };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_free(all[i]->at);
    lt_free(s->wire);
    *s = (lt_sweeps){ 0 };
}

/* ---- values, gates, terms ---- */

static lt_status slot_of(maker *m, int32_t step, int *slot)
{
    *slot = -1;
    if (step < 0) return LT_OK;
    if (m->slot_of[step] < 0) {
        m->slot_of[step] = m->out->slot.n;
        LT_TRY(ADD(m->out->slot, step));
    }
    *slot = m->slot_of[step];
    return LT_OK;
}

static lt_status add_turn(maker *m, const lt_turn *t)
{
    lt_sweep_turn to = { .axis = t->axis, .factor = t->factor / 2, .offset = t->offset / 2, .fixed = t->fixed };
    LT_TRY(slot_of(m, t->axis < 0 ? -1 : t->step, &to.slot));
    if (t->axis >= 0 && t->step < 0) to.axis = -1, to.fixed = lt_turn_su2(t->axis, t->offset);
    return ADD(m->out->turn, to);
}

static lt_status add_gates(maker *m, const lt_factor *f)
{
    for (int32_t i = 0; i < f->n_gates; i++) {
        lt_sweep_gate g = { m->out->turn.n, f->gate[i].n };
        for (int32_t k = 0; k < g.n; k++) LT_TRY(add_turn(m, &f->turn[f->gate[i].first + k]));
        LT_TRY(ADD(m->out->gate, g));
    }
    return LT_OK;
}

static lt_status add_term(maker *m, int32_t step, double factor, double offset)
{
    lt_sweep_term t = { .factor = factor, .offset = offset };
    LT_TRY(slot_of(m, step, &t.slot));
    return ADD(m->out->term, t);
}

/* A rotation about Zs by a turns by -a/2 or a/2; the terms of global phases come last, with their whole angle. */
static lt_status add_terms(maker *m)
{
    const lt_compiled *p = m->p;
    for (int32_t i = 0; i < m->f->n_terms; i++) LT_TRY(add_term(m, m->f->term[i].step, -m->f->term[i].factor / 2, -m->f->term[i].offset / 2));
    for (int32_t i = 0; i < p->n_phases; i++) LT_TRY(add_term(m, p->phase[i].step, p->phase[i].factor, p->phase[i].offset));
    return p->whole ? add_term(m, -1, 0, p->phase_offset) : LT_OK;
}

/* ---- maps ---- */

static bool is_identity(int q, const lt_ring *r)
{
    for (uint32_t i = 0; i < (uint32_t)1 << r->low_bits; i++)
        if (r->low[i] != i) return false;
    for (uint32_t i = 0; i < (uint32_t)1 << (q - r->low_bits); i++)
        if (r->high[i] != i << r->low_bits) return false;
    return true;
}

static lt_status add_map(maker *m, const lt_ring *r, int *low_at, int *high_at)
{
    const uint32_t n_low = (uint32_t)1 << r->low_bits, n_high = (uint32_t)1 << (m->f->q - r->low_bits);
    *low_at = m->out->map.n;
    *high_at = *low_at + (int)n_low;
    for (uint32_t i = 0; i < n_low; i++) LT_TRY(ADD(m->out->map, r->low[i]));
    for (uint32_t i = 0; i < n_high; i++) LT_TRY(ADD(m->out->map, r->high[i]));
    return LT_OK;
}

static lt_status read_through(maker *m, const lt_ring *r)
{
    m->sweep.mapped = 1;
    m->sweep.low_bits = r->low_bits;
    return add_map(m, r, &m->sweep.low_at, &m->sweep.high_at);
}

/* ---- the end of a sweep: bits of states become bits of chunks ---- */

static int first_of(const maker *m, int place)
{
    const int bits = m->out->chunk_bits;
    return 4 * place + 4 <= bits ? 4 * place : bits - 4;
}

static lt_status end_gates(maker *m, const wide_op *w, const int *bit_of)
{
    const lt_state_pass *a = w->pass;
    for (int place = 0; place < (m->out->chunk_bits + 3) / 4; place++) {
        lt_sweep_op op = { .kind = w->kind, .place = place };
        for (int32_t i = 0; i < a->n; i++) {
            const int bit = m->f->gate[a->first + i].bit, at = bit_of[bit];
            if (!(w->bits >> bit & 1) || at / 4 != place) continue;
            op.n |= 1 << (at - first_of(m, place));
            op.index[at - first_of(m, place)] = a->first + i;
            op.first |= lt_gate_varies(m->f, &m->f->gate[a->first + i]) << (at - first_of(m, place));
        }
        if (op.n) LT_TRY(ADD(m->out->op, op));
    }
    return LT_OK;
}

typedef struct placed_term { uint32_t local, outside; int32_t term; } placed_term;

static int by_place(const void *a, const void *b)
{
    const placed_term *x = a, *y = b;
    if (x->local != y->local) return x->local < y->local ? -1 : 1;
    return x->term < y->term ? -1 : x->term > y->term;
}

/* Terms that agree in the bits of the chunk come together. */
static lt_status group_terms(maker *m, const placed_term *t, int32_t n)
{
    lt_sweep_op op = { .kind = LT_SWEEP_PHASES, .first = m->out->group.n };
    for (int32_t i = 0, end; i < n; i = end) {
        lt_phase_group g = { .local = (int)t[i].local, .first = m->out->part.n };
        for (end = i; end < n && t[end].local == t[i].local; end++) {
            lt_phase_part part = { t[end].outside, t[end].term };
            LT_TRY(ADD(m->out->part, part));
        }
        g.n = end - i;
        LT_TRY(ADD(m->out->group, g));
        op.n++;
    }
    return ADD(m->out->op, op);
}

/* pass NULL: the global phases. */
static lt_status end_phases(maker *m, const lt_state_pass *a, const int *bit_of)
{
    const int32_t first = a ? a->first : m->f->n_terms, n = a ? a->n : m->out->term.n - first;
    placed_term *t = lt_calloc((size_t)LT_MAX(1, n), sizeof *t);
    if (!t) return LT_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++) {
        const uint32_t mask = a ? m->f->term[first + i].mask : 0;
        t[i] = (placed_term){ .outside = mask & ~m->window, .term = first + i };
        for (int b = 0; b < m->f->q; b++)
            if (mask >> b & 1 && m->window >> b & 1) t[i].local |= (uint32_t)1 << bit_of[b];
    }
    qsort(t, (size_t)n, sizeof *t, by_place);
    lt_status s = group_terms(m, t, n);
    lt_free(t);
    return s;
}

static lt_status end_op(maker *m, const wide_op *w, const int *bit_of)
{
    lt_sweep_op op = { .kind = w->kind };
    switch (w->kind) {
    case LT_SWEEP_PHASES: return end_phases(m, w->pass, bit_of);
    case LT_SWEEP_PERMUTE:
        op.n = w->pass->ring.low_bits;
        LT_TRY(add_map(m, &w->pass->ring, &op.first, &op.place));
        return ADD(m->out->op, op);
    case LT_SWEEP_MATRIX:
        op.n = w->pass->n_bits;
        op.first = w->pass->matrix;
        for (int i = 0; i < op.n; i++) op.index[i] = bit_of[w->pass->bits[i]];
        return ADD(m->out->op, op);
    default: return end_gates(m, w, bit_of);
    }
}

/* The lowest bits fill what is left of the window. */
static void complete_window(maker *m, int *bit_of)
{
    lt_sweep *s = &m->sweep;
    int inside = __builtin_popcount(m->window), at = 0, rest = 0;
    for (int b = 0; inside < m->local; b++)
        if (!(m->window >> b & 1)) m->window |= (uint32_t)1 << b, inside++;
    for (int b = 0; b < m->f->q; b++) {
        if (m->window >> b & 1) bit_of[b] = at, s->bit[at++] = b;
        else s->rest[rest++] = b;
    }
    while (s->straight < m->local && s->bit[s->straight] == s->straight) s->straight++;
}

static uint32_t base_window(const maker *m) { return ((uint32_t)1 << LT_MIN(m->local, LT_WINDOW_BASE)) - 1; }

static lt_status end_sweep(maker *m)
{
    int bit_of[LT_STATES_MAX_QUBITS] = { 0 };
    complete_window(m, bit_of);
    m->sweep.first_op = m->out->op.n;
    for (int32_t i = 0; i < m->wide.n; i++) LT_TRY(end_op(m, (wide_op *)m->wide.at + i, bit_of));
    m->sweep.n_ops = m->out->op.n - m->sweep.first_op;
    m->out->n_mapped += m->sweep.begin == LT_SWEEP_LOAD && m->sweep.mapped;
    LT_TRY(ADD(m->out->sweep, m->sweep));
    m->sweep = (lt_sweep){ .begin = LT_SWEEP_LOAD };
    m->wide.n = 0;
    m->window = base_window(m);
    return LT_OK;
}

/* ---- passes ---- */

/* As many of the wanted bits as the window has, or has room for. */
static uint32_t admit(maker *m, uint32_t wanted)
{
    uint32_t got = wanted & m->window;
    for (int b = m->f->q - 1; b >= 0; b--) {
        const uint32_t bit = (uint32_t)1 << b;
        if (!(wanted & bit) || got & bit || __builtin_popcount(m->window) >= m->local) continue;
        m->window |= bit;
        got |= bit;
    }
    return got;
}

static lt_status add_wide(maker *m, int kind, const lt_state_pass *a, uint32_t bits)
{
    wide_op w = { kind, a, bits };
    return ADD(m->wide, w);
}

static lt_status add_gate_pass(maker *m, const lt_state_pass *a)
{
    const int kind = a->kind == LT_STATE_PASS_HADAMARDS ? LT_SWEEP_HADAMARDS : LT_SWEEP_GATES;
    uint32_t left = 0;
    for (int32_t i = 0; i < a->n; i++) left |= (uint32_t)1 << m->f->gate[a->first + i].bit;
    while (left) {
        const uint32_t now = admit(m, left);
        if (now) LT_TRY(add_wide(m, kind, a, now));
        left &= ~now;
        if (left) LT_TRY(end_sweep(m));
    }
    return LT_OK;
}

static lt_status add_matrix(maker *m, const lt_state_pass *a)
{
    uint32_t bits = 0;
    for (int i = 0; i < a->n_bits; i++) bits |= (uint32_t)1 << a->bits[i];
    if (__builtin_popcount(m->window | bits) > m->local) LT_TRY(end_sweep(m));
    (void)admit(m, bits);
    return add_wide(m, LT_SWEEP_MATRIX, a, bits);
}

static lt_status add_permutation(maker *m, const lt_state_pass *a)
{
    if (m->f->q <= m->local) return add_wide(m, LT_SWEEP_PERMUTE, a, 0);
    LT_TRY(end_sweep(m));
    return read_through(m, &a->ring);
}

static lt_status begin_with_zero(maker *m, const lt_state_pass *a)
{
    m->sweep.begin = LT_SWEEP_ZERO;
    LT_TRY(add_gate_pass(m, a));
    return is_identity(m->f->q, &a->ring) ? LT_OK : add_permutation(m, a);
}

static lt_status add_pass(maker *m, const lt_state_pass *a)
{
    switch (a->kind) {
    case LT_STATE_PASS_PRODUCT:
        if (m->out->reversible) return begin_with_zero(m, a);
        m->sweep.begin = LT_SWEEP_PRODUCT;
        m->sweep.first_gate = a->first;
        return is_identity(m->f->q, &a->ring) ? LT_OK : read_through(m, &a->ring);
    case LT_STATE_PASS_AMPLITUDES: m->sweep.begin = LT_SWEEP_ROW; return LT_OK;
    case LT_STATE_PASS_PHASES: return add_wide(m, LT_SWEEP_PHASES, a, 0);
    case LT_STATE_PASS_PERMUTE: return add_permutation(m, a);
    case LT_STATE_PASS_MATRIX: return add_matrix(m, a);
    default: return add_gate_pass(m, a);
    }
}

/* ---- all of it ---- */

static lt_status start(maker *m, const lt_compiled *p, lt_sweeps *out)
{
    *out = (lt_sweeps){ 0 };
    *m = (maker){ .p = p, .out = out };
    m->slot_of = lt_malloc((size_t)LT_MAX(1, p->tape.n) * sizeof *m->slot_of);
    if (!m->slot_of) return LT_ERR_MEMORY;
    for (int32_t i = 0; i < p->tape.n; i++) m->slot_of[i] = -1;
    return LT_OK;
}

static void finish(maker *m)
{
    lt_free(m->slot_of);
    lt_free(m->wide.at);
}

static lt_status cut(maker *m)
{
    const lt_compiled *p = m->p;
    LT_TRY(add_gates(m, m->f));
    LT_TRY(add_terms(m));
    m->out->n_columns = p->circuit->amplitudes ? (int)p->circuit->n_features : 0;
    m->window = base_window(m);
    for (int32_t i = 0; i < m->f->n_passes; i++) LT_TRY(add_pass(m, &m->f->pass[i]));
    if (m->out->term.n > m->f->n_terms) LT_TRY(add_wide(m, LT_SWEEP_PHASES, NULL, 0));
    return end_sweep(m);
}

lt_status lt_sweeps_of_states(const lt_compiled *p, int chunk_bits, bool reversible, lt_sweeps *out)
{
    maker m;
    *out = (lt_sweeps){ 0 };
    if (p->n_factors != 1) return LT_FAIL(LT_ERR_INTERNAL, "circuit: %d factors where a device makes states of one", p->n_factors);
    lt_status s = start(&m, p, out);
    m.f = &p->factor[0];
    m.local = LT_MIN(m.f->q, chunk_bits);
    out->q = m.f->q;
    out->chunk_bits = chunk_bits;
    out->reversible = reversible;
    if (!s) s = cut(&m);
    finish(&m);
    return s;
}

static lt_status gather_wires(maker *m)
{
    const lt_compiled *p = m->p;
    const int64_t q = p->circuit->n_qubits;
    m->out->wire = lt_malloc((size_t)q * sizeof *m->out->wire);
    if (!m->out->wire) return LT_ERR_MEMORY;
    for (int64_t w = 0; w < q; w++) m->out->wire[w] = -1;
    for (int i = 0; i < p->n_factors; i++) {
        m->out->wire[p->factor[i].wire[0]] = m->out->gate.n; /* the first gate; a factor of one wire has no other that matters */
        LT_TRY(add_gates(m, &p->factor[i]));
    }
    return LT_OK;
}

lt_status lt_sweeps_closed(const lt_compiled *p, lt_sweeps *out)
{
    maker m;
    lt_status s = start(&m, p, out);
    if (!s) s = gather_wires(&m);
    finish(&m);
    return s;
}
