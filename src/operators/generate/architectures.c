/* What is done for all architectures of a dataset before the first of them runs: whether they fit on the device, and their
   kernels. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "device/block_cache.h"
#include "device/build_list.h"
#include "device/flags.h"
#include "device/memory.h"
#include "operators/features/device/device.h"
#include "operators/rollout/device/device.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An architecture, by the first of the rows that has it. */
typedef struct needed { const lt_operator_spec *spec; int64_t first; } needed;

static int compare_needed(const void *a, const void *b)
{
    const needed *x = a, *y = b;
    int order = lt_architecture_compare(x->spec, y->spec);
    return order ? order : x->first < y->first ? -1 : x->first > y->first;
}

/* The architectures among n rows; row NULL: all rows. The caller frees the list. */
static lt_status distinct(const lt_generator *g, const int64_t *row, int64_t n, needed **out, int64_t *count)
{
    needed *list = lt_malloc((size_t)LT_MAX(n, 1) * sizeof *list);
    *count = 0;
    if (!(*out = list)) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) list[i] = (needed){ &g->rows.spec[row ? row[i] : i], i };
    qsort(list, (size_t)n, sizeof *list, compare_needed);
    for (int64_t i = 0; i < n; i++)
        if (!i || lt_architecture_compare(list[*count - 1].spec, list[i].spec)) list[(*count)++] = list[i];
    return LT_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

enum { PLANNED_GRAPHS = 4 }; /* planning one takes milliseconds, so only the largest are planned */

/* The largest maps first. */
static int compare_sizes(const void *a, const void *b)
{
    const lt_operator_spec *x = ((const needed *)a)->spec, *y = ((const needed *)b)->spec;
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
    needed *list;
    int64_t count, features = 0;
    tightest on;
    int grid = 0, graphs = 0;
    if (!lt_device_has(g->opt->device, LT_DEVICE_OWN_MEMORY)) return LT_OK; /* on the CPU the system provides memory as it is used */
    LT_TRY(find_tightest(g, &on));
    lt_status s = distinct(g, row, n, &list, &count);
    if (!s) qsort(list, (size_t)count, sizeof *list, compare_sizes);
    for (int64_t i = 0; i < count && !s; i++) {
        bool exact = true;
        if (list[i].spec->grid != grid) s = feature_bytes(g, grid = list[i].spec->grid, &features);
        if (!s) s = check_one(g, list[i].spec, features, &on, graphs < PLANNED_GRAPHS, &exact);
        graphs += !exact;
    }
    lt_free(list);
    return s;
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */

static int compare_first(const void *a, const void *b)
{
    const needed *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static bool measures_on_device(const lt_generator *g, int grid)
{
    char why[160];
    return (g->plan.temporal_columns || g->plan.summary_columns) && lt_device_features_fit(g->set, grid, g->c->realizations, g->c->steps, why);
}

/* Texts of all architectures, those of the first row first; as many as the device keeps. */
static lt_status note_texts(const lt_generator *g, lt_build_list *l)
{
    lt_rollout_options opt = g->rollout;
    needed *list;
    int64_t n;
    lt_status s = distinct(g, g->order, g->n_order, &list, &n);
    if (!s) qsort(list, (size_t)n, sizeof *list, compare_first);
    opt.device = lt_build_list_device(l);
    for (int64_t i = 0; i < n && !s && lt_build_list_texts(l) < LT_BUILDS_KEPT; i++) {
        int grid = list[i].spec->grid;
        bool new_grid = !i || list[i - 1].spec->grid != grid;
        if (new_grid && measures_on_device(g, grid)) s = lt_device_features_prepare(opt.device, g->set, grid, g->c->realizations, g->c->steps);
        if (!s) s = lt_device_rollout_prepare(list[i].spec, &opt);
    }
    lt_free(list);
    return s;
}

/* What is compiled while rows run (decision 430). */
struct lt_compile_ahead {
    lt_generator  *g;
    lt_build_list *list;
    pthread_t      thread;
    bool           started;               /* the thread; without it rows compile what they need */
    atomic_bool    enough;                /* no row is left that would want more */
};

static lt_status before_text(void *ctx)
{
    const lt_compile_ahead *a = ctx;
    if (lt_generator_stopped(a->g) || atomic_load(&a->enough)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
    if (a->g->beat) a->g->beat(a->g->beat_ctx, -1, 0);
    return LT_OK;
}

lt_status lt_generator_note_step(const lt_generator *g, const char *kind)
{
    return kind[0] && g->c->kind == LT_OPERATOR_CNN && !g->opt->mixed_devices ? lt_store_note_step(g->store, kind) : LT_OK;
}

static lt_status settle_step(const lt_generator *g)
{
    lt_step_choice step = { .kind = "graph" };
    if (!g->rollout.plain_step) {
        LT_TRY(lt_device_rollout_settle(g->opt->device, g->c->precision, &step));
        snprintf(g->info->step_reason, sizeof g->info->step_reason, "%s", step.reason);
    }
    snprintf(g->info->step, sizeof g->info->step, "%s", step.kind);
    return lt_generator_note_step(g, step.kind);
}

/* Who needs a text that does not compile meets the failure again. */
static void *compile_ahead(void *ctx)
{
    lt_compile_ahead *a = ctx;
    lt_trace_thread_name("kernels ahead");
    (void)lt_build_list_compile(a->list, lt_device_pool(a->g->opt->device), before_text, a);
    return NULL;
}

void lt_compile_ahead_stop(lt_compile_ahead *a)
{
    if (!a) return;
    atomic_store(&a->enough, true);
    if (a->started) pthread_join(a->thread, NULL);
    lt_build_list_destroy(a->list);
    lt_free(a);
}

static lt_status start(lt_compile_ahead *a)
{
    lt_generator *g = a->g;
    int64_t missing;
    LT_TRY(lt_build_list_create(g->opt->device, &a->list));
    LT_TRY(note_texts(g, a->list));
    LT_TRY(lt_build_list_find(a->list, lt_device_pool(g->opt->device), &missing));
    if (!missing) return lt_build_list_run(a->list, lt_device_pool(g->opt->device), before_text, a);
    a->started = !pthread_create(&a->thread, NULL, compile_ahead, a);
    return LT_OK;
}

lt_status lt_compile_ahead_start(lt_generator *g, lt_compile_ahead **out)
{
    int64_t begin = lt_clock_ns();
    lt_compile_ahead *a = lt_calloc(1, sizeof *a);
    if (!(*out = a)) return LT_ERR_MEMORY;
    a->g = g;
    lt_span span = lt_span_begin("kernels");
    lt_status s = settle_step(g);
    if (!s) s = start(a);
    lt_span_end(span);
    g->info->warmup_seconds += lt_seconds_since(begin);
    return s;
}

void lt_generator_count_builds(lt_generator *g)
{
    lt_build_counts now = lt_device_build_counts(g->opt->device);
    g->info->kernels_compiled = now.compiled - g->builds.compiled;
    g->info->kernels_loaded = now.loaded - g->builds.loaded;
    g->info->compile_seconds = now.compile_seconds - g->builds.compile_seconds;
}
