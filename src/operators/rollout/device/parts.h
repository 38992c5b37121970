/* What the files of rollouts on a device share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_ROLLOUT_DEVICE_PARTS_H
#define LT_OPERATORS_ROLLOUT_DEVICE_PARTS_H

#include "device/host_ring.h"
#include "device/recording.h"
#include "operators/rollout/device/device.h"
#include "operators/rollout/device/rollout_job.h"
#include "operators/rollout/fused/fused.h"

/* ---- Kernels (kernels.c) ---- */
typedef struct lt_rollout_kernels {
    lt_kernel *begin, *settle, *advance, *weights;
    lt_kernel *noise, *noises, *moments, *finish; /* NULL where the noise has no such part; noises: of noise_steps at once */
} lt_rollout_kernels;
lt_status lt_rollout_kernels_build(lt_device *dev, const lt_rollout_job *job, const lt_operator_spec *spec, int64_t weight_quads, lt_rollout_kernels *out);
void      lt_rollout_kernels_destroy(lt_rollout_kernels *k);

/* ---- One application of the operator to all realizations (step.c) ---- */
typedef struct lt_application lt_application;
typedef struct lt_application_request {
    lt_device              *dev;
    const lt_operator_spec *spec;
    const lt_rollout_options *opt;
    int64_t                 budget_bytes;  /* for activations */
    lt_wanted_step          step;          /* LT_STEP_AUTO: what LATHE_CUDA_STEP says */
} lt_application_request;
/* Whether fused steps that were not measured on this kind of card are taken on it (trial.c): as the tuning file says; with may_try, tried
   when it says nothing. why: when not. */
lt_status lt_step_trial(lt_device *dev, lt_precision precision, bool may_try, bool *taken, char why[static 160]);
/* Fills precision, arithmetic, step, micro_batch, arena and kernel counts of info. */
lt_status lt_application_create(const lt_application_request *q, lt_application **out, lt_rollout_info *info);
/* Notes the texts of such a rollout, as far as they are known before it is made, on a device that notes texts; budget_bytes does not matter. */
lt_status lt_application_prepare(const lt_application_request *q);
/* Device memory that such a rollout takes: exact for fused steps. A graph is planned only with `graphs`, which takes milliseconds, and counts
   as what one realization takes at least. LT_ERR_MEMORY when that is beyond budget_bytes. Nothing is compiled or allocated. */
lt_status lt_application_need(const lt_application_request *q, bool graphs, bool *fused, int64_t *bytes);
void      lt_application_destroy(lt_application *a); /* NULL is allowed; none of its work may be under way */
const lt_network *lt_application_network(const lt_application *a); /* the list of tensors */
/* All queued on st; pointers are to device memory. block: all weights, read at every step, so it must stay. */
lt_status lt_application_set_weights(lt_application *a, lt_stream *st, const float *block);
/* What has failed is left to others unless lt_application_ends_steps. */
lt_status lt_application_step(lt_application *a, lt_stream *st, const float *state, const float *noise, const float policy[2], float *next, lt_step_end end);
bool      lt_application_ends_steps(const lt_application *a);

/* ---- The whole (engine.c, run.c) ---- */
enum { LT_STATE_SLOTS = 3, LT_AHEAD_WITHOUT_STATES = 64 }; /* sequences queued ahead of the host, with and without states on their way */

struct lt_device_rollout {
    lt_device         *dev;
    lt_stream         *stream, *copies;  /* work; copies to the host */
    lt_rollout_options opt;
    lt_operator_spec   spec;
    lt_rollout_job     job;              /* as the device has it, once set */
    lt_noise_shape     noise_at;
    lt_application    *application;
    lt_program        *smooth;           /* white -> correlated noise of all realizations; NULL when not correlated */
    lt_rollout_kernels kernels;
    int64_t            k;                /* steps of a sequence; the ring holds 2 k states */
    size_t             state_bytes;      /* of all realizations at one time */
    /* Device memory, one piece. */
    void              *memory;
    char              *ring;             /* [2 k, M, field] */
    float             *field, *scale, *noise, *white, *filter, *weights;
    double            *moments;
    int64_t           *failed, *steps;   /* steps: of a sequence [k], then 0 */
    lt_rollout_job    *device_job;
    lt_drawn_tensor   *tensors;
    /* Host memory, one piece. */
    lt_host_memory     host;
    float             *host_field, *host_scale, *host_filter;
    lt_rollout_job    *host_job;
    int64_t           *host_failed;      /* [M], at the end */
    int64_t           *shown;            /* [M]: failures up to the step that is shown */
    /* Chunks on their way to the host, in turn: a slot ends when its chunk has arrived, or is computed where states stay. */
    lt_host_ring       states;           /* [k, M, field], then failed [M] */
    lt_host_ring       stays;            /* without memory */
    lt_event          *uploaded, *begun, *computed, *done;
    bool               uploading;
    lt_recording       sequence[2];      /* writes the first or the second half of the ring */
    lt_state_reader    reader;
    bool               has_reader, stay;  /* stay: states do not travel */
    /* The run under way. */
    lt_rollout_sink    sink;
    void              *sink_ctx;
    int64_t            first, n;         /* realizations that are shown */
    int64_t            queued, shown_chunks, n_chunks; /* chunk 0 is X_0, others are sequences */
    int64_t            begin_ns;
};

/* Queues what step t does: `from` and `to` are states in the ring, t points to the step on the device. */
lt_status lt_device_rollout_step(lt_device_rollout *e, const float *from, float *to, const int64_t *t);
/* Queues what the reader, if there is one, does with n states from number `first` of the ring on, of steps t. */
lt_status lt_device_rollout_show(lt_device_rollout *e, int64_t first, int64_t n, const int64_t *t);
static inline float *lt_ring_state(const lt_device_rollout *e, int64_t number) { return (float *)(void *)(e->ring + (size_t)number * e->state_bytes); }

#endif
