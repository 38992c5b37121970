/* Arenas: many small objects with one lifetime, released together.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_ARENA_H
#define LT_BASE_ARENA_H

#include "lathe/base.h"

typedef struct lt_arena_block lt_arena_block;
typedef struct lt_arena { /* zero-initialised is an empty arena */
    lt_arena_block *head;
    size_t used_bytes, total_bytes;
} lt_arena;

/* 16-byte aligned, zeroed; NULL when memory is out (error text set). */
void *lt_arena_alloc(lt_arena *a, size_t bytes);
char *lt_arena_strdup(lt_arena *a, const char *s);
void  lt_arena_release(lt_arena *a); /* frees all blocks; the arena is empty and usable again */

#endif
