/* Recurrence, correlation dimension and permutation entropy of a trajectory's spatial mean.
   SPDX-License-Identifier: BSD-3-Clause

   Distances are Euclidean between delay-embedded points; recurrence needs no matrix, since lines are
   counted while walking along diagonals and columns. */
#include "operators/features/stream.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { MAX_POINTS = 1000, RADII = 10, LENGTH_BINS = 20, MAX_PATTERNS = 720 };

typedef struct embedding { const double *s; int64_t n; int dim, tau; } embedding; /* n points */

/* Every factor-th value of s, embedded. */
static embedding embed(const double *s, int64_t steps, int factor, int dim, int tau, double *store)
{
    int64_t n = 0;
    for (int64_t t = 0; t < steps; t += factor) store[n++] = s[t];
    return (embedding){ store, LT_MAX(n - (int64_t)(dim - 1) * tau, 0), dim, tau };
}

static double distance(const embedding *e, int64_t i, int64_t j)
{
    double sum = 0;
    for (int k = 0; k < e->dim; k++) {
        double d = e->s[i + k * e->tau] - e->s[j + k * e->tau];
        sum += d * d;
    }
    return sqrt(sum);
}

/* ---- Recurrence ------------------------------------------------------------------------ */
typedef struct lines { double in_lines, total; double length_count[LENGTH_BINS]; } lines;

static void end_run(lines *l, int64_t *run)
{
    if (*run >= 2) {
        l->in_lines += (double)*run;
        l->length_count[LT_MIN(*run - 2, LENGTH_BINS - 1)]++;
    }
    *run = 0;
}

/* Lines along diagonals (without the main one) or down columns. */
static lines count_lines(const embedding *e, double radius, bool diagonal)
{
    lines l = { 0 };
    for (int64_t a = diagonal ? 1 : 0; a < e->n; a++) {
        int64_t run = 0, length = diagonal ? e->n - a : e->n;
        for (int64_t b = 0; b < length; b++) {
            int64_t i = b, j = diagonal ? a + b : a;
            if (i != j && distance(e, i, j) < radius) {
                run++;
                l.total++;
            } else {
                end_run(&l, &run);
            }
        }
        end_run(&l, &run);
    }
    return l;
}

static void recurrence_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value)
{
    const lt_feature_set *set = p->set;
    const lt_feature_options *o = &set->opt;
    embedding e = embed(s, p->steps, o->rqa_subsample_factor, o->rqa_embedding_dim, o->rqa_tau, w->a);
    double diameter = 0, lengths = 0;
    if (e.n < 2) return;
    for (int64_t i = 0; i < e.n; i++)
        for (int64_t j = i + 1; j < e.n; j++) diameter = fmax(diameter, distance(&e, i, j));
    lines along = count_lines(&e, o->rqa_epsilon * diameter, true), down = count_lines(&e, o->rqa_epsilon * diameter, false);
    AT(RECURRENCE) = down.total / ((double)e.n * (double)(e.n - 1));
    AT(DETERMINISM) = along.in_lines / (along.total + 1e-8);
    AT(LAMINARITY) = down.in_lines / (down.total + 1e-8);
    for (int k = 0; k < LENGTH_BINS; k++) lengths += along.length_count[k];
    for (int k = 0; k < LENGTH_BINS && lengths > 0; k++) {
        double share = along.length_count[k] / lengths;
        if (share > 0) AT(DIAGONAL_ENTROPY) -= share * log(share);
    }
}

/* ---- Correlation dimension ---------------------------------------------------------------- */
static int64_t dimension_points(const lt_time_plan *p)
{
    const lt_feature_options *o = &p->set->opt;
    int64_t kept = (p->steps + o->corr_dim_subsample_factor - 1) / o->corr_dim_subsample_factor;
    int64_t n = kept - (int64_t)(o->corr_dim_embedding_dim - 1) * o->corr_dim_tau;
    return LT_MIN(LT_MAX(n, 0), MAX_POINTS);
}

int64_t lt_nonlinear_distances(const lt_time_plan *p)
{
    int64_t n = p->set->stored[LT_F_CORRELATION_DIMENSION] ? dimension_points(p) : 0;
    return n * (n - 1) / 2;
}

/* Slope of log C(r) on log r, C the share of pairs nearer than r, over radii spaced evenly in log
   between the 1 % and the 99 % distance. */
static void dimension_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value)
{
    const lt_feature_set *set = p->set;
    const lt_feature_options *o = &set->opt;
    embedding e = embed(s, p->steps, o->corr_dim_subsample_factor, o->corr_dim_embedding_dim, o->corr_dim_tau, w->a);
    int64_t points = dimension_points(p), n = 0, below;
    if (points < 3 || !set->stored[LT_F_CORRELATION_DIMENSION]) return;
    for (int64_t i = 0; i < points; i++)
        for (int64_t j = i + 1; j < points; j++) w->distance[n++] = distance(&e, i * e.n / points, j * e.n / points);
    lt_sort_numbers(w->distance, n);
    double weight = lt_quantile_rank(0.01, n, &below), lo = w->distance[below] + weight * (w->distance[below + 1] - w->distance[below]);
    weight = lt_quantile_rank(0.99, n, &below);
    double hi = w->distance[below] + weight * (w->distance[below + 1] - w->distance[below]);
    if (!(lo > 0) || !(hi > lo)) return;
    double mx = 0, my = 0, xx = 0, xy = 0, x[RADII], y[RADII];
    int kept = 0;
    for (int k = 0; k < RADII; k++) {
        double radius = lo * pow(hi / lo, (double)k / (RADII - 1));
        int64_t near = 0;
        while (near < n && w->distance[near] < radius) near++;
        if (!near) continue;
        x[kept] = log(radius);
        y[kept++] = log((double)near / (double)n);
    }
    for (int k = 0; k < kept; k++) { mx += x[k] / kept; my += y[k] / kept; }
    for (int k = 0; k < kept; k++) { xx += (x[k] - mx) * (x[k] - mx); xy += (x[k] - mx) * (y[k] - my); }
    if (xx > 0) AT(CORRELATION_DIMENSION) = xy / xx;
}

/* ---- Permutation entropy ---------------------------------------------------------------------- */
/* The number of the order in which `order` values stand; earlier ones win ties. */
static int pattern_of(const embedding *e, int64_t i)
{
    int code = 0;
    for (int a = 0; a < e->dim; a++) {
        int smaller = 0;
        for (int b = a + 1; b < e->dim; b++) smaller += e->s[i + b * e->tau] < e->s[i + a * e->tau];
        code = code * (e->dim - a) + smaller;
    }
    return code;
}

static void permutation_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value)
{
    const lt_feature_set *set = p->set;
    const lt_feature_options *o = &set->opt;
    int count[MAX_PATTERNS] = { 0 }, n_patterns = 1;
    embedding e = embed(s, p->steps, o->perm_entropy_subsample_factor, o->perm_entropy_embedding_dim, o->perm_entropy_tau, w->a);
    for (int k = 2; k <= e.dim; k++) n_patterns *= k;
    for (int64_t i = 0; i < e.n; i++) count[pattern_of(&e, i)]++;
    double entropy = 0;
    for (int k = 0; k < n_patterns && e.n; k++) {
        double share = (double)count[k] / (double)e.n;
        if (share > 0) entropy -= share * log(share);
    }
    AT(PERMUTATION_ENTROPY) = entropy / log(n_patterns);
}

void lt_nonlinear_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value)
{
    recurrence_values(p, w, s, value);
    dimension_values(p, w, s, value);
    permutation_values(p, w, s, value);
}
