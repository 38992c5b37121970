/* Every block of lathe's heap in a test program, with guard bytes behind its exact size and in a list (decision 230). The linker puts these
   functions in front of those of base/alloc.c (--wrap, see lt_test in cmake/lathe_helpers.cmake), so the library itself knows nothing of them.
   SPDX-License-Identifier: BSD-3-Clause

   - A block is followed by GUARD bytes or more of 0xff, which are looked at when it is released: one element written too far ends the test.
   - New memory holds 0xff: floats that nobody wrote are NaN, counts are -1; reading one element too far finds the same.
   - At the end blocks that no variable leads to any more are lost: a leak, however many caches keep others on purpose. */
#include "guarded_blocks.h"

#include "base/status.h"

#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 40, FILL_MOST = 1 << 20 };

void *__real_lt_malloc(size_t bytes);
void *__real_lt_calloc(size_t count, size_t bytes);
void *__real_lt_realloc(void *p, size_t bytes);
void *__real_lt_malloc_aligned(size_t bytes);
void  __real_lt_free(void *p);
void  __real_lt_free_aligned(void *p);
char *__real_lt_strdup(const char *s);

/* ---- The list: a table of open addressing, keyed by the address ------------------------------------------ */
typedef struct entry { char *p; size_t bytes; const void *from; bool seen; } entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *table; /* not a block of ours: what it holds keeps none */
static size_t capacity, n_entries;

static size_t slot_of(const char *p)
{
    size_t i = ((size_t)p >> 4) * 0x9e3779b97f4a7c15u >> 20 & (capacity - 1);
    while (table[i].p && table[i].p != p) i = (i + 1) & (capacity - 1);
    return i;
}

static void grow(void)
{
    entry *old = table;
    size_t n = capacity;
    capacity = n ? 2 * n : 4096;
    table = calloc(capacity, sizeof *table);
    if (!table) abort();
    for (size_t i = 0; i < n; i++)
        if (old[i].p) table[slot_of(old[i].p)] = old[i];
    free(old);
}

static void list(char *p, size_t bytes, const void *from)
{
    pthread_mutex_lock(&lock);
    if (2 * n_entries >= capacity) grow();
    table[slot_of(p)] = (entry){ p, bytes, from, false };
    n_entries++;
    pthread_mutex_unlock(&lock);
}

/* Takes the block out of the list. What stood behind it in its run of places moves up. */
static entry unlist(char *p)
{
    pthread_mutex_lock(&lock);
    size_t i = capacity ? slot_of(p) : 0;
    entry found = capacity ? table[i] : (entry){ 0 };
    if (found.p) {
        table[i] = (entry){ 0 };
        n_entries--;
        for (size_t k = (i + 1) & (capacity - 1); table[k].p; k = (k + 1) & (capacity - 1)) {
            entry moved = table[k];
            table[k] = (entry){ 0 };
            table[slot_of(moved.p)] = moved;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- Guards ------------------------------------------------------------------------------------------------ */
static size_t with_guard(size_t bytes) { return bytes > SIZE_MAX - GUARD ? bytes : bytes + GUARD; }

static void *guarded(char *p, size_t bytes, size_t fill_from, const void *from)
{
    if (!p) {
        LT_FAIL(LT_ERR_MEMORY, "no memory for %zu bytes", bytes); /* without the guard, as the library says it */
        return NULL;
    }
    if (fill_from < bytes) memset(p + fill_from, 0xff, bytes - fill_from < FILL_MOST ? bytes - fill_from : FILL_MOST);
    memset(p + bytes, 0xff, GUARD);
    list(p, bytes, from);
    return p;
}

/* The program may be relocated: `addr2line -e PROGRAM OFFSET` knows the line. */
static size_t offset_of(const void *code)
{
    extern const char __executable_start[];
    return (size_t)((const char *)code - __executable_start);
}

static size_t checked(char *p)
{
    entry e = unlist(p);
    if (!e.p) {
        fprintf(stderr, "guarded blocks: %p is released, which is not allocated\n", (void *)p);
        abort();
    }
    for (size_t i = e.bytes; i < e.bytes + GUARD; i++)
        if ((unsigned char)p[i] != 0xff) {
            fprintf(stderr, "guarded blocks: byte %zu of a block of %zu was written; it was allocated at offset %#zx of the program\n", i, e.bytes, offset_of(e.from));
            abort();
        }
    return e.bytes;
}

/* ---- In the place of base/alloc.c ------------------------------------------------------------------------ */
#define CALLER __builtin_return_address(0)

void *__wrap_lt_malloc(size_t bytes);
void *__wrap_lt_malloc(size_t bytes) { return guarded(__real_lt_malloc(with_guard(bytes)), bytes, 0, CALLER); }

void *__wrap_lt_malloc_aligned(size_t bytes);
void *__wrap_lt_malloc_aligned(size_t bytes) { return guarded(__real_lt_malloc_aligned(with_guard(bytes)), bytes, 0, CALLER); }

void *__wrap_lt_calloc(size_t count, size_t bytes);
void *__wrap_lt_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) return __real_lt_calloc(count, bytes); /* it says why not */
    return guarded(__real_lt_calloc(1, with_guard(total)), total, total, CALLER);
}

void *__wrap_lt_realloc(void *p, size_t bytes);
void *__wrap_lt_realloc(void *p, size_t bytes)
{
    if (!p) return guarded(__real_lt_malloc(with_guard(bytes)), bytes, 0, CALLER);
    size_t before = checked(p);
    void *q = __real_lt_realloc(p, with_guard(bytes));
    if (!q) guarded(p, before, before, CALLER); /* still the caller's */
    return guarded(q, bytes, before, CALLER);
}

char *__wrap_lt_strdup(const char *s);
char *__wrap_lt_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = guarded(__real_lt_malloc(with_guard(bytes)), bytes, 0, CALLER);
    return copy ? memcpy(copy, s, bytes) : NULL;
}

void __wrap_lt_free(void *p);
void __wrap_lt_free(void *p)
{
    if (p) checked(p);
    __real_lt_free(p);
}

void __wrap_lt_free_aligned(void *p);
void __wrap_lt_free_aligned(void *p)
{
    if (p) checked(p);
    __real_lt_free_aligned(p);
}

/* ---- Lost blocks ------------------------------------------------------------------------------------------------ */
typedef struct search { char **sorted; size_t n; char **open; size_t n_open; } search;

static int by_address(const void *a, const void *b) { return *(char *const *)a < *(char *const *)b ? -1 : *(char *const *)a > *(char *const *)b; }

/* A pointer into a block counts as one to it: arrays are often kept by their middle. */
static void reach(search *s, char *p)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->sorted[middle] <= p) low = middle + 1;
        else high = middle;
    }
    if (!low) return;
    entry *e = &table[slot_of(s->sorted[low - 1])];
    if (e->seen || p > e->p + e->bytes) return;
    e->seen = true;
    s->open[s->n_open++] = e->p;
}

/* Reads what other threads may write: a torn pointer leads nowhere. */
__attribute__((no_sanitize("address"))) __attribute__((no_sanitize("thread"))) static void look_through(search *s, const char *from, const char *to)
{
    for (const char *at = (const char *)(((size_t)from + 7) & ~(size_t)7); at + sizeof(char *) <= to; at += sizeof(char *)) reach(s, *(char *const *)(const void *)at);
}

/* Blocks that live in the C library's heap are not ours and may hold our addresses: a thread's own data, a library's. The writable data
   and the thread-local data of the program and of every library are the roots. */
static int look_through_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    search *s = ctx;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + h->p_vaddr);
        if (h->p_type == PT_LOAD && h->p_flags & PF_W) look_through(s, at, at + h->p_memsz);
        if (h->p_type == PT_TLS && info->dlpi_tls_data) look_through(s, info->dlpi_tls_data, (const char *)info->dlpi_tls_data + h->p_memsz);
    }
    return 0;
}

int lt_guard_lost(FILE *to)
{
    int n_lost = 0;
    pthread_mutex_lock(&lock);
    search s = { .sorted = malloc((n_entries + 1) * sizeof *s.sorted), .open = malloc((n_entries + 1) * sizeof *s.open) };
    if (!s.sorted || !s.open) abort();
    for (size_t i = 0; i < capacity; i++)
        if (table[i].p) table[i].seen = false, s.sorted[s.n++] = table[i].p;
    qsort(s.sorted, s.n, sizeof *s.sorted, by_address);
    dl_iterate_phdr(look_through_object, &s);
    while (s.n_open) {
        entry *e = &table[slot_of(s.open[--s.n_open])];
        look_through(&s, e->p, e->p + e->bytes);
    }
    for (size_t i = 0; i < capacity; i++)
        if (table[i].p && !table[i].seen && n_lost++ < 8)
            fprintf(to, "lost: %zu bytes allocated at offset %#zx of the program\n", table[i].bytes, offset_of(table[i].from));
    free(s.sorted);
    free(s.open);
    pthread_mutex_unlock(&lock);
    return n_lost;
}
