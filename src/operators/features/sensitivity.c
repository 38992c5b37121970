/* How an operator answers to small and to scaled inputs, as feature columns.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/table.h"
#include "operators/features/features.h"

/* R^2 of the least-squares line through (x, y): 1 - residual / (total + 1e-10), so a constant y lies on a line. */
static double line_r2(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0, residual = 0;
    for (int i = 0; i < n; i++) { mx += x[i] / n; my += y[i] / n; }
    for (int i = 0; i < n; i++) {
        sxx += (x[i] - mx) * (x[i] - mx);
        sxy += (x[i] - mx) * (y[i] - my);
        syy += (y[i] - my) * (y[i] - my);
    }
    double slope = sxx > 0 ? sxy / sxx : 0;
    for (int i = 0; i < n; i++) {
        double left = y[i] - my - slope * (x[i] - mx);
        residual += left * left;
    }
    return 1 - residual / (syy + 1e-10);
}

/* The gain whose factor is nearest to the one asked for: the columns are named after 0.5 and 1.5. */
static double gain_near(const lt_feature_set *s, const double *gain, double factor)
{
    int best = 0;
    for (int j = 1; j < s->n_gains; j++)
        if (fabs(s->gain[j] - factor) < fabs(s->gain[best] - factor)) best = j;
    return gain[best];
}

void lt_feature_sensitivity(const lt_feature_set *s, const double *difference, const double *perturbation, double base,
                            const double *scaled, double *value)
{
    double *gain = value + s->n_epsilons, *rest = gain + s->n_gains;
    for (int i = 0; i < s->n_epsilons; i++) value[i] = difference[i] / (perturbation[i] + 1e-10);
    for (int j = 0; j < s->n_gains; j++) gain[j] = scaled[j] / (base + 1e-10);
    double high = gain_near(s, gain, 1.5);
    rest[0] = line_r2(s->gain, gain, s->n_gains);
    rest[1] = 1.5 - high;
    rest[2] = gain_near(s, gain, 0.5) / (high + 1e-10);
}
