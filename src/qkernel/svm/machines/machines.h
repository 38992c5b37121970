/* Targets of rows, and the machines a task needs: one, or one for each pair of classes. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_MACHINES_H
#define LT_QKERNEL_SVM_MACHINES_H

#include "base/pool.h"
#include "qkernel/svm/machines/svm.h"

typedef struct lt_targets {    /* of n rows; borrowed */
    lt_qsvm_task   task;
    int64_t        n_classes;  /* 0 but for classify */
    const int32_t *label;      /* of classify */
    const double  *value;      /* of regress */
    const double  *weight;     /* NULL: 1 */
} lt_targets;

/* Those of the rows listed, into numbers of the caller's: n labels, n values, n weights, as far as there are any. */
lt_targets lt_targets_gather(const lt_targets *t, const int64_t *row, int64_t n, int32_t *label, double *value, double *weight);

typedef struct lt_costs {      /* of the classes, or of all rows */
    const lt_qsvm_options *opt;
    double C;
} lt_costs;
/* cost (n_classes): C times a class's weight, and times n / (classes n_c) where classes are balanced; cost[0] = C without classes. */
void      lt_costs_of(const lt_costs *c, const lt_targets *t, int64_t n, double *cost);

/* Beta of row i of class c in the machine against class d stands at [i][d - (d > c)]: each row is in classes - 1 machines. */
typedef struct lt_machines {   /* zero-initialised is empty */
    int64_t n, n_classes, n_machines, width; /* width: coefficients of a row, at least 1 */
    double *beta;              /* (n, width) */
    double *bias;              /* (n_machines) */
    double *sigmoid;           /* (n_machines, 2); NULL: not asked for */
    double  objective;         /* sums over the machines, as the next ones */
    int64_t iterations, n_support[2]; /* support: of one machine by sign or class; else rows that count in any, and 0 */
    bool    converged;         /* all of them */
} lt_machines;

int64_t   lt_machines_count(const lt_targets *t);
/* s: K, n, solver, tolerance; of one machine prepared, with its y. pool NULL: on this thread. */
lt_status lt_machines_fit(const lt_svm *s, const lt_targets *t, const lt_costs *c, lt_pool *pool, lt_machines *out);
void      lt_machines_release(lt_machines *m);
/* Fills m->sigmoid from decisions on rows held out. */
lt_status lt_machines_calibrate(const lt_svm *s, const lt_targets *t, const lt_costs *c, lt_pool *pool, uint64_t seed, lt_machines *m);

/* Decision values of one new row: k[i * step] is its kernel with row i, of class class_of[i] (NULL: one machine). */
typedef struct lt_voters { int64_t n, n_classes, width; const double *beta, *bias; const int32_t *class_of; } lt_voters;
void      lt_voters_decide(const lt_voters *v, const double *k, double *decision);
/* The class with most votes, of equal ones the first. */
int32_t   lt_voters_elect(const double *decision, int64_t n_classes, int64_t *votes);

/* The two numbers A, B of 1 / (1 + exp(A f + B)), the probability of class 1 (Platt, as Lin, Lin and Weng 2007). */
lt_status lt_sigmoid_fit(const double *decision, const uint8_t *y, int64_t n, double sigmoid[2]);
double    lt_sigmoid_at(const double sigmoid[2], double decision);
/* p (n_classes) from r[pair], how probable the second class of a pair is. work: n_classes^2 + n_classes numbers. */
void      lt_couple(const double *r, int64_t n_classes, double *p, double *work);

#endif
