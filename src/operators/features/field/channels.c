/* Per-step values of all channels together: correlations, their eigenvalues, mutual information.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/field.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { C = LT_MAX_CHANNELS };
const int lt_channel_pair[C][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

/* Eigenvalues of a symmetric 3 x 3 matrix, descending, by Jacobi rotations. */
static void eigenvalues(double a[C][C], double out[C])
{
    for (int sweep = 0; sweep < 12; sweep++)
        for (int k = 0; k < C; k++) {
            int p = lt_channel_pair[k][0], q = lt_channel_pair[k][1], r = C - p - q;
            if (a[p][q] == 0) continue;
            double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
            double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
            double rp = a[r][p], rq = a[r][q], pq = a[p][q];
            a[p][p] -= t * pq;
            a[q][q] += t * pq;
            a[p][q] = a[q][p] = 0;
            a[r][p] = a[p][r] = c * rp - s * rq;
            a[r][q] = a[q][r] = s * rp + c * rq;
        }
    for (int i = 0; i < C; i++) {
        int at = i;
        for (; at > 0 && out[at - 1] < a[i][i]; at--) out[at] = out[at - 1];
        out[at] = a[i][i];
    }
}

static void correlation_values(const lt_field_plan *p, const double product[C], const lt_channel *channel, double *value)
{
    const lt_feature_set *set = p->set;
    double n = (double)p->n, r[C][C], l[C] = { 0 }, variances = 0;
    for (int c = 0; c < C; c++) {
        double scale = channel[c].std + 1e-8;
        r[c][c] = channel[c].variance * (n - 1) / n / (scale * scale);
        variances += channel[c].variance;
    }
    double corr[C], average = 0, lo = INFINITY, hi = -INFINITY, square = 0;
    for (int k = 0; k < C; k++) {
        int i = lt_channel_pair[k][0], j = lt_channel_pair[k][1];
        corr[k] = r[i][j] = r[j][i] = product[k] / n / ((channel[i].std + 1e-8) * (channel[j].std + 1e-8));
        average += corr[k] / C;
        lo = fmin(lo, corr[k]);
        hi = fmax(hi, corr[k]);
    }
    for (int k = 0; k < C; k++) square += (corr[k] - average) * (corr[k] - average);
    AT(CORR_MEAN) = average;
    AT(CORR_MAX) = hi;
    AT(CORR_MIN) = lo;
    AT(CORR_STD) = sqrt(square / (C - 1));
    double trace = r[0][0] + r[1][1] + r[2][2];
    eigenvalues(r, l);
    for (int k = 0; k < lt_feature_loop_count(set, LT_LOOP_EIGEN); k++) value[set->slot[LT_F_EIGEN_TOP] + k] = l[k];
    AT(EIGEN_TRACE) = set->opt.corrected ? variances : trace;
    AT(CONDITION) = l[0] / (l[2] + 1e-8);
    AT(PARTICIPATION) = trace * trace / (l[0] * l[0] + l[1] * l[1] + l[2] * l[2] + 1e-8);
}

void lt_channel_values(const lt_field_plan *p, const lt_state_record *r, const lt_channel *channel, double *value)
{
    const lt_feature_set *set = p->set;
    correlation_values(p, r->product, channel, value);
    double sum = 0, max = -INFINITY;
    for (int k = 0; k < C; k++) {
        sum += r->information[k];
        max = fmax(max, r->information[k]);
    }
    AT(MI_MEAN) = sum / C;
    AT(MI_MAX) = max;
}
