/* Functions on a device: the same answers, the promised number of copies and waits, and faults that lose nothing.
   The device is the CPU behind a table that counts and fails on demand, or the null device.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_job.h"
#include "solve_options.h"
#include "watched_device.h"

#include "device/null/null.h"

#include <math.h>

static job open_job(const char *example, const char *options[], int n_options)
{
    job j = read_job(example);
    for (int i = 0; i < n_options; i += 2) LT_CHECK_OK(lt_solve_options_set(&j.opt, options[i], options[i + 1]));
    return j;
}

static void check_same_bits(const lt_solution *a, const lt_solution *b, const char *what)
{
    if (!a || !b) return;
    if (a->iters != b->iters || a->fn_evals != b->fn_evals || a->termination_code != b->termination_code
        || memcmp(a->final.x, b->final.x, (size_t)a->n * sizeof(double)) || memcmp(&a->final.f, &b->final.f, sizeof(double)))
        LT_TEST_FAIL("%s: %lld iterations, %lld evaluations, code %d, f %.17g; expected %lld, %lld, %d, %.17g", what, (long long)a->iters,
                     (long long)a->fn_evals, a->termination_code, a->final.f, (long long)b->iters, (long long)b->fn_evals,
                     b->termination_code, b->final.f);
}

/* ---- Answers ------------------------------------------------------------------------------------------------- */
static const char *const examples[] = { "example:A1", "example:B1", "example:B3d2", "example:C1", "example:C3" };

LT_TEST(a_device_gives_the_bits_of_the_host)
{
    const char *set[] = { "gradients", "always", "max_iterations", "60" };
    for (size_t i = 0; i < LT_LEN(examples); i++) {
        lt_device *dev = watched_open();
        job host = open_job(examples[i], set, 4), device = open_job(examples[i], set, 4);
        device.opt.device = dev;
        lt_solution *a = run(&host), *b = run(&device);
        check_same_bits(b, a, examples[i]);
        LT_CHECK(!strcmp(a->device, "cpu") && a->transfers->evaluation.calls == 0);
        LT_CHECK_EQ_INT(b->transfers->gradient_runs, b->fn_evals);
        LT_CHECK_EQ_INT(b->loop_allocations, 0);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        close_job(&host);
        close_job(&device);
        lt_device_close(dev);
    }
}

/* Two variables of single precision, which the solver keeps in double. */
static lt_problem *single_problem(lt_graph *g)
{
    lt_problem *p = NULL;
    lt_node x = lt_input(g, "x", LT_F32, lt_shape1(3)), y = lt_input(g, "y", LT_F32, lt_shape2(2, 2));
    lt_node f = lt_add(g, lt_sum(g, lt_square(g, lt_shift(g, x, -0.25))), lt_sum(g, lt_abs(g, lt_shift(g, y, 1))));
    lt_node ci = lt_shift(g, lt_sum(g, y), 3);
    LT_CHECK_OK(lt_problem_from_graph(g, f, &ci, 1, NULL, 0, &p));
    return p;
}

LT_TEST(single_precision_variables_are_converted_on_the_way)
{
    lt_device *dev = watched_open();
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_problem *p = single_problem(g);
    const double x0[7] = { 1, 2, 3, 0.5, -0.5, 0.25, -4 };
    lt_solve_options opt = SOLVE_OPTIONS(o.x0 = x0, o.gradients = LT_GRADIENTS_ALWAYS);
    lt_solution *a = NULL, *b = NULL;
    LT_CHECK_OK(lt_solve(p, &opt, &a));
    opt.device = dev;
    LT_CHECK_OK(lt_solve(p, &opt, &b));
    check_same_bits(b, a, "single precision");
    LT_CHECK_EQ_INT(b->transfers->host_copies, b->transfers->evaluation.calls);
    lt_solution_destroy(a);
    lt_solution_destroy(b);
    lt_problem_destroy(p);
    lt_graph_destroy(g);
    lt_device_close(dev);
}

/* ---- Counts ---------------------------------------------------------------------------------------------------- */
typedef struct bytes_of { int64_t up, values, all, gradients; } bytes_of;

/* What one evaluation has to move, from the sizes alone. */
static bytes_of bytes_needed(lt_problem_size s)
{
    int64_t k = 1 + s.p + s.q, pad = (k + 7) / 8 * 8;
    return (bytes_of){ 8 * s.n, 8 * k, 8 * (pad + k * s.n), 8 * k * s.n };
}

static void check_crossings(const lt_solution *s, lt_problem_size size)
{
    const lt_solve_transfers *t = s->transfers;
    bytes_of need = bytes_needed(size);
    int64_t separate = t->evaluation.calls - s->fn_evals; /* gradients asked for after the values, at the same x */
    LT_CHECK_EQ_INT(t->evaluation.calls, t->values_runs + t->gradient_runs);
    LT_CHECK_EQ_INT(t->evaluation.syncs, t->evaluation.calls); /* one wait each */
    LT_CHECK_EQ_INT(t->evaluation.downloads, t->evaluation.calls);
    LT_CHECK_EQ_INT(t->evaluation.uploads, s->fn_evals); /* x is still on the device when gradients follow */
    LT_CHECK_EQ_INT(t->evaluation.bytes_up, need.up * s->fn_evals);
    LT_CHECK_EQ_INT(t->evaluation.bytes_down,
                    need.values * t->values_runs + need.gradients * separate + need.all * (t->gradient_runs - separate));
    LT_CHECK_EQ_INT(t->host_copies, 0);
    LT_CHECK(t->pinned);
}

LT_TEST(an_evaluation_is_one_copy_each_way_and_one_wait)
{
    static const char *const policies[] = { "auto", "on-demand", "always" };
    for (size_t i = 0; i < LT_LEN(policies); i++)
        for (int captured = 0; captured < 2; captured++) {
            const char *set[] = { "gradients", policies[i], "max_iterations", "40", "trials_at_once", "1" };
            lt_device *dev = watched_open();
            job j = open_job("example:C1", set, 6);
            j.debug.captured_evaluation = captured;
            j.opt.device = dev;
            lt_solution_destroy(run(&j)); /* compiles and captures */
            watch_reset();
            lt_solution *s = run(&j);
            const lt_solve_crossings *e = &s->transfers->evaluation;
            check_crossings(s, lt_problem_get_size(j.problem));
            LT_CHECK_EQ_INT(watched.syncs, e->syncs);
            LT_CHECK_EQ_INT(s->transfers->replays, captured ? e->calls : 0);
            LT_CHECK_EQ_INT(watched.replays, s->transfers->replays);
            LT_CHECK_EQ_INT(watched.copies[LT_TRANSFER_H2D], captured ? 0 : e->uploads);
            LT_CHECK_EQ_INT(watched.copies[LT_TRANSFER_D2H], captured ? 0 : e->downloads);
            LT_CHECK_EQ_INT(watched.bytes[LT_TRANSFER_D2H], captured ? 0 : e->bytes_down);
            lt_solution_destroy(s);
            close_job(&j);
            lt_device_close(dev);
        }
}

LT_TEST(every_switch_gives_the_same_answer_and_its_own_counts)
{
    static const char *const switches[] = { "pinned_transfers", "async_transfers", "direct_assembly", "captured_evaluation" };
    lt_device *dev = watched_open();
    const char *set[] = { "gradients", "always", "max_iterations", "30" };
    job j = open_job("example:B3d2", set, 4);
    j.opt.device = dev;
    lt_solution *all = run(&j);
    for (size_t i = 0; i < LT_LEN(switches); i++) {
        job off = open_job("example:B3d2", set, 4);
        LT_CHECK_OK(lt_options_set(lt_solve_debug_table(), switches[i], "false", &off.debug));
        off.opt.device = dev;
        lt_solution *s = run(&off);
        const lt_solve_transfers *t = s->transfers;
        check_same_bits(s, all, switches[i]);
        LT_CHECK_EQ_INT(t->pinned, i != 0);
        LT_CHECK_EQ_INT(t->evaluation.syncs, (i == 1 ? 3 : 1) * t->evaluation.calls);
        LT_CHECK_EQ_INT(t->host_copies, i == 2 ? t->evaluation.calls : 0);
        LT_CHECK_EQ_INT(t->replays, i == 2 ? t->evaluation.calls : 0);
        lt_solution_destroy(s);
        close_job(&off);
    }
    lt_solution_destroy(all);
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(null_counts_what_the_report_says)
{
    enum { TIMES = 5 };
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    job j = open_job("example:C1", NULL, 0);
    lt_problem_size size = lt_problem_get_size(j.problem);
    int64_t k = 1 + size.p + size.q;
    double *x = calloc((size_t)(size.n + k * (1 + size.n)), sizeof *x), *c = x + size.n, *grads = c + k;
    lt_outputs out = { .f = c, .ce = c + 1, .ci = c + 1 + size.q, .grad_f = grads, .grad_ce = grads + size.n,
                       .grad_ci = grads + (1 + size.q) * size.n };
    j.opt.device = dev;
    LT_CHECK_OK(lt_problem_evaluate_with(j.problem, &j.opt, x, &out));
    lt_null_counts before = lt_null_read(dev);
    for (int i = 0; i < TIMES; i++) LT_CHECK_OK(lt_problem_evaluate_with(j.problem, &j.opt, x, &out));
    lt_null_counts after = lt_null_read(dev);
    LT_CHECK_EQ_INT(after.syncs - before.syncs, TIMES);
    LT_CHECK_EQ_INT(after.replays - before.replays, TIMES); /* which hold the copies, so that none is queued apart */
    LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_H2D] + after.copies[LT_TRANSFER_D2H], before.copies[LT_TRANSFER_H2D] + before.copies[LT_TRANSFER_D2H]);
    LT_CHECK_EQ_INT(after.launches + after.allocs + after.host_allocs + after.captures,
                    before.launches + before.allocs + before.host_allocs + before.captures);
    lt_solution *s = run(&j); /* zeros come back: stationary at once */
    LT_CHECK_EQ_INT(s->transfers->evaluation.calls, 1);
    LT_CHECK_EQ_INT(s->transfers->evaluation.syncs, 1);
    LT_CHECK(!strcmp(s->device, "null") && !strcmp(s->device_reason, "asked for"));
    lt_solution_destroy(s);
    free(x);
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(without_page_locked_memory_it_runs_all_the_same)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_null_refuse_pinning(dev, true);
    job j = open_job("example:A1", NULL, 0);
    j.opt.device = dev;
    lt_solution *s = run(&j);
    LT_CHECK(!s->transfers->pinned && s->transfers->evaluation.calls == 1 && s->transfers->replays == 0);
    lt_solution_destroy(s);
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(pieces_above_the_limit_stay_pageable)
{
    const char *set[] = { "pin_max_bytes", "64" };
    lt_device *dev = watched_open();
    job j = open_job("example:B3", set, 2);
    j.opt.device = dev;
    lt_solution *s = run(&j);
    LT_CHECK(!s->transfers->pinned && s->transfers->replays == 0 && s->transfers->evaluation.syncs == s->transfers->evaluation.calls);
    lt_solution_destroy(s);
    close_job(&j);
    lt_device_close(dev);
}

/* Evaluators of several threads have streams and memory of their own on one device. */
LT_TEST(starts_in_threads_share_a_device)
{
    const char *set[] = { "gradients", "always", "max_iterations", "20" };
    lt_device *dev = watched_open();
    job host = open_job("example:B3d2", set, 4), device = open_job("example:B3d2", set, 4);
    lt_multistart *a, *b;
    device.opt.device = dev;
    device.opt.hessian_on = LT_HESSIAN_HOST;
    LT_CHECK_OK(lt_solve_multistart(host.problem, &host.opt, 6, 1, &a));
    LT_CHECK_OK(lt_solve_multistart(device.problem, &device.opt, 6, 3, &b));
    for (int64_t i = 0; i < a->n_starts; i++) {
        LT_CHECK_EQ_INT(b->start[i], a->start[i]);
        check_same_bits(b->solution[i], a->solution[i], "start");
    }
    lt_multistart_destroy(a);
    lt_multistart_destroy(b);
    close_job(&host);
    close_job(&device);
    lt_device_close(dev);
}

/* ---- Faults ------------------------------------------------------------------------------------------------------- */
LT_TEST(a_device_lost_in_the_middle_keeps_the_best_point)
{
    const char *set[] = { "gradients", "always" };
    lt_device *dev = watched_open();
    job j = open_job("example:B3d2", set, 2);
    j.opt.device = dev;
    lt_solution *whole = run(&j);
    watched.syncs_left = whole->fn_evals / 2;
    lt_solution *s = run(&j);
    LT_CHECK_EQ_INT(s->termination_code, LT_TERMINATION_DEVICE_LOST);
    LT_CHECK(s->error && strstr(s->error, "lost"));
    LT_CHECK(s->iters > 0 && s->iters < whole->iters);
    LT_CHECK(s->final.present && isfinite(s->final.f) && s->most_feasible.present);
    LT_CHECK(!memcmp(&s->history[s->n_history - 1].f, &whole->history[s->n_history - 1].f, sizeof(double))); /* as far as it came */
    watch_reset();
    lt_solution_destroy(s);
    lt_solution_destroy(whole);
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(a_device_lost_at_the_start_is_an_error)
{
    lt_device *dev = watched_open();
    lt_solution *s;
    job j = open_job("example:A1", NULL, 0);
    j.opt.device = dev;
    watched.syncs_left = 0;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_DEVICE, "lost");
    watch_reset();
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(a_full_device_names_what_would_help)
{
    lt_device *dev;
    lt_solution *s;
    LT_CHECK_OK(lt_device_open("null", &dev));
    job j = open_job("example:B2", NULL, 0);
    lt_null_capacity(dev, 1 << 12);
    j.opt.device = dev;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_MEMORY, "does not fit on null");
    LT_CHECK(s == NULL && strstr(lt_error_text(), "the CPU"));
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(a_function_stays_where_it_is)
{
    lt_device *dev;
    lt_solution *s;
    job j = open_job("example:A1", NULL, 0);
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_problem *p;
    LT_CHECK_OK(lt_problem_from_function(1, 0, 0, (lt_problem_fn)(uintptr_t)1, NULL, &p));
    LT_CHECK_FAILS(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.device = dev) }, &s), LT_ERR_ARGUMENT, "only graphs move");
    lt_problem_destroy(p);
    close_job(&j);
    lt_device_close(dev);
}

LT_TEST(auto_keeps_small_problems_on_the_cpu_and_says_so)
{
    const char *set[] = { "device_name", "auto" };
    job j = open_job("example:A1", set, 2);
    lt_solution *s = run(&j);
    LT_CHECK(!strcmp(s->device, "cpu") && strstr(s->device_reason, "auto: an evaluation takes the CPU about"));
    lt_solution_destroy(s);
    close_job(&j);
}

LT_TEST_MAIN()
