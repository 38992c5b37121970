/* What an MPI plugin offers. It is a shared object of its own, opened at run time, that knows nothing of lathe but this header.
   SPDX-License-Identifier: BSD-3-Clause

   Calls come one at a time. Each returns 0 or an error of MPI, unless it says otherwise. */
#ifndef LT_CLUSTER_MPI_PLUGIN_H
#define LT_CLUSTER_MPI_PLUGIN_H

#include <stddef.h>

#define LT_MPI_PLUGIN 1 /* changes with this struct */

typedef struct lt_mpi_table {
    int   version, rank, ranks, local_rank, local_ranks;
    char  library[128];
    /* Begins to send; data must stay until sent() says so. */
    int  (*send)(int to, int tag, const void *data, size_t bytes, void **request);
    int  (*sent)(void **request);                        /* 1: yes, 0: not yet, negative: it failed */
    int  (*arrived)(int tag, int *from, size_t *bytes);  /* 1: a message can be received, 0: none, negative: failed */
    int  (*receive)(int from, int tag, void *data, size_t bytes);
    int  (*leave)(void);                                 /* waits for all ranks */
    void (*abort)(int exit_status);
} lt_mpi_table;

/* The plugin's one symbol. Joins the other ranks; *why (bytes of it) says what was wrong. */
#define LT_MPI_JOIN "lt_mpi_join"
typedef int (*lt_mpi_join_fn)(int version, lt_mpi_table *out, char *why, size_t bytes);

#endif
