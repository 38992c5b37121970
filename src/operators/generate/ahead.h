/* The thread ahead of the rollouts: compiles architectures, draws weights and fields for the next
   operators. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_AHEAD_H
#define LT_OPERATORS_GENERATE_AHEAD_H

#include "operators/features/device/device.h"
#include "operators/generate/row_table.h"

/* ---- Compiled rollouts, kept by architecture --------------------------------------------------- */
typedef struct lt_rollout_cache lt_rollout_cache;

/* Keeps at most `capacity` that nobody uses; safe from several threads. */
lt_status lt_rollout_cache_create(const lt_rollout_options *opt, int capacity, lt_rollout_cache **out);
void      lt_rollout_cache_destroy(lt_rollout_cache *c); /* NULL is allowed; none may be in use */
/* Rollouts made from now on measure these features (borrowed) on their device, where they can. */
void      lt_rollout_cache_measure(lt_rollout_cache *c, const lt_feature_set *set);
/* What measures the states of r on its device; NULL: they must be copied to the host for that. */
lt_device_features *lt_rollout_cache_features(lt_rollout_cache *c, const lt_rollout *r);
/* LT_ERR_MEMORY: names the operator, the device, what would help, and the reason that was set before. */
lt_status lt_rollout_refuse_size(const lt_operator_spec *spec, const lt_rollout_options *opt, const char *device);
bool      lt_rollout_cache_on_device(const lt_rollout_cache *c); /* on a device with memory of its own */
/* One that fits spec, compiled when there is none. In use by the caller, alone, until given back. */
lt_status lt_rollout_cache_take(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **out);
void      lt_rollout_cache_give(lt_rollout_cache *c, lt_rollout *r);
/* In the place of *r, which the caller uses or which is NULL, one made now; *r is NULL after a failure. */
lt_status lt_rollout_cache_renew(lt_rollout_cache *c, const lt_operator_spec *spec, lt_rollout **r);
int64_t   lt_rollout_cache_peak_bytes(lt_rollout_cache *c);

enum { LT_MOST_AT_ONCE = 4 }; /* operators under way on a device with memory of its own */
/* A step of all realizations below this does not fill a GPU. */
#define LT_SMALL_DEVICE_STEP_FLOPS 4e10

/* ---- The thread --------------------------------------------------------------------------------- */
typedef struct lt_ready {              /* an operator about to run */
    int64_t              row;          /* of the table */
    lt_operator_weights *weights;
    lt_operator_spec     weights_spec; /* what the memory of the weights was made for */
    float               *field;        /* [3, G, G] */
    lt_rollout          *rollout;      /* NULL: the device failed while it was made … */
    lt_status            failure;      /* … so, LT_ERR_DEVICE … */
    char                 why[160];     /* … and for this reason */
    double               compile_seconds, draw_seconds;
} lt_ready;

typedef struct lt_ahead lt_ahead;

/* Where rows come from, one after the other: a list, or somebody who deals them. next may wait; *row is -1 at the end. cancel makes a
   next that waits return. Both are called from the thread and from that of lt_ahead_stop. */
typedef struct lt_row_source {
    const int64_t *order;     /* n of them, unless next is set */
    int64_t        n;
    lt_status    (*next)(void *ctx, int64_t *row);
    void         (*cancel)(void *ctx);
    void          *ctx;
} lt_row_source;

/* Borrows everything. */
lt_status lt_ahead_start(const lt_dataset_config *c, const lt_row_table *t, const lt_row_source *rows, lt_rollout_cache *cache,
                              lt_ahead **out);
/* The next operator, or NULL at the end; waits for it. Give it back when it has run. */
lt_status lt_ahead_next(lt_ahead *l, lt_ready **out);
bool      lt_ahead_ready(lt_ahead *l); /* the next call of lt_ahead_next will not wait */
void      lt_ahead_done(lt_ahead *l, lt_ready *r);
/* Waits until the thread makes nothing; it then rests until lt_ahead_resume. */
void      lt_ahead_hold(lt_ahead *l);
void      lt_ahead_resume(lt_ahead *l);
double    lt_ahead_busy_seconds(lt_ahead *l); /* so far */
void      lt_ahead_stop(lt_ahead *l, double *busy_seconds); /* NULL is allowed */

/* ---- Fields of any grid ---------------------------------------------------------------------------- */
typedef struct lt_field_makers { int n; struct { int grid; lt_field_maker *maker; } item[16]; } lt_field_makers;
lt_status lt_field_makers_draw(lt_field_makers *m, const lt_dataset_config *c, int which, int64_t index, int grid, float *out);
void      lt_field_makers_release(lt_field_makers *m);

#endif
