/* The example problems of the optimizer as plain functions with gradients written by hand.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_SOLVE_PROBLEMS_H
#define LT_SOLVE_PROBLEMS_H

#include "lathe/solve.h"

typedef struct example {
    const char *name;
    int64_t n, p, q;
    lt_problem_fn fn;
    double *x0;
    double *A, *b;          /* data, by problem */
    int64_t m, d;           /* sizes, by problem */
    double  constant, best; /* a parameter; the known optimum (NaN: none) */
    _Atomic int64_t n_values, n_gradients; /* calls that asked for them, by any thread */
} example;

example *example_rosenbrock(double x1, double x2);  /* A1 */
example *example_dictionary(void);                  /* A3 */
example *example_feasibility(double constant);      /* B1: y - exp(-x) + constant <= 0; -3 as coded */
example *example_sphere(int64_t n, double sign);    /* B2: sign -1; with +1 the smoke run */
example *example_trace(int64_t d);                  /* B3 */
example *example_robust_pca(void);                  /* C1 */
example *example_total_variation(void);             /* C2 */
example *example_logistic(double C);                /* C3 */
void     example_free(example *e);
lt_problem *example_problem(example *e);            /* NULL when it cannot be made */

#endif
