/* One step of a CNN operator on a GPU with tensor cores: normalisation and activation inside the convolutions.
   SPDX-License-Identifier: BSD-3-Clause

   Everything is asynchronous, on the stream given, and may be captured. */
#ifndef LT_OPERATORS_ROLLOUT_FUSED_FUSED_H
#define LT_OPERATORS_ROLLOUT_FUSED_FUSED_H

#include "device/stream.h"
#include "operators/network/network.h"

/* What LATHE_CUDA_STEP asks for: the kernels for every card also on sm_90 and without a trial, to measure them, or no fused step. */
typedef enum lt_wanted_step { LT_STEP_AUTO, LT_STEP_MMA, LT_STEP_GRAPH } lt_wanted_step;
lt_status lt_fused_wanted_step(lt_wanted_step *out);

typedef struct lt_fused_cnn lt_fused_cnn; /* one architecture, M realizations; any weights */

/* Whether it runs here; else why is filled with the reason. There are two kinds: for sm_90 in half precision, and for every card since
   Ampere in all precisions, which lt_fused_cnn_measured says to be known to pay. */
bool      lt_fused_cnn_fits(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, char why[static 160]);
/* Device memory it would take, before anything is made. */
lt_status lt_fused_cnn_need(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations, int64_t *bytes);
/* Whether steps of this kind were measured on this generation to be right and the fastest; others are compared with the compiled
   graph first (rollout/device/trial.c). */
bool      lt_fused_cnn_measured(lt_device *dev, lt_precision precision);
/* Builds the kernels of such a step, one after the other, and lets them go: for a device that notes their texts (device/build_list.h). */
lt_status lt_fused_cnn_prepare(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations);
lt_status lt_fused_cnn_create(lt_device *dev, const lt_network *network, lt_precision precision, int64_t realizations, lt_fused_cnn **out);
void      lt_fused_cnn_destroy(lt_fused_cnn *f); /* NULL is allowed */
int64_t   lt_fused_cnn_bytes(const lt_fused_cnn *f);   /* of device memory: activations and packed weights */
int       lt_fused_cnn_kernels(const lt_fused_cnn *f); /* launches of a step */
/* block: the drawn weights (lt_operator_weights.block) in device memory; not read after this work is done. */
lt_status lt_fused_cnn_set_weights(lt_fused_cnn *f, lt_stream *st, const float *block);
/* Which step this is, and for each realization the one after which it was not finite, or -1: what has failed, or fails
   now, is NaN. */
typedef struct lt_step_end { const int64_t *t; int64_t *failed; } lt_step_end;
/* next = keep state + gain O(state) with noise: states [M, 3, G, G]; noise [M, count] as lt_noise_draw makes
   it, or NULL without; policy: keep and gain. All in device memory. */
lt_status lt_fused_cnn_step(lt_fused_cnn *f, lt_stream *st, const float *state, const float *noise, const float policy[2], float *next, lt_step_end end);

#endif
