/* The workers as their parent sees them: one per device, and the rows they share. SPDX-License-Identifier: BSD-3-Clause

   worker/run.c deals rows to workers that ask, waits for all workers at once and replaces lost ones. worker/watch.c handles one worker: its
   messages, and what happens to its rows when it hangs or dies. worker/process.c is its process and the socket to it. Reads and writes
   never block, so a worker that stops in the middle of a message does not hold up the others. */
#ifndef LT_OPERATORS_GENERATE_WORKER_POOL_H
#define LT_OPERATORS_GENERATE_WORKER_POOL_H

#include "operators/generate/worker/worker.h"

#include <sys/types.h>

/* Rows whose rollouts have begun (devices run a few side by side), and rows that were dealt and that the prefetch thread draws. */
enum { LT_WORKER_OPEN = LT_MOST_AT_ONCE, LT_WORKER_DEALT = 12 };

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
    lt_worker_head   head;           /* of the message that arrives … */
    char            *message;        /* … what follows it, at most pool->message_bytes … */
    size_t           arrived;        /* … and bytes of both that are here */
    char            *outbox;         /* the rest of a message that the socket did not take; NULL: none */
    size_t           outbox_bytes, outbox_sent;
    bool             ready, asks;    /* asks: waits for a row */
    bool             dismissed;      /* was sent the end of the rows */
    bool             renews;         /* its last row failed: the process ends and a new one continues */
    bool             ended;          /* it has reported its end */
    bool             given_up;       /* its device cannot be started again, and other devices remain */
    int              idle_losses;    /* processes lost one after the other before they finished any row */
    double           silent_seconds, limit_seconds; /* since its last message; how long that may be */
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
    bool            *suspect;        /* of the rows of the table: a process that held this row among others was lost */
    bool            *renewed;        /* the row has had a fresh process of its own after a fault */
    size_t           message_bytes;  /* of the longest message of a worker, without its head */
    lt_field_makers  makers;
    float           *block;          /* NaN for the states of a missing step, or a field */
};

/* ---- A process and the socket to it (generate/worker/process.c) ----------------------------------------------------- */
lt_status lt_worker_launch(lt_worker *w);
void      lt_worker_kill(const lt_worker *w);
/* Kills the process, if any, waits for its end and describes it in `how` (of `bytes`, or NULL). */
void      lt_worker_end_process(lt_worker *w, char *how, size_t bytes);
/* Sends as much of a message as the socket takes at once; lt_worker_flush sends the rest. One message at a time. */
lt_status lt_worker_post(lt_worker *w, lt_worker_head head, int n, const lt_worker_piece *piece);
void      lt_worker_flush(lt_worker *w);
/* Reads what has arrived of one message; *whole: all of it. LT_ERR_IO: the other side is gone. LT_ERR_FORMAT: not a valid message. */
lt_status lt_worker_read(lt_worker *w, bool *whole);

/* ---- One worker (generate/worker/watch.c) ------------------------------------------------------------------------- */
lt_status lt_worker_start(lt_worker *w);
/* Ends the process if there is one; its rows are dealt again. */
void      lt_worker_stop(lt_worker *w);
/* Handles at most one message of the worker. The end of the connection is the end of the process. */
lt_status lt_worker_take(lt_worker *w);
/* How long it may be silent. */
double    lt_worker_limit(const lt_worker *w);
lt_status lt_worker_hangs(lt_worker *w);
/* Answers a worker that asks: with a row, or -1 when there is none. */
lt_status lt_worker_deal(lt_worker *w, int64_t row);

/* ---- The pool, as one worker sees it (generate/worker/run.c) -------------------------------------------------------- */
/* Rows of a worker that is gone, to be dealt next. */
void      lt_worker_pool_return(lt_worker_pool *p, int64_t row);
/* The device of a worker cannot be used. The run goes on with the others; if there are none, this error ends it. */
lt_status lt_worker_pool_give_up(lt_worker_pool *p, lt_worker *w, lt_status s);

#endif
