/* The CPU device's own structs. SPDX-License-Identifier: BSD-3-Clause

   The default stream is inline: work is done when the call returns, on the caller's thread.
   Other streams have a thread each that takes work from a queue of fixed size, so that giving
   work never allocates; when the queue is full the giver waits. */
#ifndef LT_DEVICE_CPU_CPU_H
#define LT_DEVICE_CPU_CPU_H

#include "base/arena.h"
#include "device/backend.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LT_CPU_QUEUE = 128 };

typedef struct lt_cpu_event {
    lt_event        base;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    uint64_t        recorded, completed; /* numbers of records: asked for, reached */
    int64_t         time_ns;             /* of the last one reached */
    _Atomic int     refs;                /* the handle, and work still queued */
} lt_cpu_event;

typedef enum lt_cpu_kind { LT_CPU_LAUNCH, LT_CPU_COPY, LT_CPU_FILL, LT_CPU_RECORD, LT_CPU_WAIT, LT_CPU_REPLAY } lt_cpu_kind;

/* One piece of work, queued or captured. */
typedef struct lt_cpu_step {
    const lt_kernel *kernel;             /* NULL unless a launch */
    void           **arg;
    lt_cpu_kind      kind;
    int              byte;
    void            *dst;
    const void      *src;
    size_t           bytes;
    lt_cpu_event    *event;
    uint64_t         ticket;             /* number of the record to reach or to wait for */
    struct lt_cpu_capture *capture;
} lt_cpu_step;

typedef struct lt_cpu_capture {
    lt_capture   base;
    int          n_steps, max_steps, max_launches;
    lt_cpu_step *step;
    int         *launch_step;            /* which step launch i is */
    lt_arena     args;
} lt_cpu_capture;

typedef struct lt_cpu_slot {
    lt_cpu_step step;
    void       *arg[LT_KERNEL_MAX_ARGS + 1];
} lt_cpu_slot;

typedef struct lt_cpu_stream {
    lt_stream       base;
    lt_cpu_capture *capture;             /* being filled, or NULL */
    lt_cpu_slot    *slot;                /* LT_CPU_QUEUE of them; NULL: the inline stream */
    uint64_t        given, taken;        /* steps put in, steps finished */
    bool            stopping;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  work, done;
    lt_status       failure;             /* the first since the last sync, with its text */
    char            text[512];
} lt_cpu_stream;

/* cpu_stream.c */
lt_status lt_cpu_stream_create(lt_device *dev, lt_stream **out);
lt_status lt_cpu_stream_create_inline(lt_device *dev, lt_stream **out);
void      lt_cpu_stream_destroy(lt_stream *st);
lt_status lt_cpu_sync(lt_stream *st);
lt_status lt_cpu_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir);
lt_status lt_cpu_fill(lt_stream *st, void *dst, int byte, size_t bytes);
lt_status lt_cpu_launch(lt_stream *st, const lt_launch *at);
lt_status lt_cpu_launch_all(lt_stream *st, const lt_launch *seq, int n);
lt_status lt_cpu_replay(lt_stream *st, lt_capture *c);

/* cpu_event.c */
lt_status lt_cpu_event_create(lt_device *dev, lt_event **out);
void      lt_cpu_event_destroy(lt_event *ev);
uint64_t  lt_cpu_event_ticket(lt_cpu_event *ev);                    /* a new record was asked for */
void      lt_cpu_event_reach(lt_cpu_event *ev, uint64_t ticket);
void      lt_cpu_event_await(lt_cpu_event *ev, uint64_t ticket);
void      lt_cpu_event_drop(lt_cpu_event *ev);                      /* one reference less */
lt_status lt_cpu_event_record(lt_event *ev, lt_stream *st);
lt_status lt_cpu_event_wait(lt_stream *st, lt_event *ev);
lt_status lt_cpu_event_sync(lt_event *ev);
lt_status lt_cpu_event_query(lt_event *ev, bool *done);
lt_status lt_cpu_event_elapsed(lt_event *from, lt_event *to, double *ns);

/* cpu_capture.c */
lt_status lt_cpu_capture_begin(lt_stream *st);
void      lt_cpu_capture_share(lt_stream *st, lt_stream *branch);
lt_status lt_cpu_capture_end(lt_stream *st, lt_capture **out);
void      lt_cpu_capture_abort(lt_stream *st);
lt_status lt_cpu_capture_add(lt_cpu_capture *c, const lt_cpu_step *step); /* copies arguments */
lt_status lt_cpu_rebind(lt_capture *c, int launch, void *const *arg);
void      lt_cpu_capture_destroy(lt_capture *c);
lt_status lt_cpu_capture_run(const lt_cpu_capture *c, lt_pool *pool);
lt_status lt_cpu_step_run(const lt_cpu_step *s, lt_pool *pool);     /* anything but a launch */

/* cpu_info.c */
int64_t   lt_cpu_memory_total(void);   /* the machine's or the container's, the smaller */
int64_t   lt_cpu_memory_free(void);
lt_status lt_cpu_describe(lt_device *dev, lt_device_info *out);

/* Arguments of a kernel with its scratch pointer. */
static inline int lt_cpu_n_args(const lt_kernel *k) { return k->n_args + (k->scratch_bytes ? 1 : 0); }

#endif
