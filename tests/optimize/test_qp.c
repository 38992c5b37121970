/* Quadratic programs: random ones of every size against the optimality conditions, warm starts,
   repeatability, refused input. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "lt_test.h"
#include "optimize/qp_check.h"

#include <pthread.h>

static const int sizes[] = { 1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 31, 50, 77, 100, 150, 200, 300, 301, 500 };
static const double mus[] = { 1e-8, 1e-6, 1e-4, 1e-2, 1, 10, 1e2, 1e4 };
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_MUS = sizeof mus / sizeof *mus };

static lt_qp_info solve_from(const qp_case *p, lt_qp *qp, const double *start, bool warm)
{
    lt_qp_info info = { .size = sizeof info, .status = LT_QP_FAILED };
    lt_qp_problem problem = qp_case_problem(p);
    problem.start = start;
    problem.warm = warm;
    LT_CHECK_OK(lt_qp_solve(qp, &problem, p->y, &info));
    return info;
}

static lt_qp_info solve_cold(const qp_case *p, lt_qp *qp)
{
    LT_CHECK_OK(lt_qp_set_matrix(qp, p->m, p->q, p->m));
    return solve_from(p, qp, NULL, false);
}

static void check_answer(const qp_case *p, const lt_qp_info *info, const char *what)
{
    double sum_error, v = qp_case_violation(p, p->y, &sum_error);
    if (!(v <= 1e-12) || !(sum_error <= 1e-14) || info->status != LT_QP_OK || !(info->residual <= 1e-12))
        LT_TEST_FAIL("%s m=%d rank=%d mu=%g: %s (%s), violation %.2e (reported %.2e), sum %.2e, %d free, %d + %d iterations", what, p->m,
                     p->rank, p->mu, lt_qp_status_name(info->status), lt_qp_cause_name(info->cause), v, info->residual, sum_error,
                     info->n_free, info->iterations, info->interior_iterations);
    LT_CHECK_NEAR(info->objective, qp_case_objective(p, p->y), 1e-12 * fmax(1, info->sigma * fmax(1, p->mu) * fmax(1, p->mu)));
}

/* Problem k of a size: every third with columns of very different length, any rank, c from 1e-4 to 1e2. */
static void make_random(qp_case *p, lt_rng *r, int k, bool sum)
{
    int m = p->m, rank = 1 + (int)lt_rng_below(r, (uint64_t)m + 3);
    qp_case_random(p, r, rank, k % 3 ? 1 : 1e-4, pow(10, lt_rng_uniform(r) * 6 - 4));
    if (!sum) {
        qp_case_steering(p, (int)lt_rng_below(r, (uint64_t)m + 1));
        return;
    }
    int samples = 1 + (int)lt_rng_below(r, (uint64_t)m);
    qp_case_stationarity(p, (int)lt_rng_below(r, (uint64_t)(m - samples + 1)), samples, mus[k % N_MUS]);
}

static void run_random(uint64_t seed, bool sum, const lt_qp_options *opt)
{
    lt_qp *qp;
    lt_rng r = lt_rng_seed(seed);
    LT_CHECK_OK(lt_qp_create(500, opt, &qp));
    for (int s = 0; s < N_SIZES; s++) {
        int m = sizes[s], repeats = m <= 20 ? 80 : m <= 100 ? 16 : 3;
        qp_case p = qp_case_make(m);
        for (int k = 0; k < repeats; k++) {
            make_random(&p, &r, k, sum);
            lt_qp_info info = solve_cold(&p, qp);
            check_answer(&p, &info, sum ? "sum" : "box");
        }
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
}

LT_TEST(random_box) { run_random(1, false, NULL); }
LT_TEST(random_sum) { run_random(2, true, NULL); }

LT_TEST(random_interior)
{
    lt_qp_options opt = lt_qp_defaults();
    opt.method = LT_QP_INTERIOR;
    run_random(3, false, &opt);
    run_random(4, true, &opt);
}

LT_TEST(random_active_set)
{
    lt_qp_options opt = lt_qp_defaults();
    opt.method = LT_QP_ACTIVE_SET;
    run_random(5, false, &opt);
    run_random(6, true, &opt);
}

/* From the answer, and from the answer of a slightly different problem: the same optimum, and over
   all problems far fewer iterations. */
LT_TEST(warm_starts)
{
    lt_qp *qp;
    lt_rng r = lt_rng_seed(7);
    int cold = 0, same = 0, near = 0;
    LT_CHECK_OK(lt_qp_create(200, NULL, &qp));
    for (int k = 0; k < 120; k++) {
        int m = 5 + (int)lt_rng_below(&r, k % 10 ? 40 : 190);
        qp_case p = qp_case_make(m);
        make_random(&p, &r, k, k % 2);
        lt_qp_info first = solve_cold(&p, qp);
        cold += first.iterations;
        LT_CHECK_OK(lt_qp_set_matrix(qp, m, p.q, m));
        lt_qp_info again = solve_from(&p, qp, k % 4 < 2 ? p.y : NULL, k % 4 >= 2);
        check_answer(&p, &again, "same");
        LT_CHECK_NEAR(again.objective, first.objective, 1e-12 * first.sigma * fmax(1, p.mu * p.mu));
        same += again.iterations;
        for (int i = 0; i < m; i++)
            if (!p.members[i]) p.c[i] *= 1 + 1e-5 * lt_rng_normal(&r);
        again = solve_from(&p, qp, NULL, true);
        check_answer(&p, &again, "near");
        near += again.iterations;
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
    LT_CHECK(4 * same < cold);
    LT_CHECK(2 * near < cold);
}

/* One steering call: a matrix, 12 linear terms along a line. */
LT_TEST(line_of_linear_terms)
{
    lt_qp *qp;
    lt_rng r = lt_rng_seed(8);
    int first = 0, rest = 0;
    LT_CHECK_OK(lt_qp_create(150, NULL, &qp));
    for (int k = 0; k < 30; k++) {
        int m = 3 + (int)lt_rng_below(&r, 140);
        qp_case p = qp_case_make(m);
        double *slope = calloc((size_t)m, sizeof *slope), *base = calloc((size_t)m, sizeof *base), mu = 1;
        make_random(&p, &r, k, false);
        for (int i = 0; i < m; i++) {
            base[i] = p.c[i];
            slope[i] = p.c[i] * lt_rng_normal(&r);
        }
        LT_CHECK_OK(lt_qp_set_matrix(qp, m, p.q, m));
        for (int step = 0; step < 12; step++, mu *= 0.9) {
            for (int i = 0; i < m; i++) p.c[i] = base[i] + mu * slope[i];
            lt_qp_info info = solve_from(&p, qp, NULL, step > 0);
            check_answer(&p, &info, "line");
            *(step ? &rest : &first) += info.iterations;
        }
        free(slope), free(base);
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
    LT_CHECK(rest < 4 * first); /* 11 solves against one */
}

/* ---- repeatability --------------------------------------------------------------- */

typedef struct run_all {
    double hash;
    int    bad;
} run_all;

static void *run_sequence(void *context)
{
    run_all *out = context;
    lt_qp *qp = NULL;
    lt_rng r = lt_rng_seed(9);
    out->bad = lt_qp_create(120, NULL, &qp) != LT_OK;
    for (int k = 0; k < 40 && !out->bad; k++) {
        qp_case p = qp_case_make(1 + (int)lt_rng_below(&r, 120));
        lt_qp_info info = { .size = sizeof info };
        make_random(&p, &r, k, k % 2);
        lt_qp_problem problem = qp_case_problem(&p);
        out->bad |= lt_qp_set_matrix(qp, p.m, p.q, p.m) || lt_qp_solve(qp, &problem, p.y, &info) || info.status;
        for (int i = 0; i < p.m; i++) out->hash = out->hash * 0.75 + p.y[i] * (1 + i);
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
    return NULL;
}

LT_TEST(threads_repeat_bit_for_bit)
{
    pthread_t thread[3];
    run_all got[4] = { 0 };
    run_sequence(&got[3]);
    for (int t = 0; t < 3; t++) LT_CHECK(pthread_create(&thread[t], NULL, run_sequence, &got[t]) == 0);
    for (int t = 0; t < 3; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < 4; t++) LT_CHECK(!got[t].bad && memcmp(&got[t].hash, &got[3].hash, 8) == 0);
}

/* The answer does not depend on what the workspace solved before. */
LT_TEST(history_leaves_no_trace)
{
    lt_qp *used, *fresh;
    lt_rng r = lt_rng_seed(10);
    LT_CHECK_OK(lt_qp_create(60, NULL, &used));
    for (int k = 0; k < 40; k++) {
        qp_case p = qp_case_make(1 + (int)lt_rng_below(&r, 60));
        make_random(&p, &r, k, k % 2);
        solve_cold(&p, used);
        double *y = malloc((size_t)p.m * sizeof *y);
        memcpy(y, p.y, (size_t)p.m * sizeof *y);
        LT_CHECK_OK(lt_qp_create(60, NULL, &fresh));
        solve_cold(&p, fresh);
        LT_CHECK(memcmp(y, p.y, (size_t)p.m * sizeof *y) == 0);
        lt_qp_destroy(fresh);
        free(y);
        qp_case_free(&p);
    }
    lt_qp_destroy(used);
}

/* ---- memory ------------------------------------------------------------------------ */

LT_TEST(allocates_only_when_created)
{
    int64_t live = lt_alloc_live();
    lt_qp *qp;
    for (int64_t n = 1; n <= 3; n++) {
        lt_alloc_fail_at(n);
        LT_CHECK(lt_qp_create(10, NULL, &qp) == LT_ERR_MEMORY && !qp);
        lt_alloc_fail_at(0);
    }
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
    LT_CHECK_OK(lt_qp_create(400, NULL, &qp));
    int64_t made = lt_alloc_count();
    lt_rng r = lt_rng_seed(11);
    qp_case p = qp_case_make(400);
    make_random(&p, &r, 0, true);
    lt_qp_info info = solve_cold(&p, qp);
    LT_CHECK_EQ_INT(info.status, LT_QP_OK);
    LT_CHECK_EQ_INT(lt_alloc_count(), made);
    qp_case_free(&p);
    lt_qp_destroy(qp);
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
}

/* ---- refused input -------------------------------------------------------------------- */

LT_TEST(refused_workspaces)
{
    lt_qp *qp;
    lt_qp_options opt = lt_qp_defaults();
    LT_CHECK_FAILS(lt_qp_create(0, NULL, &qp), LT_ERR_ARGUMENT, "0 variables");
    LT_CHECK_FAILS(lt_qp_create(LT_QP_MAX_SIZE + 1, NULL, &qp), LT_ERR_ARGUMENT, "expected 1 to");
    LT_CHECK_FAILS(lt_qp_create(3, NULL, NULL), LT_ERR_ARGUMENT, "NULL");
    opt.tolerance = NAN;
    LT_CHECK_FAILS(lt_qp_create(3, &opt, &qp), LT_ERR_ARGUMENT, "tolerance");
    opt = lt_qp_defaults(), opt.max_iterations = -1;
    LT_CHECK_FAILS(lt_qp_create(3, &opt, &qp), LT_ERR_ARGUMENT, "max_iterations");
    opt = lt_qp_defaults(), opt.interior_above = -1;
    LT_CHECK_FAILS(lt_qp_create(3, &opt, &qp), LT_ERR_ARGUMENT, "interior_above");
    opt = lt_qp_defaults(), opt.method = LT_QP_METHOD_COUNT;
    LT_CHECK_FAILS(lt_qp_create(3, &opt, &qp), LT_ERR_ARGUMENT, "method");
    LT_CHECK(qp == NULL);
    lt_qp_destroy(NULL);
    lt_qp_forget(NULL);
}

LT_TEST(refused_matrices)
{
    lt_qp *qp;
    double q[4] = { 1, 0, 0, 1 };
    LT_CHECK_OK(lt_qp_create(2, NULL, &qp));
    LT_CHECK_FAILS(lt_qp_set_matrix(NULL, 2, q, 2), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, NULL, 2), LT_ERR_ARGUMENT, "Q is NULL");
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 0, q, 2), LT_ERR_ARGUMENT, "m = 0");
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 3, q, 3), LT_ERR_ARGUMENT, "1 to 2");
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, q, 1), LT_ERR_ARGUMENT, "apart");
    q[1] = NAN;
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, q, 2), LT_ERR_ARGUMENT, "Q(1, 0) is nan");
    q[1] = INFINITY;
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, q, 2), LT_ERR_ARGUMENT, "Q(1, 0) is inf");
    q[1] = 0.5;
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, q, 2), LT_ERR_ARGUMENT, "symmetric");
    q[1] = 0, q[3] = -1;
    LT_CHECK_FAILS(lt_qp_set_matrix(qp, 2, q, 2), LT_ERR_ARGUMENT, "semidefinite");
    lt_qp_destroy(qp);
}

LT_TEST(refused_problems)
{
    double q[4] = { 1, 0, 0, 1 }, c[2] = { 0, 0 }, lower[2] = { 0, 0 }, upper[2] = { 1, 1 }, y[2] = { 7, 7 };
    uint8_t members[2] = { 1, 1 };
    lt_qp_problem good = { .c = c, .lower = lower, .upper = upper, .members = members, .mu = 1 }, p = good;
    lt_qp_info info = { .size = sizeof info };
    lt_qp *qp;
    LT_CHECK_OK(lt_qp_create(2, NULL, &qp));
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "no matrix");
    LT_CHECK_OK(lt_qp_set_matrix(qp, 2, q, 2));
    LT_CHECK_FAILS(lt_qp_solve(NULL, &p, y, &info), LT_ERR_ARGUMENT, "workspace is NULL");
    LT_CHECK_FAILS(lt_qp_solve(qp, NULL, y, &info), LT_ERR_ARGUMENT, "problem is NULL");
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, NULL, &info), LT_ERR_ARGUMENT, "y is NULL");
    p.c = NULL;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "c is NULL");
    p = good, p.lower = NULL;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "lower is NULL");
    p = good, p.upper = NULL;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "upper is NULL");
    p = good, p.mu = NAN;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "mu is nan");
    LT_CHECK(info.status == LT_QP_FAILED && info.cause == LT_QP_CAUSE_INPUT);
    p.mu = 2.5;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "cannot sum to 2.5");
    LT_CHECK(info.cause == LT_QP_CAUSE_INFEASIBLE && strcmp(lt_qp_cause_name(info.cause), "infeasible") == 0);
    p.mu = -0.5;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "allow 0 to 2");
    members[0] = members[1] = 0;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "allow 0 to 0");
    p = good, lower[1] = 2;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "entry 1 are 2 and 1");
    lower[1] = NAN;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "lower <= upper");
    lower[1] = upper[1] = INFINITY;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "no number lies between");
    lower[1] = 0, upper[1] = 1, c[0] = INFINITY;
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "c[0] is inf");
    c[0] = 0, p.start = (double[2]){ 0, NAN };
    LT_CHECK_FAILS(lt_qp_solve(qp, &p, y, &info), LT_ERR_ARGUMENT, "start[1]");
    LT_CHECK(y[0] == 7 && y[1] == 7);
    members[0] = members[1] = 1;
    LT_CHECK_OK(lt_qp_solve(qp, &good, y, NULL));
    LT_CHECK_NEAR(y[0], 0.5, 1e-15);
    LT_CHECK_NEAR(y[1], 0.5, 1e-15);
    lt_qp_destroy(qp);
    LT_CHECK(strcmp(lt_qp_status_name(LT_QP_STATUS_COUNT), "?") == 0 && strcmp(lt_qp_cause_name(LT_QP_CAUSE_COUNT), "?") == 0);
    LT_CHECK(strcmp(lt_qp_status_name(LT_QP_INACCURATE), "inaccurate") == 0);
}

LT_TEST_MAIN()
