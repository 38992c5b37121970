/* Temporary files beside what they will replace. They are removed when a signal ends the process (lt_files_abandon), and by the next
   writer of the same file when the process was killed (decision 142). SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/temporary.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Those of this process ------------------------------------------------------------------ */
/* A signal handler may neither lock nor use the heap, so they stand in a table of fixed size. One more than it holds is not removed by
   a signal, but by the next writer. */

enum { MAX_LISTED = 32, PATH_BYTES = 4096, OPENING_MS = 200 };
enum { UNUSED, OPENING, LISTED, REMOVED };

static struct { atomic_int state; pid_t owner; char name[PATH_BYTES]; } listed[MAX_LISTED];

static bool turn(int at, int from, int to) { return atomic_compare_exchange_strong(&listed[at].state, &from, to); }

/* 0: none is left. */
static int claim_place(void)
{
    for (int i = 0; i < MAX_LISTED; i++) {
        if (!turn(i, UNUSED, OPENING)) continue;
        listed[i].owner = getpid();
        return i + 1;
    }
    return 0;
}

/* With no name the place is given back. */
static void fill_place(int place, const char *name)
{
    if (!place) return;
    const size_t n = name ? strlen(name) + 1 : PATH_BYTES + 1;
    if (n <= PATH_BYTES) memcpy(listed[place - 1].name, name, n);
    atomic_store(&listed[place - 1].state, n <= PATH_BYTES ? LISTED : UNUSED);
}

void lt_temporary_unlist(int place)
{
    if (place) (void)turn(place - 1, LISTED, UNUSED);
}

/* Another thread may just open a file: it has blocked signals and will be done soon. */
static void await_opening(int at)
{
    for (int ms = 0; ms < OPENING_MS && atomic_load(&listed[at].state) == OPENING; ms++) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

void lt_files_abandon(void)
{
    int kept = errno;
    for (int i = 0; i < MAX_LISTED; i++) {
        if (atomic_load(&listed[i].state) == UNUSED || listed[i].owner != getpid()) continue; /* a child after fork has a copy of the table */
        await_opening(i);
        if (turn(i, LISTED, REMOVED)) unlink(listed[i].name);
    }
    errno = kept;
}

/* ---- Names and leftovers ---------------------------------------------------------------- */
/* Whoever writes a temporary file holds a lock on it, which the system takes back when the process ends, however that happens. So a
   file without a lock is a leftover: process numbers would not say so, since they are used again and mean nothing on another host. */

enum { MAX_ATTEMPTS = 1000, SWEPT_BEHIND = 16 };

static void name_temporary(const char *path, int n, char *name, size_t bytes) { snprintf(name, bytes, "%s.lathe-%d.tmp", path, n); }

bool lt_temporary_lock(int fd)
{
    int result;
    do result = flock(fd, LOCK_EX | LOCK_NB);
    while (result && errno == EINTR);
    return result == 0;
}

bool lt_temporary_is_named(int fd, const char *name)
{
    struct stat open_one, named;
    return !fstat(fd, &open_one) && !lstat(name, &named) && open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* False: the file stays, because a process writes it, or because this file system has no locks and nothing is known. */
static bool remove_leftover(const char *name)
{
    struct stat st;
    int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT;
    bool gone = !fstat(fd, &st) && S_ISREG(st.st_mode) && lt_temporary_lock(fd) && lt_temporary_is_named(fd, name) && !unlink(name);
    close(fd);
    return gone;
}

/* A new file of that name, locked; -1 with EEXIST when there is one, or another writer just took this one for a leftover. */
static int create_locked(const char *name, mode_t mode)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0) return -1;
    bool taken = !lt_temporary_lock(fd) && errno == EWOULDBLOCK; /* other reasons: this file system has no locks, and nothing is removed */
    if (!taken && lt_temporary_is_named(fd, name)) return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* Those of writers that died beside a living one have higher numbers. */
static void sweep(const char *path, int from, char *name, size_t bytes)
{
    for (int n = from; n < from + SWEPT_BEHIND; n++) {
        name_temporary(path, n, name, bytes);
        if (access(name, F_OK)) return;
        (void)remove_leftover(name);
    }
}

static lt_status open_unlisted(const char *path, mode_t mode, char *name, size_t bytes, int *fd)
{
    int n = 0;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        name_temporary(path, n, name, bytes);
        *fd = create_locked(name, mode);
        if (*fd < 0 && errno != EEXIST) break;
        if (*fd >= 0) {
            sweep(path, n + 1, name, bytes);
            name_temporary(path, n, name, bytes);
            return LT_OK;
        }
        if (!remove_leftover(name)) n++;
        errno = EEXIST;
    }
    if (errno == EEXIST) return LT_FAIL(LT_ERR_IO, "%s: cannot write beside it: there are %s.lathe-0.tmp to -%d.tmp; remove them", path, path, n);
    return LT_FAIL(LT_ERR_IO, "%s: cannot write beside it: %s", path, strerror(errno));
}

/* A signal between opening and listing would leave the file. */
lt_status lt_temporary_open(const char *path, mode_t mode, char *name, size_t bytes, int *fd, int *place)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    *place = claim_place();
    lt_status s = open_unlisted(path, mode, name, bytes, fd);
    fill_place(*place, s ? NULL : name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}

int lt_temporary_list(const char *name)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int place = claim_place();
    fill_place(place, name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return place;
}
