/* A process that parses what strangers wrote: forked, limited in memory and time, shut off from files, processes and networks where the
   kernel can do that, and joined to its parent by one socket. The parent gets answers of known size and never the bytes that were parsed.
   SPDX-License-Identifier: BSD-3-Clause

   The parent may have threads: the child has only the one that forked. So its work takes no lock that another thread may have held:
   none but the heap's (the C library makes it whole) and those that the parent holds itself while it calls lt_jail_start. */
#ifndef LT_BASE_JAIL_H
#define LT_BASE_JAIL_H

#include "lathe/base.h"

#include <sys/types.h>

typedef struct lt_jail {   /* zero-initialised: none */
    pid_t pid;
    int   fd;              /* the parent's end of the socket */
    pid_t owner;           /* the parent: a child that it forked has a copy of this, and no say */
} lt_jail;

typedef struct lt_jail_rules {
    uint64_t memory_bytes; /* address space beyond what the parent has */
    int      file;         /* what the child may open for reading, until lt_jail_shut; -1: nothing */
} lt_jail_rules;

/* Runs work(ctx, fd) in a child; it ends when work returns. */
lt_status lt_jail_start(const lt_jail_rules *rules, void (*work)(void *ctx, int fd), void *ctx, lt_jail *out);
/* None is allowed. In another process than the one that started it: lets go of the socket only. */
void      lt_jail_stop(lt_jail *j);

/* ---- In the child ---------------------------------------------------------------------------------- */
void lt_jail_shut(void);                /* from now on no file can be opened at all */
void lt_jail_allow_seconds(unsigned n); /* of processor time from now on; beyond them the child is killed */
bool lt_jail_request(int fd, void *request, size_t bytes); /* false: the parent is gone */
bool lt_jail_request_within(int fd, void *request, size_t bytes, int seconds); /* false also when none comes in time */
/* LT_OK with data, or a failure with this thread's error text. */
void lt_jail_answer(int fd, lt_status s, const void *data, size_t bytes);

/* ---- In the parent ---------------------------------------------------------------------------------- */
/* `what` begins the sentence when the child is gone or silent: the parsed file. */
lt_status lt_jail_ask(lt_jail *j, const char *what, const void *request, size_t bytes);
/* An answer of this size; a failure of the child is the failure here, with its text. */
lt_status lt_jail_hear(lt_jail *j, const char *what, void *data, size_t bytes);
/* An answer of at most `limit` bytes; lt_free *data. */
lt_status lt_jail_hear_any(lt_jail *j, const char *what, size_t limit, void **data, size_t *bytes);

#endif
