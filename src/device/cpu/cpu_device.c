/* The CPU device: its memory, its kernels, its table. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/alloc.h"
#include "base/status.h"

static int count_devices(void) { return 1; }

static lt_status open_device(int ordinal, lt_device *dev)
{
    (void)ordinal;
    return lt_cpu_stream_create_inline(dev, &dev->stream);
}

static void close_device(lt_device *dev) { lt_cpu_stream_destroy(dev->stream); }

static lt_status mem_info(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes)
{
    (void)dev;
    *free_bytes = lt_cpu_memory_free();
    *total_bytes = lt_cpu_memory_total();
    return LT_OK;
}

/* The system promises more than it has and kills the process later; ask for the impossible
   and be refused here instead. */
static lt_status alloc_bytes(lt_device *dev, size_t bytes, void **out)
{
    (void)dev;
    int64_t total = bytes > (size_t)1 << 30 ? lt_cpu_memory_total() : INT64_MAX;
    if (bytes > (size_t)total)
        return LT_FAIL(LT_ERR_MEMORY, "cpu: %zu bytes asked, this machine has %lld", bytes, (long long)total);
    *out = lt_malloc_aligned(bytes);
    return *out ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "cpu: the system gave no %zu bytes", bytes);
}

static lt_status release_bytes(lt_device *dev, void *address)
{
    (void)dev;
    lt_free_aligned(address);
    return LT_OK;
}

static lt_status build_kernel(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    if (!key->host) return LT_FAIL(LT_ERR_UNSUPPORTED, "cpu: '%s' is source text for another device", key->name);
    if (key->host->n_args < 0 || key->host->n_args > LT_KERNEL_MAX_ARGS)
        return LT_FAIL(LT_ERR_ARGUMENT, "cpu: '%s' takes %d arguments, at most %d are possible", key->name,
                       key->host->n_args, LT_KERNEL_MAX_ARGS);
    *out = key->host;
    return LT_OK;
}

const lt_backend *lt_backend_cpu(void)
{
    static const lt_backend table = {
        .name = "cpu", .count = count_devices, .open = open_device, .close = close_device,
        .describe = lt_cpu_describe, .mem_info = mem_info,
        .alloc = alloc_bytes, .release = release_bytes, .host_alloc = alloc_bytes, .host_release = release_bytes,
        .stream_create = lt_cpu_stream_create, .stream_destroy = lt_cpu_stream_destroy, .sync = lt_cpu_sync,
        .copy = lt_cpu_copy, .fill = lt_cpu_fill, .build = build_kernel,
        .launch = lt_cpu_launch, .launch_all = lt_cpu_launch_all,
        .event_create = lt_cpu_event_create, .event_destroy = lt_cpu_event_destroy,
        .event_record = lt_cpu_event_record, .event_wait = lt_cpu_event_wait, .event_sync = lt_cpu_event_sync,
        .event_query = lt_cpu_event_query, .event_elapsed = lt_cpu_event_elapsed,
        .capture_begin = lt_cpu_capture_begin, .capture_share = lt_cpu_capture_share, .capture_end = lt_cpu_capture_end,
        .capture_abort = lt_cpu_capture_abort, .replay = lt_cpu_replay, .rebind = lt_cpu_rebind,
        .capture_destroy = lt_cpu_capture_destroy,
    };
    return &table;
}
