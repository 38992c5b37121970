/* Evaluating a problem's functions: one evaluator per running solve.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_EVALUATOR_H
#define LT_OPTIMIZE_PROBLEM_EVALUATOR_H

#include "lathe/solve.h"

#include <pthread.h>

#define LT_SPARSE_FROM ((int64_t)1 << 23) /* numbers of dense gradients, 64 MiB: from here on sparse ones are looked for */

/* A block of constraint gradients with a stated pattern. */
typedef struct lt_pattern {
    int64_t *start, *column; /* NULL: dense */
} lt_pattern;

typedef struct lt_evaluator lt_evaluator;

/* What a kind of problem supplies. */
typedef struct lt_problem_kind {
    const char *name;
    lt_status (*open)(lt_problem *p, const lt_solve_options *opt, lt_evaluator *e);
    void      (*close)(lt_evaluator *e);
    lt_status (*run)(lt_evaluator *e, const double *x, const lt_outputs *out);
} lt_problem_kind;

struct lt_problem {
    const lt_problem_kind *kind;
    int64_t n, p, q;
    lt_problem_fn fn;         /* function problems */
    void   *ctx;
    lt_graph *graph;          /* graph problems: borrowed */
    lt_node *node;            /* f, ce…, ci…, then gradients of each: 2 (1 + n_ce + n_ci) */
    int     n_ce, n_ci;
    lt_variable *variable;    /* names are borrowed from the graph or the model */
    int     n_variables;
    double *x0;               /* NULL: none; entries may be NaN */
    bool    maximize;         /* f is minus what the user means, who is shown it in that sense */
    bool    linear[2];        /* by lt_constraint_kind */
    lt_pattern pattern[2];
    struct lt_problem_bounds *declared, *bounds; /* those that were meant as bounds; all that rows say. The same, or NULL: none */
    bool    bounds_set;       /* some by lt_problem_set_bounds, which no row says */
    lt_problem *outer;        /* of a reduced problem: the whole one, whose lock is the graph's */
    struct lt_compressed *compressed; /* gradients of constraints come as entries of a pattern; NULL: dense */
    lt_problem *sparse;       /* the same problem with such gradients; NULL: not made, */
    char    sparse_refused[240]; /*   and why it cannot be, where that is known */
    lt_node built_f, *built_ci, *built_ce; /* a graph whose derivatives are made when they are needed; NULL: they are there */
    pthread_mutex_t lock;     /* of the idle list and of the graph */
    lt_evaluator *idle;
};

enum { LT_BLOCK_F, LT_BLOCK_CE, LT_BLOCK_CI, LT_BLOCK_GRAD_F, LT_BLOCK_GRAD_CE, LT_BLOCK_GRAD_CI, LT_BLOCK_COUNT };

typedef struct lt_port {      /* an input or output of a graph's programs */
    int64_t offset, count;    /* elements of x or of its block */
    int     block;
    bool    single;           /* f32: converted on the way */
} lt_port;

struct lt_evaluator {
    lt_problem *problem;
    lt_evaluator *next;
    lt_mode   mode;
    bool      mixed;
    char      device_name[32];
    lt_device *device;        /* NULL: the CPU */
    bool      borrowed;       /* the device is the caller's */
    char      reason[160];    /* why that device */
    struct lt_device_functions *on_device; /* graph problems on a device; NULL: on the host */
    struct lt_device_hessian *hessian; /* room for an H on it, between runs; NULL: none */
    lt_program *values, *all; /* graph problems; values NULL: `all` gives them first */
    bool      early[LT_BLOCK_COUNT]; /* then: blocks written with the values, which stay in scratch for the rest */
    double   *led_at;         /* then: the x whose values `all` gave last, and their intermediate results holds */
    bool      led;
    double    value_share;    /* cost of values alone in the cost of everything */
    bool      idles;          /* a device waits most of the time that values take */
    double    compile_seconds;
    lt_port  *port;           /* n_inputs of the variables, then n_outputs */
    int       n_inputs, n_values, n_outputs;
    const void **inputs;
    void    **outputs;
    float    *single;         /* f32 inputs and outputs are converted here */
    double   *scratch;        /* values computed again beside gradients */
    double   *groups;         /* compressed gradients, n numbers for each group; NULL: there are none */
    double   *sparse[2];      /* entries of a stated pattern */
    double   *linear[2];      /* gradients of linear blocks, once known */
    bool      linear_known[2];
};

void      lt_problem_sparse_destroy(lt_problem *p); /* one that lt_problem_sparse made */
void      lt_problem_lock_graph(lt_problem *p);
void      lt_problem_unlock_graph(lt_problem *p);
/* Takes an idle evaluator or makes one. */
lt_status lt_evaluator_acquire(lt_problem *p, const lt_solve_options *opt, lt_evaluator **out);
void      lt_evaluator_release(lt_evaluator *e); /* back to the problem; NULL is allowed */
lt_status lt_evaluator_run(lt_evaluator *e, const double *x, const lt_outputs *out);
/* Another program for the values of a graph problem on a device, with memory of its own. */
lt_status lt_evaluator_more_values(const lt_evaluator *e, const lt_solve_options *opt, lt_program **out);

extern const lt_problem_kind lt_problem_kind_function, lt_problem_kind_graph;
lt_status lt_problem_too_many(int64_t n, int64_t constraints);
lt_status lt_problem_alloc(const lt_problem_kind *kind, int64_t n, int64_t p, int64_t q, lt_problem **out);

#endif
