/* Rollouts in worker processes: the messages between parent and worker (decision 89). SPDX-License-Identifier: BSD-3-Clause

   lt_generate starts a worker for each device and sends it the configuration and the rows that may come. Workers ask for rows one by one,
   as far ahead as they draw operators, run them as lt_generator_run_here does, with a store that has no file, and send every finished row.
   The parent alone writes. When a step takes too long, or a worker dies or sends an invalid message, the parent ends it and starts another.
   The row to blame gets a fresh process once and is then marked lost. When it is not clear which row is to blame, the rows of the process
   are dealt again, each alone. A worker blocks when it sends and receives; the parent never does. Both sides are the same program on the
   same machine, so messages are plain structs. */
#ifndef LT_OPERATORS_GENERATE_WORKER_WORKER_H
#define LT_OPERATORS_GENERATE_WORKER_WORKER_H

#include "operators/generate/generate.h"

typedef enum lt_worker_word {
    LT_WORD_SETUP = 1,  /* to the worker: lt_worker_setup, the configuration, the rows */
    LT_WORD_DEAL,       /* to the worker: `row` is for it; -1: there are no more */
    LT_WORD_READY,      /* from it: version and sizes, lt_worker_ready */
    LT_WORD_ALIVE,      /* progress during long work: the kernels of an architecture are compiled */
    LT_WORD_ASK,        /* for a row: one LT_WORD_DEAL answers */
    LT_WORD_BEGIN,      /* the rollout of a row begins, or begins again: earlier messages about the row are void */
    LT_WORD_BEAT,       /* a step is done */
    LT_WORD_STATES,     /* states of a step, padded, when the file keeps them */
    LT_WORD_ROW,        /* lt_worker_row, then the record of the row */
    LT_WORD_END,        /* the end: all rows are done, or a fault of the device requires a fresh process */
    LT_WORD_FAILED      /* what ended the run: a text; `value` is its status */
} lt_worker_word;

typedef struct lt_worker_head { int64_t word, row, step, value; uint64_t bytes; } lt_worker_head; /* bytes: of what follows */

typedef struct lt_worker_setup {
    int64_t shard_index, shard_count, memory_bytes, n_rows;
    int64_t threads, at_once;
    char    device[16];     /* "": the CPU */
    uint64_t config_bytes;  /* JSON, followed by n_rows row numbers: prepare kernels for these */
} lt_worker_setup;

typedef struct lt_worker_ready { char version[32]; uint64_t rest_bytes, step_bytes; } lt_worker_ready;

typedef struct lt_worker_row {
    lt_rollout_result result;
    lt_generate_info  info;  /* of the worker so far */
    char              device[LT_DEVICE_KIND]; /* of a rank */
} lt_worker_row;

/* Adds what a process has counted since `before`, its last report, to the times and counts of all processes. */
void lt_worker_add_times(lt_generate_info *to, const lt_generate_info *before, const lt_generate_info *now);

/* ---- Messages over a socket, from inside the worker (generate/worker/channel.c) ------------------------------------- */
typedef struct lt_worker_piece { const void *data; size_t bytes; } lt_worker_piece;
/* A head, its `bytes` filled in, and what follows it. LT_ERR_IO when the other side is gone; never raises SIGPIPE. */
lt_status lt_worker_send(int fd, lt_worker_head head, int n, const lt_worker_piece *piece);
/* All of it, however long it takes to arrive; LT_ERR_IO when the other side is gone first. */
lt_status lt_worker_receive(int fd, void *data, size_t bytes);

/* ---- The worker's side (generate/worker/serve.c) -------------------------------------------------------------------- */
/* As lt_generate_worker; probe is called at every beat. */
typedef void (*lt_worker_probe)(void *ctx, int64_t row, int64_t t);
lt_status lt_worker_serve(int fd, lt_worker_probe probe, void *ctx);

#endif
