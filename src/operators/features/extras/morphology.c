/* The shape of what stands out of one channel: area, outline, moments, granules.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]

typedef struct shape {
    double area, perimeter, cx, cy;   /* pixels */
    double xx, yy, xy;                /* central moments over the area */
    int    left, right, top, bottom;
} shape;

static bool inside(const uint8_t *mask, int g, int y, int x) { return y >= 0 && y < g && x >= 0 && x < g && mask[y * g + x]; }

/* The perimeter counts pixels with a side that is open. */
static shape measure(const uint8_t *mask, int g)
{
    shape s = { .left = g, .right = -1, .top = g, .bottom = -1 };
    for (int y = 0; y < g; y++)
        for (int x = 0; x < g; x++) {
            if (!mask[y * g + x]) continue;
            s.area++;
            s.cx += x;
            s.cy += y;
            s.perimeter += !(inside(mask, g, y - 1, x) && inside(mask, g, y + 1, x) && inside(mask, g, y, x - 1) && inside(mask, g, y, x + 1));
            s.left = LT_MIN(s.left, x);
            s.right = LT_MAX(s.right, x);
            s.top = LT_MIN(s.top, y);
            s.bottom = LT_MAX(s.bottom, y);
        }
    if (s.area == 0) return s;
    s.cx /= s.area;
    s.cy /= s.area;
    for (int y = 0; y < g; y++)
        for (int x = 0; x < g; x++) {
            if (!mask[y * g + x]) continue;
            s.xx += (x - s.cx) * (x - s.cx) / s.area;
            s.yy += (y - s.cy) * (y - s.cy) / s.area;
            s.xy += (x - s.cx) * (y - s.cy) / s.area;
        }
    return s;
}

/* Area of the convex hull of the pixels as unit squares: rows give their outermost corners, in order,
   so one walk down each side suffices; corners that do not stick out of their side are dropped.
   work: 4 g numbers. */
static double turn(const double *a, const double *b, const double *c) { return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]); }

static int push_corner(double (*hull)[2], int n, double x, double y, double side)
{
    double point[2] = { x, y };
    while (n >= 2 && side * turn(hull[n - 2], hull[n - 1], point) >= 0) n--;
    hull[n][0] = x;
    hull[n][1] = y;
    return n + 1;
}

static double side_integral(const double (*hull)[2], int n)
{
    double area = 0;
    for (int i = 0; i + 1 < n; i++) area += 0.5 * (hull[i][0] + hull[i + 1][0]) * (hull[i + 1][1] - hull[i][1]);
    return area;
}

static double hull_area(const uint8_t *mask, int g, const shape *s, double *work)
{
    double (*hull)[2] = (double (*)[2])work, area = 0;
    for (int side = 0; side < 2; side++) {
        int n = 0;
        for (int y = s->top; y <= s->bottom; y++) {
            int x = side ? g - 1 : 0, step = side ? -1 : 1, seen = 0;
            for (; seen < g && !mask[y * g + x]; seen++) x += step;
            if (seen == g) continue;
            for (int k = 0; k < 2; k++) n = push_corner(hull, n, side ? x + 1 : x, y + k, side ? -1 : 1);
        }
        area += (side ? 1 : -1) * side_integral((const double (*)[2])hull, n);
    }
    return area;
}

static double signed_log(double moment)
{
    double size = log10(fabs(moment) + 1e-10);
    return fmin(fmax(moment < 0 ? size : -size, -10), 10);
}

static void shape_values(const lt_field_plan *p, const shape *s, double hull, double *value)
{
    const lt_feature_set *set = p->set;
    double mean = 0.5 * (s->xx + s->yy), gap = sqrt(0.25 * (s->xx - s->yy) * (s->xx - s->yy) + s->xy * s->xy);
    double major = mean + gap, minor = fmax(mean - gap, 0);
    AT(CIRCULARITY) = fmin(4 * M_PI * s->area / (s->perimeter * s->perimeter), 1);
    AT(ECCENTRICITY) = major > 0 ? sqrt(1 - minor / major) : 0;
    AT(SOLIDITY) = s->area / hull;
    AT(EXTENT) = s->area / ((double)(s->right - s->left + 1) * (s->bottom - s->top + 1));
    AT(MASS_CENTRE_X) = s->cx / p->g;
    AT(MASS_CENTRE_Y) = s->cy / p->g;
    /* Normalised central moments: mu_pq / area^2. */
    double n20 = s->xx / s->area, n02 = s->yy / s->area, n11 = s->xy / s->area;
    AT(HU_1) = signed_log(n20 + n02);
    AT(HU_2) = signed_log((n20 - n02) * (n20 - n02) + 4 * n11 * n11);
}

/* ---- Granules --------------------------------------------------------------------------------- */
/* Erosion (all) or dilation (any) by a square, one axis at a time; outside counts as the mask's end. */
static void morph(const uint8_t *from, uint8_t *to, uint8_t *work, int g, int radius, bool erode)
{
    for (int pass = 0; pass < 2; pass++) {
        const uint8_t *in = pass ? work : from;
        uint8_t *out = pass ? to : work;
        int step = pass ? g : 1, other = pass ? 1 : g;
        for (int line = 0; line < g; line++)
            for (int i = 0; i < g; i++) {
                bool all = true, any = false;
                for (int k = LT_MAX(i - radius, 0); k <= LT_MIN(i + radius, g - 1); k++) {
                    bool on = in[line * other + k * step];
                    all = all && on;
                    any = any || on;
                }
                if (i < radius || i + radius >= g) all = false;
                out[line * other + i * step] = erode ? all : any;
            }
    }
}

/* What openings by 3, 5, 7, 9 take away has about that size; what is left has more. */
static void granule_values(const lt_field_plan *p, const lt_extra_work *x, double area, double *value)
{
    static const int width[] = { 3, 5, 7, 9 };
    enum { N = LT_LEN(width) };
    const lt_feature_set *set = p->set;
    uint8_t *eroded = x->mask[1], *opened = (uint8_t *)x->label, *work = opened + p->n;
    double left = area, removed[N] = { 0 }, mean = 0, square = 0, total = 0;
    for (int k = 0; k < N; k++) {
        double now = 0;
        morph(x->mask[0], eroded, work, p->g, width[k] / 2, true);
        morph(eroded, opened, work, p->g, width[k] / 2, false);
        for (int64_t i = 0; i < p->n; i++) now += opened[i];
        removed[k] = fmax(left - now, 0);
        left = now;
        total += removed[k];
    }
    for (int k = 0; k < N; k++) mean += removed[k] * width[k] / (total + 1e-8);
    for (int k = 0; k < N; k++) square += removed[k] * (width[k] - mean) * (width[k] - mean) / (total + 1e-8);
    AT(GRANULE_MEAN) = mean;
    AT(GRANULE_STD) = sqrt(square);
}

void lt_morphological_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, const lt_channel *now, double *value)
{
    const lt_feature_set *set = p->set;
    for (int f = LT_F_AREA_FRACTION; f <= LT_F_GRANULE_STD; f++) value[set->slot[f]] = 0;
    if (!lt_threshold_mask(p, u, now, set->opt.shape_threshold, x->mask[0])) return;
    shape s = measure(x->mask[0], p->g);
    AT(AREA_FRACTION) = s.area / (double)p->n;
    AT(PERIMETER) = s.perimeter / (2.0 * p->g);
    shape_values(p, &s, hull_area(x->mask[0], p->g, &s, x->plane[0]), value);
    granule_values(p, x, s.area, value);
}
