/* Trying what may kill the process: in a child. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/trial.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that outlived its parent would keep the parent's locks. */
static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125); /* it has ended already */
}

bool lt_trial_survives(void (*work)(void), unsigned seconds)
{
    static const int deadly[] = { SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM };
    pid_t parent = getpid(), child = fork();
    if (child < 0) return false;
    if (child == 0) {
        die_with(parent);
        for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL); /* nobody's handlers */
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        alarm(seconds); /* another thread may have held a lock that is never given back here */
        work();
        _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
