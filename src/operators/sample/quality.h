/* How well a set of rows fills the unit cube. SPDX-License-Identifier: BSD-3-Clause

   Sobol points are stratified: every elementary interval of the base holds its share of them. So the keys for stratification and refinement
   have no effect (decision 41). */
#ifndef LT_OPERATORS_SAMPLE_QUALITY_H
#define LT_OPERATORS_SAMPLE_QUALITY_H

#include "base/pool.h"
#include "operators/config/config.h"

/* Measures of n rows of p numbers in [0, 1]. */
typedef struct lt_sampling_metrics {
    int64_t n;
    int     p;
    double  discrepancy;                       /* centred L2, squared form */
    double  max_correlation, min_correlation, mean_correlation; /* of |Pearson| over pairs of columns; NaN for n = 1 or p = 1 */
    bool    discrepancy_pass, correlation_pass;
    bool    scramble;
} lt_sampling_metrics;

/* Of a configuration's rows, as the file keeps them (float32). pool may be NULL: the shared one. */
lt_status lt_sampling_measure(const lt_dataset_config *c, lt_pool *pool, lt_sampling_metrics *out);
/* As stored in the file; the caller frees *out with lt_free. */
lt_status lt_sampling_json(const lt_sampling_metrics *m, char **out);

/* Of any rows x [n, p]; the results do not depend on the number of threads. */
lt_status lt_sampling_discrepancy(const float *x, int64_t n, int p, lt_pool *pool, double *out);
lt_status lt_sampling_correlations(const float *x, int64_t n, int p, double *most, double *least, double *mean);

#endif
