/* State vectors of many rows: groups of `lanes` rows pass through the circuit together.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/rows/states.h"

#include "base/status.h"
#include "qkernel/rows/rows.h"

#include <stdatomic.h>

enum { MAX_LANES = 16 };

const lt_gram_loops *lt_states_loops(const lt_gram_isa *isa, lt_gram_float type, int q)
{
    if (q >= LT_NARROW_FROM_QUBITS) return type == LT_GRAM_FLOAT32 ? &isa->narrow_f32 : &isa->narrow_f64;
    return type == LT_GRAM_FLOAT32 ? &isa->f32 : &isa->f64;
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t amplitude_bytes(const lt_state_maker *m) { return 2 * (size_t)m->loops->lanes * m->element; }

static lt_state_maker finish_maker(lt_state_maker m, size_t state_amplitudes, size_t table_amplitudes)
{
    size_t lanes = (size_t)m.loops->lanes, q = (size_t)m.circuit->q;
    m.state_bytes = aligned(amplitude_bytes(&m) * state_amplitudes);
    m.table_bytes = aligned(amplitude_bytes(&m) * table_amplitudes);
    m.coef_bytes = aligned(4 * lanes * m.element * q);
    m.angle_bytes = aligned(lanes * q * sizeof(double));
    m.slot_bytes = (size_t)m.n_buffers * m.state_bytes + m.table_bytes + 2 * m.coef_bytes + 3 * m.angle_bytes;
    return m;
}

lt_state_maker lt_state_maker_of(const lt_layers *c, const lt_gram_loops *loops, lt_gram_float type)
{
    lt_state_maker m = { .circuit = c, .loops = loops, .element = type == LT_GRAM_FLOAT32 ? 4 : 8, .n_buffers = 1 };
    int low_bits = c->rings[0].low_bits;
    /* full has the rings overlap has, and is as long: gates follow a ring unless it is the last. */
    if (c->n_full > 2) m.n_buffers = 2;
    return finish_maker(m, (size_t)1 << c->q, ((size_t)1 << low_bits) + ((size_t)1 << (c->q - low_bits)));
}

/* Tables of this many bits stay in the first-level cache. */
enum { MAX_BOND_BITS = 6 };

static lt_state_maker maker_of_program(const lt_layers *c, const lt_gram_loops *loops, lt_gram_float type)
{
    lt_state_maker m = { .circuit = c, .loops = loops, .element = type == LT_GRAM_FLOAT32 ? 4 : 8, .simulator = lt_simulator_of(c->program, lt_isa_best(), type) };
    m.slot_bytes = m.simulator.slot_bytes;
    return m;
}

lt_state_maker lt_state_maker_of_overlaps(const lt_layers *c, const lt_gram_loops *loops, lt_gram_float type)
{
    if (c->program) return maker_of_program(c, loops, type);
    lt_state_maker m = lt_state_maker_of(c, loops, type);
    if (c->n_overlap != 2 || !c->parity_ring) return m;
    m.n_buffers = 1;
    m.bond_bits = LT_MIN(c->q / 2, MAX_BOND_BITS);
    size_t low = (size_t)1 << m.bond_bits, high = (size_t)1 << (c->q - m.bond_bits);
    return finish_maker(m, LT_MIN((size_t)1 << c->q, (size_t)LT_CHUNK), 4 * (low + high) + LT_MAX(low, high));
}

/* ---- one group ---- */

typedef struct slot { void *state, *other, *table, *coef, *next_coef; double *angle, *sine, *cosine; } slot;

static slot slot_at(const lt_state_maker *m, void *workspace, int64_t index)
{
    char *p = (char *)workspace + (size_t)index * m->slot_bytes;
    slot s = { .state = p };
    p += m->state_bytes;
    if (m->n_buffers == 2) s.other = p, p += m->state_bytes;
    s.table = p;
    s.coef = p + m->table_bytes;
    s.next_coef = (char *)s.coef + m->coef_bytes;
    s.angle = (double *)((char *)s.next_coef + m->coef_bytes);
    s.sine = s.angle + m->angle_bytes / sizeof *s.angle;
    s.cosine = s.sine + m->angle_bytes / sizeof *s.angle;
    return s;
}

/* Sines and cosines of the embedding's half angles, by wire (slow) and lane; lanes without a row embed zeros. */
static void embed_rows(const lt_state_maker *m, const lt_rows *x, int64_t first, int64_t n_rows, const slot *s)
{
    const lt_layers *c = m->circuit;
    int lanes = m->loops->lanes;
    for (int k = 0; k < c->q; k++)
        for (int r = 0; r < lanes; r++)
            s->angle[k * lanes + r] = r < n_rows ? c->scale * lt_rows_at(x, first + r, k) / 2 : 0;
    m->loops->sincos(s->sine, s->cosine, s->angle, c->q * lanes);
}

static void fuse_gates(const lt_state_maker *m, const lt_stage *stage, const slot *s, void *coef)
{
    m->loops->fuse(coef, s->sine, s->cosine, stage, m->circuit->embed, m->circuit->q);
}

/* The state of a group before the ring of the last stage, in s->state. */
static void run_stages(const lt_state_maker *m, const lt_stage *stage, int64_t n_stages, slot *s)
{
    const lt_gram_loops *l = m->loops;
    int q = m->circuit->q;
    const lt_ring *identity = &m->circuit->rings[0], *first = n_stages > 1 ? stage[0].ring : identity;
    fuse_gates(m, &stage[0], s, s->coef);
    l->product_state(s->state, s->coef, q, first->low_bits, first->low, first->high, s->table);
    for (int64_t i = 1; i < n_stages; i++) {
        if (i > 1) {
            const lt_ring *ring = stage[i - 1].ring;
            l->permute(s->other, s->state, q, ring->low_bits, ring->low, ring->high);
            void *swap = s->state;
            s->state = s->other;
            s->other = swap;
        }
        fuse_gates(m, &stage[i], s, s->coef);
        l->gates(s->state, s->coef, q);
    }
}

/* ---- all groups ---- */

typedef struct work {
    const lt_state_maker *m;
    lt_state_job job;
    void        *out;
    atomic_llong next; /* group to take */
    atomic_llong done;         /* groups */
    atomic_bool  stop;
} work;

/* Two stages, chunk by chunk, from tables that serve all slices. */
static void pack_bonds(const work *w, void *panel, int part, const slot *s, double *norm)
{
    const lt_gram_loops *l = w->m->loops;
    const lt_layers *c = w->m->circuit;
    const lt_state_job *j = &w->job;
    int64_t chunk = LT_MIN(j->amplitudes, LT_CHUNK);
    if (j->begin == 0) {
        fuse_gates(w->m, &c->overlap[0], s, s->coef);
        fuse_gates(w->m, &c->overlap[1], s, s->next_coef);
        l->bond_tables(s->table, s->coef, s->next_coef, c->q, w->m->bond_bits);
    }
    for (int64_t k = 0; k < j->amplitudes; k += chunk) {
        l->bond_sums(s->state, s->table, c->q, w->m->bond_bits, j->begin + k, chunk);
        l->pack(panel, part, j->planes, s->state, k, chunk, j->amplitudes, norm, j->streaming);
    }
}

static void pack_group(work *w, int64_t group, slot *s)
{
    const lt_gram_loops *l = w->m->loops;
    const lt_layers *c = w->m->circuit;
    const lt_state_job *j = &w->job;
    int parts = l->panel / l->lanes, part = (int)(group % parts);
    int64_t row = group * l->lanes, n_rows = LT_MIN(j->n - row, l->lanes);
    double sums[MAX_LANES] = { 0 }, *norm = j->norms ? sums : NULL;
    char *panel = (char *)j->panels + (size_t)(lt_panel_elements(l, j->amplitudes, j->planes) * (group / parts)) * w->m->element;
    for (int64_t r = 0; norm && j->begin > 0 && r < n_rows; r++) norm[r] = j->norms[row + r];
    if (j->begin == 0) embed_rows(w->m, j->x, j->first + row, n_rows, s);
    if (j->tables) s->table = (char *)j->tables + (size_t)group * w->m->table_bytes;
    if (w->m->bond_bits) pack_bonds(w, panel, part, s, norm);
    else {
        run_stages(w->m, c->overlap, c->n_overlap, s);
        l->pack(panel, part, j->planes, s->state, 0, j->amplitudes, j->amplitudes, norm, j->streaming);
    }
    for (int64_t r = 0; norm && r < n_rows; r++) j->norms[row + r] = norm[r];
}

/* A group of any circuit: its factors one after the other in the panel; the squared norm is the product of theirs. */
static void pack_program(work *w, int64_t group, lt_slot *s)
{
    const lt_gram_loops *l = w->m->loops;
    const lt_compiled *p = w->m->simulator.program;
    const lt_state_job *j = &w->job;
    int parts = l->panel / l->lanes, part = (int)(group % parts);
    int64_t row = group * l->lanes, n_rows = LT_MIN(j->n - row, l->lanes);
    char *panel = (char *)j->panels + (size_t)(lt_panel_elements(l, j->amplitudes, j->planes) * (group / parts)) * w->m->element;
    for (int64_t r = 0; j->norms && r < n_rows; r++) j->norms[row + r] = 1;
    lt_simulate_rows(&w->m->simulator, s, j->x, j->first + row);
    for (int i = 0; i < p->n_factors; i++) {
        int64_t amplitudes = INT64_C(1) << p->factor[i].q;
        double sums[MAX_LANES] = { 0 };
        lt_simulate_factor(&w->m->simulator, s, &p->factor[i]);
        l->pack(panel, part, j->planes, s->state, 0, amplitudes, amplitudes, j->norms ? sums : NULL, j->streaming);
        panel += (size_t)lt_panel_elements(l, amplitudes, j->planes) * w->m->element;
        for (int64_t r = 0; j->norms && r < n_rows; r++) j->norms[row + r] *= sums[r];
    }
}

static lt_status pack_task(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    const lt_state_job *j = &w->job;
    int64_t n_groups = lt_state_groups(w->m->loops, j->n);
    const bool any = w->m->simulator.program != NULL;
    slot s = slot_at(w->m, j->workspace, index);
    lt_slot of_any = any ? lt_slot_at(&w->m->simulator, j->workspace, index) : (lt_slot){ 0 };
    for (int64_t g; (g = atomic_fetch_add(&w->next, 1)) < n_groups;) {
        if (any) pack_program(w, g, &of_any);
        else pack_group(w, g, &s);
        int64_t done = LT_MIN((atomic_fetch_add(&w->done, 1) + 1) * w->m->loops->lanes, j->n);
        /* Worker 0 is the calling thread. */
        if (worker == 0 && j->report && !j->report(j->report_ctx, done, j->n)) atomic_store(&w->stop, true);
        if (atomic_load(&w->stop)) return LT_FAIL(LT_ERR_CANCELLED, "gram: stopped by the progress function after %lld of %lld states", (long long)done, (long long)j->n);
    }
    return LT_OK;
}

lt_status lt_states_pack(const lt_state_maker *m, lt_pool *pool, const lt_state_job *job)
{
    work w = { .m = m, .job = *job };
    if (w.job.amplitudes == 0) w.job.amplitudes = (int64_t)1 << m->circuit->q;
    return lt_pool_run(pool, job->n_slots, pack_task, &w);
}

static lt_status unpack_task(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    (void)worker;
    const lt_gram_loops *l = w->m->loops;
    const lt_layers *c = w->m->circuit;
    const lt_ring *ring = c->full[c->n_full - 1].ring;
    int64_t n = w->job.n, n_groups = (n + l->lanes - 1) / l->lanes;
    size_t row_bytes = (2 * w->m->element) << c->q;
    slot s = slot_at(w->m, w->job.workspace, index);
    for (int64_t g; (g = atomic_fetch_add(&w->next, 1)) < n_groups;) {
        int64_t row = g * l->lanes, n_rows = LT_MIN(n - row, l->lanes);
        void *rows[MAX_LANES];
        for (int64_t r = 0; r < n_rows; r++) rows[r] = (char *)w->out + (size_t)(row + r) * row_bytes;
        embed_rows(w->m, w->job.x, row, n_rows, &s);
        run_stages(w->m, c->full, c->n_full, &s);
        l->unpack(rows, (int)n_rows, s.state, c->q, ring->low_bits, ring->low, ring->high);
    }
    return LT_OK;
}

lt_status lt_states_unpack(const lt_state_maker *m, lt_pool *pool, const lt_rows *x, void *workspace, int n_slots, void *out)
{
    work w = { .m = m, .job = { .x = x, .n = x->n, .workspace = workspace }, .out = out };
    return lt_pool_run(pool, n_slots, unpack_task, &w);
}
