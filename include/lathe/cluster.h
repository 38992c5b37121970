/* Ranks: the processes that mpirun or srun started together. SPDX-License-Identifier: BSD-3-Clause

   A program opens the cluster once. Started alone it is one rank, no MPI library is opened and every function here works.
   lt_generate shares its rows between the ranks of the cluster it is given (lt_generate_options.cluster); all ranks call it with the same configuration
   and all get the same status. */
#ifndef LATHE_CLUSTER_H
#define LATHE_CLUSTER_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_cluster lt_cluster; /* opaque; one per process */

typedef struct lt_cluster_info {
    size_t size;
    int    rank, ranks;               /* 0 .. ranks - 1 */
    int    local_rank, local_ranks;   /* among those on this machine */
    int    threads;                   /* this rank's share of the machine's cores */
    char   name[16];                  /* "self", "openmpi", "mpich" */
    char   library[128];              /* what the MPI library calls itself; "" of self */
    char   host[64];
} lt_cluster_info;

/* The rank that the launcher gave this process, and how many there are; 0 of 1 when nothing launched it. Opens nothing. */
LT_API int lt_cluster_launched(int *ranks);
/* Joins the other ranks; alone where nothing launched this process. Waits for all of them. LT_ERR_UNSUPPORTED when they were launched
   by an MPI that this build has no part for, LT_ERR_ARGUMENT when they are of different versions. */
LT_API lt_status lt_cluster_open(lt_cluster **out);
/* Leaves. After a rank was lost, or when this one leaves while others still work, the others are ended. NULL is allowed. */
LT_API void      lt_cluster_close(lt_cluster *c);
LT_API void lt_cluster_get_info_into(const lt_cluster *c, lt_cluster_info *out); /* c NULL: one rank */
static inline lt_cluster_info lt_cluster_get_info(const lt_cluster *c) { lt_cluster_info sized; sized.size = sizeof sized; lt_cluster_get_info_into(c, &sized); return sized; }

/* All ranks call this together, each with its own outcome so far and with bytes that must be the same everywhere (data NULL: none). Every
   rank gets the same status: LT_OK, else the first failure with the rank it happened on, or LT_ERR_ARGUMENT when the bytes differ: `what`
   names them. A rank that has failed calls it once, instead of whatever the others call next, and no more. */
LT_API lt_status lt_cluster_agree(lt_cluster *c, lt_status s, const char *what, const void *data, size_t bytes);
/* Whether the last lt_cluster_agree of this rank failed: the others know. */
LT_API bool      lt_cluster_has_failed(const lt_cluster *c);
/* Shares n units that do not depend on each other between all ranks, and between `threads` threads of each (0 = this rank's share of the cores). run fills the
   `row_bytes` of a unit's row; it is called from several threads. `rows` of rank 0 gets the rows in the order of the units; of the others it is not used.
   All ranks call it together with the same n and row_bytes and get the same status. *stop (NULL: never) not 0: no more units; LT_ERR_CANCELLED unless all
   were done. cluster NULL: this process is alone. */
typedef lt_status (*lt_cluster_unit_fn)(void *ctx, int64_t unit, void *row);
LT_API lt_status lt_cluster_map(lt_cluster *c, int64_t n, size_t row_bytes, lt_cluster_unit_fn run, void *ctx, int threads, const volatile int *stop, void *rows);

/* Ends all ranks at once with this exit status. */
LT_API void      lt_cluster_abort(lt_cluster *c, int exit_status);

#ifdef __cplusplus
}
#endif
#endif
