/* Which GPUs share the rows of a dataset. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/sized.h"
#include "base/status.h"
#include "lathe/device.h"

#include <stdio.h>
#include <string.h>

/* Devices that are listed before GPUs: the CPU and null. */
enum { NO_GPUS = 2 };

static lt_status missing(int ordinal, int n_gpus)
{
    char here[64] = "there is no GPU here";
    if (n_gpus == 1) snprintf(here, sizeof here, "there is 1 GPU, number 0");
    else if (n_gpus > 1) snprintf(here, sizeof here, "there are %d GPUs, numbers 0 to %d", n_gpus, n_gpus - 1);
    return LT_FAIL(LT_ERR_ARGUMENT, "simulation.parallelism.devices names GPU %d: %s", ordinal, here);
}

static void add(lt_generate_devices *to, int ordinal)
{
    if (to->n < LT_GENERATE_MAX_DEVICES) snprintf(to->name[to->n++], sizeof to->name[0], "cuda:%d", ordinal);
}

/* Why a run of this configuration is one process; NULL: it may be several. */
static const char *one_process(const lt_dataset_config *c)
{
    if (c->engine.watchdog == LT_WATCHDOG_OFF) return "engine.watchdog is off";
    return c->features.clip_batch ? "engine.clip: batch needs all operators of a batch in one process" : NULL;
}

/* Opens the device to describe it. A GPU that cannot be used is an error that says why. */
static lt_status describe(const char *name, lt_device_info *out)
{
    lt_device *dev;
    LT_TRY(lt_device_open(name, &dev));
    lt_status s = lt_device_describe(dev, out);
    lt_device_close(dev);
    if (!s && !out->computes) s = LT_FAIL(LT_ERR_UNSUPPORTED, "%s cannot compute: there is no NVRTC for its kernels", name);
    return s;
}

static bool compute_alike(const lt_device_info *a, const lt_device_info *b) { return !strcmp(a->name, b->name) && !strcmp(a->features, b->features); }

/* Keeps the devices that are like the first: on others kernels differ, and with them the last bits of results. */
static lt_status keep_alike(bool listed, lt_generate_devices *d)
{
    int n = d->n;
    lt_device_info first = { .size = sizeof first }, info = { .size = sizeof info };
    d->n = 0;
    for (int i = 0; i < n; i++) {
        char why[200] = "";
        lt_status s = describe(d->name[i], &info);
        if (s && (listed || s != LT_ERR_UNSUPPORTED)) return s;
        if (s) lt_error_reason(why, sizeof why);
        else if (d->n && !compute_alike(&info, &first))
            snprintf(why, sizeof why, "it is a %s, %s a %s, and rows would depend on which made them", info.name, d->name[0], first.name);
        if (why[0] && listed) return LT_FAIL(LT_ERR_ARGUMENT, "simulation.parallelism.devices names %s: %s", d->name[i], why);
        if (why[0]) {
            if (!d->reason[0]) snprintf(d->reason, sizeof d->reason, "%s does not share the rows: %s", d->name[i], why);
            continue;
        }
        if (!d->n) first = info;
        memmove(d->name[d->n++], d->name[i], sizeof d->name[0]);
    }
    return LT_OK;
}

static lt_status choose(const lt_dataset_config *c, lt_generate_devices *out)
{
    int n_gpus = LT_MAX(lt_device_count() - NO_GPUS, 0);
    const char *alone = one_process(c);
    if (!strncmp(c->device, "cpu", 3) || !n_gpus) return LT_OK;
    if (!strncmp(c->device, "cuda:", 5)) {
        snprintf(out->name[out->n++], sizeof out->name[0], "%s", c->device);
        return LT_OK;
    }
    for (int i = 0; i < LT_GENERATE_MAX_DEVICES; i++) {
        bool named = c->devices >> i & 1;
        if (named && i >= n_gpus) return missing(i, n_gpus);
        if (named || (!c->devices && i < n_gpus)) add(out, i);
    }
    if (out->n == 1 && !c->devices) out->n = 0;
    if (out->n <= 1) return LT_OK;
    if (alone && c->devices)
        return LT_FAIL(LT_ERR_ARGUMENT, "simulation.parallelism.devices names %d GPUs, which need a worker process each: %s", out->n, alone);
    LT_TRY(keep_alike(c->devices, out));
    if (alone && out->n > 1) {
        snprintf(out->reason, sizeof out->reason, "1 of %d GPUs is used, since several need a worker process each: %s", out->n, alone);
        out->n = 1;
    }
    return LT_OK;
}

lt_status lt_generate_choose_devices(const lt_dataset_config *c, lt_generate_devices *out)
{
    if (!c || !out) return LT_FAIL(LT_ERR_ARGUMENT, "generate: %s is NULL", c ? "out" : "the configuration");
    LT_TRY(LT_CHECK_SIZE(lt_generate_devices, out));
    lt_generate_devices chosen = { .size = sizeof chosen };
    lt_status s = choose(c, &chosen);
    LT_GIVE(out, &chosen);
    return s;
}
