/* Rollouts on a device with memory of its own: states, noise and weights live on it, k steps are one recorded
   sequence. SPDX-License-Identifier: BSD-3-Clause

   engine.c makes them, run.c runs them and copies states to the host, step.c is one application of the operator (generic: the
   compiled graph; fused: fused.h), kernels.c builds the texts of this folder.

   All pointers in this header are to device memory unless they are functions, handles or contexts. */
#ifndef LT_OPERATORS_ROLLOUT_DEVICE_DEVICE_H
#define LT_OPERATORS_ROLLOUT_DEVICE_DEVICE_H

#include "device/stream.h"
#include "operators/rollout/rollout.h"

/* ---- Consumers of states on the device ---------------------------------------------------------------- */
/* States that follow each other, as a consumer sees them; the memory keeps its contents until all work queued by the
   consumer for them is done. Realizations that failed hold NaN from their step on. */
typedef struct lt_state_view {
    int64_t        n;
    const float   *now;          /* X_t to X_{t+n-1}, [M, 3, G, G] each, lt_state_stride from one to the next */
    const float   *before;       /* X_{t-1}; X_0 itself at t = 0 */
    const int64_t *t;            /* [n] */
    const int64_t *failed;       /* [M]: the step up to the last of them at which it became non-finite, or -1 */
} lt_state_view;

/* Numbers from one state of all realizations to the next. */
static inline int64_t lt_state_stride(int64_t realizations, int grid)
{
    enum { ALIGNED_NUMBERS = 64 };
    return (realizations * LT_FIELD_CHANNELS * grid * grid + ALIGNED_NUMBERS - 1) / ALIGNED_NUMBERS * ALIGNED_NUMBERS;
}

/* states is called while sequences are recorded, a few times, and the work it queues then runs once for every
   sequence: steps must be read from view->t on the device, and nothing of it may depend on the host's order of calls.
   begin and end are called once a run, around all steps; end queues the copies of results to the host, and the run
   waits for it. In runs with a sink, copy is called for steps t to t + n - 1 when their work is queued, in order, and queues the
   copies of their results on a stream of its own: they have ended when the sink is called for these steps. Nothing may allocate or wait.
   All but states may be NULL. */
typedef struct lt_state_reader {
    void *ctx;
    lt_status (*begin)(void *ctx, lt_stream *st);
    lt_status (*states)(void *ctx, lt_stream *st, const lt_state_view *view);
    lt_status (*end)(void *ctx, lt_stream *st);
    lt_status (*copy)(void *ctx, lt_stream *copies, int64_t t, int64_t n);
} lt_state_reader;

/* The next runs of r show their states to reader (copied; NULL: to none), in addition to the sink. Sequences are
   recorded anew when it changes. Only on a device with memory of its own. */
lt_status lt_rollout_set_reader(lt_rollout *r, const lt_state_reader *reader);
/* As lt_rollout_create, with a reader from the start (NULL: none); the CPU takes none. */
lt_status lt_rollout_create_read(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_state_reader *reader, lt_rollout **out);
/* With stay the sink of the next runs gets NULL instead of states, which stay on the device: it only learns which
   steps are done, a few at a time. */
lt_status lt_rollout_keep_states(lt_rollout *r, bool stay);

enum { LT_USUAL_STEPS_PER_LAUNCH = 8 };

/* ---- What rollout.c hands over to ------------------------------------------------------------------------ */
typedef struct lt_device_rollout lt_device_rollout;

/* Builds the kernels of such rollouts, for a device that notes their texts (device/build_list.h): machine code is made and loaded while the
   device has nothing to do, because loading waits until it is idle. Kernels of libraries are left out. */
lt_status lt_device_rollout_prepare(const lt_operator_spec *spec, const lt_rollout_options *opt);
/* Which steps CNN operators take on a device, where they fit: last bits depend on it. */
typedef struct lt_step_choice {
    char kind[16];                /* fused ones, "sm_90" or "mma"; "graph": compiled ones */
    char reason[160];             /* why they are not fused */
} lt_step_choice;
/* Settles what lt_device_rollout_prepare must know of this device, once for all runs (decision 372). */
lt_status lt_device_rollout_settle(lt_device *dev, lt_precision precision, lt_step_choice *out);
typedef struct lt_rollout_need { int64_t step_bytes, state_bytes; bool exact; } lt_rollout_need;
/* What such a rollout takes of `available` bytes, before anything is compiled or allocated: exact for fused steps; graphs, where they
   are asked for (it takes milliseconds; else 0), count as what they take at least. LT_ERR_MEMORY when one realization's step is too large. */
lt_status lt_device_rollout_plan(const lt_operator_spec *spec, const lt_rollout_options *opt, int64_t available, bool graphs, lt_rollout_need *out);
/* Fills info. The device must have memory of its own. */
lt_status lt_device_rollout_create(const lt_operator_spec *spec, const lt_rollout_options *opt, const lt_state_reader *reader,
                                   lt_device_rollout **out, lt_rollout_info *info);
void      lt_device_rollout_destroy(lt_device_rollout *e); /* NULL is allowed */
/* policy: keep and gain. Weights are drawn on the device by (seed, index) of w. */
lt_status lt_device_rollout_set(lt_device_rollout *e, const lt_operator_spec *spec, const lt_operator_weights *w, const float policy[2]);
lt_status lt_device_rollout_set_reader(lt_device_rollout *e, const lt_state_reader *reader);
void      lt_device_rollout_keep_states(lt_device_rollout *e, bool stay);
/* As lt_rollout_start and lt_rollout_wait. */
lt_status lt_device_rollout_start(lt_device_rollout *e, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx);
lt_status lt_device_rollout_wait(lt_device_rollout *e, lt_rollout_result *out);

#endif
