/* The optimizer on a GPU against the CPU: values and gradients, whole runs, H on the GPU, every switch.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_job.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lt_device *gpu;

#define OPEN_OR_SKIP() do { if (!gpu && lt_device_open("cuda", &gpu)) LT_SKIP("%s", lt_error_text()); } while (0)

static lt_solution *solve_on(job *j, lt_device *dev)
{
    j->opt.device = dev;
    return run(j);
}

/* f, ce, ci and all gradients at x, in one piece. */
static double *evaluate_on(job *j, lt_device *dev, const double *x, int64_t *count)
{
    lt_problem_size z = lt_problem_get_size(j->problem);
    int64_t k = 1 + z.p + z.q;
    *count = k * (1 + z.n);
    double *v = calloc((size_t)*count, sizeof *v), *g = v + k;
    lt_outputs out = { .f = v, .ce = v + 1, .ci = v + 1 + z.q, .grad_f = g, .grad_ce = g + z.n, .grad_ci = g + (1 + z.q) * z.n };
    j->opt.device = dev;
    LT_CHECK_OK(lt_problem_evaluate_with(j->problem, &j->opt, x, &out));
    return v;
}

LT_TEST(values_and_gradients_agree_with_the_cpu)
{
    OPEN_OR_SKIP();
    static const char *const examples[] = { "example:A1", "example:A3", "example:B1", "example:B2", "example:B3d2", "example:C1",
                                            "example:C2", "example:C3", "example:D1v", "example:D2v", "example:D3v" };
    for (size_t i = 0; i < LT_LEN(examples); i++) {
        job j = read_job(examples[i]);
        int64_t n = lt_problem_get_size(j.problem).n, count;
        double *x = malloc((size_t)n * sizeof *x), largest = 0, off = 0;
        for (int64_t k = 0; k < n; k++) x[k] = 0.3 * sin(1.7 * (double)k + 0.4) + 0.05; /* away from kinks */
        double *want = evaluate_on(&j, NULL, x, &count), *got = evaluate_on(&j, gpu, x, &count);
        for (int64_t k = 0; k < count; k++) {
            largest = fmax(largest, fabs(want[k]));
            off = fmax(off, fabs(got[k] - want[k]));
        }
        if (!(off <= 1e-9 * fmax(1, largest))) LT_TEST_FAIL("%s: differs by %g of %g", examples[i], off, largest);
        free(x);
        free(want);
        free(got);
        close_job(&j);
    }
}

LT_TEST(runs_end_where_they_end_on_the_cpu)
{
    OPEN_OR_SKIP();
    static const struct { const char *name; double tolerance; } runs[] = { { "example:A1", 1e-6 }, { "example:B1", 1e-6 }, { "example:B2", 1e-6 },
                                                                           { "example:B3", 1e-5 }, { "example:C1", 1e-3 }, { "example:D2v", 1e-5 } };
    for (size_t i = 0; i < LT_LEN(runs); i++) {
        job j = read_job(runs[i].name);
        lt_solution *a = solve_on(&j, NULL), *b = solve_on(&j, gpu);
        const lt_solution_point *p = &a->best, *q = &b->best;
        LT_CHECK(p->present && q->present && !strncmp(b->device, "cuda:", 5));
        if (!(fabs(q->f - p->f) <= runs[i].tolerance * fmax(1, fabs(p->f)))) LT_TEST_FAIL("%s: f is %.12g, on the CPU %.12g", runs[i].name, q->f, p->f);
        LT_CHECK_EQ_INT(b->transfers->evaluation.syncs, b->transfers->evaluation.calls);
        LT_CHECK_EQ_INT(b->loop_allocations, 0);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        close_job(&j);
    }
}

LT_TEST(h_on_the_gpu_gives_the_same_answers)
{
    OPEN_OR_SKIP();
    for (int64_t pairs = 0; pairs <= 20; pairs += 20) {
        job j = read_job("example:B2");
        j.opt.lbfgs_pairs = pairs;
        lt_solution *a = solve_on(&j, NULL);
        j.opt.hessian_on = LT_HESSIAN_DEVICE;
        lt_solution *b = solve_on(&j, gpu);
        LT_CHECK(b->transfers->hessian_on_device);
        LT_CHECK_NEAR(b->best.f, a->best.f, 1e-5 * fabs(a->best.f));
        LT_CHECK(pairs ? b->H_final.m > 0 : b->H_final.H != NULL);
        for (int64_t i = 0; !pairs && i < b->n * b->n; i++) LT_CHECK(b->H_final.H[i] == b->H_final.H[i % b->n * b->n + i / b->n]);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        close_job(&j);
    }
}

LT_TEST(vectors_on_the_gpu_give_the_same_answers_every_time)
{
    OPEN_OR_SKIP();
    for (int64_t pairs = 0; pairs <= 20; pairs += 20) {
        job j = read_job("example:B2");
        j.opt.lbfgs_pairs = pairs;
        if (lt_test_brief()) j.opt.max_iterations = 8;
        lt_solution *a = solve_on(&j, NULL);
        j.opt.hessian_on = j.opt.vectors_on = LT_HESSIAN_DEVICE;
        lt_solution *b = solve_on(&j, gpu), *again = solve_on(&j, gpu);
        LT_CHECK(b->transfers->vectors_on_device);
        LT_CHECK_NEAR(b->best.f, a->best.f, 1e-5 * fabs(a->best.f));
        LT_CHECK(again->fn_evals == b->fn_evals && !memcmp(again->final.x, b->final.x, (size_t)b->n * sizeof(double)));
        LT_CHECK_EQ_INT(b->loop_allocations, 0);
        for (int64_t i = 0; !pairs && i < b->n * b->n; i++) LT_CHECK(b->H_final.H[i] == b->H_final.H[i % b->n * b->n + i / b->n]);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        lt_solution_destroy(again);
        close_job(&j);
    }
}

/* Members of a batch run side by side; programs of the same functions give the same bits. */
LT_TEST(several_steps_at_once_give_the_same_runs)
{
    OPEN_OR_SKIP();
    static const struct { const char *name; bool vectors; } runs[] = { { "example:C1", false }, { "example:C2", false }, { "example:C2", true }, { "example:D1v", true } };
    for (size_t i = 0; i < LT_LEN(runs) - lt_test_brief(); i++) { /* the last one's kernels are not of the optimizer */
        job j = read_job(runs[i].name);
        j.opt.max_iterations = lt_test_brief() ? 4 : 20;
        j.opt.gradients = LT_GRADIENTS_ON_DEMAND;
        j.opt.hessian_on = j.opt.vectors_on = runs[i].vectors ? LT_HESSIAN_DEVICE : LT_HESSIAN_HOST;
        j.opt.trials_at_once = 1;
        lt_solution *one = solve_on(&j, gpu);
        for (int at_once = 0; at_once <= 4; at_once += 4) { /* as long as it pays; always */
            j.opt.trials_at_once = at_once;
            lt_solution *four = solve_on(&j, gpu);
            LT_CHECK(four->transfers->trials_run > 0 && four->transfers->vectors_on_device == runs[i].vectors);
            if (at_once && !lt_test_brief()) LT_CHECK(four->transfers->evaluation.calls < one->transfers->evaluation.calls);
            LT_CHECK_EQ_INT(four->loop_allocations, 0);
            if (four->fn_evals != one->fn_evals || memcmp(four->final.x, one->final.x, (size_t)one->n * sizeof(double)))
                LT_TEST_FAIL("%s: f is %.17g after %d evaluations, one by one %.17g after %d", runs[i].name, four->final.f, (int)four->fn_evals, one->final.f,
                             (int)one->fn_evals);
            lt_solution_destroy(four);
        }
        lt_solution_destroy(one);
        close_job(&j);
    }
}

LT_TEST(every_switch_runs)
{
    OPEN_OR_SKIP();
    static const char *const switches[] = { "pinned_transfers", "async_transfers", "direct_assembly", "captured_evaluation" };
    job j = read_job("example:C1");
    j.opt.gradients = LT_GRADIENTS_ALWAYS;
    lt_solution *all = solve_on(&j, gpu);
    for (size_t i = 0; i < LT_LEN(switches); i++) {
        job off = read_job("example:C1");
        off.opt.gradients = LT_GRADIENTS_ALWAYS;
        LT_CHECK_OK(lt_options_set(lt_solve_debug_table(), switches[i], "false", &off.debug));
        lt_solution *s = solve_on(&off, gpu);
        if (s->iters != all->iters || s->final.f != all->final.f) LT_TEST_FAIL("%s: f is %.17g, expected %.17g", switches[i], s->final.f, all->final.f);
        lt_solution_destroy(s);
        close_job(&off);
    }
    lt_solution_destroy(all);
    close_job(&j);
}

int main(int argc, char **argv)
{
    int code = lt_test_main(argc, argv);
    lt_device_close(gpu);
    return code;
}
