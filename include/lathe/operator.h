/* Stochastic neural operators: what one is, its weights, and rollouts of it.
   SPDX-License-Identifier: BSD-3-Clause

   An operator maps fields [batch, 3, G, G] to fields of the same shape. It is a small untrained
   network whose weights are a pure function of (seed, operator index). */
#ifndef LATHE_OPERATOR_H
#define LATHE_OPERATOR_H

#include "lathe/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LT_FIELD_CHANNELS 3

/* ---- What an operator is ------------------------------------------------------- */
typedef enum lt_operator_kind { LT_OPERATOR_CNN, LT_OPERATOR_UAFNO, LT_OPERATOR_KIND_COUNT } lt_operator_kind;
typedef enum lt_activation { LT_ACT_GELU, LT_ACT_RELU, LT_ACT_SILU, LT_ACT_TANH, LT_ACT_NONE, LT_ACT_COUNT } lt_activation;
typedef enum lt_normalization { LT_NORM_INSTANCE, LT_NORM_BATCH, LT_NORM_GROUP, LT_NORM_LAYER, LT_NORM_NONE, LT_NORM_COUNT } lt_normalization;
typedef enum lt_noise { LT_NOISE_NONE, LT_NOISE_GAUSSIAN, LT_NOISE_LAPLACE, LT_NOISE_MULTIPLICATIVE, LT_NOISE_DROPOUT, LT_NOISE_COUNT } lt_noise;
typedef enum lt_noise_schedule { LT_SCHEDULE_CONSTANT, LT_SCHEDULE_ANNEALING, LT_SCHEDULE_PERIODIC, LT_SCHEDULE_COUNT } lt_noise_schedule;
typedef enum lt_policy { LT_POLICY_AUTOREGRESSIVE, LT_POLICY_RESIDUAL, LT_POLICY_CONVEX, LT_POLICY_COUNT } lt_policy;
/* tf32: values in float32, products of them rounded to the 11 digits of TF32, sums in float32. */
typedef enum lt_precision { LT_PRECISION_FLOAT32, LT_PRECISION_FLOAT16, LT_PRECISION_BFLOAT16, LT_PRECISION_TF32, LT_PRECISION_COUNT } lt_precision;

/* Names as in configurations: "cnn", "gelu", "instance", "gaussian", …; "?" when out of range. */
LT_API const char *lt_operator_kind_name(lt_operator_kind v);
LT_API const char *lt_activation_name(lt_activation v);
LT_API const char *lt_normalization_name(lt_normalization v);
LT_API const char *lt_noise_name(lt_noise v);
LT_API const char *lt_noise_schedule_name(lt_noise_schedule v);
LT_API const char *lt_policy_name(lt_policy v);
LT_API const char *lt_precision_name(lt_precision v);

/* Plain data; start from lt_operator_defaults(kind). Everything that fixes the network, its noise
   and its update, but not its weights. */
typedef struct lt_operator_spec {
    size_t           size;
    lt_operator_kind kind;
    int              num_layers, base_channels, kernel_size;  /* kernel_size: odd; CNN only, as num_layers */
    lt_activation    activation;
    lt_normalization normalization;
    lt_noise         noise;
    double           noise_scale;
    lt_noise_schedule schedule;
    double           schedule_period;      /* steps */
    double           spatial_correlation;  /* fraction of the grid */
    int              grid;                 /* G */
    lt_policy        policy;
    double           dt, alpha;            /* of residual; of convex: the weight of the old state */
    int              modes, hidden_dim, encoder_levels, afno_blocks, blocks_per_level; /* U-AFNO; hidden_dim 0 = twice the bottleneck */
    /* How the engine reads the above (configuration key engine:). */
    bool             circular_padding;     /* else zeros */
    bool             tanh_gelu;            /* else erf */
    bool             full_noise;           /* schedule and correlation are applied; else not, as in Spinlock */
} lt_operator_spec;

LT_API void lt_operator_defaults_into(lt_operator_kind kind, lt_operator_spec *out);
static inline lt_operator_spec lt_operator_defaults(lt_operator_kind of) { lt_operator_spec sized; sized.size = sizeof sized; lt_operator_defaults_into(of, &sized); return sized; }
/* Names the field, its value and what was expected. */
LT_API lt_status lt_operator_check(const lt_operator_spec *spec);
LT_API int64_t   lt_operator_parameter_count(const lt_operator_spec *spec); /* as PyTorch would count: unread modes included */
LT_API double    lt_operator_flops(const lt_operator_spec *spec);           /* per sample and step; a multiply-add is 2 */

/* ---- Weights: a pure function of (architecture, seed, operator index) ------------------ */
typedef struct lt_operator_weights lt_operator_weights; /* opaque; several may be drawn ahead, on other threads */

/* Memory for the weights of this architecture; drawing allocates nothing. */
LT_API lt_status lt_operator_weights_create(const lt_operator_spec *spec, lt_operator_weights **out);
LT_API void      lt_operator_weights_destroy(lt_operator_weights *w); /* NULL is allowed */
LT_API lt_status lt_operator_weights_draw(lt_operator_weights *w, uint64_t seed, int64_t index);
/* As .npz: float32, PyTorch's shapes, names as documented (stem.weight, blocks.0.conv1.weight, …). */
LT_API lt_status lt_operator_weights_save(const lt_operator_weights *w, const char *path);

/* ---- Rollouts ------------------------------------------------------------------------ */
typedef struct lt_rollout lt_rollout; /* opaque; for one architecture, any weights; one run at a time */

typedef enum lt_post { LT_POST_NONE, LT_POST_MINMAX, LT_POST_ZSCORE, LT_POST_COUNT } lt_post;

typedef struct lt_rollout_options {  /* plain data; start from lt_rollout_defaults() */
    size_t       size;
    int64_t      realizations;       /* M */
    int64_t      steps;              /* T: stored states, the first field included; 1 = snapshot mode */
    lt_precision precision;          /* kept on every device; lt_rollout_info.arithmetic says by what */
    int64_t      memory_bytes;       /* for activations; 0 = a share of what is free. Sets the micro-batch */
    int64_t      micro_batch;        /* 0 = from the memory plan; results do not depend on it */
    lt_post      post;               /* per realization, also on the first field */
    bool         clamp;
    double       clamp_lo, clamp_hi;
    lt_device   *device;             /* NULL: the CPU; borrowed */
    int          threads;            /* 0 = all of the device's pool */
    /* For ablations: what the compiler leaves out. */
    uint32_t     skip_passes;        /* bits of lt_pass (lathe/graph.h) */
    bool         forget_weights;     /* weights are brought into their kernels' form at every step */
    /* On a device with memory of its own. */
    int64_t      steps_per_launch;   /* steps recorded as one sequence; 0 = as usual (8) */
    bool         apart;              /* nothing is recorded: every kernel is launched by itself */
    bool         plain_step;         /* the step's compiled graph, even where a fused step fits */
} lt_rollout_options;

typedef struct lt_rollout_info {
    size_t       size;
    lt_precision precision;          /* what runs */
    char         precision_reason[160]; /* "" when it is what was asked for, as it always is today */
    char         arithmetic[96];     /* "oneDNN avx512_core_bf16", … */
    int64_t      micro_batch;
    int64_t      arena_bytes, weight_bytes, state_bytes; /* the memory plan */
    double       flops;              /* per step, all realizations */
    int          kernels_per_step;   /* of a step by itself; a recorded sequence may draw the noise of all its steps by one of them */
    char         step[16];           /* "graph" or "fused" */
    char         step_reason[160];   /* why it is not fused; "" on the CPU */
    int          steps_per_launch;   /* 0 on the CPU */
} lt_rollout_info;

/* Called with every state X_t [M, 3, G, G] float32, t = 0..T-1, on the thread that runs the rollout;
   the memory is valid during the call. failed[m] is the step at which realization m became
   non-finite, or -1; its states from there on are NaN. Returning other than LT_OK stops the run. */
typedef lt_status (*lt_rollout_sink)(void *ctx, int64_t t, const float *states, const int64_t *failed);

typedef enum lt_run_status { /* /status/code */
    LT_RUN_PENDING, LT_RUN_DONE,
    LT_RUN_NON_FINITE,               /* a realization left the finite numbers: a property of the operator */
    LT_RUN_FAILED,                   /* the operator could not be computed */
    LT_RUN_LOST,                     /* device, library or process failed under it, also when tried again: a run that resumes makes it */
    LT_RUN_STATUS_COUNT
} lt_run_status;
enum { LT_RUN_STATUS_ROOM = 8 };     /* of arrays with one entry each, so that there may be more of them */

typedef struct lt_rollout_result {
    size_t        size;
    lt_run_status status;
    int64_t       step;              /* T-1, or the earliest step with a non-finite state */
    double        seconds;
    double        device_seconds;    /* by the clock of a device with memory of its own, from first to last work; else 0 */
} lt_rollout_result;

LT_API void lt_rollout_defaults_into(lt_rollout_options *out);
static inline lt_rollout_options lt_rollout_defaults(void) { lt_rollout_options sized; sized.size = sizeof sized; lt_rollout_defaults_into(&sized); return sized; }
/* Compiles everything; running allocates nothing. The spec's weights-free part is fixed here; noise
   scale, policy, dt and alpha are read at each run, so operators of one architecture share a rollout. */
LT_API lt_status lt_rollout_create(const lt_operator_spec *spec, const lt_rollout_options *opt, lt_rollout **out);
LT_API void      lt_rollout_destroy(lt_rollout *r); /* NULL is allowed */
LT_API void lt_rollout_get_info_into(const lt_rollout *r, lt_rollout_info *out);
static inline lt_rollout_info lt_rollout_get_info(const lt_rollout *r) { lt_rollout_info sized; sized.size = sizeof sized; lt_rollout_get_info_into(r, &sized); return sized; }
/* True when r can run spec (same architecture signature). */
LT_API bool      lt_rollout_fits(const lt_rollout *r, const lt_operator_spec *spec);
/* The next runs use these weights (borrowed until the next call) and spec's noise and policy. */
LT_API lt_status lt_rollout_set_operator(lt_rollout *r, const lt_operator_spec *spec, const lt_operator_weights *w);
/* field [3, G, G]. Noise is keyed by (seed, t, m, index): same states whatever the micro-batch or
   thread count. realization >= 0: only that one is shown (states [1, 3, G, G]); -1: all M. sink NULL: no state is
   shown, and none leaves the device. */
LT_API lt_status lt_rollout_run(lt_rollout *r, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx,
                                lt_rollout_result *out);
/* The same in two parts: several rollouts may be started before the first is waited for, and a GPU works on all
   of them. What is given must stay until the wait, which every start that succeeded needs. On the CPU the work is
   done in the wait. */
LT_API lt_status lt_rollout_start(lt_rollout *r, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx);
LT_API lt_status lt_rollout_wait(lt_rollout *r, lt_rollout_result *out);

#ifdef __cplusplus
}
#endif
#endif
