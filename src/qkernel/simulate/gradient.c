/* Derivatives of sum_ij loss_ij K_ij by the adjoint method. SPDX-License-Identifier: BSD-3-Clause

   With overlaps s_ij = <phi_i|phi_j> and K_ij = |s_ij|^2, a small change of states changes the sum by Re sum_j <lambda_j|dphi_j>, where
       lambda_j = sum_i 2 (loss_ij + loss_ji) s_ij phi_i
   (for real parts (loss_ij + loss_ji) phi_i). Both products run through the loops of Gram matrices. Then each row goes backwards through its
   passes with two states, phi and lambda (adjoint.h). With several factors of wires that never meet, s_ij is a product, and what the other
   factors come to joins the sum.
   All memory is one block of the device, which keeps it for the next call: new pages would cost half as much
   as the work (decision 410). */
#include "qkernel/gram_inside.h"

#include "base/status.h"
#include "qkernel/device/circuits/circuits.h"
#include "qkernel/simulate/adjoint.h"

#include <string.h>

typedef struct factor_panels {
    double *rows;         /* states of all rows, packed */
    double *columns;      /* the same, turned: amplitudes as rows, rows as amplitudes */
    int64_t amplitudes, row_elements, column_elements; /* of a panel of each */
} factor_panels;

typedef struct gradient {
    const lt_compiled *p;
    lt_simulator   m;
    const lt_gram_isa *isa;
    const lt_rows *x;
    const double  *loss;
    bool           real_part;
    int64_t        n, n_padded, depth; /* rows; in whole panels; their number as the length of sums, in whole chunks */
    int64_t        weight_rows;     /* room for depth and n_padded */
    factor_panels *factor;
    bool           keeps, holds;    /* states of one factor; weights of all pairs of one */
    char          *kept;            /* (groups) of states; else they are made again */
    double        *weights;         /* (groups, weight_rows, 2, lanes): what rows are multiplied by in lambda; else each panel makes its own */
    char          *scratch;
    size_t         scratch_bytes;   /* of one worker */
    double        *dw_parts;        /* (blocks, n_weights) */
    double        *dx;              /* may be NULL */
} gradient;

enum { PLANES = LT_PLANES_COMPLEX };

static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

/* Parts of one block, 64-byte aligned; without a block only their bytes are counted. */
typedef struct carving { char *block; size_t used; } carving;

static void *carve(carving *c, size_t bytes)
{
    void *p = c->block ? c->block + c->used : NULL;
    c->used += (bytes + 63) / 64 * 64;
    return p;
}

static double *carve_doubles(carving *c, int64_t n) { return carve(c, (size_t)n * sizeof(double)); }

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

/* `lanes` amplitudes of a group of rows, of which there are n: each row as a vector of amplitudes. */
static void turn_square(const gradient *g, double *to, const double *from, int64_t n)
{
    const int lanes = g->m.loops->lanes;
    if (n == lanes && lanes == g->isa->lanes) (void)g->isa->turn(to, lanes, from, 2 * lanes, lanes);
    else
        for (int r = 0; r < lanes; r++)
            for (int b = 0; b < lanes; b++) to[r * lanes + b] = b < n ? from[b * 2 * lanes + r] : 0;
}

static void turn_states(const gradient *g, const factor_panels *f, const double *state, int64_t row)
{
    enum { MOST_LANES = 8 };
    const int lanes = g->m.loops->lanes;
    const int64_t n_rows = LT_MIN(lanes, g->n - row);
    double re[MOST_LANES * MOST_LANES], im[MOST_LANES * MOST_LANES];
    int64_t plane;
    for (int64_t b = 0; b < f->amplitudes; b += lanes, state += 2 * lanes * lanes) {
        double *to = turned_at(g, f, b, row, &plane); /* a group of rows lies inside one chunk */
        turn_square(g, re, state, LT_MIN(lanes, f->amplitudes - b));
        turn_square(g, im, state + lanes, LT_MIN(lanes, f->amplitudes - b));
        for (int64_t k = 0; k < n_rows * lanes; k++) {
            to[k] = re[k];
            to[plane + k] = re[k] + 2 * im[k];
            to[2 * plane + k] = re[k] - 2 * im[k];
        }
    }
}

/* Zeros where sums run over rows, or panels over amplitudes, that there are none of. */
static void clear_turned(const gradient *g, const factor_panels *f)
{
    const int64_t lanes = g->m.states->lanes, part = PLANES * g->depth * lanes, chunk = LT_MIN(g->depth, LT_CHUNK), begin = g->depth - chunk;
    const int64_t n_parts = round_up(f->amplitudes, g->m.states->panel) / lanes, used = round_up(f->amplitudes, lanes) / lanes;
    for (int64_t i = 0; i < used && g->n < g->depth; i++)
        for (int plane = 0; plane < PLANES; plane++)
            memset(f->columns + i * part + (begin * PLANES + plane * chunk + g->n - begin) * lanes, 0, (size_t)((g->depth - g->n) * lanes) * sizeof(double));
    memset(f->columns + used * part, 0, (size_t)((n_parts - used) * part) * sizeof(double));
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
        if (g->keeps) memcpy(g->kept + (size_t)group * g->m.state_bytes, s.state, g->m.state_bytes);
        l->pack(f->rows + group / parts * f->row_elements, (int)(group % parts), PLANES, s.state, 0, f->amplitudes, f->amplitudes, NULL, false);
        turn_states(g, f, s.state, group * l->lanes);
    }
    return LT_OK;
}

/* ---- weights of all pairs of one factor ----

   Overlaps of rows before a panel, and its own, with those of the panel: the others are their conjugates. So are the weights that come of them, and each is
   made once and put in both places. */

static int64_t group_weights(const gradient *g) { return g->weight_rows * 2 * g->m.states->lanes; }

/* sums (lanes, n): twice loss + its transpose, of rows row.. with rows 0..n-1; zero where there is no row. */
static void loss_sums(const gradient *g, int64_t row, int64_t n, double *sums)
{
    const int64_t lanes = g->m.states->lanes, known = LT_MIN(n, g->n);
    if (row + lanes <= g->n && lanes == g->isa->lanes) (void)g->isa->turn(sums, n, g->loss + row, g->n, known);
    else
        for (int64_t r = 0; r < lanes && row + r < g->n; r++)
            for (int64_t i = 0; i < known; i++) sums[r * n + i] = g->loss[i * g->n + row + r];
    for (int64_t r = 0; r < lanes; r++) {
        double *to = sums + r * n;
        const int64_t end = row + r < g->n ? known : 0;
        const double *loss = g->loss + (end ? (row + r) * g->n : 0);
        for (int64_t i = 0; i < end; i++) to[i] = 2 * (to[i] + loss[i]);
        for (int64_t i = end; i < n; i++) to[i] = 0;
    }
}

/* (lanes, n) numbers of rows row.. with rows 0..n-1 to where the weights of the former are. */
static void put_own(const gradient *g, int64_t row, int64_t n, const double *from, int64_t part)
{
    const int64_t lanes = g->m.states->lanes;
    double *to = g->weights + row / lanes * group_weights(g) + part * lanes;
    for (int64_t i = 0; i < n; i += lanes, to += 2 * lanes * lanes, from += lanes) {
        if (lanes == g->isa->lanes) (void)g->isa->turn(to, 2 * lanes, from, n, lanes);
        else to[0] = from[0];
    }
}

/* The same to where the weights of rows 0..n-1 are, of which those of imaginary parts have the other sign. */
static void put_mirrored(const gradient *g, int64_t row, int64_t n, int64_t step, const double *from, int64_t part, double sign)
{
    const int64_t lanes = g->m.states->lanes;
    for (int64_t i = 0; i < n; i += lanes) {
        double *to = g->weights + i / lanes * group_weights(g) + (row * 2 + part) * lanes;
        for (int64_t j = 0; j < lanes; j++, to += 2 * lanes)
            for (int64_t r = 0; r < lanes; r++) to[r] = sign * from[j * step + i + r];
    }
}

/* Panels with most rows before them first, so that threads end together. */
static lt_status weights_of_panel(void *ctx, int64_t task, int worker)
{
    const gradient *g = ctx;
    const lt_gram_loops *l = g->m.states;
    const factor_panels *f = &g->factor[0];
    const int64_t index = g->n_padded / l->panel - 1 - task, first = index * l->panel, n = first + l->panel, lanes = l->lanes;
    double *re = (double *)(g->scratch + (size_t)worker * g->scratch_bytes), *im = re + n * l->panel, *sums = im + n * l->panel;
    l->overlap(&(lt_overlap_job){ .a = f->rows, .b = f->rows + index * f->row_elements, .a_step = f->row_elements, .b_step = f->row_elements, .n_a = index + 1,
                                  .n_columns = l->panel, .amplitudes = f->amplitudes, .planes = PLANES, .diagonal = INT64_MAX / 4, .k = re, .im = im, .unfinished = true });
    for (int64_t part = 0; part < l->panel; part += lanes) {
        double *part_re = re + part * n, *part_im = im + part * n;
        loss_sums(g, first + part, n, sums);
        for (int64_t k = 0; k < lanes * n; k++) {
            part_re[k] = g->real_part ? sums[k] / 2 : sums[k] * part_re[k];
            part_im[k] = g->real_part ? 0 : -sums[k] * part_im[k];
        }
        put_own(g, first + part, n, part_re, 0);
        put_own(g, first + part, n, part_im, 1);
        put_mirrored(g, first + part, first, n, part_re, 0, 1);
        put_mirrored(g, first + part, first, n, part_im, 1, -1);
    }
    return LT_OK;
}

/* Rows that there are not: sums run over whole chunks. */
static void clear_weights(const gradient *g)
{
    const int64_t lanes = g->m.states->lanes, more = g->depth - g->n_padded;
    for (int64_t group = 0; more > 0 && group < g->n_padded / lanes; group++)
        memset(g->weights + group * group_weights(g) + g->n_padded * 2 * lanes, 0, (size_t)(more * 2 * lanes) * sizeof(double));
}

/* ---- lambda of one panel of rows ---- */

typedef struct block {
    int64_t first;          /* row */
    double *re, *im;        /* (factors, panel, n_padded): overlaps of all rows with those of the panel; NULL where weights are there */
    double *weight;         /* (depth, 2, lanes): what rows are multiplied by; likewise */
    double *weights_packed;
    double *lambda_re, *lambda_im; /* (amplitudes, panel) */
    double *dx;             /* (columns, lanes) */
    lt_adjoint back;
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

/* Those of the rows of one part of the panel, as a state of `depth` amplitudes. */
static void weights_of(const gradient *g, const block *b, int which, int64_t part, double *to)
{
    const int64_t lanes = g->m.states->lanes;
    for (int64_t i = 0; i < g->depth; i++, to += 2 * lanes)
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
        const double *weight = g->holds ? g->weights + (b->first / lanes + part) * group_weights(g) : b->weight;
        if (!g->holds) weights_of(g, b, which, part, b->weight);
        l->pack(b->weights_packed, part, PLANES, weight, 0, g->depth, g->depth, NULL, false);
    }
    l->overlap(&(lt_overlap_job){ .a = b->weights_packed, .b = f->columns, .a_step = 0, .b_step = f->column_elements, .n_a = 1, .n_columns = f->amplitudes,
                                  .amplitudes = g->depth, .planes = PLANES, .diagonal = INT64_MAX / 4, .k = b->lambda_re, .im = b->lambda_im, .unfinished = true });
}

/* ---- one panel of rows ---- */

static void put_dx(const gradient *g, const block *b, int64_t row)
{
    const int64_t lanes = g->m.states->lanes, d = g->p->circuit->n_features;
    for (int64_t r = 0; g->dx && r < lanes && row + r < g->n; r++)
        for (int64_t k = 0; k < d; k++) g->dx[(row + r) * d + k] += b->dx[k * lanes + r];
}

static void differentiate_group(const gradient *g, block *b, int which, int64_t part, double *dw)
{
    const lt_factor *f = &g->p->factor[which];
    lt_adjoint *a = &b->back;
    const int64_t lanes = g->m.states->lanes, row = b->first + part * lanes;
    if (row >= g->n) return;
    memset(a->slope, 0, (size_t)(g->p->tape.n * lanes) * sizeof *a->slope);
    memset(b->dx, 0, (size_t)(g->p->circuit->n_features * lanes) * sizeof *b->dx);
    lt_simulate_rows(&g->m, &a->phi, g->x, row);
    if (g->keeps) {
        lt_simulate_coefficients(&g->m, &a->phi, f);
        memcpy(a->phi.state, g->kept + (size_t)(row / lanes) * g->m.state_bytes, g->m.state_bytes);
    } else {
        lt_simulate_factor(&g->m, &a->phi, f);
    }
    g->m.loops->join(a->lambda.state, INT64_C(1) << f->q, b->lambda_re + part * lanes, b->lambda_im + part * lanes, g->m.states->panel);
    lt_adjoint_run(a, f);
    lt_tape_slopes(&g->p->tape, (int)lanes, a->phi.value, a->slope, g->dx ? b->dx : NULL, dw);
    put_dx(g, b, row);
}

/* What one worker needs for a panel. */
static block carve_block(const gradient *g, carving *c)
{
    const lt_gram_loops *l = g->m.states;
    const int64_t lanes = l->lanes, widest = INT64_C(1) << g->p->widest, overlaps = g->holds ? 0 : g->p->n_factors * l->panel * g->n_padded;
    const int64_t lambda = round_up(widest, l->columns) * l->panel;
    int32_t terms = 1;
    for (int i = 0; i < g->p->n_factors; i++) terms = LT_MAX(terms, g->p->factor[i].n_terms);
    block b = { .back = { .m = &g->m, .needs = LT_EXPR_NEEDS_W | (g->dx ? LT_EXPR_NEEDS_X : 0) } };
    char *slot = carve(c, g->m.slot_bytes);
    if (slot) b.back.phi = b.back.lambda = lt_slot_at(&g->m, slot, 0);
    b.back.lambda.state = carve(c, g->m.state_bytes);
    b.back.lambda.other = carve(c, g->m.state_bytes);
    b.back.slope = carve_doubles(c, g->p->tape.n * lanes);
    b.back.twist = carve_doubles(c, LT_STATES_MAX_QUBITS * 3 * lanes);
    b.back.transform = carve_doubles(c, widest * lanes);
    b.back.sums = carve_doubles(c, terms * lanes);
    b.dx = carve_doubles(c, g->p->circuit->n_features * lanes);
    b.re = carve_doubles(c, overlaps);
    b.im = carve_doubles(c, overlaps);
    b.weight = carve_doubles(c, g->holds ? 0 : 2 * lanes * g->depth);
    b.weights_packed = carve_doubles(c, PLANES * l->panel * g->depth);
    b.lambda_re = carve_doubles(c, lambda);
    b.lambda_im = carve_doubles(c, lambda);
    return b;
}

static lt_status differentiate(void *ctx, int64_t index, int worker)
{
    const gradient *g = ctx;
    const lt_gram_loops *l = g->m.states;
    carving c = { g->scratch + (size_t)worker * g->scratch_bytes, 0 };
    block b = carve_block(g, &c);
    b.first = index * l->panel;
    if (!g->holds) overlaps(g, &b);
    for (int i = 0; i < g->p->n_factors; i++) {
        make_lambda(g, &b, i);
        for (int64_t part = 0; part < l->panel / l->lanes; part++) differentiate_group(g, &b, i, part, g->dw_parts + index * g->p->circuit->n_weights);
    }
    return LT_OK;
}

/* ---- the call ---- */

static void carve_panels(gradient *g, carving *c)
{
    const lt_gram_loops *l = g->m.states;
    g->factor = carve(c, (size_t)g->p->n_factors * sizeof *g->factor);
    for (int i = 0; i < g->p->n_factors; i++) {
        factor_panels f = { .amplitudes = INT64_C(1) << g->p->factor[i].q };
        f.row_elements = PLANES * l->panel * f.amplitudes;
        f.column_elements = PLANES * l->panel * g->depth;
        f.rows = carve_doubles(c, g->n_padded / l->panel * f.row_elements);
        f.columns = carve_doubles(c, (f.amplitudes + l->panel - 1) / l->panel * f.column_elements);
        if (g->factor) g->factor[i] = f;
    }
}

static void carve_all(gradient *g, int threads, carving *c)
{
    const int64_t n_groups = g->n_padded / g->m.states->lanes;
    carve_panels(g, c);
    g->dw_parts = carve_doubles(c, g->n_padded / g->m.states->panel * g->p->circuit->n_weights);
    g->kept = carve(c, g->keeps ? (size_t)n_groups * g->m.state_bytes : 0);
    g->weights = carve_doubles(c, g->holds ? n_groups * group_weights(g) : 0);
    g->scratch = carve(c, g->scratch_bytes * (size_t)threads);
}

enum { MOST_KEPT = 1 << 28, MOST_HELD = 1 << 30 }; /* bytes: of states that are kept, rather than made a second time; of weights of all pairs */

/* What lies in memory for the whole call, by how many rows there are. */
static void plan(gradient *g)
{
    const int64_t panel = g->m.states->panel, n_groups = (g->x->n + panel - 1) / panel * (panel / g->m.states->lanes);
    g->n = g->x->n;
    g->n_padded = round_up(g->n, panel);
    g->depth = g->n <= LT_CHUNK ? g->n : round_up(g->n, LT_CHUNK);
    g->weight_rows = LT_MAX(g->depth, g->n_padded);
    g->keeps = g->p->n_factors == 1 && (double)g->m.state_bytes * (double)n_groups <= MOST_KEPT;
    g->holds = g->p->n_factors == 1 && (double)group_weights(g) * (double)n_groups * sizeof(double) <= MOST_HELD;
    carving of_worker = { 0 };
    (void)carve_block(g, &of_worker);
    g->scratch_bytes = LT_MAX(of_worker.used, g->holds ? 3 * (size_t)(g->n_padded * panel) * sizeof(double) : 0); /* or what weights_of_panel needs */
}

static lt_status run(gradient *g, lt_pool *pool, double *dw)
{
    const lt_gram_loops *l = g->m.states;
    const int64_t n_blocks = g->n_padded / l->panel, n_weights = g->p->circuit->n_weights;
    memset(g->dw_parts, 0, (size_t)(n_blocks * n_weights) * sizeof *g->dw_parts);
    for (int i = 0; i < g->p->n_factors; i++) clear_turned(g, &g->factor[i]);
    LT_TRY(lt_pool_run(pool, g->n_padded / l->lanes, pack_group, g));
    if (g->holds) {
        clear_weights(g);
        LT_TRY(lt_pool_run(pool, n_blocks, weights_of_panel, g));
    }
    LT_TRY(lt_pool_run(pool, n_blocks, differentiate, g));
    for (int64_t k = 0; k < n_weights; k++) {
        dw[k] = 0;
        for (int64_t i = 0; i < n_blocks; i++) dw[k] += g->dw_parts[i * n_weights + k];
    }
    return LT_OK;
}

enum { MOST_LEFT = 1 << 28 }; /* bytes that stay with the device for the next call */

/* On the CPU. */
static lt_status differentiate_all(lt_gram *h, gradient *g, double *dw)
{
    carving c = { 0 };
    void *all;
    plan(g);
    carve_all(g, lt_pool_threads(h->pool), &c);
    LT_TRY(lt_device_alloc(h->dev, h->dev->stream, c.used, "gradient", &all));
    c = (carving){ .block = all };
    carve_all(g, lt_pool_threads(h->pool), &c);
    if (g->dx) memset(g->dx, 0, (size_t)(g->n * g->x->columns) * sizeof *g->dx);
    lt_status s = run(g, h->pool, dw), freed = lt_device_free(h->dev, h->dev->stream, all);
    if (!freed && c.used > MOST_LEFT) freed = lt_device_memory_trim(h->dev);
    return s ? s : freed;
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
    lt_status s;
    if (h->n_devices) s = lt_circuit_device_gradient(h->dev, h->pool, &(lt_circuit_slopes){ p, x, loss, real_part, dw, dx });
    else {
        gradient g = { .p = p, .m = lt_simulator_of(p, lt_isa_best(), LT_GRAM_FLOAT64), .isa = lt_gram_isa_of(lt_isa_best()), .x = x, .loss = loss, .real_part = real_part, .dx = dx };
        s = differentiate_all(h, &g, dw);
    }
    lt_compiled_destroy(p);
    return s;
}
