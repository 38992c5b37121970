/* The CUDA device from inside. SPDX-License-Identifier: BSD-3-Clause

   device.c opens and describes, page-locked memory in host_memory.c, streams in stream.c, capture.c records and replays,
   build.c compiles. Nothing here includes a CUDA header. */
#ifndef LT_DEVICE_CUDA_CUDA_H
#define LT_DEVICE_CUDA_CUDA_H

#include "base/hash.h"
#include "device/cuda/library.h"
#include "device/stream.h"

#include <pthread.h>

/* The state of one open device. */
typedef struct lt_cuda {
    const lt_cuda_driver *cu;
    lt_device    *dev;
    int           device;               /* the driver's number */
    lt_cu_context context;              /* the primary one: shared with other users in the process */
    int           sm;                   /* 90 for compute capability 9.0 */
    int           driver_version;       /* 13000 */
    int           n_multiprocessors;
    bool          early;                /* kernels that wait by themselves are started early (decision 108) */
    pthread_mutex_t lock;               /* of the members below */
    pthread_cond_t  made;               /* a module is loaded, or has failed to be */
    bool          lost;                 /* a sticky fault: nothing runs any more */
    char          lost_text[400];
    long long    *fault;                /* written by kernels, read at sync: an lt_cuda_fault and what goes with it */
    struct lt_cuda_module *modules;     /* loaded, compiled ahead, or being made */
    int           n_unused_modules;     /* of them */
    struct lt_cuda_pinned *pinned;      /* page-locked memory, in use and kept (host_memory.c) */
    struct lt_cuda_libraries *libraries; /* cuBLASLt and the like; see libraries.h */
} lt_cuda;

typedef struct lt_cuda_capture lt_cuda_capture;

typedef struct lt_cuda_stream {
    lt_stream        base;
    lt_cu_stream     handle;
    lt_cuda_capture *capture;           /* being recorded, or NULL */
    int              depth;             /* while recording: inside the enqueue function of a kernel */
    bool             after_event;       /* the same: the next kernel waits for other streams, which starting early does not */
    pthread_mutex_t  library_lock;      /* of library[], and held while one of them is used */
    struct lt_library_handle *library[2]; /* of cuDNN and cuSOLVER, by lt_library_kind (libraries.h); NULL: not used so far */
} lt_cuda_stream;

typedef struct lt_cuda_event {
    lt_event    base;
    lt_cu_event handle;
    bool        recorded;
} lt_cuda_event;

/* Machine code: kernels of the same text and options share it. */
typedef struct lt_cuda_module {
    struct lt_cuda_module *next;
    lt_digest    digest;
    lt_cu_module handle;                /* NULL: not loaded */
    char        *cubin;                 /* until it is loaded */
    size_t       cubin_bytes;
    int          n_users;
    bool         making;                /* by a thread; others that want it wait */
} lt_cuda_module;

/* One function of a module, with its geometry. */
typedef struct lt_cuda_kernel {
    lt_kernel      base;                /* base.module is the lt_cuda it belongs to */
    lt_cuda_module *module;             /* shared by kernels of the same text */
    bool           early;               /* may start before the work it follows has ended */
    lt_cu_function function;
    unsigned       grid[3], block[3], shared_bytes;
    char           name[];
} lt_cuda_kernel;

/* What kernels cannot compute they note in host memory, which the next sync turns into a status: number,
   then details. The kernel goes on with a harmless value. */
typedef enum lt_cuda_fault {
    LT_CUDA_FAULT_NONE,
    LT_CUDA_FAULT_INDEX           /* [1]: the index, [2]: the extent it should fit */
} lt_cuda_fault;
#define LT_CUDA_FAULT_WORDS 4

static inline lt_cuda *lt_cuda_of(const lt_device *dev) { return dev->state; }
static inline lt_cu_address lt_cuda_address(const void *p) { return (lt_cu_address)(uintptr_t)p; }

/* Makes the device current on this thread; fails at once when the device was lost. */
lt_status lt_cuda_enter(lt_cuda *c);
/* The status that goes with a driver result other than 0, with a text; remembers sticky faults. */
lt_status lt_cuda_fail(lt_cuda *c, unsigned result, const char *what, const char *file, int line);
#define LT_CUDA_TRY(c, what, call)                                                             \
    do {                                                                                       \
        unsigned lt_cuda_result_ = (call);                                                     \
        if (lt_cuda_result_) return lt_cuda_fail((c), lt_cuda_result_, (what), __FILE__, __LINE__); \
    } while (0)

/* ---- stream.c ---- */
lt_status lt_cuda_stream_create(lt_device *dev, lt_stream **out);
void      lt_cuda_stream_destroy(lt_stream *st);
lt_status lt_cuda_sync(lt_stream *st);
lt_status lt_cuda_await(lt_stream *st, bool (*arrived)(void *ctx), void *ctx);
lt_status lt_cuda_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir);
lt_status lt_cuda_fill(lt_stream *st, void *dst, int byte, size_t bytes);
lt_status lt_cuda_launch(lt_stream *st, const lt_launch *at);
lt_status lt_cuda_launch_all(lt_stream *st, const lt_launch *seq, int n);
/* Queues work without noting it in a capture: what launch, copy and replay share. */
lt_status lt_cuda_queue(lt_cuda_stream *st, const lt_kernel *k, void *const *arg);

lt_status lt_cuda_event_create(lt_device *dev, lt_event **out);
void      lt_cuda_event_destroy(lt_event *ev);
lt_status lt_cuda_event_record(lt_event *ev, lt_stream *st);
lt_status lt_cuda_event_wait(lt_stream *st, lt_event *ev);
lt_status lt_cuda_event_sync(lt_event *ev);
lt_status lt_cuda_event_query(lt_event *ev, bool *done);
lt_status lt_cuda_event_elapsed(lt_event *from, lt_event *to, double *ns);

/* ---- capture.c ---- */
lt_status lt_cuda_capture_begin(lt_stream *st);
lt_status lt_cuda_capture_end(lt_stream *st, lt_capture **out);
void      lt_cuda_capture_abort(lt_stream *st);
lt_status lt_cuda_replay(lt_stream *st, lt_capture *c);
lt_status lt_cuda_rebind(lt_capture *c, int launch, void *const *arg);
void      lt_cuda_capture_destroy(lt_capture *c);
/* Notes what was just queued on a stream that captures. */
lt_status lt_cuda_note_launch(lt_cuda_stream *st, const lt_kernel *k, void *const *arg);
lt_status lt_cuda_note_copy(lt_cuda_stream *st, void *dst, const void *src, size_t bytes);
lt_status lt_cuda_note_fill(lt_cuda_stream *st, void *dst, int byte, size_t bytes);
void      lt_cuda_note_event(lt_cuda_stream *st); /* the capture spans several streams */

/* ---- build.c ---- */
lt_status lt_cuda_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out);
lt_status lt_cuda_have_code(lt_device *dev, const lt_kernel_key *key, bool compile, bool *known);
void      lt_cuda_modules_unload(lt_cuda *c); /* before the device closes */

/* ---- host_memory.c ---- */
lt_status lt_cuda_host_alloc(lt_device *dev, size_t bytes, void **out);
lt_status lt_cuda_host_release(lt_device *dev, void *address);
void      lt_cuda_host_release_all(lt_cuda *c); /* before the device closes */

#endif
