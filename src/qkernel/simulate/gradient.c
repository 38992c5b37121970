/* Derivatives of sum_ij loss_ij K_ij by the adjoint method. SPDX-License-Identifier: BSD-3-Clause

   With overlaps s_ij = <phi_i|phi_j> and K_ij = |s_ij|^2, a small change of states changes the sum by Re sum_j <lambda_j|dphi_j>, where
       lambda_j = sum_i 2 (loss_ij + loss_ji) s_ij phi_i
   (for real parts (loss_ij + loss_ji) phi_i). Both products run through the loops of Gram matrices. Then each row goes backwards through its
   passes with two states, phi and lambda, undone pass by pass: a rotation exp(-i t/2 P) adds Im <lambda|P|phi> / 2 to the derivative by t, and
   all rotations about products of Zs of one pass come out of one transform of Im(conj(lambda) phi). With several factors of wires that never
   meet, s_ij is a product, and what the other factors come to joins the sum. */
#include "qkernel/gram_inside.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/device/circuits/circuits.h"
#include "qkernel/simulate/simulate.h"

#include <string.h>

typedef struct factor_panels {
    double *rows;         /* states of all rows, packed */
    double *columns;      /* the same, turned: amplitudes as rows, rows as amplitudes */
    int64_t amplitudes, row_elements, column_elements; /* of a panel of each */
} factor_panels;

typedef struct gradient {
    const lt_compiled *p;
    lt_simulator   m;
    const lt_rows *x;
    const double  *loss;
    bool           real_part;
    int64_t        n, n_padded, depth; /* rows; in whole panels; their number as the length of sums, in whole chunks */
    factor_panels *factor;
    double        *re, *im;         /* (n_padded, n_padded): all overlaps, of one factor; NULL = each panel makes its own */
    char          *scratch;
    size_t         scratch_bytes;   /* of one worker */
    double        *dw_parts;        /* (blocks, n_weights) */
    double        *dx;              /* may be NULL */
    char          *kept;            /* (groups) of states of one factor; NULL = they are made again */
} gradient;

enum { PLANES = LT_PLANES_COMPLEX };

static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }
static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- states of all rows, packed both ways ---- */

/* Where amplitude b of row i lies in turned panels: b as a row, i as an amplitude of a chunk. */
static double *turned_at(const gradient *g, const factor_panels *f, int64_t b, int64_t i, int64_t *plane_step)
{
    const lt_gram_loops *l = g->m.states;
    const int64_t chunk = LT_MIN(g->depth, LT_CHUNK), begin = i / chunk * chunk, in_panel = b % l->panel;
    *plane_step = chunk * l->lanes;
    return f->columns + b / l->panel * f->column_elements + in_panel / l->lanes * (PLANES * g->depth * l->lanes) + (begin * PLANES + (i - begin)) * l->lanes
         + in_panel % l->lanes;
}

static void turn_states(const gradient *g, const factor_panels *f, const double *state, int64_t row)
{
    const int lanes = g->m.loops->lanes;
    const int64_t n_rows = LT_MIN(lanes, g->n - row);
    int64_t plane;
    for (int64_t b = 0; b < f->amplitudes; b++, state += 2 * lanes) {
        double *to = turned_at(g, f, b, row, &plane); /* a group of rows lies inside one chunk */
        for (int64_t r = 0; r < n_rows; r++, to += lanes) {
            double re = state[r], im = state[lanes + r];
            to[0] = re;
            to[plane] = re + 2 * im;
            to[2 * plane] = re - 2 * im;
        }
    }
}

/* One group of rows: all factors. */
static lt_status pack_group(void *ctx, int64_t group, int worker)
{
    const gradient *g = ctx;
    const lt_gram_loops *l = g->m.states;
    const int64_t parts = l->panel / l->lanes;
    lt_slot s = lt_slot_at(&g->m, g->scratch + (size_t)worker * g->scratch_bytes, 0);
    lt_simulate_rows(&g->m, &s, g->x, group * l->lanes);
    for (int i = 0; i < g->p->n_factors; i++) {
        const factor_panels *f = &g->factor[i];
        lt_simulate_factor(&g->m, &s, &g->p->factor[i]);
        if (g->kept) memcpy(g->kept + (size_t)group * g->m.state_bytes, s.state, g->m.state_bytes);
        l->pack(f->rows + group / parts * f->row_elements, (int)(group % parts), PLANES, s.state, 0, f->amplitudes, f->amplitudes, NULL, false);
        turn_states(g, f, s.state, group * l->lanes);
    }
    return LT_OK;
}

/* ---- lambda of one panel of rows ---- */

typedef struct block {
    int64_t first;          /* row */
    double *re, *im;        /* (factors, panel, n_padded): overlaps of all rows with those of the panel */
    double *weight;         /* (panel rows as a group, depth) complex: what rows are multiplied by */
    double *weights_packed;
    double *lambda_re, *lambda_im; /* (amplitudes, panel) */
    double *slope, *dx;     /* (tape, lanes), (columns, lanes) */
    lt_slot phi, lambda;
} block;

static void overlaps(const gradient *g, const block *b)
{
    const lt_gram_loops *l = g->m.states;
    for (int i = 0; i < g->p->n_factors; i++) {
        const factor_panels *f = &g->factor[i];
        int64_t at = i * l->panel * g->n_padded;
        l->overlap(&(lt_overlap_job){ .a = f->rows, .b = f->rows + b->first / l->panel * f->row_elements, .a_step = f->row_elements, .b_step = f->row_elements,
                                      .n_a = g->n_padded / l->panel, .n_columns = l->panel, .amplitudes = f->amplitudes, .planes = PLANES,
                                      .diagonal = INT64_MAX / 4, .k = b->re + at, .im = b->im + at, .unfinished = true });
    }
}

/* Overlaps of the rows before a panel, and its own, with those of the panel: the rest are their conjugates. */
static lt_status half_overlaps(void *ctx, int64_t index, int worker)
{
    const gradient *g = ctx;
    const lt_gram_loops *l = g->m.states;
    const factor_panels *f = &g->factor[0];
    const int64_t n = (index + 1) * l->panel;
    double *re = (double *)(g->scratch + (size_t)worker * g->scratch_bytes), *im = re + n * l->panel;
    l->overlap(&(lt_overlap_job){ .a = f->rows, .b = f->rows + index * f->row_elements, .a_step = f->row_elements, .b_step = f->row_elements, .n_a = index + 1,
                                  .n_columns = l->panel, .amplitudes = f->amplitudes, .planes = PLANES, .diagonal = INT64_MAX / 4, .k = re, .im = im, .unfinished = true });
    for (int64_t j = 0; j < l->panel; j++) {
        const int64_t row = index * l->panel + j;
        memcpy(g->re + row * g->n_padded, re + j * n, (size_t)n * sizeof *re);
        memcpy(g->im + row * g->n_padded, im + j * n, (size_t)n * sizeof *im);
        for (int64_t i = 0; i < index * l->panel; i++) {
            g->re[i * g->n_padded + row] = re[j * n + i];
            g->im[i * g->n_padded + row] = -im[j * n + i];
        }
    }
    return LT_OK;
}

/* The product of the overlaps of row i with row j of the panel in all factors but one. */
static void others_of(const gradient *g, const block *b, int which, int64_t j, int64_t i, double *re, double *im)
{
    *re = 1;
    *im = 0;
    for (int f = 0; f < g->p->n_factors; f++) {
        int64_t at = (f * g->m.states->panel + j) * g->n_padded + i;
        if (f == which) continue;
        double next = *re * b->re[at] - *im * b->im[at];
        *im = *re * b->im[at] + *im * b->re[at];
        *re = next;
    }
}

/* What row i is multiplied by in lambda of row j of the panel, conjugated. */
static inline void weight_of(const gradient *g, const block *b, int which, int64_t j, int64_t i, double *re, double *im)
{
    const int64_t row = b->first + j, at = (which * g->m.states->panel + j) * g->n_padded + i;
    const double sum = g->loss[i * g->n + row] + g->loss[row * g->n + i];
    double pr = 1, pi = 0;
    if (g->p->n_factors > 1) others_of(g, b, which, j, i, &pr, &pi);
    const double others = 2 * sum * (pr * pr + pi * pi);
    *re = g->real_part ? sum * pr : others * b->re[at];
    *im = g->real_part ? sum * pi : -others * b->im[at];
}

/* The usual case: one factor, all rows of the part there are. */
static int64_t fidelity_weights(const gradient *g, const block *b, int64_t part, double *restrict to)
{
    const int64_t lanes = g->m.states->lanes, n = g->n, row = b->first + part * lanes, step = g->n_padded;
    const double *restrict re = b->re + part * lanes * step, *restrict im = b->im + part * lanes * step, *restrict loss = g->loss;
    for (int64_t i = 0; i < n; i++, to += 2 * lanes)
        for (int64_t r = 0; r < lanes; r++) {
            const double twice = 2 * (loss[i * n + row + r] + loss[(row + r) * n + i]);
            to[r] = twice * re[r * step + i];
            to[lanes + r] = -twice * im[r * step + i];
        }
    return n;
}

/* Those of the rows of one part of the panel, as a state of `depth` amplitudes. Rows side by side are done side by side: loss is then read in lines. */
static void weights_of(const gradient *g, const block *b, int which, int64_t part, double *to)
{
    const int64_t lanes = g->m.states->lanes;
    int64_t done = 0;
    if (g->p->n_factors == 1 && !g->real_part && b->first + (part + 1) * lanes <= g->n) done = fidelity_weights(g, b, part, to);
    to += done * 2 * lanes;
    for (int64_t i = done; i < g->depth; i++, to += 2 * lanes)
        for (int64_t r = 0; r < lanes; r++) {
            to[r] = to[lanes + r] = 0;
            if (i < g->n && b->first + part * lanes + r < g->n) weight_of(g, b, which, part * lanes + r, i, &to[r], &to[lanes + r]);
        }
}

/* lambda (amplitudes, panel) of the panel's rows: sums over all rows, through the loops of overlaps <a|b> with a the conjugate weights. */
static void make_lambda(const gradient *g, const block *b, int which)
{
    const lt_gram_loops *l = g->m.states;
    const factor_panels *f = &g->factor[which];
    const int lanes = l->lanes;
    for (int part = 0; part < l->panel / lanes; part++) {
        weights_of(g, b, which, part, b->weight);
        l->pack(b->weights_packed, part, PLANES, b->weight, 0, g->depth, g->depth, NULL, false);
    }
    l->overlap(&(lt_overlap_job){ .a = b->weights_packed, .b = f->columns, .a_step = 0, .b_step = f->column_elements, .n_a = 1, .n_columns = f->amplitudes,
                                  .amplitudes = g->depth, .planes = PLANES, .diagonal = INT64_MAX / 4, .k = b->lambda_re, .im = b->lambda_im, .unfinished = true });
}

/* ---- backwards ---- */

/* The vector t turned back by a gate: with the quaternion (c0; c), t + 2 c0 (t x c) + 2 c x (c x t), which is the inverse rotation. */
void lt_turn_back(double t[3], const lt_su2 *g)
{
    const double c0 = g->ar, c[3] = { -g->bi, g->br, -g->ai };
    double u[3] = { t[1] * c[2] - t[2] * c[1], t[2] * c[0] - t[0] * c[2], t[0] * c[1] - t[1] * c[0] };         /* t x c */
    double v[3] = { u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2], u[0] * c[1] - u[1] * c[0] };         /* (t x c) x c = c x (c x t) */
    for (int k = 0; k < 3; k++) t[k] += 2 * c0 * u[k] + 2 * v[k];
}

lt_su2 lt_turn_of(const lt_turn *t, double sine, double cosine)
{
    if (t->axis < 0) return t->fixed;
    if (t->axis == LT_AXIS_X) return (lt_su2){ cosine, 0, 0, -sine };
    if (t->axis == LT_AXIS_Y) return (lt_su2){ cosine, 0, sine, 0 };
    return (lt_su2){ cosine, -sine, 0, 0 };
}

bool lt_gate_varies(const lt_factor *f, const lt_wire_gate *gate)
{
    for (int32_t k = gate->first; k < gate->first + gate->n; k++)
        if (f->turn[k].axis >= 0 && f->turn[k].step >= 0) return true;
    return false;
}

/* Im <lambda|P|phi> of a wire, turned back through the gate's turns one by one. */
static void slopes_of_gate(const gradient *g, const block *b, const lt_factor *f, const lt_wire_gate *gate)
{
    const int lanes = g->m.loops->lanes;
    double twist[3 * 64];
    if (!lt_gate_varies(f, gate)) return;
    g->m.loops->twist(b->lambda.state, b->phi.state, f->q, gate->bit, twist);
    for (int r = 0; r < lanes; r++) {
        double t[3] = { twist[r], twist[lanes + r], twist[2 * lanes + r] };
        for (int32_t k = gate->first + gate->n - 1; k >= gate->first; k--) {
            const lt_turn *turn = &f->turn[k];
            if (turn->axis >= 0 && turn->step >= 0) b->slope[(int64_t)turn->step * lanes + r] += turn->factor * t[turn->axis] / 2;
            lt_su2 su2 = lt_turn_of(turn, b->phi.sine[(int64_t)k * lanes + r], b->phi.cosine[(int64_t)k * lanes + r]);
            lt_turn_back(t, &su2);
        }
    }
}

static void slopes_of_phases(const gradient *g, const block *b, const lt_factor *f, const lt_state_pass *a, double *transform, double *out)
{
    const int lanes = g->m.loops->lanes;
    g->m.loops->parities(b->lambda.state, b->phi.state, f->q, a->n, f->term + a->first, transform, out);
    for (int32_t t = 0; t < a->n; t++) {
        const lt_phase_term *term = &f->term[a->first + t];
        for (int r = 0; term->step >= 0 && r < lanes; r++) b->slope[(int64_t)term->step * lanes + r] += term->factor * out[(int64_t)t * lanes + r] / 2;
    }
}

/* A phase e^{i a} of all amplitudes: -Im <lambda|phi> by a. */
static void slopes_of_global_phase(const gradient *g, const block *b, const lt_factor *f, double *transform)
{
    const int lanes = g->m.loops->lanes;
    double sum[64];
    if (f != g->p->factor || g->p->n_phases == 0) return;
    g->m.loops->parities(b->lambda.state, b->phi.state, f->q, 1, &(lt_phase_term){ 0 }, transform, sum);
    for (int32_t i = 0; i < g->p->n_phases; i++)
        for (int r = 0; g->p->phase[i].step >= 0 && r < lanes; r++) b->slope[(int64_t)g->p->phase[i].step * lanes + r] -= g->p->phase[i].factor * sum[r];
}

static void slopes_of_pass(const gradient *g, block *b, const lt_factor *f, const lt_state_pass *a, double *transform, double *out)
{
    if (a->kind == LT_STATE_PASS_PHASES) slopes_of_phases(g, b, f, a, transform, out);
    if (a->kind != LT_STATE_PASS_GATES && a->kind != LT_STATE_PASS_PRODUCT) return;
    for (int32_t i = 0; i < a->n; i++) slopes_of_gate(g, b, f, &f->gate[a->first + i]);
}

static void undo_ring(const gradient *g, lt_slot *s, const lt_factor *f, const lt_state_pass *a)
{
    if (a->back.low) lt_simulate_pass(&g->m, s, f, &(lt_state_pass){ .kind = LT_STATE_PASS_PERMUTE, .ring = a->back }, false);
}

/* The tables are the slot's own until the next factor: turns of phi serve lambda too, coefficients likewise. */
static void go_back(const gradient *g, block *b, const lt_factor *f, double *transform, double *out)
{
    lt_simulate_turns(&g->m, &b->phi, f); /* the global phase used their place */
    slopes_of_global_phase(g, b, f, transform);
    for (int32_t i = f->n_passes - 1; i > 0; i--) {
        slopes_of_pass(g, b, f, &f->pass[i], transform, out);
        lt_simulate_pass(&g->m, &b->phi, f, &f->pass[i], true);
        lt_simulate_pass(&g->m, &b->lambda, f, &f->pass[i], true);
    }
    undo_ring(g, &b->phi, f, &f->pass[0]);
    undo_ring(g, &b->lambda, f, &f->pass[0]);
    slopes_of_pass(g, b, f, &f->pass[0], transform, out);
}

/* ---- one panel of rows ---- */

typedef struct layout { size_t slot, states, overlaps, weight, packed, lambda, slope, dx, transform, out, all; } layout;

static layout layout_of(const gradient *g)
{
    const lt_gram_loops *l = g->m.states;
    const size_t lanes = (size_t)l->lanes, real = sizeof(double), widest = (size_t)1 << g->p->widest;
    int32_t terms = 1;
    for (int i = 0; i < g->p->n_factors; i++) terms = LT_MAX(terms, g->p->factor[i].n_terms);
    layout z = { .slot = aligned(g->m.slot_bytes), .states = 2 * g->m.state_bytes,
                 .overlaps = aligned((size_t)g->p->n_factors * (size_t)(l->panel * g->n_padded) * real), .weight = aligned(2 * lanes * (size_t)g->depth * real),
                 .packed = aligned((size_t)(PLANES * l->panel * g->depth) * real), .lambda = aligned((size_t)round_up((int64_t)widest, l->columns) * (size_t)l->panel * real),
                 .slope = aligned((size_t)LT_MAX(1, g->p->tape.n) * lanes * real), .dx = aligned((size_t)LT_MAX(1, g->p->circuit->n_features) * lanes * real),
                 .transform = aligned(widest * lanes * real), .out = aligned((size_t)terms * lanes * real) };
    z.all = z.slot + z.states + 2 * z.overlaps + z.weight + z.packed + 2 * z.lambda + z.slope + z.dx + z.transform + z.out;
    return z;
}

/* The columns of lambda of one group of rows as a state. */
static void load_lambda(const gradient *g, const block *b, int64_t part, int64_t amplitudes)
{
    const int64_t lanes = g->m.states->lanes, panel = g->m.states->panel;
    double *to = b->lambda.state;
    for (int64_t k = 0; k < amplitudes; k++, to += 2 * lanes) {
        memcpy(to, b->lambda_re + k * panel + part * lanes, (size_t)lanes * sizeof *to);
        memcpy(to + lanes, b->lambda_im + k * panel + part * lanes, (size_t)lanes * sizeof *to);
    }
}

static void put_dx(const gradient *g, const block *b, int64_t row)
{
    const int64_t lanes = g->m.states->lanes, d = g->p->circuit->n_features;
    for (int64_t r = 0; g->dx && r < lanes && row + r < g->n; r++)
        for (int64_t k = 0; k < d; k++) g->dx[(row + r) * d + k] += b->dx[k * lanes + r];
}

static void differentiate_group(const gradient *g, block *b, int which, int64_t part, double *dw, double *transform, double *out)
{
    const lt_factor *f = &g->p->factor[which];
    const size_t lanes = (size_t)g->m.states->lanes;
    const int64_t row = b->first + part * (int64_t)lanes;
    if (row >= g->n) return;
    memset(b->slope, 0, (size_t)g->p->tape.n * lanes * sizeof *b->slope);
    memset(b->dx, 0, (size_t)g->p->circuit->n_features * lanes * sizeof *b->dx);
    lt_simulate_rows(&g->m, &b->phi, g->x, row);
    if (g->kept) {
        lt_simulate_coefficients(&g->m, &b->phi, f);
        memcpy(b->phi.state, g->kept + (size_t)(row / (int64_t)lanes) * g->m.state_bytes, g->m.state_bytes);
    } else {
        lt_simulate_factor(&g->m, &b->phi, f);
    }
    load_lambda(g, b, part, INT64_C(1) << f->q);
    go_back(g, b, f, transform, out);
    lt_tape_slopes(&g->p->tape, (int)lanes, b->phi.value, b->slope, g->dx ? b->dx : NULL, dw);
    put_dx(g, b, row);
}

static lt_status differentiate(void *ctx, int64_t index, int worker)
{
    const gradient *g = ctx;
    const lt_gram_loops *l = g->m.states;
    const layout z = layout_of(g);
    char *p = g->scratch + (size_t)worker * g->scratch_bytes;
    block b = { .first = index * l->panel, .phi = lt_slot_at(&g->m, p, 0) };
    double *dw = g->dw_parts + index * g->p->circuit->n_weights;
    b.lambda = b.phi;
    b.lambda.state = p += z.slot;
    b.lambda.other = p + g->m.state_bytes;
    b.re = (double *)(p += z.states);
    b.im = (double *)(p += z.overlaps);
    b.weight = (double *)(p += z.overlaps);
    b.weights_packed = (double *)(p += z.weight);
    b.lambda_re = (double *)(p += z.packed);
    b.lambda_im = (double *)(p += z.lambda);
    b.slope = (double *)(p += z.lambda);
    b.dx = (double *)(p += z.slope);
    double *transform = (double *)(p += z.dx), *out = (double *)(p + z.transform);
    if (g->re) b.re = g->re + b.first * g->n_padded, b.im = g->im + b.first * g->n_padded;
    else overlaps(g, &b);
    for (int i = 0; i < g->p->n_factors; i++) {
        make_lambda(g, &b, i);
        for (int64_t part = 0; part < l->panel / l->lanes; part++) differentiate_group(g, &b, i, part, dw, transform, out);
    }
    return LT_OK;
}

/* ---- the call ---- */

static lt_status make_panels(gradient *g)
{
    const lt_gram_loops *l = g->m.states;
    g->factor = lt_calloc((size_t)g->p->n_factors, sizeof *g->factor);
    if (!g->factor) return LT_ERR_MEMORY;
    for (int i = 0; i < g->p->n_factors; i++) {
        factor_panels *f = &g->factor[i];
        f->amplitudes = INT64_C(1) << g->p->factor[i].q;
        f->row_elements = PLANES * l->panel * f->amplitudes;
        f->column_elements = PLANES * l->panel * g->depth;
        size_t rows = (size_t)(g->n_padded / l->panel * f->row_elements) * sizeof(double);
        size_t columns = (size_t)((f->amplitudes + l->panel - 1) / l->panel * f->column_elements) * sizeof(double);
        f->rows = lt_malloc_aligned(rows);
        f->columns = lt_malloc_aligned(columns);
        if (!f->rows || !f->columns) return LT_ERR_MEMORY;
        memset(f->columns, 0, columns);
    }
    return LT_OK;
}

enum { MOST_HELD = 1 << 30 }; /* bytes of overlaps that are held to compute half of them only */

static lt_status hold_overlaps(gradient *g, lt_pool *pool)
{
    const size_t bytes = (size_t)(g->n_padded * g->n_padded) * sizeof *g->re;
    if (g->p->n_factors != 1 || g->n_padded > 1 << 15 || 2 * bytes > MOST_HELD) return LT_OK;
    g->re = lt_malloc_aligned(2 * bytes);
    if (!g->re) return LT_ERR_MEMORY;
    g->im = g->re + g->n_padded * g->n_padded;
    return lt_pool_run(pool, g->n_padded / g->m.states->panel, half_overlaps, g);
}

enum { MOST_KEPT = 1 << 28 }; /* bytes of states that are kept, rather than made a second time */

static lt_status keep_states(gradient *g)
{
    const double bytes = (double)g->m.state_bytes * (double)(g->n_padded / g->m.states->lanes);
    if (g->p->n_factors != 1 || bytes > MOST_KEPT) return LT_OK;
    g->kept = lt_malloc_aligned((size_t)bytes);
    return g->kept ? LT_OK : LT_ERR_MEMORY;
}

static lt_status run(gradient *g, lt_pool *pool, double *dw)
{
    const lt_gram_loops *l = g->m.states;
    const int64_t n_blocks = g->n_padded / l->panel, n_weights = g->p->circuit->n_weights;
    g->scratch_bytes = layout_of(g).all;
    g->scratch = lt_malloc_aligned(g->scratch_bytes * (size_t)lt_pool_threads(pool));
    g->dw_parts = lt_calloc((size_t)(n_blocks * n_weights + 1), sizeof *g->dw_parts);
    if (!g->scratch || !g->dw_parts) return LT_ERR_MEMORY;
    LT_TRY(make_panels(g));
    LT_TRY(keep_states(g));
    LT_TRY(lt_pool_run(pool, g->n_padded / l->lanes, pack_group, g));
    LT_TRY(hold_overlaps(g, pool));
    LT_TRY(lt_pool_run(pool, n_blocks, differentiate, g));
    for (int64_t k = 0; k < n_weights; k++) {
        dw[k] = 0;
        for (int64_t i = 0; i < n_blocks; i++) dw[k] += g->dw_parts[i * n_weights + k];
    }
    return LT_OK;
}

static lt_status check(const lt_gram *h, const lt_rows *x, const double *loss, const double *dw, const double *dx)
{
    if (!h || !x || !loss) return LT_FAIL(LT_ERR_ARGUMENT, "gradient: the handle, X or the loss is NULL");
    if (!h->program) return LT_FAIL(LT_ERR_UNSUPPORTED, "gradient: the handle is not of a circuit; basic and strong layers are --map basic and strong");
    if (h->program->circuit->n_weights && !dw) return LT_FAIL(LT_ERR_ARGUMENT, "gradient: no place for the %lld derivatives by weights", (long long)h->program->circuit->n_weights);
    if (h->similarity.kind == LT_SIMILARITY_PROJECTED || h->similarity.shots || h->similarity.depolarizing > 0)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "gradient: of exact fidelities and real parts, not of %s",
                       h->similarity.shots ? "draws" : h->similarity.depolarizing > 0 ? "noisy kernels" : "projected kernels");
    if (dx && h->program->circuit->amplitudes) return LT_FAIL(LT_ERR_UNSUPPORTED, "gradient: by x of states that begin as x itself");
    return lt_compiled_check_rows(h->program, "X", x);
}

lt_status lt_gram_gradient(lt_gram *h, const lt_rows *x, const double *loss, double *dw, double *dx)
{
    LT_TRY(check(h, x, loss, dw, dx));
    lt_compiled *p;
    const bool real_part = h->similarity.kind == LT_SIMILARITY_REAL;
    const unsigned flags = LT_COMPILE_KEEP_WEIGHTS | (h->n_devices ? LT_COMPILE_ONE_FACTOR : 0);
    LT_TRY(lt_compiled_create(h->program->circuit, h->program->weights, real_part ? LT_COMPILE_REAL : LT_COMPILE_FIDELITY, flags, &p));
    if (h->n_devices) {
        lt_status on_device = lt_circuit_device_gradient(h->dev, h->pool, &(lt_circuit_slopes){ p, x, loss, real_part, dw, dx });
        lt_compiled_destroy(p);
        return on_device;
    }
    gradient g = { .p = p, .m = lt_simulator_of(p, lt_isa_best(), LT_GRAM_FLOAT64), .x = x, .loss = loss, .real_part = real_part, .n = x->n, .dx = dx };
    g.n_padded = round_up(x->n, g.m.states->panel);
    g.depth = x->n <= LT_CHUNK ? x->n : round_up(x->n, LT_CHUNK);
    if (dx) memset(dx, 0, (size_t)(x->n * x->columns) * sizeof *dx);
    lt_status s = run(&g, h->pool, dw);
    for (int i = 0; g.factor && i < p->n_factors; i++) {
        lt_free_aligned(g.factor[i].rows);
        lt_free_aligned(g.factor[i].columns);
    }
    lt_free(g.factor);
    lt_free_aligned(g.scratch);
    lt_free_aligned(g.re);
    lt_free_aligned(g.kept);
    lt_free(g.dw_parts);
    lt_compiled_destroy(p);
    return s;
}
