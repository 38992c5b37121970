/* Memory of a device, and memory of the host that the device copies to and from.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_MEMORY_H
#define LT_DEVICE_MEMORY_H

#include "device/stream.h"

/* ---- How much there is ------------------------------------------------------- */
/* As the device itself counts: what its allocator keeps for later is not free. */
lt_status lt_device_free_memory(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes);
/* What can still be allocated: free, or kept by the allocator for the next request; its limit is respected. */
lt_status lt_device_available_memory(lt_device *dev, int64_t *bytes);

/* ---- Device memory that grows ------------------------------------------------ */
/* Zero-initialised is empty. Whoever holds the struct owns the memory. */
typedef struct lt_device_block { void *at; size_t bytes; } lt_device_block;
/* At least `bytes`; what was in it is lost when it must grow. owner as in lt_device_alloc. */
lt_status lt_device_block_reserve(lt_device *dev, lt_device_block *b, size_t bytes, const char *owner);
void      lt_device_block_release(lt_device *dev, lt_device_block *b);

/* ---- Host memory ------------------------------------------------------------- */
/* Page-locked memory is copied beside the host's work, and kernels may follow its addresses. Ordinary memory works as
   well, slower. Zero-initialised is empty; whoever holds the struct owns the memory, and dev must outlive it. */
typedef struct lt_host_memory {
    lt_device *dev;
    void      *at;
    size_t     bytes;
    bool       pinned;            /* page-locked */
} lt_host_memory;

#define LT_PIN_NEVER  INT64_C(-1) /* limits of lt_host_memory_create */
#define LT_PIN_ALWAYS INT64_MAX

/* 64-byte aligned, contents unspecified. Page-locked where `bytes` is at most `pin_limit` and the device can, else
   ordinary memory; LT_ERR_MEMORY when there is not even that. */
lt_status lt_host_memory_create(lt_device *dev, size_t bytes, int64_t pin_limit, lt_host_memory *out);
/* At least `bytes`, page-locked where the device can; what was in it is lost when it must grow. No copy of it may be under way then. */
lt_status lt_host_memory_reserve(lt_device *dev, lt_host_memory *m, size_t bytes);
void      lt_host_memory_release(lt_host_memory *m);

#endif
