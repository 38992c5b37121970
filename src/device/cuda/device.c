/* Opening, describing and closing a CUDA device; its memory; its table.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/cuda.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/status.h"
#include "device/cuda/libraries.h"

#include <stdio.h>
#include <string.h>

/* ---- Faults ------------------------------------------------------------------------------ */
/* After these the context is dead: every later call of the process returns the same error. */
static bool is_sticky(unsigned r)
{
    return r == LT_CU_ERROR_ECC_UNCORRECTABLE || r == LT_CU_ERROR_UNKNOWN
        || (r >= LT_CU_ERROR_ILLEGAL_ADDRESS && r <= LT_CU_ERROR_LAUNCH_FAILED
            && (r == LT_CU_ERROR_ILLEGAL_ADDRESS || r == LT_CU_ERROR_LAUNCH_TIMEOUT || r == LT_CU_ERROR_CONTEXT_IS_DESTROYED
                || r == LT_CU_ERROR_ASSERT || r >= LT_CU_ERROR_HARDWARE_STACK_ERROR));
}

static lt_status say_lost(lt_cuda *c)
{
    return LT_FAIL(LT_ERR_DEVICE, "%s is lost since an earlier fault (%s): files already written stay, nothing more can "
                                  "run on it in this process; start again to use it", c->dev->id, c->lost_text);
}

lt_status lt_cuda_fail(lt_cuda *c, unsigned result, const char *what, const char *file, int line)
{
    const char *name = NULL, *text = NULL;
    (void)c->cu->cuGetErrorName(result, &name);
    (void)c->cu->cuGetErrorString(result, &text);
    if (!name) name = "unknown error";
    if (result == LT_CU_ERROR_OUT_OF_MEMORY) {
        size_t free_bytes = 0, total = 0;
        (void)c->cu->cuMemGetInfo_v2(&free_bytes, &total);
        return lt_fail_at(LT_ERR_MEMORY, file, line, "%s: %s: out of memory, %zu of %zu bytes are free; use smaller batches or "
                          "tiles, a narrower type, or end other programs on the device", c->dev->id, what, free_bytes, total);
    }
    if (is_sticky(result)) {
        pthread_mutex_lock(&c->lock);
        if (!c->lost) snprintf(c->lost_text, sizeof c->lost_text, "%s: %s", what, name);
        c->lost = true;
        pthread_mutex_unlock(&c->lock);
        return lt_fail_at(LT_ERR_DEVICE, file, line, "%s: %s: %s, %s; the device is lost to this process: files already written "
                          "stay, start again to use it", c->dev->id, what, name, text ? text : "?");
    }
    return lt_fail_at(LT_ERR_DEVICE, file, line, "%s: %s: %s, %s", c->dev->id, what, name, text ? text : "?");
}

lt_status lt_cuda_enter(lt_cuda *c)
{
    if (c->lost) return say_lost(c);
    LT_CUDA_TRY(c, "making the device current", c->cu->cuCtxSetCurrent(c->context));
    return LT_OK;
}

/* ---- Opening ------------------------------------------------------------------------------ */
static int lt_cuda_count(void)
{
    const lt_cuda_driver *cu;
    int n = 0;
    if (lt_cuda_driver_open(&cu)) return 0;
    if (cu->cuDeviceGetCount(&n) || n < 1) {
        (void)LT_FAIL(LT_ERR_UNSUPPORTED, "the NVIDIA driver is here, but no GPU");
        return 0;
    }
    return n;
}

static int attribute(const lt_cuda *c, unsigned which)
{
    int value = 0;
    return c->cu->cuDeviceGetAttribute(&value, which, c->device) ? 0 : value;
}

#define SM_MIN 80 /* bf16 conversions and asynchronous copies are taken for granted */

static lt_status read_limits(lt_cuda *c)
{
    c->sm = 10 * attribute(c, LT_CU_ATTRIBUTE_SM_MAJOR) + attribute(c, LT_CU_ATTRIBUTE_SM_MINOR);
    c->dev->generation = c->sm;
    c->n_multiprocessors = attribute(c, LT_CU_ATTRIBUTE_MULTIPROCESSORS);
    c->dev->shared_bytes = (size_t)attribute(c, LT_CU_ATTRIBUTE_SHARED_BYTES_OPTIN);
    (void)c->cu->cuDriverGetVersion(&c->driver_version);
    int64_t early;
    LT_TRY(lt_config_int(LT_CONFIG_CUDA_EARLY, 0, 1, 1, &early));
    c->early = early && c->sm >= 90;
    if (c->sm < SM_MIN)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s has compute capability %d.%d, expected %d.%d or later", c->dev->id, c->sm / 10,
                       c->sm % 10, SM_MIN / 10, SM_MIN % 10);
    return LT_OK;
}

static lt_status lt_cuda_open(int ordinal, lt_device *dev)
{
    const lt_cuda_driver *cu;
    LT_TRY(lt_cuda_driver_open(&cu));
    lt_cuda *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "cuda: %zu bytes for the device", sizeof *c);
    c->cu = cu;
    c->dev = dev;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->made, NULL);
    dev->state = c;
    LT_CUDA_TRY(c, "finding the device", cu->cuDeviceGet(&c->device, ordinal));
    LT_TRY(read_limits(c));
    LT_CUDA_TRY(c, "opening the device", cu->cuDevicePrimaryCtxRetain(&c->context, c->device));
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "page-locking a word", cu->cuMemHostAlloc((void **)&c->fault, LT_CUDA_FAULT_WORDS * sizeof *c->fault, LT_CU_HOST_ALLOC_PORTABLE));
    *c->fault = LT_CUDA_FAULT_NONE;
    return lt_cuda_stream_create(dev, &dev->stream);
}

static void lt_cuda_close(lt_device *dev)
{
    lt_cuda *c = dev->state;
    if (!c) return;
    if (dev->stream) lt_cuda_stream_destroy(dev->stream);
    lt_cuda_libraries_close(c);
    lt_cuda_modules_unload(c);
    lt_cuda_host_release_all(c);
    if (c->fault) (void)c->cu->cuMemFreeHost(c->fault);
    if (c->context) (void)c->cu->cuDevicePrimaryCtxRelease_v2(c->device);
    pthread_cond_destroy(&c->made);
    pthread_mutex_destroy(&c->lock);
    lt_free(c);
}

/* ---- Describing --------------------------------------------------------------------------- */
/* "sm_90, 4915 GB/s by clock, nvrtc 13.0"; false when its kernels cannot be compiled */
static bool describe_features(lt_cuda *c, char *out, size_t bytes)
{
    const lt_nvrtc *rtc;
    int major, minor, n = snprintf(out, bytes, "sm_%d", c->sm);
    int khz = attribute(c, LT_CU_ATTRIBUTE_MEMORY_CLOCK_RATE), bits = attribute(c, LT_CU_ATTRIBUTE_MEMORY_BUS_WIDTH);
    if (khz > 0 && bits > 0) n += snprintf(out + n, bytes - (size_t)n, ", %.0f GB/s by clock", 2e-6 * khz * bits / 8);
    bool compiles = !lt_nvrtc_open(&rtc, &major, &minor);
    if (compiles) snprintf(out + n, bytes - (size_t)n, ", nvrtc %d.%d", major, minor);
    else snprintf(out + n, bytes - (size_t)n, ", no nvrtc");
    return compiles;
}

static lt_status lt_cuda_describe(lt_device *dev, lt_device_info *out)
{
    lt_cuda *c = lt_cuda_of(dev);
    size_t free_bytes, total;
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "reading its name", c->cu->cuDeviceGetName(out->name, sizeof out->name, c->device));
    LT_CUDA_TRY(c, "reading its memory", c->cu->cuMemGetInfo_v2(&free_bytes, &total));
    out->computes = describe_features(c, out->features, sizeof out->features);
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", c->driver_version / 1000, c->driver_version % 1000 / 10);
    out->cores = c->n_multiprocessors;
    out->memory_total_bytes = (int64_t)total;
    out->memory_free_bytes = (int64_t)free_bytes;
    out->cache_bytes[0] = attribute(c, LT_CU_ATTRIBUTE_SHARED_BYTES_PER_SM);
    out->cache_bytes[1] = attribute(c, LT_CU_ATTRIBUTE_L2_BYTES);
    return LT_OK;
}

/* ---- Memory ------------------------------------------------------------------------------- */
static lt_status lt_cuda_mem_info(lt_device *dev, int64_t *free_bytes, int64_t *total_bytes)
{
    lt_cuda *c = lt_cuda_of(dev);
    size_t f, t;
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "reading its memory", c->cu->cuMemGetInfo_v2(&f, &t));
    *free_bytes = (int64_t)f;
    *total_bytes = (int64_t)t;
    return LT_OK;
}

static lt_status lt_cuda_alloc(lt_device *dev, size_t bytes, void **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    lt_cu_address address;
    char what[64];
    LT_TRY(lt_cuda_enter(c));
    snprintf(what, sizeof what, "allocating %zu bytes", bytes);
    LT_CUDA_TRY(c, what, c->cu->cuMemAlloc_v2(&address, LT_MAX(bytes, 1)));
    *out = (void *)(uintptr_t)address;
    return LT_OK;
}

static lt_status lt_cuda_release(lt_device *dev, void *address)
{
    lt_cuda *c = lt_cuda_of(dev);
    if (!address || c->lost) return LT_OK; /* a lost context has taken its memory along */
    LT_TRY(lt_cuda_enter(c));
    LT_CUDA_TRY(c, "releasing memory", c->cu->cuMemFree_v2(lt_cuda_address(address)));
    return LT_OK;
}

/* ---- The table ---------------------------------------------------------------------------- */
const lt_backend *lt_backend_cuda(void)
{
    static const lt_backend table = {
        .name = "cuda", .flags = LT_DEVICE_OWN_MEMORY | LT_DEVICE_TEXT_KERNELS | LT_DEVICE_COMPUTES,
        LT_BACKEND_SLOTS(lt_cuda), .await = lt_cuda_await, .launch_all = lt_cuda_launch_all, .have_code = lt_cuda_have_code,
    };
    return &table;
}
