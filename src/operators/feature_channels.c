/* Per-step values of all channels together: correlations, their eigenvalues, mutual information.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/feature_extras.h"
#include "operators/feature_field.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { C = LT_MAX_CHANNELS };
static const int pair[C][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

/* Eigenvalues of a symmetric 3 x 3 matrix, descending, by Jacobi rotations. */
static void eigenvalues(double a[C][C], double out[C])
{
    for (int sweep = 0; sweep < 12; sweep++)
        for (int k = 0; k < C; k++) {
            int p = pair[k][0], q = pair[k][1], r = C - p - q;
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

static double mutual_information(const uint8_t *a, const uint8_t *b, int64_t n, int n_bins)
{
    uint32_t joint[LT_MAX_MI_BINS * LT_MAX_MI_BINS], of_a[LT_MAX_MI_BINS] = { 0 }, of_b[LT_MAX_MI_BINS] = { 0 };
    memset(joint, 0, (size_t)(n_bins * n_bins) * sizeof *joint);
    for (int64_t i = 0; i < n; i++) joint[a[i] * n_bins + b[i]]++;
    for (int i = 0; i < n_bins; i++)
        for (int j = 0; j < n_bins; j++) {
            of_a[i] += joint[i * n_bins + j];
            of_b[j] += joint[i * n_bins + j];
        }
    double sum = 0, count = (double)n;
    for (int i = 0; i < n_bins; i++)
        for (int j = 0; j < n_bins; j++) {
            double p = joint[i * n_bins + j] / count;
            if (p > 0) sum += p * log(p / (of_a[i] / count * (of_b[j] / count) + 1e-10));
        }
    return sum;
}

static void correlation_values(const lt_field_plan *p, const float *u, const lt_channel *channel, double *value)
{
    const lt_feature_set *set = p->set;
    double n = (double)p->n, mean[C], product[C], r[C][C], l[C] = { 0 }, variances = 0;
    for (int c = 0; c < C; c++) mean[c] = channel[c].mean;
    p->loops->products(u, u + p->n, u + 2 * p->n, p->n, mean, product);
    for (int c = 0; c < C; c++) {
        double scale = channel[c].std + 1e-8;
        r[c][c] = channel[c].variance * (n - 1) / n / (scale * scale);
        variances += channel[c].variance;
    }
    double corr[C], average = 0, lo = INFINITY, hi = -INFINITY, square = 0;
    for (int k = 0; k < C; k++) {
        int i = pair[k][0], j = pair[k][1];
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

void lt_channel_values(const lt_field_plan *p, lt_field_work *w, const float *u, const lt_channel *channel, const uint8_t *mi_bin,
                       double *value)
{
    const lt_feature_set *set = p->set;
    correlation_values(p, u, channel, value);
    double sum = 0, max = -INFINITY;
    for (int k = 0; k < C; k++) {
        double mi = mutual_information(mi_bin + pair[k][0] * p->n, mi_bin + pair[k][1] * p->n, p->n, set->opt.mi_num_bins);
        sum += mi;
        max = fmax(max, mi);
    }
    AT(MI_MEAN) = sum / C;
    AT(MI_MAX) = max;
    if (set->stored[LT_F_COHERENCE]) lt_coherence_values(p, w, u, value);
}
