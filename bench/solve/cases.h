/* The runs of `lathe-bench solve`: built-in examples, some with words of their text replaced, and what
   each has to reach. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_SOLVE_CASES_H
#define LATHE_BENCH_SOLVE_CASES_H

#include "cli/frame/cli.h"

enum { SOLVE_MAX_PARTS = 16 };

typedef enum solve_per { SOLVE_PER_RUN, SOLVE_PER_EVALUATION } solve_per;

typedef struct solve_case {
    const char *name, *what;
    const char *example;      /* a built-in problem; NULL: text */
    const char *text;
    const char *from, *to;    /* words of the text and what stands in their place; NULL = none */
    const char *set;          /* options: "mu0=100 max_iterations=10" */
    const char *quick;        /* more of them with --quick */
    const char *restart_of;   /* begins where the run of that name ended */
    int         n_parts;      /* above 1: solved for k = 0 … n_parts - 1, the number standing for %d in `to` */
    bool        callback;     /* with a function called after every step */
    bool        device_only;  /* a row of --device alone */
    double      lowest, highest; /* f accepted; both 0 = any */
    const char *codes;        /* termination codes accepted, one digit each */
    solve_per   per;          /* what the following are seconds of */
    double      limit;        /* at most; 0 = none */
    double      published;    /* PyGRANSO 2.0 on two cores of another machine; 0 = none */
    double      ratio;        /* to PyGRANSO, at least; 0 = none */
    double      least_share;  /* of evaluation in the run; 0 = none */
} solve_case;

extern const solve_case solve_cases[];
extern const int solve_n_cases;
const solve_case *solve_case_find(const char *name); /* by its exact name; NULL when there is none */

/* A case ready to be solved as often as one likes. */
typedef struct solve_part {
    lt_model         *model;
    lt_problem       *problem;
    lt_solve_options  opt;
    lt_solve_debug    debug;        /* what opt.debug points at */
} solve_part;

typedef struct solve_run {
    const solve_case *what;
    int               n_parts;
    solve_part        part[SOLVE_MAX_PARTS];
    lt_solution      *before;       /* of restart_of */
    double            read_seconds; /* from text to problem, all parts */
    int64_t           n_calls;      /* of the callback */
} solve_run;

/* set: options that win over the case's; NULL = none. Release also after a failure. */
lt_status solve_case_open(const solve_case *c, bool quick, const char *set, solve_run *out);
void      solve_case_close(solve_run *r);
/* Has the functions run on this device from now on; NULL: on the host. */
void      solve_case_place(solve_run *r, lt_device *dev);
/* Options written as "mu0=100 max_iterations=10"; NULL = none. */
lt_status solve_case_set(solve_part *p, const char *set);
/* Those of --set, for every part. */
lt_status solve_case_set_all(solve_run *r, const lt_text_list *set);
void      solve_put_set(lt_json *j, const lt_text_list *set);
void      solve_report_set(const lt_text_list *set);

/* What one solve of all parts gave; sums over the parts. */
typedef struct solve_sample {
    double  seconds, eval, qp, h, compile;
    int64_t iters, evals, gradient_evals, n_qp, allocations;
    lt_termination code;      /* the largest of the parts */
    double  f, violation;     /* of the last part: the best feasible point, else the final one */
    bool    accepted;         /* every part, by value and code */
    double  loop;             /* seconds of the runs without setting up */
    lt_solve_transfers moved; /* of the last part */
} solve_sample;

lt_status solve_case_solve(solve_run *r, solve_sample *out);

/* Median, quartiles and the sum of several solves. */
typedef struct solve_timing {
    cli_timing   time;        /* of a whole run, graphs compiled */
    solve_sample sum, last;
    double       first;       /* seconds of the first solve, with compiling */
} solve_timing;

/* budget: seconds to spend; a run that takes much longer is taken as it is. */
lt_status solve_case_measure(solve_run *r, double budget, solve_timing *out);
double    solve_median(double *sample, int n, double *low, double *high); /* sorts; low and high are the quartiles */

/* ---- One technique off at a time ------------------------------------------------------------ */

typedef struct solve_ablation {
    const char *technique, *run;
    double      on, off;            /* seconds of a whole run, medians of alternating solves */
    double      eval_on, eval_off;  /* of which evaluation, medians too */
    int64_t     iters_on, iters_off, samples;
} solve_ablation;

enum { SOLVE_MAX_ABLATIONS = 40 };
/* How many rows there are on the host (dev NULL) or on a device, and one of them; rows whose run is not wanted are
   left to the caller. */
int         solve_ablation_count(const lt_device *dev);
const char *solve_ablation_run(const lt_device *dev, int row);
lt_status   solve_ablation_measure(lt_device *dev, int row, bool quick, solve_ablation *out);
/* Off : on, per iteration, of a whole run and of its evaluations alone. */
double      solve_ablation_gain(const solve_ablation *a);
double      solve_ablation_eval_gain(const solve_ablation *a);

/* ---- From many starts ------------------------------------------------------------------------- */

/* What --only leaves of the rows; given by the caller. */
typedef bool (*solve_wanted)(const void *ctx, const char *name);

typedef struct solve_starts {
    int          n_starts;
    bool         quick;
    const lt_text_list *set;     /* options of the solver, NAME=VALUE */
    solve_wanted wanted;
    const void  *ctx;            /* of wanted */
    const char  *peer, *report;  /* files; NULL = none */
} solve_starts;
/* bench solve --starts: where runs end when their start moves by one part in 10^9. */
lt_status   bench_solve_starts(cli_context *c, const solve_starts *o);

/* ---- On a device ------------------------------------------------------------------------------ */

typedef struct solve_on_device {
    bool         quick;
    const lt_text_list *set;     /* options of the solver, NAME=VALUE */
    solve_wanted wanted;
    const void  *ctx;            /* of wanted */
    const char  *report;         /* a file; NULL = none */
} solve_on_device;
/* bench solve --device: the solver's own time per iteration beside functions on the device. */
lt_status   bench_solve_device(cli_context *c, const solve_on_device *o);

#endif
