/* The registry of devices: names, opening, describing. SPDX-License-Identifier: BSD-3-Clause */
#include "device/backend.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/block_cache.h"
#include "device/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Best last: "auto" takes the last one that opens and computes. */
static const struct { const char *name; const lt_backend *(*get)(void); bool numbered; } registry[] = {
    { "cpu", lt_backend_cpu, false },
    { "null", lt_backend_null, false },
    { "cuda", lt_backend_cuda, true },
};

/* Which of several devices of a kind is meant where no number is said (decision 255). */
static int preferred;

void lt_device_prefer(int number) { preferred = number; }

static int count_of(size_t row)
{
    const lt_backend *be = registry[row].get();
    return be ? be->count() : 0;
}

int lt_device_count(void)
{
    int n = 0;
    for (size_t i = 0; i < LT_LEN(registry); i++) n += count_of(i);
    return n;
}

/* "cpu, null, cuda:0, cuda:1" */
static void list_devices(char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < LT_LEN(registry); i++) {
        int n = count_of(i);
        for (int k = 0; k < n && used < bytes; k++) {
            const char *comma = used ? ", " : "";
            used += (size_t)(registry[i].numbered
                                 ? snprintf(out + used, bytes - used, "%s%s:%d", comma, registry[i].name, k)
                                 : snprintf(out + used, bytes - used, "%s%s", comma, registry[i].name));
        }
    }
}

/* Splits "name" or "name:ordinal" and finds the row. */
static lt_status parse_name(const char *name, size_t *row, int *ordinal)
{
    char here[128];
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    *ordinal = 0;
    for (*row = 0; *row < LT_LEN(registry); (*row)++)
        if (strlen(registry[*row].name) == length && memcmp(registry[*row].name, name, length) == 0) break;
    if (*row == LT_LEN(registry)) {
        list_devices(here, sizeof here);
        return LT_FAIL(LT_ERR_ARGUMENT, "no device '%.40s'; expected auto, or one of those here: %s", name, here);
    }
    if (!colon) {
        *ordinal = registry[*row].numbered ? preferred % LT_MAX(count_of(*row), 1) : 0;
        return LT_OK;
    }
    char *end;
    long value = strtol(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || value > 9999)
        return LT_FAIL(LT_ERR_ARGUMENT, "device '%.40s': expected a number from 0 to 9999 after the colon", name);
    *ordinal = (int)value;
    return LT_OK;
}

static lt_status resolve(const char *name, size_t *row, int *ordinal)
{
    char here[128];
    if (!name || !*name) return LT_FAIL(LT_ERR_ARGUMENT, "no device named; expected auto, cpu, null or cuda[:i]");
    LT_TRY(parse_name(name, row, ordinal));
    int n = count_of(*row);
    if (*ordinal < n) return LT_OK;
    char why[480] = "";
    if (!n) lt_error_reason(why, sizeof why);
    list_devices(here, sizeof here);
    if (!n) return LT_FAIL(LT_ERR_UNSUPPORTED, "device '%s' cannot run: %s; devices here: %s", name, why, here);
    return LT_FAIL(LT_ERR_ARGUMENT, "device '%s': ordinal %d is out of range, there %s %d; devices here: %s", name, *ordinal,
                   n == 1 ? "is" : "are", n, here);
}

static lt_status open_row(size_t row, int ordinal, lt_device **out)
{
    lt_device *dev = lt_calloc(1, sizeof *dev);
    if (!dev) return LT_FAIL(LT_ERR_MEMORY, "device: %zu bytes for the handle", sizeof *dev);
    dev->backend = registry[row].get();
    dev->ordinal = ordinal;
    snprintf(dev->id, sizeof dev->id, registry[row].numbered ? "%s:%d" : "%s", registry[row].name, ordinal);
    lt_status s = LT_OK;
    dev->pool = lt_pool_shared();
    if (!dev->pool) s = LT_ERR_MEMORY; /* its text is set */
    if (!s) s = dev->backend->open(ordinal, dev);
    if (!s) s = lt_block_cache_create(dev, &dev->cache);
    if (s) { lt_device_close(dev); return s; }
    *out = dev;
    return LT_OK;
}

/* A GPU that cannot be used, too old or without a compiler for its kernels, is passed over. */
static lt_status open_best(lt_device **out)
{
    lt_device_info info = { .size = sizeof info };
    for (size_t row = LT_LEN(registry); row-- > 0;) {
        const lt_backend *be = registry[row].get();
        if (!be || !(be->flags & LT_DEVICE_COMPUTES) || be->count() < 1) continue;
        lt_status s = open_row(row, preferred % be->count(), out);
        if (!s && !(s = lt_device_describe(*out, &info)) && info.computes) return LT_OK;
        if (*out) lt_device_close(*out);
        *out = NULL;
        if (s && s != LT_ERR_UNSUPPORTED) return s; /* one that failed or is full is not silently replaced */
    }
    return LT_FAIL(LT_ERR_UNSUPPORTED, "no device that computes");
}

lt_status lt_device_open(const char *name, lt_device **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "device: out is NULL");
    size_t row;
    int ordinal;
    *out = NULL;
    if (name && strcmp(name, "auto") == 0) return open_best(out);
    LT_TRY(resolve(name, &row, &ordinal));
    return open_row(row, ordinal, out);
}

void lt_device_close(lt_device *dev)
{
    if (!dev) return;
    if (dev->stream) (void)dev->backend->sync(dev->stream);
    lt_block_cache_destroy(dev->cache);
    dev->backend->close(dev);
    lt_free(dev);
}

lt_status lt_device_list(int index, lt_device_info *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "device: out is NULL");
    int at = index;
    for (size_t i = 0; index >= 0 && i < LT_LEN(registry); i++) {
        int n = count_of(i);
        if (at >= n) { at -= n; continue; }
        lt_device *dev;
        LT_TRY(open_row(i, at, &dev));
        lt_status s = lt_device_describe(dev, out);
        lt_device_close(dev);
        return s;
    }
    return LT_FAIL(LT_ERR_ARGUMENT, "device number %d: there are %d", index, lt_device_count());
}

static lt_status check_open(const lt_device *dev)
{
    return dev ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "the device is NULL");
}

lt_status lt_device_describe(lt_device *dev, lt_device_info *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "device: out is NULL");
    LT_TRY(LT_CHECK_SIZE(lt_device_info, out));
    LT_TRY(check_open(dev));
    lt_device_info info = { .size = sizeof info };
    snprintf(info.id, sizeof info.id, "%s", dev->id);
    info.own_memory = lt_device_has(dev, LT_DEVICE_OWN_MEMORY);
    LT_TRY(dev->backend->describe(dev, &info));
    LT_GIVE(out, &info);
    return LT_OK;
}

static const lt_backend *backend_of(const lt_device *dev) { return dev ? dev->backend : lt_backend_cpu(); }

bool        lt_device_has(const lt_device *dev, unsigned flags) { return (backend_of(dev)->flags & flags) == flags; }
const char *lt_device_kind(const lt_device *dev) { return backend_of(dev)->name; }
int         lt_device_generation(const lt_device *dev) { return dev ? dev->generation : 0; }
size_t      lt_device_shared_bytes(const lt_device *dev) { return dev ? dev->shared_bytes : 0; }

const char *lt_device_id(const lt_device *dev) { return dev ? dev->id : ""; }

lt_status lt_device_memory(lt_device *dev, lt_memory_stats *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "device memory: out is NULL");
    LT_TRY(LT_CHECK_SIZE(lt_memory_stats, out));
    LT_TRY(check_open(dev));
    lt_memory_stats stats = { .size = sizeof stats };
    lt_block_cache_stats(dev->cache, &stats);
    stats.size = sizeof stats;
    LT_GIVE(out, &stats);
    return LT_OK;
}

lt_status lt_device_memory_limit(lt_device *dev, int64_t limit_bytes)
{
    LT_TRY(check_open(dev));
    if (limit_bytes < 0) return LT_FAIL(LT_ERR_ARGUMENT, "memory limit is %lld, expected 0 or more", (long long)limit_bytes);
    lt_block_cache_limit(dev->cache, limit_bytes);
    return LT_OK;
}

lt_status lt_device_memory_trim(lt_device *dev)
{
    LT_TRY(check_open(dev));
    return lt_block_cache_trim(dev->cache);
}
