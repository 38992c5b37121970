/* Default features of whole trajectories by plain loops in double, written from the definitions and
   apart from the product's code. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FEATURE_ORACLE_H
#define FEATURE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ORACLE_STEP = 63, ORACLE_RUN = 110 };

/* x (M, T, 3, G, G); temporal (T, 63); per_trajectory (M, 110). */
void oracle_features(const float *x, int m, int t, int g, bool corrected, double *temporal, double *per_trajectory);
/* One channel: all of its per-step values (columns 0..50). */
void oracle_channel(const float *u, int g, bool corrected, double *out);
double oracle_quantile(const double *sorted, int n, double q);

#endif
