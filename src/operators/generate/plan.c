/* What a run will take: memory, work, time, bytes. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/rollout/rollout.h"
#include "trace/clock.h"

#include <math.h>
#include <stdlib.h>

/* Enough steps to time one, few enough to be quick; and how many sizes of operators are timed. */
enum { TIMED_STEPS = 4, TIMED_SIZES = 4 };

/* Counting the work of an architecture means building its network. In larger datasets the first rows represent all, because Sobol points
   fill the space evenly from the start (every k-th point does not) (decision 95). */
enum { MAX_COUNTED = 5000 };

typedef struct by_work { double flops; const lt_operator_spec *spec; int64_t row; } by_work;

static int compare_work(const void *a, const void *b)
{
    const by_work *x = a, *y = b;
    return x->flops < y->flops ? -1 : x->flops > y->flops;
}

static lt_status ignore_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    (void)states, (void)failed;
    int64_t *times = ctx;
    times[t > 0] = lt_clock_ns(); /* the first step pays for pages and caches: it is not counted */
    if (t == 1) times[2] = times[1];
    return LT_OK;
}

/* Seconds of one step of this operator, all realizations. */
static lt_status time_steps(const lt_generator *g, const by_work *w, lt_rollout *r, double *seconds)
{
    lt_operator_weights *weights = NULL;
    size_t n = LT_FIELD_CHANNELS * (size_t)w->spec->grid * (size_t)w->spec->grid;
    float *field = lt_calloc(n, sizeof *field);
    int64_t times[3] = { 0 };
    lt_status s = field ? lt_operator_weights_create(w->spec, &weights) : LT_ERR_MEMORY;
    if (!s) s = lt_operator_weights_draw(weights, g->c->seed, g->rows.index[w->row]);
    for (size_t i = 0; i < n && !s; i++) field[i] = (float)((double)(i % 17) / 8 - 1);
    if (!s) s = lt_rollout_set_operator(r, w->spec, weights);
    if (!s) s = lt_rollout_run(r, field, -1, ignore_state, times, NULL);
    *seconds = times[2] < times[1] ? 1e-9 * (double)(times[1] - times[2]) / (TIMED_STEPS - 2) : 1e-9 * (double)(times[1] - times[0]);
    lt_operator_weights_destroy(weights);
    lt_free(field);
    return s;
}

/* The speed of this operator in FLOP/s. Large steps use all threads for one realization: one is enough then. */
static lt_status measure_speed(const lt_generator *g, const by_work *w, double *out)
{
    lt_rollout_options timed = g->rollout;
    lt_rollout *r;
    double seconds = 0;
    timed.steps = LT_MIN((int64_t)TIMED_STEPS, LT_MAX(g->c->steps, (int64_t)2));
    if (w->flops > LT_SMALL_STEP_FLOPS) timed.realizations = 1;
    LT_TRY(lt_rollout_create(w->spec, &timed, &r));
    lt_status s = time_steps(g, w, r, &seconds);
    lt_rollout_destroy(r);
    *out = seconds > 0 ? w->flops * (double)timed.realizations / seconds : INFINITY;
    return s;
}

/* Compiles the most demanding operator to learn its memory. The median operator of each quarter, by size, gives the speed of that quarter. */
static lt_status measure(lt_generator *g, const by_work *list, int64_t n, double passes, lt_generate_plan *out)
{
    lt_rollout *r;
    LT_TRY(lt_rollout_create(list[n - 1].spec, &g->rollout, &r));
    lt_rollout_info info = lt_rollout_get_info(r);
    lt_rollout_destroy(r);
    out->arena_bytes = info.arena_bytes;
    out->weight_bytes = info.weight_bytes;
    out->state_bytes = info.state_bytes;
    int64_t sizes = LT_MIN((int64_t)TIMED_SIZES, n);
    for (int64_t q = 0; q < sizes; q++) {
        int64_t first = q * n / sizes, last = (q + 1) * n / sizes;
        double speed, flops = 0;
        LT_TRY(measure_speed(g, &list[(first + last) / 2], &speed));
        for (int64_t i = first; i < last; i++) flops += list[i].flops;
        out->estimated_seconds += flops / (double)n * (double)out->rows * (double)g->c->realizations * passes / speed;
    }
    out->estimated_seconds /= LT_MAX(g->opt->n_devices, 1); /* timed on the first of them */
    out->gflops = out->estimated_seconds > 0 ? 1e-9 * out->total_flops / out->estimated_seconds : 0;
    return LT_OK;
}

static void estimate_file(const lt_generator *g, lt_generate_plan *out)
{
    /* Noise hardly shrinks: a rule of thumb, good enough for a plan. */
    static const double packed[] = { [LT_COMPRESS_GZIP] = 0.9, [LT_COMPRESS_LZF] = 0.98, [LT_COMPRESS_NONE] = 1 };
    out->raw_bytes = lt_store_plan_bytes(&g->plan);
    out->estimated_file_bytes = (uint64_t)(packed[g->c->compression] * (double)out->raw_bytes) + (1 << 16);
    out->host_bytes = (int64_t)((uint64_t)g->plan.rows_on_the_way * LT_MAX(g->plan.rest_bytes, g->plan.step_bytes));
}

static lt_status make_plan(lt_generator *g, lt_generate_plan *out)
{
    LT_TRY(lt_generator_prepare(g));
    LT_TRY(lt_generator_check_memory(g, NULL, g->rows.n));
    int64_t rows = g->rows.n, n = LT_MIN(rows, (int64_t)MAX_COUNTED);
    by_work *list = lt_malloc((size_t)n * sizeof *list);
    if (!list) return LT_ERR_MEMORY;
    double passes = (double)LT_MAX(g->c->steps - 1, 1);
    if (g->c->learned.enabled) passes += lt_learned_passes(&g->c->learned, g->c->kind, g->c->steps);
    *out = (lt_generate_plan){ .size = sizeof(lt_generate_plan), .rows = rows, .realizations = g->c->realizations, .steps = g->c->steps, .grid = g->rows.max_grid,
                               .signatures = g->info->signatures, .precision = g->info->precision };
    for (int64_t i = 0; i < n; i++) {
        list[i] = (by_work){ lt_operator_flops(&g->rows.spec[i]), &g->rows.spec[i], i };
        out->total_flops += list[i].flops / (double)n * (double)rows * (double)g->c->realizations * passes;
    }
    qsort(list, (size_t)n, sizeof *list, compare_work);
    estimate_file(g, out);
    snprintf(out->precision_reason, sizeof out->precision_reason, "%s", g->info->precision_reason);
    snprintf(out->arithmetic, sizeof out->arithmetic, "%s", g->info->arithmetic);
    lt_status s = measure(g, list, n, passes, out);
    lt_free(list);
    return s;
}

lt_status lt_generate_make_plan(const lt_dataset_config *c, const lt_generate_options *opt, lt_generate_plan *out)
{
    if (!c || !out) return LT_FAIL(LT_ERR_ARGUMENT, "generate: %s is NULL", !c ? "the configuration" : "out");
    lt_generate_options own = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    lt_generate_plan plan = { .size = sizeof plan };
    LT_TRY(LT_TAKE(lt_generate_options, opt, &own));
    LT_TRY(LT_CHECK_SIZE(lt_generate_plan, out));
    lt_generator g = { .c = c, .opt = &own, .info = &info };
    lt_status s = make_plan(&g, &plan);
    LT_GIVE(out, &plan);
    lt_generator_release(&g);
    return s;
}
