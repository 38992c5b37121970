/* The only door to the heap. Everything in src/ allocates here, so that a test can
   count allocations and make the n-th one fail. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_ALLOC_H
#define LT_BASE_ALLOC_H

#include "lathe/base.h"

/* As malloc, calloc, realloc, free; NULL on failure, with lt_error_text() set. */
void *lt_malloc(size_t bytes);
void *lt_calloc(size_t count, size_t bytes);
void *lt_realloc(void *p, size_t bytes);
void  lt_free(void *p);
char *lt_strdup(const char *s);
/* 64-byte aligned memory for tensor data, released with lt_free_aligned. */
void *lt_malloc_aligned(size_t bytes);
void  lt_free_aligned(void *p);

/* Some libraries end the process when they are refused memory. They are called only where there is room for what they may need (decision 280):
   always, unless something limits the address space or the data of the process, since then no mapping is refused. */
bool      lt_room_is_limited(void);
bool      lt_has_room(size_t bytes);
lt_status lt_need_room(size_t bytes, const char *library);

/* Fault injection: the n-th allocation from now (1-based) on any thread fails; 0 turns
   it off. Also set at start-up by the environment variable LT_OOM_AT. */
void    lt_alloc_fail_at(int64_t n);
int64_t lt_alloc_count(void); /* allocations made so far, all threads */
int64_t lt_alloc_live(void);  /* allocated and not yet released */

#endif
