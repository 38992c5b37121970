/* Several steps of a line search at once: the same runs to the bit, in fewer waits. The device is the CPU behind a table that closes its
   memory to the host and fails on demand, or the null device. SPDX-License-Identifier: BSD-3-Clause */
#include "guarded_device.h"
#include "solve_options.h"
#include "lost_device.h"
#include "solve_job.h"

#include "device/null/null.h"
#include "optimize/device/batch.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct way { bool vectors, captured; } way;
static const way ways[] = { { false, false }, { false, true }, { true, false }, { true, true } };

static job open_job(const char *example, lt_device *dev, way w, int64_t at_once)
{
    job j = read_job(example);
    j.opt.device = dev;
    j.opt.max_iterations = 40;
    j.debug.captured_evaluation = w.captured;
    j.opt.trials_at_once = at_once;
    j.opt.gradients = LT_GRADIENTS_ON_DEMAND;
    j.opt.hessian_on = j.opt.vectors_on = w.vectors ? LT_HESSIAN_DEVICE : LT_HESSIAN_HOST;
    return j;
}

static lt_solution *solve_so(const char *example, way w, int64_t at_once)
{
    lt_device *dev = guarded_open();
    job j = open_job(example, dev, w, at_once);
    lt_solution *s = run(&j);
    LT_CHECK(s->transfers->vectors_on_device == w.vectors);
    LT_CHECK_EQ_INT(s->transfers->evaluation.syncs, s->transfers->evaluation.calls);
    LT_CHECK_EQ_INT(s->loop_allocations, 0);
    close_job(&j);
    guarded_close(dev);
    return s;
}

static void check_same(const lt_solution *a, const lt_solution *b, const char *example, const way *w, int64_t at_once)
{
    if (a->iters != b->iters || a->fn_evals != b->fn_evals || a->gradient_evals != b->gradient_evals || a->termination_code != b->termination_code
        || memcmp(a->final.x, b->final.x, (size_t)a->n * sizeof *a->final.x) || memcmp(&a->best.f, &b->best.f, sizeof a->best.f))
        LT_TEST_FAIL("%s, vectors %d, captured %d, %d at once: %lld iterations, %lld evaluations, f %.17g; expected %lld, %lld, %.17g", example, w->vectors,
                     w->captured, (int)at_once, (long long)a->iters, (long long)a->fn_evals, a->best.f, (long long)b->iters, (long long)b->fn_evals, b->best.f);
}

LT_TEST(runs_are_the_same_to_the_bit_in_fewer_waits)
{
    static const char *const examples[] = { "example:A3", "example:B3", "example:C1", "example:C2" };
    for (size_t i = 0; i < LT_LEN(examples); i++)
        for (size_t k = 0; k < LT_LEN(ways); k++) {
            lt_solution *one = solve_so(examples[i], ways[k], 1);
            LT_CHECK(!one->transfers->trials_run && !one->transfers->trials_used);
            for (int64_t at_once = 2; at_once <= 8; at_once *= 2) {
                lt_solution *s = solve_so(examples[i], ways[k], at_once);
                const lt_solve_transfers *t = s->transfers;
                check_same(s, one, examples[i], &ways[k], at_once);
                LT_CHECK(t->trials_run > 0 && t->trials_run % at_once == 0 && t->trials_used <= t->trials_run);
                LT_CHECK_EQ_INT(t->shared_runs, t->trials_run / at_once);
                LT_CHECK(t->trials_used >= t->trials_run / at_once); /* the step that was asked for is always taken */
                LT_CHECK(t->evaluation.calls < one->transfers->evaluation.calls);
                /* What is not taken from others is run on its own. */
                LT_CHECK_EQ_INT(t->values_runs, one->transfers->values_runs - t->trials_used + t->trials_run / at_once);
                LT_CHECK_EQ_INT(t->gradient_runs, one->transfers->gradient_runs);
                lt_solution_destroy(s);
            }
            lt_solution_destroy(one);
        }
}

/* Searches of five steps each: four at once need two waits instead of five. */
LT_TEST(long_searches_wait_rarely)
{
    for (size_t k = 0; k < LT_LEN(ways); k++) {
        lt_solution *one = solve_so("example:C2", ways[k], 1), *four = solve_so("example:C2", ways[k], 4);
        LT_CHECK(one->fn_evals > 4 * one->iters);
        LT_CHECK(4 * four->transfers->values_runs < 2 * one->transfers->values_runs);
        LT_CHECK(2 * four->transfers->trials_used > four->transfers->trials_run);
        lt_solution_destroy(one);
        lt_solution_destroy(four);
    }
}

LT_TEST(a_problem_is_solved_again_with_other_counts)
{
    lt_device *dev = guarded_open();
    job j = open_job("example:C1", dev, (way){ true, true }, 4);
    lt_solution *first = run(&j);
    static const int64_t counts[] = { 2, 1, 8, 4 };
    for (size_t i = 0; i < LT_LEN(counts); i++)
        for (int vectors = 0; vectors < 2; vectors++) {
            j.opt.trials_at_once = counts[i];
            j.opt.hessian_on = j.opt.vectors_on = vectors ? LT_HESSIAN_DEVICE : LT_HESSIAN_HOST;
            lt_solution *s = run(&j);
            LT_CHECK((s->transfers->trials_run > 0) == (counts[i] > 1));
            if (vectors) check_same(s, first, "example:C1", &(way){ true, true }, counts[i]);
            lt_solution_destroy(s);
        }
    lt_solution_destroy(first);
    close_job(&j);
    guarded_close(dev);
}

LT_TEST(a_loss_at_any_wait_keeps_points_with_their_values)
{
    for (size_t k = 0; k < LT_LEN(ways); k++) {
        lt_device *dev = guarded_open();
        job j = open_job("example:C2", dev, ways[k], 4);
        j.opt.max_iterations = 6;
        LT_CHECK(lose_at_every_wait(&j) > 6);
        close_job(&j);
        guarded_close(dev);
    }
}

LT_TEST(null_accepts_every_address)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    for (size_t k = 0; k < LT_LEN(ways); k++) {
        job j = open_job("example:B2", dev, ways[k], 4);
        lt_solution *s = run(&j); /* zeros come back: stationary at once */
        LT_CHECK_EQ_INT(s->transfers->evaluation.calls, 1);
        lt_solution_destroy(s);
        close_job(&j);
    }
    lt_device_close(dev);
}

LT_TEST(a_full_device_names_the_option)
{
    lt_device *dev;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    bool reported = false, spared = false;
    for (int64_t bytes = 1 << 20; bytes < (1 << 26) && !s; bytes += 1 << 20) { /* until the problem fits, and then all of it does */
        lt_null_capacity(dev, bytes);
        job j = open_job("example:B2", dev, ways[1], 8);
        const bool full = lt_solve(j.problem, &j.opt, &s) != LT_OK;
        if (full) reported = reported || (strstr(lt_error_text(), "8 points at once do not fit on null") && strstr(lt_error_text(), "a smaller trials_at_once needs less"));
        close_job(&j);
        if (!full) continue;
        j = open_job("example:B2", dev, ways[1], 0); /* where nobody asked for it, it is left out */
        spared = spared || !lt_solve(j.problem, &j.opt, &s);
        lt_solution_destroy(s);
        s = NULL;
        close_job(&j);
    }
    LT_CHECK(reported && spared && s);
    lt_solution_destroy(s);
    lt_device_close(dev);
}

LT_TEST(several_at_once_are_given_up_when_they_do_not_pay)
{
    LT_CHECK(lt_batch_pays(&(lt_batch_record){ 0 }));
    LT_CHECK(lt_batch_pays(&(lt_batch_record){ .runs = 1, .run_ns = 400, .single_ns = 100 })); /* too early to say */
    LT_CHECK(!lt_batch_pays(&(lt_batch_record){ .runs = 2, .run_ns = 400 }));                  /* nothing to compare with: the next plan goes one by one */
    LT_CHECK(!lt_batch_pays(&(lt_batch_record){ .runs = 2, .run_ns = 400, .single_ns = 200 }));
    LT_CHECK(lt_batch_pays(&(lt_batch_record){ .runs = 2, .run_ns = 400, .single_ns = 201 }));
}

/* Here lanes wait for each other, so that several at once are soon given up: which trials come with gradients, and all bits, stay what they are. */
LT_TEST(what_the_clock_says_changes_no_bit)
{
    static const char *const examples[] = { "example:A3", "example:B3", "example:C1", "example:C2" };
    for (size_t i = 0; i < LT_LEN(examples); i++)
        for (int vectors = 0; vectors < 2; vectors++) {
            const way w = { vectors, true };
            lt_device *dev = guarded_open();
            lt_solution *s[2];
            for (int always = 0; always < 2; always++) {
                job j = open_job(examples[i], dev, w, always ? 4 : 0);
                j.opt.gradients = LT_GRADIENTS_AUTO;
                s[always] = run(&j);
                close_job(&j);
            }
            check_same(s[0], s[1], examples[i], &w, 0);
            LT_CHECK(s[0]->transfers->shared_runs > 0 && s[0]->transfers->shared_runs <= s[1]->transfers->shared_runs);
            LT_CHECK_EQ_INT(s[0]->loop_allocations, 0);
            lt_solution_destroy(s[0]);
            lt_solution_destroy(s[1]);
            guarded_close(dev);
        }
}

/* Searches that go on for a while ask for values only, since those of the next steps come along. */
LT_TEST(long_searches_do_without_gradients)
{
    for (int i = 0; i < 2; i++) {
        lt_solution *s[2];
        for (int four = 0; four < 2; four++) {
            lt_device *dev = guarded_open();
            job j = open_job(i ? "example:C2" : "example:A3", dev, ways[1], four ? 4 : 1);
            j.opt.gradients = LT_GRADIENTS_AUTO;
            j.opt.max_iterations = 120;
            s[four] = run(&j);
            close_job(&j);
            guarded_close(dev);
        }
        LT_CHECK(10 * s[1]->transfers->evaluation.calls < 7 * s[0]->transfers->evaluation.calls);
        LT_CHECK(2 * s[1]->gradient_evals < s[0]->gradient_evals);
        LT_CHECK(fabs(s[1]->best.f - s[0]->best.f) <= 1e-9 * fabs(s[0]->best.f));
        lt_solution_destroy(s[0]);
        lt_solution_destroy(s[1]);
    }
}

/* Whether a trial comes with gradients follows from the search before it, which a checkpoint has to know. */
LT_TEST(a_run_that_goes_on_plans_what_it_would_have_planned)
{
    char path[] = "/tmp/lathe-steps-XXXXXX";
    close(mkstemp(path));
    static const char *const examples[] = { "example:A1", "example:A3", "example:C2" };
    for (size_t i = 0; i < LT_LEN(examples); i++)
        for (int64_t stop = 3; stop < 12; stop++) {
            lt_device *dev = guarded_open();
            lt_solution *s[3]; /* without a stop; up to it; from there */
            for (int k = 0; k < 3; k++) {
                job j = open_job(examples[i], dev, ways[1], 4);
                j.opt.gradients = LT_GRADIENTS_AUTO;
                j.opt.max_iterations = k == 1 ? stop : 15;
                j.opt.checkpoint = k == 1 ? path : NULL;
                j.opt.resume = k == 2 ? path : NULL;
                s[k] = run(&j);
                close_job(&j);
            }
            check_same(s[2], s[0], examples[i], &ways[1], 4);
            for (int k = 0; k < 3; k++) lt_solution_destroy(s[k]);
            guarded_close(dev);
        }
    unlink(path);
}

LT_TEST(what_stands_in_the_way_is_reported)
{
    lt_device *dev = guarded_open();
    job j = open_job("example:C1", dev, ways[1], 4);
    lt_solution *s;
    j.debug.async_transfers = false;
    j.opt.debug = &j.debug;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_UNSUPPORTED, "'trials_at_once' is 4, expected 1 with async_transfers=false");
    j.debug.async_transfers = true;
    j.opt.double_precision = false;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_UNSUPPORTED, "expected 1 with double_precision=false");
    LT_CHECK_FAILS(lt_solve_options_set(&j.opt, "trials_at_once", "9"), LT_ERR_ARGUMENT, "trials_at_once");
    close_job(&j);
    lt_graph *g;
    lt_problem *p;
    LT_CHECK_OK(lt_graph_create(&g));
    LT_CHECK_OK(lt_problem_from_graph(g, lt_sum(g, lt_square(g, lt_input(g, "x", LT_F32, lt_shape1(3)))), NULL, 0, NULL, 0, &p));
    LT_CHECK_FAILS(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.device = dev, o.trials_at_once = 2) }, &s), LT_ERR_UNSUPPORTED, "single precision");
    lt_problem_destroy(p);
    lt_graph_destroy(g);
    guarded_close(dev);
}

LT_TEST_MAIN()
