/* Trying what may kill the process: in a child. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/trial.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool lt_trial_survives(void (*work)(void), unsigned seconds)
{
    static const int deadly[] = { SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM };
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
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
