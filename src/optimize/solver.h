/* The state of one run of the optimizer, and the steps it is made of.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_SOLVER_H
#define LT_OPTIMIZE_SOLVER_H

#include "base/arena.h"
#include "lathe/qp.h"
#include "lathe/rng.h"
#include "lathe/solve.h"
#include "optimize/vectors/columns.h"
#include "optimize/problem/evaluator.h"
#include "optimize/hessian/hessian.h"
#include "optimize/vectors/merge.h"
#include "optimize/vectors/space.h"
#include "optimize/vectors/sparse.h"

/* Everything known at one x. Gradients lie one after the other: f, then equalities, then
   inequalities. */
typedef struct lt_point {
    double *x;               /* n */
    double *c;               /* q equalities, then p inequalities */
    double *grads;           /* (1 + q + p) times n */
    double *grad_phi;        /* n; without constraints the same as grads */
    double  f, phi, mu;
    double  tvi, tve, tv, tvi_l1, tve_l1, tv_l1;
    bool    feasible, finite, has_gradients;
    bool    sampled;         /* grads are those of a sample, in its memory: see lt_cache_insert */
} lt_point;

/* A point worth remembering: x and values only. */
typedef struct lt_record {
    bool    present;
    double *x, *c;
    double  f, mu, tvi, tve, tv;
    bool    feasible;
    /* Vectors on a device: x arrives later. Until then `before` is the one to trust. */
    int64_t copy;            /* the number of its copy: see lt_vectors_keep */
    struct lt_record *before;
} lt_record;

typedef struct lt_trail {    /* where samples are, told by the steps between them (trail.c) */
    lt_hessian *hessian;     /* whose rows of S the steps are; NULL: nothing is told */
    bool     single;         /* points are rounded to float32 */
    double  *start;          /* n: the point of the oldest sample */
    int64_t *row;            /* by slot, but the oldest's: the step from the sample before it, or its point */
    bool    *is_point;       /* by slot */
    bool    *wanted;         /* by slot: set before lt_trail_distances is asked */
    lt_vec_sums *sums;       /* by slot: work */
} lt_trail;

/* The last iterates with their gradients, and which of them lie near the current one. */
typedef struct lt_cache {
    int64_t n, k, capacity, count, newest;
    int64_t live;            /* samples that are still needed: all, or all but the one that the next will replace */
    double  radius, moved;   /* moved: the way from the sample before the newest to it */
    bool    compat;
    bool    takes_over;      /* gradients are not copied: a sample takes the memory in which they were computed */
    double *x;               /* capacity times n; NULL: `trail` tells them */
    lt_trail trail;
    double **grads;          /* capacity: k times n numbers each */
    double *memory;          /* of gradients, in blocks; blocks of points not sampled are among them */
    int64_t block, n_fresh;  /* numbers of a block; the first block that was never used */
    double **spare;          /* blocks that were, and are not in use */
    int64_t n_spare;
    lt_vectors *vectors;     /* where these are; NULL: on the host */
    double *bound, *least;   /* capacity: upper and lower bound of the distance to the newest */
    int64_t n_near, *near_;  /* slots within the radius, ascending */
} lt_cache;

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

typedef struct lt_steering_work {
    double *u;               /* q + p: C'W grad f */
    double *Cd;              /* 1 + q + p: gradients at cur times a direction */
    lt_subproblem sub;
    bool    warm;            /* sub.y holds the last answer */
    double  mu;              /* of the direction formed last */
} lt_steering_work;

typedef struct lt_stationarity {
    double *vector;          /* n, for the callback; NULL: there is none, and the vector is work */
    double  value, unweighted, normalised;
    int64_t n_samples;
    int     attempts;        /* QPs tried: 0, 1, 2 or 4 */
    lt_subproblem sub;
    double *y_of_slot;       /* cache capacity times k: the last answer, by slot */
} lt_stationarity;

/* Products with the H of the QPs, by cache slot, carried through the updates of H. */
typedef struct lt_products {
    bool    incremental;     /* else everything is computed anew in every iteration */
    int64_t n_updates;       /* since all were computed from scratch */
    double  noise;           /* by how much such products disagree among themselves */
    bool   *valid;           /* by slot */
    int64_t *place;          /* by slot: which block of HG holds its products */
    bool   *taken;           /* by place */
    lt_columns columns;      /* what is kept, once or by slot */
    bool    shared_valid;    /* of those kept once */
    double *HG;              /* those kept once, then a block for each place; limited memory on the host: block_columns vectors */
    int64_t block_columns;   /* products made at a time there; 1: in lt_run_work() instead */
    lt_sparse sparse;        /* the gradients at cur, where that helps */
    double *Q;               /* columns.count squared: G'HG among valid columns; NULL when too large */
    int64_t Q_columns;       /* that there is room for */
    double *Hy, *Hs;         /* n each, for the update of H; valid where has_… says so */
    bool    has_Hy, has_Hs;
    const double **from;     /* capacity k + 2: work */
    double **to;
    double *u, *v;           /* capacity k: work */
    int64_t *column;         /* capacity k: work */
    int64_t slot;            /* of the current point; -1: none */
} lt_products;

typedef struct lt_regular {  /* H for the QPs with bounded condition, n x n; used when active */
    double *H, *vectors, *values, *work;
    bool    active;
} lt_regular;

typedef struct lt_pause {    /* what looking for a step changes, as it was before (pause.c) */
    int64_t evals, gradient_evals, ls_evals, n_mu_reductions, random_attempts, first_tried, first_passed, last_search;
    int64_t n_solved, n_failed; /* QPs of steering */
    double  alpha, mu_lowest;
    lt_rng  rng;
    bool    warm;
    double *y;               /* q + p: steering's last answer */
} lt_pause;

enum { LT_LEVEL_STEERING, LT_LEVEL_STEERING_IDENTITY, LT_LEVEL_QUASI_NEWTON, LT_LEVEL_GRADIENT, LT_LEVEL_RANDOM };
enum { LT_RUNNING = -1, LT_CODE_FUNCTION = 11, LT_CODE_DEVICE = 14 };

typedef struct lt_stat_values { double value, unweighted, normalised; } lt_stat_values;

typedef struct lt_patience { /* opt_patience: what happened since the tolerances were met first (patience.c) */
    lt_record  met;          /* the last iterate that met them */
    lt_stat_values stat;     /* there */
    double  f, violation;    /* at the last iterate where phi had fallen noticeably; the violation in l1 */
    int64_t idle;            /* steps since */
    bool    met_since;       /* the tolerances were met there or in one of those steps */
    bool    settled;         /* the run is over, and ends at `met` */
} lt_patience;

typedef struct lt_steps {    /* of the line search, evaluated several at once on a device (steps.c) */
    struct lt_fan *fan;      /* NULL: one after the other */
    bool    must_pay;        /* by the clock, or it is given up */
    int     count;           /* at once; 1: never several */
    double  t[8];            /* the plan: steps along d from cur, each for the case that those before are too long */
    int     n;               /* how many of these there are */
    bool    begun;           /* values were asked for since it was made; */
    bool    known;           /* and all of them are there */
    double  next, lower;     /* the step asked for; the end of the bracket below it */
    int64_t tried, last;     /* steps tried in this search; in the whole last one */
    int64_t used;            /* values taken in this run */
} lt_steps;

typedef struct lt_run {
    lt_solve_options opt;    /* a copy, completed */
    lt_problem   *problem;
    lt_evaluator *evaluator;
    int64_t n, p, q, k;      /* k = 1 + q + p */
    bool    constrained, prescaled;
    double *scale;           /* k multipliers: f, equalities, inequalities */
    lt_arena arena;          /* all small vectors */
    lt_vectors *vectors;     /* where vectors live: those of points, samples, products and H; NULL: on the host */
    double   *home;          /* then: x and all gradients of one point on the host, for whoever looks at them */
    lt_point *ahead;         /* then: where functions were run before the direction was judged; NULL: nowhere */
    lt_status ahead_status;  /* and how that went */
    bool      ahead_gradients;
    double    gradient_at_least; /* then: a bound on |grad phi| at cur from the last search; 0: none */
    lt_record reached;       /* then: cur, for when the device is lost */
    lt_steps  steps;

    lt_point  store[3];
    lt_point *cur, *trial;   /* last accepted; being tried */
    lt_point *lower;         /* lower end of the bracket; NULL: nobody will ask for it */
    double    mu, phi, *grad_phi;   /* the penalty function at cur->x as this iteration sees it */
    double   *d;
    double   *s, *y;         /* of the step taken last, until the next search: s in d unless a callback is to see that, y in trial or `change` */
    double   *change;        /* n; NULL: phi's gradient at a point that was left is free, and y stands there */
    const double *left;      /* where the last step began, if that is a sample; NULL: it is not */
    double    alpha, rel_diff;

    lt_hessian hessian;
    lt_cache   cache;
    lt_steering_work steering;
    lt_stationarity  stat;
    lt_products products;
    lt_regular regular;
    lt_record  best, most_feasible;
    lt_patience patience;
    lt_rng     rng;

    int64_t iter, evals, gradient_evals, ls_evals, n_mu_reductions, random_attempts;
    int     level;
    double  mu_lowest;
    int64_t first_tried, first_passed; /* first trials of line searches, and those that passed */

    int64_t start_ns, eval_ns, hessian_ns;
    int64_t last_checkpoint_ns;
    lt_pause pause;
    int64_t allocations_at_2;
    int     code;            /* LT_RUNNING, or why it stopped */
    bool    interrupted, mu_changed; /* mu_changed: since the last accepted step */
    bool    steering_changed;
    double  phi_before;      /* phi at cur->x before the line search */
    int     last_level;      /* of the step accepted last */
    char    error[512];

    lt_history_row *history;
    int64_t n_history, history_capacity, history_step;
    struct lt_console *console;
} lt_run;

/* n numbers to work in, between two line searches: where the next point will be tried. */
static inline double *lt_run_work(const lt_run *r) { return r->trial->x; }
/* Memory of its own for the gradients of a point whose present ones are a sample's. */
void lt_point_renew(lt_run *r, lt_point *p);

/* ---- evaluation and the penalty function (oracle.c, penalty.c) -------------------------------------- */
/* Values at p->x with p->mu; gradients too where that is thought cheaper. False: the user's function
   failed, and the run stops with code 11. */
bool lt_oracle_values(lt_run *r, lt_point *p, bool first_trial);
bool lt_oracle_gradients(lt_run *r, lt_point *p); /* nothing to do when they are there */
/* Vectors on a device: runs the functions where the search along d will begin, so that what must be known about d comes with
   them, in one wait. Counts and records when the search comes by. */
void lt_oracle_ahead(lt_run *r);
/* ---- several steps at once (steps.c) ---------------------------------------------------------------- */
lt_status lt_steps_create(lt_run *r);
void lt_steps_forget(lt_run *r);                               /* another direction or point */
void lt_steps_next(lt_run *r, double t, double lower, int64_t tried); /* what values are asked for next */
/* Is that step part of a plan? Goes by searches alone, whether or not the plan is carried out: what a run computes never depends on a clock. */
bool lt_steps_planned(const lt_run *r);
/* Values at the next step, known or computed with those that may follow; false: to be evaluated on its own. */
bool lt_steps_values(lt_run *r, const lt_outputs *out, lt_status *status);

/* The evaluation at the start: failures are the caller's mistakes. Also decides the scaling. */
lt_status lt_oracle_start(lt_run *r, lt_point *p);
/* The run was stopped from outside or ran out of time, or had stopped already. */
bool lt_oracle_stopped(lt_run *r);

void lt_point_measure(const lt_run *r, lt_point *p);           /* violations and phi from values */
void lt_point_gradients(const lt_run *r, lt_point *p);         /* grad_phi */
void lt_penalty_restore(lt_run *r);                            /* mu, phi, grad_phi as at the snapshot */
void lt_penalty_set_mu(lt_run *r, double mu);                  /* recomputed at cur->x, no evaluation */
/* grad phi at p, with this mu, times d. */
double lt_point_slope(const lt_run *r, const lt_point *p, double mu);
void lt_record_update(lt_run *r, const lt_point *p);
void lt_record_keep(const lt_run *r, const lt_point *p, lt_record *to);
void lt_record_reach(lt_run *r);                               /* cur was accepted; nothing on the host */
lt_status lt_record_start(lt_run *r);                          /* the same, and waits: from here on there is a point to keep */

/* ---- directions --------------------------------------------------------------------------------------- */
/* d and the mu to go with it; false when a QP failed. */
bool lt_steer(lt_run *r, bool identity, double *d, double *mu);
/* out[j] = W b[j], with W the H of the QPs (regularised where asked). */
void lt_qp_hessian_apply(lt_run *r, int64_t k, const double *const *b, double *const *out);
void lt_regularize(lt_run *r);

/* ---- products (products.c, products_gram.c) ------------------------------------------------------------------------------ */
lt_status lt_products_create(lt_run *r);
void lt_products_release(lt_run *r);
void lt_products_sample(lt_run *r);           /* after an insertion: every near slot becomes valid */
void lt_products_leave(lt_run *r, int64_t slot); /* its products are no longer carried */
void lt_products_updated(lt_run *r);          /* H has had its update, or was skipped */
void lt_products_forget(lt_run *r);           /* H for the QPs changed in another way */
/* W times the gradients at cur: k times n, perhaps in the memory of the point to be tried next. */
const double *lt_products_current(lt_run *r);
/* out = -W G y for the m columns of these slots, as lt_columns_pick has them; out holds G y before. */
void lt_products_combine(lt_run *r, int64_t m, const int64_t *slot, const double *y, double *out);
/* out[j] = gradient j at cur times x, for j = first..k-1. */
void lt_products_dots(lt_run *r, int64_t first, const double *x, double *out);
/* Gradients at cur from `skip` on, as rows first.. of Q (m squared), times x[0..m-1]; both triangles of Q. */
void lt_products_rows(lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x, double *Q);
bool lt_products_current_gram(lt_run *r, double *Q); /* C'WC at cur, if it is carried */
/* out[j] = gradient j at cur times W times (c_0 gradient 0 + …), for j = first..k-1, if that is carried. */
bool lt_products_carried(const lt_run *r, int64_t first, double c_0, const double *c, double *out);
typedef struct lt_gram_view { const double *Q; int64_t stride; } lt_gram_view;
/* G'HG of these valid slots, ascending: where it lies already, or in work. Valid until H changes. */
lt_gram_view lt_products_gram(lt_run *r, int64_t l, const int64_t *slot, double *work);

/* ---- patience ----------------------------------------------------------------------------------------- */
/* Whether the run ends, cur having met its tolerances or not; without opt_patience they decide alone. */
bool lt_patience_over(lt_run *r, bool meets);
void lt_patience_settle(lt_run *r);           /* after the last iteration: where the run ends, and with what code */

/* ---- line search --------------------------------------------------------------------------------------- */
typedef struct lt_line { int fail; double t; lt_point *at; } lt_line; /* at: trial or lower; NULL: cur */
enum { LT_LINE_OK, LT_LINE_BRACKETED, LT_LINE_UNBOUNDED, LT_LINE_NOT_DESCENT, LT_LINE_STOPPED };
/* Along r->d from cur with slope g0; limit caps the evaluations (INFINITY: options decide). */
lt_line lt_line_search(lt_run *r, double g0, double limit);

/* ---- samples and stationarity ----------------------------------------------------------------------- */
/* p becomes a sample; where samples take over, its gradients stay where they are. left: the newest sample's x, if it is at hand. */
void lt_cache_insert(lt_cache *c, lt_point *p, const double *left);
/* Where samples take over: the sample that the next insertion replaces will not be asked for again. Its slot; -1: there is none. */
int64_t lt_cache_retire(lt_cache *c);
double *lt_cache_lend(lt_cache *c);                        /* memory for the gradients of a point, where samples take over */
lt_status lt_cache_create(lt_run *r);
void lt_cache_foresee(const lt_cache *c, const double *x); /* on a device: distances that an insertion may ask for */
void lt_cache_release(lt_cache *c);
bool lt_cache_may_take_over(const lt_run *r);
static inline int64_t lt_cache_slot(const lt_cache *c, int64_t age) /* 0 = newest */
{
    return c->newest - age + (age > c->newest ? c->capacity : 0);
}

bool lt_trail_wanted(const lt_run *r);
lt_status lt_trail_create(lt_run *r, lt_trail *t);
void lt_trail_release(lt_trail *t);
void lt_trail_begin(const lt_cache *c, const double *x);   /* the newest sample is the only one */
/* How a sample is reached from the one before: the newest by a step, which may have become a pair's, or any not at all. */
void lt_trail_add_step(const lt_cache *c, const double *s, bool paired);
void lt_trail_add_point(const lt_cache *c, int64_t slot, const double *x);
void lt_trail_leave_oldest(const lt_cache *c);             /* of two or more */
/* Tightens bounds on distances, of the wanted samples and all that are younger, by the sums of the steps since: fewer rows to read
   than for the distances, mostly, but not bit for bit. left: the newest sample's point. */
void lt_trail_look_back(lt_cache *c, const double *x, const double *left);
void lt_trail_distances(const lt_cache *c, const double *x, double *out); /* of the wanted samples, by slot */
double lt_trail_distance(const lt_cache *c, const double *x);             /* of the newest */
/* Numbers first.. of the point before that of this slot become those of its own. */
void lt_trail_advance(const lt_cache *c, int64_t slot, int64_t first, int64_t count, double *z);
lt_status lt_stationarity_measure(lt_run *r);
void lt_sample_retire(lt_run *r);             /* lt_cache_retire; its products, too */
lt_status lt_subproblem_reserve(lt_subproblem *s, int64_t m, const lt_solve_options *o);
void lt_subproblem_release(lt_subproblem *s);
/* Sets the matrix of the solves that follow; false when it is refused (then they fail). s->lower, upper,
   member and gradient are set already. Variables of one value and gradient will have one linear term.
   Q may be s->Q, and is then lost where variables are merged. */
bool lt_subproblem_set(lt_subproblem *s, int64_t m, const double *Q, int64_t stride, const double *value);
/* Solves with s->linear, lower, upper; with s->members, their sum is mu. */
bool lt_subproblem_solve(lt_subproblem *s, double mu, const double *start);

/* Symmetric a (n x n, destroyed) = V diag(w) V': vectors in the rows of v, values ascending. */
bool lt_eigen_symmetric(int64_t n, double *a, double *w, double *v, double *work);

/* ---- console, solution, checkpoint ------------------------------------------------------------------- */
typedef struct lt_console lt_console;
lt_status lt_console_create(lt_run *r);
void lt_console_destroy(lt_console *c);
void lt_console_header(lt_run *r);                   /* banner, problem, table head */
void lt_console_row(lt_run *r);
void lt_console_note(lt_run *r, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lt_console_end(lt_run *r, const lt_solution *s);

lt_status lt_run_create(lt_problem *p, const lt_solve_options *opt, lt_run **out);
void      lt_run_destroy(lt_run *r);
/* Exactly `count` numbers of a .npy file, or of a member of a .npz file. `what` is for messages. */
lt_status lt_start_read(const char *path, const char *member, const char *what, int64_t count, double *out);
lt_status lt_start_hessian(lt_run *r);               /* creates H from the options or their files */
lt_status lt_solution_create(lt_run *r, lt_solution **out);
void      lt_stop(lt_run *r, int code);
void      lt_stop_error(lt_run *r, int code);        /* keeps lt_error_text() */
void      lt_stop_if_lost(lt_run *r);                /* when the device that holds H failed */
lt_status lt_checkpoint_write(lt_run *r, const char *path);
void      lt_pause_note(lt_run *r);                  /* before a step is looked for */
lt_status lt_pause_write(lt_run *r, const char *path); /* a checkpoint when that was given up */
lt_status lt_checkpoint_read(lt_run *r, const char *path);

#endif
