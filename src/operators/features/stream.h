/* Inside of a feature stream: what the files that end a trajectory see.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_STREAM_H
#define LT_OPERATORS_FEATURES_STREAM_H

#include "operators/features/field/field.h"

#include <float.h>
#include <math.h>

/* A number as the file holds it: finite numbers stay finite in float32. */
static inline float lt_feature_float(double v) { return isnan(v) ? NAN : (float)fmin(fmax(v, -(double)FLT_MAX), (double)FLT_MAX); }

/* Numbers whose change in time the drift features follow, for each filter. */
typedef enum lt_invariant {
    LT_INVARIANT_L1, LT_INVARIANT_L2, LT_INVARIANT_LINF, LT_INVARIANT_ENTROPY, LT_INVARIANT_TV,
    LT_INVARIANT_MASS, LT_INVARIANT_ENERGY, LT_INVARIANT_GRADIENT_ENERGY, LT_INVARIANT_COUNT
} lt_invariant;

typedef struct lt_drift { double first, last, mean, m2, signs; } lt_drift; /* mean, m2: Welford's, of the differences */

/* Series of one channel that are kept whole, each of T numbers. */
typedef enum lt_series { LT_SERIES_MEAN, LT_SERIES_ENERGY, LT_SERIES_VARIANCE, LT_SERIES_COUNT } lt_series;

typedef struct lt_track {              /* one channel of one realization */
    double  *series[LT_SERIES_COUNT];
    lt_drift drift[LT_INVARIANT_COUNT][LT_FILTERS];
    double   flow, flow_anisotropy;    /* sums over pairs of steps */
} lt_track;

typedef struct lt_time_work {          /* one thread's */
    double *in, *out;                  /* T; T + 2: the FFT along time */
    double *a, *b;                     /* T each */
    void   *scratch;
    double *distance;                  /* of nonlinear features: lt_nonlinear_points; NULL when no such feature is wanted */
} lt_time_work;

typedef struct lt_time_plan {
    const lt_feature_set *set;
    int64_t    steps;
    lt_kernel *fft;                    /* NULL when T < 2 */
} lt_time_plan;

/* Values of one channel's trajectory; of all channels of a realization together. All 0 when T = 1. */
void lt_track_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value);
void lt_causality_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value);
void lt_causality_pair_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value);
void lt_nonlinear_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value);
int64_t lt_nonlinear_distances(const lt_time_plan *p); /* doubles of w->distance */

/* Mean, unbiased variance; 0 for fewer than two numbers. */
double lt_series_mean(const double *y, int64_t n);
double lt_series_variance(const double *y, int64_t n, double mean);

struct lt_feature_stream {
    const lt_feature_set *set;
    lt_pool       *pool;
    int64_t        realizations, steps, next; /* next: the step the next push must bring */
    int            channels, n_workers;
    lt_field_plan *plan;
    lt_time_plan   time;
    lt_field_work *work;               /* per worker */
    lt_time_work  *time_work;
    float         *before;             /* (M, C, g, g): the last state */
    uint8_t       *mi_bin;             /* (M, C, g, g) */
    lt_state_record *record;           /* (M): of the current state, when it is measured here */
    lt_channel    *now, *last;         /* (M, C) */
    lt_track      *track;              /* (M, C) */
    double        *step;               /* (M, C, slots): of the current step */
    double        *run;                /* (M, C, slots): at the end */
    double        *sensitivity;
    bool          *failed;             /* (M) */
    bool          *flagged;            /* (M, C): found not finite by this step's item */
    float         *temporal;           /* (T, columns) */
    float         *raw;                /* (T, M, C, columns) with engine.clip: batch, else NULL */
    bool           summarised;
    lt_arena       arena;              /* all of the above but work memory */
};

/* Whether records are enough for the stream. If not, `why` says so: some optional features of single states need the states themselves. */
bool lt_feature_set_takes_records(const lt_feature_set *s, char why[static 160]);
/* As lt_feature_stream_push, for states that a device has measured: record (M). */
lt_status lt_feature_stream_push_records(lt_feature_stream *f, int64_t t, const lt_state_record *record);

/* Fills run from the tracks; once. */
lt_status lt_feature_stream_summarise(lt_feature_stream *f);
/* The temporal row of step t from values (M, C, columns) of a step. */
void lt_feature_average_step(lt_feature_stream *f, const float *value, float *row);

#endif
