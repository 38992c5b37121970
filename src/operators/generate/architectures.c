/* What is done for all architectures of a dataset before the first of them runs: whether they fit on the device, and their
   kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "device/block_cache.h"
#include "device/flags.h"
#include "device/memory.h"
#include "operators/features/device/device.h"
#include "operators/rollout/device/device.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_specs(const void *a, const void *b)
{
    return lt_architecture_compare(*(const lt_operator_spec *const *)a, *(const lt_operator_spec *const *)b);
}

/* One operator of each architecture among n rows; row NULL: all rows. The caller frees the list. */
static lt_status distinct(const lt_generator *g, const int64_t *row, int64_t n, const lt_operator_spec ***out, int64_t *count)
{
    const lt_operator_spec **spec = lt_malloc((size_t)LT_MAX(n, 1) * sizeof *spec);
    *count = 0;
    if (!(*out = spec)) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) spec[i] = &g->rows.spec[row ? row[i] : i];
    qsort((void *)spec, (size_t)n, sizeof *spec, compare_specs);
    for (int64_t i = 0; i < n; i++)
        if (!i || lt_architecture_compare(spec[*count - 1], spec[i])) spec[(*count)++] = spec[i];
    return LT_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

enum { PLANNED_GRAPHS = 4 }; /* planning one takes milliseconds, so only the largest are planned */

/* The largest maps first. */
static int compare_sizes(const void *a, const void *b)
{
    const lt_operator_spec *x = *(const lt_operator_spec *const *)a, *y = *(const lt_operator_spec *const *)b;
    if (x->grid != y->grid) return x->grid > y->grid ? -1 : 1;
    return x->base_channels != y->base_channels ? (x->base_channels > y->base_channels ? -1 : 1) : lt_architecture_compare(y, x);
}

/* Bytes of the features that are measured where the states are. */
static lt_status feature_bytes(const lt_generator *g, int grid, int64_t *out)
{
    char why[160];
    *out = 0;
    if (!g->plan.temporal_columns && !g->plan.summary_columns) return LT_OK;
    if (!lt_device_features_fit(g->set, grid, g->c->realizations, g->c->steps, why)) return LT_OK;
    return lt_device_features_need(g->set, grid, g->c->realizations, g->c->steps, out);
}

/* The device's allocator takes whole segments. */
static int64_t segment(int64_t bytes) { return bytes ? (int64_t)lt_block_cache_segment_bytes((size_t)bytes) : 0; }

/* The device with the least memory that is free. */
typedef struct tightest { char name[16]; int64_t available; } tightest;

static lt_status find_tightest(const lt_generator *g, tightest *out)
{
    snprintf(out->name, sizeof out->name, "%s", lt_device_id(g->opt->device));
    LT_TRY(lt_device_available_memory(g->opt->device, &out->available));
    for (int i = 1; i < g->opt->n_devices; i++) {
        lt_device *dev;
        int64_t available = 0;
        LT_TRY(lt_device_open(g->opt->devices[i], &dev));
        lt_status s = lt_device_available_memory(dev, &available);
        lt_device_close(dev);
        if (s) return s;
        if (available >= out->available) continue;
        out->available = available;
        snprintf(out->name, sizeof out->name, "%s", g->opt->devices[i]);
    }
    return LT_OK;
}

static lt_status check_one(const lt_generator *g, const lt_operator_spec *spec, int64_t features, const tightest *on, bool graphs, bool *exact)
{
    lt_rollout_need need;
    lt_status s = lt_device_rollout_plan(spec, &g->rollout, on->available, graphs, &need);
    *exact = s || need.exact;
    if (!s && segment(need.step_bytes) + segment(need.state_bytes) + segment(features) > on->available)
        s = LT_FAIL(LT_ERR_MEMORY, "rollout: it needs %s%lld bytes for activations, %lld for states and weights and %lld for features, of %lld that are free",
                    need.exact ? "" : "at least ", (long long)need.step_bytes, (long long)need.state_bytes, (long long)features, (long long)on->available);
    return s == LT_ERR_MEMORY ? lt_rollout_refuse_size(spec, &g->rollout, on->name) : s;
}

lt_status lt_generator_check_memory(const lt_generator *g, const int64_t *row, int64_t n)
{
    const lt_operator_spec **spec;
    int64_t count, features = 0;
    tightest on;
    int grid = 0, graphs = 0;
    if (!lt_device_has(g->opt->device, LT_DEVICE_OWN_MEMORY)) return LT_OK; /* on the CPU the system provides memory as it is used */
    LT_TRY(find_tightest(g, &on));
    lt_status s = distinct(g, row, n, &spec, &count);
    if (!s) qsort((void *)spec, (size_t)count, sizeof *spec, compare_sizes);
    for (int64_t i = 0; i < count && !s; i++) {
        bool exact = true;
        if (spec[i]->grid != grid) s = feature_bytes(g, grid = spec[i]->grid, &features);
        if (!s) s = check_one(g, spec[i], features, &on, graphs < PLANNED_GRAPHS, &exact);
        graphs += !exact;
    }
    lt_free((void *)spec);
    return s;
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */

typedef struct preparation { const lt_generator *g; const lt_operator_spec **spec; int64_t n, first; } preparation;

static lt_status prepare_one(void *ctx, int64_t i, int worker)
{
    const preparation *p = ctx;
    (void)worker;
    if (p->g->opt->stop && *p->g->opt->stop) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    LT_TRY(lt_device_rollout_prepare(p->spec[(p->first + i) % p->n], &p->g->rollout));
    if (p->g->beat) p->g->beat(p->g->beat_ctx, -1, 0);
    return LT_OK;
}

lt_status lt_generator_prepare_kernels(lt_generator *g)
{
    int64_t start = lt_clock_ns();
    preparation p = { .g = g };
    lt_span span = lt_span_begin("kernels");
    lt_status s = distinct(g, g->order, g->n_order, &p.spec, &p.n);
    while (!s && p.first < p.n - 1 && lt_architecture_compare(p.spec[p.first], &g->rows.spec[g->order[0]])) p.first++;
    if (!s) s = lt_pool_run(lt_device_pool(g->opt->device), p.n, prepare_one, &p);
    lt_span_end(span);
    lt_free((void *)p.spec);
    g->info->warmup_seconds += 1e-9 * (double)(lt_clock_ns() - start);
    return s;
}
