/* Inside a cluster: what its files share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_CLUSTER_INSIDE_H
#define LT_CLUSTER_INSIDE_H

#include "base/status.h"
#include "cluster/cluster.h"
#include "cluster/mpi/plugin.h"

#include <pthread.h>

/* ---- Who launched this process (launch.c) -------------------------------------------------------------------------- */
typedef struct lt_launch {
    int         rank, ranks;   /* 0 of 1: nobody did */
    const char *launcher;      /* for messages: "mpirun of Open MPI" */
    const char *flavour[2];    /* plugins that may serve it, the likelier first; NULL: no more */
} lt_launch;
lt_status lt_launch_find(lt_launch *out);
/* Opens the plugin and joins. The libraries stay until the process ends, since MPI cannot be unloaded. */
lt_status lt_launch_join(const lt_launch *l, lt_mpi_table *out, char name[16]);

/* ---- The cluster ------------------------------------------------------------------------------------------------------ */
/* What a rank says of itself when it agrees. */
typedef struct lt_outcome {
    int32_t   status, pid;
    char      what[32], host[64];
    uint64_t  digest[2];
    char      text[LT_ERROR_TEXT_BYTES]; /* the failure; without one, the text that is compared (lt_cluster_agree_on_text) */
} lt_outcome;

typedef struct lt_verdict { int32_t status, pid; char host[64], text[LT_ERROR_TEXT_BYTES]; } lt_verdict; /* pid, host: of rank 0 */

typedef struct lt_peer {
    int64_t heard_ns;          /* guarded by lock */
    int32_t pid;
    bool    gone;              /* it has left in good order */
    char    host[64];
} lt_peer;

struct lt_cluster {
    char            name[16], host[64];
    lt_mpi_table    mpi;       /* of self: one rank, no functions */
    pthread_mutex_t lock;      /* around every call of the plugin */
    lt_peer        *peer;      /* rank 0 knows all, the others rank 0 */
    lt_outcome     *outcome;   /* [ranks] of rank 0, since the last verdict; what[0] = 0: none yet */
    int             n_outcomes;
    bool            failed;    /* the last verdict */
    int             lost;      /* the first rank that was lost; -1: none */
    char            lost_text[256];
    int64_t         silence_ns;
    bool            beating;   /* the thread runs */
    bool            hushed;    /* guarded by lock: it sends no more signs */
    pthread_mutex_t ending_lock; /* of ending */
    pthread_cond_t  ended;
    bool            ending;
    pthread_t       beat;
};

/* Starts and ends the thread that sends signs of life (alive.c). */
lt_status lt_alive_start(lt_cluster *c);
void      lt_alive_stop(lt_cluster *c);
void      lt_alive_hush(lt_cluster *c);                /* no more signs are sent; those of others are still looked for */
void      lt_alive_drain(lt_cluster *c);               /* receives what signs have arrived */
lt_status lt_alive_check(const lt_cluster *c); /* LT_ERR_DEVICE when a rank was lost */

#endif
