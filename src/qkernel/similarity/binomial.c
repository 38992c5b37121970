/* Numbers of successes in n draws. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/similarity/binomial.h"

#include <math.h>

/* Goes up from 0 until the probabilities passed exceed a uniform number. */
static int64_t by_inversion(lt_rng *r, int64_t n, double p)
{
    double u = lt_rng_uniform(r), odds = p / (1 - p), mass = exp((double)n * log1p(-p));
    int64_t k = 0;
    while (u >= mass && k < n) {
        u -= mass;
        k++;
        mass *= odds * (double)(n - k + 1) / (double)k;
    }
    return k;
}

/* log of k! less Stirling's formula without its correction. */
static double stirling_rest(int64_t k)
{
    static const double small[] = { 0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509, 0.01664469118982119,
                                    0.01387612882307075, 0.01189670994589177, 0.01041126526197209, 0.009255462182712733, 0.008330563433362871 };
    if (k < 10) return small[k];
    double x = (double)k + 1, square = x * x;
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / x;
}

/* Transformed rejection with squeeze (Hörmann, The generation of binomial random variates, 1993): n p >= 10, p <= 1/2. */
static int64_t by_rejection(lt_rng *r, int64_t n, double p)
{
    double N = (double)n, spread = sqrt(N * p * (1 - p)), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, c = N * p + 0.5;
    double v_r = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * spread, m = floor((N + 1) * p);
    for (;;) {
        double u = lt_rng_uniform(r) - 0.5, v = lt_rng_uniform(r), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > N) continue;
        if (us >= 0.07 && v <= v_r) return (int64_t)k;
        v = log(v * alpha / (a / (us * us) + b));
        double bound = (m + 0.5) * log((m + 1) / (odds * (N - m + 1))) + (N + 1) * log((N - m + 1) / (N - k + 1)) + (k + 0.5) * log(odds * (N - k + 1) / (k + 1))
                     + stirling_rest((int64_t)m) + stirling_rest((int64_t)(N - m)) - stirling_rest((int64_t)k) - stirling_rest((int64_t)(N - k));
        if (v <= bound) return (int64_t)k;
    }
}

int64_t lt_binomial(lt_rng *r, int64_t n, double p)
{
    if (n <= 0 || p <= 0) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - lt_binomial(r, n, 1 - p);
    return (double)n * p < 10 ? by_inversion(r, n, p) : by_rejection(r, n, p);
}
