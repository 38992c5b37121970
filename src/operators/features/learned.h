/* Learned features: latents of the networks along their rollouts. SPDX-License-Identifier: BSD-3-Clause

   Of every state the chosen maps inside the network, averaged over the grid (or whole), side by side in
   alphabetical order of their names; reduced over time, averaged over realizations that did not fail.
   U-AFNO operators are trained on their own trajectory first. */
#ifndef LT_OPERATORS_FEATURES_LEARNED_H
#define LT_OPERATORS_FEATURES_LEARNED_H

#include "operators/features/options.h"
#include "operators/rollout/rollout.h"

typedef struct lt_learned_setup {
    const lt_learned_options *opt;       /* borrowed */
    lt_operator_kind          kind;
    uint64_t                  seed;      /* of the projection */
    int64_t                   realizations, steps;
    int                       max_grid;  /* of the dataset: flattened rows are as wide as its latents */
    lt_precision              precision; /* latents; training is in float32 */
    lt_device                *device;
    const volatile int       *stop;      /* not 0: LT_ERR_CANCELLED; NULL: never */
} lt_learned_setup;

/* Columns of the array: those of an operator with base 32 and 3 levels (U-AFNO) or layers (CNN), or of the projection.
   Refuses latents that operators of this kind do not have. */
lt_status lt_learned_columns(const lt_learned_options *opt, lt_operator_kind kind, int max_grid, int *out);
/* What the columns are, for the file. */
void      lt_learned_describe(const lt_learned_options *opt, lt_operator_kind kind, char *text, size_t bytes);

/* Work for one realization, in steps of the network; at most, as training may stop early. */
double    lt_learned_passes(const lt_learned_options *opt, lt_operator_kind kind, int64_t steps);

typedef struct lt_learned lt_learned; /* one operator at a time; programs are kept while the architecture stays */
lt_status lt_learned_create(const lt_learned_setup *setup, lt_learned **out);
void      lt_learned_destroy(lt_learned *l); /* NULL is allowed */
/* A new operator; weights are borrowed until it is finished. */
lt_status lt_learned_begin(lt_learned *l, const lt_operator_spec *spec, const lt_operator_weights *w);
lt_status lt_learned_push(lt_learned *l, int64_t t, const float *states, const int64_t *failed); /* as a rollout's sink gets them */
/* The row; not a number when no realization is left. */
lt_status lt_learned_finish(lt_learned *l, float *row);

/* Linear -> GELU -> linear -> layer norm with weights keyed by (seed, "projection"); n_out values from n_in. */
lt_status lt_learned_project(uint64_t seed, const float *in, int64_t n_in, int n_out, float *out);

/* ---- Training (learned_train.c) ------------------------------------------------------------------ */
typedef struct lt_trainer lt_trainer; /* of one architecture */

typedef struct lt_trajectory {           /* states [steps][realizations][field]; kept[m] < 0: left out */
    const float   *states;
    int64_t        steps, realizations, field;
    const int64_t *kept;
} lt_trajectory;

typedef struct lt_training_result { int epochs; double first_loss, last_loss; } lt_training_result;

lt_status lt_trainer_create(const lt_operator_spec *spec, lt_device *device, lt_trainer **out);
void      lt_trainer_destroy(lt_trainer *t); /* NULL is allowed */
/* Trains from w; the block of trained weights, laid out as w's, is the trainer's. A loss that is not finite ends
   the training with LT_ERR_NUMERIC. */
lt_status lt_trainer_run(lt_trainer *t, const lt_learned_options *opt, const lt_trajectory *x, const lt_operator_weights *w,
                         const volatile int *stop, lt_training_result *result);
const float *lt_trainer_weights(const lt_trainer *t);

#endif
