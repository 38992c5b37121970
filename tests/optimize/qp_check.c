/* Random quadratic programs and an independent check of their answers. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *need(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

qp_case qp_case_make(int m)
{
    size_t n = (size_t)m;
    qp_case p = { .m = m, .q = need(n * n, 8), .c = need(n, 8), .lower = need(n, 8), .upper = need(n, 8),
                  .y = need(n, 8), .members = need(n, 1), .factor = need(n * n, 8) };
    for (int i = 0; i < m; i++) p.upper[i] = 1;
    return p;
}

void qp_case_free(qp_case *p)
{
    free(p->q), free(p->c), free(p->lower), free(p->upper), free(p->y), free(p->members), free(p->factor);
    *p = (qp_case){ 0 };
}

lt_qp_problem qp_case_problem(const qp_case *p)
{
    return (lt_qp_problem){ .c = p->c, .lower = p->lower, .upper = p->upper, .members = p->has_sum ? p->members : NULL, .mu = p->mu };
}

void qp_case_random(qp_case *p, lt_rng *r, int rank, double column_scale, double c_scale)
{
    int m = p->m;
    p->rank = rank < m ? rank : m;
    for (int j = 0; j < m; j++) {
        double scale = pow(column_scale, lt_rng_uniform(r));
        for (int k = 0; k < p->rank; k++) p->factor[(size_t)j * (size_t)p->rank + (size_t)k] = scale * lt_rng_normal(r);
        p->c[j] = c_scale * lt_rng_normal(r);
    }
    for (int j = 0; j < m; j++)
        for (int i = 0; i <= j; i++) {
            double sum = 0;
            const double *a = p->factor + (size_t)i * (size_t)p->rank, *b = p->factor + (size_t)j * (size_t)p->rank;
            for (int k = 0; k < p->rank; k++) sum += a[k] * b[k];
            p->q[(size_t)j * (size_t)m + (size_t)i] = p->q[(size_t)i * (size_t)m + (size_t)j] = sum;
        }
}

void qp_case_steering(qp_case *p, int equalities)
{
    p->has_sum = false;
    memset(p->members, 0, (size_t)p->m);
    for (int i = 0; i < p->m; i++) {
        p->lower[i] = i < equalities ? -1 : 0;
        p->upper[i] = 1;
    }
}

void qp_case_stationarity(qp_case *p, int first, int samples, double mu)
{
    qp_case_steering(p, first);
    p->has_sum = true;
    p->mu = mu;
    for (int i = first; i < first + samples; i++) {
        p->members[i] = 1;
        p->lower[i] = 0;
        p->upper[i] = mu;
        p->c[i] = p->c[first];
    }
}

void qp_case_orthogonality(qp_case *p, int k, uint64_t seed, double distance, double step)
{
    lt_rng r = lt_rng_seed(seed);
    double *v = need((size_t)(k * k), 8), *gram = need((size_t)(k * k), 8);
    for (int i = 0; i < k * k; i++) {
        v[i] = distance * lt_rng_normal(&r) + (i % (k + 1) == 0);
        v[i] += step * lt_rng_normal(&r);
    }
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
            for (int i = 0; i < k; i++) gram[a * k + b] += v[i * k + a] * v[i * k + b];
    /* The gradient of (V'V)_ab holds v_b in column a and v_a in column b. */
    for (int s = 0; s < k * k; s++) {
        int a = s / k, b = s % k;
        for (int t = 0; t < k * k; t++) {
            int c = t / k, d = t % k;
            p->q[(size_t)t * (size_t)p->m + (size_t)s] = (a == c) * gram[b * k + d] + (a == d) * gram[b * k + c] +
                                                         (b == c) * gram[a * k + d] + (b == d) * gram[a * k + c];
        }
        p->c[s] = (a == b) - gram[a * k + b];
    }
    p->rank = k * (k + 1) / 2;
    qp_case_steering(p, p->m);
    free(v), free(gram);
}

void qp_case_nearby_samples(qp_case *p, int k, int samples, uint64_t seed, double step, double noise)
{
    lt_rng r = lt_rng_seed(seed);
    const int n = 2 * k * k, m = p->m;
    double *v = need((size_t)(k * k), 8), *slope = need((size_t)n, 8), *g = need((size_t)m * (size_t)n, 8);
    for (int i = 0; i < k * k; i++) v[i] = lt_rng_normal(&r) / sqrt(k);
    for (int i = 0; i < n; i++) slope[i] = lt_rng_normal(&r);
    for (int s = 0, at = 0; s < samples; s++) {
        for (int i = 0; i < k * k; i++) v[i] += step * lt_rng_normal(&r);
        for (int i = 0; i < n; i++) g[(size_t)(at) * (size_t)n + (size_t)i] = slope[i] * (1 + step * lt_rng_normal(&r));
        at++;
        for (int a = 0; a < k; a++) /* the gradient of (V'V)_ab holds v_b in column a and v_a in column b */
            for (int b = 0; b <= a; b++, at++)
                for (int i = 0; i < k; i++) {
                    g[(size_t)at * (size_t)n + (size_t)(i * k + a)] += v[i * k + b];
                    g[(size_t)at * (size_t)n + (size_t)(i * k + b)] += v[i * k + a];
                }
    }
    for (int j = 0; j < m; j++)
        for (int i = 0; i <= j; i++) {
            const double *gi = g + (size_t)i * (size_t)n, *gj = g + (size_t)j * (size_t)n;
            double sum = 0;
            for (int d = 0; d < n; d++) sum += gi[d] * gj[d];
            p->q[(size_t)j * (size_t)m + (size_t)i] = sum;
        }
    for (int j = 0; j < m; j++)
        for (int i = 0; i < j; i++) {
            double *q = &p->q[(size_t)j * (size_t)m + (size_t)i];
            *q += noise * sqrt(p->q[(size_t)j * (size_t)m + (size_t)j] * p->q[(size_t)i * (size_t)m + (size_t)i]) * lt_rng_normal(&r);
            p->q[(size_t)i * (size_t)m + (size_t)j] = *q;
        }
    qp_case_steering(p, m);
    p->has_sum = true;
    p->mu = 4e-6;
    for (int i = 0; i < m; i++) {
        p->members[i] = i % (m / samples) == 0;
        if (p->members[i]) p->lower[i] = 0, p->upper[i] = p->mu;
        p->c[i] = p->members[i] ? 0 : 1e-13 * lt_rng_normal(&r);
    }
    free(v), free(slope), free(g);
}

/* r_i must vanish between the bounds and point outwards on them. */
static long double entry_violation(const qp_case *p, const double *y, int i, long double r)
{
    long double v = 0;
    if (y[i] > p->lower[i] && r > v) v = r;
    if (y[i] < p->upper[i] && -r > v) v = -r;
    return v;
}

static long double worst_for(const qp_case *p, const double *y, const long double *g, long double nu)
{
    long double worst = 0;
    for (int i = 0; i < p->m; i++) {
        long double v = entry_violation(p, y, i, g[i] - (p->has_sum && p->members[i] ? nu : 0));
        if (v > worst) worst = v;
    }
    return worst;
}

/* The violation is convex in nu: a golden-section search needs to know nothing else. */
static long double search_multiplier(const qp_case *p, const double *y, const long double *g)
{
    long double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->m; i++) {
        if (!p->members[i]) continue;
        if (g[i] < low) low = g[i];
        if (g[i] > high) high = g[i];
    }
    for (int k = 0; k < 200; k++) {
        long double a = low + 0.382L * (high - low), b = low + 0.618L * (high - low);
        if (worst_for(p, y, g, a) <= worst_for(p, y, g, b)) high = b;
        else low = a;
    }
    return worst_for(p, y, g, (low + high) / 2);
}

double qp_case_violation(const qp_case *p, const double *y, double *sum_error)
{
    long double *g = need((size_t)p->m, sizeof *g), sum = 0;
    double sigma = 1e-300, largest = fmax(fabs(p->mu), 1e-300);
    bool bounds = true;
    for (int i = 0; i < p->m; i++) {
        g[i] = p->c[i];
        for (int j = 0; j < p->m; j++) g[i] += (long double)p->q[(size_t)i * (size_t)p->m + (size_t)j] * y[j];
        sigma = fmax(sigma, fmax(fabs(p->c[i]), p->q[(size_t)i * (size_t)p->m + (size_t)i]));
        bounds &= y[i] >= p->lower[i] && y[i] <= p->upper[i];
        if (p->has_sum && p->members[i]) {
            sum += y[i];
            largest = fmax(largest, fabs(y[i]));
        }
    }
    *sum_error = p->has_sum ? (double)fabsl(sum - p->mu) / largest : 0;
    double worst = bounds ? (double)((p->has_sum ? search_multiplier(p, y, g) : worst_for(p, y, g, 0)) / sigma) : INFINITY;
    free(g);
    return worst;
}

double qp_case_objective(const qp_case *p, const double *y)
{
    long double sum = 0;
    for (int i = 0; i < p->m; i++) {
        long double g = 2 * (long double)p->c[i];
        for (int j = 0; j < p->m; j++) g += (long double)p->q[(size_t)i * (size_t)p->m + (size_t)j] * y[j];
        sum += g * y[i] / 2;
    }
    return (double)sum;
}
