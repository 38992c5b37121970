/* Derivatives by the adjoint method on a device (simulate/gradient.c has the mathematics). SPDX-License-Identifier: BSD-3-Clause

   The states of all rows stay; those of some rows at a time, with their lambda, go back through the sweeps. What comes to the host is three
   numbers for each gate and one for each phase of a row, whatever 2^q is; from there on derivatives by angles, weights and x are the host's. */
#include "qkernel/device/circuits/apart.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/rows.h"

#include <math.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 30, ITEM_BYTES = 256 << 20 };

typedef struct gradient {
    const lt_circuit_slopes *s;
    lt_pool         *pool;
    lt_circuit_apart a;
    lt_device_block  phi, loss, weights; /* states of all rows; (n, n); what rows of lambda are sums with */
    lt_device_block  work[2], lambda[2]; /* of a batch, and where something permutes as much again */
    lt_device_block  items, sums;
    int64_t          n, amplitudes, n_parts, n_items, at_once;
    double          *host_sums;          /* (at_once, n_items) */
    double          *dw_parts;           /* (blocks of a batch, n_weights) */
} gradient;

/* ---- on the device ---- */

static lt_status make_lambda(gradient *g, int64_t first, int64_t n)
{
    const lt_lambda_job j = { .n = g->n, .amplitudes = g->amplitudes, .real_part = g->s->real_part, .first = first, .n_rows = n, .states = g->phi.at, .loss = g->loss.at,
                              .weights = g->weights.at, .lambda = g->lambda[0].at };
    LT_TRY(lt_circuit_launch(&g->a.maker, g->a.kernels.lambda_weights, &j, sizeof j));
    return lt_circuit_launch(&g->a.maker, g->a.kernels.lambda_states, &j, sizeof j);
}

static lt_status go_back(gradient *g, const lt_sweep_job *of_rows)
{
    const lt_sweeps *sweeps = &g->a.maker.any->sweeps;
    int here = 0;
    for (int32_t i = sweeps->sweep.n - 1; i >= 0; i--) {
        const lt_sweep *s = (const lt_sweep *)sweeps->sweep.at + i;
        const int other = s->begin == LT_SWEEP_LOAD && s->mapped ? 1 - here : here;
        lt_adjoint_job j = { .sweep = *of_rows, .lambda_from = g->lambda[here].at, .lambda_to = g->lambda[other].at, .out = g->items.at };
        j.sweep.sweep = of_rows->sweep + i;
        j.sweep.from = g->work[here].at;
        j.sweep.to = g->work[other].at;
        LT_TRY(lt_circuit_launch(&g->a.maker, g->a.kernels.adjoint, &j, sizeof j));
        here = other;
    }
    return LT_OK;
}

/* Sums of rows first..first+n-1 to the host. */
static lt_status sums_of(gradient *g, int64_t first, int64_t n)
{
    const size_t state = (size_t)g->amplitudes * 2 * sizeof(double), bytes = (size_t)(n * g->n_items) * sizeof(double);
    const lt_adjoint_sum_job sum = { .n_rows = n, .n_parts = g->n_parts, .n_items = g->n_items, .from = g->items.at, .to = g->sums.at };
    lt_sweep_job job;
    LT_TRY(make_lambda(g, first, n));
    LT_TRY(lt_stream_copy(g->a.stream, g->work[0].at, (char *)g->phi.at + (size_t)first * state, (size_t)n * state, LT_TRANSFER_D2D, false));
    LT_TRY(lt_stream_fill(g->a.stream, g->items.at, 0, bytes * (size_t)g->n_parts)); /* gates that do not change have none */
    LT_TRY(lt_circuit_rows_coefficients(&g->a.maker, g->s->x, first, n, &job));
    LT_TRY(go_back(g, &job));
    LT_TRY(lt_circuit_launch(&g->a.maker, g->a.kernels.adjoint_sums, &sum, sizeof sum));
    return lt_host_ring_download(&g->a.maker.upload, g->a.stream, g->host_sums, g->sums.at, bytes);
}

/* ---- on the host ---- */

enum { LANES = 64 };

typedef struct blocks { gradient *g; int64_t first, n; double *scratch; size_t scratch_doubles; } blocks;

/* The three sums of a gate, turned back through its turns one by one. */
static void slopes_of_gate(const lt_factor *f, const lt_wire_gate *gate, const double *sums, const double *value, int64_t r, double *slope)
{
    double t[3] = { sums[0], sums[1], sums[2] };
    for (int32_t k = gate->first + gate->n - 1; k >= gate->first; k--) {
        const lt_turn *turn = &f->turn[k];
        const bool goes_by_step = turn->axis >= 0 && turn->step >= 0;
        const double half = turn->axis < 0 ? 0 : (turn->offset + (goes_by_step ? turn->factor * value[(int64_t)turn->step * LANES + r] : 0)) / 2;
        if (goes_by_step) slope[(int64_t)turn->step * LANES + r] += turn->factor * t[turn->axis] / 2;
        lt_su2 g = lt_turn_of(turn, sin(half), cos(half));
        lt_turn_back(t, &g);
    }
}

static void slopes_of_row(const gradient *g, const double *sums, const double *value, int64_t r, double *slope)
{
    const lt_factor *f = &g->s->p->factor[0];
    const lt_sweeps *sweeps = &g->a.maker.any->sweeps;
    const lt_sweep_term *term = sweeps->term.at;
    const int32_t *slot = sweeps->slot.at;
    for (int32_t i = 0; i < f->n_gates; i++)
        if (lt_gate_varies(f, &f->gate[i])) slopes_of_gate(f, &f->gate[i], sums + 3 * (int64_t)i, value, r, slope);
    for (int32_t i = 0; i < sweeps->term.n; i++) /* a phase c of an amplitude: -Im of the sum by c */
        if (term[i].slot >= 0) slope[(int64_t)slot[term[i].slot] * LANES + r] -= term[i].factor * sums[3 * (int64_t)f->n_gates + i];
}

static lt_status block_task(void *ctx, int64_t index, int worker)
{
    const blocks *b = ctx;
    const gradient *g = b->g;
    const lt_compiled *p = g->s->p;
    const lt_rows *x = g->s->x;
    const int64_t d = x->columns, first = index * LANES, n = LT_MIN(LANES, b->n - first);
    double *features = b->scratch + (size_t)worker * b->scratch_doubles, *value = features + d * LANES, *slope = value + (int64_t)LT_MAX(1, p->tape.n) * LANES;
    double *dx = slope + (int64_t)LT_MAX(1, p->tape.n) * LANES;
    memset(slope, 0, (size_t)(LT_MAX(1, p->tape.n) + d) * LANES * sizeof *slope);
    for (int64_t r = 0; r < LANES; r++) {
        const int64_t row = b->first + first + LT_MIN(r, n - 1);
        const double length = p->circuit->amplitudes ? lt_rows_length(x, row) : 1;
        for (int64_t k = 0; k < d; k++) features[k * LANES + r] = lt_rows_at(x, row, k) / length;
    }
    lt_tape_run(&p->tape, features, p->weights, LANES, value);
    for (int64_t r = 0; r < n; r++) slopes_of_row(g, g->host_sums + (first + r) * g->n_items, value, r, slope);
    lt_tape_slopes(&p->tape, LANES, value, slope, g->s->dx ? dx : NULL, g->dw_parts + index * p->circuit->n_weights);
    for (int64_t r = 0; g->s->dx && r < n; r++)
        for (int64_t k = 0; k < d; k++) g->s->dx[(b->first + first + r) * d + k] = dx[k * LANES + r];
    return LT_OK;
}

static lt_status add_slopes(gradient *g, int64_t first, int64_t n)
{
    const lt_compiled *p = g->s->p;
    const int64_t n_blocks = (n + LANES - 1) / LANES, n_weights = p->circuit->n_weights;
    blocks b = { .g = g, .first = first, .n = n, .scratch_doubles = (size_t)(2 * (g->s->x->columns + LT_MAX(1, p->tape.n))) * LANES };
    b.scratch = lt_malloc(b.scratch_doubles * (size_t)lt_pool_threads(g->pool) * sizeof *b.scratch);
    if (!b.scratch) return LT_ERR_MEMORY;
    memset(g->dw_parts, 0, (size_t)(n_blocks * n_weights) * sizeof *g->dw_parts);
    lt_status s = lt_pool_run(g->pool, n_blocks, block_task, &b);
    lt_free(b.scratch);
    for (int64_t i = 0; !s && i < n_blocks; i++)
        for (int64_t k = 0; k < n_weights; k++) g->s->dw[k] += g->dw_parts[i * n_weights + k];
    return s;
}

/* ---- the call ---- */

static lt_status reserve(gradient *g)
{
    const lt_sweeps *sweeps = &g->a.maker.any->sweeps;
    const int64_t state = g->amplitudes * 2 * (int64_t)sizeof(double), row_items = g->n_parts * g->n_items * (int64_t)sizeof(double);
    g->at_once = LT_MIN(lt_circuit_rows_at_once(&g->a.maker, g->n), LT_MAX(1, LT_MIN(BATCH_BYTES / (4 * state), ITEM_BYTES / LT_MAX(1, row_items))));
    const size_t states = (size_t)(g->at_once * state), items = (size_t)(g->at_once * g->n_items) * sizeof(double);
    LT_TRY(lt_device_block_reserve(g->a.dev, &g->phi, (size_t)(g->n * state), "gradient states"));
    LT_TRY(lt_device_block_reserve(g->a.dev, &g->loss, (size_t)(g->n * g->n) * sizeof(double), "gradient loss"));
    LT_TRY(lt_device_block_reserve(g->a.dev, &g->weights, (size_t)(g->n * g->at_once) * 2 * sizeof(double), "gradient overlaps"));
    for (int i = 0; i < 2 && (i == 0 || sweeps->n_mapped); i++) {
        LT_TRY(lt_device_block_reserve(g->a.dev, &g->work[i], states, "gradient rows"));
        LT_TRY(lt_device_block_reserve(g->a.dev, &g->lambda[i], states, "gradient lambda"));
    }
    LT_TRY(lt_device_block_reserve(g->a.dev, &g->items, LT_MAX((size_t)1, items * (size_t)g->n_parts), "gradient sums"));
    LT_TRY(lt_device_block_reserve(g->a.dev, &g->sums, LT_MAX((size_t)1, items), "gradient sums"));
    g->host_sums = lt_malloc(LT_MAX((size_t)1, items));
    g->dw_parts = lt_malloc((size_t)(((g->at_once + LANES - 1) / LANES) * g->s->p->circuit->n_weights + 1) * sizeof *g->dw_parts);
    return g->host_sums && g->dw_parts ? LT_OK : LT_ERR_MEMORY;
}

static lt_status run(gradient *g)
{
    const lt_sweeps *sweeps = &g->a.maker.any->sweeps;
    g->n = g->s->x->n;
    g->amplitudes = INT64_C(1) << sweeps->q;
    g->n_parts = sweeps->q > sweeps->chunk_bits ? INT64_C(1) << (sweeps->q - sweeps->chunk_bits) : 1;
    g->n_items = 3 * (int64_t)sweeps->gate.n + sweeps->term.n;
    LT_TRY(reserve(g));
    LT_TRY(lt_host_ring_upload(&g->a.maker.upload, g->a.stream, g->loss.at, g->s->loss, (size_t)(g->n * g->n) * sizeof(double)));
    LT_TRY(lt_row_maker_states(&g->a.maker, g->s->x, 0, g->n, g->phi.at));
    memset(g->s->dw, 0, (size_t)g->s->p->circuit->n_weights * sizeof *g->s->dw);
    for (int64_t row = 0; row < g->n; row += g->at_once) {
        const int64_t n = LT_MIN(g->at_once, g->n - row);
        LT_TRY(sums_of(g, row, n));
        LT_TRY(add_slopes(g, row, n));
    }
    return LT_OK;
}

lt_status lt_circuit_device_gradient(lt_device *dev, lt_pool *pool, const lt_circuit_slopes *s)
{
    gradient g = { .s = s, .pool = pool };
    double none = 0;
    lt_circuit_slopes own = *s;
    if (!own.dw) own.dw = &none; /* a circuit without weights */
    g.s = &own;
    LT_TRY(lt_circuit_apart_open(&g.a, dev, pool, s->p, false, LT_APART_ADJOINT));
    lt_status status = run(&g);
    (void)lt_stream_sync(g.a.stream);
    lt_device_block *all[] = { &g.phi, &g.loss, &g.weights, &g.work[0], &g.work[1], &g.lambda[0], &g.lambda[1], &g.items, &g.sums };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_device_block_release(dev, all[i]);
    lt_free(g.host_sums);
    lt_free(g.dw_parts);
    lt_circuit_apart_close(&g.a);
    return status;
}
