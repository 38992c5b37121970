/* Starting, asking and ending jailed processes. SPDX-License-Identifier: BSD-3-Clause */
#include "base/jail.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/jail_filter.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SILENT_SECONDS = 60 /* a slow disk may take some */, FIRST_SECONDS = 4 /* of processor time */, SOCKET_BYTES = 1 << 22,
       NO_MEMORY = 255 /* exit(-1), as the HDF5 library ends when it is refused memory */ };

typedef struct head { uint32_t status, unused; uint64_t bytes; } head;

/* ---- The child ------------------------------------------------------------------------------------------ */

/* What the parent has already, sanitizers' and drivers' reservations included. */
static uint64_t address_space(void)
{
    unsigned long pages = 0;
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) (void)sscanf(text, "%lu", &pages);
    if (fd >= 0) close(fd);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(uint64_t memory_bytes)
{
    uint64_t now = address_space();
    struct rlimit space;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
    if (!now || getrlimit(RLIMIT_AS, &space)) return;
    space.rlim_cur = LT_MIN(space.rlim_cur, (rlim_t)(now + memory_bytes));
    setrlimit(RLIMIT_AS, &space);
}

/* The parent's files are not this process's: none stays but its socket and what it reads. */
static void keep_two_files(int socket, int file)
{
    const int low = file < 0 ? socket : LT_MIN(socket, file), high = LT_MAX(socket, file);
    const unsigned gaps[][2] = { { 3, (unsigned)low - 1 }, { (unsigned)low + 1, (unsigned)high - 1 }, { (unsigned)high + 1, ~0u } };
    for (size_t i = 0; i < LT_LEN(gaps); i++) {
        if (gaps[i][0] > gaps[i][1]) continue;
#ifdef SYS_close_range
        if (syscall(SYS_close_range, gaps[i][0], gaps[i][1], 0) == 0) continue;
#endif
        for (unsigned fd = gaps[i][0]; fd <= gaps[i][1] && fd < 1024; fd++) close((int)fd); /* an old kernel */
    }
}

/* What a library or a sanitizer says of its end is not for the user; the parent says it. */
static void silence(void)
{
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; nowhere >= 0 && fd < 3; fd++) dup2(nowhere, fd);
    if (nowhere > 2) close(nowhere);
}

/* Ctrl-C goes to the whole group and is the parent's to obey: a closed socket ends this process. */
static void reset_signals(void)
{
    static const int of_the_group[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
    for (int sig = 1; sig < 32; sig++)
        if (sig != SIGKILL && sig != SIGSTOP) signal(sig, SIG_DFL);
    for (size_t i = 0; i < LT_LEN(of_the_group); i++) signal(of_the_group[i], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A parent without standard input may have opened these in its place. */
static int above_standard(int fd) { return fd >= 0 && fd < 3 ? fcntl(fd, F_DUPFD, 3) : fd; }

static _Noreturn void live_in_jail(const lt_jail_rules *rules, void (*work)(void *ctx, int fd), void *ctx, int fd)
{
    int file = above_standard(rules->file);
    fd = above_standard(fd);
    keep_two_files(fd, file); /* first of all: a lock of the parent's, should it end now, would stay with these descriptors */
    reset_signals();
    silence();
    set_limits(rules->memory_bytes);
    lt_jail_allow_seconds(FIRST_SECONDS);
    lt_jail_landlock(file);
    lt_jail_seccomp();
    if (file < 0) lt_jail_shut();
    work(ctx, fd);
    _exit(0);
}

void lt_jail_shut(void) { lt_jail_seccomp_shut(); }

void lt_jail_allow_seconds(unsigned n)
{
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &limit)) return;
    limit.rlim_cur = LT_MIN((rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + n + 1, limit.rlim_max);
    setrlimit(RLIMIT_CPU, &limit);
}

static bool send_all(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool lt_jail_request(int fd, void *request, size_t bytes)
{
    for (char *at = request; bytes;) {
        ssize_t n = recv(fd, at, bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool lt_jail_request_within(int fd, void *request, size_t bytes, int seconds)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 1000 * seconds) == 1 && lt_jail_request(fd, request, bytes);
}

void lt_jail_answer(int fd, lt_status s, const void *data, size_t bytes)
{
    head h = { .status = (uint32_t)s, .bytes = s ? strlen(lt_error_text()) : bytes };
    if (!send_all(fd, &h, sizeof h) || !send_all(fd, s ? lt_error_text() : data, (size_t)h.bytes)) _exit(0); /* the parent is gone */
}

/* ---- The parent ------------------------------------------------------------------------------------------- */

lt_status lt_jail_start(const lt_jail_rules *rules, void (*work)(void *ctx, int fd), void *ctx, lt_jail *out)
{
    int pair[2], room = SOCKET_BYTES;
    *out = (lt_jail){ 0 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return LT_FAIL(lt_file_status(errno), "no socket to a process that parses: %s", strerror(errno));
    for (int i = 0; i < 2; i++) (void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room); /* only speed */
    pid_t pid = fork();
    if (pid == 0) live_in_jail(rules, work, ctx, pair[1]);
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return LT_FAIL(lt_file_status(error), "no process to parse in: %s", strerror(error));
    }
    *out = (lt_jail){ pid, pair[0], getpid() };
    return LT_OK;
}

/* Ends the child; its wait status, or -1 when another part of the program waited for it. */
static int end_child(lt_jail *j)
{
    int status = -1;
    close(j->fd);
    if (j->owner != getpid()) { /* it is not ours, and our parent goes on with it */
        *j = (lt_jail){ 0 };
        return status;
    }
    kill(j->pid, SIGKILL); /* one that has ended stays as it ended */
    while (waitpid(j->pid, &status, 0) < 0)
        if (errno != EINTR) {
            status = -1;
            break;
        }
    *j = (lt_jail){ 0 };
    return status;
}

void lt_jail_stop(lt_jail *j)
{
    if (j->pid) end_child(j);
}

static lt_status report_end(lt_jail *j, const char *what)
{
    int status = end_child(j);
    if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: parsing it does not come to an end", what);
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == NO_MEMORY)
        return LT_FAIL(LT_ERR_MEMORY, "%s: the process that parses it has no memory", what);
    return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parses it does not survive", what);
}

lt_status lt_jail_ask(lt_jail *j, const char *what, const void *request, size_t bytes)
{
    if (!j->pid) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parsed it is gone", what);
    if (j->owner != getpid()) return LT_FAIL(LT_ERR_ARGUMENT, "%s: was opened before this process was forked: open it again here", what);
    return send_all(j->fd, request, bytes) ? LT_OK : report_end(j, what);
}

static lt_status receive(lt_jail *j, const char *what, void *data, size_t bytes)
{
    for (char *at = data; bytes;) {
        ssize_t n = recv(j->fd, at, bytes, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
            continue;
        }
        if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) return report_end(j, what);
        struct pollfd p = { .fd = j->fd, .events = POLLIN };
        if (errno == EINTR || poll(&p, 1, 1000 * SILENT_SECONDS)) continue;
        lt_jail_stop(j);
        return LT_FAIL(LT_ERR_IO, "%s: reading it took more than %d s without an answer", what, SILENT_SECONDS);
    }
    return LT_OK;
}

/* The child may have been taken over: what it says is checked like a file. */
static lt_status receive_head(lt_jail *j, const char *what, head *h)
{
    char text[LT_ERROR_TEXT_BYTES];
    if (!j->pid) return LT_FAIL(LT_ERR_FORMAT, "%s: damaged: the process that parsed it is gone", what);
    LT_TRY(receive(j, what, h, sizeof *h));
    if (h->status == LT_OK) return LT_OK;
    if (h->status >= LT_STATUS_COUNT || h->bytes >= sizeof text) return report_end(j, what);
    LT_TRY(receive(j, what, text, (size_t)h->bytes));
    text[h->bytes] = '\0';
    lt_error_set(text);
    return (lt_status)h->status;
}

lt_status lt_jail_hear(lt_jail *j, const char *what, void *data, size_t bytes)
{
    head h;
    LT_TRY(receive_head(j, what, &h));
    return h.bytes == bytes ? receive(j, what, data, bytes) : report_end(j, what);
}

lt_status lt_jail_hear_any(lt_jail *j, const char *what, size_t limit, void **data, size_t *bytes)
{
    head h;
    *data = NULL;
    LT_TRY(receive_head(j, what, &h));
    if (h.bytes > limit) return report_end(j, what);
    if (!(*data = lt_malloc((size_t)h.bytes))) {
        lt_jail_stop(j); /* the answer is not heard: the next would be out of step */
        return LT_ERR_MEMORY;
    }
    *bytes = (size_t)h.bytes;
    lt_status s = receive(j, what, *data, *bytes);
    if (!s) return LT_OK;
    lt_free(*data);
    *data = NULL;
    return s;
}
