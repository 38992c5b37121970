/* The same rollout's features from states measured on the CPU and from records made elsewhere.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef FEATURE_SIDES_H
#define FEATURE_SIDES_H

#include "feature_runs.h"
#include "lt_test.h"
#include "operators/features/stream.h"

typedef struct sides { lt_feature_set *set; lt_feature_stream *near, *far; const run *r; } sides;

static inline lt_feature_options default_options(void)
{
    lt_feature_options o;
    memset(&o, 0, sizeof o);
    LT_CHECK_OK(lt_options_defaults(lt_feature_options_table(), &o));
    return o;
}

static inline sides sides_create(const lt_feature_options *o, const run *r)
{
    sides s = { .r = r };
    LT_CHECK_OK(lt_feature_set_create(o, false, &s.set));
    LT_CHECK_OK(lt_feature_stream_create(s.set, r->m, r->t, r->g, NULL, &s.near));
    LT_CHECK_OK(lt_feature_stream_create(s.set, r->m, r->t, r->g, NULL, &s.far));
    return s;
}

static inline void sides_destroy(sides *s)
{
    lt_feature_stream_destroy(s->near);
    lt_feature_stream_destroy(s->far);
    lt_feature_set_destroy(s->set);
}

/* States of step t side by side, as sinks and devices have them: (M, 3, G, G). */
static inline void gather_states(const run *r, int t, float *out)
{
    size_t state = 3 * (size_t)(r->g * r->g);
    for (int m = 0; m < r->m; m++) memcpy(out + (size_t)m * state, state_of(r, m, t), state * sizeof *out);
}

static inline void push_near(sides *s)
{
    float *x = malloc((size_t)s->r->m * 3 * (size_t)(s->r->g * s->r->g) * sizeof *x);
    for (int t = 0; t < s->r->t; t++) {
        gather_states(s->r, t, x);
        LT_CHECK_OK(lt_feature_stream_push(s->near, t, x, NULL));
    }
    free(x);
}

/* Of the last step that was pushed: order statistics and bins have no rounding. */
static inline void check_exact(const sides *s, const lt_state_record *far, const char *what)
{
    for (int m = 0; m < s->r->m; m++)
        for (int c = 0; c < LT_RECORD_CHANNELS; c++) {
            const lt_channel_record *a = &s->near->record[m].channel[c], *b = &far[m].channel[c];
            if (s->near->failed[m]) continue;
            const float *p = &a->order.quantile[0][0], *q = &b->order.quantile[0][0];
            for (size_t k = 0; k < sizeof a->order / sizeof *p; k++)
                if (p[k] != q[k]) LT_TEST_FAIL("%s: order statistic %zu of channel %d of %d is %.9g, expected %.9g", what, k, c, m, (double)q[k], (double)p[k]);
            if (a->range.lo != b->range.lo || a->range.hi != b->range.hi) LT_TEST_FAIL("%s: range of channel %d of %d", what, c, m);
            if (a->spectrum.dominant_bin != b->spectrum.dominant_bin)
                LT_TEST_FAIL("%s: dominant bin %d, expected %d", what, b->spectrum.dominant_bin, a->spectrum.dominant_bin);
        }
}

/* Sums differ in their order alone. Differences of almost equal sums are known to the rounding of the sums, so a
   sign or a count of signs may differ where a series stands still: those columns say so. */
static inline double allowed(const char *name)
{
    if (strstr(name, "monotonicity") || strstr(name, "regime_switches")) return 2;
    return strstr(name, "condition_number") ? 2e-5 : 1e-6;
}

static inline void compare_columns(const float *got, const float *want, int rows, int columns, const lt_feature_columns *names, const char *what)
{
    for (int k = 0; k < columns; k++) {
        const char *name = names->column[k].name;
        /* A ratio of two correlations that are both 0 is their rounding over 1e-8. */
        double scale = strstr(name, "flow_anisotropy") ? 1e-2 : 1e-6, worst = 0;
        for (int i = 0; i < rows; i++) scale = fmax(scale, isfinite(want[i * columns + k]) ? fabs((double)want[i * columns + k]) : 0);
        for (int i = 0; i < rows; i++) {
            double g = (double)got[i * columns + k], w = (double)want[i * columns + k];
            if (isnan(g) && isnan(w)) continue;
            worst = isnan(g - w) ? INFINITY : fmax(worst, fabs(g - w));
        }
        if (!(worst <= allowed(name) * scale)) LT_TEST_FAIL("%s: %s is off by %.3g (column size %.3g)", what, name, worst, scale);
    }
}

static inline void compare_sides(sides *s, const char *what)
{
    const lt_feature_columns *step = &s->set->of[LT_FAMILY_STEP], *whole = &s->set->of[LT_FAMILY_RUN];
    size_t n_step = (size_t)(s->r->t * step->n), n_run = (size_t)(s->r->m * whole->n);
    float *a = malloc(2 * (n_step + n_run) * sizeof *a), *b = a + n_step, *c = b + n_step, *d = c + n_run;
    LT_CHECK_OK(lt_feature_stream_finish(s->near, a, c, NULL));
    LT_CHECK_OK(lt_feature_stream_finish(s->far, b, d, NULL));
    compare_columns(b, a, s->r->t, step->n, step, what);
    compare_columns(d, c, s->r->m, whole->n, whole, what);
    free(a);
}

#endif
