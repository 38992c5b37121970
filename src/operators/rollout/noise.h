/* Noise of a rollout: drawn by (seed, t, m, operator index), in the form its network takes.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_ROLLOUT_NOISE_H
#define LT_OPERATORS_ROLLOUT_NOISE_H

#include "base/pool.h"
#include "operators/network/weights.h"

typedef struct lt_noise_maker {
    lt_noise_shape at;
    int            grid;
    int64_t        count;         /* elements of one realization */
    bool           whole_batch;   /* correlated noise is scaled by the spread of all realizations */
    lt_program    *smooth;        /* white -> correlated, one realization; NULL when never correlated */
    float         *filter;        /* its gain per mode, [grid, grid/2 + 1, 1] */
    float         *white;         /* one realization, before smoothing */
    /* of the operator that is set */
    lt_operator_spec spec;
    uint64_t       seed;
    int64_t        index;
    float          mix[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS]; /* Cholesky factor of W W' */
} lt_noise_maker;

lt_status lt_noise_create(const lt_operator_spec *spec, lt_noise_maker *out);
void      lt_noise_release(lt_noise_maker *n); /* safe on a zeroed one */
/* What the next drawings belong to; spec must have the noise shape of the creation. */
void      lt_noise_set(lt_noise_maker *n, const lt_operator_spec *spec, const lt_operator_weights *w);
/* The noise of realizations first..first+n-1 at step t of T-1, [n, count]. With whole_batch all
   realizations of the operator must be drawn together (decision 59). Allocates nothing. */
lt_status lt_noise_draw(lt_noise_maker *n, lt_pool *pool, int64_t t, int64_t last_t, int64_t first, int64_t n_real, float *out);

/* The scale at step t of T-1, its schedule applied. */
double lt_noise_scale(const lt_operator_spec *spec, int64_t t, int64_t last_t);
/* Gain of each mode of correlated noise, [grid, grid/2 + 1]. */
void lt_noise_filter(const lt_operator_spec *spec, float *out);
/* The factor of noise that is mixed, from the output convolution's weights. */
void lt_noise_mix(const lt_operator_weights *w, float out[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS]);
/* Lower Cholesky factor of W W' (3x3) for W [3, c]; zero columns where it is singular. */
void lt_noise_factor(const float *w, int64_t c, float out[LT_FIELD_CHANNELS][LT_FIELD_CHANNELS]);

#endif
