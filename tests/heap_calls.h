/* Every allocation of the process, counted in n_heap_calls; not under sanitizers, which have their own
   allocators (SANITIZED). For one source file of a test program. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_HEAP_CALLS_H
#define LT_TEST_HEAP_CALLS_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define SANITIZED 1
#endif

static _Atomic int64_t n_heap_calls;

#ifndef SANITIZED
#define INTERPOSED __attribute__((visibility("default")))
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void  __libc_free(void *p);

INTERPOSED void *malloc(size_t bytes) { atomic_fetch_add(&n_heap_calls, 1); return __libc_malloc(bytes); }
INTERPOSED void *calloc(size_t count, size_t bytes) { atomic_fetch_add(&n_heap_calls, 1); return __libc_calloc(count, bytes); }
INTERPOSED void *realloc(void *p, size_t bytes) { atomic_fetch_add(&n_heap_calls, 1); return __libc_realloc(p, bytes); }
INTERPOSED void *aligned_alloc(size_t alignment, size_t bytes) { atomic_fetch_add(&n_heap_calls, 1); return __libc_memalign(alignment, bytes); }
INTERPOSED void *memalign(size_t alignment, size_t bytes) { atomic_fetch_add(&n_heap_calls, 1); return __libc_memalign(alignment, bytes); }
INTERPOSED void  free(void *p) { __libc_free(p); }
INTERPOSED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    atomic_fetch_add(&n_heap_calls, 1);
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : 12; /* ENOMEM */
}
#endif

#endif
