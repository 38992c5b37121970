/* Replay: rows of a dataset back to states, with no file access. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <inttypes.h>

struct lt_replay {
    const lt_dataset_config *c;
    lt_replay_options        opt;
    lt_rollout_cache        *cache;
    lt_field_makers          makers;
    float                   *unit, *field;   /* [P]; [3, G, G] for the largest grid asked for */
    int                      field_grid;
    lt_operator_weights     *weights;
    lt_operator_spec         weights_spec;
};

void lt_replay_defaults_into(lt_replay_options *out)
{
    LT_GIVE(out, &(lt_replay_options){ .size = sizeof(lt_replay_options), .policy = -1 });
}

lt_status lt_replay_create(const lt_dataset_config *c, const lt_replay_options *options, lt_replay **out)
{
    if (!c || !out) return LT_FAIL(LT_ERR_ARGUMENT, "replay: %s is NULL", !c ? "the configuration" : "out");
    *out = NULL;
    lt_replay_options own = lt_replay_defaults(), *opt = &own;
    LT_TRY(LT_TAKE(lt_replay_options, options, opt));
    lt_replay *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    r->c = c;
    r->opt = *opt;
    if (!r->opt.steps) r->opt.steps = c->steps;
    if (!r->opt.realizations) r->opt.realizations = c->realizations;
    lt_rollout_options o = lt_rollout_defaults();
    o.realizations = r->opt.realizations;
    o.steps = r->opt.steps;
    o.precision = opt->has_precision ? opt->precision : c->precision;
    o.post = opt->post;
    o.clamp = opt->clamp;
    o.clamp_lo = opt->clamp_lo;
    o.clamp_hi = opt->clamp_hi;
    o.device = opt->device;
    r->unit = lt_malloc((size_t)c->space.n * sizeof *r->unit);
    lt_status s = r->unit ? lt_rollout_cache_create(&o, opt->cache ? opt->cache : LT_KEPT_ROLLOUTS, &r->cache) : LT_ERR_MEMORY;
    if (s) lt_replay_destroy(r);
    else *out = r;
    return s;
}

void lt_replay_destroy(lt_replay *r)
{
    if (!r) return;
    lt_rollout_cache_destroy(r->cache);
    lt_field_makers_release(&r->makers);
    lt_operator_weights_destroy(r->weights);
    lt_free(r->unit);
    lt_free(r->field);
    lt_free(r);
}

static lt_status check_index(const lt_replay *r, int64_t index)
{
    if (index < 0 || index >= r->c->total_samples)
        return LT_FAIL(LT_ERR_ARGUMENT, "row %" PRId64 ": expected 0..%" PRId64, index, r->c->total_samples - 1);
    return LT_OK;
}

static lt_status map_unit(const lt_replay *r, const float *unit, lt_operator_spec *spec)
{
    LT_TRY(lt_dataset_map_row(r->c, unit, spec));
    if (r->opt.policy >= 0) spec->policy = (lt_policy)r->opt.policy;
    return lt_operator_check(spec);
}

lt_status lt_replay_row(lt_replay *r, int64_t index, lt_operator_spec *spec, float *field)
{
    LT_NEED(r);
    lt_operator_spec own = { .size = sizeof own };
    LT_TRY(LT_CHECK_SIZE(lt_operator_spec, spec));
    LT_TRY(check_index(r, index));
    LT_TRY(lt_dataset_unit_row(r->c, index, r->unit));
    LT_TRY(map_unit(r, r->unit, &own));
    LT_GIVE(spec, &own);
    return field ? lt_field_makers_draw(&r->makers, r->c, lt_field_choose(r->c, index), index, own.grid, field) : LT_OK;
}

static lt_status draw_weights(lt_replay *r, const lt_operator_spec *spec, int64_t index)
{
    if (!r->weights || lt_architecture_compare(&r->weights_spec, spec)) {
        lt_operator_weights_destroy(r->weights);
        r->weights = NULL;
        LT_TRY(lt_operator_weights_create(spec, &r->weights));
        r->weights_spec = *spec;
    }
    return lt_operator_weights_draw(r->weights, r->c->seed, index);
}

static lt_status own_field(lt_replay *r, const lt_operator_spec *spec, int64_t index)
{
    if (spec->grid > r->field_grid) {
        lt_free(r->field);
        r->field = lt_malloc(sizeof(float) * LT_FIELD_CHANNELS * (size_t)spec->grid * (size_t)spec->grid);
        r->field_grid = r->field ? spec->grid : 0;
        if (!r->field) return LT_ERR_MEMORY;
    }
    return lt_field_makers_draw(&r->makers, r->c, lt_field_choose(r->c, index), index, spec->grid, r->field);
}

lt_status lt_replay_run_unit(lt_replay *r, const float *unit, int64_t index, const float *field, int64_t realization, lt_rollout_sink sink,
                             void *ctx, lt_rollout_result *out)
{
    LT_NEED(r);
    LT_NEED(unit);
    lt_operator_spec spec = { .size = sizeof spec };
    lt_rollout *rollout;
    LT_TRY(map_unit(r, unit, &spec));
    LT_TRY(draw_weights(r, &spec, index));
    if (!field) {
        LT_TRY(own_field(r, &spec, index));
        field = r->field;
    }
    LT_TRY(lt_rollout_cache_take(r->cache, &spec, &rollout));
    lt_status s = lt_rollout_set_operator(rollout, &spec, r->weights);
    if (!s) s = lt_rollout_run(rollout, field, realization, sink, ctx, out);
    lt_rollout_cache_give(r->cache, rollout);
    return s;
}

lt_status lt_replay_run(lt_replay *r, int64_t index, int64_t realization, lt_rollout_sink sink, void *ctx, lt_rollout_result *out)
{
    LT_NEED(r);
    LT_TRY(check_index(r, index));
    LT_TRY(lt_dataset_unit_row(r->c, index, r->unit));
    return lt_replay_run_unit(r, r->unit, index, NULL, realization, sink, ctx, out);
}

lt_status lt_replay_save_weights(lt_replay *r, int64_t index, const char *path)
{
    LT_NEED(r);
    LT_NEED(path);
    lt_operator_spec spec = { .size = sizeof spec };
    LT_TRY(lt_replay_row(r, index, &spec, NULL));
    LT_TRY(draw_weights(r, &spec, index));
    return lt_operator_weights_save(r->weights, path);
}
