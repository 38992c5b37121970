/* Streams, copies, launches and events of the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/cuda.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/libraries.h"
#include "trace/clock.h"

#include <stdio.h>
#include <string.h>

/* ---- Streams ------------------------------------------------------------------------------- */
lt_status lt_cuda_stream_create(lt_device *dev, lt_stream **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(lt_cuda_enter(c));
    lt_cuda_stream *st = lt_calloc(1, sizeof *st);
    if (!st) return LT_FAIL(LT_ERR_MEMORY, "cuda: %zu bytes for a stream", sizeof *st);
    st->base.dev = dev;
    unsigned r = c->cu->cuStreamCreate(&st->handle, LT_CU_STREAM_NON_BLOCKING);
    if (r) {
        lt_free(st);
        return lt_cuda_fail(c, r, "creating a stream", __FILE__, __LINE__);
    }
    pthread_mutex_init(&st->library_lock, NULL);
    *out = &st->base;
    return LT_OK;
}

void lt_cuda_stream_destroy(lt_stream *base)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    if (!st) return;
    lt_cuda *c = lt_cuda_of(base->dev);
    lt_cuda_capture_abort(base);
    (void)c->cu->cuCtxSetCurrent(c->context);
    if (!c->lost) (void)c->cu->cuStreamSynchronize(st->handle);
    lt_cuda_stream_strip(st);
    (void)c->cu->cuStreamDestroy_v2(st->handle);
    pthread_mutex_destroy(&st->library_lock);
    lt_free(st);
}

/* Says what a kernel noted, once. */
static lt_status take_fault(lt_cuda *c)
{
    long long index = c->fault[1], extent = c->fault[2], fault = __atomic_exchange_n(c->fault, LT_CUDA_FAULT_NONE, __ATOMIC_RELAXED);
    if (fault == LT_CUDA_FAULT_NONE) return LT_OK; /* another thread took it */
    if (fault == LT_CUDA_FAULT_INDEX)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: take or put: index %lld, expected %lld to %lld (the extent is %lld)", c->dev->id, index, -extent,
                       extent - 1, extent);
    return LT_FAIL(LT_ERR_INTERNAL, "%s: a kernel noted fault %lld", c->dev->id, fault);
}

lt_status lt_cuda_sync(lt_stream *base)
{
    lt_cuda *c = lt_cuda_of(base->dev);
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "waiting for a stream", c->cu->cuStreamSynchronize(((lt_cuda_stream *)base)->handle));
    return *(volatile long long *)c->fault ? take_fault(c) : LT_OK;
}

/* Looks for a while: work that takes longer can bear the driver's way, and so can work that failed, which the driver reports. */
lt_status lt_cuda_await(lt_stream *base, bool (*arrived)(void *ctx), void *ctx)
{
    enum { LOOKS = 1 << 8 };
    const int64_t patience_ns = 20000000, begin = lt_clock_ns();
    lt_cuda *c = lt_cuda_of(base->dev);
    bool here = false;
    while (!c->lost && !here && lt_clock_ns() - begin < patience_ns)
        for (int i = 0; i < LOOKS && !here; i++) here = arrived(ctx);
    if (!here) return lt_cuda_sync(base);
    return *(volatile long long *)c->fault ? take_fault(c) : LT_OK;
}

/* ---- Work ----------------------------------------------------------------------------------- */
/* Addresses are unified: the driver sees which side each lies on, so device memory is welcome
   wherever the caller may pass host memory. */
lt_status lt_cuda_copy(lt_stream *base, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    lt_cuda *c = lt_cuda_of(base->dev);
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    LT_TRY(lt_cuda_enter(c));
    const char *what = dir == LT_TRANSFER_H2D ? "copy to the device" : dir == LT_TRANSFER_D2H ? "copy to the host" : "copy on the device";
    LT_CUDA_TRY(c, what, c->cu->cuMemcpyAsync(lt_cuda_address(dst), lt_cuda_address(src), bytes, st->handle));
    return lt_cuda_note_copy(st, dst, src, bytes);
}

lt_status lt_cuda_fill(lt_stream *base, void *dst, int byte, size_t bytes)
{
    lt_cuda *c = lt_cuda_of(base->dev);
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "fill", c->cu->cuMemsetD8Async(lt_cuda_address(dst), (unsigned char)byte, bytes, st->handle));
    return lt_cuda_note_fill(st, dst, byte, bytes);
}

static unsigned launch_kernel(lt_cuda *c, lt_cuda_stream *st, const lt_cuda_kernel *k, void **param)
{
    const bool after_event = st->base.capturing && st->after_event;
    if (after_event) st->after_event = false;
    if (!k->early || after_event)
        return c->cu->cuLaunchKernel(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared_bytes,
                                     st->handle, param, NULL);
    lt_cu_launch_attribute early = { .id = LT_CU_LAUNCH_OVERLAP, .value.programmaticStreamSerializationAllowed = 1 };
    lt_cu_launch_config at = { .gridDimX = k->grid[0], .gridDimY = k->grid[1], .gridDimZ = k->grid[2], .blockDimX = k->block[0],
                               .blockDimY = k->block[1], .blockDimZ = k->block[2], .sharedMemBytes = k->shared_bytes, .hStream = st->handle,
                               .attrs = &early, .numAttrs = 1 };
    return c->cu->cuLaunchKernelEx(&at, k->function, param, NULL);
}

static lt_status launch_function(lt_cuda *c, lt_cuda_stream *st, const lt_cuda_kernel *k, void *const *arg)
{
    void *param[LT_KERNEL_MAX_ARGS + 1];
    int n = k->base.n_args + (k->base.scratch_bytes ? 1 : 0);
    for (int i = 0; i < n; i++) param[i] = (void *)(uintptr_t)&arg[i];
    unsigned r = launch_kernel(c, st, k, param);
    if (!r) return LT_OK;
    char what[96];
    snprintf(what, sizeof what, "launch of '%.64s'", k->base.name);
    return lt_cuda_fail(c, r, what, __FILE__, __LINE__);
}

lt_status lt_cuda_queue(lt_cuda_stream *st, const lt_kernel *k, void *const *arg)
{
    lt_cuda *c = lt_cuda_of(st->base.dev);
    if (k->module != c)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: kernel '%s' was not built for this device", st->base.dev->id, k->name);
    if (!k->enqueue) return launch_function(c, st, (const lt_cuda_kernel *)k, arg);
    if (!st->capture) return k->enqueue(k, &st->base, arg); /* threads may share the stream: nothing of it is written */
    st->depth++;
    lt_status s = k->enqueue(k, &st->base, arg);
    st->depth--;
    return s;
}

lt_status lt_cuda_launch(lt_stream *base, const lt_launch *at)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    LT_TRY(lt_cuda_enter(lt_cuda_of(base->dev)));
    LT_TRY(lt_cuda_queue(st, at->kernel, at->arg));
    return lt_cuda_note_launch(st, at->kernel, at->arg);
}

lt_status lt_cuda_launch_all(lt_stream *base, const lt_launch *seq, int n)
{
    lt_cuda_stream *st = (lt_cuda_stream *)base;
    LT_TRY(lt_cuda_enter(lt_cuda_of(base->dev)));
    for (int i = 0; i < n; i++) {
        LT_TRY(lt_cuda_queue(st, seq[i].kernel, seq[i].arg));
        LT_TRY(lt_cuda_note_launch(st, seq[i].kernel, seq[i].arg));
    }
    return LT_OK;
}

/* ---- Events --------------------------------------------------------------------------------- */
lt_status lt_cuda_event_create(lt_device *dev, lt_event **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(lt_cuda_enter(c));
    lt_cuda_event *e = lt_calloc(1, sizeof *e);
    if (!e) return LT_FAIL(LT_ERR_MEMORY, "cuda: %zu bytes for an event", sizeof *e);
    e->base.dev = dev;
    unsigned r = c->cu->cuEventCreate(&e->handle, 0);
    if (r) {
        lt_free(e);
        return lt_cuda_fail(c, r, "creating an event", __FILE__, __LINE__);
    }
    *out = &e->base;
    return LT_OK;
}

void lt_cuda_event_destroy(lt_event *ev)
{
    lt_cuda *c = lt_cuda_of(ev->dev);
    (void)c->cu->cuCtxSetCurrent(c->context);
    (void)c->cu->cuEventDestroy_v2(((lt_cuda_event *)ev)->handle);
    lt_free(ev);
}

lt_status lt_cuda_event_record(lt_event *ev, lt_stream *st)
{
    lt_cuda *c = lt_cuda_of(st->dev);
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "recording an event", c->cu->cuEventRecord(((lt_cuda_event *)ev)->handle, ((lt_cuda_stream *)st)->handle));
    ((lt_cuda_event *)ev)->recorded = true;
    lt_cuda_note_event((lt_cuda_stream *)st);
    return LT_OK;
}

static lt_status enter_recorded(lt_event *ev, const char *what, lt_cuda **out)
{
    *out = lt_cuda_of(ev->dev);
    if (!((lt_cuda_event *)ev)->recorded) return LT_FAIL(LT_ERR_ARGUMENT, "%s: %s: the event was never recorded", ev->dev->id, what);
    return lt_cuda_enter(*out);
}

lt_status lt_cuda_event_wait(lt_stream *st, lt_event *ev)
{
    lt_cuda *c;
    LT_TRY(enter_recorded(ev, "wait", &c));
    LT_CUDA_TRY(c, "waiting for an event", c->cu->cuStreamWaitEvent(((lt_cuda_stream *)st)->handle, ((lt_cuda_event *)ev)->handle, 0));
    lt_cuda_note_event((lt_cuda_stream *)st);
    if (st->capturing) ((lt_cuda_stream *)st)->after_event = true;
    return LT_OK;
}

lt_status lt_cuda_event_sync(lt_event *ev)
{
    lt_cuda *c;
    LT_TRY(enter_recorded(ev, "sync", &c));
    LT_CUDA_TRY(c, "waiting for an event", c->cu->cuEventSynchronize(((lt_cuda_event *)ev)->handle));
    return LT_OK;
}

lt_status lt_cuda_event_query(lt_event *ev, bool *done)
{
    lt_cuda *c;
    LT_TRY(enter_recorded(ev, "query", &c));
    unsigned r = c->cu->cuEventQuery(((lt_cuda_event *)ev)->handle);
    *done = r == 0;
    return r && r != LT_CU_ERROR_NOT_READY ? lt_cuda_fail(c, r, "asking for an event", __FILE__, __LINE__) : LT_OK;
}

lt_status lt_cuda_event_elapsed(lt_event *from, lt_event *to, double *ns)
{
    lt_cuda *c;
    float ms;
    LT_TRY(enter_recorded(from, "elapsed", &c));
    LT_TRY(enter_recorded(to, "elapsed", &c));
    LT_CUDA_TRY(c, "time between events",
                c->cu->cuEventElapsedTime(&ms, ((lt_cuda_event *)from)->handle, ((lt_cuda_event *)to)->handle));
    *ns = 1e6 * (double)ms;
    return LT_OK;
}
