/* What a device supplies: one table of functions, filled by cpu/, null/ and cuda/.
   SPDX-License-Identifier: BSD-3-Clause

   Upper layers call device/stream.h, which checks arguments once, keeps the trace and then
   comes here. Addresses are plain pointers: on the CPU to memory, elsewhere only the device
   may follow them. */
#ifndef LT_DEVICE_BACKEND_H
#define LT_DEVICE_BACKEND_H

#include "device/flags.h"
#include "device/kernel.h"
#include "lathe/trace.h"

typedef struct lt_backend lt_backend;
typedef struct lt_block_cache lt_block_cache;

struct lt_device {
    const lt_backend *backend;
    int       ordinal;
    int       generation;         /* set by open: see lt_device_generation */
    size_t    shared_bytes;       /* set by open: see lt_device_shared_bytes */
    _Atomic int64_t n_compiled, n_loaded, compile_ns; /* see lt_device_build_counts */
    char      id[16];
    void     *state;              /* the backend's own */
    lt_pool  *pool;               /* host kernels run on it; borrowed */
    lt_block_cache *cache;              /* all memory of upper layers comes through here */
    struct lt_stream *stream;     /* the default stream */
};

/* Copies by direction, and by whether their host memory is page-locked. */
typedef struct lt_copy_count { lt_transfer_row of[LT_TRANSFER_COUNT][2]; } lt_copy_count;

/* Each backend embeds these as the first member of its own structs. */
typedef struct lt_stream {
    lt_device *dev;
    /* Kept by device/stream.c: */
    bool       capturing;
    struct lt_event  *meeting;    /* of a branch, where it leaves another stream and comes back; NULL: it never did */
    struct lt_stream *left;       /* by a branch that has not come back yet; NULL: none */
    struct lt_stream *branches, *next_branch; /* those that left here */
    bool       branched;          /* since its capture began */
    lt_copy_count captured_copies; /* the same: of this stream and its branches */
} lt_stream;

typedef struct lt_event { lt_device *dev; } lt_event;

/* A captured sequence of work, ready to run again and again. */
typedef struct lt_capture {
    lt_device *dev;
    int        n_launches;        /* for rebind: launches are numbered in order of capture */
    bool       branched;          /* work of several streams: no rebind */
} lt_capture;

/* How a kernel is made: from source text (compiled at run time), or a host kernel that is
   ready. A device takes the form it can run and refuses the other. */
typedef struct lt_kernel_key {
    const char *name;             /* for messages, plans and traces */
    lt_kernel  *host;             /* a ready host kernel; on success *out owns it */
    const char *source, *entry;   /* device source text and the function in it */
    const char *const *options;   /* "-DTM=64", … */
    int         n_options;
    int         n_args;           /* of a kernel from source, without the scratch pointer */
    unsigned    grid[3], block[3]; /* launch geometry; fixed, as shapes are */
    size_t      shared_bytes, scratch_bytes;
    double      flops, bytes;     /* cost of one run */
    /* The text waits for the work before it by itself (lt_wait() of kernels/cuda/fused/prelude.cu) before it touches
       memory: the device may start it early, so that starting costs nothing. */
    bool        waits;
} lt_kernel_key;

/* Every slot is required unless marked optional (may be NULL). Work on one stream runs in
   the order given; calls return when the work is queued. */
struct lt_backend {
    const char *name;                                             /* "cpu", "cuda", "null" */
    unsigned  flags;                                              /* lt_device_flag */
    int       (*count)       (void);                              /* devices here; text set when 0 */
    lt_status (*open)        (int ordinal, lt_device *dev);
    void      (*close)       (lt_device *dev);                    /* accepts a half-opened device */
    lt_status (*describe)    (lt_device *dev, lt_device_info *out);
    lt_status (*mem_info)    (lt_device *dev, int64_t *free_bytes, int64_t *total_bytes);

    lt_status (*alloc)       (lt_device *dev, size_t bytes, void **out);  /* at least 64-byte aligned */
    lt_status (*release)     (lt_device *dev, void *address);     /* NULL is allowed */
    lt_status (*host_alloc)  (lt_device *dev, size_t bytes, void **out);  /* page-locked */
    lt_status (*host_release)(lt_device *dev, void *address);     /* NULL is allowed */

    lt_status (*stream_create) (lt_device *dev, lt_stream **out);
    void      (*stream_destroy)(lt_stream *st);                   /* waits for its work */
    lt_status (*sync)        (lt_stream *st);                     /* late faults surface here */
    /* Optional, else sync: waits until arrived(ctx), which looks in page-locked memory for what work given to st before writes to it. */
    lt_status (*await)       (lt_stream *st, bool (*arrived)(void *ctx), void *ctx);

    lt_status (*copy)        (lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir);
    lt_status (*fill)        (lt_stream *st, void *dst, int byte, size_t bytes);
    lt_status (*build)       (lt_device *dev, const lt_kernel_key *key, lt_kernel **out);
    /* Optional: has the machine code of a text at hand for `build`, without loading it, which may wait for the device. compile false: only where
       it is known; *known: whether it is now. */
    lt_status (*have_code)   (lt_device *dev, const lt_kernel_key *key, bool compile, bool *known);
    /* Arguments are copied: the caller's array may change as soon as this returns. */
    lt_status (*launch)      (lt_stream *st, const lt_launch *at);
    lt_status (*launch_all)  (lt_stream *st, const lt_launch *seq, int n); /* optional: else one by one */

    /* An event stands for all work given to a stream before the last record. Waiting makes
       later work on st wait, not the host; an event never recorded is an error. */
    lt_status (*event_create) (lt_device *dev, lt_event **out);
    void      (*event_destroy)(lt_event *ev);
    lt_status (*event_record) (lt_event *ev, lt_stream *st);
    lt_status (*event_wait)   (lt_stream *st, lt_event *ev);
    lt_status (*event_sync)   (lt_event *ev);                     /* the host waits */
    lt_status (*event_query)  (lt_event *ev, bool *done);
    lt_status (*event_elapsed)(lt_event *from, lt_event *to, double *ns); /* both done */

    /* Between begin and end the stream records instead of running; arguments are copied. */
    lt_status (*capture_begin)(lt_stream *st);
    /* Work of `branch` is recorded where that of `st` is; st NULL: no longer. Optional: events between the two say it to the device. */
    void      (*capture_share)(lt_stream *st, lt_stream *branch);
    lt_status (*capture_end)  (lt_stream *st, lt_capture **out);
    void      (*capture_abort)(lt_stream *st);
    lt_status (*replay)       (lt_stream *st, lt_capture *c);
    lt_status (*rebind)       (lt_capture *c, int launch, void *const *arg); /* new arguments; not while it runs */
    void      (*capture_destroy)(lt_capture *c);
};

/* The slots that a back end fills with functions named after them: LT_BACKEND_SLOTS(lt_cpu) takes lt_cpu_open, lt_cpu_copy, … */
#define LT_BACKEND_SLOTS(own)                                                                                              \
    .count = own##_count, .open = own##_open, .close = own##_close, .describe = own##_describe, .mem_info = own##_mem_info, \
    .alloc = own##_alloc, .release = own##_release, .host_alloc = own##_host_alloc, .host_release = own##_host_release,     \
    .stream_create = own##_stream_create, .stream_destroy = own##_stream_destroy, .sync = own##_sync,                       \
    .copy = own##_copy, .fill = own##_fill, .build = own##_build, .launch = own##_launch,                                   \
    .event_create = own##_event_create, .event_destroy = own##_event_destroy, .event_record = own##_event_record,           \
    .event_wait = own##_event_wait, .event_sync = own##_event_sync, .event_query = own##_event_query,                       \
    .event_elapsed = own##_event_elapsed, .capture_begin = own##_capture_begin, .capture_end = own##_capture_end,           \
    .capture_abort = own##_capture_abort, .replay = own##_replay, .rebind = own##_rebind, .capture_destroy = own##_capture_destroy

/* The table, or NULL when this build has no such device; the reason is in lt_error_text(). */
const lt_backend *lt_backend_cpu(void), *lt_backend_null(void), *lt_backend_cuda(void);

#endif
