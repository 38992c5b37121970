/* States of a program for groups of rows: angles, then passes. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/simulate/simulate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/rows.h"
#include "qkernel/rows/states.h"

#include <math.h>
#include <string.h>

/* The table with the lanes that lt_states_loops gives for this type and number of qubits. */
static const lt_simulate_loops *loops_of(lt_isa isa, lt_gram_float type, int q)
{
    const lt_simulate_isa *t = &lt_simulate_plain;
#if LT_VEC_X86
    if (isa == LT_ISA_AVX2) t = &lt_simulate_avx2;
    if (isa == LT_ISA_AVX512) t = &lt_simulate_avx512;
#endif
    (void)isa;
    if (q >= LT_NARROW_FROM_QUBITS) return type == LT_GRAM_FLOAT32 ? &t->narrow_f32 : &t->narrow_f64;
    return type == LT_GRAM_FLOAT32 ? &t->f32 : &t->f64;
}

/* ---- slots ---- */

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

typedef struct sizes { size_t table, coef, x, value, angle, scratch; } sizes;

static sizes sizes_of(const lt_simulator *m)
{
    const lt_compiled *p = m->program;
    const size_t lanes = (size_t)m->loops->lanes, vector = lanes * sizeof(double), amplitude = 2 * lanes * m->element;
    int32_t turns = LT_MAX(1, p->n_phases), gates = 0;
    int q = LT_MAX(1, p->widest), bits = LT_MIN(q, LT_PHASE_BLOCK_BITS), low = (q + 1) / 2;
    for (int i = 0; i < p->n_factors; i++) {
        turns = LT_MAX(turns, LT_MAX(p->factor[i].n_turns, p->factor[i].n_terms));
        gates = LT_MAX(gates, p->factor[i].n_gates);
    }
    return (sizes){ .table = aligned((((size_t)1 << low) + ((size_t)1 << (q - low))) * amplitude), .coef = aligned(4 * lanes * m->element * (size_t)gates),
                    .x = aligned(vector * (size_t)LT_MAX(1, p->circuit->n_features)), .value = aligned(vector * (size_t)LT_MAX(1, p->tape.n)),
                    .angle = aligned(vector * (size_t)turns), .scratch = aligned(3 * (vector << bits)) };
}

lt_simulator lt_simulator_of(const lt_compiled *p, lt_isa isa, lt_gram_float type)
{
    lt_simulator m = { .program = p, .loops = loops_of(isa, type, p->widest), .states = lt_states_loops(lt_gram_isa_of(isa), type, p->widest),
                       .element = type == LT_GRAM_FLOAT32 ? 4 : 8, .n_buffers = 1 };
    for (int i = 0; i < p->n_factors; i++)
        for (int32_t a = 0; a < p->factor[i].n_passes; a++)
            /* gradients undo rings of products too */
            if (p->factor[i].pass[a].kind == LT_STATE_PASS_PERMUTE || (p->keep_weights && p->factor[i].pass[a].back.low)) m.n_buffers = 2;
    sizes z = sizes_of(&m);
    m.state_bytes = aligned((2 * (size_t)m.loops->lanes * m.element) << p->widest);
    m.slot_bytes = (size_t)m.n_buffers * m.state_bytes + z.table + z.coef + z.x + z.value + 3 * z.angle + z.scratch;
    return m;
}

lt_slot lt_slot_at(const lt_simulator *m, void *workspace, int64_t index)
{
    char *p = (char *)workspace + (size_t)index * m->slot_bytes;
    sizes z = sizes_of(m);
    lt_slot s = { .state = p };
    p += m->state_bytes;
    if (m->n_buffers == 2) s.other = p, p += m->state_bytes;
    s.table = p;
    s.coef = p += z.table;
    s.x = (double *)(p += z.coef);
    s.value = (double *)(p += z.x);
    s.angle = (double *)(p += z.value);
    s.sine = (double *)(p += z.angle);
    s.cosine = (double *)(p += z.angle);
    s.scratch = (double *)(p + z.angle);
    return s;
}

/* ---- rows ---- */

static lt_status check_shape(const lt_compiled *p, const char *name, const lt_rows *x)
{
    const lt_circuit *c = p->circuit;
    if (!x->data) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s has no data", name);
    if (x->dtype != LT_F64 && x->dtype != LT_F32)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s has type %s, expected f64 or f32", name, lt_dtype_name(x->dtype));
    if (x->n < 1 || x->n > INT64_C(1) << 40) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s has %lld rows, expected at least one", name, (long long)x->n);
    if (x->columns != c->n_features)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s has %lld columns, and the circuit has %lld features", name, (long long)x->columns, (long long)c->n_features);
    if (x->step != 0 && x->step < x->columns)
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: rows of %s are %lld elements apart, fewer than its %lld columns", name, (long long)x->step, (long long)x->columns);
    return LT_OK;
}

static lt_status check_row(const lt_compiled *p, const char *name, const lt_rows *x, int64_t i, double *row, double *value)
{
    for (int64_t k = 0; k < x->columns; k++) {
        row[k] = lt_rows_at(x, i, k);
        if (!isfinite(row[k]))
            return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s is %g at row %lld, column %lld: every number must be finite", name, row[k], (long long)i, (long long)k);
    }
    if (p->circuit->amplitudes && !(lt_rows_length(x, i) > 0))
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: row %lld of %s is zero, which no state can be made of", (long long)i, name);
    lt_tape_run(&p->tape, row, p->weights, 1, value);
    return lt_tape_check(&p->tape, &p->circuit->exprs, name, i, row, value);
}

enum { CHECKED_AT_ONCE = 64 };

/* Whether all numbers and angles of rows i.. are finite: columns, value: (…, CHECKED_AT_ONCE). */
static bool all_finite(const lt_compiled *p, const lt_rows *x, int64_t i, double *columns, double *value)
{
    double sum = 0; /* of zeros, unless a number is not finite */
    for (int r = 0; r < CHECKED_AT_ONCE; r++)
        for (int64_t k = 0; k < x->columns; k++) columns[k * CHECKED_AT_ONCE + r] = lt_rows_at(x, i + r, k);
    lt_tape_run(&p->tape, columns, p->weights, CHECKED_AT_ONCE, value);
    for (int64_t k = 0; k < x->columns * CHECKED_AT_ONCE; k++) sum += 0 * columns[k];
    for (int64_t k = 0; k < (int64_t)p->tape.n * CHECKED_AT_ONCE; k++) sum += 0 * value[k];
    return sum == 0;
}

/* Many rows at once, and one by one those among which something is wrong. */
lt_status lt_compiled_check_rows(const lt_compiled *p, const char *name, const lt_rows *x)
{
    LT_TRY(check_shape(p, name, x));
    double *columns = lt_malloc((size_t)(x->columns + p->tape.n + 1) * CHECKED_AT_ONCE * sizeof *columns), *value = columns + x->columns * CHECKED_AT_ONCE;
    lt_status s = columns ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < x->n;) {
        const bool block = x->n - i >= CHECKED_AT_ONCE;
        if (block && !p->circuit->amplitudes && all_finite(p, x, i, columns, value)) {
            i += CHECKED_AT_ONCE;
            continue;
        }
        for (int64_t end = LT_MIN(x->n, i + CHECKED_AT_ONCE); !s && i < end; i++) s = check_row(p, name, x, i, columns, columns + x->columns);
    }
    lt_free(columns);
    return s;
}

void lt_simulate_rows(const lt_simulator *m, const lt_slot *s, const lt_rows *x, int64_t first)
{
    const lt_compiled *p = m->program;
    const int lanes = m->loops->lanes;
    for (int r = 0; r < lanes; r++) {
        int64_t row = LT_MAX(0, LT_MIN(first + r, x->n - 1));
        double length = p->circuit->amplitudes ? lt_rows_length(x, row) : 1;
        for (int64_t k = 0; k < x->columns; k++) s->x[k * lanes + r] = p->circuit->amplitudes ? lt_rows_at(x, row, k) / length : lt_rows_at(x, row, k);
    }
    lt_tape_run(&p->tape, s->x, p->weights, lanes, s->value);
}

/* ---- angles ---- */

static void fill_angle(const lt_simulator *m, const lt_slot *s, int64_t at, int32_t step, double factor, double offset)
{
    const int lanes = m->loops->lanes;
    const double *value = s->value + (int64_t)step * lanes;
    for (int r = 0; r < lanes; r++) s->angle[at * lanes + r] = step < 0 ? offset : factor * value[r] + offset;
}

void lt_simulate_turns(const lt_simulator *m, const lt_slot *s, const lt_factor *f)
{
    for (int32_t i = 0; i < f->n_turns; i++) {
        const lt_turn *t = &f->turn[i];
        fill_angle(m, s, i, t->axis < 0 ? -1 : t->step, t->factor / 2, t->axis < 0 ? 0 : t->offset / 2);
    }
    m->loops->sincos(s->sine, s->cosine, s->angle, (int64_t)f->n_turns * m->loops->lanes);
}

static void term_angles(const lt_simulator *m, const lt_slot *s, const lt_factor *f, const lt_state_pass *a)
{
    for (int32_t i = 0; i < a->n; i++) {
        const lt_phase_term *t = &f->term[a->first + i];
        fill_angle(m, s, i, t->step, -t->factor / 2, -t->offset / 2);
    }
}

/* Sine and cosine of the global phase of each lane, in s->sine and s->cosine. False when there is none. */
static bool global_phase(const lt_simulator *m, const lt_slot *s)
{
    const lt_compiled *p = m->program;
    const int lanes = m->loops->lanes;
    if (p->n_phases == 0 && !p->whole) return false;
    double sum[64];
    for (int r = 0; r < lanes; r++) sum[r] = p->whole ? p->phase_offset : 0;
    for (int32_t i = 0; i < p->n_phases; i++) {
        fill_angle(m, s, 0, p->phase[i].step, p->phase[i].factor, p->phase[i].offset);
        for (int r = 0; r < lanes; r++) sum[r] += s->angle[r];
    }
    memcpy(s->angle, sum, (size_t)lanes * sizeof *sum);
    m->loops->sincos(s->sine, s->cosine, s->angle, lanes);
    return true;
}

/* ---- passes ---- */

const void *lt_simulate_coef_at(const lt_simulator *m, const lt_slot *s, int32_t gate)
{
    return (const char *)s->coef + (size_t)gate * 4 * (size_t)m->loops->lanes * m->element;
}

static void run_gates(const lt_simulator *m, lt_slot *s, const lt_factor *f, const lt_state_pass *a, bool undo)
{
    int bit[LT_STATES_MAX_QUBITS];
    for (int32_t i = 0; i < a->n; i++) bit[i] = f->gate[a->first + i].bit;
    if (a->kind == LT_STATE_PASS_HADAMARDS) m->loops->hadamards(s->state, f->q, a->n, bit);
    else m->loops->gates(s->state, f->q, a->n, bit, lt_simulate_coef_at(m, s, a->first), undo);
}

static void permute(const lt_simulator *m, lt_slot *s, int q, const lt_ring *ring)
{
    void *from = s->state;
    m->states->permute(s->other, from, q, ring->low_bits, ring->low, ring->high);
    s->state = s->other;
    s->other = from;
}

void lt_simulate_pass(const lt_simulator *m, lt_slot *s, const lt_factor *f, const lt_state_pass *a, bool undo)
{
    switch (a->kind) {
    case LT_STATE_PASS_GATES: case LT_STATE_PASS_HADAMARDS: run_gates(m, s, f, a, undo); return;
    case LT_STATE_PASS_PERMUTE: permute(m, s, f->q, undo ? &a->back : &a->ring); return;
    case LT_STATE_PASS_PHASES: {
        term_angles(m, s, f, a);
        m->loops->phases(s->state, f->q, &(lt_phase_job){ a->n, f->term + a->first, s->angle, s->scratch }, undo);
        return;
    }
    case LT_STATE_PASS_MATRIX: m->loops->matrix(s->state, f->q, a->n_bits, a->bits, m->program->circuit->number + a->matrix, undo); return;
    default: return;
    }
}

static void begin(const lt_simulator *m, lt_slot *s, const lt_factor *f, const lt_state_pass *a)
{
    if (a->kind == LT_STATE_PASS_AMPLITUDES) m->loops->load(s->state, (int64_t)1 << f->q, s->x, m->program->circuit->n_features);
    else m->states->product_state(s->state, lt_simulate_coef_at(m, s, a->first), f->q, a->ring.low_bits, a->ring.low, a->ring.high, s->table);
}

void lt_simulate_coefficients(const lt_simulator *m, const lt_slot *s, const lt_factor *f)
{
    lt_simulate_turns(m, s, f);
    m->loops->fuse(s->coef, f->gate, f->n_gates, f->turn, s->sine, s->cosine);
}

void lt_simulate_factor(const lt_simulator *m, lt_slot *s, const lt_factor *f)
{
    lt_simulate_coefficients(m, s, f);
    begin(m, s, f, &f->pass[0]);
    for (int32_t a = 1; a < f->n_passes; a++) lt_simulate_pass(m, s, f, &f->pass[a], false);
    if (f != m->program->factor || !global_phase(m, s)) return; /* one factor carries the phase of all */
    m->loops->turn(s->state, (int64_t)1 << f->q, s->sine, s->cosine);
}
