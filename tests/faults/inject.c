/* Functions of the C library, each of which can be made to fail once. SPDX-License-Identifier: BSD-3-Clause */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define OURS __attribute__((visibility("default")))

static _Atomic int64_t calls[FAULT_KINDS];
static _Atomic int64_t fail_at;
static _Atomic int fail_kind;
static atomic_bool armed;

const char *fault_name(fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = { "memory", "open", "read", "write", "sync", "rename", "map", "thread", "process" };
    return kind < FAULT_KINDS ? names[kind] : "?";
}

void fault_arm(fault_kind kind, int64_t at)
{
    for (int i = 0; i < FAULT_KINDS; i++) atomic_store(&calls[i], 0);
    atomic_store(&fail_kind, (int)kind);
    atomic_store(&fail_at, at);
    atomic_store(&armed, true);
}

static bool shows;
void    fault_show(bool shown) { shows = shown; }
void    fault_disarm(void) { atomic_store(&armed, false); }
int64_t fault_calls(fault_kind kind) { return atomic_load(&calls[kind]); }

/* Whether this call is the one. */
static bool strikes(fault_kind kind, int error)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed)) return false;
    int64_t n = atomic_fetch_add(&calls[kind], 1) + 1;
    if ((int)kind != atomic_load(&fail_kind) || n != atomic_load(&fail_at)) return false;
    if (shows) {
        void *frame[32];
        backtrace_symbols_fd(frame, backtrace(frame, 32), 2);
    }
    errno = error;
    return true;
}

/* ---- Loaded before another program ---- */
__attribute__((constructor)) static void arm_by_environment(void)
{
    const char *text = getenv("FAULT"), *colon = text ? strchr(text, ':') : NULL;
    for (int i = 0; colon && i < FAULT_KINDS; i++)
        if (strlen(fault_name(i)) == (size_t)(colon - text) && !strncmp(text, fault_name(i), (size_t)(colon - text))) fault_arm(i, atoll(colon + 1));
}

/* ---- Memory ---- */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

OURS void *malloc(size_t bytes) { return strikes(FAULT_MEMORY, ENOMEM) ? NULL : __libc_malloc(bytes); }
OURS void *calloc(size_t count, size_t bytes) { return strikes(FAULT_MEMORY, ENOMEM) ? NULL : __libc_calloc(count, bytes); }
OURS void *realloc(void *p, size_t bytes) { return strikes(FAULT_MEMORY, ENOMEM) ? NULL : __libc_realloc(p, bytes); }
OURS void *aligned_alloc(size_t alignment, size_t bytes) { return strikes(FAULT_MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, bytes); }
OURS void *memalign(size_t alignment, size_t bytes);
void      *memalign(size_t alignment, size_t bytes) { return strikes(FAULT_MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, bytes); }
OURS int   posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (strikes(FAULT_MEMORY, ENOMEM) || !(*out = __libc_memalign(alignment, bytes))) return ENOMEM;
    return 0;
}

/* ---- The rest: the next definition behind ours ---- */
#define NEXT(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define MODE_OF(flags) mode_t mode = 0; va_list ap; va_start(ap, flags); if ((flags) & (O_CREAT | __O_TMPFILE)) mode = va_arg(ap, mode_t); va_end(ap)
#define OPEN(name) \
    OURS int name(const char *path, int flags, ...) { MODE_OF(flags); NEXT(name); return strikes(FAULT_OPEN, EMFILE) ? -1 : next(path, flags, mode); }
#define OPENAT(name) \
    OURS int name(int at, const char *path, int flags, ...) { MODE_OF(flags); NEXT(name); return strikes(FAULT_OPEN, EMFILE) ? -1 : next(at, path, flags, mode); }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OURS FILE *fopen(const char *path, const char *mode) { NEXT(fopen); return strikes(FAULT_OPEN, EMFILE) ? NULL : next(path, mode); }
OURS FILE *fopen64(const char *path, const char *mode) { NEXT(fopen64); return strikes(FAULT_OPEN, EMFILE) ? NULL : next(path, mode); }
OURS int   socketpair(int domain, int type, int protocol, int pair[2])
{
    NEXT(socketpair);
    return strikes(FAULT_OPEN, EMFILE) ? -1 : next(domain, type, protocol, pair);
}
OURS int memfd_create(const char *name, unsigned flags) { NEXT(memfd_create); return strikes(FAULT_OPEN, EMFILE) ? -1 : next(name, flags); }

OURS ssize_t read(int fd, void *data, size_t n) { NEXT(read); return strikes(FAULT_READ, EIO) ? -1 : next(fd, data, n); }
OURS ssize_t pread(int fd, void *data, size_t n, off_t at) { NEXT(pread); return strikes(FAULT_READ, EIO) ? -1 : next(fd, data, n, at); }
OURS ssize_t pread64(int fd, void *data, size_t n, off64_t at) { NEXT(pread64); return strikes(FAULT_READ, EIO) ? -1 : next(fd, data, n, at); }

/* A full disk takes a part first, as it does. */
OURS ssize_t write(int fd, const void *data, size_t n)
{
    NEXT(write);
    return fd > 2 && strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, data, n);
}
OURS ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { NEXT(pwrite); return strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, data, n, at); }
OURS ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { NEXT(pwrite64); return strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, data, n, at); }
OURS int     ftruncate(int fd, off_t n) { NEXT(ftruncate); return strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, n); }
OURS int     ftruncate64(int fd, off64_t n) { NEXT(ftruncate64); return strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, n); }
OURS int     posix_fallocate(int fd, off_t at, off_t n) { NEXT(posix_fallocate); return strikes(FAULT_WRITE, ENOSPC) ? ENOSPC : next(fd, at, n); }
OURS int     fallocate(int fd, int mode, off_t at, off_t n) { NEXT(fallocate); return strikes(FAULT_WRITE, ENOSPC) ? -1 : next(fd, mode, at, n); }

OURS int fsync(int fd) { NEXT(fsync); return strikes(FAULT_SYNC, EIO) ? -1 : next(fd); }
OURS int fdatasync(int fd) { NEXT(fdatasync); return strikes(FAULT_SYNC, EIO) ? -1 : next(fd); }
OURS int msync(void *p, size_t n, int flags) { NEXT(msync); return strikes(FAULT_SYNC, EIO) ? -1 : next(p, n, flags); }

OURS int rename(const char *from, const char *to) { NEXT(rename); return strikes(FAULT_RENAME, EACCES) ? -1 : next(from, to); }
OURS int renameat(int a, const char *from, int b, const char *to) { NEXT(renameat); return strikes(FAULT_RENAME, EACCES) ? -1 : next(a, from, b, to); }

OURS void *mmap(void *p, size_t n, int protection, int flags, int fd, off_t at)
{
    NEXT(mmap);
    return strikes(FAULT_MAP, ENOMEM) ? MAP_FAILED : next(p, n, protection, flags, fd, at);
}
OURS void *mmap64(void *p, size_t n, int protection, int flags, int fd, off64_t at)
{
    NEXT(mmap64);
    return strikes(FAULT_MAP, ENOMEM) ? MAP_FAILED : next(p, n, protection, flags, fd, at);
}

OURS int pthread_create(pthread_t *restrict out, const pthread_attr_t *restrict a, void *(*run)(void *), void *restrict ctx)
{
    NEXT(pthread_create);
    return strikes(FAULT_THREAD, EAGAIN) ? EAGAIN : next(out, a, run, ctx);
}

OURS pid_t fork(void) { NEXT(fork); return strikes(FAULT_PROCESS, EAGAIN) ? -1 : next(); }
