/* Peak memory with limited memory, counted in vectors of n numbers. Each run is a process of its own: what the kernel
   says it held at most, less what an empty one does. SPDX-License-Identifier: BSD-3-Clause */
#include "shadowed.h"
#include "solve_tools.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP_IF_SHADOWED() if (SHADOWED) LT_SKIP("the shadow memory of sanitizers would be counted")

enum { N = 1 << 20, STEPS = 9 };

/* f = 1/2 sum a_i x_i^2 / n with a_i from 1 to 64, one linear equality and one inequality; no memory of its own. */
static lt_status bowl(void *ctx, const double *x, const lt_outputs *out)
{
    (void)ctx;
    const double share = 1.0 / N;
    double f = 0, sum = 0, square = 0;
    for (int64_t i = 0; i < N; i++) {
        f += 0.5 * (double)(1 + (i & 63)) * x[i] * x[i];
        sum += x[i];
        square += x[i] * x[i];
    }
    if (out->f) *out->f = f * share;
    if (out->ce) *out->ce = sum * share - 0.1;
    if (out->ci) *out->ci = square * share - 0.5;
    for (int64_t i = 0; out->grad_f && i < N; i++) out->grad_f[i] = (double)(1 + (i & 63)) * x[i] * share;
    for (int64_t i = 0; out->grad_ce && i < N; i++) out->grad_ce[i] = share;
    for (int64_t i = 0; out->grad_ci && i < N; i++) out->grad_ci[i] = 2 * x[i] * share;
    return LT_OK;
}

static bool go_on(void *ctx, const lt_iterate *it)
{
    (void)ctx;
    (void)it;
    return false;
}

typedef struct run {
    const char *what;
    int64_t p, q, pairs, max_samples;
    bool    callback, run;
    double  vectors;         /* beside pairs and gradients of samples */
} run;

/* In a child: its status says whether the run went as far as it should. */
static int solve_in_child(const run *c)
{
    lt_solution *s = NULL;
    lt_problem *p = NULL;
    /* every point is feasible, so that there is a best one beside the most feasible */
    lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = c->pairs, o.max_iterations = STEPS, o.max_samples = c->max_samples, o.sample_radius = 1e9, o.stationarity_tol = 0,
                             o.equality_tol = 1e3, o.inequality_tol = 1e3,
                             o.iterate_fn = c->callback ? go_on : NULL);
    if (!c->run) return 0;
    bool ok = !lt_problem_from_function(N, c->p, c->q, bowl, NULL, &p) && !lt_solve(p, &opt, &s) && s->iters == STEPS;
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    return ok ? 0 : 1;
}

static double peak_bytes(const run *c)
{
    struct rusage use = { 0 };
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(solve_in_child(c));
    LT_CHECK(child > 0 && wait4(child, &status, 0, &use) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 1024.0 * (double)use.ru_maxrss;
}

static void check_peak(run c)
{
    double empty = peak_bytes(&c);
    c.run = true;
    double vectors = (peak_bytes(&c) - empty) / (8.0 * N), pairs = 2.0 * (double)(c.pairs < STEPS ? c.pairs : STEPS);
    double gradients = (double)((c.max_samples < STEPS + 1 ? c.max_samples : STEPS + 1) * (1 + c.p + c.q)), allowed = pairs + gradients + c.vectors;
    printf("%-40s %.2f vectors: %g of pairs, %g of samples, %.2f others; %g allowed\n", c.what, vectors, pairs, gradients,
           vectors - pairs - gradients, c.vectors);
    if (!(vectors <= allowed + 0.5)) LT_TEST_FAIL("%s: %.2f vectors, expected at most %.1f", c.what, vectors, allowed);
    if (!(vectors >= pairs + gradients)) LT_TEST_FAIL("%s: %.2f vectors: not measured", c.what, vectors);
}

/* Beside pairs and the gradients of samples: x of the current point, of the one tried and of the oldest sample, the direction, the
   change of the gradient, the best point. With a callback, which may see the direction and the stationarity vector, two more. */
LT_TEST(vectors_without_constraints)
{
    SKIP_IF_SHADOWED();
    check_peak((run){ "no constraints", 0, 0, 6, 6, false, false, 6 });
    check_peak((run){ "no constraints, samples not all used", 0, 0, 12, 40, false, false, 6 });
    check_peak((run){ "no constraints, a callback", 0, 0, 6, 6, true, false, 8 });
}

/* Three more, however many constraints: the most feasible point, phi's gradient at the point tried, and a step that is corrected. */
LT_TEST(vectors_with_constraints)
{
    SKIP_IF_SHADOWED();
    check_peak((run){ "one equality", 0, 1, 6, 6, false, false, 9 });
    check_peak((run){ "one of each", 1, 1, 6, 6, false, false, 9 });
}

/* Samples older than the oldest pair: their steps are kept for them alone. */
LT_TEST(vectors_with_more_samples_than_pairs)
{
    SKIP_IF_SHADOWED();
    check_peak((run){ "no constraints, 3 pairs, 6 samples", 0, 0, 3, 6, false, false, 6 + 2 });
    check_peak((run){ "one of each, 3 pairs, 6 samples", 1, 1, 3, 6, false, false, 9 + 2 });
}

LT_TEST_MAIN()
