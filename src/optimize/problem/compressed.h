/* Gradients of constraints that touch few variables each: several rows in one, where they have none in common (compressed.c, decision 330).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_COMPRESSED_H
#define LT_OPTIMIZE_PROBLEM_COMPRESSED_H

#include "optimize/problem/evaluator.h"
#include "optimize/sparse/csr.h"

typedef struct lt_compressed {
    lt_csr   a;              /* equalities, then inequalities */
    int64_t  n_groups;
    int32_t *group;          /* by row: rows of one group have no variable in common, so their sum has all their entries */
} lt_compressed;

/* The same problem with gradients of constraints as entries of its pattern (lt_outputs.grad_ce has those of all constraints, grad_ci none), made once and
   the problem's own. LT_ERR_UNSUPPORTED, with a reason: its constraints do not have such gradients. */
lt_status lt_problem_sparse(lt_problem *p, lt_problem **out);
void      lt_compressed_destroy(lt_compressed *c);
void      lt_compressed_gather(const lt_compressed *c, const double *groups, double *entries); /* groups: n numbers for each */

#endif
