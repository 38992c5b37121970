/* What made-up libraries share: whether somebody else is inside what is used now, and failures on demand.
   SPDX-License-Identifier: BSD-3-Clause

   FAKE_FAULTS=FILE:K lets every K-th call that queues work fail and take one byte off FILE, until FILE is empty: so a fault strikes as
   often as FILE has bytes, in however many processes. */
#ifndef LT_TEST_FAKE_LIBRARY_H
#define LT_TEST_FAKE_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Threads inside a call with this handle or plan: the real libraries allow one. */
typedef struct fake_use { atomic_int inside; } fake_use;

/* False when another thread is inside. It stays long enough for one that has no lock to come. */
static inline bool fake_enter(fake_use *u)
{
    bool alone = atomic_fetch_add(&u->inside, 1) == 0;
    usleep(50);
    return alone;
}
static inline void fake_leave(fake_use *u) { atomic_fetch_sub(&u->inside, 1); }

static inline bool fake_take_byte(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0 && truncate(path, st.st_size - 1) == 0;
}

/* Whether this call is one that fails. */
static inline bool fake_fault(atomic_int *calls)
{
    const char *where = getenv("FAKE_FAULTS"), *colon = where ? strrchr(where, ':') : NULL;
    char path[512];
    if (!colon || (atomic_fetch_add(calls, 1) + 1) % atoi(colon + 1)) return false;
    snprintf(path, sizeof path, "%.*s", (int)(colon - where), where);
    return fake_take_byte(path);
}

#endif
