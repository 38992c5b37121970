/* Features of a rollout, accumulated state by state: no trajectory is kept.
   SPDX-License-Identifier: BSD-3-Clause

   One table (features/rows.h) gives names, columns, categories, switches and the registry of the file.
   What each feature is: docs/features.md. */
#ifndef LT_OPERATORS_FEATURES_FEATURES_H
#define LT_OPERATORS_FEATURES_FEATURES_H

#include "base/pool.h"
#include "operators/config/config.h"

typedef struct lt_feature_set lt_feature_set; /* which columns there are; shared by all rollouts of a dataset */

lt_status lt_feature_set_create(const lt_feature_options *opt, bool operator_features, lt_feature_set **out);
void      lt_feature_set_destroy(lt_feature_set *s);
/* 63 and extras; 0 with extract_per_timestep: false, when there is no TEMPORAL array. */
int         lt_feature_temporal_count(const lt_feature_set *s);
int         lt_feature_summary_count(const lt_feature_set *s);           /* 110, 120 and extras; aggregated: 3 times */
const char *lt_feature_temporal_name(const lt_feature_set *s, int column);
const char *lt_feature_summary_name(const lt_feature_set *s, int column);
const char *lt_feature_aggregated_name(const lt_feature_set *s, int column); /* 0..3 s - 1: all means, all stds, all cvs */
int         lt_feature_registry_count(const lt_feature_set *s);          /* 183 and extras, whatever is switched off: as Spinlock's files count */
const char *lt_feature_registry_json(const lt_feature_set *s);           /* {category: {name: index}} of 8.1 */

/* The running sums of one operator's rollout; one user at a time. G is the operator's own grid.
   pool NULL: everything on the calling thread. Results do not depend on the number of threads. */
typedef struct lt_feature_stream lt_feature_stream;
lt_status lt_feature_stream_create(const lt_feature_set *s, int64_t realizations, int64_t steps, int grid, lt_pool *pool,
                                   lt_feature_stream **out);
void      lt_feature_stream_destroy(lt_feature_stream *f);               /* NULL is allowed */
void      lt_feature_stream_reset(lt_feature_stream *f);                 /* before the next operator */
/* States of step t = 0, 1, …, as lt_rollout_sink gets them. Allocates nothing. */
lt_status lt_feature_stream_push(lt_feature_stream *f, int64_t t, const float *states, const int64_t *failed);
/* The sensitivity columns of this operator (lt_feature_sensitivity_count values), the same for all realizations. Used only with
   operator_features; without a call they are 0. */
void      lt_feature_stream_sensitivity(lt_feature_stream *f, const double *value);
/* With engine.clip: batch: bounds the values of the n operators of a batch by their common quartiles.
   Between the last push and finish of all of them; without that option it does nothing. */
lt_status lt_feature_clip_batch(lt_feature_stream *const *batch, int n);
/* temporal [T, n], per_trajectory [M, s], aggregated [3 s]; any may be NULL. */
lt_status lt_feature_stream_finish(lt_feature_stream *f, float *temporal, float *per_trajectory, float *aggregated);

/* ---- Sensitivity of the operator O at its initial field x --------------------------------- */
int           lt_feature_sensitivity_count(const lt_feature_set *s);           /* 10 by default */
/* How many of the SUMMARY columns they are, side by side from *first; 0 without operator_features. */
int           lt_feature_sensitivity_columns(const lt_feature_set *s, int *first);
const double *lt_feature_epsilons(const lt_feature_set *s, int *n);            /* d = eps N(0, 1) elementwise */
const double *lt_feature_gains(const lt_feature_set *s, int *n);
/* From Euclidean norms, one per epsilon and gain: difference[i] = |O(x + d_i) - O(x)|, perturbation[i] = |d_i|,
   base = |O(x)|, scaled[j] = |O(a_j x)|; the noise of O is the same draw in all calls. */
void          lt_feature_sensitivity(const lt_feature_set *s, const double *difference, const double *perturbation, double base,
                                     const double *scaled, double *value);

/* ---- Families of one field or one row ------------------------------------------------ */
int         lt_initial_count(lt_initial_variant v);                      /* 14 or 38 */
const char *lt_initial_name(lt_initial_variant v, int column);
lt_status   lt_initial_compute(lt_initial_variant v, bool corrected, const float *field, int grid, float *out);
int         lt_architecture_count(const lt_dataset_config *c);
lt_status   lt_architecture_name(const lt_dataset_config *c, int column, char *out, size_t size);
lt_status   lt_architecture_compute(const lt_dataset_config *c, const float *unit, float *out);

#endif
