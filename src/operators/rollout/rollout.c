/* Making rollouts: what is compiled, how much memory it takes, which operators fit.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/rollout.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include "device/flags.h"
#include "graph/program/program.h"
#include "operators/rollout/device/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lt_rollout_defaults_into(lt_rollout_options *out)
{
    LT_GIVE(out, &(lt_rollout_options){ .size = sizeof(lt_rollout_options), .realizations = 1, .steps = 2, .precision = LT_PRECISION_FLOAT32,
                                              .post = LT_POST_NONE });
}

static lt_status check_options(const lt_rollout_options *o)
{
    if (o->realizations < 1 || o->realizations > UINT32_MAX)
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: %lld realizations: expected at least 1", (long long)o->realizations);
    if (o->steps < 1 || o->steps > UINT32_MAX)
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: %lld steps: expected at least 1", (long long)o->steps);
    if ((unsigned)o->precision >= LT_PRECISION_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: unknown precision %d", (int)o->precision);
    if ((unsigned)o->post >= LT_POST_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: unknown post-processing %d", (int)o->post);
    if (o->clamp && !(o->clamp_lo <= o->clamp_hi))
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: clamp to [%g, %g]: expected lo <= hi", o->clamp_lo, o->clamp_hi);
    if (o->memory_bytes < 0 || o->micro_batch < 0 || o->threads < 0 || o->steps_per_launch < 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "rollout: memory, micro-batch, threads and steps per launch are at least 0, got %lld, %lld, %d, %lld",
                       (long long)o->memory_bytes, (long long)o->micro_batch, o->threads, (long long)o->steps_per_launch);
    return LT_OK;
}

/* ---- Memory ----------------------------------------------------------------------------------- */
static int64_t free_memory(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (int64_t)pages * page : INT64_MAX;
}

/* Up to this many threads and pixels, large steps run side by side too where there are enough realizations: no thread waits within a step,
   which saved a tenth on 64 x 64 with two threads. On 128 x 128 it cost a twelfth, because the maps no longer fit in the shared cache. */
enum { FEW_THREADS = 4, FEW_PIXELS = 64 * 64 };

/* The number of realizations to run side by side: groups of nearly equal size where steps run abreast, else one per thread when steps are
   small. */
static int64_t lanes_wanted(const lt_rollout *r, int64_t threads)
{
    int64_t n = r->opt.realizations, groups = (n + LT_MOST_ABREAST - 1) / LT_MOST_ABREAST;
    if (r->abreast) return (n + groups - 1) / groups;
    bool enough = threads <= FEW_THREADS && threads <= n && r->field <= LT_FIELD_CHANNELS * FEW_PIXELS;
    bool apart = r->network.flops < LT_SMALL_STEP_FLOPS || r->limited || enough;
    return LT_MIN(apart ? threads : 1, n);
}

/* Limits that number by memory; `shared` bytes of a step hold weights that all lanes share. Refuses what does not fit even once, before
   anything runs (decision 55). */
static lt_status plan_lanes(lt_rollout *r, int64_t arena, int64_t shared)
{
    const lt_rollout_options *o = &r->opt;
    int64_t budget = o->memory_bytes ? o->memory_bytes : free_memory() / 2;
    int64_t noise = r->noise.count * (int64_t)sizeof(float), threads = lt_pool_threads(r->pool);
    if (o->threads) threads = LT_MIN(threads, o->threads);
    r->limited = threads < lt_pool_threads(r->pool);
    r->abreast = !r->limited && lt_program_gains_abreast(r->lane[0].program);
    int64_t most = lanes_wanted(r, threads);
    if (o->micro_batch) most = LT_MIN(most, o->micro_batch);
    while (most > 1 && shared + most * (arena - shared + noise) > budget) most--;
    if (arena + noise > budget)
        return LT_FAIL(LT_ERR_MEMORY, "rollout: one realization needs %lld bytes for activations and %lld for noise, of %lld allowed",
                       (long long)arena, (long long)noise, (long long)budget);
    r->n_lanes = (int)most;
    r->abreast = r->abreast && most > 1;
    r->info.micro_batch = LT_MIN(o->realizations, o->micro_batch ? o->micro_batch : r->abreast ? most : LT_MAX(most, 4));
    while (r->info.micro_batch > most && shared + most * (arena - shared) + r->info.micro_batch * noise > budget) r->info.micro_batch--;
    return LT_OK;
}

static lt_status make_memory(lt_rollout *r)
{
    size_t states = (size_t)(r->opt.realizations * r->field) * sizeof(float);
    int64_t drawn = r->noise.whole_batch ? r->opt.realizations : r->info.micro_batch;
    size_t noise = (size_t)(drawn * r->noise.count) * sizeof(float);
    for (int i = 0; i < 2; i++)
        if (!(r->state[i] = lt_malloc_aligned(states))) return LT_ERR_MEMORY;
    if (!(r->noise_block = lt_malloc_aligned(noise + sizeof(float)))) return LT_ERR_MEMORY;
    if (!(r->failed = lt_malloc((size_t)r->opt.realizations * sizeof *r->failed))) return LT_ERR_MEMORY;
    r->info.state_bytes = (int64_t)(2 * states + noise);
    r->info.weight_bytes = r->network.n_floats * (int64_t)sizeof(float);
    return LT_OK;
}

/* ---- Compiling ----------------------------------------------------------------------------------- */
static lt_status make_lane(lt_rollout *r, const lt_compile_options *opt, lt_step_lane *lane)
{
    lane->input = lt_calloc((size_t)(LT_STEP_TENSORS + r->network.n_tensors), sizeof *lane->input);
    if (!lane->input) return LT_ERR_MEMORY;
    return lt_program_create(r->network.graph, &r->network.next, 1, opt, &lane->program);
}

static lt_status compile(lt_rollout *r)
{
    lt_compile_options opt = { .size = sizeof opt, .device = r->opt.device, .skip_passes = r->opt.skip_passes,
                               .held_from = r->opt.forget_weights ? 0 : LT_STEP_TENSORS };
    LT_TRY(lt_rollout_choose_precision(NULL, r->opt.precision, &r->info, &opt));
    r->lane_capacity = LT_MAX(lt_pool_threads(r->pool), LT_MOST_ABREAST);
    if (!(r->lane = lt_calloc((size_t)r->lane_capacity, sizeof *r->lane))) return LT_ERR_MEMORY;
    LT_TRY(make_lane(r, &opt, &r->lane[0]));
    lt_program_info p = lt_program_get_info(r->lane[0].program);
    LT_TRY(plan_lanes(r, (int64_t)p.arena_bytes, (int64_t)p.held_bytes));
    opt.held_by = r->lane[0].program;
    for (int i = 1; i < r->n_lanes; i++) LT_TRY(make_lane(r, &opt, &r->lane[i]));
    for (int i = 0; i < r->n_lanes; i++) r->info.arena_bytes += (int64_t)lt_program_get_info(r->lane[i].program).arena_bytes;
    r->info.flops = r->network.flops * (double)r->opt.realizations;
    r->info.kernels_per_step = p.n_kernels;
    return LT_OK;
}

static lt_status create(lt_rollout *r, const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_state_reader *reader)
{
    r->spec = *spec;
    r->opt = *opt;
    if (lt_device_has(opt->device, LT_DEVICE_OWN_MEMORY)) return lt_device_rollout_create(spec, opt, reader, &r->on_device, &r->info);
    r->field = (int64_t)LT_FIELD_CHANNELS * spec->grid * spec->grid;
    r->pool = opt->device ? opt->device->pool : lt_pool_shared();
    if (!r->pool) return LT_ERR_MEMORY;
    LT_TRY(lt_network_create(spec, &r->network));
    LT_TRY(lt_noise_create(spec, &r->noise));
    LT_TRY(compile(r));
    lt_network_drop_graph(&r->network);
    return make_memory(r);
}

lt_status lt_rollout_create(const lt_operator_spec *spec, const lt_rollout_options *opt, lt_rollout **out)
{
    return lt_rollout_create_read(spec, opt, NULL, out);
}

lt_status lt_rollout_create_read(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_state_reader *reader, lt_rollout **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_rollout_create: out is NULL");
    *out = NULL;
    lt_operator_spec own = { .size = sizeof own };
    lt_rollout_options options = lt_rollout_defaults();
    LT_TRY(lt_operator_take(spec, &own));
    LT_TRY(LT_TAKE(lt_rollout_options, opt, &options));
    LT_TRY(check_options(&options));
    lt_rollout *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    r->info.size = sizeof r->info;
    lt_status s = create(r, &own, &options, reader);
    if (s) lt_rollout_destroy(r);
    else *out = r;
    return s;
}

void lt_rollout_destroy(lt_rollout *r)
{
    if (!r) return;
    lt_device_rollout_destroy(r->on_device);
    for (int i = 0; r->lane && i < r->lane_capacity; i++) {
        lt_program_destroy(r->lane[i].program);
        lt_free(r->lane[i].input);
    }
    lt_free(r->lane);
    lt_network_release(&r->network);
    lt_noise_release(&r->noise);
    for (int i = 0; i < 2; i++) lt_free_aligned(r->state[i]);
    lt_free_aligned(r->noise_block);
    lt_free(r->failed);
    lt_free(r);
}

void lt_rollout_get_info_into(const lt_rollout *r, lt_rollout_info *out)
{
    LT_GIVE(out, r ? &r->info : &(lt_rollout_info){ .size = sizeof(lt_rollout_info) });
}

/* ---- Operators --------------------------------------------------------------------------------------- */
/* The parts of a specification that shape the network; everything else is read at each run. */
static lt_operator_spec signature(const lt_operator_spec *s)
{
    lt_operator_spec k = { .size = sizeof k, .kind = s->kind, .base_channels = s->base_channels, .activation = s->activation,
                           .normalization = s->normalization, .noise = s->noise, .grid = s->grid,
                           .circular_padding = s->circular_padding, .tanh_gelu = s->tanh_gelu, .full_noise = s->full_noise };
    if (s->kind == LT_OPERATOR_CNN) {
        k.num_layers = s->num_layers;
        k.kernel_size = s->kernel_size;
    } else {
        k.modes = s->modes;
        k.hidden_dim = (int)lt_uafno_hidden(s);
        k.encoder_levels = s->encoder_levels;
        k.afno_blocks = s->afno_blocks;
        k.blocks_per_level = s->blocks_per_level;
    }
    return k;
}

static bool same_signature(const lt_operator_spec *a, const lt_operator_spec *b)
{
    lt_operator_spec x = signature(a), y = signature(b);
    return x.kind == y.kind && x.base_channels == y.base_channels && x.activation == y.activation && x.normalization == y.normalization
        && x.noise == y.noise && x.grid == y.grid && x.circular_padding == y.circular_padding && x.tanh_gelu == y.tanh_gelu
        && x.full_noise == y.full_noise && x.num_layers == y.num_layers && x.kernel_size == y.kernel_size && x.modes == y.modes
        && x.hidden_dim == y.hidden_dim && x.encoder_levels == y.encoder_levels && x.afno_blocks == y.afno_blocks
        && x.blocks_per_level == y.blocks_per_level && lt_network_noise(a).correlated == lt_network_noise(b).correlated;
}

bool lt_rollout_fits(const lt_rollout *r, const lt_operator_spec *spec)
{
    lt_operator_spec own = { .size = sizeof own };
    return r && !lt_operator_take(spec, &own) && same_signature(&r->spec, &own);
}

static void set_policy(lt_rollout *r, const lt_operator_spec *s)
{
    bool snapshot = r->opt.steps == 1;
    float keep = 0, gain = 1;
    if (s->policy == LT_POLICY_RESIDUAL && !snapshot) keep = 1, gain = (float)s->dt;
    if (s->policy == LT_POLICY_CONVEX && !snapshot) keep = (float)s->alpha, gain = (float)(1 - s->alpha);
    r->policy[0] = keep;
    r->policy[1] = gain;
}

lt_status lt_rollout_set_operator(lt_rollout *r, const lt_operator_spec *given, const lt_operator_weights *w)
{
    if (!r || !w) return LT_FAIL(LT_ERR_ARGUMENT, "lt_rollout_set_operator: a rollout and weights are needed");
    lt_operator_spec own, *spec = &own;
    LT_TRY(lt_operator_take(given, spec));
    if (!same_signature(&r->spec, spec)) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: the operator has another architecture than the rollout");
    if (w->index < 0) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: the weights were not drawn");
    if (!same_signature(&w->network.spec, spec)) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: the weights are of another architecture");
    r->weights = w;
    set_policy(r, spec);
    if (r->on_device) return lt_device_rollout_set(r->on_device, spec, w, r->policy);
    lt_noise_set(&r->noise, spec, w);
    for (int i = 0; i < r->n_lanes; i++) {
        for (int k = 0; k < r->network.n_tensors; k++)
            r->lane[i].input[LT_STEP_TENSORS + k] = w->block + w->network.tensor[k].offset;
        lt_program_renew(r->lane[i].program); /* the same memory may hold another operator's weights */
    }
    return LT_OK;
}

lt_status lt_rollout_set_reader(lt_rollout *r, const lt_state_reader *reader)
{
    if (!r || !r->on_device) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: states are read on devices with memory of their own only");
    return lt_device_rollout_set_reader(r->on_device, reader);
}

lt_status lt_rollout_keep_states(lt_rollout *r, bool stay)
{
    if (!r || !r->on_device) return LT_FAIL(LT_ERR_ARGUMENT, "rollout: states stay on devices with memory of their own only");
    lt_device_rollout_keep_states(r->on_device, stay);
    return LT_OK;
}
