/* Arenas: a chain of blocks, each twice as large as the one before up to a limit.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

enum { ALIGN = 16, FIRST_BYTES = 4096, LARGEST_BYTES = 1 << 20 };

struct lt_arena_block {
    lt_arena_block *next; /* older */
    size_t used_bytes, size_bytes;
    _Alignas(ALIGN) unsigned char data[];
};

/* A fresh block at the head with room for at least `bytes`; false when memory is out. */
static bool add_block(lt_arena *a, size_t bytes)
{
    size_t size = a->head ? LT_MIN(2 * a->head->size_bytes, (size_t)LARGEST_BYTES) : FIRST_BYTES;
    size = LT_MAX(size, bytes);
    lt_arena_block *b = lt_calloc(1, sizeof *b + size);
    if (!b) return false;
    b->size_bytes = size;
    b->next = a->head;
    a->head = b;
    a->total_bytes += size;
    return true;
}

void *lt_arena_alloc(lt_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        LT_FAIL(LT_ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    size_t rounded = (LT_MAX(bytes, (size_t)1) + ALIGN - 1) / ALIGN * ALIGN;
    if (!a->head || a->head->size_bytes - a->head->used_bytes < rounded)
        if (!add_block(a, rounded)) return NULL;
    void *p = a->head->data + a->head->used_bytes; /* zero since calloc: nothing is handed out twice */
    a->head->used_bytes += rounded;
    a->used_bytes += rounded;
    return p;
}

char *lt_arena_strdup(lt_arena *a, const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = lt_arena_alloc(a, bytes);
    if (copy) memcpy(copy, s, bytes);
    return copy;
}

void lt_arena_release(lt_arena *a)
{
    for (lt_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        lt_free(b);
    }
    *a = (lt_arena){ 0 };
}
