/* The thread ahead of the rollouts: compiles architectures, draws weights and fields for the next
   operators. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_PREFETCH_H
#define LT_OPERATORS_GENERATE_PREFETCH_H

#include "operators/features/device/device.h"
#include "operators/generate/row_table.h"

/* ---- Compiled rollouts, kept by architecture --------------------------------------------------- */
typedef struct lt_rollout_cache lt_rollout_cache;

/* Keeps at most `capacity` unused rollouts. Safe from several threads. */
lt_status lt_rollout_cache_create(const lt_rollout_options *opt, int capacity, lt_rollout_cache **out);
void      lt_rollout_cache_destroy(lt_rollout_cache *c); /* NULL is allowed; none may be in use */
/* Rollouts made from now on measure these features (borrowed) on their device, where they can. */
void      lt_rollout_cache_measure(lt_rollout_cache *c, const lt_feature_set *set);
/* Measures the states of r on its device; NULL: the states must be copied to the host for that. */
lt_device_features *lt_rollout_cache_features(lt_rollout_cache *c, const lt_rollout *r);
/* LT_ERR_MEMORY: names the operator, the device, what would help, and the reason that was set before. */
lt_status lt_rollout_refuse_size(const lt_operator_spec *spec, const lt_rollout_options *opt, const char *device);
bool      lt_rollout_cache_has_device(const lt_rollout_cache *c); /* on a device with memory of its own */
/* One that fits spec, compiled when there is none. In use by the caller, alone, until given back. */
lt_status lt_rollout_cache_take(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **out);
void      lt_rollout_cache_give(lt_rollout_cache *c, lt_rollout *r);
/* Replaces *r, which the caller uses or which is NULL, by a new rollout; *r is NULL after a failure. */
lt_status lt_rollout_cache_renew(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **r);
int64_t   lt_rollout_cache_peak_bytes(lt_rollout_cache *c);

enum { LT_MOST_AT_ONCE = 4 }; /* operators that run side by side on a device */
/* A step of all realizations below this does not fill a GPU. */
#define LT_SMALL_DEVICE_STEP_FLOPS 4e10

/* ---- The thread --------------------------------------------------------------------------------- */
typedef struct lt_ready {              /* an operator about to run */
    int64_t              row;          /* of the table */
    lt_operator_weights *weights;
    lt_operator_spec weights_spec; /* what the memory of the weights was made for */
    float               *field;        /* [3, G, G] */
    lt_rollout          *rollout;      /* NULL: the device failed while it was made … */
    lt_status            failure;      /* … so, LT_ERR_DEVICE … */
    char                 why[160];     /* … and for this reason */
    double               compile_seconds, draw_seconds;
} lt_ready;

typedef struct lt_prefetch lt_prefetch;

/* Where rows come from: a list, or the parent of a worker. next may wait; *row is -1 at the end. cancel makes a waiting next return. Called
   from the prefetch thread and from that of lt_prefetch_stop. */
typedef struct lt_row_source {
    const int64_t *order;     /* n of them, unless next is set */
    int64_t        n;
    lt_status    (*next)(void *ctx, int64_t *row);
    void         (*cancel)(void *ctx);
    void          *ctx;
} lt_row_source;

/* Borrows everything. */
lt_status lt_prefetch_start(const lt_dataset_config *c, const lt_row_table *t, const lt_row_source *rows, lt_rollout_cache *cache,
                              lt_prefetch **out);
/* The next operator, or NULL at the end; waits for it. Give it back when it has run. */
lt_status lt_prefetch_next(lt_prefetch *l, lt_ready **out);
bool      lt_prefetch_ready(lt_prefetch *l); /* the next call of lt_prefetch_next will not wait */
void      lt_prefetch_done(lt_prefetch *l, lt_ready *r);
/* Waits until the thread is idle, and keeps it idle until lt_prefetch_resume. */
void      lt_prefetch_hold(lt_prefetch *l);
void      lt_prefetch_resume(lt_prefetch *l);
double    lt_prefetch_busy_seconds(lt_prefetch *l); /* spent on making operators */
void      lt_prefetch_stop(lt_prefetch *l, double *busy_seconds); /* NULL is allowed */

/* ---- Fields of any grid ---------------------------------------------------------------------------- */
typedef struct lt_field_makers { int n; struct { int grid; lt_field_maker *maker; } item[16]; } lt_field_makers;
lt_status lt_field_makers_draw(lt_field_makers *m, const lt_dataset_config *c, int which, int64_t index, int grid, float *out);
void      lt_field_makers_release(lt_field_makers *m);

#endif
