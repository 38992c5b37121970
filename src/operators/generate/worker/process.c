/* The process of a worker and the socket to it, as the parent has them. Nothing here waits for a worker without a limit.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/pool.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REAP_SECONDS 10 /* a process inside a driver call may not die when killed: then it is left behind */

/* ---- Beginning and end ------------------------------------------------------------------------------------ */

/* In the child, after fork: only async-signal-safe calls. Standard output and open files stay with the parent. Signals to the whole group
   (Ctrl-C, a scheduler) are handled by the parent: a worker that ended first would cost a row. */
static _Noreturn void become_worker(int fd, pid_t parent, const char *const *argv)
{
    static const int of_the_run[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125); /* the parent has ended already */
    for (size_t i = 0; i < LT_LEN(of_the_run); i++) signal(of_the_run[i], SIG_IGN);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (fd == LT_WORKER_FD ? fcntl(fd, F_SETFD, 0) < 0 : dup2(fd, LT_WORKER_FD) < 0) _exit(126);
#ifdef CLOSE_RANGE_CLOEXEC
    (void)close_range(LT_WORKER_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC); /* an old kernel lacks it: then they stay open */
#endif
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

lt_status lt_worker_launch(lt_worker *w)
{
    int pair[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return LT_FAIL(LT_ERR_IO, "no socket for a worker process: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) become_worker(pair[1], parent, w->pool->g->opt->worker);
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return LT_FAIL(LT_ERR_IO, "no worker process: %s", strerror(error));
    }
    w->pid = pid;
    w->fd = pair[0];
    w->arrived = 0;
    return LT_OK;
}

/* Waits until the process is gone, but not for ever. */
static bool reap(pid_t pid, int *status)
{
    int64_t start = lt_clock_ns();
    for (struct timespec pause = { 0, 100000 };; pause.tv_nsec = LT_MIN(2 * pause.tv_nsec, 20000000)) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid) return true;
        if (got < 0 && errno != EINTR) return false; /* another part of the program has waited for it, or ignores its children */
        if (lt_seconds_since(start) > REAP_SECONDS) return false;
        nanosleep(&pause, NULL);
    }
}

void lt_worker_kill(const lt_worker *w)
{
    if (w->pid) kill(w->pid, SIGKILL); /* harmless when it has ended already */
}

void lt_worker_end_process(lt_worker *w, char *how, size_t bytes)
{
    int status = 0;
    if (!w->pid) return;
    lt_worker_kill(w);
    close(w->fd);
    bool known = reap(w->pid, &status);
    w->pid = 0;
    w->fd = -1;
    lt_free(w->outbox);
    w->outbox = NULL;
    if (!how) return;
    if (!known) snprintf(how, bytes, "its exit status is not known");
    else if (WIFSIGNALED(status)) snprintf(how, bytes, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else snprintf(how, bytes, "exit status %d", WEXITSTATUS(status));
}

/* ---- Messages --------------------------------------------------------------------------------------------- */

/* A write to a worker that is gone is not an error here: the next read of its socket finds out. */
void lt_worker_flush(lt_worker *w)
{
    while (w->outbox && w->outbox_sent < w->outbox_bytes) {
        ssize_t n = send(w->fd, w->outbox + w->outbox_sent, w->outbox_bytes - w->outbox_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) break;
        w->outbox_sent += (size_t)n;
    }
    lt_free(w->outbox);
    w->outbox = NULL;
}

lt_status lt_worker_post(lt_worker *w, lt_worker_head head, int n, const lt_worker_piece *piece)
{
    head.bytes = 0;
    for (int i = 0; i < n; i++) head.bytes += piece[i].bytes;
    if (w->outbox) return LT_FAIL(LT_ERR_INTERNAL, "worker process: two messages at once");
    if (!(w->outbox = lt_malloc(sizeof head + head.bytes))) return LT_ERR_MEMORY;
    memcpy(w->outbox, &head, sizeof head);
    w->outbox_sent = 0;
    w->outbox_bytes = sizeof head;
    for (int i = 0; i < n; i++) {
        if (piece[i].bytes) memcpy(w->outbox + w->outbox_bytes, piece[i].data, piece[i].bytes);
        w->outbox_bytes += piece[i].bytes;
    }
    lt_worker_flush(w);
    return LT_OK;
}

lt_status lt_worker_read(lt_worker *w, bool *whole)
{
    const size_t head = sizeof w->head;
    *whole = false;
    for (;;) {
        bool known = w->arrived >= head; /* the length of the message is known */
        size_t all = known ? head + w->head.bytes : head;
        if (known && w->head.bytes > w->pool->message_bytes)
            return LT_FAIL(LT_ERR_FORMAT, "it sent word %lld with %llu bytes", (long long)w->head.word, (unsigned long long)w->head.bytes);
        if ((*whole = known && w->arrived == all)) break;
        char *at = known ? w->message + (w->arrived - head) : (char *)&w->head + w->arrived;
        ssize_t n = recv(w->fd, at, all - w->arrived, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return LT_OK;
        if (n <= 0) return LT_FAIL(LT_ERR_IO, "worker process: %s", n ? strerror(errno) : "the other side is gone");
        w->arrived += (size_t)n;
    }
    w->arrived = 0;
    return LT_OK;
}
