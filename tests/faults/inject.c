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

/* ---- By call site ---- */
static fault_sites *shared;
static __thread bool inside; /* what unwinds a stack may call us */

/* Where code lies in its file: the same in every run and process. */
static uint64_t place_of(const void *pc)
{
    struct dl_find_object found;
    return _dl_find_object((void *)pc, &found) ? 1 : (uint64_t)((const char *)pc - (const char *)found.dlfo_map_start);
}

enum { FRAMES = 96 };

/* Where the stack of the caller begins: what is before it are functions of this file. */
static int first_frame(void *const *frame, int n, const void *caller)
{
    for (int i = 0; i < n; i++)
        if (frame[i] == caller) return i;
    return n;
}

/* Which file the code of a frame is in. */
static const void *file_of(const void *pc)
{
    struct dl_find_object found;
    return _dl_find_object((void *)pc, &found) ? NULL : found.dlfo_map_start;
}

/* Of frames in other files than ours those count that we called and that makes the call: inside, HDF5 comes to one malloc by hundreds of ways. */
static uint64_t hash_stack(void *const *frame, int first, int n)
{
    uint64_t place[FRAMES], h = 14695981039346656037u;
    const void *own = file_of((const void *)hash_stack);
    int m = 0;
    for (int i = first; i < n; i++) {
        bool again = false, ours = file_of(frame[i]) == own;
        if (!ours && i > first && i + 1 < n && file_of(frame[i + 1]) != own) continue;
        place[m] = place_of(frame[i]);
        for (int k = 0; k < m && !again; k++) again = place[k] == place[m];
        if (again) continue; /* it calls itself */
        h = (h ^ place[m++]) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

static uint64_t site_of(fault_kind kind, void *const *frame, int first, int n) { return (hash_stack(frame, first, n) ^ (uint64_t)kind << 56) | 1; }

static void note_site(fault_kind kind, const void *caller)
{
    void *frame[FRAMES];
    const int n = backtrace(frame, FRAMES);
    const uint64_t h = site_of(kind, frame, first_frame(frame, n, caller), n);
    for (uint64_t i = 0; i < FAULT_MOST_SITES; i++) {
        fault_site *s = &shared->site[(h + i) % FAULT_MOST_SITES];
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&s->stack, &none, h, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            s->caller = place_of(caller);
            s->kind = (int64_t)kind;
        } else if (none != h) continue;
        __atomic_fetch_add(&s->calls, 1, __ATOMIC_RELAXED);
        return;
    }
}

static void describe(void *const *frame, int first, int n)
{
    size_t at = 0;
    for (int i = first; i < n && at + 300 < FAULT_TEXT; i++) {
        Dl_info d;
        if (!dladdr(frame[i], &d) || !d.dli_fname) continue;
        const char *slash = strrchr(d.dli_fname, '/');
        at += (size_t)snprintf(shared->text + at, 300, "%.80s(%.120s+0x%llx)\n", slash ? slash + 1 : d.dli_fname, d.dli_sname ? d.dli_sname : "",
                               (unsigned long long)((char *)frame[i] - (char *)d.dli_fbase));
    }
}

/* Once for all processes of a run. */
static bool strikes_site(fault_kind kind, const void *caller)
{
    void *frame[FRAMES];
    if ((int64_t)kind != shared->wanted.kind || __atomic_load_n(&shared->struck, __ATOMIC_RELAXED) || place_of(caller) != shared->wanted.caller) return false;
    const int n = backtrace(frame, FRAMES), first = first_frame(frame, n, caller);
    if (site_of(kind, frame, first, n) != shared->wanted.stack || __atomic_fetch_add(&shared->struck, 1, __ATOMIC_ACQ_REL)) return false;
    describe(frame, first, n);
    return true;
}

static bool meets_site(fault_kind kind, const void *caller)
{
    if (inside) return false;
    inside = true;
    bool strikes = shared->mode == 2 && strikes_site(kind, caller);
    if (shared->mode == 1) note_site(kind, caller);
    inside = false;
    return strikes;
}

static fault_sites *map_sites(int fd)
{
    void *p = fd < 0 || ftruncate(fd, sizeof *shared) ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    return p == MAP_FAILED ? NULL : p;
}

fault_sites *fault_sites_share(const char *path)
{
    void *frame[4];
    (void)backtrace(frame, 4); /* loads what it needs */
    if (setenv("FAULT_SITES", path, 1)) return NULL;
    return shared = map_sites(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

/* A process that another one of the run started by exec. */
static void join_sites(void)
{
    void *frame[4];
    const char *path = getenv("FAULT_SITES");
    if (!path) return;
    (void)backtrace(frame, 4);
    shared = map_sites(open(path, O_RDWR | O_CLOEXEC));
    if (shared && shared->mode) atomic_store(&armed, true);
}

/* Whether this call is the one. */
static bool strikes_from(fault_kind kind, int error, const void *caller)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed)) return false;
    if (shared && shared->mode) {
        if (!meets_site(kind, caller)) return false;
        errno = error;
        return true;
    }
    int64_t n = atomic_fetch_add(&calls[kind], 1) + 1;
    if ((int)kind != atomic_load(&fail_kind) || n != atomic_load(&fail_at)) return false;
    if (shows) {
        void *frame[32];
        backtrace_symbols_fd(frame, backtrace(frame, 32), 2);
    }
    errno = error;
    return true;
}
#define strikes(kind, error) strikes_from(kind, error, __builtin_return_address(0))

/* ---- Loaded before another program ---- */
__attribute__((constructor)) static void arm_by_environment(void)
{
    join_sites();
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
