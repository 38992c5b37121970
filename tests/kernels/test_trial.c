/* Trials in a child process: what returns, what dies and what hangs. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/trial.h"
#include "lt_test.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

/* The pipe ends when nobody holds it any more. */
LT_TEST(a_trial_dies_with_its_parent)
{
    int ends[2];
    char byte;
    LT_CHECK(pipe(ends) == 0);
    fflush(stdout);
    pid_t parent = fork();
    if (parent == 0) _exit(lt_trial_survives(hangs, 60));
    close(ends[1]);
    usleep(200000);
    kill(parent, SIGKILL);
    LT_CHECK(waitpid(parent, NULL, 0) == parent);
    struct pollfd p = { .fd = ends[0], .events = POLLIN };
    LT_CHECK_EQ_INT(poll(&p, 1, 10000), 1);
    LT_CHECK_EQ_INT(read(ends[0], &byte, 1), 0);
    close(ends[0]);
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
