/* The watching side of the workers: one per device, and the rows they share. SPDX-License-Identifier: BSD-3-Clause

   generate/worker/run.c deals rows to whoever asks, waits for all of them at once and replaces those that are gone; generate/worker/watch.c is one of
   them: what it says, what becomes of its rows when it hangs or dies; generate/worker/process.c is its process and the socket to it, which is
   written and read as far as it goes without waiting: a worker that stops amid a message holds nobody up. */
#ifndef LT_OPERATORS_GENERATE_WORKER_POOL_H
#define LT_OPERATORS_GENERATE_WORKER_POOL_H

#include "operators/generate/worker/worker.h"

#include <sys/types.h>

/* Rows whose rollouts have begun, as devices run a few side by side; rows dealt, which the thread ahead draws. */
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
    char            *outbox;         /* a message that does not go at once; NULL: none */
    size_t           outbox_bytes, outbox_sent;
    bool             ready, asks;    /* asks: waits for a row */
    bool             dismissed;      /* was told that there are no more rows */
    bool             renews;         /* its last row failed: it ends, and a fresh process goes on */
    bool             ended;          /* said so; its process is about to */
    bool             given_up;       /* its device does not start again, and there are others */
    int              idle_losses;    /* processes of it lost one after the other without any row */
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
    bool            *suspect;        /* of the table's rows: a process that had it among others was lost */
    bool            *renewed;        /* the same: it has had a fresh process to itself, after a fault that was its own or its device's */
    size_t           message_bytes;  /* of the longest message of a worker, without its head */
    lt_field_makers  makers;
    float           *block;          /* states of a step that never came, or a field */
};

/* ---- A process and the socket to it (generate/worker/process.c) ----------------------------------------------------- */
lt_status lt_worker_launch(lt_worker *w);
void      lt_worker_kill(const lt_worker *w);
/* Kills the process, if there is one, waits for that, and says how it ended: text of `bytes`, or NULL. */
void      lt_worker_end_process(lt_worker *w, char *how, size_t bytes);
/* A message, on its way at once as far as it goes; the rest with lt_worker_flush. One at a time. */
lt_status lt_worker_post(lt_worker *w, lt_worker_head head, int n, const lt_worker_piece *piece);
void      lt_worker_flush(lt_worker *w);
/* Takes what has arrived of one message; *whole: all of it. LT_ERR_IO: the other side is gone; LT_ERR_FORMAT: no message of ours. */
lt_status lt_worker_read(lt_worker *w, bool *whole);

/* ---- One worker (generate/worker/watch.c) ------------------------------------------------------------------------- */
lt_status lt_worker_start(lt_worker *w);
/* Ends the process if there is one; its rows are dealt again. */
void      lt_worker_stop(lt_worker *w);
/* Takes what it says, one message at most; an end of the connection is the end of the process. */
lt_status lt_worker_take(lt_worker *w);
/* How long it may say nothing. */
double    lt_worker_limit(const lt_worker *w);
lt_status lt_worker_hangs(lt_worker *w);
/* Answers a worker that asks: with a row, or -1 when there is none. */
lt_status lt_worker_deal(lt_worker *w, int64_t row);

/* ---- The pool, as one worker sees it (generate/worker/run.c) -------------------------------------------------------- */
/* Rows of a worker that is gone, to be dealt next. */
void      lt_worker_pool_return(lt_worker_pool *p, int64_t row);
/* A worker's device cannot be used: others go on, if there are any; else the error stands. */
lt_status lt_worker_pool_give_up(lt_worker_pool *p, lt_worker *w, lt_status s);

#endif
