/* Bounds of the variables in a run: no point outside is evaluated, and quadratic programs have them as rows of their own (bounds.c, boxed.c;
   decisions 242 and 243). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_BOUNDS_H
#define LT_OPTIMIZE_BOUNDS_H

#include "optimize/point.h"
#include "optimize/subproblem.h"

typedef struct lt_bounds {
    const struct lt_problem_bounds *from;
    const double *lower, *upper; /* n, infinite where there is none; NULL: the run has no bounds */
    bool    rows;            /* programs have them as rows: H is full, or the identity; else variables at a bound are held */
    int64_t n_moved;         /* entries of the start that were outside */
    uint8_t *held;           /* n: variables at a bound that the certificate's combination presses against it */
    uint8_t *free;           /* n, without rows: the others; NULL with rows */
    /* ---- programs with rows (boxed.c) ---- */
    double  *base;           /* the program without them: Q, then linear, lower, upper and y */
    uint8_t *member;
    int64_t  capacity;       /* variables that there is room for */
    int64_t *variable;       /* 2 n: of row k, */
    double  *sign;           /*   1 upper, -1 lower */
    uint8_t *listed;         /* n: 1 lower, 2 upper are rows already */
    double  *d;              /* n */
} lt_bounds;

static inline bool lt_bounded(const struct lt_bounds *b) { return b->lower != NULL; }

lt_status lt_bounds_create(lt_run *r);
int64_t lt_bounds_count(const lt_run *r);                      /* that are finite */
void   lt_bounds_start(lt_run *r, double *x);                 /* inside; says whether it was not */
/* Vectors of n numbers on the host. */
void   lt_bounds_project(const lt_run *r, double *x);
void   lt_bounds_step(const lt_run *r, double t, double *x);  /* x = cur + t d, inside */
void   lt_bounds_block(const lt_run *r, double *d);           /* entries that lead outside from cur become 0 */
double lt_bounds_slope(const lt_run *r, const lt_point *p);   /* along d at p, where entries of d that leave p are cut off */
/* At cur, where H has no rows: products with it are of the free variables from here on. */
void   lt_bounds_mark_free(lt_run *r);

/* Entries of a combination whose variables are not free become 0; the length of those that would leave their bound. */
double lt_bounds_mask(const lt_run *r, double *sum);

/* What is left of a combination of gradients when bounds press against it: at a bound, entries that they balance become 0 and go to z (may be
   NULL: not negative, lower minus upper). Returns the length of what bounds near x cost: z times the way to them. */
double lt_bounds_balance(const lt_run *r, double *sum, double *z);
/* Which entries of cur's combination these are; true: others than before. */
bool   lt_bounds_hold(lt_run *r, const double *sum);

/* ---- output/bounds_out.c ---- */
int64_t   lt_bounds_row(const lt_run *r, int64_t j);   /* which inequality of the caller's problem the run's j-th is */
lt_status lt_bounds_report(const lt_run *r, lt_solution *s); /* rows that are bounds stand in the solution like the others, with multipliers */

/* ---- programs with rows ---- */
typedef struct lt_boxed {
    int64_t m;               /* variables without rows; s->linear, lower, upper and member are set for them */
    const double *Q;         /* m x m, */
    int64_t stride;
    bool    weighted;        /* by H; false: by the identity */
    const double *const *HG; /* m: H times their gradients */
    double  c;               /* d = c a - HG y - H E z */
    const double *a;         /* NULL: c is 0 */
} lt_boxed;
/* Rows are added until x + d is inside; d is then exactly. False: a program failed. The answer: s->y for the m, bounds' multipliers in z (n, lower minus
   upper; may be NULL). */
bool lt_boxed_solve(lt_run *r, lt_subproblem *s, const lt_boxed *q, double sum, double *d, double *z);
lt_status lt_boxed_reserve(lt_run *r, lt_subproblem *s, int64_t m); /* and the rows that are likely */

#endif
