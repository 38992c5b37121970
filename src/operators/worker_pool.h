/* The watching side of the workers: one per device, and the rows they share. SPDX-License-Identifier: BSD-3-Clause

   worker_run.c deals rows to whoever asks, waits for all of them at once and replaces those that are gone; worker_watch.c is one of
   them: its process, its messages, what becomes of its rows when it hangs or dies. */
#ifndef LT_OPERATORS_WORKER_POOL_H
#define LT_OPERATORS_WORKER_POOL_H

#include "operators/worker.h"

#include <sys/types.h>

/* Rows whose rollouts have begun, as devices run a few side by side; rows dealt, which the lane ahead draws. */
enum { LT_WORKER_OPEN = 8, LT_WORKER_DEALT = 12 };

typedef struct lt_worker_open {
    int64_t       row;
    lt_store_row *out;
    int64_t       beats, states, begun_ns;
} lt_worker_open;

typedef struct lt_worker_pool lt_worker_pool;

typedef struct lt_worker {
    lt_worker_pool  *pool;
    char             device[16];     /* what it computes on; "": the CPU */
    pid_t            pid;            /* 0: no process */
    int              fd;
    bool             ready, asks;    /* asks: waits for a row */
    bool             given_up;       /* its device does not start again, and there are others */
    double           silent_seconds, limit_seconds; /* since it last said something; how long that may be */
    int              n_dealt, n_open;
    int64_t          dealt[LT_WORKER_DEALT]; /* not done yet, oldest first */
    lt_worker_open   open[LT_WORKER_OPEN];   /* of those, what has begun; oldest first */
    lt_generate_info now;            /* of this process */
    int64_t          rows;           /* that its processes made */
} lt_worker;

struct lt_worker_pool {
    lt_generator    *g;
    int              n;
    lt_worker       *worker;
    int64_t         *left, next;     /* rows to deal: from left[next] on */
    int64_t          n_done;
    lt_generate_info before;         /* of processes that are gone */
    lt_field_makers  makers;
    float           *block;          /* states of a step, or a field */
};

/* ---- One worker (worker_watch.c) ------------------------------------------------------------------------- */
lt_status lt_worker_start(lt_worker *w);
/* Ends the process if there is one; its rows are dealt again. */
void      lt_worker_stop(lt_worker *w);
/* Takes one message; an end of the connection is the end of the process. */
lt_status lt_worker_take(lt_worker *w);
/* How long it may say nothing. */
double    lt_worker_limit(const lt_worker *w);
lt_status lt_worker_hangs(lt_worker *w);
/* Answers a worker that asks: with a row, or -1 when there is none. */
lt_status lt_worker_deal(lt_worker *w, int64_t row);

/* ---- The pool, as one worker sees it (worker_run.c) -------------------------------------------------------- */
/* Rows of a worker that is gone, to be dealt next. */
void      lt_worker_pool_return(lt_worker_pool *p, int64_t row);
/* The process of w is gone: its counts are kept. */
void      lt_worker_pool_retire(lt_worker *w);
/* Times and counts of all workers together, to the caller's. */
void      lt_worker_pool_add_up(lt_worker_pool *p);
/* A worker's device cannot be used: others go on, if there are any; else the error stands. */
lt_status lt_worker_pool_give_up(lt_worker_pool *p, lt_worker *w, lt_status s);

#endif
