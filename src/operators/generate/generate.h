/* Making a dataset: what the files generate*.c share. SPDX-License-Identifier: BSD-3-Clause

   Three threads: operators drawn ahead (generate/ahead.h), rollouts with features on the calling thread,
   rows written behind (store.h). What a row holds depends on nothing but the configuration and its index. */
#ifndef LT_OPERATORS_GENERATE_GENERATE_H
#define LT_OPERATORS_GENERATE_GENERATE_H

#include "base/arena.h"
#include "lathe/dataset.h"
#include "operators/generate/ahead.h"
#include "operators/features/learned.h"

enum { LT_KEPT_ROLLOUTS = 8, LT_MAX_GRIDS = 16 };

/* Features of rollouts of any grid, and the sensitivity of operators. One user at a time. */
typedef struct lt_feature_lane {
    const lt_dataset_config *c;
    const lt_feature_set    *set;
    int64_t                  realizations, steps;
    lt_pool                 *pool;
    int                      n_streams;          /* idle ones, kept by grid */
    struct { int grid; lt_feature_stream *stream; } stream[LT_MAX_GRIDS];
    lt_learned              *learned;            /* NULL: off */
    lt_rollout_cache        *probes;             /* single steps, for sensitivity; NULL: off */
    double                  *work;               /* sensitivity values and norms */
    float                   *field, *base;       /* [3, Gmax, Gmax] each */
} lt_feature_lane;

lt_status lt_feature_lane_open(const lt_dataset_config *c, const lt_feature_set *set, int64_t realizations, int64_t steps, int max_grid,
                               lt_precision precision, lt_device *device, const volatile int *stop, lt_feature_lane *out);
void      lt_feature_lane_close(lt_feature_lane *f);
/* A stream for this grid, reset; lt_feature_lane_give takes it back. */
lt_status lt_feature_lane_take(lt_feature_lane *f, int grid, lt_feature_stream **out);
void      lt_feature_lane_give(lt_feature_lane *f, int grid, lt_feature_stream *s);
/* The sensitivity columns of the operator, told to the stream. */
lt_status lt_feature_lane_sensitivity(lt_feature_lane *f, const lt_operator_spec *spec, const lt_operator_weights *w, const float *field,
                                      int64_t index, lt_feature_stream *s);
/* Fills the parts of a row that features are; field is that of the operator, not padded. */
lt_status lt_feature_lane_finish(const lt_feature_lane *f, const lt_store_plan *p, lt_feature_stream *s, const float *unit, const float *field,
                                 int grid, lt_store_row *row);
/* A row that could not run: features not a number, everything known of it all the same. */
lt_status lt_feature_lane_fail(const lt_feature_lane *f, const lt_store_plan *p, const float *unit, const float *field, int grid,
                               lt_store_row *row);

/* ---- A run -------------------------------------------------------------------------------------- */
typedef struct lt_generator {
    const lt_dataset_config   *c;
    const lt_generate_options *opt;
    lt_generate_info          *info;
    lt_arena                   arena;
    lt_feature_set            *set;
    lt_row_table               rows;
    lt_store_plan              plan;
    lt_rollout_options         rollout;
    lt_rollout_cache          *cache;
    lt_feature_lane            features;
    lt_ahead             *ahead;
    lt_store                  *store;
    int64_t                   *order;
    int64_t                    n_order;
    lt_row_source              source;        /* of the rows that run; its `next` NULL: order, from first to last */
    double                     feature_seconds, storage_seconds; /* inside the rollout now running */
    /* Told before the rollout of a row of the table (t = -1) and after every step, and with row -1 when kernels of an architecture are
       compiled, from any thread; NULL: nobody. */
    void                     (*beat)(void *ctx, int64_t row, int64_t t);
    void                      *beat_ctx;
} lt_generator;

/* Everything but the file: rows, features, plan, precision. */
lt_status lt_generator_prepare(lt_generator *g);
void      lt_generator_release(lt_generator *g);
/* Whether operators of these rows (NULL: of all) fit on the device, as far as that is known before any runs. LT_ERR_MEMORY names the
   first that does not, its need and what would help. Compiles and allocates nothing; the CPU is not asked. (generate/architectures.c) */
lt_status lt_generator_check_memory(const lt_generator *g, const int64_t *row, int64_t n);
/* Kernels of all architectures of g->order, that of its first row first, before a GPU has work that loading them would wait for. */
lt_status lt_generator_prepare_kernels(lt_generator *g);
/* Opens the file: a new one, or the one to resume. */
lt_status lt_generator_open_file(lt_generator *g);
/* Runs the rows of g->order (those that g->source deals, where it is set): in this process, or in some that are watched (worker.h). */
lt_status lt_generator_run_here(lt_generator *g);
lt_status lt_generator_run_watched(lt_generator *g);
/* The loop over rows, once the threads run. */
lt_status lt_generator_run(lt_generator *g);
/* Hands a filled row to the writer and counts it. The row is gone afterwards, whatever happens. */
lt_status lt_generator_put_row(lt_generator *g, lt_store_row *row, const lt_rollout_result *result);

#endif
