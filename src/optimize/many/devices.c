/* Several devices that share runs. A run opens its device by name, as a single one does; a problem keeps what it compiled for each. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/many/devices.h"

#include "base/status.h"
#include "lathe/device.h"

#include <stdio.h>
#include <string.h>

static lt_status split(const char *list, lt_shared_devices *d)
{
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof d->name[0]) return LT_FAIL(LT_ERR_ARGUMENT, "devices '%s': expected names with commas between them, as cuda:0,cuda:1", list);
        if (d->n == LT_SHARED_MOST) return LT_FAIL(LT_ERR_ARGUMENT, "devices '%s': more than %d", list, LT_SHARED_MOST);
        for (int i = 0; i < d->n; i++)
            if (strlen(d->name[i]) == length && !memcmp(d->name[i], at, length)) return LT_FAIL(LT_ERR_ARGUMENT, "devices '%s': %s is named twice", list, d->name[i]);
        snprintf(d->name[d->n++], sizeof d->name[0], "%.*s", (int)length, at);
        at += length;
        if (!*at) return LT_OK;
    }
}

static lt_status describe(const char *name, lt_device_info *out)
{
    lt_device *dev;
    LT_TRY(lt_device_open(name, &dev));
    lt_status s = lt_device_describe(dev, out);
    lt_device_close(dev);
    if (!s && !out->computes) s = LT_FAIL(LT_ERR_UNSUPPORTED, "device '%s' computes nothing", name);
    return s;
}

static lt_status check_alike(const lt_shared_devices *d)
{
    lt_device_info first = { .size = sizeof first }, other = { .size = sizeof other };
    LT_TRY(describe(d->name[0], &first));
    for (int i = 1; i < d->n; i++) {
        LT_TRY(describe(d->name[i], &other));
        if (strcmp(first.name, other.name) || strcmp(first.features, other.features))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s is a %s, %s a %s, and results would depend on which made them: name devices of one kind", d->name[0],
                           first.name, d->name[i], other.name);
    }
    return LT_OK;
}

lt_status lt_shared_devices_open(const lt_solve_options *opt, lt_shared_devices *out)
{
    *out = (lt_shared_devices){ .lock = PTHREAD_MUTEX_INITIALIZER };
    if (opt->device || !opt->device_name || !strchr(opt->device_name, ',')) return LT_OK;
    LT_TRY(split(opt->device_name, out));
    return check_alike(out);
}

int lt_shared_devices_take(lt_shared_devices *d, lt_solve_options *opt)
{
    int least = 0;
    if (!d->n) return -1;
    pthread_mutex_lock(&d->lock);
    for (int i = 1; i < d->n; i++)
        if (d->busy[i] < d->busy[least] || (d->busy[i] == d->busy[least] && d->runs[i] < d->runs[least])) least = i;
    d->busy[least]++;
    d->runs[least]++;
    pthread_mutex_unlock(&d->lock);
    opt->device_name = d->name[least];
    return least;
}

void lt_shared_devices_give(lt_shared_devices *d, int number)
{
    if (number < 0) return;
    pthread_mutex_lock(&d->lock);
    d->busy[number]--;
    pthread_mutex_unlock(&d->lock);
}
