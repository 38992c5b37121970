/* Memory by owner, transfers by direction, and interned names.
   SPDX-License-Identifier: BSD-3-Clause */
#include "trace/recorder.h"

#include "base/alloc.h"
#include "base/status.h"

#include <pthread.h>
#include <string.h>

enum { MAX_OWNERS = 128, BUCKETS = 256 };

_Atomic int64_t lt_trace_memory_now;

/* Row 0 is the whole; the last row takes every owner beyond the table. */
static struct {
    pthread_mutex_t     lock;
    int                 n;
    lt_trace_memory_row row[MAX_OWNERS];
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic int64_t transfer_count[LT_TRANSFER_COUNT][2], transfer_bytes[LT_TRANSFER_COUNT][2];

static lt_trace_memory_row *find_owner(const char *owner)
{
    if (!memory.n) {
        memory.row[0] = (lt_trace_memory_row){ .owner = "(all)" };
        memory.n = 1;
    }
    for (int i = 1; i < memory.n; i++)
        if (strncmp(memory.row[i].owner, owner, sizeof memory.row[i].owner - 1) == 0) return &memory.row[i];
    if (memory.n == MAX_OWNERS) return &memory.row[MAX_OWNERS - 1];
    lt_trace_memory_row *r = &memory.row[memory.n++];
    *r = (lt_trace_memory_row){ .owner = "" };
    snprintf(r->owner, sizeof r->owner, "%s", memory.n == MAX_OWNERS ? "(others)" : owner);
    return r;
}

/* Memory taken before the recording began may be given back during it: never below zero. */
static void move(lt_trace_memory_row *r, int64_t delta)
{
    if (delta >= 0) r->allocs++; else r->frees++;
    r->current_bytes = LT_MAX(r->current_bytes + delta, 0);
    r->peak_bytes = LT_MAX(r->peak_bytes, r->current_bytes);
}

void lt_trace_memory_event(const char *owner, int64_t delta_bytes)
{
    pthread_mutex_lock(&memory.lock);
    lt_trace_memory_row *r = find_owner(owner && *owner ? owner : "(unnamed)");
    move(r, delta_bytes);
    move(&memory.row[0], delta_bytes);
    int64_t all = memory.row[0].current_bytes, one = r->current_bytes;
    atomic_store_explicit(&lt_trace_memory_now, all, memory_order_relaxed);
    pthread_mutex_unlock(&memory.lock);
    lt_trace_saw_memory(all);
    const char *name = lt_trace_intern(owner && *owner ? owner : "(unnamed)");
    if (name)
        lt_trace_append(&(lt_trace_event){ .name = name, .u.value = (double)one, .kind = LT_TRACE_MEMORY_VALUE });
}

void lt_trace_transfer_event(lt_transfer dir, bool pinned, int64_t bytes)
{
    if ((unsigned)dir >= LT_TRANSFER_COUNT) return;
    atomic_fetch_add_explicit(&transfer_count[dir][pinned], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&transfer_bytes[dir][pinned], bytes, memory_order_relaxed);
}

void lt_trace_forget_memory(void)
{
    pthread_mutex_lock(&memory.lock);
    memory.n = 0;
    atomic_store_explicit(&lt_trace_memory_now, 0, memory_order_relaxed);
    pthread_mutex_unlock(&memory.lock);
    for (int d = 0; d < LT_TRANSFER_COUNT; d++)
        for (int p = 0; p < 2; p++) {
            atomic_store_explicit(&transfer_count[d][p], 0, memory_order_relaxed);
            atomic_store_explicit(&transfer_bytes[d][p], 0, memory_order_relaxed);
        }
}

int64_t lt_trace_memory_rows(lt_trace_memory_row *rows, int64_t max)
{
    lt_trace_memory_row all[MAX_OWNERS];
    pthread_mutex_lock(&memory.lock);
    int n = memory.n;
    memcpy(all, memory.row, (size_t)n * sizeof *all);
    pthread_mutex_unlock(&memory.lock);
    /* By peak, the whole first; insertion, for the table is short. */
    for (int i = 2; i < n; i++) {
        lt_trace_memory_row r = all[i];
        int j = i;
        for (; j > 1 && all[j - 1].peak_bytes < r.peak_bytes; j--) all[j] = all[j - 1];
        all[j] = r;
    }
    for (int i = 0; i < n && i < max; i++) rows[i] = all[i];
    return n;
}

const char *lt_transfer_name(lt_transfer t)
{
    static const char *const name[] = { [LT_TRANSFER_H2D] = "h2d", [LT_TRANSFER_D2H] = "d2h", [LT_TRANSFER_D2D] = "d2d" };
    _Static_assert(LT_LEN(name) == LT_TRANSFER_COUNT, "a name for each direction");
    return (unsigned)t < LT_TRANSFER_COUNT ? name[t] : "?";
}

lt_transfer_row lt_trace_transfers(lt_transfer t, bool pinned)
{
    lt_transfer_row r = { 0, 0 };
    if ((unsigned)t >= LT_TRANSFER_COUNT) return r;
    r.count = atomic_load_explicit(&transfer_count[t][pinned], memory_order_relaxed);
    r.bytes = atomic_load_explicit(&transfer_bytes[t][pinned], memory_order_relaxed);
    return r;
}

/* ---- Interned names -------------------------------------------------------------- */
typedef struct interned { struct interned *next; char text[]; } interned;
static struct { pthread_mutex_t lock; interned *bucket[BUCKETS]; } names = { .lock = PTHREAD_MUTEX_INITIALIZER };

const char *lt_trace_intern(const char *text)
{
    if (!text) return NULL;
    uint32_t h = 2166136261u;
    for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 16777619u;
    pthread_mutex_lock(&names.lock);
    interned *e = names.bucket[h % BUCKETS];
    while (e && strcmp(e->text, text)) e = e->next;
    if (!e) {
        size_t bytes = strlen(text) + 1;
        e = lt_malloc(sizeof *e + bytes);
        if (e) {
            memcpy(e->text, text, bytes);
            e->next = names.bucket[h % BUCKETS];
            names.bucket[h % BUCKETS] = e;
        }
    }
    pthread_mutex_unlock(&names.lock);
    return e ? e->text : NULL;
}
