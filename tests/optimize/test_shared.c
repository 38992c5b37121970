/* Starts and sweeps shared by several devices: both get runs, runs know one each, lists that make no sense are refused.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/device.h"
#include "lathe/problem.h"
#include "lathe/solve.h"
#include "optimize/many/devices.h"
#include "optimize/problem/evaluator.h"
#include "lt_test.h"

#include <string.h>

static const char text[] = "var x[2] = [1, 2]\nminimize sum(x^2)\n";

#define NEED_DEVICES() if (lt_device_count() < 4) LT_SKIP("no made-up driver")

static int idle_on(const lt_problem *p, const char *name)
{
    int n = 0;
    for (const lt_evaluator *e = p->idle; e; e = e->next) n += !strcmp(e->device_name, name);
    return n;
}

LT_TEST(a_run_gets_the_device_with_the_fewest)
{
    NEED_DEVICES();
    lt_shared_devices d;
    lt_solve_options a = lt_solve_defaults(), b = a, c = a;
    a.device_name = "cuda:0,cuda:1";
    LT_CHECK_OK(lt_shared_devices_open(&a, &d));
    LT_CHECK(d.n == 2);
    int first = lt_shared_devices_take(&d, &a), second = lt_shared_devices_take(&d, &b);
    LT_CHECK(!strcmp(a.device_name, "cuda:0") && !strcmp(b.device_name, "cuda:1"));
    lt_shared_devices_give(&d, second);
    LT_CHECK(lt_shared_devices_take(&d, &c) == second); /* the other still runs */
    lt_shared_devices_give(&d, first);
    lt_shared_devices_give(&d, second);
    b.device_name = "cpu";
    LT_CHECK_OK(lt_shared_devices_open(&b, &d));
    LT_CHECK(d.n == 0 && lt_shared_devices_take(&d, &b) == -1 && !strcmp(b.device_name, "cpu"));
}

LT_TEST(both_devices_get_runs_and_a_single_run_takes_no_list)
{
    NEED_DEVICES();
    lt_model *m;
    lt_problem *p;
    lt_runs *r;
    lt_multistart *all;
    lt_solution *one;
    lt_solve_options opt = lt_solve_defaults();
    opt.print_to = NULL;
    opt.device_name = "cuda:0,cuda:1";
    LT_CHECK_OK(lt_model_parse("text", NULL, text, strlen(text), &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve_starts(NULL, p, &opt, 6, 1, &r));
    LT_CHECK(lt_runs_count(r) == 6);
    LT_CHECK(idle_on(p, "cuda:0") == 1 && idle_on(p, "cuda:1") == 1);
    lt_runs_destroy(r);
    LT_CHECK_OK(lt_solve_multistart(p, &opt, 4, 2, &all));
    LT_CHECK(idle_on(p, "cuda:0") + idle_on(p, "cuda:1") >= 2 && idle_on(p, "cuda:0,cuda:1") == 0);
    lt_multistart_destroy(all);
    LT_CHECK_FAILS(lt_solve(p, &opt, &one), LT_ERR_ARGUMENT, "one run has one");
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

LT_TEST(lists_that_make_no_sense_are_refused)
{
    NEED_DEVICES();
    static const struct { const char *list, *text; } wrong[] = {
        { "cuda:0,", "names with commas" }, { ",cuda:0", "names with commas" }, { "cuda:0,cuda:0", "named twice" }, { "cuda:0,cuda:7", "out of range" }, { "cuda:0,gpu", "no device 'gpu'" },
        { "cuda:0,cpu", "name devices of one kind" }, { "cuda:0,null", "computes nothing" },
        { "cuda:0,cuda:00,cuda:000,cuda:0000,cuda:00000,cuda:000000,cuda:0000000,cuda:00000000,cuda:000000000,cuda:0000000000,cuda:00000000000,cuda:000000000000,cuda:1,cuda:01,cuda:001,cuda:0001,cuda:00001",
          "more than 16" },
    };
    lt_solve_options opt = lt_solve_defaults();
    lt_shared_devices d;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        opt.device_name = wrong[i].list;
        lt_status s = lt_shared_devices_open(&opt, &d);
        if (s != LT_ERR_ARGUMENT && s != LT_ERR_UNSUPPORTED) LT_TEST_FAIL("%s: status %d", wrong[i].list, (int)s);
        LT_CHECK(strstr(lt_error_text(), wrong[i].text) != NULL);
    }
}

LT_TEST_MAIN()
