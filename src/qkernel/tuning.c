/* Timing what there is to choose between: states and transfer matrices, shapes of a GPU's tiles.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/tuning.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/flags.h"
#include "lathe/graph.h"

#include <stdio.h>
#include <string.h>

/* Where either method may win: rows enough for the winner not to depend on their number, and few rows, for which states cost as much as their overlaps. */
typedef struct range { int64_t rows; int first_qubits, last_qubits; } range;
static const range on_cpu = { 192, 7, 12 }, few_on_cpu = { 40, 7, 12 }, on_gpu = { 4096, 9, 14 };
static const int shape_qubits[] = { 6, 8, 10, 12, 14, 16 };
enum { MOST_QUBITS = 16 };

static const lt_gram_method candidates[] = { LT_GRAM_STATES, LT_GRAM_TRANSFER };

static void name_problem(int q, lt_gram_float type, bool few, char *text, size_t bytes)
{
    snprintf(text, bytes, "gram re-embedded layers=2 %s q=%d%s", lt_gram_float_name(lt_gram_timed_as(type)), q, few ? " few rows" : "");
}

static lt_gram_method look_up(lt_tuner *tuner, int q, lt_gram_float type, bool few)
{
    char problem[96];
    lt_tune_entry entry;
    name_problem(q, type, few, problem, sizeof problem);
    if (!lt_tuner_lookup(tuner, problem, &entry)) return LT_GRAM_AUTO;
    for (size_t i = 0; i < LT_LEN(candidates); i++)
        if (!strcmp(entry.choice, lt_gram_method_name(candidates[i]))) return candidates[i];
    return LT_GRAM_AUTO;
}

lt_stored_choices lt_gram_stored_choice(lt_device *dev, int q, lt_gram_float type)
{
    lt_stored_choices c = { LT_GRAM_AUTO, LT_GRAM_AUTO };
    lt_tuner *tuner;
    if (q < LT_MIN(on_cpu.first_qubits, on_gpu.first_qubits) || q > LT_MAX(on_cpu.last_qubits, on_gpu.last_qubits)) return c;
    /* A cache folder that cannot be read costs a tuned choice, not the result. */
    if (lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &tuner)) return c;
    c.many = look_up(tuner, q, type, false);
    /* A GPU is timed with many rows only. */
    c.few = lt_device_has(dev, LT_DEVICE_OWN_MEMORY) ? c.many : look_up(tuner, q, type, true);
    lt_tuner_destroy(tuner);
    return c;
}

/* ---- measuring ---- */

typedef struct trial {
    lt_gram *gram[LT_LEN(candidates)];
    lt_rows  x;
    double  *K;                       /* NULL: it stays on the device */
} trial;

static lt_status run_candidate(void *ctx, int candidate, int64_t repeats)
{
    trial *t = ctx;
    for (int64_t i = 0; i < repeats; i++) LT_TRY(lt_gram_fill(t->gram[candidate], &t->x, NULL, t->K));
    return LT_OK;
}

static lt_status choose(lt_tuner *tuner, lt_device *dev, int q, lt_gram_float type, trial *t, const double *weights)
{
    char problem[96];
    const char *names[LT_LEN(candidates)];
    lt_gram_options opt = lt_gram_defaults();
    int choice;
    opt.re_embed_between_layers = true;
    opt.dtype = type;
    t->x.columns = q;
    for (size_t i = 0; i < LT_LEN(candidates); i++) {
        opt.method = candidates[i];
        names[i] = lt_gram_method_name(candidates[i]);
        LT_TRY(lt_gram_create(dev, &opt, &(lt_weights){ weights, 2, q }, &t->gram[i]));
    }
    name_problem(q, type, t->x.n == few_on_cpu.rows, problem, sizeof problem);
    return lt_tuner_choose(tuner, problem, (int)LT_LEN(candidates), names, run_candidate, t, &choice);
}

static lt_status tune_methods(lt_device *dev, lt_tuner *tuner, const range *r, lt_gram_float type, const double *x, const double *weights, double *K)
{
    lt_status s = LT_OK;
    for (int q = r->first_qubits; !s && q <= r->last_qubits; q++) {
        trial t = { .x = { .data = x, .dtype = LT_F64, .n = r->rows }, .K = K };
        s = choose(tuner, dev, q, type, &t, weights);
        for (size_t i = 0; i < LT_LEN(t.gram); i++) lt_gram_destroy(t.gram[i]);
    }
    return s;
}

/* Shapes first: methods are timed with the best of them. x: rows of MOST_QUBITS columns, or fewer. */
static lt_status tune_type(lt_device *dev, lt_tuner *tuner, const range *r, bool gpu, lt_gram_float type, double *x, double *K)
{
    const double *weights = x + r->rows * MOST_QUBITS;
    lt_rows rows = { .data = x, .dtype = LT_F64, .n = r->rows };
    lt_status s = LT_OK;
    for (size_t i = 0; gpu && !s && i < LT_LEN(shape_qubits); i++) s = lt_gram_tune_shapes(dev, tuner, shape_qubits[i], type, &rows, weights);
    if (!s) s = tune_methods(dev, tuner, r, type, x, weights, K);
    if (!s && !gpu) s = tune_methods(dev, tuner, &few_on_cpu, type, x, weights, K);
    return s;
}

lt_status lt_gram_tune(lt_device *dev, lt_tuner *tuner)
{
    if (!tuner) return LT_FAIL(LT_ERR_ARGUMENT, "gram_tune: the tuner is NULL");
    lt_device_info info = { .size = sizeof info, .computes = true };
    if (dev) LT_TRY(lt_device_describe(dev, &info));
    if (!info.computes) return LT_OK; /* nothing to time */
    bool gpu = lt_device_has(dev, LT_DEVICE_OWN_MEMORY);
    const range *r = gpu ? &on_gpu : &on_cpu;
    int64_t n = (r->rows + 2) * MOST_QUBITS;
    double *x = lt_malloc((size_t)n * sizeof *x), *K = gpu ? NULL : lt_malloc((size_t)(r->rows * r->rows) * sizeof *K);
    lt_status s = x && (gpu || K) ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n; i++) x[i] = (double)(i * 37 % 101) * 0.06 - 3; /* any angles will do */
    for (int type = 0; !s && type < LT_GRAM_FLOAT_COUNT; type++)
        if ((int)lt_gram_timed_as(type) == type) s = tune_type(dev, tuner, r, gpu, type, x, K);
    lt_free(x);
    lt_free(K);
    return s;
}
