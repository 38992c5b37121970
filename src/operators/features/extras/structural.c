/* Shapes in one channel: components, edges, co-occurrence of grey levels.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { LEVELS = 8 };

int64_t lt_threshold_mask(const lt_field_plan *p, const float *u, const lt_channel *now, double threshold, uint8_t *mask)
{
    double limit = (double)now->median + threshold * now->std;
    int64_t count = 0;
    for (int64_t i = 0; i < p->n; i++) count += mask[i] = (double)u[i] > limit;
    return count;
}

/* ---- Components ------------------------------------------------------------------------- */
static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

/* Pixels are joined to the four neighbours already seen; sizes are counted at the roots. */
lt_components lt_count_components(const uint8_t *mask, int g, int32_t *label)
{
    static const int dy[] = { 0, -1, -1, -1 }, dx[] = { -1, -1, 0, 1 };
    int32_t *parent = label, *size = label + (int64_t)g * g, n = (int32_t)(g * g);
    lt_components c = { 0 };
    double sum = 0, square = 0;
    for (int32_t i = 0; i < n; i++) {
        parent[i] = i;
        size[i] = 0;
        if (!mask[i]) continue;
        int y = i / g, x = i % g;
        for (int k = 0; k < 4; k++) {
            int v = y + dy[k], h = x + dx[k];
            if (v >= 0 && h >= 0 && h < g && mask[v * g + h]) join(parent, i, v * g + h);
        }
    }
    for (int32_t i = 0; i < n; i++)
        if (mask[i]) size[root_of(parent, i)]++;
    for (int32_t i = 0; i < n; i++) {
        if (!size[i]) continue;
        c.n++;
        c.largest = LT_MAX(c.largest, size[i]);
        sum += size[i];
        square += (double)size[i] * size[i];
    }
    c.mean = c.n ? sum / (double)c.n : 0;
    c.std = c.n > 1 ? sqrt(fmax(square - sum * c.mean, 0) / (double)(c.n - 1)) : 0;
    return c;
}

/* ---- Edges ---------------------------------------------------------------------------------- */
static double at_zero(const float *u, int g, int y, int x) { return y < 0 || y >= g || x < 0 || x >= g ? 0 : (double)u[(int64_t)y * g + x]; }

void lt_sobel(const float *u, int g, double *magnitude)
{
    for (int y = 0; y < g; y++)
        for (int x = 0; x < g; x++) {
            double gx = 0, gy = 0;
            for (int k = -1; k <= 1; k++) {
                double weight = k ? 1 : 2;
                gx += weight * (at_zero(u, g, y + k, x + 1) - at_zero(u, g, y + k, x - 1));
                gy += weight * (at_zero(u, g, y + 1, x + k) - at_zero(u, g, y - 1, x + k));
            }
            magnitude[(int64_t)y * g + x] = sqrt(gx * gx + gy * gy);
        }
}

static void edge_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value)
{
    const lt_feature_set *set = p->set;
    double *edge = x->plane[0], mean = 0, square = 0, n = (double)p->n;
    int64_t strong = 0;
    lt_sobel(u, p->g, edge);
    for (int64_t i = 0; i < p->n; i++) mean += edge[i] / n;
    for (int64_t i = 0; i < p->n; i++) square += (edge[i] - mean) * (edge[i] - mean);
    double std = sqrt(square / (n - 1));
    for (int64_t i = 0; i < p->n; i++) strong += edge[i] > mean + std;
    AT(EDGE_DENSITY) = (double)strong / n;
    AT(EDGE_MEAN) = mean;
    AT(EDGE_STD) = std;
}

/* ---- Co-occurrence of grey levels with the right neighbour ------------------------------------- */
static void texture_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, const lt_channel *now, double *value)
{
    const lt_feature_set *set = p->set;
    uint8_t *level = x->mask[1];
    double joint[LEVELS][LEVELS] = { { 0 } }, pairs = (double)p->g * (p->g - 1), mi = 0, mj = 0, vi = 0, vj = 0, cov = 0;
    lt_field_bins(p, u, now->lo, now->hi, LEVELS, level);
    for (int y = 0; y < p->g; y++)
        for (int k = 0; k + 1 < p->g; k++) joint[level[y * p->g + k]][level[y * p->g + k + 1]] += 1 / pairs;
    for (int i = 0; i < LEVELS; i++)
        for (int j = 0; j < LEVELS; j++) {
            double q = joint[i][j], d = i - j;
            AT(GLCM_CONTRAST) += q * d * d;
            AT(GLCM_HOMOGENEITY) += q / (1 + fabs(d));
            AT(GLCM_ENERGY) += q * q;
            mi += q * i;
            mj += q * j;
        }
    for (int i = 0; i < LEVELS; i++)
        for (int j = 0; j < LEVELS; j++) {
            vi += joint[i][j] * (i - mi) * (i - mi);
            vj += joint[i][j] * (j - mj) * (j - mj);
            cov += joint[i][j] * (i - mi) * (j - mj);
        }
    AT(GLCM_CORRELATION) = cov / (sqrt(vi * vj) + 1e-8);
}

void lt_structural_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, const lt_channel *now, double *value)
{
    const lt_feature_set *set = p->set;
    lt_threshold_mask(p, u, now, set->opt.component_threshold, x->mask[0]);
    lt_components c = lt_count_components(x->mask[0], p->g, x->label);
    AT(COMPONENTS) = (double)c.n;
    AT(LARGEST_COMPONENT) = (double)c.largest / (double)p->n;
    AT(COMPONENT_MEAN) = c.mean;
    AT(COMPONENT_STD) = c.std;
    AT(GLCM_CONTRAST) = AT(GLCM_HOMOGENEITY) = AT(GLCM_ENERGY) = 0;
    edge_values(p, x, u, value);
    texture_values(p, x, u, now, value);
}
