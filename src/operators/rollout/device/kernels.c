/* Kernels around the step of a rollout, from the texts under operators/cuda. Sizes are read from the job, so that
   one compilation serves all architectures. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/device/parts.h"

#include "base/status.h"
#include "kernels/cuda/text_kernel.h"

extern const char lt_text_rollout_random_cuh[], lt_text_rollout_noise_cu[], lt_text_rollout_states_cu[];

enum { THREADS = 256, SETTLE_THREADS = 1024 }; /* rollout_states.cu */

static lt_status build(lt_device *dev, const char *body, const char *entry, int n_args, int64_t blocks, int64_t rows, int64_t layers, int threads, lt_kernel **out)
{
    lt_text random = { 0 };
    lt_text_add(&random, "%s", lt_text_rollout_random_cuh);
    lt_text_kernel t = { .name = entry, .entry = entry, .body = body, .n_args = n_args, .grid = { (unsigned)blocks, (unsigned)rows, (unsigned)layers },
                         .block = { (unsigned)threads } };
    return lt_text_kernel_build(dev, &t, &random, out);
}

static lt_status build_correlated(lt_device *dev, const lt_rollout_job *j, lt_rollout_kernels *k)
{
    int64_t planes = j->realizations * j->channels;
    LT_TRY(build(dev, lt_text_rollout_noise_cu, "noise_unit", 4, lt_blocks((j->noise_count + 3) / 4, THREADS), j->realizations, 1, THREADS, &k->noise));
    LT_TRY(build(dev, lt_text_rollout_noise_cu, "plane_moments", 3, planes, 1, 1, SETTLE_THREADS, &k->moments));
    return build(dev, lt_text_rollout_noise_cu, "finish_correlated", 5, lt_blocks(j->pixels, THREADS), planes, 1, THREADS, &k->finish);
}

static lt_status build_noise(lt_device *dev, const lt_rollout_job *j, const lt_operator_spec *spec, lt_rollout_kernels *k)
{
    lt_noise_shape at = lt_network_noise(spec);
    if (at.site == LT_SITE_NONE) return LT_OK;
    if (at.correlated) return build_correlated(dev, j, k);
    const char *entry = at.mixed ? "noise_mixed" : at.by_channel ? "noise_dropout" : spec->noise == LT_NOISE_LAPLACE ? "noise_laplace" : "noise_normal";
    int64_t threads = at.mixed ? (j->pixels % 4 ? j->pixels : j->pixels / 4) : (j->noise_count + 3) / 4;
    LT_TRY(build(dev, lt_text_rollout_noise_cu, entry, 4, lt_blocks(threads, THREADS), j->realizations, 1, THREADS, &k->noise));
    if (j->noise_steps <= 1) return LT_OK;
    return build(dev, lt_text_rollout_noise_cu, entry, 4, lt_blocks(threads, THREADS), j->realizations, j->noise_steps, THREADS, &k->noises);
}

lt_status lt_rollout_kernels_build(lt_device *dev, const lt_rollout_job *j, const lt_operator_spec *spec, int64_t weight_quads, lt_rollout_kernels *out)
{
    int64_t first = LT_MAX(j->realizations * j->field, j->steps_per_launch + 1);
    lt_rollout_kernels *k = out;
    *k = (lt_rollout_kernels){ 0 };
    lt_status s = build(dev, lt_text_rollout_states_cu, "begin_run", 5, lt_blocks(first, THREADS), 1, 1, THREADS, &k->begin);
    if (!s) s = build(dev, lt_text_rollout_states_cu, "advance", 2, 1, 1, 1, THREADS, &k->advance);
    if (!s) s = build(dev, lt_text_rollout_states_cu, "settle", 4, j->realizations, 1, 1, SETTLE_THREADS, &k->settle);
    if (!s) s = build(dev, lt_text_rollout_states_cu, "draw_weights", 3, lt_blocks(weight_quads, THREADS), 1, 1, THREADS, &k->weights);
    if (!s) s = build_noise(dev, j, spec, k);
    if (s) lt_rollout_kernels_destroy(k);
    return s;
}

void lt_rollout_kernels_destroy(lt_rollout_kernels *k)
{
    lt_kernel *all[] = { k->begin, k->settle, k->advance, k->weights, k->noise, k->noises, k->moments, k->finish };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_kernel_destroy(all[i]);
    *k = (lt_rollout_kernels){ 0 };
}
