/* Quadratic programs against the optimality conditions. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "optimize/qp_check.h"

static lt_qp_info solve_case(const qp_case *p, lt_qp *qp, bool warm, double *y)
{
    lt_qp_info info = { .status = LT_QP_FAILED };
    lt_qp_problem problem = qp_case_problem(p);
    problem.warm = warm;
    LT_CHECK_OK(lt_qp_solve(qp, &problem, y, &info));
    return info;
}

static void check_answer(const qp_case *p, const double *y, const lt_qp_info *info, const char *what)
{
    double sum_error, v = qp_case_violation(p, y, &sum_error);
    if (!(v <= 1e-12) || !(sum_error <= 1e-14) || info->status != LT_QP_OK)
        LT_TEST_FAIL("%s m=%d rank=%d mu=%g: %s (%s), violation %.2e (reported %.2e), sum %.2e, %d free, %d + %d iterations", what, p->m,
                     p->rank, p->mu, lt_qp_status_name(info->status), lt_qp_cause_name(info->cause), v, info->residual, sum_error,
                     info->n_free, info->iterations, info->interior_iterations);
}

static const int sizes[] = { 1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 31, 50, 77, 100, 150, 200, 300, 301, 500 };

LT_TEST(random_steering)
{
    lt_qp *qp;
    lt_rng r = lt_rng_seed(1);
    LT_CHECK_OK(lt_qp_create(500, NULL, &qp));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int m = sizes[s], repeats = m <= 20 ? 60 : m <= 100 ? 6 : 2;
        qp_case p = qp_case_make(m);
        for (int k = 0; k < repeats; k++) {
            int rank = 1 + (int)lt_rng_below(&r, (uint64_t)m + 3);
            qp_case_random(&p, &r, rank, k % 3 ? 1 : 1e-4, pow(10, lt_rng_uniform(&r) * 6 - 4));
            qp_case_steering(&p, (int)lt_rng_below(&r, (uint64_t)m + 1));
            LT_CHECK_OK(lt_qp_set_matrix(qp, m, p.q, m));
            lt_qp_info info = solve_case(&p, qp, false, p.y);
            check_answer(&p, p.y, &info, "steering");
        }
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
}

LT_TEST(random_stationarity)
{
    static const double mus[] = { 1e-8, 1e-6, 1e-4, 1e-2, 1, 10, 1e2, 1e4 };
    lt_qp *qp;
    lt_rng r = lt_rng_seed(2);
    LT_CHECK_OK(lt_qp_create(500, NULL, &qp));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int m = sizes[s], repeats = m <= 20 ? 80 : m <= 100 ? 16 : 2;
        qp_case p = qp_case_make(m);
        for (int k = 0; k < repeats; k++) {
            int rank = 1 + (int)lt_rng_below(&r, (uint64_t)m + 3), samples = 1 + (int)lt_rng_below(&r, (uint64_t)m);
            qp_case_random(&p, &r, rank, k % 3 ? 1 : 1e-4, pow(10, lt_rng_uniform(&r) * 6 - 4));
            qp_case_stationarity(&p, (int)lt_rng_below(&r, (uint64_t)(m - samples + 1)), samples, mus[(size_t)k % 8]);
            LT_CHECK_OK(lt_qp_set_matrix(qp, m, p.q, m));
            lt_qp_info info = solve_case(&p, qp, false, p.y);
            check_answer(&p, p.y, &info, "stationarity");
        }
        qp_case_free(&p);
    }
    lt_qp_destroy(qp);
}

LT_TEST_MAIN()
