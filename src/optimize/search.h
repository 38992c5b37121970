/* From a point to the next: evaluations, directions, line searches. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SEARCH_H
#define LT_OPTIMIZE_SEARCH_H

#include "optimize/point.h"
#include "optimize/subproblem.h"

/* ---- evaluations (oracle.c) ------------------------------------------------------------------------- */
typedef struct lt_oracle {
    double *scale;           /* k multipliers: f, equalities, inequalities */
    bool    has_objective;   /* a gradient of f was not zero */
    bool    prescaled;       /* some are not 1 */
    bool    hidden;          /* they are powers of two, by scale_functions; results show nothing of them */
    double *shown;           /* with a callback: gradients and values in its units; NULL: as they are */
    int64_t evals, gradient_evals, time_ns;
    int64_t first_tried, first_passed; /* first trials of line searches, and those that passed */
    lt_point *ahead;         /* where functions were run before the direction was judged; NULL: nowhere */
    lt_status ahead_status;  /* and how that went */
    bool    ahead_gradients;
} lt_oracle;

typedef struct lt_line_trial { double t, lower; int64_t tried; } lt_line_trial; /* a step along d; the bracket's lower end; trials before it */
/* Values at p->x, which is cur->x + t d, with p->mu; gradients too where that is thought cheaper. False: the user's function
   failed, and the run stops. */
bool lt_oracle_values(lt_run *r, lt_point *p, const lt_line_trial *at);
bool lt_oracle_gradients(lt_run *r, lt_point *p); /* nothing to do when they are known */
/* Where a number costs a wait: runs the functions where the search along d will begin, so that what must be known about d comes with
   them, in one wait. The search counts and records it when it gets there. */
void lt_oracle_ahead(lt_run *r);
void lt_oracle_forget(lt_run *r); /* another direction: what was planned or run ahead does not hold */
/* The evaluation at the start: failures are the caller's mistakes. Also decides the scaling. */
lt_status lt_oracle_start(lt_run *r, lt_point *p);
/* What is 1 in the user's units of f; and their f at a point. */
static inline double lt_oracle_unit(const lt_oracle *o) { return o->hidden ? o->scale[0] : 1; }
static inline double lt_oracle_f(const lt_oracle *o, double f) { return o->hidden ? f / o->scale[0] : f; }
/* The run was stopped from outside or ran out of time, or had stopped already. */
bool lt_oracle_stopped(lt_run *r);

/* ---- scales, chosen at the start (scaling.c) ---- */
lt_status lt_scale_variables(lt_run *r);                     /* in the first H */
bool      lt_rescale_variables(lt_run *r);                   /* by the gradients at cur, where that differs much: H began anew */
void      lt_scale_functions(lt_run *r, const double *grads); /* by gradients on the host, times those scales */

/* ---- several steps at once on a device (steps.c): the oracle alone asks for them ---------------------- */
typedef struct lt_steps {
    struct lt_batch *batch;  /* NULL: one after the other */
    bool    must_pay;        /* by the clock, or it is given up */
    int     count;           /* at once; 1: never several */
    double  t[8];            /* the plan: steps along d from cur, each for the case that those before are too long */
    int     n;               /* how many of these there are */
    bool    begun;           /* values were asked for since it was made; */
    bool    known;           /* and all of them are known */
    double  next, lower;     /* the step asked for; the end of the bracket below it */
    int64_t tried, last;     /* steps tried in this search; in the whole last one */
    int64_t used;            /* values taken in this run */
} lt_steps;

lt_status lt_steps_create(lt_run *r);
void lt_steps_next(lt_run *r, const lt_line_trial *at);        /* what values are asked for next */
/* Is that step part of a plan? Goes by searches alone, whether or not the plan is carried out: what a run computes never depends on a clock. */
bool lt_steps_planned(const lt_run *r);
/* Values at the next step, known or computed with those that may follow; false: to be evaluated on its own. */
bool lt_steps_values(lt_run *r, const lt_outputs *out, lt_status *status);

/* ---- directions (steering.c, solve.c) ------------------------------------------------------------------ */
enum { LT_LEVEL_STEERING, LT_LEVEL_STEERING_IDENTITY, LT_LEVEL_QUASI_NEWTON, LT_LEVEL_GRADIENT, LT_LEVEL_RANDOM };
typedef struct lt_fallback { int level; int64_t random_attempts; bool steering_changed; } lt_fallback; /* steering_changed: mu */

typedef struct lt_steering {
    double *u;               /* q + p: C'W grad f */
    double *Cd;              /* 1 + q + p: gradients at cur times a direction */
    lt_subproblem sub;
    bool    warm;            /* sub.y holds the last answer */
    double *multiplier;      /* q + p: that of the direction at hand */
    double *shifted;         /* q + p: values of the constraints for a corrected direction; NULL: none is made */
    double *corrected;       /* n: that direction; work of updates */
    double *pull, *pull_tried; /* n each: multipliers of bounds that are rows, lower minus upper, of the direction at hand and of the last program */
    double *factor;          /* 1 + q + p: of what the direction formed last is made */
    const double **of;
} lt_steering;
/* d and the mu to go with it; false when a QP failed. */
bool lt_steer(lt_run *r, bool identity, double *d, double *mu);
/* The direction again, by the constraints' values at the trial at its end; false when the QP failed. */
bool lt_steer_corrected(lt_run *r, double *d);
void lt_steering_take(lt_run *r);    /* its multipliers are those of the direction at hand from here on */
bool lt_lagrangian_used(const lt_run *r); /* H learns from the Lagrangian of the direction at hand (curvature.c) */
void lt_curvature(lt_run *r, const lt_point *from, const lt_point *to); /* r->last.y of the step r->last.s; the same point: 0 */

/* ---- line search ----------------------------------------------------------------------------------------- */
typedef struct lt_line_result { int fail; double t; lt_point *at; } lt_line_result; /* at: trial or lower; NULL: cur */
enum { LT_LINE_OK, LT_LINE_BRACKETED, LT_LINE_UNBOUNDED, LT_LINE_NOT_DESCENT, LT_LINE_STOPPED };
/* Along r->d from cur with slope g0; limit caps the evaluations (INFINITY: options decide). */
lt_line_result lt_line_search(lt_run *r, double g0, double limit);
/* After the whole step has failed: a corrected one, tried once. True: phi is below `enough` at r->trial, which r->d leads to (correction.c). */
bool lt_correct(lt_run *r, double enough);

/* The step taken last (solve.c). */
typedef struct lt_last_step {
    double *s, *y;           /* until the next search: s in d unless a callback is to see that, y in trial or `change` */
    double *change;          /* n; NULL: phi's gradient at a point that was left is free, and y stands in its memory */
    const double *left;      /* where it began, if that is a sample; NULL: it is not */
    double  alpha, rel_diff;
    double  phi_before;      /* phi at cur->x before the line search */
    int64_t evals;           /* of its search, failed levels included */
    double  gradient_at_least; /* a bound on |grad phi| from its search; 0: none */
    int     level;
    int64_t n_short;         /* whole steps in a row after which phi fell on steeply */
} lt_last_step;

#endif
