/* The CPU device: its memory, its kernels, its table. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/alloc.h"
#include "base/status.h"

static int lt_cpu_count(void) { return 1; }

static lt_status lt_cpu_open(int ordinal, lt_device *dev)
{
    (void)ordinal;
    return lt_cpu_stream_create_inline(dev, &dev->stream);
}

static void lt_cpu_close(lt_device *dev) { lt_cpu_stream_destroy(dev->stream); }

static lt_status lt_cpu_mem_info(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes)
{
    (void)dev;
    *free_bytes = lt_cpu_memory_free();
    *total_bytes = lt_cpu_memory_total();
    return LT_OK;
}

/* The system promises more than it has and kills the process later; ask for the impossible
   and be refused here instead. */
static lt_status lt_cpu_alloc(lt_device *dev, size_t bytes, void **out)
{
    (void)dev;
    int64_t total = bytes > (size_t)1 << 30 ? lt_cpu_memory_total() : INT64_MAX;
    if (bytes > (size_t)total)
        return LT_FAIL(LT_ERR_MEMORY, "cpu: %zu bytes asked, this machine has %lld", bytes, (long long)total);
    *out = lt_malloc_aligned(bytes);
    return *out ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "cpu: the system gave no %zu bytes", bytes);
}

static lt_status lt_cpu_release(lt_device *dev, void *address)
{
    (void)dev;
    lt_free_aligned(address);
    return LT_OK;
}

/* All memory of the host is as good as page-locked to it. */
static lt_status lt_cpu_host_alloc(lt_device *dev, size_t bytes, void **out) { return lt_cpu_alloc(dev, bytes, out); }
static lt_status lt_cpu_host_release(lt_device *dev, void *address) { return lt_cpu_release(dev, address); }

static lt_status lt_cpu_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
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
        .name = "cpu", .flags = LT_DEVICE_HOST_KERNELS | LT_DEVICE_COMPUTES | LT_DEVICE_TRACES_ITSELF,
        LT_BACKEND_SLOTS(lt_cpu), .launch_all = lt_cpu_launch_all, .capture_share = lt_cpu_capture_share,
    };
    return &table;
}
