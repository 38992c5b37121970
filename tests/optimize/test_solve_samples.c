/* Samples of the stationarity measure in limited memory, where only steps describe their points: the samples near an iterate
   must be those that stored points give, and check_internals sees to it that steps lead to x bit for bit. SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include <math.h>
#include <unistd.h>

enum { N = 5000, STEPS = 80 };

typedef struct run {
    const char *what;
    int64_t p, pairs, max_samples;
    double  sample_radius, stationarity_tol;
    int64_t patience;        /* the run goes on where the smooth test succeeds, and keeps no sample there */
    bool    single;
    bool    careless;        /* no slope is tested, and updates are skipped */
    bool    stays;           /* no step is found, but the run goes on */
} run;

/* What a callback has seen. */
typedef struct seen {
    const run *c;
    double *x;               /* STEPS + 1 rows: those that became samples */
    int64_t n_samples, n_smooth, after_smooth; /* after_smooth: samples that came later */
    int64_t n_several, n_apart, n_stayed;        /* iterates with more than one sample near, with one that is not, where the last was */
} seen;

/* A badly scaled bowl with waves, so that curvature may be negative, and a kink whose gradient is short on one side only. The
   inequality is not active near minima; a run that stays must not meet it, or it would end. */
static lt_status bowl(void *ctx, const double *x, const lt_outputs *out)
{
    const run *c = ctx;
    const double kink = x[0] >= x[1] ? 2 : -0.5;
    double f = kink * (x[0] - x[1]), sum = 0;
    for (int64_t i = 0; i < N; i++) {
        const double a = (double)(1 + i % 97) / 97;
        f += 0.5 * a * a * x[i] * x[i] + (i % 5 ? 0 : 0.1 * cos(4 * x[i]));
        sum += x[i];
        if (out->grad_f) out->grad_f[i] = a * a * x[i] - (i % 5 ? 0 : 0.4 * sin(4 * x[i]));
    }
    for (int64_t i = 0; out->grad_ci && i < N; i++) out->grad_ci[i] = (c->stays && sum < 0 ? -1.0 : 1.0) / N;
    if (out->f) *out->f = f;
    if (out->ci) *out->ci = c->stays ? 1 + fabs(sum / N) : sum / N - 0.2;
    if (out->grad_f) out->grad_f[0] += kink, out->grad_f[1] -= kink;
    return LT_OK;
}

static double distance(const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < N; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static bool count_samples(void *ctx, const lt_iterate *it)
{
    static const double zero[N];
    seen *t = ctx;
    if (distance(it->grad_phi, zero) <= t->c->stationarity_tol) {
        t->n_smooth++;
        LT_CHECK_EQ_INT(it->n_gradients, 1);
        return false;
    }
    memcpy(t->x + t->n_samples++ * N, it->x, N * sizeof(double));
    const int64_t held = t->n_samples < t->c->max_samples ? t->n_samples : t->c->max_samples;
    int64_t near = 0;
    for (int64_t i = t->n_samples - held; i < t->n_samples; i++) near += distance(t->x + i * N, it->x) <= t->c->sample_radius;
    LT_CHECK_EQ_INT(it->n_gradients, near);
    t->n_several += near > 1;
    t->n_apart += near < held;
    t->n_stayed += it->iter > 0 && it->alpha == 0;
    t->after_smooth += t->n_smooth > 0;
    return false;
}

static lt_solve_options options_of(const run *c, seen *t)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = c->pairs, o.max_samples = c->max_samples, o.sample_radius = c->sample_radius, o.stationarity_tol = c->stationarity_tol,
                             o.patience = c->patience, o.max_iterations = STEPS, o.double_precision = !c->single, o.check_internals = true, o.seed = 3,
                             o.iterate_fn = t ? count_samples : NULL, o.iterate_ctx = t);
    opt.go_on_after_bracket_failure = c->careless || c->stays;
    opt.backtracking = c->careless;
    if (c->careless) opt.scale_functions = false, opt.bfgs_damping = 0, opt.lagrangian_updates = false, opt.search_evals = 3;
    if (c->stays) opt.first_step = 1e9, opt.search_evals = 1;
    return opt;
}

static const run runs[] = {
    { "more pairs than samples", 0, 12, 7, 8, 0, 0, false, false, false },
    { "as many", 1, 7, 7, 8, 0, 0, false, false, false },
    { "fewer pairs than samples", 0, 3, 11, 8, 0, 0, false, false, false },
    { "two samples", 1, 5, 2, 8, 0, 0, false, false, false },
    { "one pair", 0, 1, 30, 8, 0, 0, false, false, false },
    { "single precision", 0, 6, 9, 8, 0, 0, true, false, false },
    { "iterates that are no samples", 0, 6, 9, 8, 1.5, STEPS, false, false, false },
    { "updates skipped", 1, 6, 9, 8, 0, 0, false, true, false },
    { "no step", 1, 6, 9, 8, 0, 0, false, false, true },
};

LT_TEST(samples_are_those_within_the_radius)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const run *c = &runs[i];
        seen t = { .c = c, .x = malloc((STEPS + 1) * N * sizeof(double)) };
        lt_solution *s = solve_function(N, c->p, 0, bowl, (void *)c, options_of(c, &t));
        const lt_bfgs_counts *u = &s->BFGS_updates;
        printf("%-30s of %lld iterates %lld have several near, %lld one that is not, %lld are smooth, %lld stayed; %lld of %lld updates\n", c->what,
               (long long)s->iters, (long long)t.n_several, (long long)t.n_apart, (long long)t.n_smooth, (long long)t.n_stayed, (long long)u->updates,
               (long long)u->requests);
        LT_CHECK(s->iters == STEPS && t.n_several > 2 && (c->stays ? t.n_stayed == STEPS : t.n_apart > 2));
        if (c->patience) LT_CHECK(t.n_smooth > 2 && t.after_smooth > 2);
        if (c->careless) LT_CHECK(u->updates < u->requests);
        lt_solution_destroy(s);
        free(t.x);
    }
}

/* The points are in the file, and go on as points: also those of a full ring, and of one that has lost its oldest already. */
LT_TEST(samples_go_on_from_a_checkpoint)
{
    char path[] = "/tmp/lathe-samples-XXXXXX";
    LT_CHECK(close(mkstemp(path)) == 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const run *c = &runs[i];
        lt_solve_options opt = options_of(c, NULL), first = opt, second = opt;
        lt_solution *whole = solve_function(N, c->p, 0, bowl, (void *)c, opt);
        first.checkpoint = path;
        second.resume = path;
        for (first.max_iterations = 1; first.max_iterations < STEPS; first.max_iterations += 30) {
            lt_solution_destroy(solve_function(N, c->p, 0, bowl, (void *)c, first));
            lt_solution *resumed = solve_function(N, c->p, 0, bowl, (void *)c, second);
            LT_CHECK(!memcmp(whole->final.x, resumed->final.x, N * sizeof(double)));
            LT_CHECK_EQ_INT(whole->n_history, resumed->n_history);
            for (int64_t k = 0; k < whole->n_history && k < resumed->n_history; k++)
                LT_CHECK_EQ_INT(whole->history[k].n_gradients, resumed->history[k].n_gradients);
            lt_solution_destroy(resumed);
        }
        lt_solution_destroy(whole);
    }
    unlink(path);
}

LT_TEST_MAIN()
