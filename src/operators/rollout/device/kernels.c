/* Kernels around the step of a rollout, from the texts of this folder. Sizes are read from the job, so that
   one compilation serves all architectures. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/device/parts.h"

#include "base/status.h"
#include "kernels/cuda/builder.h"
#include "kernels/cuda/text_kernel.h"

extern const char lt_text_rollout_job_h[], lt_text_rollout_random_cuh[], lt_text_rollout_noise_cu[], lt_text_rollout_states_cu[];

enum { THREADS = 256, SETTLE_THREADS = 1024 }; /* rollout_states.cu */

static lt_text *begin_text(lt_builder *b, const char *body)
{
    lt_text *t = lt_builder_text(b);
    lt_text_prelude(t);
    lt_text_part(t, lt_text_rollout_job_h);
    lt_text_part(t, lt_text_rollout_random_cuh);
    lt_text_part(t, body);
    return t;
}

typedef struct launch_shape { int64_t blocks, rows, layers; int threads; } launch_shape;

static void add(lt_builder *b, const lt_text *t, const char *entry, int n_args, launch_shape s, lt_kernel **out)
{
    lt_builder_add(b, t, &(lt_kernel_key){ .name = entry, .entry = entry, .n_args = n_args, .waits = true, .grid = { (unsigned)s.blocks, (unsigned)s.rows, (unsigned)s.layers },
                                           .block = { (unsigned)s.threads } }, out);
}

static void add_correlated(lt_builder *b, const lt_text *t, const lt_rollout_job *j, lt_rollout_kernels *k)
{
    int64_t planes = j->realizations * j->channels;
    add(b, t, "noise_unit", 4, (launch_shape){ lt_blocks((j->noise_count + 3) / 4, THREADS), j->realizations, 1, THREADS }, &k->noise);
    add(b, t, "plane_moments", 3, (launch_shape){ planes, 1, 1, SETTLE_THREADS }, &k->moments);
    add(b, t, "finish_correlated", 5, (launch_shape){ lt_blocks(j->pixels, THREADS), planes, 1, THREADS }, &k->finish);
}

static void add_noise(lt_builder *b, const lt_rollout_job *j, const lt_operator_spec *spec, lt_rollout_kernels *k)
{
    lt_noise_shape at = lt_network_noise(spec);
    if (at.site == LT_SITE_NONE) return;
    lt_text *t = begin_text(b, lt_text_rollout_noise_cu);
    if (at.correlated) {
        add_correlated(b, t, j, k);
        return;
    }
    const char *entry = at.mixed ? "noise_mixed" : at.by_channel ? "noise_dropout" : spec->noise == LT_NOISE_LAPLACE ? "noise_laplace" : "noise_normal";
    int64_t threads = at.mixed ? (j->pixels % 4 ? j->pixels : j->pixels / 4) : (j->noise_count + 3) / 4;
    launch_shape s = { lt_blocks(threads, THREADS), j->realizations, 1, THREADS };
    add(b, t, entry, 4, s, &k->noise);
    s.layers = j->noise_steps;
    if (s.layers > 1) add(b, t, entry, 4, s, &k->noises);
}

lt_status lt_rollout_kernels_build(lt_device *dev, const lt_rollout_job *j, const lt_operator_spec *spec, int64_t weight_quads, lt_rollout_kernels *k)
{
    int64_t first = LT_MAX(j->realizations * j->field, j->steps_per_launch + 1);
    lt_builder b = lt_builder_begin(dev);
    *k = (lt_rollout_kernels){ 0 };
    lt_text *t = begin_text(&b, lt_text_rollout_states_cu);
    add(&b, t, "begin_run", 5, (launch_shape){ lt_blocks(first, THREADS), 1, 1, THREADS }, &k->begin);
    add(&b, t, "advance", 2, (launch_shape){ 1, 1, 1, THREADS }, &k->advance);
    add(&b, t, "settle", 4, (launch_shape){ j->realizations, 1, 1, SETTLE_THREADS }, &k->settle);
    add(&b, t, "draw_weights", 3, (launch_shape){ lt_blocks(weight_quads, THREADS), 1, 1, THREADS }, &k->weights);
    add_noise(&b, j, spec, k);
    return lt_builder_finish(&b, lt_device_pool(dev));
}

void lt_rollout_kernels_destroy(lt_rollout_kernels *k)
{
    lt_kernel *all[] = { k->begin, k->settle, k->advance, k->weights, k->noise, k->noises, k->moments, k->finish };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_kernel_destroy(all[i]);
    *k = (lt_rollout_kernels){ 0 };
}
