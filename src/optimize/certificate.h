/* How well the conditions of Karush, Kuhn and Tucker hold at a point, whatever mu and H are (certificate.c, decision 185).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_CERTIFICATE_H
#define LT_OPTIMIZE_CERTIFICATE_H

#include "optimize/point.h"
#include "optimize/vectors/vectors.h"

/* f and the constraints in the user's units: those of the oracle, their scales taken off. */
typedef struct lt_kkt {
    bool    known;
    double  residual;        /* what decides: sqrt(stationarity^2 + complementarity^2) / max(1, weight) */
    double  stationarity;    /* |sum of gradients times multipliers|, the weights of f summing to one */
    double  complementarity; /* |(multiplier times value)|, of inequalities */
    double  at_bounds;       /* multiplier times distance, of bounds: a part of complementarity */
    double  weight;          /* sum of |gradient| times |multiplier| */
    int64_t n_samples;       /* points whose gradients took part */
    double *multiplier;      /* q + p */
    double *bound;           /* n: multipliers of bounds, lower minus upper; NULL: there are none */
} lt_kkt;

typedef struct lt_kkt_column { int64_t gradient; const double *at; double norm; } lt_kkt_column; /* gradient: 0 is f's */

/* Gradients at and near cur whose combinations are looked at. */
typedef struct lt_kkt_columns {
    int64_t  m, capacity, n_samples;
    const lt_vectors *vectors; /* where they are */
    lt_kkt_column *column;
    double  *Q;              /* products, capacity squared; the first n_known rows and columns are filled */
    double  *y;              /* the last answer */
    int64_t  n_known;
    double   size_f;         /* the length of cur's gradient of f; 1 if that is zero */
} lt_kkt_columns;

typedef struct lt_certification {
    lt_kkt   now;            /* of the iterate asked about last */
    lt_kkt   met;            /* of the one that patience goes back to */
    int64_t  iter;           /* where `now` was computed; -1: nowhere yet */
    lt_kkt_columns few;      /* work: k columns at least */
    double  *norm;           /* k: lengths of the gradients at the point */
    double  *candidate;      /* q + p: multipliers of the attempt at hand */
    double  *bound;          /* n: those of bounds */
} lt_certification;

#define LT_KKT_PROVEN 1e-8 /* a residual that rounding leaves: patience ends there, and a search that fails there ends with code 0 (decision 237) */

lt_status lt_certification_create(lt_run *r);
void      lt_certification_release(lt_run *r);
/* At cur, once per iteration: from its gradients alone or, where these do not suffice, with those of all samples near it. */
lt_status lt_certify(lt_run *r);
double    lt_kkt_tolerance(const lt_run *r);
bool      lt_certified(const lt_run *r);  /* the residual found last is small enough for code 0 */
void      lt_kkt_keep(lt_run *r, lt_kkt *it); /* an attempt, with multipliers in candidate and bound, if it is better than `now` */
void      lt_kkt_copy(const lt_run *r, const lt_kkt *from, lt_kkt *to);

/* ---- step by step, for those who look for more gradients ---- */
#define LT_KKT_COLUMNS_MAX 2048
lt_status lt_kkt_columns_create(int64_t capacity, lt_kkt_columns *c);
void      lt_kkt_columns_release(lt_kkt_columns *c);
void      lt_kkt_begin(const lt_run *r, lt_kkt_columns *c, const double *grads); /* those of cur, after lt_certify; c->vectors is set */
/* Those of a point near it, k times n numbers that stay where they are. False: there is no room. */
bool      lt_kkt_add(const lt_run *r, lt_kkt_columns *c, const double *grads);
bool      lt_kkt_is_sample(const lt_run *r, int64_t slot);  /* of a point near cur, if the slot is among the near ones */
/* The best combination of all: kept as the certificate if it is better than that. v: n numbers, the combination itself, scaled as f is; its
   length. NaN: there is none. */
double    lt_kkt_solve(lt_run *r, lt_kkt_columns *c, double *v);

#endif
