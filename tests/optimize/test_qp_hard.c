/* Quadratic programs chosen to be awkward: dependent columns, degenerate corners, forced sums, noise,
   no bounds, not convex. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "optimize/qp_check.h"

static lt_qp_info solve(qp_case *p, const lt_qp_options *opt)
{
    lt_qp *qp;
    lt_qp_info info = { .size = sizeof info, .status = LT_QP_FAILED };
    lt_qp_problem problem = qp_case_problem(p);
    LT_CHECK_OK(lt_qp_create(p->m, opt, &qp));
    LT_CHECK_OK(lt_qp_set_matrix(qp, p->m, p->q, p->m));
    LT_CHECK_OK(lt_qp_solve(qp, &problem, p->y, &info));
    lt_qp_destroy(qp);
    return info;
}

static void check(qp_case *p, const char *what)
{
    static const lt_qp_method methods[] = { LT_QP_AUTO, LT_QP_INTERIOR };
    for (int k = 0; k < 2; k++) {
        lt_qp_options opt = lt_qp_defaults();
        opt.method = methods[k];
        lt_qp_info info = solve(p, &opt);
        double sum_error, v = qp_case_violation(p, p->y, &sum_error);
        if (!(v <= 1e-12) || !(sum_error <= 1e-14) || info.status != LT_QP_OK)
            LT_TEST_FAIL("%s m=%d, method %d: %s (%s), violation %.2e (reported %.2e), sum %.2e, %d + %d iterations", what, p->m,
                         (int)methods[k], lt_qp_status_name(info.status), lt_qp_cause_name(info.cause), v, info.residual, sum_error,
                         info.iterations, info.interior_iterations);
    }
}

static double *entry(qp_case *p, int i, int j) { return &p->q[(size_t)j * (size_t)p->m + (size_t)i]; }

/* Entry `to` becomes a copy of entry `from`. */
static void duplicate(qp_case *p, int from, int to)
{
    for (int i = 0; i < p->m; i++) *entry(p, i, to) = *entry(p, i, from);
    for (int i = 0; i < p->m; i++) *entry(p, to, i) = *entry(p, from, i);
    p->c[to] = p->c[from];
}

LT_TEST(duplicated_entries)
{
    lt_rng r = lt_rng_seed(21);
    for (int k = 0; k < 200; k++) {
        int m = 2 + (int)lt_rng_below(&r, k % 20 ? 16 : 120);
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, 1 + (int)lt_rng_below(&r, (uint64_t)m), 1, k % 5 ? 1 : 1e-3);
        for (int d = 0; d < m / 2; d++) duplicate(&p, (int)lt_rng_below(&r, (uint64_t)m), (int)lt_rng_below(&r, (uint64_t)m));
        if (k % 2) qp_case_steering(&p, m / 2);
        else qp_case_stationarity(&p, m / 4, m - m / 2, k % 4 ? 1e-5 : 1);
        check(&p, "duplicates");
        qp_case_free(&p);
    }
}

/* Every off-diagonal constraint comes twice; far from orthogonal, most multipliers reach a bound. */
LT_TEST(orthogonality_constraints)
{
    for (int k = 0; k < 8; k++) {
        int side = 3 + 2 * k;
        qp_case p = qp_case_make(side * side);
        qp_case_orthogonality(&p, side, 22, k % 2 ? 0.05 : 0.4, 0);
        check(&p, "orthogonality");
        for (int i = 0; i < p.m; i++) p.c[i] *= 30;
        check(&p, "orthogonality, scaled");
        qp_case_free(&p);
    }
}

LT_TEST(all_free_and_all_bound)
{
    lt_rng r = lt_rng_seed(23);
    for (int k = 0; k < 60; k++) {
        int m = 1 + (int)lt_rng_below(&r, k % 10 ? 20 : 200);
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, m, 1, 1);
        for (int i = 0; i < m; i++) *entry(&p, i, i) += 0.1 * m; /* well conditioned, so that y itself can be compared */
        qp_case_steering(&p, m);
        /* built from the answer: c = -Q y with y inside */
        double want[200];
        for (int i = 0; i < m; i++) want[i] = 1.8 * lt_rng_uniform(&r) - 0.9;
        for (int i = 0; i < m; i++) {
            p.c[i] = 0;
            for (int j = 0; j < m; j++) p.c[i] -= *entry(&p, i, j) * want[j];
        }
        check(&p, "all free");
        for (int i = 0; i < m; i++) LT_CHECK_NEAR(p.y[i], want[i], 1e-12);
        /* and on corners, with multipliers of the right sign */
        for (int i = 0; i < m; i++) want[i] = lt_rng_below(&r, 2) ? 1 : -1;
        for (int i = 0; i < m; i++) {
            p.c[i] = -want[i] * (0.1 + lt_rng_uniform(&r));
            for (int j = 0; j < m; j++) p.c[i] -= *entry(&p, i, j) * want[j];
        }
        check(&p, "all bound");
        for (int i = 0; i < m; i++) LT_CHECK(p.y[i] == want[i]);
        qp_case_free(&p);
    }
}

/* Corners where some multipliers are exactly zero: whole numbers, so that nothing rounds. */
LT_TEST(degenerate_corners)
{
    lt_rng r = lt_rng_seed(24);
    for (int k = 0; k < 400; k++) {
        int m = 1 + (int)lt_rng_below(&r, 25), rank = 1 + (int)lt_rng_below(&r, 4);
        qp_case p = qp_case_make(m);
        int g[25][4], want[25];
        for (int i = 0; i < m; i++)
            for (int d = 0; d < rank; d++) g[i][d] = (int)lt_rng_below(&r, 5) - 2;
        for (int i = 0; i < m; i++) want[i] = (int)lt_rng_below(&r, 2);
        bool sum = k % 2;
        if (sum) qp_case_stationarity(&p, 0, m, 4);
        else qp_case_steering(&p, 0);
        for (int i = 0; i < m; i++) p.upper[i] = sum ? 4 : 1;
        if (sum)
            for (int i = 0; i < m; i++) want[i] = i == 0 ? 4 : 0;
        for (int i = 0; i < m; i++) {
            int multiplier = (int)lt_rng_below(&r, 3), row = 0;
            for (int j = 0; j < m; j++) {
                int dot = 0;
                for (int d = 0; d < rank; d++) dot += g[i][d] * g[j][d];
                *entry(&p, i, j) = dot;
                row += dot * want[j];
            }
            p.c[i] = (want[i] ? -multiplier : multiplier) - row;
            if (sum) p.c[i] = multiplier * (i > 0) - row; /* nu = 0 */
        }
        check(&p, "degenerate");
        qp_case_free(&p);
    }
}

LT_TEST(forced_sums_and_fixed_entries)
{
    lt_rng r = lt_rng_seed(25);
    for (int k = 0; k < 100; k++) {
        int m = 2 + (int)lt_rng_below(&r, 15);
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, 1 + (int)lt_rng_below(&r, (uint64_t)m), 1, 1);
        qp_case_stationarity(&p, 1, m - 1, 1);
        double least = 0, most = 0;
        for (int i = 1; i < m; i++) {
            if (k % 3 == 0 && i % 2) p.upper[i] = p.lower[i] = 0.25;
            least += p.lower[i];
            most += p.upper[i];
        }
        p.mu = k % 2 ? least : most; /* every member stands at a bound */
        check(&p, "forced");
        p.mu = least + 0.3 * (most - least);
        if (most > least) check(&p, "fixed");
        for (int i = 0; i < m; i++) p.upper[i] = p.lower[i];
        p.mu = least;
        check(&p, "nothing to choose");
        qp_case_free(&p);
    }
}

LT_TEST(zero_matrices_and_zero_terms)
{
    for (int m = 1; m < 12; m++) {
        qp_case p = qp_case_make(m);
        qp_case_steering(&p, m / 2);
        check(&p, "nothing at all");
        for (int i = 0; i < m; i++) p.c[i] = i % 3 - 1;
        check(&p, "linear");
        for (int i = 0; i < m; i++) LT_CHECK(p.c[i] == 0 || p.y[i] == (p.c[i] > 0 ? p.lower[i] : 1));
        qp_case_stationarity(&p, 0, m, 1e-8);
        check(&p, "linear with a sum");
        for (int i = 0; i < m; i++) p.c[i] = -(double)i;
        p.upper[m - 1] = 0.75e-8;
        if (m > 1) check(&p, "linear with a sum and a limit");
        if (m > 2) LT_CHECK(p.y[m - 1] == 0.75e-8 && p.y[0] == 0);
        qp_case_free(&p);
    }
}

/* Q = G'HG with H of condition 1e20: its noise makes Q indefinite by about eps. */
LT_TEST(noisy_matrices)
{
    lt_rng r = lt_rng_seed(26);
    for (int k = 0; k < 120; k++) {
        int m = 2 + (int)lt_rng_below(&r, k % 10 ? 25 : 150), n = 1 + (int)lt_rng_below(&r, (uint64_t)m);
        qp_case p = qp_case_make(m);
        for (int j = 0; j < m; j++)
            for (int d = 0; d < n; d++) p.factor[(size_t)j * (size_t)n + (size_t)d] = lt_rng_normal(&r) * pow(10, -10.0 * d / n);
        for (int i = 0; i < m; i++)
            for (int j = 0; j <= i; j++) {
                double sum = 0;
                for (int d = 0; d < n; d++) sum += p.factor[(size_t)i * (size_t)n + (size_t)d] * p.factor[(size_t)j * (size_t)n + (size_t)d];
                sum += 2e-16 * n * lt_rng_normal(&r);
                *entry(&p, i, j) = *entry(&p, j, i) = sum;
            }
        for (int i = 0; i < m; i++) p.c[i] = lt_rng_normal(&r) * pow(10, -6 * lt_rng_uniform(&r));
        if (k % 2) qp_case_steering(&p, m / 2);
        else qp_case_stationarity(&p, 0, m / 2 + 1, pow(10, -(k % 9)));
        check(&p, "noisy");
        qp_case_free(&p);
    }
}

LT_TEST(entries_without_bounds)
{
    lt_rng r = lt_rng_seed(27);
    for (int k = 0; k < 100; k++) {
        int m = 1 + (int)lt_rng_below(&r, 20);
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, m, 1, 1);
        qp_case_steering(&p, m / 2);
        if (k % 2) p.has_sum = true, p.mu = 1;
        for (int i = 0; i < m; i++) {
            p.members[i] = p.has_sum;
            if (lt_rng_below(&r, 2)) p.lower[i] = -INFINITY;
            if (i == 0 || lt_rng_below(&r, 2)) p.upper[i] = INFINITY;
        }
        check(&p, "unbounded box");
        qp_case_free(&p);
    }
}

LT_TEST(objectives_that_fall_for_ever)
{
    qp_case p = qp_case_make(3);
    *entry(&p, 0, 0) = 1;
    p.c[0] = 1, p.c[1] = -1;
    p.upper[1] = INFINITY;
    lt_qp_info info = solve(&p, NULL);
    LT_CHECK(info.status == LT_QP_FAILED && info.cause == LT_QP_CAUSE_UNBOUNDED);
    p.c[1] = 0; /* flat, not falling */
    check(&p, "flat");
    qp_case_free(&p);
    qp_case one = qp_case_make(1);
    one.c[0] = -1, one.upper[0] = INFINITY;
    info = solve(&one, NULL);
    LT_CHECK(info.status == LT_QP_FAILED && info.cause == LT_QP_CAUSE_UNBOUNDED);
    qp_case_free(&one);
}

LT_TEST(not_convex)
{
    qp_case p = qp_case_make(3);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) *entry(&p, i, j) = i == j ? 1 : 2;
    qp_case_steering(&p, 3);
    lt_qp_info info = solve(&p, NULL);
    LT_CHECK(info.status == LT_QP_FAILED && info.cause == LT_QP_CAUSE_NONCONVEX);
    qp_case_free(&p);
}

LT_TEST(iteration_limit)
{
    lt_rng r = lt_rng_seed(28);
    lt_qp_options opt = lt_qp_defaults();
    opt.max_iterations = 1;
    opt.method = LT_QP_ACTIVE_SET;
    qp_case p = qp_case_make(60);
    qp_case_random(&p, &r, 20, 1, 5);
    qp_case_steering(&p, 30);
    lt_qp_info info = solve(&p, &opt);
    LT_CHECK(info.status == LT_QP_INACCURATE && info.cause == LT_QP_CAUSE_ITERATIONS && info.residual > 1e-12);
    for (int i = 0; i < p.m; i++) LT_CHECK(p.y[i] >= p.lower[i] && p.y[i] <= p.upper[i]);
    qp_case_free(&p);
}

/* Multiplying everything by a power of two changes nothing but the scale. */
LT_TEST(scales_of_everything)
{
    static const double scales[] = { 0x1p-300, 0x1p-60, 0x1p60, 0x1p300 };
    lt_rng r = lt_rng_seed(29);
    for (int k = 0; k < 40; k++) {
        int m = 1 + (int)lt_rng_below(&r, 20);
        qp_case p = qp_case_make(m);
        double y[20], scale = scales[k % 4];
        qp_case_random(&p, &r, 1 + (int)lt_rng_below(&r, (uint64_t)m), 1, 1);
        if (k % 8 < 4) qp_case_steering(&p, m / 2);
        else qp_case_stationarity(&p, 0, m, 0.5);
        lt_qp_info info = solve(&p, NULL);
        LT_CHECK_EQ_INT(info.status, LT_QP_OK);
        memcpy(y, p.y, (size_t)m * sizeof *y);
        for (int i = 0; i < m * m; i++) p.q[i] *= scale;
        for (int i = 0; i < m; i++) p.c[i] *= scale;
        check(&p, "scaled");
        solve(&p, NULL);
        for (int i = 0; i < m; i++) LT_CHECK_NEAR(p.y[i], y[i], 1e-14);
        qp_case_free(&p);
    }
}

/* What rounding does to Q = G'HG where H has lost its digits: errors of any size beside the entries. The shift is reported, and the
   answer is that of the shifted problem, checked by code of its own. */
LT_TEST(noise_that_breaks_convexity_is_shifted_away)
{
    lt_rng r = lt_rng_seed(31);
    int n_shifted = 0;
    for (int k = 0; k < 400; k++) {
        int m = 2 + (int)lt_rng_below(&r, k % 20 ? 24 : 150);
        double noise = pow(10, -14 + 15 * lt_rng_uniform(&r));
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, 1 + m / 3, k % 3 ? 1 : 1e-4, k % 5 ? 1 : 1e-6);
        for (int i = 0; i < m; i++)
            for (int j = 0; j <= i; j++) *entry(&p, i, j) = *entry(&p, j, i) = *entry(&p, i, j) + noise * lt_rng_normal(&r);
        if (k % 2) qp_case_steering(&p, m / 2);
        else qp_case_stationarity(&p, m / 4, m - m / 2, k % 4 ? 1e-5 : 1);
        lt_qp_options opt = lt_qp_defaults();
        opt.max_shift = 1;
        lt_qp_info info = solve(&p, &opt);
        for (int i = 0; i < m; i++) *entry(&p, i, i) += info.shift;
        double sum_error, v = qp_case_violation(&p, p.y, &sum_error);
        n_shifted += info.shift > 0;
        if (info.status != LT_QP_OK || !(v <= 1e-12) || !(sum_error <= 1e-14) || !(info.shift <= 100 * noise * sqrt(m)))
            LT_TEST_FAIL("m=%d, noise %.1e: %s (%s), violation %.2e, sum %.2e, shift %.2e", m, noise, lt_qp_status_name(info.status),
                         lt_qp_cause_name(info.cause), v, sum_error, info.shift);
        qp_case_free(&p);
    }
    LT_CHECK(n_shifted > 100);
}

/* Convex ones are left as they are, with and without leave to shift. */
LT_TEST(convex_problems_are_not_shifted)
{
    lt_rng r = lt_rng_seed(32);
    for (int k = 0; k < 100; k++) {
        int m = 1 + (int)lt_rng_below(&r, 40);
        qp_case p = qp_case_make(m);
        qp_case_random(&p, &r, 1 + m / 2, 1, 1);
        qp_case_steering(&p, m / 2);
        lt_qp_options opt = lt_qp_defaults();
        double *strict = malloc((size_t)m * sizeof *strict);
        (void)solve(&p, &opt);
        memcpy(strict, p.y, (size_t)m * sizeof *strict);
        opt.max_shift = 1;
        lt_qp_info info = solve(&p, &opt);
        LT_CHECK(info.shift == 0 && !memcmp(strict, p.y, (size_t)m * sizeof *strict));
        free(strict);
        qp_case_free(&p);
    }
}

/* Samples that lie close together: all of them depend on one but for rounding, which a method that changes one entry at a time follows for
   thousands of steps. Few steps are asked for, not little time. */
LT_TEST(nearly_parallel_columns_take_few_steps)
{
    enum { SIDE = 24, SAMPLES = 2 };
    static const double steps[] = { 1e-7, 1e-12 }, noises[] = { 1e-11, 1e-12, 1e-14, 0 };
    for (int k = 0; k < 8; k++) {
        qp_case p = qp_case_make(SAMPLES * (1 + SIDE * (SIDE + 1) / 2));
        qp_case_nearby_samples(&p, SIDE, SAMPLES, 33, steps[k % 2], noises[k / 2]);
        lt_qp_options opt = lt_qp_defaults();
        opt.max_shift = 1;
        lt_qp_info info = solve(&p, &opt);
        for (int i = 0; i < p.m; i++) *entry(&p, i, i) += info.shift;
        double sum_error, v = qp_case_violation(&p, p.y, &sum_error);
        if (info.status != LT_QP_OK || !(v <= 1e-12) || !(sum_error <= 1e-14) || info.iterations > 250 || info.interior_iterations > 60)
            LT_TEST_FAIL("step %.0e, noise %.0e: %s (%s), violation %.2e, sum %.2e, shift %.2e, %d + %d iterations", steps[k % 2], noises[k / 2],
                         lt_qp_status_name(info.status), lt_qp_cause_name(info.cause), v, sum_error, info.shift, info.iterations,
                         info.interior_iterations);
        qp_case_free(&p);
    }
}

LT_TEST_MAIN()
