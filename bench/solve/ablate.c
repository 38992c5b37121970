/* What each technique of the optimizer is worth: the same run with it and without, alternating.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/solve/cases.h"

#include <stdlib.h>
#include <string.h>

/* One reverse pass per constraint is no option of the solver: such a problem is built here. */
#define ONE_AT_A_TIME "one at a time"

typedef struct technique {
    const char *name, *run;
    const char *both;     /* options of both runs */
    const char *on, *off; /* of the one and the other */
} technique;

#define COMPILED(run, both)  { "graphs compiled", run, both, "compile_mode=default", "compile_mode=eager" }
#define ON_DEMAND(run, both) { "gradients on demand", run, both, "gradients=on-demand", "gradients=always" }
#define WARM(run, both)      { "QPs started warm", run, both, "qp_warm_start=true", "qp_warm_start=false" }
#define CARRIED(run, both)   { "products with H carried", run, both, "incremental_products=true", "incremental_products=false" }
#define BLOCKED(run, both)   { "limited memory in blocks", run, both, "blocked_lbfgs=true", "blocked_lbfgs=false" }
#define IN_PLACE(run, both)  { "H updated in place", run, both, "in_place_bfgs=true", "in_place_bfgs=false" }
#define ONE_PASS(run, both)  { "constraint gradients in one pass", run, both, NULL, ONE_AT_A_TIME }

static const technique techniques[] = {
    COMPILED("A1a", NULL), COMPILED("C2", NULL), COMPILED("A3", NULL), COMPILED("D2v", NULL), COMPILED("D3v", "max_iterations=10"),
    ON_DEMAND("A1a", NULL), ON_DEMAND("C2", NULL), ON_DEMAND("A3", NULL), ON_DEMAND("D1v", NULL), ON_DEMAND("D3v", "max_iterations=10"),
    WARM("B3d2", NULL), WARM("C1", NULL), WARM("C2", NULL), WARM("A3", NULL),
    CARRIED("B2", NULL), CARRIED("C1", NULL), CARRIED("C2", NULL), CARRIED("A3", NULL),
    IN_PLACE("B2", NULL), IN_PLACE("C2", NULL), IN_PLACE("D3v", "max_iterations=10"),
    BLOCKED("B2", "lbfgs_pairs=20"), BLOCKED("C1", "lbfgs_pairs=20"), BLOCKED("D1v", NULL),
    ONE_PASS("B3d2", NULL), ONE_PASS("C1", NULL), ONE_PASS("D3vfull", "max_iterations=3"),
};
_Static_assert(CLI_LEN(techniques) <= SOLVE_MAX_ABLATIONS, "more rows than callers expect");

#define PINNED(run, both)    { "page-locked transfers", run, both, "pinned_transfers=true", "pinned_transfers=false" }
#define ONE_WAIT(run, both)  { "one wait per evaluation", run, both, "async_transfers=true", "async_transfers=false" }
#define DIRECT(run, both)    { "results where the solver reads them", run, both, "direct_assembly=true", "direct_assembly=false" }
#define CAPTURED(run, both)  { "evaluation captured", run, both, "captured_evaluation=true", "captured_evaluation=false" }
#define BY_KERNEL(run, both) { "small copies by a kernel", run, both, "small_by_kernel=true", "small_by_kernel=false" }
#define TOGETHER(run, both)  { "gradients with the values", run, both, "gradients=auto", "gradients=on-demand" }
#define H_ON_DEVICE(run, both)   { "H on the device", run, both, "hessian_on=device", "hessian_on=host" }

#define ON_DEVICE(run, both)     { "vectors on the device", run, both, "vectors_on=device", "vectors_on=host" }
#define AT_ONCE(run, both)   { "steps of a search at once", run, both, "trials_at_once=0", "trials_at_once=1" }

static const technique device_techniques[] = {
    PINNED("A3", NULL), PINNED("D1v128", "max_iterations=20"), ONE_WAIT("A3", NULL), ONE_WAIT("D2v", NULL), DIRECT("A3", NULL), DIRECT("D1v128", "max_iterations=20"),
    BY_KERNEL("A1a", NULL), BY_KERNEL("A3", NULL), BY_KERNEL("B2", NULL), CAPTURED("A3", NULL), CAPTURED("D2v", NULL),
    CAPTURED("D3v", "max_iterations=10"), TOGETHER("A3", NULL), TOGETHER("C1", NULL),
    H_ON_DEVICE("B2", NULL), H_ON_DEVICE("C2", NULL), H_ON_DEVICE("B2wide", "max_iterations=40"), H_ON_DEVICE("D1v128", "max_iterations=20"),
    ON_DEVICE("B2", NULL), ON_DEVICE("B2wide", "max_iterations=40"), ON_DEVICE("D1v", NULL), ON_DEVICE("D1v128", "max_iterations=20"), ON_DEVICE("D3v", "max_iterations=10"),
    AT_ONCE("C1", NULL), AT_ONCE("C2", NULL), AT_ONCE("A3", NULL), AT_ONCE("D1v", NULL), AT_ONCE("D1v128", "max_iterations=20"), AT_ONCE("D3v", "max_iterations=30"),
    CARRIED("B2", NULL), CARRIED("B2wide", "max_iterations=40"), WARM("C1", NULL), WARM("A3", NULL), COMPILED("A3", NULL), COMPILED("D2v", NULL),
    ONE_PASS("C1", NULL), ONE_PASS("B3d2", NULL),
};
_Static_assert(CLI_LEN(device_techniques) <= SOLVE_MAX_ABLATIONS, "more rows than callers expect");

static const technique *technique_of(const lt_device *dev, int row) { return dev ? &device_techniques[row] : &techniques[row]; }

int         solve_ablation_count(const lt_device *dev) { return dev ? CLI_LEN(device_techniques) : CLI_LEN(techniques); }
const char *solve_ablation_run(const lt_device *dev, int row) { return technique_of(dev, row)->run; }

/* Paths may part by rounding; an iteration is then the fairer measure, and the counts are shown beside it. */
static double per_iteration(double seconds, int64_t iters) { return seconds / (double)(iters ? iters : 1); }

double solve_ablation_gain(const solve_ablation *a)
{
    return per_iteration(a->off, a->iters_off) / per_iteration(a->on, a->iters_on);
}

double solve_ablation_eval_gain(const solve_ablation *a)
{
    return per_iteration(a->eval_off, a->iters_off) / per_iteration(a->eval_on, a->iters_on);
}

/* ---- Constraint gradients one at a time ------------------------------------------------------- */

typedef struct one_by_one {
    lt_model_view view;
    lt_compile_options compile;
    lt_program   *values, **gradient; /* of f, then ci, then ce */
    int           n_gradients;
} one_by_one;

static lt_status evaluate(void *ctx, const double *x, const lt_outputs *o)
{
    one_by_one *b = ctx;
    const int64_t n = b->view.n, p = b->view.p;
    const void *in[] = { x };
    if (o->f) {
        void *out[3] = { o->f };
        int n_out = 1;
        if (p) out[n_out++] = o->ci;
        if (b->view.q) out[n_out++] = o->ce;
        CLI_TRY(lt_program_run(b->values, in, out));
    }
    if (!o->grad_f) return LT_OK;
    for (int i = 0; i < b->n_gradients; i++) {
        double *to = i == 0 ? o->grad_f : i <= p ? o->grad_ci + (i - 1) * n : o->grad_ce + (i - 1 - p) * n;
        CLI_TRY(lt_program_run(b->gradient[i], in, (void *[]){ to }));
    }
    return LT_OK;
}

static lt_status add_gradient(one_by_one *b, lt_node y)
{
    lt_node g;
    CLI_TRY(lt_grad(b->view.graph, y, &b->view.x, 1, &g));
    CLI_TRY(lt_program_create(b->view.graph, &g, 1, &b->compile, &b->gradient[b->n_gradients]));
    b->n_gradients++;
    return LT_OK;
}

static lt_status add_block(one_by_one *b, lt_node c, int64_t count)
{
    for (int64_t i = 0; i < count; i++) CLI_TRY(add_gradient(b, lt_at(b->view.graph, lt_flatten(b->view.graph, c), i)));
    return LT_OK;
}

/* Puts a function that works one gradient at a time in the place of the run's problem. */
static lt_status take_apart(solve_run *r, one_by_one *b)
{
    solve_part *part = &r->part[0];
    b->view = lt_model_get(part->model);
    const lt_model_view *v = &b->view;
    lt_node values[3] = { v->f };
    int n_values = 1;
    if (v->p) values[n_values++] = v->ci;
    if (v->q) values[n_values++] = v->ce;
    b->gradient = calloc((size_t)(1 + v->p + v->q), sizeof *b->gradient);
    if (!b->gradient) return cli_fail(LT_ERR_MEMORY, "out of memory for %lld programs", (long long)(1 + v->p + v->q));
    CLI_TRY(lt_program_create(v->graph, values, n_values, &b->compile, &b->values));
    CLI_TRY(add_gradient(b, v->f));
    CLI_TRY(add_block(b, v->ci, v->p));
    CLI_TRY(add_block(b, v->ce, v->q));
    lt_problem_destroy(part->problem);
    part->problem = NULL;
    part->opt.device = NULL; /* to the solver it is a function, wherever its programs run */
    part->opt.x0 = v->x0;
    return lt_problem_from_function(v->n, v->p, v->q, evaluate, b, &part->problem);
}

static void release(one_by_one *b)
{
    lt_program_destroy(b->values);
    for (int i = 0; i < b->n_gradients; i++) lt_program_destroy(b->gradient[i]);
    free(b->gradient);
}

/* ---- Measuring ---------------------------------------------------------------------------------- */

/* Takes turns: what else the machine does then falls on both alike. */
static lt_status take_turns(solve_run *on, solve_run *off, double budget, solve_ablation *out)
{
    enum { MIN_SAMPLES = 3, MAX_SAMPLES = 100 };
    double with[MAX_SAMPLES], without[MAX_SAMPLES], eval_with[MAX_SAMPLES], eval_without[MAX_SAMPLES], low, high;
    solve_sample a, b;
    int n = 0;
    CLI_TRY(solve_case_solve(on, &a)); /* compiles */
    CLI_TRY(solve_case_solve(off, &b));
    for (const double begin = cli_now(); n < MAX_SAMPLES && (n < MIN_SAMPLES || cli_now() - begin < budget); n++) {
        CLI_TRY(solve_case_solve(on, &a));
        CLI_TRY(solve_case_solve(off, &b));
        with[n] = a.seconds;
        without[n] = b.seconds;
        eval_with[n] = a.eval;
        eval_without[n] = b.eval;
    }
    out->on = solve_median(with, n, &low, &high);
    out->off = solve_median(without, n, &low, &high);
    out->eval_on = solve_median(eval_with, n, &low, &high);
    out->eval_off = solve_median(eval_without, n, &low, &high);
    out->iters_on = a.iters;
    out->iters_off = b.iters;
    out->samples = n;
    return LT_OK;
}

static lt_status open_run(lt_device *dev, const technique *t, bool quick, bool on, solve_run *r)
{
    CLI_TRY(solve_case_open(solve_case_find(t->run), quick, quick ? NULL : t->both, r));
    const char *own = on ? t->on : t->off;
    solve_case_place(r, dev);
    return own && strcmp(own, ONE_AT_A_TIME) ? solve_case_set(&r->part[0], own) : LT_OK;
}

lt_status solve_ablation_measure(lt_device *dev, int row, bool quick, solve_ablation *out)
{
    const technique *t = technique_of(dev, row);
    solve_run on = { 0 }, off = { 0 };
    one_by_one apart = { .compile = { .size = sizeof(lt_compile_options), .device = dev, .mode = dev ? LT_MODE_REDUCE_OVERHEAD : LT_MODE_DEFAULT } };
    *out = (solve_ablation){ .technique = t->name, .run = t->run };
    lt_status s = open_run(dev, t, quick, true, &on);
    if (!s) s = open_run(dev, t, quick, false, &off);
    if (!s && !strcmp(t->off, ONE_AT_A_TIME)) s = take_apart(&off, &apart);
    if (!s) s = take_turns(&on, &off, quick ? 0.05 : 1, out);
    solve_case_close(&on);
    solve_case_close(&off);
    release(&apart);
    return s;
}
