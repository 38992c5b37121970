/* Recording: per-thread buffers, nested spans, totals per name.
   SPDX-License-Identifier: BSD-3-Clause */
#include "trace/recorder.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define FETCH_AHEAD_BYTES 1024

_Atomic uint32_t lt_trace_on;

static struct {
    pthread_mutex_t  lock;
    lt_trace_thread *first;
    int              next_id;
    lt_trace_options opt;
    int64_t          start_ns;
    _Atomic int64_t  lost;      /* entries of threads that got no buffer */
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic uint32_t epoch_now = 1;  /* the recording that reports show */
static pthread_key_t  exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Not initial-exec, which spares a call per access: one such variable makes all of the library's need room that a process has little of, and loading
   it after other libraries (qiskit-aer with PennyLane) would fail (decision 276). */
static _Thread_local lt_trace_thread *mine;
static _Thread_local char my_label[LT_TRACE_LABEL];

void lt_trace_lock(void) { pthread_mutex_lock(&registry.lock); }
void lt_trace_unlock(void) { pthread_mutex_unlock(&registry.lock); }
int64_t lt_trace_start_ns(void) { return registry.start_ns; }

lt_trace_thread *lt_trace_next_thread(lt_trace_thread *t)
{
    uint32_t now = atomic_load_explicit(&epoch_now, memory_order_relaxed);
    for (t = t ? t->next : registry.first; t; t = t->next)
        if (atomic_load_explicit(&t->epoch, memory_order_relaxed) == now) return t;
    return NULL;
}

/* ---- Buffers of threads ----------------------------------------------------- */
static void free_chunks(lt_trace_thread *t)
{
    for (int64_t i = 0; i < t->n_chunks; i++) lt_free(t->chunk[i]);
    lt_free(t->chunk);
    t->chunk = NULL;
    t->n_chunks = 0;
}

/* At the end of a thread: what it recorded stays until the recording is cleared. */
static void retire(void *p)
{
    lt_trace_thread *t = p;
    lt_trace_lock();
    t->retired = true;
    lt_trace_unlock();
}

static void make_key(void) { pthread_key_create(&exit_key, retire); }

static lt_trace_thread *add_thread(void)
{
    lt_trace_thread *t = lt_calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_once(&exit_once, make_key);
    if (pthread_setspecific(exit_key, t)) { lt_free(t); return NULL; }
    t->id = ++registry.next_id;
    lt_trace_thread **end = &registry.first;
    while (*end) end = &(*end)->next;
    *end = t;
    return t;
}

/* Asks for the pages of a new chunk at once: taken one by one, on first touch, they would cost
   each span more than its clock. Only advice, so a refusal does not matter. */
static lt_trace_event *new_chunk(void)
{
    size_t bytes = LT_TRACE_CHUNK * sizeof(lt_trace_event);
    char *p = lt_malloc(bytes);
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)p + page - 1) / page * page;
    uintptr_t last = ((uintptr_t)p + bytes) / page * page;
    if (p && last > first) (void)madvise((void *)first, last - first, MADV_POPULATE_WRITE);
#endif
    return (lt_trace_event *)p;
}

/* Empties the buffer for recording `epoch`, with room as the options ask. */
static bool reset_thread(lt_trace_thread *t, uint32_t epoch)
{
    int64_t n_chunks = (registry.opt.max_events + LT_TRACE_CHUNK - 1) / LT_TRACE_CHUNK;
    if (n_chunks != t->n_chunks) {
        free_chunks(t);
        t->chunk = lt_calloc((size_t)n_chunks, sizeof *t->chunk);
        if (!t->chunk) return false;
        t->n_chunks = n_chunks;
    }
    if (!t->chunk[0]) t->chunk[0] = new_chunk(); /* now, not inside the first span; NULL is tried again */
    t->max_events = registry.opt.max_events;
    t->cpu_time = registry.opt.cpu_time;
    t->depth = 0;
    atomic_store_explicit(&t->n_events, 0, memory_order_relaxed);
    atomic_store_explicit(&t->dropped, 0, memory_order_relaxed);
    for (int i = 0; i < LT_TRACE_NAMES; i++)
        atomic_store_explicit(&t->total[i].name, NULL, memory_order_relaxed);
    snprintf(t->label, sizeof t->label, "%s", my_label);
    atomic_store_explicit(&t->epoch, epoch, memory_order_relaxed);
    return true;
}

/* The calling thread's buffer, ready for the running recording; NULL when off or no memory. */
static lt_trace_thread *enter(void)
{
    lt_trace_lock();
    uint32_t epoch = atomic_load_explicit(&lt_trace_on, memory_order_relaxed);
    lt_trace_thread *t = mine;
    if (epoch) {
        if (!t) t = mine = add_thread();
        if (t && !reset_thread(t, epoch)) t = NULL;
        if (!t) atomic_fetch_add_explicit(&registry.lost, 1, memory_order_relaxed);
    }
    lt_trace_unlock();
    return epoch ? t : NULL;
}

static inline lt_trace_thread *current_thread(void)
{
    uint32_t epoch = atomic_load_explicit(&lt_trace_on, memory_order_relaxed);
    lt_trace_thread *t = mine;
    if (__builtin_expect(t && atomic_load_explicit(&t->epoch, memory_order_relaxed) == epoch, 1)) return t;
    return epoch ? enter() : NULL;
}

/* Only the owner writes these, so a load and a store do; no locked instruction. */
#define ADD(field, amount)                                                                   \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (amount), \
                          memory_order_relaxed)
#define RAISE(field, to)                                                                     \
    do { if ((to) > atomic_load_explicit(&(field), memory_order_relaxed))                    \
             atomic_store_explicit(&(field), (to), memory_order_relaxed); } while (0)

/* Where the next entry goes; NULL (and one more is lost) when there is no room. Fields are written in place, because a copy would wait for
   them. Later cache lines are prefetched, because they come from memory. */
static inline lt_trace_event *next_entry(lt_trace_thread *t)
{
    int64_t n = atomic_load_explicit(&t->n_events, memory_order_relaxed);
    lt_trace_event **chunk = &t->chunk[n < t->max_events ? n / LT_TRACE_CHUNK : 0];
    if (__builtin_expect(n < t->max_events && !*chunk, 0)) *chunk = new_chunk();
    if (__builtin_expect(n >= t->max_events || !*chunk, 0)) { ADD(t->dropped, 1); return NULL; }
    lt_trace_event *e = *chunk + n % LT_TRACE_CHUNK;
    __builtin_prefetch((const char *)e + FETCH_AHEAD_BYTES, 1);
    return e;
}

static inline void publish_entry(lt_trace_thread *t)
{
    atomic_store_explicit(&t->n_events, atomic_load_explicit(&t->n_events, memory_order_relaxed) + 1, memory_order_release);
}

/* ---- Spans ------------------------------------------------------------------- */
/* Searches from entry `at` on: the entry of this name, or a free one that it takes; NULL when all are taken by other names. */
static __attribute__((noinline)) lt_trace_total *search_total(lt_trace_thread *t, const char *name, unsigned at)
{
    for (unsigned i = 0; i < LT_TRACE_NAMES; i++) {
        lt_trace_total *s = &t->total[(at + i) % LT_TRACE_NAMES];
        const char *taken_by = atomic_load_explicit(&s->name, memory_order_relaxed);
        if (taken_by == name) return s;
        if (taken_by) continue;
        atomic_store_explicit(&s->detail, NULL, memory_order_relaxed);
        atomic_store_explicit(&s->calls, 0, memory_order_relaxed);
        atomic_store_explicit(&s->bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&s->cpu_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&s->peak_bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&s->total, 0, memory_order_relaxed);
        atomic_store_explicit(&s->self, 0, memory_order_relaxed);
        atomic_store_explicit(&s->min, UINT64_MAX, memory_order_relaxed);
        atomic_store_explicit(&s->max, 0, memory_order_relaxed);
        atomic_store_explicit(&s->name, name, memory_order_release);
        return s;
    }
    return NULL;
}

static inline lt_trace_total *find_total(lt_trace_thread *t, const char *name)
{
    unsigned at = (unsigned)(((uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    lt_trace_total *s = &t->total[at % LT_TRACE_NAMES];
    if (__builtin_expect(atomic_load_explicit(&s->name, memory_order_relaxed) == name, 1)) return s;
    return search_total(t, name, at);
}

lt_span lt_trace_span_begin(const char *name)
{
    lt_trace_thread *t = current_thread();
    if (!t || !name) return 0;
    if (t->depth == LT_TRACE_DEPTH) { ADD(t->dropped, 1); return 0; }
    lt_trace_frame *f = &t->frame[t->depth++];
    f->name = name;
    f->detail = NULL;
    f->inside = 0;
    f->bytes = 0;
    f->peak_bytes = atomic_load_explicit(&lt_trace_memory_now, memory_order_relaxed);
    f->cpu0_ns = t->cpu_time ? lt_clock_thread_ns() : 0;
    f->start = lt_clock_ticks();
    return (uint64_t)atomic_load_explicit(&t->epoch, memory_order_relaxed) << 32 | (uint32_t)t->depth;
}

static void close_frame(lt_trace_thread *t, uint64_t now)
{
    lt_trace_frame *f = &t->frame[--t->depth];
    uint64_t duration = now > f->start ? now - f->start : 0;
    lt_trace_total *s = find_total(t, f->name);
    if (s) {
        ADD(s->calls, 1);
        ADD(s->bytes, f->bytes);
        ADD(s->total, duration);
        ADD(s->self, duration > f->inside ? duration - f->inside : 0);
        if (duration < atomic_load_explicit(&s->min, memory_order_relaxed))
            atomic_store_explicit(&s->min, duration, memory_order_relaxed);
        RAISE(s->max, duration);
        RAISE(s->peak_bytes, f->peak_bytes);
        if (t->cpu_time) ADD(s->cpu_ns, lt_clock_thread_ns() - f->cpu0_ns);
        if (f->detail) atomic_store_explicit(&s->detail, f->detail, memory_order_relaxed);
    } else {
        ADD(t->dropped, 1);
    }
    if (t->depth) {
        lt_trace_frame *outer = f - 1;
        outer->inside += duration;
        if (f->peak_bytes > outer->peak_bytes) outer->peak_bytes = f->peak_bytes;
    }
    lt_trace_event *e = next_entry(t);
    if (!e) return;
    e->name = f->name;
    e->detail = f->detail;
    e->start = f->start;
    e->u.duration = duration;
    e->bytes = f->bytes;
    e->kind = LT_TRACE_SPAN;
    publish_entry(t);
}

/* The thread's buffer when the span is open in it. A recording that was stopped meanwhile
   still gets the ends of its spans; one that was cleared does not. */
static lt_trace_thread *owner_of(lt_span span)
{
    lt_trace_thread *t = mine;
    if (!t || atomic_load_explicit(&t->epoch, memory_order_relaxed) != (uint32_t)(span >> 32)) return NULL;
    return (uint32_t)span && (int)(uint32_t)span <= t->depth ? t : NULL;
}

void lt_trace_span_end(lt_span span)
{
    uint64_t now = lt_clock_ticks();
    lt_trace_thread *t = owner_of(span);
    if (!t) return;
    while (t->depth >= (int)(uint32_t)span) close_frame(t, now);
}

void lt_trace_span_note(lt_span span, int64_t bytes, const char *detail)
{
    lt_trace_thread *t = owner_of(span);
    if (!t) return;
    lt_trace_frame *f = &t->frame[(uint32_t)span - 1];
    f->bytes += bytes;
    if (detail) f->detail = detail;
}

/* ---- Other entries ------------------------------------------------------------ */
void lt_trace_append(lt_trace_event *e)
{
    lt_trace_thread *t = current_thread();
    if (!t) return;
    if (!e->start) e->start = lt_clock_ticks();
    lt_trace_event *to = next_entry(t);
    if (!to) return;
    *to = *e;
    publish_entry(t);
}

void lt_trace_counter(const char *name, double value)
{
    if (!lt_trace_is_on() || !name) return;
    lt_trace_append(&(lt_trace_event){ .name = name, .u.value = value, .kind = LT_TRACE_VALUE });
}

void lt_trace_device_span(const char *track, const char *name, int64_t start_ns, int64_t duration_ns)
{
    if (!lt_trace_is_on()) return;
    lt_trace_append(&(lt_trace_event){ .name = name, .detail = track, .start = (uint64_t)start_ns,
                                       .u.duration = (uint64_t)duration_ns, .kind = LT_TRACE_DEVICE_SPAN });
}

void lt_trace_saw_memory(int64_t bytes)
{
    lt_trace_thread *t = mine;
    if (t && t->depth && t->frame[t->depth - 1].peak_bytes < bytes) t->frame[t->depth - 1].peak_bytes = bytes;
}

void lt_trace_thread_name(const char *name)
{
    snprintf(my_label, sizeof my_label, "%s", name ? name : "");
    if (!mine) return;
    lt_trace_lock();
    snprintf(mine->label, sizeof mine->label, "%s", my_label);
    lt_trace_unlock();
}

/* ---- Start, stop, clear -------------------------------------------------------- */
void lt_trace_defaults_into(lt_trace_options *out)
{
    LT_GIVE(out, &(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = 65536 });
}

bool lt_trace_running(void) { return lt_trace_is_on(); }

/* Retired buffers go at once; those of living threads are emptied by their owners when they
   next record, for only the owner may touch them. The caller is one such owner. */
static void drop_buffers(bool running)
{
    for (lt_trace_thread **at = &registry.first; *at;) {
        lt_trace_thread *t = *at;
        if (!t->retired && (running || t != mine)) { at = &t->next; continue; }
        *at = t->next;
        if (t == mine) { mine = NULL; pthread_setspecific(exit_key, NULL); }
        free_chunks(t);
        lt_free(t);
    }
}

/* Under the lock: a new, empty recording. */
static uint32_t next_recording(bool running)
{
    uint32_t epoch = atomic_load_explicit(&epoch_now, memory_order_relaxed) + 1;
    if (!epoch) epoch = 1;
    drop_buffers(running);
    atomic_store_explicit(&registry.lost, 0, memory_order_relaxed);
    lt_trace_forget_memory();
    registry.start_ns = lt_clock_ns();
    atomic_store_explicit(&epoch_now, epoch, memory_order_relaxed);
    return epoch;
}

/* The thread that starts a recording has most of the spans: it gets the pages of its buffer now, which would cost each span
   more than a reading of its clock; others get theirs as they go. A chunk that is refused is tried again when it is needed. */
static void prepare_caller(void)
{
    enum { READY_EVENTS = 65536 };
    lt_trace_thread *t = current_thread();
    for (int64_t i = 0; t && i < t->n_chunks && i < READY_EVENTS / LT_TRACE_CHUNK; i++)
        if (!t->chunk[i]) t->chunk[i] = new_chunk();
}

lt_status lt_trace_start(const lt_trace_options *opt)
{
    lt_trace_options o = lt_trace_defaults();
    LT_TRY(LT_TAKE(lt_trace_options, opt, &o));
    if (o.max_events < 1 || o.max_events > INT64_C(1) << 30)
        return LT_FAIL(LT_ERR_ARGUMENT, "trace: max_events is %lld, expected 1 to 2^30", (long long)o.max_events);
    lt_clock_prepare();
    lt_trace_lock();
    bool running = lt_trace_is_on();
    if (!running) {
        registry.opt = o;
        atomic_store_explicit(&lt_trace_on, next_recording(false), memory_order_release);
    }
    lt_trace_unlock();
    if (running) return LT_FAIL(LT_ERR_ARGUMENT, "trace: already running; stop it first");
    prepare_caller();
    return LT_OK;
}

void lt_trace_stop(void)
{
    lt_trace_lock();
    atomic_store_explicit(&lt_trace_on, 0, memory_order_release);
    lt_trace_unlock();
}

void lt_trace_clear(void)
{
    lt_trace_lock();
    bool running = lt_trace_is_on();
    uint32_t epoch = next_recording(running);
    if (running) atomic_store_explicit(&lt_trace_on, epoch, memory_order_release);
    lt_trace_unlock();
}

int64_t lt_trace_dropped(void)
{
    int64_t n = atomic_load_explicit(&registry.lost, memory_order_relaxed);
    lt_trace_lock();
    for (lt_trace_thread *t = NULL; (t = lt_trace_next_thread(t));)
        n += atomic_load_explicit(&t->dropped, memory_order_relaxed);
    lt_trace_unlock();
    return n;
}
