/* A run whose gradients of constraints are sparse rows: what stands in for dense gradients, their samples and their QPs (rows.c, decision 330).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SPARSE_ROWS_H
#define LT_OPTIMIZE_SPARSE_ROWS_H

#include "optimize/problem/evaluator.h"
#include "optimize/sparse/program.h"

typedef struct lt_run lt_run;
typedef struct lt_point lt_point;

typedef struct lt_sparse_rows {
    bool     on;
    const lt_csr *a;         /* of the constraints; values: lt_point.rows */
    lt_csr   whole;          /* those, then a row for each bound that is kept */
    int64_t  n_bounds;
    int32_t *bound;          /* by row after the constraints: which variable; the row's entry is 1 for an upper bound, -1 for a lower one */
    lt_sparse_program program;
    double  *value;          /* of `whole` */
    double  *memory;         /* of the vectors below: one number for each row of `whole`, but sum and d */
    double  *c, *u, *linear, *lower, *upper, *y, *square, *scale, *kkt, *multiplier;
    double  *sum, *d;        /* n */
    char     why[240];       /* why dense ones are used where sparse ones were to be considered; "" */
} lt_sparse_rows;

#define LT_SPARSE_PAIRS 20     /* of limited memory, where the option says full memory */

/* Whether this run is to have them: the problem with sparse gradients instead of *problem. Also completes the options that go with them. */
lt_status lt_rows_choose(lt_run *r, lt_problem **problem, lt_solve_options *opt);
lt_status lt_rows_create(lt_run *r);            /* after H */
void      lt_rows_release(lt_run *r);

/* ---- products with the gradients of the constraints at p ---- */
void lt_rows_add(const lt_run *r, const lt_point *p, const double *c, double *y); /* y += C'c, c of q + p numbers */
void lt_rows_dots(const lt_run *r, const lt_point *p, const double *x, double *out); /* C x */
void lt_rows_scale(const lt_run *r, lt_point *p, const double *scale);              /* row j times scale[1 + j] */
double lt_rows_norm(const lt_run *r, const lt_point *p, int64_t row);
/* The first row with an entry that is not finite and that entry; -1: none. */
int64_t lt_rows_not_finite(const lt_run *r, const lt_point *p, int64_t *entry);

/* ---- what the QPs are for ---- */
/* For directions from cur: WG is W grad f; weighted says whether W is H, or the identity. */
void lt_rows_begin(lt_run *r, bool weighted, const double *WG, double *u);
/* The direction for mu, with these values of the constraints; its multipliers in steering.sub.y. */
bool lt_rows_direction(lt_run *r, bool weighted, double mu, const double *c, const double *u, double *d);
/* The answer at hand becomes steering's multipliers, those of bounds with them; their combination of gradients at p. */
void lt_rows_keep_multipliers(lt_run *r);
void lt_rows_add_multipliers(const lt_run *r, const lt_point *p, double *out); /* out += C' times them */
void lt_rows_measure(lt_run *r);                /* stationarity at cur: the length of the direction there */
void lt_rows_certify(lt_run *r);                /* the KKT residual at cur, as lt_certify has it */

#endif
