/* Ctrl-C while the library computes. Python's own handler only takes a note that nobody reads before the call returns; so for the time
   of a run on the main thread ours stands before it: it sets a flag that the library looks at, then calls Python's.
   SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int flag;
static int depth; /* runs inside runs; main thread only */
static struct sigaction before;

static bool on_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

static void note(int signal)
{
    flag = 1;
    before.sa_handler(signal);
}

/* A handler that wants more than the number of the signal, none, or one that ignores it: left alone. */
static bool can_stand_before(void)
{
    return !sigaction(SIGINT, NULL, &before) && !(before.sa_flags & SA_SIGINFO) && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
}

void core_watch_begin(core_watch *w)
{
    w->outermost = on_main_thread() && depth++ == 0;
    if (!w->outermost) return;
    flag = 0;
    struct sigaction ours = { .sa_handler = note };
    if (!can_stand_before()) before.sa_handler = NULL;
    else sigaction(SIGINT, &ours, NULL);
}

void core_watch_end(core_watch *w)
{
    if (on_main_thread()) depth--;
    if (w->outermost && before.sa_handler) sigaction(SIGINT, &before, NULL);
}

const volatile int *core_watch_flag(void) { return on_main_thread() ? &flag : NULL; }

bool core_watch_interrupted(void) { return on_main_thread() && flag; }

int core_watch_raise(void)
{
    if (!on_main_thread() || !flag || depth) return 0;
    flag = 0;
    return PyErr_CheckSignals();
}
