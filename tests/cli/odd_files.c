/* Loaded before a program (LD_PRELOAD): its files lie on a file system that lacks something. ODD_FILES names what, as "flock=38 mmap=19", with
   the error of each call; "pieces" makes reads and writes short and interrupted. SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OURS __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static int error_of(const char *call)
{
    const char *odd = getenv("ODD_FILES"), *at = odd ? strstr(odd, call) : NULL;
    return at ? atoi(at + strlen(call)) : 0;
}

static bool refuses(const char *call)
{
    int error = error_of(call);
    if (error) errno = error;
    return error;
}

OURS int flock(int fd, int how) { return refuses("flock=") ? -1 : REAL(flock)(fd, how); }
OURS int fchmod(int fd, mode_t mode) { return refuses("fchmod=") ? -1 : REAL(fchmod)(fd, mode); }
OURS int fallocate(int fd, int how, off_t from, off_t n) { return refuses("fallocate=") ? -1 : REAL(fallocate)(fd, how, from, n); }

OURS int posix_fallocate(int fd, off_t from, off_t n)
{
    int error = error_of("fallocate=");
    return error ? error : REAL(posix_fallocate)(fd, from, n);
}

OURS void *mmap(void *at, size_t n, int rights, int how, int fd, off_t from)
{
    if (fd >= 0 && (how & MAP_SHARED) && (rights & PROT_WRITE) && refuses("mmap=")) return MAP_FAILED;
    return REAL(mmap)(at, n, rights, how, fd, from);
}

/* ---- Pieces ---- */
static _Atomic unsigned calls;

/* How much of n bytes a call gets this time; 0 = it is interrupted. */
static size_t piece_of(size_t n)
{
    const char *odd = getenv("ODD_FILES");
    if (!odd || !strstr(odd, "pieces") || n < 8) return n;
    const unsigned turn = atomic_fetch_add(&calls, 1) % 3;
    if (turn == 0) errno = EINTR;
    return turn == 0 ? 0 : turn == 1 ? n / 3 + 1 : n;
}

OURS ssize_t read(int fd, void *to, size_t n) { size_t some = piece_of(n); return n && !some ? -1 : REAL(read)(fd, to, some); }
OURS ssize_t write(int fd, const void *from, size_t n) { size_t some = piece_of(n); return n && !some ? -1 : REAL(write)(fd, from, some); }
OURS ssize_t pread(int fd, void *to, size_t n, off_t at) { size_t some = piece_of(n); return n && !some ? -1 : REAL(pread)(fd, to, some, at); }
OURS ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { size_t some = piece_of(n); return n && !some ? -1 : REAL(pwrite)(fd, from, some, at); }
