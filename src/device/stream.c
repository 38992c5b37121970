/* Streams, events, capture: arguments checked once, then handed to the backend.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/stream.h"

#include "base/status.h"
#include "device/block_cache.h"
#include "trace/trace.h"

static const lt_backend *of(const lt_stream *st) { return st->dev->backend; }

static lt_status check_idle(const lt_stream *st, const char *what)
{
    if (!st) return LT_FAIL(LT_ERR_ARGUMENT, "%s: the stream is NULL", what);
    if (st->capturing) return LT_FAIL(LT_ERR_ARGUMENT, "%s: not allowed while the stream captures", what);
    return LT_OK;
}

/* ---- Memory ---------------------------------------------------------------------------- */
static lt_status pick_stream(lt_device *dev, lt_stream **st, const char *what)
{
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "%s: the device is NULL", what);
    if (!*st) *st = dev->stream;
    if ((*st)->dev != dev) return LT_FAIL(LT_ERR_ARGUMENT, "%s: the stream belongs to %s, not to %s", what, (*st)->dev->id, dev->id);
    return LT_OK;
}

lt_status lt_device_alloc(lt_device *dev, lt_stream *st, size_t bytes, const char *owner, void **out)
{
    *out = NULL;
    LT_TRY(pick_stream(dev, &st, "alloc"));
    return lt_block_cache_alloc(dev->cache, st, bytes, owner, out);
}

lt_status lt_device_free(lt_device *dev, lt_stream *st, void *address)
{
    LT_TRY(pick_stream(dev, &st, "free"));
    return lt_block_cache_free(dev->cache, st, address);
}

/* ---- Streams ---------------------------------------------------------------------------- */
static void share_capture(lt_stream *st, lt_stream *branch)
{
    if (of(branch)->capture_share) of(branch)->capture_share(st, branch);
    branch->capturing = st != NULL;
}

static void rejoin(lt_stream *branch)
{
    lt_stream **at = &branch->left->branches;
    while (*at != branch) at = &(*at)->next_branch;
    *at = branch->next_branch;
    branch->left = NULL;
    if (branch->capturing) share_capture(NULL, branch);
}

/* Branches that did not come back, because something failed: what they have recorded ends with the capture. */
static void forget_branches(lt_stream *st)
{
    while (st->branches) rejoin(st->branches);
}

lt_status lt_stream_create(lt_device *dev, lt_stream **out)
{
    *out = NULL;
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "stream: the device is NULL");
    return dev->backend->stream_create(dev, out);
}

void lt_stream_destroy(lt_stream *st)
{
    if (!st) return;
    if (st->left) rejoin(st);
    lt_capture_abort(st);
    forget_branches(st);
    (void)of(st)->sync(st); /* a late fault has no one left to hear it */
    lt_block_cache_forget_stream(st->dev->cache, st);
    lt_event_destroy(st->meeting);
    of(st)->stream_destroy(st);
}

lt_status lt_stream_sync(lt_stream *st)
{
    LT_TRY(check_idle(st, "sync"));
    return of(st)->sync(st);
}

lt_status lt_stream_await(lt_stream *st, bool (*arrived)(void *ctx), void *ctx)
{
    LT_TRY(check_idle(st, "await"));
    return of(st)->await ? of(st)->await(st, arrived, ctx) : of(st)->sync(st);
}

void lt_stream_note_copy(lt_stream *st, lt_transfer dir, bool pinned, size_t bytes)
{
    if (!st->capturing) {
        lt_trace_transfer(dir, pinned, (int64_t)bytes);
        return;
    }
    while (st->left) st = st->left;
    st->captured_copies.of[dir][pinned].count++;
    st->captured_copies.of[dir][pinned].bytes += (int64_t)bytes;
}

lt_status lt_stream_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir, bool pinned)
{
    if (!st) return LT_FAIL(LT_ERR_ARGUMENT, "copy: the stream is NULL");
    if ((unsigned)dir >= LT_TRANSFER_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "copy: no direction number %d", (int)dir);
    if (!bytes) return LT_OK;
    if (!dst || !src) return LT_FAIL(LT_ERR_ARGUMENT, "copy of %zu bytes: %s is NULL", bytes, dst ? "source" : "destination");
    lt_stream_note_copy(st, dir, pinned, bytes);
    return of(st)->copy(st, dst, src, bytes, dir);
}

lt_status lt_stream_fill(lt_stream *st, void *dst, int byte, size_t bytes)
{
    if (!st) return LT_FAIL(LT_ERR_ARGUMENT, "fill: the stream is NULL");
    if (!bytes) return LT_OK;
    if (!dst) return LT_FAIL(LT_ERR_ARGUMENT, "fill of %zu bytes: the destination is NULL", bytes);
    return of(st)->fill(st, dst, byte, bytes);
}

/* ---- Kernels ----------------------------------------------------------------------------- */
lt_status lt_device_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    *out = NULL;
    if (!dev || !key || !key->name) return LT_FAIL(LT_ERR_ARGUMENT, "build: device, key or name is NULL");
    if (!key->host == !key->source)
        return LT_FAIL(LT_ERR_ARGUMENT, "build of '%s': give either a host kernel or source text", key->name);
    if (key->source && (!key->entry || key->n_args < 0 || key->n_args > LT_KERNEL_MAX_ARGS))
        return key->entry ? LT_FAIL(LT_ERR_ARGUMENT, "build of '%s': %d arguments, at most %d are possible", key->name, key->n_args, LT_KERNEL_MAX_ARGS)
                          : LT_FAIL(LT_ERR_ARGUMENT, "build of '%s': no entry name", key->name);
    return dev->backend->build(dev, key, out);
}

lt_build_counts lt_device_build_counts(const lt_device *dev)
{
    if (!dev) return (lt_build_counts){ 0 };
    return (lt_build_counts){ dev->n_compiled, dev->n_loaded, 1e-9 * (double)dev->compile_ns };
}

lt_status lt_stream_launch(lt_stream *st, const lt_launch *at)
{
    if (!st || !at || !at->kernel) return LT_FAIL(LT_ERR_ARGUMENT, "launch: stream, launch or kernel is NULL");
    return of(st)->launch(st, at);
}

lt_status lt_stream_launch_all(lt_stream *st, const lt_launch *seq, int n)
{
    if (!st || (n > 0 && !seq)) return LT_FAIL(LT_ERR_ARGUMENT, "launch: stream or sequence is NULL");
    if (of(st)->launch_all) return of(st)->launch_all(st, seq, n);
    for (int i = 0; i < n; i++) LT_TRY(of(st)->launch(st, &seq[i]));
    return LT_OK;
}

/* ---- Events ------------------------------------------------------------------------------ */
lt_status lt_event_create(lt_device *dev, lt_event **out)
{
    *out = NULL;
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "event: the device is NULL");
    return dev->backend->event_create(dev, out);
}

void lt_event_destroy(lt_event *ev) { if (ev) ev->dev->backend->event_destroy(ev); }

static lt_status check_pair(const lt_event *ev, const lt_stream *st, const char *what)
{
    if (!ev || !st) return LT_FAIL(LT_ERR_ARGUMENT, "%s: event or stream is NULL", what);
    if (ev->dev != st->dev) return LT_FAIL(LT_ERR_ARGUMENT, "%s: event of %s on a stream of %s", what, ev->dev->id, st->dev->id);
    return LT_OK;
}

lt_status lt_event_record(lt_event *ev, lt_stream *st)
{
    LT_TRY(check_pair(ev, st, "record"));
    return of(st)->event_record(ev, st);
}

lt_status lt_event_wait(lt_stream *st, lt_event *ev)
{
    LT_TRY(check_pair(ev, st, "wait"));
    return of(st)->event_wait(st, ev);
}

lt_status lt_event_sync(lt_event *ev)
{
    if (!ev) return LT_FAIL(LT_ERR_ARGUMENT, "sync: the event is NULL");
    return ev->dev->backend->event_sync(ev);
}

lt_status lt_event_query(lt_event *ev, bool *done)
{
    if (!ev) return LT_FAIL(LT_ERR_ARGUMENT, "query: the event is NULL");
    return ev->dev->backend->event_query(ev, done);
}

lt_status lt_event_elapsed(lt_event *from, lt_event *to, double *ns)
{
    if (!from || !to || from->dev != to->dev) return LT_FAIL(LT_ERR_ARGUMENT, "elapsed: two events of one device are needed");
    return from->dev->backend->event_elapsed(from, to, ns);
}

/* ---- Side by side -------------------------------------------------------------------------- */
lt_status lt_stream_branch(lt_stream *st, lt_stream *branch)
{
    LT_TRY(check_idle(branch, "branch"));
    if (!st || st == branch || st->dev != branch->dev || (branch->left && branch->left != st))
        return LT_FAIL(LT_ERR_ARGUMENT, "branch: two streams of one device are needed, the second free");
    if (!branch->meeting) LT_TRY(lt_event_create(branch->dev, &branch->meeting));
    LT_TRY(lt_event_record(branch->meeting, st));
    if (!branch->left) { /* else something failed before it could come back */
        branch->left = st;
        branch->next_branch = st->branches;
        st->branches = branch;
    }
    st->branched = true;
    if (st->capturing) share_capture(st, branch);
    lt_status s = lt_event_wait(branch, branch->meeting);
    if (s) rejoin(branch);
    return s;
}

lt_status lt_stream_join(lt_stream *st, lt_stream *branch)
{
    if (!st || !branch || branch->left != st) return LT_FAIL(LT_ERR_ARGUMENT, "join: the second stream did not leave the first one");
    lt_status s = lt_event_record(branch->meeting, branch);
    rejoin(branch);
    return s ? s : lt_event_wait(st, branch->meeting);
}

/* ---- Capture ------------------------------------------------------------------------------ */
lt_status lt_capture_begin(lt_stream *st)
{
    LT_TRY(check_idle(st, "capture"));
    LT_TRY(of(st)->capture_begin(st));
    st->capturing = true;
    st->branched = false;
    st->captured_copies = (lt_copy_count){ 0 };
    return LT_OK;
}

lt_status lt_capture_end(lt_stream *st, lt_capture **out)
{
    *out = NULL;
    if (!st || !st->capturing || st->left) return LT_FAIL(LT_ERR_ARGUMENT, "end of capture: the stream is not capturing");
    st->capturing = false;
    forget_branches(st);
    LT_TRY(of(st)->capture_end(st, out));
    (*out)->branched = st->branched;
    return LT_OK;
}

void lt_capture_abort(lt_stream *st)
{
    if (!st || !st->capturing || st->left) return;
    st->capturing = false;
    forget_branches(st);
    of(st)->capture_abort(st);
}

lt_status lt_capture_replay(lt_stream *st, lt_capture *c)
{
    LT_TRY(check_idle(st, "replay"));
    if (!c) return LT_FAIL(LT_ERR_ARGUMENT, "replay: nothing captured (NULL)");
    if (c->dev != st->dev) return LT_FAIL(LT_ERR_ARGUMENT, "replay: captured on %s, stream of %s", c->dev->id, st->dev->id);
    return of(st)->replay(st, c);
}

lt_status lt_capture_rebind(lt_capture *c, int launch, void *const *arg)
{
    if (!c || !arg) return LT_FAIL(LT_ERR_ARGUMENT, "rebind: capture or arguments are NULL");
    if (launch < 0 || launch >= c->n_launches)
        return LT_FAIL(LT_ERR_ARGUMENT, "rebind of launch %d: %d were captured", launch, c->n_launches);
    if (c->branched) return LT_FAIL(LT_ERR_UNSUPPORTED, "rebind: work of several streams was captured, which keeps its arguments");
    return c->dev->backend->rebind(c, launch, arg);
}

void lt_capture_destroy(lt_capture *c) { if (c) c->dev->backend->capture_destroy(c); }
