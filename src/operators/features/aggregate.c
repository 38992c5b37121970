/* Trajectories to rows of the file: averages over channels, statistics over realizations, and Spinlock's clipping by batch.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/stream.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Average over channels of a column's values; NaN for a realization that failed (decision 66). */
static double of_realization(const lt_feature_stream *f, const lt_feature_column *c, int64_t m)
{
    int n_slots = f->set->n_slots[LT_FAMILY_RUN], n = lt_feature_row_of(c->id)->axis == LT_AXIS_EACH ? f->channels : 1;
    if (f->failed[m]) return NAN;
    double sum = 0;
    for (int k = 0; k < n; k++) sum += f->run[(m * f->channels + k) * n_slots + c->slot];
    return sum / n;
}

/* Mean, unbiased deviation (0 for a single one) and their ratio over those that did not fail. */
static void aggregate(const lt_feature_stream *f, const lt_feature_column *c, double out[3])
{
    double mean = 0, square = 0;
    int64_t n = 0;
    for (int64_t m = 0; m < f->realizations; m++) {
        if (f->failed[m]) continue;
        mean += of_realization(f, c, m);
        n++;
    }
    mean = n ? mean / (double)n : NAN;
    for (int64_t m = 0; m < f->realizations; m++) {
        double d = f->failed[m] ? 0 : of_realization(f, c, m) - mean;
        square += d * d;
    }
    out[0] = mean;
    out[1] = n > 1 ? sqrt(square / (double)(n - 1)) : n ? 0 : NAN;
    out[2] = out[1] / (fabs(mean) + 1e-8);
}

lt_status lt_feature_stream_finish(lt_feature_stream *f, float *temporal, float *per_trajectory, float *aggregated)
{
    const lt_feature_columns *columns = &f->set->of[LT_FAMILY_RUN];
    LT_TRY(lt_feature_stream_summarise(f));
    if (temporal) memcpy(temporal, f->temporal, (size_t)(f->steps * f->set->of[LT_FAMILY_STEP].n) * sizeof *temporal);
    for (int k = 0; k < columns->n; k++) {
        const lt_feature_column *c = &columns->column[k];
        for (int64_t m = 0; per_trajectory && m < f->realizations; m++)
            per_trajectory[m * columns->n + k] = lt_feature_float(of_realization(f, c, m));
        if (!aggregated) continue;
        double statistic[3];
        aggregate(f, c, statistic);
        for (int i = 0; i < 3; i++) aggregated[i * columns->n + k] = lt_feature_float(statistic[i]);
    }
    return LT_OK;
}

/* ---- Clipping ---------------------------------------------------------------------------- */
/* The values of one column in all streams of a batch: a list to take quartiles of, then to bound. */
typedef struct clip_list { double *value; int64_t n; } clip_list;

static double quantile(const double *sorted, int64_t n, double q)
{
    int64_t below;
    double weight = lt_quantile_rank(q, n, &below);
    double upper = sorted[LT_MIN(below + 1, n - 1)];
    return sorted[below] + weight * (upper - sorted[below]);
}

/* False when there is nothing to bound. */
static bool bounds(clip_list *l, int ranges, double *lo, double *hi)
{
    if (l->n == 0) return false;
    lt_sort_numbers(l->value, l->n);
    double q1 = quantile(l->value, l->n, 0.25), q3 = quantile(l->value, l->n, 0.75);
    *lo = q1 - ranges * (q3 - q1);
    *hi = q3 + ranges * (q3 - q1);
    return true;
}

static void clip_step_column(lt_feature_stream *const *batch, int n, int column, clip_list *l)
{
    const lt_feature_columns *columns = &batch[0]->set->of[LT_FAMILY_STEP];
    const lt_feature_row *row = lt_feature_row_of(columns->column[column].id);
    double lo, hi;
    l->n = 0;
    for (int b = 0; b < n; b++) {
        const lt_feature_stream *f = batch[b];
        for (int64_t i = 0; i < f->steps * f->realizations * f->channels; i++) {
            float v = f->raw[i * columns->n + column];
            if ((row->axis == LT_AXIS_ALL && i % f->channels) || isnan(v)) continue;
            l->value[l->n++] = (double)v;
        }
    }
    if (!bounds(l, row->clip, &lo, &hi)) return;
    for (int b = 0; b < n; b++)
        for (int64_t i = 0; i < batch[b]->steps * batch[b]->realizations * batch[b]->channels; i++) {
            float *v = &batch[b]->raw[i * columns->n + column];
            if (!isnan(*v)) *v = (float)fmin(fmax((double)*v, lo), hi);
        }
}

static void clip_run_column(lt_feature_stream *const *batch, int n, int column, clip_list *l)
{
    const lt_feature_set *s = batch[0]->set;
    const lt_feature_column *c = &s->of[LT_FAMILY_RUN].column[column];
    const lt_feature_row *row = lt_feature_row_of(c->id);
    int n_slots = s->n_slots[LT_FAMILY_RUN], step = row->axis == LT_AXIS_ALL ? batch[0]->channels : 1;
    double lo, hi;
    l->n = 0;
    for (int b = 0; b < n; b++)
        for (int64_t i = 0; i < batch[b]->realizations * batch[b]->channels; i += step)
            if (!batch[b]->failed[i / batch[b]->channels]) l->value[l->n++] = batch[b]->run[i * n_slots + c->slot];
    if (!bounds(l, row->clip, &lo, &hi)) return;
    for (int b = 0; b < n; b++)
        for (int64_t i = 0; i < batch[b]->realizations * batch[b]->channels; i += step) {
            double *v = &batch[b]->run[i * n_slots + c->slot];
            *v = fmin(fmax(*v, lo), hi);
        }
}

lt_status lt_feature_clip_batch(lt_feature_stream *const *batch, int n)
{
    if (n < 1 || !batch[0]->set->opt.clip_batch) return LT_OK;
    const lt_feature_set *s = batch[0]->set;
    int64_t most = 0;
    for (int b = 0; b < n; b++) {
        LT_TRY(lt_feature_stream_summarise(batch[b]));
        most += batch[b]->steps * batch[b]->realizations * batch[b]->channels;
    }
    clip_list l = { lt_malloc((size_t)most * sizeof *l.value), 0 };
    if (!l.value) return LT_ERR_MEMORY;
    for (int k = 0; k < s->of[LT_FAMILY_STEP].n; k++)
        if (lt_feature_row_of(s->of[LT_FAMILY_STEP].column[k].id)->clip) clip_step_column(batch, n, k, &l);
    for (int k = 0; k < s->of[LT_FAMILY_RUN].n; k++)
        if (lt_feature_row_of(s->of[LT_FAMILY_RUN].column[k].id)->clip) clip_run_column(batch, n, k, &l);
    lt_free(l.value);
    for (int b = 0; b < n; b++) {
        lt_feature_stream *f = batch[b];
        int64_t columns = s->of[LT_FAMILY_STEP].n, size = f->realizations * f->channels * columns;
        for (int64_t t = 0; t < f->steps; t++) lt_feature_average_step(f, f->raw + t * size, f->temporal + t * columns);
    }
    return LT_OK;
}
