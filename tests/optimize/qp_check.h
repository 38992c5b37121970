/* Random quadratic programs and an independent check of their answers. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TESTS_OPTIMIZE_QP_CHECK_H
#define LT_TESTS_OPTIMIZE_QP_CHECK_H

#include "lathe/qp.h"
#include "lathe/rng.h"

/* One problem with everything it owns. */
typedef struct qp_case {
    int      m, rank;
    double  *q, *c, *lower, *upper, *y;
    uint8_t *members;   /* all zero without a sum constraint */
    bool     has_sum;
    double   mu;
    double  *factor;    /* (rank x m): Q = factor' factor */
} qp_case;

qp_case       qp_case_make(int m);
void          qp_case_free(qp_case *p);
lt_qp_problem qp_case_problem(const qp_case *p);

/* Q = G'G with G rank x m normal, columns scaled by scale^uniform; c normal times c_scale. */
void qp_case_random(qp_case *p, lt_rng *r, int rank, double column_scale, double c_scale);
/* The steering problem: the first `equalities` entries in [-1, 1], the others in [0, 1]. */
void qp_case_steering(qp_case *p, int equalities);
/* The stationarity problem: of `samples` members in [0, mu] that sum to mu, the rest as steering;
   c as there: constant over members. */
void qp_case_stationarity(qp_case *p, int first, int samples, double mu);

/* The constraints V'V = I for a random V near orthogonal, both triangles: m = k^2 entries, rank
   k(k+1)/2. step moves V a little from the V of step 0. */
void qp_case_orthogonality(qp_case *p, int k, uint64_t seed, double distance, double step);

/* V'V = I, one triangle, at `samples` points that lie `step` apart, each with the gradient of an objective as a member: m = samples (1 + k(k+1)/2)
   entries, of which a sample's worth is independent. noise is that of carrying Q from iteration to iteration, relative to its diagonal. */
void qp_case_nearby_samples(qp_case *p, int k, int samples, uint64_t seed, double step, double noise);

/* Largest violation of the optimality conditions over sigma, in extended precision and with its own
   multiplier search; INFINITY when a bound is violated at all. *sum_error as in lt_qp_info. */
double qp_case_violation(const qp_case *p, const double *y, double *sum_error);
/* The objective in extended precision. */
double qp_case_objective(const qp_case *p, const double *y);

#endif
