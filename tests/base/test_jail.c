/* Jailed processes: what they may do, what ends them, and what their parent believes. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/jail.h"
#include "base/scratch.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

typedef enum wish {
    ECHO, OPEN_FILE, OPEN_OTHER, WRITE_FILE, SHUT_THEN_OPEN, DESCRIPTOR, TAKE_MEMORY, SPIN, CRASH, LEAVE, SOCKET, SIGNALS, FAIL, STRANGE_STATUS, LONG_TEXT, TOO_LONG, HUGE_LENGTH, CUT_SHORT, BUSY
} wish;

typedef struct request { int32_t what; int32_t number; } request;
typedef struct paths { const char *file, *other; } paths;

static int can_open(const char *path, int flags)
{
    int fd = open(path, flags), old = -1;
#ifdef SYS_open /* which the C library no longer calls */
    old = (int)syscall(SYS_open, path, flags);
#endif
    if (fd >= 0) close(fd);
    if (old >= 0) close(old);
    return fd >= 0 || old >= 0;
}

/* Allocated and used, so that it counts. */
static int can_take(uint64_t bytes)
{
    char *p = lt_malloc((size_t)bytes);
    if (p) memset(p, 1, (size_t)LT_MIN(bytes, MIB));
    lt_free(p);
    return p != NULL;
}

/* How many signals of those a parent may have blocked or ignored are still so; the last are ignored on purpose. */
static int odd_signals(void)
{
    static const int fatal[] = { SIGXCPU, SIGSEGV, SIGALRM, SIGUSR1 };
    sigset_t blocked;
    int n = 0;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int sig = 1; sig < 32; sig++) n += sigismember(&blocked, sig) == 1;
    for (size_t i = 0; i < LT_LEN(fatal); i++) {
        struct sigaction now;
        sigaction(fatal[i], NULL, &now);
        n += now.sa_handler != SIG_DFL;
    }
    return n;
}

static void send_head(int fd, uint32_t status, uint64_t bytes)
{
    struct { uint32_t status, unused; uint64_t bytes; } head = { status, 0, bytes };
    (void)!send(fd, &head, sizeof head, MSG_NOSIGNAL);
}

static void answer_number(int fd, int n)
{
    int32_t number = n;
    lt_jail_answer(fd, LT_OK, &number, sizeof number);
}

static void serve_one(const paths *p, const request *q, int fd)
{
    static char long_text[5000];
    memset(long_text, 'x', sizeof long_text - 1);
    switch ((wish)q->what) {
    case ECHO: answer_number(fd, q->number); break;
    case OPEN_FILE: answer_number(fd, can_open(p->file, O_RDONLY)); break;
    case OPEN_OTHER: answer_number(fd, can_open(p->other, O_RDONLY)); break;
    case WRITE_FILE: answer_number(fd, can_open(p->file, O_RDWR)); break;
    case SHUT_THEN_OPEN: lt_jail_shut(); answer_number(fd, can_open(p->file, O_RDONLY)); break;
    case DESCRIPTOR: answer_number(fd, lseek(q->number, 0, SEEK_CUR) >= 0 || errno != EBADF); break;
    case TAKE_MEMORY: answer_number(fd, can_take((uint64_t)q->number * MIB)); break;
    case BUSY: lt_jail_allow_seconds(100); for (volatile int i = 0; ; i++) { } break;
    case SPIN: lt_jail_allow_seconds(0); for (volatile int i = 0; ; i++) { } break;
    case CRASH: *(volatile int *)(uintptr_t)q->number = 1; break;
    case LEAVE: _exit(3);
    case SOCKET: answer_number(fd, socket(AF_INET, SOCK_STREAM, 0) >= 0); break;
    case SIGNALS: answer_number(fd, odd_signals()); break;
    case FAIL: lt_jail_answer(fd, LT_FAIL(LT_ERR_SHAPE, "no %d", q->number), NULL, 0); break;
    case STRANGE_STATUS: send_head(fd, 1000, 0); break;
    case LONG_TEXT: send_head(fd, LT_ERR_IO, sizeof long_text); (void)!send(fd, long_text, sizeof long_text, MSG_NOSIGNAL); break;
    case TOO_LONG: lt_jail_answer(fd, LT_OK, long_text, (size_t)q->number); break;
    case HUGE_LENGTH: send_head(fd, LT_OK, UINT64_MAX); break;
    case CUT_SHORT: send_head(fd, LT_OK, 100); (void)!send(fd, long_text, 10, MSG_NOSIGNAL); _exit(0);
    }
}

static void serve(void *ctx, int fd)
{
    for (request q; lt_jail_request(fd, &q, sizeof q);) serve_one(ctx, &q, fd);
}

static lt_status ask(lt_jail *j, wish what, int number, int32_t *out)
{
    *out = -1;
    LT_TRY(lt_jail_ask(j, "it", &(request){ (int32_t)what, number }, sizeof(request)));
    return lt_jail_hear(j, "it", out, sizeof *out);
}

/* -2 when it fails. */
static int answer_of(lt_jail *j, wish what, int number)
{
    int32_t n;
    return ask(j, what, number, &n) ? -2 : n;
}

static void put(const char *path)
{
    FILE *f = fopen(path, "w");
    fputs("x", f);
    fclose(f);
}

static void start(lt_jail *j, paths *p, int *file)
{
    p->file = scratch("file");
    p->other = scratch("other");
    put(p->file), put(p->other);
    *file = open(p->file, O_RDONLY | O_CLOEXEC);
    LT_CHECK_OK(lt_jail_start(&(lt_jail_rules){ .memory_bytes = 512 * MIB, .file = *file }, serve, p, j));
}

LT_TEST(answers_come_back_one_by_one)
{
    lt_jail j;
    paths p;
    int file;
    start(&j, &p, &file);
    LT_CHECK(j.pid > 0 && j.fd > 2);
    for (int i = 0; i < 100; i++) LT_CHECK_EQ_INT(answer_of(&j, ECHO, i), i);
    LT_CHECK_FAILS(ask(&j, FAIL, 1234567, &(int32_t){ 0 }), LT_ERR_SHAPE, "no 1234567");
    LT_CHECK_FAILS(ask(&j, FAIL, 7, &(int32_t){ 0 }), LT_ERR_SHAPE, "no 7");
    LT_CHECK(strchr(lt_error_text(), ')')[1] == '\0'); /* its place in the source ends it, and nothing of a longer one before it follows */
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 5), 5); /* a failure is an answer */
    lt_jail_stop(&j);
    LT_CHECK(!j.pid);
    lt_jail_stop(&j);
    LT_CHECK_FAILS(lt_jail_ask(&j, "it", "", 1), LT_ERR_FORMAT, "it: damaged: the process that parsed it is gone");
    LT_CHECK_FAILS(lt_jail_hear(&j, "it", NULL, 0), LT_ERR_FORMAT, "it: damaged: the process that parsed it is gone");
    close(file);
}

/* A copy of the handle in a forked child: it may drop it, and nothing else. */
LT_TEST(a_forked_child_leaves_the_process_to_its_parent)
{
    lt_jail j;
    paths p;
    int file, status = -1;
    start(&j, &p, &file);
    pid_t child = fork();
    if (child == 0) {
        request q = { ECHO, 1 };
        bool refused = lt_jail_ask(&j, "it", &q, sizeof q) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "it: was opened before this process was forked");
        lt_jail_stop(&j);
        _exit(!refused || j.pid);
    }
    LT_CHECK(waitpid(child, &status, 0) == child && status == 0);
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 3), 3);
    lt_jail_stop(&j);
    close(file);
}

LT_TEST(walls_hold)
{
    lt_jail j;
    paths p;
    int file, high = -1;
    struct rlimit files;
    const bool seccomp = strstr(lt_jail_walls(), "seccomp"), landlock = strstr(lt_jail_walls(), "landlock");
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur > 1200) high = fcntl(1, F_DUPFD, 1100); /* beyond what a loop over old kernels' descriptors reaches */
    int near = dup(1);
    start(&j, &p, &file);
    LT_CHECK_EQ_INT(answer_of(&j, DESCRIPTOR, near), 0);
    if (high >= 0) LT_CHECK_EQ_INT(answer_of(&j, DESCRIPTOR, high), 0);
    LT_CHECK_EQ_INT(answer_of(&j, DESCRIPTOR, file), 1); /* its own file stays */
    LT_CHECK_EQ_INT(answer_of(&j, DESCRIPTOR, 2), 1);    /* and somewhere to write to */
    LT_CHECK_EQ_INT(answer_of(&j, OPEN_FILE, 0), 1);
    if (landlock) LT_CHECK_EQ_INT(answer_of(&j, OPEN_OTHER, 0), 0);
    if (seccomp) LT_CHECK_EQ_INT(answer_of(&j, WRITE_FILE, 0), 0);
    if (seccomp) LT_CHECK_EQ_INT(answer_of(&j, SOCKET, 0), 0);
    if (seccomp) LT_CHECK_EQ_INT(answer_of(&j, SHUT_THEN_OPEN, 0), 0);
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 9), 9);
    lt_jail_stop(&j);
    close(file), close(near);
    if (high >= 0) close(high);
}

LT_TEST(without_a_file_nothing_opens)
{
    lt_jail j;
    paths p = { scratch("file"), scratch("file") };
    put(p.file);
    LT_CHECK_OK(lt_jail_start(&(lt_jail_rules){ .memory_bytes = 64 * MIB, .file = -1 }, serve, &p, &j));
    if (strstr(lt_jail_walls(), "seccomp")) LT_CHECK_EQ_INT(answer_of(&j, OPEN_FILE, 0), 0);
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 1), 1);
    lt_jail_stop(&j);
}

/* A parent without standard streams: the file and the socket may get their numbers. */
LT_TEST(low_descriptors_are_moved_out_of_the_way)
{
    lt_jail j;
    paths p;
    int kept = dup(0), file;
    close(0);
    start(&j, &p, &file);
    LT_CHECK_EQ_INT(file, 0);
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 4), 4);
    LT_CHECK_EQ_INT(answer_of(&j, OPEN_FILE, 0), 1);
    lt_jail_stop(&j);
    close(file);
    dup2(kept, 0);
    close(kept);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* What the parent has reserved does not count, however much it is. */
LT_TEST(memory_is_limited_beyond_the_parents)
{
    lt_jail j;
    paths p;
    int file;
    void *reserved = mmap(NULL, 8192 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    LT_CHECK(reserved != MAP_FAILED);
    start(&j, &p, &file);
    LT_CHECK_EQ_INT(answer_of(&j, TAKE_MEMORY, 300), 1);
    LT_CHECK_EQ_INT(answer_of(&j, TAKE_MEMORY, 600), 0);
    LT_CHECK_EQ_INT(answer_of(&j, TAKE_MEMORY, 300), 1);
    lt_jail_stop(&j);
    munmap(reserved, 8192 * MIB);
    close(file);
}
#endif

LT_TEST(signals_begin_anew)
{
    lt_jail j;
    paths p;
    int file;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    void (*usr1)(int) = signal(SIGUSR1, SIG_IGN);
    start(&j, &p, &file);
    LT_CHECK_EQ_INT(answer_of(&j, SIGNALS, 0), 0);
    for (int i = 0; i < 3; i++) kill(j.pid, i == 0 ? SIGINT : i == 1 ? SIGTERM : SIGHUP); /* the parent's to obey */
    LT_CHECK_EQ_INT(answer_of(&j, ECHO, 2), 2);
    lt_jail_stop(&j);
    signal(SIGUSR1, usr1);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(file);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What it does, and how the parent says it. */
LT_TEST(an_end_of_the_process_is_a_sentence)
{
    static const struct { wish what; int number; const char *part; } ends[] = {
        { CRASH, 0, "does not survive" }, { LEAVE, 0, "does not survive" }, { CUT_SHORT, 0, "does not survive" }, { STRANGE_STATUS, 0, "does not survive" },
        { LONG_TEXT, 0, "does not survive" }, { TOO_LONG, 5, "does not survive" }, { TOO_LONG, 3, "does not survive" }, { HUGE_LENGTH, 0, "does not survive" },
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose runtime ends otherwise when time is up */
        { SPIN, 0, "does not come to an end" },
#endif
    };
    double began = seconds();
    for (size_t i = 0; i < LT_LEN(ends); i++) {
        lt_jail j;
        paths p;
        int file;
        int32_t n;
        start(&j, &p, &file);
        LT_CHECK_FAILS(ask(&j, ends[i].what, ends[i].number, &n), LT_ERR_FORMAT, ends[i].part);
        LT_CHECK(!j.pid);
        LT_CHECK_FAILS(ask(&j, ECHO, 0, &n), LT_ERR_FORMAT, "is gone");
        close(file);
    }
    LT_CHECK(seconds() - began < 60); /* SPIN: a second or two of processor time */
}

LT_TEST(a_busy_process_is_not_waited_for)
{
    lt_jail j;
    paths p;
    int file;
    start(&j, &p, &file);
    LT_CHECK_OK(lt_jail_ask(&j, "it", &(request){ BUSY, 0 }, sizeof(request)));
    double began = seconds();
    lt_jail_stop(&j);
    LT_CHECK(seconds() - began < 60);
    close(file);
}

LT_TEST(answers_of_any_length_are_bounded)
{
    lt_jail j;
    paths p;
    int file;
    void *data;
    size_t bytes;
    int64_t live = lt_alloc_live();
    start(&j, &p, &file);
    for (int n = 0; n < 4000; n += 1999) {
        LT_CHECK_OK(lt_jail_ask(&j, "it", &(request){ TOO_LONG, n }, sizeof(request)));
        LT_CHECK_OK(lt_jail_hear_any(&j, "it", 4000, &data, &bytes));
        LT_CHECK_EQ_INT(bytes, n);
        LT_CHECK(!n || ((char *)data)[n - 1] == 'x');
        lt_free(data);
    }
    LT_CHECK_OK(lt_jail_ask(&j, "it", &(request){ TOO_LONG, 4001 }, sizeof(request)));
    LT_CHECK_FAILS(lt_jail_hear_any(&j, "it", 4000, &data, &bytes), LT_ERR_FORMAT, "does not survive");
    LT_CHECK(!data && !j.pid);
    close(file);
    start(&j, &p, &file); /* no memory for an answer: the next one would be out of step */
    LT_CHECK_OK(lt_jail_ask(&j, "it", &(request){ TOO_LONG, 10 }, sizeof(request)));
    lt_alloc_fail_at(1);
    LT_CHECK_FAILS(lt_jail_hear_any(&j, "it", 4000, &data, &bytes), LT_ERR_MEMORY, "10 bytes");
    LT_CHECK(!data && !j.pid);
    close(file);
    start(&j, &p, &file);
    LT_CHECK_OK(lt_jail_ask(&j, "it", &(request){ CUT_SHORT, 0 }, sizeof(request)));
    LT_CHECK_FAILS(lt_jail_hear_any(&j, "it", 4000, &data, &bytes), LT_ERR_FORMAT, "does not survive");
    LT_CHECK(!data);
    close(file);
    LT_CHECK_EQ_INT(lt_alloc_live(), live);
}

LT_TEST(without_descriptors_it_does_not_start)
{
    lt_jail j = { .pid = 9 };
    struct rlimit files, few;
    getrlimit(RLIMIT_NOFILE, &files);
    few = (struct rlimit){ 3, files.rlim_max };
    setrlimit(RLIMIT_NOFILE, &few);
    lt_status s = lt_jail_start(&(lt_jail_rules){ .file = -1 }, serve, NULL, &j);
    setrlimit(RLIMIT_NOFILE, &files);
    LT_CHECK(s && strstr(lt_error_text(), "no socket to a process that parses"));
    LT_CHECK(!j.pid);
}

LT_TEST_MAIN()
