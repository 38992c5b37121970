/* The null device. Device addresses are numbers from a range no process maps; copies to the
   host write zeros, so that what is read back is defined. SPDX-License-Identifier: BSD-3-Clause */
#include "device/null/null.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ADDRESS ((uintptr_t)0xfade << 40) /* beyond what user space can map on 64 bits */
#define PAGE          ((uintptr_t)4096)

typedef struct range { uintptr_t start; size_t bytes; bool host; } range;

typedef struct null_state {
    pthread_mutex_t lock;
    uintptr_t       next;            /* addresses are never handed out twice */
    range          *live;            /* device memory ascending, then host memory in any order */
    int             n_live, max_live;
    int64_t         capacity;
    bool            refuse_pinning;
    lt_null_counts  counts;
} null_state;

typedef struct null_event { lt_event base; int64_t records, time_ns; struct null_capture *inside; } null_event;

typedef struct null_step { const lt_kernel *kernel; void **arg; int n_args; uintptr_t dst; size_t bytes; } null_step;

typedef struct null_capture {
    lt_capture base;
    null_step *step;
    int        n_steps, max_steps;
} null_capture;

typedef struct null_stream { lt_stream base; null_capture *capture; } null_stream;

static null_state *state_of(lt_device *dev) { return dev->state; }

/* ---- Memory ---------------------------------------------------------------------------------- */
static const range *find_range(const null_state *n, const void *address, bool host)
{
    uintptr_t a = (uintptr_t)address;
    for (int i = 0; i < n->n_live; i++)
        if (n->live[i].host == host && a >= n->live[i].start && a - n->live[i].start < n->live[i].bytes) return &n->live[i];
    return NULL;
}

/* Under the lock. `bytes` at `address` must lie inside one live piece of device memory. */
static lt_status check_device(const null_state *n, const void *address, size_t bytes, const char *what)
{
    const range *r = find_range(n, address, false);
    if (!r) return LT_FAIL(LT_ERR_ARGUMENT, "null: %s: %p is not device memory in use", what, address);
    size_t left = r->bytes - ((uintptr_t)address - r->start);
    if (bytes > left)
        return LT_FAIL(LT_ERR_ARGUMENT, "null: %s: %zu bytes at %p run past the end, %zu are left", what, bytes, address, left);
    return LT_OK;
}

static lt_status check_host(const null_state *n, const void *address, const char *what)
{
    uintptr_t a = (uintptr_t)address;
    if (a < FIRST_ADDRESS || a >= n->next) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "null: %s: %p is device memory, the host cannot touch it", what, address);
}

static lt_status add_range(null_state *n, range r)
{
    if (n->n_live == n->max_live) {
        int more = n->max_live ? 2 * n->max_live : 16;
        range *p = lt_realloc(n->live, (size_t)more * sizeof *p);
        if (!p) return LT_FAIL(LT_ERR_MEMORY, "null: no memory to note an allocation");
        n->live = p;
        n->max_live = more;
    }
    n->live[n->n_live++] = r;
    return LT_OK;
}

static lt_status take_address(null_state *n, size_t bytes, void **out)
{
    if (bytes > (size_t)INT64_MAX || (int64_t)bytes > n->capacity - n->counts.live_bytes)
        return LT_FAIL(LT_ERR_MEMORY, "null: %zu bytes asked, %lld of %lld are free", bytes,
                       (long long)(n->capacity - n->counts.live_bytes), (long long)n->capacity);
    LT_TRY(add_range(n, (range){ n->next, bytes, false }));
    *out = (void *)n->next;
    n->next += (bytes + 2 * PAGE - 1) / PAGE * PAGE; /* a gap follows, so overruns hit nothing */
    n->counts.allocs++;
    n->counts.live_bytes += (int64_t)bytes;
    n->counts.peak_bytes = LT_MAX(n->counts.peak_bytes, n->counts.live_bytes);
    return LT_OK;
}

static lt_status null_alloc(lt_device *dev, size_t bytes, void **out)
{
    null_state *n = state_of(dev);
    pthread_mutex_lock(&n->lock);
    lt_status s = take_address(n, bytes, out);
    pthread_mutex_unlock(&n->lock);
    return s;
}

/* Forgets the range that starts at address; its bytes, or 0 when there is none. */
static size_t drop_range(null_state *n, const void *address, bool host)
{
    pthread_mutex_lock(&n->lock);
    const range *r = find_range(n, address, host);
    size_t bytes = r && r->start == (uintptr_t)address ? r->bytes : 0;
    if (bytes) n->live[r - n->live] = n->live[--n->n_live];
    if (bytes && !host) {
        n->counts.releases++;
        n->counts.live_bytes -= (int64_t)bytes;
    }
    pthread_mutex_unlock(&n->lock);
    return bytes;
}

static lt_status null_release(lt_device *dev, void *address)
{
    if (!address || drop_range(state_of(dev), address, false)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "null: release of %p, which was not allocated or is released already", address);
}

static lt_status null_host_alloc(lt_device *dev, size_t bytes, void **out)
{
    null_state *n = state_of(dev);
    void *p = n->refuse_pinning ? NULL : lt_malloc_aligned(LT_MAX(bytes, 1));
    if (!p) return LT_FAIL(LT_ERR_MEMORY, "null: no page-locked memory for %zu bytes", bytes);
    pthread_mutex_lock(&n->lock);
    lt_status s = add_range(n, (range){ (uintptr_t)p, LT_MAX(bytes, 1), true });
    if (!s) n->counts.host_allocs++;
    pthread_mutex_unlock(&n->lock);
    if (s) lt_free_aligned(p);
    else *out = p;
    return s;
}

static lt_status null_host_release(lt_device *dev, void *address)
{
    if (!address) return LT_OK;
    if (!drop_range(state_of(dev), address, true))
        return LT_FAIL(LT_ERR_ARGUMENT, "null: release of page-locked %p, which is not in use", address);
    lt_free_aligned(address);
    return LT_OK;
}

/* ---- Captured steps ---------------------------------------------------------------------------- */
static lt_status check_args(const null_state *n, const lt_kernel *k, void *const *arg, int n_args)
{
    for (int i = 0; i < n_args; i++) {
        char what[96];
        if (find_range(n, arg[i], true)) continue; /* page-locked memory is mapped: kernels may follow it */
        snprintf(what, sizeof what, "launch of '%.48s', argument %d", k->name, i);
        LT_TRY(check_device(n, arg[i], i == k->n_args ? k->scratch_bytes : 1, what));
    }
    return LT_OK;
}

static lt_status add_step(null_capture *c, null_step s)
{
    if (c->n_steps == c->max_steps) {
        int more = c->max_steps ? 2 * c->max_steps : 16;
        null_step *p = lt_realloc(c->step, (size_t)more * sizeof *p);
        if (!p) return LT_FAIL(LT_ERR_MEMORY, "null: no memory for captured step %d", c->n_steps + 1);
        c->step = p;
        c->max_steps = more;
    }
    if (s.kernel) {
        void **arg = lt_malloc((size_t)LT_MAX(s.n_args, 1) * sizeof *arg);
        if (!arg) return LT_FAIL(LT_ERR_MEMORY, "null: no memory for captured arguments");
        if (s.n_args) memcpy(arg, s.arg, (size_t)s.n_args * sizeof *arg);
        s.arg = arg;
        c->base.n_launches++;
    }
    c->step[c->n_steps++] = s;
    return LT_OK;
}

static void null_capture_destroy(lt_capture *base)
{
    null_capture *c = (null_capture *)base;
    for (int i = 0; i < c->n_steps; i++) lt_free(c->step[i].arg);
    lt_free(c->step);
    lt_free(c);
}

static lt_status null_capture_begin(lt_stream *st)
{
    null_capture *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "null: %zu bytes for a capture", sizeof *c);
    c->base.dev = st->dev;
    ((null_stream *)st)->capture = c;
    return LT_OK;
}

static void null_capture_share(lt_stream *st, lt_stream *branch)
{
    ((null_stream *)branch)->capture = st ? ((null_stream *)st)->capture : NULL;
}

static lt_status null_capture_end(lt_stream *st, lt_capture **out)
{
    null_stream *ns = (null_stream *)st;
    *out = &ns->capture->base;
    ns->capture = NULL;
    state_of(st->dev)->counts.captures++;
    return LT_OK;
}

static void null_capture_abort(lt_stream *st)
{
    null_stream *ns = (null_stream *)st;
    if (ns->capture) null_capture_destroy(&ns->capture->base);
    ns->capture = NULL;
}

static lt_status null_replay(lt_stream *st, lt_capture *base)
{
    null_capture *c = (null_capture *)base;
    null_state *n = state_of(st->dev);
    lt_status s = LT_OK;
    pthread_mutex_lock(&n->lock);
    for (int i = 0; i < c->n_steps && !s; i++) {
        const null_step *p = &c->step[i];
        s = p->kernel ? check_args(n, p->kernel, p->arg, p->n_args)
            : p->bytes ? check_device(n, (void *)p->dst, p->bytes, "replayed copy or fill") : LT_OK;
    }
    if (!s) {
        n->counts.replays++;
        n->counts.replayed_launches += c->base.n_launches;
    }
    pthread_mutex_unlock(&n->lock);
    return s;
}

static lt_status null_rebind(lt_capture *base, int launch, void *const *arg)
{
    null_capture *c = (null_capture *)base;
    null_step *s = c->step;
    while (!s->kernel || launch-- > 0) s++;
    if (s->n_args) memcpy(s->arg, arg, (size_t)s->n_args * sizeof *arg);
    return LT_OK;
}

/* ---- Work --------------------------------------------------------------------------------------- */
static lt_status check_copy(const null_state *n, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    const char *name = dir == LT_TRANSFER_H2D ? "copy h2d" : dir == LT_TRANSFER_D2H ? "copy d2h" : "copy d2d";
    LT_TRY(dir == LT_TRANSFER_D2H ? check_host(n, dst, name) : check_device(n, dst, bytes, name));
    return dir == LT_TRANSFER_H2D ? check_host(n, src, name) : check_device(n, src, bytes, name);
}

static lt_status null_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    null_state *n = state_of(st->dev);
    null_capture *c = ((null_stream *)st)->capture;
    const void *device_side = dir == LT_TRANSFER_D2H ? src : dst;
    pthread_mutex_lock(&n->lock);
    lt_status s = check_copy(n, dst, src, bytes, dir);
    if (!s && c) s = add_step(c, (null_step){ .dst = (uintptr_t)device_side, .bytes = bytes });
    if (!s && !c) {
        n->counts.copies[dir]++;
        n->counts.copy_bytes[dir] += (int64_t)bytes;
    }
    pthread_mutex_unlock(&n->lock);
    if (!s && !c && dir == LT_TRANSFER_D2H) memset(dst, 0, bytes);
    return s;
}

static lt_status null_fill(lt_stream *st, void *dst, int byte, size_t bytes)
{
    (void)byte;
    null_state *n = state_of(st->dev);
    null_capture *c = ((null_stream *)st)->capture;
    pthread_mutex_lock(&n->lock);
    lt_status s = check_device(n, dst, bytes, "fill");
    if (!s && c) s = add_step(c, (null_step){ .dst = (uintptr_t)dst, .bytes = bytes });
    if (!s && !c) n->counts.fills++;
    pthread_mutex_unlock(&n->lock);
    return s;
}

static lt_status null_launch(lt_stream *st, const lt_launch *at)
{
    null_state *n = state_of(st->dev);
    null_capture *c = ((null_stream *)st)->capture;
    const lt_kernel *k = at->kernel;
    if (k->module != n) return LT_FAIL(LT_ERR_ARGUMENT, "null: '%s' was not built for this device", k->name);
    int n_args = k->n_args + (k->scratch_bytes ? 1 : 0);
    pthread_mutex_lock(&n->lock);
    lt_status s = check_args(n, k, at->arg, n_args);
    if (!s && c) s = add_step(c, (null_step){ .kernel = k, .arg = at->arg, .n_args = n_args });
    if (!s && !c) n->counts.launches++;
    pthread_mutex_unlock(&n->lock);
    return s;
}

/* The null kernel: a name and a cost; keeps the host kernel it was made from alive. */
typedef struct null_kernel { lt_kernel base; lt_kernel *host; char name[]; } null_kernel;

static lt_status never_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool;
    (void)arg;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "null: '%s' does not compute", k->name);
}

static void destroy_kernel(lt_kernel *k)
{
    lt_kernel_destroy(((null_kernel *)k)->host);
    lt_free(k);
}

static lt_status null_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    size_t bytes = strlen(key->name) + 1;
    null_kernel *k = lt_calloc(1, sizeof *k + bytes);
    if (!k) return LT_FAIL(LT_ERR_MEMORY, "null: no memory for kernel '%s'", key->name);
    memcpy(k->name, key->name, bytes);
    k->host = key->host;
    k->base = (lt_kernel){ .name = k->name, .run = never_run, .destroy = destroy_kernel, .module = dev->state,
                           .scratch_bytes = key->host ? key->host->scratch_bytes : key->scratch_bytes,
                           .n_args = key->host ? key->host->n_args : key->n_args,
                           .flops = key->host ? key->host->flops : key->flops,
                           .bytes = key->host ? key->host->bytes : key->bytes };
    pthread_mutex_lock(&state_of(dev)->lock);
    state_of(dev)->counts.builds++;
    pthread_mutex_unlock(&state_of(dev)->lock);
    *out = &k->base;
    return LT_OK;
}

static lt_status null_stream_create(lt_device *dev, lt_stream **out)
{
    null_stream *st = lt_calloc(1, sizeof *st);
    if (!st) return LT_FAIL(LT_ERR_MEMORY, "null: %zu bytes for a stream", sizeof *st);
    st->base.dev = dev;
    *out = &st->base;
    return LT_OK;
}

static void null_stream_destroy(lt_stream *st)
{
    if (!st) return;
    null_capture_abort(st);
    lt_free(st);
}

/* Adds one to a count of the device's state. */
static void count(lt_device *dev, int64_t *which)
{
    pthread_mutex_lock(&state_of(dev)->lock);
    ++*which;
    pthread_mutex_unlock(&state_of(dev)->lock);
}

static lt_status null_sync(lt_stream *st)
{
    count(st->dev, &state_of(st->dev)->counts.syncs);
    return LT_OK;
}

/* ---- Events --------------------------------------------------------------------------------------- */
static lt_status null_event_create(lt_device *dev, lt_event **out)
{
    null_event *e = lt_calloc(1, sizeof *e);
    if (!e) return LT_FAIL(LT_ERR_MEMORY, "null: %zu bytes for an event", sizeof *e);
    e->base.dev = dev;
    *out = &e->base;
    return LT_OK;
}

static void null_event_destroy(lt_event *ev) { lt_free(ev); }

static lt_status null_event_record(lt_event *ev, lt_stream *st)
{
    null_event *e = (null_event *)ev;
    e->inside = ((null_stream *)st)->capture;
    e->records++;
    e->time_ns = lt_clock_ns();
    count(st->dev, &state_of(st->dev)->counts.records);
    return LT_OK;
}

static lt_status check_recorded(const null_event *e, const char *what)
{
    return e->records ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "null: %s: the event was never recorded", what);
}

static lt_status null_event_wait(lt_stream *st, lt_event *ev)
{
    null_event *e = (null_event *)ev;
    LT_TRY(check_recorded(e, "wait"));
    if (e->inside != ((null_stream *)st)->capture)
        return LT_FAIL(LT_ERR_ARGUMENT, "null: wait: the event was recorded %s", e->inside ? "inside a capture" : "outside this capture");
    count(st->dev, &state_of(st->dev)->counts.waits);
    return LT_OK;
}

static lt_status null_event_sync(lt_event *ev) { return check_recorded((null_event *)ev, "sync"); }

static lt_status null_event_query(lt_event *ev, bool *done)
{
    *done = true;
    return check_recorded((null_event *)ev, "query");
}

static lt_status null_event_elapsed(lt_event *from, lt_event *to, double *ns)
{
    LT_TRY(check_recorded((null_event *)from, "elapsed"));
    LT_TRY(check_recorded((null_event *)to, "elapsed"));
    *ns = (double)(((null_event *)to)->time_ns - ((null_event *)from)->time_ns);
    return LT_OK;
}

/* ---- The device -------------------------------------------------------------------------------------- */
static int null_count(void) { return 1; }

static lt_status null_open(int ordinal, lt_device *dev)
{
    (void)ordinal;
    null_state *n = lt_calloc(1, sizeof *n);
    if (!n) return LT_FAIL(LT_ERR_MEMORY, "null: %zu bytes for the device", sizeof *n);
    pthread_mutex_init(&n->lock, NULL);
    n->next = FIRST_ADDRESS;
    n->capacity = INT64_C(16) << 30;
    dev->state = n;
    dev->generation = 90;
    dev->shared_bytes = (size_t)227 << 10;
    return null_stream_create(dev, &dev->stream);
}

static void null_close(lt_device *dev)
{
    null_state *n = state_of(dev);
    null_stream_destroy(dev->stream);
    if (!n) return;
    for (int i = 0; i < n->n_live; i++)
        if (n->live[i].host) lt_free_aligned((void *)n->live[i].start);
    pthread_mutex_destroy(&n->lock);
    lt_free(n->live);
    lt_free(n);
}

static lt_status null_mem_info(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes)
{
    null_state *n = state_of(dev);
    pthread_mutex_lock(&n->lock);
    *total_bytes = n->capacity;
    *free_bytes = n->capacity - n->counts.live_bytes;
    pthread_mutex_unlock(&n->lock);
    return LT_OK;
}

static lt_status null_describe(lt_device *dev, lt_device_info *out)
{
    snprintf(out->name, sizeof out->name, "plans and counts, computes nothing");
    out->cores = 1;
    return null_mem_info(dev, &out->memory_free_bytes, &out->memory_total_bytes);
}

lt_null_counts lt_null_read(lt_device *dev)
{
    null_state *n = state_of(dev);
    pthread_mutex_lock(&n->lock);
    lt_null_counts c = n->counts;
    pthread_mutex_unlock(&n->lock);
    return c;
}

void lt_null_capacity(lt_device *dev, int64_t bytes) { state_of(dev)->capacity = bytes; }
void lt_null_refuse_pinning(lt_device *dev, bool refuse) { state_of(dev)->refuse_pinning = refuse; }

const lt_backend *lt_backend_null(void)
{
    static const lt_backend table = {
        .name = "null", .flags = LT_DEVICE_OWN_MEMORY | LT_DEVICE_HOST_KERNELS | LT_DEVICE_TEXT_KERNELS,
        LT_BACKEND_SLOTS(null), .capture_share = null_capture_share,
    };
    return &table;
}
