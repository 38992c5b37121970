/* One matrix on several devices: each takes rows as it finishes, makes the states it needs, copies its part
   to the host. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/device.h"

#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct part {
    lt_device_gram        *d;
    lt_device_gram_request q;
    lt_gram_info      info;
    lt_gram_profile   profile;
    bool              profiled;
    pthread_t         thread;
    bool              started;
    lt_status         status;
    char              text[LT_ERROR_TEXT_BYTES];
} part;

static void *run_part(void *arg)
{
    part *p = arg;
    p->status = lt_device_gram_fill(p->d, &p->q, &p->info, p->profiled ? &p->profile : NULL);
    if (!p->status) return NULL;
    snprintf(p->text, sizeof p->text, "%s", lt_error_text());
    p->q.meter->stop = true; /* the others need not go on */
    return NULL;
}

static void merge(const part *all, int n, lt_gram_info *info, lt_gram_profile *profile)
{
    *info = all[0].info;
    if (profile) *profile = all[0].profile;
    for (int i = 1; i < n; i++) {
        const lt_gram_info *a = &all[i].info;
        const lt_gram_profile *p = &all[i].profile;
        info->device_seconds = LT_MAX(info->device_seconds, a->device_seconds);
        info->states_seconds = LT_MAX(info->states_seconds, a->states_seconds);
        info->product_seconds = LT_MAX(info->product_seconds, a->product_seconds);
        info->transfer_seconds = LT_MAX(info->transfer_seconds, a->transfer_seconds);
        info->tiles += a->tiles;
        info->states_built += a->states_built;
        info->repaired += a->repaired;
        info->peak_bytes += a->peak_bytes;
        if (!profile) continue;
        profile->peak_bytes += p->peak_bytes, profile->total_bytes += p->total_bytes;
        profile->h2d_bytes += p->h2d_bytes, profile->d2h_bytes += p->d2h_bytes;
        profile->h2d_seconds = LT_MAX(profile->h2d_seconds, p->h2d_seconds);
        profile->d2h_seconds = LT_MAX(profile->d2h_seconds, p->d2h_seconds);
        profile->kernel_launches += p->kernel_launches;
        profile->kernel_seconds += p->kernel_seconds;
    }
}

static void say_who(const part *all, int n, lt_gram_info *info)
{
    size_t used = strlen(info->plan);
    used += (size_t)snprintf(info->plan + used, sizeof info->plan - used, "\ndevices: %d; tiles of each:", n);
    for (int i = 0; i < n && used < sizeof info->plan; i++)
        used += (size_t)snprintf(info->plan + used, sizeof info->plan - used, " %lld", (long long)all[i].info.tiles);
}

/* The first one that failed by itself; one that stopped with the others says less. */
static lt_status first_failure(const part *all, int n)
{
    const part *worst = NULL;
    for (int i = 0; i < n; i++)
        if (all[i].status && (!worst || worst->status == LT_ERR_CANCELLED)) worst = &all[i];
    if (!worst) return LT_OK;
    lt_error_set(worst->text);
    return worst->status;
}

lt_status lt_device_gram_fill_shared(lt_device_gram *const *d, int n, const lt_device_gram_request *q, lt_gram_info *info, lt_gram_profile *profile)
{
    lt_device_gram_share share = { 0 };
    part all[LT_GRAM_MAX_DEVICES] = { 0 };
    for (int i = n - 1; i >= 0; i--) { /* the calling thread serves the first: it may speak to the progress function */
        all[i].d = d[i];
        all[i].q = *q;
        all[i].q.share = &share;
        all[i].q.leads = i == 0;
        all[i].info = *info;
        all[i].profiled = profile != NULL;
        all[i].started = i > 0 && !pthread_create(&all[i].thread, NULL, run_part, &all[i]);
        if (i == 0) run_part(&all[i]); /* a device whose thread did not start leaves its share to the others */
    }
    for (int i = 1; i < n; i++)
        if (all[i].started) pthread_join(all[i].thread, NULL);
    LT_TRY(first_failure(all, n));
    merge(all, n, info, profile);
    say_who(all, n, info);
    return LT_OK;
}
