/* Signals that end a run: the first asks the subcommand to stop, a second ends the process at once, as SIGQUIT (Ctrl-\) does; in any
   case no temporary file stays. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_INTERRUPTED = 130 };

typedef struct stop_signal {
    int         number, exit_status;
    const char *reason;
    bool        repeats; /* by itself: each second of processor time, each write to the closed pipe */
} stop_signal;

static const stop_signal stop_signals[] = {
    { SIGINT, EXIT_INTERRUPTED, "interrupted", false },
    { SIGTERM, EXIT_INTERRUPTED, "interrupted by SIGTERM", false },
    { SIGHUP, EXIT_INTERRUPTED, "interrupted by SIGHUP", false },
    { SIGUSR1, EXIT_INTERRUPTED, "interrupted by SIGUSR1", false }, /* batch systems send these two before a limit, if they are asked to */
    { SIGUSR2, EXIT_INTERRUPTED, "interrupted by SIGUSR2", false },
    { SIGALRM, EXIT_INTERRUPTED, "interrupted by SIGALRM", false },
    { SIGXCPU, EXIT_FAILED, "the limit of processor time (ulimit -t) was reached", true },
    { SIGPIPE, EXIT_FAILED, "standard output was closed", true },
};

_Static_assert(sizeof(sig_atomic_t) == sizeof(int), "the flag is handed on as an int");
static volatile sig_atomic_t stopped_by; /* 1 + index of stop_signals; 0 = none */
static volatile sig_atomic_t looking;    /* a subcommand looks at the flag */
static pid_t own;

bool cli_interrupted(void) { return stopped_by; }
const volatile int *cli_interrupt_flag(void) { return &stopped_by; }
const char *cli_stop_reason(void) { return stop_signals[stopped_by ? stopped_by - 1 : 0].reason; }
int cli_stop_status(void) { return stop_signals[stopped_by ? stopped_by - 1 : 0].exit_status; }
lt_status cli_stopped(void) { return cli_fail(LT_ERR_CANCELLED, "%s", cli_stop_reason()); }
void cli_stop_politely(bool politely) { looking = politely; }

static volatile sig_atomic_t drains, drained; /* SIGTERM asks to finish what has begun; it has come */
void cli_drain_on_term(void) { drains = 1; }
const volatile int *cli_drain_flag(void) { return &drained; }

/* Everything here is safe in a handler. */
static _Noreturn void end_at_once(const stop_signal *s)
{
    lt_files_abandon();
    if (write(STDERR_FILENO, "lathe: ", 7) < 0 || write(STDERR_FILENO, s->reason, strlen(s->reason)) < 0 || write(STDERR_FILENO, "\n", 1) < 0) { }
    _exit(s->exit_status);
}

static void on_stop(int number)
{
    size_t i = 0;
    while (stop_signals[i].number != number) i++;
    const stop_signal *s = &stop_signals[i];
    if (getpid() != own) return; /* a child that has not become another program yet: its parent decides */
    if (number == SIGTERM && drains && looking && !drained) {
        drained = 1;
        return;
    }
    if (s->repeats) signal(number, SIG_IGN);
    if (!looking || (stopped_by && !s->repeats)) end_at_once(s);
    if (!stopped_by) stopped_by = (int)i + 1;
}

/* Ctrl-\ is for a program that hangs: nothing is asked, and the process ends as it would have, with its memory on disk where that is wanted. */
static void on_quit(int number)
{
    if (getpid() == own) lt_files_abandon();
    signal(number, SIG_DFL);
    raise(number); /* comes when this handler returns */
}

/* Outputs that are mapped: what a failing disk, or a file that somebody cut short, cannot hold comes as a signal. */
static void on_bus(int number, siginfo_t *why, void *context)
{
    static const char text[] = "lathe: a file cannot be read or written where it is mapped: the disk failed, or the file was cut short\n";
    (void)context;
    if (getpid() != own || why->si_code != BUS_ADRERR) {
        on_quit(number);
        return;
    }
    lt_files_abandon();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) { }
    _exit(EXIT_FAILED);
}

static bool ignored(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void catch_signal(int number, void (*handler)(int))
{
    struct sigaction with = { .sa_handler = handler };
    sigfillset(&with.sa_mask);
    sigaction(number, &with, NULL);
}

/* What the parent ignores stays ignored (nohup), except Ctrl-C, which shells ignore for whatever runs in the background. */
void cli_catch_signals(void)
{
    own = getpid();
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is a failed write, reported like a full disk */
    for (int i = 0; i < CLI_LEN(stop_signals); i++)
        if (stop_signals[i].number == SIGINT || !ignored(stop_signals[i].number)) catch_signal(stop_signals[i].number, on_stop);
    if (!ignored(SIGQUIT)) catch_signal(SIGQUIT, on_quit);
    sigaction(SIGBUS, &(struct sigaction){ .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO }, NULL);
}
