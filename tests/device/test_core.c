/* What engines build on: flags, host memory, rings and recordings, on every device that opens: the CPU, the null device
   and, as ctest runs it, the CUDA device over a made-up driver. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/host_ring.h"
#include "device/null/null.h"
#include "device/recording.h"
#include "trace/trace.h"

static bool computes(const lt_device *dev) { return lt_device_has(dev, LT_DEVICE_COMPUTES); }

static void on_each_device(void (*check)(lt_device *dev))
{
    for (int i = 0; i < lt_device_count(); i++) {
        lt_device_info info = { .size = sizeof info };
        lt_device *dev = NULL;
        LT_CHECK_OK(lt_device_list(i, &info));
        LT_CHECK_OK(lt_device_open(info.id, &dev));
        if (dev) check(dev);
        lt_device_close(dev);
    }
}

LT_TEST(flags_say_what_a_device_is)
{
    lt_device *cpu = NULL, *null = NULL, *cuda = NULL;
    LT_CHECK_OK(lt_device_open("cpu", &cpu));
    LT_CHECK_OK(lt_device_open("null", &null));
    LT_CHECK(!lt_device_has(cpu, LT_DEVICE_OWN_MEMORY) && lt_device_has(cpu, LT_DEVICE_COMPUTES | LT_DEVICE_HOST_KERNELS));
    LT_CHECK(!lt_device_has(cpu, LT_DEVICE_COMPUTES | LT_DEVICE_TEXT_KERNELS)); /* one of two is not both */
    LT_CHECK(lt_device_has(null, LT_DEVICE_OWN_MEMORY | LT_DEVICE_HOST_KERNELS | LT_DEVICE_TEXT_KERNELS) && !computes(null));
    LT_CHECK(computes(NULL) && !lt_device_has(NULL, LT_DEVICE_OWN_MEMORY) && !strcmp(lt_device_kind(NULL), "cpu"));
    LT_CHECK(!strcmp(lt_device_kind(null), "null") && lt_device_generation(cpu) == 0 && lt_device_generation(null) == 90);
    if (!lt_device_open("cuda", &cuda)) {
        LT_CHECK(lt_device_has(cuda, LT_DEVICE_OWN_MEMORY | LT_DEVICE_TEXT_KERNELS | LT_DEVICE_COMPUTES));
        LT_CHECK(!lt_device_has(cuda, LT_DEVICE_HOST_KERNELS) && lt_device_generation(cuda) >= 80);
    }
    lt_device_close(cuda);
    lt_device_close(null);
    lt_device_close(cpu);
}

LT_TEST(free_memory_counts_what_the_allocator_keeps)
{
    lt_device *dev = NULL;
    int64_t free_bytes, total, available;
    void *p;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_null_capacity(dev, 100 << 20);
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 10 << 20, "x", &p));
    LT_CHECK_OK(lt_device_free(dev, NULL, p));
    LT_CHECK_OK(lt_device_free_memory(dev, &free_bytes, &total));
    LT_CHECK_OK(lt_device_available_memory(dev, &available));
    LT_CHECK_EQ_INT(total, 100 << 20);
    LT_CHECK(free_bytes <= 90 << 20 && available == 100 << 20);
    LT_CHECK_OK(lt_device_memory_limit(dev, 30 << 20));
    LT_CHECK_OK(lt_device_available_memory(dev, &available));
    LT_CHECK_EQ_INT(available, 30 << 20);
    LT_CHECK_FAILS(lt_device_free_memory(NULL, &free_bytes, &total), LT_ERR_ARGUMENT, "NULL");
    lt_device_close(dev);
}

/* ---- Host memory ---- */
static void check_host_memory(lt_device *dev)
{
    lt_host_memory m = { 0 };
    lt_device_block d = { 0 };
    char back[1000];
    lt_stream *st = lt_device_stream(dev);
    LT_CHECK_OK(lt_host_memory_create(dev, 1000, LT_PIN_NEVER, &m));
    LT_CHECK(!m.pinned && m.at && m.bytes == 1000);
    lt_host_memory_release(&m);
    LT_CHECK_OK(lt_host_memory_create(dev, 1000, 999, &m));
    LT_CHECK(!m.pinned);
    lt_host_memory_release(&m);
    LT_CHECK_OK(lt_host_memory_create(dev, 1000, 1000, &m));
    LT_CHECK(m.pinned);
    void *before = m.at;
    LT_CHECK_OK(lt_host_memory_reserve(dev, &m, 500));
    LT_CHECK(m.at == before && m.bytes == 1000);
    LT_CHECK_OK(lt_host_memory_reserve(dev, &m, 3000));
    LT_CHECK(m.bytes == 3000 && m.pinned);
    memset(m.at, 7, m.bytes);
    LT_CHECK_OK(lt_device_block_reserve(dev, &d, 3000, "test"));
    LT_CHECK_OK(lt_device_block_reserve(dev, &d, 10, "test"));
    LT_CHECK_EQ_INT(d.bytes, 3000);
    LT_CHECK_OK(lt_stream_copy(st, d.at, m.at, 3000, LT_TRANSFER_H2D, m.pinned));
    LT_CHECK_OK(lt_stream_copy(st, back, (char *)d.at + 2000, sizeof back, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK(back[0] == (computes(dev) ? 7 : 0) && back[999] == back[0]);
    lt_device_block_release(dev, &d);
    lt_host_memory_release(&m);
    lt_host_memory_release(&m); /* empty already */
    LT_CHECK(!m.at && !d.at);
}
LT_TEST(host_memory_is_page_locked_within_its_limit) { on_each_device(check_host_memory); }

LT_TEST(host_memory_works_where_nothing_can_be_page_locked)
{
    lt_device *dev = NULL;
    lt_host_memory m;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_null_refuse_pinning(dev, true);
    LT_CHECK_OK(lt_host_memory_create(dev, 1000, LT_PIN_ALWAYS, &m));
    LT_CHECK(!m.pinned && m.at);
    lt_host_memory_release(&m);
    lt_alloc_fail_at(1);
    LT_CHECK_FAILS(lt_host_memory_create(dev, 1000, LT_PIN_ALWAYS, &m), LT_ERR_MEMORY, "1000 bytes of host memory to exchange with null");
    lt_alloc_fail_at(0);
    LT_CHECK(!m.at);
    lt_device_close(dev);
}

/* ---- Rings ---- */
static void check_ring(lt_device *dev)
{
    static const size_t size[] = { 0, 1, 99, 100, 101, 300, 301, 5000 };
    unsigned char from[5000], scratch[5000], back[5000];
    lt_host_ring ring;
    lt_stream *st;
    void *memory;
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_host_ring_open(dev, &(lt_ring_options){ .slot_bytes = 100, .n_slots = 3, .pin_limit = 300, .timed = true }, &ring));
    LT_CHECK(ring.memory.pinned);
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 7 + i / 256);
    LT_CHECK_OK(lt_device_alloc(dev, st, sizeof from, "x", &memory));
    for (size_t i = 0; i < LT_LEN(size); i++) {
        memset(back, 0xee, sizeof back);
        memcpy(scratch, from, size[i]);
        LT_CHECK_OK(lt_host_ring_upload(&ring, st, memory, scratch, size[i]));
        memset(scratch, 0, sizeof scratch); /* the source is free again */
        LT_CHECK_OK(lt_host_ring_download(&ring, st, back, memory, size[i]));
        LT_CHECK(!computes(dev) || !memcmp(back, from, size[i]));
        LT_CHECK(size[i] == sizeof back || back[size[i]] == 0xee);
    }
    LT_CHECK_EQ_INT(ring.next, 2 * (1 + 1 + 1 + 2 + 3 + 4 + 50));
    LT_CHECK(ring.copy_ns >= 0);
    LT_CHECK_FAILS(lt_host_ring_upload(&ring, NULL, memory, from, 1), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_host_ring_send(&ring, &ring.slot[0], st, memory, 101), LT_ERR_INTERNAL, "101 bytes, a slot has 100");
    LT_CHECK_OK(lt_device_free(dev, st, memory));
    lt_host_ring_close(&ring);
    lt_stream_destroy(st);
}
LT_TEST(rings_move_every_byte) { on_each_device(check_ring); }

/* What a slot holds stays until it is taken again, n_slots later. */
static void check_slots(lt_device *dev)
{
    lt_host_ring ring;
    lt_stream *st = lt_device_stream(dev);
    lt_ring_slot *s[3];
    int64_t *memory;
    LT_CHECK_OK(lt_host_ring_open(dev, &(lt_ring_options){ .slot_bytes = 8, .n_slots = 2, .pin_limit = LT_PIN_ALWAYS }, &ring));
    LT_CHECK_OK(lt_device_alloc(dev, st, 16, "x", (void **)&memory));
    LT_CHECK_OK(lt_stream_fill(st, memory, 1, 8));
    LT_CHECK_OK(lt_stream_fill(st, memory + 1, 2, 8));
    for (int i = 0; i < 2; i++) {
        LT_CHECK_OK(lt_host_ring_take(&ring, &s[i]));
        LT_CHECK_OK(lt_host_ring_fetch(&ring, s[i], st, memory + i, 8));
        LT_CHECK(s[i] == lt_host_ring_slot(&ring, i) && s[i]->busy);
    }
    for (int i = 0; i < 2; i++) {
        LT_CHECK_OK(lt_host_ring_wait(&ring, s[i]));
        LT_CHECK(!s[i]->busy && (!computes(dev) || *(char *)s[i]->at == 1 + i));
    }
    LT_CHECK_OK(lt_host_ring_take(&ring, &s[2]));
    LT_CHECK(s[2] == s[0]);
    LT_CHECK_OK(lt_host_ring_send(&ring, s[2], st, memory, 8)); /* closing waits for it */
    lt_host_ring_close(&ring);
    LT_CHECK_OK(lt_device_free(dev, st, memory));
}
LT_TEST(slots_are_taken_in_turn) { on_each_device(check_slots); }

LT_TEST(rings_without_memory_are_events)
{
    lt_device *dev = NULL;
    lt_host_ring ring;
    LT_CHECK_OK(lt_device_open("null", &dev));
    LT_CHECK_OK(lt_host_ring_open(dev, &(lt_ring_options){ .n_slots = 5 }, &ring));
    LT_CHECK(!ring.memory.at && ring.slot[4].ended && !ring.slot[4].at && !ring.slot[4].begun);
    LT_CHECK_EQ_INT(lt_null_read(dev).host_allocs, 0);
    lt_host_ring_close(&ring);
    LT_CHECK_FAILS(lt_host_ring_open(dev, &(lt_ring_options){ .slot_bytes = 1 }, &ring), LT_ERR_ARGUMENT, "0 slots");
    LT_CHECK_FAILS(lt_host_ring_open(NULL, &(lt_ring_options){ .n_slots = 1 }, &ring), LT_ERR_ARGUMENT, "device is NULL");
    int64_t live = lt_alloc_live();
    for (int64_t at = 1; at < 12; at++) {
        lt_alloc_fail_at(at);
        lt_status s = lt_host_ring_open(dev, &(lt_ring_options){ .slot_bytes = 64, .n_slots = 4, .timed = true }, &ring);
        lt_alloc_fail_at(0);
        LT_CHECK(s == LT_OK || s == LT_ERR_MEMORY);
        lt_host_ring_close(&ring);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    lt_device_close(dev);
}

/* ---- Recordings ---- */
typedef struct trip { lt_host_memory host; char *device; lt_stream *branch; bool fails; } trip;

static lt_status queue_trip(void *ctx, lt_stream *st)
{
    trip *t = ctx;
    LT_TRY(lt_stream_copy(st, t->device, t->host.at, 40, LT_TRANSFER_H2D, t->host.pinned));
    LT_TRY(lt_stream_branch(st, t->branch));
    LT_TRY(lt_stream_copy(t->branch, t->device + 40, t->device, 40, LT_TRANSFER_D2D, false));
    lt_stream_note_copy(t->branch, LT_TRANSFER_H2D, true, 2); /* as by a kernel */
    LT_TRY(lt_stream_join(st, t->branch));
    if (t->fails) return LT_FAIL(LT_ERR_INTERNAL, "as asked");
    return lt_stream_copy(st, (char *)t->host.at + 40, t->device + 40, 40, LT_TRANSFER_D2H, t->host.pinned);
}

static void check_recording(lt_device *dev)
{
    lt_recording r = { 0 };
    trip t = { .fails = true };
    lt_stream *st;
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_stream_create(dev, &t.branch));
    LT_CHECK_OK(lt_host_memory_create(dev, 80, LT_PIN_ALWAYS, &t.host));
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 80, "x", (void **)&t.device));
    memset(t.host.at, 0, 80);
    LT_CHECK_FAILS(lt_recording_make(&r, st, queue_trip, &t), LT_ERR_INTERNAL, "as asked");
    LT_CHECK(!lt_recording_is_made(&r) && !st->capturing && !t.branch->capturing);
    t.fails = false;
    LT_CHECK_OK(lt_trace_start(NULL));
    LT_CHECK_OK(lt_recording_make(&r, st, queue_trip, &t));
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, true).count, 0); /* nothing has been copied */
    memset(t.host.at, 5, 40);
    LT_CHECK_OK(lt_recording_replay(&r, st));
    LT_CHECK_OK(lt_recording_replay(&r, st));
    LT_CHECK_OK(lt_stream_sync(st));
    lt_trace_stop();
    LT_CHECK(((char *)t.host.at)[79] == (computes(dev) ? 5 : 0));
    LT_CHECK(r.cost.of[LT_TRANSFER_H2D][true].count == 2 && r.cost.of[LT_TRANSFER_H2D][true].bytes == 42);
    LT_CHECK(r.cost.of[LT_TRANSFER_D2D][false].bytes == 40 && r.cost.of[LT_TRANSFER_D2H][true].bytes == 40);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, true).bytes, 84);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_D2H, true).bytes, 80);
    lt_trace_clear();
    lt_recording_drop(&r);
    LT_CHECK(!lt_recording_is_made(&r));
    LT_CHECK_FAILS(lt_recording_replay(&r, st), LT_ERR_ARGUMENT, "nothing captured");
    LT_CHECK_OK(lt_device_free(dev, NULL, t.device));
    lt_host_memory_release(&t.host);
    lt_stream_destroy(t.branch);
    lt_stream_destroy(st);
}
LT_TEST(recordings_count_their_copies_at_each_replay) { on_each_device(check_recording); }

/* ---- Speed of copies ---- */
static void check_transfers(lt_device *dev)
{
    double up, down;
    bool pinned = true;
    LT_CHECK_OK(lt_device_transfer_seconds(dev, 9 << 20, false, 1, &up, &down, &pinned));
    LT_CHECK(up > 0 && down > 0 && !pinned);
    LT_CHECK_OK(lt_device_transfer_seconds(dev, 9 << 20, true, 2, &up, &down, &pinned));
    LT_CHECK(up > 0 && down > 0 && pinned);
    LT_CHECK_FAILS(lt_device_transfer_seconds(dev, 0, true, 1, &up, &down, &pinned), LT_ERR_ARGUMENT, "0 bytes");
    LT_CHECK_FAILS(lt_device_transfer_seconds(dev, 8, true, 0, &up, &down, &pinned), LT_ERR_ARGUMENT, "0 rounds");
}
LT_TEST(copies_are_timed_both_ways) { on_each_device(check_transfers); }

LT_TEST_MAIN()
