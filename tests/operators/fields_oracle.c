/* Initial fields once more, by plain formulas pixel by pixel. SPDX-License-Identifier: BSD-3-Clause

   Only the order in which random numbers are used is shared with the product; transforms are sums
   over all modes, and nothing is separated, cached or reused. */
#include "fields_oracle.h"

#include "lathe/rng.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#define AT(r, c) ((r) * g + (c))
#define EACH(r, c) for (int r = 0; r < g; r++) for (int c = 0; c < g; c++)
#define COPY(expr) EACH(r, c) { double v_ = (expr); for (int k_ = 0; k_ < 3; k_++) out[k_ * g * g + AT(r, c)] += v_; }

static const lt_field_recipe *recipe;
static lt_rng rng;
static uint64_t seed_of;
static int64_t index_of;
static uint32_t stream;
static int g;
static bool is_physical;
static double *out, p[LT_FIELD_MAX_PARAMS];

static double U(double lo, double hi) { return lo + lt_rng_uniform(&rng) * (hi - lo); }
static double N(void) { return lt_rng_normal(&rng); }
static int below(int n) { return (int)lt_rng_below(&rng, (uint64_t)n); }
static double angle(void) { return U(0, 2 * PI); }
static double pair(int i) { return U(recipe->value[i].item[0], recipe->value[i].item[1]); }
static double sigmoid(double t) { return 1 / (1 + exp(-t)); }

static lt_draws next(void) { return lt_draws_make(seed_of, "field", (uint32_t)index_of, (uint32_t)(index_of >> 32), ++stream); }

static float *normals(int n)
{
    lt_draws s = next();
    float *x = malloc((size_t)n * sizeof *x);
    lt_draws_normal_f32(&s, 0, n, x);
    return x;
}

/* ---- Random fields ----------------------------------------------------------------------------- */
typedef double (*spectrum)(double a, double b, double k2);
static double gauss(double l, double b, double k2) { (void)b; return exp(-k2 * l * l / 2); }
static double power(double alpha, double b, double k2) { (void)b; return pow(k2 + 1e-10, -alpha / 2); }
static double power_physical(double alpha, double b, double k2) { (void)b; return k2 > 0 ? pow(k2, -alpha / 2) : 0; }
static double critical(double xi, double eta, double k2) { return pow(k2 + 1 / (xi * xi), -eta / 2); }
static double critical_physical(double xi, double eta, double k2) { return pow(4 * PI * PI * k2 + 1 / (xi * xi), -(1 - eta / 2)); }

static double k2_at(int r, int c)
{
    double y = (2 * r < g ? r : r - g) / (double)g, x = (2 * c < g ? c : c - g) / (double)g;
    return x * x + y * y;
}

static double total(spectrum q, double a, double b)
{
    double sum = 0;
    EACH(r, c) sum += q(a, b, k2_at(r, c));
    return sum;
}

/* Re ifft2(h q^(1/2)) with h the Hermitian part of the modes drawn. */
static void synthesise(const double *q, double *plane)
{
    int half = g / 2 + 1;
    float *z = normals(2 * g * half);
    double complex *h = malloc((size_t)(g * g) * sizeof *h);
    EACH(r, c) {
        int row = r, column = c, flip = 0;
        if (c >= half || ((c == 0 || 2 * c == g) && r > (g - r) % g)) { row = (g - r) % g; column = (g - c) % g; flip = 1; }
        const float *w = z + 2 * (row * half + column);
        bool own = row == (g - row) % g && column == (g - column) % g;
        double complex v = own ? w[0] / sqrt(2) : 0.5 * w[0] + 0.5 * w[1] * I;
        h[AT(r, c)] = (flip ? conj(v) : v) * sqrt(q[AT(r, c)]);
    }
    EACH(y, x) {
        double sum = 0;
        EACH(r, c) sum += creal(h[AT(r, c)] * cexp(2 * PI * I * (double)(r * y + c * x) / g));
        plane[AT(y, x)] = sum / (g * g);
    }
    free(z);
    free(h);
}

static double *make_density(int n, const double *length, double variance)
{
    double *q = calloc((size_t)(g * g), sizeof *q);
    for (int i = 0; i < n; i++) {
        double l = is_physical ? length[i] * g : length[i];
        double amount = is_physical ? 2 * variance / n * pow(g, 4) / total(gauss, l, 0) : variance / n;
        EACH(r, c) q[AT(r, c)] += amount * gauss(l, 0, k2_at(r, c));
    }
    return q;
}

static void grf(double l, double v, double *plane)
{
    double *q = make_density(1, &l, v);
    synthesise(q, plane);
    free(q);
}

static void add_density(const double *q)
{
    double *plane = malloc((size_t)(g * g) * sizeof *plane);
    for (int k = 0; k < 3; k++) {
        synthesise(q, plane);
        for (int i = 0; i < g * g; i++) out[k * g * g + i] += plane[i];
    }
    free(plane);
}

static void add_grf(double l, double v)
{
    double *q = make_density(1, &l, v);
    add_density(q);
    free(q);
}

static void add_normalised(spectrum s, double a, double b, double sum)
{
    double *q = malloc((size_t)(g * g) * sizeof *q), t = total(s, a, b);
    EACH(r, c) q[AT(r, c)] = s(a, b, k2_at(r, c)) * sum / t;
    add_density(q);
    free(q);
}

static void scale(double *x, int n, double lo, double hi)
{
    double a = x[0], b = x[0];
    for (int i = 0; i < n; i++) { a = fmin(a, x[i]); b = fmax(b, x[i]); }
    for (int i = 0; i < n; i++) x[i] = lo + (hi - lo) * (b > a ? (x[i] - a) / (b - a) : 0);
}

static void by_largest(double *x, int n, bool absolute)
{
    double b = 0;
    for (int i = 0; i < n; i++) b = fmax(b, absolute ? fabs(x[i]) : x[i]);
    for (int i = 0; i < n && b > 0; i++) x[i] /= b;
}

/* ---- Types ------------------------------------------------------------------------------------------ */
static void structures(int n, const lt_field_value *types)
{
    for (int i = 0; i < n; i++) {
        int type = (int)types->item[below(types->n)];
        double *o = out + below(3) * g * g;
        if (type == 1) {
            double a = angle(), f = U(1, 6);
            EACH(r, c) o[AT(r, c)] += sin((c * cos(a) + r * sin(a)) * f * 2 * PI / g);
            continue;
        }
        double x = U(0, g), y = U(0, g), size = U(0, (type == 0 ? 0.2 : 0.15) * g), value = (type == 0 ? 2 : 3) * N();
        EACH(r, c) {
            double d2 = (c - x) * (c - x) + (r - y) * (r - y);
            o[AT(r, c)] += type == 0 ? (sqrt(d2) < size ? value : 0) : value * exp(-d2 / (2 * size * size));
        }
    }
}

static void baseline(void)
{
    double a, f, x, y;
    switch (recipe->type) {
    case LT_FIELD_GRF: add_grf(p[0], p[1]); break;
    case LT_FIELD_MULTISCALE: { double *q = make_density(recipe->value[0].n, recipe->value[0].item, p[1]); add_density(q); free(q); break; }
    case LT_FIELD_HEAVY_TAILED:
        if (is_physical) add_normalised(power_physical, p[0], 0, 2 * p[1] * pow(g, 4));
        else add_normalised(power, p[0], 0, p[1] * g * g);
        break;
    case LT_FIELD_STRUCTURED: structures((int)p[0], &recipe->value[1]); break;
    case LT_FIELD_MIXED: if (U(0, 1) < 0.5) add_grf(p[0], p[1]); else structures((int)p[2], &recipe->value[3]); break;
    case LT_FIELD_LOCALIZED:
        for (int i = 0; i < (int)p[0]; i++) {
            x = U(0, g); y = U(0, g);
            double s = U(p[1], p[2]);
            for (int k = 0; k < 3; k++) {
                double v = 2 * N();
                EACH(r, c) out[k * g * g + AT(r, c)] += v * exp(-((c - x) * (c - x) + (r - y) * (r - y)) / (2 * s * s));
            }
        }
        break;
    default: /* composite */
        if (p[0] == 0) { a = angle(); f = U(2, 6); COPY(sin((c * cos(a) + r * sin(a)) * f * 2 * PI / g)) }
        else if (p[0] == 1) { f = U(3, 6); COPY(sin(c * f * 2 * PI / g) * sin(r * f * 2 * PI / g)) }
        else { f = U(2, 6); COPY(sin(hypot(c - g / 2.0, r - g / 2.0) * f * 2 * PI / g)) }
        add_grf(p[2], p[1] * p[1]);
    }
}

static void waves(void)
{
    double x, y, k, a, phase;
    switch (recipe->type) {
    case LT_FIELD_QUANTUM_PACKET:
        for (int i = 0; i < (int)p[2]; i++) {
            x = U(0, g); y = U(0, g); k = pair(1); a = angle();
            EACH(r, c) {
                double e = exp(-((c - x) * (c - x) + (r - y) * (r - y)) / (4 * p[0] * p[0])), t = k * (cos(a) * (c - x) + sin(a) * (r - y));
                out[AT(r, c)] += e * cos(t);
                out[g * g + AT(r, c)] += e * sin(t);
                out[2 * g * g + AT(r, c)] += e * e;
            }
        }
        by_largest(out + 2 * g * g, g * g, false);
        break;
    case LT_FIELD_TURING: {
        int type = p[0] == 3 ? below(3) : (int)p[0], n = type == 0 ? 3 : type == 1 ? 1 : 2 + below(3);
        for (int i = 0; i < n; i++) {
            a = type == 0 ? i * 2 * PI / 3 : angle();
            COPY(cos(2 * PI / p[1] * (c * cos(a) + r * sin(a))) / n)
        }
        add_grf(p[1] / g, p[2] * p[2]);
        break;
    }
    case LT_FIELD_BZ: {
        int n = p[0] == 2 ? 3 + below(5) : (int)p[1];
        for (int i = 0; i < n; i++) {
            x = U(0, g); y = U(0, g); k = 2 * PI / p[2];
            double hand = below(2) ? 1 : -1, scale_by = p[0] == 2 ? 1.0 / n : 1;
            EACH(r, c) {
                double d = hypot(c - x, r - y), t = p[0] == 1 ? k * d : hand * atan2(r - y, c - x) - k * d;
                double s = sin(t + (p[0] == 2 ? 0 : p[3]));
                out[AT(r, c)] += scale_by * cos(t);
                out[g * g + AT(r, c)] += scale_by * s;
                if (p[0] != 2) out[2 * g * g + AT(r, c)] += p[0] == 1 ? cos(t) : (cos(t) + s) / 2;
            }
        }
        by_largest(out, 3 * g * g, true);
        break;
    }
    case LT_FIELD_INTERFERENCE:
        for (int i = 0; i < (int)p[0]; i++) {
            bool spaced = p[0] == 2 && !isnan(p[3]);
            x = spaced ? g / 2.0 + (i ? 1 : -1) * p[3] / 2 : U(0.1 * g, 0.9 * g);
            y = spaced ? g / 2.0 : U(0.1 * g, 0.9 * g);
            phase = angle();
            double amount[3];
            for (int q = 0; q < 3; q++) amount[q] = cos(angle());
            EACH(r, c) {
                double d = hypot(c - x, r - y);
                for (int q = 0; q < 3; q++) out[q * g * g + AT(r, c)] += amount[q] * cos(2 * PI / p[1] * d + phase) * exp(-d * d / (2 * p[2] * p[2]));
            }
        }
        by_largest(out, 3 * g * g, true);
        break;
    case LT_FIELD_COHERENT:
        for (int i = 0; i < (int)p[3]; i++) {
            x = U(0, g); y = U(0, g); a = angle();
            COPY(p[0] * exp(-((c - x) * (c - x) + (r - y) * (r - y)) / (2 * p[1] * p[1])) * cos(p[2] * (c * cos(a) + r * sin(a))))
        }
        add_grf(0.1, 0.5);
        break;
    default: { /* relativistic */
        x = (g - 1) / 2.0 + U(-g / 4.0, g / 4.0);
        y = (g - 1) / 2.0 + U(-g / 4.0, g / 4.0);
        k = pair(2); phase = angle();
        double gamma2 = 1 / (1 - p[0] * p[0]);
        COPY(exp(-(gamma2 * (c - x) * (c - x) + (r - y) * (r - y)) / (2 * p[1] * p[1])) * cos(k * (c - x) + phase))
    }
    }
}

static double ramp(int direction, int r, int c) { return direction == 0 ? (double)c / g : direction == 1 ? (double)r / g : (double)(r + c) / (2 * g); }

static void fronts(double *plane)
{
    double middle = (g - 1) / 2.0;
    for (int i = 0; i < (int)p[2]; i++) {
        if (p[0] == 2) {
            grf(0.2, 1, plane);
            double level = U(-1, 1);
            EACH(r, c) out[AT(r, c)] = fmax(out[AT(r, c)], 0.5 + 0.5 * tanh((plane[AT(r, c)] - level) / p[1]));
            continue;
        }
        double a = angle(), offset = (U(0, 1) - 0.5) * 0.5 * g, x = U(0, g), y = U(0, g), radius = (0.2 + 0.3 * U(0, 1)) * g;
        EACH(r, c) {
            double d = p[0] == 0 ? (c - middle) * cos(a) + (r - middle) * sin(a) - offset : radius - hypot(c - x, r - y);
            out[AT(r, c)] = fmax(out[AT(r, c)], 0.5 + 0.5 * tanh(d / p[1]));
        }
    }
    for (int k = 1; k < 3; k++) memcpy(out + k * g * g, out, (size_t)(g * g) * sizeof *out);
}

static void gradients(double *plane)
{
    double a, middle = (g - 1) / 2.0;
    const double *range = recipe->value[1].item;
    int direction;
    float *n;
    switch (recipe->type) {
    case LT_FIELD_THERMAL:
        direction = p[0] == 0 ? below(3) : (int)p[0] - 1;
        COPY(range[0] + (range[1] - range[0]) * pow(ramp(direction, r, c), p[2]))
        add_grf(p[4] / g, p[3] * p[3]);
        break;
    case LT_FIELD_MORPHOGEN:
        for (int i = 0; i < (int)p[1]; i++) {
            double x = U(0, g), y = U(0, g), top = U(0.5, 1);
            COPY(top * (p[3] == 0 ? exp(-hypot(c - x, r - y) / p[0]) : p[3] == 1 ? 1 / (1 + pow(hypot(c - x, r - y) / p[0], 2))
                                                                   : 1 / (1 + exp((hypot(c - x, r - y) - p[0]) / (0.2 * p[0])))))
        }
        add_grf(0.05, p[2] * p[2]);
        scale(out, 3 * g * g, 0, 1);
        break;
    case LT_FIELD_REACTION_FRONT: fronts(plane); break;
    case LT_FIELD_PHASE_BOUNDARY:
        a = isnan(p[1]) ? angle() : p[1];
        COPY(tanh(((c - middle) * cos(a) + (r - middle) * sin(a)) / (sqrt(2) * p[0])))
        add_grf(0.1, p[2] * p[2]);
        break;
    case LT_FIELD_SHOCK: {
        double position = isnan(p[0]) ? U(0.2, 0.8) : p[0];
        a = isnan(p[1]) ? angle() : p[1];
        EACH(r, c) {
            double q = tanh(((c * cos(a) + r * sin(a)) / g - position) / (p[2] / g));
            for (int k = 0; k < 3; k++) out[k * g * g + AT(r, c)] = (1 - q) / 2 + p[3] * (1 + q) / 2;
        }
        add_grf(0.05, p[4] * p[4]);
        break;
    }
    case LT_FIELD_LIGHT_CONE:
        for (int i = 0; i < (int)p[3]; i++) {
            double x = U(0, g), y = U(0, g);
            for (int k = 0; k < 3; k++) {
                grf(p[2] / g, 1, plane);
                EACH(r, c) out[k * g * g + AT(r, c)] += plane[AT(r, c)] * sigmoid((p[0] - hypot(c - x, r - y)) / p[1]);
            }
        }
        break;
    case LT_FIELD_SHANNON:
        direction = p[0] == 0 ? below(3) : 0;
        EACH(r, c) plane[AT(r, c)] = ramp(direction, r, c);
        if (p[0] == 1) { grf(p[2] / g, 1, plane); scale(plane, g * g, 0, 1); }
        if (p[0] == 2) {
            lt_draws s = next();
            float *u = malloc((size_t)(g * g) * sizeof *u);
            lt_draws_uniform_f32(&s, 0, g * g, u);
            for (int i = 0; i < g * g; i++) plane[i] = u[i];
            free(u);
        }
        for (int k = 0; k < 3; k++) {
            n = normals(g * g);
            for (int i = 0; i < g * g; i++) out[k * g * g + i] = exp(range[0] + (range[1] - range[0]) * plane[i]) * n[i];
            free(n);
        }
        add_grf(0.2, 0.5);
        break;
    case LT_FIELD_CRITICAL:
        if (is_physical) add_normalised(critical_physical, p[0], p[1], 2 * pow(g, 4));
        else add_normalised(critical, p[0], p[1], g * g);
        break;
    default: { /* mutual information */
        double l[3] = { p[1], p[1] / 2, p[1] / 4 }, strength = 1 - p[2], *q = NULL;
        if (p[0] == 2) { q = make_density(3, l, 1); synthesise(q, plane); free(q); }
        else grf(p[1] * (p[0] == 0 ? 0.5 : 2), 1, plane);
        for (int k = 0; k < 3; k++) {
            n = normals(g * g);
            for (int i = 0; i < g * g; i++) out[k * g * g + i] = k < (int)p[3] ? strength * plane[i] + sqrt(1 - strength * strength) * n[i] : n[i];
            free(n);
        }
    }
    }
}

/* ---- Life ---------------------------------------------------------------------------------------------- */
static double wrap(double v) { return v - g * floor(v / g); }

static void cells(void)
{
    double cluster[200][2], cell[200][2];
    int want = (int)p[0], n = 0, n_clusters = (int)(0.1 * want * (1 - p[2]));
    if (n_clusters < 1) n_clusters = 1;
    for (int i = 0; i < n_clusters; i++) { cluster[i][0] = U(0, g); cluster[i][1] = U(0, g); }
    for (int t = 0; t < 100 * want && n < want; t++) {
        double x, y;
        if (U(0, 1) < p[2]) {
            int i = below(n_clusters);
            double radius = U(0, 0.3 * g * (1 - p[2])), a = angle();
            x = wrap(cluster[i][0] + radius * cos(a));
            y = wrap(cluster[i][1] + radius * sin(a));
        } else { x = U(0, g); y = U(0, g); }
        bool room = true;
        for (int i = 0; i < n; i++) room &= hypot(cell[i][0] - x, cell[i][1] - y) >= 2 * p[1];
        if (room) { cell[n][0] = x; cell[n++][1] = y; }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double v = U(0, 1);
            EACH(r, c) out[k * g * g + AT(r, c)] += v * exp(-(pow(c - cell[i][0], 2) + pow(r - cell[i][1], 2)) / (2 * p[3] * p[3]));
        }
    by_largest(out, 3 * g * g, false);
}

static void chromatin(void)
{
    if (p[3] == 1) {
        double k = 2 * PI / U(15, 40), a = angle(), b = angle();
        for (int q = 0; q < 3; q++) {
            double low = U(0, 1), high = U(0, 1);
            EACH(r, c) out[q * g * g + AT(r, c)] = sin(k * c + a) * sin(k * r + b) > 0 ? high : low;
        }
        return;
    }
    double s = 0;
    for (int i = 0; i < (int)p[0] && s < g; i++) {
        double e = s + pair(1), strength = U(-1, 1), w = p[2];
        COPY(strength * sigmoid((c - s) / w) * sigmoid((e - c) / w) * sigmoid((r - s) / w) * sigmoid((e - r) / w))
        s = e;
    }
}

static void genes(double *shared)
{
    const lt_field_value *patterns = &recipe->value[1];
    const double *range = recipe->value[3].item;
    grf(0.1, 1, shared);
    scale(shared, g * g, 0, 1);
    for (int q = 0; q < 3; q++) {
        double *o = out + q * g * g;
        float *n = normals(g * g);
        if (q >= (int)p[0]) {
            for (int i = 0; i < g * g; i++) o[i] = out[i] + 0.1 * n[i];
            free(n);
            continue;
        }
        int type = patterns->n ? (int)patterns->item[q % patterns->n] : below(5), direction = below(3);
        double k = 2 * PI / (U(0.1, 0.3) * (is_physical ? g : 1)), a = angle();
        EACH(r, c) {
            double v = 0.5, x = (double)c / g, y = (double)r / g;
            if (type == 0) v = ramp(direction, r, c);
            if (type == 1) v = (cos(k * c) + cos(k * (c * cos(PI / 3) + r * sin(PI / 3))) + cos(k * (c * cos(2 * PI / 3) + r * sin(2 * PI / 3)))) / 3;
            if (type == 2) v = cos(k * (c * cos(a) + r * sin(a)));
            if (type == 3) v = exp(-((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5)) / 0.1);
            o[AT(r, c)] = p[2] * shared[AT(r, c)] + (1 - p[2]) * v + 0.1 * n[AT(r, c)];
        }
        scale(o, g * g, range[0], range[1]);
        free(n);
    }
}

static void regulatory(void)
{
    int n = (int)p[1], degree[64] = { 1 }, sum = 1;
    double w[64][64] = { { 0 } }, x[64], y[64];
    for (int i = 1; i < n && p[0] != 1; i++) {
        int to = 0;
        if (p[0] == 0) {
            int pick = below(sum);
            while (pick >= degree[to]) pick -= degree[to++];
            w[i][to] = U(-1, 1);
            w[to][i] = U(-1, 1);
        } else {
            w[0][i] = U(-1, 1);
            w[i][0] = U(-1, 1);
        }
        degree[to]++; degree[i] = 1; sum += 2;
    }
    for (int i = 0; i < n && p[0] == 1; i++)
        for (int k = 0; k < n; k++)
            if (i != k && U(0, 1) < p[2]) w[i][k] = U(-1, 1);
    for (int i = 0; i < n; i++) x[i] = U(0, 1);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < n; i++) {
            y[i] = 0.1 * N();
            for (int k = 0; k < n; k++) y[i] += w[i][k] * x[k];
        }
        for (int i = 0; i < n; i++) x[i] = tanh(y[i]);
    }
    for (int i = 0; i < n; i++) {
        double px = U(0, g), py = U(0, g);
        COPY(x[i] * exp(-(pow(c - px, 2) + pow(r - py, 2)) / (2 * pow(p[3] * g, 2))))
    }
    by_largest(out, 3 * g * g, true);
}

static int around(const uint8_t *cell, int r, int c, int reach)
{
    int sum = 0;
    for (int y = r - reach; y <= r + reach; y++)
        for (int x = c - reach; x <= c + reach; x++) sum += y >= 0 && x >= 0 && y < g && x < g && cell[AT(y, x)];
    return sum;
}

static void dla(void)
{
    uint8_t *cell = calloc(2, (size_t)(g * g)), *grown = cell + g * g;
    for (int c = 0; c < g; c++) cell[AT(g / 2, c)] = p[1] == 1 || c == g / 2;
    for (int i = 0; i < (int)p[0] / 20; i++) {
        EACH(r, c) grown[AT(r, c)] = cell[AT(r, c)] ? 1 : around(cell, r, c, 1) ? U(0, 1) < p[2] : 0;
        memcpy(cell, grown, (size_t)(g * g));
    }
    COPY(p[3] == 1 ? cell[AT(r, c)] : exp(3 * around(cell, r, c, 2) / 25.0 - 1))
    if (p[3] == 0) by_largest(out, 3 * g * g, false);
    free(cell);
}

static void code(void)
{
    int block = (int)p[2], side = g / block < 1 ? 1 : g / block, n = side * side, k = (int)(n * p[1]) < 1 ? 1 : (int)(n * p[1]);
    int *message = calloc((size_t)k + 32, sizeof *message), *word = malloc((size_t)n * sizeof *word), parity = 0;
    for (int i = 0; i < k; i += 32) {
        uint32_t bits = (uint32_t)(lt_rng_u64(&rng) >> 32);
        for (int b = 0; b < 32; b++) message[i + b] = i + b < k ? bits >> b & 1 : 0;
    }
    for (int i = 0; i < k; i++) parity ^= message[i];
    for (int i = 0; i < n; i++) {
        if (p[0] == 0) word[i] = message[i / (n / k) < k ? i / (n / k) : k - 1];
        if (p[0] == 1) word[i] = i < k ? message[i] : parity;
        if (p[0] == 2) {
            word[i] = 0;
            for (int q = 0; q < k; q += 32) {
                uint32_t bits = (uint32_t)(lt_rng_u64(&rng) >> 32);
                for (int b = 0; b < 32; b++) word[i] ^= message[q + b] & (bits >> b & 1);
            }
        }
        word[i] ^= U(0, 1) < p[3];
    }
    COPY(word[(r / block < side ? r / block : side - 1) * side + (c / block < side ? c / block : side - 1)] ? 1 : -1)
    free(message);
    free(word);
}

void oracle_field(const lt_field_recipe *from, int grid, bool physical, uint64_t seed, int64_t index, double *field)
{
    recipe = from;
    g = grid;
    is_physical = physical;
    seed_of = seed;
    index_of = index;
    stream = 0;
    out = field;
    rng = (lt_rng){ .stream = lt_draws_make(seed, "field", (uint32_t)index, (uint32_t)(index >> 32), 0) };
    memset(out, 0, (size_t)(3 * g * g) * sizeof *out);
    for (int i = 0; i < lt_field_types[from->type].n_params; i++) {
        const lt_field_value *v = &from->value[i];
        p[i] = v->drawn ? U(v->item[0], v->item[1]) : v->n ? v->item[0] : NAN;
        if (v->drawn && lt_field_types[from->type].params[i].kind == LT_FIELD_INT) p[i] = floor(p[i]);
    }
    double *plane = malloc((size_t)(g * g) * sizeof *plane);
    switch (from->type) {
    case LT_FIELD_QUANTUM_PACKET: case LT_FIELD_TURING: case LT_FIELD_BZ: case LT_FIELD_INTERFERENCE: case LT_FIELD_COHERENT:
    case LT_FIELD_RELATIVISTIC: waves(); break;
    case LT_FIELD_CELLS: cells(); break;
    case LT_FIELD_CHROMATIN: chromatin(); break;
    case LT_FIELD_GENES: genes(plane); break;
    case LT_FIELD_REGULATORY: regulatory(); break;
    case LT_FIELD_DLA: dla(); break;
    case LT_FIELD_CODE: code(); break;
    default:
        if (from->type <= LT_FIELD_MIXED) baseline();
        else gradients(plane);
    }
    free(plane);
}
