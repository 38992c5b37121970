/* Faults below everything: the k-th call of one kind fails, whoever makes it: lathe, HDF5, libyaml, OpenBLAS, the C++ library.
   SPDX-License-Identifier: BSD-3-Clause

   inject.c stands in front of the C library: linked into a program (faults.c), or loaded before another by LD_PRELOAD, where the
   environment says what fails:  LD_PRELOAD=inject.so FAULT=write:3 lathe generate …  */
#ifndef LT_TEST_INJECT_H
#define LT_TEST_INJECT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fault_kind {
    FAULT_MEMORY,   /* malloc, calloc, realloc, aligned_alloc, memalign, posix_memalign: NULL */
    FAULT_OPEN,     /* open, openat, fopen, socketpair, memfd_create: EMFILE */
    FAULT_READ,     /* read, pread: EIO */
    FAULT_WRITE,    /* write, pwrite, ftruncate, fallocate: ENOSPC; not to standard output and error */
    FAULT_SYNC,     /* fsync, fdatasync, msync: EIO */
    FAULT_RENAME,   /* rename, renameat: EACCES */
    FAULT_MAP,      /* mmap: ENOMEM */
    FAULT_THREAD,   /* pthread_create: EAGAIN */
    FAULT_PROCESS,  /* fork: EAGAIN */
    FAULT_KINDS
} fault_kind;

/* Name of a kind: "memory", … */
const char *fault_name(fault_kind kind);
/* From now on calls are counted from 1, and call number `at` of this kind fails; 0: none does. */
void        fault_arm(fault_kind kind, int64_t at);
void        fault_disarm(void);
void        fault_show(bool shown);       /* the stack of the call that fails, on standard error */
int64_t     fault_calls(fault_kind kind); /* since fault_arm, in this process */

/* ---- By call site ---- */
/* A site is a kind of call and the stack it is made from, where a function stands once however often it called itself. The numbers of calls differ from run to run
   where threads race, sites do not. They stand in a file that all processes of a run share, those of exec too, which know it by the environment. */
enum { FAULT_MOST_SITES = 1 << 16, FAULT_TEXT = 16384 };

typedef struct fault_site {
    uint64_t stack;  /* 0: none stands here */
    uint64_t caller; /* the innermost frame, compared first: it costs nothing */
    int64_t  calls;
    int64_t  kind;
} fault_site;

typedef struct fault_sites {
    int64_t    mode;   /* 0: off, 1: note every site, 2: fail the first call of `wanted` */
    int64_t    struck; /* calls that failed */
    fault_site wanted;
    char       text[FAULT_TEXT]; /* the stack that was struck */
    fault_site site[FAULT_MOST_SITES];
} fault_sites;

/* Makes the file, sets the environment, gives the table; NULL: it cannot be. */
fault_sites *fault_sites_share(const char *path);

#endif
