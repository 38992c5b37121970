/* Learned features: which latents, their programs, their statistics. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/learned.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "operators/rollout/noise_loops.h"
#include "operators/generate/row_table.h"
#include "operators/network/weights.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operator that gives the array its width: rows of wider operators are cut, rows of narrower ones filled with zeros (decision 69). */
enum { REFERENCE_BASE = 32, REFERENCE_LEVELS = 3, REFERENCE_GRID = 64 };

/* One compiled network that ends at the latents, for one realization at a time (decision 68). */
typedef struct latent_lane { lt_program *program; const void **input; float *latent; } latent_lane;

struct lt_learned {
    lt_learned_setup    setup;
    lt_pool            *pool;
    int64_t             width;          /* of a row before projection */
    float              *row;            /* [width] */
    /* of the architecture */
    lt_operator_spec    spec;
    lt_network          network;        /* without its graph; no tensors: nothing is compiled */
    int64_t             n_latents, field;
    int                 n_lanes;
    latent_lane        *lane;
    double             *mean, *square;  /* [M, n_latents]: running mean, sum of squared distances to it */
    float              *most;           /* [M, n_latents] */
    lt_trainer         *trainer;        /* NULL: operators stay as they were drawn */
    float              *trajectory;     /* [T, M, field], to train on */
    /* of the operator */
    const lt_operator_weights *weights;
    const float        *states;         /* being looked at, [M, field] */
    int64_t            *seen;           /* [M]: states so far; -1: left out */
};

/* ---- Which latents ---------------------------------------------------------------------------------- */

static bool is_chosen(const lt_learned_options *o, const lt_network_tap *t)
{
    bool all = o->from == LT_LEARNED_ALL;
    switch (t->kind) {
    case LT_TAP_EARLY: return all || o->from == LT_LEARNED_EARLY;
    case LT_TAP_MID: return (all || o->from == LT_LEARNED_MID) && (!o->layer_indices || (t->index < 32 && o->layer_indices >> t->index & 1));
    case LT_TAP_PRE_OUTPUT: return all || o->from == LT_LEARNED_PRE_OUTPUT;
    case LT_TAP_BOTTLENECK: return all || o->from == LT_LEARNED_BOTTLENECK;
    case LT_TAP_SKIP: return (all || o->from == LT_LEARNED_SKIPS) && o->skip_levels >> t->index & 1;
    }
    return false;
}

static int compare_names(const void *a, const void *b) { return strcmp(((const lt_network_tap *)a)->name, ((const lt_network_tap *)b)->name); }

/* The chosen ones, in the order of the row. */
static int choose_taps(const lt_learned_options *o, const lt_network *n, lt_network_tap out[LT_MAX_TAPS])
{
    int count = 0;
    for (int i = 0; i < n->n_taps; i++)
        if (is_chosen(o, &n->tap[i])) out[count++] = n->tap[i];
    qsort(out, (size_t)count, sizeof *out, compare_names);
    return count;
}

/* The latents of a state as one node [1, n]; LT_NONE when none is chosen. */
static lt_node add_latents(const lt_learned_options *o, const lt_network *n)
{
    lt_network_tap tap[LT_MAX_TAPS];
    lt_node part[LT_MAX_TAPS];
    int count = choose_taps(o, n, tap);
    for (int i = 0; i < count; i++)
        part[i] = o->flatten ? lt_reshape(n->graph, lt_permute(n->graph, tap[i].node, (int[]){ 0, 3, 1, 2 }), lt_shape2(1, -1))
                             : lt_mean_axes(n->graph, tap[i].node, 2, (int[]){ 1, 2 }, false);
    return count ? lt_concat(n->graph, part, count, 1) : LT_NONE;
}

static int parts_of_row(const lt_learned_options *o) { return o->temporal_agg == LT_AGG_MEAN_MAX ? 2 : 1; }

/* ---- The array ------------------------------------------------------------------------------------------ */

static lt_operator_spec reference_operator(const lt_learned_options *o, lt_operator_kind kind, int max_grid)
{
    lt_operator_spec s = lt_operator_defaults(kind);
    int unit = 1 << REFERENCE_LEVELS;
    s.base_channels = REFERENCE_BASE;
    s.num_layers = s.encoder_levels = REFERENCE_LEVELS;
    s.grid = o->flatten ? LT_MAX((max_grid + unit - 1) / unit, 2) * unit : REFERENCE_GRID;
    if (o->flatten && kind == LT_OPERATOR_CNN) s.grid = max_grid;
    return s;
}

static lt_status check_latents(const lt_learned_options *o, lt_operator_kind kind)
{
    static const char *const name[] = { "all", "bottleneck", "skips", "early", "mid", "pre_output" };
    bool of_uafno = o->from == LT_LEARNED_BOTTLENECK || o->from == LT_LEARNED_SKIPS, uafno = kind == LT_OPERATOR_UAFNO;
    if (o->from != LT_LEARNED_ALL && of_uafno != uafno)
        return LT_FAIL(LT_ERR_ARGUMENT, "features.summary.learned.extract_from is %s: expected %s for operators of type %s", name[o->from],
                       uafno ? "bottleneck, skips or all" : "early, mid, pre_output or all", lt_operator_kind_name(kind));
    return LT_OK;
}

static lt_status width_of(const lt_learned_options *o, lt_operator_kind kind, int max_grid, int64_t *out)
{
    lt_network n;
    lt_operator_spec reference = reference_operator(o, kind, max_grid);
    LT_TRY(check_latents(o, kind));
    LT_TRY(lt_network_create(&reference, &n));
    lt_node latents = add_latents(o, &n);
    lt_shape shape = lt_node_shape(n.graph, latents);
    *out = lt_is_none(latents) ? 0 : parts_of_row(o) * shape.dim[1];
    lt_status s = lt_graph_status(n.graph);
    lt_network_release(&n);
    if (!s && *out == 0)
        s = LT_FAIL(LT_ERR_ARGUMENT, "features.summary.learned: no latent is left: %s name none of the %d %s", kind == LT_OPERATOR_UAFNO ?
                    "skip_levels" : "layer_indices", REFERENCE_LEVELS, kind == LT_OPERATOR_UAFNO ? "levels" : "layers the columns are made for");
    if (!s && *out > INT_MAX) s = LT_FAIL(LT_ERR_ARGUMENT, "features.summary.learned: rows of %lld numbers; use spatial_agg: gap", (long long)*out);
    return s;
}

lt_status lt_learned_columns(const lt_learned_options *opt, lt_operator_kind kind, int max_grid, int *out)
{
    int64_t width;
    LT_TRY(width_of(opt, kind, max_grid, &width));
    *out = opt->projection_dim ? opt->projection_dim : (int)width;
    return LT_OK;
}

void lt_learned_describe(const lt_learned_options *opt, lt_operator_kind kind, char *text, size_t bytes)
{
    static const char *const over_time[] = { "mean, then maximum", "mean", "maximum", "standard deviation" };
    lt_operator_spec reference = reference_operator(opt, kind, REFERENCE_GRID);
    lt_network n;
    lt_network_tap tap[LT_MAX_TAPS];
    *text = '\0';
    if (lt_network_create(&reference, &n)) return;
    int count = choose_taps(opt, &n, tap), at = snprintf(text, bytes, "latents ");
    for (int i = 0; i < count && at < (int)bytes; i++) at += snprintf(text + at, bytes - (size_t)at, "%s%s", i ? ", " : "", tap[i].name);
    if (at < (int)bytes)
        snprintf(text + at, bytes - (size_t)at, " of the %s operators, %s; %s over time, averaged over realizations; rows as wide as with "
                 "base_channels %d and %d %s%s", kind == LT_OPERATOR_UAFNO ? "trained" : "untrained",
                 opt->flatten ? "flattened" : "averaged over the grid", over_time[opt->temporal_agg], REFERENCE_BASE, REFERENCE_LEVELS,
                 kind == LT_OPERATOR_UAFNO ? "levels" : "layers", opt->projection_dim ? ", then projected at random" : "");
    lt_network_release(&n);
}

double lt_learned_passes(const lt_learned_options *opt, lt_operator_kind kind, int64_t steps)
{
    static const double of_gradient = 3; /* forward, then twice as much backward */
    double latents = (double)steps, training = of_gradient * opt->training_epochs * (double)(steps - 1);
    return kind == LT_OPERATOR_UAFNO ? latents + training : latents;
}

/* ---- Programs --------------------------------------------------------------------------------------------- */

static void drop_architecture(lt_learned *l)
{
    for (int i = 0; l->lane && i < l->n_lanes; i++) {
        lt_program_destroy(l->lane[i].program);
        lt_free((void *)l->lane[i].input);
        lt_free(l->lane[i].latent);
    }
    lt_free(l->lane);
    lt_network_release(&l->network);
    lt_free(l->mean);
    lt_free(l->square);
    lt_free(l->most);
    lt_trainer_destroy(l->trainer);
    lt_free(l->trajectory);
    l->lane = NULL, l->mean = l->square = NULL, l->most = l->trajectory = NULL, l->trainer = NULL;
    l->n_lanes = 0;
}

static lt_status make_lanes(lt_learned *l, lt_node latents)
{
    lt_rollout_info ignored = { .size = sizeof ignored };
    lt_compile_options opt = { .size = sizeof opt, .device = l->setup.device, .held_from = LT_STEP_TENSORS };
    LT_TRY(lt_rollout_choose_precision(l->setup.device, l->setup.precision, &ignored, &opt));
    l->n_lanes = l->network.flops < LT_SMALL_STEP_FLOPS ? (int)LT_MIN(lt_pool_threads(l->pool), l->setup.realizations) : 1;
    if (!(l->lane = lt_calloc((size_t)l->n_lanes, sizeof *l->lane))) return LT_ERR_MEMORY;
    for (int i = 0; i < l->n_lanes; i++) {
        latent_lane *a = &l->lane[i];
        a->input = lt_calloc((size_t)(LT_STEP_TENSORS + l->network.n_tensors), sizeof *a->input);
        a->latent = lt_malloc((size_t)l->n_latents * sizeof *a->latent);
        if (!a->input || !a->latent) return LT_ERR_MEMORY;
        LT_TRY(lt_program_create(l->network.graph, &latents, 1, &opt, &a->program));
    }
    return LT_OK;
}

static lt_status make_memory(lt_learned *l)
{
    size_t n = (size_t)(l->setup.realizations * l->n_latents), states = (size_t)(l->setup.realizations * l->setup.steps * l->field);
    l->mean = lt_malloc(n * sizeof *l->mean);
    l->square = lt_malloc(n * sizeof *l->square);
    l->most = lt_malloc(n * sizeof *l->most);
    if (!l->mean || !l->square || !l->most) return LT_ERR_MEMORY;
    if (l->setup.kind != LT_OPERATOR_UAFNO || l->setup.steps == 1) return LT_OK;
    LT_TRY(lt_trainer_create(&l->spec, l->setup.device, &l->trainer));
    return (l->trajectory = lt_malloc(states * sizeof *l->trajectory)) ? LT_OK : LT_ERR_MEMORY;
}

static lt_status compile(lt_learned *l, const lt_operator_spec *spec)
{
    l->spec = *spec;
    l->field = (int64_t)LT_FIELD_CHANNELS * spec->grid * spec->grid;
    LT_TRY(lt_network_create(spec, &l->network));
    lt_node latents = add_latents(l->setup.opt, &l->network);
    LT_TRY(lt_graph_status(l->network.graph));
    l->n_latents = lt_is_none(latents) ? 0 : lt_node_shape(l->network.graph, latents).dim[1];
    if (l->n_latents) {
        LT_TRY(make_lanes(l, latents));
        LT_TRY(make_memory(l));
    }
    lt_network_drop_graph(&l->network);
    return LT_OK;
}

lt_status lt_learned_create(const lt_learned_setup *setup, lt_learned **out)
{
    lt_learned *l = lt_calloc(1, sizeof *l);
    if (!(*out = l)) return LT_ERR_MEMORY;
    l->setup = *setup;
    l->pool = lt_pool_shared();
    lt_status s = l->pool ? width_of(setup->opt, setup->kind, setup->max_grid, &l->width) : LT_ERR_MEMORY;
    if (!s) {
        l->row = lt_malloc((size_t)l->width * sizeof *l->row);
        l->seen = lt_malloc((size_t)setup->realizations * sizeof *l->seen);
        if (!l->row || !l->seen) s = LT_ERR_MEMORY;
    }
    if (!s) return LT_OK;
    lt_learned_destroy(l);
    *out = NULL;
    return s;
}

void lt_learned_destroy(lt_learned *l)
{
    if (!l) return;
    drop_architecture(l);
    lt_free(l->row);
    lt_free(l->seen);
    lt_free(l);
}

static void use_weights(lt_learned *l, const float *block)
{
    for (int i = 0; i < l->n_lanes; i++) {
        for (int k = 0; k < l->network.n_tensors; k++) l->lane[i].input[LT_STEP_TENSORS + k] = block + l->network.tensor[k].offset;
        lt_program_renew(l->lane[i].program);
    }
}

lt_status lt_learned_begin(lt_learned *l, const lt_operator_spec *spec, const lt_operator_weights *w)
{
    if (!l->network.n_tensors || lt_architecture_compare(&l->spec, spec)) {
        drop_architecture(l);
        lt_status s = compile(l, spec);
        if (s) drop_architecture(l);
        LT_TRY(s);
    }
    l->weights = w;
    for (int64_t m = 0; m < l->setup.realizations; m++) l->seen[m] = 0;
    use_weights(l, w->block);
    return LT_OK;
}

/* ---- States --------------------------------------------------------------------------------------------------- */

static void note_latents(lt_learned *l, int64_t m, const float *x)
{
    int64_t n = l->n_latents, at = m * n;
    double count = (double)++l->seen[m];
    for (int64_t i = 0; i < n; i++) {
        double mean = count > 1 ? l->mean[at + i] : 0, off = x[i] - mean;
        l->mean[at + i] = mean + off / count;
        l->square[at + i] = (count > 1 ? l->square[at + i] : 0) + off * (x[i] - l->mean[at + i]);
        l->most[at + i] = count > 1 ? fmaxf(l->most[at + i], x[i]) : x[i];
    }
}

/* Each lane takes every n_lanes-th realization. Inside the pool a lane runs on one thread, alone on all of them; the bits are the same. */
static lt_status look_task(void *ctx, int64_t index, int worker)
{
    lt_learned *l = ctx;
    latent_lane *a = &l->lane[index];
    (void)worker;
    for (int64_t m = index; m < l->setup.realizations; m += l->n_lanes) {
        if (l->seen[m] < 0) continue;
        a->input[LT_STEP_STATE] = l->states + m * l->field;
        LT_TRY(lt_program_run(a->program, a->input, (void *[]){ a->latent }));
        if (lt_state_is_finite(a->latent, l->n_latents)) note_latents(l, m, a->latent);
        else l->seen[m] = -1;
    }
    return LT_OK;
}

static lt_status look_at(lt_learned *l, const float *states)
{
    l->states = states;
    return l->n_lanes > 1 ? lt_pool_run(l->pool, l->n_lanes, look_task, l) : look_task(l, 0, 0);
}

lt_status lt_learned_push(lt_learned *l, int64_t t, const float *states, const int64_t *failed)
{
    int64_t m = l->setup.realizations;
    if (!l->n_latents) return LT_OK;
    for (int64_t i = 0; i < m; i++)
        if (failed[i] >= 0) l->seen[i] = -1;
    if (!l->trajectory) return look_at(l, states);
    memcpy(l->trajectory + t * m * l->field, states, (size_t)(m * l->field) * sizeof *states);
    return LT_OK;
}

/* ---- The row ------------------------------------------------------------------------------------------------------ */

/* Trains, then looks at all states with the trained weights. */
static lt_status train_and_look(lt_learned *l)
{
    const lt_learned_setup *u = &l->setup;
    lt_trajectory x = { l->trajectory, u->steps, u->realizations, l->field, l->seen };
    lt_status s = lt_trainer_run(l->trainer, u->opt, &x, l->weights, u->stop, NULL);
    if (s == LT_ERR_NUMERIC) { /* the other features of the row are still valid */
        for (int64_t m = 0; m < u->realizations; m++) l->seen[m] = -1;
        return LT_OK;
    }
    LT_TRY(s);
    use_weights(l, lt_trainer_weights(l->trainer));
    for (int64_t t = 0; t < u->steps; t++) LT_TRY(look_at(l, l->trajectory + t * u->realizations * l->field));
    return LT_OK;
}

/* Reduction over time of latent i of realization m; part 1 is the second half of mean_max. */
static double over_time(const lt_learned *l, int64_t m, int64_t i, int part)
{
    int64_t at = m * l->n_latents + i;
    switch (l->setup.opt->temporal_agg) {
    case LT_AGG_MEAN_MAX: return part ? (double)l->most[at] : l->mean[at];
    case LT_AGG_MEAN: return l->mean[at];
    case LT_AGG_MAX: return (double)l->most[at];
    case LT_AGG_STD: return sqrt(l->square[at] / (double)LT_MAX(l->seen[m] - 1, 1));
    }
    return 0;
}

/* Zeros behind what the operator has; what goes beyond the width is cut. */
static void fill_row(lt_learned *l, int64_t kept)
{
    for (int64_t k = 0; k < l->width; k++) {
        int64_t part = l->n_latents ? k / l->n_latents : INT_MAX;
        double sum = 0;
        for (int64_t m = 0; m < l->setup.realizations && part < parts_of_row(l->setup.opt); m++)
            if (l->seen[m] >= 0) sum += over_time(l, m, k % l->n_latents, (int)part);
        l->row[k] = (float)fmin(fmax(sum / (double)kept, -FLT_MAX), FLT_MAX);
    }
}

lt_status lt_learned_finish(lt_learned *l, float *row)
{
    int64_t kept = 0;
    int columns = l->setup.opt->projection_dim;
    if (l->trajectory) LT_TRY(train_and_look(l));
    for (int64_t m = 0; m < l->setup.realizations; m++) kept += l->seen[m] >= 0;
    if (!kept) {
        for (int64_t k = 0; k < (columns ? columns : l->width); k++) row[k] = NAN;
        return LT_OK;
    }
    fill_row(l, kept);
    if (columns) return lt_learned_project(l->setup.seed, l->row, l->width, columns, row);
    memcpy(row, l->row, (size_t)l->width * sizeof *row);
    return LT_OK;
}

/* ---- Projection ------------------------------------------------------------------------------------------------------ */

/* out = W x + b, tensors `first` (W) and `first` + 1 (b). A row of W is drawn when it is needed: flattened rows have millions. */
static void project_linear(uint64_t seed, uint32_t first, const float *x, int64_t n_in, int n_out, float *weight, double *out)
{
    float bound = (float)(1 / sqrt((double)n_in));
    for (int o = 0; o < n_out; o++) {
        lt_draws w = lt_draws_make(seed, "projection", first, (uint32_t)o, 0), b = lt_draws_make(seed, "projection", first + 1, (uint32_t)o, 0);
        float bias;
        lt_draw_fill(&w, LT_VARIATE_UNIFORM, 0, n_in, bound, weight);
        lt_draw_fill(&b, LT_VARIATE_UNIFORM, 0, 1, bound, &bias);
        double sum = (double)bias;
        for (int64_t i = 0; i < n_in; i++) sum += (double)weight[i] * (double)x[i];
        out[o] = sum;
    }
}

lt_status lt_learned_project(uint64_t seed, const float *in, int64_t n_in, int n_out, float *out)
{
    float *weight = lt_malloc((size_t)LT_MAX(n_in, (int64_t)n_out) * sizeof *weight);
    double *value = lt_malloc((size_t)n_out * sizeof *value), mean = 0, var = 0;
    if (weight && value) {
        project_linear(seed, 0, in, n_in, n_out, weight, value);
        for (int i = 0; i < n_out; i++) out[i] = (float)(0.5 * value[i] * erfc(-value[i] / sqrt(2)));
        project_linear(seed, 2, out, n_out, n_out, weight, value);
        for (int i = 0; i < n_out; i++) mean += value[i] / n_out;
        for (int i = 0; i < n_out; i++) var += (value[i] - mean) * (value[i] - mean) / n_out;
        for (int i = 0; i < n_out; i++) out[i] = (float)((value[i] - mean) / sqrt(var + LT_NORM_EPSILON));
    }
    lt_status s = weight && value ? LT_OK : LT_ERR_MEMORY;
    lt_free(weight);
    lt_free(value);
    return s;
}
