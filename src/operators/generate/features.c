/* Features of the rows of a dataset: streams by grid, sensitivity probes, one row's arrays.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/rng.h"

#include <math.h>
#include <string.h>

/* Single steps for the sensitivity of operators. */
static lt_status open_probes(lt_row_features *f, int max_grid, lt_precision precision, lt_device *device)
{
    lt_rollout_options opt = lt_rollout_defaults();
    int eps, gains;
    size_t field = LT_FIELD_CHANNELS * (size_t)max_grid * (size_t)max_grid;
    opt.realizations = opt.steps = 1;
    opt.precision = precision;
    opt.device = device;
    lt_feature_epsilons(f->set, &eps);
    lt_feature_gains(f->set, &gains);
    f->work = lt_malloc(sizeof(double) * (size_t)(lt_feature_sensitivity_count(f->set) + 2 * eps + gains));
    f->field = lt_malloc(field * sizeof(float));
    f->base = lt_malloc(field * sizeof(float));
    return f->work && f->field && f->base ? lt_rollout_cache_create(&opt, LT_KEPT_ROLLOUTS, &f->probes) : LT_ERR_MEMORY;
}

static lt_status open_initial(lt_row_features *f, int max_grid)
{
    const lt_initial_switches *on = &f->c->initials;
    f->n_manual = on->manual ? lt_initial_count(f->c->initial_variant) : 0;
    f->n_cnn = on->cnn ? (int)on->dim : 0;
    f->initial = lt_malloc((size_t)(f->n_manual + f->n_cnn + 1) * sizeof *f->initial);
    if (!f->initial) return LT_ERR_MEMORY;
    return on->cnn ? lt_initial_cnn_create(f->c->seed, f->n_cnn, on->vae, max_grid, &f->cnn) : LT_OK;
}

lt_status lt_row_features_open_known(const lt_dataset_config *c, int max_grid, lt_row_features *out)
{
    *out = (lt_row_features){ .c = c };
    lt_status s = c->initial ? open_initial(out, max_grid) : LT_OK;
    if (s) lt_row_features_close(out);
    return s;
}

lt_status lt_row_features_open(const lt_dataset_config *c, const lt_feature_set *set, int64_t realizations, int64_t steps, int max_grid,
                               lt_precision precision, lt_device *device, const volatile int *stop, lt_row_features *out)
{
    *out = (lt_row_features){ .c = c, .set = set, .realizations = realizations, .steps = steps, .pool = lt_pool_shared() };
    if (!out->pool) return LT_ERR_MEMORY;
    lt_learned_setup learned = { &c->learned, c->kind, c->seed, realizations, steps, max_grid, precision, device, stop };
    lt_status s = c->learned.enabled ? lt_learned_create(&learned, &out->learned) : LT_OK;
    if (!s && c->operator_features && c->summary) s = open_probes(out, max_grid, precision, device);
    if (!s && c->initial) s = open_initial(out, max_grid);
    if (s) lt_row_features_close(out);
    return s;
}

void lt_row_features_close(lt_row_features *f)
{
    for (int i = 0; i < f->n_streams; i++) lt_feature_stream_destroy(f->stream[i].stream);
    lt_learned_destroy(f->learned);
    lt_initial_cnn_destroy(f->cnn);
    lt_free(f->initial);
    lt_rollout_cache_destroy(f->probes);
    lt_free(f->work);
    lt_free(f->field);
    lt_free(f->base);
    *f = (lt_row_features){ 0 };
}

lt_status lt_row_features_take(lt_row_features *f, int grid, lt_feature_stream **out)
{
    for (int i = f->n_streams - 1; i >= 0; i--) {
        if (f->stream[i].grid != grid) continue;
        *out = f->stream[i].stream;
        f->stream[i] = f->stream[--f->n_streams];
        lt_feature_stream_reset(*out);
        return LT_OK;
    }
    return lt_feature_stream_create(f->set, f->realizations, f->steps, grid, f->pool, out);
}

void lt_row_features_give(lt_row_features *f, int grid, lt_feature_stream *s)
{
    if (!s) return;
    if (f->n_streams == LT_MAX_GRIDS) {
        lt_feature_stream_destroy(s);
        return;
    }
    f->stream[f->n_streams].grid = grid;
    f->stream[f->n_streams++].stream = s;
}

/* ---- Sensitivity: single steps from changed fields, the noise draw the same in all ------------------ */

typedef struct probe { float *out; int64_t n; } probe;

static lt_status keep_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)t, (void)failed;
    probe *p = ctx;
    memcpy(p->out, states, (size_t)p->n * sizeof *states);
    return LT_OK;
}

static double norm(const float *x, const float *minus, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = minus ? (double)x[i] - minus[i] : x[i];
        sum += v * v;
    }
    return sqrt(sum);
}

static lt_status probe_operator(lt_row_features *f, lt_rollout *r, const float *field, int64_t n, int64_t index, double *work)
{
    int n_eps, n_gains;
    const double *eps = lt_feature_epsilons(f->set, &n_eps), *gain = lt_feature_gains(f->set, &n_gains);
    double *difference = work, *size = difference + n_eps, *scaled = size + n_eps, *value = scaled + n_gains;
    probe base = { f->base, n }, other = { f->field, n };
    LT_TRY(lt_rollout_run(r, field, -1, keep_state, &base, NULL));
    for (int i = 0; i < n_eps; i++) {
        lt_draws d = lt_draws_make(f->c->seed, "sensitivity", (uint32_t)i, 0, (uint32_t)index);
        LT_TRY(lt_draws_normal_f32(&d, 0, n, f->field));
        for (int64_t k = 0; k < n; k++) f->field[k] *= (float)eps[i];
        size[i] = norm(f->field, NULL, n);
        for (int64_t k = 0; k < n; k++) f->field[k] += field[k];
        LT_TRY(lt_rollout_run(r, f->field, -1, keep_state, &other, NULL));
        difference[i] = norm(f->field, f->base, n);
    }
    for (int i = 0; i < n_gains; i++) {
        for (int64_t k = 0; k < n; k++) f->field[k] = (float)gain[i] * field[k];
        LT_TRY(lt_rollout_run(r, f->field, -1, keep_state, &other, NULL));
        scaled[i] = norm(f->field, NULL, n);
    }
    lt_feature_sensitivity(f->set, difference, size, norm(f->base, NULL, n), scaled, value);
    return LT_OK;
}

lt_status lt_row_features_sensitivity(lt_row_features *f, const lt_operator_spec *spec, const lt_operator_weights *w, const float *field,
                                      int64_t index, lt_feature_stream *s)
{
    int n_eps, n_gains;
    lt_rollout *r;
    if (!f->probes) return LT_OK;
    lt_feature_epsilons(f->set, &n_eps);
    lt_feature_gains(f->set, &n_gains);
    LT_TRY(lt_rollout_cache_take(f->probes, spec, &r));
    lt_status st = lt_rollout_set_operator(r, spec, w);
    if (!st) st = probe_operator(f, r, field, (int64_t)LT_FIELD_CHANNELS * spec->grid * spec->grid, index, f->work);
    lt_rollout_cache_give(f->probes, r);
    if (!st) lt_feature_stream_sensitivity(s, f->work + 2 * n_eps + n_gains);
    return st;
}

/* ---- The arrays of a row ------------------------------------------------------------------------------- */

static lt_status fill_initial(const lt_row_features *f, const lt_store_plan *p, const float *field, int grid, lt_store_row *row)
{
    static const lt_part to[] = { LT_PART_INITIAL, LT_PART_INITIAL_MANUAL, LT_PART_INITIAL_CNN };
    if (!row->part[to[0]] && !row->part[to[1]] && !row->part[to[2]]) return LT_OK;
    const float *from[] = { f->initial, f->initial, f->initial + f->n_manual };
    if (f->n_manual) LT_TRY(lt_initial_compute(f->c->initial_variant, f->c->features.corrected, field, grid, f->initial));
    if (f->cnn) lt_initial_cnn_compute(f->cnn, field, grid, f->initial + f->n_manual);
    for (int i = 0; i < 3; i++)
        if (row->part[to[i]]) memcpy(row->part[to[i]], from[i], p->part[to[i]].row_bytes);
    return LT_OK;
}

/* What does not depend on the rollout. */
static lt_status fill_known(const lt_row_features *f, const lt_store_plan *p, const float *unit, const float *field, int grid, lt_store_row *row)
{
    lt_store_pad(field, LT_FIELD_CHANNELS, grid, (int)p->grid, row->part[LT_PART_FIELD]);
    LT_TRY(fill_initial(f, p, field, grid, row));
    return row->part[LT_PART_ARCHITECTURE] ? lt_architecture_compute(f->c, unit, row->part[LT_PART_ARCHITECTURE]) : LT_OK;
}

lt_status lt_row_features_finish(const lt_row_features *f, const lt_store_plan *p, lt_feature_stream *s, const float *unit, const float *field,
                                 int grid, lt_store_row *row)
{
    LT_TRY(fill_known(f, p, unit, field, grid, row));
    if (!s) return LT_OK;
    return lt_feature_stream_finish(s, row->part[LT_PART_TEMPORAL], row->part[LT_PART_PER_TRAJECTORY], row->part[LT_PART_AGGREGATED]);
}

lt_status lt_row_features_fail(const lt_row_features *f, const lt_store_plan *p, const float *unit, const float *field, int grid,
                               lt_store_row *row)
{
    static const lt_part undefined[] = { LT_PART_TEMPORAL, LT_PART_PER_TRAJECTORY, LT_PART_AGGREGATED, LT_PART_LEARNED };
    LT_TRY(fill_known(f, p, unit, field, grid, row));
    for (size_t i = 0; i < LT_LEN(undefined); i++)
        for (size_t k = 0; row->part[undefined[i]] && k < p->part[undefined[i]].row_bytes / sizeof(float); k++)
            row->part[undefined[i]][k] = NAN;
    return LT_OK;
}
