/* The heap, counted, with one allocation made to fail on request.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"

#include "base/config.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define ALIGNMENT 64
#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE_FROM (4 * LARGE_PAGE) /* from here on, rounding up to whole large pages wastes little */

static _Atomic int64_t n_made, n_live;
static _Atomic int64_t fail_countdown; /* the allocation that takes it from 1 to 0 fails */
static pthread_once_t environment_read = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
    int64_t n = 0;
    /* A malformed value is reported by `lathe doctor`; an allocation has no way to. */
    if (lt_config_int(LT_CONFIG_OOM_AT, 0, INT64_MAX, 0, &n) == LT_OK) atomic_store(&fail_countdown, n);
}

/* True when this allocation is the one chosen to fail. */
static bool chosen_to_fail(void)
{
    pthread_once(&environment_read, read_environment);
    atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed);
    int64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) return left == 1;
    return false;
}

/* Counts a new block, or records that there is none. */
static void *counted(void *p, size_t bytes)
{
    if (p) atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
    else LT_FAIL(LT_ERR_MEMORY, "no memory for %zu bytes", bytes);
    return p;
}

static size_t at_least_one(size_t bytes) { return bytes ? bytes : 1; }

void *lt_malloc(size_t bytes)
{
    return counted(chosen_to_fail() ? NULL : malloc(at_least_one(bytes)), bytes);
}

void *lt_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        LT_FAIL(LT_ERR_MEMORY, "no memory for %zu elements of %zu bytes", count, bytes);
        return NULL;
    }
    return counted(chosen_to_fail() ? NULL : calloc(1, at_least_one(total)), total);
}

void *lt_realloc(void *p, size_t bytes)
{
    if (!p) return lt_malloc(bytes);
    void *q = chosen_to_fail() ? NULL : realloc(p, at_least_one(bytes));
    if (!q) LT_FAIL(LT_ERR_MEMORY, "no memory for %zu bytes", bytes);
    return q;
}

void lt_free(void *p)
{
    if (p) atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
    free(p);
}

char *lt_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = lt_malloc(bytes);
    if (copy) memcpy(copy, s, bytes);
    return copy;
}

/* Large pages: one fault for 2 MiB instead of 512, and fewer misses when it is read across. Only
   advice, so a refusal does not matter. */
static void *prefer_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (p) (void)madvise(p, bytes, MADV_HUGEPAGE);
#else
    (void)bytes;
#endif
    return p;
}

void *lt_malloc_aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - LARGE_PAGE) {
        LT_FAIL(LT_ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    size_t unit = bytes >= LARGE_FROM ? LARGE_PAGE : ALIGNMENT;
    size_t rounded = (at_least_one(bytes) + unit - 1) / unit * unit;
    void *p = chosen_to_fail() ? NULL : aligned_alloc(unit, rounded);
    return counted(unit == LARGE_PAGE ? prefer_large_pages(p, rounded) : p, bytes);
}

void lt_free_aligned(void *p) { lt_free(p); }

/* ---- Room for libraries ---- */

static pthread_once_t kernel_asked = PTHREAD_ONCE_INIT;
static bool kernel_counts; /* it promises no more memory than there is */

static void ask_kernel(void)
{
    char mode = '0';
    FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
    if (f && fread(&mode, 1, 1, f) != 1) mode = '0';
    if (f) fclose(f);
    kernel_counts = mode == '2';
}

static bool limits(int what)
{
    struct rlimit r;
    return !getrlimit(what, &r) && r.rlim_cur != RLIM_INFINITY;
}

bool lt_room_is_limited(void)
{
    pthread_once(&kernel_asked, ask_kernel);
    return kernel_counts || limits(RLIMIT_AS) || limits(RLIMIT_DATA);
}

bool lt_has_room(size_t bytes)
{
    void *p = !lt_room_is_limited() ? NULL : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    if (p) munmap(p, bytes);
    return true;
}

lt_status lt_need_room(size_t bytes, const char *library)
{
    return lt_has_room(bytes) ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "no memory for %s: fewer than %zu MiB of address space are left (ulimit -v)", library, bytes >> 20);
}

void lt_alloc_fail_at(int64_t n)
{
    pthread_once(&environment_read, read_environment); /* so that it cannot undo this call later */
    atomic_store(&fail_countdown, n > 0 ? n : 0);
}

int64_t lt_alloc_count(void) { return atomic_load(&n_made); }
int64_t lt_alloc_live(void) { return atomic_load(&n_live); }
