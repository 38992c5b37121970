/* Quadratic programs whose matrix is A W A' with sparse rows A: what the QPs of a run are where constraints touch few variables each.

       minimise 1/2 y'(A W A' + D) y + c'y   subject to lower <= y <= upper

   W is a multiple of the identity plus what pairs of limited memory add, so that products and factors keep the sparsity of A A'.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SPARSE_PROGRAM_H
#define LT_OPTIMIZE_SPARSE_PROGRAM_H

#include "optimize/hessian/hessian.h"
#include "optimize/sparse/csr.h"

/* What pairs add to a multiple of the identity (lowrank.c): gamma A A' + U N U' with U = A [S Y], by the compact form of Byrd, Nocedal and
   Schnabel (1994); N is known by its inverse. */
typedef struct lt_lowrank {
    int64_t m, most, k;      /* rows; columns there is room for; columns of U: two for a pair */
    double  gamma;
    double *U;               /* by column, m numbers each */
    double *R, *YY, *D;      /* k / 2 squared each, but D: steps times changes, upper triangle; changes among themselves; R's diagonal */
    double *V;               /* L^-1 U for the K0 = L L' factored last: m rows of k, in the factor's order */
    double *small;           /* k squared: N^-1 + V'V, factored */
    int    *pivot;
    double *x;               /* m: work */
    double *work;            /* 2 k */
} lt_lowrank;

lt_status lt_lowrank_create(int64_t m, int64_t pairs, lt_lowrank *l);
void      lt_lowrank_release(lt_lowrank *l);
void      lt_lowrank_set(lt_lowrank *l, const lt_csr *a, const double *value, const lt_hessian *h); /* h NULL: the identity */
void      lt_lowrank_add(const lt_lowrank *l, const double *y, double *out);                      /* out += U N U' y */
bool      lt_lowrank_prepare(lt_lowrank *l, const lt_skyline *k0);                                /* after K0 was factored */
void      lt_lowrank_solve(const lt_lowrank *l, const lt_skyline *k0, double *b);                 /* (K0 + U N U')^-1 b, in place */

typedef struct lt_sparse_program {
    const lt_csr *a;
    int64_t  m;
    lt_skyline factor;
    int64_t *from;           /* the rows that a row has products with, itself not among them */
    int32_t *to;
    lt_lowrank lowrank;
    const double *value;     /* entries of A */
    const double *diagonal;  /* D; NULL: none */
    double  *gram;           /* gamma A A' + D as the factor lies */
    double  *along;          /* n: work */
    double  *memory;         /* of the vectors below, m each */
    double  *g, *zl, *zu, *sl, *su, *dy, *dzl, *dzu, *rhs, *weight, *rest, *kept;
    int64_t  n_iterations;   /* of the last solve: systems */
    int64_t  leave_out, n_left_out; /* solves that do not begin from the answer before; how many have not */
} lt_sparse_program;

lt_status lt_sparse_program_create(const lt_csr *a, int64_t pairs, lt_sparse_program *p); /* a is borrowed */
void      lt_sparse_program_release(lt_sparse_program *p);
/* Values and W for the solves that follow, borrowed: h NULL is the identity. */
void      lt_sparse_program_set(lt_sparse_program *p, const double *value, const double *diagonal, const lt_hessian *h);
void      lt_sparse_program_multiply(const lt_sparse_program *p, const double *y, double *out);
/* Bounds may be infinite; where they are equal y stays there. warm: y is the answer to a program like this one. False: no answer to the accuracy that a run can use. */
bool      lt_sparse_program_solve(lt_sparse_program *p, const double *c, const double *lower, const double *upper, bool warm, double *y);

#endif
