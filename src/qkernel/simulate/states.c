/* States of circuits for those who ask for all amplitudes. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/simulate/simulate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/cpu/vec/vec.h"

#include <math.h>
#include <stdatomic.h>

typedef struct work {
    const lt_simulator *m;
    const lt_rows *x;
    char          *workspace, *out;
    double        *bloch;      /* instead of out */
    atomic_llong   next;
} work;

static lt_status unpack_task(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    (void)worker;
    const lt_simulator *m = w->m;
    const lt_factor *f = m->program->factor;
    const int lanes = m->loops->lanes;
    const size_t row_bytes = (2 * m->element) << f->q;
    lt_slot s = lt_slot_at(m, w->workspace, index);
    lt_ring identity;
    LT_TRY(lt_ring_create(f->q, 0, 1, &identity));
    for (int64_t g; (g = atomic_fetch_add(&w->next, 1)) * lanes < w->x->n;) {
        int64_t row = g * lanes, n_rows = LT_MIN(w->x->n - row, lanes);
        void *rows[64];
        for (int64_t r = 0; r < n_rows; r++) rows[r] = w->out + (size_t)(row + r) * row_bytes;
        lt_simulate_rows(m, &s, w->x, row);
        lt_simulate_factor(m, &s, f);
        m->states->unpack(rows, (int)n_rows, s.state, f->q, identity.low_bits, identity.low, identity.high);
    }
    lt_ring_destroy(&identity);
    return LT_OK;
}

static lt_status run(const lt_compiled *p, lt_pool *pool, lt_gram_float type, work *w, lt_task task)
{
    lt_simulator m = lt_simulator_of(p, lt_isa_best(), type);
    int n_slots = (int)LT_MIN((int64_t)lt_pool_threads(pool), (w->x->n - 1) / m.loops->lanes + 1);
    w->m = &m;
    w->workspace = lt_malloc_aligned(m.slot_bytes * (size_t)n_slots);
    if (!w->workspace) return LT_ERR_MEMORY;
    lt_status s = lt_pool_run(pool, n_slots, task, w);
    lt_free_aligned(w->workspace);
    return s;
}

lt_status lt_circuit_states(const lt_circuit *c, const double *weights, int64_t n_weights, const lt_rows *x, lt_gram_float type, void *out)
{
    if (!c || !x || !out) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the circuit, X or the output is NULL");
    if (type != LT_GRAM_FLOAT64 && type != LT_GRAM_FLOAT32) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: states in %s, expected float64 or float32", lt_gram_float_name(type));
    LT_TRY(lt_circuit_check_weights(c, weights, n_weights));
    lt_pool *pool = lt_pool_shared();
    lt_compiled *p;
    if (!pool) return LT_ERR_MEMORY;
    LT_TRY(lt_compiled_create(c, weights, LT_COMPILE_STATES, 0, &p));
    work w = { .x = x, .out = out };
    lt_status s = lt_compiled_check_rows(p, "X", x);
    if (!s) s = run(p, pool, type, &w, unpack_task);
    lt_compiled_destroy(p);
    return s;
}

/* ---- circuits whose wires never meet ---- */

typedef struct closed_work {
    const lt_simulator *m;
    const lt_closed_loops *l;
    const lt_rows *x;
    int64_t first;
    char   *workspace;
    double *panels;
} closed_work;

/* Each wire's state is the first column (a, b) of its gate: 2 Re(a* b), 2 Im(a* b), |a|^2 - |b|^2. */
static void put_bloch(const lt_simulator *m, const lt_slot *s, const lt_factor *f, double *to, int panel)
{
    const int lanes = m->loops->lanes;
    const double *ar = s->coef, *ai = ar + lanes, *br = ai + lanes, *bi = br + lanes;
    lt_simulate_turns(m, s, f);
    m->loops->fuse(s->coef, f->gate, 1, f->turn, s->sine, s->cosine);
    for (int r = 0; r < lanes; r++) {
        to[r] = 2 * (ar[r] * br[r] + ai[r] * bi[r]);
        to[panel + r] = 2 * (ar[r] * bi[r] - ai[r] * br[r]);
        to[2 * panel + r] = (ar[r] * ar[r] + ai[r] * ai[r]) - (br[r] * br[r] + bi[r] * bi[r]);
    }
}

static lt_status closed_task(void *ctx, int64_t index, int worker)
{
    const closed_work *w = ctx;
    const lt_compiled *p = w->m->program;
    const int panel = w->l->panel, lanes = w->m->loops->lanes;
    const int64_t q = p->circuit->n_qubits;
    double *to = w->panels + index * panel * LT_CLOSED_BLOCH * q;
    lt_slot s = lt_slot_at(w->m, w->workspace, worker);
    for (int64_t i = 0; i < panel * LT_CLOSED_BLOCH * q; i++) to[i] = i / panel % LT_CLOSED_BLOCH == 2; /* wires without gates stay at |0> */
    for (int part = 0; part < panel; part += lanes) {
        lt_simulate_rows(w->m, &s, w->x, w->first + index * panel + part);
        for (int i = 0; i < p->n_factors; i++)
            put_bloch(w->m, &s, &p->factor[i], to + p->factor[i].wire[0] * (int64_t)(panel * LT_CLOSED_BLOCH) + part, panel);
    }
    return LT_OK;
}

lt_status lt_simulate_closed(const lt_simulator *m, lt_pool *pool, const lt_closed_loops *l, const lt_rows *x, int64_t first, int64_t n, void *workspace, double *panels)
{
    closed_work w = { m, l, x, first, workspace, panels };
    return lt_pool_run(pool, (n + l->panel - 1) / l->panel, closed_task, &w);
}

/* ---- one-qubit reduced states ---- */

static lt_status bloch_task(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    (void)worker;
    const lt_simulator *m = w->m;
    const lt_compiled *p = m->program;
    const int lanes = m->loops->lanes;
    const int64_t q = p->circuit->n_qubits;
    lt_slot s = lt_slot_at(m, w->workspace, index);
    for (int64_t g; (g = atomic_fetch_add(&w->next, 1)) * lanes < w->x->n;) {
        int64_t row = g * lanes, n_rows = LT_MIN(w->x->n - row, lanes);
        lt_simulate_rows(m, &s, w->x, row);
        for (int i = 0; i < p->n_factors; i++) {
            const lt_factor *f = &p->factor[i];
            lt_simulate_factor(m, &s, f);
            for (int k = 0; k < f->q; k++) {
                double part[3 * 64];
                m->loops->bloch(s.state, f->q, f->q - 1 - k, part);
                for (int axis = 0; axis < 3; axis++)
                    for (int64_t r = 0; r < n_rows; r++) w->bloch[((row + r) * 3 + axis) * q + f->wire[k]] = part[axis * lanes + r];
            }
        }
    }
    return LT_OK;
}

lt_status lt_simulate_bloch(const lt_compiled *p, lt_pool *pool, lt_gram_float type, const lt_rows *x, double *out)
{
    const int64_t q = p->circuit->n_qubits;
    for (int64_t i = 0; i < x->n * 3 * q; i++) out[i] = i / q % 3 == 2; /* wires in no factor stay at |0> */
    return run(p, pool, type, &(work){ .x = x, .bloch = out }, bloch_task);
}
