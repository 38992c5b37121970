/* The QPs of steering and stationarity (subproblem.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SUBPROBLEM_H
#define LT_OPTIMIZE_SUBPROBLEM_H

#include "lathe/qp.h"
#include "lathe/solve.h"
#include "optimize/vectors/merge.h"

/* QPs with a workspace that grows when a larger one comes. */
typedef struct lt_subproblem {
    lt_qp  *qp;
    int64_t capacity;
    double *Q, *linear, *lower, *upper, *y, *start;
    uint8_t *member;
    const double **gradient; /* n numbers each: G in Q = G'WG */
    int64_t n;               /* 0: they are not at hand, and equal ones are not looked for */
    bool    members;         /* the entries with member set sum to mu */
    lt_merge merge;          /* of the matrix set last, where merged */
    int64_t m;
    bool    merged, matrix_ok;
    bool    mends;           /* a Q that rounding made nonconvex or unsymmetric is mended, not refused */
    int64_t n_solved, n_failed;
    int64_t time_ns;
} lt_subproblem;

lt_status lt_subproblem_reserve(lt_subproblem *s, int64_t m, const lt_solve_options *o);
void lt_subproblem_release(lt_subproblem *s);
/* Sets the matrix of the solves that follow; false when it is refused (then they fail). s->lower, upper,
   member and gradient are set already. Variables of one value and gradient will have one linear term.
   Q may be s->Q, and is then lost where variables are merged. */
bool lt_subproblem_set(lt_subproblem *s, int64_t m, const double *Q, int64_t stride, const double *value);
/* Solves with s->linear, lower, upper; with s->members, their sum is mu. */
bool lt_subproblem_solve(lt_subproblem *s, double mu, const double *start);

#endif
