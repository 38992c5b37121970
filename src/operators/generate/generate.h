/* Making a dataset: what the files of this room share. SPDX-License-Identifier: BSD-3-Clause

   Three threads work at a time: one makes operators ahead (generate/prefetch.h), the calling thread runs rollouts with features, the store
   writes finished rows (file/store.h). A row depends on the configuration and its index only. */
#ifndef LT_OPERATORS_GENERATE_GENERATE_H
#define LT_OPERATORS_GENERATE_GENERATE_H

#include "base/arena.h"
#include "lathe/dataset.h"
#include "operators/generate/prefetch.h"
#include "operators/features/initial_cnn.h"
#include "operators/features/learned.h"

enum { LT_KEPT_ROLLOUTS = 8, LT_MAX_GRIDS = 16 };

/* Features of rollouts of any grid, and the sensitivity of operators. One user at a time. */
typedef struct lt_row_features {
    const lt_dataset_config *c;
    const lt_feature_set    *set;
    int64_t                  realizations, steps;
    lt_pool                 *pool;
    int                      n_streams;          /* idle ones, kept by grid */
    struct { int grid; lt_feature_stream *stream; } stream[LT_MAX_GRIDS];
    lt_learned              *learned;            /* NULL: off */
    lt_initial_cnn          *cnn;                /* NULL: off */
    float                   *initial;            /* [manual, embedding] of the row now made; NULL: off */
    int                      n_manual, n_cnn;
    lt_rollout_cache        *probes;             /* single steps, for sensitivity; NULL: off */
    double                  *work;               /* sensitivity values and norms */
    float                   *field, *base;       /* [3, Gmax, Gmax] each */
} lt_row_features;

lt_status lt_row_features_open(const lt_dataset_config *c, const lt_feature_set *set, int64_t realizations, int64_t steps, int max_grid,
                               lt_precision precision, lt_device *device, const volatile int *stop, lt_row_features *out);
/* For lt_row_features_fail alone: what does not depend on the rollout. */
lt_status lt_row_features_open_known(const lt_dataset_config *c, int max_grid, lt_row_features *out);
void      lt_row_features_close(lt_row_features *f);
/* A stream for this grid, reset; lt_row_features_give takes it back. */
lt_status lt_row_features_take(lt_row_features *f, int grid, lt_feature_stream **out);
void      lt_row_features_give(lt_row_features *f, int grid, lt_feature_stream *s);
/* Computes the sensitivity columns of the operator and passes them to the stream. */
lt_status lt_row_features_sensitivity(lt_row_features *f, const lt_operator_spec *spec, const lt_operator_weights *w, const float *field,
                                      int64_t index, lt_feature_stream *s);
/* Fills the feature parts of a row; field is that of the operator, not padded. */
lt_status lt_row_features_finish(const lt_row_features *f, const lt_store_plan *p, lt_feature_stream *s, const float *unit, const float *field,
                                 int grid, lt_store_row *row);
/* A row that could not run: features are NaN, everything known about it is filled in. */
lt_status lt_row_features_fail(const lt_row_features *f, const lt_store_plan *p, const float *unit, const float *field, int grid,
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
    lt_row_features            features;
    lt_prefetch               *ahead;
    lt_store                  *store;
    lt_dataset                *old;           /* the file that grows, NULL: none */
    bool                      *given;         /* [rows] copied from it; NULL: none */
    int64_t                   *order;
    int64_t                    n_order;
    bool                       drain_stops;   /* opt->drain ends the run like opt->stop: rows are not dealt one by one */
    lt_build_counts            builds;        /* of the device, when the run began */
    lt_row_source              source;        /* of the rows that run; its `next` NULL: order, from first to last */
    double                     feature_seconds, storage_seconds; /* inside the rollout now running */
    /* Called before the rollout of a row of the table (t = -1), after every step, and with row -1 when kernels of an architecture are
       compiled; from any thread. NULL: none. */
    void                     (*beat)(void *ctx, int64_t row, int64_t t);
    void                      *beat_ctx;
} lt_generator;

static inline bool lt_generator_stopped(const lt_generator *g)
{
    return (g->opt->stop && *g->opt->stop) || (g->drain_stops && g->opt->drain && *g->opt->drain);
}
/* Whether rollouts run in worker processes. */
lt_status lt_generator_choose_watchdog(const lt_generator *g, bool *on);
/* Everything but the file: rows, features, plan, precision. */
lt_status lt_generator_prepare(lt_generator *g);
void      lt_generator_release(lt_generator *g);
const char     *lt_generator_device(const lt_generator *g);  /* the kind: "cpu", "cuda" */
const char     *lt_generator_recorded_device(const lt_generator *g); /* as the file has it: "several" with mixed_devices */
lt_file_content lt_generator_content(const lt_generator *g); /* what the file is created from */
/* Whether operators of these rows (NULL: all) fit on the device, as well as can be known before any runs (decision 136). LT_ERR_MEMORY
   names the first that does not, its need and what would help. Compiles and allocates nothing; does not check the CPU.
   (generate/architectures.c) */
lt_status lt_generator_check_memory(const lt_generator *g, const int64_t *row, int64_t n);
/* The kernels of all architectures of g->order, those of its first row first, each text once, on all threads. Where all machine code is known it is
   loaded, before the GPU has work that loading would wait for. Else it is compiled from now on, while rows run whose own kernels are there. */
typedef struct lt_compile_ahead lt_compile_ahead;
lt_status lt_compile_ahead_start(lt_generator *g, lt_compile_ahead **out); /* *out is to be stopped also after a failure */
void      lt_compile_ahead_stop(lt_compile_ahead *a);                      /* no row is left; NULL is allowed */
/* Steps of this kind ("": unknown) make the rows of this run; LT_ERR_ARGUMENT when the run that is resumed made them by another. */
lt_status lt_generator_note_step(const lt_generator *g, const char *kind);
/* What has been compiled and loaded so far, to g->info. */
void      lt_generator_count_builds(lt_generator *g);
/* Opens the file: a new one, or the one to resume. */
lt_status lt_generator_open_file(lt_generator *g);
/* Whether this run makes a copy of the file with more rows, or with some of them made again (generate/grow.c). */
bool      lt_generator_grows(const lt_generator *g, const lt_dataset_info *old);
/* Opens that copy, of g->old. The claim is the store's, and given up when the call fails. */
lt_status lt_generator_grow(lt_generator *g, lt_store_claim *claim, const lt_file_content *content);
/* Copies the rows that g->old has and that stay; without such a file it does nothing. */
lt_status lt_generator_copy_rows(lt_generator *g);
/* Fills g->order: the pending rows, in the order they run. */
lt_status lt_generator_schedule(lt_generator *g);
/* Closes the store after s. The first failure counts, so its text is saved across the closing. */
lt_status lt_generator_close_store(lt_generator *g, lt_status s);
/* Runs the rows of g->order (or those that g->source deals): in this process, or in watched worker processes (worker/worker.h). */
lt_status lt_generator_run_here(lt_generator *g);
lt_status lt_generator_run_watched(lt_generator *g);
/* The loop over rows, when all threads are running. */
lt_status lt_generator_run(lt_generator *g);
/* Hands a filled row to the writer and counts it. The row is gone afterwards, also after a failure. */
lt_status lt_generator_put_row(lt_generator *g, lt_store_row *row, const lt_rollout_result *result);

#endif
