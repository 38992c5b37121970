/* The state of one run of the optimizer: parts, each owned by the files its header names. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SOLVER_H
#define LT_OPTIMIZE_SOLVER_H

#include "optimize/bounds/bounds.h"
#include "optimize/certificate.h"
#include "optimize/bounds/conflict.h"
#include "optimize/output/output.h"
#include "optimize/problem/evaluator.h"
#include "optimize/recovery/recover.h"
#include "optimize/samples.h"
#include "optimize/search.h"
#include "optimize/sparse/rows.h"

typedef struct lt_regular {  /* H for the QPs with bounded condition, n x n; used when active (hessian/regularize.c) */
    double *H, *vectors, *values, *work;
    bool    active;
} lt_regular;

struct lt_run {
    lt_solve_options opt;    /* a copy, completed */
    lt_problem   *problem;   /* where bounds are kept, the one without rows that are bounds */
    lt_problem   *given;     /* the caller's */
    lt_evaluator *evaluator;
    int64_t n, p, q, k;      /* k = 1 + q + p, or 1 where constraints have sparse gradients: how many gradients are vectors */
    lt_sparse_rows rows;
    bool    constrained;
    lt_arena   arena;        /* all small vectors */
    lt_vectors vectors;      /* those of points, samples, products and H */
    lt_rng     rng;

    /* points */
    lt_point  store[3];
    lt_point *cur, *trial;   /* last accepted; being tried */
    lt_point *lower;         /* lower end of the bracket; NULL: nobody will ask for it */
    double   *d;             /* the direction */
    lt_record best, most_feasible;
    lt_record reached;       /* cur, for when the device is lost; on the host not made */
    lt_penalty  penalty;
    lt_bounds   bounds;
    lt_patience patience;

    /* from one to the next */
    int64_t      iter;
    lt_fallback  fallback;
    lt_steering  steering;
    lt_oracle    oracle;
    lt_steps     steps;
    lt_last_step last;

    /* H, samples and the measure */
    lt_hessian hessian;
    lt_regular regular;
    lt_cache   cache;
    lt_products products;
    lt_stationarity stat;
    lt_certification certification;
    lt_recovery recovery;
    lt_conflict conflict;

    /* the end, and what is reported */
    lt_termination code;     /* why it stopped */
    bool       interrupted;
    char       error[512];
    int64_t    start_ns, hessian_ns, last_checkpoint_ns, allocations_at_2;
    lt_pause   pause;
    lt_history history;
    lt_warm    warm;
    lt_resumed resumed;
    lt_console *console;
};

/* n numbers to work in, between two line searches: where the next point will be tried. */
static inline double *lt_run_work(const lt_run *r) { return r->trial->x; }

lt_status lt_run_create(lt_problem *p, const lt_solve_options *opt, lt_run **out);
void      lt_run_destroy(lt_run *r);
void      lt_stop(lt_run *r, lt_termination code);
void      lt_stop_error(lt_run *r, lt_termination code); /* keeps lt_error_text() */
void      lt_stop_if_lost(lt_run *r);                /* when the device that holds H failed */

/* out[j] = W b[j], with W the H of the QPs (regularised where asked). */
void lt_qp_hessian_apply(lt_run *r, int64_t k, const double *const *b, double *const *out);
void lt_regularize(lt_run *r);
/* Symmetric a (n x n, destroyed) = V diag(w) V': vectors in the rows of v, values ascending. */
bool lt_eigen_symmetric(int64_t n, double *a, double *w, double *v, double *work);

#endif
