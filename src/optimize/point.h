/* Points, the penalty function at them, and those worth remembering (penalty.c, patience.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_POINT_H
#define LT_OPTIMIZE_POINT_H

#include "lathe/solve.h"

typedef struct lt_run lt_run;

/* Everything known at one x. Gradients lie one after the other: f, then equalities, then
   inequalities. */
typedef struct lt_point {
    double *x;               /* n */
    double *c;               /* q equalities, then p inequalities */
    double *grads;           /* k times n: k is 1 + q + p, or 1 */
    double *rows;            /* with sparse gradients of constraints: their entries, and grads is f's alone; else NULL */
    double *grad_phi;        /* n; without constraints the same as grads */
    double  f, phi, mu;
    double  tvi, tve, tv, tvi_l1, tve_l1, tv_l1;
    bool    feasible, finite, has_gradients;
    bool    sampled;         /* grads are those of a sample, in its memory: see lt_cache_insert */
} lt_point;

/* A point worth remembering: x and values only, on the host at once (decision 111). */
typedef struct lt_record {
    bool    present;
    double *x, *c;
    double  f, mu, tvi, tve, tv;
    bool    feasible;
    int64_t copy;            /* the number of x's copy: see lt_vectors_keep */
    struct lt_record *before; /* where x arrives later: the one to trust until then; else NULL */
} lt_record;

/* The penalty function phi = mu f + v at cur->x as this iteration sees it. */
typedef struct lt_penalty {
    double  mu, phi, *grad_phi;
    bool    changed;         /* mu, since the last accepted step */
    double  lowest;          /* mu that was tried */
    int64_t n_reductions;
    double *factor;          /* k: work of lt_point_slope */
    const double **gradient;
} lt_penalty;

/* patience: what happened since the tolerances were met first. */
typedef struct lt_stat_values { double value, unweighted, normalised; } lt_stat_values;
typedef struct lt_patience {
    lt_record  met;          /* the last iterate that met them */
    lt_stat_values stat;     /* of that one */
    double  f, violation;    /* at the last iterate where phi had fallen noticeably; the violation in l1 */
    int64_t idle;            /* steps since */
    bool    met_since;       /* the tolerances were met by that one or in one of those steps */
    bool    settled;         /* the run is over, and ends at `met` */
} lt_patience;

void lt_point_measure(const lt_run *r, lt_point *p);           /* violations and phi from values */
void lt_point_gradients(const lt_run *r, lt_point *p);         /* grad_phi */
double lt_point_slope(const lt_run *r, const lt_point *p, double mu); /* grad phi at p, with this mu, times d */
/* Memory of its own for the gradients of a point whose present ones are a sample's. */
void lt_point_renew(lt_run *r, lt_point *p);
void lt_penalty_restore(lt_run *r);                            /* mu, phi, grad_phi as at the snapshot */
void lt_penalty_set_mu(lt_run *r, double mu);                  /* recomputed at cur->x, no evaluation */
void lt_record_update(lt_run *r, const lt_point *p);
void lt_record_keep(const lt_run *r, const lt_point *p, lt_record *to);
void lt_record_reach(lt_run *r);                               /* cur was accepted; nothing on the host */
lt_status lt_record_start(lt_run *r);                          /* the same, and waits: from here on there is a point to keep */

/* Whether the run ends, cur having met its tolerances or not; without patience they decide alone. */
bool lt_patience_over(lt_run *r, bool meets);
bool lt_patience_was_over(const lt_run *r, bool meets); /* by what the last test left */
void lt_patience_settle(lt_run *r);                            /* after the last iteration: where the run ends, and with what code */

#endif
