/* The runs of `lathe-bench solve`, opened and solved. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/solve/cases.h"

#include "cli/solve/solve.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Example D1v at the width of LeNet: 62006 variables. */
static const char lenet[] =
    "rng g = mt19937(0)\n"
    "data n = 128\n"
    "data label = mod(arange(n), 10)\n"
    "data template = normal(10, 3, 32, 32, rng=g)\n"
    "data image = gather(template, label, axis=0) + 0.5*normal(n, 3, 32, 32, rng=g)\n"
    "var K1[6, 3, 5, 5]  = (2*uniform(6, 3, 5, 5, rng=g) - 1)/sqrt(75)\n"
    "var k1[6]           = (2*uniform(6, rng=g) - 1)/sqrt(75)\n"
    "var K2[16, 6, 5, 5] = (2*uniform(16, 6, 5, 5, rng=g) - 1)/sqrt(150)\n"
    "var k2[16]          = (2*uniform(16, rng=g) - 1)/sqrt(150)\n"
    "var W3[120, 400]    = (2*uniform(120, 400, rng=g) - 1)/20\n"
    "var w3[120]         = (2*uniform(120, rng=g) - 1)/20\n"
    "var W4[84, 120]     = (2*uniform(84, 120, rng=g) - 1)/sqrt(120)\n"
    "var w4[84]          = (2*uniform(84, rng=g) - 1)/sqrt(120)\n"
    "var W5[10, 84]      = (2*uniform(10, 84, rng=g) - 1)/sqrt(84)\n"
    "var w5[10]          = (2*uniform(10, rng=g) - 1)/sqrt(84)\n"
    "let a1 = maxpool2d(relu(conv2d(image, K1, k1)), 2)\n"
    "let a2 = maxpool2d(relu(conv2d(a1, K2, k2)), 2)\n"
    "let a3 = relu(linear(reshape(a2, n, 400), W3, w3))\n"
    "let a4 = relu(linear(a3, W4, w4))\n"
    "minimize cross_entropy(linear(a4, W5, w5), label)\n"
    "option stationarity_tol = 1e-3\n"
    "option lbfgs_pairs = 100\n";

/* Example B2 with many variables. */
static const char wide[] =
    "rng g = mt19937(0)\n"
    "data R = normal(2000, 2000, rng=g)\n"
    "data A = (R + R')/2\n"
    "var x[2000] = normal(2000, rng=g)\n"
    "minimize -x' @ A @ x\n"
    "subject to\n"
    "  x' @ x == 1\n"
    "option mu0 = 0.1\n"
    "option max_iterations = 100\n";

/* Constraints of two variables each; x from the middle, where the circles are left together. */
static const char chained[] =
    "data n = 500\n"
    "var x[n] = 0.5*ones(n)\n"
    "minimize sum((x - 2)^2)\n"
    "subject to\n"
    "  x[1:]^2 + x[:-1]^2 <= 1\n";

/* Bounds on f and codes are those a run has to end with to be accepted; published figures are of
   PyGRANSO 2.0 (full-memory update mended, OSQP 1.0), two cores, float64, printing off. */
const solve_case solve_cases[] = {
    { .name = "A1a", .what = "nonsmooth Rosenbrock from a kink", .example = "A1", .lowest = 0.0857764376, .highest = 0.0859,
      .codes = "06", .published = 0.104, .ratio = 300 },
    { .name = "A1b", .what = "the same from far away, 10 iterations", .example = "A1b", .lowest = 0.0857764376, .highest = 9.270577837,
      .codes = "4", .published = 0.108 },
    { .name = "A1c", .what = "A1b gone on from its end", .example = "A1b", .set = "scale_H0=false stationarity_tol=1e-6 max_iterations=100",
      .restart_of = "A1b", .lowest = 0.0857764376, .highest = 0.0862, .codes = "06", .published = 0.230 },
    { .name = "A1d", .what = "from a random start, with a callback", .example = "A1", .from = "var x[2] = [1, 1]", .to = "var x[2]",
      .set = "stationarity_tol=1e-6 max_iterations=100", .callback = true, .lowest = 0.0857764376, .highest = 0.0862, .codes = "06" },
    { .name = "A1e", .what = "A1b with one pair of limited memory", .example = "A1b", .set = "lbfgs_pairs=1",
      .lowest = 0.0857764376, .highest = 10.41747246, .codes = "4" },
    { .name = "A1f", .what = "A1e gone on from its end", .example = "A1b",
      .set = "lbfgs_pairs=1 scale_H0=false lbfgs_fixed_scaling=false max_iterations=100", .restart_of = "A1e",
      .lowest = 0.0857764376, .highest = 0.0860, .codes = "06", .published = 0.291 },
    { .name = "A2", .what = "eigenvalues of a 40 x 40 matrix", .example = "A2", .quick = "max_iterations=20", .codes = "046" },
    { .name = "A2full", .what = "eigenvalues of a 200 x 200 matrix, per evaluation", .example = "A2full", .quick = "max_iterations=3", .codes = "046",
      .per = SOLVE_PER_EVALUATION, .limit = 25e-3, .published = 32e-3, .ratio = 2 },
    { .name = "A3", .what = "dictionary learning", .example = "A3", .quick = "max_iterations=20", .lowest = 0.4919322, .highest = 0.4919432,
      .codes = "06", .limit = 60e-3, .published = 1.58, .ratio = 25 },
    { .name = "B1", .what = "nonlinear feasibility", .example = "B1", .codes = "0", .published = 0.0185, .ratio = 300 },
    { .name = "B2", .what = "largest eigenvalue, 300 variables", .example = "B2", .lowest = -24.28593206, .highest = -24.28592106,
      .codes = "06", .limit = 15e-3, .published = 0.448, .ratio = 25 },
    { .name = "B3", .what = "trace, one column", .example = "B3", .lowest = -3.04325830604, .highest = -3.04324829604,
      .codes = "06", .published = 0.208, .ratio = 150 },
    { .name = "B3d2", .what = "trace, two columns", .example = "B3d2", .lowest = -3.9322907, .highest = -3.922,
      .codes = "06", .published = 0.527, .ratio = 150 },
    { .name = "C1", .what = "robust principal components", .example = "C1", .lowest = 0.33373808, .highest = 0.3342,
      .codes = "06", .limit = 5e-3, .published = 1.02, .ratio = 150 },
    { .name = "C2", .what = "total-variation denoising", .example = "C2", .quick = "max_iterations=30", .lowest = 5.07795525, .highest = 5.0779552563,
      .codes = "06", .limit = 120e-3, .published = 6.49, .ratio = 50 },
    { .name = "C3", .what = "logistic path, 16 runs", .example = "C3", .from = "data k = 7", .to = "data k = %d", .n_parts = 16,
      .codes = "046", .published = 3.18, .ratio = 100 },
    { .name = "D1v", .what = "small convolutional network, 64 images", .example = "D1v", .quick = "max_iterations=2", .lowest = 0, .highest = 1e-3,
      .codes = "0" },
    { .name = "D1v128", .what = "LeNet, 128 images, 62006 variables", .text = lenet, .quick = "max_iterations=1", .lowest = 0, .highest = 1e-3,
      .codes = "0", .published = 9.98, .ratio = 2 },
    { .name = "D1v1000", .what = "LeNet, 1000 images, 5 iterations", .text = lenet, .from = "data n = 128", .to = "data n = 1000",
      .set = "max_iterations=5", .quick = "max_iterations=1", .codes = "04", .least_share = 0.9 },
    { .name = "D2v", .what = "perceptual attack, 16 x 16", .example = "D2v", .lowest = -1.000001, .highest = -0.999999, .codes = "0",
      .published = 0.101, .ratio = 20 },
    { .name = "D3v", .what = "recurrent network, folded constraints", .example = "D3v", .quick = "max_iterations=3", .codes = "0",
      .published = 41.0, .ratio = 10 },
    { .name = "D3vfull", .what = "recurrent network, 900 constraints", .example = "D3v", .from = "fold_l2(W' @ W - eye(30)) == 0\n",
      .to = "W' @ W == eye(30)\n", .quick = "max_iterations=2", .codes = "06", .published = 258, .ratio = 50 },
    { .name = "E1", .what = "499 chained circles, dense gradients", .text = chained, .set = "jacobian=dense", .quick = "max_iterations=2", .codes = "0" },
    { .name = "E1s", .what = "the same, sparse gradients", .text = chained, .set = "jacobian=sparse", .codes = "0" },
    { .name = "E2s", .what = "9999 chained circles, sparse gradients", .text = chained, .from = "n = 500", .to = "n = 10000", .quick = "max_iterations=2", .codes = "0" },
    { .name = "B2wide", .what = "largest eigenvalue, 2000 variables, 100 iterations", .text = wide, .quick = "max_iterations=5", .codes = "046",
      .device_only = true },
};
const int solve_n_cases = CLI_LEN(solve_cases);

const solve_case *solve_case_find(const char *name)
{
    for (int i = 0; i < solve_n_cases; i++)
        if (!strcmp(solve_cases[i].name, name)) return &solve_cases[i];
    return NULL;
}

/* ---- Opening ---------------------------------------------------------------------------- */

/* The text with `from` replaced; the caller frees it. */
static lt_status replace(const char *text, const char *from, const char *to, char **out)
{
    const char *at = from ? strstr(text, from) : NULL;
    if (from && !at) return cli_fail(LT_ERR_INTERNAL, "the example no longer says '%s'", from);
    size_t length = strlen(text) + (from ? strlen(to) : 0) + 1;
    *out = malloc(length);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "out of memory for a problem's text");
    if (from) snprintf(*out, length, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    else snprintf(*out, length, "%s", text);
    return LT_OK;
}

static lt_status set_one(solve_part *p, const char *name, const char *value)
{
    size_t base;
    p->opt.debug = &p->debug;
    return lt_options_find(lt_solve_debug_table(), name, &base) ? lt_options_set(lt_solve_debug_table(), name, value, &p->debug)
                                                                : lt_solve_options_set(&p->opt, name, value);
}

lt_status solve_case_set(solve_part *p, const char *set)
{
    for (const char *at = set ? set : ""; *at;) {
        char name[40], value[40];
        int used = 0;
        if (sscanf(at, " %39[^= ]=%39[^ ] %n", name, value, &used) != 2)
            return cli_fail(LT_ERR_ARGUMENT, "'%s': expected NAME=VALUE", set);
        CLI_TRY(set_one(p, name, value));
        at += used;
    }
    return LT_OK;
}

lt_status solve_case_set_all(solve_run *r, const lt_text_list *set)
{
    for (int k = 0; k < r->n_parts; k++)
        for (int i = 0; i < set->n; i++) CLI_TRY(solve_case_set(&r->part[k], set->item[i]));
    return LT_OK;
}

void solve_put_set(lt_json *j, const lt_text_list *set)
{
    lt_json_key(j, "set");
    lt_json_array_begin(j);
    for (int i = 0; i < set->n; i++) lt_json_string(j, set->item[i]);
    lt_json_array_end(j);
}

void solve_report_set(const lt_text_list *set)
{
    for (int i = 0; i < set->n; i++) printf("all runs with %s\n", set->item[i]);
}

static bool count_call(void *ctx, const lt_iterate *it)
{
    (void)it;
    ++*(int64_t *)ctx;
    return false;
}

static lt_status open_part(solve_run *r, int k, bool quick, const char *set)
{
    const solve_case *c = r->what;
    solve_part *p = &r->part[k];
    lt_example e = { .size = sizeof e, .text = c->text };
    char to[64], *text;
    if (c->example) CLI_TRY(lt_example_find(c->example, &e));
    const char *number = c->to && c->n_parts > 1 ? strstr(c->to, "%d") : NULL;
    if (number) snprintf(to, sizeof to, "%.*s%d%s", (int)(number - c->to), c->to, k, number + 2);
    else snprintf(to, sizeof to, "%s", c->to ? c->to : "");
    CLI_TRY(replace(e.text, c->from, to, &text));
    lt_status s = lt_model_parse(c->name, NULL, text, strlen(text), &p->model);
    free(text);
    if (!s) s = lt_problem_from_model(p->model, &p->problem);
    p->opt = lt_solve_defaults();
    p->debug = lt_solve_debug_defaults();
    if (!s) s = lt_solve_options_from_model(&p->opt, p->model);
    if (!s) s = solve_case_set(p, c->set);
    if (!s && quick) s = solve_case_set(p, c->quick);
    if (!s) s = solve_case_set(p, set);
    p->opt.interrupt = cli_interrupt_flag();
    if (c->callback) p->opt.iterate_fn = count_call, p->opt.iterate_ctx = &r->n_calls;
    return s;
}

/* Starts this run at the end of the one it goes on from. */
static lt_status follow(solve_run *r, bool quick)
{
    solve_run first;
    lt_status s = solve_case_open(solve_case_find(r->what->restart_of), quick, NULL, &first);
    if (!s) s = lt_solve(first.part[0].problem, &first.part[0].opt, &r->before);
    solve_case_close(&first);
    if (s) return s;
    lt_solve_options *opt = &r->part[0].opt;
    opt->x0 = r->before->final.x;
    opt->mu0 = r->before->final.mu;
    if (r->before->H_final.m) opt->lbfgs_state = &r->before->H_final;
    else opt->H0 = r->before->H_final.H;
    return LT_OK;
}

lt_status solve_case_open(const solve_case *c, bool quick, const char *set, solve_run *r)
{
    *r = (solve_run){ .what = c, .n_parts = c->n_parts > 1 ? c->n_parts : 1 };
    double start = cli_now();
    for (int k = 0; k < r->n_parts; k++) CLI_TRY(open_part(r, k, quick, set));
    r->read_seconds = cli_now() - start;
    return c->restart_of ? follow(r, quick) : LT_OK;
}

void solve_case_place(solve_run *r, lt_device *dev)
{
    for (int k = 0; k < r->n_parts; k++) r->part[k].opt.device = dev;
}

void solve_case_close(solve_run *r)
{
    for (int k = 0; k < r->n_parts; k++) {
        lt_problem_destroy(r->part[k].problem);
        lt_model_destroy(r->part[k].model);
    }
    lt_solution_destroy(r->before);
    *r = (solve_run){ 0 };
}

/* ---- Solving ----------------------------------------------------------------------------- */

static bool accepted(const solve_case *c, const lt_solution *s)
{
    const double f = solve_result(s)->f;
    const bool in_bounds = (c->lowest == 0 && c->highest == 0) || (f >= c->lowest && f <= c->highest);
    return in_bounds && s->termination_code <= LT_TERMINATION_NO_DESCENT && strchr(c->codes, '0' + s->termination_code);
}

lt_status solve_case_solve(solve_run *r, solve_sample *out)
{
    *out = (solve_sample){ .accepted = true };
    for (int k = 0; k < r->n_parts; k++) {
        lt_solution *s;
        const double start = cli_now();
        CLI_TRY(lt_solve(r->part[k].problem, &r->part[k].opt, &s));
        out->seconds += cli_now() - start;
        out->eval += s->time_eval;
        out->qp += s->time_qp;
        out->h += s->time_h;
        out->compile += s->time_compile;
        out->loop += s->time_total;
        out->moved = *s->transfers;
        out->iters += s->iters;
        out->evals += s->fn_evals;
        out->gradient_evals += s->gradient_evals;
        out->n_qp += s->n_qp;
        out->allocations += s->loop_allocations;
        out->code = s->termination_code > out->code ? s->termination_code : out->code;
        out->f = solve_result(s)->f;
        out->violation = solve_result(s)->tv;
        out->accepted = out->accepted && accepted(r->what, s);
        const bool stopped = s->interrupted;
        lt_solution_destroy(s);
        if (stopped) return cli_stopped();
    }
    return LT_OK;
}

double solve_median(double *sample, int n, double *low, double *high)
{
    qsort(sample, (size_t)n, sizeof *sample, cli_ascending);
    *low = sample[n / 4];
    *high = sample[n - 1 - n / 4];
    return sample[n / 2];
}

static void add(solve_sample *sum, const solve_sample *s)
{
    sum->seconds += s->seconds;
    sum->eval += s->eval;
    sum->qp += s->qp;
    sum->h += s->h;
}

lt_status solve_case_measure(solve_run *r, double budget, solve_timing *out)
{
    enum { MIN_SAMPLES = 5, MAX_SAMPLES = 400 };
    const double patience = 10; /* budgets a run may take before one measurement has to do */
    double sample[MAX_SAMPLES], begin = cli_now();
    int n = 0;
    *out = (solve_timing){ 0 };
    CLI_TRY(solve_case_solve(r, &out->last));
    out->first = cli_now() - begin;
    if (out->first > patience * budget) {
        sample[n++] = out->last.seconds - out->last.compile;
        add(&out->sum, &out->last);
        out->sum.seconds -= out->last.compile;
    }
    begin = cli_now();
    while (n == 0 || (n < MAX_SAMPLES && out->first <= patience * budget && (n < MIN_SAMPLES || cli_now() - begin < budget))) {
        CLI_TRY(solve_case_solve(r, &out->last));
        add(&out->sum, &out->last);
        sample[n++] = out->last.seconds;
    }
    out->time = (cli_timing){ .samples = n, .calls_per_sample = 1 };
    out->time.median = solve_median(sample, n, &out->time.low, &out->time.high);
    return LT_OK;
}
