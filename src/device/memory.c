/* Memory of a device and of the host beside it. SPDX-License-Identifier: BSD-3-Clause */
#include "device/memory.h"

#include "base/alloc.h"
#include "base/status.h"

/* ---- How much there is ------------------------------------------------------------------------ */
lt_status lt_device_free_memory(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes)
{
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "free memory: the device is NULL");
    return dev->backend->mem_info(dev, free_bytes, total_bytes);
}

lt_status lt_device_available_memory(lt_device *dev, int64_t *bytes)
{
    int64_t total;
    lt_memory_stats m = { .size = sizeof m };
    LT_TRY(lt_device_free_memory(dev, bytes, &total));
    LT_TRY(lt_device_memory(dev, &m));
    *bytes += m.reserved_bytes - m.in_use_bytes;
    if (m.limit_bytes) *bytes = LT_MAX(0, LT_MIN(*bytes, m.limit_bytes - m.in_use_bytes));
    return LT_OK;
}

/* ---- Device memory that grows ------------------------------------------------------------------ */
void lt_device_block_release(lt_device *dev, lt_device_block *b)
{
    if (b->at) (void)lt_device_free(dev, NULL, b->at);
    *b = (lt_device_block){ 0 };
}

lt_status lt_device_block_reserve(lt_device *dev, lt_device_block *b, size_t bytes, const char *owner)
{
    if (b->bytes >= bytes) return LT_OK;
    lt_device_block_release(dev, b);
    LT_TRY(lt_device_alloc(dev, NULL, bytes, owner, &b->at));
    b->bytes = bytes;
    return LT_OK;
}

/* ---- Host memory ------------------------------------------------------------------------------- */
lt_status lt_host_memory_create(lt_device *dev, size_t bytes, int64_t pin_limit, lt_host_memory *out)
{
    *out = (lt_host_memory){ .dev = dev, .bytes = bytes };
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "host memory: the device is NULL");
    out->pinned = pin_limit >= 0 && (uint64_t)bytes <= (uint64_t)pin_limit && dev->backend->host_alloc(dev, LT_MAX(bytes, 1), &out->at) == LT_OK;
    if (!out->pinned) out->at = lt_malloc_aligned(LT_MAX(bytes, 1));
    if (out->at) return LT_OK;
    *out = (lt_host_memory){ 0 };
    return LT_FAIL(LT_ERR_MEMORY, "%zu bytes of host memory to exchange with %s", bytes, dev->id);
}

void lt_host_memory_release(lt_host_memory *m)
{
    if (m->pinned) (void)m->dev->backend->host_release(m->dev, m->at);
    else lt_free_aligned(m->at);
    *m = (lt_host_memory){ 0 };
}

lt_status lt_host_memory_reserve(lt_device *dev, lt_host_memory *m, size_t bytes)
{
    if (m->at && m->bytes >= bytes) return LT_OK;
    lt_host_memory_release(m);
    return lt_host_memory_create(dev, bytes, LT_PIN_ALWAYS, m);
}
