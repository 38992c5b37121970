/* Trials in a child process: what returns, what dies and what hangs. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/trial.h"
#include "lt_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static int touched;

static void harmless(void) { touched = 1; }
static void illegal(void) { raise(SIGILL); }
static void leaves(void) { _exit(3); }
static void hangs(void)
{
    for (;;) pause();
}

LT_TEST(only_what_returns_survives)
{
    LT_CHECK(lt_trial_survives(harmless, 5));
    LT_CHECK(touched == 0); /* in the child, not here */
    LT_CHECK(!lt_trial_survives(illegal, 5));
    LT_CHECK(!lt_trial_survives(leaves, 5));
    LT_CHECK(!lt_trial_survives(hangs, 1));
}

LT_TEST(a_trial_needs_a_process)
{
    struct rlimit before, none;
    LT_CHECK(getrlimit(RLIMIT_NPROC, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    if (geteuid() == 0) LT_SKIP("root may always fork");
    LT_CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
    LT_CHECK(!lt_trial_survives(harmless, 5));
    LT_CHECK(setrlimit(RLIMIT_NPROC, &before) == 0);
}

LT_TEST_MAIN()
