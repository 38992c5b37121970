/* The optimizer: minimise f(x) subject to ci(x) <= 0 and ce(x) = 0, where all of them may be
   nonsmooth and nonconvex. BFGS-SQP with an exact penalty function and steering (Curtis, Mitchell,
   Overton, Optim. Methods Softw. 32(1):148-181, 2017).

       lt_problem *p;  lt_problem_from_graph(g, f, &ci, 1, NULL, 0, &p);
       lt_solve_options opt = lt_solve_defaults();
       opt.stationarity_tol = 1e-6;
       lt_solution *s; lt_solve(p, &opt, &s);
       … s->best.x, s->best.f, s->termination_code …
       lt_solution_destroy(s); lt_problem_destroy(p);

   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_SOLVE_H
#define LATHE_SOLVE_H

#include "lathe/cluster.h"
#include "lathe/graph.h"
#include "lathe/options.h"
#include "lathe/problem.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Problems ------------------------------------------------------------------------------ */
typedef struct lt_problem lt_problem; /* opaque; several solves may share one at the same time */

/* One call of a user's function at x (n numbers). Every pointer may be NULL: that output is not
   wanted. Values are asked for first; a call for gradients alone always follows a call for values
   at the same x, so what the first computed may be kept. Gradients lie one after the other, n
   numbers each. */
typedef struct lt_outputs {
    double *f, *grad_f;      /* 1; n */
    double *ci, *grad_ci;    /* p; p times n */
    double *ce, *grad_ce;    /* q; q times n */
} lt_outputs;
/* A failure ends the run with code 11 and its text; values that are not finite only reject the step. */
typedef lt_status (*lt_problem_fn)(void *ctx, const double *x, const lt_outputs *out);

/* fn and ctx are called from the thread that runs lt_solve; solves that share the problem in
   several threads call fn at the same time. */
LT_API lt_status lt_problem_from_function(int64_t n, int64_t p, int64_t q, lt_problem_fn fn, void *ctx,
                                          lt_problem **out);
/* The graph's inputs (f64 or f32) are the variables in order, packed row major; f has one element,
   ci and ce are tensors of any shape, their elements in row-major order. Borrows the graph, to which
   the derivatives are added and which must outlive the problem. */
LT_API lt_status lt_problem_from_graph(lt_graph *g, lt_node f, const lt_node *ci, int n_ci,
                                       const lt_node *ce, int n_ce, lt_problem **out);
/* Borrows the model, which must outlive the problem; its start and names are taken over, its
   options are not: see lt_solve_options_from_model. */
LT_API lt_status lt_problem_from_model(const lt_model *m, lt_problem **out);
LT_API void      lt_problem_destroy(lt_problem *p); /* NULL is allowed; no solve may be running */

typedef struct lt_problem_size { int64_t n, p, q; } lt_problem_size;
LT_API lt_problem_size lt_problem_get_size(const lt_problem *p);
/* One evaluation, for use outside a solve; wanted outputs as in lt_outputs. */
LT_API lt_status lt_problem_evaluate(lt_problem *p, const double *x, const lt_outputs *out);
/* The same where and as these options say: device, device_name, compile_mode, mixed_precision. NULL: the defaults. */
struct lt_solve_options;
LT_API lt_status lt_problem_evaluate_with(lt_problem *p, const struct lt_solve_options *opt, const double *x,
                                          const lt_outputs *out);

typedef enum lt_constraint_kind { LT_CONSTRAINT_INEQUALITY, LT_CONSTRAINT_EQUALITY } lt_constraint_kind;
/* All constraints of this kind are linear: their gradients are asked for once, at x0. */
LT_API lt_status lt_problem_declare_linear(lt_problem *p, lt_constraint_kind kind);
/* The gradients of this kind have entries only where stated: those of constraint i stand at variables
   column[start[i]] … column[start[i + 1] - 1], ascending (start has one entry more than there are
   constraints). A function then writes those entries alone, one after the other. Copied. */
LT_API lt_status lt_problem_declare_sparse(lt_problem *p, lt_constraint_kind kind,
                                           const int64_t *start, const int64_t *column);

/* lower <= x <= upper, n numbers each, infinite where there is none; NULL: none on that side. Copied. Runs keep within them; with compat=1 and
   with honor_bounds=false lt_solve returns LT_ERR_UNSUPPORTED. Inequalities of a graph that say the same of one variable each are found by themselves. */
LT_API lt_status lt_problem_set_bounds(lt_problem *p, const double *lower, const double *upper);

/* A named part of x: tensors one after the other, each row major. */
typedef struct lt_variable {
    const char *name;
    lt_shape    shape;
    int64_t     offset; /* set by lt_variables_layout */
} lt_variable;
/* Fills the offsets in order and returns n; -1 when a shape is invalid. */
LT_API int64_t   lt_variables_layout(lt_variable *v, int n_variables);
LT_API lt_status lt_variables_pack(const lt_variable *v, int n_variables, const double *const *tensors, double *x);
LT_API lt_status lt_variables_unpack(const lt_variable *v, int n_variables, const double *x, double *const *tensors);
/* The variables of a graph or model problem; copies at most max and returns how many there are, 0 of a function. Names belong to the graph or the model. */
LT_API int       lt_problem_variables(const lt_problem *p, lt_variable *v, int max);

/* Gradients against differences of the values at x, in every variable (or, where n is above
   max_directions, along that many random directions). */
typedef struct lt_check_result {
    size_t  size;             /* set it to sizeof(lt_check_result) */
    double  worst;            /* |difference - gradient| / max(1, |gradient|), largest found */
    int64_t worst_function;   /* -1: f; 0..p-1: ci; p..p+q-1: ce */
    int64_t worst_direction;  /* variable, or number of the random direction */
    double  gradient, difference; /* there */
    int64_t n_checked;
    bool    passed;           /* worst <= tolerance */
} lt_check_result;
/* tolerance 0 = 1e-5. x NULL: the problem's own start, else standard normal. */
LT_API lt_status lt_problem_check(lt_problem *p, const double *x, double tolerance, int64_t max_directions,
                                  lt_check_result *out);

/* ---- What a callback sees ---------------------------------------------------------------------- */
struct lt_hessian; /* the solver's inverse Hessian approximation */

typedef struct lt_iterate {
    size_t  size;                      /* of the library's struct */
    int64_t iter;                      /* 0 at the start */
    int64_t n, p, q;
    const double *x;
    double f, mu, phi;                 /* phi = mu f + v1 */
    const double *grad_f, *grad_phi;
    const double *ci, *grad_ci, *ce, *grad_ce; /* gradients one after the other; NULL where they are sparse */
    double tvi, tve, tv;               /* largest violations */
    double tvi_l1, tve_l1, tv_l1;      /* sums */
    bool   feasible_to_tol;
    const double *d;                   /* direction; zeros at the start */
    double  alpha;                     /* accepted step */
    int64_t ls_evals;                  /* since the previous accepted step, failed levels included */
    int64_t n_gradients;               /* samples in the stationarity measure */
    const double *stat_vec;
    double  stat_val;
    int     fallback_level;
    const double *H_regularised;       /* n x n, or NULL when nothing was changed */
    const struct lt_hessian *hessian;  /* for lt_iterate_hessian */
} lt_iterate;
/* True asks the run to stop with code 3. Everything it points at is valid during the call only. */
typedef bool (*lt_iterate_fn)(void *ctx, const lt_iterate *it);

/* The inverse Hessian approximation: n x n symmetric, or the pairs of limited memory. */
typedef struct lt_hessian_state {
    int64_t n, m;          /* m pairs; 0 in full-memory mode */
    double *H;             /* full memory: n x n; else NULL */
    double *S, *Y, *rho;   /* limited memory: m rows of n, oldest first; m numbers */
    double  gamma;
} lt_hessian_state;
LT_API lt_status lt_iterate_hessian(const lt_iterate *it, lt_hessian_state *out); /* release afterwards */
LT_API void      lt_hessian_state_release(lt_hessian_state *s);

/* ---- Options --------------------------------------------------------------------------------- */
typedef enum lt_gradient_policy {
    LT_GRADIENTS_AUTO,      /* values first where that is expected to cost less */
    LT_GRADIENTS_ON_DEMAND, /* values first, always */
    LT_GRADIENTS_ALWAYS     /* with every evaluation */
} lt_gradient_policy;

/* Where the inverse Hessian approximation lives when the functions run on a device. */
typedef enum lt_hessian_place {
    LT_HESSIAN_AUTO,        /* on the device from the size on where that is faster */
    LT_HESSIAN_HOST,
    LT_HESSIAN_DEVICE
} lt_hessian_place;

/* Which bounds are kept: no point outside is evaluated, the start is moved inside, quadratic programs have them exactly. */
typedef enum lt_honor {
    LT_HONOR_AUTO,          /* those that were declared: `in` of a problem file, bounds of an AMPL model, lt_problem_set_bounds; below 256 variables, in
                               full memory, also inequalities of one variable where the start satisfies them all; and all, where their gradients as
                               constraints would be 1 GiB or more */
    LT_HONOR_ALL,           /* also inequalities of a graph that say a x <= b of one variable */
    LT_HONOR_NONE           /* bounds are constraints like others */
} lt_honor;

/* How gradients of constraints are kept. */
typedef enum lt_jacobian_kind {
    LT_JACOBIAN_AUTO,       /* sparse, where dense ones would take 64 MiB or more and at most one entry in twenty may be other than zero */
    LT_JACOBIAN_DENSE,
    LT_JACOBIAN_SPARSE      /* as the entries that they may have, all the way through the QPs; H is of limited memory then, and samples are not kept */
} lt_jacobian_kind;

/* Switches of benchmarks and tests, each with the same results. Nobody else needs them. */
typedef struct lt_solve_debug {
    size_t size;
    bool   qp_warm_start;          /* QPs start from the previous active set */
    bool   incremental_products;   /* products with H are carried from one iteration to the next */
    bool   blocked_lbfgs;          /* limited memory: all right-hand sides at once */
    bool   in_place_bfgs;          /* full memory: H is updated where it lies */
    bool   pinned_transfers, async_transfers, direct_assembly, captured_evaluation, small_by_kernel; /* how functions on a device are evaluated */
    bool   time_function;          /* time the kernels of an evaluation alone: lt_solve_transfers */
} lt_solve_debug;
LT_API void lt_solve_debug_defaults_into(lt_solve_debug *out);
static inline lt_solve_debug lt_solve_debug_defaults(void) { lt_solve_debug sized; sized.size = sizeof sized; lt_solve_debug_defaults_into(&sized); return sized; }
LT_API const lt_option_table *lt_solve_debug_table(void);

/* Plain data: start from lt_solve_defaults(). lt_options_help(lt_solve_options_table()) lists names and meanings, also PyGRANSO's name of
   each, which lt_solve_options_set takes as well. */
typedef struct lt_solve_options {
    size_t size;
    /* What only a program can set */
    const double *x0;              /* n numbers; NULL: x0_file, the problem's start, or drawn */
    const double *H0;              /* n x n symmetric; NULL: H0_file or identity */
    const double *H0_diagonal;     /* limited memory: n positive numbers; NULL: ones */
    const lt_hessian_state *lbfgs_state; /* limited memory: S, Y, rho, gamma to start from; NULL: lbfgs_state_file or none */
    lt_iterate_fn iterate_fn;
    void         *iterate_ctx;
    FILE         *print_to;        /* NULL: nothing is printed, whatever print_level says */
    const volatile int *interrupt; /* not 0: stop after this evaluation with code 3; may be NULL */
    lt_device    *device;          /* where graphs are evaluated: borrowed, must outlive the problem; NULL: device_name */
    const lt_solve_debug *debug;   /* NULL: the defaults */

    /* Start */
    const char *x0_file, *H0_file; /* .npy; x0_file also the result of another run: .json of `lathe solve --json`, .npz of its --out */
    double  mu0;                   /* first penalty parameter; with an x0_file that is the result of another run, that one's unless this is set */
    bool    check_H0, scale_H0;
    int64_t seed;

    /* Stopping */
    double  stationarity_tol, decrease_tol, bracket_tol, inequality_tol, equality_tol;
    int64_t patience;              /* after stationarity_tol is met go on until this many steps in a row lower f by less than it */
    int64_t max_iterations;
    double  max_seconds, target_f;
    bool    stop_on_qp_failure, stop_on_bracket_failure, go_on_after_bracket_failure;
    double  kkt_tol;               /* code 0 also asks for a KKT residual of at most this, or of stationarity_tol if that is larger; INFINITY: it does not */

    /* Recovery */
    int64_t recoveries;            /* attempts to go on where a run would end without a certified point */
    bool    recover_H, recover_mu, recover_samples; /* switches of these attempts; more at the end */

    /* Directions */
    int     first_fallback, last_fallback;
    int64_t random_directions;
    bool    steering_l1_model;
    double  steering_margin;
    int64_t steering_reductions;
    double  steering_share, steering_factor;
    bool    unit_directions;
    double  qp_tol;

    /* Line search */
    double  wolfe_decrease, wolfe_slope;
    int64_t nondescent_evals, search_retries, search_retries_at_start;
    double  search_retry_factor, search_retry_factor_at_start;
    double  first_step, search_evals;
    int64_t search_evals_cap;      /* per line search, when search_evals is infinite */
    bool    backtracking;

    /* Hessian */
    double  bfgs_damping;          /* -1: 1e-4 with compat, else 0 */
    int64_t lbfgs_pairs;           /* 0 = full memory */
    bool    lbfgs_fixed_scaling;
    const char *lbfgs_state_file;  /* .npz */
    double  condition_limit;
    bool    clip_large_eigenvalues;

    /* Stationarity */
    int64_t max_samples;           /* 0 = min(100, 2n, n+10) */
    double  sample_radius;
    bool    stationarity_l2;

    /* Functions */
    double  prescale_above;
    bool    graph_gradients, double_precision, mixed_precision;
    const char *device_name;       /* "cpu", "cuda:0", "auto"; for many starts and sweeps also several of one kind that share the runs, "cuda:0,cuda:1" */
    lt_mode compile_mode;
    lt_gradient_policy gradients;
    int64_t threads;               /* of the library's pool; 0 = as it is */
    int     compat;                /* 1: PyGRANSO's quirks */

    /* Devices */
    int64_t pin_max_bytes;         /* page-lock no more than this in one piece */
    lt_hessian_place hessian_on, vectors_on; /* vectors: gradients, samples, directions; on the device only where H is */
    int64_t trials_at_once;        /* steps of a line search whose values a device computes together; 1: one after the other, 0: four as long as that pays */

    /* Printing */
    int     print_level;
    double  print_every;           /* a whole number or INFINITY */
    int     print_width;
    bool    print_ascii, print_color, print_prescaling, print_qp_notice, check_internals;
    const char *profile;           /* Chrome trace written here; NULL = none */

    /* Checkpoints */
    const char *checkpoint;        /* file; NULL = none */
    int64_t checkpoint_every;      /* iterations; 0 = by time only */
    double  checkpoint_seconds;
    const char *resume;            /* a checkpoint to go on from */

    lt_honor honor_bounds;         /* bounds that no point evaluated is outside of */

    /* Constraints */
    bool    lagrangian_updates, correct_steps; /* H learns from the Lagrangian; a step that fails is corrected for the constraints' curvature */
    int64_t steering_halvings;     /* of mu per iteration, after steering_reductions */
    lt_jacobian_kind jacobian;     /* of constraints of a graph on the CPU; elsewhere they are dense */

    /* Scaling inside of the run; results are in the caller's units */
    bool    scale_functions, scale_variables; /* by gradients at x0; by x0 and the widths of bounds, through the first H */

    /* Recovery */
    int64_t recover_start;         /* points tried around a start where gradients balance; the lowest is the first step */
    bool    recover_scales;        /* H begins anew with scales from gradients */
} lt_solve_options;

LT_API void lt_solve_defaults_into(lt_solve_options *out);
static inline lt_solve_options lt_solve_defaults(void) { lt_solve_options sized; sized.size = sizeof sized; lt_solve_defaults_into(&sized); return sized; }
/* One row per option: for help, command lines and lt_options_set. */
LT_API const lt_option_table *lt_solve_options_table(void);
/* As lt_options_set; also explains the options that only a program can set. */
LT_API lt_status lt_solve_options_set(lt_solve_options *opt, const char *name, const char *value);
/* Every value against its range; the first that is wrong is named. */
LT_API lt_status lt_solve_options_check(const lt_solve_options *opt);
/* Sets the options written in a problem file; a wrong one is named with its line. */
LT_API lt_status lt_solve_options_from_model(lt_solve_options *opt, const lt_model *m);

/* ---- Solutions --------------------------------------------------------------------------------- */
typedef struct lt_solution_point {
    bool    present;
    double *x;                 /* n */
    double  f;
    double *ci, *ce;           /* p, q; NULL when there are none */
    double  tvi, tve, tv, mu;
    bool    feasible_to_tol;
} lt_solution_point;

typedef struct lt_bfgs_counts {
    int64_t requests, updates, damped_requests, damped_updates, scaling_skips, sty_fails, infnan_fails;
} lt_bfgs_counts;

typedef struct lt_history_row { /* one accepted step, or the start */
    int64_t iter, evals;
    double  mu, phi, f, tvi, tve, t, stat, stat_unweighted;
    int     level, qp_attempts;
    int64_t n_gradients;
    double  seconds;           /* since the start */
} lt_history_row;

/* What crossed between host and device; all zero where the functions run on the host. */
typedef struct lt_solve_crossings {
    int64_t calls;                 /* evaluations; products with H and updates of it */
    int64_t uploads, downloads, bytes_up, bytes_down;
    int64_t syncs;                 /* waits of the host */
} lt_solve_crossings;

typedef struct lt_solve_transfers {
    size_t  size;                  /* of the library's struct */
    lt_solve_crossings evaluation, hessian;
    lt_solve_crossings vectors;    /* waits for numbers about vectors on the device, beside evaluations */
    int64_t values_runs, gradient_runs; /* evaluations of values alone; of everything */
    int64_t shared_runs;           /* of values_runs: those of several steps at once */
    int64_t replays;               /* evaluations that were one captured sequence */
    int64_t host_copies;           /* evaluations whose numbers the host copied once more */
    int64_t trials_run, trials_used; /* steps that shared_runs were about; and those that a search came to */
    bool    pinned;                /* the host's memory of them is page-locked */
    bool    hessian_on_device, vectors_on_device;
    double  values_seconds, all_seconds; /* kernels alone, by the device's clock; with time_function, else 0 */
    double  values_call_seconds, all_call_seconds; /* the same as the host sees it: launched and waited for, x and results on the device */
} lt_solve_transfers;

/* Why a run ended. The numbers are those of PyGRANSO up to 12, and stay as they are. */
typedef enum lt_termination {
    LT_TERMINATION_NONE = -1,               /* still running: never of a solution */
    LT_TERMINATION_CONVERGED = 0,           /* stationary and feasible to the tolerances */
    LT_TERMINATION_SMALL_DECREASE = 1,      /* decrease_tol, at a feasible point */
    LT_TERMINATION_TARGET = 2,              /* target_f, at a feasible point */
    LT_TERMINATION_HALTED = 3,              /* by iterate_fn or interrupt */
    LT_TERMINATION_MAX_ITERATIONS = 4,
    LT_TERMINATION_MAX_TIME = 5,
    LT_TERMINATION_BRACKET_FEASIBLE = 6,    /* a line search failed in a bracket; often practical optimality */
    LT_TERMINATION_BRACKET_INFEASIBLE = 7,
    LT_TERMINATION_UNBOUNDED = 8,           /* a line search found no bracket */
    LT_TERMINATION_NO_DESCENT = 9,
    LT_TERMINATION_RETIRED = 10,            /* never produced */
    LT_TERMINATION_FUNCTION_FAILED = 11,
    LT_TERMINATION_QP_FAILED = 12,
    LT_TERMINATION_INTERNAL = 13,
    LT_TERMINATION_DEVICE_LOST = 14,
    LT_TERMINATION_NOT_STATIONARY = 15,     /* the measure of phi is small, but the KKT residual is not, and nothing helped */
    LT_TERMINATION_COUNT
} lt_termination;
LT_API const char *lt_termination_text(lt_termination code); /* one sentence; "?" for a code that does not exist */

/* How well the conditions of Karush, Kuhn and Tucker hold at `final`, in the user's units whatever was scaled. Multipliers are those of
   f + l'ci + m'ce with the f that is minimised: raising the right-hand side b of an inequality expression <= b by a little changes that f by
   -l times as much. With s gradients of every function, at points no farther than the sampling radius from `final`, the weights of f's sum to one. */
typedef struct lt_certificate {
    size_t  size;
    bool    known;             /* false: the device was lost, or no gradient was finite */
    bool    stationary;        /* final is feasible and residual <= the larger of kkt_tol (its default, where that is infinite) and stationarity_tol */
    double  residual;          /* sqrt(stationarity^2 + complementarity^2) / max(1, weight): neither mu nor H takes part */
    double  stationarity;      /* |sum of gradients times multipliers| */
    double  complementarity;   /* |l_j ci_j| together, as a 2-norm */
    double  weight;            /* sum of |gradient| times |multiplier|, f's included */
    double  mu;                /* at the end; multipliers beyond 1 / mu are out of reach for the penalty function */
    double  condition;         /* of H_final: its largest eigenvalue by its smallest; NaN in limited memory and above 100 variables */
    int64_t n_samples;         /* points whose gradients took part */
    const double *ci_multipliers, *ce_multipliers; /* p, q; NULL when there are none, or they are not known */
    int64_t n_violated, n_active;
    const int64_t *violated;   /* constraints beyond their tolerance: 0..p-1 are ci, p..p+q-1 ce */
    const int64_t *active;     /* inequalities that hold by no more than it */
    int64_t n_conflict;        /* where no feasible point was found: constraints whose linear models near `final` cannot hold together, and could */
    const int64_t *conflict;   /*   without any one of them; numbered as `violated`, then n lower and n upper bounds that were set. 0: none was found, and other starts may help */
    const double *conflict_weights; /* their gradients times these sum to nearly nothing, their values do not: not negative for inequalities, sizes sum to one */
    const double *bound_multipliers; /* n: of bounds that were kept, that of the lower one minus that of the upper one; NULL: none were */
} lt_certificate;

typedef struct lt_option_change { const char *name, *was, *now; } lt_option_change; /* values as texts that would set them; "": none */

typedef struct lt_solution {
    size_t  size;                  /* of the library's struct: a newer library may have more fields */
    int64_t n, p, q;
    lt_solution_point final, best, most_feasible;
    lt_solution_point final_unscaled, best_unscaled, most_feasible_unscaled; /* only when prescaled */
    struct { double *f, *ci, *ce; } scalings; /* NULL where a group needed none */
    lt_hessian_state H_final;      /* empty when the device that held it was lost */
    double  stat_value, stat_unweighted, stat_mu_normalised;
    int64_t iters, fn_evals, gradient_evals;
    lt_bfgs_counts BFGS_updates;
    lt_termination termination_code;
    double  quadprog_failure_rate; /* percent of the QPs */
    const char *error;             /* codes 11 to 14; else NULL */
    double  mu_lowest;             /* code 8, constrained; else NaN */
    double  time_total, time_eval, time_qp, time_h, time_compile; /* seconds */
    int64_t n_qp, n_mu_reductions;
    int64_t loop_allocations;      /* after iteration 2; those of recovery not counted */
    char    device[16];            /* where the functions ran: "cpu", "cuda:0" */
    char    device_reason[160];    /* why there: "asked for", or what made auto decide */
    const lt_solve_transfers *transfers; /* never NULL */
    bool    interrupted;
    lt_history_row *history;
    int64_t n_history;
    const lt_certificate *certificate; /* never NULL */
    const lt_option_change *changed_options; /* resume: those that differ from the checkpoint's; NULL: none */
    int64_t n_changed_options;
    int64_t n_start_moved;         /* variables of the start that were outside of bounds, and were moved to them */
} lt_solution;

/* Runs the optimizer. opt NULL = all defaults. A failure is a mistake in the call: wrong options,
   an x0 where the functions fail or are not finite, memory. Everything that happens later is reported
   by the solution's termination code. */
LT_API lt_status lt_solve(lt_problem *p, const lt_solve_options *opt, lt_solution **out);
LT_API void      lt_solution_destroy(lt_solution *s); /* NULL is allowed */

/* Runs from n_starts seeded random starts (the first from the given x0, if any) in n_threads
   threads (0 = as many as cores). Solutions come ordered: feasible first, then by f, then by violation,
   then by number; the order and every bit are the same for any number of threads. */
typedef struct lt_multistart {
    int64_t       n_starts;
    lt_solution **solution;  /* ordered; NULL where a start failed */
    int64_t      *start;     /* number of the start each came from */
} lt_multistart;
LT_API lt_status lt_solve_multistart(lt_problem *p, const lt_solve_options *opt, int64_t n_starts,
                                     int64_t n_threads, lt_multistart **out);
LT_API void      lt_multistart_destroy(lt_multistart *m); /* NULL is allowed */

/* ---- Many runs, over ranks ---------------------------------------------------------------------- */
typedef struct lt_run_row {
    size_t  size;
    int64_t number;                /* of the start, or of the value */
    double  value;                 /* of the data, in a sweep; else NaN */
    bool    failed;                /* it could not begin: error says why, and what follows means nothing */
    bool    feasible, interrupted;
    double  f, tv;                 /* of the best feasible point, else of the last one */
    int64_t iters, fn_evals;
    lt_termination termination_code;
    char    error[160];
} lt_run_row;

typedef struct lt_runs lt_runs; /* opaque */
/* As lt_solve_multistart, with the starts shared between all ranks of the cluster (NULL: this process is alone), n_threads on each (0 = its share of the cores). Rows come
   in the same order, and every bit is the same for any number of ranks. All ranks call it, with the same problem and options, and get the same status; rank 0 has the rows. */
LT_API lt_status lt_solve_starts(lt_cluster *c, lt_problem *p, const lt_solve_options *opt, int64_t n_starts, int64_t n_threads, lt_runs **out);
/* The problem of a file (lt_model_read_with) for n values of a datum, equally spaced from first to last; rows in the order of the values. A value for which the text is wrong is a
   row that failed. */
LT_API lt_status lt_solve_sweep(lt_cluster *c, const char *path, const char *data, double first, double last, int64_t n, const lt_solve_options *opt,
                                int64_t n_threads, lt_runs **out);
LT_API int64_t   lt_runs_count(const lt_runs *r);          /* 0 on other ranks than 0, and of NULL */
LT_API bool      lt_runs_get(const lt_runs *r, int64_t place, lt_run_row *out); /* false past the last */
/* Of a sweep: the n variables of a row; NULL where it failed, or has another number of variables than the first value. */
LT_API const double *lt_runs_x(const lt_runs *r, int64_t place);
LT_API const lt_solution *lt_runs_best(const lt_runs *r);  /* of starts: the first row's; else NULL */
LT_API void      lt_runs_destroy(lt_runs *r);              /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
