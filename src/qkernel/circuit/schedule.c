/* Packs the primitives of a factor into passes. SPDX-License-Identifier: BSD-3-Clause

   Gates of one wire wait, multiplied together, until something that joins wires needs theirs done. Meanwhile a run collects what joins
   wires: each wire's value as a parity of the bits at the run's beginning, and rotations about such parities. When a waiting gate is needed,
   the run ends (phases, then a permutation), all that waits becomes one pass of gates, and a new run begins. */
#include "qkernel/circuit/compile.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

typedef struct waiting { lt_turn *turn; int32_t n, capacity; } waiting;

typedef struct schedule {
    lt_compiled *p;
    lt_factor  *f;
    waiting     wait[LT_STATES_MAX_QUBITS];
    uint32_t    row[LT_STATES_MAX_QUBITS]; /* bits at the run's beginning whose parity the wire now is … */
    uint32_t    flipped;                   /* … or its opposite: a bit for each wire */
    int32_t     first_term;                /* of the run */
    bool        begun;                     /* the state has its beginning */
    const lt_bound *prim;                  /* all of them … */
    const int64_t  *which;                 /* … those of this factor, in order … */
    int64_t     n, at;                     /* … and the one at hand */
} schedule;

/* ---- lists ---- */

static lt_status grow(void *list, int32_t n, int32_t *capacity, size_t element)
{
    void **p = list;
    if (n < *capacity) return LT_OK;
    int32_t larger = LT_MAX(16, 2 * *capacity);
    void *more = lt_realloc(*p, (size_t)larger * element);
    if (!more) return LT_ERR_MEMORY;
    *p = more;
    *capacity = larger;
    return LT_OK;
}

static lt_status add_pass(lt_factor *f, lt_state_pass pass, lt_state_pass **out)
{
    LT_TRY(grow(&f->pass, f->n_passes, &f->pass_capacity, sizeof *f->pass));
    f->pass[f->n_passes++] = pass;
    if (out) *out = &f->pass[f->n_passes - 1];
    return LT_OK;
}

static uint32_t bit_of(const schedule *s, int wire) { return (uint32_t)1 << (s->f->q - 1 - wire); }

/* ---- gates of one wire ---- */

lt_su2 lt_turn_su2(int axis, double angle)
{
    double c = cos(angle / 2), s = sin(angle / 2);
    if (axis == LT_AXIS_X) return (lt_su2){ c, 0, 0, -s };
    if (axis == LT_AXIS_Y) return (lt_su2){ c, 0, s, 0 };
    return (lt_su2){ c, -s, 0, 0 };
}

static const lt_su2 hadamard = { 0, -M_SQRT1_2, 0, -M_SQRT1_2 }; /* times i */
static const lt_su2 flip = { 0, 0, 0, -1 };                      /* X, times i */

/* 1 or -1, to rounding; 0 when it is something else. */
static int sign_of_identity(const lt_su2 *g)
{
    const double tiny = 4e-16;
    if (fabs(g->ai) > tiny || fabs(g->br) > tiny || fabs(g->bi) > tiny) return 0;
    return g->ar > 0 ? 1 : -1;
}

static void add_phase(schedule *s, double radians) { s->p->phase_offset += radians; }

static lt_status wait_for(schedule *s, int wire, lt_turn t)
{
    waiting *w = &s->wait[wire];
    lt_turn *last = w->n ? &w->turn[w->n - 1] : NULL;
    if (t.step < 0 && t.axis >= 0) t = (lt_turn){ .axis = -1, .step = -1, .fixed = lt_turn_su2(t.axis, t.offset) };
    if (last && last->axis < 0 && t.axis < 0) {
        last->fixed = lt_su2_times(t.fixed, last->fixed);
        int sign = sign_of_identity(&last->fixed);
        if (sign) w->n--;
        if (sign < 0) add_phase(s, M_PI);
        return LT_OK;
    }
    LT_TRY(grow(&w->turn, w->n, &w->capacity, sizeof *w->turn));
    w->turn[w->n++] = t;
    return LT_OK;
}

static lt_status add_gate(schedule *s, int wire)
{
    lt_factor *f = s->f;
    waiting *w = &s->wait[wire];
    LT_TRY(grow(&f->gate, f->n_gates, &f->gate_capacity, sizeof *f->gate));
    f->gate[f->n_gates++] = (lt_wire_gate){ .bit = f->q - 1 - wire, .first = f->n_turns, .n = w->n };
    for (int32_t i = 0; i < w->n; i++) {
        LT_TRY(grow(&f->turn, f->n_turns, &f->turn_capacity, sizeof *f->turn));
        f->turn[f->n_turns++] = w->turn[i];
    }
    w->n = 0;
    return LT_OK;
}

/* ---- runs ---- */

enum { TERMS_LOOKED_AT = 256 };

static lt_status add_term(schedule *s, uint32_t mask, bool opposite, int32_t step, double factor, double offset)
{
    lt_factor *f = s->f;
    double sign = opposite ? -1 : 1;
    for (int32_t i = f->n_terms - 1; i >= s->first_term && i >= f->n_terms - TERMS_LOOKED_AT; i--)
        if (f->term[i].mask == mask && (f->term[i].step == step || step < 0)) {
            f->term[i].factor += step < 0 ? 0 : sign * factor;
            f->term[i].offset += sign * offset;
            return LT_OK;
        }
    LT_TRY(grow(&f->term, f->n_terms, &f->term_capacity, sizeof *f->term));
    f->term[f->n_terms++] = (lt_phase_term){ mask, step, sign * factor, sign * offset };
    return LT_OK;
}

static void begin_run(schedule *s)
{
    for (int w = 0; w < s->f->q; w++) s->row[w] = bit_of(s, w);
    s->flipped = 0;
    s->first_term = s->f->n_terms;
}

static bool permutes(const schedule *s)
{
    for (int w = 0; w < s->f->q; w++)
        if (s->row[w] != bit_of(s, w)) return true;
    return s->flipped != 0;
}

/* The map of basis states as tables: what ends at o comes from high[o >> low_bits] ^ low[o % 2^low_bits], which is from(o) xor shift. */
static lt_status make_ring(int q, const uint32_t *column, uint32_t shift, lt_ring *out)
{
    LT_TRY(lt_ring_create(q, 0, 1, out));
    for (uint32_t half = 0; half < 2; half++) {
        int bits = half ? q - out->low_bits : out->low_bits, from = half ? out->low_bits : 0;
        uint32_t *to = half ? out->high : out->low;
        for (uint32_t o = 0; o < (uint32_t)1 << bits; o++) {
            to[o] = half ? shift : 0;
            for (int b = 0; b < bits; b++)
                if (o >> b & 1) to[o] ^= column[from + b];
        }
    }
    return LT_OK;
}

/* Columns of the inverse of the matrix over GF(2) whose columns are given. */
static void invert(int q, const uint32_t *column, uint32_t *inverse)
{
    uint32_t m[LT_STATES_MAX_QUBITS];
    for (int b = 0; b < q; b++) m[b] = column[b], inverse[b] = (uint32_t)1 << b;
    for (int b = 0; b < q; b++) { /* column operations */
        int pivot = b;
        while (!(m[pivot] >> b & 1)) pivot++;
        uint32_t swap = m[b], other = inverse[b];
        m[b] = m[pivot], m[pivot] = swap;
        inverse[b] = inverse[pivot], inverse[pivot] = other;
        for (int i = 0; i < q; i++)
            if (i != b && m[i] >> b & 1) m[i] ^= m[b], inverse[i] ^= inverse[b];
    }
}

static uint32_t apply_map(int q, const uint32_t *column, uint32_t v)
{
    uint32_t to = 0;
    for (int b = 0; b < q; b++)
        if (v >> b & 1) to ^= column[b];
    return to;
}

/* y = A b xor flipped, so b = A^-1 (y xor flipped). */
static lt_status add_permutation(schedule *s)
{
    const int q = s->f->q;
    uint32_t column[LT_STATES_MAX_QUBITS] = { 0 }, inverse[LT_STATES_MAX_QUBITS];
    lt_state_pass *pass;
    for (int w = 0; w < q; w++)
        for (int b = 0; b < q; b++)
            if (s->row[w] >> b & 1) column[b] |= bit_of(s, w);
    invert(q, column, inverse);
    LT_TRY(add_pass(s->f, (lt_state_pass){ .kind = LT_STATE_PASS_PERMUTE }, &pass));
    LT_TRY(make_ring(q, inverse, apply_map(q, inverse, s->flipped), &pass->ring));
    return make_ring(q, column, s->flipped, &pass->back);
}

static lt_status end_run(schedule *s)
{
    lt_factor *f = s->f;
    if (f->n_terms > s->first_term)
        LT_TRY(add_pass(f, (lt_state_pass){ .kind = LT_STATE_PASS_PHASES, .first = s->first_term, .n = f->n_terms - s->first_term }, NULL));
    if (permutes(s)) LT_TRY(add_permutation(s));
    begin_run(s);
    return LT_OK;
}

/* ---- passes of gates ---- */

static bool is_hadamard(const waiting *w)
{
    return w->n == 1 && w->turn[0].axis < 0 && w->turn[0].fixed.ar == hadamard.ar && w->turn[0].fixed.ai == hadamard.ai
        && w->turn[0].fixed.br == hadamard.br && w->turn[0].fixed.bi == hadamard.bi;
}

/* The state begins here: with a gate of every wire that waits, or the row itself. */
static lt_status begin_state(schedule *s)
{
    lt_factor *f = s->f;
    lt_state_pass *pass;
    s->begun = true;
    if (s->p->circuit->amplitudes) return add_pass(f, (lt_state_pass){ .kind = LT_STATE_PASS_AMPLITUDES }, NULL);
    LT_TRY(add_pass(f, (lt_state_pass){ .kind = LT_STATE_PASS_PRODUCT, .first = f->n_gates, .n = f->q }, &pass));
    LT_TRY(lt_ring_create(f->q, 0, 1, &pass->ring));
    for (int w = 0; w < f->q; w++) LT_TRY(add_gate(s, w));
    return LT_OK;
}

/* Waiting gates as one pass, Hadamards as another that costs less. */
static lt_status add_waiting(schedule *s, bool hadamards)
{
    lt_factor *f = s->f;
    int32_t first = f->n_gates;
    for (int w = 0; w < f->q; w++)
        if (s->wait[w].n && is_hadamard(&s->wait[w]) == hadamards) {
            LT_TRY(add_gate(s, w));
            if (hadamards) add_phase(s, -M_PI / 2); /* that pass needs no factor i */
        }
    if (f->n_gates == first) return LT_OK;
    return add_pass(f, (lt_state_pass){ .kind = hadamards ? LT_STATE_PASS_HADAMARDS : LT_STATE_PASS_GATES, .first = first, .n = f->n_gates - first }, NULL);
}

/* Rotations about Z at the end of a fixed gate join the phases that follow anyway. */
static lt_status leave_phases(schedule *s, int wire)
{
    waiting *w = &s->wait[wire];
    int32_t n = w->n;
    while (n > 0 && w->turn[n - 1].axis == LT_AXIS_Z) n--;
    if (n == w->n || n > 1 || (n == 1 && w->turn[0].axis >= 0)) return LT_OK;
    for (int32_t i = n; i < w->n; i++) LT_TRY(add_term(s, bit_of(s, wire), false, w->turn[i].step, w->turn[i].factor, w->turn[i].offset));
    w->n = n;
    return LT_OK;
}

/* Whether the run that begins here will have phases: a rotation about Zs comes before the next gate of one wire. */
static bool phases_follow(const schedule *s)
{
    for (int64_t i = s->at; i < s->n; i++) {
        int op = s->prim[s->which[i]].prim.op;
        if (op == LT_PRIM_PARITY) return true;
        if (op == LT_PRIM_ROTATE || op == LT_PRIM_H || op == LT_PRIM_MATRIX) return false;
    }
    return false;
}

/* Ends the run and does all that waits. */
static lt_status settle(schedule *s)
{
    if (!s->begun && s->f->n_terms == s->first_term && !permutes(s)) LT_TRY(begin_state(s));
    else {
        if (!s->begun) { /* something acts on |0...0> before any gate of one wire */
            waiting kept[LT_STATES_MAX_QUBITS];
            memcpy(kept, s->wait, sizeof kept);
            memset(s->wait, 0, sizeof s->wait);
            lt_status status = begin_state(s);
            memcpy(s->wait, kept, sizeof kept);
            LT_TRY(status);
        }
        LT_TRY(end_run(s));
    }
    if (phases_follow(s))
        for (int w = 0; w < s->f->q; w++) LT_TRY(leave_phases(s, w));
    /* Phases of the new run are behind gates that are still to be added: both lists keep their order. */
    LT_TRY(add_waiting(s, true));
    return add_waiting(s, false);
}

static bool waits(const schedule *s, const int32_t *wire, int n)
{
    for (int i = 0; i < n; i++)
        if (s->wait[wire[i]].n) return true;
    return false;
}

/* ---- primitives ---- */

static lt_status add_parity(schedule *s, const int32_t *wire, const lt_bound *b)
{
    uint32_t mask = 0;
    bool opposite = false;
    if (b->prim.n == 1 && (s->f->q == 1 || s->wait[wire[0]].n)) {
        return wait_for(s, wire[0], (lt_turn){ .axis = LT_AXIS_Z, .step = b->step, .factor = b->factor, .offset = b->offset });
    }
    if (waits(s, wire, b->prim.n)) LT_TRY(settle(s));
    for (int i = 0; i < b->prim.n; i++) {
        mask ^= s->row[wire[i]];
        opposite ^= (s->flipped & bit_of(s, wire[i])) != 0;
    }
    return add_term(s, mask, opposite, b->step, b->factor, b->offset);
}

static lt_status add_flip(schedule *s, int wire)
{
    if (s->f->q == 1 || s->wait[wire].n) {
        add_phase(s, M_PI / 2);
        return wait_for(s, wire, (lt_turn){ .axis = -1, .step = -1, .fixed = flip });
    }
    s->flipped ^= bit_of(s, wire);
    return LT_OK;
}

static lt_status add_not(schedule *s, const int32_t *wire)
{
    if (waits(s, wire, 2)) LT_TRY(settle(s));
    s->row[wire[1]] ^= s->row[wire[0]];
    if (s->flipped & bit_of(s, wire[0])) s->flipped ^= bit_of(s, wire[1]);
    return LT_OK;
}

static void add_swap(schedule *s, int a, int b)
{
    waiting w = s->wait[a];
    uint32_t row = s->row[a];
    bool flips_a = s->flipped & bit_of(s, a), flips_b = s->flipped & bit_of(s, b);
    s->wait[a] = s->wait[b], s->wait[b] = w;
    s->row[a] = s->row[b], s->row[b] = row;
    if (flips_a != flips_b) s->flipped ^= bit_of(s, a) ^ bit_of(s, b);
}

/* A matrix of one wire is a gate times a phase, half the angle of its determinant. */
static lt_status add_small_matrix(schedule *s, int wire, const double *m)
{
    double re = m[0] * m[6] - m[1] * m[7] - (m[2] * m[4] - m[3] * m[5]), im = m[0] * m[7] + m[1] * m[6] - (m[2] * m[5] + m[3] * m[4]);
    double half = atan2(im, re) / 2, c = cos(half), t = sin(half);
    add_phase(s, half);
    return wait_for(s, wire, (lt_turn){ .axis = -1, .step = -1, .fixed = { m[0] * c + m[1] * t, m[1] * c - m[0] * t, m[4] * c + m[5] * t, m[5] * c - m[4] * t } });
}

static lt_status add_matrix(schedule *s, const int32_t *wire, const lt_bound *b)
{
    if (b->prim.n == 1) return add_small_matrix(s, wire[0], s->p->circuit->number + b->prim.matrix);
    lt_state_pass pass = { .kind = LT_STATE_PASS_MATRIX, .n_bits = b->prim.n, .matrix = b->prim.matrix };
    for (int i = 0; i < b->prim.n; i++) pass.bits[i] = s->f->q - 1 - wire[i];
    LT_TRY(settle(s));
    return add_pass(s->f, pass, NULL);
}

static lt_status add_prim(schedule *s, const lt_bound *b, const int32_t *wire)
{
    lt_turn turn = { .axis = (int8_t)b->prim.axis, .step = b->step, .factor = b->factor, .offset = b->offset };
    switch (b->prim.op) {
    case LT_PRIM_ROTATE: return wait_for(s, wire[0], turn);
    case LT_PRIM_H:
        add_phase(s, M_PI / 2);
        return wait_for(s, wire[0], (lt_turn){ .axis = -1, .step = -1, .fixed = hadamard });
    case LT_PRIM_PARITY: return add_parity(s, wire, b);
    case LT_PRIM_X: return add_flip(s, wire[0]);
    case LT_PRIM_CX: return add_not(s, wire);
    case LT_PRIM_SWAP: add_swap(s, wire[0], wire[1]); return LT_OK;
    default: return add_matrix(s, wire, b);
    }
}

/* ---- the end ---- */

/* A permutation at the end is the same for all rows, and so are phases without x: K does not change without them. */
static void drop_end(schedule *s)
{
    lt_factor *f = s->f;
    for (bool again = true; again && f->n_passes > 1;) {
        lt_state_pass *last = &f->pass[f->n_passes - 1];
        again = false;
        if (last->kind == LT_STATE_PASS_PERMUTE) {
            lt_ring_destroy(&last->ring);
            lt_ring_destroy(&last->back);
            f->n_passes--;
            again = true;
        } else if (last->kind == LT_STATE_PASS_PHASES) {
            int32_t kept = 0;
            for (int32_t i = 0; i < last->n; i++)
                if (f->term[last->first + i].step >= 0) f->term[last->first + kept++] = f->term[last->first + i];
            last->n = kept;
            if (kept == 0) f->n_passes--, again = true;
        }
    }
}

/* A permutation right behind the product is read through. */
static void join_ring(lt_factor *f)
{
    if (f->n_passes < 2 || f->pass[0].kind != LT_STATE_PASS_PRODUCT || f->pass[1].kind != LT_STATE_PASS_PERMUTE) return;
    lt_ring_destroy(&f->pass[0].ring);
    f->pass[0].ring = f->pass[1].ring;
    f->pass[0].back = f->pass[1].back;
    memmove(f->pass + 1, f->pass + 2, (size_t)(f->n_passes - 2) * sizeof *f->pass);
    f->n_passes--;
}

static lt_status schedule_all(schedule *s, const lt_bound *prim, const int64_t *which, int64_t n, const int32_t *wires, const int32_t *local)
{
    begin_run(s);
    for (int64_t i = 0; i < n; i++) {
        const lt_bound *b = &prim[which[i]];
        int32_t wire[LT_STATES_MAX_QUBITS];
        for (int j = 0; j < b->prim.n; j++) wire[j] = local[wires[b->prim.first + j]];
        s->at = i;
        LT_TRY(add_prim(s, b, wire));
    }
    s->at = n;
    LT_TRY(settle(s));
    if (!s->p->whole) drop_end(s);
    join_ring(s->f);
    return LT_OK;
}

lt_status lt_schedule(lt_compiled *p, lt_factor *f, const lt_bound *prim, const int64_t *which, int64_t n, const int32_t *wires, const int32_t *local)
{
    schedule s = { .p = p, .f = f, .prim = prim, .which = which, .n = n };
    lt_status status = schedule_all(&s, prim, which, n, wires, local);
    for (int w = 0; w < f->q; w++) lt_free(s.wait[w].turn);
    return status;
}
